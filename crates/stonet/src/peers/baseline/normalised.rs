//! Normalised split conformal: the network's errors are judged in units of a scale that is learned from the features.

use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::halves::{Judge, halves};
use super::{FittedBaseline, prediction, single, symmetric};
use crate::base::Work;
use crate::base::{Error, Result, Seed, Ticker};
use crate::rows::{Intervals, Level, RegressionInputs, RegressionRows};
use crate::sparse::ridge::Ridge;

const NAME: &str = "normalised split conformal";

/// d ± s(x) · the conformal quantile of |y − d| / s(x) (Papadopoulos, Gammerman & Vovk 2008).
///
/// On one half of the rows log(|y − d| + `offset` · median) is regressed on the features by ridge; s is the exponential
/// of that, clipped to the range of its fitted values from the quantile `floor` upwards. The other half judges.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `penalties` | .01 .03 .1 .3 1 3 10 ∞ | of the ridge, per row; the best by leave-one-out is taken | > 0, at least one |
/// | `offset` | 0.1 | keeps the logarithm of small errors from running away | > 0 |
/// | `floor` | 0.02 | lower quantile at which the scale is clipped | \[0, 1) |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Normalised {
    /// Penalties of the ridge, per row.
    pub penalties: Vec<f64>,
    /// What is added to an error, in units of the median error.
    pub offset: f64,
    /// The scale is not below this quantile of its fitted values.
    pub floor: f64,
}

impl Default for Normalised {
    fn default() -> Self {
        let penalties = vec![0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, f64::INFINITY];
        Normalised { penalties, offset: 0.1, floor: 0.02 }
    }
}

/// The scale and the scores of the rows that judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedNormalised {
    scale: Scale,
    judge: Judge,
}

impl Normalised {
    /// Learns the scale on a random half of the rows, and the scores on the other; `tick` cancels the fit by returning
    /// false.
    pub fn fit(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedNormalised> {
        let work = Work::new(1, "fits", tick);
        self.validate()?;
        let rows = single(rows)?;
        let d = rows.prediction.ok_or(Error::NoPrediction { what: NAME })?;
        let error = (&rows.y - &d).mapv(f64::abs);
        // The network's errors take the place of the targets: both halves need nothing else.
        let (fit, judge) = halves(&crate::rows::regression::Single { y: error.view(), ..rows }, seed)?;
        let scale = Scale::fit(self, fit.features.view(), &fit.y, &work)?;
        work.advance()?;
        let scores = &judge.y / &scale.at(judge.features.view())?;
        Ok(FittedNormalised { scale, judge: judge.judge(scores)? })
    }

    fn validate(&self) -> Result<()> {
        let positive = !self.penalties.is_empty() && self.penalties.iter().all(|&p| p > 0.0);
        Error::check(positive, "penalties", &self.penalties, "positive, at least one")?;
        Error::check(self.offset > 0.0 && self.offset.is_finite(), "offset", self.offset, "positive and finite")?;
        Error::check((0.0..1.0).contains(&self.floor), "floor", self.floor, "at least 0, below 1")
    }
}

impl FittedNormalised {
    /// s(x), one per row: how large the network's error is expected to be, up to a constant.
    pub fn scale(&self, rows: &RegressionInputs<'_>) -> Result<Array1<f64>> {
        self.scale.at(rows.features)
    }
}

impl FittedBaseline for FittedNormalised {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let d = prediction(rows, NAME)?.to_owned();
        let half_width = self.scale(rows)? * self.judge.quantile(level);
        Ok(symmetric(d, &half_width, level))
    }
}

/// s(x) = exp(b + wᵀz), clipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Scale {
    log: Ridge,
    low: f64,
    high: f64,
}

impl Scale {
    fn fit(settings: &Normalised, x: ArrayView2<'_, f64>, error: &Array1<f64>, work: &Work<'_>) -> Result<Self> {
        if x.ncols() == 0 {
            return Err(Error::shape("feature columns (at least)", 1, 0));
        }
        let offset = settings.offset * typical(error);
        let rows: Vec<usize> = (0..error.len()).collect();
        let log = error.mapv(|r| (r + offset).ln());
        let log = Ridge::fit(x, &rows, log.view(), &settings.penalties, work)?;
        let mut fitted = log.predict(x)?.to_vec();
        fitted.sort_by(f64::total_cmp);
        let last = fitted.len() - 1;
        let low = fitted[(settings.floor * last as f64) as usize];
        Ok(Scale { log, low, high: fitted[last] })
    }

    fn at(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        // A scale of zero would make an infinite half-width NaN.
        let scale = |log: f64| log.max(self.low).min(self.high).exp().max(f64::MIN_POSITIVE);
        Ok(self.log.predict(x)?.mapv(scale))
    }
}

/// The median error; the mean where most rows are exact, and 1 where all are.
fn typical(error: &Array1<f64>) -> f64 {
    let mut sorted = error.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    let mean = error.sum() / n as f64;
    [median, mean].into_iter().find(|&v| v > 0.0).unwrap_or(1.0)
}
