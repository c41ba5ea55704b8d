//! A classification head under watch: how badly true classes conform, the classes themselves, and what the network sees.

use ndarray::{Array2, ArrayView2};
use rand::RngExt;

use super::baseline::{Baseline, network_classes};
use super::cells::Cells;
use super::process::{Process, Quantity};
use super::regression::{filled, with_columns};
use super::state::{Monitor, MonitorSettings};
use crate::base::streams::monitor::TIES;
use crate::base::streams::monitor_scores::ROWS;
use crate::base::{Error, Result, Seed};
use crate::classification::{FittedClassSets, FittedClassifier};
use crate::conformal::RowScore;
use crate::metrics::top_class;
use crate::rows::ClassInputs;

/// Cells of confidences where no calibration rows chose any.
const CONFIDENCES: [f64; 15] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

/// Watches a classification head: its prediction sets where it has some, its probabilities otherwise.
#[derive(Debug)]
pub struct ClassMonitor<'a> {
    head: &'a FittedClassifier,
    baseline: Option<&'a Baseline>,
    state: Monitor,
}

impl<'a> ClassMonitor<'a> {
    /// Begins to watch a head that was fitted with or without a baseline; `logits` tells whether rows come with the
    /// network's outputs.
    pub fn new(
        head: &'a FittedClassifier,
        baseline: Option<&'a Baseline>,
        logits: bool,
        settings: MonitorSettings,
    ) -> Result<Self> {
        if head.adapted().is_some() {
            let why = "a monitor compares new rows with these; watch the head as it was before, or fit on new rows";
            return Err(Error::IsAdapted { why });
        }
        let baseline = baseline.filter(|b| b.targets.len() == 1 && b.outputs.is_some() == logits);
        let answers = answers(head, baseline, settings.alarm)?;
        let inputs = inputs(head.classes(), baseline, settings.alarm)?;
        let sets = usize::from(head.class_sets().is_some());
        let state = Monitor::new(settings, answers, inputs, sets, true)?;
        Ok(ClassMonitor { head, baseline, state })
    }

    /// Goes on with an earlier state of a monitor of the same head.
    pub fn resume(
        head: &'a FittedClassifier,
        baseline: Option<&'a Baseline>,
        logits: bool,
        state: Monitor,
    ) -> Result<Self> {
        let new = Self::new(head, baseline, logits, *state.settings())?;
        Ok(ClassMonitor { state: new.state.resumed(state)?, ..new })
    }

    /// The state, for files and reports.
    pub fn state(&self) -> &Monitor {
        &self.state
    }

    /// Adds rows, with their classes where these are known. An error leaves the state as it was.
    pub fn add(&mut self, rows: &ClassInputs<'_>, labels: Option<&[usize]>) -> Result<()> {
        let p = self.head.probabilities(rows)?;
        if let Some(labels) = labels {
            crate::metrics::check_labels(labels, p.nrows(), p.ncols())?;
        }
        let inputs = self.input_values(rows, &p)?;
        let scores = labels.map(|labels| self.scores(rows, &p, labels)).transpose()?;
        self.state.add_inputs(p.nrows(), &inputs);
        if let (Some(mut values), Some(labels)) = (scores, labels) {
            let covered: Vec<Vec<bool>> =
                self.head.class_sets().iter().map(|sets| self.covered(sets, &p, &values, labels)).collect();
            values.push(labels.iter().map(|&k| k as f64).collect());
            self.state.add_answers(p.nrows(), &values, &covered);
            for (row, &label) in p.outer_iter().zip(labels) {
                let top = top_class(row);
                self.state.add_class(row[top], top == label);
            }
        }
        Ok(())
    }

    /// Scores of true classes by fold.
    fn scores(&self, rows: &ClassInputs<'_>, p: &Array2<f64>, labels: &[usize]) -> Result<Vec<Vec<f64>>> {
        let (seed, first) = (self.state.settings().seed.child(TIES.at(SCORES)), self.state.answered());
        // All folds share a row's draw, as they do in its set.
        let of = |p: ArrayView2<'_, f64>, score: RowScore| label_scores(p, labels, score, seed, first);
        match self.head.class_sets() {
            None => Ok(vec![of(p.view(), RowScore::Lac)]),
            Some(sets) if sets.models().is_empty() => Ok(vec![of(p.view(), sets.scores().scores()[0])]),
            Some(sets) => {
                let folds = sets.models().iter().zip(sets.scores().scores());
                folds.map(|(model, score)| Ok(of(model.probabilities(rows)?.view(), *score))).collect()
            }
        }
    }

    /// Whether each row's set holds its class, whose scores by fold are known.
    fn covered(&self, sets: &FittedClassSets, p: &Array2<f64>, scores: &[Vec<f64>], labels: &[usize]) -> Vec<bool> {
        let (held, never_empty) = (sets.scores(), sets.scores().rule().never_empty);
        let ranks = held.ranks(self.state.settings().level);
        let one = |(i, &y): (usize, &usize)| {
            let in_set = held.holds(&ranks, y, scores.iter().map(|s| s[i]));
            in_set || (never_empty && top_class(p.row(i)) == y)
        };
        labels.iter().enumerate().map(one).collect()
    }

    /// The distance, the predicted class and its probability, then the columns.
    fn input_values(&self, rows: &ClassInputs<'_>, p: &Array2<f64>) -> Result<Vec<Vec<f64>>> {
        let tables = class_tables(rows);
        let mut values: Vec<Vec<f64>> = self.baseline.iter().map(|b| b.distances(&tables)).collect();
        match rows.logits.filter(|_| self.baseline.is_some()) {
            Some(z) => values.extend(network_classes(z)),
            None => {
                let top: Vec<usize> = p.outer_iter().map(top_class).collect();
                values.push(top.iter().map(|&k| k as f64).collect());
                values.push(top.iter().enumerate().map(|(i, &k)| p[[i, k]]).collect());
            }
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

/// The inputs of a classifier that a baseline knows, in its order.
pub fn class_tables<'a>(rows: &ClassInputs<'a>) -> Vec<ArrayView2<'a, f64>> {
    rows.logits.into_iter().chain(rows.features).collect()
}

/// The stream of scores that are drawn at random, far above those of watched quantities.
const SCORES: usize = 1 << 30;

/// The scores of the labels; a row's draw depends on its number alone.
fn label_scores(p: ArrayView2<'_, f64>, labels: &[usize], score: RowScore, seed: Seed, first: u64) -> Vec<f64> {
    let (mut order, mut scores) = (Vec::new(), vec![0.0; p.ncols()]);
    let of = |(i, (row, &y)): (usize, (ndarray::ArrayView1<'_, f64>, &usize))| {
        let drawn = score.kind().is_randomised();
        let u = if drawn { seed.child(ROWS.at(first as usize + i)).rng().random() } else { 1.0 };
        score.of_row(&row.to_vec(), u, &mut order, &mut scores);
        scores[y]
    };
    p.outer_iter().zip(labels).enumerate().map(of).collect()
}

/// Half of α for the scores, half for the classes.
fn answers(head: &FittedClassifier, baseline: Option<&Baseline>, alarm: f64) -> Result<Vec<Process>> {
    let past = |sets: &FittedClassSets| -> Vec<Vec<(usize, u64)>> {
        let (scores, groups) = (sets.scores(), sets.scores().group_rows().len());
        let fold = |k: usize| (0..groups).flat_map(|g| scores.held(k, g).to_vec()).collect::<Vec<_>>();
        (0..scores.scores().len()).map(|k| filled(&fold(k), None)).collect()
    };
    let folds = head.class_sets().map_or_else(|| vec![Vec::new()], past);
    let share = 0.5 * alarm / folds.len() as f64;
    let one = |(fold, filled): (usize, &Vec<(usize, u64)>)| {
        Process::new(Quantity::ClassScore { fold }, Cells::Scores, filled, share, true)
    };
    let mut all: Vec<Process> = folds.iter().enumerate().map(one).collect::<Result<_>>()?;
    let filled = baseline.map_or(Vec::new(), |b| b.targets[0].filled.clone());
    let cells = Cells::Classes(head.classes());
    all.push(Process::new(Quantity::Target { target: 0 }, cells, &filled, 0.5 * alarm, true)?);
    Ok(all)
}

fn inputs(classes: usize, baseline: Option<&Baseline>, alarm: f64) -> Result<Vec<Process>> {
    let mut joint = Vec::new();
    joint.extend(baseline.map(|b| (Quantity::Distance, b.distance.cells.clone(), b.distance.filled.clone())));
    match baseline.and_then(|b| b.outputs.as_ref()) {
        Some([top, confidence]) => {
            joint.push((Quantity::PredictedClass, top.cells.clone(), top.filled.clone()));
            joint.push((Quantity::Confidence, confidence.cells.clone(), confidence.filled.clone()));
        }
        None => {
            joint.push((Quantity::PredictedClass, Cells::Classes(classes), Vec::new()));
            joint.push((Quantity::Confidence, Cells::Edges(CONFIDENCES.to_vec()), Vec::new()));
        }
    }
    with_columns(joint, baseline, alarm)
}
