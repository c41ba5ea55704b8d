//! Var(ŵ) of a neuron after selection: least squares on the support with intercept (Lasso+OLS), or its modified form
//! that drops directions of small singular value (Lasso+mLS, Liu & Yu 2013).
//!
//! With centred columns the intercept separates: (1, a)ᵀ (X̃ᵀX̃)⁻¹ (1, a) = 1/n + (a − m)ᵀ C (a − m), where C is the
//! inverse of the centred Gram matrix. C is all that is kept.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::linalg::dense::{matmul, symmetric_eigen};

/// How Var(ŵ) is computed on the support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Refit {
    /// Ordinary least squares; linearly dependent inputs are an error.
    Ols,
    /// Singular values of the standardised, n^(−½)-scaled design up to 1/n count as zero. Equal to OLS where OLS is
    /// stable.
    #[default]
    Mls,
}

/// (X̃ᵀX̃)⁻¹ of one support, in centred form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InverseGram {
    /// Columns of the design that are used.
    pub(crate) support: Vec<usize>,
    mean: Array1<f64>,
    inverse: Array2<f64>,
    rows: usize,
}

impl InverseGram {
    /// Columns of the design that are used.
    pub fn support(&self) -> &[usize] {
        &self.support
    }

    /// m, their means.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// C.
    pub fn inverse(&self) -> &Array2<f64> {
        &self.inverse
    }

    /// The number of rows, n.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// From the design's columns `support`; `None` if they are dependent and `refit` is OLS.
    pub(crate) fn new(design: ArrayView2<'_, f64>, support: Vec<usize>, refit: Refit) -> Option<Self> {
        let n = design.nrows();
        let columns = design.select(Axis(1), &support);
        let mean = columns.sum_axis(Axis(0)) / n as f64;
        let centred = columns - &mean;
        let scale = centred.map_axis(Axis(0), |c| (c.dot(&c) / n as f64).sqrt().max(f64::MIN_POSITIVE));
        let z = centred / &scale;
        let inverse =
            if support.len() > n { invert_wide(z.view(), refit)? } else { invert(z.view(), refit)? } / n as f64;
        let inverse = inverse / &scale / scale.view().insert_axis(Axis(1));
        Some(InverseGram { support, mean, inverse, rows: n })
    }

    /// Whether its parts have one size and its support lies within so many columns.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let q = self.support.len();
        self.rows > 0
            && self.mean.len() == q
            && self.inverse.dim() == (q, q)
            && self.support.iter().all(|&k| k < columns)
            && self.mean.iter().chain(&self.inverse).all(|v| v.is_finite())
    }
}

/// The readable forms that plans are compared with.
#[cfg(any(test, fuzzing))]
impl InverseGram {
    /// (1, a_S)ᵀ (X̃ᵀX̃)⁻¹ (1, a_S).
    pub(crate) fn leverage(&self, a: ndarray::ArrayView1<'_, f64>) -> f64 {
        let d: Array1<f64> = self.support.iter().zip(&self.mean).map(|(&k, m)| a[k] - m).collect();
        1.0 / self.rows as f64 + d.dot(&self.inverse.dot(&d))
    }

    /// tr((X̃ᵀX̃)⁻¹ M) over the support; the intercept does not vary.
    pub(crate) fn trace(&self, m: ArrayView2<'_, f64>) -> f64 {
        self.inverse.indexed_iter().map(|((r, c), v)| v * m[[self.support[r], self.support[c]]]).sum()
    }
}

/// The inverse of the correlation matrix zᵀz/n, or its pseudo-inverse under `Refit::Mls`.
fn invert(z: ArrayView2<'_, f64>, refit: Refit) -> Option<Array2<f64>> {
    let (n, columns) = z.dim();
    if columns == 0 {
        return Some(Array2::zeros((0, 0)));
    }
    let (values, vectors) = symmetric_eigen((matmul(z.t(), z) / n as f64).view())?;
    // Eigenvalues of the correlation matrix are the squared singular values.
    let floor = match refit {
        Refit::Ols => 1e-12 * values[values.len() - 1],
        Refit::Mls => (1.0 / n as f64).powi(2),
    };
    if refit == Refit::Ols && values[0] <= floor {
        return None;
    }
    let inverse = values.mapv(|v| if v > floor { 1.0 / v } else { 0.0 });
    Some(matmul((&vectors * &inverse).view(), vectors.t()))
}

/// The same of more columns than rows, which are always dependent: with zzᵀ/n = U diag(d) Uᵀ the pseudo-inverse is zᵀ U
/// diag(1/(n d²)) Uᵀ z.
fn invert_wide(z: ArrayView2<'_, f64>, refit: Refit) -> Option<Array2<f64>> {
    if refit == Refit::Ols {
        return None;
    }
    let n = z.nrows() as f64;
    let (values, vectors) = symmetric_eigen((matmul(z, z.t()) / n).view())?;
    let floor = n.powi(-2);
    let factor = values.mapv(|v| if v > floor { 1.0 / (v * n.sqrt()) } else { 0.0 });
    let half = matmul((&vectors * &factor).t(), z);
    Some(matmul(half.t(), half.view()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::spd_inverse;
    use ndarray::{array, concatenate};

    fn design() -> Array2<f64> {
        Array2::from_shape_fn((12, 3), |(i, j)| ((i * i + 3 * j * i) as f64 * 0.37).sin() + j as f64)
    }

    #[test]
    fn leverage_is_the_textbook_quadratic_form() {
        let x = design();
        let with_one = concatenate![Axis(1), Array2::ones((12, 1)), x.select(Axis(1), &[0, 2])];
        let gram = matmul(with_one.t(), with_one.view());
        let inverse = spd_inverse(gram.view()).unwrap();
        let point = array![0.3, 9.0, 1.7];
        let z = array![1.0, 0.3, 1.7];
        for refit in [Refit::Ols, Refit::Mls] {
            let g = InverseGram::new(x.view(), vec![0, 2], refit).unwrap();
            assert!((g.leverage(point.view()) - z.dot(&inverse.dot(&z))).abs() < 1e-12);
            let m = array![[1.0, 0.0, 0.2], [0.0, 5.0, 0.0], [0.2, 0.0, 0.5]];
            let want = inverse[[1, 1]] + 0.5 * inverse[[2, 2]] + 0.4 * inverse[[1, 2]];
            assert!((g.trace(m.view()) - want).abs() < 1e-12);
        }
    }

    #[test]
    fn dependent_columns_stop_ols_and_not_mls() {
        let mut x = design();
        let copy = x.column(0).to_owned();
        x.column_mut(2).assign(&copy);
        assert!(InverseGram::new(x.view(), vec![0, 2], Refit::Ols).is_none());
        let both = InverseGram::new(x.view(), vec![0, 2], Refit::Mls).unwrap();
        let one = InverseGram::new(x.view(), vec![0], Refit::Ols).unwrap();
        let point = array![0.4, 0.0, 0.4];
        // Two copies carry the information of one.
        assert!((both.leverage(point.view()) - one.leverage(point.view())).abs() < 1e-10);
    }

    #[test]
    fn more_columns_than_rows_have_the_same_pseudo_inverse_from_the_rows() {
        let z = Array2::from_shape_fn((9, 14), |(i, j)| ((i * i + 5 * j * i + j) as f64 * 0.37).sin());
        let z = &z - &(z.sum_axis(Axis(0)) / 9.0);
        let (wide, narrow) = (invert_wide(z.view(), Refit::Mls).unwrap(), invert(z.view(), Refit::Mls).unwrap());
        let size = narrow.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        assert!((&wide - &narrow).iter().all(|d| d.abs() < 1e-9 * size), "{wide} {narrow}");
        assert!(invert_wide(z.view(), Refit::Ols).is_none() && invert(z.view(), Refit::Ols).is_none());
    }

    #[test]
    fn an_empty_support_leaves_the_mean() {
        let g = InverseGram::new(design().view(), vec![], Refit::Ols).unwrap();
        assert_eq!(g.leverage(array![1.0, 2.0, 3.0].view()), 1.0 / 12.0);
        assert_eq!(g.trace(Array2::eye(3).view()), 0.0);
    }
}
