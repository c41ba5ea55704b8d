//! Foundations of all other modules: errors, names of settings, random numbers, threads and progress.

pub(crate) mod binomial;
mod error;
pub(crate) mod names;
pub(crate) mod normal;
mod progress;
pub(crate) mod random;
#[doc(hidden)]
pub mod streams;
mod threads;

pub use error::{Error, NoInterval, Result};
pub use progress::{Cancelled, Ticker, Work};
pub use random::{Rng, Seed};
pub use threads::{check_threads, most_threads};
