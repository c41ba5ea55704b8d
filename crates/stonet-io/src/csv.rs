//! Tables as delimited text: a header line of names, then rows of numbers and of text.

use std::path::Path;

use ndarray::Array2;

use crate::header::Header;
use crate::{Error, Reading, Result, Row, Rows, Table};

/// Reads the chosen columns of a whole file; the text is parsed as it comes and only what was asked for is held.
pub(crate) fn read(path: &Path, reading: &Reading) -> Result<Table> {
    let mut rows = Rows::open(path)?;
    let first = rows.advance()?.ok_or_else(|| Error::Empty { path: path.into() })?;
    // Before the rows are read: a file may be long.
    let header = Header::new(path, names(&first, path)?)?;
    let chosen = reading.choose(&header)?;
    let (mut count, mut values, mut texts) = (0, Vec::new(), vec![Vec::new(); chosen.text.len()]);
    while let Some(row) = rows.advance()? {
        row.numbers(&chosen.numbers, &header.names, &mut values)?;
        for (&cell, texts) in chosen.text.iter().zip(&mut texts) {
            texts.push(row.word(cell, &header.names[cell])?.to_owned());
        }
        count += 1;
    }
    if count == 0 {
        return Err(Error::HeaderOnly { path: path.into(), columns: header.names.len() });
    }
    values.shrink_to_fit();
    let name = |&cell: &usize| header.names[cell].clone();
    let names: Vec<String> = chosen.numbers.iter().map(name).collect();
    let values = Array2::from_shape_vec((count, names.len()), values).expect("every row has a number for every name");
    let texts = chosen.text.iter().map(name).zip(texts).collect();
    Ok(Table::new(path, names, values)?.with_texts(texts))
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
    Ok(header.cells().enumerate().map(name).collect())
}
