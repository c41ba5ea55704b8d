//! Rows in and results out: data sets and folds, calibration rows and inputs of both tasks, class labels, levels and
//! intervals.

pub(crate) mod classes;
pub(crate) mod dataset;
mod fingerprint;
mod intervals;
mod label_kind;
mod labels;
mod order;
pub(crate) mod own;
pub(crate) mod regression;
mod reservoir;
mod within;

pub use classes::{ClassInputs, ClassOutput, ClassRows, InputKind};
pub(crate) use dataset::divided;
pub use dataset::{Dataset, Scaling, Standardizer, by_group, complement, folds};
pub use fingerprint::{Copies, FingerprintCounts, Fingerprints, FingerprintsBuilder, Overlap, row_hashes};
pub use intervals::{Intervals, Level, PredictInterval, Side};
pub use label_kind::LabelKind;
pub use labels::Labels;
pub use order::Order;
pub use own::OwnKind;
pub use regression::{RegressionInputs, RegressionRows};
pub use reservoir::Reservoir;
pub use within::Within;
