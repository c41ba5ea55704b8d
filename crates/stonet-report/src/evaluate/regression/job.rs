//! The computations behind an evaluation of intervals.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use stonet::metrics::{covered, mean_length, median_length, rmse, winkler};
use stonet::{Error, FittedPostStoNet, Intervals, Level, NewRows, Result, Seed, Side};

use super::{CurvePoint, IntervalScores, LEVELS, SampleRow, Subgroup, TargetEvaluation};
use crate::evaluate::binomial::Proportion;
use crate::evaluate::importance::{Explain, Importance, Loss, permutation, spread};
use crate::evaluate::steps::Steps;
use crate::evaluate::strata::{fifths, subgroups};

/// Rows drawn with their intervals.
const SAMPLE: usize = 200;
/// The input column that stands for the network's own prediction.
const OWN_PREDICTION: &str = "(the network's own prediction)";
/// What importance is measured by.
const MEASURE: &str = "growth of the mean squared error, as a part of the target's variance";

/// What every computation below needs.
pub(super) struct Job<'a, 'r> {
    pub fitted: &'a FittedPostStoNet,
    pub rows: &'a NewRows<'r>,
    pub y: ArrayView2<'a, f64>,
    pub joint: bool,
    pub steps: Steps<'a>,
}

pub(super) fn check_values(rows: &NewRows<'_>, y: ArrayView2<'_, f64>) -> Result<()> {
    if y.nrows() == 0 {
        let remedy = "give rows with known values that were used for nothing before";
        return Err(Error::TooFewRows { what: "an evaluation", needed: 1, found: 0, remedy });
    }
    if y.nrows() != rows.features().nrows() {
        let what = "rows of the targets".into();
        return Err(Error::Shape { what, expected: rows.features().nrows(), found: y.nrows() });
    }
    match y.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((row, column), v)) => Err(Error::NotFinite { what: "targets", row, column, value: v.to_string() }),
    }
}

/// The names, or numbered ones where there are none.
pub(super) fn names(what: &str, given: &[String], expected: usize, letter: &str) -> Result<Vec<String>> {
    match given.len() {
        0 => Ok((0..expected).map(|i| format!("{letter}{i}")).collect()),
        n if n == expected => Ok(given.to_vec()),
        found => Err(Error::Shape { what: what.into(), expected, found }),
    }
}

pub(super) fn scores(
    i: &Intervals,
    y: ArrayView2<'_, f64>,
    network: Option<ArrayView2<'_, f64>>,
) -> Result<IntervalScores> {
    let hits = covered(i, y)?;
    Ok(IntervalScores {
        level: i.level,
        coverage: Proportion::new(hits.iter().filter(|h| **h).count() as f64, hits.len()),
        mean_length: mean_length(i),
        median_length: median_length(i),
        winkler: winkler(i, y)?,
        rmse: rmse(i.prediction.view(), y)?,
        network_rmse: network.map(|d| rmse(d, y)).transpose()?,
    })
}

fn column(a: &Array2<f64>, j: usize) -> Array2<f64> {
    a.slice(s![.., j..j + 1]).to_owned()
}

fn one_output(i: &Intervals, j: usize) -> Intervals {
    Intervals {
        prediction: column(&i.prediction, j),
        lower: column(&i.lower, j),
        upper: column(&i.upper, j),
        level: i.level,
    }
}

impl Job<'_, '_> {
    /// As asked for; of boxes, every target at the level it has by itself.
    pub fn intervals(&self, level: Level) -> Result<Intervals> {
        let each = if self.joint { Level::new(1.0 - (1.0 - level.get()) / self.y.ncols() as f64)? } else { level };
        self.fitted.intervals(self.rows, each, Side::Both)
    }

    /// At every level of the curve: each target by itself, and all together as asked for.
    pub fn curves(&self) -> Result<Vec<(Intervals, Intervals)>> {
        let one = |level: &f64| {
            let level = Level::new(*level)?;
            let each = self.fitted.intervals(self.rows, level, Side::Both)?;
            let all =
                if self.joint { self.fitted.joint_intervals(self.rows, level, Side::Both)? } else { each.clone() };
            self.steps.done()?;
            Ok((each, all))
        };
        LEVELS.iter().map(one).collect()
    }

    /// Per row: of boxes whether it lies inside, otherwise the share of its values that do.
    pub fn row_hits(&self, i: &Intervals) -> Result<Vec<f64>> {
        let hits = covered(i, self.y)?;
        let share = |row: ndarray::ArrayView1<'_, bool>| {
            let inside = row.iter().filter(|h| **h).count();
            if self.joint { f64::from(u8::from(inside == row.len())) } else { inside as f64 / row.len() as f64 }
        };
        Ok(hits.outer_iter().map(share).collect())
    }

    pub fn point(&self, i: &Intervals) -> Result<CurvePoint> {
        let hits = self.row_hits(i)?;
        let coverage = Proportion::new(hits.iter().sum(), hits.len());
        Ok(CurvePoint { level: i.level.get(), coverage, mean_length: mean_length(i) })
    }

    pub fn column_point(&self, i: &Intervals, j: usize) -> Result<CurvePoint> {
        let (i, y) = (one_output(i, j), self.y.slice(s![.., j..j + 1]));
        let scores = scores(&i, y, None)?;
        Ok(CurvePoint { level: i.level.get(), coverage: scores.coverage, mean_length: scores.mean_length })
    }

    pub fn target(&self, j: usize, name: String, all: &Intervals, curve: Vec<CurvePoint>) -> Result<TargetEvaluation> {
        let (i, y) = (one_output(all, j), self.y.slice(s![.., j..j + 1]));
        let network = self.rows.prediction().map(|d| d.slice_move(s![.., j..j + 1]));
        let hits: Vec<bool> = covered(&i, y)?.into_iter().collect();
        let lengths: Vec<f64> = (&i.upper - &i.lower).into_iter().collect();
        let prediction: Vec<f64> = i.prediction.iter().copied().collect();
        let mut order: Vec<usize> = (0..hits.len()).collect();
        order.sort_by(|&a, &b| prediction[a].total_cmp(&prediction[b]));
        let at = |rank: usize| {
            let row = order[rank];
            let (lower, upper) = (i.lower[[row, 0]], i.upper[[row, 0]]);
            SampleRow { row, prediction: prediction[row], lower, upper, truth: y[[row, 0]] }
        };
        let level = i.level.get();
        Ok(TargetEvaluation {
            name,
            scores: scores(&i, y, network)?,
            curve,
            by_width: fifths(&lengths, &hits, &lengths, level),
            by_prediction: fifths(&prediction, &hits, &lengths, level),
            sample: spread(order.len(), SAMPLE).into_iter().map(at).collect(),
            weights: None,
            variance: None,
        })
    }

    pub fn subgroups(&self, labels: &[String], hits: &[f64], i: &Intervals, level: Level) -> Result<Vec<Subgroup>> {
        let lengths = (&i.upper - &i.lower).sum_axis(Axis(1)) / self.y.ncols() as f64;
        let groups = subgroups(labels, hits.len())?;
        let number = groups.len();
        let one = |(name, rows): (String, Vec<usize>)| {
            let coverage = Proportion::new(rows.iter().map(|&r| hits[r]).sum(), rows.len());
            let mean_length = rows.iter().map(|&r| lengths[r]).sum::<f64>() / rows.len() as f64;
            Subgroup { name, judgement: coverage.judge(level.get(), number), coverage, mean_length }
        };
        Ok(groups.into_iter().map(one).collect())
    }

    /// Features and, as one more column per target, the network's own prediction, on which a stack may lean most.
    pub fn importance(&self, features: &[String], seed: Seed) -> Result<Importance> {
        let p = features.len();
        let own = self.rows.prediction().filter(|_| self.fitted.needs_prediction());
        let inputs = match own {
            Some(d) => concatenate![Axis(1), self.rows.features(), d],
            None => self.rows.features().to_owned(),
        };
        let names: Vec<String> =
            features.iter().cloned().chain((p..inputs.ncols()).map(|_| OWN_PREDICTION.to_owned())).collect();
        let predict = |x: ArrayView2<'_, f64>| {
            let rows = NewRows::new(x.slice_move(s![.., ..p]))?;
            let d = x.slice_move(s![.., p..]);
            self.fitted.predict(&if d.ncols() > 0 { rows.with_prediction(d)? } else { rows })
        };
        let variance = self.y.var_axis(Axis(0), 0.0).mapv(|v| if v > 0.0 { v } else { 1.0 });
        let loss = |rows: &[usize], prediction: ArrayView2<'_, f64>| {
            let squares = (&self.y.select(Axis(0), rows) - &prediction).mapv(|e| e * e) / &variance;
            squares.sum() / squares.len() as f64
        };
        let selected = self.fitted.selected_features();
        // StoNets look at the features they select, ridge at all of them.
        let ridge = self.fitted.weights().is_some_and(|w| w.iter().any(|w| w[2] > 0.0));
        let used: Vec<bool> =
            (0..inputs.ncols()).map(|c| c >= p || ridge || selected.get(c).is_some_and(|s| *s > 0.0)).collect();
        let explain = Explain { inputs: inputs.view(), names: &names, predict: &predict };
        let loss = Loss { measure: MEASURE, fraction: true, of: &loss };
        let mut importance = permutation(&explain, &used, &loss, seed, &self.steps)?;
        for feature in &mut importance.features {
            let column = features.iter().position(|name| *name == feature.name);
            feature.selected = column.and_then(|c| selected.get(c).copied());
        }
        Ok(importance)
    }
}
