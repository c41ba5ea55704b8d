//! A head after its deployment: are new rows still like those that it was calibrated on, and is its promise kept?
//!
//! ```text
//! value of a row (its score, its distance, a column, …)
//!   -> cell, fixed in advance                            cells.rs
//!   -> p-value: its rank among calibration rows and all earlier new rows, ties at random: uniform and independent
//!      while rows are exchangeable                       cells.rs
//!   -> capital that bets against uniform p-values        bets.rs
//!   -> alarm when the capital reaches 1/(part of α)      process.rs
//! ```
//! The parts of α of all quantities of a family add up to α, so by Ville's inequality and the union bound the family
//! ever raises a false alarm with probability at most α. The union bound is used since the capitals are martingales with
//! respect to different histories: their mean need not be one. There are two families, each with its own α:
//!
//! | family | quantities | a calibration row is ranked |
//! |---|---|---|
//! | answers | scores under every fold's model (half of α), targets or classes (half) | under the model of its own fold, which has not seen it |
//! | inputs | distance, predictions, disagreement (half of α), every column (half) | where it has not chosen the cells: a [`Baseline`] |
//!
//! Where a head has no such rows, new rows are ranked among earlier new rows alone: as valid, but only a change after the
//! first rows can be seen.

mod baseline;
mod bets;
mod cells;
mod classes;
mod path;
mod process;
mod regression;
mod sequence;
mod state;

pub use baseline::{Baseline, Watched};
pub use classes::{ClassMonitor, class_tables};
pub use path::Path;
pub use process::{Process, Quantity};
pub use regression::{RegressionMonitor, regression_tables};
pub use sequence::MeanSequence;
pub use state::{CalibrationError, Family, Monitor, MonitorSettings};
