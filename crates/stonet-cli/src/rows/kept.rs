//! Columns that are copied from one file to another as they are.

use std::path::Path;

use ndarray::Array1;
use stonet_io::{Beside, Cells, Column, Table, Type, is_missing};

use crate::error::{Error, Result};

/// Entries of a copied column.
pub enum Copied {
    Numbers(Array1<f64>),
    Text(Vec<String>),
}

impl Copied {
    pub fn cells(&self) -> Cells<'_> {
        match self {
            Copied::Numbers(values) => Cells::Numbers(values.view()),
            Copied::Text(texts) => Cells::Text(texts),
        }
    }

    /// Those of some rows.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Copied::Numbers(values) => Copied::Numbers(values.select(ndarray::Axis(0), rows)),
            Copied::Text(texts) => Copied::Text(rows.iter().map(|&r| texts[r].clone()).collect()),
        }
    }
}

/// What copied columns, read as text, are written as; values may be missing in them. Text files know no types: there
/// the first rows tell numbers from words.
pub fn columns(path: &Path, beside: &[Beside], names: &[String], first: &Table) -> Result<Vec<Column>> {
    let types = stonet_io::types(path, beside, names)?;
    let kind = |(name, known): (&String, Option<Type>)| {
        let texts = first.text(name)?;
        let there: Vec<&String> = texts.iter().filter(|t| !is_missing(t)).collect();
        let all = |test: fn(&str) -> bool| there.iter().all(|t| test(t));
        let kind = known.unwrap_or(match () {
            () if there.is_empty() => Type::Text,
            () if all(|t| t.parse::<i64>().is_ok()) => Type::Integer,
            () if all(|t| t.parse().is_ok_and(f64::is_finite)) => Type::F64,
            () => Type::Text,
        });
        Ok(Column::new(name, kind).with_gaps())
    };
    names.iter().zip(types).map(kind).collect()
}

/// The copied columns of a table whose first row is row `first` of the file.
pub fn copies(path: &Path, kept: &[Column], table: &Table, first: usize) -> Result<Vec<(Column, Copied)>> {
    let one = |column: &Column| {
        let texts = table.text(&column.name)?;
        let wrong = |(row, text): (usize, &String)| {
            let why = format!(
                "takes column `{}` of {} for numbers, and row {} (from 0) is `{text}`; correct the entry, or give a file \
                 with types, such as Parquet",
                column.name,
                path.display(),
                first + row
            );
            Error::flag("--keep", why)
        };
        let bad =
            |test: fn(&str) -> bool| texts.iter().enumerate().find(|(_, t)| !is_missing(t) && !test(t)).map(wrong);
        let copied = match column.kind {
            Type::F64 | Type::F32 => {
                if let Some(e) = bad(|t| t.parse::<f64>().is_ok()) {
                    return Err(e);
                }
                Copied::Numbers(texts.iter().map(|t| t.parse().unwrap_or(f64::NAN)).collect())
            }
            Type::Integer => {
                if let Some(e) = bad(|t| t.parse::<i64>().is_ok()) {
                    return Err(e);
                }
                let whole = |t: &String| if is_missing(t) { String::new() } else { t.clone() };
                Copied::Text(texts.iter().map(whole).collect())
            }
            _ => Copied::Text(texts.to_vec()),
        };
        Ok((column.clone(), copied))
    };
    kept.iter().map(one).collect()
}
