//! The fit of a regression head: a stack per output, or Eve's law.

use ndarray::ArrayView2;

use super::stack::{Members, Scheme, Stack, StoNetSettings};
use super::{FittedRegressor, Kind, Model, PostStoNetRegressor, eve};
use crate::base::{Cost, Error, Result, Seed, Ticker, part_of, streams};
use crate::rows::RegressionRows;
use crate::score::Kept;
use crate::train::TuningCurve;

impl PostStoNetRegressor {
    /// Fits on rows that the network has not seen. `tick(done, total)` follows the work and cancels it by returning
    /// false.
    pub fn fit(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedRegressor> {
        self.check(rows)?;
        let settings = self.resolved(rows.rows());
        let (model, mut kappa_paths) = match settings.stack() {
            Some(stack) => settings.stacks(&stack, rows, seed, tick)?,
            None => settings.eve(rows, seed, tick)?,
        };
        kappa_paths.retain(TuningCurve::is_finite);
        let (features, groups, own) = (rows.features().ncols(), rows.groups().is_some(), rows.own());
        let (within, scorers) = (rows.within().map(|(within, _)| within.clone()), Kept::default());
        Ok(FittedRegressor {
            settings,
            features,
            groups,
            within,
            own,
            model,
            adapted: None,
            kept: None,
            kappa_paths,
            scorers,
        })
    }

    /// The settings in effect for so many rows: κ that are not set are those of the kind.
    pub fn resolved(&self, rows: usize) -> Self {
        let grid = || match self.kind {
            Kind::Paper => eve::PAPER_GRID.to_vec(),
            Kind::Cv => self.stonet.kappas().to_vec(),
            _ => StoNetSettings::kappas_for(rows),
        };
        let kappas = self.stonet.kappas.clone().unwrap_or_else(grid);
        PostStoNetRegressor { stonet: StoNetSettings { kappas: Some(kappas), ..self.stonet.clone() }, ..self.clone() }
    }

    /// Fails where settings or targets make no sense.
    pub(super) fn check(&self, rows: &RegressionRows<'_>) -> Result<()> {
        self.stonet.check()?;
        if rows.within().is_some() && matches!(self.kind, Kind::Paper | Kind::Cv) {
            return Err(Error::setting("kind", self.kind.name(), "stack, fast, cv+ or split to cover within groups"));
        }
        if rows.conditional().is_some() {
            Error::check(self.kind == Kind::Split, "kind", self.kind.name(), "split to cover for functions of a row")?;
            let alone = rows.groups().is_none() && rows.within().is_none();
            Error::check(alone, "conditional", "given", "without groups and within")?;
        }
        rows.check_magnitudes()?;
        if rows.own().is_some() {
            let range =
                "stack, fast, split or cv+ with the network's own uncertainty, which Eve's law has no place for";
            Error::check(self.stack().is_some(), "kind", self.kind, range)?;
            let range = "true with the network's own uncertainty, which is part of the scale";
            Error::check(self.learned_scale, "learned_scale", self.learned_scale, range)?;
        }
        self.check_range(rows.y())?;
        crate::rows::dataset::check_targets(rows.y())
    }

    /// Where the target lies, if at least one bound is known.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let known = self.y_low.is_some() || self.y_high.is_some();
        known.then(|| (self.y_low.unwrap_or(f64::NEG_INFINITY), self.y_high.unwrap_or(f64::INFINITY)))
    }

    /// Fails where the bounds of the target make no sense, or where a target lies outside of them.
    pub(super) fn check_range(&self, y: ArrayView2<'_, f64>) -> Result<()> {
        let Some((low, high)) = self.range() else { return Ok(()) };
        let finite = |bound: Option<f64>| bound.is_none_or(f64::is_finite);
        Error::check(finite(self.y_low), "y_low", low, "a finite number")?;
        Error::check(finite(self.y_high), "y_high", high, "a finite number")?;
        Error::check(low < high, "y_low", low, "below y_high")?;
        match y.indexed_iter().find(|(_, v)| **v < low || **v > high) {
            Some(((row, column), &value)) => Err(Error::OutOfRange { row, column, value, low, high }),
            None => Ok(()),
        }
    }

    /// What a fit of so many of these rows costs; `rows` say what there is beside the features.
    pub(crate) fn cost(&self, rows: &RegressionRows<'_>, number: usize) -> Cost {
        let (features, outputs) = (rows.features().ncols(), rows.y().ncols());
        let settings = self.resolved(number);
        match settings.stack() {
            Some(stack) => stack.cost(&rows.output(0), number) * outputs,
            None => settings.eve_cost(number, features, outputs),
        }
    }

    /// The stack behind a kind; none behind those of Eve's law.
    pub(super) fn stack(&self) -> Option<Stack> {
        let members = match self.kind {
            Kind::Paper | Kind::Cv => return None,
            Kind::CvPlus => Members::STONET,
            Kind::Fast => Members::FAST,
            Kind::Split | Kind::Stack => Members::ALL,
        };
        let scheme = match (self.kind, self.nested) {
            (Kind::Split, _) => Scheme::Split { share: self.split_share },
            (_, true) => Scheme::Nested,
            (_, false) => Scheme::Same,
        };
        let (learned_scale, symmetric) = (self.learned_scale, self.symmetric);
        Some(Stack { members, learned_scale, symmetric, scheme, folds: self.folds, stonet: self.stonet.clone() })
    }

    fn stacks(
        &self,
        stack: &Stack,
        rows: &RegressionRows<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(Model, Vec<TuningCurve>)> {
        let (stacks, paths) = each_output(rows, tick, |j, tick| {
            stack.fit(&rows.output(j), seed.child(streams::regression::TARGETS.at(j)), tick)
        })?;
        Ok((Model::Stacks(stacks), paths))
    }
}

/// One output after the other; ticks count on.
pub(super) fn each_output<T>(
    rows: &RegressionRows<'_>,
    tick: Ticker<'_>,
    fit: impl Fn(usize, Ticker<'_>) -> Result<(T, Vec<TuningCurve>)>,
) -> Result<(Vec<T>, Vec<TuningCurve>)> {
    let outputs = rows.y().ncols();
    let (mut fitted, mut paths) = (Vec::new(), Vec::new());
    for j in 0..outputs {
        let (one, seen) = fit(j, &part_of(tick, j, outputs)).map_err(|e| e.of_target(j))?;
        fitted.push(one);
        paths.extend(seen.into_iter().map(|p| TuningCurve { output: Some(j), ..p }));
    }
    Ok((fitted, paths))
}
