//! Rows that were fitted on and are to be judged, which are refused or warned of; copies among rows to fit on.

use std::path::Path;

use clap::Args;
use stonet::rows::FingerprintsBuilder;
use stonet::{Fingerprints, Overlap};

use crate::console::Console;
use crate::error::{Error, Result};

/// Whether rows that were fitted on may be judged.
#[derive(Args, Debug, Clone, Copy)]
pub struct SeenArg {
    /// Judge rows even if they were used for fitting; results on such rows are too good
    #[arg(long)]
    allow_seen: bool,
}

impl SeenArg {
    /// Refuses these rows, or warns. Nothing is known of rows without an overlap.
    pub fn check(self, overlap: Option<&Overlap>, rows: &Path, console: &Console) -> Result<()> {
        let Some(overlap) = overlap.filter(|o| o.any()) else { return Ok(()) };
        if overlap.too_many() && !self.allow_seen {
            return Err(Error::Seen { path: rows.to_owned(), overlap: overlap.text() });
        }
        console.warn(format_args!("{}: {}: results on such rows are too good", rows.display(), overlap.text()));
        Ok(())
    }
}

/// What a command knows of the rows that it fits on: their fingerprints, and whether there are copies among them.
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

    /// A warning about copies. Rows in groups may be copies: a group is never split. `groups` says whether the command
    /// has that flag.
    pub fn warning(&self, grouped: bool, groups: bool) -> Option<String> {
        let copies = (!grouped).then(|| self.all.copies(&self.rows, &self.parts)).flatten()?;
        let remedy =
            if groups { "remove the copies, or keep them together with --groups" } else { "remove the copies" };
        Some(format!("{}; {remedy}", copies.text()))
    }
}
