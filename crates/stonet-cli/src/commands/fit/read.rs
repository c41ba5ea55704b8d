//! The rows of a fit: all of a file, or those that were drawn.

use stonet::PostStoNetRegressor;

use super::Fit;
use super::sampled::Drawn;
use crate::console::Console;
use crate::error::Result;
use crate::rows::{ClassFile, LabelFile, RegressionFile, Source, hints};

impl Fit {
    pub(super) fn source(&self, console: &Console) -> Source {
        Source::new(&self.rows, &self.columns.with.files, self.columns.missing, console)
    }

    /// The rows of an interval, all of them or those that were drawn.
    pub(super) fn regression_rows(
        &self,
        post: &PostStoNetRegressor,
        source: &Source,
        console: &Console,
    ) -> Result<(RegressionFile, Option<Drawn>)> {
        let Some(most) = self.sample_rows()? else {
            return Ok((RegressionFile::read(source, &self.columns).map_err(hints::too_large)?, None));
        };
        let reading = RegressionFile::reading(&self.columns)?;
        let drawn = self.draw(source, reading, (most, post.split_share), console);
        let (table, drawn) = drawn.map_err(|e| RegressionFile::hints(e, &self.columns))?;
        let all: Vec<usize> = (0..table.rows()).collect();
        Ok((RegressionFile::chosen(source, &self.columns, &table, &all)?, Some(drawn)))
    }

    /// The rows of class probabilities, and how many there are in all where some were drawn.
    pub(super) fn class_rows(&self, console: &Console) -> Result<(ClassFile, Option<u64>)> {
        let source = self.source(console);
        let Some(most) = self.sample_rows()? else {
            return Ok((ClassFile::read(&source, &self.columns, None).map_err(hints::too_large)?, None));
        };
        let drawn = self.draw(&source, ClassFile::reading(&self.columns)?, (most, 1.0), console);
        let (table, drawn) = drawn.map_err(|e| ClassFile::hints(e, &self.columns))?;
        let all: Vec<usize> = (0..table.rows()).collect();
        self.tell_unused(&all, &drawn, console);
        Ok((ClassFile::chosen(&source, &self.columns, &table, &all, None)?, Some(drawn.total)))
    }

    /// The rows of many labels, and how many there are in all where some were drawn.
    pub(super) fn label_rows(&self, console: &Console) -> Result<(LabelFile, Option<u64>)> {
        let source = self.source(console);
        let Some(most) = self.sample_rows()? else {
            return Ok((LabelFile::read(&source, &self.columns).map_err(hints::too_large)?, None));
        };
        let drawn = self.draw(&source, LabelFile::reading(&self.columns)?, (most, 1.0), console);
        let (table, drawn) = drawn.map_err(|e| LabelFile::hints(e, &self.columns))?;
        let all: Vec<usize> = (0..table.rows()).collect();
        self.tell_unused(&all, &drawn, console);
        Ok((LabelFile::chosen(&source, &self.columns, &table, &all)?, Some(drawn.total)))
    }

    /// Prints that rows which were not drawn are not used.
    fn tell_unused(&self, used: &[usize], drawn: &Drawn, console: &Console) {
        if drawn.others() > 0 {
            let (used, total) = (used.len(), drawn.total);
            console.note(format_args!("{used} of {total} rows are fitted and the others are not used; see --sample"));
        }
    }
}
