//! Delimited text row by row: the delimiter found from the first line, cells as text or as numbers, errors by line.

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use crate::open::{BUFFER, Origin, Source, open};
use crate::{Error, Result};

const BOM: &[u8] = b"\xef\xbb\xbf";
/// What may stand between cells; where two occur equally often, the earlier one.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
/// Bytes of the first line that are looked at.
const FIRST_LINE: u64 = 1 << 20;
/// What people write for a value that is not there.
const MISSING: [&str; 9] = ["", "?", ".", "na", "n/a", "nan", "null", "none", "missing"];
/// Characters of a cell that a message shows.
const SHOWN: usize = 40;

/// The rows of a file, plain or compressed; all as long as the first one.
///
/// Text in UTF-8 with or without a byte-order mark, lines ending in LF or CRLF, cells with or without quotes and surrounding blanks,
/// separated by `,`, `;` or tab, whichever is most frequent in the first line. Blank lines are skipped.
pub struct Rows {
    reader: Reader<Box<dyn Read + Send>>,
    record: StringRecord,
    origin: Origin,
    crlf: bool,
    width: Option<usize>,
}

impl Rows {
    /// Opens a file and looks at its first line.
    pub fn open(path: &Path) -> Result<Self> {
        let Source { mut bytes, origin } = open(path)?;
        let mut first = Vec::new();
        (&mut bytes).take(FIRST_LINE).read_until(b'\n', &mut first).map_err(|e| origin.failed("line 0", e))?;
        if first.starts_with(BOM) {
            first.drain(..BOM.len());
        }
        let (delimiter, crlf) = (delimiter(&first), first.ends_with(b"\r\n"));
        // A last line break, so that the reader's count of them means the same for every row.
        let last: &[u8] = if crlf { b"\r\n" } else { b"\n" };
        let text: Box<dyn Read + Send> = Box::new(Cursor::new(first).chain(bytes).chain(last));
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true) // lengths are checked here, for the message
            .delimiter(delimiter)
            .buffer_capacity(BUFFER)
            .from_reader(text);
        Ok(Rows { reader, record: StringRecord::new(), origin, crlf, width: None })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    /// The next row, or `None` at the end of the file.
    pub fn advance(&mut self) -> Result<Option<Row<'_>>> {
        let read = self.reader.read_record(&mut self.record);
        let line = self.line();
        if !read.map_err(|e| self.failed(e, line))? {
            return Ok(None);
        }
        let (path, cells) = (self.origin.path.as_path(), &self.record);
        let expected = *self.width.get_or_insert(cells.len());
        if cells.len() != expected {
            return Err(Error::Ragged { path: path.into(), line, expected, found: cells.len() });
        }
        Ok(Some(Row { path, line, cells }))
    }

    /// The line that was read last. The reader stands behind LF, but between CR and LF.
    fn line(&self) -> u64 {
        self.reader.position().line() - u64::from(!self.crlf)
    }

    fn failed(&self, error: ::csv::Error, line: u64) -> Error {
        match error.into_kind() {
            ErrorKind::Io(source) => self.origin.failed(format_args!("line {line}"), source),
            // The only other failure of a flexible reader.
            _ => Error::NotText { path: self.origin.path.clone(), line },
        }
    }
}

/// One row of a file.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    path: &'a Path,
    line: u64,
    cells: &'a StringRecord,
}

impl<'a> Row<'a> {
    /// The line it ends on, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The cells, without quotes and surrounding blanks.
    pub fn cells(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.cells.iter().map(str::trim_ascii)
    }

    /// Number of cells.
    pub fn width(&self) -> usize {
        self.cells.len()
    }

    /// The text of one cell.
    ///
    /// # Panics
    /// If the row has no such cell; all rows are as long as the first.
    pub fn text(&self, cell: usize) -> &'a str {
        self.cells[cell].trim_ascii()
    }

    /// The finite number in one cell; `column` is its name in the message if there is none.
    ///
    /// # Panics
    /// As [`text`](Self::text).
    pub fn number(&self, cell: usize, column: &str) -> Result<f64> {
        number(self.text(cell)).ok_or_else(|| self.bad_cell(self.text(cell), column))
    }

    /// Reads these cells as numbers onto the end of `values`; `names` are those of all cells, for the messages.
    pub(crate) fn numbers(&self, cells: &[usize], names: &[String], values: &mut Vec<f64>) -> Result<()> {
        for &cell in cells {
            values.push(self.number(cell, &names[cell])?);
        }
        Ok(())
    }

    /// The text of one cell, which must not be empty.
    pub(crate) fn word(&self, cell: usize, column: &str) -> Result<&'a str> {
        match self.text(cell) {
            "" => Err(self.bad_cell("", column)),
            text => Ok(text),
        }
    }

    fn bad_cell(&self, text: &str, column: &str) -> Error {
        let (path, line, column) = (self.path.to_owned(), self.line, column.to_owned());
        let shown = if text.chars().count() > SHOWN {
            text.chars().take(SHOWN).chain(['…']).collect()
        } else {
            text.to_owned()
        };
        // NaN with a sign is no word for a missing value, but means one.
        if is_missing(text) || text.parse().is_ok_and(f64::is_nan) {
            return Error::MissingValue { path, line, column, text: shown };
        }
        if text.parse::<f64>().is_ok() {
            return Error::InfiniteValue { path, line, column, text: shown };
        }
        let remedy = match text.contains(',') && number(&text.replace(',', ".")).is_some() {
            true => "write a point for the decimal comma",
            false => "code it as numbers, or exclude the column",
        };
        Error::NotANumber { path, line, column, text: shown, remedy }
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Whether a text says that a value is not there: nothing at all, `?`, `NA`, `NaN`, `null` and the like, in upper or lower case.
pub fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|m| m.eq_ignore_ascii_case(text))
}

/// The delimiter that occurs most often outside quotes.
fn delimiter(line: &[u8]) -> u8 {
    let (mut counts, mut quoted) = ([0usize; DELIMITERS.len()], false);
    for &byte in line {
        quoted ^= byte == b'"';
        if let Some(i) = DELIMITERS.iter().position(|&d| d == byte && !quoted) {
            counts[i] += 1;
        }
    }
    // The last of equal maxima is taken, so the order is turned round.
    (0..DELIMITERS.len()).rev().max_by_key(|&i| counts[i]).map_or(b',', |i| DELIMITERS[i])
}
