//! Named columns of numbers, and the choice of inputs and targets among them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayView1, ArrayView2};
use stonet::Dataset;

use crate::pattern::{list, matches, nearest};
use crate::{Error, Result};

/// Columns with distinct names, as read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    source: PathBuf,
    names: Vec<String>,
    values: Array2<f64>,
}

/// Columns of a table by their role; numbers count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Inputs, in the order of the file.
    pub inputs: Vec<usize>,
    /// Targets, in the order asked for.
    pub targets: Vec<usize>,
}

impl Table {
    /// Checks that there is one name per column and that no two are the same; `source` is the file that messages name.
    pub fn new(source: impl Into<PathBuf>, names: Vec<String>, values: Array2<f64>) -> Result<Self> {
        let source = source.into();
        if names.len() != values.ncols() {
            let what = format!("{}: column names", source.display());
            return Err(stonet::Error::Shape { what, expected: values.ncols(), found: names.len() }.into());
        }
        Self::check_names(&source, &names)?;
        Ok(Table { source, names, values })
    }

    pub(crate) fn check_names(path: &Path, names: &[String]) -> Result<()> {
        let mut seen = HashMap::new();
        for (i, name) in names.iter().enumerate() {
            if let Some(first) = seen.insert(name, i) {
                let (path, name) = (path.to_owned(), name.clone());
                return Err(Error::DuplicateColumn { path, name, first: first + 1, second: i + 1 });
            }
        }
        Ok(())
    }

    /// The file it was read from.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// The columns' names, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All values, rows × columns.
    pub fn values(&self) -> ArrayView2<'_, f64> {
        self.values.view()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.nrows()
    }

    /// The values of the column with this name.
    pub fn column(&self, name: &str) -> Result<ArrayView1<'_, f64>> {
        let found = self.position(name).ok_or_else(|| self.unknown(name))?;
        Ok(self.values.column(found))
    }

    /// The columns with these names or patterns (`*` any characters, `?` one), by number: in the order asked for, a pattern's
    /// matches in the order of the file, none twice. A column of exactly that name comes before any reading as a pattern.
    pub fn columns(&self, patterns: &[String]) -> Result<Vec<usize>> {
        let mut chosen = Vec::new();
        let mut taken = vec![false; self.names.len()];
        for pattern in patterns {
            let found = self.find(pattern)?;
            chosen.extend(found.into_iter().filter(|&i| !std::mem::replace(&mut taken[i], true)));
        }
        Ok(chosen)
    }

    /// Inputs and targets by name or pattern. Inputs are those named, by default all; targets and excluded columns are never inputs.
    pub fn choose(&self, inputs: Option<&[String]>, targets: &[String], exclude: &[String]) -> Result<Choice> {
        let targets = self.columns(targets)?;
        let excluded = self.columns(exclude)?;
        let mut chosen = match inputs {
            Some(patterns) => self.columns(patterns)?,
            None => (0..self.names.len()).collect(),
        };
        chosen.retain(|i| !targets.contains(i) && !excluded.contains(i));
        chosen.sort_unstable();
        if targets.is_empty() {
            let known = list(self.names.iter().map(String::as_str));
            return Err(Error::NoTarget { path: self.source.clone(), known });
        }
        if chosen.is_empty() {
            return Err(Error::NoInputs { path: self.source.clone() });
        }
        Ok(Choice { inputs: chosen, targets })
    }

    /// The data set of the chosen columns, as [`choose`](Self::choose) finds them.
    pub fn dataset(&self, inputs: Option<&[String]>, targets: &[String], exclude: &[String]) -> Result<Dataset> {
        let Choice { inputs, targets } = self.choose(inputs, targets, exclude)?;
        Ok(Dataset::new(self.select(&inputs), self.select(&targets))?)
    }

    /// The values of the columns with these numbers, in this order.
    ///
    /// # Panics
    /// If a number is not below the number of columns.
    pub fn select(&self, columns: &[usize]) -> Array2<f64> {
        // Row by row: ndarray's own `select` along columns strides through the whole table once per column.
        let mut values = Vec::with_capacity(self.rows() * columns.len());
        for row in self.values.outer_iter() {
            values.extend(columns.iter().map(|&i| row[i]));
        }
        Array2::from_shape_vec((self.rows(), columns.len()), values).expect("as many values as the shape says")
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    fn find(&self, pattern: &str) -> Result<Vec<usize>> {
        if let Some(exact) = self.position(pattern) {
            return Ok(vec![exact]);
        }
        if !pattern.contains(['*', '?']) {
            return Err(self.unknown(pattern));
        }
        let found: Vec<usize> = (0..self.names.len()).filter(|&i| matches(pattern, &self.names[i])).collect();
        if found.is_empty() {
            let known = nearest(pattern, &self.names);
            return Err(Error::NoMatch { path: self.source.clone(), pattern: pattern.into(), known });
        }
        Ok(found)
    }

    fn unknown(&self, name: &str) -> Error {
        let known = nearest(name, &self.names);
        Error::UnknownColumn { path: self.source.clone(), name: name.into(), known }
    }
}
