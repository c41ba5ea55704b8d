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
    /// The same, with the flags that help.
    #[error("{source}{hint}")]
    Hint { source: Box<stonet_io::Error>, hint: String },
    #[error(transparent)]
    Network(#[from] stonet_onnx::Error),
    /// Rows of another shape than the network takes.
    #[error("{source}; {hint}")]
    Shape { source: Box<stonet_onnx::Error>, hint: &'static str },
    #[error(transparent)]
    Compare(#[from] stonet_compare::Error),
    #[cfg(feature = "serve")]
    #[error(transparent)]
    Serve(#[from] stonet_serve::Error),
    #[cfg(feature = "reproduce")]
    #[error(transparent)]
    Experiment(#[from] stonet_repro::Error),
    /// Rows of a file that the mathematics refuses.
    #[error("{path}: {source}", path = path.display())]
    Rows { path: PathBuf, source: stonet::Error },
    /// Labels and columns that do not belong together.
    #[error("{path}: {source}: pass {remedy}", path = path.display())]
    Classes { path: PathBuf, source: stonet::Error, remedy: &'static str },
    /// A target that never changes.
    #[error("{path}: column `{column}` is {value} in every row, so there is nothing to predict; check that the right column was chosen as the target", path = path.display())]
    Constant { path: PathBuf, column: String, value: f64 },
    /// A number that is too large to compute with.
    #[error("{path}: row {row} (from 0) of column `{column}` is {value:e}, which is too large to compute with; divide the column by a power of ten", path = path.display())]
    Magnitude { path: PathBuf, row: usize, column: String, value: f64 },
    /// A standard deviation that is none.
    #[error("{path}: row {row} (from 0) of column `{column}` is {value}, and a standard deviation is positive; correct or remove the row", path = path.display())]
    NotPositive { path: PathBuf, row: usize, column: String, value: f64 },
    /// A target that varies too little.
    #[error("{path}: column `{column}` varies by {range:e} only, which is too little to fit on; multiply the column by a power of ten", path = path.display())]
    SmallRange { path: PathBuf, column: String, range: f64 },
    /// A target outside of --range.
    #[error("{path}: row {row} (from 0) of column `{column}` is {value}, outside of --range {low},{high}; correct the row or the flag", path = path.display())]
    OutOfRange { path: PathBuf, row: usize, column: String, value: f64, low: f64, high: f64 },
    /// A row without a group.
    #[error("{path}: row {row} (from 0) of column `{column}` has no group (`{text}`); fill in the group, or remove the row", path = path.display())]
    MissingGroup { path: PathBuf, row: usize, column: String, text: String },
    /// An issued interval without an end.
    #[error("{path}: row {row} (from 0) of column `{column}` is `{text}`, and not an end of an interval; give the file that `predict` wrote", path = path.display())]
    IssuedEnd { path: PathBuf, row: usize, column: String, text: String },
    /// A row whose place in time is not known.
    #[error("{path}: row {row} (from 0) of column `{column}` is `{text}`; --time needs numbers in all rows, dates such as 2024-02-29, or times such as 2024-02-29T12:30:00", path = path.display())]
    NotTime { path: PathBuf, row: usize, column: String, text: String },
    /// A row that belongs neither to the validation nor to the test part.
    #[error("{path}: row {row} (from 0) of column `{column}` is `{text}`; write 0 or `validation`, and 1 or `test`", path = path.display())]
    Part { path: PathBuf, row: usize, column: String, text: String },
    /// Labels or their outputs that the mathematics refuses.
    #[error("{path}: {why}", path = path.display())]
    Labels { path: PathBuf, why: String },
    /// An entry of a column of labels that is none.
    #[error("{path}: row {row} (from 0) of column `{column}` is `{text}`, and a label is 1 (or true) where it is present and 0 (or false) elsewhere; correct the entry, or leave the column out of --target", path = path.display())]
    LabelValue { path: PathBuf, row: usize, column: String, text: String },
    /// A part without rows.
    #[error("{path}: no row of column `{column}` is {part}; write 0 or `validation`, and 1 or `test`", path = path.display())]
    EmptyPart { path: PathBuf, column: String, part: &'static str },
    /// A flag that this task or model has no use for.
    #[error("{flag} {why}")]
    Flag { flag: &'static str, why: String },
    /// Rows to judge that were fitted on.
    #[error("{path}: {overlap}: results on such rows are too good; judge other rows, or pass --allow-seen", path = path.display())]
    Seen { path: PathBuf, overlap: String },
    /// An output in a folder that is not there.
    #[error("{path}: cannot be written: there is no folder {folder}; create it, or choose another place", path = path.display(), folder = folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    /// An output that is a folder.
    #[error("{path}: cannot be written: it is a folder; choose the name of a file", path = path.display())]
    IsFolder { path: PathBuf },
    /// A number that a network cannot take.
    #[error("{path}: row {row} (from 0), column `{column}` is {value}, and the network takes {takes}; correct or rescale the column", path = path.display())]
    InputNumber { path: PathBuf, row: usize, column: String, value: String, takes: String },
    /// A file of settings that cannot be used.
    #[error("{path}{place}: {why}", path = path.display())]
    Settings { path: PathBuf, place: String, why: String },
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
            Error::Core(stonet::Error::TooManyThreads { .. })
            | Error::File(stonet_io::Error::Refused { .. })
            | Error::Flag { .. } => "usage",
            Error::File(_) | Error::Hint { .. } => "file",
            Error::Network(_) | Error::Shape { .. } => "network",
            Error::Compare(_) => "experiment",
            #[cfg(feature = "serve")]
            Error::Serve(_) => "file",
            #[cfg(feature = "reproduce")]
            Error::Experiment(_) => "experiment",
            Error::NoFolder { .. } | Error::IsFolder { .. } => "output",
            Error::Core(_)
            | Error::Rows { .. }
            | Error::Classes { .. }
            | Error::Constant { .. }
            | Error::Magnitude { .. }
            | Error::NotPositive { .. }
            | Error::SmallRange { .. }
            | Error::OutOfRange { .. }
            | Error::MissingGroup { .. }
            | Error::IssuedEnd { .. }
            | Error::NotTime { .. }
            | Error::Part { .. }
            | Error::Labels { .. }
            | Error::LabelValue { .. }
            | Error::EmptyPart { .. }
            | Error::Seen { .. }
            | Error::InputNumber { .. } => "data",
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

    /// The same error about a row of a file, where it is about a row of a batch that follows so many others.
    pub fn after_rows(self, rows: usize) -> Self {
        match self {
            Error::Core(source) => Error::Core(source.after_rows(rows)),
            Error::Rows { path, source } => Error::Rows { path, source: source.after_rows(rows) },
            Error::MissingGroup { path, row, column, text } => {
                Error::MissingGroup { path, row: row + rows, column, text }
            }
            Error::LabelValue { path, row, column, text } => Error::LabelValue { path, row: row + rows, column, text },
            Error::NotPositive { path, row, column, value } => {
                Error::NotPositive { path, row: row + rows, column, value }
            }
            error => error,
        }
    }

    /// Rows of a file that a network refuses; `first` is the number of the first one, and `columns` are those that go
    /// in.
    pub fn network_rows<'a>(
        path: &'a std::path::Path,
        first: usize,
        columns: &'a [String],
    ) -> impl Fn(stonet_onnx::Error) -> Error + 'a {
        move |source| match source.after_rows(first) {
            stonet_onnx::Error::InputNumber { row, column, value, takes } if column < columns.len() => {
                Error::InputNumber { path: path.to_owned(), row, column: columns[column].clone(), value, takes }
            }
            source => Error::Network(source),
        }
    }

    /// The same, with the flags that name classes and kinds of input.
    pub fn classes(path: &std::path::Path) -> impl Fn(stonet::Error) -> Error + '_ {
        move |source| {
            let remedy = match &source {
                stonet::Error::AbsentClasses { .. } => {
                    "--classes A,B,…; or pass --kind features if the columns are features"
                }
                stonet::Error::TooManyClasses { .. } => "--kind features if the columns are features",
                stonet::Error::UnknownLabel { .. } => "--classes A,B,…",
                _ => return Error::rows(path)(source),
            };
            Error::Classes { path: path.to_owned(), source, remedy }
        }
    }

    /// The same of many labels, with the columns by their names and the flags that help.
    pub fn labels<'a>(
        path: &'a std::path::Path,
        columns: &'a stonet_io::ModelColumns,
    ) -> impl Fn(stonet::Error) -> Error + 'a {
        move |source| {
            let named = |source: &stonet::Error| match source {
                stonet::Error::ConstantLabel { label, rows } => {
                    let place =
                        stonet::classification::label_names(&columns.targets).iter().position(|n| n == label)?;
                    let column = columns.targets.get(place)?;
                    Some(format!(
                        "column `{column}`: label `{label}` is present in {rows}, so there is nothing to learn about it; leave the column \
                         out of --target, and its output out of --inputs"
                    ))
                }
                stonet::Error::RareLabel { label, column, present, rows } => {
                    let column = columns.targets.get(*column)?;
                    Some(format!(
                        "column `{column}`: label `{label}` is present in {present} of {rows} rows, which is too one-sided to divide into \
                         folds; add rows, leave the column out of --target and its output out of --inputs, or pass --method temperature"
                    ))
                }
                &stonet::Error::NotAProbability { row, column, value } => {
                    let column = columns.logits.get(column)?;
                    Some(format!(
                        "row {row} (from 0) of column `{column}` is {value}, and a probability lies between 0 and 1; correct the entry, or \
                         fit with --kind logits if these are logits"
                    ))
                }
                _ => None,
            };
            match named(&source) {
                Some(why) => Error::Labels { path: path.to_owned(), why },
                None => Error::columns(path, columns)(source),
            }
        }
    }

    /// The same, with columns by their names.
    pub fn columns<'a>(
        path: &'a std::path::Path,
        columns: &'a stonet_io::ModelColumns,
    ) -> impl Fn(stonet::Error) -> Error + 'a {
        let path = path.to_owned();
        move |source| {
            let names = match &source {
                stonet::Error::Magnitude { what: "features" | "inputs", .. } => &columns.features,
                stonet::Error::Magnitude { what: "predictions", .. } => &columns.prediction,
                stonet::Error::Magnitude { what: "logits", .. } => &columns.logits,
                stonet::Error::MissingGroup { .. } => &columns.within,
                stonet::Error::Magnitude { what: "lower quantiles", .. } => &columns.lower,
                stonet::Error::Magnitude { what: "upper quantiles", .. } => &columns.upper,
                stonet::Error::Magnitude { what: "standard deviations", .. } | stonet::Error::NotPositive { .. } => {
                    &columns.sd
                }
                _ => &columns.targets,
            };
            let name = |column: usize| names.get(column).cloned();
            let named =
                match &source {
                    stonet::Error::ConstantTarget { column, value } => {
                        name(*column).map(|column| Error::Constant { path: path.clone(), column, value: *value })
                    }
                    stonet::Error::SmallRange { column, range } => {
                        name(*column).map(|column| Error::SmallRange { path: path.clone(), column, range: *range })
                    }
                    &stonet::Error::OutOfRange { row, column, value, low, high } => name(column)
                        .map(|column| Error::OutOfRange { path: path.clone(), row, column, value, low, high }),
                    stonet::Error::Magnitude { row, column, value, .. } => name(*column)
                        .map(|column| Error::Magnitude { path: path.clone(), row: *row, column, value: *value }),
                    stonet::Error::MissingGroup { row, column, text } => name(*column).map(|column| {
                        Error::MissingGroup { path: path.clone(), row: *row, column, text: text.clone() }
                    }),
                    stonet::Error::NotPositive { row, column, value, .. } => name(*column)
                        .map(|column| Error::NotPositive { path: path.clone(), row: *row, column, value: *value }),
                    _ => None,
                };
            named.unwrap_or_else(|| Error::rows(&path)(source))
        }
    }
}
