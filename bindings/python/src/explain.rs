//! Explanations of rows as arrays with the names of their terms.

use ndarray::{Array1, Array2};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use stonet::explain::Explanation;
use stonet_io::Model;

use crate::error::Raise;

type Column<'py> = Bound<'py, PyArray1<f64>>;
/// Shares of the model and of noise.
type Shares<'py> = (Column<'py>, Column<'py>);
/// Names of terms, rows × terms, and their sums.
type Width<'py> = (Vec<String>, Bound<'py, PyArray2<f64>>, Column<'py>);
/// What is told of every target, the novelty of rows, and what is left out and why.
pub type Told<'py> = (Vec<(Option<Shares<'py>>, Option<Width<'py>>)>, Option<Column<'py>>, Vec<&'static str>);

/// What is told of some rows; a head of which nothing can be told is an error.
pub fn told<'py>(
    py: Python<'py>,
    model: &Model,
    explain: impl FnOnce() -> PyResult<Explanation>,
) -> PyResult<Told<'py>> {
    let missing = model.explainable("explain").raise()?.missing().to_vec();
    let Explanation { targets, novelty } = explain()?;
    let column = |values: Vec<f64>| Array1::from(values).into_pyarray(py);
    let matrix = |values: Array2<f64>| values.into_pyarray(py);
    let targets = targets.into_iter().map(|target| {
        let shares = target.shares.map(|s| (column(s.model), column(s.noise)));
        let width = target.width.map(|w| {
            let names = w.terms.iter().map(|term| model.columns.width_term(*term).to_owned()).collect();
            (names, matrix(w.contributions), column(w.log_ratio))
        });
        (shares, width)
    });
    Ok((targets.collect(), novelty.map(column), missing))
}
