//! Sparse stochastic neural networks.
mod data;
mod error;
mod head;
mod imputation;
mod interval;
mod linalg;
pub mod metrics;
mod network;
mod penalty;
mod random;
mod regression;
mod train;

pub use data::{Dataset, Scaling, Standardizer, complement, folds};
pub use error::{Error, Result};
pub use head::Head;
pub use interval::{Estimate, Eve, EveIntervals, Intervals, Level, PredictInterval, Variance, degrees_of_freedom};
pub use network::{Activation, Layer, StoNet};
pub use penalty::Penalty;
pub use random::{Rng, Seed};
pub use regression::Refit;
pub use train::{Asghmc, Collection, Decay, Fit, Observer, PaperSettings, Preset, Progress, StepBench, Stop, Trainer, Warning};
