//! A class from its probabilities.

use ndarray::ArrayView1;

/// The class below which the uniform number lies.
pub fn drawn(q: ArrayView1<'_, f64>, u: f64) -> usize {
    let mut sum = 0.0;
    let below = |p: &&f64| {
        sum += **p;
        sum <= u
    };
    q.iter().take_while(below).count().min(q.len() - 1)
}
