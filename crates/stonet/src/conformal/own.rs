//! Ranks among the held-out rows of a row's own group, and among all rows where the group has too few.
//!
//! A group with at least as many rows as the level needs is ranked by itself. Another group has the ends that all rows
//! give, or those that its own rows give at the highest level that they allow, whichever lie further out: so the
//! interval of a level always holds that of a lower one.

use super::ranks::{At, Ends, Scores};
use crate::rows::{Level, Side};

/// Both ends or one at many points, by the group of each point.
#[derive(Debug, Clone)]
pub(crate) struct GroupEnds {
    pooled: Ends,
    groups: Vec<Option<Own>>,
}

/// The number of a group; numbers of groups that are not known lie behind all others.
pub(super) fn number(group: f64) -> Option<usize> {
    (group >= 0.0 && group.fract() == 0.0).then_some(group as usize)
}

/// The ends of one group.
#[derive(Debug, Clone)]
struct Own {
    ends: Ends,
    /// Whether its rows are enough for the level.
    enough: bool,
}

impl GroupEnds {
    pub(crate) fn new(pooled: &Scores, groups: &[Option<Scores>], level: Level, side: Side) -> Self {
        let own = |scores: &Scores| match scores.bounds(level) {
            true => Own { ends: scores.search(level, side), enough: true },
            false => Own { ends: scores.widest(side), enough: false },
        };
        GroupEnds { pooled: pooled.search(level, side), groups: groups.iter().map(|s| s.as_ref().map(own)).collect() }
    }

    /// The ends of all rows together.
    #[inline(always)]
    pub(crate) fn pooled(&self) -> &Ends {
        &self.pooled
    }

    /// Lower and upper end at L points that are all of this group; `at` is what the folds predict, and `places` is room
    /// for one number per fold and point. `at` is changed, as is `room`, which is of the same size.
    pub(crate) fn ends<const L: usize>(
        &self,
        group: f64,
        at: &mut [At<L>],
        room: &mut Vec<At<L>>,
        places: &mut [[usize; L]],
    ) -> [(f64, f64); L] {
        let own = number(group).and_then(|g| self.groups.get(g)).and_then(Option::as_ref);
        match own {
            Some(own) if own.enough => own.ends.ends(at, places),
            Some(own) => {
                room.clear();
                room.extend_from_slice(at);
                let (pooled, own) = (self.pooled.ends(at, places), own.ends.ends(room, places));
                std::array::from_fn(|i| (pooled[i].0.min(own[i].0), pooled[i].1.max(own[i].1)))
            }
            None => self.pooled.ends(at, places),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(signed: &[&[f64]]) -> Scores {
        let rows = signed.iter().map(|f| f.len()).sum();
        Scores::new(signed.iter().map(|f| f.to_vec()).collect(), None, rows)
    }

    fn at(level: f64, side: Side, group: f64) -> (f64, f64) {
        let few: &[f64] = &[0.5, -9.0];
        let many: Vec<f64> = (1..=9).map(f64::from).collect();
        let pooled = scores(&[&[&many[..], few, &[0.1; 20]].concat()]);
        let groups = [Some(scores(&[&many])), Some(scores(&[few])), None];
        let ends = GroupEnds::new(&pooled, &groups, Level::new(level).unwrap(), side);
        let (mut at, mut places) = (vec![At::new([10.0], [1.0], [1.0])], [[0]]);
        ends.ends(group, &mut at, &mut Vec::new(), &mut places)[0]
    }

    #[test]
    fn a_group_has_its_own_ranks_where_its_rows_are_enough() {
        // Rank ⌈.9 · 10⌉ = 9 of 1 … 9; ⌈.5 · 10⌉ = 5.
        assert_eq!(at(0.9, Side::Both, 0.0), (1.0, 19.0));
        assert_eq!(at(0.5, Side::Both, 0.0), (5.0, 15.0));
        assert_eq!(at(0.5, Side::Upper, 0.0), (f64::NEG_INFINITY, 15.0));
        // Two rows are enough for .5 and not for .9, where pooled: rank ⌈.9 · 32⌉ = 29 of 31, which is 8.
        assert_eq!(at(0.5, Side::Both, 1.0), (1.0, 19.0));
        assert_eq!(at(0.9, Side::Upper, 1.0), (f64::NEG_INFINITY, 17.0));
        // Ends never lie within those of a lower level: 9 of the group's own rows, not 8.
        assert_eq!(at(0.9, Side::Both, 1.0), (1.0, 19.0));
        // Without scores, and of groups that are not known.
        for group in [2.0, 3.0, 1e300, -1.0, 0.5] {
            assert_eq!(at(0.9, Side::Both, group), (2.0, 18.0));
        }
    }

    #[test]
    fn a_group_that_is_easier_than_all_rows_has_narrower_ends() {
        let (easy, hard): (Vec<f64>, Vec<f64>) = ((1..=9).map(f64::from).collect(), (11..=19).map(f64::from).collect());
        let pooled = scores(&[&[&easy[..], &hard].concat()]);
        let groups = [Some(scores(&[&easy])), Some(scores(&[&hard]))];
        let ends = GroupEnds::new(&pooled, &groups, Level::new(0.8).unwrap(), Side::Both);
        let of = |group: f64| ends.ends(group, &mut [At::new([0.0], [1.0], [1.0])], &mut Vec::new(), &mut [[0]])[0].1;
        // Rank ⌈.8 · 10⌉ = 8 in each group; among all ⌈.8 · 19⌉ = 16 of 1 … 9, 11 … 19.
        assert_eq!([0.0, 1.0, 2.0].map(of), [8.0, 18.0, 17.0]);
    }

    #[test]
    fn levels_nest_in_every_group() {
        for group in [0.0, 1.0, 2.0] {
            for side in [Side::Both, Side::Lower, Side::Upper] {
                let all: Vec<(f64, f64)> = (1..99).map(|l| at(f64::from(l) / 100.0, side, group)).collect();
                assert!(all.windows(2).all(|w| w[1].0 <= w[0].0 && w[0].1 <= w[1].1), "{group} {side:?}");
            }
        }
    }
}
