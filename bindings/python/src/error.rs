//! Errors of the Rust crates as exceptions of Python, with the same words.

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;

/// What can be raised.
pub trait Raise<T> {
    /// The value, or an exception that says what the error says.
    fn raise(self) -> PyResult<T>;
}

/// An error of the mathematics as an exception.
pub fn raised(error: stonet::Error) -> PyErr {
    use stonet::Error;
    match error {
        // The remedy in the words of Python.
        Error::NoPrediction { what } => PyValueError::new_err(format!(
            "{what} starts from the network's own predictions, but there are none; give prediction=, or name prediction_column"
        )),
        e @ Error::AbsentClasses { .. } => PyValueError::new_err(format!(
            "{e}: pass classes=[...]; or pass kind=\"features\" if the columns are features"
        )),
        e @ Error::TooManyClasses { .. } => {
            PyValueError::new_err(format!("{e}: pass kind=\"features\" if the columns are features"))
        }
        e @ Error::UnknownLabel { .. } => PyValueError::new_err(format!("{e} by classes=[...]")),
        e => PyValueError::new_err(e.to_string()),
    }
}

impl<T> Raise<T> for stonet::Result<T> {
    fn raise(self) -> PyResult<T> {
        self.map_err(raised)
    }
}

impl<T> Raise<T> for stonet_io::Result<T> {
    fn raise(self) -> PyResult<T> {
        use stonet_io::{Error, Problem};
        self.map_err(|e| match (&e, e.problem()) {
            (_, Some(Problem::NoFile)) => PyFileNotFoundError::new_err(e.to_string()),
            (_, Some(Problem::Unreadable { source })) | (Error::Unwritable { source, .. }, _) => {
                // The kind chooses FileNotFoundError, PermissionError, …
                PyErr::from(std::io::Error::new(source.kind(), e.to_string()))
            }
            _ => PyValueError::new_err(e.to_string()),
        })
    }
}

impl<T> Raise<T> for stonet_onnx::Result<T> {
    fn raise(self) -> PyResult<T> {
        self.or_else(|e| match e {
            stonet_onnx::Error::Io(e) => Err(e).raise(),
            _ => Err(PyValueError::new_err(e.to_string())),
        })
    }
}

impl<T> Raise<T> for stonet_compare::Result<T> {
    fn raise(self) -> PyResult<T> {
        use stonet_compare::Error;
        self.map_err(|e| match e {
            Error::Io { .. } => PyOSError::new_err(e.to_string()),
            // Flags in the words of Python.
            Error::Range { name, range } => {
                PyValueError::new_err(format!("{} must be {range}", name.trim_start_matches('-')))
            }
            Error::OtherJournal { .. } | Error::OtherRows { .. } | Error::BrokenJournal { .. } => {
                PyValueError::new_err(e.to_string().replace("another --out", "another out="))
            }
            _ => PyValueError::new_err(e.to_string()),
        })
    }
}

impl<T> Raise<T> for serde_json::Result<T> {
    fn raise(self) -> PyResult<T> {
        self.map_err(|e| PyValueError::new_err(e.to_string()))
    }
}
