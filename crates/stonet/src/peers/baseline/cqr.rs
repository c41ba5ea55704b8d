//! Conformalised quantile regression (Romano, Patterson & Candès 2019): two conditional quantiles, moved apart by what
//! they miss.

use ndarray::{Array1, ArrayView1, ArrayView2, Zip};
use serde::{Deserialize, Serialize};

use super::halves::{Judge, halves};
use super::small_network::{ScaledNetwork, SmallNetwork};
use super::{FittedBaseline, intervals, single};
use crate::base::streams::baseline as streams;
use crate::base::{Error, Result, Seed, Ticker};
use crate::peers::mlp::Loss;
use crate::rows::{Intervals, Level, RegressionInputs, RegressionRows};

/// \[q_lo(x) − Q, q_hi(x) + Q\], where Q is the conformal quantile of max(q_lo − y, y − q_hi).
///
/// A small network learns the quantiles α/2 and 1 − α/2 on half of the rows, so the level is part of the fit. The
/// network's own predictions are not used; the point prediction is the middle of the two quantiles.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cqr {
    /// The network, trained by the pinball loss.
    pub network: SmallNetwork,
}

/// The quantile network and the scores of the rows that judge, for one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedCqr {
    network: ScaledNetwork,
    judge: Judge,
    level: Level,
}

impl Cqr {
    /// Learns the quantiles of this level on a random half of the rows. `tick` follows the epochs of the network and
    /// cancels the fit by returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, level: Level, seed: Seed, tick: Ticker<'_>) -> Result<FittedCqr> {
        let (fit, judge) = halves(&single(rows)?, seed.child(streams::HALVES))?;
        let tail = 0.5 * (1.0 - level.get());
        let loss = Loss::Pinball { levels: vec![tail, 1.0 - tail] };
        let network = self.network.fit(loss, fit.features.view(), fit.y.view(), seed.child(streams::FIT), tick)?;
        let (low, high) = quantiles(&network, judge.features.view())?;
        let scores = misses(judge.y.view(), &low, &high);
        Ok(FittedCqr { network, judge: judge.judge(scores)?, level })
    }
}

impl FittedCqr {
    /// The level of the fit, the only one it has intervals for.
    pub fn level(&self) -> Level {
        self.level
    }
}

impl FittedBaseline for FittedCqr {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let ok = level == self.level;
        Error::check(
            ok,
            "level",
            level.get(),
            "the level of the fit: quantile networks are of one level; fit another",
        )?;
        let (low, high) = quantiles(&self.network, rows.features)?;
        Ok(moved(&low, &high, self.judge.quantile(level), level))
    }
}

/// How far each value lies outside of its quantiles; negative inside.
pub(super) fn misses(y: ArrayView1<'_, f64>, low: &Array1<f64>, high: &Array1<f64>) -> Array1<f64> {
    Zip::from(y).and(low).and(high).map_collect(|y, l, h| (l - y).max(y - h))
}

/// Quantiles moved apart by a constant.
pub(super) fn moved(low: &Array1<f64>, high: &Array1<f64>, shift: f64, level: Level) -> Intervals {
    let middle = 0.5 * (low + high);
    // A shift inwards by more than half the distance leaves no interval; a point covers no less than that.
    let lower = Zip::from(low).and(&middle).map_collect(|l, m| (l - shift).min(*m));
    let upper = Zip::from(high).and(&middle).map_collect(|h, m| (h + shift).max(*m));
    intervals(middle, lower, upper, level)
}

/// The two outputs in order: nothing keeps a network's quantiles from crossing.
fn quantiles(network: &ScaledNetwork, x: ArrayView2<'_, f64>) -> Result<(Array1<f64>, Array1<f64>)> {
    let q = network.predict(x)?;
    let (low, high): (Vec<f64>, Vec<f64>) = q.outer_iter().map(|q| (q[0].min(q[1]), q[0].max(q[1]))).unzip();
    Ok((low.into(), high.into()))
}
