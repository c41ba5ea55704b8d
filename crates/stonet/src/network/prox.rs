//! Proximal maps of the penalties for all weights of a layer, in single precision: the training step.

use super::Penalty;
use crate::linalg::simd::dispatch;

/// w ← prox of every weight for a step of size `rate` under the penalty of strength `kappa`.
pub(crate) fn prox_all(w: &mut [f32], penalty: Penalty, rate: f64, kappa: f64) {
    let (rate, kappa) = (rate as f32, kappa as f32);
    match penalty {
        Penalty::Lasso => prox_lasso(w, rate * kappa),
        Penalty::Scad { a } => prox_scad(w, rate, kappa, a as f32),
        Penalty::Mcp { gamma } => prox_mcp(w, rate, kappa, gamma as f32),
    }
}

dispatch! {
    /// Soft threshold.
    fn prox_lasso(w: &mut [f32], threshold: f32) = prox_lasso_body
}
dispatch! {
    /// The SCAD map of [`Penalty::prox`] with c = 1 / rate.
    fn prox_scad(w: &mut [f32], rate: f32, kappa: f32, shape: f32) = prox_scad_body
}
dispatch! {
    /// The MCP map of [`Penalty::prox`] with c = 1 / rate.
    fn prox_mcp(w: &mut [f32], rate: f32, kappa: f32, shape: f32) = prox_mcp_body
}

#[inline(always)]
fn prox_lasso_body<const FMA: bool>(w: &mut [f32], threshold: f32) {
    w.iter_mut().for_each(|w| *w = (w.abs() - threshold).max(0.0).copysign(*w));
}

#[inline(always)]
fn prox_scad_body<const FMA: bool>(w: &mut [f32], rate: f32, kappa: f32, shape: f32) {
    let (soft, middle) = (rate * kappa, 1.0 / (shape - 1.0 - rate));
    for w in w {
        let t = w.abs();
        let near = (t - soft).max(0.0);
        let mid = ((shape - 1.0) * t - shape * soft) * middle;
        let shrunk = if t <= kappa + soft { near } else { mid };
        *w = (if t <= shape * kappa { shrunk } else { t }).copysign(*w);
    }
}

#[inline(always)]
fn prox_mcp_body<const FMA: bool>(w: &mut [f32], rate: f32, kappa: f32, shape: f32) {
    let (soft, stretch) = (rate * kappa, 1.0 / (1.0 - rate / shape));
    for w in w {
        let t = w.abs();
        let near = (t - soft).max(0.0) * stretch;
        *w = (if t <= shape * kappa { near } else { t }).copysign(*w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_proximal_maps_equal_the_documented_ones() {
        for penalty in [Penalty::Lasso, Penalty::SCAD, Penalty::MCP] {
            for rate in [0.01, 0.1, 0.9] {
                let w: Vec<f32> = (-300..=300).map(|i| 0.01 * i as f32).collect();
                let mut out = w.clone();
                prox_all(&mut out, penalty, rate, 0.5);
                for (&z, &got) in w.iter().zip(&out) {
                    let want = penalty.prox(z as f64, 1.0 / rate, 0.5);
                    assert!((got as f64 - want).abs() < 2e-5, "{penalty:?} rate {rate}: {z} → {got}, not {want}");
                }
            }
        }
    }
}
