//! Where a watched value falls, and how many values fell there: cells that are fixed in advance, and their counts.
//!
//! A cell is a function of the value alone, so cells of exchangeable values are exchangeable. Ranks among cells, with
//! equal cells in random order, are therefore exactly uniform, however coarse the cells are, and memory stays flat.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::conformal::buckets::{PLACE_BITS, place};

/// Bits of a score's bucket that are not kept: neighbours within 2⁻⁵ of themselves share a cell.
const COARSE: u32 = 7;

/// The largest number of values that are counted: sums of counts stay exact in f64.
const MOST: u64 = 1 << 53;

/// Which cell a value falls into.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cells {
    /// By sign, exponent and the first five bits of the mantissa.
    Scores,
    /// By the edges below it, ascending: each edge is a cell of its own, for values that are equal to it.
    Edges(Vec<f64>),
    /// By number: classes.
    Classes(usize),
}

impl Cells {
    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Cells::Scores => 1 << (PLACE_BITS - COARSE),
            Cells::Edges(edges) => 2 * edges.len() + 1,
            Cells::Classes(classes) => *classes,
        }
    }

    /// The cell of a finite value; it does not decrease with the value.
    pub(crate) fn of(&self, value: f64) -> usize {
        match self {
            // −0 is 0.
            Cells::Scores => (place(value + 0.0) >> COARSE) as usize,
            Cells::Edges(edges) => edges.partition_point(|e| *e < value) + edges.partition_point(|e| *e <= value),
            Cells::Classes(classes) => (value as usize).min(classes - 1),
        }
    }

    /// Fails unless cells can be made of them, as they can unless a file says otherwise.
    pub(crate) fn check(&self) -> Result<()> {
        let sound = match self {
            Cells::Scores => true,
            Cells::Edges(edges) => edges.iter().all(|e| e.is_finite()) && edges.is_sorted_by(|a, b| a < b),
            Cells::Classes(classes) => (1..=1 << 16).contains(classes),
        };
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "cells of watched values are not ascending" }) }
    }
}

/// Counts of cells with fast sums: a Fenwick tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counts {
    tree: Vec<u64>,
    total: u64,
}

impl Counts {
    /// No values yet.
    pub(crate) fn new(cells: usize) -> Self {
        Counts { tree: vec![0; cells + 1], total: 0 }
    }

    /// Counts more values of a cell.
    pub(crate) fn add(&mut self, cell: usize, count: u64) {
        let mut i = cell + 1;
        while i < self.tree.len() {
            self.tree[i] += count;
            i += i & i.wrapping_neg();
        }
        self.total += count;
    }

    /// How many values lie in the first cells.
    fn before(&self, cells: usize) -> u64 {
        let (mut i, mut sum) = (cells, 0);
        while i > 0 {
            sum += self.tree[i];
            i &= i - 1;
        }
        sum
    }

    /// All values.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The smoothed conformal p-value of a new value, which is counted too: the share of values above it, and of those
    /// equal to it, itself among them, the part `tie`, which is uniform.
    pub(crate) fn p_value(&mut self, cell: usize, tie: f64) -> f64 {
        self.add(cell, 1);
        let (below, reaching) = (self.before(cell), self.before(cell + 1));
        let (above, equal) = (self.total - reaching, reaching - below);
        (above as f64 + tie * equal as f64) / self.total as f64
    }

    /// Cells with values, ascending, and how many each has.
    pub(crate) fn filled(&self) -> Vec<(usize, u64)> {
        // The sums of the tree are taken apart again, from the widest on.
        let mut own = self.tree.clone();
        for i in (1..own.len()).rev() {
            let parent = i + (i & i.wrapping_neg());
            if parent < own.len() {
                own[parent] -= self.tree[i];
            }
        }
        own[1..].iter().enumerate().filter(|(_, n)| **n > 0).map(|(cell, n)| (cell, *n)).collect()
    }

    /// Counts as a file lists them.
    pub(crate) fn of(cells: usize, filled: &[(usize, u64)]) -> Result<Self> {
        let wrong = || Error::Inconsistent { what: "counts of watched values do not fit their cells" };
        let mut counts = Counts::new(cells);
        let mut next = 0;
        for &(cell, count) in filled {
            let total = counts.total.checked_add(count).filter(|t| *t < MOST);
            if cell < next || cell >= cells || count == 0 || total.is_none() {
                return Err(wrong());
            }
            counts.add(cell, count);
            next = cell + 1;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use proptest::prelude::*;
    use rand::RngExt;

    #[test]
    fn cells_by_hand() {
        let cells = Cells::Edges(vec![0.0, 1.5]);
        assert_eq!([-1.0, 0.0, 0.5, 1.5, 9.0].map(|v| cells.of(v)), [0, 1, 2, 3, 4]);
        assert_eq!(cells.len(), 5);
        // A constant column has one edge: what is new lies beside it.
        assert_eq!([1.9, 2.0, 2.1].map(|v| Cells::Edges(vec![2.0]).of(v)), [0, 1, 2]);
        assert_eq!(Cells::Scores.of(-0.0), Cells::Scores.of(0.0));
        assert_ne!(Cells::Scores.of(1.0), Cells::Scores.of(1.04));
        assert!(Cells::Scores.of(f64::MAX) < Cells::Scores.len());
        assert!(Cells::Edges(vec![1.0, 1.0]).check().is_err() && Cells::Edges(vec![f64::NAN]).check().is_err());
        assert!(Cells::Classes(0).check().is_err());
    }

    #[test]
    fn p_values_by_hand() {
        let mut counts = Counts::new(4);
        counts.add(0, 2);
        counts.add(2, 1);
        // One of four values lies above cell 1, and none in it but the new one.
        assert_eq!(counts.p_value(1, 0.5), (1.0 + 0.5) / 4.0);
        assert_eq!(counts.p_value(0, 0.25), (2.0 + 0.25 * 3.0) / 5.0);
        assert_eq!(counts.p_value(3, 1.0), 1.0 / 6.0);
        assert_eq!(counts.filled(), [(0, 3), (1, 1), (2, 1), (3, 1)]);
    }

    proptest! {
        #[test]
        fn files_bring_counts_back(cells in 1usize..40, draws in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
            let mut counts = Counts::new(cells);
            let mut plain = vec![0u64; cells];
            for draw in draws {
                counts.add(draw.index(cells), 1);
                plain[draw.index(cells)] += 1;
            }
            for cell in 0..=cells {
                prop_assert_eq!(counts.before(cell), plain[..cell].iter().sum::<u64>());
            }
            prop_assert_eq!(Counts::of(cells, &counts.filled()).unwrap(), counts);
        }

        #[test]
        fn cells_do_not_decrease(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a.is_finite() && b.is_finite());
            let cells = Cells::Edges(vec![-3.0, 0.0, 1e9]);
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(cells.of(low) <= cells.of(high) && Cells::Scores.of(low) <= Cells::Scores.of(high));
        }
    }

    #[test]
    fn nonsense_of_files_is_refused() {
        for bad in [vec![(3, 1)], vec![(0, 0)], vec![(1, 1), (0, 1)], vec![(0, 1), (0, 1)], vec![(0, u64::MAX)]] {
            assert!(Counts::of(3, &bad).is_err(), "{bad:?}");
        }
    }

    /// The claim on which every alarm rests: p-values of a stream of values with ties and few cells, behind a past that
    /// is ranked with them, are uniform and independent. Judged by counts in a 4 × 4 table of successive p-values.
    #[test]
    fn p_values_of_coarse_cells_are_uniform_and_independent() {
        let cells = Cells::Edges(vec![0.2, 0.25, 0.9]);
        let (mut table, replications) = ([[0u32; 4]; 4], 40_000);
        for r in 0..replications {
            let mut rng = Seed::new(r).rng();
            let mut draw = || (rng.random::<f64>() * 8.0).floor() / 8.0;
            let mut counts = Counts::new(cells.len());
            (0..5).for_each(|_| counts.add(cells.of(draw()), 1));
            let mut ties = Seed::new(r).child(1).rng();
            let p = [0; 2].map(|_| counts.p_value(cells.of(draw()), ties.random()));
            let at = p.map(|p| ((p * 4.0) as usize).min(3));
            table[at[0]][at[1]] += 1;
        }
        let expected = replications as f64 / 16.0;
        let chi: f64 = table.iter().flatten().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 15 degrees of freedom: beyond 45 with probability below 1e-4.
        assert!(chi < 45.0, "{chi} {table:?}");
    }
}
