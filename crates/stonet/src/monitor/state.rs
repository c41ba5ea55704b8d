//! All that a monitor knows: its quantities in two families, and what became of coverage, accuracy and calibration.

use serde::{Deserialize, Serialize};

use super::process::{Process, add_all};
use super::sequence::MeanSequence;
use crate::base::{Error, Result, Seed};
use crate::rows::Level;

/// Cells of the calibration error.
const BINS: usize = 10;

/// How a monitor works.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `alarm` | 0.01 | the largest probability that a family ever raises an alarm although nothing changed | (0, 1) |
/// | `level` | 0.9 | of the intervals or sets whose coverage is followed | (0, 1) |
/// | `confidence` | 0.95 | that bounds of coverage and accuracy hold at all times | (0, 1) |
/// | `seed` | 1 | how equal values are ordered | |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorSettings {
    /// The largest probability of a false alarm, of each family, at any time.
    pub alarm: f64,
    /// Of the intervals or sets.
    pub level: Level,
    /// Of the bounds.
    pub confidence: Level,
    /// How equal values are ordered.
    pub seed: Seed,
}

impl MonitorSettings {
    /// The defaults at a level of intervals.
    pub fn new(level: Level) -> Self {
        MonitorSettings { alarm: 0.01, level, confidence: Level::new(0.95).expect("a level"), seed: Seed::new(1) }
    }

    fn check(&self) -> Result<()> {
        let proper = self.alarm > 0.0 && self.alarm < 1.0;
        Error::check(proper, "alarm", self.alarm, "strictly between 0 and 1, such as 0.01")
    }
}

/// Which rows an alarm is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Scores and targets: rows with answers.
    Answers,
    /// What the network sees: all rows.
    Inputs,
}

/// The state of a monitor; it is the same after two runs as after one run over the rows of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Monitor {
    settings: MonitorSettings,
    rows: u64,
    answered: u64,
    answers: Vec<Process>,
    inputs: Vec<Process>,
    /// Of every target, or of sets.
    coverage: Vec<MeanSequence>,
    /// Of a classifier.
    calibration: Option<CalibrationError>,
}

/// What is written to files.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    settings: MonitorSettings,
    rows: u64,
    answered: u64,
    answers: Vec<Process>,
    inputs: Vec<Process>,
    coverage: Vec<MeanSequence>,
    calibration: Option<CalibrationError>,
}

impl TryFrom<Parts> for Monitor {
    type Error = Error;
    fn try_from(Parts { settings, rows, answered, answers, inputs, coverage, calibration }: Parts) -> Result<Self> {
        settings.check()?;
        coverage.iter().try_for_each(MeanSequence::check)?;
        calibration.as_ref().map_or(Ok(()), CalibrationError::check)?;
        let sound = answered <= rows
            && answers.iter().all(|p| p.rows() == answered)
            && inputs.iter().all(|p| p.rows() == rows)
            && coverage.iter().chain(calibration.iter().map(|c| &c.correct)).all(|c| c.rows() == answered);
        if !sound {
            return Err(Error::Inconsistent { what: "the parts of a monitor have seen different rows" });
        }
        Ok(Monitor { settings, rows, answered, answers, inputs, coverage, calibration })
    }
}

impl From<Monitor> for Parts {
    fn from(m: Monitor) -> Self {
        let Monitor { settings, rows, answered, answers, inputs, coverage, calibration } = m;
        Parts { settings, rows, answered, answers, inputs, coverage, calibration }
    }
}

impl Monitor {
    pub(super) fn new(
        settings: MonitorSettings,
        answers: Vec<Process>,
        inputs: Vec<Process>,
        coverage: usize,
        classes: bool,
    ) -> Result<Self> {
        settings.check()?;
        let (coverage, calibration) =
            (vec![MeanSequence::default(); coverage], classes.then(CalibrationError::default));
        Ok(Monitor { settings, rows: 0, answered: 0, answers, inputs, coverage, calibration })
    }

    /// Fails unless an earlier state watches the same quantities in the same way as this new one.
    pub(super) fn resumed(self, earlier: Monitor) -> Result<Monitor> {
        let alike = |a: &[Process], b: &[Process]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b));
        let same = alike(&self.answers, &earlier.answers)
            && alike(&self.inputs, &earlier.inputs)
            && self.coverage.len() == earlier.coverage.len()
            && self.calibration.is_some() == earlier.calibration.is_some();
        if same { Ok(earlier) } else { Err(Error::Inconsistent { what: "the state watches another head" }) }
    }

    /// Values of every input quantity.
    pub(super) fn add_inputs(&mut self, rows: usize, values: &[Vec<f64>]) {
        add_all(&mut self.inputs, 0, values, self.settings.seed);
        self.rows += rows as u64;
    }

    /// Values of every quantity of answers, and whether each row is covered, by target.
    pub(super) fn add_answers(&mut self, rows: usize, values: &[Vec<f64>], covered: &[Vec<bool>]) {
        add_all(&mut self.answers, ANSWERS, values, self.settings.seed);
        for (sequence, covered) in self.coverage.iter_mut().zip(covered) {
            covered.iter().for_each(|c| sequence.add(f64::from(u8::from(*c))));
        }
        self.answered += rows as u64;
    }

    /// The probability of the predicted class of a row, and whether it is the true one.
    pub(super) fn add_class(&mut self, confidence: f64, correct: bool) {
        if let Some(calibration) = &mut self.calibration {
            calibration.add(confidence, correct);
        }
    }

    /// How it works.
    pub fn settings(&self) -> &MonitorSettings {
        &self.settings
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows with answers so far.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// The quantities of a family.
    pub fn processes(&self, family: Family) -> &[Process] {
        match family {
            Family::Answers => &self.answers,
            Family::Inputs => &self.inputs,
        }
    }

    /// The first row of the family, from 1, after which one of its quantities had raised the alarm.
    pub fn alarm(&self, family: Family) -> Option<u64> {
        self.processes(family).iter().filter_map(Process::alarm).min()
    }

    /// The coverage of every target's intervals, or of prediction sets, with bounds that hold at all times: mean, lower
    /// and upper end.
    pub fn coverage(&self) -> Vec<Option<(f64, f64, f64)>> {
        let alpha = self.miss();
        self.coverage.iter().map(|c| c.mean().map(|mean| (mean, c.bounds(alpha).0, c.bounds(alpha).1))).collect()
    }

    /// Accuracy and calibration of a classifier.
    pub fn calibration(&self) -> Option<&CalibrationError> {
        self.calibration.as_ref()
    }

    /// The probability that a bound may miss at some time.
    pub fn miss(&self) -> f64 {
        1.0 - self.settings.confidence.get()
    }
}

/// Where the streams of answers begin, far above those of any number of inputs.
const ANSWERS: usize = 1 << 31;

/// The accuracy of a classifier, and how far its confidence is from it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationError {
    correct: MeanSequence,
    confidence: f64,
    bins: [(f64, MeanSequence); BINS],
}

impl CalibrationError {
    fn add(&mut self, confidence: f64, correct: bool) {
        let hit = f64::from(u8::from(correct));
        let (sum, own) = &mut self.bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        *sum += confidence;
        own.add(hit);
        self.confidence += confidence;
        self.correct.add(hit);
    }

    /// Accuracy with bounds that miss at any time with probability at most `alpha`; none without rows.
    pub fn accuracy(&self, alpha: f64) -> Option<(f64, f64, f64)> {
        let (low, high) = self.correct.bounds(alpha);
        self.correct.mean().map(|mean| (mean, low, high))
    }

    /// The mean probability of the predicted classes; none without rows.
    pub fn confidence(&self) -> Option<f64> {
        (self.correct.rows() > 0).then(|| self.confidence / self.correct.rows() as f64)
    }

    /// The expected calibration error in ten cells of confidence, with bounds that miss that of the true accuracies at
    /// any time with probability at most `alpha`, a tenth of it per cell; none without rows.
    pub fn error(&self, alpha: f64) -> Option<(f64, f64, f64)> {
        let rows = self.correct.rows();
        if rows == 0 {
            return None;
        }
        let (mut error, mut low, mut high) = (0.0, 0.0, 0.0);
        for (sum, hits) in &self.bins {
            let Some(accuracy) = hits.mean() else { continue };
            let (share, confidence) = (hits.rows() as f64 / rows as f64, sum / hits.rows() as f64);
            let (least, most) = hits.bounds(alpha / BINS as f64);
            error += share * (confidence - accuracy).abs();
            low += share * (least - confidence).max(confidence - most).max(0.0);
            high += share * (confidence - least).abs().max((confidence - most).abs());
        }
        Some((error, low, high))
    }

    fn check(&self) -> Result<()> {
        self.correct.check()?;
        self.bins.iter().try_for_each(|b| b.1.check())?;
        let rows: u64 = self.bins.iter().fold(0, |sum, b| sum.saturating_add(b.1.rows()));
        let sound =
            rows == self.correct.rows() && self.confidence.is_finite() && self.bins.iter().all(|b| b.0.is_finite());
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "cells of confidence do not hold all rows" }) }
    }
}
