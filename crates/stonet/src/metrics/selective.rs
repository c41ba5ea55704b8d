//! Risk and coverage: how many of the surest guesses are wrong, for every share of rows that is kept.
//!
//! Rows are kept in descending order of confidence. The risk at coverage j / n is the share of wrong guesses among the
//! first j rows, and AURC is its mean over j = 1, …, n (Geifman & El-Yaniv 2017). Rows of equal confidence come in
//! random order, and AURC is the expectation over it, so that the order of rows does not matter. The best order puts all
//! right guesses first; excess AURC is what lies above the AURC of that order.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::bins::Binned;
use super::check::check_labels;
use super::classes::BINS;
use crate::base::Result;

/// Points of a risk–coverage curve.
const POINTS: usize = 100;

/// The surest guesses down to a confidence, and how many of them are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskPoint {
    /// The share of rows that are kept.
    pub coverage: f64,
    /// The lowest confidence among them.
    pub confidence: f64,
    /// The number of rows that are kept.
    pub rows: usize,
    /// The number of wrong guesses among them.
    pub wrong: usize,
    /// The share of wrong guesses among them.
    pub risk: f64,
}

/// Rows in descending order of confidence, and where rows of equal confidence end.
pub(super) struct Order {
    pub rows: Vec<usize>,
    /// One behind the last row of each group of equal confidence.
    pub ends: Vec<usize>,
}

impl Order {
    pub fn new(confidence: &[f64]) -> Self {
        let mut rows: Vec<usize> = (0..confidence.len()).collect();
        rows.sort_by(|&a, &b| confidence[b].total_cmp(&confidence[a]));
        let last = |&j: &usize| j == rows.len() || confidence[rows[j - 1]] != confidence[rows[j]];
        let ends = (1..=rows.len()).filter(last).collect();
        Order { rows, ends }
    }

    /// The derivative of AURC by the error of each row, rows as they came: Σ_{j ≥ rank} 1 / j over n, the mean within
    /// groups.
    pub fn weights(&self) -> Vec<f64> {
        let n = self.rows.len();
        let mut weights = vec![0.0; n];
        let (mut tail, mut end) = (0.0, n);
        for &begin in self.ends.iter().rev().skip(1).chain(&[0]) {
            let mut total = 0.0;
            for rank in (begin + 1..=end).rev() {
                tail += 1.0 / rank as f64;
                total += tail;
            }
            let mean = total / (end - begin) as f64 / n as f64;
            self.rows[begin..end].iter().for_each(|&i| weights[i] = mean);
            end = begin;
        }
        weights
    }

    /// AURC and its excess when the j-th row of the order is there `counts[j]` times and is wrong where `wrong[j]`.
    pub fn drawn(&self, counts: &[u16], wrong: &[bool]) -> (f64, f64) {
        let (mut kept, mut errors, mut sum) = (0.0, 0.0, 0.0);
        let mut begin = 0;
        for &end in &self.ends {
            let (mut rows, mut bad) = (0u32, 0u32);
            for j in begin..end {
                rows += u32::from(counts[j]);
                bad += if wrong[j] { u32::from(counts[j]) } else { 0 };
            }
            let each = f64::from(bad) / f64::from(rows.max(1));
            for _ in 0..rows {
                kept += 1.0;
                errors += each;
                sum += errors / kept;
            }
            begin = end;
        }
        let aurc = sum / kept;
        (aurc, aurc - best(kept.round() as usize, errors.round() as usize))
    }
}

/// AURC of the best order of `n` rows of which `wrong` are wrong.
pub(super) fn best(n: usize, wrong: usize) -> f64 {
    (1..=wrong).map(|j| j as f64 / (n - wrong + j) as f64).sum::<f64>() / n as f64
}

/// The risk–coverage curve of the guessed class at most at 100 coverages. Each point keeps all rows down to a confidence,
/// so that rows of equal confidence stay together.
pub fn risk_coverage(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<Vec<RiskPoint>> {
    let binned = Binned::new(p, BINS)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    Ok(curve(&binned, labels))
}

/// The same of checked rows.
pub(super) fn curve(binned: &Binned, labels: &[usize]) -> Vec<RiskPoint> {
    let confidence: Vec<f64> = binned.top.iter().map(|t| t.confidence).collect();
    let (order, n) = (Order::new(&confidence), labels.len());
    let mut points: Vec<RiskPoint> = Vec::new();
    let (mut wrong, mut begin) = (0, 0);
    for &end in &order.ends {
        wrong += order.rows[begin..end].iter().filter(|&&i| binned.top[i].class != labels[i]).count();
        // The first end at or behind each hundredth of the rows.
        if end * POINTS / n > begin * POINTS / n {
            let (coverage, risk) = (end as f64 / n as f64, wrong as f64 / end as f64);
            points.push(RiskPoint { coverage, confidence: confidence[order.rows[end - 1]], rows: end, wrong, risk });
        }
        begin = end;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn areas_by_hand() {
        let order = Order::new(&[0.6, 0.9, 0.8, 0.7]);
        assert_eq!(order.rows, [1, 2, 3, 0]);
        // Wrong at rank 2: risks 0, 1/2, 1/3, 1/4; at best 0, 0, 0, 1/4.
        let wrong = [false, true, false, false];
        let (aurc, excess) = order.drawn(&[1; 4], &wrong);
        let expected = (0.5 + 1.0 / 3.0 + 0.25) / 4.0;
        assert!((aurc - expected).abs() < 1e-15 && (excess - (expected - 0.0625)).abs() < 1e-15);
        assert!((order.weights()[2] - expected).abs() < 1e-15);
        // Twice the same row is a pair of equal confidence.
        let (twice, _) = order.drawn(&[2, 1, 0, 1], &wrong);
        assert!((twice - (1.0 / 3.0 + 0.25) / 4.0).abs() < 1e-15);
    }

    #[test]
    fn equal_confidences_come_in_every_order() {
        // Two rows in a tie, one of them wrong: the mean of (1 + 1/2) / 2 and (0 + 1/2) / 2.
        let order = Order::new(&[0.5, 0.5]);
        assert_eq!(order.drawn(&[1, 1], &[true, false]).0, 0.5);
        assert_eq!(order.weights(), [0.5, 0.5]);
    }

    #[test]
    fn a_curve_by_hand() {
        let p = array![[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.3, 0.7]];
        let points = risk_coverage(p.view(), &[0, 0, 0, 1]).unwrap();
        let seen: Vec<(usize, usize)> = points.iter().map(|p| (p.rows, p.wrong)).collect();
        assert_eq!(seen, [(1, 0), (2, 1), (4, 1)]);
        assert_eq!((points[2].coverage, points[2].risk, points[2].confidence), (1.0, 0.25, 0.7));
    }

    #[test]
    fn the_best_order_has_all_wrong_guesses_last() {
        assert!((best(5, 2) - (1.0 / 4.0 + 2.0 / 5.0) / 5.0).abs() < 1e-15);
        assert_eq!((best(3, 0), best(3, 3)), (0.0, 1.0));
    }

    #[test]
    fn ties_among_other_rows_by_hand() {
        let order = Order::new(&[0.5, 0.9, 0.1, 0.5]);
        assert_eq!(order.ends, [1, 3, 4]);
        // Tails 25/12, 13/12, 7/12 and 1/4 of 1/1 … 1/4; the mean of the second and the third is 10/12.
        let weights = [10.0, 25.0, 3.0, 10.0].map(|w| w / 48.0);
        assert!(order.weights().iter().zip(weights).all(|(found, w)| (found - w).abs() < 1e-15));
        // The second row of the order twice and wrong, the third right: ⅔ of an error for each of three.
        let (area, excess) = order.drawn(&[1, 2, 1, 1], &[false, true, false, true]);
        let expected = (1.0 / 3.0 + 4.0 / 9.0 + 2.0 / 4.0 + 3.0 / 5.0) / 5.0;
        assert!((area - expected).abs() < 1e-15);
        assert!((area - excess - (1.0 / 3.0 + 2.0 / 4.0 + 3.0 / 5.0) / 5.0).abs() < 1e-15);
    }

    #[test]
    fn a_curve_has_a_point_for_every_hundredth_of_the_rows() {
        // 250 rows of which every fifth is wrong, confidences .999 down to .501.
        let p = ndarray::Array2::from_shape_fn((250, 2), |(i, k)| {
            let top = 0.999 - 0.002 * i as f64;
            [top, 1.0 - top][k]
        });
        let labels: Vec<usize> = (0..250).map(|i| usize::from(i % 5 == 4)).collect();
        let points = risk_coverage(p.view(), &labels).unwrap();
        // Hundredths of 250 rows end behind rows 3, 5, 8, 10, …
        let rows: Vec<usize> = (1..=100).map(|j| (j * 250usize).div_ceil(100)).collect();
        assert_eq!(points.iter().map(|p| p.rows).collect::<Vec<_>>(), rows);
        for point in points {
            assert_eq!(point.wrong, point.rows / 5);
            assert!((point.risk - point.wrong as f64 / point.rows as f64).abs() < 1e-15);
            assert_eq!((point.coverage, point.confidence), (point.rows as f64 / 250.0, p[[point.rows - 1, 0]]));
        }
    }
}
