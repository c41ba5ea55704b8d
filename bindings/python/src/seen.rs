//! Rows that were fitted on and are to be judged, and copies among rows to fit on, in the words of Python.

use std::ffi::CString;

use ndarray::ArrayView2;
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use stonet::{FingerprintsBuilder, Overlap, row_hashes};

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

/// Warns of copies among rows with these hashes; `y` where the targets are numbers.
pub fn warn_of_copies(
    py: Python<'_>,
    hashes: &[u64],
    y: Option<ArrayView2<'_, f64>>,
    remedy: &'static str,
) -> PyResult<()> {
    let targets = y.map(|y| row_hashes(&[y]).raise()).transpose()?.unwrap_or_default();
    let mut all = FingerprintsBuilder::default();
    all.add(hashes);
    match all.copies(hashes, &targets) {
        Some(copies) => warn(py, &format!("{}; {remedy}", copies.text())),
        None => Ok(()),
    }
}

/// What to do about copies where rows can be in groups.
pub const GROUPS: &str = "remove the copies, or keep them together with groups=";
