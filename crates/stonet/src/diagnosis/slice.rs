//! The worst slice: rows above or below a value of one column, searched on one half and judged on the other.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Covered, LEAST_ROWS, Tally, sums};
use crate::base::{Result, Seed};

/// The least share of the searched rows that a slice may have.
pub const SLICE_SHARE: f64 = 0.05;
/// Parts between the cuts of a column: cuts are the 5 %, 10 %, … quantiles.
const PARTS: usize = 20;

/// What a slice is cut by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variable {
    /// A feature, by its column.
    Feature(usize),
    /// The prediction.
    Prediction,
    /// The length of the interval.
    Length,
}

/// Rows whose value lies above one bound and not above another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Of which value.
    pub variable: Variable,
    /// Values lie above this; −∞ where there is no lower bound.
    pub above: f64,
    /// And not above this; ∞ where there is no upper bound.
    pub at_most: f64,
    /// On the half that was searched, where the slice was chosen because it has few hits.
    pub searched: Tally,
    /// On the other half, which does not know of the search.
    pub judged: Tally,
}

/// The slice whose hits on a random half of the rows lie furthest below the level, in binomial standard deviations.
///
/// Slices are the rows on one side of a quantile of a feature, and the rows between two quantiles of the prediction or
/// of the length. They have at least [`SLICE_SHARE`] of the searched rows and at least 50 of them. None where there are
/// fewer than [`super::SEARCH_ROWS`] rows or no slice is large enough.
pub fn worst_slice(rows: &Covered<'_>, seed: Seed) -> Result<Option<Slice>> {
    let Some([search, judge]) = rows.halves(seed)? else { return Ok(None) };
    let best = |variable: &Variable| worst_of(rows, &search, *variable);
    let of_columns: Vec<Option<(f64, Slice)>> = rows.variables().par_iter().map(best).collect();
    // The first of equal ones, whatever the number of threads.
    let worst = of_columns.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(worst.map(|(_, slice)| {
        let inside = |row: &usize| slice.holds(rows.value(slice.variable, *row));
        Slice { judged: rows.tally(judge.into_iter().filter(inside)), ..slice }
    }))
}

impl Slice {
    fn holds(&self, value: f64) -> bool {
        self.above < value && value <= self.at_most
    }
}

/// The worst slice of one column with its z, judged by nobody yet.
fn worst_of(rows: &Covered<'_>, search: &[usize], variable: Variable) -> Option<(f64, Slice)> {
    let n = search.len();
    let mut ranked: Vec<(f64, bool)> = search.iter().map(|&r| (rows.value(variable, r), rows.hits[r])).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let hits = sums(ranked.iter().map(|r| r.1));
    // Equal values are on the same side of a cut, so a cut stands behind the last of them.
    let mut cuts: Vec<usize> = (1..PARTS)
        .map(|k| ranked[(k * n / PARTS).max(1) - 1].0)
        .map(|value| ranked.partition_point(|r| r.0 <= value))
        .collect();
    cuts.dedup();
    let ends: Vec<usize> = [0].into_iter().chain(cuts.into_iter().filter(|&c| c < n)).chain([n]).collect();
    let least = LEAST_ROWS.max((SLICE_SHARE * n as f64).ceil() as usize);
    let mut worst: Option<(f64, Slice)> = None;
    for (i, &from) in ends.iter().enumerate() {
        for &to in &ends[i + 1..] {
            let one_sided = from == 0 || to == n;
            let between = matches!(variable, Variable::Prediction | Variable::Length);
            if to - from < least || to - from == n || !(one_sided || between) {
                continue;
            }
            let searched = Tally { rows: to - from, hits: hits[to] - hits[from] };
            let z = searched.z(rows.level);
            if worst.is_none_or(|(least, _)| z < least) {
                let above = if from == 0 { f64::NEG_INFINITY } else { ranked[from - 1].0 };
                let at_most = if to == n { f64::INFINITY } else { ranked[to - 1].0 };
                worst = Some((z, Slice { variable, above, at_most, searched, judged: Tally::default() }));
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LEVEL, Simulated, judged_fairly};
    use super::*;

    /// With exact coverage the search finds a slice of low coverage by chance, and the other half shows that it is one.
    #[test]
    fn the_other_half_does_not_know_of_the_search() {
        let found: Vec<(Tally, Tally)> = (0..300)
            .map(|r| {
                let rows = Simulated::new(600, 4, r, |_| LEVEL);
                let slice = worst_slice(&rows.covered(), Seed::new(r)).unwrap().unwrap();
                assert!(slice.searched.rows >= 50);
                (slice.searched, slice.judged)
            })
            .collect();
        let searched = judged_fairly(&found);
        assert!(searched < LEVEL - 0.04, "{searched}");
    }

    #[test]
    fn a_planted_slice_is_found() {
        for r in 0..20 {
            // 16 % of the rows, so 160 of the 1,000 searched: 48 hits, 9 standard deviations, too few.
            let rows = Simulated::new(2000, 6, r, |x| if x[3] > 1.0 { 0.6 } else { LEVEL });
            let slice = worst_slice(&rows.covered(), Seed::new(r)).unwrap().unwrap();
            assert_eq!((slice.variable, slice.at_most), (Variable::Feature(3), f64::INFINITY));
            // Cuts lie at the 80 % and 85 % quantiles, .84 and 1.04, and where chance moves them.
            assert!((slice.above - 1.0).abs() < 0.45, "{slice:?}");
            let z = slice.judged.z(rows.covered().level);
            assert!(z < -4.5, "{slice:?}: {z}");
        }
    }

    #[test]
    fn a_part_in_the_middle_of_the_predictions_is_found() {
        for r in 0..10 {
            let middle = |x: &[f64]| if (x[0] + x[1]).abs() < 0.4 { 0.6 } else { LEVEL };
            let rows = Simulated::new(2000, 2, 50 + r, middle);
            let slice = worst_slice(&rows.covered(), Seed::new(r)).unwrap().unwrap();
            assert_eq!(slice.variable, Variable::Prediction);
            assert!(slice.above > -1.0 && slice.at_most < 1.0 && slice.judged.z(rows.covered().level) < -4.5);
        }
    }

    #[test]
    fn equal_values_are_on_one_side() {
        let mut rows = Simulated::new(400, 1, 1, |x| if x[0] > 0.0 { 0.6 } else { 1.0 });
        rows.features.mapv_inplace(|v| f64::from(u8::from(v > 0.0)));
        let covered = rows.covered();
        let all = [Variable::Feature(0)].map(|v| worst_of(&covered, &(0..400).collect::<Vec<_>>(), v).unwrap().1);
        assert_eq!((all[0].above, all[0].at_most), (0.0, f64::INFINITY));
        assert_eq!(all[0].searched, covered.tally((0..400).filter(|&r| rows.features[[r, 0]] > 0.0)));
    }
}
