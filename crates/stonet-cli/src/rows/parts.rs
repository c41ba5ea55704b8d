//! Where rows come from: a file with others beside it, all of its rows or those of one part.

use std::path::{Path, PathBuf};

use stonet_io::{Beside, Reading, Table};

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
}

impl Source {
    /// All rows of a file.
    pub fn new(path: &Path, beside: &[Beside]) -> Self {
        Source { path: path.to_owned(), beside: beside.to_vec(), part: None }
    }

    /// Reads columns, and finds the rows that are wanted.
    pub fn read(&self, mut reading: Reading) -> Result<(Table, Vec<usize>)> {
        reading.beside = self.beside.clone();
        reading.text.extend(self.part.iter().map(|(column, _)| column.clone()));
        let table = reading.read(&self.path)?;
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

/// The values of named columns in these rows.
pub fn numbers(table: &Table, names: &[String], rows: &[usize]) -> Result<ndarray::Array2<f64>> {
    let columns = table.columns(names)?;
    Ok(table.select(&columns).select(ndarray::Axis(0), rows))
}

/// The entries of a column of text in these rows.
pub fn words(table: &Table, name: &str, rows: &[usize]) -> Result<Vec<String>> {
    let all = table.text(name)?;
    Ok(rows.iter().map(|&r| all[r].clone()).collect())
}
