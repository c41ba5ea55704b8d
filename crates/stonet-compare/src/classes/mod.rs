//! Calibration methods of classifiers side by side.

mod compare;
mod report;

pub use compare::{Comparison, Judged, Seeds, TestRows, compare, compare_with};
pub use report::{Group, MethodSummary, Record, summarise, verdicts};
