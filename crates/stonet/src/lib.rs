#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod binomial;
mod error;
mod fingerprint;
mod names;
mod random;
mod reservoir;
#[doc(hidden)]
pub mod streams;
mod threads;
mod work;

mod calibration_rows;
mod class_rows;
mod data;
mod label_kind;
mod labels;
mod penalty;

mod linalg;

mod head;

mod network;

mod jacobian;
mod regression;

mod imputation;
mod train;

mod class_columns;
mod interval;
pub mod metrics;
mod prediction_set;
mod select;
mod structure;

pub mod score;

mod ridge;
mod stack;

pub mod calibration;

mod post_stonet;

mod post_classes;

pub mod mlp;

pub mod baseline;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod unique_streams;

pub use calibration_rows::{Calibration, NewRows};
pub use class_columns::{ClassAsked, ClassColumns, ClassNote, Interface};
pub use class_rows::{ClassInputs, ClassOutput, ClassRows, InputKind};
pub use data::{Dataset, Scaling, Standardizer, complement, folds};
pub use error::{Error, NoInterval, Result};
pub use fingerprint::{Copies, FingerprintCounts, Fingerprints, FingerprintsBuilder, Overlap, row_hashes};
pub use head::Head;
pub use interval::{
    Estimate, Eve, EveIntervals, Intervals, Level, PredictInterval, Side, Variance, conformal_quantile, conformal_rank,
    cv_plus_guarantee, degrees_of_freedom, rows_needed,
};
pub use label_kind::LabelKind;
pub use labels::Labels;
pub use network::{Activation, Layer, StoNet};
pub use penalty::Penalty;
pub use post_classes::{
    ClassMethod, ClassSets, Covariance, FittedClassSets, FittedClassifier, IntervalScale, MemberNotes,
    PostStoNetClassifier, ProbabilityCovariance, ProbabilityIntervals, SetScheme, SkipSettings, Trust, Wald,
};
pub use post_stonet::{
    FittedPostStoNet, Guarantee, Kind, PostStoNet, Select, UncalibratedPostStoNet, VariancePart, VarianceSource,
    seen_in_training,
};
pub use prediction_set::{CvPlusSets, PredictionSets, SetRule, SetScore, SplitSets};
pub use random::{Rng, Seed};
pub use regression::{LinearFit, MultinomialFit, MultinomialRefit, Refit, Solver, SparseLinear, SparseMultinomial};
pub use reservoir::Reservoir;
pub use select::{KappaPath, PathError, Walk, cross_validate, kappa_path};
pub use stack::{Members, Scheme, Stack, StoNetSettings};
pub use structure::{Assumptions, Condition, Connection, Rule, Structure};
pub use threads::{check_threads, most_threads};
#[doc(hidden)]
pub use train::StepBench;
pub use train::{
    Algorithm, Asghmc, Collection, Decay, Design, Fit, Iro, Kernel, Observer, PaperSettings, Polished, Preset,
    Progress, Stop, Trainer, Warning,
};
pub use work::Ticker;

/// The code of the repository's front page is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
