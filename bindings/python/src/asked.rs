//! What is asked of a head, by the names of Python's arguments.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stonet::score::{Asked, Quantity};
use stonet::{Kind, Side};
use stonet_io::{Model, Setting, check_levels};

use crate::arrays;
use crate::error::Raise;

/// Fails at the first of these that a head has no use for.
pub fn check(model: &Model, given: &[Setting]) -> PyResult<()> {
    model.refused(given, Setting::argument).map_or(Ok(()), |(name, why)| Err(refusal(name, why)))
}

/// The exception about an argument that a head has no use for.
pub fn refusal(name: &str, why: &str) -> PyErr {
    PyValueError::new_err(format!("{name} {why}"))
}

/// Whether so many raw inputs of a network join its features where nothing is said and so many rows calibrate.
#[pyfunction]
pub fn joins_inputs(interval: &str, inputs: usize, rows: usize) -> PyResult<bool> {
    Ok(interval.parse::<Kind>().raise()?.joins_inputs(inputs, rows))
}

/// Whether columns beside the features have a place in intervals of this name.
#[pyfunction]
pub fn sees_further_columns(interval: &str) -> PyResult<bool> {
    Ok(interval.parse::<Kind>().raise()?.sees_further_columns())
}

/// Which intervals; levels may be equal, as arrays know them by their places.
pub fn intervals(levels: &[f64], side: &str, joint: bool) -> PyResult<Asked> {
    let side: Side = serde_json::from_value(side.into()).raise()?;
    Ok(Asked { joint, ..Asked::at(&arrays::levels(levels)?).with_side(side) })
}

/// A column's name, its target, and which end at which level stands in it; none for the prediction.
type IntervalColumn = (String, usize, Option<(usize, usize)>);

/// The columns of a frame. Levels with equal names are an error.
#[pyfunction]
pub fn interval_columns(targets: Vec<String>, levels: Vec<f64>, side: &str) -> PyResult<Vec<IntervalColumn>> {
    let asked = intervals(&levels, side, false)?;
    check_levels(&asked.levels, "confidence_level").raise()?;
    let place = |(name, quantity)| match quantity {
        Quantity::Prediction { target } => Some((name, target, None)),
        Quantity::Lower { target, level } => Some((name, target, Some((0, level)))),
        Quantity::Upper { target, level } => Some((name, target, Some((1, level)))),
        _ => None,
    };
    Ok(stonet_io::interval_columns(&targets, &asked).into_iter().filter_map(place).collect())
}
