//! What post-StoNet intervals are compared with: other ways from the same calibration rows to prediction intervals.
//!
//! | baseline | point prediction | half-width | rows |
//! |---|---|---|---|
//! | [`SplitConformal`] | the network's | a constant | all judge |
//! | [`Normalised`] | the network's | grows with a regression of its errors on the features | half and half |
//! | [`Cqr`] | middle of two conditional quantiles | as far apart as the quantiles, moved by a constant | half and half |
//! | [`OwnQuantiles`] | middle of the network's own quantiles | as far apart as they are, moved by a constant | all judge |
//! | [`OwnSd`] | the network's | a multiple of its own standard deviation | all judge |
//! | [`PostLinear`] | a Lasso on the features | a constant | half and half |
//! | [`NetworkRefit`] | a small network on the features | a constant | half and half |
//! | [`Laplace`] | Bayesian regression on the features | Gaussian, from the posterior | all fit |
//!
//! All but the last are split conformal: for exchangeable rows that the network was not trained on they cover with
//! probability 1 − α to 1 − α + 1/(m + 1), m being the number of rows that judge; where m is below
//! [`rows_needed`](crate::conformal::rows_needed) they are infinite. Rows of a
//! [group](crate::rows::RegressionRows::with_groups) stay in one half and weigh one together; the probability is then
//! that of a random row of a new group.
//!
//! A baseline takes one target. Features are standardised on the rows that fit, and new ones are clipped to the range
//! of those rows widened by one standard deviation, so that a column that hardly varies there can do no harm.
//!
//! ```
//! use ndarray::Array2;
//! use stonet::peers::baseline::{FittedBaseline, SplitConformal};
//! use stonet::{RegressionRows, Level, RegressionInputs, Seed};
//! let features = Array2::zeros((19, 1));
//! let prediction = Array2::zeros((19, 1));
//! let y = Array2::from_shape_fn((19, 1), |(i, _)| i as f64);
//! let rows = RegressionRows::new(features.view(), y.view())?.with_prediction(prediction.view())?;
//! let fitted = SplitConformal.fit(&rows, Seed::new(1), &|_done, _total| true)?;
//! let new = RegressionInputs::new(features.view())?.with_prediction(prediction.view())?;
//! assert_eq!(fitted.intervals(&new, Level::new(0.9)?)?.upper[[0, 0]], 17.0);
//! # Ok::<(), stonet::Error>(())
//! ```

mod cqr;
mod halves;
mod laplace;
mod method;
mod normalised;
mod own;
mod post_linear;
mod refit;
mod small_network;
mod spectrum;
mod split_conformal;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

pub use cqr::{Cqr, FittedCqr};
pub use laplace::{FittedLaplace, Laplace};
pub use method::Baseline;
pub use normalised::{FittedNormalised, Normalised};
pub use own::{FittedOwnQuantiles, FittedOwnSd, OwnQuantiles, OwnSd};
pub use post_linear::{FittedPostLinear, PostLinear};
pub use refit::{FittedRefit, NetworkRefit};
pub use small_network::SmallNetwork;
pub use split_conformal::{FittedSplitConformal, SplitConformal};

use crate::base::{Error, Result};
use crate::rows::dataset::whole_tiles;
use crate::rows::regression::Single;
use crate::rows::{Intervals, Level, RegressionInputs, RegressionRows, Side};
use crate::sparse::ridge::Clip;

/// A baseline after fitting: all that prediction needs, without the rows it was fitted on.
pub trait FittedBaseline {
    /// Intervals at the level, one per row; the interval of a row does not depend on the other rows, bit by bit.
    fn intervals(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        let n = rows.features.nrows();
        let (x, d) = (whole_tiles(rows.features, 0..n), rows.prediction.map(|d| whole_tiles(d, 0..n)));
        let own = rows.own.map(|own| own.map(|a| whole_tiles(*a, 0..n)));
        let (prediction, own) = (d.as_ref().map(|d| d.view()), own.as_ref().map(|own| own.view()));
        let tiles = RegressionInputs { features: x.view(), prediction, own, within: None, conditional: None };
        let all = self.of_tiles(&tiles, level)?;
        let cut = |a: &Array2<f64>| a.slice(s![..n, ..]).to_owned();
        let intervals =
            Intervals { prediction: cut(&all.prediction), lower: cut(&all.lower), upper: cut(&all.upper), level };
        intervals.check(self.is_bounded(level), Side::Both)?;
        Ok(intervals)
    }

    /// Intervals of rows that come in whole tiles.
    #[doc(hidden)]
    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals>;

    /// Whether there are enough rows for finite intervals at this level.
    #[doc(hidden)]
    fn is_bounded(&self, level: Level) -> bool;
}

/// The rows with their only target.
fn single<'a>(rows: &RegressionRows<'a>) -> Result<Single<'a>> {
    rows.check_magnitudes()?;
    match rows.y().ncols() {
        1 => Ok(rows.output(0)),
        found => Err(Error::shape("target columns of a baseline (fit one per target)", 1, found)),
    }
}

/// The scale of these rows, and the rows on it; there must be columns.
fn standardise(x: ArrayView2<'_, f64>) -> Result<(Clip, Array2<f64>)> {
    if x.ncols() == 0 {
        return Err(Error::shape("feature columns (at least)", 1, 0));
    }
    let clip = Clip::fit(x, &(0..x.nrows()).collect::<Vec<_>>())?;
    let z = clip.apply(x)?;
    Ok((clip, z))
}

/// The network's predictions for the only target.
fn prediction<'a>(rows: &RegressionInputs<'a>, what: &'static str) -> Result<ArrayView1<'a, f64>> {
    let all = rows.prediction.ok_or(Error::NoPrediction { what })?;
    match all.ncols() {
        1 => Ok(all.index_axis_move(Axis(1), 0)),
        found => Err(Error::shape("columns of the predictions", 1, found)),
    }
}

/// Intervals of one output.
fn intervals(prediction: Array1<f64>, lower: Array1<f64>, upper: Array1<f64>, level: Level) -> Intervals {
    let [prediction, lower, upper] = [prediction, lower, upper].map(|a| a.insert_axis(Axis(1)));
    Intervals { prediction, lower, upper, level }
}

/// prediction ± half_width.
fn symmetric(prediction: Array1<f64>, half_width: &Array1<f64>, level: Level) -> Intervals {
    let (lower, upper) = (&prediction - half_width, &prediction + half_width);
    intervals(prediction, lower, upper, level)
}

/// prediction ± half_width, the same for all.
fn constant(prediction: Array1<f64>, half_width: f64, level: Level) -> Intervals {
    let half_width = Array1::from_elem(prediction.len(), half_width);
    symmetric(prediction, &half_width, level)
}
