//! Errors about files: the place, what was found there, and the remedy.

use std::path::{Path, PathBuf};

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is wrong with a file.
    #[error(transparent)]
    File(Box<FileError>),
    /// A name that two files side by side both have.
    #[error("{path} and {other} both have a column `{name}`; rename it in one of them", path = path.display(), other = other.display())]
    SameColumn {
        /// The file with the fault.
        path: PathBuf,
        /// The file before it.
        other: PathBuf,
        /// The name in question.
        name: String,
    },
    /// Files side by side with different numbers of rows.
    #[error("{path} has {found} rows, where {first} has {expected}; give files with the same rows in the same order", path = path.display(), first = first.display())]
    OtherRows {
        /// The file that ends early or goes on.
        path: PathBuf,
        /// Its rows, or those read so far and one more.
        found: u64,
        /// The first file.
        first: PathBuf,
        /// Its rows, or those read so far.
        expected: u64,
    },
    /// A file that cannot be written, or not to its end.
    #[error("{}", unwritable(path, source))]
    Unwritable {
        /// The file with the fault.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A setting that cannot be used, or that this head has no use for.
    #[error("{setting} {why}")]
    Refused {
        /// The setting.
        setting: &'static str,
        /// Why it is refused.
        why: std::borrow::Cow<'static, str>,
    },
    /// A head, or rows, that a monitor cannot take.
    #[error("{why}")]
    Unwatched {
        /// Why.
        why: &'static str,
    },
    /// Stopped on request.
    #[error("{0}; no output was written")]
    Cancelled(#[from] stonet::base::Cancelled),
    /// A model that cannot be saved.
    #[error("the model cannot be saved: {why}")]
    Unsound {
        /// What is wrong with it.
        why: String,
    },
    /// A standard deviation of the network that is none.
    #[error("{path}: row {row} (from 0) of column `{column}` is {value}, and a standard deviation is positive; correct or remove the row", path = path.display())]
    NotPositive {
        /// The rows.
        path: PathBuf,
        /// Row, from 0.
        row: usize,
        /// The column.
        column: String,
        /// What stands there.
        value: f64,
    },
    /// A network's outputs for a head that needs its own uncertainty.
    #[error(
        "the head needs the network's own {what}, and which of a network's outputs they are is not known; write the network's outputs to a table with the columns of the fit, and predict from that"
    )]
    OwnOutputs {
        /// What the head needs.
        what: &'static str,
    },
    /// The data set refused.
    #[error(transparent)]
    Core(#[from] stonet::Error),
}

/// What is wrong with a file, and where in it.
#[derive(Debug, thiserror::Error)]
#[error("{path}{place}: {problem}", path = path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// Where in it.
    pub place: Place,
    /// What is wrong there, and the remedy.
    pub problem: Problem,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line of text, counted from 1 with the header, as an editor shows it.
    Line(u64),
    /// A cell of a text file: its line, and the name of its column.
    Cell(u64, String),
    /// A row, counted from 0.
    Row(u64),
    /// An entry of a file without lines: its row, counted from 0, and the name of its column.
    Entry(u64, String),
    /// A column.
    Column(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Cell(line, column) => write!(f, ", line {line}, column `{column}`"),
            Place::Row(row) => write!(f, ", row {row} (from 0)"),
            Place::Entry(row, column) => write!(f, ", row {row} (from 0), column `{column}`"),
            Place::Column(column) => write!(f, ", column `{column}`"),
        }
    }
}

/// What can be wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A file that holds no rule of answers.
    #[error("is no rule of answers: {why}; make one by `stonet control`")]
    NotARule {
        /// What is wrong with it.
        why: String,
    },
    /// No file of that name.
    #[error("there is no such file; check the name and the directory")]
    NoFile,
    /// A file that the system does not let us read.
    #[error("cannot be read: {source}")]
    Unreadable {
        /// What the system said.
        source: std::io::Error,
    },
    /// A name whose ending announces no format that can be read.
    #[error("not a format that can be read; there are {known}")]
    UnknownFormat {
        /// The formats there are.
        known: &'static str,
    },
    /// A folder without files that can be read as one table.
    #[error(
        "there is no Parquet file in this folder; it is read as the files in it that end in .parquet or .pq, but those whose names begin with _ or ."
    )]
    NoParquet,
    /// Compressed data that stop early or are damaged.
    #[error("the compressed data break off or are damaged after {after} ({source}); fetch or compress the file again")]
    BrokenGzip {
        /// The last line or byte that could be read, such as `line 7`; 0 if none.
        after: String,
        /// What the decoder said.
        source: std::io::Error,
    },
    /// Bytes that are not UTF-8.
    #[error("not UTF-8 text; save the table as plain CSV in UTF-8")]
    NotText,
    /// Nothing in the file.
    #[error("the file is empty; it needs a header line with the column names and at least one row")]
    Empty,
    /// A header and no rows.
    #[error("there are {columns} column names and no rows; add rows below the header")]
    HeaderOnly {
        /// Names in the header.
        columns: usize,
    },
    /// A first line of numbers.
    #[error("the first line holds numbers only; put a header line with the column names above it")]
    NoHeader,
    /// A name that stands twice in the header.
    #[error("columns {first} and {second} are both called `{name}`; rename one of them")]
    DuplicateColumn {
        /// The name in question.
        name: String,
        /// Column of its first use, from 1.
        first: usize,
        /// Column of its second use, from 1.
        second: usize,
    },
    /// A row longer or shorter than the first line.
    #[error(
        "{found} cells, where the first line has {expected}; complete the row, or put quotes around cells that contain the delimiter"
    )]
    Ragged {
        /// Cells of the first line.
        expected: usize,
        /// Cells of this one.
        found: usize,
    },
    /// A cell without a value, or with NaN.
    #[error("missing value (`{text}`); fill it in, or remove the row or the column")]
    MissingValue {
        /// What stands in the cell.
        text: String,
    },
    /// A cell with an infinity, or with a number beyond the range of f64.
    #[error(
        "infinite value (`{text}`); if it is the logarithm of a probability, clip probabilities away from 0 before taking logarithms, such as at 1e-12; otherwise remove the row or the column"
    )]
    InfiniteValue {
        /// What stands in the cell.
        text: String,
    },
    /// A cell with something else than a number.
    #[error("`{text}` is not a number; {remedy}")]
    NotANumber {
        /// What stands in the cell, shortened.
        text: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A column that is not there.
    #[error("there is no column `{name}`; there are {known}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// Several columns that are not there.
    #[error("{count} columns are missing: {missing}; add or rename them")]
    MissingColumns {
        /// The number of them.
        count: usize,
        /// Their names, each with the nearest one there is.
        missing: String,
    },
    /// A column that was not read as text.
    #[error("no column `{name}` was read as text; read as text were: {known}")]
    NoText {
        /// The name asked for.
        name: String,
        /// The columns of text there are.
        known: String,
    },
    /// A pattern without a match.
    #[error("no column matches `{pattern}`; there are {known}")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// Targets and exclusions that leave no inputs.
    #[error(
        "no input columns are left once targets and excluded columns are taken away; choose other inputs, or exclude less"
    )]
    NoInputs,
    /// A column to keep that is called as one of the predictions.
    #[error("`{name}` is to be kept, and one of the columns of predictions is called so too; rename it in the rows")]
    KeptOutput {
        /// The name in question.
        name: String,
    },
    /// Further columns of a head that are not inputs of the network in front of it.
    #[error("{why}; run the network first, and score a table with its features and the further columns")]
    NotInputs {
        /// What does not fit.
        why: String,
    },
    /// A file of which no column is wanted.
    #[error("none of its columns is used; choose other columns, or leave the file out; there are {known}")]
    NothingChosen {
        /// The names there are.
        known: String,
    },
    /// No target was named.
    #[error("no target column was named; there are {known}")]
    NoTarget {
        /// The names there are.
        known: String,
    },
    /// A file that does not begin as an idx file does.
    #[error(
        "not an idx file: it begins with the bytes {found:02x?}, where 00 00, a type from 08 to 0e and the number of dimensions have to stand; fetch the file again"
    )]
    NotIdx {
        /// Its first four bytes.
        found: Vec<u8>,
    },
    /// An idx header with an empty dimension, or with more values than any memory holds.
    #[error(
        "the header announces an array of {shape:?} values, which is empty or cannot be held; fetch the file again"
    )]
    IdxShape {
        /// The sizes in the header.
        shape: Vec<usize>,
    },
    /// An idx file that ends before its last value.
    #[error(
        "the file ends after {found} bytes, in the middle of the array that its header announces; fetch the file again"
    )]
    IdxShort {
        /// Bytes there are, decompressed.
        found: u64,
    },
    /// An idx file that goes on behind its last value.
    #[error("the file goes on behind the {expected} bytes that its header announces; fetch the file again")]
    IdxLong {
        /// Bytes there should be, decompressed.
        expected: u64,
    },
    /// An idx array of several dimensions in the place of labels.
    #[error("labels are an array of one dimension, and this one has {dimensions}; name the file with the labels")]
    IdxNotLabels {
        /// Dimensions there are.
        dimensions: usize,
    },
    /// A value that numbers no class.
    #[error("{value} is no label; labels are whole numbers from 0")]
    IdxLabel {
        /// What stands there.
        value: f64,
    },
    /// Bytes that are not what the file's ending announces.
    #[error("not a readable {format} file: {why}; check the ending of the name, or fetch or write the file again")]
    Damaged {
        /// What its ending announces.
        format: &'static str,
        /// The fault.
        why: String,
    },
    /// A sound file with something in it that is not read.
    #[error("{what} not supported; {remedy}")]
    Unsupported {
        /// Subject and verb: what is in it.
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An array that the file does not have.
    #[error("there is no array `{member}` in the file; there are {known}")]
    NoMember {
        /// The name asked for.
        member: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// Several arrays, and none named.
    #[error("the file holds several arrays; name one behind a colon, such as {first}; there are {known}")]
    SeveralMembers {
        /// The file and one of them, as they are written.
        first: String,
        /// The names there are.
        known: String,
    },
    /// A table that does not fit into memory, or that unfolds from a small file.
    #[error(
        "the first {rows} rows take more than {limit} MiB, which is all that may be kept of one table here; choose fewer columns or fewer rows"
    )]
    TooLarge {
        /// Rows so far.
        rows: u64,
        /// Mebibytes that a table may take.
        limit: u64,
    },
    /// A row of text that does not end.
    #[error(
        "the row that begins here is longer than {limit} MiB; close the quotation mark that joins lines into one row, or save the table as Parquet"
    )]
    LongRow {
        /// Mebibytes that a row may have.
        limit: u64,
    },
    /// A row with more cells than a table may have columns.
    #[error(
        "{found} cells, and a table has at most {most} columns; check the delimiter, or save the table as an array (.npy) or with lists in Parquet"
    )]
    WideRow {
        /// Cells there are.
        found: usize,
        /// Columns that a table may have.
        most: usize,
    },
    /// A file to write that is one of those read.
    #[error("writing it would replace {input}, which this command reads; choose another name for the output", input = input.display())]
    OutputIsInput {
        /// The file that is read.
        input: PathBuf,
    },
    /// Rows of which none is complete.
    #[error("no row is left after dropping {dropped}; fill in values, or leave out the columns that lack them")]
    NothingComplete {
        /// What was dropped.
        dropped: crate::Dropped,
    },
    /// Several columns of text where numbers are read.
    #[error("{count} columns hold text and not numbers: {names}; code them as numbers, or leave them out", count = columns.len(), names = crate::pattern::list(columns.iter().map(String::as_str)))]
    TextColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// A null or NaN in a file without lines.
    #[error("missing value; fill it in, or remove the row or the column")]
    MissingEntry,
    /// An infinity in a file without lines.
    #[error(
        "infinite value; if it is the logarithm of a probability, clip probabilities away from 0 before taking logarithms, such as at 1e-12; otherwise remove the row or the column"
    )]
    InfiniteEntry,
    /// A list that is longer or shorter than the first.
    #[error(
        "a list of {found} numbers, where the first row has {expected}; make the lists equally long, or leave the column out"
    )]
    ListLength {
        /// Numbers in the first row.
        expected: usize,
        /// Numbers in this one.
        found: usize,
    },
    /// A column of another type than numbers or text.
    #[error("{kind} cannot be read as {wanted}; {remedy}")]
    ColumnType {
        /// The type of the column.
        kind: String,
        /// `numbers` or `text`.
        wanted: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A name whose ending announces no format that can be written.
    #[error("not a format that can be written; there are {known}")]
    UnknownOutput {
        /// The formats there are.
        known: &'static str,
    },
    /// Text for a file of numbers.
    #[error(
        "an npy file holds floating-point numbers only, and column `{column}` is text or integers; write .csv, .parquet or .arrow"
    )]
    NumbersOnly {
        /// The column.
        column: String,
    },
    /// A section of a model file that only later programs understand.
    #[error(
        "a model file with a section `{section}`, which stonet {needs} or later reads; this is {here}: update it, or fit the model again"
    )]
    NewerSection {
        /// A section that a reader has to understand.
        section: String,
        /// The first version of the program that reads it.
        needs: String,
        /// The version of this program.
        here: &'static str,
    },
    /// A model file that a later program wrote.
    #[error(
        "a model file of format version {found}, which stonet {needs} or later reads; this is {here}, which reads versions up to {known}: update it, or fit the model again"
    )]
    NewerModel {
        /// Its format version.
        found: u64,
        /// The first program that reads it, as the file says.
        needs: String,
        /// The version of this program.
        here: &'static str,
        /// The latest format version that this program reads.
        known: u64,
    },
    /// A file that was read twice and was not the same.
    #[error(
        "there were {first} rows at first, and {second} when they were read again; fit on files that are not modified"
    )]
    Changed {
        /// Rows of the first reading.
        first: u64,
        /// Rows of the second.
        second: u64,
    },
}

impl Problem {
    /// The error that says so of a whole file.
    pub fn of(self, path: impl Into<PathBuf>) -> Error {
        self.at(path, Place::Whole)
    }

    /// The error that says so of a place in a file.
    pub fn at(self, path: impl Into<PathBuf>, place: Place) -> Error {
        Error::File(Box::new(FileError { path: path.into(), place, problem: self }))
    }
}

impl Error {
    /// What is wrong with a file, where that is the cause.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::File(error) => Some(&error.problem),
            _ => None,
        }
    }

    /// The place in a file, where something is wrong with one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Error::File(error) => Some(&error.place),
            _ => None,
        }
    }

    /// The same error about a row of a file, where it is about a row of a batch that follows so many others.
    pub(crate) fn after_rows(self, rows: usize) -> Self {
        match self {
            Error::Core(error) => Error::Core(error.after_rows(rows)),
            Error::File(mut error) => {
                if let Place::Entry(row, _) = &mut error.place {
                    *row += rows as u64;
                }
                Error::File(error)
            }
            Error::NotPositive { path, row, column, value } => {
                Error::NotPositive { path, row: row + rows, column, value }
            }
            error => error,
        }
    }
}

/// What is on standard output already cannot be taken back.
fn unwritable(path: &Path, source: &std::io::Error) -> String {
    match path == Path::new("-") {
        true => format!("standard output: cannot be written: {source}"),
        false => format!("{}: cannot be written: {source}; nothing was left under that name", path.display()),
    }
}
