//! The output layer's distribution given F_L: Gaussian now; a multinomial head joins this enum (`eq:stonet`).

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// How the last pre-activation F_L becomes a distribution of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Head {
    /// Y = F_L + N(0, σ_L² I).
    #[default]
    Gaussian,
}

impl Head {
    /// E(Y | F_L).
    pub fn mean(&self, f: Array2<f64>) -> Array2<f64> {
        match self {
            Head::Gaussian => f,
        }
    }

    /// The score residual y − E(Y | F_L): the gradient of σ_L² log π in F_L.
    pub fn residual(&self, y: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            Head::Gaussian => &y - &f,
        }
    }

    /// σ_L² × the mean negative log-likelihood per row, up to a constant: ½ the mean squared error, summed over outputs.
    pub fn loss(&self, y: ArrayView2<'_, f64>, f: ArrayView2<'_, f64>) -> f64 {
        match self {
            Head::Gaussian => 0.5 * self.residual(y, f).iter().map(|e| e * e).sum::<f64>() / y.nrows() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn residual_is_minus_the_gradient_of_the_loss() {
        let (y, f, h) = (array![[0.3, -1.0], [2.0, 0.1]], array![[0.1, 0.4], [-0.7, 0.2]], 1e-6);
        let residual = Head::Gaussian.residual(y.view(), f.view());
        for (at, &r) in residual.indexed_iter() {
            let shifted = |d: f64| {
                let mut g = f.clone();
                g[at] += d;
                Head::Gaussian.loss(y.view(), g.view())
            };
            let numeric = (shifted(h) - shifted(-h)) / (2.0 * h);
            assert!((numeric + r / y.nrows() as f64).abs() < 1e-8);
        }
    }
}
