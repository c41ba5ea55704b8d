//! Evaluations as plain data, computed from the library's types.

mod binomial;
mod classes;
mod importance;
mod kappa;
mod labels;
mod monitor;
mod regression;
mod requirement;
mod sample;
pub(crate) mod seen;
mod strata;
mod sum;
mod text;
mod variance;

pub use binomial::{CONFIDENCE, Judgement, Proportion, binomial_band};
pub use classes::{
    ACCURACY_METRICS, AccuracyEvaluation, AccuracyRow, CLASS_METRICS, ClassEvaluation, ClassGroup, ClassJudge,
    ClassRow, ClassSettings, ConfidenceBin, Confusion, HeadInputs, MemberWeight, ReliabilityRow, SET_METRICS,
    SetEvaluation, SetRow, bin_names,
};
pub(crate) use classes::{REJECTED, named};
pub use importance::{Explain, Feature, Importance, Predict};
pub(crate) use kappa::{choices, points};
pub use labels::{
    LABEL_METRICS, LabelGroup, LabelReliability, LabelRow, LabelScores, LabelsEvaluation, LabelsJudge, LabelsSettings,
};
pub use monitor::{FamilyReport, Measure, MonitorNames, MonitorReport, QuantityReport};
pub use regression::{
    CurvePoint, Diagnosis, DistributionScores, EvaluateSettings, FoundPart, IntervalScores, LEVELS, MemberWeights,
    PooledSubgroup, QUANTILES, QuantilePoint, REGRESSION_METRICS, Ranking, RegressionEvaluation, RegressionJudge,
    SampleRow, Subgroup, TargetEvaluation, WorstFifth, WorstSlab, WorstSlice,
};
pub use requirement::{Metrics, Requirement};
pub use seen::sentence as overlap_sentence;
pub(crate) use stonet::metrics::TrustReport;
pub use strata::{MOST_GROUPS, Stratum};
pub use variance::{Part, VarianceSplit};

/// Rows of an array that are scored at once.
const BATCH: usize = 1 << 14;
