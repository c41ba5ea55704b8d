//! A kernel statistic of the calibration of all classes at once, for the test by labels drawn anew.
//!
//! With residuals e_ik = p_ik − 1{y_i = k} it is T = Σ_k ∫₀¹ r_k(t)² dt, where r_k is the mean of the residuals of class
//! k smoothed by the reflected Gaussian of `smooth.rs` at bandwidth [`SIGMA`]: the V-statistic of the squared kernel
//! calibration error of Widmann, Lindsten & Zachariah (2019) with one kernel per class. In cosines,
//! T = Σ_k Σ_f w_f c_kf² with w_f = 2 exp(−σ²π²f²), so nothing has to be transformed back.

use ndarray::{Array2, ArrayView2};

use super::smooth::Place;
use crate::linalg::dense::matmul;

/// The bandwidth: classes are compared with their frequencies in windows of about ten points.
const SIGMA: f64 = 0.05;

/// Cells between nodes: six per bandwidth.
const CELLS: usize = 128;

/// Frequencies whose weight is above 1e-7.
const FREQUENCIES: usize = 26;

/// Sums of residuals on the nodes, K × (CELLS + 1).
#[derive(Clone)]
pub(super) struct ClassNodes(Vec<f64>);

impl ClassNodes {
    /// Of the probabilities alone.
    pub fn new(p: ArrayView2<'_, f64>) -> Self {
        let mut nodes = ClassNodes(vec![0.0; p.ncols() * (CELLS + 1)]);
        for row in p.outer_iter() {
            row.iter().enumerate().for_each(|(k, &p)| nodes.add(k, p, p));
        }
        nodes
    }

    /// A row with probability `p` of its label `y`.
    pub fn label(&mut self, y: usize, p: f64) {
        self.add(y, p, -1.0);
    }

    fn add(&mut self, class: usize, p: f64, value: f64) {
        let first = class * (CELLS + 1);
        Place::of(p, CELLS).add(&mut self.0[first..=first + CELLS], value);
    }

    /// T · n², once every row has its label.
    pub fn statistic(&self, basis: &Basis) -> f64 {
        let nodes = ArrayView2::from_shape((self.0.len() / (CELLS + 1), CELLS + 1), &self.0);
        nodes.map_or(f64::NAN, |nodes| matmul(nodes, basis.0.view()).iter().map(|c| c * c).sum())
    }
}

/// Cosines at the nodes, times the roots of their weights.
pub(super) struct Basis(Array2<f64>);

impl Basis {
    pub fn new() -> Self {
        let value = |(j, f): (usize, usize)| {
            let a = std::f64::consts::PI * f as f64;
            let weight = if f == 0 { 1.0 } else { 2.0 * (-(SIGMA * a).powi(2)).exp() };
            weight.sqrt() * (a * j as f64 / CELLS as f64).cos()
        };
        Basis(Array2::from_shape_fn((CELLS + 1, FREQUENCIES), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn it_is_a_sum_over_pairs_of_rows() {
        let p = array![[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]];
        let labels = [0, 1, 0, 2];
        let mut nodes = ClassNodes::new(p.view());
        labels.iter().enumerate().for_each(|(i, &y)| nodes.label(y, p[[i, y]]));
        // ∫ K_σ(t, a) K_σ(t, b) dt is the kernel of bandwidth √2 σ between a and b.
        let kernel = |a: f64, b: f64| {
            let s = SIGMA * 2f64.sqrt();
            let one = |d: f64| (-0.5 * (d / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
            (-2..=2).map(|m| one(a - b - 2.0 * f64::from(m)) + one(a + b - 2.0 * f64::from(m))).sum::<f64>()
        };
        let e = |i: usize, k: usize| p[[i, k]] - f64::from(u8::from(labels[i] == k));
        let mut expected = 0.0;
        for k in 0..3 {
            for i in 0..4 {
                expected += (0..4).map(|j| e(i, k) * e(j, k) * kernel(p[[i, k]], p[[j, k]])).sum::<f64>();
            }
        }
        let found = nodes.statistic(&Basis::new());
        // Sharing between two nodes widens the kernel a little: by (cell / σ)² / 8 = 0.3 %.
        assert!((found - expected).abs() < 5e-3 * expected, "{found} for {expected}");
    }

    #[test]
    fn many_classes_are_the_sum_of_each() {
        let p = Array2::from_shape_fn((3, 300), |(i, k)| ((i * 300 + k) % 17) as f64 / 17.0);
        let basis = Basis::new();
        let ten = |from: usize| ClassNodes::new(p.slice(ndarray::s![.., from..from + 10])).statistic(&basis);
        let (all, parts) = (ClassNodes::new(p.view()).statistic(&basis), (0..300).step_by(10).map(ten).sum::<f64>());
        assert!((all - parts).abs() < 1e-12 * parts && parts > 1.0, "{all} for {parts}");
    }
}
