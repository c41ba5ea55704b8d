//! Arrays without names as tables: the first dimension counts rows, the others lie in a line as columns `c0`, `c1`, ….

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::element::Element;
use crate::header::Header;
use crate::location::damaged;
use crate::pieces::{Opened, Piece, Pieces, check_finite};
use crate::reading::{Ask, Chosen};
use crate::{Error, Place, Problem, Result};

/// Columns that a table may have: far more than features, and few enough to give each a name.
const MOST_COLUMNS: usize = 1 << 20;
/// Bytes that are read at once, unless one row is longer.
const CHUNK: usize = 1 << 20;

/// What a header says about an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) element: Element,
    /// The first index runs fastest.
    pub(crate) fortran: bool,
}

impl Layout {
    /// Bytes of all values; `None` beyond 2^63.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let values = self.shape.iter().try_fold(1u64, |product, &d| product.checked_mul(d as u64))?;
        values.checked_mul(self.element.bytes() as u64).filter(|&b| b <= i64::MAX as u64)
    }
}

/// Where values are read from.
pub(crate) enum Values {
    /// From the first to the last.
    Stream(Box<dyn Read + Send>),
    /// At any place, counted from the first value.
    Random(Box<dyn ReadSeek>),
}

/// What can be read at any place.
pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// An array of which rows are read in turn.
struct Array {
    path: PathBuf,
    format: &'static str,
    layout: Layout,
    values: Values,
    width: usize,
    chosen: Chosen,
    names: Vec<String>,
    /// Of the columns of text.
    text_names: Vec<String>,
    /// The next row.
    row: usize,
    raw: Vec<u8>,
}

/// Chooses columns of an array whose bytes have been checked against the length of the file.
pub(crate) fn open(path: &Path, format: &'static str, layout: Layout, values: Values, ask: &Ask<'_>) -> Result<Opened> {
    let Some((_, trailing)) = layout.shape.split_first() else {
        return Err(damaged(path, format, "the array has no dimensions"));
    };
    let width = trailing.iter().try_fold(1usize, |product, &d| product.checked_mul(d));
    let width = match width {
        Some(width @ 1..=MOST_COLUMNS) => width,
        _ => return Err(damaged(path, format, format_args!("a row of shape {trailing:?} is no row of a table"))),
    };
    let header = Header::new(path, ask.array_names(width))?;
    let chosen = ask.choose(&header)?;
    if let (true, Some(&column)) = (layout.element.is_text(), chosen.numbers.first()) {
        return Err(Problem::ColumnType {
            kind: "an array of words".into(),
            wanted: "numbers",
            remedy: "name the column as one of text, or leave it out",
        }
        .at(path, Place::Column(header.names[column].clone())));
    }
    let [names, text_names] =
        [&chosen.numbers, &chosen.text].map(|columns| columns.iter().map(|&c| header.names[c].clone()).collect());
    let (path, raw) = (path.to_owned(), Vec::new());
    let array = Array { path, format, layout, values, width, chosen: chosen.clone(), names, text_names, row: 0, raw };
    Ok(Opened::new(&header, &chosen, Box::new(array)))
}

impl Pieces for Array {
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let size = self.layout.element.bytes();
        let per_row = match &self.values {
            Values::Stream(_) => size * self.width,
            // One column after the other, so that a piece of many rows costs few jumps.
            Values::Random(_) => size,
        };
        let rows = most.min(self.layout.shape[0] - self.row).min((CHUNK / per_row).max(1));
        if rows == 0 {
            return Ok(0);
        }
        let start = piece.rows;
        match self.values {
            Values::Stream(_) => self.rows_in_line(rows, piece),
            Values::Random(_) => self.rows_across(rows, piece),
        }
        .map_err(|e| self.failed(e))??;
        let new = piece.columns.iter().map(|c| &c[start..]);
        check_finite(&self.path, new, self.row as u64, &self.names, &self.chosen.gaps.numbers)?;
        self.row += rows;
        piece.rows += rows;
        if let (true, Values::Stream(stream)) = (self.row == self.layout.shape[0], &mut self.values) {
            // Compressed data end with their checksum, which is looked at only by whoever asks for more.
            let more = stream.read(&mut [0]).map_err(|e| self.failed(e))?;
            if more > 0 {
                return Err(damaged(&self.path, self.format, "it goes on behind its last value"));
            }
        }
        Ok(rows)
    }

    fn rows(&self) -> Option<u64> {
        Some(self.layout.shape[0] as u64)
    }

    fn row_shape(&self) -> Option<&[usize]> {
        Some(&self.layout.shape[1..])
    }
}

impl Array {
    /// Reads rows that stand one behind the other.
    fn rows_in_line(&mut self, rows: usize, piece: &mut Piece) -> io::Result<Result<()>> {
        let (element, width) = (self.layout.element, self.width);
        let Values::Stream(stream) = &mut self.values else { return Ok(Ok(())) };
        self.raw.resize(rows * width * element.bytes(), 0);
        stream.read_exact(&mut self.raw)?;
        element.order(&mut self.raw);
        for (&column, to) in self.chosen.numbers.iter().zip(&mut piece.columns) {
            element.numbers(&self.raw, width, column, to);
        }
        for (place, (&column, texts)) in self.chosen.text.iter().zip(&mut piece.texts).enumerate() {
            for (i, row) in self.raw.chunks_exact(width * element.bytes()).enumerate() {
                match text(element, &row[column * element.bytes()..][..element.bytes()]) {
                    Some(text) => texts.push(text),
                    None if self.chosen.gaps.text[place] => texts.push(String::new()),
                    None => return Ok(Err(self.missing(i, place))),
                }
            }
        }
        Ok(Ok(()))
    }

    /// Reads rows whose columns stand one behind the other.
    fn rows_across(&mut self, rows: usize, piece: &mut Piece) -> io::Result<Result<()>> {
        for (i, to) in piece.columns.iter_mut().enumerate() {
            self.read_column(self.chosen.numbers[i], rows)?;
            self.layout.element.numbers(&self.raw, 1, 0, to);
        }
        for i in 0..self.chosen.text.len() {
            self.read_column(self.chosen.text[i], rows)?;
            let element = self.layout.element;
            for (row, raw) in self.raw.chunks_exact(element.bytes()).enumerate() {
                match text(element, raw) {
                    Some(text) => piece.texts[i].push(text),
                    None if self.chosen.gaps.text[i] => piece.texts[i].push(String::new()),
                    None => return Ok(Err(self.missing(row, i))),
                }
            }
        }
        Ok(Ok(()))
    }

    fn read_column(&mut self, column: usize, rows: usize) -> io::Result<()> {
        let Values::Random(values) = &mut self.values else { return Ok(()) };
        let size = self.layout.element.bytes();
        // The same column when the first of the trailing dimensions runs fastest.
        let (mut rest, mut place, mut stride) = (column, 0, self.width);
        for &d in self.layout.shape[1..].iter().rev() {
            stride /= d;
            place += rest % d * stride;
            rest /= d;
        }
        let value = place as u64 * self.layout.shape[0] as u64 + self.row as u64;
        values.seek(SeekFrom::Start(value * size as u64))?;
        self.raw.resize(rows * size, 0);
        values.read_exact(&mut self.raw)?;
        self.layout.element.order(&mut self.raw);
        Ok(())
    }

    /// The entry in this row of the piece and in the column of text with this place.
    fn missing(&self, row: usize, place: usize) -> Error {
        let column = self.text_names[place].clone();
        Problem::MissingEntry.at(self.path.clone(), Place::Entry((self.row + row) as u64, column))
    }

    fn failed(&self, source: io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match source.kind() {
            UnexpectedEof | InvalidData | InvalidInput => {
                damaged(&self.path, self.format, format_args!("the values break off or are damaged ({source})"))
            }
            _ => Problem::Unreadable { source }.of(self.path.clone()),
        }
    }
}

fn text(element: Element, raw: &[u8]) -> Option<String> {
    element.text(raw).filter(|t| !t.is_empty())
}
