//! Rows that were fitted on and are to be judged: refused, or with a warning.

use std::path::Path;

use clap::Args;
use stonet::{Copies, Overlap};

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

/// A warning about copies among the rows to fit on.
pub fn warn_of_copies(copies: &Copies, groups: bool) -> String {
    let remedy = if groups { "remove the copies, or keep them together with --groups" } else { "remove the copies" };
    format!("{}; {remedy}", copies.text())
}
