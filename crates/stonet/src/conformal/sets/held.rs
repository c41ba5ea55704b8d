//! The scores of rows that judge, by fold and group of classes, and the sets that follow from them at any level.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{PredictionSets, RowScore, SetBy, SetRule, label_scores, uniforms};
use crate::base::streams::set_scores as streams;
use crate::base::{Error, Result, Seed};
use crate::conformal::conformal_rank;
use crate::metrics::{check_probabilities, top_class};
use crate::rows::Level;

/// The scores of every fold's held-out rows under the model that has not seen them.
///
/// Class y of group g is in the set if Σ_i 1{s_i < s^{k(i)}(x, y)} over the rows i of group g is below
/// (1 − α)(n_g + 1), where s^k scores by the model of fold k. With one fold this is the split-conformal set. In a group
/// with too few rows every class is in every set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct SetScores {
    rule: SetRule,
    /// One per fold.
    scores: Vec<RowScore>,
    /// The group of every class.
    groups: Vec<usize>,
    /// By fold and group, ascending.
    held: Vec<Vec<Vec<f64>>>,
}

/// What is written to files.
#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    rule: SetRule,
    scores: Vec<RowScore>,
    groups: Vec<usize>,
    held: Vec<Vec<Vec<f64>>>,
}

impl TryFrom<Parts> for SetScores {
    type Error = Error;
    fn try_from(Parts { rule, scores, groups, mut held }: Parts) -> Result<Self> {
        let count = held.first().map_or(0, Vec::len);
        let known = |g: &usize| *g < count;
        let fits = match rule.by {
            SetBy::All => groups.iter().all(|g| *g == 0) && count == 1,
            SetBy::Class => groups.iter().copied().eq(0..groups.len()) && count == groups.len(),
            SetBy::Cluster => groups.iter().all(known) && (0..count).all(|g| groups.contains(&g)),
        };
        let sound = !groups.is_empty()
            && fits
            && held.len() == scores.len()
            && held.iter().all(|fold| fold.len() == count)
            && (rule.by == SetBy::All || held.len() == 1)
            && scores.iter().all(|s| s.kind() == rule.score && s.is_sound())
            && held.iter().flatten().flatten().all(|s| s.is_finite());
        if !sound {
            return Err(Error::Inconsistent {
                what: "scores of prediction sets do not belong to their rule, classes and folds",
            });
        }
        held.iter_mut().flatten().for_each(|s| s.sort_unstable_by(f64::total_cmp));
        Ok(SetScores { rule, scores, groups, held })
    }
}

impl From<SetScores> for Parts {
    fn from(SetScores { rule, scores, groups, held }: SetScores) -> Self {
        Parts { rule, scores, groups, held }
    }
}

impl SetScores {
    /// Scores, per fold, the probabilities of its held-out rows at their labels. `scores` has one per fold, and `groups`
    /// the group of every class; both look at rows that do not judge alone.
    pub(crate) fn fit(
        folds: &[(ArrayView2<'_, f64>, &[usize])],
        rule: SetRule,
        scores: Vec<RowScore>,
        groups: Vec<usize>,
        seed: Seed,
    ) -> Result<Self> {
        let count = groups.iter().max().map_or(0, |g| g + 1);
        let mut held = Vec::with_capacity(folds.len());
        for (k, ((p, labels), score)) in folds.iter().zip(&scores).enumerate() {
            check_classes(groups.len(), *p)?;
            let own = label_scores(*p, labels, *score, seed.child(streams::CALIBRATION).child(k as u64))?;
            let mut fold = vec![Vec::new(); count];
            own.into_iter().zip(*labels).for_each(|(s, &y)| fold[groups[y]].push(s));
            held.push(fold);
        }
        SetScores::try_from(Parts { rule, scores, groups, held })
    }

    /// The rule.
    pub fn rule(&self) -> SetRule {
        self.rule
    }

    /// The score of every fold, with its parameters.
    pub fn scores(&self) -> &[RowScore] {
        &self.scores
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.groups.len()
    }

    /// The group of every class.
    pub fn groups(&self) -> &[usize] {
        &self.groups
    }

    /// How many rows judge in all.
    pub fn rows(&self) -> usize {
        self.held.iter().flatten().map(Vec::len).sum()
    }

    /// How many rows of each group judge.
    pub fn group_rows(&self) -> Vec<usize> {
        let count = self.held.first().map_or(0, Vec::len);
        (0..count).map(|g| self.held.iter().map(|fold| fold[g].len()).sum()).collect()
    }

    /// The scores of a fold's rows of one group, ascending.
    pub fn held(&self, fold: usize, group: usize) -> &[f64] {
        &self.held[fold][group]
    }

    /// Per group, how many smaller scores there have to be before a class is left out; more than there are rows where
    /// these are too few for the level.
    pub fn ranks(&self, level: Level) -> Vec<usize> {
        // A whole number is below (1 − α)(n + 1) if it is below its ceiling.
        self.group_rows().into_iter().map(|n| conformal_rank(n, level).unwrap_or(usize::MAX)).collect()
    }

    /// Whether a class with these scores, one per fold, is in the set.
    pub(crate) fn holds(&self, ranks: &[usize], class: usize, scores: impl Iterator<Item = f64>) -> bool {
        let group = self.groups[class];
        let below = |(fold, score): (&Vec<Vec<f64>>, f64)| fold[group].partition_point(|&s| s < score);
        ranks[group] == usize::MAX || self.held.iter().zip(scores).map(below).sum::<usize>() < ranks[group]
    }

    /// Sets for new rows, given their probabilities under every fold's model, in the order of the folds. `top` has the
    /// class of every row that is never left out, where the rule asks for one; else it is that of the folds' mean.
    pub(crate) fn sets(
        &self,
        p: &[ArrayView2<'_, f64>],
        top: Option<&[usize]>,
        level: Level,
        seed: Seed,
    ) -> Result<PredictionSets> {
        if p.len() != self.held.len() {
            return Err(Error::shape("matrices of probabilities (one per fold)", self.held.len(), p.len()));
        }
        for p_k in p {
            check_classes(self.classes(), *p_k)?;
            if p_k.nrows() != p[0].nrows() {
                return Err(Error::shape("rows of the probabilities of every fold", p[0].nrows(), p_k.nrows()));
            }
            check_probabilities(*p_k)?;
        }
        let (n, k) = p[0].dim();
        let u = uniforms(n, self.rule.score, seed.child(streams::NEW));
        let ranks = self.ranks(level);
        let mut contains = vec![false; n * k];
        contains.par_chunks_mut(k).enumerate().for_each_init(
            || (Vec::new(), vec![vec![0.0; k]; p.len()]),
            |(order, scores), (i, set)| {
                for ((p, score), out) in p.iter().zip(&self.scores).zip(scores.iter_mut()) {
                    score.of_row(&p.row(i).to_vec(), u[i], order, out);
                }
                for (y, c) in set.iter_mut().enumerate() {
                    *c = self.holds(&ranks, y, scores.iter().map(|s| s[y]));
                }
                if self.rule.never_empty {
                    set[top.map_or_else(|| top_of_mean(p, i), |top| top[i])] = true;
                }
            },
        );
        let contains = Array2::from_shape_vec((n, k), contains).expect("n · K entries");
        Ok(PredictionSets { contains, level })
    }
}

fn check_classes(expected: usize, p: ArrayView2<'_, f64>) -> Result<()> {
    if p.ncols() == expected { Ok(()) } else { Err(Error::shape("columns of the probabilities", expected, p.ncols())) }
}

/// The most probable class under the mean of the models.
fn top_of_mean(models: &[ArrayView2<'_, f64>], row: usize) -> usize {
    let mut sum = models[0].row(row).to_owned();
    models[1..].iter().for_each(|p| sum += &p.row(row));
    top_class(sum.view())
}
