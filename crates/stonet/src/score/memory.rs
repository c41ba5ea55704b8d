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
    use super::*;

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
}
