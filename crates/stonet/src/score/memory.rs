//! Where the results of a plan's operations lie: room is used again as soon as nothing needs what is in it, so that a
//! tile stays in the cache.

use std::ops::Range;

use super::op::Op;
use super::plan::Plan;

/// Where the columns of a value lie.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Place {
    /// Whether among those of single precision.
    pub single: bool,
    pub tiles: Range<usize>,
}

/// The places of all values, and how much room they take.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Memory {
    pub places: Vec<Place>,
    pub wide: usize,
    pub narrow: usize,
}

/// Room of one precision: what is free, and where it ends.
#[derive(Default)]
struct Space {
    free: Vec<Range<usize>>,
    end: usize,
}

impl Space {
    fn take(&mut self, width: usize) -> Range<usize> {
        // The smallest gap that is large enough, or more room at the end.
        let fits = self.free.iter().enumerate().filter(|(_, r)| r.len() >= width);
        let Some(i) = fits.min_by_key(|(_, r)| r.len()).map(|(i, _)| i) else {
            self.end += width;
            return self.end - width..self.end;
        };
        let gap = self.free[i].clone();
        self.free[i].start += width;
        self.free.retain(|r| !r.is_empty());
        gap.start..gap.start + width
    }

    fn give_back(&mut self, tiles: Range<usize>) {
        if tiles.is_empty() {
            return;
        }
        let at = self.free.partition_point(|r| r.start < tiles.start);
        self.free.insert(at, tiles);
        // Neighbours become one.
        self.free.dedup_by(|next, last| {
            let touches = last.end == next.start;
            if touches {
                last.end = next.end;
            }
            touches
        });
    }
}

impl Memory {
    /// Places for the values that are needed.
    pub(super) fn of(plan: &Plan, needed: &[bool]) -> Self {
        let mut last_use: Vec<usize> = (0..plan.values.len()).collect();
        for (i, value) in plan.values.iter().enumerate().filter(|(i, _)| needed[*i]) {
            value.op.takes().iter().for_each(|n| last_use[n.index()] = i);
        }
        // Outputs are read when everything is done.
        plan.outputs.iter().for_each(|o| last_use[o.node.index()] = plan.values.len());
        let mut spaces = [Space::default(), Space::default()];
        let mut places = vec![Place::default(); plan.values.len()];
        let is_input = |i: usize| matches!(plan.values[i].op, Op::Input { .. });
        let needed: Vec<usize> = (0..plan.values.len()).filter(|&i| needed[i]).collect();
        // Inputs are loaded before anything is computed.
        for &i in needed.iter().filter(|&&i| is_input(i)) {
            places[i] = Place { single: false, tiles: spaces[0].take(plan.values[i].width) };
        }
        for &i in needed.iter().filter(|&&i| !is_input(i)) {
            let value = &plan.values[i];
            let space = &mut spaces[usize::from(value.single)];
            places[i] = Place { single: value.single, tiles: space.take(value.width) };
            for n in value.op.takes() {
                if last_use[n.index()] == i {
                    // Once, even where an operation takes a value twice.
                    last_use[n.index()] = usize::MAX;
                    let Place { single, tiles } = places[n.index()].clone();
                    spaces[usize::from(single)].give_back(tiles);
                }
            }
        }
        let [wide, narrow] = spaces.map(|s| s.end);
        Memory { places, wide, narrow }
    }
}

#[cfg(test)]
mod tests {
    use super::super::op::Sparse;
    use super::super::plan::{Node, Port, Quantity};
    use super::super::{Builder, Clamp};
    use super::*;
    use crate::network::Activation;

    #[test]
    fn room_is_used_again_and_neighbours_join() {
        let mut space = Space::default();
        let (a, b, c) = (space.take(4), space.take(2), space.take(3));
        assert_eq!((a.clone(), b.clone(), c.clone(), space.end), (0..4, 4..6, 6..9, 9));
        space.give_back(c);
        space.give_back(a);
        assert_eq!(space.take(3), 6..9);
        space.give_back(b);
        assert_eq!((space.take(6), space.end), (0..6, 9));
        assert_eq!((space.take(1), space.end), (9..10, 10));
    }

    #[test]
    fn the_smallest_gap_that_is_large_enough_is_taken() {
        let mut space = Space::default();
        let all: Vec<Range<usize>> = [5, 1, 2, 1, 3, 1].iter().map(|&w| space.take(w)).collect();
        [4, 0, 2].iter().for_each(|&i| space.give_back(all[i].clone()));
        // Gaps 0..5, 6..8 and 9..12.
        assert_eq!([2, 2, 1].map(|width| space.take(width)), [6..8, 9..11, 11..12]);
        assert_eq!(space.take(4), 0..4);
        assert_eq!((space.take(2), space.end), (13..15, 15));
        assert_eq!((space.take(1), space.free.len()), (4..5, 0));
        // What is given back without any tile is no gap.
        space.give_back(3..3);
        assert_eq!(space.free.len(), 0);
        // Neighbours join on both sides.
        [0..2, 4..6, 2..4].into_iter().for_each(|gap| space.give_back(gap));
        assert_eq!((space.free.len(), space.free[0].clone()), (1, 0..6));
    }

    /// Columns of single precision, one of double precision that nothing needs, and outputs of both.
    fn plan() -> Plan {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 3);
        let clamps: Vec<Clamp> = (0..3).map(|k| Clamp::within(k, -1.0, 1.0)).collect();
        let clipped = plan.clamp(x, clamps, true);
        let mut weights = Sparse::default();
        (0..2).for_each(|k| weights.push([(k, 2.0), (k + 1, 1.0)], 0.5));
        let narrow = plan.combine(clipped, weights.clone(), true);
        let active = plan.activate(narrow, Activation::Tanh);
        let wide = plan.combine(clipped, weights, false);
        let root = plan.op(Op::SquareRoot { of: x });
        let squares = plan.op(Op::Product(wide, wide));
        plan.op(Op::Softmax { of: squares });
        let both = plan.join(vec![squares, active]);
        let centre = plan.op(Op::Centre { of: both });
        plan.output(Quantity::Class, centre, 0, true);
        plan.output(Quantity::Class, root, 2, true);
        plan.finish()
    }

    #[test]
    fn values_that_are_still_needed_share_no_room() {
        let plan = plan();
        let needed = plan.needed();
        let Memory { places, wide, narrow } = Memory::of(&plan, &needed);
        let count = plan.values.len();
        let is_input = |i: usize| matches!(plan.values[i].op, Op::Input { .. });
        // From where a value is there, which is from the start for inputs, up to where it is last taken.
        let lives = |i: usize| {
            let takers = (0..count).filter(|&j| needed[j] && plan.values[j].op.takes().contains(&Node(i)));
            let output = plan.outputs.iter().any(|o| o.node == Node(i));
            (if is_input(i) { 0 } else { i }, if output { count } else { takers.max().unwrap_or(i) })
        };
        for i in (0..count).filter(|&i| needed[i]) {
            let Place { single, tiles } = &places[i];
            assert_eq!((tiles.len(), *single), (plan.values[i].width, plan.values[i].single));
            assert!(tiles.end <= if *single { narrow } else { wide });
            for j in (0..i).filter(|&j| needed[j] && places[j].single == *single) {
                let (a, b) = (lives(i), lives(j));
                let together = a.0 <= b.1 && b.0 <= a.1;
                let overlap = tiles.start < places[j].tiles.end && places[j].tiles.start < tiles.end;
                assert!(!(together && overlap), "{i} and {j}");
            }
        }
    }

    #[test]
    fn room_is_no_more_than_what_is_needed_at_once() {
        let plan = plan();
        let memory = Memory::of(&plan, &plan.needed());
        let tiles = |node: usize| memory.places[node].tiles.clone();
        // Single precision: 3 clipped columns and their 2 combinations; then 2 activations.
        assert_eq!((tiles(1), tiles(2), tiles(3), memory.narrow), (0..3, 3..5, 5..7, 7));
        // Double precision: 3 features, 2 combinations, 3 roots; the features' room for the squares; 4 columns side by
        // side, and what the features, the combinations and the squares leave for the last 4.
        assert_eq!((tiles(0), tiles(4), tiles(5), tiles(6)), (0..3, 3..5, 5..8, 0..2));
        assert_eq!((plan.needed()[7], tiles(7)), (false, 0..0));
        assert_eq!((tiles(8), tiles(9), memory.wide), (8..12, 0..4, 12));
        // A value that is taken twice at its end gives its room back once.
        let mut twice = Builder::default();
        let x = twice.port(Port::Features, 2);
        let square = twice.op(Op::Product(x, x));
        let root = twice.op(Op::SquareRoot { of: square });
        let last = twice.op(Op::Product(root, square));
        twice.output(Quantity::Class, last, 0, true);
        twice.output(Quantity::Class, last, 1, true);
        let twice = twice.finish();
        let memory = Memory::of(&twice, &twice.needed());
        let all: Vec<Range<usize>> = memory.places.iter().map(|p| p.tiles.clone()).collect();
        assert_eq!((all, memory.wide), (vec![0..2, 2..4, 0..2, 4..6], 6));
    }
}
