//! Tables as delimited text: a header line of names, then rows of numbers.

use std::path::Path;

use ndarray::Array2;

use crate::{Error, Result, Row, Rows, Table};

/// Reads a whole file; the text is parsed as it comes and never held.
pub(crate) fn read(path: &Path) -> Result<Table> {
    let mut rows = Rows::open(path)?;
    let header = rows.advance()?.ok_or_else(|| Error::Empty { path: path.into() })?;
    let names = names(&header, path)?;
    let mut values = Vec::new();
    while let Some(row) = rows.advance()? {
        row.numbers(&names, &mut values)?;
    }
    let shape = (values.len() / names.len(), names.len());
    if shape.0 == 0 {
        return Err(Error::HeaderOnly { path: path.into(), columns: names.len() });
    }
    values.shrink_to_fit();
    let values = Array2::from_shape_vec(shape, values).expect("every row has a number for every name");
    Table::new(path, names, values)
}

/// The names of a header; a column without one is called by its place.
fn names(header: &Row<'_>, path: &Path) -> Result<Vec<String>> {
    let numbers_only = header.cells().all(|text| text.parse::<f64>().is_ok());
    // 0, 1, 2 … is what pandas writes above an array without names.
    let counts_up = header.cells().enumerate().all(|(i, text)| text.parse() == Ok(i));
    if numbers_only && !counts_up {
        return Err(Error::NoHeader { path: path.into() });
    }
    let name = |(i, text): (usize, &str)| if text.is_empty() { format!("column{}", i + 1) } else { text.to_owned() };
    let names: Vec<String> = header.cells().enumerate().map(name).collect();
    // Before the rows are read: a file may be long.
    Table::check_names(path, &names)?;
    Ok(names)
}
