#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// The rooms in reading order. A room uses only rooms above it; `tests/rooms.rs` of stonet-cli checks that.
pub mod base;
mod linalg;
pub mod rows;
pub mod metrics;
pub mod network;
pub mod sparse;
pub mod train;
pub mod eve;
pub mod conformal;
pub mod score;
pub mod calibration;
pub mod regression;
pub mod classification;
pub mod control;
pub mod monitor;
pub mod explain;
pub mod diagnosis;
pub mod peers;

// Tests and fuzz targets alone compare with it; cargo-fuzz sets `fuzzing`.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod reference;
#[cfg(test)]
mod unique_streams;

pub use base::{Error, Result, Seed, Ticker};
pub use classification::{
    ClassMethod, ClassSets, FittedClassSets, FittedClassifier, PostStoNetClassifier, ProbabilityCovariance, Wald,
};
pub use network::{Activation, Penalty, StoNet};
pub use regression::{FittedRegressor, Guarantee, Kind, PostStoNetRegressor};
pub use rows::{
    ClassInputs, ClassRows, Dataset, Fingerprints, InputKind, Intervals, Labels, Level, Overlap, RegressionInputs,
    RegressionRows, Side,
};

/// The code of the repository's first pages is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/start.md")]
struct FrontPage;
