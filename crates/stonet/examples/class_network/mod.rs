//! A simulated network that is twice too sure, and off by a straight line or by one through tanh of its own logits.

use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::Seed;
use stonet::network::Likelihood;

/// Logits, the true probabilities, and classes drawn from them.
pub fn draw(rows: usize, k: usize, bent: bool, seed: Seed) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let mut rng = seed.rng();
    let z = Array2::from_shape_simple_fn((rows, k), || {
        let draw: f64 = StandardNormal.sample(&mut rng);
        2.5 * draw
    });
    let truth = Array2::from_shape_fn((rows, k), |(i, j)| {
        let (own, next, lean) = (z[[i, j]], z[[i, (j + 1) % k]], (1.3 * j as f64).sin());
        let correction = if bent {
            0.3 * lean + 0.8 * ((next - own) / 3.0).tanh()
        } else {
            0.4 * lean + 0.125 * (j % 2) as f64 * (next - z.row(i).sum() / k as f64)
        };
        own / 2.0 + correction
    });
    let p = Likelihood::Multinomial.mean(truth);
    let labels = p.outer_iter().map(|p| {
        let mut u: f64 = rng.random();
        let drawn = p.iter().position(|&p| {
            u -= p;
            u < 0.0
        });
        drawn.unwrap_or(k - 1)
    });
    let labels = labels.collect();
    (z, p, labels)
}
