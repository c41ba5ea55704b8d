//! Foundations of all other modules: errors, names of settings, random numbers, threads, progress and stages.

pub(crate) mod binomial;
mod error;
pub(crate) mod estimate;
pub(crate) mod names;
pub(crate) mod normal;
mod progress;
pub(crate) mod random;
mod stages;
#[doc(hidden)]
pub mod streams;
mod threads;

pub use error::{Error, NoInterval, Result};
pub use estimate::FitEstimate;
pub use progress::{Cancelled, Cost, PARTS, Piece, Ticker, Work, part_of};
pub use random::{Rng, Seed};
pub use stages::{Recording, StageTime, stage, stage_at};
pub use threads::{check_threads, most_threads};
