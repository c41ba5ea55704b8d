//! Bins of confidences, which depend on the probabilities alone, and the sums over them that every calibration error is
//! made of.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::check::{check_labels, check_probabilities};
use super::classes::{ClassScores, top_class};
use crate::base::{Error, Result};

/// More bins than anybody draws, and few enough for a table of them per class.
const MOST_BINS: usize = 10_000;

/// The bin of a probability among `bins` of equal width, (lo, hi]; 0 belongs to the first.
pub fn bin_of(p: f64, bins: usize) -> usize {
    let n = bins as f64;
    // Rounding may leave a probability a little above 1.
    let guess = ((p * n) as usize).min(bins - 1);
    // An edge belongs to the bin below it, and just below one p · bins may round up to it. It never rounds down past one:
    // a number above the rounded edge is above the edge itself.
    if guess > 0 && p <= guess as f64 / n { guess - 1 } else { guess }
}

/// Bins with as many values each as can be. Equal values share the bin of the first of them in ascending order, so that
/// the order of rows does not matter.
fn bins_of_equal_mass(values: &[f64], bins: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut of = vec![0; values.len()];
    let mut first = 0;
    for (rank, &row) in order.iter().enumerate() {
        if values[row] != values[order[first]] {
            first = rank;
        }
        of[row] = first * bins / values.len();
    }
    of
}

/// A row's guess and where it is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Top {
    pub class: usize,
    pub confidence: f64,
    /// Among bins of equal width.
    pub bin: usize,
    /// Among bins of equal mass.
    pub mass_bin: usize,
}

/// Checked probabilities and their bins.
pub(super) struct Binned {
    pub p: Array2<f64>,
    pub bins: usize,
    pub top: Vec<Top>,
    /// Σ confidence in every bin of equal width.
    top_sums: Vec<f64>,
    /// Σ confidence in every bin of equal mass.
    mass_sums: Vec<f64>,
    /// Σ p_k in every bin of class k, at k · bins + bin.
    class_sums: Vec<f64>,
    /// Σ p² over rows and classes.
    squares: f64,
}

impl Binned {
    pub fn new(p: ArrayView2<'_, f64>, bins: usize) -> Result<Self> {
        check_probabilities(p)?;
        Error::check((1..=MOST_BINS).contains(&bins), "bins", bins, "1 to 10000, such as 15")?;
        let guesses: Vec<usize> = p.outer_iter().map(top_class).collect();
        let confidence: Vec<f64> = p.outer_iter().zip(&guesses).map(|(row, &k)| row[k]).collect();
        let mass_bins = bins_of_equal_mass(&confidence, bins);
        let (mut top_sums, mut mass_sums) = (vec![0.0; bins], vec![0.0; bins]);
        let mut top = Vec::with_capacity(guesses.len());
        for ((class, &confidence), mass_bin) in guesses.into_iter().zip(&confidence).zip(mass_bins) {
            let bin = bin_of(confidence, bins);
            top_sums[bin] += confidence;
            mass_sums[mass_bin] += confidence;
            top.push(Top { class, confidence, bin, mass_bin });
        }
        let mut class_sums = vec![0.0; p.ncols() * bins];
        for row in p.outer_iter() {
            row.iter().enumerate().for_each(|(k, &p)| class_sums[k * bins + bin_of(p, bins)] += p);
        }
        let squares = p.iter().map(|p| p * p).sum();
        // Rows one after the other, whatever the layout that came: labels are looked up in random order.
        let p = p.as_standard_layout().into_owned();
        Ok(Binned { p, bins, top, top_sums, mass_sums, class_sums, squares })
    }

    pub fn rows(&self) -> usize {
        self.p.nrows()
    }

    pub fn classes(&self) -> usize {
        self.p.ncols()
    }

    /// Every score of these labels.
    pub fn scores(&self, labels: &[usize]) -> ClassScores<f64> {
        self.tally_of(labels).scores()
    }

    /// The sums of these labels.
    pub fn tally_of(&self, labels: &[usize]) -> Tally<'_> {
        let mut tally = self.tally();
        labels.iter().enumerate().for_each(|(i, &y)| tally.add(i, y));
        tally
    }

    /// The sums before any label is known.
    pub fn tally(&self) -> Tally<'_> {
        Tally {
            binned: self,
            top: self.top_sums.clone(),
            mass: self.mass_sums.clone(),
            class: self.class_sums.clone(),
            hits: 0,
            log_loss: 0.0,
            own: 0.0,
        }
    }
}

/// Probabilities less labels in every bin: the sums of the probabilities are known, so a label changes one number of
/// each kind.
pub(super) struct Tally<'a> {
    binned: &'a Binned,
    top: Vec<f64>,
    mass: Vec<f64>,
    class: Vec<f64>,
    hits: usize,
    log_loss: f64,
    /// Σ p_y.
    own: f64,
}

impl Tally<'_> {
    /// Row `i` has label `y`.
    pub fn add(&mut self, i: usize, y: usize) {
        let (p, bins, guess) = (self.binned.p[[i, y]], self.binned.bins, self.binned.top[i]);
        self.class[y * bins + bin_of(p, bins)] -= 1.0;
        self.log_loss += surprise(p);
        self.own += p;
        if y == guess.class {
            self.hits += 1;
            self.top[guess.bin] -= 1.0;
            self.mass[guess.mass_bin] -= 1.0;
        }
    }

    /// Probabilities less labels in the bins of ece, cece and adaptive ece.
    pub fn sums(&self) -> [&[f64]; 3] {
        [&self.top, &self.class, &self.mass]
    }

    /// Every score, once each row has its label.
    pub fn scores(&self) -> ClassScores<f64> {
        let (n, k) = (self.binned.rows() as f64, self.binned.classes() as f64);
        ClassScores {
            accuracy: self.hits as f64 / n,
            nll: self.log_loss / n,
            // Σ_k (p_k − 1{k = y})² = Σ p² − 2 p_y + 1.
            brier: (self.binned.squares - 2.0 * self.own) / n + 1.0,
            ece: absolute_sum(&self.top) / n,
            cece: absolute_sum(&self.class) / (n * k),
            adaptive_ece: absolute_sum(&self.mass) / n,
        }
    }
}

/// −ln p, where a probability of 0 counts as the smallest normal number: 708.4, not ∞.
pub(super) fn surprise(p: f64) -> f64 {
    -p.max(f64::MIN_POSITIVE).ln()
}

pub(super) fn absolute_sum(values: &[f64]) -> f64 {
    values.iter().map(|v| v.abs()).sum()
}

/// One bar of a reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower end, which does not belong to the bin, unless it is 0.
    pub low: f64,
    /// Upper end, which does.
    pub high: f64,
    /// Rows whose confidence lies in the bin.
    pub count: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The fraction of them whose guess is right.
    pub accuracy: f64,
}

/// Confidence and accuracy of the guessed class by bins of equal width, (lo, hi]; bins without rows are left out.
pub fn reliability(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<Vec<ReliabilityBin>> {
    let binned = Binned::new(p, bins)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    let (mut counts, mut hits) = (vec![0usize; bins], vec![0usize; bins]);
    for (top, &y) in binned.top.iter().zip(labels) {
        counts[top.bin] += 1;
        hits[top.bin] += usize::from(top.class == y);
    }
    let bar = |bin: usize| ReliabilityBin {
        low: bin as f64 / bins as f64,
        high: (bin + 1) as f64 / bins as f64,
        count: counts[bin],
        confidence: binned.top_sums[bin] / counts[bin] as f64,
        accuracy: hits[bin] as f64 / counts[bin] as f64,
    };
    Ok((0..bins).filter(|&bin| counts[bin] > 0).map(bar).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn an_edge_belongs_to_the_bin_below_it() {
        for bins in 1..200 {
            assert_eq!((bin_of(0.0, bins), bin_of(1.0, bins), bin_of(1.0 + 1e-9, bins)), (0, bins - 1, bins - 1));
            for j in 1..bins {
                let edge = j as f64 / bins as f64;
                assert_eq!((bin_of(edge, bins), bin_of(edge.next_up(), bins)), (j - 1, j), "{j}/{bins}");
            }
        }
    }

    #[test]
    fn bins_of_equal_mass_keep_ties_together() {
        assert_eq!(bins_of_equal_mass(&[0.9, 0.1, 0.5, 0.7], 2), [1, 0, 0, 1]);
        // Ranks 0, 1, 2 share the first value, so the second bin begins at rank 3.
        assert_eq!(bins_of_equal_mass(&[0.5, 0.5, 0.9, 0.5], 2), [0, 0, 1, 0]);
        assert_eq!(bins_of_equal_mass(&[0.4, 0.3], 5), [2, 0]);
    }

    #[test]
    fn a_diagram_by_hand() {
        let p = array![[0.6, 0.4], [0.3, 0.7], [0.0, 1.0], [0.5, 0.5]];
        let bars = reliability(p.view(), &[0, 0, 1, 1], 5).unwrap();
        // The tie guesses the first class, and .6 stays in (.4, .6].
        let seen: Vec<(usize, f64)> = bars.iter().map(|b| (b.count, b.accuracy)).collect();
        assert_eq!(seen, [(2, 0.5), (1, 0.0), (1, 1.0)]);
        assert_eq!((bars[0].low, bars[0].high, bars[0].confidence), (0.4, 0.6, 0.55));
    }

    #[test]
    fn sums_by_hand() {
        let binned = Binned::new(array![[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]].view(), 2).unwrap();
        let tally = binned.tally_of(&[0, 0, 1]);
        // One of three guesses is right. Bins of equal mass begin at ranks 0 and 2.
        let [top, class, mass] = tally.sums();
        assert_eq!(top, [0.0, 2.5 - 1.0]);
        assert_eq!(class, [0.25 - 1.0, 1.75 - 1.0, 0.25 - 1.0, 0.75]);
        assert_eq!(mass, [1.5 - 1.0, 1.0]);
        assert_eq!(tally.scores().adaptive_ece, 0.5);
    }
}
