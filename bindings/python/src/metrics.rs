//! The library's metrics.

use ndarray::Array2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stonet::classification::AccuracyBounds;
use stonet::metrics::{self, JudgeSettings};
use stonet::{Intervals, Level, Seed};

use crate::arrays::{Held, Matrix, Numbers, indices};
use crate::error::Raise;
use crate::{settings, work};

/// The fewest calibration rows that give a finite interval at a level.
#[pyfunction]
pub fn rows_needed(level: f64) -> PyResult<usize> {
    Ok(stonet::conformal::rows_needed(Level::new(level).raise()?))
}

/// coverage, mean length, median length, Winkler score, coverage of the narrowest and of the widest fifth.
#[pyfunction]
pub fn interval_scores(y: Matrix<'_>, lower: Matrix<'_>, upper: Matrix<'_>, level: f64) -> PyResult<[f64; 6]> {
    let (y, lower, upper) = (y.as_array(), lower.as_array().to_owned(), upper.as_array().to_owned());
    if y.is_empty() {
        return Err(PyValueError::new_err("there are no intervals to judge"));
    }
    if lower.dim() != upper.dim() {
        return Err(PyValueError::new_err("lower and upper ends are not of the same shape"));
    }
    let prediction = Array2::zeros(lower.dim());
    let i = Intervals { prediction, lower, upper, level: Level::new(level).raise()? };
    let (narrow, wide) = metrics::coverage_by_width(&i, y).raise()?;
    let (coverage, winkler) = (metrics::coverage(&i, y).raise()?, metrics::winkler(&i, y).raise()?);
    Ok([coverage, metrics::mean_length(&i), metrics::median_length(&i), winkler, narrow, wide])
}

/// The mean pinball loss of a quantile.
#[pyfunction]
pub fn pinball(y: Matrix<'_>, quantile: Matrix<'_>, tau: f64) -> PyResult<f64> {
    metrics::pinball(quantile.as_array(), y.as_array(), Level::new(tau).raise()?).raise()
}

/// The mean CRPS of distributions that give equal mass to quantiles, each rows × outputs.
#[pyfunction]
pub fn crps(y: Matrix<'_>, quantiles: Vec<Matrix<'_>>) -> PyResult<f64> {
    let quantiles: Vec<Array2<f64>> = quantiles.iter().map(|q| q.as_array().to_owned()).collect();
    metrics::crps(&quantiles, y.as_array()).raise()
}

/// The distance of a PIT from a uniform distribution, and how large chance makes it.
#[pyfunction]
pub fn pit_distance(pit: Matrix<'_>) -> (f64, f64) {
    metrics::pit_distance(pit.as_array())
}

/// accuracy, nll, brier, ece, cece and adaptive_ece, as JSON.
#[pyfunction]
pub fn class_scores(p: Matrix<'_>, labels: Numbers<'_>, bins: usize) -> PyResult<String> {
    settings::text(&metrics::class_scores(p.as_array(), &indices(&labels)?, bins).raise()?)
}

/// The same with confidence intervals and the noise floor, as JSON.
#[pyfunction]
pub fn judge_classes(py: Python<'_>, p: Matrix<'_>, labels: Numbers<'_>, bins: usize, seed: u64) -> PyResult<String> {
    let (p, labels) = (Held::new(&p), indices(&labels)?);
    let wanted = JudgeSettings { bins, ..JudgeSettings::default() };
    let judged =
        work::follow(py, None, None, move |_| metrics::judge(p.view(), &labels, &wanted, Seed::new(seed)).raise())?;
    settings::text(&judged)
}

/// smooth_ece, debiased_ece, aurc and excess_aurc, as JSON.
#[pyfunction]
pub fn trust_scores(p: Matrix<'_>, labels: Numbers<'_>, bins: usize) -> PyResult<String> {
    settings::text(&metrics::trust_scores(p.as_array(), &indices(&labels)?, bins).raise()?)
}

/// The same with confidence intervals, noise floors, tests of calibration and both curves, as JSON.
#[pyfunction]
pub fn judge_trust(
    py: Python<'_>,
    p: Matrix<'_>,
    labels: Numbers<'_>,
    bins: usize,
    redraws: usize,
    seed: u64,
) -> PyResult<String> {
    let (p, labels) = (Held::new(&p), indices(&labels)?);
    let wanted = JudgeSettings { bins, redraws, ..JudgeSettings::default() };
    let judged = work::follow(py, None, None, move |_| {
        metrics::judge_trust(p.view(), &labels, &wanted, Seed::new(seed)).raise()
    })?;
    settings::text(&judged)
}

/// The risk–coverage curve, as JSON.
#[pyfunction]
pub fn risk_coverage(p: Matrix<'_>, labels: Numbers<'_>) -> PyResult<String> {
    settings::text(&metrics::risk_coverage(p.as_array(), &indices(&labels)?).raise()?)
}

/// Bounds for the accuracy in bins of confidence, as JSON.
#[pyfunction]
pub fn accuracy_bounds(
    edges: Matrix<'_>,
    p: Matrix<'_>,
    labels: Numbers<'_>,
    bins: usize,
    level: f64,
) -> PyResult<String> {
    let level = Level::new(level).raise()?;
    let labels = indices(&labels)?;
    let bounds = AccuracyBounds::fit(edges.as_array(), p.as_array(), &labels, bins, level).raise()?;
    settings::text(&bounds.bins())
}

/// The bars of a reliability diagram, as JSON.
#[pyfunction]
pub fn reliability(p: Matrix<'_>, labels: Numbers<'_>, bins: usize) -> PyResult<String> {
    settings::text(&metrics::reliability(p.as_array(), &indices(&labels)?, bins).raise()?)
}
