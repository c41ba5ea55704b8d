//! The ends of conformal intervals at many points, one after the other.
//!
//! The lists of scores stay the same from point to point, so the mass of each list is tabulated as a function of the
//! score around the end. A search guesses the end, corrects the guess by Newton's steps in the tabulated mass, finds
//! the exact places of the guess in all lists, and walks the last few scores one by one. Where that does not come near,
//! the end is bracketed and halved in on. The result is exactly the smallest value below or at which the mass lies.

use std::array::from_fn;

use super::ranks::Sorted;

/// Rows that a walk covers; from further away the end is bracketed first.
const NEAR: f64 = 48.0;
/// Newton's steps in the tabulated mass.
const STEPS: usize = 2;
/// Cells of a table per score in its range.
const CELLS: usize = 2;
/// Scores that may lie in a cell before a place is looked for in growing steps.
const IN_CELL: usize = 2;

/// Finds the smallest of m_k + r s_k below or at which a given mass of scores lies.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    lists: Vec<List>,
    /// The score that decides at every point, where there is one list alone.
    alone: Option<f64>,
    /// The mass; none where there is less.
    needed: Option<f64>,
    /// Of all scores.
    total: f64,
    /// Mean mass of a score.
    unit: f64,
}

#[derive(Debug, Clone)]
struct List {
    /// Ascending, with infinities behind them for reading beyond the end.
    scores: Vec<f64>,
    /// How many there are.
    count: usize,
    /// Mass of the first i scores, one more than there are scores.
    mass: Vec<f64>,
    /// The score of the end if this list were alone.
    own_end: f64,
    /// Mass per unit of score around there.
    density: f64,
    /// How many scores are below each of equidistant values around there.
    counts: Vec<u32>,
    /// The mass of these scores.
    masses: Vec<f32>,
    /// The first of these values, and how many there are per unit of score.
    base: f64,
    per_unit: f64,
}

impl List {
    fn new(sorted: &Sorted, share: f64) -> Self {
        let (count, mut mass) = (sorted.values.len(), vec![0.0]);
        (0..count).for_each(|i| mass.push(mass[i] + sorted.weight(i)));
        let at = |i: usize| sorted.values.get(i).copied().unwrap_or(0.0);
        let start = mass.partition_point(|m| *m < share * mass[count]).min(count).saturating_sub(1);
        let around = |width: usize| (start.saturating_sub(width), (start + width).min(count.saturating_sub(1)));
        let (low, high) = around(count / 16 + 1);
        let density = if count > 0 { (mass[high] - mass[low]) / (at(high) - at(low)) } else { 0.0 };
        let (low, high) = around(count / 8 + 1);
        let (cells, base, range) = (CELLS * (high - low).max(1), at(low), at(high) - at(low));
        let entry = |cell: usize| {
            let value = base + range * cell as f64 / cells as f64;
            let below = sorted.values.partition_point(|s| *s < value);
            (below as u32, mass[below] as f32)
        };
        let (counts, masses) = (0..=cells).map(entry).unzip();
        let scores = sorted.values.iter().copied().chain([f64::INFINITY; IN_CELL + 1]).collect();
        let per_unit = if range > 0.0 { cells as f64 / range } else { 0.0 };
        List { scores, count, own_end: at(start), density, counts, masses, base, per_unit, mass }
    }

    /// The cell of a score, and how far into the cell it lies.
    #[inline(always)]
    fn cell(&self, score: f64) -> (usize, f64) {
        let last = (self.masses.len() - 2) as f64;
        // Not `clamp`: what is not a number becomes the first cell.
        let x = ((score - self.base) * self.per_unit).max(0.0).min(last);
        let cell = x as usize;
        (cell, x - cell as f64)
    }

    /// About how much mass lies below a score.
    #[inline(always)]
    fn mass_below(&self, score: f64) -> f64 {
        let (cell, part) = self.cell(score);
        // SAFETY: a cell is at most the last but one.
        let (low, high) = unsafe { (*self.masses.get_unchecked(cell), *self.masses.get_unchecked(cell + 1)) };
        let (low, high) = (f64::from(low), f64::from(high));
        low + (high - low) * part
    }

    /// How many scores are below: near this one, by a test that says so of each.
    #[inline(always)]
    fn count_below(&self, score: f64, below: impl Fn(f64) -> bool) -> usize {
        // SAFETY: a cell is at most the last but one, counts are at most the number of scores, and IN_CELL + 1
        // infinities follow the scores.
        let (start, score_at) = unsafe {
            let start = *self.counts.get_unchecked(self.cell(score).0) as usize;
            (start, |i: usize| *self.scores.get_unchecked(i))
        };
        let mut place = start;
        // Additions instead of branches, which would be guessed wrong half of the time.
        for _ in 0..IN_CELL {
            place += usize::from(below(score_at(place)));
        }
        let fits =
            !below(score_at(place)) & ((place > start) | below(score_at(start.saturating_sub(1))) | (place == 0));
        if fits { place } else { gallop(&self.scores[..self.count], start, below) }
    }

    /// The mass of the scores below this value at a point, and in `place` how many they are.
    #[inline(always)]
    fn cut<const L: usize>(&self, at: &At<L>, point: usize, value: f64, place: &mut usize) -> f64 {
        *place = self.count_below(at.score(point, value), |score| at.value(point, score) < value);
        self.mass[*place]
    }
}

/// What one fold predicts at L points: m, and the scales above and below it with their reciprocals. For upper ends m is μ;
/// for lower ones, which are upper ends of −y, it is −μ, and the scales have changed places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct At<const L: usize> {
    mean: [f64; L],
    above: [f64; L],
    below: [f64; L],
    over_above: [f64; L],
    over_below: [f64; L],
}

impl<const L: usize> At<L> {
    #[inline]
    pub(crate) fn new(mean: [f64; L], above: [f64; L], below: [f64; L]) -> Self {
        At { mean, above, below, over_above: above.map(|s| 1.0 / s), over_below: below.map(|s| 1.0 / s) }
    }

    /// The same for −y.
    #[inline(always)]
    pub(super) fn turn(&mut self) {
        for mean in &mut self.mean {
            *mean = -*mean;
        }
        std::mem::swap(&mut self.above, &mut self.below);
        std::mem::swap(&mut self.over_above, &mut self.over_below);
    }

    /// m + score · s at one of the points, with the scale of the side on which it lies.
    #[inline(always)]
    pub(super) fn value(&self, point: usize, score: f64) -> f64 {
        let scale = if score < 0.0 { self.below[point] } else { self.above[point] };
        self.mean[point] + score * scale
    }

    /// About the score that has this value.
    #[inline(always)]
    fn score(&self, point: usize, value: f64) -> f64 {
        let off = value - self.mean[point];
        off * if off < 0.0 { self.over_below[point] } else { self.over_above[point] }
    }

    /// 1/s on the side of a score.
    #[inline(always)]
    fn reciprocal(&self, point: usize, score: f64) -> f64 {
        if score < 0.0 { self.over_below[point] } else { self.over_above[point] }
    }
}

impl Search {
    pub(super) fn new(sorted: Vec<Sorted>, needed: Option<f64>) -> Self {
        let total: f64 = sorted.iter().map(Sorted::mass).sum();
        let rows: usize = sorted.iter().map(|f| f.values.len()).sum();
        let share = needed.unwrap_or(0.0) / total;
        let alone = match (&sorted[..], needed) {
            ([only], Some(needed)) => Some(only.reaching(needed)),
            _ => None,
        };
        let lists = if alone.is_some() { Vec::new() } else { sorted.iter().map(|f| List::new(f, share)).collect() };
        Search { lists, alone, needed, total, unit: total / rows as f64 }
    }

    /// The same where every point needs a mass of its own, which is about `needed`.
    pub(super) fn of_each(sorted: Vec<Sorted>, needed: f64) -> Self {
        let total: f64 = sorted.iter().map(Sorted::mass).sum();
        let rows: usize = sorted.iter().map(|f| f.values.len()).sum();
        let lists = sorted.iter().map(|f| List::new(f, needed / total)).collect();
        Search { lists, alone: None, needed: None, total, unit: total / rows as f64 }
    }

    /// Of all scores.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The ends at the points; `places` is room for one number per list and point.
    #[inline(always)]
    pub(crate) fn find<const L: usize>(&self, at: &[At<L>], places: &mut [[usize; L]]) -> [f64; L] {
        let Some(needed) = self.needed else { return [f64::INFINITY; L] };
        if let Some(score) = self.alone {
            return from_fn(|point| at[0].value(point, score));
        }
        self.find_each(at, &[needed; L], places)
    }

    /// The ends at points of which each needs a mass of its own; infinite where there is less.
    #[inline(always)]
    pub(super) fn find_each<const L: usize>(
        &self,
        at: &[At<L>],
        needed: &[f64; L],
        places: &mut [[usize; L]],
    ) -> [f64; L] {
        let masses = self.cut(at, &self.guess(at, needed), places);
        // Loops instead of closures, which would not be compiled for the chosen instruction set.
        let mut ends = [f64::INFINITY; L];
        for point in 0..L {
            let (needed, mut mass) = (needed[point], masses[point]);
            if needed > self.total {
                continue;
            }
            if (needed - mass).abs() > NEAR * self.unit || mass.is_nan() {
                mass = self.bracket(at, point, needed, places);
            }
            ends[point] = match mass < needed {
                true => self.up(at, point, needed, mass, places),
                false => self.down(at, point, needed, mass, places),
            };
        }
        ends
    }

    /// About the ends.
    #[inline(always)]
    fn guess<const L: usize>(&self, at: &[At<L>], needed: &[f64; L]) -> [f64; L] {
        // The mass below v is about linear in v, in each list around its own end.
        let (mut guess, mut slope) = ([0.0; L], [0.0; L]);
        for (list, at) in self.lists.iter().zip(at).filter(|(l, _)| l.count > 0) {
            for point in 0..L {
                let here = list.density * at.reciprocal(point, list.own_end);
                guess[point] += here * at.value(point, list.own_end);
                slope[point] += here;
            }
        }
        let per_mass = slope.map(|s| 1.0 / s);
        (0..L).for_each(|point| guess[point] *= per_mass[point]);
        for _ in 0..STEPS {
            let mut about = [0.0; L];
            for (list, at) in self.lists.iter().zip(at) {
                for point in 0..L {
                    about[point] += list.mass_below(at.score(point, guess[point]));
                }
            }
            for point in 0..L {
                // In front of the score that makes the mass enough.
                let step = (needed[point] - 0.5 * self.unit - about[point]) * per_mass[point];
                guess[point] += if step.is_finite() { step } else { 0.0 };
            }
        }
        guess
    }

    /// The mass of all that is below the values, and in `places` how many scores of each list that are.
    #[inline(always)]
    fn cut<const L: usize>(&self, at: &[At<L>], values: &[f64; L], places: &mut [[usize; L]]) -> [f64; L] {
        let mut mass = [0.0; L];
        for ((list, at), places) in self.lists.iter().zip(at).zip(places) {
            for point in 0..L {
                mass[point] += list.cut(at, point, values[point], &mut places[point]);
            }
        }
        mass
    }

    /// The same at one point.
    fn cut_one<const L: usize>(&self, at: &[At<L>], point: usize, value: f64, places: &mut [[usize; L]]) -> f64 {
        let lists = self.lists.iter().zip(at).zip(places);
        lists.fold(0.0, |mass, ((list, at), places)| mass + list.cut(at, point, value, &mut places[point]))
    }

    /// Takes in the next scores until there is mass enough.
    #[inline(always)]
    fn up<const L: usize>(
        &self,
        at: &[At<L>],
        point: usize,
        needed: f64,
        mut mass: f64,
        places: &mut [[usize; L]],
    ) -> f64 {
        loop {
            let (mut next, mut smallest) = (usize::MAX, f64::INFINITY);
            for (k, ((list, at), places)) in self.lists.iter().zip(at).zip(&*places).enumerate() {
                // Infinite behind the last score. Selections instead of branches, which nobody could guess.
                let value = at.value(point, list.scores[places[point]]);
                next = if value < smallest { k } else { next };
                smallest = smallest.min(value);
            }
            let Some(list) = self.lists.get(next) else { return f64::INFINITY };
            let place = places[next][point];
            mass += list.mass[place + 1] - list.mass[place];
            places[next][point] += 1;
            if mass >= needed {
                return smallest;
            }
        }
    }

    /// Gives back the last scores until there is no longer mass enough.
    #[inline(always)]
    fn down<const L: usize>(
        &self,
        at: &[At<L>],
        point: usize,
        needed: f64,
        mut mass: f64,
        places: &mut [[usize; L]],
    ) -> f64 {
        loop {
            let (mut last, mut largest) = (usize::MAX, f64::NEG_INFINITY);
            for (k, ((list, at), places)) in self.lists.iter().zip(at).zip(&*places).enumerate() {
                let place = places[point];
                let value = at.value(point, list.scores[place.saturating_sub(1)]);
                let value = if place == 0 { f64::NEG_INFINITY } else { value };
                last = if value > largest { k } else { last };
                largest = largest.max(value);
            }
            let Some(list) = self.lists.get(last) else { return f64::INFINITY };
            places[last][point] -= 1;
            let place = places[last][point];
            mass -= list.mass[place + 1] - list.mass[place];
            if mass < needed {
                return largest;
            }
        }
    }

    /// Halves an interval that holds the end until the mass below its lower end is nearly what is needed, or nothing is
    /// between its ends; returns that mass, with the places that belong to it.
    #[cold]
    fn bracket<const L: usize>(&self, at: &[At<L>], point: usize, needed: f64, places: &mut [[usize; L]]) -> f64 {
        let ends = |which: fn(&[f64]) -> Option<&f64>, best: fn(f64, f64) -> f64, from: f64| {
            let of =
                |(list, at): (&List, &At<L>)| which(&list.scores[..list.count]).map(|&score| at.value(point, score));
            self.lists.iter().zip(at).filter_map(of).fold(from, best)
        };
        let mut low = ends(<[f64]>::first, f64::min, f64::INFINITY);
        let mut high = ends(<[f64]>::last, f64::max, f64::NEG_INFINITY);
        loop {
            // Halves that cannot overflow.
            let middle = 0.5 * low + 0.5 * high;
            if !(middle > low && middle < high) {
                return self.cut_one(at, point, low, places);
            }
            let mass = self.cut_one(at, point, middle, places);
            if mass < needed {
                low = middle;
                if needed - mass <= NEAR * self.unit {
                    return mass;
                }
            } else {
                high = middle;
            }
        }
    }
}

/// How many of the ascending scores are below, looked for from `start` on in growing steps.
fn gallop(scores: &[f64], start: usize, below: impl Fn(f64) -> bool) -> usize {
    let (n, mut step) = (scores.len(), 1);
    // All in front of `low` are below, and nothing from `high` on.
    let (mut low, mut high) = (start.min(n), start.min(n));
    if low < n && below(scores[low]) {
        low += 1;
        high = n;
        while low + step <= n {
            let probe = low + step - 1;
            if !below(scores[probe]) {
                high = probe;
                break;
            }
            low = probe + 1;
            step *= 2;
        }
    } else {
        low = 0;
        while high > 0 {
            let probe = high.saturating_sub(step);
            if below(scores[probe]) {
                low = probe + 1;
                break;
            }
            high = probe;
            step *= 2;
        }
    }
    low + scores[low..high].partition_point(|&s| below(s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::conformal::ranks::Scores;
    use crate::conformal::ranks::reference::{ends, weighted_ends};
    use crate::rows::{Level, Side};
    use proptest::prelude::*;
    use rand::RngExt;

    fn points(at: &[[f64; 3]]) -> Vec<At<1>> {
        at.iter().map(|&[m, above, below]| At::new([m], [above], [below])).collect()
    }

    proptest! {
        #[test]
        fn galloping_finds_what_bisection_finds(values in prop::collection::vec(-9i32..9, 0..40), start in 0usize..50, cut in -10i32..10) {
            let mut scores: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            scores.sort_by(f64::total_cmp);
            let below = |s: f64| s < f64::from(cut);
            prop_assert_eq!(gallop(&scores, start, below), scores.partition_point(|&s| below(s)));
        }

        /// Ties, lists of very different lengths and scales, weights, every side and level: bit for bit.
        #[test]
        fn the_search_is_the_definition(
            folds in prop::collection::vec((prop::collection::vec(-40i32..40, 1..90), -20i32..20, 1i32..30), 1..7),
            level in 0.02f64..0.98,
            weighted in any::<bool>(),
            seed in 0u64..1000,
        ) {
            let mut rng = Seed::new(seed).rng();
            let coarse = rng.random::<f64>() < 0.5;
            let signed: Vec<Vec<f64>> = folds.iter().map(|(v, ..)| v.iter().map(|&v| {
                f64::from(v) * 0.1 + if coarse { 0.0 } else { rng.random::<f64>() }
            }).collect()).collect();
            let weights = weighted.then(|| signed.iter().map(|f| f.iter().map(|_| rng.random_range(0.1..1.0)).collect()).collect());
            let rows: usize = signed.iter().map(Vec::len).sum();
            let scores = Scores::new(signed, weights, if weighted { rows / 2 + 1 } else { rows });
            let at: Vec<[f64; 3]> = folds.iter().map(|&(_, m, s)| {
                let above = f64::from(s) * 0.1;
                [f64::from(m) * 0.3, above, if coarse { above } else { 0.1 + rng.random::<f64>() }]
            }).collect();
            let level = Level::new(level).unwrap();
            let mut places = vec![[0]; at.len()];
            for side in [Side::Both, Side::Lower, Side::Upper] {
                prop_assert_eq!(scores.search(level, side).ends(&mut points(&at), &mut places), [ends(&scores, &at, level, side)]);
                for weight in [1e-9, 0.3, 1.0, 7.0, 90.0] {
                    let found = scores.weighted(level, side).ends(&mut points(&at), &[weight], &mut places);
                    prop_assert_eq!(found, [weighted_ends(&scores, &at, weight, level, side)]);
                }
            }
        }
    }

    /// Scores as they are in practice: the walk, and not the search from afar, finds nearly all ends.
    #[test]
    fn long_lists_at_many_points_agree_with_the_definition() {
        let mut rng = Seed::new(9).rng();
        let mut draw = || rng.random_range(-1.0f64..1.0).powi(3) * 4.0;
        let signed: Vec<Vec<f64>> = (0..5).map(|_| (0..400).map(|_| draw()).collect()).collect();
        let scores = Scores::new(signed, None, 2000);
        let mut places = [[0; 3]; 5];
        for l in [0.05, 0.5, 0.9, 0.99, 0.9999] {
            let level = Level::new(l).unwrap();
            for side in [Side::Both, Side::Lower, Side::Upper] {
                let search = scores.search(level, side);
                for _ in 0..200 {
                    let at =
                        [(); 3].map(|()| [(); 5].map(|()| [0.2 * draw(), (0.2 * draw()).exp(), (0.2 * draw()).exp()]));
                    let of = |k: usize, part: usize| at.map(|at| at[k][part]);
                    let mut together: Vec<At<3>> = (0..5).map(|k| At::new(of(k, 0), of(k, 1), of(k, 2))).collect();
                    let wanted = at.map(|at| ends(&scores, &at, level, side));
                    assert_eq!(search.ends(&mut together, &mut places), wanted);
                }
                let mut broken = [At::new([f64::NAN; 3], [1.0; 3], [1.0; 3]); 5];
                search.ends(&mut broken, &mut places);
            }
        }
    }
}
