//! Scores of class probabilities: accuracy, likelihood, Brier score, and three calibration errors.
//!
//! | score | of n rows |
//! |---|---|
//! | accuracy | fraction of rows whose guess, the first of the most probable classes, is the label |
//! | nll | mean of −ln p_y, where p_y = 0 counts as the smallest normal number, 2.2e-308 (708.4 nats) |
//! | brier | mean of Σ_k (p_k − 1{k = y})² |
//! | ece | Σ_b (n_b / n) \|accuracy_b − confidence_b\| of the guess, over bins (lo, hi] of equal width |
//! | cece | mean over classes k of the same for the event y = k with probability p_k |
//! | adaptive ece | ece over bins with equally many rows; rows of equal confidence share a bin |
//!
//! netcal's bins are [lo, hi), so that only probabilities exactly on an edge are counted elsewhere; for two classes it
//! measures the probability of the second class, not that of the guess.

use ndarray::{ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::bins::Binned;
use super::check::check_labels;
use crate::base::Result;

/// The usual number of bins.
pub const BINS: usize = 15;

/// One value per score: a number, a band, or a measurement with both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClassScores<T> {
    /// The fraction of right guesses.
    pub accuracy: T,
    /// Mean negative log-likelihood, in nats.
    pub nll: T,
    /// Brier score, summed over classes.
    pub brier: T,
    /// Expected calibration error of the guess.
    pub ece: T,
    /// Class-wise expected calibration error, mean over classes.
    pub cece: T,
    /// Expected calibration error of the guess over bins of equal mass.
    pub adaptive_ece: T,
}

impl<T> ClassScores<T> {
    /// `f` of each score and of the same score of the others.
    pub(super) fn map<U, V>(
        &self,
        others: &[ClassScores<V>],
        f: impl Fn(&T, &mut dyn Iterator<Item = &V>) -> U,
    ) -> ClassScores<U> {
        ClassScores {
            accuracy: f(&self.accuracy, &mut others.iter().map(|o| &o.accuracy)),
            nll: f(&self.nll, &mut others.iter().map(|o| &o.nll)),
            brier: f(&self.brier, &mut others.iter().map(|o| &o.brier)),
            ece: f(&self.ece, &mut others.iter().map(|o| &o.ece)),
            cece: f(&self.cece, &mut others.iter().map(|o| &o.cece)),
            adaptive_ece: f(&self.adaptive_ece, &mut others.iter().map(|o| &o.adaptive_ece)),
        }
    }
}

/// The first of the largest entries of a row of probabilities or logits.
pub fn top_class<T: PartialOrd>(row: ArrayView1<'_, T>) -> usize {
    (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best })
}

/// Every score at once, for probabilities n × K and a label per row.
///
/// ```
/// use ndarray::array;
/// use stonet::metrics::class_scores;
/// let p = array![[0.8, 0.2], [0.6, 0.4]];
/// let scores = class_scores(p.view(), &[0, 1], 15)?;
/// assert_eq!(scores.accuracy, 0.5);
/// // The bins of .8 and .6 hold one row each: (|1 − .8| + |0 − .6|) / 2.
/// assert!((scores.ece - 0.4).abs() < 1e-12);
/// # Ok::<(), stonet::Error>(())
/// ```
pub fn class_scores(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<ClassScores<f64>> {
    let binned = Binned::new(p, bins)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    Ok(binned.scores(labels))
}

/// The fraction of rows whose most probable class, the first one in a tie, is the label.
pub fn accuracy(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    Ok(class_scores(p, labels, BINS)?.accuracy)
}

/// The mean negative log-likelihood. A probability of 0 for the label counts as 2.2e-308, the smallest normal number:
/// one such row costs 708.4 / n, and the score stays finite and tells of every probability that can be written down.
pub fn nll(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    Ok(class_scores(p, labels, BINS)?.nll)
}

/// The Brier score: squared error against the one-hot label, summed over classes, mean over rows; between 0 and 2.
pub fn brier(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    Ok(class_scores(p, labels, BINS)?.brier)
}

/// The expected calibration error of the guessed class over bins of equal width, (lo, hi].
pub fn ece(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<f64> {
    Ok(class_scores(p, labels, bins)?.ece)
}

/// The class-wise expected calibration error over bins of equal width, (lo, hi]: the mean over classes.
pub fn class_wise_ece(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<f64> {
    Ok(class_scores(p, labels, bins)?.cece)
}

/// The expected calibration error of the guessed class over bins with equally many rows. Rows of equal confidence share
/// the bin of the first of them, so the order of rows does not matter.
pub fn adaptive_ece(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<f64> {
    Ok(class_scores(p, labels, bins)?.adaptive_ece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn every_score_by_hand() {
        // Guesses 0, 1, 2, 0 (the last a tie), right in rows 0 and 2; .6 lies on an edge, and 0 and 1 occur.
        let p = array![[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]];
        let s = class_scores(p.view(), &[0, 0, 2, 1], 5).unwrap();
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-14, "{found} for {expected}");
        close(s.accuracy, 0.5);
        close(s.nll, -(0.6f64 * 0.1 * 0.5).ln() / 4.0);
        close(s.brier, (0.26 + (0.81 + 0.49 + 0.04) + 0.0 + 0.5) / 4.0);
        // (.4, .6] holds .6 (right) and .5 (wrong), (.6, .8] .7 (wrong), (.8, 1] 1 (right).
        close(s.ece, ((1.1f64 - 1.0).abs() + 0.7 + 0.0) / 4.0);
        // Class 0: (0, .2] .1 + 0 against 1, (.4, .6] 1.1 against 1. Class 1: 0 against 0, .3 against 0, .5 against 1,
        // .7 against 0. Class 2: .1 + .2 + 0 against 0, 1 against 1.
        close(s.cece, ((0.9 + 0.1) + (0.3 + 0.5 + 0.7) + 0.3) / 12.0);
        let labels = [0, 0, 2, 1];
        close(accuracy(p.view(), &labels).unwrap(), 0.5);
        close(nll(p.view(), &labels).unwrap(), s.nll);
        close(brier(p.view(), &labels).unwrap(), s.brier);
        close(ece(p.view(), &labels, 5).unwrap(), s.ece);
        close(class_wise_ece(p.view(), &labels, 5).unwrap(), s.cece);
        // Two bins: .5, .6 with one right, .7, 1 with one right.
        close(adaptive_ece(p.view(), &[0, 0, 2, 1], 2).unwrap(), (0.1 + 0.7) / 4.0);
    }

    #[test]
    fn sure_and_wrong_is_finite_and_sure_and_right_is_free() {
        let p = array![[0.0, 1.0]];
        assert!((nll(p.view(), &[0]).unwrap() - 708.396).abs() < 1e-3);
        let wrong = class_scores(p.view(), &[0], BINS).unwrap();
        assert_eq!((wrong.accuracy, wrong.brier, wrong.ece, wrong.cece, wrong.adaptive_ece), (0.0, 2.0, 1.0, 1.0, 1.0));
        let right = class_scores(p.view(), &[1], BINS).unwrap();
        assert_eq!((right.nll, right.brier, right.ece, right.cece, right.adaptive_ece), (0.0, 0.0, 0.0, 0.0, 0.0));
    }

    #[test]
    fn the_order_of_rows_and_the_layout_do_not_matter() {
        let p = array![[0.6, 0.4], [0.6, 0.4], [0.3, 0.7], [0.9, 0.1], [0.4, 0.6]];
        let labels = [1, 0, 1, 0, 0];
        let reversed = p.slice(ndarray::s![..;-1, ..]);
        let columns = p.t().as_standard_layout().into_owned();
        let forward = class_scores(p.view(), &labels, 3).unwrap();
        let backward = class_scores(reversed, &[0, 0, 1, 0, 1], 3).unwrap();
        assert!((forward.adaptive_ece - backward.adaptive_ece).abs() < 1e-15);
        assert!((forward.ece - backward.ece).abs() < 1e-15);
        assert_eq!(class_scores(columns.t(), &labels, 3).unwrap(), forward);
    }

    #[test]
    fn bad_input_is_refused() {
        let p = array![[0.5, 0.5]];
        assert!(ece(p.view(), &[2], 15).is_err() && ece(p.view(), &[], 15).is_err() && ece(p.view(), &[0], 0).is_err());
    }
}
