//! What to do about columns that do not fit, in the flags of the command.

use stonet_io::{FileError, Place, Problem};

use crate::error::{Error, Result};
use crate::stdout::quoted;

/// Fails where one of the columns that a flag names is a target.
pub fn not_targets(flag: &'static str, columns: &[String], targets: &[String]) -> Result<()> {
    match targets.iter().find(|t| columns.contains(t)) {
        Some(target) => {
            let why = match flag {
                "--prediction" => "name the column with the network's own prediction",
                "--within" | "--conditional" => "the target of a new row is not known; name columns that are",
                "--lower" | "--upper" => "name the column with the network's own quantile",
                "--sd" => "name the column with the network's own standard deviation",
                _ => "predicting a column from itself says nothing about other rows; leave it out",
            };
            Err(Error::flag(flag, format!("names the target `{target}`; {why}")))
        }
        None => Ok(()),
    }
}

/// Columns of text, with the flags that leave them out; `targets` cannot be left out.
pub fn text_columns(error: Error, targets: &[String]) -> Error {
    with_hint(error, |error| {
        let columns = match (&error.problem, &error.place) {
            (Problem::TextColumns { columns }, _) => columns.clone(),
            (Problem::NotANumber { remedy, .. }, Place::Cell(_, column)) if remedy.contains("exclude") => {
                vec![column.clone()]
            }
            (Problem::ColumnType { wanted: "numbers", .. }, Place::Column(column)) => vec![column.clone()],
            _ => return None,
        };
        if let Some(target) = columns.iter().find(|c| targets.contains(c)) {
            return Some(format!(
                "; `{target}` is the target, which is numbers for --task regression; for classes use --task classification"
            ));
        }
        Some(format!(": --exclude {}, or --inputs with the columns to use", list(&columns)))
    })
}

/// Missing values, for commands that can leave out such rows.
pub fn missing_values(error: Error) -> Error {
    with_hint(error, |error| match error.problem {
        Problem::MissingValue { .. } | Problem::MissingEntry => {
            Some("; --drop-missing leaves out every row with a missing value".into())
        }
        _ => None,
    })
}

/// A target that is not there: the flag, and how `features` copies it.
pub fn absent_target(error: Error, targets: &[String]) -> Error {
    with_hint(error, |error| {
        let (name, known) = match &error.problem {
            Problem::UnknownColumn { name, known } => (name, known),
            Problem::NoMatch { pattern, known } => (pattern, known),
            _ => return None,
        };
        if !targets.contains(name) {
            return None;
        }
        // What `features` writes.
        let features = known
            .split("`f")
            .skip(1)
            .any(|rest| rest.split_once('`').is_some_and(|(number, _)| number.parse::<usize>().is_ok()));
        Some(match features {
            true => format!(
                "; --target names it: if these rows come from `stonet features`, run it again with --keep {}, which copies the column, \
                 and choose the features here by --inputs 'f*'",
                list(std::slice::from_ref(name))
            ),
            false => "; --target names it".into(),
        })
    })
}

/// Columns of features that are missing from rows with the network's inputs.
pub fn features_first(error: Error) -> Error {
    with_hint(error, |error| {
        let Problem::MissingColumns { missing, .. } = &error.problem else { return None };
        let features = ["`f0`", "`z0`"].iter().any(|name| missing.starts_with(name));
        let hint = "; `f0, f1, …` and `z0, z1, …` are what `stonet features` writes: if these rows are inputs of the network, run \
                    it on them first, as before the fit";
        features.then(|| hint.into())
    })
}

/// A table that does not fit into memory, for the command that can fit a part of it.
pub fn too_large(error: Error) -> Error {
    with_hint(error, |error| {
        let hint = ": --inputs chooses columns, --sample N fits a part of the rows, and of a folder of Parquet files a \
                    sample is fitted";
        matches!(error.problem, Problem::TooLarge { .. }).then(|| hint.into())
    })
}

fn with_hint(error: Error, hint: impl FnOnce(&FileError) -> Option<String>) -> Error {
    match error {
        Error::File(stonet_io::Error::File(file)) => match hint(&file) {
            Some(hint) => Error::Hint { source: Box::new(stonet_io::Error::File(file)), hint },
            None => Error::File(stonet_io::Error::File(file)),
        },
        error => error,
    }
}

/// Names as a flag takes them: a comma in a name, which would divide it, becomes a `?`, which stands for any character.
fn list(names: &[String]) -> String {
    quoted(&names.iter().map(|n| n.replace(',', "?")).collect::<Vec<_>>().join(","))
}
