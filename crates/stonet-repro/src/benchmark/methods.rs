//! Every method by its name, fitted on the calibration rows and judged on the test rows.

use std::collections::BTreeMap;
use std::time::Instant;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use stonet::baseline::{Cqr, Fitted, Laplace, NetworkRefit, Normalised, PostLinear, SplitConformal};
use stonet::metrics::{coverage, coverage_by_width, mean_length, mean_sd, median_length, winkler, winkler_scores};
use stonet::{Calibration, Intervals, Kind, Level, NewRows, PostStoNet, Seed, Side, Ticker};
use stonet_report::real;

use super::Prepared;
use crate::Result;

/// Our default.
pub const DEFAULT: &str = "stack";

/// Ours, then the baselines, in the order of tables.
pub const METHODS: [&str; 12] = [
    "stack",
    "cv+",
    "cv",
    "paper",
    "fast",
    "split",
    "split-conformal",
    "normalised-conformal",
    "cqr",
    "refit-conformal",
    "post-linear",
    "laplace",
];

/// A method's intervals on the test rows of one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Fraction of test rows covered.
    pub coverage: f64,
    /// Mean length.
    #[serde(with = "real")]
    pub mean_length: f64,
    /// Median length.
    #[serde(with = "real")]
    pub median_length: f64,
    /// Mean interval (Winkler) score.
    #[serde(with = "real")]
    pub winkler: f64,
    /// Coverage in the fifth with the shortest intervals.
    pub narrowest: f64,
    /// Coverage in the fifth with the longest.
    pub widest: f64,
    /// Seconds to fit and predict, other splits running beside it.
    pub seconds: f64,
    /// Standard error of the mean length over the test rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_length_se: Option<f64>,
    /// Standard error of the interval score over the test rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winkler_se: Option<f64>,
}

/// Standard error of the mean over rows, each the mean of its targets; none for a single row or infinite values.
fn row_error(values: &Array2<f64>) -> Option<f64> {
    let rows = values.mean_axis(Axis(1))?.to_vec();
    Some(mean_sd(&rows).1 / (rows.len() as f64).sqrt()).filter(|se| rows.len() > 1 && se.is_finite())
}

pub(super) fn all(prepared: &Prepared, level: Level, seed: Seed, tick: Ticker<'_>) -> Result<BTreeMap<String, Judged>> {
    let (rows, new) = (prepared.calibration.calibration()?, prepared.test.new_rows()?);
    let test = Test { new, y: prepared.test.y.view() };
    let one =
        |(i, name): (usize, &str)| Ok((name.to_owned(), judge(name, &rows, test, level, seed.child(i as u64), tick)?));
    METHODS.into_iter().enumerate().map(one).collect()
}

/// Rows to judge on.
#[derive(Clone, Copy)]
pub(super) struct Test<'a> {
    pub new: NewRows<'a>,
    pub y: ArrayView2<'a, f64>,
}

/// One method, fitted and judged.
pub(super) fn judge(
    name: &str,
    rows: &Calibration<'_>,
    test: Test<'_>,
    level: Level,
    seed: Seed,
    tick: Ticker<'_>,
) -> Result<Judged> {
    let begin = Instant::now();
    let intervals = one(name, rows, &test.new, level, seed, tick)?;
    let seconds = begin.elapsed().as_secs_f64();
    let (narrowest, widest) = coverage_by_width(&intervals, test.y)?;
    Ok(Judged {
        coverage: coverage(&intervals, test.y)?,
        mean_length: mean_length(&intervals),
        median_length: median_length(&intervals),
        winkler: winkler(&intervals, test.y)?,
        narrowest,
        widest,
        seconds,
        mean_length_se: row_error(&(&intervals.upper - &intervals.lower)),
        winkler_se: row_error(&winkler_scores(&intervals, test.y)?),
    })
}

fn one(
    name: &str,
    rows: &Calibration<'_>,
    new: &NewRows<'_>,
    level: Level,
    seed: Seed,
    tick: Ticker<'_>,
) -> Result<Intervals> {
    if let Ok(kind) = name.parse::<Kind>() {
        let fitted = PostStoNet { kind, level, ..PostStoNet::default() }.fit(rows, seed, tick)?;
        return Ok(fitted.intervals(new, level, Side::Both)?);
    }
    let fitted: Box<dyn Fitted> = match name {
        "split-conformal" => Box::new(SplitConformal.fit(rows, seed)?),
        "normalised-conformal" => Box::new(Normalised::default().fit(rows, seed)?),
        "cqr" => Box::new(Cqr::default().fit(rows, level, seed)?),
        "refit-conformal" => Box::new(NetworkRefit::default().fit(rows, seed)?),
        "post-linear" => Box::new(PostLinear::default().fit(rows, seed)?),
        _ => Box::new(Laplace.fit(rows, seed)?),
    };
    Ok(fitted.intervals(new, level)?)
}
