//! Prediction intervals judged on rows whose values are known.

mod curve;
mod diagnosis;
mod distribution;
mod job;
mod judge;
mod lowest;
mod words;

use ndarray::{ArrayView2, s};
use serde::{Deserialize, Serialize};
use stonet::base::Work;
use stonet::train::TuningCurve;
use stonet::{Error, FittedRegressor, Level, Overlap, RegressionInputs, Result, Seed, Ticker};

use super::BATCH;
use super::binomial::{Judgement, Proportion};
use super::importance::Importance;
use super::requirement::Metrics;
use super::strata::Stratum;
use super::variance::VarianceSplit;
use crate::number::real;
pub use diagnosis::{Diagnosis, FoundPart, Ranking, WorstFifth, WorstSlab, WorstSlice};
pub use distribution::{DistributionScores, QUANTILES, QuantilePoint};
pub use judge::RegressionJudge;

/// Levels of the coverage curve.
pub const LEVELS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];
/// Numbers of a [`RegressionEvaluation`] that can be required.
pub const REGRESSION_METRICS: [&str; 11] = [
    "coverage",
    "mean_length",
    "median_length",
    "winkler",
    "rmse",
    "crps",
    "pit_distance",
    "worst_fifth",
    "worst_slice",
    "worst_slab",
    "ert",
];

/// What to evaluate, and the names to tell it by.
#[derive(Clone)]
pub struct EvaluateSettings<'a> {
    /// Of the intervals.
    pub level: Level,
    /// Whether boxes are to hold all targets of a row at once.
    pub joint: bool,
    /// One per column; x0, x1, … if empty.
    pub feature_names: Vec<String>,
    /// One per target; y0, y1, … if empty.
    pub target_names: Vec<String>,
    /// A column's name and its value in every row: coverage is also given for each of its values. A [`RegressionJudge`]
    /// takes both elsewhere.
    pub by: Option<(&'a str, &'a [String])>,
    /// Of the shuffles behind the importance of features, and of the search for rows with low coverage.
    pub seed: Seed,
    /// Told how far the work is; returning false cancels it.
    pub tick: Option<Ticker<'a>>,
}

impl EvaluateSettings<'_> {
    /// One target at a time, at this level.
    pub fn new(level: Level) -> Self {
        EvaluateSettings {
            level,
            joint: false,
            feature_names: Vec::new(),
            target_names: Vec::new(),
            by: None,
            seed: Seed::new(1),
            tick: None,
        }
    }
}

/// The numbers that intervals are judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalScores {
    /// The level that was promised.
    pub level: Level,
    /// Values inside their intervals.
    pub coverage: Proportion,
    /// Mean length.
    #[serde(with = "real")]
    pub mean_length: f64,
    /// Median length.
    #[serde(with = "real")]
    pub median_length: f64,
    /// Mean interval score: length plus 2/α times the distance of what lies outside.
    #[serde(with = "real")]
    pub winkler: f64,
    /// Root mean squared error of the prediction.
    pub rmse: f64,
    /// The same of the network's own prediction, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_rmse: Option<f64>,
}

/// Coverage at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Promised.
    pub level: f64,
    /// Found.
    pub coverage: Proportion,
    /// Mean length.
    #[serde(with = "real")]
    pub mean_length: f64,
}

/// A row to draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// Row, from 0.
    pub row: usize,
    /// The prediction.
    pub prediction: f64,
    /// Lower end.
    #[serde(with = "real")]
    pub lower: f64,
    /// Upper end.
    #[serde(with = "real")]
    pub upper: f64,
    /// The value itself.
    pub truth: f64,
}

/// Mean weights over the folds of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemberWeights {
    /// A StoNet on the features.
    pub stonet: f64,
    /// Skip: the network plus a StoNet.
    #[serde(rename = "corrected")]
    pub skip: f64,
    /// Ridge regression.
    pub ridge: f64,
    /// The network itself.
    pub network: f64,
}

/// One target by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetEvaluation {
    /// Of the target.
    pub name: String,
    /// At the level of each target by itself: for joint boxes 1 − α/targets.
    pub scores: IntervalScores,
    /// Coverage at several levels.
    pub curve: Vec<CurvePoint>,
    /// By fifths of the length: honest intervals are as right where they are short as where they are long.
    pub by_width: Vec<Stratum>,
    /// By fifths of the prediction.
    pub by_prediction: Vec<Stratum>,
    /// Where the intervals cover least.
    #[serde(default)]
    pub diagnosis: Diagnosis,
    /// The whole distribution; none in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<DistributionScores>,
    /// Rows evenly spaced by prediction.
    pub sample: Vec<SampleRow>,
    /// Of the stack; none for Eve's law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<MemberWeights>,
    /// Where the width comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<VarianceSplit>,
}

/// Rows that share a value of the column asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subgroup {
    /// The value.
    pub name: String,
    /// Values inside their intervals.
    pub coverage: Proportion,
    /// Against the level, all subgroups taken together.
    pub judgement: Judgement,
    /// Mean length.
    #[serde(with = "real")]
    pub mean_length: f64,
    /// The same by the ranks of all rows, where the head covers within groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<PooledSubgroup>,
}

/// What the ranks of all rows would give in a subgroup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PooledSubgroup {
    /// Values inside their intervals.
    pub coverage: Proportion,
    /// Mean length.
    #[serde(with = "real")]
    pub mean_length: f64,
}

/// Prediction intervals judged on new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionEvaluation {
    /// The number of rows.
    pub rows: usize,
    /// How many of them were fitted on; none where that is not known. The caller, who has the fingerprints, sets it.
    #[serde(default)]
    pub seen: Option<Overlap>,
    /// Whether boxes were to hold all targets at once.
    pub joint: bool,
    /// All targets: of boxes the rows that lie inside, otherwise the values; its interval counts rows, as values of one
    /// row go together. Lengths and errors are means over the targets in their own units.
    pub overall: IntervalScores,
    /// The same at several levels.
    pub curve: Vec<CurvePoint>,
    /// Each target by itself.
    pub targets: Vec<TargetEvaluation>,
    /// The column of subgroups, and they.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subgroups: Option<(String, Vec<Subgroup>)>,
    /// What is proven for these intervals.
    pub guarantee: String,
    /// The settings of the fit.
    pub settings: serde_json::Value,
    /// What drives the prediction.
    pub importance: Importance,
    /// How κ was chosen, under the names of the targets where there are several.
    #[serde(default)]
    pub kappa_paths: Vec<TuningCurve>,
}

impl RegressionEvaluation {
    /// Judges intervals on rows that were used for nothing before; `y` has one column per target.
    pub fn new(
        fitted: &FittedRegressor,
        rows: &RegressionInputs<'_>,
        y: ArrayView2<'_, f64>,
        settings: &EvaluateSettings<'_>,
    ) -> Result<Self> {
        let steps = Work::open("steps", settings.tick);
        if y.nrows() != rows.features().nrows() {
            let (expected, found) = (rows.features().nrows(), y.nrows());
            return Err(Error::Shape { what: "rows of the targets".into(), expected, found });
        }
        let by = settings.by.map(|(column, _)| column);
        let mut judge = RegressionJudge::new(fitted, by, settings)?;
        if let Some((_, labels)) = settings.by.filter(|(_, labels)| labels.len() != y.nrows()) {
            let (expected, found) = (y.nrows(), labels.len());
            return Err(Error::Shape { what: "rows of the column of subgroups".into(), expected, found });
        }
        steps.announce(y.nrows().div_ceil(BATCH));
        for first in (0..y.nrows()).step_by(BATCH) {
            let part = first..(first + BATCH).min(y.nrows());
            let labels = settings.by.map(|(_, labels)| &labels[part.clone()]);
            judge.add(&rows.part(part.clone()), y.slice(s![part, ..]), labels)?;
            steps.advance()?;
        }
        judge.end(&steps)
    }

    fn of_distributions<'a>(&'a self, of: impl Fn(&DistributionScores) -> f64 + 'a) -> impl Iterator<Item = f64> + 'a {
        self.targets.iter().filter_map(move |t| t.distribution.as_ref().map(&of))
    }

    /// The mean over the targets; no number where there is none.
    fn mean_of(&self, of: impl Fn(&DistributionScores) -> f64) -> f64 {
        let (sum, count) = self.of_distributions(of).fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    }

    /// The least of a number over the targets; no number where no target has it, so that no requirement holds.
    fn least(&self, of: impl Fn(&Diagnosis) -> Option<f64>) -> f64 {
        self.targets.iter().filter_map(|t| of(&t.diagnosis)).fold(f64::NAN, f64::min)
    }
}

impl Metrics for RegressionEvaluation {
    fn names(&self) -> &'static [&'static str] {
        &REGRESSION_METRICS
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let s = &self.overall;
        match name {
            "coverage" => Some(s.coverage.value),
            "mean_length" => Some(s.mean_length),
            "median_length" => Some(s.median_length),
            "winkler" => Some(s.winkler),
            "rmse" => Some(s.rmse),
            "crps" => Some(self.mean_of(|d| d.crps)),
            "pit_distance" => Some(self.of_distributions(|d| d.pit_distance).fold(f64::NAN, f64::max)),
            "worst_fifth" => Some(self.least(|d| d.worst_fifth.as_ref().map(|f| f.coverage.value))),
            "worst_slice" => Some(self.least(|d| d.worst_slice.as_ref().map(|s| s.part.coverage.value))),
            "worst_slab" => Some(self.least(|d| d.worst_slab.as_ref().map(|s| s.part.coverage.value))),
            // The greatest excess risk is the worst.
            "ert" => Some(-self.least(|d| d.ert.map(|e| -e.value))),
            _ => None,
        }
    }
}
