//! Delimited text row by row: the delimiter found from the first line, cells as text or as numbers, errors by line.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use crate::open::{BUFFER, Origin, Source, open};
use crate::{Error, Place, Problem, Result};

const BOM: &[u8] = b"\xef\xbb\xbf";
/// What may stand between cells; where two occur equally often, the earlier one.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
/// Bytes of the first line that are looked at.
const FIRST_LINE: u64 = 1 << 20;
/// What people write for a value that is not there.
const MISSING: [&str; 9] = ["", "?", ".", "na", "n/a", "nan", "null", "none", "missing"];
/// Characters of a cell that a message shows.
const SHOWN: usize = 40;
/// Bytes of a row: a million columns of 16 characters each.
const LONGEST: u64 = 1 << 24;
/// Cells of a row.
const MOST_COLUMNS: usize = 1 << 20;

/// The rows of a file, plain or compressed; all as long as the first one.
///
/// Text in UTF-8 with or without a byte-order mark, lines ending in LF or CRLF, cells with or without quotes and
/// surrounding blanks, separated by `,`, `;` or tab, whichever is most frequent in the first line. Blank lines are
/// skipped.
///
/// A row has at most 16 MiB and 1,048,576 cells, so that a file with an endless line or an open quotation mark does not
/// fill the memory.
pub struct Rows {
    reader: Reader<Limited>,
    /// Bytes that may still be read for the row.
    left: Arc<AtomicU64>,
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
        let left = Arc::new(AtomicU64::new(0));
        let text = Limited { bytes: Box::new(Cursor::new(first).chain(bytes).chain(last)), left: left.clone() };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true) // lengths are checked here, for the message
            .delimiter(delimiter)
            .buffer_capacity(BUFFER)
            .from_reader(text);
        Ok(Rows { reader, left, record: StringRecord::new(), origin, crlf, width: None })
    }

    /// The file that is read.
    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    /// The next row, or `None` at the end of the file.
    pub fn advance(&mut self) -> Result<Option<Row<'_>>> {
        let next = if self.width.is_none() { 1 } else { self.line() + 1 };
        // What is in the buffer already is not read again.
        self.left.store(LONGEST + BUFFER as u64, Ordering::Relaxed);
        let read = self.reader.read_record(&mut self.record);
        let line = self.line();
        if self.left.load(Ordering::Relaxed) == 0 && !matches!(read, Ok(true)) {
            return Err(Problem::LongRow { limit: LONGEST >> 20 }.at(self.origin.path.clone(), Place::Line(next)));
        }
        if !read.map_err(|e| self.failed(e, line))? {
            return Ok(None);
        }
        if self.record.len() > MOST_COLUMNS {
            let (path, found) = (self.origin.path.clone(), self.record.len());
            return Err(Problem::WideRow { found, most: MOST_COLUMNS }.at(path, Place::Line(line)));
        }
        let (path, cells) = (self.origin.path.as_path(), &self.record);
        let expected = *self.width.get_or_insert(cells.len());
        if cells.len() != expected {
            return Err(Problem::Ragged { expected, found: cells.len() }.at(path, Place::Line(line)));
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
            _ => Problem::NotText.at(self.origin.path.clone(), Place::Line(line)),
        }
    }
}

/// Bytes up to a limit, which is set anew for every row.
struct Limited {
    bytes: Box<dyn Read + Send>,
    left: Arc<AtomicU64>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other("the row is too long"));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.bytes.read(&mut buffer[..most])?;
        self.left.store(left - count as u64, Ordering::Relaxed);
        Ok(count)
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

    /// The finite number in one cell, where true is 1 and false is 0; `column` is its name in the message if there is
    /// none.
    ///
    /// # Panics
    /// As [`text`](Self::text).
    pub fn number(&self, cell: usize, column: &str) -> Result<f64> {
        number(self.text(cell)).ok_or_else(|| self.bad_cell(self.text(cell), column))
    }

    /// Reads these cells as numbers, each onto the end of its column; `names` are those of all cells, for the messages.
    /// Where there may be gaps, a missing number is NaN.
    pub(crate) fn numbers(
        &self,
        cells: &[usize],
        names: &[String],
        gaps: &[bool],
        columns: &mut [Vec<f64>],
    ) -> Result<()> {
        for ((&cell, &gap), column) in cells.iter().zip(gaps).zip(columns) {
            column.push(match number(self.text(cell)) {
                Some(value) => value,
                None if gap && says_missing(self.text(cell)) => f64::NAN,
                None => return Err(self.bad_cell(self.text(cell), &names[cell])),
            });
        }
        Ok(())
    }

    /// Which of these cells hold words: neither numbers nor missing values, nor numbers written with commas.
    pub(crate) fn words(&self, cells: &[usize]) -> impl Iterator<Item = usize> {
        let word = |text: &str| text.parse::<f64>().is_err() && number(text).is_none() && !says_missing(text);
        cells.iter().copied().filter(move |&cell| word(self.text(cell)) && comma(self.text(cell)).is_none())
    }

    /// The text of one cell, which must not be empty unless there may be gaps.
    pub(crate) fn word(&self, cell: usize, column: &str, gap: bool) -> Result<&'a str> {
        match self.text(cell) {
            "" if !gap => Err(self.bad_cell("", column)),
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
        if says_missing(text) {
            return Problem::MissingValue { text: shown }.at(path, Place::Cell(line, column));
        }
        if text.parse::<f64>().is_ok() {
            return Problem::InfiniteValue { text: shown }.at(path, Place::Cell(line, column));
        }
        let remedy = match comma(text) {
            Some(Comma::Thousands) => {
                "remove the thousands separator, or write a point if the comma is a decimal comma"
            }
            Some(Comma::Decimal) => "write a point for the decimal comma",
            None => "code it as numbers, or exclude the column",
        };
        Problem::NotANumber { text: shown, remedy }.at(path, Place::Cell(line, column))
    }
}

fn number(text: &str) -> Option<f64> {
    match text.parse::<f64>() {
        Ok(value) => Some(value).filter(|v| v.is_finite()),
        Err(_) if text.eq_ignore_ascii_case("true") => Some(1.0),
        Err(_) if text.eq_ignore_ascii_case("false") => Some(0.0),
        Err(_) => None,
    }
}

/// What commas in a number stand for.
enum Comma {
    Thousands,
    Decimal,
}

/// What commas stand for where a text is a number but for them.
fn comma(text: &str) -> Option<Comma> {
    let (whole, groups) = text.split_once(',')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let first = whole.trim_start_matches(['+', '-']);
    // 1,000 and 12,345,678.5: up to three digits, then groups of three.
    let (groups, fraction) = groups.split_once('.').unwrap_or((groups, ""));
    let grouped = groups.split(',').all(|g| g.len() == 3 && digits(g)) && digits(fraction);
    if grouped && digits(first) && (1..=3).contains(&first.len()) && whole.len() - first.len() <= 1 {
        return Some(Comma::Thousands);
    }
    number(&text.replace(',', ".")).map(|_| Comma::Decimal)
}

/// Whether a text means that there is no number: a word for that, or NaN with a sign.
fn says_missing(text: &str) -> bool {
    is_missing(text) || text.parse().is_ok_and(f64::is_nan)
}

/// Whether a text says that a value is not there: nothing at all, `?`, `NA`, `NaN`, `null` and the like, in upper or
/// lower case.
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
