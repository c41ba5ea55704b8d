//! Reading of a saved head.

use std::path::PathBuf;

use pyo3::prelude::*;
use stonet_io::{Head, Model};

use crate::classification::Classification;
use crate::error::Raise;
use crate::labels::ManyLabels;
use crate::regression::Regression;

/// A saved head of any kind.
#[derive(IntoPyObject)]
pub enum Loaded {
    /// Intervals.
    Regression(Regression),
    /// Probabilities.
    Classification(Classification),
    /// Probabilities of many labels.
    ManyLabels(ManyLabels),
}

/// Reads a `.stonet` file.
#[pyfunction]
pub fn load(path: PathBuf) -> PyResult<Loaded> {
    let model = Model::load(&path).raise()?;
    Ok(match model.head {
        Head::Regression(_) => Loaded::Regression(Regression::of(model)?),
        Head::Classification(_) => Loaded::Classification(Classification::of(model, None)?),
        Head::Labels(_) => Loaded::ManyLabels(ManyLabels::of(model)?),
    })
}
