//! Tables as delimited text: a header line of names, then rows of numbers and of text.

use std::collections::BTreeSet;
use std::path::Path;

use crate::header::Header;
use crate::pieces::{Opened, Piece, Pieces};
use crate::reading::{Ask, Chosen};
use crate::{Error, Place, Problem, Result, Row, Rows};

/// Bytes of rows that are handed over at once.
const CHUNK: u64 = 1 << 25;
/// Rows behind one with a word in the place of a number that are looked at for other columns of text.
const LOOK: usize = 1000;

/// Text that is parsed as it comes; only what was asked for is held.
struct Text {
    rows: Rows,
    names: Vec<String>,
    chosen: Chosen,
}

/// Reads the header; the rows come later.
pub(crate) fn open(path: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let mut rows = Rows::open(path)?;
    let first = rows.advance()?.ok_or_else(|| Problem::Empty.of(path))?;
    let mut header = Header::new(path, names(&first, path)?)?;
    if first.width() > 1 && first.text(0).is_empty() && first.cells().skip(1).all(|name| !name.is_empty()) {
        // Row names: pandas and R write nothing above them.
        header.row_numbers.push(0);
    }
    let chosen = ask.choose(&header)?;
    let text = Text { rows, names: header.names.clone(), chosen: chosen.clone() };
    Ok(Opened::new(&header, &chosen, Box::new(text)))
}

impl Pieces for Text {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let row_bytes = 8 * (self.chosen.numbers.len() + 3 * self.chosen.text.len()) as u64;
        let mut bytes = 0;
        for count in 0..most {
            if bytes > CHUNK {
                return Ok(count);
            }
            let Some(row) = self.rows.advance()? else { return Ok(count) };
            let Chosen { numbers, text, gaps, .. } = &self.chosen;
            if let Err(e) = row.numbers(numbers, &self.names, &gaps.numbers, &mut piece.columns) {
                let words = row.words(numbers).collect();
                return Err(self.text_columns(e, words));
            }
            let before = piece.characters;
            for ((&cell, &gap), texts) in text.iter().zip(&gaps.text).zip(&mut piece.texts) {
                let word = row.word(cell, &self.names[cell], gap)?;
                piece.characters += word.len() as u64;
                texts.push(word.to_owned());
            }
            bytes += row_bytes + piece.characters - before;
            piece.rows += 1;
        }
        Ok(most)
    }
}

impl Text {
    /// An error about one cell that is no number, or about all columns of text where this and the next rows show
    /// several.
    fn text_columns(&mut self, error: Error, mut found: BTreeSet<usize>) -> Error {
        let Error::File(file) = &error else { return error };
        if found.is_empty() || !matches!(file.problem, Problem::NotANumber { .. }) {
            return error;
        }
        let path = file.path.clone();
        for _ in 0..LOOK {
            let Ok(Some(row)) = self.rows.advance() else { break };
            found.extend(row.words(&self.chosen.numbers));
        }
        if found.len() < 2 {
            return error;
        }
        Problem::TextColumns { columns: found.into_iter().map(|i| self.names[i].clone()).collect() }.of(path)
    }
}

/// The names of a header; a column without one is called by its place.
fn names(header: &Row<'_>, path: &Path) -> Result<Vec<String>> {
    let numbers_only = header.cells().all(|text| text.parse::<f64>().is_ok());
    // 0, 1, 2 … is what pandas writes above an array without names.
    let counts_up = header.cells().enumerate().all(|(i, text)| text.parse() == Ok(i));
    if numbers_only && !counts_up {
        return Err(Problem::NoHeader.at(path, Place::Line(1)));
    }
    let name = |(i, text): (usize, &str)| if text.is_empty() { format!("column{}", i + 1) } else { text.to_owned() };
    Ok(header.cells().enumerate().map(name).collect())
}
