//! A head for rows from elsewhere: the calibration rows count by how likely such rows are where the new ones come from.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::folds::FoldScorer;
use super::stack::Scheme;
use super::{FittedRegressor, Kind, Model};
use crate::base::{Error, Result, Seed, Ticker, Work};
use crate::conformal::{Ratio, ShiftEvidence, needed_beside, ratio};
use crate::rows::{Level, RegressionInputs, RegressionRows};
use crate::score::Kept;

/// Two scores are of one row if they differ by less than this part: other instruction sets round differently.
const SAME: f64 = 1e-5;
/// Rows that a split did not score, from which on they alone estimate the ratio.
const ENOUGH: usize = 100;

/// How a regression head is adapted to new rows without answers: P(y | x) is that of the calibration rows, and the rows x
/// come more or less often (covariate shift).
///
/// | name | default | purpose |
/// |---|---|---|
/// | `level` | 0.9 | the level at which infinite intervals are counted; every level can be asked for later |
/// | `ratio` | none | the ratio of densities w(x) where it is known; estimated otherwise |
/// | `seed` | 1 | of the folds that choose the penalty of the estimate |
#[derive(Debug, Clone, PartialEq)]
pub struct Adapt {
    /// The level at which infinite intervals are counted.
    pub level: Level,
    /// The known ratio; its columns are the features, then the network's predictions.
    pub ratio: Option<Ratio>,
    /// Of the estimate.
    pub seed: Seed,
}

impl Default for Adapt {
    fn default() -> Self {
        Adapt { level: Level::new(0.9).expect("0.9 is a level"), ratio: None, seed: Seed::new(1) }
    }
}

/// What a head was adapted by, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapted {
    /// w(x), of which calibration rows have the mean 1.
    pub ratio: Ratio,
    /// Whether it was given, and not estimated.
    pub known: bool,
    /// Calibration rows whose scores are ranked, of the first target.
    pub rows: usize,
    /// New rows that it was adapted to.
    pub new_rows: usize,
    /// (Σw)²/Σw² over the ranked rows: about as many rows without weights would be as informative.
    pub effective_rows: f64,
    /// The level at which infinite intervals were counted.
    pub level: Level,
    /// New rows with w(x)/(Σw + w(x)) > α: their intervals are infinite.
    pub infinite: usize,
    /// The largest share of all weights that one fold has.
    pub largest_fold: f64,
    /// What held-out rows say about the shift; none where the ratio is known.
    pub evidence: Option<ShiftEvidence>,
}

/// Calibration rows that a head keeps, so that it can be adapted later: all that the fit saw of them, in double precision,
/// because their scores tell which fold each belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptRows {
    features: Array2<f64>,
    y: Array2<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prediction: Option<Array2<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own: Vec<Array2<f64>>,
}

impl KeptRows {
    fn new(rows: &RegressionRows<'_>) -> Self {
        KeptRows {
            features: rows.features().to_owned(),
            y: rows.y().to_owned(),
            prediction: rows.prediction().map(|d| d.to_owned()),
            own: rows.own_tables().iter().map(|t| t.to_owned()).collect(),
        }
    }

    pub(super) fn rows(&self) -> Result<RegressionRows<'_>> {
        let mut rows = RegressionRows::new(self.features.view(), self.y.view())?;
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view())?;
        }
        match &self.own[..] {
            [] => Ok(rows),
            [sd] => rows.with_sd(sd.view()),
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view()),
        }
    }
}

impl Adapt {
    /// The head with weights of its calibration rows, which are given again (features, targets and what the network said, in
    /// any order) unless the head [keeps](FittedRegressor::keeping) them. `tick(done, total)` follows the work and cancels it by returning false.
    pub fn regression(
        &self,
        head: &FittedRegressor,
        rows: Option<&RegressionRows<'_>>,
        new: &RegressionInputs<'_>,
        tick: Ticker<'_>,
    ) -> Result<FittedRegressor> {
        head.check_adaptable()?;
        head.check_columns(new)?;
        match (rows, &head.kept) {
            (Some(rows), _) => self.by_rows(head, rows, new, tick),
            (None, Some(kept)) => self.by_rows(head, &kept.rows()?, new, tick),
            (None, None) => Err(Error::NoRows),
        }
    }

    fn by_rows(
        &self,
        head: &FittedRegressor,
        rows: &RegressionRows<'_>,
        new: &RegressionInputs<'_>,
        tick: Ticker<'_>,
    ) -> Result<FittedRegressor> {
        let work = Work::new(ratio::PIECES, "steps", tick);
        let matched = head.matched(rows)?;
        let of = |features: ArrayView2<'_, f64>, prediction: Option<ArrayView2<'_, f64>>| match prediction {
            Some(d) if head.needs_prediction() => concatenate![Axis(1), features, d],
            _ => features.to_owned(),
        };
        let (old, fresh) = (of(rows.features(), rows.prediction()), of(new.features(), new.prediction()));
        if head.needs_prediction() && new.prediction().is_none() {
            return Err(Error::NoPrediction { what: super::stack::NAME });
        }
        let (ratio, evidence) = match &self.ratio {
            Some(known) => {
                known.check(old.ncols())?;
                (known.clone(), None)
            }
            None => {
                let learned = head.free_rows(&matched, rows.rows());
                let old = old.select(Axis(0), &learned);
                check_rows(old.nrows(), fresh.nrows())?;
                let (ratio, evidence) = Ratio::estimate(old.view(), fresh.view(), self.seed, &work)?;
                (ratio, Some(evidence))
            }
        };
        self.weighted(head, &matched, (old, fresh), (ratio, evidence))
    }

    /// The head with these weights.
    fn weighted(
        &self,
        head: &FittedRegressor,
        matched: &[Vec<Vec<usize>>],
        (old, fresh): (Array2<f64>, Array2<f64>),
        (ratio, evidence): (Ratio, Option<ShiftEvidence>),
    ) -> Result<FittedRegressor> {
        let first: Vec<usize> = matched.first().map(|folds| folds.concat()).unwrap_or_default();
        let ratio = ratio.normalised(old.select(Axis(0), &first).view());
        let weights = ratio.at(old.view());
        let mut adapted = head.clone();
        adapted.scorers = Kept::default();
        let Model::Stacks(stacks) = &mut adapted.model else { return Err(no_ranks()) };
        for (stack, folds) in stacks.iter_mut().zip(matched) {
            let of_fold = |rows: &Vec<usize>| rows.iter().map(|&r| weights[r]).collect();
            stack.scores = stack.scores.with_weights(folds.iter().map(of_fold).collect());
        }
        let masses: Vec<f64> = stacks.iter().map(|s| s.scores.mass()).collect();
        let beyond = |w: &&f64| masses.iter().any(|&mass| needed_beside(mass, **w, self.level) > mass);
        let new_weights = ratio.at(fresh.view());
        let infinite = new_weights.iter().filter(beyond).count();
        let (sum, squares) = first.iter().fold((0.0, 0.0), |(s, q), &r| (s + weights[r], q + weights[r].powi(2)));
        let fold = |rows: &Vec<usize>| rows.iter().map(|&r| weights[r]).sum::<f64>() / sum;
        let largest_fold = matched.first().into_iter().flatten().map(fold).fold(0.0, f64::max);
        let told = Adapted {
            known: self.ratio.is_some(),
            rows: first.len(),
            new_rows: fresh.nrows(),
            effective_rows: sum * sum / squares,
            level: self.level,
            infinite,
            largest_fold,
            evidence,
            ratio,
        };
        if 2 * infinite > told.new_rows {
            return Err(Error::Adapt { why: told.beyond() });
        }
        adapted.adapted = Some(told);
        Ok(adapted)
    }
}

impl Adapted {
    /// Why nothing can be promised for most of the new rows.
    fn beyond(&self) -> String {
        format!(
            "{} of {} new rows would have infinite intervals at level {}: where they come from, calibration rows are too rare (about {:.0} rows' worth of {}); label some of the new rows and fit on them, or ask for a lower level",
            self.infinite,
            self.new_rows,
            self.level.get(),
            self.effective_rows,
            self.rows
        )
    }

    /// Fails unless it belongs to so many columns.
    pub(super) fn check(&self, columns: usize) -> Result<()> {
        let numbers = [self.effective_rows, self.largest_fold].iter().all(|v| v.is_finite());
        match numbers {
            true => self.ratio.check(columns),
            false => Err(Error::Inconsistent { what: "the weights of an adapted head are not numbers" }),
        }
    }
}

fn check_rows(old: usize, new: usize) -> Result<()> {
    let few = |found| Error::TooFewRows {
        what: "a ratio of densities",
        needed: ratio::FEWEST,
        found,
        remedy: "give more rows, or a known ratio",
    };
    match old.min(new) {
        least if least < ratio::FEWEST => Err(few(least)),
        _ => Ok(()),
    }
}

fn no_ranks() -> Error {
    Error::Adapt { why: "intervals by Eve's law have no ranks to weigh; fit `stack`, `fast`, `cv+` or `split`".into() }
}

impl FittedRegressor {
    /// What the head was adapted by, where it was.
    pub fn adapted(&self) -> Option<&Adapted> {
        self.adapted.as_ref()
    }

    /// The same head with its calibration rows, which it needs to be adapted later. Its file grows by their size.
    pub fn keeping(self, rows: &RegressionRows<'_>) -> Result<Self> {
        self.check_adaptable()?;
        self.matched(rows)?;
        Ok(FittedRegressor { kept: Some(Arc::new(KeptRows::new(rows))), ..self })
    }

    /// Whether it keeps its calibration rows.
    pub fn keeps_rows(&self) -> bool {
        self.kept.is_some()
    }

    /// Fails where weights would not mean what they say.
    fn check_adaptable(&self) -> Result<()> {
        let Model::Stacks(stacks) = &self.model else { return Err(no_ranks()) };
        let why = match () {
            () if self.within.is_some() => "it covers within groups (within), which weights do not keep; fit without",
            () if self.functions() > 0 => "it covers for functions of a row (conditional) already; fit without",
            () if self.groups => "its rows come in groups (groups), which weights of single rows do not keep",
            () if self.time.is_some() => "its rows came in order of time (time), and weights are for independent rows",
            () if self.updated.is_some() => "rows have joined it since (update); adapt the head as it was fitted",
            () if self.settings.stack().is_some_and(|s| s.scheme == Scheme::Same) => {
                "its scores were chosen on the rows themselves; fit with nested = true"
            }
            () if !stacks.iter().all(|s| s.scores.of_single_rows()) => {
                "its scores are counted in buckets, because it was fitted on a sample; fit all rows of a file"
            }
            () => return Ok(()),
        };
        Err(Error::Adapt { why: why.into() })
    }

    /// The rows whose scores the head has, by target and fold in ascending order of the scores. Fold k's model gives the
    /// rows of fold k exactly the scores that the head has kept.
    fn matched(&self, rows: &RegressionRows<'_>) -> Result<Vec<Vec<Vec<usize>>>> {
        let Some(scorer) = FoldScorer::new(self) else { return Err(no_ranks()) };
        if rows.features().ncols() != self.features {
            return Err(Error::shape("feature columns", self.features, rows.features().ncols()));
        }
        let at = scorer.at(&rows.inputs())?;
        let mut scores = scorer.scores(&at, rows.y())?.into_iter();
        let mut all = Vec::new();
        let Model::Stacks(stacks) = &self.model else { return Err(no_ranks()) };
        for stack in stacks {
            let mut used = vec![false; rows.rows()];
            let mut missing = 0;
            let mut folds = Vec::new();
            for (kept, _) in stack.scores.signed() {
                let given = scores.next().unwrap_or_default();
                let found = rows_of(kept, &given, &mut used);
                missing += kept.len() - found.len();
                folds.push(found);
            }
            if missing > 0 {
                return Err(Error::OtherRows { missing, scores: stack.scores.units() });
            }
            all.push(folds);
        }
        Ok(all)
    }

    /// The rows that estimate the ratio: of a split those that it did not score, so that the scored rows stay independent
    /// of the ratio; otherwise all.
    fn free_rows(&self, matched: &[Vec<Vec<usize>>], rows: usize) -> Vec<usize> {
        let mut scored = vec![false; rows];
        matched.iter().flatten().flatten().for_each(|&r| scored[r] = true);
        let free: Vec<usize> = (0..rows).filter(|&r| !scored[r]).collect();
        if self.settings.kind == Kind::Split && free.len() >= ENOUGH { free } else { (0..rows).collect() }
    }
}

/// For every kept score, ascending, the row that gives it: the nearest one, not yet used where several do. Those without
/// one are left out.
fn rows_of(kept: &[f64], given: &[f64], used: &mut [bool]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by(|&a, &b| given[a].total_cmp(&given[b]));
    let mut found = Vec::with_capacity(kept.len());
    for &score in kept {
        let most = SAME * (1.0 + score.abs());
        let start = order.partition_point(|&r| given[r] < score - most);
        let near = order[start..].iter().take_while(|&&r| given[r] <= score + most);
        let apart = |r: usize| (given[r] - score).abs();
        let best = near.copied().min_by(|&a, &b| used[a].cmp(&used[b]).then(apart(a).total_cmp(&apart(b))));
        if let Some(row) = best {
            used[row] = true;
            found.push(row);
        }
    }
    found
}
