//! Every interval method, fitted on the calibration rows and judged on the test rows.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Instant;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use stonet::metrics::{coverage, coverage_in_fifths, mean_length, mean_sd, median_length, winkler, winkler_scores};
use stonet::peers::baseline::{
    Baseline, Cqr, FittedBaseline, Laplace, NetworkRefit, Normalised, OwnQuantiles, OwnSd, PostLinear, SplitConformal,
};
use stonet::rows::OwnKind;
use stonet::{Intervals, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side, Ticker};
use stonet_report::real;

use super::Prepared;
use crate::{Error, Result};

/// Our default.
pub const DEFAULT: &str = "stack";

/// A way to intervals: one of ours, or a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A post-StoNet.
    Post(Kind),
    /// A baseline.
    Baseline(Baseline),
}

impl Method {
    /// Ours, then the baselines, in the order of tables. A method's place numbers its random stream in a benchmark.
    pub const ALL: [Method; 14] = [
        Method::Post(Kind::Stack),
        Method::Post(Kind::CvPlus),
        Method::Post(Kind::Cv),
        Method::Post(Kind::Paper),
        Method::Post(Kind::Fast),
        Method::Post(Kind::Split),
        Method::Baseline(Baseline::SplitConformal),
        Method::Baseline(Baseline::NormalisedConformal),
        Method::Baseline(Baseline::Cqr),
        Method::Baseline(Baseline::RefitConformal),
        Method::Baseline(Baseline::PostLinear),
        Method::Baseline(Baseline::Laplace),
        Method::Baseline(Baseline::CqrOwn),
        Method::Baseline(Baseline::NormalisedOwn),
    ];

    /// The name in tables and flags.
    pub fn name(self) -> &'static str {
        match self {
            Method::Post(kind) => kind.name(),
            Method::Baseline(baseline) => baseline.name(),
        }
    }

    /// What it needs of the network's own uncertainty.
    pub fn own(self) -> Option<OwnKind> {
        match self {
            Method::Post(_) => None,
            Method::Baseline(baseline) => baseline.own(),
        }
    }

    /// Whether it sees columns beside the features where there are some. What the paper or the literature defines on
    /// the last hidden layer stays there, and split conformal sees no columns at all.
    pub fn sees_further_columns(self) -> bool {
        match self {
            Method::Post(kind) => kind.sees_further_columns(),
            Method::Baseline(baseline) => {
                matches!(baseline, Baseline::NormalisedConformal | Baseline::Cqr | Baseline::RefitConformal)
            }
        }
    }

    fn intervals(
        self,
        rows: &RegressionRows<'_>,
        new: &RegressionInputs<'_>,
        level: Level,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<Intervals> {
        let baseline = match self {
            Method::Post(kind) => {
                let settings = PostStoNetRegressor { kind, level, ..PostStoNetRegressor::default() };
                // Eve's law has no place for the network's own uncertainty.
                let (rows, new) = match kind {
                    Kind::Paper | Kind::Cv => (rows.without_own(), new.without_own()),
                    _ => (*rows, *new),
                };
                return Ok(settings.fit(&rows, seed, tick)?.intervals(&new, level, Side::Both)?);
            }
            Method::Baseline(baseline) => baseline,
        };
        let fitted: Box<dyn FittedBaseline> = match baseline {
            Baseline::SplitConformal => Box::new(SplitConformal.fit(rows, seed, tick)?),
            Baseline::NormalisedConformal => Box::new(Normalised::default().fit(rows, seed, tick)?),
            Baseline::Cqr => Box::new(Cqr::default().fit(rows, level, seed, tick)?),
            Baseline::CqrOwn => Box::new(OwnQuantiles.fit(rows, seed, tick)?),
            Baseline::NormalisedOwn => Box::new(OwnSd.fit(rows, seed, tick)?),
            Baseline::RefitConformal => Box::new(NetworkRefit::default().fit(rows, seed, tick)?),
            Baseline::PostLinear => Box::new(PostLinear::default().fit(rows, seed, tick)?),
            Baseline::Laplace => Box::new(Laplace.fit(rows, seed, tick)?),
        };
        Ok(fitted.intervals(new, level)?)
    }
}

impl FromStr for Method {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Method::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| Error::Unknown {
            what: "method",
            name: name.to_owned(),
            known: Method::ALL.map(Method::name).join(", "),
        })
    }
}

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
    /// Coverage by fifths of the length, ascending; records of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_width: Option<[f64; 5]>,
    /// Coverage by fifths of the prediction, ascending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_prediction: Option<[f64; 5]>,
}

/// Standard error of the mean over rows, each the mean of its targets; none for a single row or infinite values.
fn row_error(values: &Array2<f64>) -> Option<f64> {
    let rows = values.mean_axis(Axis(1))?.to_vec();
    Some(mean_sd(&rows).1 / (rows.len() as f64).sqrt()).filter(|se| rows.len() > 1 && se.is_finite())
}

/// Every method; those that [see further columns](Method::sees_further_columns) on the inputs too where `also` says so.
pub(super) fn all(
    prepared: &Prepared,
    also: bool,
    level: Level,
    seed: Seed,
    tick: Ticker<'_>,
) -> Result<BTreeMap<String, Judged>> {
    let Prepared { calibration, test, .. } = prepared;
    let joined = also.then(|| [calibration.joined(), test.joined()]);
    let one = |(i, m): (usize, Method)| {
        let [fit, new] = match joined.as_ref().filter(|_| m.sees_further_columns()) {
            Some(joined) => joined.each_ref(),
            None => [&calibration.features, &test.features],
        };
        let judged = Test { new: test.new_rows(new)?, y: test.y.view() };
        Ok((m.name().to_owned(), judge(m, &calibration.calibration(fit)?, judged, level, seed.child(i as u64), tick)?))
    };
    // The networks of a benchmark say nothing about their own uncertainty.
    Method::ALL.into_iter().enumerate().filter(|(_, m)| m.own().is_none()).map(one).collect()
}

/// Rows to judge on.
#[derive(Clone, Copy)]
pub(super) struct Test<'a> {
    pub new: RegressionInputs<'a>,
    pub y: ArrayView2<'a, f64>,
}

/// One method, fitted and judged.
pub(super) fn judge(
    method: Method,
    rows: &RegressionRows<'_>,
    test: Test<'_>,
    level: Level,
    seed: Seed,
    tick: Ticker<'_>,
) -> Result<Judged> {
    let begin = Instant::now();
    let intervals = method.intervals(rows, &test.new, level, seed, tick)?;
    let seconds = begin.elapsed().as_secs_f64();
    let lengths = &intervals.upper - &intervals.lower;
    let by_width = coverage_in_fifths(&intervals, test.y, lengths.view())?;
    let by_prediction = coverage_in_fifths(&intervals, test.y, intervals.prediction.view())?;
    Ok(Judged {
        coverage: coverage(&intervals, test.y)?,
        mean_length: mean_length(&intervals),
        median_length: median_length(&intervals),
        winkler: winkler(&intervals, test.y)?,
        narrowest: by_width[0],
        widest: by_width[4],
        seconds,
        mean_length_se: row_error(&lengths),
        winkler_se: row_error(&winkler_scores(&intervals, test.y)?),
        by_width: Some(by_width),
        by_prediction: Some(by_prediction),
    })
}
