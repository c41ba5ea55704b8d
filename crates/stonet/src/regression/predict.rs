//! Predictions and intervals of a fitted head: the plan for what is asked, made once and kept, and its columns as
//! arrays.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};

use super::stack::lower;
use super::{FittedRegressor, Model, eve_plan};
use crate::base::{Error, Result};
use crate::rows::{Intervals, Level, OwnKind, RegressionInputs, Side};
use crate::score::{Asked, Column, Decision, Plan, Port, Quantity, Scorer, Surety, beside, decided};

impl FittedRegressor {
    /// The operations that compute what is asked for.
    pub fn plan(&self, asked: &Asked) -> Result<Plan> {
        let range = self.settings.range();
        if let Some(decision) = &asked.decision {
            self.check_decision(decision)?;
        }
        match &self.model {
            Model::Eve { intervals, .. } => eve_plan::plan(intervals, range, asked),
            Model::Stacks(stacks) => {
                let ratio = self.adapted.as_ref().map(|a| &a.ratio);
                let ranking = lower::Ranking { tracks: self.level_tracks(), ratio };
                lower::plan(stacks, self.features, range, ranking, asked)
            }
        }
    }

    /// Fails where a rule cannot decide by this head's intervals.
    fn check_decision(&self, decision: &Decision) -> Result<()> {
        let why = match (decision.surety, self.outputs()) {
            (Surety::Shortness(_), 1) => return Ok(()),
            (Surety::Shortness(_), _) => "it is for one target, and the head has several; fit a head of one target",
            _ => "it is for class probabilities, and the head gives intervals; make a rule for this head",
        };
        Err(Error::OtherRule { why: why.into() })
    }

    /// What computes this for any number of rows, from the columns alone that matter. It is kept: asking for the same
    /// again costs nothing.
    pub fn scorer(&self, asked: &Asked) -> Result<Arc<Scorer>> {
        self.scorers.get(asked, || Ok(Scorer::new(self.plan(asked)?)))
    }

    /// The point predictions, rows × outputs.
    pub fn predict(&self, rows: &RegressionInputs<'_>) -> Result<Array2<f64>> {
        let scorer = self.scorer(&Asked::default())?;
        let columns = self.run(&scorer, rows, None)?;
        Ok(beside(&columns, rows.features.nrows()))
    }

    /// Intervals at one level, each output by itself.
    pub fn intervals(&self, rows: &RegressionInputs<'_>, level: Level, side: Side) -> Result<Intervals> {
        Ok(self.all_intervals(rows, &Asked::at(&[level]).with_side(side))?.remove(0))
    }

    /// Intervals at every level that is asked for, in one pass over the rows.
    pub fn all_intervals(&self, rows: &RegressionInputs<'_>, asked: &Asked) -> Result<Vec<Intervals>> {
        let scorer = self.scorer(asked)?;
        let columns = self.run(&scorer, rows, None)?;
        Ok(gather(columns, &scorer, asked, rows.features.nrows()))
    }

    /// Intervals that hold all outputs of a row at once with this level: every output at 1 − α/outputs (Bonferroni).
    pub fn joint_intervals(&self, rows: &RegressionInputs<'_>, level: Level, side: Side) -> Result<Intervals> {
        Ok(self.all_intervals(rows, &Asked { joint: true, ..Asked::at(&[level]).with_side(side) })?.remove(0))
    }

    /// Quantiles of every output by itself, each rows × outputs.
    ///
    /// They are one-sided bounds: below ½ the quantile τ is the lower bound at level 1 − τ, otherwise the upper bound at
    /// level τ, and the [guarantee](Self::guarantee) is that of the bound. A quantile is infinite where there are too
    /// few rows for the bound.
    pub fn quantiles(&self, rows: &RegressionInputs<'_>, quantiles: &[Level]) -> Result<Vec<Array2<f64>>> {
        let asked = Asked { quantiles: quantiles.to_vec(), ..Asked::default() };
        let number_of = |q| if let Quantity::Quantile { target, number } = q { Some((target, number)) } else { None };
        self.tables(rows, None, &asked, quantiles.len(), number_of)
    }

    /// Which rows a rule answers, of a head of one target.
    pub fn decide(&self, rows: &RegressionInputs<'_>, decision: Decision) -> Result<Vec<bool>> {
        let scorer = self.scorer(&Asked { decision: Some(decision), ..Asked::default() })?;
        Ok(decided(&scorer, self.run(&scorer, rows, None)?))
    }

    /// P(y ≤ t) of every output for each value t, rows × outputs.
    pub fn cdf(&self, rows: &RegressionInputs<'_>, values: &[f64]) -> Result<Vec<Array2<f64>>> {
        if let Some(bad) = values.iter().find(|t| t.is_nan()) {
            return Err(Error::setting("values", *bad, "a number"));
        }
        let asked = Asked { below: values.to_vec(), ..Asked::default() };
        self.tables(rows, None, &asked, values.len(), number_below)
    }

    /// P(y ≤ t) of every output at a value t of its own in every row, rows × outputs. At the observed y this is the
    /// probability integral transform, which is uniform where the distributions are right.
    pub fn cdf_at(&self, rows: &RegressionInputs<'_>, values: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let shape = (rows.features.nrows(), self.outputs());
        if values.nrows() != shape.0 {
            return Err(Error::shape("rows of the values", shape.0, values.nrows()));
        }
        if values.ncols() != shape.1 {
            return Err(Error::shape("columns of the values", shape.1, values.ncols()));
        }
        let asked = Asked { at_values: true, ..Asked::default() };
        Ok(self.tables(rows, Some(values), &asked, 1, number_below)?.remove(0))
    }

    /// Probabilities whose quantiles stand for the whole distribution, as likely as each other: one per calibration row
    /// or group where there are few, otherwise 40. CRPS is computed from them.
    pub fn equally_likely(&self) -> Vec<Level> {
        let level = |p: f64| Level::new(p).expect("a proper fraction");
        match self.size() {
            Some((units, _)) if units < 2 * EQUALLY_LIKELY => {
                (1..=units).map(|i| level(i as f64 / (units as f64 + 1.0))).collect()
            }
            _ => (0..EQUALLY_LIKELY).map(|i| level((i as f64 + 0.5) / EQUALLY_LIKELY as f64)).collect(),
        }
    }

    /// Outputs of a scorer as tables, rows × outputs: `place` tells the target and the number of the table.
    fn tables(
        &self,
        rows: &RegressionInputs<'_>,
        values: Option<ArrayView2<'_, f64>>,
        asked: &Asked,
        tables: usize,
        place: impl Fn(Quantity) -> Option<(usize, usize)>,
    ) -> Result<Vec<Array2<f64>>> {
        let scorer = self.scorer(asked)?;
        let columns = self.run(&scorer, rows, values)?;
        let mut out = vec![Array2::zeros((rows.features.nrows(), self.outputs())); tables];
        for (output, column) in scorer.outputs().iter().zip(columns) {
            if let Some((target, number)) = place(output.quantity) {
                out[number].column_mut(target).assign(&Array1::from(column));
            }
        }
        Ok(out)
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

    pub(super) fn run(
        &self,
        scorer: &Scorer,
        rows: &RegressionInputs<'_>,
        values: Option<ArrayView2<'_, f64>>,
    ) -> Result<Vec<Vec<f64>>> {
        self.check_columns(rows)?;
        if rows.prediction.is_none() && scorer.plan().columns(Port::Prediction).next().is_some() {
            return Err(Error::NoPrediction { what: crate::regression::stack::NAME });
        }
        if rows.within.is_none() && scorer.plan().columns(Port::Groups).next().is_some() {
            return Err(Error::NoGroups);
        }
        let (wanted, found) =
            (scorer.plan().width(Port::Functions).unwrap_or(0), rows.conditional.map_or(0, |f| f.ncols()));
        match found {
            _ if wanted == 0 || wanted == found => {}
            0 => return Err(Error::NoFunctions { columns: wanted }),
            found => return Err(Error::shape("columns of the functions (conditional)", wanted, found)),
        }
        scorer.run(&used(scorer, &rows.reborrow(), values.as_ref().map(|v| v.view())), rows.features.nrows())
    }
}

/// Probabilities that stand for a distribution: CRPS is then too large by about 0.05 %.
const EQUALLY_LIKELY: usize = 40;

fn number_below(quantity: Quantity) -> Option<(usize, usize)> {
    if let Quantity::Below { target, number } = quantity { Some((target, number)) } else { None }
}

/// Fails where the network's own uncertainty is not that of the fit.
pub(super) fn check_own(fitted: Option<OwnKind>, found: Option<OwnKind>) -> Result<()> {
    match (fitted, found) {
        (Some(kind), found) if found != Some(kind) => Err(Error::NoOwn { what: kind.names()[0] }),
        (None, Some(kind)) => Err(Error::UnusedOwn { what: kind.names()[0] }),
        _ => Ok(()),
    }
}

/// The columns that a scorer reads, of rows that have them and of values at which probabilities are asked.
pub(super) fn used<'a>(
    scorer: &Scorer,
    rows: &RegressionInputs<'a>,
    values: Option<ArrayView2<'a, f64>>,
) -> Vec<Column<'a>> {
    let features = Column::of(rows.features);
    let [prediction, functions, values] =
        [rows.prediction, rows.conditional, values].map(|t| t.map(Column::of).unwrap_or_default());
    let own: Vec<Vec<Column<'a>>> = rows.own().into_iter().map(Column::of).collect();
    let column = |port: Port, k: usize| match (port, port.own_place(), rows.within) {
        (_, Some((_, place)), _) => own[place][k],
        (Port::Features, ..) => features[k],
        (Port::Functions, ..) => functions[k],
        (Port::Values, ..) => values[k],
        (Port::Groups, _, Some(groups)) => Column::F64(groups),
        _ => prediction[k],
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
