//! The output layer's distribution given F_L: Gaussian, or multinomial through the softmax (`eq:stonet`).

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::linalg::elementwise::exp_in_place;

/// How the last pre-activation F_L becomes a distribution of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Likelihood {
    /// Y = F_L + N(0, σ_L² I).
    #[default]
    Gaussian,
    /// P(class k) = softmax(F_L)_k; the response is one-hot. σ_L² tempers the likelihood, log π / σ_L² (D10).
    Multinomial,
}

impl Likelihood {
    /// All of them, for tests that state one property of every head.
    pub const ALL: [Likelihood; 2] = [Likelihood::Gaussian, Likelihood::Multinomial];

    /// E(Y | F_L): F_L itself, or the class probabilities.
    pub fn mean(&self, mut f: Array2<f64>) -> Array2<f64> {
        if *self == Likelihood::Multinomial {
            softmax_rows(&mut f);
        }
        f
    }

    /// The score residual y − E(Y | F_L): the gradient of σ_L² log π in F_L.
    pub fn residual(&self, y: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            Likelihood::Gaussian => &y - &f,
            Likelihood::Multinomial => &y - &self.mean(f.to_owned()),
        }
    }

    /// σ_L² log π(y | F_L) of every row, up to a constant.
    pub fn log_likelihood(&self, y: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> Array1<f64> {
        match self {
            Likelihood::Gaussian => self.residual(y, f).map_axis(Axis(1), |e| -0.5 * e.dot(&e)),
            Likelihood::Multinomial => {
                Zip::from(y.rows()).and(f.rows()).map_collect(|y, f| y.dot(&f) - log_sum_exp(f.iter().copied()))
            }
        }
    }

    /// σ_L² × the mean negative log-likelihood per row, up to a constant: ½ the mean squared error, summed over
    /// outputs, or the cross-entropy.
    pub fn loss(&self, y: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> f64 {
        match self {
            // One sum over all entries: the row sums of the log-likelihood round differently.
            Likelihood::Gaussian => 0.5 * self.residual(y, f).iter().map(|e| e * e).sum::<f64>() / y.nrows() as f64,
            Likelihood::Multinomial => -self.log_likelihood(y, f).sum() / y.nrows() as f64,
        }
    }

    /// Fails unless `y` is a response of this head: any numbers, or one-hot rows of at least two classes.
    pub(crate) fn check(self, y: ArrayView2<'_, f64>) -> Result<()> {
        if self == Likelihood::Gaussian {
            return Ok(());
        }
        if y.ncols() < 2 {
            return Err(Error::setting("classes", y.ncols(), "at least 2, one target column each"));
        }
        match y.outer_iter().position(|r| r.iter().any(|&v| v != 0.0 && v != 1.0) || r.sum() != 1.0) {
            Some(row) => Err(Error::NotOneHot { row }),
            None => Ok(()),
        }
    }
}

/// log Σ exp.
pub(crate) fn log_sum_exp(z: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = z.clone().fold(f64::NEG_INFINITY, f64::max);
    top + z.map(|z| (z - top).exp()).sum::<f64>().ln()
}

/// softmax of every row, in place; returns log Σ exp of each.
pub(crate) fn softmax_rows(f: &mut Array2<f64>) -> Array1<f64> {
    let tops = f.map_axis(Axis(1), |row| row.fold(f64::NEG_INFINITY, |a, &z| a.max(z)));
    *f -= &tops.view().insert_axis(Axis(1));
    match f.as_slice_memory_order_mut() {
        Some(all) => exp_in_place(all),
        None => f.mapv_inplace(f64::exp),
    }
    let sums = f.sum_axis(Axis(1));
    *f /= &sums.view().insert_axis(Axis(1));
    tops + sums.mapv(f64::ln)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn response(head: Likelihood) -> Array2<f64> {
        match head {
            Likelihood::Gaussian => array![[0.3, -1.0, 0.5], [2.0, 0.1, 0.0]],
            Likelihood::Multinomial => array![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        }
    }

    #[test]
    fn residual_is_minus_the_gradient_of_the_loss_for_every_head() {
        let (f, h) = (array![[0.1, 0.4, -1.2], [-0.7, 0.2, 0.9]], 1e-6);
        for head in Likelihood::ALL {
            let y = response(head);
            let residual = head.residual(y.view(), f.view());
            let mean = -head.log_likelihood(y.view(), f.view()).sum() / 2.0;
            assert!((mean - head.loss(y.view(), f.view())).abs() < 1e-14);
            for (at, &r) in residual.indexed_iter() {
                let shifted = |d: f64| {
                    let mut g = f.clone();
                    g[at] += d;
                    head.loss(y.view(), g.view())
                };
                let numeric = (shifted(h) - shifted(-h)) / (2.0 * h);
                assert!((numeric + r / y.nrows() as f64).abs() < 1e-8, "{head:?}");
            }
        }
    }

    #[test]
    fn probabilities_of_extreme_logits_are_finite() {
        let p = Likelihood::Multinomial.mean(array![[1000.0, -1000.0], [0.0, 0.0]]);
        assert!(p[[0, 0]] == 1.0 && p[[0, 1]] < 1e-300 && p.row(1) == array![0.5, 0.5]);
    }

    #[test]
    fn only_one_hot_rows_are_classes() {
        let check = |y: Array2<f64>| Likelihood::Multinomial.check(y.view());
        assert!(check(response(Likelihood::Multinomial)).is_ok());
        for bad in [array![[0.5, 0.5]], array![[1.0, 1.0]], array![[0.0, 0.0]], array![[2.0, -1.0]]] {
            assert!(matches!(check(bad), Err(Error::NotOneHot { row: 0 })));
        }
        assert!(check(array![[1.0]]).is_err());
    }
}
