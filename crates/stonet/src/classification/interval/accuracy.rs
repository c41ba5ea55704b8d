//! Bounds for the accuracy among rows of similar confidence, exact for any classifier and any number of classes.
//!
//! Edges of the bins come from the confidences of some rows, hits are counted on others that the classifier was not
//! fitted on. Given their number, the hits of a bin are binomial with P(guess right | confidence in the bin), so the
//! bounds of Clopper & Pearson at 1 − α / bins hold for all bins at once with probability at least 1 − α (Bonferroni).
//! This is no statement on P(class | x) of a single row: rows of one bin may differ.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::base::binomial::beta_quantile;
use crate::base::{Error, Result};
use crate::metrics::{check_labels, check_probabilities, top_class};
use crate::rows::Level;

/// The most bins.
const MOST_BINS: usize = 1000;

/// The accuracy among rows of this confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AccuracyInterval {
    /// Lower end of the bin of confidence, which does not belong to it, unless it is 0.
    pub from: f64,
    /// Upper end, which does.
    pub to: f64,
    /// Rows that were counted.
    pub rows: usize,
    /// Right guesses among them.
    pub right: usize,
    /// Lower bound of the accuracy.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

/// Bounds for the accuracy in every bin of confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyBounds {
    bins: Vec<AccuracyInterval>,
    level: Level,
}

impl AccuracyBounds {
    /// Bins with about equally many rows of `edges`, probabilities of rows without labels; hits counted on the rows `p`
    /// with `labels`. Neither rows may have been used to fit what gave the probabilities.
    pub fn fit(
        edges: ArrayView2<'_, f64>,
        p: ArrayView2<'_, f64>,
        labels: &[usize],
        bins: usize,
        level: Level,
    ) -> Result<Self> {
        Error::check((1..=MOST_BINS).contains(&bins), "bins", bins, "1 to 1000, such as 10")?;
        check_probabilities(edges)?;
        check_probabilities(p)?;
        check_labels(labels, p.nrows(), p.ncols())?;
        let mut sorted: Vec<f64> = edges.outer_iter().map(|row| row[top_class(row)]).collect();
        sorted.sort_by(f64::total_cmp);
        let mut ends: Vec<f64> = (1..bins).map(|b| sorted[(b * sorted.len() / bins).min(sorted.len() - 1)]).collect();
        ends.push(1.0);
        ends.dedup();
        let (mut rows, mut right) = (vec![0usize; ends.len()], vec![0usize; ends.len()]);
        for (row, &y) in p.outer_iter().zip(labels) {
            let guess = top_class(row);
            let bin = bin(&ends, row[guess]);
            rows[bin] += 1;
            right[bin] += usize::from(guess == y);
        }
        let tail = (1.0 - level.get()) / (2.0 * ends.len() as f64);
        let one = |b: usize| {
            let (n, k) = (rows[b], right[b]);
            let lower = if k == 0 { 0.0 } else { beta_quantile(tail, k as f64, (n - k + 1) as f64) };
            let upper = if k == n { 1.0 } else { beta_quantile(1.0 - tail, (k + 1) as f64, (n - k) as f64) };
            AccuracyInterval {
                from: if b == 0 { 0.0 } else { ends[b - 1] },
                to: ends[b],
                rows: n,
                right: k,
                lower,
                upper,
            }
        };
        Ok(AccuracyBounds { bins: (0..ends.len()).map(one).collect(), level })
    }

    /// Every bin, in ascending order of confidence.
    pub fn bins(&self) -> &[AccuracyInterval] {
        &self.bins
    }

    /// The probability with which all bounds hold at once.
    pub fn level(&self) -> Level {
        self.level
    }

    /// What is known of rows with this confidence.
    pub fn at(&self, confidence: f64) -> &AccuracyInterval {
        let last = self.bins.len() - 1;
        &self.bins[self.bins[..last].partition_point(|b| b.to < confidence)]
    }
}

/// The first bin whose upper end is at least the confidence; the last one holds the rest.
fn bin(ends: &[f64], confidence: f64) -> usize {
    ends[..ends.len() - 1].partition_point(|end| *end < confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn rows(confidence: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((confidence.len(), 2), |(i, k)| if k == 0 { confidence[i] } else { 1.0 - confidence[i] })
    }

    #[test]
    fn bounds_by_hand() {
        let edges = rows(&[0.6, 0.7, 0.8, 0.9]);
        let p = rows(&[0.65, 0.75, 0.8, 0.95, 0.99]);
        let level = Level::new(0.9).unwrap();
        let bounds = AccuracyBounds::fit(edges.view(), p.view(), &[0, 1, 0, 0, 0], 2, level).unwrap();
        let seen: Vec<_> = bounds.bins().iter().map(|b| (b.from, b.to, b.rows, b.right)).collect();
        assert_eq!(seen, [(0.0, 0.8, 3, 2), (0.8, 1.0, 2, 2)]);
        // All right: the lower bound l has l² = 0.1 / 4.
        assert!((bounds.bins()[1].lower - 0.025f64.sqrt()).abs() < 1e-9 && bounds.bins()[1].upper == 1.0);
        assert_eq!((bounds.at(0.8).to, bounds.at(0.81).to, bounds.at(1.0).to), (0.8, 1.0, 1.0));
    }

    #[test]
    fn bins_without_rows_say_nothing_and_ties_share_an_edge() {
        let level = Level::new(0.9).unwrap();
        let bounds = AccuracyBounds::fit(rows(&[0.9; 5]).view(), rows(&[0.95]).view(), &[0], 4, level).unwrap();
        assert_eq!(bounds.bins().len(), 2);
        assert_eq!((bounds.bins()[0].lower, bounds.bins()[0].upper), (0.0, 1.0));
        assert!(AccuracyBounds::fit(rows(&[0.9]).view(), array![[0.5, 0.4]].view(), &[0], 4, level).is_err());
    }
}
