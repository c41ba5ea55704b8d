//! What can go wrong in a comparison, with the file and the remedy.

use std::path::PathBuf;

use stonet::base::Cancelled;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A cause of failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mathematics refused.
    #[error(transparent)]
    Core(#[from] stonet::Error),
    /// A table could not be read.
    #[error(transparent)]
    Table(#[from] stonet_io::Error),
    /// A file could not be read or written.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// The file with the fault.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A journal that another process writes.
    #[error("{path}: another process is writing to this journal; wait until it ends, or choose another --out", path = path.display())]
    BusyJournal {
        /// The journal.
        path: PathBuf,
    },
    /// A journal that belongs to another experiment.
    #[error("{path}: this journal was begun with other settings; choose another --out, or remove the file to start over", path = path.display())]
    OtherJournal {
        /// The journal.
        path: PathBuf,
    },
    /// A journal that holds results of a set with other rows.
    #[error("{path}: what it holds of `{set}` comes from other rows; choose another --out, or remove the file to start over", path = path.display())]
    OtherRows {
        /// The journal.
        path: PathBuf,
        /// The set.
        set: String,
    },
    /// A line of a journal that is not a record.
    #[error("{path}, line {line}: not a record of this experiment ({reason}); remove the line or start over with another --out", path = path.display())]
    BrokenJournal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the parser said.
        reason: String,
    },
    /// A model or a setting that the experiment does not have.
    #[error("there is no {what} `{name}`; there are {known}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Too few rows for three parts.
    #[error(
        "{units} {what} cannot be split into 40 % to train, 40 % to calibrate and 20 % to test; there must be at least 30"
    )]
    TooFewRows {
        /// The rows or groups there are.
        units: usize,
        /// Which of the two.
        what: &'static str,
    },
    /// No method could be fitted.
    #[error("no method could be fitted; {reason}")]
    NoMethod {
        /// The first method and why it failed.
        reason: String,
    },
    /// A number out of its range.
    #[error("{name} must be {range}")]
    Range {
        /// The flag.
        name: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// Stopped by the caller between two pieces of work; what was finished is saved.
    #[error("{0}; run the same command again to go on from here")]
    Cancelled(#[from] Cancelled),
}
