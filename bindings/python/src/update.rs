//! Labelled rows that came after a fit, and what they do to a head.

use pyo3::prelude::*;
use serde_json::json;
use stonet::regression::{Adaptive, Issued, UpdateSettings};
use stonet::{Level, Seed};
use stonet_io::{Head, Model, regression_hashes};

use crate::arrays::{self, Matrix};
use crate::error::Raise;
use crate::regression::{HeldRows, Regression};
use crate::{seen, settings};

/// The head with new rows among its scores. `issued` are the lower and the upper ends as they were issued, rows × levels.
#[pyfunction]
#[pyo3(signature = (head, x, y, prediction, *, window, adaptive, rate, levels, issued, seed, own=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn update_regression(
    py: Python<'_>,
    head: &Regression,
    x: Matrix<'_>,
    y: Matrix<'_>,
    prediction: Option<Matrix<'_>>,
    window: Option<usize>,
    adaptive: Option<&str>,
    rate: Option<f64>,
    levels: Vec<f64>,
    issued: Option<(Matrix<'_>, Matrix<'_>)>,
    seed: u64,
    own: Vec<Matrix<'_>>,
) -> PyResult<Regression> {
    let (model, fitted) = (head.model(), head.head());
    let known = fitted.level_tracks();
    let method = adaptive.map(str::parse::<Adaptive>).transpose().raise()?.or(known.map(|a| a.method()));
    let rate = |method: Adaptive| rate.or(known.map(|a| a.rate())).unwrap_or_else(|| method.default_rate());
    let asked: Vec<Level> = match (arrays::levels(&levels)?, known) {
        (given, Some(known)) if given.is_empty() => known.tracks().iter().map(|t| t.level).collect(),
        (given, _) => given,
    };
    let wanted = UpdateSettings {
        window,
        adaptive: method.map(|method| (method, rate(method))),
        levels: if method.is_some() { asked } else { Vec::new() },
        seed: Seed::new(seed),
    };
    let held = HeldRows::new(&x, &y, &prediction, &own, &None)?;
    let rows = held.new_rows(None)?;
    let columns =
        |m: &Matrix<'_>| -> Vec<Vec<f64>> { m.as_array().columns().into_iter().map(|c| c.to_vec()).collect() };
    let (lower, upper) = issued.as_ref().map(|(l, u)| (columns(l), columns(u))).unwrap_or_default();
    let issued: Vec<Issued<'_>> = lower.iter().zip(&upper).map(|(l, u)| Issued { lower: l, upper: u }).collect();
    let mut update = fitted.update(wanted).raise()?;
    update.add(&rows, y.as_array(), &issued).raise()?;
    let updated = update.finish().raise()?;
    let hashes = regression_hashes(rows.features(), rows.prediction(), y.as_array()).raise()?;
    let fingerprints = model.fingerprints.as_ref().and_then(|known| known.with(&hashes));
    if model.fingerprints.is_some() && fingerprints.is_none() {
        seen::warn(
            py,
            "there are too many rows for more fingerprints: stonet.report cannot tell that the new rows have joined",
        )?;
    }
    let fingerprints = fingerprints.or_else(|| model.fingerprints.clone());
    Regression::of(Model { head: Head::Regression(Box::new(updated)), fingerprints, ..model.clone() })
}

/// How the rows of a head were ordered and what updates did to it, as JSON; null where nothing.
#[pyfunction]
pub fn describe_updates(head: &Regression) -> PyResult<String> {
    let fitted = head.head();
    let updated = fitted.updated().map(|updated| {
        let level = |t: &stonet::regression::Track| json!({ "level": t.level, "rows": t.rows, "misses": t.misses });
        let adapted = updated.level_tracks().map(|a| {
            json!({ "method": a.method(), "rate": a.rate(), "levels": a.tracks().iter().map(level).collect::<Vec<_>>() })
        });
        json!({
            "joined": updated.joined(), "scored": fitted.scored_rows(), "window": updated.window(), "adapted": adapted,
        })
    });
    settings::text(&json!({ "time": fitted.in_order(), "updated": updated }))
}
