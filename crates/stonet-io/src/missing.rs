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

    /// Leaves out incomplete rows among those from `first` to `rows`; returns how many rows are left. A row has `width` numbers.
    pub(crate) fn filter(
        &self,
        (first, rows): (usize, usize),
        values: &mut Vec<f64>,
        width: usize,
        texts: &mut [Vec<String>],
    ) -> usize {
        let mut counts = vec![0; self.numbers.len() + self.texts.len()];
        let mut kept = first;
        for row in first..rows {
            let lacks = self.numbers.iter().map(|(i, _)| values[row * width + i].is_nan());
            let empty = self.texts.iter().map(|(i, _)| texts[*i][row].is_empty());
            let mut complete = true;
            for (count, missing) in counts.iter_mut().zip(lacks.chain(empty)) {
                *count += u64::from(missing);
                complete &= !missing;
            }
            if complete {
                values.copy_within(row * width..(row + 1) * width, kept * width);
                texts.iter_mut().for_each(|t| t.swap(row, kept));
                kept += 1;
            }
        }
        let names = self.numbers.iter().chain(&self.texts).map(|(_, name)| name);
        let columns: Vec<(&String, u64)> = names.zip(counts).collect();
        self.dropping.add((rows - kept) as u64, (rows - first) as u64, &columns);
        values.truncate(kept * width);
        texts.iter_mut().for_each(|t| t.truncate(kept));
        kept
    }
}
