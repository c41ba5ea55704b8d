//! Conformal ranks: split conformal and CV+ (Barber et al. 2021), with scores that may be scaled, one-sided, and
//! weighted by group.
//!
//! A fold k brings a prediction μ_k(x), scales s⁺_k(x) and s⁻_k(x) above and below it, and the sorted scores of the rows
//! it held out: V_i = (y − μ)/s with the scale of the side on which y lies, and R_i = |V_i|. The upper end at x is the
//! ⌈(1−α)(n+1)⌉-th smallest of μ_k(x) + R_i s⁺_k(x) over all rows, the lower end its mirror image. V is an increasing
//! function of y, so bounds of one side rank V in the same way.

use serde::{Deserialize, Serialize};

use super::buckets::{Bucket, Buckets};
use super::search::Search;
use super::stored::ScoreParts;
use crate::base::Result;
pub(crate) use crate::conformal::search::At;
use crate::rows::{Level, Side};

/// (1−α)(n+1) is a whole number in arithmetic where it is not quite one in floating point.
pub(super) const ROUNDING: f64 = 1e-9;

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
    let scores = Scores::new(vec![scores.to_vec()], None, scores.len());
    scores.rank(level).map_or(f64::INFINITY, |needed| scores.signed[0].reaching(needed))
}

/// The scores of held-out rows: absolute for two-sided intervals, signed for bounds; each once, with a weight where
/// rows count by group, or as often as it was counted.
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

    /// Absolute scores of each fold, ascending, and how much each counts where that is not once: a weight where rows
    /// count by [group](Self::grouped), otherwise a whole number.
    pub fn absolute(&self) -> impl Iterator<Item = (&[f64], Option<&[f64]>)> {
        self.absolute.iter().map(|f| (&f.values[..], f.weights.as_deref()))
    }

    /// The same of signed scores; one that stands for several is the highest of its bucket.
    pub(crate) fn signed(&self) -> impl Iterator<Item = (&[f64], Option<&[f64]>)> {
        self.signed.iter().map(|f| (&f.values[..], f.weights.as_deref()))
    }

    /// Whether scores are counted in buckets, so that none of them can leave by itself.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted
    }

    /// The same with two-sided ends further out by this much of every scale, or further in; no score becomes negative.
    pub(crate) fn shifted(&self, by: f64) -> Self {
        let shift =
            |fold: &Sorted| Sorted { values: fold.values.iter().map(|r| (r + by).max(0.0)).collect(), ..fold.clone() };
        Scores { absolute: self.absolute.iter().map(shift).collect(), ..self.clone() }
    }

    /// About the size of a score at this level: the rank among the absolute scores of all folds, the largest where there
    /// are too few.
    pub(crate) fn size_at(&self, level: Level) -> f64 {
        let mut all: Vec<(f64, f64)> =
            self.absolute.iter().flat_map(|f| f.values.iter().enumerate().map(|(i, &v)| (v, f.weight(i)))).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (values, weights) = all.into_iter().unzip();
        let all = Sorted { values, weights: Some(weights), lowest: None };
        let needed = self.rank(level).unwrap_or(f64::INFINITY);
        let found = all.reaching(needed);
        if found.is_finite() { found } else { all.values.last().copied().unwrap_or(0.0) }
    }

    /// The same scores and more, where scores are counted: one list of new ones per fold.
    pub(crate) fn counted_with(self, new: &[Vec<f64>]) -> Result<Self> {
        let mut folds = super::stored::buckets(self)?;
        for (fold, new) in folds.iter_mut().zip(new) {
            new.iter().for_each(|&s| fold.add(s));
        }
        Ok(Scores::counted(&folds))
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

    /// The mass of scores at or below the upper end; nothing if there is less.
    fn rank(&self, level: Level) -> Option<f64> {
        if self.grouped() {
            // (1−α)(G+1): each of G groups has mass 1, and the new one sits at +∞.
            let needed = (level.get() * (self.units as f64 + 1.0) - ROUNDING).max(f64::MIN_POSITIVE);
            return (self.mass() >= needed).then_some(needed);
        }
        // Sums of counts are exact.
        conformal_rank(self.mass() as usize, level).map(|rank| rank as f64)
    }

    /// How much all scores count together.
    pub fn mass(&self) -> f64 {
        self.signed.iter().map(Sorted::mass).sum()
    }

    /// Whether the scores are enough for finite ends at this level.
    pub(crate) fn bounds(&self, level: Level) -> bool {
        self.rank(level).is_some()
    }

    /// What finds the ends at many points.
    pub(crate) fn search(&self, level: Level, side: Side) -> Ends {
        Ends { search: Search::new(self.folds_for(side), self.rank(level)), side }
    }

    /// The same for the widest ends that the scores allow, whatever the level.
    pub(crate) fn widest(&self, side: Side) -> Ends {
        // Weights add up to the mass but for rounding.
        let needed = if self.grouped() { self.mass() - ROUNDING * self.units as f64 } else { self.mass() };
        Ends { search: Search::new(self.folds_for(side), Some(needed)), side }
    }

    /// The scores that decide about these ends, fold by fold: absolute, signed, or signed with their signs changed.
    pub(super) fn folds_for(&self, side: Side) -> Vec<Sorted> {
        match side {
            Side::Both => self.absolute.clone(),
            Side::Upper => self.signed.clone(),
            Side::Lower => self.signed.iter().map(Sorted::turned).collect(),
        }
    }

    /// The scores that decide about these ends, for each fold ascending, and how much each counts.
    pub fn deciding(&self, side: Side) -> Vec<(Vec<f64>, Vec<f64>)> {
        let one = |fold: Sorted| {
            let weights = fold.weights.unwrap_or_else(|| vec![1.0; fold.values.len()]);
            (fold.values, weights)
        };
        self.folds_for(side).into_iter().map(one).collect()
    }

    /// The mass of scores that may lie above the end; nothing where there are too few for a finite one.
    pub fn above(&self, level: Level) -> Option<f64> {
        self.rank(level).map(|needed| (self.mass() - needed).max(0.0))
    }
}

/// Both ends or one, at many points.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    search: Search,
    side: Side,
}

impl Ends {
    /// Lower and upper end at each of L points, where `at[k]` is what fold k predicts, and is changed; `places` is room
    /// for one number per fold and point.
    #[inline(always)]
    pub(crate) fn ends<const L: usize>(&self, at: &mut [At<L>], places: &mut [[usize; L]]) -> [(f64, f64); L] {
        let (mut lower, mut upper) = ([f64::INFINITY; L], [f64::INFINITY; L]);
        if self.side != Side::Lower {
            upper = self.search.find(at, places);
        }
        if self.side != Side::Upper {
            // A lower end is an upper end of −y.
            for fold in &mut *at {
                fold.turn();
            }
            lower = self.search.find(at, places);
        }
        std::array::from_fn(|point| (-lower[point], upper[point]))
    }
}

impl Sorted {
    /// The scores of −y.
    fn turned(&self) -> Sorted {
        let weights = self.weights.as_ref().map(|w| w.iter().rev().copied().collect());
        let values = self.lowest.as_ref().unwrap_or(&self.values).iter().rev().map(|v| -v).collect();
        Sorted { values, weights, lowest: None }
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// Of all its scores.
    pub(super) fn mass(&self) -> f64 {
        self.weights.as_ref().map_or(self.values.len() as f64, |w| w.iter().sum())
    }

    /// The smallest score below or at which this mass lies.
    pub(super) fn reaching(&self, needed: f64) -> f64 {
        let mut mass = 0.0;
        let reached = self.values.iter().enumerate().find(|(i, _)| {
            mass += self.weight(*i);
            mass >= needed
        });
        reached.map_or(f64::INFINITY, |(_, score)| *score)
    }
}

/// 1 − 2α − min{2(1−1/K)/(n/K+1), (1−K/n)/(K+1)}: what CV+ guarantees for exchangeable rows (Barber et al. 2021,
/// Theorem 4), at least 0.
///
/// The proof compares scores only, so it holds for scaled scores too, as long as the scale of a fold is learned outside
/// it.
pub fn cv_plus_guarantee(n: usize, folds: usize, level: Level) -> f64 {
    let (n, k, alpha) = (n as f64, folds as f64, 1.0 - level.get());
    let excess = (2.0 * (1.0 - 1.0 / k) / (n / k + 1.0)).min((1.0 - k / n) / (k + 1.0)).max(0.0);
    (1.0 - 2.0 * alpha - excess).max(0.0)
}

/// The ends by their definition, for tests: all values sorted, and their masses added up.
#[cfg(any(test, fuzzing))]
pub(crate) mod reference {
    use super::{Level, Scores, Side, Sorted};

    /// Lower and upper end at one point, where `at[k]` is μ_k and the scales above and below it.
    pub(crate) fn ends(scores: &Scores, at: &[[f64; 3]], level: Level, side: Side) -> (f64, f64) {
        ends_at(scores, at, scores.rank(level), side)
    }

    /// The same at a point of this weight, where scores have weights: the smallest value at which Σ w_i over the scores
    /// below reaches (1 − α)(Σ w_i + w).
    pub(crate) fn weighted_ends(scores: &Scores, at: &[[f64; 3]], weight: f64, level: Level, side: Side) -> (f64, f64) {
        let needed = level.get() * (scores.mass() + weight) - 1e-9;
        ends_at(scores, at, (needed <= scores.mass()).then_some(needed), side)
    }

    fn ends_at(scores: &Scores, at: &[[f64; 3]], needed: Option<f64>, side: Side) -> (f64, f64) {
        let folds = scores.folds_for(side);
        let upper = |sign: f64| needed.map_or(f64::INFINITY, |needed| end(&folds, at, sign, needed));
        match side {
            Side::Both => (-upper(-1.0), upper(1.0)),
            Side::Upper => (f64::NEG_INFINITY, upper(1.0)),
            Side::Lower => (-upper(-1.0), f64::INFINITY),
        }
    }

    fn end(folds: &[Sorted], at: &[[f64; 3]], sign: f64, needed: f64) -> f64 {
        let mut all: Vec<(f64, f64)> = Vec::new();
        for (fold, &[m, above, below]) in folds.iter().zip(at) {
            let scale = |r: f64| if sign * r < 0.0 { below } else { above };
            all.extend(fold.values.iter().enumerate().map(|(i, &r)| (sign * m + r * scale(r), fold.weight(i))));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut mass = 0.0;
        let reached = all.iter().find(|(_, weight)| {
            mass += weight;
            mass >= needed
        });
        reached.map_or(f64::INFINITY, |r| r.0)
    }
}

#[cfg(test)]
mod tests {
    use super::reference::ends;
    use super::*;

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
        let at = [[0.0, 1.0, 1.0], [1.0, 2.0, 2.0]];
        // Upper candidates 1, 2, 2, 7; lower ones −1, −2, 0, −5; level .6: rank ⌈.6·5⌉ = 3.
        assert_eq!(ends(&scores, &at, level(0.6), Side::Both), (-2.0, 2.0));
        assert_eq!(ends(&scores, &at, level(0.8), Side::Both), (-5.0, 7.0));
        assert_eq!(ends(&scores, &at, level(0.9), Side::Both), (f64::NEG_INFINITY, f64::INFINITY));
        // Signed candidates: −1, 2, 2, −5.
        assert_eq!(ends(&scores, &at, level(0.4), Side::Upper), (f64::NEG_INFINITY, -1.0));
        assert_eq!(ends(&scores, &at, level(0.6), Side::Lower), (-1.0, f64::INFINITY));
        // Twice as far above: upper candidates 2, 4, 3, 13; lower ones as before; signed ones −1, 4, 3, −5.
        let at = [[0.0, 2.0, 1.0], [1.0, 4.0, 2.0]];
        assert_eq!(ends(&scores, &at, level(0.6), Side::Both), (-2.0, 4.0));
        assert_eq!(ends(&scores, &at, level(0.6), Side::Upper), (f64::NEG_INFINITY, 3.0));
        assert_eq!(ends(&scores, &at, level(0.6), Side::Lower), (-1.0, f64::INFINITY));
    }

    #[test]
    fn weights_of_one_are_no_weights_and_groups_count_as_one() {
        let signed = vec![vec![-1.0, 2.0, 0.3], vec![0.5, -3.0]];
        let plain = Scores::new(signed.clone(), None, 5);
        let ones = Scores::new(signed.clone(), Some(vec![vec![1.0; 3], vec![1.0; 2]]), 5);
        let at = [[0.2, 1.0, 1.0], [1.0, 2.0, 2.0]];
        for l in [0.3, 0.5, 0.7, 0.9] {
            for side in [Side::Both, Side::Lower, Side::Upper] {
                assert_eq!(ends(&plain, &at, level(l), side), ends(&ones, &at, level(l), side));
            }
        }
        // Three groups, one of them of three rows: masses ⅓ ⅓ ⅓ 1 1; level .5 needs a mass of 2.
        let third = 1.0 / 3.0;
        let grouped =
            Scores::new(vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0]], Some(vec![vec![third; 3], vec![1.0; 2]]), 3);
        assert_eq!(ends(&grouped, &[[0.0, 1.0, 1.0]; 2], level(0.5), Side::Both).1, 4.0);
    }

    #[test]
    fn the_guarantee_by_hand() {
        // n = 100, K = 5: 2·.8/21 = .0762, .95/6 = .158.
        assert!((cv_plus_guarantee(100, 5, level(0.9)) - (0.8 - 1.6 / 21.0)).abs() < 1e-12);
        // n = 100, K = 50: 1.96/3 = .653, .5/51 = .0098.
        assert!((cv_plus_guarantee(100, 50, level(0.9)) - (0.8 - 0.5 / 51.0)).abs() < 1e-12);
        // K = n is the jackknife+, whose bound is 1 − 2α.
        assert!((cv_plus_guarantee(50, 50, level(0.9)) - 0.8).abs() < 1e-12);
        assert_eq!(cv_plus_guarantee(5, 5, level(0.2)), 0.0);
    }

    /// Two folds; where rows have weights, the first rows of both make one group, and the second rows another.
    fn two_folds(weighted: bool) -> Scores {
        let weights = vec![vec![0.75, 0.5], vec![0.25, 0.5]];
        Scores::new(vec![vec![2.0, -3.0], vec![0.5, -1.0]], weighted.then_some(weights), if weighted { 2 } else { 4 })
    }

    type Lists = Vec<(Vec<f64>, Option<Vec<f64>>)>;

    fn lists<'a>(all: impl Iterator<Item = (&'a [f64], Option<&'a [f64]>)>) -> Lists {
        all.map(|(values, weights)| (values.to_vec(), weights.map(<[f64]>::to_vec))).collect()
    }

    #[test]
    fn scores_ascend_in_every_fold_and_keep_their_weights() {
        let (plain, weighted) = (two_folds(false), two_folds(true));
        assert_eq!(lists(plain.signed()), [(vec![-3.0, 2.0], None), (vec![-1.0, 0.5], None)]);
        assert_eq!(lists(plain.absolute()), [(vec![2.0, 3.0], None), (vec![0.5, 1.0], None)]);
        let signed = [(vec![-3.0, 2.0], Some(vec![0.5, 0.75])), (vec![-1.0, 0.5], Some(vec![0.5, 0.25]))];
        assert_eq!(lists(weighted.signed()), signed);
        let absolute = [(vec![2.0, 3.0], Some(vec![0.75, 0.5])), (vec![0.5, 1.0], Some(vec![0.25, 0.5]))];
        assert_eq!(lists(weighted.absolute()), absolute);
        // Lower ends are decided by the scores of −y; a score without a weight counts once.
        let ones = vec![1.0, 1.0];
        assert_eq!(plain.deciding(Side::Both), [(vec![2.0, 3.0], ones.clone()), (vec![0.5, 1.0], ones)]);
        let turned = [(vec![-2.0, 3.0], vec![0.75, 0.5]), (vec![-0.5, 1.0], vec![0.25, 0.5])];
        assert_eq!(weighted.deciding(Side::Lower), turned);
        let facts = |s: &Scores| (s.folds(), s.units(), s.mass(), s.grouped(), s.is_counted());
        assert_eq!((facts(&plain), facts(&weighted)), ((2, 4, 4.0, false, false), (2, 2, 2.0, true, false)));
        let three = Scores::new(vec![vec![1.0]; 3], None, 3);
        assert_eq!((three.folds(), three.units()), (3, 3));
    }

    fn buckets(scores: &[f64]) -> Buckets {
        let mut buckets = Buckets::default();
        scores.iter().for_each(|&s| buckets.add(s));
        buckets
    }

    /// Numbers that differ by less than 2⁻¹² of themselves share a bucket, unless their signs differ.
    #[test]
    fn counted_scores_are_those_of_their_bucket_that_are_farthest_out() {
        let (first, second) = ([1.0, -1.0, 1.0002, -1.0001, 1.0001], [0.0, -0.0]);
        let scores = Scores::counted(&[buckets(&first), buckets(&second)]);
        let signed = [(vec![-1.0, 1.0002], Some(vec![2.0, 3.0])), (vec![0.0], Some(vec![2.0]))];
        assert_eq!(lists(scores.signed()), signed);
        let absolute = [(vec![1.0001, 1.0002], Some(vec![2.0, 3.0])), (vec![0.0], Some(vec![2.0]))];
        assert_eq!(lists(scores.absolute()), absolute);
        assert_eq!(scores.deciding(Side::Lower), [(vec![-1.0, 1.0001], vec![3.0, 2.0]), (vec![0.0], vec![2.0])]);
        // A size has no sign, not even that of −0.
        assert!(scores.absolute().all(|(sizes, _)| sizes.iter().all(|size| size.is_sign_positive())));
        assert_eq!((scores.units(), scores.mass(), scores.grouped(), scores.is_counted()), (7, 7.0, false, true));
        // More scores are counted as if they had come at once.
        let more = scores.counted_with(&[vec![1.0001, -5.0], vec![0.5]]).unwrap();
        let all = [buckets(&[&first[..], &[1.0001, -5.0]].concat()), buckets(&[&second[..], &[0.5]].concat())];
        assert_eq!((more.mass(), more), (10.0, Scores::counted(&all)));
    }

    #[test]
    fn shifting_moves_sizes_and_nothing_else() {
        for scores in [two_folds(false), two_folds(true)] {
            let sizes = |by: f64| -> Vec<Vec<f64>> { scores.shifted(by).absolute().map(|(v, _)| v.to_vec()).collect() };
            assert_eq!(sizes(0.25), [[2.25, 3.25], [0.75, 1.25]]);
            assert_eq!(sizes(-0.75), [[1.25, 2.25], [0.0, 0.25]]);
            let shifted = scores.shifted(0.25);
            assert_eq!(lists(shifted.signed()), lists(scores.signed()));
            let weights = |s: &Scores| -> Vec<_> { s.absolute().map(|(_, w)| w.map(<[f64]>::to_vec)).collect() };
            assert_eq!(weights(&shifted), weights(&scores));
            assert_eq!(shifted.shifted(-0.25), scores);
        }
    }

    #[test]
    fn the_size_at_a_level_is_the_rank_among_the_sizes_of_all_folds() {
        // Sizes ½, 1, 2, 3: ranks ⌈.2 · 5⌉ = 1 and ⌈.6 · 5⌉ = 3; .9 needs nine rows.
        let sizes = |s: &Scores| [0.2, 0.6, 0.9].map(|l| s.size_at(level(l)));
        assert_eq!(sizes(&two_folds(false)), [0.5, 2.0, 3.0]);
        // Masses up to each: ¼, ¾, 1½ and 2; needed of two groups: .6, 1.8 and 2.7.
        assert_eq!(sizes(&two_folds(true)), [1.0, 3.0, 3.0]);
        assert_eq!(Scores::new(vec![Vec::new()], None, 0).size_at(level(0.5)), 0.0);
    }

    #[test]
    fn mass_above_the_end_is_what_the_level_leaves() {
        let nine = Scores::new(vec![(1..=9).map(f64::from).collect()], None, 9);
        assert_eq!([0.5, 0.9, 0.95].map(|l| nine.above(level(l))), [Some(4.0), Some(0.0), None]);
        assert_eq!([0.5, 0.9, 0.95].map(|l| nine.bounds(level(l))), [true, true, false]);
        // Two groups of mass 2: .5 · 3 = 1.5 is needed, .7 · 3 = 2.1 is not there.
        let groups = two_folds(true);
        assert!((groups.above(level(0.5)).unwrap() - 0.5).abs() < 1e-8);
        assert_eq!((groups.above(level(0.7)), groups.bounds(level(0.5))), (None, true));
    }

    #[test]
    fn the_widest_ends_are_those_of_the_farthest_scores() {
        let mut at = [At::new([10.0], [1.0], [2.0]), At::new([20.0], [4.0], [3.0])];
        for scores in [two_folds(false), two_folds(true)] {
            let widest = |side| scores.widest(side).ends(&mut at.clone(), &mut [[0]; 2])[0];
            // Above 12, 13, 22 and 24; below 4, 6, 17 and 18.5.
            assert_eq!(widest(Side::Both), (4.0, 24.0));
            // One by one: 12, 4, 22 and 17.
            assert_eq!(widest(Side::Upper), (f64::NEG_INFINITY, 22.0));
            assert_eq!(widest(Side::Lower), (4.0, f64::INFINITY));
        }
        // What is missing to the mass of the groups by less than 10⁻⁹ for each of them is taken for rounding.
        let tiny = 1.5e-9;
        let scores = Scores::new(vec![vec![1.0, 2.0, 3.0]], Some(vec![vec![1.0, 1.0 - tiny, tiny]]), 2);
        assert_eq!(scores.widest(Side::Both).ends(&mut at[..1], &mut [[0]])[0].1, 12.0);
    }

    #[test]
    fn the_definition_of_weighted_ends_by_hand() {
        // Masses up to the scores 1, 2 and 3: 1, 3 and 4; .5 · (4 + w) is 3 and 4 at w = 2 and 4.
        let scores = Scores::new(vec![vec![1.0, -2.0, 3.0]], Some(vec![vec![1.0, 2.0, 1.0]]), 3);
        let ends = |weight, side| reference::weighted_ends(&scores, &[[10.0, 2.0, 1.0]], weight, level(0.5), side);
        assert_eq!((ends(2.0, Side::Both), ends(4.0, Side::Both)), ((8.0, 14.0), (7.0, 16.0)));
        assert_eq!(ends(4.1, Side::Both), (f64::NEG_INFINITY, f64::INFINITY));
        // Masses up to −2, 1 and 3: 2, 3 and 4; from above 1, 2 and 4.
        assert_eq!(ends(2.0, Side::Upper), (f64::NEG_INFINITY, 12.0));
        assert_eq!(ends(2.0, Side::Lower), (8.0, f64::INFINITY));
    }
}
