//! Tables as delimited text: a header line of names, then rows of numbers and of text.

use std::path::Path;

use crate::header::Header;
use crate::pieces::{Opened, Piece, Pieces};
use crate::reading::{Ask, Chosen};
use crate::{Error, Result, Row, Rows};

/// Text that is parsed as it comes; only what was asked for is held.
struct Text {
    rows: Rows,
    names: Vec<String>,
    chosen: Chosen,
}

/// Reads the header; the rows come later.
pub(crate) fn open(path: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let mut rows = Rows::open(path)?;
    let first = rows.advance()?.ok_or_else(|| Error::Empty { path: path.into() })?;
    let header = Header::new(path, names(&first, path)?)?;
    let chosen = ask.choose(&header)?;
    let text = Text { rows, names: header.names.clone(), chosen: chosen.clone() };
    Ok(Opened::new(&header, &chosen, Box::new(text)))
}

impl Pieces for Text {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        for count in 0..most {
            let Some(row) = self.rows.advance()? else { return Ok(count) };
            row.numbers(&self.chosen.numbers, &self.names, &mut piece.values)?;
            for (&cell, texts) in self.chosen.text.iter().zip(&mut piece.texts) {
                texts.push(row.word(cell, &self.names[cell])?.to_owned());
            }
            piece.rows += 1;
        }
        Ok(most)
    }
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
