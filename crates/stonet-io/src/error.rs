//! What can be wrong with a file: the place, what stands there, and the remedy.

use std::path::{Path, PathBuf};

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
    /// A folder without files that can be read as one table.
    #[error("{path}: there is no Parquet file in this folder; it is read as the files in it that end in .parquet or .pq, but those whose names begin with _ or .", path = path.display())]
    NoParquet {
        /// The folder.
        path: PathBuf,
    },
    /// Compressed data that stop early or are damaged.
    #[error("{path}: the compressed data break off or are damaged after {after} ({source}); fetch or compress the file again", path = path.display())]
    BrokenGzip {
        /// The file.
        path: PathBuf,
        /// The last line or byte that could be read, such as `line 7`; 0 if none.
        after: String,
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
    /// A cell without a value, or with NaN.
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
    /// A cell with an infinity, or with a number beyond the range of f64.
    #[error("{path}, line {line}, column `{column}`: infinite value (`{text}`); if it is the logarithm of a probability, clip probabilities away from 0 before taking logarithms, such as at 1e-12; otherwise remove the row or the column", path = path.display())]
    InfiniteValue {
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
    /// Several columns that are not there.
    #[error("{path}: {count} columns are missing: {missing}; add or rename them", path = path.display())]
    MissingColumns {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
        /// Their names, each with the nearest one there is.
        missing: String,
    },
    /// A column that was not read as text.
    #[error("{path}: no column `{name}` was read as text; read as text were: {known}", path = path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// The columns of text there are.
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
    /// A column to keep that is called as one of the predictions.
    #[error("{path}: `{name}` is to be kept, and one of the columns of predictions is called so too; rename it in the rows", path = path.display())]
    KeptOutput {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A file of which no column is wanted.
    #[error("{path}: none of its columns is used; choose other columns, or leave the file out; there are {known}", path = path.display())]
    NothingChosen {
        /// The file.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// A name that two files side by side both have.
    #[error("{path} and {other} both have a column `{name}`; rename it in one of them", path = path.display(), other = other.display())]
    SameColumn {
        /// The file.
        path: PathBuf,
        /// The file before it.
        other: PathBuf,
        /// The name.
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
    /// No target was named.
    #[error("{path}: no target column was named; there are {known}", path = path.display())]
    NoTarget {
        /// The file.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// A file that does not begin as an idx file does.
    #[error("{path}: not an idx file: it begins with the bytes {found:02x?}, where 00 00, a type from 08 to 0e and the number of dimensions have to stand; fetch the file again", path = path.display())]
    NotIdx {
        /// The file.
        path: PathBuf,
        /// Its first four bytes.
        found: Vec<u8>,
    },
    /// An idx header with an empty dimension, or with more values than any memory holds.
    #[error("{path}: the header announces an array of {shape:?} values, which is empty or cannot be held; fetch the file again", path = path.display())]
    IdxShape {
        /// The file.
        path: PathBuf,
        /// The sizes in the header.
        shape: Vec<usize>,
    },
    /// An idx file that ends before its last value.
    #[error("{path}: the file ends after {found} bytes, in the middle of the array that its header announces; fetch the file again", path = path.display())]
    IdxShort {
        /// The file.
        path: PathBuf,
        /// Bytes there are, decompressed.
        found: u64,
    },
    /// An idx file that goes on behind its last value.
    #[error("{path}: the file goes on behind the {expected} bytes that its header announces; fetch the file again", path = path.display())]
    IdxLong {
        /// The file.
        path: PathBuf,
        /// Bytes there should be, decompressed.
        expected: u64,
    },
    /// An idx array of several dimensions in the place of labels.
    #[error("{path}: labels are an array of one dimension, and this one has {dimensions}; name the file with the labels", path = path.display())]
    IdxNotLabels {
        /// The file.
        path: PathBuf,
        /// Dimensions there are.
        dimensions: usize,
    },
    /// A value that numbers no class.
    #[error("{path}, row {row} (from 0): {value} is no label; labels are whole numbers from 0", path = path.display())]
    IdxLabel {
        /// The file.
        path: PathBuf,
        /// Row, from 0.
        row: usize,
        /// What stands there.
        value: f64,
    },
    /// Bytes that are not what the file's ending announces.
    #[error("{path}: not a readable {format} file: {why}; check the ending of the name, or fetch or write the file again", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What its ending announces.
        format: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A sound file with something in it that is not read.
    #[error("{path}: {what} not supported; {remedy}", path = path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Subject and verb: what is in it.
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An array that the file does not have.
    #[error("{path}: there is no array `{member}` in the file; there are {known}", path = path.display())]
    NoMember {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        member: String,
        /// The names there are, nearest first.
        known: String,
    },
    /// Several arrays, and none named.
    #[error("{path}: the file holds several arrays; name one behind a colon, such as {path}:{first}; there are {known}", path = path.display())]
    SeveralMembers {
        /// The file.
        path: PathBuf,
        /// One of them.
        first: String,
        /// The names there are.
        known: String,
    },
    /// A table that does not fit into memory, or that unfolds from a small file.
    #[error("{path}: the first {rows} rows take more than {limit} MiB, which is all that may be kept of one table here; choose fewer columns or fewer rows", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Rows so far.
        rows: u64,
        /// Mebibytes that a table may take.
        limit: u64,
    },
    /// A row of text that does not end.
    #[error("{path}, line {line}: the row that begins here is longer than {limit} MiB; close the quotation mark that joins lines into one row, or save the table as Parquet", path = path.display())]
    LongRow {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
        /// Mebibytes that a row may have.
        limit: u64,
    },
    /// A row with more cells than a table may have columns.
    #[error("{path}, line {line}: {found} cells, and a table has at most {most} columns; check the delimiter, or save the table as an array (.npy) or with lists in Parquet", path = path.display())]
    WideRow {
        /// The file.
        path: PathBuf,
        /// Line.
        line: u64,
        /// Cells there are.
        found: usize,
        /// Columns that a table may have.
        most: usize,
    },
    /// A file to write that is one of those read.
    #[error("{path}: writing it would replace {input}, which this command reads; choose another name for the output", path = path.display(), input = input.display())]
    OutputIsInput {
        /// The file to write.
        path: PathBuf,
        /// The file that is read.
        input: PathBuf,
    },
    /// Rows of which none is complete.
    #[error("{path}: no row is left after dropping {dropped}; fill in values, or leave out the columns that lack them", path = path.display())]
    NothingComplete {
        /// The file.
        path: PathBuf,
        /// What was dropped.
        dropped: crate::Dropped,
    },
    /// Several columns of text where numbers are read.
    #[error("{path}: {count} columns hold text and not numbers: {names}; code them as numbers, or leave them out", path = path.display(), count = columns.len(), names = crate::pattern::list(columns.iter().map(String::as_str)))]
    TextColumns {
        /// The file.
        path: PathBuf,
        /// Their names.
        columns: Vec<String>,
    },
    /// A null or NaN in a file without lines.
    #[error("{path}, row {row} (from 0), column `{column}`: missing value; fill it in, or remove the row or the column", path = path.display())]
    MissingEntry {
        /// The file.
        path: PathBuf,
        /// Row, from 0.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// An infinity in a file without lines.
    #[error("{path}, row {row} (from 0), column `{column}`: infinite value; if it is the logarithm of a probability, clip probabilities away from 0 before taking logarithms, such as at 1e-12; otherwise remove the row or the column", path = path.display())]
    InfiniteEntry {
        /// The file.
        path: PathBuf,
        /// Row, from 0.
        row: u64,
        /// The column's name.
        column: String,
    },
    /// A list that is longer or shorter than the first.
    #[error("{path}, row {row} (from 0), column `{column}`: a list of {found} numbers, where the first row has {expected}; make the lists equally long, or leave the column out", path = path.display())]
    ListLength {
        /// The file.
        path: PathBuf,
        /// Row, from 0.
        row: u64,
        /// The column's name.
        column: String,
        /// Numbers in the first row.
        expected: usize,
        /// Numbers in this one.
        found: usize,
    },
    /// A column of another type than numbers or text.
    #[error("{path}, column `{column}`: {kind} cannot be read as {wanted}; {remedy}", path = path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// Its type.
        kind: String,
        /// `numbers` or `text`.
        wanted: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A name whose ending announces no format that can be written.
    #[error("{path}: not a format that can be written; there are {known}", path = path.display())]
    UnknownOutput {
        /// The file.
        path: PathBuf,
        /// The formats there are.
        known: &'static str,
    },
    /// A file that cannot be written, or not to its end.
    #[error("{}", unwritable(path, source))]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Text for a file of numbers.
    #[error("{path}: an npy file holds floating-point numbers only, and column `{column}` is text or integers; write .csv, .parquet or .arrow", path = path.display())]
    NumbersOnly {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A section of a model file that only later programs understand.
    #[error("{path}: a model file with a section `{section}`, which stonet {needs} or later reads; this is {here}: update it, or fit the model again", path = path.display())]
    NewerSection {
        /// The file.
        path: PathBuf,
        /// A section that a reader has to understand.
        section: String,
        /// The first version of the program that reads it.
        needs: String,
        /// The version of this program.
        here: &'static str,
    },
    /// A setting that cannot be used, or that this head has no use for.
    #[error("{setting} {why}")]
    Refused {
        /// The setting.
        setting: &'static str,
        /// Why it is refused.
        why: std::borrow::Cow<'static, str>,
    },
    /// A model file that a later program wrote.
    #[error("{path}: a model file of format version {found}, which stonet {needs} or later reads; this is {here}, which reads versions up to {known}: update it, or fit the model again", path = path.display())]
    NewerModel {
        /// The file.
        path: PathBuf,
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
    #[error("{path}: there were {first} rows at first, and {second} when they were read again; fit on files that nobody writes to", path = path.display())]
    Changed {
        /// The file or folder.
        path: PathBuf,
        /// Rows of the first reading.
        first: u64,
        /// Rows of the second.
        second: u64,
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
    /// The data set refused.
    #[error(transparent)]
    Core(#[from] stonet::Error),
}

impl Error {
    /// The same error about a row of a file, where it is about a row of a batch that follows so many others.
    pub(crate) fn after_rows(self, rows: usize) -> Self {
        match self {
            Error::Core(error) => Error::Core(error.after_rows(rows)),
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
