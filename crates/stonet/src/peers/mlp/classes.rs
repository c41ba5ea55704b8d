//! The losses of classes, as functions of logits: focal loss, whose γ = 0 is the cross-entropy, and the MMCE penalty.

use ndarray::ArrayView2;

use crate::metrics::top_class as top;
use crate::network::likelihood::log_sum_exp;

/// Width of the Laplacian kernel between confidences.
const KERNEL_WIDTH: f64 = 0.4;

/// The mean of −(1 − p)^γ log p, and its gradient in the logits to `g`.
pub(super) fn focal(gamma: f64, f: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, g: &mut [f64]) -> f64 {
    let m = f.nrows() as f64;
    let mut total = 0.0;
    for ((f, y), g) in f.outer_iter().zip(y.outer_iter()).zip(g.chunks_exact_mut(f.ncols())) {
        let (class, log_sum) = (top(y), log_sum_exp(f.iter().copied()));
        let log_p = f[class] - log_sum;
        let miss = -log_p.exp_m1();
        total -= miss.powf(gamma) * log_p;
        // The derivative in log p; with nothing missed there is nothing to pull, though γ < 1 would give 0 · ∞.
        let pull =
            if miss > 0.0 { gamma * miss.powf(gamma - 1.0) * log_p.exp() * log_p - miss.powf(gamma) } else { 0.0 };
        for (k, g) in g.iter_mut().enumerate() {
            let own = if k == class { 1.0 } else { 0.0 };
            *g = pull * (own - (f[k] - log_sum).exp()) / m;
        }
    }
    total / m
}

/// weight · MMCE, whose gradient in the logits is added to `g`; `scratch` has room for three numbers per row.
pub(super) fn add_mmce(
    weight: f64,
    f: ArrayView2<'_, f64>,
    y: ArrayView2<'_, f64>,
    g: &mut [f64],
    scratch: &mut [f64],
) -> f64 {
    let m = f.nrows();
    let (confidence, rest) = scratch[..3 * m].split_at_mut(m);
    let (excess, slope) = rest.split_at_mut(m);
    for (i, (f, y)) in f.outer_iter().zip(y.outer_iter()).enumerate() {
        let guess = top(f);
        confidence[i] = (f[guess] - log_sum_exp(f.iter().copied())).exp();
        excess[i] = y[guess] - confidence[i];
    }
    let mmce = mmce(confidence, excess, slope);
    for ((f, slope), g) in f.outer_iter().zip(slope).zip(g.chunks_exact_mut(f.ncols())) {
        let (guess, log_sum) = (top(f), log_sum_exp(f.iter().copied()));
        let scale = weight * *slope * (f[guess] - log_sum).exp();
        for (k, g) in g.iter_mut().enumerate() {
            let own = if k == guess { 1.0 } else { 0.0 };
            *g += scale * (own - (f[k] - log_sum).exp());
        }
    }
    weight * mmce
}

/// √(Σ_ij e_i e_j exp(−|r_i − r_j|/0.4)) / m with e = c − r, and its derivatives in r, where c stays.
fn mmce(confidence: &[f64], excess: &[f64], slope: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for ((&r, &e), slope) in confidence.iter().zip(excess).zip(&mut *slope) {
        let (mut level, mut tilt) = (0.0, 0.0);
        for (&other, &its) in confidence.iter().zip(excess) {
            let weighted = its * (-(r - other).abs() / KERNEL_WIDTH).exp();
            level += weighted;
            // The kernel has a kink where two confidences meet; there the slopes cancel.
            tilt += if r == other { 0.0 } else { weighted * (r - other).signum() };
        }
        sum += e * level;
        *slope = -level - e * tilt / KERNEL_WIDTH;
    }
    let (root, m) = (sum.max(0.0).sqrt(), confidence.len() as f64);
    // At 0 the root has no slope; 0 is the right one, since 0 is its minimum.
    let scale = if root > 0.0 { 1.0 / (m * root) } else { 0.0 };
    slope.iter_mut().for_each(|s| *s *= scale);
    root / m
}
