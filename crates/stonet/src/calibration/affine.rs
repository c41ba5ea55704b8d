//! Vector and matrix scaling (Guo et al. 2017), and matrix scaling with ODIR (Kull et al. 2019): softmax(Wz + b) by
//! maximum likelihood.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::skip::{SkipModel, View, to_probabilities};
use crate::base::Result;
use crate::linalg::dense::{gram, matmul, spd_inverse};
use crate::linalg::lbfgs::{Minimum, minimise};
use crate::network::{Activation, Layer, Likelihood, StoNet};
use crate::rows::ClassRows;

/// Largest entry of the gradient of the mean loss at which a fit is done, logits being of order one.
const TOLERANCE: f64 = 1e-5;
const MAX_ITERATIONS: usize = 1000;

/// softmax(Wz + b), by its shape and penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// W diagonal.
    Vector,
    /// W free, with ridge penalties on its off-diagonal entries and on b, each a mean over its entries (ODIR); 0 and 0
    /// for none.
    Matrix { off_diagonal: f64, intercept: f64 },
}

/// A fit and how far it is from the optimum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Affine {
    pub model: SkipModel,
    /// The largest entry of the gradient.
    pub gradient: f64,
    pub converged: bool,
}

/// The fit, started from `start` (an earlier one) or from temperature scaling.
pub(crate) fn fit(rows: &ClassRows<'_>, shape: Shape, what: &'static str, start: Option<&Affine>) -> Result<Affine> {
    let z = rows.need_logits(what)?;
    let k = rows.classes();
    let t = super::temperature::of_logits(z, rows.labels());
    // On the scale of the best temperature: gradients are then of order one, whatever the network's own scale.
    let x = &z / t;
    let initial = match start.and_then(|s| s.model.network()) {
        Some(net) => shape.pack(&(&net.layers()[0].weight * t), &net.layers()[0].bias),
        None => shape.pack(&Array2::eye(k), &Array1::zeros(k)),
    };
    let loss = |theta: &Array1<f64>| shape.loss(theta, x.view(), rows.labels());
    let found = match shape {
        Shape::Vector => minimise(loss, Array1::clone, initial, TOLERANCE, MAX_ITERATIONS),
        Shape::Matrix { off_diagonal, .. } => {
            let inverse = rough_inverse(x.view(), 2.0 * off_diagonal / (k * (k - 1)) as f64);
            let precondition = |g: &Array1<f64>| per_class(g, &inverse, k);
            minimise(loss, precondition, initial, TOLERANCE, MAX_ITERATIONS)
        }
    };
    let (w, b) = shape.unpack(&found.x, k);
    let layer = Layer { weight: w / t, bias: b, noise_variance: 1.0 };
    let net = StoNet::new(vec![layer], Activation::Tanh, Likelihood::Multinomial)?;
    let model = SkipModel::new(k, None, Some((View::Raw, net)))?;
    let Minimum { gradient, .. } = found;
    Ok(Affine { model, gradient, converged: gradient <= TOLERANCE })
}

impl Shape {
    fn pack(self, w: &Array2<f64>, b: &Array1<f64>) -> Array1<f64> {
        match self {
            Shape::Vector => w.diag().iter().chain(b).copied().collect(),
            Shape::Matrix { .. } => w.iter().chain(b).copied().collect(),
        }
    }

    fn unpack(self, theta: &Array1<f64>, k: usize) -> (Array2<f64>, Array1<f64>) {
        let split = theta.len() - k;
        let b = theta.slice(s![split..]).to_owned();
        let w = theta.slice(s![..split]).to_owned();
        match self {
            Shape::Vector => (Array2::from_diag(&w), b),
            Shape::Matrix { .. } => (w.into_shape_with_order((k, k)).expect("k² weights"), b),
        }
    }

    /// The penalised mean loss and its gradient.
    fn loss(self, theta: &Array1<f64>, x: ArrayView2<'_, f64>, labels: &[usize]) -> (f64, Array1<f64>) {
        let (n, k) = (x.nrows() as f64, x.ncols());
        let (w, b) = self.unpack(theta, k);
        let mut f = match self {
            Shape::Vector => &x * &w.diag() + &b,
            Shape::Matrix { .. } => matmul(x, w.t()) + &b,
        };
        let mut value = residuals(&mut f, labels) / n;
        let gb = f.sum_axis(Axis(0)) / n;
        let gradient = match self {
            Shape::Vector => (&f * &x).sum_axis(Axis(0)).iter().map(|g| g / n).chain(gb).collect(),
            Shape::Matrix { off_diagonal, intercept } => {
                let mut gw = matmul(f.t(), x) / n;
                let (pairs, k) = ((k * (k - 1)) as f64, k as f64);
                for ((i, j), &w) in w.indexed_iter().filter(|((i, j), _)| i != j) {
                    value += off_diagonal * w * w / pairs;
                    gw[[i, j]] += 2.0 * off_diagonal * w / pairs;
                }
                value += intercept * b.dot(&b) / k;
                gw.iter().copied().chain(gb + &(2.0 * intercept / k * &b)).collect()
            }
        };
        (value, gradient)
    }
}

/// Turns logits into p − onehot; returns the summed loss.
fn residuals(f: &mut Array2<f64>, labels: &[usize]) -> f64 {
    let total = to_probabilities(f, labels);
    f.outer_iter_mut().zip(labels).for_each(|(mut row, &l)| row[l] -= 1.0);
    total
}

/// The inverse of Σ h_i (x_i, 1)(x_i, 1)ᵀ / nK plus a ridge: about the Hessian of one class's weights. h_i = 1 − Σ p² =
/// Σ p(1 − p) is what a row still has to say.
fn rough_inverse(x: ArrayView2<'_, f64>, ridge: f64) -> Array2<f64> {
    let p = Likelihood::Multinomial.mean(x.to_owned());
    let weight = p.map_axis(Axis(1), |p| (1.0 - p.dot(&p)).max(1e-3).sqrt()).insert_axis(Axis(1));
    let design = ndarray::concatenate![Axis(1), x, Array2::ones((x.nrows(), 1))] * &weight;
    let mut hessian = gram(design.view()) / (x.nrows() * x.ncols()) as f64;
    // Logits often lie in a plane; a little ridge, relative to the mean of the diagonal, makes the inverse exist.
    let ridge = ridge + 1e-4 * hessian.diag().mean().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    hessian.diag_mut().mapv_inplace(|v| v + ridge);
    spd_inverse(hessian.view()).unwrap_or_else(|| Array2::eye(x.ncols() + 1))
}

/// The inverse applied to every class's gradient, whose entries are k weights and, at the very end of the list, an
/// intercept.
fn per_class(g: &Array1<f64>, inverse: &Array2<f64>, k: usize) -> Array1<f64> {
    let w = g.slice(s![..k * k]).into_shape_with_order((k, k)).expect("k² weights");
    let b = g.slice(s![k * k..]).insert_axis(Axis(1));
    let all = matmul(ndarray::concatenate![Axis(1), w, b].view(), inverse.view());
    all.slice(s![.., ..k]).iter().chain(all.column(k)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn gradients_are_those_of_central_differences() {
        let mut draws = StandardNormal.sample_iter(Seed::new(3).rng());
        let mut next = || -> f64 { draws.next().expect("endless") };
        let x = Array2::from_shape_simple_fn((20, 4), &mut next);
        let labels: Vec<usize> = (0..20).map(|i| (i * i) % 4).collect();
        for shape in [
            Shape::Vector,
            Shape::Matrix { off_diagonal: 0.0, intercept: 0.0 },
            Shape::Matrix { off_diagonal: 3.0, intercept: 0.7 },
        ] {
            let theta = shape
                .pack(&Array2::from_shape_simple_fn((4, 4), &mut next), &Array1::from_shape_simple_fn(4, &mut next));
            let (_, gradient) = shape.loss(&theta, x.view(), &labels);
            let h = 1e-5;
            for j in 0..theta.len() {
                let at = |d: f64| {
                    let mut moved = theta.clone();
                    moved[j] += d;
                    shape.loss(&moved, x.view(), &labels).0
                };
                let numeric = (at(h) - at(-h)) / (2.0 * h);
                assert!((numeric - gradient[j]).abs() < 1e-8, "{shape:?} {j}: {numeric} for {}", gradient[j]);
            }
        }
    }
}
