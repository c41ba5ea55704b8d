//! What a perceptron is trained to make small: squared error, quantiles, a normal distribution, and the losses of classes.
//!
//! A loss is a mean over rows; its gradient is in the network's outputs F. Both are computed in f64, batch by batch.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::classes;
use crate::base::{Error, Result};
use crate::network::Likelihood;
use crate::rows::Dataset;

/// The loss of a batch of m rows with targets y and outputs F.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Loss {
    /// ½ the mean squared error, `1/m Σ_i ½ ‖y_i − F_i‖²`. One output per target.
    #[default]
    Squared,
    /// Quantile regression of a single target, `1/m Σ_i Σ_l max(τ_l (y_i − F_il), (τ_l − 1)(y_i − F_il))`. One output
    /// per level.
    Pinball {
        /// τ_1 < τ_2 < …, all in (0, 1).
        levels: Vec<f64>,
    },
    /// A normal distribution of a single target, `1/m Σ_i ½ (y_i − F_i1)² exp(−2 F_i2) + F_i2`. Two outputs: the mean
    /// and the logarithm of the standard deviation.
    Gaussian,
    /// `−1/m Σ_i log p_i`, where p_i is the softmax probability of the row's class. Outputs are logits, targets one-hot
    /// ([`Dataset::classes`]).
    CrossEntropy,
    /// Focal loss (Lin et al. 2017), `−1/m Σ_i (1 − p_i)^γ log p_i`: rows that are already right count less.
    Focal {
        /// γ ≥ 0; 0 is the cross-entropy, 3 the usual choice for calibration.
        #[serde(default = "usual_gamma")]
        gamma: f64,
    },
    /// Cross-entropy + weight · MMCE (Kumar, Sarawagi & Jain 2018), where
    /// `MMCE² = 1/m² Σ_ij (c_i − r_i)(c_j − r_j) exp(−|r_i − r_j| / 0.4)`, r_i is the largest probability of row i and
    /// c_i whether that class is right. The work grows with the square of the batch.
    Mmce {
        /// How much the penalty counts, ≥ 0.
        weight: f64,
    },
}

fn usual_gamma() -> f64 {
    3.0
}

impl Loss {
    /// The focal loss with the usual γ = 3.
    pub const FOCAL: Loss = Loss::Focal { gamma: 3.0 };

    /// Fails unless the loss's own parameters are in range.
    pub fn validate(&self) -> Result<()> {
        let not_negative = |v: f64| v >= 0.0 && v.is_finite();
        match self {
            Loss::Pinball { levels } => {
                let inside = levels.iter().all(|&t| t > 0.0 && t < 1.0);
                let ascending = levels.windows(2).all(|w| w[0] < w[1]);
                let ok = !levels.is_empty() && inside && ascending;
                Error::check(ok, "loss.levels", levels, "at least one, ascending, all between 0 and 1")
            }
            Loss::Focal { gamma } => Error::check(not_negative(*gamma), "loss.gamma", gamma, "finite and not negative"),
            Loss::Mmce { weight } => {
                Error::check(not_negative(*weight), "loss.weight", weight, "finite and not negative")
            }
            Loss::Squared | Loss::Gaussian | Loss::CrossEntropy => Ok(()),
        }
    }

    /// Outputs that a network needs for these targets, which are checked to suit the loss.
    pub(super) fn outputs(&self, data: &Dataset) -> Result<usize> {
        match self {
            Loss::Squared => Ok(data.outputs()),
            Loss::Pinball { levels } if data.outputs() == 1 => Ok(levels.len()),
            Loss::Pinball { .. } => Err(Error::shape("target columns of the pinball loss", 1, data.outputs())),
            Loss::Gaussian if data.outputs() == 1 => Ok(2),
            Loss::Gaussian => Err(Error::shape("target columns of the normal distribution", 1, data.outputs())),
            Loss::CrossEntropy | Loss::Focal { .. } | Loss::Mmce { .. } => {
                Likelihood::Multinomial.check(data.y()).map(|()| data.outputs())
            }
        }
    }

    /// The mean loss of rows with outputs `f` and targets `y`, and its gradient in the outputs to `g`, row by row;
    /// `scratch` has room for three numbers per row.
    pub(super) fn gradient(
        &self,
        f: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        g: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        match self {
            Loss::Squared => squared(f, y, g),
            Loss::Pinball { levels } => pinball(levels, f, y, g),
            Loss::Gaussian => gaussian(f, y, g),
            Loss::CrossEntropy => classes::focal(0.0, f, y, g),
            Loss::Focal { gamma } => classes::focal(*gamma, f, y, g),
            Loss::Mmce { weight } => classes::focal(0.0, f, y, g) + classes::add_mmce(*weight, f, y, g, scratch),
        }
    }
}

fn squared(f: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, g: &mut [f64]) -> f64 {
    let m = f.nrows() as f64;
    let mut total = 0.0;
    for ((f, y), g) in f.iter().zip(y).zip(g) {
        *g = (f - y) / m;
        total += (f - y).powi(2);
    }
    0.5 * total / m
}

/// log s is kept within ± 20 of the loss, so that no step overflows.
fn gaussian(f: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, g: &mut [f64]) -> f64 {
    let m = f.nrows() as f64;
    let mut total = 0.0;
    for ((f, y), g) in f.outer_iter().zip(y).zip(g.chunks_exact_mut(2)) {
        let (off, precision) = (y - f[0], (-2.0 * f[1].clamp(-20.0, 20.0)).exp());
        let square = off * off * precision;
        (g[0], g[1]) = (-off * precision / m, (1.0 - square) / m);
        total += 0.5 * square + f[1];
    }
    total / m
}

/// At F = y the slope −τ is taken, one of the subgradients.
fn pinball(levels: &[f64], f: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, g: &mut [f64]) -> f64 {
    let m = f.nrows() as f64;
    let mut total = 0.0;
    for ((f, y), g) in f.outer_iter().zip(y).zip(g.chunks_exact_mut(levels.len())) {
        for ((f, &level), g) in f.iter().zip(levels).zip(g) {
            let slope = if y < f { 1.0 - level } else { -level };
            *g = slope / m;
            total += slope * (f - y);
        }
    }
    total / m
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ndarray::{Array2, array};

    /// Every loss with targets of four rows that suit it.
    pub(in crate::peers::mlp) fn all() -> Vec<(Loss, Array2<f64>)> {
        let real = array![[0.3, -1.0, 0.2], [2.0, 0.1, 0.0], [-0.4, 0.5, 1.0], [0.0, 0.9, -2.0]];
        let single = array![[0.3], [2.0], [-0.4], [0.05]];
        let classes = array![[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
        vec![
            (Loss::Squared, real),
            (Loss::Pinball { levels: vec![0.05, 0.5, 0.9] }, single.clone()),
            (Loss::Gaussian, single),
            (Loss::CrossEntropy, classes.clone()),
            (Loss::FOCAL, classes.clone()),
            (Loss::Focal { gamma: 0.5 }, classes.clone()),
            (Loss::Mmce { weight: 2.0 }, classes),
        ]
    }

    /// How many outputs the losses of [`all`] have.
    pub(in crate::peers::mlp) fn outputs(loss: &Loss) -> usize {
        if *loss == Loss::Gaussian { 2 } else { 3 }
    }

    fn value(loss: &Loss, f: &Array2<f64>, y: &Array2<f64>) -> f64 {
        loss.gradient(f.view(), y.view(), &mut vec![0.0; f.len()], &mut vec![0.0; 3 * f.nrows()])
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let f = array![[0.1, 0.4, -0.3], [-0.7, 0.2, 1.1], [0.9, -0.6, 0.35], [0.25, 0.8, 0.15]];
        for (loss, y) in all() {
            let f = f.slice(ndarray::s![.., ..outputs(&loss)]).to_owned();
            let (mut g, h) = (vec![0.0; f.len()], 1e-6);
            loss.gradient(f.view(), y.view(), &mut g, &mut vec![0.0; 3 * f.nrows()]);
            for (at, g) in f.indexed_iter().map(|(at, _)| at).zip(&g) {
                let shifted = |d: f64| {
                    let mut f = f.clone();
                    f[at] += d;
                    value(&loss, &f, &y)
                };
                let numeric = (shifted(h) - shifted(-h)) / (2.0 * h);
                assert!((numeric - g).abs() < 1e-8, "{loss:?} at {at:?}: {g} for {numeric}");
            }
        }
    }

    #[test]
    fn values_by_hand() {
        let (f, y) = (array![[0.0, 2.0f64.ln()], [0.0, 0.0]], array![[0.0, 1.0], [1.0, 0.0]]);
        let (p, q) = (2.0f64 / 3.0, 0.5f64);
        let cross = -(p.ln() + q.ln()) / 2.0;
        assert!((value(&Loss::CrossEntropy, &f, &y) - cross).abs() < 1e-15);
        let focal = -((1.0 - p).powi(3) * p.ln() + (1.0 - q).powi(3) * q.ln()) / 2.0;
        assert!((value(&Loss::FOCAL, &f, &y) - focal).abs() < 1e-15);
        // Both tops are right: the first class wins a tie.
        let (a, b) = (1.0 - p, 1.0 - q);
        let squared = (a * a + b * b + 2.0 * a * b * (-(p - q) / 0.4).exp()) / 4.0;
        assert!((value(&Loss::Mmce { weight: 3.0 }, &f, &y) - cross - 3.0 * squared.sqrt()).abs() < 1e-15);
        let pinball = Loss::Pinball { levels: vec![0.1, 0.8] };
        let (f, y) = (array![[1.0, 2.0]], array![[1.5]]);
        assert!((value(&pinball, &f, &y) - (0.1 * 0.5 + 0.2 * 0.5)).abs() < 1e-15);
        // ½ (1.5 − 1)² / e⁴ + 2.
        assert!((value(&Loss::Gaussian, &f, &y) - (0.125 * (-4.0f64).exp() + 2.0)).abs() < 1e-15);
        assert!((value(&Loss::Squared, &array![[1.0], [3.0]], &array![[0.0], [5.0]]) - 1.25).abs() < 1e-15);
    }

    #[test]
    fn certain_logits_give_finite_losses_and_gradients() {
        let y = array![[1.0, 0.0], [1.0, 0.0]];
        for f in [array![[800.0, -800.0], [900.0, -900.0]], array![[-800.0, 800.0], [800.0, -800.0]]] {
            for loss in [Loss::CrossEntropy, Loss::FOCAL, Loss::Focal { gamma: 0.5 }, Loss::Mmce { weight: 1.0 }] {
                let mut g = [f64::NAN; 4];
                let value = loss.gradient(f.view(), y.view(), &mut g, &mut [0.0; 6]);
                assert!(value.is_finite() && g.iter().all(|g| g.is_finite()), "{loss:?}: {value} {g:?}");
            }
        }
    }

    #[test]
    fn targets_that_do_not_suit_are_refused() {
        let data = |y: Array2<f64>| Dataset::new(Array2::zeros((y.nrows(), 1)), y).unwrap();
        for broken in [array![[0.0, 0.0]], array![[1.0, 1.0]], array![[0.5, 0.5]], array![[1.0, -1.0]]] {
            let y = ndarray::concatenate![ndarray::Axis(0), array![[0.0, 1.0]], broken];
            assert_eq!(Loss::CrossEntropy.outputs(&data(y)), Err(Error::NotOneHot { row: 1 }));
        }
        assert!(Loss::FOCAL.outputs(&data(array![[1.0]])).is_err());
        let two = data(array![[1.0, 2.0]]);
        let pinball = Loss::Pinball { levels: vec![0.5] };
        assert_eq!(pinball.outputs(&two), Err(Error::shape("target columns of the pinball loss", 1, 2)));
        assert!(Loss::Gaussian.outputs(&two).is_err());
        for levels in [vec![], vec![0.0, 0.5], vec![0.5, 1.0], vec![f64::NAN], vec![0.9, 0.1], vec![0.5, 0.5]] {
            assert!(Loss::Pinball { levels }.validate().is_err());
        }
        assert!(Loss::Focal { gamma: -1.0 }.validate().is_err());
        assert!(Loss::Mmce { weight: f64::INFINITY }.validate().is_err());
    }
}
