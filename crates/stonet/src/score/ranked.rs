//! Ends of conformal intervals and probabilities of a tile's rows, by their ranks among held-out scores.

use std::array::from_fn;
use std::ops::Range;

use super::kernels::Tile;
use super::plan::Node;
use super::scorer::Scorer;
use super::tile::Room;
use crate::conformal::below::GroupBelow;
use crate::conformal::own::GroupEnds;
use crate::conformal::ranks::{At, Ends};
use crate::conformal::weighted::WeightedEnds;
use crate::linalg::simd::dispatch;

/// Rows whose ends are searched for at once; they divide a tile.
pub(super) const TOGETHER: usize = 8;

/// What rows are ranked among.
pub(super) enum Ranked<'a> {
    /// All scores.
    Together(&'a Ends),
    /// Those of each row's group.
    Groups(&'a GroupEnds, Tile),
    /// All scores by their weights, beside each row's own.
    Weighted(&'a WeightedEnds, Tile),
}

impl Room {
    /// Both ends of the first `rows` rows. At low levels the ends of different folds can cross; a centre that is given
    /// lies between them.
    pub(super) fn ends(&mut self, by: &Ranked<'_>, centre: Option<&Tile>, to: &Range<usize>, rows: usize) {
        self.found.resize(self.folds.len(), [0; TOGETHER]);
        for first in (0..rows).step_by(TOGETHER) {
            let mut ends = [(0.0, 0.0); TOGETHER];
            match by {
                Ranked::Together(search) => {
                    self.load_at(first);
                    find_ends(&mut ends, search, &mut self.at, &mut self.found);
                }
                Ranked::Groups(search, groups) => {
                    self.ends_by_group(search, from_fn(|i| groups[first + i]), first, &mut ends);
                }
                Ranked::Weighted(search, weights) => {
                    self.load_at(first);
                    ends = search.ends(&mut self.at, &from_fn(|i| weights[first + i]), &mut self.found);
                }
            }
            for (row, (mut lower, mut upper)) in (first..).zip(ends) {
                if let Some(centre) = centre {
                    (lower, upper) = (lower.min(centre[row]), upper.max(centre[row]));
                }
                self.wide[to.start][row] = lower;
                self.wide[to.start + 1][row] = upper;
            }
        }
    }

    /// P(y ≤ t) of the first `rows` rows, each by its group or its weight where there are any.
    pub(super) fn below(
        &mut self,
        (below, groups, weights): (&GroupBelow, Option<&Tile>, Option<&Tile>),
        value: &Tile,
        to: usize,
        rows: usize,
    ) {
        for first in (0..rows).step_by(TOGETHER) {
            self.load_at(first);
            let some = |tile: &Tile| -> [f64; TOGETHER] { from_fn(|i| tile[first + i]) };
            let found = match weights {
                Some(weights) => below.pooled().weighted(&self.at, &some(value), &some(weights)),
                None => below.at(&self.at, &some(value), groups.map(some)),
            };
            self.wide[to][first..first + TOGETHER].copy_from_slice(&found);
        }
    }

    /// Copies μ_k and the scales of all folds together.
    pub(super) fn load_folds(&mut self, scorer: &Scorer, folds: &[[Node; 3]]) {
        let mut columns = std::mem::take(&mut self.folds);
        columns.clear();
        let column = |node: &Node| self.column(scorer.place(node.index()), 0);
        columns.extend(folds.iter().map(|fold| fold.each_ref().map(column)));
        self.folds = columns;
    }

    /// What the folds predict at the next rows from `first` on. Lanes behind the last row repeat it.
    fn load_at(&mut self, first: usize) {
        let some = |tile: &Tile| from_fn(|i| tile[first + i]);
        self.at.clear();
        self.at.extend(self.folds.iter().map(|[m, above, below]| At::new(some(m), some(above), some(below))));
    }

    /// The ends of some rows, one group after the other.
    fn ends_by_group(
        &mut self,
        search: &GroupEnds,
        groups: [f64; TOGETHER],
        first: usize,
        ends: &mut [(f64, f64); TOGETHER],
    ) {
        for lane in 0..TOGETHER {
            if groups[..lane].contains(&groups[lane]) {
                continue;
            }
            self.load_at(first);
            let own = search.ends(groups[lane], &mut self.at, &mut self.again, &mut self.found);
            (lane..TOGETHER).filter(|&l| groups[l] == groups[lane]).for_each(|l| ends[l] = own[l]);
        }
    }
}

/// The ends at some rows.
#[inline(always)]
fn find_ends_body<const FMA: bool>(
    out: &mut [(f64, f64); TOGETHER],
    search: &Ends,
    at: &mut [At<TOGETHER>],
    found: &mut [[usize; TOGETHER]],
) {
    *out = search.ends(at, found);
}

dispatch! { fn find_ends(out: &mut [(f64, f64); TOGETHER], search: &Ends, at: &mut [At<TOGETHER>], found: &mut [[usize; TOGETHER]]) = find_ends_body }

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::Array2;

    use super::*;
    use crate::conformal::ranks::reference;
    use crate::rows::{Level, Side};
    use crate::score::op::GroupScores;
    use crate::score::tests::{assert_rows, computed, numbers};
    use crate::score::{Builder, Op, Scores};

    /// Columns: mean and scales above and below it of two folds, centre, weight, group, value.
    const COLUMNS: usize = 10;

    /// More rows than a tile has, and no multiple of those that are searched for at once.
    fn rows() -> Array2<f64> {
        let mut rows = numbers(45, COLUMNS);
        for mut row in rows.outer_iter_mut() {
            [1, 2, 4, 5, 7].into_iter().for_each(|k| row[k] = row[k].abs() + 0.1);
            row[8] = ((row[8] + 1.0) * 2.5).floor();
        }
        rows
    }

    fn scores(counts: [usize; 2], seed: usize) -> Scores {
        let fold = |k: usize| {
            numbers(counts[k], 1).mapv(|v| 3.0 * (v + seed as f64 + k as f64).sin()).into_raw_vec_and_offset().0
        };
        Scores::new(vec![fold(0), fold(1)], None, counts[0] + counts[1])
    }

    /// Few scores of group 0, many of group 3, and none of the groups 1 and 2; group 4 is not known.
    fn groups() -> Vec<Option<Scores>> {
        vec![Some(scores([2, 1], 5)), None, None, Some(scores([14, 9], 6))]
    }

    fn folds(plan: &mut Builder, x: Node) -> Vec<[Node; 3]> {
        let mut column = |k: usize| plan.pick(x, [k]);
        vec![[0, 1, 2].map(&mut column), [3, 4, 5].map(&mut column)]
    }

    fn at(x: &[f64; COLUMNS]) -> [[f64; 3]; 2] {
        [[x[0], x[1], x[2]], [x[3], x[4], x[5]]]
    }

    const SIDES: [Side; 3] = [Side::Both, Side::Lower, Side::Upper];

    #[derive(Clone, Copy, PartialEq)]
    enum By {
        All,
        Group,
        Weight,
    }

    fn ends_of(scores: &Scores, by: By, level: Level, side: Side) -> Vec<Vec<f64>> {
        computed(&rows(), |plan, x| {
            let (folds, centre) = (folds(plan, x), plan.pick(x, [6]));
            let weight = (by == By::Weight).then(|| plan.pick(x, [7]));
            let within = (by == By::Group).then(|| GroupScores { of: plan.pick(x, [8]), scores: groups().into() });
            let scores = Arc::new(scores.clone());
            plan.wide(Op::Ends { folds, centre, scores, within, weight, level, side }, 2)
        })
    }

    /// A two-sided interval holds the centre.
    fn with_centre((lower, upper): (f64, f64), centre: f64, side: Side) -> [f64; 2] {
        if side == Side::Both { [lower.min(centre), upper.max(centre)] } else { [lower, upper] }
    }

    #[test]
    fn ends_are_ranks_among_all_scores() {
        let (rows, scores) = (rows(), scores([12, 11], 1));
        for (l, side) in [0.1, 0.5, 0.9, 0.97].into_iter().flat_map(|l| SIDES.map(|side| (l, side))) {
            let level = Level::new(l).unwrap();
            assert_rows(&ends_of(&scores, By::All, level, side), &rows, 1e-14, |x: [f64; COLUMNS]| {
                with_centre(reference::ends(&scores, &at(&x), level, side), x[6], side)
            });
        }
    }

    #[test]
    fn ends_are_ranks_among_the_scores_of_a_rows_group() {
        let (rows, scores) = (rows(), scores([12, 11], 1));
        for (l, side) in [0.3, 0.9].into_iter().flat_map(|l| SIDES.map(|side| (l, side))) {
            let level = Level::new(l).unwrap();
            assert_rows(&ends_of(&scores, By::Group, level, side), &rows, 1e-14, |x: [f64; COLUMNS]| {
                let all = reference::ends(&scores, &at(&x), level, side);
                let ends = match &groups().get(x[8] as usize) {
                    Some(Some(own)) if own.bounds(level) => reference::ends(own, &at(&x), level, side),
                    // Three scores are too few: the widest of their ends, or those of all rows.
                    Some(Some(own)) => {
                        let widest = reference::ends(own, &at(&x), Level::new(0.75).unwrap(), side);
                        (all.0.min(widest.0), all.1.max(widest.1))
                    }
                    _ => all,
                };
                with_centre(ends, x[6], side)
            });
        }
    }

    fn weighted() -> Scores {
        let weights = |fold: usize, rows: usize| (0..rows).map(|i| 0.25 + ((i * 3 + fold) % 5) as f64).collect();
        scores([12, 11], 1).with_weights(vec![weights(0, 12), weights(1, 11)])
    }

    #[test]
    fn ends_are_ranks_among_weights_where_scores_have_them() {
        let (rows, scores) = (rows(), weighted());
        for (l, side) in [0.3, 0.9, 0.99].into_iter().flat_map(|l| SIDES.map(|side| (l, side))) {
            let level = Level::new(l).unwrap();
            assert_rows(&ends_of(&scores, By::Weight, level, side), &rows, 1e-14, |x: [f64; COLUMNS]| {
                with_centre(reference::weighted_ends(&scores, &at(&x), x[7], level, side), x[6], side)
            });
        }
    }

    fn below_of(scores: &Scores, by: By) -> Vec<Vec<f64>> {
        computed(&rows(), |plan, x| {
            let (folds, value) = (folds(plan, x), plan.pick(x, [9]));
            let weight = (by == By::Weight).then(|| plan.pick(x, [7]));
            let within = (by == By::Group).then(|| GroupScores { of: plan.pick(x, [8]), scores: groups().into() });
            plan.wide(Op::Below { folds, scores: Arc::new(scores.clone()), within, weight, value }, 1)
        })
    }

    /// The mass of values μ + V s at or below the value of a row, and that of all, with some mass of the row itself, of
    /// which one half counts.
    fn share_below(scores: &Scores, x: &[f64; COLUMNS], own: f64) -> [f64; 1] {
        let (mut below, mut all) = (0.5 * own, own);
        for ([mean, over, under], (signed, weights)) in at(x).into_iter().zip(scores.deciding(Side::Upper)) {
            for (v, weight) in signed.into_iter().zip(weights) {
                let value = mean + v * if v < 0.0 { under } else { over };
                below += if value <= x[9] { weight } else { 0.0 };
                all += weight;
            }
        }
        [below / all]
    }

    #[test]
    fn probabilities_are_shares_of_held_out_rows() {
        let (rows, plain, weighted) = (rows(), scores([12, 11], 1), weighted());
        let all = |x: [f64; COLUMNS]| share_below(&plain, &x, 1.0);
        assert_rows(&below_of(&plain, By::All), &rows, 1e-14, all);
        assert_rows(&below_of(&weighted, By::Weight), &rows, 1e-14, |x| share_below(&weighted, &x, x[7]));
        // Nineteen rows of a group are enough for a distribution of its own; only group 3 has so many.
        let own = groups().remove(3).unwrap();
        let by_group = |x: [f64; COLUMNS]| share_below(if x[8] == 3.0 { &own } else { &plain }, &x, 1.0);
        assert_rows(&below_of(&plain, By::Group), &rows, 1e-14, by_group);
        assert!((0..5).all(|g| rows.column(8).iter().filter(|v| **v == f64::from(g)).count() > 3));
    }
}
