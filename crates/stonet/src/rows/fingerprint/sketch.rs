//! A set of row hashes in four bytes per row, and never more than 256 KiB.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::overlap::Overlap;

/// Most rows whose fingerprints are kept.
const CAPACITY: usize = 1 << 16;
/// Rows that come so often say nothing about copies.
const LARGEST: usize = 64;
/// Halvings leave 32 bits of a hash to be kept.
const MOST_HALVINGS: u32 = 32;

/// What is known of the rows beside their fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FingerprintCounts {
    /// All rows.
    pub rows: u64,
    /// Rows whose fingerprints are kept: those whose hash begins with `halvings` zero bits.
    pub sampled: u64,
    /// Rows among `sampled` that have an equal one among them.
    pub repeated: u64,
    /// How often the sample was halved; 0 where all rows are kept.
    pub halvings: u32,
}

/// The fingerprints of the rows that a head was fitted on, without their order.
///
/// Each distinct row is kept as 32 bits of its hash. Of more than 65,536 distinct rows those are kept whose hash begins
/// with a number of zero bits, which is a random sample of the distinct rows. A row that is not in the set is found in
/// it with a probability of [`false_positive_rate`](Self::false_positive_rate), which is below 1.6·10⁻⁵. Whoever has
/// the set can test whether a row is in it.
///
/// ```
/// use ndarray::array;
/// use stonet::Fingerprints;
/// use stonet::rows::row_hashes;
/// let fitted = row_hashes(&[array![[1.0, 2.0], [3.0, 4.0]].view()])?;
/// let new = row_hashes(&[array![[3.0, 4.0], [5.0, 6.0]].view()])?;
/// let overlap = Fingerprints::new(&fitted).overlap(&new);
/// assert_eq!((overlap.matched, overlap.checked), (1, 2));
/// assert!(overlap.too_many());
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints {
    counts: FingerprintCounts,
    /// Ascending, each once.
    values: Vec<u32>,
}

impl Fingerprints {
    /// Of rows with these hashes, which [`row_hashes`](super::row_hashes) gives.
    pub fn new(hashes: &[u64]) -> Self {
        let mut builder = FingerprintsBuilder::default();
        builder.add(hashes);
        builder.finish()
    }

    /// From what [`counts`](Self::counts) and [`values`](Self::values) gave; the error says what does not fit.
    pub fn from_parts(counts: FingerprintCounts, values: Vec<u32>) -> Result<Self, &'static str> {
        let FingerprintCounts { rows, sampled, repeated, halvings } = counts;
        match () {
            () if !values.is_sorted_by(|a, b| a < b) => Err("fingerprints have to ascend"),
            () if values.len() > CAPACITY => Err("there are more fingerprints than are ever kept"),
            () if halvings > MOST_HALVINGS || repeated > sampled || sampled > rows || values.len() as u64 > sampled => {
                Err("the counts of its fingerprints do not fit together")
            }
            () => Ok(Fingerprints { counts, values }),
        }
    }

    /// How many rows there are, and how many of them repeat.
    pub fn counts(&self) -> FingerprintCounts {
        self.counts
    }

    /// 32 bits per distinct row that is kept, ascending.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The set of these rows and of others with these hashes; none where there would be more fingerprints than are kept: a
    /// set that was made cannot be halved.
    pub fn with(&self, hashes: &[u64]) -> Option<Self> {
        let FingerprintCounts { rows, sampled: before, repeated, halvings } = self.counts;
        let (mut values, mut new, mut again) = (self.values.clone(), 0, 0);
        for &hash in hashes.iter().filter(|&&h| sampled(h, halvings)) {
            new += 1;
            match values.binary_search(&kept(hash, halvings)) {
                Ok(_) => again += 1,
                Err(place) => values.insert(place, kept(hash, halvings)),
            }
        }
        let rows = rows + hashes.len() as u64;
        let counts = FingerprintCounts { rows, sampled: before + new, repeated: repeated + again, halvings };
        (values.len() <= CAPACITY).then_some(Fingerprints { counts, values })
    }

    /// The probability that a row which is not in the set is found in it.
    pub fn false_positive_rate(&self) -> f64 {
        self.values.len() as f64 / 2f64.powi(32)
    }

    /// The share of rows that have an equal one among the others. By Good and Turing it estimates the probability that
    /// an independent new row equals one of these.
    pub fn duplicate_rate(&self) -> f64 {
        self.counts.repeated as f64 / self.counts.sampled.max(1) as f64
    }

    /// Whether a row is in the set; none where it is outside of the sample.
    pub fn contains(&self, hash: u64) -> Option<bool> {
        let halvings = self.counts.halvings;
        sampled(hash, halvings).then(|| self.values.binary_search(&kept(hash, halvings)).is_ok())
    }

    /// How many of the rows with these hashes are in the set.
    pub fn overlap(&self, hashes: &[u64]) -> Overlap {
        let found = hashes.iter().filter_map(|&h| self.contains(h));
        let (checked, matched) = found.fold((0, 0), |(checked, matched), m| (checked + 1, matched + usize::from(m)));
        Overlap::new(self, hashes.len(), checked, matched)
    }
}

/// Collects hashes piece by piece in bounded memory; neither the order nor the pieces matter.
#[derive(Debug, Clone, Default)]
pub struct FingerprintsBuilder {
    rows: u64,
    halvings: u32,
    /// The hashes in the sample, and how often each came.
    seen: HashMap<u64, u64>,
}

impl FingerprintsBuilder {
    /// More rows.
    pub fn add(&mut self, hashes: &[u64]) {
        self.rows += hashes.len() as u64;
        for &hash in hashes {
            if sampled(hash, self.halvings) {
                *self.seen.entry(hash).or_insert(0) += 1;
            }
            while self.seen.len() > CAPACITY && self.halvings < MOST_HALVINGS {
                self.halvings += 1;
                let halvings = self.halvings;
                self.seen.retain(|&h, _| sampled(h, halvings));
            }
        }
    }

    /// The set of all rows so far.
    pub fn finish(&self) -> Fingerprints {
        let mut values: Vec<u32> = self.seen.keys().map(|&h| kept(h, self.halvings)).collect();
        values.sort_unstable();
        values.dedup();
        let repeated = self.seen.values().filter(|&&n| n > 1).sum();
        let counts =
            FingerprintCounts { rows: self.rows, sampled: self.seen.values().sum(), repeated, halvings: self.halvings };
        Fingerprints { counts, values }
    }

    /// Rows that look like copies of others. `rows` are hashes of some or all of these rows, and `parts` of their
    /// inputs and of their targets, each alone; none for classes.
    pub fn copies(&self, rows: &[u64], parts: &[Vec<u64>]) -> Option<Copies> {
        let mut times = [0; LARGEST + 1];
        self.seen.values().for_each(|&n| times[(n as usize).min(LARGEST)] += 1);
        Copies::find(&self.finish().counts(), &times[..LARGEST], rows, parts)
    }
}

fn sampled(hash: u64, halvings: u32) -> bool {
    hash.leading_zeros() >= halvings
}

/// The 32 bits behind those that are zero in the whole sample.
fn kept(hash: u64, halvings: u32) -> u32 {
    ((hash << halvings) >> 32) as u32
}
