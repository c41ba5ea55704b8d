//! The ends of conformal intervals at many points, one after the other.
//!
//! The lists of scores stay the same from point to point, and so does, nearly, the place in each list where the end is found. So a
//! search begins there, takes a Newton step or two in the mass below the end, and walks the last few scores one by one. Where that does not
//! come near, the end is bracketed and halved in on. The result is exactly the smallest value below or at which the mass lies.

use super::conformal::Sorted;

/// Rows that a walk covers; from further away the end is bracketed first.
const NEAR: f64 = 48.0;
/// Newton steps before that.
const STEPS: usize = 3;
/// A walk this short is cheaper than another step.
const SHORT: f64 = 3.0;
/// Cells of a grid per score in its range.
const CELLS: usize = 4;

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
    /// Ascending.
    scores: Vec<f64>,
    /// Mass of the first i scores, one more than there are scores.
    mass: Vec<f64>,
    /// Where the end would be if this list were alone.
    start: usize,
    /// Mass per unit of score around there.
    density: f64,
    /// How many scores are below each of equidistant values around there.
    grid: Vec<usize>,
    /// The first of these values, and how many there are per unit of score.
    base: f64,
    per_unit: f64,
}

impl List {
    fn new(sorted: &Sorted, share: f64) -> Self {
        let scores = sorted.values.clone();
        let n = scores.len();
        let mut mass = vec![0.0];
        (0..n).for_each(|i| mass.push(mass[i] + sorted.weight(i)));
        let start = mass.partition_point(|m| *m < share * mass[n]).min(n).saturating_sub(1);
        let around = |width: usize| (start.saturating_sub(width), (start + width).min(n.saturating_sub(1)));
        let (low, high) = around(n / 16 + 1);
        let density = if n > 0 { (mass[high] - mass[low]) / (scores[high] - scores[low]) } else { 0.0 };
        let (low, high) = around(n / 8 + 1);
        let cells = CELLS * (high - low).max(1);
        let (base, range) = if n > 0 { (scores[low], scores[high] - scores[low]) } else { (0.0, 0.0) };
        let value = |cell: usize| base + range * cell as f64 / cells as f64;
        let grid = (0..cells).map(|cell| scores.partition_point(|s| *s < value(cell))).collect();
        List { scores, mass, start, density, grid, base, per_unit: cells as f64 / range }
    }

    /// About how many scores are below this one.
    fn near(&self, score: f64) -> usize {
        // The cast turns what is below the grid, and NaN, into 0.
        let cell = ((score - self.base) * self.per_unit) as usize;
        self.grid[cell.min(self.grid.len() - 1)]
    }
}

/// The folds' predictions and scales at one point: m_k = sign · μ_k.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    pub at: &'a [(f64, f64)],
    pub sign: f64,
}

impl Point<'_> {
    fn value(self, k: usize, score: f64) -> f64 {
        let (m, s) = self.at[k];
        self.sign * m + score * s
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
            return point.value(0, score);
        }
        // The mass below v is about linear in v, in each list around its own end.
        let (mut guess, mut slope) = (0.0, 0.0);
        for (k, list) in self.lists.iter().enumerate() {
            if let Some(&score) = list.scores.get(list.start) {
                let here = list.density / point.at[k].1;
                guess += here * point.value(k, score);
                slope += here;
            }
        }
        guess /= slope;
        let mut mass = self.cut(point, guess, places);
        for _ in 0..STEPS {
            let step = (needed - mass) / slope;
            if (needed - mass).abs() <= SHORT * self.unit || !step.is_finite() {
                break;
            }
            guess += step;
            mass = self.cut(point, guess, places);
        }
        if (needed - mass).abs() > NEAR * self.unit || mass.is_nan() {
            mass = self.bracket(point, needed, places);
        }
        if mass < needed { self.up(point, needed, mass, places) } else { self.down(point, needed, mass, places) }
    }

    /// The mass of all that is below `value`, and in `places` how many scores of each list that are.
    fn cut(&self, point: Point<'_>, value: f64, places: &mut [usize]) -> f64 {
        let mut mass = 0.0;
        for (k, (list, place)) in self.lists.iter().zip(places).enumerate() {
            let (m, s) = point.at[k];
            let start = list.near((value - point.sign * m) / s);
            *place = gallop(&list.scores, start, |score| point.value(k, score) < value);
            mass += list.mass[*place];
        }
        mass
    }

    /// Takes in the next scores until there is mass enough.
    fn up(&self, point: Point<'_>, needed: f64, mut mass: f64, places: &mut [usize]) -> f64 {
        loop {
            let mut next: Option<(usize, f64)> = None;
            for (k, (list, &place)) in self.lists.iter().zip(&*places).enumerate() {
                if let Some(&score) = list.scores.get(place) {
                    let value = point.value(k, score);
                    if next.is_none_or(|(_, best)| value < best) {
                        next = Some((k, value));
                    }
                }
            }
            let Some((k, value)) = next else { return f64::INFINITY };
            let (list, place) = (&self.lists[k], places[k]);
            mass += list.mass[place + 1] - list.mass[place];
            places[k] += 1;
            if mass >= needed {
                return value;
            }
        }
    }

    /// Gives back the last scores until there is no longer mass enough.
    fn down(&self, point: Point<'_>, needed: f64, mut mass: f64, places: &mut [usize]) -> f64 {
        loop {
            let mut last: Option<(usize, f64)> = None;
            for (k, (list, &place)) in self.lists.iter().zip(&*places).enumerate() {
                if let Some(&score) = place.checked_sub(1).and_then(|p| list.scores.get(p)) {
                    let value = point.value(k, score);
                    if last.is_none_or(|(_, best)| value > best) {
                        last = Some((k, value));
                    }
                }
            }
            let Some((k, value)) = last else { return f64::INFINITY };
            places[k] -= 1;
            let (list, place) = (&self.lists[k], places[k]);
            mass -= list.mass[place + 1] - list.mass[place];
            if mass < needed {
                return value;
            }
        }
    }

    /// Halves an interval that holds the end until the mass below its lower end is nearly what is needed, or nothing is between its ends; returns that
    /// mass, with the places that belong to it.
    fn bracket(&self, point: Point<'_>, needed: f64, places: &mut [usize]) -> f64 {
        let ends = |which: fn(&[f64]) -> Option<&f64>, best: fn(f64, f64) -> f64, from: f64| {
            let of = |(k, list): (usize, &List)| which(&list.scores).map(|&score| point.value(k, score));
            self.lists.iter().enumerate().filter_map(of).fold(from, best)
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
                prop_assert_eq!(scores.search(level, side).ends(&at, &mut places), ends(&scores, &at, level, side));
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
                    assert_eq!(search.ends(&at, &mut places), ends(&scores, &at, level, side));
                }
                let broken = [(f64::NAN, 1.0); 5];
                search.ends(&broken, &mut places);
            }
        }
    }
}
