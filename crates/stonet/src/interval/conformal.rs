//! Conformal ranks: split conformal and CV+ (Barber et al. 2021), with scores that may be scaled, one-sided, and weighted by group.
//!
//! A fold k brings a prediction μ_k(x), a scale s_k(x) and the sorted scores R_i of the rows it held out. The upper end at x is the
//! ⌈(1−α)(n+1)⌉-th smallest of μ_k(x) + R_i s_k(x) over all rows, the lower end its mirror image.

use serde::{Deserialize, Serialize};

use super::buckets::{Bucket, Buckets};
use super::search::{Point, Rank, Search};
use super::stored::ScoreParts;
use crate::Level;

/// (1−α)(n+1) is a whole number in arithmetic where it is not quite one in floating point.
const ROUNDING: f64 = 1e-9;

/// Which ends an interval has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Both.
    #[default]
    Both,
    /// A lower bound; the upper end is +∞.
    Lower,
    /// An upper bound; the lower end is −∞.
    Upper,
}

/// ⌈(1−α)(n+1)⌉, the rank of the upper end among n scores; nothing if it exceeds n.
pub fn conformal_rank(n: usize, level: Level) -> Option<usize> {
    let rank = (level.get() * (n as f64 + 1.0) - ROUNDING).ceil().max(1.0) as usize;
    (rank <= n).then_some(rank)
}

/// The fewest scores that give a finite bound at this level.
pub fn rows_needed(level: Level) -> usize {
    (level.get() / (1.0 - level.get()) - ROUNDING).ceil().max(1.0) as usize
}

/// The split-conformal quantile of scores: their ⌈(1−α)(n+1)⌉-th smallest, or +∞ where there are too few.
pub fn conformal_quantile(scores: &[f64], level: Level) -> f64 {
    let mut scores = scores.to_vec();
    match conformal_rank(scores.len(), level) {
        Some(rank) => *scores.select_nth_unstable_by(rank - 1, f64::total_cmp).1,
        None => f64::INFINITY,
    }
}

/// The scores of held-out rows: absolute for two-sided intervals, signed for bounds; each once, with a weight where rows count by group, or
/// as often as it was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ScoreParts", into = "ScoreParts")]
pub struct Scores {
    /// Per fold, ascending.
    pub(super) absolute: Vec<Sorted>,
    /// Per fold, ascending.
    pub(super) signed: Vec<Sorted>,
    /// Rows, or groups where rows are weighted.
    pub(super) units: usize,
    /// Whether weights are counts of rows.
    pub(super) counted: bool,
}

/// Ascending scores and, where they do not count once each, their weights or counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sorted {
    pub(super) values: Vec<f64>,
    pub(super) weights: Option<Vec<f64>>,
    /// The least score that each stands for, where it stands for several.
    pub(super) lowest: Option<Vec<f64>>,
}

impl Scores {
    /// Signed scores (y − μ)/s per fold. With weights, `units` is the number of groups, and a group's weights sum to 1.
    pub(crate) fn new(signed: Vec<Vec<f64>>, weights: Option<Vec<Vec<f64>>>, units: usize) -> Self {
        let fold = |f: usize, map: fn(f64) -> f64| {
            let mut pairs: Vec<(f64, f64)> = (signed[f].iter().enumerate())
                .map(|(i, &r)| (map(r), weights.as_ref().map_or(1.0, |w| w[f][i])))
                .collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (values, w) = pairs.into_iter().unzip();
            Sorted { values, weights: weights.is_some().then_some(w), lowest: None }
        };
        let all = |map: fn(f64) -> f64| (0..signed.len()).map(|f| fold(f, map)).collect();
        Scores { absolute: all(f64::abs), signed: all(|r| r), units, counted: false }
    }

    /// Counts of signed scores per fold.
    pub(crate) fn counted(folds: &[Buckets]) -> Self {
        let far = |b: &Bucket| if b.highest < 0.0 { -b.lowest } else { b.highest };
        let absolute = |fold: &Buckets| {
            let mut pairs: Vec<(f64, f64)> = fold.iter().map(|b| (far(b), b.count as f64)).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (values, counts) = pairs.into_iter().unzip();
            Sorted { values, weights: Some(counts), lowest: None }
        };
        let signed = |fold: &Buckets| Sorted {
            values: fold.iter().map(|b| b.highest).collect(),
            weights: Some(fold.iter().map(|b| b.count as f64).collect()),
            lowest: Some(fold.iter().map(|b| b.lowest).collect()),
        };
        Scores {
            absolute: folds.iter().map(absolute).collect(),
            signed: folds.iter().map(signed).collect(),
            units: folds.iter().map(|f| f.rows() as usize).sum(),
            counted: true,
        }
    }

    /// Absolute scores of each fold, ascending, and how much each counts where that is not once: a weight where rows count by
    /// [group](Self::grouped), otherwise a whole number.
    pub fn absolute(&self) -> impl Iterator<Item = (&[f64], Option<&[f64]>)> {
        self.absolute.iter().map(|f| (&f.values[..], f.weights.as_deref()))
    }

    /// How many folds brought scores.
    pub(crate) fn folds(&self) -> usize {
        self.signed.len()
    }

    /// Rows, or groups where rows are weighted.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Whether units are groups, among whose rows a weight of 1 is divided.
    pub fn grouped(&self) -> bool {
        !self.counted && self.signed.iter().any(|f| f.weights.is_some())
    }

    /// The place of the upper end among all scores; nothing if they are too few.
    fn rank(&self, level: Level) -> Option<Rank> {
        match (self.counted, self.grouped()) {
            // Sums of counts are exact.
            (true, _) => conformal_rank(self.units, level).map(|rank| Rank::Mass(rank as f64)),
            (_, true) => Some(Rank::Mass(mass_needed(self.units, level))),
            _ => conformal_rank(self.signed.iter().map(|f| f.values.len()).sum(), level).map(Rank::Number),
        }
    }

    /// Whether the scores are enough for finite ends at this level.
    pub(crate) fn bounds(&self, level: Level) -> bool {
        self.ends(&vec![(0.0, 1.0); self.folds()], level, Side::Upper).1.is_finite()
    }

    /// What finds the ends of [`ends`](Self::ends) at many points.
    pub(crate) fn search(&self, level: Level, side: Side) -> Ends {
        let folds = match side {
            Side::Both => self.absolute.clone(),
            Side::Upper => self.signed.clone(),
            Side::Lower => self.signed.iter().map(Sorted::turned).collect(),
        };
        Ends { search: Search::new(folds, self.rank(level)), side }
    }

    /// Lower and upper end at one point, where `at[k]` = (μ_k, s_k).
    pub(crate) fn ends(&self, at: &[(f64, f64)], level: Level, side: Side) -> (f64, f64) {
        let (infinite, rank) = ((f64::NEG_INFINITY, f64::INFINITY), self.rank(level));
        match side {
            Side::Both => {
                let upper = upper_end(&self.absolute, at, rank);
                // −μ + R s mirrors μ − R s.
                let mirrored: Vec<(f64, f64)> = at.iter().map(|&(m, s)| (-m, s)).collect();
                (-upper_end(&self.absolute, &mirrored, rank), upper)
            }
            Side::Upper => (infinite.0, upper_end(&self.signed, at, rank)),
            Side::Lower => {
                let turned: Vec<Sorted> = self.signed.iter().map(Sorted::turned).collect();
                let mirrored: Vec<(f64, f64)> = at.iter().map(|&(m, s)| (-m, s)).collect();
                (-upper_end(&turned, &mirrored, rank), infinite.1)
            }
        }
    }
}

/// Both ends or one, at many points.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    search: Search,
    side: Side,
}

impl Ends {
    /// Lower and upper end at one point, as [`Scores::ends`] gives them; `places` is room for one number per fold.
    pub(crate) fn ends(&self, at: &[(f64, f64)], places: &mut [usize]) -> (f64, f64) {
        let mut upper = |sign: f64| self.search.find(Point { at, sign }, places);
        match self.side {
            Side::Both => (-upper(-1.0), upper(1.0)),
            Side::Upper => (f64::NEG_INFINITY, upper(1.0)),
            Side::Lower => (-upper(-1.0), f64::INFINITY),
        }
    }
}

impl Sorted {
    /// The scores of −y.
    fn turned(&self) -> Sorted {
        let weights = self.weights.as_ref().map(|w| w.iter().rev().copied().collect());
        let values = self.lowest.as_ref().unwrap_or(&self.values).iter().rev().map(|v| -v).collect();
        Sorted { values, weights, lowest: None }
    }

    /// The smallest score below or at which this mass lies.
    pub(super) fn reaching(&self, needed: f64) -> f64 {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let mut mass = 0.0;
        let reached = self.values.iter().enumerate().find(|(i, _)| {
            mass += weight(*i);
            mass >= needed
        });
        reached.map_or(f64::INFINITY, |(_, score)| *score)
    }
}

fn upper_end(folds: &[Sorted], at: &[(f64, f64)], rank: Option<Rank>) -> f64 {
    match rank {
        None => f64::INFINITY,
        Some(Rank::Number(rank)) => select(folds, at, rank),
        Some(Rank::Mass(needed)) => weighted_end(folds, at, needed),
    }
}

/// (1−α)(G+1): each of G groups has mass 1, and the new one sits at +∞.
fn mass_needed(units: usize, level: Level) -> f64 {
    level.get() * (units as f64 + 1.0) - ROUNDING
}

/// The smallest value below or at which this mass lies.
pub(super) fn weighted_end(folds: &[Sorted], at: &[(f64, f64)], needed: f64) -> f64 {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (fold, &(m, s)) in folds.iter().zip(at) {
        let weights = fold.weights.as_deref().unwrap_or(&[]);
        all.extend(fold.values.iter().zip(weights).map(|(r, &w)| (m + r * s, w)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut mass = 0.0;
    for (value, w) in all {
        mass += w;
        if mass >= needed {
            return value;
        }
    }
    f64::INFINITY
}

/// The `rank`-th smallest of m_k + r s_k over the sorted lists, without merging them: the longest window is halved in turn.
pub(super) fn select(folds: &[Sorted], at: &[(f64, f64)], rank: usize) -> f64 {
    let mut low = [0usize; 64];
    let mut high = [0usize; 64];
    let mut counts = [0usize; 64];
    let k = folds.len();
    if k > 64 {
        return select_by_sorting(folds, at, rank);
    }
    for (h, f) in high.iter_mut().zip(folds) {
        *h = f.values.len();
    }
    let mut left = rank - 1;
    loop {
        let total: usize = (0..k).map(|f| high[f] - low[f]).sum();
        let widest = (0..k).max_by_key(|&f| high[f] - low[f]).unwrap_or(0);
        let middle = low[widest] + (high[widest] - low[widest]) / 2;
        let pivot = at[widest].0 + folds[widest].values[middle] * at[widest].1;
        if total == 1 {
            return pivot;
        }
        let mut below = 0;
        for f in 0..k {
            let (m, s) = at[f];
            let window = &folds[f].values[low[f]..high[f]];
            counts[f] = if f == widest { middle - low[f] } else { window.partition_point(|r| m + r * s < pivot) };
            below += counts[f];
        }
        if left < below {
            (0..k).for_each(|f| high[f] = low[f] + counts[f]);
        } else {
            // The pivot's own list keeps the pivot; where it is alone there, nothing below is left and it is next in line.
            left -= below;
            (0..k).for_each(|f| low[f] += counts[f]);
            if below == 0 {
                if left == 0 {
                    return smallest(folds, at, &low[..k], &high[..k]);
                }
                left -= 1;
                low[widest] += 1;
            }
        }
    }
}

fn smallest(folds: &[Sorted], at: &[(f64, f64)], low: &[usize], high: &[usize]) -> f64 {
    let first = |f: usize| at[f].0 + folds[f].values[low[f]] * at[f].1;
    (0..folds.len()).filter(|&f| low[f] < high[f]).map(first).fold(f64::INFINITY, f64::min)
}

fn select_by_sorting(folds: &[Sorted], at: &[(f64, f64)], rank: usize) -> f64 {
    let values = folds.iter().zip(at).flat_map(|(f, &(m, s))| f.values.iter().map(move |r| m + r * s));
    let mut all: Vec<f64> = values.collect();
    *all.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// 1 − 2α − min{2(1−1/K)/(n/K+1), (1−K/n)/(K+1)}: what CV+ guarantees for exchangeable rows (Barber et al. 2021, Theorem 4), at least 0.
///
/// The proof compares scores only, so it holds for scaled scores too, as long as the scale of a fold is learned outside it.
pub fn cv_plus_guarantee(n: usize, folds: usize, level: Level) -> f64 {
    let (n, k, alpha) = (n as f64, folds as f64, 1.0 - level.get());
    let excess = (2.0 * (1.0 - 1.0 / k) / (n / k + 1.0)).min((1.0 - k / n) / (k + 1.0)).max(0.0);
    (1.0 - 2.0 * alpha - excess).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn level(l: f64) -> Level {
        Level::new(l).unwrap()
    }

    #[test]
    fn ranks_by_hand() {
        // (1 − .9)·10 is below 1 in floating point; the rank is 9 all the same.
        assert_eq!(conformal_rank(9, level(0.9)), Some(9));
        assert_eq!(conformal_rank(8, level(0.9)), None);
        assert_eq!(conformal_rank(99, level(0.9)), Some(90));
        assert_eq!(conformal_rank(19, level(0.95)), Some(19));
        assert_eq!((rows_needed(level(0.9)), rows_needed(level(0.95)), rows_needed(level(0.5))), (9, 19, 1));
        let scores: Vec<f64> = (1..=19).rev().map(f64::from).collect();
        assert_eq!(conformal_quantile(&scores, level(0.9)), 18.0);
        assert_eq!(conformal_quantile(&scores[..5], level(0.9)), f64::INFINITY);
    }

    #[test]
    fn cv_plus_by_hand() {
        // Two folds; at the point μ = (0, 1), s = (1, 2); signed scores (−1, 2) and (0.5, −3): |R| = {1, 2}, {0.5, 3}.
        let scores = Scores::new(vec![vec![-1.0, 2.0], vec![0.5, -3.0]], None, 4);
        let at = [(0.0, 1.0), (1.0, 2.0)];
        // Upper candidates 1, 2, 2, 7; lower ones −1, −2, 0, −5; level .6: rank ⌈.6·5⌉ = 3.
        assert_eq!(scores.ends(&at, level(0.6), Side::Both), (-2.0, 2.0));
        assert_eq!(scores.ends(&at, level(0.8), Side::Both), (-5.0, 7.0));
        assert_eq!(scores.ends(&at, level(0.9), Side::Both), (f64::NEG_INFINITY, f64::INFINITY));
        // Signed candidates: −1, 2, 2, −5.
        assert_eq!(scores.ends(&at, level(0.4), Side::Upper), (f64::NEG_INFINITY, -1.0));
        assert_eq!(scores.ends(&at, level(0.6), Side::Lower), (-1.0, f64::INFINITY));
    }

    #[test]
    fn weights_of_one_are_no_weights_and_groups_count_as_one() {
        let signed = vec![vec![-1.0, 2.0, 0.3], vec![0.5, -3.0]];
        let plain = Scores::new(signed.clone(), None, 5);
        let ones = Scores::new(signed.clone(), Some(vec![vec![1.0; 3], vec![1.0; 2]]), 5);
        let at = [(0.2, 1.0), (1.0, 2.0)];
        for l in [0.3, 0.5, 0.7, 0.9] {
            for side in [Side::Both, Side::Lower, Side::Upper] {
                assert_eq!(plain.ends(&at, level(l), side), ones.ends(&at, level(l), side));
            }
        }
        // Three groups, one of them of three rows: masses ⅓ ⅓ ⅓ 1 1; level .5 needs a mass of 2.
        let third = 1.0 / 3.0;
        let grouped =
            Scores::new(vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0]], Some(vec![vec![third; 3], vec![1.0; 2]]), 3);
        assert_eq!(grouped.ends(&[(0.0, 1.0), (0.0, 1.0)], level(0.5), Side::Both).1, 4.0);
    }

    #[test]
    fn the_guarantee_by_hand() {
        // n = 100, K = 5: 2·.8/21 = .0762, .95/6 = .158.
        assert!((cv_plus_guarantee(100, 5, level(0.9)) - (0.8 - 1.6 / 21.0)).abs() < 1e-12);
        // K = n is the jackknife+, whose bound is 1 − 2α.
        assert!((cv_plus_guarantee(50, 50, level(0.9)) - 0.8).abs() < 1e-12);
        assert_eq!(cv_plus_guarantee(5, 5, level(0.2)), 0.0);
    }

    proptest! {
        #[test]
        fn selection_without_merging_equals_sorting(
            folds in prop::collection::vec((prop::collection::vec(-3i32..3, 1..20), -2i32..3, 1i32..4), 1..6),
            pick in 0.0f64..1.0,
        ) {
            let sorted: Vec<Sorted> = folds.iter().map(|(v, ..)| {
                let mut values: Vec<f64> = v.iter().map(|&v| f64::from(v)).collect();
                values.sort_by(f64::total_cmp);
                Sorted { values, ..Sorted::default() }
            }).collect();
            let at: Vec<(f64, f64)> = folds.iter().map(|&(_, m, s)| (f64::from(m), f64::from(s))).collect();
            let n: usize = sorted.iter().map(|f| f.values.len()).sum();
            let rank = 1 + ((n - 1) as f64 * pick) as usize;
            prop_assert_eq!(select(&sorted, &at, rank), select_by_sorting(&sorted, &at, rank));
        }
    }
}
