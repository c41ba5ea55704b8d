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
