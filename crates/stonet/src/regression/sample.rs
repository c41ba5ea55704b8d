//! Split conformal intervals for more rows than memory holds: fitted on a sample, calibrated on all other rows, a batch
//! after the other.

use std::collections::BTreeMap;

use super::predict::check_own;
use super::stack::{FittedStack, FoldModel, columns_of, lower, signed_score};
use super::{FittedRegressor, Kind, Model, PostStoNetRegressor};
use crate::base::{Error, Result, Seed, Ticker, streams};
use crate::conformal::buckets::Buckets;
use crate::conformal::rows_needed;
use crate::rows::regression::Said;
use crate::rows::{OwnKind, RegressionRows, Within};
use crate::score::{Kept, Scorer};
use crate::train::TuningCurve;

/// A stack that was fitted on all of a sample and has no intervals yet: rows outside of the sample give their scores.
///
/// Whatever the number of rows, scores take little room: they are counted in buckets within which they differ by less
/// than 2⁻¹² of themselves, and a bucket counts as the score in it that makes the interval wider. So intervals are
/// longer than by the scores themselves by less than that at every level and side, and never shorter: coverage is at
/// least 1 − α for a row exchangeable with those that calibrate.
///
/// ```
/// use ndarray::{Array2, Axis, s};
/// use stonet::{RegressionRows, Kind, Level, RegressionInputs, PostStoNetRegressor, Seed, Side};
/// use stonet::regression::StoNetSettings;
/// let x = Array2::from_shape_fn((900, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// let rows = |from, to| RegressionRows::new(x.slice(s![from..to, ..]), y.slice(s![from..to, ..]));
/// let stonet = StoNetSettings { steps: 50, kappas: Some(vec![0.01]), ..StoNetSettings::default() };
/// let settings = PostStoNetRegressor { kind: Kind::Split, stonet, ..PostStoNetRegressor::default() };
/// let mut sampled = settings.fit_sample(&rows(0, 300)?, Seed::new(1), &|_, _| true)?;
/// for first in [300, 600] {
///     sampled.calibrate(&rows(first, first + 300)?)?; // as often as there are batches
/// }
/// let fitted = sampled.finish()?;
/// let intervals = fitted.intervals(&RegressionInputs::new(x.view())?, Level::new(0.95)?, Side::Both)?;
/// assert!(intervals.lower.iter().zip(&intervals.upper).all(|(l, u)| l < u));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UncalibratedRegressor {
    settings: PostStoNetRegressor,
    features: usize,
    own: Option<OwnKind>,
    /// One per output.
    models: Vec<FoldModel>,
    scores: Vec<Buckets>,
    /// The same by the labels of a group, where intervals are to cover within groups.
    groups: Option<BTreeMap<Vec<String>, Vec<Buckets>>>,
    /// μ and s, one per output.
    scorers: Vec<Scorer>,
    kappa_paths: Vec<TuningCurve>,
}

impl PostStoNetRegressor {
    /// Fits on all of these rows, for intervals of the kind [`Split`](Kind::Split) whose scores come later, from other
    /// rows. `tick(done, total)` follows the work and cancels it by returning false.
    pub fn fit_sample(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<UncalibratedRegressor> {
        Error::check(self.kind == Kind::Split, "kind", self.kind, "split, where a sample is fitted")?;
        check_groups(rows)?;
        let none = rows.conditional().is_none();
        Error::check(none, "conditional", "given", "none where a sample is fitted: it needs the scores of all rows")?;
        self.check(rows)?;
        let settings = self.resolved(rows.rows());
        let Some(stack) = settings.stack() else { unreachable!("a split has a stack") };
        let (models, mut kappa_paths) = super::fit::each_output(rows, tick, |j, tick| {
            stack.fit_sample(&rows.output(j), seed.child(streams::regression::TARGETS.at(j)), tick)
        })?;
        kappa_paths.retain(TuningCurve::is_finite);
        let features = rows.features().ncols();
        let scorers = models.iter().map(|m| Scorer::new(lower::models_plan(&[m], features))).collect();
        let scores = vec![Buckets::default(); models.len()];
        let (groups, own) = (rows.within().map(|_| BTreeMap::new()), rows.own());
        Ok(UncalibratedRegressor { settings, features, own, models, scores, groups, scorers, kappa_paths })
    }
}

impl UncalibratedRegressor {
    /// Takes the scores of rows outside of the sample. Neither their order nor their division into batches matters.
    pub fn calibrate(&mut self, rows: &RegressionRows<'_>) -> Result<()> {
        check_groups(rows)?;
        if rows.features().ncols() != self.features {
            return Err(Error::shape("feature columns", self.features, rows.features().ncols()));
        }
        if rows.y().ncols() != self.models.len() {
            return Err(Error::shape("columns of the targets", self.models.len(), rows.y().ncols()));
        }
        self.settings.check_range(rows.y())?;
        check_own(self.own, rows.own())?;
        if rows.prediction().is_none() && self.models.iter().any(FoldModel::needs_prediction) {
            return Err(Error::NoPrediction { what: crate::regression::stack::NAME });
        }
        let scores: Vec<Vec<f64>> = (0..self.models.len()).map(|j| self.scores(rows, j)).collect::<Result<_>>()?;
        for (counts, scores) in self.scores.iter_mut().zip(&scores) {
            scores.iter().for_each(|&s| counts.add(s));
        }
        self.calibrate_groups(rows, &scores)
    }

    /// Takes the same scores, of every target, by group. Groups may come up that the sample had no rows of.
    fn calibrate_groups(&mut self, rows: &RegressionRows<'_>, scores: &[Vec<f64>]) -> Result<()> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        let (within, numbers) = rows.within().ok_or(Error::NoGroups)?;
        let mut here = vec![vec![Buckets::default(); scores.len()]; within.len()];
        for (row, &group) in numbers.iter().enumerate() {
            here[group].iter_mut().zip(scores).for_each(|(counts, scores)| counts.add(scores[row]));
        }
        for (labels, new) in within.groups().iter().zip(here).filter(|(_, new)| new[0].rows() > 0) {
            let none = || vec![Buckets::default(); new.len()];
            let known = groups.entry(labels.clone()).or_insert_with(none);
            known.iter_mut().zip(&new).for_each(|(known, new)| known.join(new));
        }
        Ok(())
    }

    /// (y − μ)/s of every row for one output.
    fn scores(&self, rows: &RegressionRows<'_>, output: usize) -> Result<Vec<f64>> {
        let (scorer, y) = (&self.scorers[output], rows.y());
        let single = rows.output(output);
        let said = Said { prediction: single.prediction, own: single.own };
        let columns = columns_of(scorer, rows.features(), &said)?;
        let at = scorer.run(&columns, rows.rows())?;
        (0..rows.rows()).map(|row| signed_score(y[[row, output]], &at, row, (row, output))).collect()
    }

    /// Rows that gave scores so far.
    pub fn rows(&self) -> u64 {
        self.scores[0].rows()
    }

    /// The fitted intervals; fails where the rows are too few for a finite interval at the level of the settings.
    pub fn finish(self) -> Result<FittedRegressor> {
        let needed = rows_needed(self.settings.level);
        if self.rows() < needed as u64 {
            let remedy = "calibrate on more rows outside of the sample";
            return Err(Error::TooFewRows { what: "calibration", needed, found: self.rows() as usize, remedy });
        }
        let UncalibratedRegressor { settings, features, own, models, scores, groups, kappa_paths, .. } = self;
        let within = groups.as_ref().map(|groups| Within::joined(groups.keys().map(Vec::as_slice)));
        let of_target = |target: usize| -> Vec<Buckets> {
            let labels = within.iter().flat_map(Within::groups);
            labels.filter_map(|labels| Some(groups.as_ref()?.get(labels)?[target].clone())).collect()
        };
        let stacks = models.into_iter().zip(scores).enumerate();
        let stacks = stacks.map(|(target, (model, scores))| FittedStack::split(model, scores, of_target(target)));
        let (model, scorers) = (Model::Stacks(stacks.collect()), Kept::default());
        Ok(FittedRegressor {
            settings,
            features,
            groups: false,
            within,
            own,
            model,
            adapted: None,
            kept: None,
            kappa_paths,
            scorers,
        })
    }
}

fn check_groups(rows: &RegressionRows<'_>) -> Result<()> {
    Error::check(
        rows.groups().is_none(),
        "groups",
        "given",
        "none where a sample is fitted: a group must not be divided",
    )
}
