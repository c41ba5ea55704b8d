//! Rows of a file in pieces, whatever its format, and the whole table put together from them.

use std::path::{Path, PathBuf};

use crate::header::Header;
use crate::missing::{Dropping, Whole};
use crate::reading::Chosen;
use crate::{Error, Place, Problem, Result, Table, memory};

/// Rows per call while a whole file is read.
const ROWS: usize = 1 << 16;
/// A table may be as large as this whatever the size of its file, …
const FREE: u64 = 1 << 30;
/// … and beyond that take as many bytes for each byte of the file: gzip and deflate reach 1032, a cell and its
/// delimiter become 8.
const RATIO: u64 = 4128;
/// Bytes of a batch, unless one row has more.
const BATCH: u64 = 1 << 28;
/// Bytes of a text beside its characters.
const TEXT: u64 = 24;

/// Rows that a column has room for from the start.
const ROOM: usize = 1 << 12;

/// Rows that were read, in columns.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<f64>>,
    pub(crate) texts: Vec<Vec<String>>,
    /// Characters of all texts, as far as a format counts them.
    pub(crate) characters: u64,
}

impl Piece {
    /// No rows yet of these columns of numbers and so many of text.
    pub(crate) fn new(columns: Vec<Vec<f64>>, texts: usize) -> Self {
        Piece { columns, texts: vec![Vec::new(); texts], ..Piece::default() }
    }
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
    /// Row numbers that nobody named.
    pub(crate) left_out: Vec<String>,
    pieces: Box<dyn Pieces>,
    /// Columns whose gaps leave out a row.
    whole: Option<Whole>,
    read: u64,
    /// Bytes that a table may take, once rows are read.
    limit: Option<u64>,
}

impl Opened {
    pub(crate) fn new(header: &Header, chosen: &Chosen, pieces: Box<dyn Pieces>) -> Self {
        let names = |columns: &[usize]| columns.iter().map(|&i| header.names[i].clone()).collect();
        Opened {
            source: header.source.clone(),
            header: header.names.clone(),
            numbers: names(&chosen.numbers),
            texts: names(&chosen.text),
            left_out: names(&chosen.left_out),
            pieces,
            whole: None,
            read: 0,
            limit: None,
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
        let left_out = Vec::new();
        Opened { source, header, numbers, texts, left_out, pieces, whole: None, read: 0, limit: None }
    }

    /// Leaves out rows with missing values from now on, but for those of columns that may have them.
    pub(crate) fn drop_missing(&mut self, gaps: &[String]) {
        self.whole = Some(Whole::new(&self.numbers, &self.texts, gaps));
    }

    /// The count of rows left out for missing values.
    pub(crate) fn dropping(&self) -> Dropping {
        self.whole.as_ref().map(|w| w.dropping.clone()).unwrap_or_default()
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

    /// All rows that are left, of so many bytes in files. Memory grows with what comes, and a small file that pretends
    /// to be a huge table is refused, as is one that does not fit into memory.
    pub(crate) fn all(mut self, file: u64) -> Result<Table> {
        self.limit = Some(memory::limit().min(file.saturating_mul(RATIO).max(FREE)));
        let mut piece = self.empty(0);
        while self.more(ROWS, &mut piece)? > 0 {}
        if piece.rows == 0 {
            return Err(self.no_rows());
        }
        piece.columns.iter_mut().for_each(Vec::shrink_to_fit);
        let dropped = self.dropping().so_far();
        Ok(self.table(piece)?.with_notes(self.left_out, dropped))
    }

    /// The next `most` rows, fewer only where rows are very wide and at the end of the file; `None` behind it. A file
    /// without rows is an error.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Table>> {
        let most = most.min(usize::try_from(BATCH / self.row_bytes()).unwrap_or(most)).max(1);
        let mut piece = self.empty(most.min(ROOM));
        while piece.rows < most && self.more(most - piece.rows, &mut piece)? > 0 {}
        self.read += piece.rows as u64;
        match piece.rows {
            0 if self.read == 0 => Err(self.no_rows()),
            0 => Ok(None),
            _ => self.table(piece).map(Some),
        }
    }

    /// Bytes of a row in memory, without the characters of its texts.
    pub(crate) fn row_bytes(&self) -> u64 {
        (8 * self.numbers.len() as u64 + TEXT * self.texts.len() as u64).max(1)
    }

    /// Appends rows as [`Pieces::fill`] does, complete ones if that was asked for; fails where the piece grows beyond
    /// the limit.
    fn more(&mut self, most: usize, piece: &mut Piece) -> Result<usize> {
        let first = piece.rows;
        let count = self.pieces.fill(most, piece)?;
        if let Some(whole) = &self.whole {
            let Piece { rows, columns, texts, .. } = piece;
            *rows = whole.filter((first, *rows), columns, texts);
        }
        let rows = piece.rows as u64;
        let needed = rows.saturating_mul(self.row_bytes()).saturating_add(piece.characters);
        let limit = *self.limit.get_or_insert_with(memory::limit);
        memory::check(&self.source, rows, needed, limit)?;
        Ok(count)
    }

    fn empty(&self, room: usize) -> Piece {
        Piece::new((0..self.numbers.len()).map(|_| Vec::with_capacity(room)).collect(), self.texts.len())
    }

    fn no_rows(&self) -> Error {
        let dropped = self.dropping().so_far();
        if dropped.rows > 0 {
            return Problem::NothingComplete { dropped }.of(self.source.clone());
        }
        Problem::HeaderOnly { columns: self.header.len() }.of(self.source.clone())
    }

    fn table(&self, piece: Piece) -> Result<Table> {
        let Piece { rows, columns, texts, .. } = piece;
        let texts = self.texts.iter().cloned().zip(texts).collect();
        Ok(Table::of_columns(&self.source, self.numbers.clone(), columns, rows)?.with_texts(texts))
    }
}

/// Fails where one of the numbers is infinite, or missing in a column without gaps: at the first such row, and there at
/// the first such column. The first row of these columns has the number `row`; `names` and `gaps` have one entry per
/// column.
pub(crate) fn check_finite<'c>(
    path: &Path,
    columns: impl Iterator<Item = &'c [f64]>,
    row: u64,
    names: &[String],
    gaps: &[bool],
) -> Result<()> {
    let bad = columns.enumerate().filter(|(_, values)| !all_finite(values)).filter_map(|(k, values)| {
        let allowed = |v: f64| v.is_finite() || (v.is_nan() && gaps[k]);
        values.iter().position(|&v| !allowed(v)).map(|row| (row, k, values[row]))
    });
    let Some((place, k, value)) = bad.min_by_key(|&(row, k, _)| (row, k)) else { return Ok(()) };
    let (path, row, column) = (path.to_owned(), row + place as u64, names[k].clone());
    Err(match value.is_nan() {
        true => Problem::MissingEntry.at(path, Place::Entry(row, column)),
        false => Problem::InfiniteEntry.at(path, Place::Entry(row, column)),
    })
}

/// Whether all numbers are finite, in whole vectors: 0 · v is 0 for a finite v and NaN otherwise.
fn all_finite(values: &[f64]) -> bool {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    chunks.iter().for_each(|c| (0..8).for_each(|i| sums[i] += 0.0 * c[i]));
    sums.iter().chain(rest).map(|v| 0.0 * v).sum::<f64>() == 0.0
}
