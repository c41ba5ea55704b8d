//! Scores of new rows as the calibration rows have them, fold by fold: the two are exchangeable while nothing changes.

use ndarray::ArrayView2;

use super::stack::{FittedStack, Scheme, lower, signed_score};
use super::{FittedRegressor, Model};
use crate::base::{Error, Result};
use crate::rows::RegressionInputs;
use crate::score::Scorer;

/// What every fold of every target predicts.
#[derive(Debug)]
pub(crate) struct FoldScorer<'a> {
    head: &'a FittedRegressor,
    stacks: &'a [FittedStack],
    scorer: Scorer,
}

/// Scores, and how often each counts; once where nothing is said.
pub(crate) type Counted<'a> = (&'a [f64], Option<&'a [f64]>);

/// Columns μ, s⁺ and s⁻ of one fold.
type Fold = [Vec<f64>; 3];

impl<'a> FoldScorer<'a> {
    /// Of a head with folds; none behind Eve's law.
    pub(crate) fn new(head: &'a FittedRegressor) -> Option<Self> {
        let Model::Stacks(stacks) = &head.model else { return None };
        Some(FoldScorer { head, stacks, scorer: Scorer::new(lower::folds_plan(stacks, head.features)) })
    }

    /// How many folds each target has.
    pub(crate) fn folds(&self) -> usize {
        self.stacks.first().map_or(0, |s| s.folds().len())
    }

    /// Scores of calibration rows, by target and fold, each with how often it counts; none where the rows of a fold
    /// helped to choose its model, or where rows come in groups or in order of time: then they are not exchangeable with
    /// new ones.
    pub(crate) fn past(&self) -> Option<Vec<Vec<Counted<'a>>>> {
        let fresh = self.head.settings.stack().is_some_and(|s| s.scheme != Scheme::Same);
        let apart = !self.head.groups && self.head.time.is_none();
        (fresh && apart).then(|| self.stacks.iter().map(|s| s.scores.signed().collect()).collect())
    }

    /// By target, what its folds predict for new rows.
    pub(crate) fn at(&self, rows: &RegressionInputs<'_>) -> Result<Vec<Vec<Fold>>> {
        let mut columns = self.head.run(&self.scorer, rows, None)?.into_iter();
        let mut fold = || Some([columns.next()?, columns.next()?, columns.next()?]);
        Ok(self.stacks.iter().map(|s| s.folds().iter().filter_map(|_| fold()).collect()).collect())
    }

    /// (y − μ)/s of new rows by target and fold, where [`at`](Self::at) has what the folds predict.
    pub(crate) fn scores(&self, at: &[Vec<Fold>], y: ArrayView2<'_, f64>) -> Result<Vec<Vec<f64>>> {
        if y.ncols() != self.stacks.len() {
            return Err(Error::shape("columns of the targets", self.stacks.len(), y.ncols()));
        }
        let mut all = Vec::new();
        for (target, folds) in at.iter().enumerate() {
            for fold in folds {
                let score = |row: usize| signed_score(y[[row, target]], fold, row, (row, target));
                all.push((0..y.nrows()).map(score).collect::<Result<_>>()?);
            }
        }
        Ok(all)
    }
}
