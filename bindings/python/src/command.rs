//! The `stonet` command.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line, the program's name first, and returns the exit code.
#[pyfunction]
pub fn cli(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| stonet_cli::run(arguments))
}
