//! The thin singular value decomposition behind ridge regression and the evidence, from the smaller of the two Gram
//! matrices.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use crate::base::Work;
use crate::base::{Error, Result};
use crate::linalg::dense::{gram, matmul, symmetric_eigen};

/// X = U diag(√d) Vᵀ, directions without numerical weight left out.
pub(super) struct Spectrum {
    /// d, the eigenvalues of XᵀX that count, ascending.
    pub squares: Array1<f64>,
    /// U, rows × rank.
    pub left: Array2<f64>,
    /// V, columns × rank.
    pub right: Array2<f64>,
}

impl Spectrum {
    pub(super) fn new(x: ArrayView2<'_, f64>, work: &Work<'_>) -> Result<Self> {
        let wide = x.ncols() > x.nrows();
        let small = if wide { x.t() } else { x };
        let what = "the eigenvalues of the features could not be found; look for extreme values among them";
        work.check()?;
        let gram = gram(small);
        work.check()?;
        let (values, vectors) = symmetric_eigen(gram.view()).ok_or(Error::Inconsistent { what })?;
        work.check()?;
        // Eigenvalues of a Gram matrix are exact to less than this much of the largest. A wide centred matrix has one
        // that is zero but for rounding; taken for a direction, it would be all noise.
        let order = x.nrows().max(x.ncols()) as f64;
        let least = 10.0 * order * f64::EPSILON * values.fold(f64::MIN_POSITIVE, |a, &v| a.max(v));
        let first = values.iter().take_while(|&&v| v <= least).count();
        let (squares, near) = (values.slice(s![first..]).to_owned(), vectors.slice(s![.., first..]).to_owned());
        let far = matmul(small, near.view()) / squares.mapv(f64::sqrt).insert_axis(Axis(0));
        let (left, right) = if wide { (near, far) } else { (far, near) };
        Ok(Spectrum { squares, left, right })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_factors_rebuild_tall_wide_and_deficient_matrices() {
        let tall = array![[1.0, 2.0, 3.0], [0.5, -1.0, -0.5], [2.0, 0.0, 2.0], [1.0, 1.0, 2.0], [0.0, 3.0, 3.0]];
        for x in [tall.view(), tall.t(), tall.slice(s![.., ..2])] {
            let f = Spectrum::new(x, &Work::unwatched()).unwrap();
            assert_eq!(f.squares.len(), 2);
            let rebuilt = matmul((&f.left * &f.squares.mapv(f64::sqrt)).view(), f.right.t());
            assert!((rebuilt - x).iter().all(|d| d.abs() < 1e-7));
        }
        assert_eq!(Spectrum::new(Array2::zeros((3, 2)).view(), &Work::unwatched()).unwrap().squares.len(), 0);
    }
}
