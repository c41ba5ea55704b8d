//! What can go wrong in an experiment of the paper, with the file and the remedy.

use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A comparison, a journal, a file, or the mathematics.
    #[error(transparent)]
    Compare(#[from] stonet_compare::Error),
    /// A file of data with another number of columns than its name promises.
    #[error("{path}: {found} columns, where {layout} has {expected}; is it another file of that name?", path = path.display())]
    Columns {
        /// The file with the fault.
        path: PathBuf,
        /// The layout that was expected.
        layout: String,
        /// Its columns.
        expected: usize,
        /// The columns there are.
        found: usize,
    },
    /// A cell of a raw file that its description does not allow.
    #[error("{path}, line {line}, column `{column}`: `{text}` is not {expected}; fetch the file again, or correct the cell", path = path.display())]
    Cell {
        /// The file with the fault.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands there.
        text: String,
        /// What may stand there.
        expected: String,
    },
    /// A workbook, which has to be exported first.
    #[error("{path}: workbooks are not read; save its first sheet as {wanted} in the same directory", path = path.display())]
    Workbook {
        /// The file with the fault.
        path: PathBuf,
        /// The name of the export.
        wanted: &'static str,
    },
    /// A folder without any of the files that were looked for.
    #[error("{dir}: no file of {sets}; name the folder with the data by --data", dir = dir.display())]
    NoData {
        /// The folder.
        dir: PathBuf,
        /// The sets.
        sets: String,
    },
}

impl Error {
    /// A number out of its range.
    pub(crate) fn range(name: &'static str, range: &'static str) -> Self {
        stonet_compare::Error::Range { name, range }.into()
    }

    /// A model or a setting that the experiment does not have.
    pub(crate) fn unknown(what: &'static str, name: String, known: String) -> Self {
        stonet_compare::Error::Unknown { what, name, known }.into()
    }
}

impl From<stonet::Error> for Error {
    fn from(e: stonet::Error) -> Self {
        Error::Compare(e.into())
    }
}

impl From<stonet_io::Error> for Error {
    fn from(e: stonet_io::Error) -> Self {
        Error::Compare(e.into())
    }
}

impl From<stonet::base::Cancelled> for Error {
    fn from(e: stonet::base::Cancelled) -> Self {
        Error::Compare(e.into())
    }
}
