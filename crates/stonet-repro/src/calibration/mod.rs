//! Calibration of classifiers: every method side by side, on the user's own rows (`compare`) and on the outputs of real networks
//! (`reproduce cifar`, `reproduce fashion`).

mod cifar;
mod compare;
mod report;

pub use cifar::{Cifar, CifarOptions, CifarSpec, cifar};
pub use compare::{Comparison, Judged, TestRows, compare};
pub(crate) use compare::{Seeds, compare_with};
pub use report::{Group, MethodSummary, Record, summarise};
