//! Rows that were fitted on and are to be judged, and copies among rows to fit on, in the words of Python.

use std::ffi::CString;

use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use stonet::rows::FingerprintsBuilder;
use stonet::{Overlap, RegressionRows};
use stonet_io::{regression_hashes, regression_parts};

use crate::error::Raise;

/// Warns the caller of the function of Python that called us.
pub fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let text = CString::new(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)
}

/// Refuses rows that were fitted on, or warns.
pub fn check(py: Python<'_>, overlap: Option<&Overlap>, allow: bool) -> PyResult<()> {
    let Some(overlap) = overlap.filter(|o| o.any()) else { return Ok(()) };
    let text = format!("{}: results on such rows are too good", overlap.text());
    if overlap.too_many() && !allow {
        return Err(PyValueError::new_err(format!("{text}; judge other rows, or pass allow_seen=True")));
    }
    warn(py, &text)
}

/// Warns of copies among rows with these hashes; `parts` are those of inputs and of targets alone, where targets are
/// numbers.
pub fn warn_of_copies(py: Python<'_>, hashes: &[u64], parts: &[Vec<u64>], remedy: &'static str) -> PyResult<()> {
    let mut all = FingerprintsBuilder::default();
    all.add(hashes);
    match all.copies(hashes, parts) {
        Some(copies) => warn(py, &format!("{}; {remedy}", copies.text())),
        None => Ok(()),
    }
}

/// Warns of copies among the rows of a regression, which may be in groups; returns the hashes of the rows.
pub fn regression_rows(py: Python<'_>, rows: &RegressionRows<'_>, grouped: bool) -> PyResult<Vec<u64>> {
    let hashes = regression_hashes(rows.features(), rows.prediction(), rows.y()).raise()?;
    if !grouped {
        let parts = regression_parts(rows.features(), rows.prediction(), rows.y()).raise()?;
        warn_of_copies(py, &hashes, &parts, "remove the copies, or keep them together with groups=")?;
    }
    Ok(hashes)
}
