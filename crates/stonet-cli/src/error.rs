//! What can go wrong in a command: the errors of the libraries, and those of flags and files that do not fit together.

use std::path::PathBuf;

/// The result of every fallible call of a command.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure; its text is what the user sees.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Core(#[from] stonet::Error),
    #[error(transparent)]
    File(#[from] stonet_io::Error),
    #[error(transparent)]
    Network(#[from] stonet_onnx::Error),
    #[error(transparent)]
    Experiment(#[from] stonet_repro::Error),
    /// Rows of a file that the mathematics refuses.
    #[error("{path}: {source}", path = path.display())]
    Rows { path: PathBuf, source: stonet::Error },
    /// A target that never changes.
    #[error("{path}: column `{column}` is {value} in every row, so there is nothing to predict; check that the right column was chosen as the target", path = path.display())]
    Constant { path: PathBuf, column: String, value: f64 },
    /// A row that belongs neither to the validation nor to the test part.
    #[error("{path}: row {row} (from 0) of column `{column}` is `{text}`; write 0 or `validation`, and 1 or `test`", path = path.display())]
    Part { path: PathBuf, row: usize, column: String, text: String },
    /// A part without rows.
    #[error("{path}: no row of column `{column}` is {part}; write 0 or `validation`, and 1 or `test`", path = path.display())]
    EmptyPart { path: PathBuf, column: String, part: &'static str },
    /// A flag that this task or model has no use for.
    #[error("{flag} {why}")]
    Flag { flag: &'static str, why: String },
    /// An output in a folder that is not there.
    #[error("{path}: cannot be written: there is no folder {folder}; create it, or choose another place", path = path.display(), folder = folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    /// An output that is a folder.
    #[error("{path}: cannot be written: it is a folder; choose the name of a file", path = path.display())]
    IsFolder { path: PathBuf },
    /// A file of settings that cannot be used.
    #[error("{path}: {why}; see the documentation for the settings there are", path = path.display())]
    Settings { path: PathBuf, why: String },
}

impl Error {
    /// A flag that does not fit.
    pub fn flag(flag: &'static str, why: impl Into<String>) -> Self {
        Error::Flag { flag, why: why.into() }
    }

    /// The class of the error, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Core(stonet::Error::Setting { .. } | stonet::Error::UnknownName { .. }) | Error::Settings { .. } => {
                "setting"
            }
            Error::Core(stonet::Error::TooManyThreads { .. }) | Error::Flag { .. } => "usage",
            Error::File(_) => "file",
            Error::Network(_) => "network",
            Error::Experiment(_) => "experiment",
            Error::NoFolder { .. } | Error::IsFolder { .. } => "output",
            _ => "data",
        }
    }

    /// Whether standard output was closed by a reader that has seen enough, such as `head`.
    pub fn is_closed_pipe(&self) -> bool {
        let to = std::path::Path::new("-");
        matches!(self, Error::File(stonet_io::Error::Unwritable { path, source })
            if path == to && source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Rows of a file that the mathematics refuses.
    pub fn rows(path: &std::path::Path) -> impl Fn(stonet::Error) -> Error + '_ {
        move |source| match source {
            // A setting has nothing to do with the file.
            stonet::Error::Setting { .. } => Error::Core(source),
            source => Error::Rows { path: path.to_owned(), source },
        }
    }

    /// The same, with targets by their names.
    pub fn targets<'a>(path: &'a std::path::Path, names: &'a [String]) -> impl Fn(stonet::Error) -> Error + 'a {
        move |source| match source {
            stonet::Error::ConstantTarget { column, value } if column < names.len() => {
                Error::Constant { path: path.to_owned(), column: names[column].clone(), value }
            }
            source => Error::rows(path)(source),
        }
    }
}
