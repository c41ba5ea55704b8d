//! Features on standard scale, new ones kept near those of the fit.

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};

use crate::data::{check_finite, is_constant};
use crate::{Error, Result, Standardizer};

/// Standardises, and clips to the range of the rows it was fitted on, widened by one standard deviation. A column that was
/// constant there stays zero.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Features {
    standardizer: Standardizer,
    low: Array1<f64>,
    high: Array1<f64>,
}

impl Features {
    /// The scale of these rows, and the rows on it.
    pub(super) fn fit(x: ArrayView2<'_, f64>) -> Result<(Self, Array2<f64>)> {
        if x.ncols() == 0 {
            return Err(Error::shape("feature columns (at least)", 1, 0));
        }
        let standardizer = Standardizer::fit(x);
        let z = standardizer.apply(x)?;
        // Finite features can still overflow their own mean or variance.
        check_finite("standardised features", z.view())?;
        let end = |column: usize, start: f64, pick: fn(f64, f64) -> f64, margin: f64| {
            if is_constant(x.column(column)) { 0.0 } else { z.column(column).fold(start, |a, &v| pick(a, v)) + margin }
        };
        let low = (0..x.ncols()).map(|c| end(c, f64::INFINITY, f64::min, -1.0)).collect();
        let high = (0..x.ncols()).map(|c| end(c, f64::NEG_INFINITY, f64::max, 1.0)).collect();
        let features = Features { standardizer, low, high };
        let z = features.clip(z);
        Ok((features, z))
    }

    /// New rows on the scale of the fit.
    pub(super) fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(self.clip(self.standardizer.apply(x)?))
    }

    fn clip(&self, mut z: Array2<f64>) -> Array2<f64> {
        for ((column, &low), &high) in z.axis_iter_mut(Axis(1)).zip(&self.low).zip(&self.high) {
            Zip::from(column).for_each(|v| *v = v.max(low).min(high));
        }
        z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn new_rows_are_clipped_one_deviation_beyond_the_old_and_constants_stay_zero() {
        let (features, z) = Features::fit(array![[1.0, 7.1], [3.0, 7.1]].view()).unwrap();
        assert_eq!(z, array![[-1.0, 0.0], [1.0, 0.0]]);
        let new = features.apply(array![[2.5, 9.0], [1e300, -9.0], [-50.0, 7.1]].view()).unwrap();
        assert_eq!(new, array![[0.5, 0.0], [2.0, 0.0], [-2.0, 0.0]]);
        assert!(features.apply(array![[1.0]].view()).is_err());
        assert!(Features::fit(Array2::zeros((3, 0)).view()).is_err());
        assert!(Features::fit(array![[1e308], [1.7e308], [1.7e308]].view()).is_err());
    }
}
