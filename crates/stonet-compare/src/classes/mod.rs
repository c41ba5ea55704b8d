//! Calibration methods of classifiers side by side.

mod compare;
mod report;
mod sets;

pub use compare::{Comparison, Judged, Seeds, TestRows, compare, compare_with};
pub use report::{Group, MethodSummary, Record, summarise, verdicts};
pub use sets::{JudgedSets, SetComparison, compare_sets};
