//! Rows with known answers that a head is judged on, batch by batch, and how many of them it was fitted on.

use stonet::{FittedRegressor, InputKind, Labels, Overlap, RegressionInputs};
use stonet_io::Model;

use super::classification::ClassFile;
use super::parts::Source;
use super::regression::RegressionFile;
use super::stream::Batch;
use crate::error::Result;

/// Bytes of a row's hash.
pub const HASH: u64 = 8;

impl Source {
    /// Rows for intervals; `by` is a further column of text, and `kept` bytes stay of every row.
    pub fn judged_intervals(
        &self,
        model: &Model,
        fitted: &FittedRegressor,
        by: Option<&str>,
        kept: u64,
        mut take: impl FnMut(&Batch<'_>, &RegressionFile, &RegressionInputs<'_>) -> Result<()> + Send,
    ) -> Result<Option<Overlap>> {
        let (mut hashes, mut fingerprint) = (Vec::new(), String::new());
        self.stream(RegressionFile::reading_like(&model.columns, by), model, HASH + kept, |batch: &Batch<'_>| {
            let rows = RegressionFile::of(self, model.columns.clone(), batch.table, &batch.rows())
                .map_err(|e| e.after_rows(batch.first))?;
            hashes.extend(rows.hashes()?);
            if batch.whole {
                fingerprint = rows.fingerprint();
            }
            let numbers = rows.numbers(fitted).map_err(|e| e.after_rows(batch.first))?;
            let new = rows.new_rows()?;
            let new = match &numbers {
                Some(numbers) => new.with_within(numbers)?,
                None => new,
            };
            take(batch, &rows, &new)
        })?;
        Ok(model.overlap(&hashes, || fingerprint))
    }

    /// The same for classes.
    pub fn judged_classes(
        &self,
        model: &Model,
        (kind, labels): (InputKind, &Labels),
        by: Option<&str>,
        kept: u64,
        mut take: impl FnMut(&Batch<'_>, &ClassFile) -> Result<()> + Send,
    ) -> Result<Option<Overlap>> {
        let (mut hashes, mut fingerprint) = (Vec::new(), String::new());
        self.stream(ClassFile::reading_like(&model.columns, by), model, HASH + kept, |batch: &Batch<'_>| {
            let rows = ClassFile::known(self, &model.columns, kind, labels, batch.table, &batch.rows())
                .map_err(|e| e.after_rows(batch.first))?;
            hashes.extend(&rows.hashes);
            if batch.whole {
                fingerprint = rows.fingerprint();
            }
            take(batch, &rows)
        })?;
        Ok(model.overlap(&hashes, || fingerprint))
    }
}
