//! The scale of columns, and the range of the rows it was learned on.

use ndarray::{Array1, Array2, ArrayView2, Zip};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::rows::Standardizer;
use crate::rows::dataset::is_constant_range;

/// (x − centre) · scale of a column, kept within two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    /// The column.
    pub column: usize,
    /// Subtracted first.
    pub centre: f64,
    /// Multiplied next.
    pub scale: f64,
    /// The least result.
    pub low: f64,
    /// The greatest result.
    pub high: f64,
}

impl Clamp {
    /// A column as it is, within two ends.
    pub(crate) fn within(column: usize, low: f64, high: f64) -> Self {
        Clamp { column, centre: 0.0, scale: 1.0, low, high }
    }
}

/// Standard scale and the range of the rows it was learned on: new rows are clipped one standard deviation beyond, so
/// that a feature that hardly varied among them cannot send a prediction far away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    pub(crate) scale: Standardizer,
    low: Array1<f64>,
    high: Array1<f64>,
}

impl Clip {
    pub(crate) fn fit(x: ArrayView2<'_, f64>, rows: &[usize]) -> Result<Self> {
        let (scale, low, high) = Standardizer::fit_rows(x, rows);
        Clip::new(scale, low, high)
    }

    /// From the scale and the ends of the columns.
    fn new(scale: Standardizer, mut low: Array1<f64>, mut high: Array1<f64>) -> Result<Self> {
        Zip::from(&mut low).and(&mut high).and(scale.mean()).and(scale.sd()).for_each(|l, h, m, s| {
            // A column that was constant says nothing, whatever it is later.
            (*l, *h) = if is_constant_range(*l, *h) { (0.0, 0.0) } else { ((*l - m) / s - 1.0, (*h - m) / s + 1.0) };
        });
        let clip = Clip { scale, low, high };
        // Finite features can still overflow their own mean or variance.
        if clip.sound() {
            Ok(clip)
        } else {
            Err(Error::Inconsistent { what: "features are too large to be standardised; rescale them" })
        }
    }

    /// What it does to a column, as an operation of a plan.
    pub(crate) fn clamp(&self, column: usize) -> Clamp {
        let (centre, scale) = (self.scale.mean()[column], 1.0 / self.scale.sd()[column]);
        Clamp { column, centre, scale, low: self.low[column], high: self.high[column] }
    }

    /// The columns of two scales, one after the other.
    pub(super) fn beside(&self, other: &Clip) -> Self {
        let both = |a: &Array1<f64>, b: &Array1<f64>| a.iter().chain(b).copied().collect::<Array1<f64>>();
        let scale = self.scale.beside(&other.scale);
        Clip { scale, low: both(&self.low, &other.low), high: both(&self.high, &other.high) }
    }

    /// How many columns it is for.
    pub fn columns(&self) -> usize {
        self.low.len()
    }

    /// The least value of each column on standard scale.
    pub fn low(&self) -> &Array1<f64> {
        &self.low
    }

    /// The greatest.
    pub fn high(&self) -> &Array1<f64> {
        &self.high
    }

    /// Standardised and clipped.
    pub(crate) fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut z = self.scale.apply(x)?;
        for mut row in z.outer_iter_mut() {
            Zip::from(&mut row).and(&self.low).and(&self.high).for_each(|z, &l, &h| *z = z.clamp(l, h));
        }
        Ok(z)
    }

    /// Whether its parts have one length and are in order, as they are unless a file says otherwise.
    pub(crate) fn sound(&self) -> bool {
        let numbers = self.scale.mean().iter().chain(self.scale.sd()).chain(&self.low).chain(&self.high);
        self.scale.columns() == self.low.len()
            && self.low.len() == self.high.len()
            && numbers.into_iter().all(|v| v.is_finite())
            && self.low.iter().zip(&self.high).all(|(l, h)| l <= h)
    }
}
