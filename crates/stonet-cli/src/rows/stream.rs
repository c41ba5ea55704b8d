//! Rows of a file that are judged batch by batch, so that files larger than memory can be.

use stonet::base::Cancelled;
use stonet_io::{Model, Reading, Table};

use super::hints;
use super::parts::{Source, dropped, left_out};
use crate::error::{Error, Result};

/// Numbers per batch: a few batches are in memory at once.
const NUMBERS: usize = 1 << 18;

/// Some rows of a file.
pub struct Batch<'a> {
    pub table: &'a Table,
    /// The number of the first of them in the file.
    pub first: usize,
    /// Whether they are all rows of the file.
    pub whole: bool,
}

impl Batch<'_> {
    /// The numbers of the rows in the table.
    pub fn rows(&self) -> Vec<usize> {
        (0..self.table.rows()).collect()
    }
}

impl Source {
    /// Reads columns that a head knows, batch by batch, and tells what was left out; `kept` bytes stay of every row.
    /// Heads of older programs know their rows by one fingerprint of all of them, so they take the table as a whole.
    pub fn stream(
        &self,
        reading: Reading,
        model: &Model,
        kept: u64,
        take: impl FnMut(&Batch<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        match model.fingerprints.is_none() && !model.fingerprint.is_empty() {
            true => self.at_once(reading, model, take),
            false => self.in_batches(reading, model, kept, take),
        }
    }

    /// All rows as one batch, however large it is.
    fn at_once(&self, reading: Reading, model: &Model, mut take: impl FnMut(&Batch<'_>) -> Result<()>) -> Result<()> {
        let read = self.read(reading).map_err(|e| hints::absent_target(e, &model.columns.targets));
        take(&Batch { table: &read?.0, first: 0, whole: true })
    }

    /// The same for any head, always in batches.
    pub fn in_batches(
        &self,
        reading: Reading,
        model: &Model,
        kept: u64,
        mut take: impl FnMut(&Batch<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let targets = &model.columns.targets;
        let hint = |e: stonet_io::Error| hints::absent_target(hints::missing_values(e.into()), targets);
        let columns = model.columns.inputs().len() + targets.len();
        let most = (NUMBERS / columns).clamp(256, 1 << 14);
        self.console.run("read", |tick| {
            let batches = self.reading(reading).batches(&self.path, most).map_err(hint)?.keeping(kept);
            let (total, dropping) = (batches.rows().unwrap_or(0) as usize, batches.dropping());
            left_out(batches.left_out(), &self.console);
            let mut first = 0;
            for table in batches.ahead() {
                let table = table.map_err(hint)?;
                take(&Batch { table: &table, first, whole: false })?;
                first += table.rows();
                if !tick(first, total) {
                    return Err(Error::from(stonet_io::Error::from(Cancelled::rows(first, total))));
                }
            }
            dropped(&self.path, &dropping.so_far(), &self.console);
            Ok(())
        })
    }
}
