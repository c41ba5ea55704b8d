//! Confidence sequences: intervals for a mean that hold at all times at once, so that one may look as often as one
//! likes.
//!
//! Rows X_1, X_2, … in [0, 1] have conditional means p_1, p_2, …. With ψ(λ, p) = log(1 − p + p e^λ), convexity of the
//! exponential gives E exp(λX_i) ≤ exp ψ(λ, p_i), and ψ is concave in p, so Σψ(λ, p_i) ≤ nψ(λ, p̄_n) for the mean p̄_n of
//! p_1, …, p_n. Hence exp(λS_n − nψ(λ, p̄_n)) lies below a supermartingale that starts at 1, for every λ and so for a
//! mixture over λ; by Ville's inequality it ever reaches 2/α with probability at most α/2. The p at which the mixture
//! over λ > 0 stays below that are those above a lower end, those over λ < 0 those below an upper end. Nothing is
//! assumed about the p_i: after a change the interval is for their mean so far.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::network::likelihood::log_sum_exp;

/// Values of λ: the largest, then each smaller by the factor below.
const GRID: usize = 40;
const LARGEST: f64 = 4.0;
const FACTOR: f64 = 0.75;
/// Halvings until an end is found: the error is below 1e-15.
const HALVINGS: usize = 50;

/// A mean of numbers between 0 and 1 with bounds that hold at all times.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MeanSequence {
    /// How many numbers there were.
    rows: u64,
    /// Their sum.
    sum: f64,
}

impl MeanSequence {
    /// Adds a number between 0 and 1.
    pub fn add(&mut self, x: f64) {
        self.rows += 1;
        self.sum += x;
    }

    /// How many numbers there were.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Their mean; none without numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.sum / self.rows as f64)
    }

    /// Bounds of the mean of their expectations that miss it at any time with probability at most `alpha`.
    pub fn bounds(&self, alpha: f64) -> (f64, f64) {
        if self.rows == 0 {
            return (0.0, 1.0);
        }
        let n = self.rows as f64;
        let upper = 1.0 - lower_end(n, n - self.sum, alpha);
        (lower_end(n, self.sum, alpha), upper)
    }

    /// Fails unless numbers between 0 and 1 can have this sum.
    pub(crate) fn check(&self) -> Result<()> {
        let sound = self.sum >= 0.0 && self.sum <= self.rows as f64;
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "a mean of hits is not between 0 and 1" }) }
    }
}

/// The least p that the mixture over λ > 0 does not rule out.
fn lower_end(n: f64, sum: f64, alpha: f64) -> f64 {
    let threshold = (2.0 / alpha).ln();
    let (mut low, mut high) = (0.0, sum / n);
    if log_mixture(n, sum, 0.0) < threshold {
        return 0.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if log_mixture(n, sum, middle) >= threshold { low = middle } else { high = middle }
    }
    low
}

/// log Σ_j w_j exp(λ_j S − nψ(λ_j, p)), which falls with p; w_j = 1/((j + 1)(j + 2)) and what is left is added to the
/// last.
fn log_mixture(n: f64, sum: f64, p: f64) -> f64 {
    let term = |j: usize| {
        let lambda = LARGEST * FACTOR.powi(j as i32);
        let weight = if j + 1 == GRID { 1.0 / GRID as f64 } else { 1.0 / ((j + 1) * (j + 2)) as f64 };
        weight.ln() + lambda * sum - n * (p * lambda.exp_m1()).ln_1p()
    };
    log_sum_exp((0..GRID).map(term))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::base::binomial::binomial_upper_tail;
    use rand::RngExt;

    #[test]
    fn weights_of_the_mixture_add_up_to_one() {
        // At S = n = 0 every exponent is 0.
        assert!(log_mixture(0.0, 0.0, 0.3).abs() < 1e-12);
    }

    #[test]
    fn bounds_hold_the_mean_and_shrink() {
        let mut sequence = MeanSequence::default();
        assert_eq!(sequence.bounds(0.05), (0.0, 1.0));
        let mut last = 1.0;
        for i in 0..20_000u32 {
            sequence.add(f64::from(u8::from(i % 10 != 0)));
            if [9, 99, 999, 9_999].contains(&i) {
                let (low, high) = sequence.bounds(0.05);
                let mean = sequence.mean().unwrap();
                assert!(low < mean && mean < high && high - low < last, "{i}: {low} {high}");
                last = high - low;
            }
        }
        // Three times the length of an interval for one time would be too long: ±0.4 % there.
        let (low, high) = sequence.bounds(0.05);
        assert!(high - low < 0.02, "{low} {high}");
    }

    /// Means that change: the interval is for their mean so far, and must miss it at any of 400 times in at most a part
    /// α of the streams.
    #[test]
    fn bounds_hold_at_all_times_at_once_whatever_the_means() {
        const STREAMS: usize = 400;
        const ALPHA: f64 = 0.1;
        let means: [fn(usize) -> f64; 3] = [|_| 0.9, |_| 0.5, |i| if i < 700 { 0.95 } else { 0.6 }];
        for (case, mean) in means.into_iter().enumerate() {
            let missed = |stream: usize| {
                let mut rng = Seed::new(stream as u64).child(case as u64).rng();
                let (mut sequence, mut expected) = (MeanSequence::default(), 0.0);
                (0..2000).any(|i| {
                    expected += mean(i);
                    sequence.add(f64::from(u8::from(rng.random::<f64>() < mean(i))));
                    // What an end is found by, at the mean itself: cheaper than both ends.
                    let (n, p) = ((i + 1) as f64, expected / (i + 1) as f64);
                    let ruled_out = |sum: f64, p: f64| log_mixture(n, sum, p) >= (2.0 / ALPHA).ln();
                    i % 5 == 0 && (ruled_out(sequence.sum, p) || ruled_out(n - sequence.sum, 1.0 - p))
                })
            };
            let missed = (0..STREAMS).filter(|&s| missed(s)).count();
            // As many would be seen with probability below 1e-4 if α were exceeded by nothing.
            assert!(binomial_upper_tail(missed, STREAMS, ALPHA) > 1e-4, "case {case}: {missed}");
        }
    }
}
