//! Named columns of numbers, some of text beside them, and the choice of inputs and targets among them.

use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use stonet::Dataset;

use crate::header::Header;
use crate::pattern::list;
use crate::{Dropped, Problem, Result};

/// Rows that are turned from columns into rows, or back, at once: few enough to stay in the cache.
const BLOCK: usize = 64;

/// Columns with distinct names, as read from a file; each lies in memory by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    header: Header,
    columns: Vec<Vec<f64>>,
    rows: usize,
    texts: Vec<(String, Vec<String>)>,
    left_out: Vec<String>,
    dropped: Dropped,
}

/// Columns of a table by their role; numbers count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Inputs, in the order asked for; all of them in the order of the file.
    pub inputs: Vec<usize>,
    /// Targets, in the order asked for.
    pub targets: Vec<usize>,
}

impl Table {
    /// Checks that there is one name per column and that no two are the same; `source` is the file that messages name.
    pub fn new(source: impl Into<PathBuf>, names: Vec<String>, values: Array2<f64>) -> Result<Self> {
        Self::of_columns(source, names, columns_of(values.view()), values.nrows())
    }

    /// The same of columns, each with this many rows.
    pub fn of_columns(
        source: impl Into<PathBuf>,
        names: Vec<String>,
        columns: Vec<Vec<f64>>,
        rows: usize,
    ) -> Result<Self> {
        let header = Header::new(&source.into(), names)?;
        let shape = |what: &str, expected: usize, found: usize| {
            let what = format!("{}: {what}", header.source.display());
            Err(stonet::Error::Shape { what, expected, found }.into())
        };
        if header.names.len() != columns.len() {
            return shape("column names", columns.len(), header.names.len());
        }
        if let Some(other) = columns.iter().find(|c| c.len() != rows) {
            return shape("rows of a column", rows, other.len());
        }
        Ok(Table { header, columns, rows, texts: Vec::new(), left_out: Vec::new(), dropped: Dropped::default() })
    }

    /// Columns of text beside the numbers: names that the numbers do not have, and as many entries as there are rows.
    pub(crate) fn with_texts(self, texts: Vec<(String, Vec<String>)>) -> Self {
        Table { texts, ..self }
    }

    /// What was not read.
    pub(crate) fn with_notes(self, left_out: Vec<String>, dropped: Dropped) -> Self {
        Table { left_out, dropped, ..self }
    }

    /// Columns of row numbers, which were not read since nobody named them.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Rows that were left out for missing values; none in a batch, where
    /// [`Batches::dropping`](crate::Batches::dropping) counts them.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// The columns of numbers, and those of text.
    pub(crate) fn into_columns(self) -> (Vec<Vec<f64>>, impl Iterator<Item = Vec<String>>) {
        (self.columns, self.texts.into_iter().map(|(_, texts)| texts))
    }

    /// The file it was read from.
    pub fn source(&self) -> &Path {
        &self.header.source
    }

    /// The names of the columns of numbers, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.header.names
    }

    /// A copy of all numbers, rows × columns.
    pub fn values(&self) -> Array2<f64> {
        self.select(&(0..self.columns.len()).collect::<Vec<_>>())
    }

    /// The columns of numbers, in the order of the file.
    pub(crate) fn all_columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The values of the column with this name.
    pub fn column(&self, name: &str) -> Result<ArrayView1<'_, f64>> {
        Ok(ArrayView1::from(&self.columns[self.header.column(name)?][..]))
    }

    /// The entries of the column of text with this name; it must have been [read](crate::Reading) as text.
    pub fn text(&self, name: &str) -> Result<&[String]> {
        let found = self.texts.iter().find(|(n, _)| n == name).map(|(_, texts)| texts.as_slice());
        found.ok_or_else(|| {
            Problem::NoText { name: name.into(), known: list(self.texts.iter().map(|(n, _)| n.as_str())) }
                .of(self.header.source.clone())
        })
    }

    /// The names of the columns of text with these names or patterns, in the order asked for, a pattern's matches in the
    /// order of the file, none twice.
    pub fn text_names(&self, patterns: &[String]) -> Result<Vec<String>> {
        let names: Vec<String> = self.texts.iter().map(|(name, _)| name.clone()).collect();
        let header = Header::new(&self.header.source, names)?;
        Ok(header.columns(patterns)?.into_iter().map(|i| header.names[i].clone()).collect())
    }

    /// The columns with these names or patterns (`*` any characters, `?` one), by number: in the order asked for, a
    /// pattern's matches in the order of the file, none twice. A column of exactly that name comes before any reading
    /// as a pattern.
    pub fn columns(&self, patterns: &[String]) -> Result<Vec<usize>> {
        self.header.columns(patterns)
    }

    /// The columns with exactly these names, by number and in the order asked for; all that are not there are named at
    /// once.
    pub fn find(&self, names: &[String]) -> Result<Vec<usize>> {
        self.header.exact(names)
    }

    /// Inputs and targets by name or pattern. Inputs are those named, in the order asked for, by default all; targets
    /// and excluded columns are never inputs.
    pub fn choose(&self, inputs: Option<&[String]>, targets: &[String], exclude: &[String]) -> Result<Choice> {
        let targets = self.columns(targets)?;
        let excluded = self.columns(exclude)?;
        let mut chosen = match inputs {
            Some(patterns) => self.columns(patterns)?,
            None => (0..self.header.names.len()).collect(),
        };
        chosen.retain(|i| !targets.contains(i) && !excluded.contains(i));
        if targets.is_empty() {
            return Err(Problem::NoTarget { known: self.header.list() }.of(self.header.source.clone()));
        }
        if chosen.is_empty() {
            return Err(Problem::NoInputs.of(self.header.source.clone()));
        }
        Ok(Choice { inputs: chosen, targets })
    }

    /// The data set of the chosen columns, as [`choose`](Self::choose) finds them.
    pub fn dataset(&self, inputs: Option<&[String]>, targets: &[String], exclude: &[String]) -> Result<Dataset> {
        let Choice { inputs, targets } = self.choose(inputs, targets, exclude)?;
        Ok(Dataset::new(self.select(&inputs), self.select(&targets))?)
    }

    /// The values of the columns with these numbers, in this order, as an array whose rows lie in memory one after the
    /// other.
    ///
    /// # Panics
    /// If a number is not below the number of columns.
    pub fn select(&self, columns: &[usize]) -> Array2<f64> {
        self.gather(columns, self.rows, |row| row)
    }

    /// The same of these rows only.
    ///
    /// # Panics
    /// If a number is not below the number of columns, or of rows.
    pub fn select_rows(&self, columns: &[usize], rows: &[usize]) -> Array2<f64> {
        self.gather(columns, rows.len(), |row| rows[row])
    }

    fn gather(&self, columns: &[usize], rows: usize, from: impl Fn(usize) -> usize) -> Array2<f64> {
        let mut all = Array2::zeros((rows, columns.len()));
        for (part, mut block) in all.axis_chunks_iter_mut(Axis(0), BLOCK).enumerate() {
            for (&k, mut to) in columns.iter().zip(block.columns_mut()) {
                let column = &self.columns[k];
                to.iter_mut().enumerate().for_each(|(i, to)| *to = column[from(part * BLOCK + i)]);
            }
        }
        all
    }
}

/// The columns of an array, each by itself.
pub(crate) fn columns_of(values: ArrayView2<'_, f64>) -> Vec<Vec<f64>> {
    let mut columns = vec![Vec::with_capacity(values.nrows()); values.ncols()];
    for block in values.axis_chunks_iter(Axis(0), BLOCK) {
        columns.iter_mut().zip(block.columns()).for_each(|(to, from)| to.extend(from));
    }
    columns
}
