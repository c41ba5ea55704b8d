//! Conformal ranks where rows have weights: the calibration rows stand for others, from which new rows come (Tibshirani et
//! al. 2019).
//!
//! A score counts by w(x_i), a new row by w(x), and w is the same function: the ratio of the density of new rows to that of
//! the calibration rows. Where w is 1 everywhere, these are the ranks of [`super::ranks`].

use super::ranks::{At, ROUNDING, Scores};
use super::search::Search;
use crate::rows::{Level, Side};

/// (1−α)(Σ w_i + w(x)), the mass below the upper end at a point of weight w(x) among scores of mass Σ w_i (Tibshirani et
/// al. 2019). Where it exceeds Σ w_i, that is, where w(x)/(Σ w_i + w(x)) > α, the end is infinite.
#[inline(always)]
pub fn needed_beside(mass: f64, weight: f64, level: Level) -> f64 {
    (level.get() * (mass + weight) - ROUNDING).max(f64::MIN_POSITIVE)
}

/// Both ends or one at many points, where rows have weights.
#[derive(Debug, Clone)]
pub(crate) struct WeightedEnds {
    search: Search,
    level: Level,
    side: Side,
}

impl WeightedEnds {
    /// As [`Ends::ends`], at points with these weights.
    #[inline(always)]
    pub(crate) fn ends<const L: usize>(
        &self,
        at: &mut [At<L>],
        weights: &[f64; L],
        places: &mut [[usize; L]],
    ) -> [(f64, f64); L] {
        let mut needed = [0.0; L];
        for point in 0..L {
            needed[point] = needed_beside(self.search.total(), weights[point], self.level);
        }
        let (mut lower, mut upper) = ([f64::INFINITY; L], [f64::INFINITY; L]);
        if self.side != Side::Lower {
            upper = self.search.find_each(at, &needed, places);
        }
        if self.side != Side::Upper {
            // A lower end is an upper end of −y.
            for fold in &mut *at {
                fold.turn();
            }
            lower = self.search.find_each(at, &needed, places);
        }
        std::array::from_fn(|point| (-lower[point], upper[point]))
    }
}

impl Scores {
    /// The same where rows have weights: those of the scores are here, and every point brings its own.
    pub(crate) fn weighted(&self, level: Level, side: Side) -> WeightedEnds {
        let needed = needed_beside(self.mass(), 1.0, level);
        WeightedEnds { search: Search::of_each(self.folds_for(side), needed), level, side }
    }

    /// Scores of the same rows, fold by fold in ascending order of the signed ones, that count by these weights.
    pub(crate) fn with_weights(&self, weights: Vec<Vec<f64>>) -> Self {
        let signed = self.signed.iter().map(|f| f.values.clone()).collect();
        Scores::new(signed, Some(weights), self.units)
    }

    /// Whether each score is that of one row, and not the highest of a bucket.
    pub(crate) fn of_single_rows(&self) -> bool {
        !self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformal::buckets::Buckets;

    fn level(l: f64) -> Level {
        Level::new(l).unwrap()
    }

    /// Weights 1, 2, 1 of scores 1, 2, 3 around 10: a point of weight w needs (1 − α)(4 + w).
    #[test]
    fn weighted_ends_by_hand() {
        let scores = Scores::new(vec![vec![1.0, -2.0, 3.0]], Some(vec![vec![1.0, 2.0, 1.0]]), 3);
        let end = |l: f64, weight: f64| {
            let mut at = [At::new([10.0], [1.0], [1.0])];
            scores.weighted(level(l), Side::Both).ends(&mut at, &[weight], &mut [[0]])[0].1
        };
        // .5 · (4 + 2) = 3 is reached at the second score, .5 · (4 + 3) = 3.5 at the third, .5 · (4 + 5) never.
        assert_eq!((end(0.5, 2.0), end(0.5, 3.0), end(0.5, 5.0)), (12.0, 13.0, f64::INFINITY));
        // w/(Σ w + w) ≤ α alone gives a finite end: 4 · .5 / .5 = 4 is the largest weight at level ½.
        assert_eq!((end(0.5, 4.0), end(0.5, 4.0001)), (13.0, f64::INFINITY));
    }

    #[test]
    fn the_mass_beside_a_weight_by_hand() {
        // .5 · (4 + 2) and .9 · (9 + 1), less what may be rounding; there is always some mass below an end.
        for (mass, weight, l, needed) in [(4.0, 2.0, 0.5, 3.0), (9.0, 1.0, 0.9, 9.0)] {
            let found = needed_beside(mass, weight, level(l));
            assert!(found < needed && found > needed - 1e-8, "{found}");
        }
        assert!(needed_beside(0.0, 0.0, level(0.5)) > 0.0);
    }

    /// μ = 10, scale 2 above and 1 below; values 12, 8 and 16 with weights 1, 2 and 1.
    #[test]
    fn weighted_ends_of_every_side_by_hand() {
        let scores = Scores::new(vec![vec![1.0, -2.0, 3.0]], Some(vec![vec![1.0, 2.0, 1.0]]), 3);
        let ends = |side| {
            let mut at = [At::new([10.0; 2], [2.0; 2], [1.0; 2])];
            scores.weighted(level(0.5), side).ends(&mut at, &[2.0, 4.0], &mut [[0; 2]])
        };
        // Masses 3 and 4 are needed: two and three of the sizes 1, 2 and 3; two and three values from each side.
        assert_eq!(ends(Side::Both), [(8.0, 14.0), (7.0, 16.0)]);
        assert_eq!(ends(Side::Upper), [(f64::NEG_INFINITY, 12.0), (f64::NEG_INFINITY, 16.0)]);
        assert_eq!(ends(Side::Lower), [(8.0, f64::INFINITY); 2]);
    }

    #[test]
    fn new_weights_go_to_the_scores_in_ascending_order() {
        let plain = Scores::new(vec![vec![2.0, -3.0], vec![0.5]], None, 3);
        let weights = vec![vec![0.25, 0.5], vec![2.0]];
        let weighted = plain.with_weights(weights.clone());
        assert_eq!(weighted, Scores::new(vec![vec![-3.0, 2.0], vec![0.5]], Some(weights), 3));
        let mut buckets = Buckets::default();
        buckets.add(1.0);
        let counted = Scores::counted(&[buckets]);
        assert_eq!([&plain, &weighted, &counted].map(Scores::of_single_rows), [true, true, false]);
    }
}
