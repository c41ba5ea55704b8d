//! How many rows were fitted on, and whether that is more than equal rows explain.

use serde::{Deserialize, Serialize};

use super::percent;
use super::sketch::Fingerprints;

/// The overlap that is tolerated in any case.
const LIMIT: f64 = 0.01;
/// Standard deviations by which the overlap has to exceed the rate of duplicates.
const MARGIN: f64 = 4.0;
/// Normal quantile at 0.99, for shares that are estimated from a sample.
const Z: f64 = 2.326;
/// Matches are put down to false positives where these alone give as many with a probability above this.
const CHANCE: f64 = 1e-3;

/// Rows to be judged that are among the rows that were fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Rows to be judged.
    pub rows: usize,
    /// Those that could be looked up: all, or those in the sample that a head of very many rows keeps.
    pub checked: usize,
    /// Those that were found.
    pub matched: usize,
    /// The estimated share of all rows, corrected for false positives.
    pub share: f64,
    /// The share of the fitted rows that have an equal one among them: what chance alone would give.
    pub duplicate_rate: f64,
    /// The probability that a row is found though it was not fitted on.
    pub false_positive_rate: f64,
    /// Fitted rows behind `duplicate_rate`.
    pub fitted: u64,
}

impl Overlap {
    pub(super) fn new(set: &Fingerprints, rows: usize, checked: usize, matched: usize) -> Self {
        let rate = set.false_positive_rate();
        let found = matched as f64 / checked.max(1) as f64;
        Overlap {
            rows,
            checked,
            matched,
            share: ((found - rate) / (1.0 - rate)).clamp(0.0, 1.0),
            duplicate_rate: set.duplicate_rate(),
            false_positive_rate: rate,
            fitted: set.counts().sampled,
        }
    }

    /// All of these rows.
    pub fn all(rows: usize) -> Self {
        Overlap {
            rows,
            checked: rows,
            matched: rows,
            share: 1.0,
            duplicate_rate: 0.0,
            false_positive_rate: 0.0,
            fitted: rows as u64,
        }
    }

    /// Whether some rows were fitted on: more are found than false positives explain.
    pub fn any(&self) -> bool {
        let mean = self.false_positive_rate * self.checked as f64;
        self.matched > 0 && self.share > 0.0 && poisson_tail(self.matched, mean) < CHANCE
    }

    /// Whether so many rows were fitted on that the result would mislead: more than 1 %, and more than equal rows
    /// explain. The second bound is the rate of duplicates and four standard deviations; it is 0 where no fitted row
    /// repeats. A share that is estimated from a sample has to exceed 1 % with a confidence of 99 %.
    pub fn too_many(&self) -> bool {
        let (d, n) = (self.duplicate_rate, self.checked.max(1) as f64);
        let by_chance = d + MARGIN * (d * (1.0 - d) * (1.0 / n + 1.0 / self.fitted.max(1) as f64)).sqrt();
        let sure = if self.checked < self.rows { wilson(self.share, n) } else { self.share };
        self.any() && sure > LIMIT && self.share > by_chance
    }

    /// The overlap in words, as the end of a sentence without its full stop.
    pub fn text(&self) -> String {
        let (rows, matched, checked) = (self.rows, self.matched, self.checked);
        if checked == 0 && rows > 0 {
            return format!(
                "whether these {rows} rows were fitted on is not known: none of them is in the sample of fingerprints"
            );
        }
        if !self.any() {
            return format!("none of these {rows} rows is among the rows that were fitted on");
        }
        let share = percent(self.share);
        let mut text = match checked == rows {
            true => format!("{matched} of these {rows} rows ({share}) are among the rows that were fitted on"),
            false => format!(
                "an estimated {share} of these {rows} rows are among the rows that were fitted on ({matched} of {checked} rows checked)"
            ),
        };
        if self.duplicate_rate > 0.0 {
            text += &format!("; {} of the fitted rows have an equal one among them", percent(self.duplicate_rate));
        }
        text
    }
}

/// The probability of at least `k` events where `mean` are expected.
fn poisson_tail(k: usize, mean: f64) -> f64 {
    if k as f64 > mean + 20.0 * (mean + 1.0).sqrt() {
        return 0.0;
    }
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= mean / (i + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

/// Wilson's lower bound of a share among `n`.
fn wilson(share: f64, n: f64) -> f64 {
    let z2 = Z * Z / n;
    (share + z2 / 2.0 - (z2 * (share * (1.0 - share) + z2 / 4.0)).sqrt()) / (1.0 + z2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_poisson_distribution() {
        assert_eq!(poisson_tail(0, 3.0), 1.0);
        assert!((poisson_tail(1, 0.01) - (1.0 - (-0.01f64).exp())).abs() < 1e-12);
        assert!((poisson_tail(3, 2.0) - 0.323_323_6).abs() < 1e-6);
        assert_eq!(poisson_tail(1000, 2.0), 0.0);
    }
}
