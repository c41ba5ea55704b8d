//! Tables written row by row in the format that the file's name announces; a file appears whole or not at all.

mod claim;
#[cfg(feature = "parquet")]
pub(crate) mod columnar;
mod npy;
mod temporary;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use ndarray::ArrayView1;

use crate::header::Header;
use crate::{Error, Place, Problem, Result};
pub use claim::Claim;
pub(crate) use temporary::Temporary;
pub use temporary::{discard_unfinished_files, write_whole};

/// What can be written, for messages.
const FORMATS: &str = ".csv and .csv.gz, .parquet, .arrow, .feather and .ipc, .npy, and - for CSV to standard output";

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Numbers in full.
    F64,
    /// Numbers of half the size and about seven digits.
    F32,
    /// Words.
    Text,
    /// Whole numbers of up to 64 bits, written down as [`Cells::Text`] so that none is rounded.
    Integer,
    /// `true` and `false`, as [`Cells::Text`].
    Boolean,
    /// Days such as `2024-02-29`, as [`Cells::Text`].
    Date,
    /// Times without a time zone, to the microsecond, such as `2024-02-29T12:30:00`, as [`Cells::Text`].
    Datetime,
}

impl Type {
    /// Whether its cells come as text.
    pub(crate) fn as_text(self) -> bool {
        !matches!(self, Type::F64 | Type::F32)
    }
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The type of the column.
    pub kind: Type,
    /// Whether values may be missing: NaN and empty text are written as such, in Parquet and Arrow files as null.
    pub gaps: bool,
}

impl Column {
    /// A column of this name and type, without missing values.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Column { name: name.into(), kind, gaps: false }
    }

    /// The same, in which values may be missing.
    pub fn with_gaps(self) -> Self {
        Column { gaps: true, ..self }
    }
}

/// Some rows of one column.
#[derive(Debug, Clone, Copy)]
pub enum Cells<'a> {
    /// For [`Type::F64`] and [`Type::F32`].
    Numbers(ArrayView1<'a, f64>),
    /// For all other types.
    Text(&'a [String]),
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Cells::Numbers(v) => v.len(),
            Cells::Text(t) => t.len(),
        }
    }
}

/// What a format makes of checked rows.
trait Format: Send {
    /// Writes rows: one entry per column, all of the same length and of the column's type.
    fn rows(&mut self, cells: &[Cells<'_>]) -> io::Result<()>;

    /// Writes what stands behind the last row, and hands everything to the system.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A table that is being written, to a temporary file until [`finish`](Self::finish); without that nothing is left of
/// it.
///
/// The ending chooses the format: `.csv`, `.csv.gz`, `.parquet`, `.arrow`, `.feather`, `.ipc` or `.npy` (numbers only;
/// 32 bits if all columns have them); `-` is CSV to standard output, which of course cannot be taken back.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("out.csv");
/// use stonet_io::{Cells, Column, Type, Writer};
/// let columns = vec![Column::new("prediction", Type::F64), Column::new("class", Type::Text)];
/// let mut writer = Writer::create(&path, columns)?; // out.csv
/// writer.write(&[Cells::Numbers(ndarray::aview1(&[0.1, 2.0])), Cells::Text(&["cat".into(), "dog".into()])])?;
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "prediction,class\n0.1,cat\n2,dog\n");
/// # Ok(())
/// # }
/// ```
pub struct Writer {
    path: PathBuf,
    columns: Vec<Column>,
    format: Box<dyn Format>,
    /// None for standard output. Dropped after the format has closed its file.
    temporary: Option<Temporary>,
    rows: u64,
}

impl Writer {
    /// Begins a file with these columns, whose names have to be distinct.
    pub fn create(path: &Path, columns: Vec<Column>) -> Result<Self> {
        Header::new(path, columns.iter().map(|c| c.name.clone()).collect())?;
        if columns.is_empty() {
            let what = format!("{}: columns to write", path.display());
            return Err(stonet::Error::Shape { what, expected: 1, found: 0 }.into());
        }
        let unwritable = |source| Error::Unwritable { path: path.into(), source };
        let (temporary, format) = if path == Path::new("-") {
            (None, text::open(io::stdout(), &columns, false).map_err(unwritable)?)
        } else {
            let open = opener(path, &columns)?;
            let (temporary, file) = Temporary::create(path).map_err(unwritable)?;
            let format = open(file, &columns).map_err(unwritable)?;
            (Some(temporary), format)
        };
        Ok(Writer { path: path.into(), columns, format, temporary, rows: 0 })
    }

    /// Appends rows, given by columns in the order of [`create`](Self::create).
    pub fn write(&mut self, cells: &[Cells<'_>]) -> Result<()> {
        let shape = |what: String, expected, found| Err(stonet::Error::Shape { what, expected, found }.into());
        if cells.len() != self.columns.len() {
            return shape(format!("{}: columns to write", self.path.display()), self.columns.len(), cells.len());
        }
        let rows = cells[0].len();
        for (column, cells) in self.columns.iter().zip(cells) {
            if cells.len() != rows {
                return shape(format!("{}: rows of `{}`", self.path.display(), column.name), rows, cells.len());
            }
            let as_text = column.kind.as_text();
            if as_text != matches!(cells, Cells::Text(_)) {
                return Err(Problem::ColumnType {
                    kind: if as_text { "numbers".into() } else { "text".into() },
                    wanted: if as_text { "text" } else { "numbers" },
                    remedy: "write what the column was created for",
                }
                .at(self.path.clone(), Place::Column(column.name.clone())));
            }
        }
        self.rows += rows as u64;
        self.format.rows(cells).map_err(|source| Error::Unwritable { path: self.path.clone(), source })
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> Result<()> {
        let Writer { path, format, temporary, .. } = self;
        let finished = format.finish().and_then(|()| temporary.map_or(Ok(()), Temporary::keep));
        finished.map_err(|source| Error::Unwritable { path, source })
    }
}

type Opener = fn(std::fs::File, &[Column]) -> io::Result<Box<dyn Format>>;

/// The format that a name announces.
fn opener(path: &Path, columns: &[Column]) -> Result<Opener> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if name.ends_with(".csv.gz") {
        return Ok(|file, columns| text::open(file, columns, true));
    }
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => Ok(|file, columns| text::open(file, columns, false)),
        Some("npy") => match columns.iter().find(|c| c.kind.as_text()) {
            Some(column) => Err(Problem::NumbersOnly { column: column.name.clone() }.of(path)),
            None => Ok(npy::open),
        },
        #[cfg(feature = "parquet")]
        Some("parquet" | "pq") => Ok(columnar::parquet),
        #[cfg(feature = "parquet")]
        Some("arrow" | "feather" | "ipc") => Ok(columnar::ipc),
        _ => Err(Problem::UnknownOutput { known: FORMATS }.of(path)),
    }
}
