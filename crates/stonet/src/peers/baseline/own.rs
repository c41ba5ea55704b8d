//! The network's own uncertainty, conformalised: quantiles moved apart by a constant, and multiples of a standard
//! deviation.

use ndarray::{Array1, ArrayView1, Axis, Zip};
use serde::{Deserialize, Serialize};

use super::cqr::{misses, moved};
use super::halves::Judge;
use super::{FittedBaseline, prediction, single, symmetric};
use crate::base::{Error, Result, Seed, Ticker, Work};
use crate::rows::dataset::check_results;
use crate::rows::own::Own;
use crate::rows::{Intervals, Level, OwnKind, RegressionInputs, RegressionRows};

const NAME: &str = "split conformal in units of the network's standard deviation";

/// \[q_lo(x) − Q, q_hi(x) + Q\] of the network's own quantiles, where Q is the conformal quantile of max(q_lo − y, y − q_hi).
///
/// All rows judge, and nothing is random. The quantiles may be of any two levels; they are not those of the interval,
/// but the nearer they are, the more even is its coverage. Quantiles that cross count in the other order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnQuantiles;

/// Scores of the calibration rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedOwnQuantiles {
    judge: Judge,
}

/// d ± sd(x) · the conformal quantile of |y − d| / sd(x), with the network's own standard deviation.
///
/// All rows judge, and nothing is random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnSd;

/// Scores of the calibration rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedOwnSd {
    judge: Judge,
}

/// The quantiles in order.
fn quantiles(own: Option<Own<ArrayView1<'_, f64>>>) -> Result<(Array1<f64>, Array1<f64>)> {
    let Some(Own::Quantiles([lower, upper])) = own else {
        return Err(Error::NoOwn { what: OwnKind::Quantiles.names()[0] });
    };
    let low = Zip::from(&lower).and(&upper).map_collect(|a: &f64, b| a.min(*b));
    let high = Zip::from(&lower).and(&upper).map_collect(|a: &f64, b| a.max(*b));
    Ok((low, high))
}

fn sd<'a>(own: Option<Own<ArrayView1<'a, f64>>>) -> Result<ArrayView1<'a, f64>> {
    match own {
        Some(Own::Sd([sd])) => Ok(sd),
        _ => Err(Error::NoOwn { what: OwnKind::Sd.names()[0] }),
    }
}

/// The only target's columns.
fn only<'a>(rows: &RegressionInputs<'a>) -> Result<Option<Own<ArrayView1<'a, f64>>>> {
    match rows.own().iter().map(|a| a.ncols()).find(|&columns| columns != 1) {
        Some(found) => Err(Error::shape("columns of the network's own uncertainty", 1, found)),
        None => Ok(rows.own.map(|own| own.output(0))),
    }
}

fn judge(scores: &Array1<f64>, groups: Option<&[usize]>) -> Result<Judge> {
    check_results("the score", scores.view().insert_axis(Axis(1)))?;
    Ok(Judge::new(scores.to_vec(), groups))
}

impl OwnQuantiles {
    /// Keeps the scores. The seed is there for the likeness of all baselines; `tick` cancels the fit by returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, _seed: Seed, tick: Ticker<'_>) -> Result<FittedOwnQuantiles> {
        let work = Work::new(1, "fits", tick);
        let rows = single(rows)?;
        let (low, high) = quantiles(rows.own)?;
        work.advance()?;
        Ok(FittedOwnQuantiles { judge: judge(&misses(rows.y, &low, &high), rows.groups)? })
    }
}

impl FittedBaseline for FittedOwnQuantiles {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let (low, high) = quantiles(only(rows)?)?;
        Ok(moved(&low, &high, self.judge.quantile(level), level))
    }
}

impl OwnSd {
    /// Keeps the scores. The seed is there for the likeness of all baselines; `tick` cancels the fit by returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, _seed: Seed, tick: Ticker<'_>) -> Result<FittedOwnSd> {
        let work = Work::new(1, "fits", tick);
        let rows = single(rows)?;
        let d = rows.prediction.ok_or(Error::NoPrediction { what: NAME })?;
        let scores = (&rows.y - &d).mapv(f64::abs) / sd(rows.own)?;
        work.advance()?;
        Ok(FittedOwnSd { judge: judge(&scores, rows.groups)? })
    }
}

impl FittedBaseline for FittedOwnSd {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let half_width = &sd(only(rows)?)? * self.judge.quantile(level);
        Ok(symmetric(prediction(rows, NAME)?.to_owned(), &half_width, level))
    }
}
