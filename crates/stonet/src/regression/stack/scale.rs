//! The learned scale of residuals: where a prediction should be trusted less.
//!
//! log s by the Laplace likelihood of residuals, linear in the features, the prediction and its square, how far the
//! prediction is from the network's, the logarithm of the network's own width, and products of components of the
//! features. The coefficient of the own width is drawn to 0 or to 1, whichever predicts left-out rows better: at 1 and
//! with a strong penalty the scale is the network's own. Fitted values are kept within what the rows it was learned on
//! had.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::own::OwnWidth;
use crate::base::Work;
use crate::base::{Error, Result};
use crate::rows::dataset::{ends, is_far, target_mean};
use crate::rows::own::Own;
use crate::sparse::ridge::{Beside, Components, LogScale, Ridge, Spectrum};

/// Penalties per row; ∞ makes the scale a constant.
const GRID: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, f64::INFINITY];
/// The share of the smallest fitted values that is cut off.
const LOW_SHARE: f64 = 0.02;

/// A scale s(x) > 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleModel {
    /// s = 1.
    Constant,
    /// s = exp(fit), clipped.
    Learned {
        /// log s on the features, the stack's prediction m, m², log(|m − d| + offset) where the network's prediction d
        /// is known, and the logarithm of its own width where that is known.
        ridge: Box<Ridge>,
        /// Keeps the logarithm finite.
        offset: f64,
        /// The least log s.
        low: f64,
        /// The greatest.
        high: f64,
        /// Whether d is looked at.
        network: bool,
        /// Taken from m before it is squared: 0 unless m lies so far from zero that the square would lose its digits.
        #[serde(default, skip_serializing_if = "is_zero")]
        centre: f64,
        /// Products of these stand behind the other columns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        components: Option<Box<Components>>,
        /// The network's own width, where it is looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own: Option<OwnWidth>,
    },
}

fn is_zero(v: &f64) -> bool {
    *v == 0.0
}

/// What a scale looks at beside the features: the stack's prediction, the network's, and log w of the network.
#[derive(Clone, Copy)]
struct At<'a> {
    prediction: ArrayView1<'a, f64>,
    network: Option<ArrayView1<'a, f64>>,
    width: Option<ArrayView1<'a, f64>>,
}

/// Rows to learn from: `rows[i]` of the features goes with the i-th prediction; no features are copied beside a block.
#[derive(Clone, Copy)]
pub(crate) struct Learned<'a> {
    pub features: ArrayView2<'a, f64>,
    pub rows: &'a [usize],
    pub prediction: ArrayView1<'a, f64>,
    pub network: Option<ArrayView1<'a, f64>>,
    /// The network's own uncertainty.
    pub own: Option<Own<ArrayView1<'a, f64>>>,
    /// Of the features at these rows; products of its components are looked at too.
    pub spectrum: &'a Spectrum,
}

impl ScaleModel {
    /// Learns from residuals at these rows, and says what log s is at each of them by a fit without it; where the
    /// residuals are all but zero the scale is a constant.
    pub(crate) fn learn(
        on: Learned<'_>,
        residual: ArrayView1<'_, f64>,
        work: &Work<'_>,
    ) -> Result<(Self, Array1<f64>)> {
        let mut sizes: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let offset = 0.1 * sizes[sizes.len() / 2];
        if offset <= 0.0 || !offset.is_normal() {
            return Ok((ScaleModel::Constant, Array1::zeros(residual.len())));
        }
        let (least, most) = ends(on.prediction);
        let centre = if is_far(least, most) { target_mean(on.prediction) } else { 0.0 };
        let own = on.own.as_ref().and_then(OwnWidth::fit);
        let width = own.as_ref().zip(on.own.as_ref()).map(|(width, own)| width.log(own));
        let at = At { prediction: on.prediction, network: on.network, width: width.as_ref().map(|w| w.view()) };
        let columns = beside(at, offset, centre);
        let products = on.spectrum.components().products_of(on.features, on.rows)?;
        let beside = Beside::new(concatenate![Axis(1), columns, products].view())?;
        let sizes = residual.mapv(f64::abs);
        let known = width.as_ref().map(|w| (2 + usize::from(on.network.is_some()), w.view()));
        let LogScale { ridge, fitted, left_out } =
            LogScale::fit(on.spectrum, (on.features, on.rows), &beside, sizes.view(), known, &GRID, work)?;
        let mut fitted = fitted.to_vec();
        fitted.sort_by(f64::total_cmp);
        let low = fitted[(LOW_SHARE * (fitted.len() - 1) as f64) as usize];
        let (high, network) = (fitted[fitted.len() - 1], on.network.is_some());
        let components = Some(Box::new(on.spectrum.components().clone()));
        let left_out = left_out.mapv(|l| l.clamp(low, high));
        let ridge = Box::new(ridge);
        Ok((ScaleModel::Learned { ridge, offset, low, high, network, centre, components, own }, left_out))
    }

    /// The network's own width, where it is looked at.
    pub(crate) fn own(&self) -> Option<&OwnWidth> {
        match self {
            ScaleModel::Learned { own, .. } => own.as_ref(),
            ScaleModel::Constant => None,
        }
    }

    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        let ScaleModel::Learned { ridge, offset, low, high, network, centre, components, own } = self else {
            return Ok(());
        };
        if !(offset.is_finite() && centre.is_finite() && low.is_finite() && high.is_finite() && low <= high) {
            return Err(Error::Inconsistent { what: "a learned scale has ends that are out of order" });
        }
        components.as_ref().map_or(Ok(()), |c| c.check(columns))?;
        own.as_ref().map_or(Ok(()), OwnWidth::check)?;
        let beside = 2 + usize::from(*network) + usize::from(own.is_some());
        ridge.check(columns + beside + components.as_ref().map_or(0, |c| c.products()))
    }
}

/// The columns beside the features, without products of components.
fn beside(at: At<'_>, offset: f64, centre: f64) -> Array2<f64> {
    let from_centre = at.prediction.mapv(|m| m - centre);
    let mut columns = vec![from_centre.clone(), from_centre.mapv(|m| m * m)];
    columns.extend(at.network.map(|d| (&at.prediction - &d).mapv(|e| (e.abs() + offset).ln())));
    columns.extend(at.width.map(|w| w.to_owned()));
    let views: Vec<ArrayView1<'_, f64>> = columns.iter().map(|c| c.view()).collect();
    ndarray::stack(Axis(1), &views).expect("columns of one length")
}
