//! Rows of a file in pieces, whatever its format, and the whole table put together from them.

use std::path::{Path, PathBuf};

use ndarray::Array2;

use crate::header::Header;
use crate::reading::Chosen;
use crate::{Error, Result, Table};

/// Rows per call while a whole file is read.
const ROWS: usize = 1 << 16;
/// A table may be as large as this whatever the size of its file, …
const FREE: u64 = 1 << 30;
/// … and beyond that take as many bytes for each byte of the file: gzip and deflate reach 1032, a cell and its delimiter become 8.
const RATIO: u64 = 4128;

/// Rows that were read: numbers in the order of rows, text in columns.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) rows: usize,
    pub(crate) values: Vec<f64>,
    pub(crate) texts: Vec<Vec<String>>,
}

/// An open file from which rows come in their order.
pub(crate) trait Pieces: Send {
    /// Appends the next rows, at most `most` of them; returns how many, which is 0 only at the end of the file.
    fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize>;

    /// How many rows there are in all, if the file tells.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// The axes of a row, if the file is an array.
    fn row_shape(&self) -> Option<&[usize]> {
        None
    }
}

/// An open file with the columns chosen from it.
pub(crate) struct Opened {
    pub(crate) source: PathBuf,
    /// All columns of the file.
    pub(crate) header: Vec<String>,
    pub(crate) numbers: Vec<String>,
    pub(crate) texts: Vec<String>,
    pieces: Box<dyn Pieces>,
    read: u64,
}

impl Opened {
    pub(crate) fn new(header: &Header, chosen: &Chosen, pieces: Box<dyn Pieces>) -> Self {
        let names = |columns: &[usize]| columns.iter().map(|&i| header.names[i].clone()).collect();
        Opened {
            source: header.source.clone(),
            header: header.names.clone(),
            numbers: names(&chosen.numbers),
            texts: names(&chosen.text),
            pieces,
            read: 0,
        }
    }

    /// The same without a header: the columns that are read, by name.
    pub(crate) fn of(
        source: PathBuf,
        header: Vec<String>,
        numbers: Vec<String>,
        texts: Vec<String>,
        pieces: Box<dyn Pieces>,
    ) -> Self {
        Opened { source, header, numbers, texts, pieces, read: 0 }
    }

    pub(crate) fn source(&self) -> &Path {
        &self.source
    }

    pub(crate) fn rows(&self) -> Option<u64> {
        self.pieces.rows()
    }

    pub(crate) fn row_shape(&self) -> Option<&[usize]> {
        self.pieces.row_shape()
    }

    /// Appends the next rows as [`Pieces::fill`] does.
    #[cfg(feature = "parquet")]
    pub(crate) fn fill(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        self.pieces.fill(most, piece)
    }

    /// All rows that are left, of so many bytes in files. Memory grows with what comes, and a small file that pretends to be a huge table is refused.
    pub(crate) fn all(mut self, file: u64) -> Result<Table> {
        let limit = file.saturating_mul(RATIO).max(FREE);
        let row = 8 * (self.numbers.len() + 3 * self.texts.len()) as u64;
        let mut piece = self.empty();
        while self.pieces.fill(ROWS, &mut piece)? > 0 {
            let needed = (piece.rows as u64).saturating_mul(row);
            if needed > limit {
                return Err(Error::TooLarge { path: self.source, file, rows: piece.rows });
            }
        }
        if piece.rows == 0 {
            return Err(self.no_rows());
        }
        piece.values.shrink_to_fit();
        self.table(piece)
    }

    /// The next `most` rows, fewer only at the end of the file; `None` behind it. A file without rows is an error.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Table>> {
        let mut piece = self.empty();
        while piece.rows < most && self.pieces.fill(most - piece.rows, &mut piece)? > 0 {}
        self.read += piece.rows as u64;
        match piece.rows {
            0 if self.read == 0 => Err(self.no_rows()),
            0 => Ok(None),
            _ => self.table(piece).map(Some),
        }
    }

    fn empty(&self) -> Piece {
        Piece { texts: vec![Vec::new(); self.texts.len()], ..Piece::default() }
    }

    fn no_rows(&self) -> Error {
        Error::HeaderOnly { path: self.source.clone(), columns: self.header.len() }
    }

    fn table(&self, piece: Piece) -> Result<Table> {
        let Piece { rows, values, texts } = piece;
        let values = Array2::from_shape_vec((rows, self.numbers.len()), values).expect("a number for every name");
        let texts = self.texts.iter().cloned().zip(texts).collect();
        Ok(Table::new(&self.source, self.numbers.clone(), values)?.with_texts(texts))
    }
}

/// Fails where one of the numbers from `start` on is not finite; the first of them stands in row `row`, and `columns` names them.
pub(crate) fn check_finite(path: &Path, values: &[f64], row: u64, columns: &[String]) -> Result<()> {
    // The usual case in whole vectors: 0 · v is 0 for a finite v and NaN otherwise. The search is for the message.
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    chunks.iter().for_each(|c| (0..8).for_each(|i| sums[i] += 0.0 * c[i]));
    if sums.iter().chain(rest.iter()).map(|v| 0.0 * v).sum::<f64>() == 0.0 {
        return Ok(());
    }
    let Some(place) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let (row, column) = (row + (place / columns.len()) as u64, columns[place % columns.len()].clone());
    let path = path.to_owned();
    Err(match values[place].is_nan() {
        true => Error::MissingEntry { path, row, column },
        false => Error::InfiniteEntry { path, row, column },
    })
}
