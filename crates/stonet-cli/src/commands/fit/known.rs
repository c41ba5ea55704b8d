//! What `stonet fit` remembers of its rows: their fingerprints, and whether there are copies among them.

use ndarray::ArrayView2;
use stonet::{Fingerprints, FingerprintsBuilder, row_hashes};

use crate::error::Result;
use crate::seen::warn_of_copies;

/// The rows so far.
pub struct Known {
    all: FingerprintsBuilder,
    /// Hashes of the rows in memory, and of their targets alone; none for classes.
    rows: Vec<u64>,
    targets: Vec<u64>,
}

impl Known {
    /// Rows with these hashes, and these targets where they are numbers.
    pub fn new(rows: Vec<u64>, targets: Option<ArrayView2<'_, f64>>) -> Result<Self> {
        let targets = targets.map(|y| row_hashes(&[y])).transpose()?.unwrap_or_default();
        let mut all = FingerprintsBuilder::default();
        all.add(&rows);
        Ok(Known { all, rows, targets })
    }

    /// More rows, which are not in memory later.
    pub fn add(&mut self, rows: &[u64]) {
        self.all.add(rows);
    }

    /// The fingerprints of all rows.
    pub fn set(&self) -> Fingerprints {
        self.all.finish()
    }

    /// A warning about copies. Rows in groups may be copies: a group is never split.
    pub fn warning(&self, grouped: bool, groups: bool) -> Option<String> {
        let copies = (!grouped).then(|| self.all.copies(&self.rows, &self.targets)).flatten()?;
        Some(warn_of_copies(&copies, groups))
    }
}
