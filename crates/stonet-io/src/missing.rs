//! Rows with missing values: left out, and counted by column.

use std::sync::{Arc, Mutex, PoisonError};

/// Rows that were left out because a value was missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dropped {
    /// How many rows.
    pub rows: u64,
    /// All rows that were read, with these.
    pub total: u64,
    /// Columns with missing values, and in how many rows; a row may lack several.
    pub columns: Vec<(String, u64)>,
}

impl std::fmt::Display for Dropped {
    /// ``3 of 60 rows with missing values in `f0` (1), `y` (2)``.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns: Vec<String> = self.columns.iter().map(|(name, rows)| format!("`{name}` ({rows})")).collect();
        write!(f, "{} of {} rows with missing values in {}", self.rows, self.total, columns.join(", "))
    }
}

/// The count of rows left out so far, which goes on while batches are read.
#[derive(Debug, Clone, Default)]
pub struct Dropping(Arc<Mutex<Dropped>>);

impl Dropping {
    /// Rows left out so far.
    pub fn so_far(&self) -> Dropped {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, rows: u64, total: u64, columns: &[(&String, u64)]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.rows += rows;
        all.total += total;
        for (name, more) in columns.iter().filter(|(_, more)| *more > 0) {
            match all.columns.iter_mut().find(|(n, _)| n == *name) {
                Some((_, count)) => *count += more,
                None => all.columns.push(((*name).clone(), *more)),
            }
        }
    }
}

/// Columns that must not have missing values.
pub(crate) struct Whole {
    numbers: Vec<(usize, String)>,
    texts: Vec<(usize, String)>,
    pub(crate) dropping: Dropping,
}

impl Whole {
    /// All columns but those in which values may be missing.
    pub(crate) fn new(numbers: &[String], texts: &[String], gaps: &[String]) -> Self {
        let whole = |names: &[String]| {
            let named = names.iter().enumerate().filter(|(_, n)| !gaps.contains(n));
            named.map(|(i, n)| (i, n.clone())).collect()
        };
        Whole { numbers: whole(numbers), texts: whole(texts), dropping: Dropping::default() }
    }

    /// Leaves out incomplete rows among those from `first` to `rows`; returns how many rows are left.
    pub(crate) fn filter(
        &self,
        (first, rows): (usize, usize),
        columns: &mut [Vec<f64>],
        texts: &mut [Vec<String>],
    ) -> usize {
        let mut complete = vec![true; rows - first];
        let mut counts = Vec::new();
        for (i, name) in &self.numbers {
            counts.push((name, mark(&mut complete, columns[*i][first..].iter().map(|v| v.is_nan()))));
        }
        for (i, name) in &self.texts {
            counts.push((name, mark(&mut complete, texts[*i][first..].iter().map(String::is_empty))));
        }
        let dropped = complete.iter().filter(|complete| !**complete).count();
        self.dropping.add(dropped as u64, complete.len() as u64, &counts);
        if dropped > 0 {
            columns.iter_mut().for_each(|c| keep(c, first, &complete));
            texts.iter_mut().for_each(|t| keep(t, first, &complete));
        }
        rows - dropped
    }
}

/// Notes the rows that lack a value; returns how many do.
fn mark(complete: &mut [bool], missing: impl Iterator<Item = bool>) -> u64 {
    let mut count = 0;
    for (complete, missing) in complete.iter_mut().zip(missing) {
        count += u64::from(missing);
        *complete &= !missing;
    }
    count
}

/// Leaves out values from `first` on whose rows are not complete.
fn keep<T>(values: &mut Vec<T>, first: usize, complete: &[bool]) {
    let mut row = 0;
    values.retain(|_| {
        row += 1;
        row <= first || complete[row - 1 - first]
    });
}
