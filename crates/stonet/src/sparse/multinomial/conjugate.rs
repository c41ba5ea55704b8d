//! Conjugate gradients on the support of the Newton model: what visits to one class at a time reach only slowly.
//!
//! Where the signs stay as they are the model is a quadratic in the weights that are not zero. Its minimum is sought
//! with every class's own Hessian as preconditioner; weights that would change their sign stop at zero.

use ndarray::{Array2, ArrayView1, Axis};

use super::newton::Model;
use crate::linalg::dense::spd_inverse;

/// Iterations per call.
const MAX_STEPS: usize = 100;
/// Halvings of a step that changes too many signs.
const MAX_HALVINGS: usize = 5;

/// One number per column in use, class by class.
type Weights = Vec<Vec<f64>>;

/// The inverse Hessian of a class in its weights that are not zero.
struct Own {
    support: Vec<usize>,
    inverse: Array2<f64>,
}

impl Own {
    fn new(w: &[f64], hessian: &Array2<f64>) -> Self {
        let support: Vec<usize> = (0..w.len()).filter(|&k| w[k] != 0.0).collect();
        let own = hessian.select(Axis(0), &support).select(Axis(1), &support);
        // Repeated columns: their diagonal alone is still a preconditioner.
        let inverse = spd_inverse(own.view()).filter(|i| i.iter().all(|v| v.is_finite()));
        let inverse =
            inverse.unwrap_or_else(|| Array2::from_diag(&own.diag().mapv(|h| 1.0 / h.max(f64::MIN_POSITIVE))));
        Own { support, inverse }
    }

    fn apply(&self, r: &[f64]) -> Vec<f64> {
        let here: Vec<f64> = self.support.iter().map(|&k| r[k]).collect();
        let mut out = vec![0.0; r.len()];
        let solved = self.inverse.dot(&ArrayView1::from(&here));
        self.support.iter().zip(&solved).for_each(|(&k, v)| out[k] = *v);
        out
    }
}

/// Moves the model's weights towards its minimum over the support, if that lowers it.
pub(super) fn improve(model: &mut Model, tolerance: f64) {
    let (value, gradient) = model.value();
    let owns: Vec<Own> = model.blocks.iter().map(|b| Own::new(&b.w, &b.hessian)).collect();
    let mut residual = gradient;
    for (r, block) in residual.iter_mut().zip(&model.blocks) {
        for (k, r) in r.iter_mut().enumerate() {
            *r = if block.w[k] == 0.0 { 0.0 } else { *r - block.strength[k] * block.w[k].signum() };
        }
    }
    let direction = solve(model, &owns, residual, tolerance);
    let before: Weights = model.blocks.iter().map(|b| b.w.clone()).collect();
    let mut step = 1.0;
    for _ in 0..MAX_HALVINGS {
        for ((block, old), d) in model.blocks.iter_mut().zip(&before).zip(&direction) {
            for (k, w) in block.w.iter_mut().enumerate() {
                let moved = old[k] + step * d[k];
                let crossed = block.strength[k] > 0.0 && moved * old[k] < 0.0;
                *w = if crossed { 0.0 } else { moved };
            }
        }
        if model.value().0 <= value {
            return;
        }
        step *= 0.5;
    }
    model.blocks.iter_mut().zip(before).for_each(|(block, w)| block.w = w);
    model.value();
}

/// The step on the support whose residual is within the tolerance, or as near as the iterations come.
fn solve(model: &Model, owns: &[Own], mut residual: Weights, tolerance: f64) -> Weights {
    let precondition = |r: &Weights| -> Weights { owns.iter().zip(r).map(|(own, r)| own.apply(r)).collect() };
    let mut step: Weights = residual.iter().map(|r| vec![0.0; r.len()]).collect();
    let mut z = precondition(&residual);
    let mut direction = z.clone();
    let mut power = dot(&residual, &z);
    for _ in 0..MAX_STEPS {
        let curved = model.curvature(&direction);
        let curvature = dot(&direction, &curved);
        if curvature <= 0.0 || power <= 0.0 {
            break;
        }
        let length = power / curvature;
        add(&mut step, length, &direction);
        for ((r, h), own) in residual.iter_mut().zip(&curved).zip(owns) {
            own.support.iter().for_each(|&k| r[k] -= length * h[k]);
        }
        if residual.iter().flatten().all(|r| r.abs() <= tolerance) {
            break;
        }
        z = precondition(&residual);
        let next = dot(&residual, &z);
        direction.iter_mut().flatten().for_each(|d| *d *= next / power);
        add(&mut direction, 1.0, &z);
        power = next;
    }
    step
}

fn dot(a: &Weights, b: &Weights) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum()
}

fn add(a: &mut Weights, factor: f64, b: &Weights) {
    a.iter_mut().flatten().zip(b.iter().flatten()).for_each(|(a, b)| *a += factor * b);
}
