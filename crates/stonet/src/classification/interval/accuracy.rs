//! Bounds for the accuracy among rows of similar confidence, exact for any classifier and any number of classes.
//!
//! Edges of the bins come from the confidences of some rows, hits are counted on others that the classifier was not
//! fitted on. Given their number, the hits of a bin are binomial with P(guess right | confidence in the bin), so the
//! bounds of Clopper & Pearson at 1 − α / bins hold for all bins at once with probability at least 1 − α (Bonferroni).
//! This is no statement on P(class | x) of a single row: rows of one bin may differ.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::base::binomial::clopper_pearson;
use crate::base::{Error, Result};
use crate::metrics::{check_labels, check_probabilities, top_class};
use crate::rows::Level;
use crate::score::BinBounds;

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

/// Rows and right guesses in every bin of confidence, from which bounds follow at any level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Counts", into = "Counts")]
pub struct AccuracyBins {
    ends: Vec<f64>,
    rows: Vec<usize>,
    right: Vec<usize>,
}

/// What is written to files; reading it back checks that its parts belong together.
#[derive(Serialize, Deserialize)]
struct Counts {
    ends: Vec<f64>,
    rows: Vec<usize>,
    right: Vec<usize>,
}

impl TryFrom<Counts> for AccuracyBins {
    type Error = Error;
    fn try_from(Counts { ends, rows, right }: Counts) -> Result<Self> {
        let sound = (1..=MOST_BINS).contains(&ends.len())
            && ends.len() == rows.len()
            && ends.len() == right.len()
            && ends.last() == Some(&1.0)
            && ends.iter().all(|end| (0.0..=1.0).contains(end))
            && ends.windows(2).all(|pair| pair[0] < pair[1])
            && right.iter().zip(&rows).all(|(right, rows)| right <= rows);
        match sound {
            true => Ok(AccuracyBins { ends, rows, right }),
            false => Err(Error::Inconsistent { what: "the bins of bounds of accuracy do not belong together" }),
        }
    }
}

impl From<AccuracyBins> for Counts {
    fn from(AccuracyBins { ends, rows, right }: AccuracyBins) -> Self {
        Counts { ends, rows, right }
    }
}

impl AccuracyBins {
    /// Bins with about equally many rows of `edges`, probabilities of rows whose labels are not looked at; hits counted
    /// on the rows `p` with `labels`, which must not have been used to fit what gave the probabilities, nor be among
    /// those of `edges`.
    pub fn fit(edges: ArrayView2<'_, f64>, p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<Self> {
        Self::check(bins)?;
        check_probabilities(edges)?;
        check_probabilities(p)?;
        check_labels(labels, p.nrows(), p.ncols())?;
        let mut sorted: Vec<f64> = edges.outer_iter().map(|row| row[top_class(row)]).collect();
        sorted.sort_by(f64::total_cmp);
        let mut ends: Vec<f64> = (1..bins).map(|b| sorted[(b * sorted.len() / bins).min(sorted.len() - 1)]).collect();
        ends.push(1.0);
        ends.dedup();
        let (rows, right) = (vec![0; ends.len()], vec![0; ends.len()]);
        let mut counted = AccuracyBins { ends, rows, right };
        for (row, &y) in p.outer_iter().zip(labels) {
            let guess = top_class(row);
            let bin = counted.bin(row[guess]);
            counted.rows[bin] += 1;
            counted.right[bin] += usize::from(guess == y);
        }
        Ok(counted)
    }

    /// Fails unless there can be so many bins.
    pub(in crate::classification) fn check(bins: usize) -> Result<()> {
        Error::check((1..=MOST_BINS).contains(&bins), "bins", bins, "1 to 1000, such as 10")
    }

    /// How many bins there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: the last bin holds whatever the others do not.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Rows that were counted in all bins.
    pub fn rows(&self) -> usize {
        self.rows.iter().sum()
    }

    /// The number of the bin of a confidence: the first whose upper end is at least that; the last one holds the rest.
    pub fn bin(&self, confidence: f64) -> usize {
        self.ends[..self.ends.len() - 1].partition_point(|end| *end < confidence)
    }

    /// Bounds that hold for all bins at once with the level as probability.
    pub fn bounds(&self, level: Level) -> AccuracyBounds {
        let tail = (1.0 - level.get()) / (2.0 * self.len() as f64);
        let one = |b: usize| {
            let (rows, right) = (self.rows[b], self.right[b]);
            let (lower, upper) = clopper_pearson(right as f64, rows, tail);
            let from = if b == 0 { 0.0 } else { self.ends[b - 1] };
            AccuracyInterval { from, to: self.ends[b], rows, right, lower, upper }
        };
        AccuracyBounds { bins: (0..self.len()).map(one).collect(), level }
    }
}

/// Bounds for the accuracy in every bin of confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccuracyBounds {
    bins: Vec<AccuracyInterval>,
    level: Level,
}

impl AccuracyBounds {
    /// The bounds of [`AccuracyBins::fit`] at a level.
    pub fn fit(
        edges: ArrayView2<'_, f64>,
        p: ArrayView2<'_, f64>,
        labels: &[usize],
        bins: usize,
        level: Level,
    ) -> Result<Self> {
        Ok(AccuracyBins::fit(edges, p, labels, bins)?.bounds(level))
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

    /// The same for an operation of a plan.
    pub(in crate::classification) fn lookup(&self) -> BinBounds {
        let last = self.bins.len() - 1;
        BinBounds {
            ends: self.bins[..last].iter().map(|b| b.to).collect(),
            lower: self.bins.iter().map(|b| b.lower).collect(),
            upper: self.bins.iter().map(|b| b.upper).collect(),
        }
    }
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
        let lookup = bounds.lookup();
        for confidence in [0.0, 0.3, 0.8, 0.8000001, 1.0, 1.0000001] {
            let bin = bounds.at(confidence);
            assert_eq!(lookup.at(confidence), (bin.lower, bin.upper));
        }
    }

    #[test]
    fn bins_without_rows_say_nothing_and_ties_share_an_edge() {
        let level = Level::new(0.9).unwrap();
        let bounds = AccuracyBounds::fit(rows(&[0.9; 5]).view(), rows(&[0.95]).view(), &[0], 4, level).unwrap();
        assert_eq!(bounds.bins().len(), 2);
        assert_eq!((bounds.bins()[0].lower, bounds.bins()[0].upper), (0.0, 1.0));
        assert!(AccuracyBounds::fit(rows(&[0.9]).view(), array![[0.5, 0.4]].view(), &[0], 4, level).is_err());
    }

    #[test]
    fn counts_survive_json_and_those_that_cannot_be_are_refused() {
        let bins = AccuracyBins::fit(rows(&[0.6, 0.9]).view(), rows(&[0.7, 0.95]).view(), &[0, 1], 2).unwrap();
        let text = serde_json::to_string(&bins).unwrap();
        assert_eq!(text, r#"{"ends":[0.9,1.0],"rows":[1,1],"right":[1,0]}"#);
        assert_eq!(serde_json::from_str::<AccuracyBins>(&text).unwrap(), bins);
        for bad in [
            r#"{"ends":[],"rows":[],"right":[]}"#,
            r#"{"ends":[0.9],"rows":[1],"right":[1]}"#,
            r#"{"ends":[1.0,1.0],"rows":[1,1],"right":[1,0]}"#,
            r#"{"ends":[0.9,1.0],"rows":[1],"right":[1,0]}"#,
            r#"{"ends":[0.9,1.0],"rows":[1,1],"right":[1,2]}"#,
            r#"{"ends":[-0.1,1.0],"rows":[1,1],"right":[1,1]}"#,
        ] {
            assert!(serde_json::from_str::<AccuracyBins>(bad).is_err(), "{bad}");
        }
    }
}
