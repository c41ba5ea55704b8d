//! Predictions and intervals of a fitted head: the plan for what is asked, made once and kept, and its columns as
//! arrays.

use std::sync::Arc;

use ndarray::Array2;

use super::stack::lower;
use super::{FittedRegressor, Model, eve_plan};
use crate::base::{Error, Result};
use crate::rows::{Intervals, Level, OwnKind, RegressionInputs, Side};
use crate::score::{Asked, Column, Plan, Port, Quantity, Scorer, beside};

impl FittedRegressor {
    /// The operations that compute what is asked for.
    pub fn plan(&self, asked: &Asked) -> Result<Plan> {
        let range = self.settings.range();
        match &self.model {
            Model::Eve { intervals, .. } => eve_plan::plan(intervals, range, asked),
            Model::Stacks(stacks) => lower::plan(stacks, self.features, range, asked),
        }
    }

    /// What computes this for any number of rows, from the columns alone that matter. It is kept: asking for the same
    /// again costs nothing.
    pub fn scorer(&self, asked: &Asked) -> Result<Arc<Scorer>> {
        self.scorers.get(asked, || Ok(Scorer::new(self.plan(asked)?)))
    }

    /// The point predictions, rows × outputs.
    pub fn predict(&self, rows: &RegressionInputs<'_>) -> Result<Array2<f64>> {
        let scorer = self.scorer(&Asked::default())?;
        let columns = self.run(&scorer, rows)?;
        Ok(beside(&columns, rows.features.nrows()))
    }

    /// Intervals at one level, each output by itself.
    pub fn intervals(&self, rows: &RegressionInputs<'_>, level: Level, side: Side) -> Result<Intervals> {
        Ok(self.all_intervals(rows, &Asked::at(&[level]).with_side(side))?.remove(0))
    }

    /// Intervals at every level that is asked for, in one pass over the rows.
    pub fn all_intervals(&self, rows: &RegressionInputs<'_>, asked: &Asked) -> Result<Vec<Intervals>> {
        let scorer = self.scorer(asked)?;
        let columns = self.run(&scorer, rows)?;
        Ok(gather(columns, &scorer, asked, rows.features.nrows()))
    }

    /// Intervals that hold all outputs of a row at once with this level: every output at 1 − α/outputs (Bonferroni).
    pub fn joint_intervals(&self, rows: &RegressionInputs<'_>, level: Level, side: Side) -> Result<Intervals> {
        Ok(self.all_intervals(rows, &Asked { levels: vec![level], side, joint: true })?.remove(0))
    }

    /// The features whose value can change a prediction or a bound, ascending.
    pub fn used_features(&self) -> Vec<usize> {
        let scorer = self.scorer(&Asked::at(&[self.settings.level]));
        scorer.map_or_else(|_| (0..self.features).collect(), |s| s.plan().columns(Port::Features).collect())
    }

    /// Fails where rows have another number of columns than those of the fit.
    pub(super) fn check_columns(&self, rows: &RegressionInputs<'_>) -> Result<()> {
        if rows.features.ncols() != self.features {
            return Err(Error::shape("feature columns", self.features, rows.features.ncols()));
        }
        if let Some(d) = rows.prediction.filter(|d| d.ncols() != self.outputs()) {
            return Err(Error::shape("columns of the predictions", self.outputs(), d.ncols()));
        }
        let own = rows.own.into_iter().flat_map(|own| own.parts().to_vec());
        match own.map(|a| a.ncols()).find(|&columns| columns != self.outputs()) {
            Some(found) => Err(Error::shape("columns of the network's own uncertainty", self.outputs(), found)),
            None => check_own(self.own, rows.own_kind()),
        }
    }

    fn run(&self, scorer: &Scorer, rows: &RegressionInputs<'_>) -> Result<Vec<Vec<f64>>> {
        self.check_columns(rows)?;
        if rows.prediction.is_none() && scorer.plan().columns(Port::Prediction).next().is_some() {
            return Err(Error::NoPrediction { what: crate::regression::stack::NAME });
        }
        scorer.run(&used(scorer, rows), rows.features.nrows())
    }
}

/// Fails where the network's own uncertainty is not that of the fit.
pub(super) fn check_own(fitted: Option<OwnKind>, found: Option<OwnKind>) -> Result<()> {
    match (fitted, found) {
        (Some(kind), found) if found != Some(kind) => Err(Error::NoOwn { what: kind.names()[0] }),
        (None, Some(kind)) => Err(Error::UnusedOwn { what: kind.names()[0] }),
        _ => Ok(()),
    }
}

/// The columns that a scorer reads, of rows that have them.
pub(super) fn used<'a>(scorer: &Scorer, rows: &RegressionInputs<'a>) -> Vec<Column<'a>> {
    let features = Column::of(rows.features);
    let prediction = rows.prediction.map(Column::of).unwrap_or_default();
    let own: Vec<Vec<Column<'a>>> = rows.own().into_iter().map(Column::of).collect();
    let column = |port: Port, k: usize| match port.own_place() {
        Some((_, place)) => own[place][k],
        None if port == Port::Features => features[k],
        None => prediction[k],
    };
    scorer.inputs().iter().map(|i| column(i.port, i.column)).collect()
}

/// Intervals from the columns of a scorer; ends that are not asked for are infinite.
pub(super) fn gather(columns: Vec<Vec<f64>>, scorer: &Scorer, asked: &Asked, rows: usize) -> Vec<Intervals> {
    // In the order of the targets, whatever that of the scorer.
    let find = |wanted: &dyn Fn(Quantity) -> Option<usize>, otherwise: f64, targets: usize| {
        let mut found = vec![None; targets];
        for (output, column) in scorer.outputs().iter().zip(&columns) {
            wanted(output.quantity).into_iter().for_each(|target| found[target] = Some(column));
        }
        let column = |c: Option<&Vec<f64>>| c.cloned().unwrap_or_else(|| vec![otherwise; rows]);
        beside(&found.into_iter().map(column).collect::<Vec<_>>(), rows)
    };
    let targets = scorer.outputs().iter().filter(|o| matches!(o.quantity, Quantity::Prediction { .. })).count();
    let point = |q| if let Quantity::Prediction { target } = q { Some(target) } else { None };
    let prediction = find(&point, 0.0, targets);
    let one = |(number, &level): (usize, &Level)| {
        let lower = |q| match q {
            Quantity::Lower { target, level } if level == number => Some(target),
            _ => None,
        };
        let upper = |q| match q {
            Quantity::Upper { target, level } if level == number => Some(target),
            _ => None,
        };
        Intervals {
            prediction: prediction.clone(),
            lower: find(&lower, f64::NEG_INFINITY, targets),
            upper: find(&upper, f64::INFINITY, targets),
            level,
        }
    };
    asked.levels.iter().enumerate().map(one).collect()
}
