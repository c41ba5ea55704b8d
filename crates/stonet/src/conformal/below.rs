//! P(y ≤ t) from held-out scores: the distribution function whose quantiles are the one-sided bounds.
//!
//! V_i is an increasing function of y, so every held-out row gives a value μ_k(x) + V_i s_k(x). P(y ≤ t) is the share of
//! these values at or below t, where a new row counts one half: (mass + ½)/(n + 1).

use super::own::number;
use super::ranks::{At, Scores, Sorted};

/// Rows of a group from which on it has a distribution of its own; steps are then at most 5 %.
const OWN_DISTRIBUTION: usize = 19;

/// The scores of every fold, and how much all up to each one count.
#[derive(Debug, Clone)]
pub(crate) struct Below {
    folds: Vec<(Vec<f64>, Vec<f64>)>,
    units: f64,
}

impl Below {
    pub(super) fn new(folds: &[Sorted], units: usize) -> Self {
        let one = |fold: &Sorted| {
            let mut masses = vec![0.0];
            (0..fold.values.len()).for_each(|i| masses.push(masses[i] + fold.weight(i)));
            (fold.values.clone(), masses)
        };
        Below { folds: folds.iter().map(one).collect(), units: units as f64 }
    }

    /// P(y ≤ t) at each of L points, where `at[k]` is what fold k predicts and `values` are the t.
    pub(crate) fn at<const L: usize>(&self, at: &[At<L>], values: &[f64; L]) -> [f64; L] {
        self.masses(at, values).map(|m| (m + 0.5) / (self.units + 1.0))
    }

    /// The same where scores have weights, and so has every point.
    pub(crate) fn weighted<const L: usize>(&self, at: &[At<L>], values: &[f64; L], weights: &[f64; L]) -> [f64; L] {
        let (masses, total): (_, f64) = (self.masses(at, values), self.folds.iter().filter_map(|f| f.1.last()).sum());
        std::array::from_fn(|i| (masses[i] + 0.5 * weights[i]) / (total + weights[i]))
    }

    /// How much the values at or below t count.
    fn masses<const L: usize>(&self, at: &[At<L>], values: &[f64; L]) -> [f64; L] {
        let mut mass = [0.0; L];
        for ((scores, masses), at) in self.folds.iter().zip(at) {
            for point in 0..L {
                mass[point] += masses[scores.partition_point(|&score| at.value(point, score) <= values[point])];
            }
        }
        mass
    }
}

impl Scores {
    /// What finds P(y ≤ t) at many points.
    fn below(&self) -> Below {
        Below::new(&self.signed, self.units)
    }
}

/// P(y ≤ t) by the group of each point: among its own scores, or among all where the group has none.
#[derive(Debug, Clone)]
pub(crate) struct GroupBelow {
    pooled: Below,
    groups: Vec<Option<Below>>,
}

impl GroupBelow {
    pub(crate) fn new(pooled: &Scores, groups: &[Option<Scores>]) -> Self {
        let enough = |s: &&Scores| s.units >= OWN_DISTRIBUTION;
        let own = |s: &Option<Scores>| s.as_ref().filter(enough).map(Scores::below);
        GroupBelow { pooled: pooled.below(), groups: groups.iter().map(own).collect() }
    }

    /// Of all rows together.
    pub(crate) fn pooled(&self) -> &Below {
        &self.pooled
    }

    /// P(y ≤ t) at each of L points, whose groups are given where there are groups.
    pub(crate) fn at<const L: usize>(&self, at: &[At<L>], values: &[f64; L], groups: Option<[f64; L]>) -> [f64; L] {
        let pooled = self.pooled.at(at, values);
        let Some(groups) = groups else { return pooled };
        let mut out = pooled;
        for lane in 0..L {
            if groups[..lane].contains(&groups[lane]) {
                continue;
            }
            if let Some(Some(own)) = number(groups[lane]).and_then(|g| self.groups.get(g)) {
                let own = own.at(at, values);
                (lane..L).filter(|&l| groups[l] == groups[lane]).for_each(|l| out[l] = own[l]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Level, Side};

    /// Two folds with μ = (0, 1) and scales (2, 4) above and (1, 2) below: values −1, 4, 3 and −5.
    #[test]
    fn shares_by_hand() {
        let scores = Scores::new(vec![vec![-1.0, 2.0], vec![0.5, -3.0]], None, 4);
        let at = [At::new([0.0], [2.0], [1.0]), At::new([1.0], [4.0], [2.0])];
        let below = scores.below();
        for (t, rows) in [(-5.1, 0.0), (-5.0, 1.0), (-1.5, 1.0), (-1.0, 2.0), (3.0, 3.0), (3.9, 3.0), (4.0, 4.0)] {
            assert_eq!(below.at(&at, &[t]), [(rows + 0.5) / 5.0], "{t}");
        }
    }

    /// The bound at level τ is the least t with P(y ≤ t) ≥ τ, up to the half of the new row.
    #[test]
    fn bounds_are_quantiles_of_the_distribution_function() {
        let signed = vec![vec![-1.3, -0.4, 0.2, 0.9, 2.0], vec![-0.8, 0.1, 0.3, 1.4]];
        let weights = vec![vec![0.5, 0.5, 1.0, 1.0, 1.0], vec![1.0, 0.5, 0.5, 1.0]];
        for (weights, units) in [(None, 9), (Some(weights), 7)] {
            let scores = Scores::new(signed.clone(), weights, units);
            let at = [At::new([0.1], [1.5], [0.7]), At::new([-0.2], [0.8], [1.1])];
            let below = scores.below();
            for tau in [0.15, 0.3, 0.5, 0.62, 0.8] {
                let search = scores.search(Level::new(tau).unwrap(), Side::Upper);
                let (_, upper) = search.ends(&mut at.clone(), &mut [[0]; 2])[0];
                let half = 0.5 / (units as f64 + 1.0);
                assert!(below.at(&at, &[upper])[0] - half >= tau - 1e-9, "{tau}");
                assert!(below.at(&at, &[upper - 1e-9])[0] - half < tau, "{tau}");
            }
        }
    }

    /// The same values with weights: −1 counts 1, 4 counts 2, 3 counts ½ and −5 counts 1½; all of them 5.
    #[test]
    fn weighted_shares_by_hand() {
        let weights = vec![vec![1.0, 2.0], vec![0.5, 1.5]];
        let scores = Scores::new(vec![vec![-1.0, 2.0], vec![0.5, -3.0]], Some(weights), 4);
        let at = [At::new([0.0; 4], [2.0; 4], [1.0; 4]), At::new([1.0; 4], [4.0; 4], [2.0; 4])];
        // Below −5.1, −1, 3.5 and 4 lie 0, 2½, 3 and 5, and half of each point's own weight beside them.
        let shares = scores.below().weighted(&at, &[-5.1, -1.0, 3.5, 4.0], &[3.0, 2.0, 1.0, 0.0]);
        assert_eq!(shares, [1.5 / 8.0, 3.5 / 7.0, 3.5 / 6.0, 1.0]);
    }

    /// Scores 1 … 19 of one group, 101 … 118 of another: nineteen have a distribution of their own, eighteen have not.
    #[test]
    fn a_group_of_nineteen_has_its_own_distribution() {
        let of = |rows: &[f64]| Scores::new(vec![rows.to_vec()], None, rows.len());
        let (many, few): (Vec<f64>, Vec<f64>) =
            ((1..=19).map(f64::from).collect(), (101..=118).map(f64::from).collect());
        let below = GroupBelow::new(&of(&[&many[..], &few].concat()), &[Some(of(&many)), Some(of(&few)), None]);
        let (at, values) = ([At::new([0.0; 7], [1.0; 7], [1.0; 7])], [9.5, 9.0, 101.5, 110.0, 0.5, 19.0, 101.5]);
        // Among all 37 rows 9, 9, 20, 29, 0, 19 and 20 lie at or below.
        let pooled = [9.5, 9.5, 20.5, 29.5, 0.5, 19.5, 20.5].map(|rows| rows / 38.0);
        assert_eq!(below.pooled().at(&at, &values), pooled);
        assert_eq!(below.at(&at, &values, None), pooled);
        // Among the 19 of the first group 9, 0 and 19; groups without enough rows and unknown ones have what all have.
        let mixed = below.at(&at, &values, Some([0.0, 1.0, 2.0, 7.0, 0.0, -1.0, 0.0]));
        assert_eq!(mixed, [9.5 / 20.0, pooled[1], pooled[2], pooled[3], 0.5 / 20.0, pooled[5], 19.5 / 20.0]);
    }
}
