//! The least coverage of several parts of the rows if every row is covered with exactly the level's probability.

use ndarray::{ArrayView2, Axis};
use rand_distr::{Binomial, Distribution};

use crate::base::streams::diagnosis as streams;
use crate::base::{Error, Result, Seed};
use crate::rows::Level;

/// Rows that a part needs for its coverage to be compared.
pub const PART_ROWS: usize = 20;
/// Simulated tables: the standard error of a probability of 5 % is a third of a percentage point.
const DRAWS: usize = 4000;

/// The least coverage by chance alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least {
    /// Its mean.
    pub expected: f64,
    /// The probability that it is at most the coverage that was found.
    pub chance: f64,
}

/// Simulates the least coverage over the parts of two divisions of the same rows: `table[[a, b]]` rows lie in part a of
/// the first division and in part b of the second. Both divisions count the same hits, so their coverages depend on
/// each other. Parts of fewer than [`PART_ROWS`] rows are left out; the result is none if that leaves no part.
pub fn least_by_chance(table: ArrayView2<'_, usize>, level: Level, found: f64, seed: Seed) -> Result<Option<Least>> {
    let sizes = |axis: usize| table.sum_axis(Axis(axis)).to_vec();
    let (first, second) = (sizes(1), sizes(0));
    if first.iter().chain(&second).all(|&rows| rows < PART_ROWS) {
        return Ok(None);
    }
    let impossible = |_| Error::Inconsistent { what: "a table of counts is not one of rows" };
    let cells: Vec<Option<Binomial>> = (table.iter())
        .map(|&rows| (rows > 0).then(|| Binomial::new(rows as u64, level.get())).transpose())
        .collect::<std::result::Result<_, _>>()
        .map_err(impossible)?;
    let mut rng = seed.child(streams::LEAST).rng();
    let (mut sum, mut as_low) = (0.0, 0);
    let (mut in_first, mut in_second) = (vec![0; first.len()], vec![0; second.len()]);
    for _ in 0..DRAWS {
        in_first.fill(0);
        in_second.fill(0);
        for (cell, binomial) in cells.iter().enumerate() {
            let hits = binomial.as_ref().map_or(0, |b| b.sample(&mut rng));
            in_first[cell / second.len()] += hits;
            in_second[cell % second.len()] += hits;
        }
        let parts = in_first.iter().zip(&first).chain(in_second.iter().zip(&second));
        let coverage = parts.filter(|(_, rows)| **rows >= PART_ROWS).map(|(hits, rows)| *hits as f64 / *rows as f64);
        let least = coverage.fold(1.0, f64::min);
        sum += least;
        // Equal shares are computed from different counts, so rounding may tell them apart.
        as_low += usize::from(least <= found + 1e-12);
    }
    Ok(Some(Least { expected: sum / DRAWS as f64, chance: (1 + as_low) as f64 / (1 + DRAWS) as f64 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::binomial::binomial_cdf;
    use ndarray::{Array2, array};

    const LEVEL: f64 = 0.9;

    fn least(table: &Array2<usize>, found: f64, seed: u64) -> Option<Least> {
        least_by_chance(table.view(), Level::new(LEVEL).unwrap(), found, Seed::new(seed)).unwrap()
    }

    /// For one division (the other has a single part) P(least ≤ c) = 1 − Π P(coverage of a part > c), and the whole
    /// hardly ever is the least.
    #[test]
    fn independent_parts_have_the_product_of_their_tails() {
        let table = array![[200], [200], [200], [200], [200]];
        for hits in [165usize, 170, 174] {
            let exact = 1.0 - (1.0 - binomial_cdf(hits, 200, LEVEL)).powi(5);
            let found = least(&table, hits as f64 / 200.0, 3).unwrap();
            let sd = (exact * (1.0 - exact) / DRAWS as f64).sqrt();
            assert!((found.chance - exact).abs() < 4.5 * sd + 1e-3, "{} for {exact}", found.chance);
        }
        // E least = Σ_k P(least > k / n) / n over k = 0 … n − 1.
        let above = |k: usize| (1.0 - binomial_cdf(k, 200, LEVEL)).powi(5);
        let exact: f64 = (0..200).map(|k| above(k) / 200.0).sum();
        let found = least(&table, 0.5, 4).unwrap().expected;
        // The least varies less than a single coverage.
        let sd = (LEVEL * (1.0 - LEVEL) / 200.0 / DRAWS as f64).sqrt();
        assert!((found - exact).abs() < 4.5 * sd, "{found} for {exact}");
    }

    /// Two divisions that are the same add nothing; two that cross have more parts, so their least is less.
    #[test]
    fn divisions_share_their_rows() {
        let same = Array2::from_diag(&array![200, 200, 200, 200, 200]);
        let (once, twice) = (least(&array![[200], [200], [200], [200], [200]], 0.85, 1), least(&same, 0.85, 2));
        let crossed = least(&Array2::from_elem((5, 5), 40), 0.85, 3).unwrap();
        let (once, twice) = (once.unwrap(), twice.unwrap());
        assert!((once.expected - twice.expected).abs() < 0.002, "{once:?} {twice:?}");
        assert!(crossed.expected < once.expected - 0.003 && crossed.chance > once.chance, "{crossed:?} {once:?}");
    }

    #[test]
    fn small_parts_do_not_count_and_none_may_be_left() {
        assert_eq!(least(&Array2::from_elem((5, 5), 1), 0.5, 1), None);
        let lone = least(&array![[PART_ROWS - 1], [400]], 0.9, 1).unwrap();
        // The parts that count are nearly the same rows.
        assert!((lone.expected - LEVEL).abs() < 0.01, "{lone:?}");
        assert_eq!(least(&Array2::from_elem((5, 5), 40), 0.0, 1).unwrap().chance, 1.0 / (1 + DRAWS) as f64);
    }
}
