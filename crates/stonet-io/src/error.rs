//! What can be wrong with a file: the place, what stands there, and the remedy.

use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure. Lines count from 1, the header included, as an editor shows them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file of that name.
    #[error("{path}: there is no such file; check the name and the directory", path = path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// A file that the system does not let us read.
    #[error("{path}: cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A name whose ending announces no format that can be read.
    #[error("{path}: not a format that can be read; there are {known}", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The formats there are.
        known: &'static str,
    },
    /// Compressed data that stop early or are damaged.
    #[error("{path}: the compressed data break off or are damaged after line {line} ({source}); fetch or compress the file again", path = path.display())]
    BrokenGzip {
        /// The file.
        path: PathBuf,
        /// The last line that could be read; 0 if none.
        line: u64,
        /// What the decoder said.
        source: std::io::Error,
    },
    /// Bytes that are not UTF-8.
    #[error("{path}, line {line}: not UTF-8 text; save the table as plain CSV in UTF-8", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
    },
    /// Nothing in the file.
    #[error("{path}: the file is empty; it needs a header line with the column names and at least one row", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A header and no rows.
    #[error("{path}: there are {columns} column names and no rows; add rows below the header", path = path.display())]
    HeaderOnly {
        /// The file.
        path: PathBuf,
        /// Names in the header.
        columns: usize,
    },
    /// A first line of numbers.
    #[error("{path}, line 1: the first line holds numbers only; put a header line with the column names above it", path = path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// A name that stands twice in the header.
    #[error("{path}, line 1: columns {first} and {second} are both called `{name}`; rename one of them", path = path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// Column of its first use, from 1.
        first: usize,
        /// Column of its second use, from 1.
        second: usize,
    },
    /// A row longer or shorter than the first line.
    #[error("{path}, line {line}: {found} cells, where the first line has {expected}; complete the row, or put quotes around cells that contain the delimiter", path = path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
        /// Cells of the first line.
        expected: usize,
        /// Cells of this one.
        found: usize,
    },
    /// A cell without a value, or with NaN or an infinity.
    #[error("{path}, line {line}, column `{column}`: missing value (`{text}`); fill it in, or remove the row or the column", path = path.display())]
    MissingValue {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands in the cell.
        text: String,
    },
    /// A cell with something else than a number.
    #[error("{path}, line {line}, column `{column}`: `{text}` is not a number; {remedy}", path = path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands in the cell, shortened.
        text: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A column that is not there.
    #[error("{path}: there is no column `{name}`; there are {known}", path = path.display())]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// A pattern without a match.
    #[error("{path}: no column matches `{pattern}`; there are {known}", path = path.display())]
    NoMatch {
        /// The file.
        path: PathBuf,
        /// The pattern.
        pattern: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// Targets and exclusions that leave no inputs.
    #[error("{path}: no input columns are left once targets and excluded columns are taken away; choose other inputs, or exclude less", path = path.display())]
    NoInputs {
        /// The file.
        path: PathBuf,
    },
    /// No target was named.
    #[error("{path}: no target column was named; there are {known}", path = path.display())]
    NoTarget {
        /// The file.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// The data set refused.
    #[error(transparent)]
    Core(#[from] stonet::Error),
}
