//! How the rows of a fit are divided into folds or shares, and how the scores of held-out rows are put together, in all
//! and by group.

use std::collections::BTreeMap;

use ndarray::ArrayView2;
use rand::seq::SliceRandom;

use super::fit::{Job, all_rows, without};
use super::{FittedStack, FoldModel};
use crate::base::streams::stack as streams;
use crate::base::{Error, Result, Seed, stage};
use crate::conformal::ConditionalScores;
use crate::conformal::ranks::Scores;
use crate::regression::serial::{Noticed, SerialTest};
use crate::rows::by_group;

impl Job<'_, '_> {
    pub(super) fn finish(
        &self,
        folds: Vec<FoldModel>,
        scores: Vec<Vec<f64>>,
        held_out: &[Vec<usize>],
    ) -> Result<FittedStack> {
        let all = self.scores_of(&scores, held_out, |_| true);
        let serial = self.serial(&scores, held_out);
        let rows = held_out.iter().flatten().zip(scores.iter().flatten());
        let with =
            |f: ArrayView2<'_, f64>| ConditionalScores::new(rows.map(|(&r, &s)| (s, f.row(r).to_vec())).collect());
        let conditional = self.data.conditional.map(with).transpose()?;
        let Some((number, groups)) = self.data.within else {
            return Ok(FittedStack { folds, scores: all, within: Vec::new(), conditional, serial });
        };
        let own = |g: usize| {
            let mine = |r: usize| groups[r] == g;
            self.ranks_itself(held_out, mine).then(|| self.scores_of(&scores, held_out, mine))
        };
        let within = (0..number).map(own).collect();
        Ok(FittedStack { folds, scores: all, within, conditional, serial })
    }

    /// Whether scores of neighbouring rows are alike. Where rows are said to belong together they may be.
    fn serial(&self, scores: &[Vec<f64>], held_out: &[Vec<usize>]) -> Noticed {
        if self.data.order.is_some() || self.data.groups.is_some() {
            return Noticed::default();
        }
        let mut rows: Vec<(usize, f64)> =
            held_out.iter().flatten().copied().zip(scores.iter().flatten().copied()).collect();
        rows.sort_unstable_by_key(|r| r.0);
        let scores: Vec<f64> = rows.into_iter().map(|r| r.1).collect();
        Noticed(stage("order of rows", || SerialTest::of(&scores)))
    }

    /// Whether the held-out rows of a group give ranks of its own. The proof of CV+ asks for folds that hold the same
    /// number of them.
    fn ranks_itself(&self, held_out: &[Vec<usize>], mine: impl Fn(usize) -> bool) -> bool {
        let counts: Vec<usize> = held_out.iter().map(|f| f.iter().filter(|&&r| mine(r)).count()).collect();
        let even = self.data.groups.is_some() || counts.windows(2).all(|w| w[0] == w[1]);
        even && counts.iter().any(|&n| n > 0)
    }

    /// The scores of some of the rows that were held out.
    fn scores_of(&self, scores: &[Vec<f64>], held_out: &[Vec<usize>], wanted: impl Fn(usize) -> bool) -> Scores {
        let chosen = |fold: &Vec<usize>, scores: &Vec<f64>| -> Vec<f64> {
            fold.iter().zip(scores).filter(|(r, _)| wanted(**r)).map(|(_, &s)| s).collect()
        };
        let chosen: Vec<Vec<f64>> = held_out.iter().zip(scores).map(|(f, s)| chosen(f, s)).collect();
        let rows: Vec<Vec<usize>> =
            held_out.iter().map(|f| f.iter().copied().filter(|&r| wanted(r)).collect()).collect();
        let Some(groups) = self.data.groups else {
            return Scores::new(chosen, None, rows.iter().map(Vec::len).sum());
        };
        // A unit of rows that belong together counts as one, whatever its size.
        let mut sizes = BTreeMap::new();
        rows.iter().flatten().for_each(|&r| *sizes.entry(groups[r]).or_insert(0usize) += 1);
        let weights = rows.iter().map(|f| f.iter().map(|&r| 1.0 / sizes[&groups[r]] as f64).collect()).collect();
        Scores::new(chosen, Some(weights), sizes.len())
    }

    /// The rows that a fit outside of these folds may see: all others, and where rows depend on their neighbours none
    /// within the gap beside a fold.
    pub(super) fn apart(&self, rows: &[usize], held_out: &[&[usize]]) -> Result<Vec<usize>> {
        let Some(order) = self.data.order else { return Ok(without(rows, held_out)) };
        let left = order.apart(rows, held_out);
        self.check_blocks(left.len())?;
        Ok(left)
    }

    /// Fails where so few rows are left for a fit beside blocks and gaps.
    fn check_blocks(&self, left: usize) -> Result<()> {
        let needed = 2 * self.stack.folds;
        let remedy = "use a smaller gap, fewer folds or more calibration rows";
        match left < needed {
            true => Err(Error::too_few(false, "a fit beside blocks in order of time", needed, left, remedy)),
            false => Ok(()),
        }
    }

    /// Random folds of these rows, groups kept whole; in order of time blocks of neighbours. Without groups and if `equal`, at most K − 1 rows are left out so
    /// that all folds have one size, as the bound asks; within groups, at most K − 1 rows of each group.
    pub(super) fn folds(&self, rows: &[usize], equal: bool) -> Result<Vec<Vec<usize>>> {
        let k = self.stack.folds;
        if let Some(order) = self.data.order {
            let blocks = order.blocks(rows, k);
            let filled = blocks.iter().filter(|b| !b.is_empty()).count();
            if filled < k {
                let remedy = "rows of one time stay in one fold: use fewer folds, or rows of more times";
                return Err(Error::too_few(false, "a block per fold in order of time", k, filled, remedy));
            }
            return Ok(blocks);
        }
        let units = self.units(rows, self.seed.child(streams::FOLDS));
        // Each fit of a pair leaves out two folds, and what is left must still be several units.
        if units.len() < 2 * k {
            let grouped = self.data.groups.is_some();
            let remedy =
                if grouped { "use fewer folds or more groups" } else { "use fewer folds or more calibration rows" };
            return Err(Error::too_few(grouped, "cross-fitting", 2 * k, units.len(), remedy));
        }
        let mut folds = vec![Vec::new(); k];
        let mut next = 0;
        for stratum in self.strata(units, 2 * k) {
            if self.data.groups.is_none() {
                let used = if equal { stratum.len() / k * k } else { stratum.len() };
                for unit in &stratum[..used] {
                    folds[next % k].extend(unit);
                    next += 1;
                }
                continue;
            }
            let mut here = vec![0; k];
            for unit in stratum {
                // The fold with the fewest rows of this stratum, and then of all, takes the next unit.
                let emptiest = (0..k).min_by_key(|&f| (here[f], folds[f].len())).unwrap_or(0);
                here[emptiest] += unit.len();
                folds[emptiest].extend(unit);
            }
        }
        Ok(folds)
    }

    /// Units by the group within which intervals are to cover: of each group that has at least `least` of them, and of
    /// all others together.
    fn strata(&self, units: Vec<Vec<usize>>, least: usize) -> Vec<Vec<Vec<usize>>> {
        let Some((_, groups)) = self.data.within else { return vec![units] };
        let mut by_group = BTreeMap::<usize, Vec<Vec<usize>>>::new();
        for unit in units {
            // Rows of a unit are of one group as a rule.
            let group = unit.iter().map(|&r| groups[r]).min().unwrap_or(0);
            by_group.entry(group).or_default().push(unit);
        }
        let (mut strata, few): (Vec<_>, Vec<_>) = by_group.into_values().partition(|units| units.len() >= least);
        strata.push(few.concat());
        strata
    }

    /// Rows to fit on and rows to score, groups kept whole; in order of time the last rows are scored.
    pub(super) fn shares(&self, share: f64) -> Result<Vec<Vec<usize>>> {
        if let Some(order) = self.data.order {
            let all = all_rows(self.data);
            let (first, last) = order.split(&all, (share * all.len() as f64).round() as usize);
            if last.is_empty() {
                return Err(Error::too_few(
                    false,
                    "a split",
                    2,
                    all.len(),
                    "use a smaller share or more calibration rows",
                ));
            }
            return Ok(vec![self.apart(&first, &[&last])?, last]);
        }
        let units = self.units(&all_rows(self.data), self.seed.child(streams::SHARES));
        let (first, all) = (((share * units.len() as f64).round() as usize).min(units.len()), units.len());
        let scored = all - first;
        if scored == 0 {
            let grouped = self.data.groups.is_some();
            let remedy = if grouped {
                "use a smaller share or more groups"
            } else {
                "use a smaller share or more calibration rows"
            };
            return Err(Error::too_few(grouped, "a split", 2, all, remedy));
        }
        if self.data.within.is_none() {
            let (fit, score) = units.split_at(first);
            return Ok(vec![fit.concat(), score.concat()]);
        }
        // Every so many units, group after group: the same share of every group, but for rounding.
        let is_scored = |i: &usize| (i + 1) * scored / all > i * scored / all;
        let (score, fit): (Vec<_>, Vec<_>) =
            self.strata(units, 1).concat().into_iter().enumerate().partition(|(i, _)| is_scored(i));
        let rows = |part: Vec<(usize, Vec<usize>)>| part.into_iter().flat_map(|(_, unit)| unit).collect();
        Ok(vec![rows(fit), rows(score)])
    }

    /// Rows, or groups of rows, in random order.
    fn units(&self, rows: &[usize], seed: Seed) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = match self.data.groups {
            None => rows.iter().map(|&r| vec![r]).collect(),
            Some(groups) => by_group(rows.iter().copied(), groups),
        };
        units.shuffle(&mut seed.rng());
        units
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};
    use rand_distr::{Distribution, StandardNormal};

    use crate::base::Seed;
    use crate::regression::{Kind, PostStoNetRegressor, StoNetSettings};
    use crate::rows::{Order, RegressionRows};

    /// In order of time, no model of a fold has seen a row of the fold or within the gap beside it: changing the target of
    /// such a row leaves the model as it is.
    #[test]
    fn nothing_of_a_fold_has_seen_a_row_within_the_gap() {
        let mut draws = StandardNormal.sample_iter(Seed::new(3).rng());
        let mut next = || -> f64 { draws.next().unwrap() };
        let (n, gap) = (100, 6);
        let x = Array2::from_shape_simple_fn((n, 3), &mut next);
        let y = x.map_axis(Axis(1), |r| r[0] + (0.4 * r[1]).exp() * next()).insert_axis(Axis(1));
        let d = y.mapv(|y| 0.8 * y + 0.1);
        let stonet =
            StoNetSettings { steps: 20, kappas: Some(vec![0.01, 0.5]), hidden: vec![2], ..StoNetSettings::default() };
        // Time runs backwards in the file.
        let times: Vec<f64> = (0..n).map(|i| -(i as f64)).collect();
        let order = Order::new(&times, Some(gap)).unwrap();
        for kind in [Kind::Fast, Kind::Stack, Kind::Split] {
            let settings = PostStoNetRegressor { kind, stonet: stonet.clone(), ..PostStoNetRegressor::default() };
            let fit = |y: &Array2<f64>| {
                let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
                let rows = rows.with_order(&order).unwrap();
                settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap().stacks().unwrap()[0].clone()
            };
            let before = fit(&y);
            for row in [2, 17, 23, 50, 77, 98] {
                let mut other = y.clone();
                other[[row, 0]] += 50.0;
                let after = fit(&other);
                let place = n - 1 - row;
                // Folds are blocks of 20 places; a split is scored on the last 30.
                let near = |k: usize| match kind {
                    Kind::Split => place + gap >= 70,
                    _ => place + gap >= 20 * k && place < 20 * (k + 1) + gap,
                };
                for k in 0..before.folds().len() {
                    assert_eq!(before.folds()[k] == after.folds()[k], near(k), "{kind}: row {row}, fold {k}");
                }
            }
        }
    }
}
