//! A regression head under watch: scores of every fold, targets, and what the network sees.

use ndarray::ArrayView2;

use super::baseline::Baseline;
use super::cells::{Cells, Counts};
use super::process::{Process, Quantity};
use super::state::{Monitor, MonitorSettings};
use crate::base::{Error, Result};
use crate::regression::{Counted, FittedRegressor, FoldScorer};
use crate::rows::{Intervals, RegressionInputs, Side};

/// Watches a regression head.
///
/// ```
/// use ndarray::{Array2, Axis, s};
/// use stonet::monitor::{Baseline, Family, MonitorSettings, RegressionMonitor, Watched};
/// use stonet::{Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed};
/// let x = Array2::from_shape_fn((900, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// let (old, new) = (s![..300, ..], s![300.., ..]);
/// let rows = RegressionRows::new(x.slice(old), y.slice(old))?;
/// let head = PostStoNetRegressor { kind: Kind::Fast, ..Default::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let watched = Watched { inputs: &[x.slice(old)], targets: Some(y.slice(old)), labels: None, logits: None };
/// let baseline = Baseline::fit(&watched, Seed::new(1))?;
/// let settings = MonitorSettings::new(Level::new(0.9)?);
/// let mut watch = RegressionMonitor::new(&head, Some(&baseline), settings)?;
/// // The world has changed: answers are larger than they were.
/// let later = &y.slice(new) + 1.0;
/// watch.add(&RegressionInputs::new(x.slice(new))?, Some(later.view()))?;
/// assert!(watch.state().alarm(Family::Answers).is_some());
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug)]
pub struct RegressionMonitor<'a> {
    head: &'a FittedRegressor,
    baseline: Option<&'a Baseline>,
    folds: Option<FoldScorer<'a>>,
    /// Whether calibration rows have scores that new ones are exchangeable with.
    past: bool,
    disagreement: bool,
    state: Monitor,
}

impl<'a> RegressionMonitor<'a> {
    /// Begins to watch a head that was fitted with or without a baseline.
    pub fn new(head: &'a FittedRegressor, baseline: Option<&'a Baseline>, settings: MonitorSettings) -> Result<Self> {
        if head.adapted().is_some() {
            let why = "a monitor compares new rows with these; watch the head as it was before, or fit on new rows";
            return Err(Error::IsAdapted { why });
        }
        let folds = FoldScorer::new(head);
        let past = folds.as_ref().and_then(FoldScorer::past);
        let baseline = baseline.filter(|b| b.targets.len() == head.outputs());
        let answers = answers(head, past.as_deref(), baseline, settings.alarm)?;
        let several = folds.as_ref().is_some_and(|f| f.folds() > 1);
        let disagreement = folds.is_some() && (several || head.needs_prediction());
        let inputs = inputs(head.outputs(), disagreement, baseline, settings.alarm)?;
        let state = Monitor::new(settings, answers, inputs, head.outputs(), false)?;
        let past = past.is_some();
        Ok(RegressionMonitor { head, baseline, folds, past, disagreement, state })
    }

    /// Goes on with an earlier state of a monitor of the same head.
    pub fn resume(head: &'a FittedRegressor, baseline: Option<&'a Baseline>, state: Monitor) -> Result<Self> {
        let new = Self::new(head, baseline, *state.settings())?;
        Ok(RegressionMonitor { state: new.state.resumed(state)?, ..new })
    }

    /// The state, for files and reports.
    pub fn state(&self) -> &Monitor {
        &self.state
    }

    /// Adds rows, with their targets where these are known. An error leaves the state as it was.
    pub fn add(&mut self, rows: &RegressionInputs<'_>, y: Option<ArrayView2<'_, f64>>) -> Result<()> {
        let n = rows.features.nrows();
        if let Some(y) = y.filter(|y| y.dim() != (n, self.head.outputs())) {
            return Err(Error::shape("rows of the targets", n, y.nrows()));
        }
        let intervals = self.head.intervals(rows, self.state.settings().level, Side::Both)?;
        let at = self.folds.as_ref().map(|f| f.at(rows)).transpose()?;
        let inputs = self.input_values(rows, &intervals, at.as_deref())?;
        let answers = match y {
            Some(y) => Some((self.answer_values(y, &intervals, at.as_deref())?, covered(y, &intervals))),
            None => None,
        };
        self.state.add_inputs(n, &inputs);
        if let Some((values, covered)) = answers {
            self.state.add_answers(n, &values, &covered);
        }
        Ok(())
    }

    /// Scores by target and fold, then the targets.
    fn answer_values(
        &self,
        y: ArrayView2<'_, f64>,
        intervals: &Intervals,
        at: Option<&[Vec<[Vec<f64>; 3]>]>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut values = match (&self.folds, at) {
            (Some(folds), Some(at)) if self.past => folds.scores(at, y)?,
            _ => (0..y.ncols()).map(|t| own_scores(y, intervals, t)).collect(),
        };
        values.extend(y.columns().into_iter().map(|c| c.to_vec()));
        Ok(values)
    }

    /// The distance, predictions and disagreement by target, then the columns, in the order of [`inputs`].
    fn input_values(
        &self,
        rows: &RegressionInputs<'_>,
        intervals: &Intervals,
        at: Option<&[Vec<[Vec<f64>; 3]>]>,
    ) -> Result<Vec<Vec<f64>>> {
        let tables = regression_tables(rows);
        let mut values: Vec<Vec<f64>> = self.baseline.iter().map(|b| b.distances(&tables)).collect();
        values.extend(intervals.prediction.columns().into_iter().map(|c| c.to_vec()));
        if let Some(at) = at.filter(|_| self.disagreement) {
            let network = |target: usize| rows.prediction.map(|d| d.column(target).to_vec());
            values.extend(at.iter().enumerate().map(|(target, folds)| disagreement(folds, network(target))));
        }
        if let Some(baseline) = self.baseline {
            let columns: Vec<Vec<f64>> = tables.iter().flat_map(|t| t.columns()).map(|c| c.to_vec()).collect();
            if columns.len() != baseline.columns() {
                return Err(Error::shape("columns of the inputs", baseline.columns(), columns.len()));
            }
            values.extend(columns);
        }
        Ok(values)
    }
}

/// The inputs of a regression head that a baseline knows, in its order.
pub fn regression_tables<'a>(rows: &RegressionInputs<'a>) -> Vec<ArrayView2<'a, f64>> {
    [rows.features].into_iter().chain(rows.prediction).chain(rows.own()).collect()
}

/// Whether each row's interval holds its target, by target.
fn covered(y: ArrayView2<'_, f64>, intervals: &Intervals) -> Vec<Vec<bool>> {
    let held = |t: usize| move |i: usize| intervals.lower[[i, t]] <= y[[i, t]] && y[[i, t]] <= intervals.upper[[i, t]];
    (0..y.ncols()).map(|t| (0..y.nrows()).map(held(t)).collect()).collect()
}

/// y − prediction in units of the interval's length, where that is finite.
fn own_scores(y: ArrayView2<'_, f64>, intervals: &Intervals, t: usize) -> Vec<f64> {
    let score = |i: usize| {
        let (off, length) =
            (y[[i, t]] - intervals.prediction[[i, t]], intervals.upper[[i, t]] - intervals.lower[[i, t]]);
        let scaled = off / length;
        if length.is_finite() && scaled.is_finite() { scaled } else { off.clamp(f64::MIN, f64::MAX) }
    };
    (0..y.nrows()).map(score).collect()
}

/// The standard deviation of what folds, and the network, predict for a row.
fn disagreement(folds: &[[Vec<f64>; 3]], network: Option<Vec<f64>>) -> Vec<f64> {
    let all: Vec<&Vec<f64>> = folds.iter().map(|f| &f[0]).chain(&network).collect();
    let of_row = |i: usize| {
        let n = all.len() as f64;
        let mean = all.iter().map(|c| c[i] / n).sum::<f64>();
        all.iter().map(|c| (c[i] - mean).powi(2) / n).sum::<f64>().sqrt().min(f64::MAX)
    };
    (0..folds.first().map_or(0, |f| f[0].len())).map(of_row).collect()
}

/// Half of α for the scores, half for the targets.
fn answers(
    head: &FittedRegressor,
    past: Option<&[Vec<Counted<'_>>]>,
    baseline: Option<&Baseline>,
    alarm: f64,
) -> Result<Vec<Process>> {
    let mut all = Vec::new();
    let folds: Vec<Vec<Vec<(usize, u64)>>> = match past {
        Some(past) => past.iter().map(|folds| folds.iter().map(|f| filled(f.0, f.1)).collect()).collect(),
        None => vec![vec![Vec::new()]; head.outputs()],
    };
    let count: usize = folds.iter().map(Vec::len).sum();
    for (target, folds) in folds.iter().enumerate() {
        for (fold, filled) in folds.iter().enumerate() {
            let share = 0.5 * alarm / count as f64;
            all.push(Process::new(Quantity::Score { target, fold }, Cells::Scores, filled, share, true)?);
        }
    }
    for target in 0..head.outputs() {
        let known = baseline.map(|b| (b.targets[target].cells.clone(), &b.targets[target].filled[..]));
        let (cells, filled) = known.unwrap_or((Cells::Scores, &[]));
        let share = 0.5 * alarm / head.outputs() as f64;
        all.push(Process::new(Quantity::Target { target }, cells, filled, share, true)?);
    }
    Ok(all)
}

/// Scores of calibration rows by cell.
pub(super) fn filled(scores: &[f64], counts: Option<&[f64]>) -> Vec<(usize, u64)> {
    let mut found = Counts::new(Cells::Scores.len());
    for (i, score) in scores.iter().enumerate() {
        found.add(Cells::Scores.of(*score), counts.map_or(1, |c| c[i] as u64));
    }
    found.filled()
}

/// Half of α for what concerns a row as a whole, half for the columns; all of it where there are no columns.
fn inputs(targets: usize, disagreement: bool, baseline: Option<&Baseline>, alarm: f64) -> Result<Vec<Process>> {
    let mut joint = Vec::new();
    joint.extend(baseline.map(|b| (Quantity::Distance, b.distance.cells.clone(), b.distance.filled.clone())));
    for target in 0..targets {
        // Predictions lie where targets do.
        let cells = baseline.map_or(Cells::Scores, |b| b.targets[target].cells.clone());
        joint.push((Quantity::Prediction { target }, cells, Vec::new()));
    }
    if disagreement {
        joint.extend((0..targets).map(|target| (Quantity::Disagreement { target }, Cells::Scores, Vec::new())));
    }
    with_columns(joint, baseline, alarm)
}

/// A quantity, its cells, and the calibration rows in those of them that are not empty.
pub(super) type Watched = (Quantity, Cells, Vec<(usize, u64)>);

/// Quantities of a row as a whole and of its columns, with their parts of α.
pub(super) fn with_columns(joint: Vec<Watched>, baseline: Option<&Baseline>, alarm: f64) -> Result<Vec<Process>> {
    let columns = baseline.map_or(0, Baseline::columns);
    let share = if columns == 0 { alarm } else { 0.5 * alarm } / joint.len().max(1) as f64;
    let joint = joint.into_iter().map(|(quantity, cells, filled)| Process::new(quantity, cells, &filled, share, true));
    let own = baseline.iter().flat_map(|b| b.columns.iter().enumerate()).map(|(column, h)| {
        let share = 0.5 * alarm / columns as f64;
        Process::new(Quantity::Column { column }, h.cells.clone(), &h.filled, share, false)
    });
    joint.chain(own).collect()
}
