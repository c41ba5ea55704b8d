//! The ends of conformal intervals at many points, one after the other.
//!
//! The lists of scores stay the same from point to point, so the mass of each list is tabulated as a function of the score around the end.
//! A search guesses the end, corrects the guess by Newton's steps in the tabulated mass, finds the exact places of the guess in all lists, and
//! walks the last few scores one by one. Where that does not come near, the end is bracketed and halved in on. The result is exactly the
//! smallest value below or at which the mass lies.

use super::conformal::Sorted;

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
    /// How many scores are below each of equidistant values around there, and their mass.
    table: Vec<(u32, f32)>,
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
        let table = (0..=cells).map(entry).collect();
        let scores = sorted.values.iter().copied().chain([f64::INFINITY; IN_CELL + 1]).collect();
        let per_unit = if range > 0.0 { cells as f64 / range } else { 0.0 };
        List { scores, count, own_end: at(start), density, table, base, per_unit, mass }
    }

    /// The cell of a score, and how far into the cell it lies.
    #[inline]
    fn cell(&self, score: f64) -> (usize, f64) {
        let last = (self.table.len() - 2) as f64;
        // Not `clamp`: what is not a number becomes the first cell.
        let x = ((score - self.base) * self.per_unit).max(0.0).min(last);
        let cell = x as usize;
        (cell, x - cell as f64)
    }

    /// About how much mass lies below a score.
    #[inline]
    fn mass_below(&self, score: f64) -> f64 {
        let (cell, part) = self.cell(score);
        let (low, high) = (f64::from(self.table[cell].1), f64::from(self.table[cell + 1].1));
        low + (high - low) * part
    }

    /// How many scores are below: near this one, by a test that says so of each.
    #[inline]
    fn count_below(&self, score: f64, below: impl Fn(f64) -> bool) -> usize {
        let start = self.table[self.cell(score).0].0 as usize;
        let mut place = start;
        // Additions instead of branches, which would be guessed wrong half of the time.
        for _ in 0..IN_CELL {
            place += usize::from(below(self.scores[place]));
        }
        let fits = !below(self.scores[place]) && (place > start || place == 0 || below(self.scores[place - 1]));
        if fits { place } else { gallop(&self.scores[..self.count], start, below) }
    }
}

/// What one fold predicts at a point: μ, s, and 1/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct At {
    mean: f64,
    scale: f64,
    reciprocal: f64,
}

impl At {
    #[inline]
    pub(crate) fn new(mean: f64, scale: f64) -> Self {
        At { mean, scale, reciprocal: 1.0 / scale }
    }
}

/// The folds' predictions and scales at one point: m_k = sign · μ_k.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    pub at: &'a [At],
    pub sign: f64,
}

impl Point<'_> {
    #[inline]
    fn value(self, at: &At, score: f64) -> f64 {
        self.sign * at.mean + score * at.scale
    }

    /// About the score that has this value.
    #[inline]
    fn score(self, at: &At, value: f64) -> f64 {
        (value - self.sign * at.mean) * at.reciprocal
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
        Search { lists, alone, needed, unit: total / rows as f64 }
    }

    /// The end at a point; `places` is room for one number per list.
    pub(crate) fn find(&self, point: Point<'_>, places: &mut [usize]) -> f64 {
        let Some(needed) = self.needed else { return f64::INFINITY };
        if let Some(score) = self.alone {
            return point.value(&point.at[0], score);
        }
        // The mass below v is about linear in v, in each list around its own end.
        let (mut guess, mut slope) = (0.0, 0.0);
        for (list, at) in self.lists.iter().zip(point.at).filter(|(l, _)| l.count > 0) {
            let here = list.density * at.reciprocal;
            guess += here * point.value(at, list.own_end);
            slope += here;
        }
        let per_mass = 1.0 / slope;
        guess *= per_mass;
        for _ in 0..STEPS {
            // In front of the score that makes the mass enough.
            let step = (needed - 0.5 * self.unit - self.about(point, guess)) * per_mass;
            if step.is_finite() {
                guess += step;
            }
        }
        let mut mass = self.cut(point, guess, places);
        if (needed - mass).abs() > NEAR * self.unit || mass.is_nan() {
            mass = self.bracket(point, needed, places);
        }
        if mass < needed { self.up(point, needed, mass, places) } else { self.down(point, needed, mass, places) }
    }

    /// About the mass of all that is below `value`.
    #[inline]
    fn about(&self, point: Point<'_>, value: f64) -> f64 {
        self.lists.iter().zip(point.at).map(|(list, at)| list.mass_below(point.score(at, value))).sum()
    }

    /// The mass of all that is below `value`, and in `places` how many scores of each list that are.
    #[inline]
    fn cut(&self, point: Point<'_>, value: f64, places: &mut [usize]) -> f64 {
        let mut mass = 0.0;
        for ((list, at), place) in self.lists.iter().zip(point.at).zip(places) {
            *place = list.count_below(point.score(at, value), |score| point.value(at, score) < value);
            mass += list.mass[*place];
        }
        mass
    }

    /// Takes in the next scores until there is mass enough.
    #[inline]
    fn up(&self, point: Point<'_>, needed: f64, mut mass: f64, places: &mut [usize]) -> f64 {
        loop {
            let (mut next, mut smallest) = (usize::MAX, f64::INFINITY);
            for (k, ((list, at), &place)) in self.lists.iter().zip(point.at).zip(&*places).enumerate() {
                // Infinite behind the last score. Selections instead of branches, which nobody could guess.
                let value = point.value(at, list.scores[place]);
                next = if value < smallest { k } else { next };
                smallest = smallest.min(value);
            }
            let Some(list) = self.lists.get(next) else { return f64::INFINITY };
            let place = places[next];
            mass += list.mass[place + 1] - list.mass[place];
            places[next] += 1;
            if mass >= needed {
                return smallest;
            }
        }
    }

    /// Gives back the last scores until there is no longer mass enough.
    #[inline]
    fn down(&self, point: Point<'_>, needed: f64, mut mass: f64, places: &mut [usize]) -> f64 {
        loop {
            let (mut last, mut largest) = (usize::MAX, f64::NEG_INFINITY);
            for (k, ((list, at), &place)) in self.lists.iter().zip(point.at).zip(&*places).enumerate() {
                let value = point.value(at, list.scores[place.saturating_sub(1)]);
                let value = if place == 0 { f64::NEG_INFINITY } else { value };
                last = if value > largest { k } else { last };
                largest = largest.max(value);
            }
            let Some(list) = self.lists.get(last) else { return f64::INFINITY };
            places[last] -= 1;
            let place = places[last];
            mass -= list.mass[place + 1] - list.mass[place];
            if mass < needed {
                return largest;
            }
        }
    }

    /// Halves an interval that holds the end until the mass below its lower end is nearly what is needed, or nothing is between its ends; returns that
    /// mass, with the places that belong to it.
    fn bracket(&self, point: Point<'_>, needed: f64, places: &mut [usize]) -> f64 {
        let ends = |which: fn(&[f64]) -> Option<&f64>, best: fn(f64, f64) -> f64, from: f64| {
            let of = |(list, at): (&List, &At)| which(&list.scores[..list.count]).map(|&score| point.value(at, score));
            self.lists.iter().zip(point.at).filter_map(of).fold(from, best)
        };
        let mut low = ends(<[f64]>::first, f64::min, f64::INFINITY);
        let mut high = ends(<[f64]>::last, f64::max, f64::NEG_INFINITY);
        loop {
            // Halves that cannot overflow.
            let middle = 0.5 * low + 0.5 * high;
            if !(middle > low && middle < high) {
                return self.cut(point, low, places);
            }
            let mass = self.cut(point, middle, places);
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
    use crate::interval::conformal::reference::ends;
    use crate::interval::conformal::{Scores, Side};
    use crate::{Level, Seed};
    use proptest::prelude::*;
    use rand::RngExt;

    fn points(at: &[(f64, f64)]) -> Vec<At> {
        at.iter().map(|&(m, s)| At::new(m, s)).collect()
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
            let at: Vec<(f64, f64)> = folds.iter().map(|&(_, m, s)| (f64::from(m) * 0.3, f64::from(s) * 0.1)).collect();
            let level = Level::new(level).unwrap();
            let mut places = vec![0; at.len()];
            for side in [Side::Both, Side::Lower, Side::Upper] {
                prop_assert_eq!(scores.search(level, side).ends(&points(&at), &mut places), ends(&scores, &at, level, side));
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
        let mut places = [0; 5];
        for l in [0.05, 0.5, 0.9, 0.99, 0.9999] {
            let level = Level::new(l).unwrap();
            for side in [Side::Both, Side::Lower, Side::Upper] {
                let search = scores.search(level, side);
                for _ in 0..200 {
                    let at: Vec<(f64, f64)> = (0..5).map(|_| (0.2 * draw(), (0.2 * draw()).exp())).collect();
                    assert_eq!(search.ends(&points(&at), &mut places), ends(&scores, &at, level, side));
                }
                let broken = [At::new(f64::NAN, 1.0); 5];
                search.ends(&broken, &mut places);
            }
        }
    }
}
