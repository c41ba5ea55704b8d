//! Class probabilities judged on rows whose classes are known.

mod accuracy;
mod head;
mod sets;
mod tables;
mod trust;
mod words;

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use stonet::base::Work;
use stonet::base::streams::evaluation as streams;
use stonet::metrics::{
    ClassReport, JudgeSettings, Measured, TrustReport, TrustScores, class_scores, judge, noise_floor, reliability,
};
use stonet::train::TuningCurve;
use stonet::{Error, Level, Overlap, Result, Seed, Ticker};

pub use accuracy::{ACCURACY_METRICS, AccuracyEvaluation, AccuracyRow, bin_names};
pub use head::{ClassJudge, HeadInputs};
pub use sets::{SET_METRICS, SetEvaluation, SetRow};
pub(crate) use trust::REJECTED;

use super::binomial::{Proportion, binomial_band};
use super::importance::{Explain, Importance, Loss, permutation};
use super::requirement::Metrics;
use super::strata::Groups;
use tables::{class_rows, confidence_bins, confusions, guesses};

/// Numbers of a [`ClassEvaluation`] that can be required.
pub const CLASS_METRICS: [&str; 12] = [
    "accuracy",
    "nll",
    "brier",
    "ece",
    "cece",
    "adaptive_ece",
    "smooth_ece",
    "debiased_ece",
    "aurc",
    "excess_aurc",
    "p_top",
    "p_classes",
];
/// What importance is measured by.
const MEASURE: &str = "growth of the negative log-likelihood, in nats";

/// What goes with the probabilities, where it is known.
#[derive(Clone, Copy)]
pub struct ClassSettings<'a> {
    /// The network's own probabilities, before calibration.
    pub network: Option<ArrayView2<'a, f64>>,
    /// A column's name and its value in every row: calibration is also given for each of its values. A [`ClassJudge`]
    /// takes both elsewhere.
    pub by: Option<(&'a str, &'a [String])>,
    /// Inputs to explain.
    pub explain: Option<Explain<'a>>,
    /// The level at which a head's prediction sets and bounds of accuracy are judged, where it has any; not judged if not
    /// given.
    pub level: Option<Level>,
    /// Bins, resamples and redraws.
    pub judge: JudgeSettings,
    /// Of all randomness.
    pub seed: Seed,
    /// Told how far the work is; returning false cancels it.
    pub tick: Option<Ticker<'a>>,
}

impl Default for ClassSettings<'_> {
    fn default() -> Self {
        let (judge, seed) = (JudgeSettings::default(), Seed::new(1));
        ClassSettings { network: None, by: None, explain: None, level: None, judge, seed, tick: None }
    }
}

/// One bar of a reliability diagram with its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityRow {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mean confidence of the rows in it.
    pub confidence: f64,
    /// The fraction of right guesses.
    pub accuracy: Proportion,
    /// Where the accuracy of a perfectly calibrated model falls in 95 % of all cases: binomial quantiles at the mean
    /// confidence, which is a little wider than for the confidences one by one.
    pub floor: (f64, f64),
}

/// One bar of the histogram of confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceBin {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Right guesses.
    pub right: usize,
    /// Wrong ones.
    pub wrong: usize,
}

/// One class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// The name of the class or group.
    pub name: String,
    /// Rows of the class.
    pub rows: usize,
    /// The share of such rows.
    pub frequency: f64,
    /// Its mean probability over all rows; a calibrated model has the frequency here.
    pub mean_probability: f64,
    /// Share of its rows that are guessed to be it.
    pub recall: Option<f64>,
    /// Share of the guesses for it that are right.
    pub precision: Option<f64>,
    /// Class-wise calibration error.
    pub calibration_error: f64,
}

/// Rows of one class that were guessed to be another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confusion {
    /// The class.
    pub truth: String,
    /// The guess.
    pub guess: String,
    /// The number of them.
    pub rows: usize,
    /// As a share of the class.
    pub share: f64,
}

/// Rows that share a value of the column asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassGroup {
    /// The value.
    pub name: String,
    /// Right guesses.
    pub accuracy: Proportion,
    /// Calibration error of the guess.
    pub ece: f64,
    /// What chance alone would show, in the mean and at most (97.5 %).
    pub floor: (f64, f64),
}

/// A member of a stack and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberWeight {
    /// The name of the class or group.
    pub name: String,
    /// Its weight.
    pub weight: f64,
}

/// Class probabilities judged on new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassEvaluation {
    /// The number of rows.
    pub rows: usize,
    /// How many of them were fitted on; none where that is not known. The caller, who has the fingerprints, sets it.
    #[serde(default)]
    pub seen: Option<Overlap>,
    /// Names of the classes.
    pub names: Vec<String>,
    /// Every score with its 95 % confidence interval and noise floor.
    pub scores: ClassReport,
    /// The same of the network's own probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<ClassReport>,
    /// Smooth and debiased calibration errors, tests of calibration, and risk against coverage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustReport>,
    /// Their scores for the network's own probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_trust: Option<TrustScores<f64>>,
    /// Mean confidence of the guess.
    pub mean_confidence: f64,
    /// Right guesses.
    pub accuracy: Proportion,
    /// Confidence against accuracy.
    pub reliability: Vec<ReliabilityRow>,
    /// The same of the network's own probabilities; empty where they are not known.
    #[serde(default)]
    pub network_reliability: Vec<ReliabilityRow>,
    /// How sure the guesses are.
    pub confidence: Vec<ConfidenceBin>,
    /// Class by class.
    pub classes: Vec<ClassRow>,
    /// The pairs that are mixed up most often, at most ten.
    pub confused: Vec<Confusion>,
    /// The column of subgroups, and they.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroups: Option<(String, Vec<ClassGroup>)>,
    /// Prediction sets, where the head has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<SetEvaluation>,
    /// Bounds of accuracy, where the head has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy_bounds: Option<AccuracyEvaluation>,
    /// What drives the probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<Importance>,
    /// The settings of the fit.
    #[serde(default)]
    pub settings: serde_json::Value,
    /// Members of a stack.
    #[serde(default)]
    pub weights: Vec<MemberWeight>,
    /// How κ was chosen.
    #[serde(default)]
    pub kappa_paths: Vec<TuningCurve>,
}

impl ClassEvaluation {
    /// Judges probabilities n × K on rows that were used for nothing before.
    pub fn new(
        p: ArrayView2<'_, f64>,
        labels: &[usize],
        names: &[String],
        settings: &ClassSettings<'_>,
    ) -> Result<Self> {
        let steps = Work::open("steps", settings.tick);
        let groups = settings.by.map(|(column, values)| {
            let mut groups = Groups::default();
            groups.add(values);
            (column, groups)
        });
        Self::judged(p, labels, names, groups.as_ref().map(|(column, groups)| (*column, groups)), settings, &steps)
    }

    /// The same with subgroups by number.
    fn judged(
        p: ArrayView2<'_, f64>,
        labels: &[usize],
        names: &[String],
        by: Option<(&str, &Groups)>,
        settings: &ClassSettings<'_>,
        steps: &Work<'_>,
    ) -> Result<Self> {
        if names.len() != p.ncols() {
            return Err(Error::Shape { what: "names of the classes".into(), expected: p.ncols(), found: names.len() });
        }
        let (bins, seed) = (settings.judge.bins, settings.seed);
        steps.announce(2 + usize::from(settings.network.is_some()));
        // First, because it checks everything.
        let scores = judge(p, labels, &settings.judge, seed.child(streams::SCORES))?;
        steps.advance()?;
        let network = settings
            .network
            .map(|own| judge(own, labels, &settings.judge, seed.child(streams::NETWORK)))
            .transpose()?;
        if network.is_some() {
            steps.advance()?;
        }
        let (trust, network_trust) = trust::judged(p, settings.network, labels, &settings.judge, seed)?;
        let guesses = guesses(p);
        let rows = labels.len();
        let right = guesses.iter().zip(labels).filter(|((k, _), y)| k == *y).count();
        let subgroups = match by {
            None => None,
            Some((column, by)) => Some((column.to_owned(), groups(p, labels, by, &settings.judge, seed)?)),
        };
        steps.advance()?;
        Ok(ClassEvaluation {
            rows,
            seen: None,
            names: names.to_vec(),
            scores,
            network,
            trust: Some(trust),
            network_trust,
            mean_confidence: guesses.iter().map(|g| g.1).sum::<f64>() / rows as f64,
            accuracy: Proportion::new(right as f64, rows),
            reliability: reliability_rows(p, labels, bins)?,
            network_reliability: match settings.network {
                Some(own) => reliability_rows(own, labels, bins)?,
                None => Vec::new(),
            },
            confidence: confidence_bins(&guesses, labels),
            classes: class_rows(p, labels, names, &guesses, bins),
            confused: confusions(labels, names, &guesses),
            subgroups,
            sets: None,
            accuracy_bounds: None,
            importance: settings
                .explain
                .map(|e| importance(&e, labels, seed.child(streams::IMPORTANCE), steps))
                .transpose()?,
            settings: serde_json::Value::Null,
            weights: Vec::new(),
            kappa_paths: Vec::new(),
        })
    }

    /// Every score by its name.
    pub fn named_scores(&self) -> [(&'static str, &Measured); 6] {
        named(&self.scores)
    }
}

/// Every score of a report by its name.
pub(crate) fn named(s: &ClassReport) -> [(&'static str, &Measured); 6] {
    [
        ("accuracy", &s.accuracy),
        ("nll", &s.nll),
        ("brier", &s.brier),
        ("ece", &s.ece),
        ("cece", &s.cece),
        ("adaptive_ece", &s.adaptive_ece),
    ]
}

impl Metrics for ClassEvaluation {
    fn names(&self) -> &'static [&'static str] {
        &CLASS_METRICS
    }

    fn further_names(&self) -> Vec<&'static str> {
        let sets = self.sets.iter().flat_map(|_| SET_METRICS);
        sets.chain(self.accuracy_bounds.iter().flat_map(|_| ACCURACY_METRICS)).collect()
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let binned = self.named_scores().into_iter().map(|(n, m)| (n, m.value));
        let further = self.trust_scores().into_iter().map(|(n, m, _)| (n, m.value));
        let own = binned.chain(further).chain(self.p_values()).find(|(n, _)| *n == name).map(|(_, v)| v);
        own.or_else(|| self.sets.as_ref().and_then(|sets| sets.metric(name)))
            .or_else(|| self.accuracy_bounds.as_ref().and_then(|bounds| bounds.metric(name)))
    }
}

fn reliability_rows(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<Vec<ReliabilityRow>> {
    let row = |b: stonet::metrics::ReliabilityBin| ReliabilityRow {
        low: b.low,
        high: b.high,
        confidence: b.confidence,
        accuracy: Proportion::new((b.accuracy * b.count as f64).round(), b.count),
        floor: binomial_band(b.count, b.confidence.clamp(0.0, 1.0)),
    };
    Ok(reliability(p, labels, bins)?.into_iter().map(row).collect())
}

fn groups(
    p: ArrayView2<'_, f64>,
    labels: &[usize],
    by: &Groups,
    settings: &JudgeSettings,
    seed: Seed,
) -> Result<Vec<ClassGroup>> {
    if by.rows() != labels.len() {
        let what = "rows of the column of subgroups".into();
        return Err(Error::Shape { what, expected: labels.len(), found: by.rows() });
    }
    let one = |(g, (name, rows)): (usize, (String, Vec<usize>))| {
        let own = p.select(Axis(0), &rows);
        let own_labels: Vec<usize> = rows.iter().map(|&r| labels[r]).collect();
        let scores = class_scores(own.view(), &own_labels, settings.bins)?;
        let seed = seed.child(streams::SUBGROUPS).child(g as u64);
        let floor = noise_floor(own.view(), settings.bins, settings.redraws.max(1), seed)?.ece;
        let accuracy = Proportion::new((scores.accuracy * rows.len() as f64).round(), rows.len());
        Ok(ClassGroup { name, accuracy, ece: scores.ece, floor: (floor.mean, floor.high) })
    };
    by.largest().into_iter().enumerate().map(one).collect()
}

fn importance(explain: &Explain<'_>, labels: &[usize], seed: Seed, steps: &Work<'_>) -> Result<Importance> {
    let known = match explain.rows {
        Some(rows) => rows.iter().all(|&r| r < labels.len()),
        None => explain.inputs.nrows() == labels.len(),
    };
    if !known {
        let what = "rows of the inputs".into();
        return Err(Error::Shape { what, expected: labels.len(), found: explain.inputs.nrows() });
    }
    let loss = |rows: &[usize], p: ArrayView2<'_, f64>| {
        let surprise = rows.iter().zip(p.outer_iter()).map(|(&r, p)| -p[labels[r]].max(f64::MIN_POSITIVE).ln());
        surprise.sum::<f64>() / rows.len() as f64
    };
    let loss = Loss { measure: MEASURE, fraction: false, of: &loss };
    permutation(explain, &vec![true; explain.inputs.ncols()], &loss, seed, steps)
}
