//! Products of the leading principal components of features: what a quadratic regression looks at beside the features.

use ndarray::{Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::basis::{Basis, Rows};
use super::{Clip, blocks};
use crate::base::{Error, Result};
use crate::linalg::dense::matmul;

/// Components that are multiplied with each other.
const MOST: usize = 8;

/// The leading principal components of standardised and clipped features, of variance one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Components {
    clip: Clip,
    /// One row per component.
    weights: Array2<f64>,
}

impl Components {
    /// The components of rows whose basis is known; none where there is no basis.
    pub(super) fn of(basis: Option<&Basis>, rows: &Rows<'_>) -> Result<Self> {
        let none = Array2::zeros((0, rows.clip.columns()));
        let weights = basis.map_or(Ok(none), |basis| basis.leading(rows, MOST))?;
        Ok(Components { clip: rows.clip.clone(), weights })
    }

    /// The scale of the features.
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// What each component takes of the features on that scale, one row per component.
    pub fn weights(&self) -> &Array2<f64> {
        &self.weights
    }

    /// How many products P_a P_b with a ≤ b there are.
    pub(crate) fn products(&self) -> usize {
        let c = self.weights.nrows();
        c * (c + 1) / 2
    }

    /// P_a P_b, with b ≥ a running first.
    pub(crate) fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let p = matmul(self.clip.apply(x)?.view(), self.weights.t());
        let mut out = Array2::zeros((x.nrows(), self.products()));
        for (mut to, from) in out.outer_iter_mut().zip(p.outer_iter()) {
            let products = (0..from.len()).flat_map(|a| (a..from.len()).map(move |b| (a, b)));
            to.iter_mut().zip(products).for_each(|(to, (a, b))| *to = from[a] * from[b]);
        }
        Ok(out)
    }

    /// The same of some rows, block by block.
    pub(crate) fn products_of(&self, x: ArrayView2<'_, f64>, rows: &[usize]) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((rows.len(), self.products()));
        for part in blocks(rows.len()) {
            let products = self.apply(x.select(Axis(0), &rows[part.clone()]).view())?;
            out.slice_mut(s![part, ..]).assign(&products);
        }
        Ok(out)
    }

    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        let numbers = self.weights.iter().all(|w| w.is_finite());
        if numbers && self.clip.sound() && self.clip.columns() == columns && self.weights.ncols() == columns {
            return Ok(());
        }
        Err(Error::Inconsistent { what: "principal components do not belong to the features" })
    }
}
