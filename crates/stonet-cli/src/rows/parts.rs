//! Where rows come from: a file with others beside it, all of its rows or those of one part.

use std::path::{Path, PathBuf};

use stonet_io::{Beside, Dropped, Reading, Table};

use super::hints;
use crate::args::{ColumnArgs, MissingArg};
use crate::console::Console;
use crate::error::{Error, Result};

/// Which rows of a file are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Validation,
    Test,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Validation => "validation",
            Part::Test => "test",
        }
    }
}

/// A file, the files beside it, and the part of its rows.
#[derive(Debug, Clone)]
pub struct Source {
    pub path: PathBuf,
    pub beside: Vec<Beside>,
    /// The column that tells the parts, and the part that is wanted.
    pub part: Option<(String, Part)>,
    pub missing: MissingArg,
    pub console: Console,
}

impl Source {
    /// All rows of a file.
    pub fn new(path: &Path, beside: &[Beside], missing: MissingArg, console: &Console) -> Self {
        Source { path: path.to_owned(), beside: beside.to_vec(), part: None, missing, console: console.clone() }
    }

    /// What has to be read for these columns, with the files beside.
    pub fn reading(&self, mut reading: Reading) -> Reading {
        reading.beside = self.beside.clone();
        reading.drop_missing = self.missing.drop_missing;
        reading.text.extend(self.part.iter().map(|(column, _)| column.clone()));
        reading
    }

    /// Reads columns, finds the rows that are wanted, and tells what was left out.
    pub fn read(&self, reading: Reading) -> Result<(Table, Vec<usize>)> {
        let (table, rows) = self.read_silently(reading)?;
        tell(&table, &self.console);
        Ok((table, rows))
    }

    /// The same without a note, for a look at a column that is read again.
    pub fn read_silently(&self, reading: Reading) -> Result<(Table, Vec<usize>)> {
        let table = self.reading(reading).read(&self.path).map_err(|e| hints::missing_values(e.into()))?;
        let Some((column, part)) = &self.part else {
            let all = (0..table.rows()).collect();
            return Ok((table, all));
        };
        let mut rows = Vec::new();
        for (row, text) in table.text(column)?.iter().enumerate() {
            let found = match text.to_ascii_lowercase().as_str() {
                "0" | "0.0" | "validation" | "val" | "calibration" => Part::Validation,
                "1" | "1.0" | "test" => Part::Test,
                _ => {
                    let (path, column, text) = (self.path.clone(), column.clone(), text.clone());
                    return Err(Error::Part { path, row, column, text });
                }
            };
            if found == *part {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Err(Error::EmptyPart { path: self.path.clone(), column: column.clone(), part: part.name() });
        }
        Ok((table, rows))
    }
}

/// Prints which columns and rows of a table were left out.
pub fn tell(table: &Table, console: &Console) {
    left_out(table.left_out(), console);
    dropped(table.source(), table.dropped(), console);
}

/// Prints which columns hold row numbers and are not used.
pub fn left_out(columns: &[String], console: &Console) {
    for column in columns {
        console
            .note(format_args!("column `{column}` holds row numbers and is not used; name it by --inputs to use it"));
    }
}

/// Prints how many rows were left out for missing values, and in which columns.
pub fn dropped(path: &Path, dropped: &Dropped, console: &Console) {
    if dropped.rows > 0 {
        console.note(format_args!("{}: --drop-missing left out {dropped}", path.display()));
    }
}

/// What has to be read for a network's outputs, features beside them, and targets, by flags.
pub fn outputs_reading(flags: &ColumnArgs) -> Result<Reading> {
    hints::not_targets("--inputs", flags.inputs.as_deref().unwrap_or_default(), &flags.target)?;
    hints::not_targets("--features", flags.features.as_deref().unwrap_or_default(), &flags.target)?;
    let extra = flags.features.iter().flatten().cloned();
    Ok(Reading {
        numbers: flags.inputs.as_ref().map(|inputs| inputs.iter().cloned().chain(extra).collect()),
        text: flags.target.clone(),
        exclude: flags.exclude.clone(),
        required: flags.features.clone().unwrap_or_default(),
        ..Reading::default()
    })
}

/// The names of the columns of outputs, and of features.
pub fn outputs_and_features(flags: &ColumnArgs, table: &Table) -> Result<(Vec<String>, Vec<String>)> {
    let features = flags.features.as_ref().map(|f| table.columns(f)).transpose()?.unwrap_or_default();
    let mut inputs = match &flags.inputs {
        Some(patterns) => table.columns(patterns)?,
        None => (0..table.names().len()).collect(),
    };
    inputs.retain(|i| !features.contains(i));
    let names = |columns: &[usize]| columns.iter().map(|&c| table.names()[c].clone()).collect::<Vec<_>>();
    Ok((names(&inputs), names(&features)))
}

/// The values of named columns in these rows.
pub fn numbers(table: &Table, names: &[String], rows: &[usize]) -> Result<ndarray::Array2<f64>> {
    Ok(table.select_rows(&table.columns(names)?, rows))
}

/// The entries of a column of text in these rows.
pub fn words(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<String>> {
    let all = table.text(name)?;
    Ok(rows.iter().map(|&r| all[r].clone()).collect())
}
