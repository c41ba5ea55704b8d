//! Counts of a rule at a threshold, and whether they keep a wish.
//!
//! A risk is a share of rows: of the answered ones, of those of a class, or of all. Given how many rows it is a share of,
//! the errors at a fixed threshold are binomial, so that P(Bin(rows, e) ≤ errors) is an exact p-value of the hypothesis
//! that the risk exceeds e.

use super::evidence::Evidence;
use super::want::{Measure, Want};
use crate::base::binomial::{binomial_cdf, clopper_pearson};
use crate::rows::Level;

/// (errors + 1) ≤ e (rows + 1) in arithmetic where it is not quite so in floating point.
const ROUNDING: f64 = 1e-9;

/// What a rule does at a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// Rows that are answered.
    pub answered: usize,
    /// Rows that the risk is a share of.
    pub of: usize,
    /// Errors among them.
    pub errors: usize,
}

/// The risk that may not be exceeded, and how surely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub risk: f64,
    /// None where the expectation of the risk is bounded.
    pub confidence: Option<Level>,
}

impl Limit {
    pub(super) fn new(want: &Want, confidence: Option<Level>) -> Self {
        Limit { risk: want.risk(), confidence }
    }

    /// Whether counts keep the limit: their p-value is at most 1 − confidence, or, in expectation, their risk with one
    /// error and one row more is at most e.
    pub(super) fn keeps(&self, errors: usize, of: usize) -> bool {
        match self.confidence {
            Some(confidence) => self.p_value(errors, of) <= 1.0 - confidence.get() + f64::EPSILON,
            None => errors as f64 + 1.0 <= self.risk * (of as f64 + 1.0) + ROUNDING,
        }
    }

    /// P(Bin(of, e) ≤ errors).
    pub(super) fn p_value(&self, errors: usize, of: usize) -> f64 {
        binomial_cdf(errors, of, self.risk)
    }

    /// What [`keeps`](Self::keeps) compares with e: the exact upper bound of the risk, or the risk with one error and one
    /// row more.
    pub(super) fn bound(&self, errors: usize, of: usize) -> f64 {
        match self.confidence {
            Some(confidence) => clopper_pearson(errors as f64, of, 1.0 - confidence.get()).1,
            None => (errors as f64 + 1.0) / (of as f64 + 1.0),
        }
    }

    /// The largest number of errors among so many rows that keeps the limit; none where not even 0 does.
    pub(super) fn most_errors(&self, of: usize) -> Option<usize> {
        if !self.keeps(0, of) {
            return None;
        }
        let (mut low, mut high) = (0, of + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if middle <= of && self.keeps(middle, of) { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// The fewest rows among which a share of errors keeps the limit; none where more rows do not help.
    pub(super) fn rows_needed(&self, share: f64) -> Option<usize> {
        let keeps = |rows: usize| self.keeps((share * rows as f64).ceil() as usize, rows);
        if share >= self.risk {
            return None;
        }
        let mut high = 1;
        while !keeps(high) {
            high = if high < 1 << 40 { 2 * high } else { return None };
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low.midpoint(high);
            if keeps(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

/// Rows in ascending order of surety with running counts, so that every threshold is counted at once.
pub(super) struct Ordered {
    measure: Measure,
    sure: Vec<f64>,
    /// Marked rows among the first i.
    marked: Vec<usize>,
}

impl Ordered {
    /// Some rows of the evidence.
    pub(super) fn new(evidence: &Evidence, mut rows: Vec<usize>) -> Self {
        rows.sort_by(|&a, &b| evidence.sure[a].total_cmp(&evidence.sure[b]));
        let running = rows.iter().scan(0, |sum, &i| {
            *sum += usize::from(evidence.marked[i]);
            Some(*sum)
        });
        let marked = [0].into_iter().chain(running).collect();
        Ordered { measure: evidence.want.measure(), sure: rows.iter().map(|&i| evidence.sure[i]).collect(), marked }
    }

    pub(super) fn rows(&self) -> usize {
        self.sure.len()
    }

    /// All marked rows.
    pub(super) fn marked(&self) -> usize {
        self.marked[self.rows()]
    }

    /// The surety of the i-th marked row from below, from 0.
    pub(super) fn marked_at(&self, i: usize) -> f64 {
        self.sure[self.marked.partition_point(|&sum| sum <= i) - 1]
    }

    /// The sureties, ascending.
    pub(super) fn sure(&self) -> &[f64] {
        &self.sure
    }

    /// Whether the i-th row is marked.
    pub(super) fn is_marked(&self, i: usize) -> bool {
        self.marked[i + 1] > self.marked[i]
    }

    /// How many rows a rule with this threshold does not answer; none answers every row.
    pub(super) fn below(&self, threshold: Option<f64>) -> usize {
        threshold.map_or(0, |t| self.sure.partition_point(|s| *s < t))
    }

    /// What a rule with this threshold does; none answers every row.
    pub(super) fn at(&self, threshold: Option<f64>) -> Count {
        let below = self.below(threshold);
        let (answered, marked_below) = (self.rows() - below, self.marked[below]);
        let marked_above = self.marked() - marked_below;
        match self.measure {
            Measure::Recall | Measure::Fnr => Count { answered, of: self.marked(), errors: marked_below },
            Measure::Wrong => Count { answered, of: self.rows(), errors: marked_above },
            Measure::Accuracy | Measure::Precision | Measure::Coverage => {
                Count { answered, of: answered, errors: marked_above }
            }
        }
    }

    /// At most so many distinct sureties, evenly over the rows, descending; then none, which answers every row.
    pub(super) fn thresholds(&self, most: usize) -> Vec<Option<f64>> {
        let (n, most) = (self.rows(), most.max(1));
        let mut found: Vec<f64> = (0..most.min(n)).map(|k| self.sure[n - 1 - k * n / most.min(n)]).collect();
        found.dedup();
        // Every row is at least infinitely unsure.
        let finite = found.into_iter().filter(|s| s.is_finite()).map(Some);
        finite.chain([None]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(risk: f64, confidence: Option<f64>) -> Limit {
        Limit { risk, confidence: confidence.map(|c| Level::new(c).unwrap()) }
    }

    #[test]
    fn a_bound_keeps_what_its_test_keeps() {
        for l in [limit(0.05, Some(0.95)), limit(0.1, Some(0.9)), limit(0.3, Some(0.99)), limit(0.1, None)] {
            for of in [1, 5, 20, 59, 100, 700] {
                for errors in 0..=of.min(60) {
                    let bound = l.bound(errors, of);
                    // Where the two are equal rounding may decide.
                    if (bound - l.risk).abs() > 1e-9 {
                        assert_eq!(l.keeps(errors, of), bound < l.risk, "{l:?} {errors} of {of}");
                    }
                }
                let most = l.most_errors(of);
                assert_eq!(most, (0..=of).rev().find(|&e| l.keeps(e, of)), "{l:?} {of}");
            }
        }
    }

    #[test]
    fn rows_that_are_needed_by_hand() {
        // 0.95^58 > 0.05 ≥ 0.95^59, and 1 ≤ 0.1 (9 + 1).
        assert_eq!(limit(0.05, Some(0.95)).rows_needed(0.0), Some(59));
        assert_eq!(limit(0.1, None).rows_needed(0.0), Some(9));
        assert_eq!(limit(0.1, None).most_errors(9), Some(0));
        assert_eq!(limit(0.1, None).most_errors(8), None);
        assert_eq!(limit(0.05, Some(0.95)).rows_needed(0.05), None);
        let l = limit(0.05, Some(0.95));
        let rows = l.rows_needed(0.03).unwrap();
        assert!(l.keeps((0.03 * rows as f64).ceil() as usize, rows) && rows > 300);
    }
}
