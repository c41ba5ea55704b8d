//! Rows from files in the roles that heads know them by: features, predictions, logits, targets.

mod classification;
pub mod hints;
mod judged;
pub mod kept;
mod labels;
mod parts;
mod regression;
mod stream;

pub use classification::ClassFile;
pub use judged::HASH;
pub use labels::LabelFile;
pub use parts::{Part, Source, dropped, left_out, tell};
pub use regression::RegressionFile;
pub use stream::Batch;

/// Groups numbered in the order of their first row.
pub fn number_groups(names: &[String]) -> Vec<usize> {
    let mut known = std::collections::HashMap::new();
    names
        .iter()
        .map(|n| {
            let next = known.len();
            *known.entry(n.as_str()).or_insert(next)
        })
        .collect()
}
