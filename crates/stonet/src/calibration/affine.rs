//! Vector and matrix scaling by maximum likelihood, softmax(Wx + b), with or without penalties: Guo et al. (2017), ODIR
//! (Kull et al. 2019), and structured scaling (Berta, Holzmüller, Jordan & Bach 2025).

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::skip::{Base, SkipModel, View, to_probabilities};
use crate::base::Result;
use crate::linalg::dense::{gram, matmul, spd_inverse};
use crate::linalg::lbfgs::{Minimum, minimise};
use crate::network::{Activation, Layer, Likelihood, StoNet};
use crate::rows::ClassRows;

/// Largest entry of the gradient of the mean loss at which a fit is done, x being of order one.
const TOLERANCE: f64 = 1e-5;
const MAX_ITERATIONS: usize = 1000;
/// Entries of x that are worked on at once; sums are added in the order of such runs of rows.
const RUN: usize = 1 << 18;

/// Which entries of W are free, and the strength of the ridge penalties per entry: strength × square.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Shape {
    /// Whether entries off the diagonal are free.
    pub matrix: bool,
    /// On the entries off the diagonal.
    pub off_diagonal: f64,
    /// On the distance of the diagonal from 1.
    pub diagonal: f64,
    /// On b.
    pub intercept: f64,
}

/// A fit and how far it is from the optimum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Affine {
    pub model: SkipModel,
    /// The largest entry of the gradient.
    pub gradient: f64,
    pub converged: bool,
}

/// softmax(Wz + b), started from `start` (an earlier one) or from temperature scaling. Penalties count on the scale of
/// z/T.
pub(crate) fn fit(rows: &ClassRows<'_>, shape: Shape, what: &'static str, start: Option<&Affine>) -> Result<Affine> {
    let z = rows.need_logits(what)?;
    let t = super::temperature::of_logits(z, rows.labels());
    // On the scale of the best temperature: gradients are then of order one, whatever the network's own scale.
    let x = &z / t;
    let start = start.and_then(|s| s.model.network()).map(|net| &net.layers()[0]);
    let start = start.map(|layer| (&layer.weight * t, layer.bias.clone()));
    let (w, b, gradient) = shape.minimised(x.view(), rows.labels(), start);
    affine(None, View::Raw, w / t, b, gradient)
}

/// Structured scaling: softmax(x + diag(v)x + Mx + b) of smoothed log-probabilities x after temperature scaling, with
/// the penalties K/n (|v|² + |b|²) + K(K − 1)/n |M|² on the mean loss. M = 0 unless `matrix`.
pub(crate) fn structured(rows: &ClassRows<'_>, matrix: bool, what: &'static str) -> Result<Affine> {
    let z = rows.need_logits(what)?;
    let (n, k) = (rows.rows() as f64, rows.classes() as f64);
    let base = Base::smoothed(super::temperature::of_logits(z, rows.labels()), rows.rows());
    let x = base.of(z);
    let shape = Shape { matrix, off_diagonal: k * (k - 1.0) / n, diagonal: k / n, intercept: k / n };
    let (w, b, gradient) = shape.minimised(x.view(), rows.labels(), None);
    affine(Some(base), View::Base, w - &Array2::<f64>::eye(rows.classes()), b, gradient)
}

/// The model of a linear layer.
fn affine(base: Option<Base>, view: View, weight: Array2<f64>, bias: Array1<f64>, gradient: f64) -> Result<Affine> {
    let classes = bias.len();
    let layer = Layer { weight, bias, noise_variance: 1.0 };
    let net = StoNet::new(vec![layer], Activation::Tanh, Likelihood::Multinomial)?;
    let model = SkipModel::new(classes, base, Some((view, net)))?;
    Ok(Affine { model, gradient, converged: gradient <= TOLERANCE })
}

impl Shape {
    /// W, b and the largest entry of the gradient, from `start` or from W = I and b = 0.
    fn minimised(
        self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        start: Option<(Array2<f64>, Array1<f64>)>,
    ) -> (Array2<f64>, Array1<f64>, f64) {
        let k = x.ncols();
        let (w, b) = start.unwrap_or_else(|| (Array2::eye(k), Array1::zeros(k)));
        let loss = |theta: &Array1<f64>| self.loss(theta, x, labels);
        let initial = self.pack(&w, &b);
        let Minimum { x: theta, gradient } = if self.matrix {
            let inverse = rough_inverse(x, 2.0 * self.off_diagonal);
            minimise(loss, |g: &Array1<f64>| per_class(g, &inverse, k), initial, TOLERANCE, MAX_ITERATIONS)
        } else {
            let inverses = self.pair_inverses(x);
            minimise(loss, |g: &Array1<f64>| by_pairs(g, &inverses), initial, TOLERANCE, MAX_ITERATIONS)
        };
        let (w, b) = self.unpack(&theta, k);
        (w, b, gradient)
    }

    fn pack(self, w: &Array2<f64>, b: &Array1<f64>) -> Array1<f64> {
        if self.matrix { w.iter().chain(b).copied().collect() } else { w.diag().iter().chain(b).copied().collect() }
    }

    fn unpack(self, theta: &Array1<f64>, k: usize) -> (Array2<f64>, Array1<f64>) {
        let split = theta.len() - k;
        let b = theta.slice(s![split..]).to_owned();
        let w = theta.slice(s![..split]).to_owned();
        if self.matrix {
            (w.into_shape_with_order((k, k)).expect("k² weights"), b)
        } else {
            (Array2::from_diag(&w), b)
        }
    }

    /// The penalised mean loss and its gradient.
    fn loss(self, theta: &Array1<f64>, x: ArrayView2<'_, f64>, labels: &[usize]) -> (f64, Array1<f64>) {
        let (n, k) = (x.nrows() as f64, x.ncols());
        let split = theta.len() - k;
        let (weights, b) = theta.view().split_at(Axis(0), split);
        let matrix = self.matrix.then(|| weights.into_shape_with_order((k, k)).expect("k² weights"));
        let run = |(x, labels): (ArrayView2<'_, f64>, &[usize])| {
            let mut f = match matrix {
                Some(w) => matmul(x, w.t()) + b,
                None => &x * &weights + b,
            };
            let value = residuals(&mut f, labels);
            let gw: Array1<f64> = match matrix {
                Some(_) => matmul(f.t(), x).into_iter().collect(),
                None => f.columns().into_iter().zip(x.columns()).map(|(f, x)| f.dot(&x)).collect(),
            };
            (value, gw, f.sum_axis(Axis(0)))
        };
        let rows = (RUN / k).max(if self.matrix { 4 * k } else { 1 }).max(1);
        let runs: Vec<_> = x.axis_chunks_iter(Axis(0), rows).zip(labels.chunks(rows)).collect();
        let parts: Vec<_> = runs.into_par_iter().map(run).collect();
        let (mut value, mut gradient) = (0.0, Array1::zeros(theta.len()));
        for (v, gw, gb) in parts {
            value += v;
            gradient.slice_mut(s![..split]).scaled_add(1.0, &gw);
            gradient.slice_mut(s![split..]).scaled_add(1.0, &gb);
        }
        value /= n;
        gradient /= n;
        for (at, (&p, g)) in theta.iter().zip(&mut gradient).enumerate() {
            let (strength, centre) = match at {
                at if at >= split => (self.intercept, 0.0),
                at if !self.matrix || at % (k + 1) == 0 => (self.diagonal, 1.0),
                _ => (self.off_diagonal, 0.0),
            };
            value += strength * (p - centre) * (p - centre);
            *g += 2.0 * strength * (p - centre);
        }
        (value, gradient)
    }

    /// The inverse of every class's own 2 × 2 block of the Hessian at W = I, b = 0, of slope and intercept: their
    /// columns are far from orthogonal, since log-probabilities are far from 0.
    fn pair_inverses(self, x: ArrayView2<'_, f64>) -> Vec<[f64; 3]> {
        let k = x.ncols();
        let rows = (RUN / k).max(1);
        let runs: Vec<_> = x.axis_chunks_iter(Axis(0), rows).collect();
        let sums = runs.into_par_iter().map(|x| {
            let p = Likelihood::Multinomial.mean(x.to_owned());
            let mut sums = vec![[0.0; 3]; k];
            for (x, p) in x.outer_iter().zip(p.outer_iter()) {
                for ((sum, &x), &p) in sums.iter_mut().zip(x).zip(p) {
                    let h = p * (1.0 - p);
                    *sum = [sum[0] + h * x * x, sum[1] + h * x, sum[2] + h];
                }
            }
            sums
        });
        let sums: Vec<Vec<[f64; 3]>> = sums.collect();
        let n = x.nrows() as f64;
        let total = |class: usize| {
            sums.iter().fold([0.0; 3], |t, s| [t[0] + s[class][0], t[1] + s[class][1], t[2] + s[class][2]])
        };
        let inverse = |class: usize| {
            let [xx, x, one] = total(class).map(|s| s / n);
            let (a, d) = (xx + 2.0 * self.diagonal, one + 2.0 * self.intercept);
            let ridge = 1e-6 * (a + d) + f64::MIN_POSITIVE;
            let (a, d) = (a + ridge, d + ridge);
            let determinant = (a * d - x * x).max(f64::MIN_POSITIVE);
            [d / determinant, -x / determinant, a / determinant]
        };
        (0..k).map(inverse).collect()
    }
}

/// Turns logits into p − onehot; returns the summed loss.
fn residuals(f: &mut Array2<f64>, labels: &[usize]) -> f64 {
    let total = to_probabilities(f, labels);
    f.outer_iter_mut().zip(labels).for_each(|(mut row, &l)| row[l] -= 1.0);
    total
}

/// Every class's inverse applied to its slope and intercept.
fn by_pairs(g: &Array1<f64>, inverses: &[[f64; 3]]) -> Array1<f64> {
    let k = inverses.len();
    let mut out = Array1::zeros(2 * k);
    for (j, [a, c, d]) in inverses.iter().enumerate() {
        out[j] = a * g[j] + c * g[k + j];
        out[k + j] = c * g[j] + d * g[k + j];
    }
    out
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
            Shape::default(),
            Shape { diagonal: 0.4, intercept: 0.3, ..Shape::default() },
            Shape { matrix: true, ..Shape::default() },
            Shape { matrix: true, off_diagonal: 3.0, diagonal: 0.2, intercept: 0.7 },
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
