//! The computations behind an evaluation of intervals, from the figures of all rows.

use ndarray::{Array2, ArrayView2, Axis, s};
use stonet::base::Work;
use stonet::metrics::{covered, mean_length, median_length, rmse, winkler};
use stonet::{Error, FittedRegressor, Intervals, Level, RegressionInputs, Result, Seed};

use super::curve::{Tally, row_hit};
use super::diagnosis::{Diagnosis, SEARCHED_TARGETS, Search, worst_fifth};
use super::judge::rows_of;
use super::{IntervalScores, LEVELS, PooledSubgroup, SampleRow, Subgroup, TargetEvaluation};
use crate::evaluate::binomial::Proportion;
use crate::evaluate::importance::{Explain, Importance, Loss, permutation, spread};
use crate::evaluate::strata::{Groups, fifth_of, fifths, ranked};

/// Rows drawn with their intervals.
const SAMPLE: usize = 200;
/// The input column that stands for the network's own prediction.
const OWN_PREDICTION: &str = "(the network's own prediction)";
/// The input columns that stand for its own uncertainty.
const OWN_UNCERTAINTY: &str = "(the network's own uncertainty)";
/// What importance is measured by.
const MEASURE: &str = "growth of the mean squared error, as a part of the target's variance";

/// What every computation below needs.
pub(super) struct Job<'a> {
    pub fitted: &'a FittedRegressor,
    /// At the level of each target by itself.
    pub intervals: &'a Intervals,
    pub y: ArrayView2<'a, f64>,
    /// The network's own predictions.
    pub network: Option<ArrayView2<'a, f64>>,
    /// The rows that are searched for low coverage.
    pub search: Search<'a>,
    /// Of this search.
    pub seed: Seed,
    pub steps: &'a Work<'a>,
}

/// Fails where values are missing, or do not fit the rows or the head.
pub(super) fn check_values(rows: &RegressionInputs<'_>, y: ArrayView2<'_, f64>, targets: usize) -> Result<()> {
    if y.ncols() != targets {
        return Err(Error::Shape { what: "target columns".into(), expected: targets, found: y.ncols() });
    }
    rows.check_values(y)
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

fn one_output(i: &Intervals, j: usize) -> Intervals {
    let column = |a: &Array2<f64>| a.slice(s![.., j..j + 1]).to_owned();
    Intervals { prediction: column(&i.prediction), lower: column(&i.lower), upper: column(&i.upper), level: i.level }
}

/// Per row: of boxes whether it lies inside, otherwise the share of its values that do.
pub(super) fn row_hits(i: &Intervals, y: ArrayView2<'_, f64>, joint: bool) -> Result<Vec<f64>> {
    let hits = covered(i, y)?;
    Ok(hits.outer_iter().map(|r| row_hit(r.iter().filter(|h| **h).count(), r.len(), joint)).collect())
}

/// Per row: the mean length of its intervals.
pub(super) fn row_lengths(i: &Intervals) -> Vec<f64> {
    ((&i.upper - &i.lower).sum_axis(Axis(1)) / i.upper.ncols() as f64).to_vec()
}

impl Job<'_> {
    /// Every target by itself.
    pub fn targets(&self, names: Vec<String>, tallies: &[Tally]) -> Result<Vec<TargetEvaluation>> {
        let several = names.len() > 1;
        let one = |(j, name): (usize, String)| {
            let own = several.then(|| one_output(self.intervals, j));
            let mut target = self.target(j, name, own.as_ref().unwrap_or(self.intervals))?;
            let rows = self.y.nrows();
            target.curve = tallies.iter().zip(LEVELS).map(|(t, level)| t.target(j, level, rows)).collect();
            self.steps.advance()?;
            Ok(target)
        };
        names.into_iter().enumerate().map(one).collect()
    }

    /// A target with its intervals, without its curve.
    fn target(&self, j: usize, name: String, i: &Intervals) -> Result<TargetEvaluation> {
        let own = |a: ArrayView2<'_, f64>| a.slice(s![.., j..j + 1]).to_owned();
        let scores = match self.y.ncols() {
            1 => scores(i, self.y, self.network)?,
            _ => scores(i, own(self.y).view(), self.network.map(own).as_ref().map(|d| d.view()))?,
        };
        let row = |row: usize| SampleRow {
            row,
            prediction: i.prediction[[row, 0]],
            lower: i.lower[[row, 0]],
            upper: i.upper[[row, 0]],
            truth: self.y[[row, j]],
        };
        let rows = self.y.nrows();
        let length = |r: usize| i.upper[[r, 0]] - i.lower[[r, 0]];
        let hit = |r: usize| i.lower[[r, 0]] <= self.y[[r, j]] && self.y[[r, j]] <= i.upper[[r, 0]];
        let level = i.level.get();
        let prediction = |r: usize| i.prediction[[r, 0]];
        let [by_length, order] = [ranked(rows, length), ranked(rows, prediction)];
        let mut target = TargetEvaluation {
            name,
            scores,
            curve: Vec::new(),
            by_width: fifths(&by_length, length, hit, length, level),
            by_prediction: fifths(&order, prediction, hit, length, level),
            diagnosis: Diagnosis::default(),
            distribution: None,
            sample: spread(rows, SAMPLE).into_iter().map(|rank| row(order[rank])).collect(),
            weights: None,
            variance: None,
        };
        let [of_length, of_prediction] = [fifth_of(&by_length, length), fifth_of(&order, prediction)];
        let seed = self.seed.child(j as u64);
        if j < SEARCHED_TARGETS {
            target.diagnosis = self.search.run(prediction, length, hit, i.level, seed, self.steps)?;
        }
        target.diagnosis.worst_fifth = worst_fifth(&target, [&of_length, &of_prediction], i.level, seed)?;
        Ok(target)
    }

    /// Every subgroup, at the level that is promised; `pooled` are hits and lengths by the ranks of all rows.
    pub fn subgroups(
        &self,
        groups: &Groups,
        hits: &[f64],
        pooled: Option<&(Vec<f64>, Vec<f64>)>,
        level: Level,
    ) -> Vec<Subgroup> {
        let lengths = row_lengths(self.intervals);
        let groups = groups.largest();
        let number = groups.len();
        let both = |rows: &[usize], hits: &[f64], lengths: &[f64]| {
            let coverage = Proportion::new(rows.iter().map(|&r| hits[r]).sum(), rows.len());
            (coverage, rows.iter().map(|&r| lengths[r]).sum::<f64>() / rows.len() as f64)
        };
        let one = |(name, rows): (String, Vec<usize>)| {
            let (coverage, mean_length) = both(&rows, hits, &lengths);
            let pooled = pooled.map(|(hits, lengths)| {
                let (coverage, mean_length) = both(&rows, hits, lengths);
                PooledSubgroup { coverage, mean_length }
            });
            Subgroup { name, judgement: coverage.judge(level.get(), number), coverage, mean_length, pooled }
        };
        groups.into_iter().map(one).collect()
    }

    /// Features and, as more columns per target, the network's own prediction and uncertainty, on which a stack may lean
    /// most; on a sample of rows, which is their numbers and their values.
    pub fn importance(
        &self,
        features: &[String],
        (numbers, sample): (&[usize], ArrayView2<'_, f64>),
        seed: Seed,
    ) -> Result<Importance> {
        let p = features.len();
        let own = if self.fitted.needs_prediction() || self.fitted.own().is_some() { sample.ncols() } else { p };
        let uncertainty = own - self.fitted.own().map_or(0, |kind| kind.names().len() * self.fitted.outputs());
        let inputs = sample.slice(s![.., ..own]);
        let said = |c: usize| if c < uncertainty { OWN_PREDICTION } else { OWN_UNCERTAINTY }.to_owned();
        let names: Vec<String> = features.iter().cloned().chain((p..own).map(said)).collect();
        let predict = |x: ArrayView2<'_, f64>| self.fitted.predict(&rows_of(self.fitted, x)?);
        let variance = self.y.var_axis(Axis(0), 0.0).mapv(|v| if v > 0.0 { v } else { 1.0 });
        let loss = |rows: &[usize], prediction: ArrayView2<'_, f64>| {
            let squares = (&self.y.select(Axis(0), rows) - &prediction).mapv(|e| e * e) / &variance;
            squares.sum() / squares.len() as f64
        };
        let selected = self.fitted.selected_features();
        // StoNets look at the features they select, ridge at all of them.
        let ridge = self.fitted.weights().is_some_and(|w| w.iter().any(|w| w[2] > 0.0));
        let used: Vec<bool> = (0..own).map(|c| c >= p || ridge || selected.get(c).is_some_and(|s| *s > 0.0)).collect();
        let explain = Explain { inputs, names: &names, predict: &predict, rows: Some(numbers) };
        let loss = Loss { measure: MEASURE, fraction: true, of: &loss };
        let mut importance = permutation(&explain, &used, &loss, seed, self.steps)?;
        for feature in &mut importance.features {
            let column = features.iter().position(|name| *name == feature.name);
            feature.selected = column.and_then(|c| selected.get(c).copied());
        }
        Ok(importance)
    }
}
