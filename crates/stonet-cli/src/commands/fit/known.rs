//! What `stonet fit` remembers of its rows: their fingerprints, and whether there are copies among them.

use stonet::{Fingerprints, FingerprintsBuilder};

use crate::seen::warn_of_copies;

/// The rows so far.
pub struct Known {
    all: FingerprintsBuilder,
    /// Hashes of the rows in memory, and of their inputs and their targets alone; none for classes.
    rows: Vec<u64>,
    parts: Vec<Vec<u64>>,
}

impl Known {
    /// Rows with these hashes.
    pub fn new(rows: Vec<u64>, parts: Vec<Vec<u64>>) -> Self {
        let mut all = FingerprintsBuilder::default();
        all.add(&rows);
        Known { all, rows, parts }
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
        let copies = (!grouped).then(|| self.all.copies(&self.rows, &self.parts)).flatten()?;
        Some(warn_of_copies(&copies, groups))
    }
}
