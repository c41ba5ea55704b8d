//! CV+ sets: a model per fold, each with the rows that it was not trained on (Barber et al. 2021; Romano, Sesia &
//! Candès 2020).

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{PredictionSets, SetRule, label_scores, sets};
use crate::base::streams::set_scores as streams;
use crate::base::{Error, Result, Seed};
use crate::conformal::{conformal_rank, cv_plus_guarantee};
use crate::rows::Level;

/// The scores of every fold's held-out rows under the model that has not seen them.
///
/// The set is { y : Σ_i 1{s_i < s^{k(i)}(x, y)} < (1 − α)(n + 1) }, where s^k scores by the model of fold k. It usually
/// covers at the level; for exchangeable rows and folds of equal size it covers with probability at least
/// [`guarantee`](CvPlusSets::guarantee). With too few rows every set holds all classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct CvPlusSets {
    rule: SetRule,
    classes: usize,
    /// Per fold, ascending.
    scores: Vec<Vec<f64>>,
}

/// What is written to files.
#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    rule: SetRule,
    classes: usize,
    scores: Vec<Vec<f64>>,
}

impl TryFrom<Parts> for CvPlusSets {
    type Error = Error;
    fn try_from(Parts { rule, classes, mut scores }: Parts) -> Result<Self> {
        let empty = classes == 0 || scores.is_empty() || scores.iter().any(Vec::is_empty);
        if empty || rule.by_class || !scores.iter().flatten().all(|s| s.is_finite()) {
            return Err(Error::Inconsistent {
                what: "scores of prediction sets do not belong to their rule and folds",
            });
        }
        scores.iter_mut().for_each(|fold| fold.sort_by(f64::total_cmp));
        Ok(CvPlusSets { rule, classes, scores })
    }
}

impl From<CvPlusSets> for Parts {
    fn from(CvPlusSets { rule, classes, scores }: CvPlusSets) -> Self {
        Parts { rule, classes, scores }
    }
}

impl CvPlusSets {
    /// Scores, per fold, the probabilities of its held-out rows at their labels. A threshold per class has no guarantee
    /// here and is refused.
    pub fn fit(folds: &[(ArrayView2<'_, f64>, &[usize])], rule: impl Into<SetRule>, seed: Seed) -> Result<Self> {
        let rule = rule.into();
        Error::check(!rule.by_class, "by_class", rule.by_class, "false for CV+; `SplitSets` has thresholds per class")?;
        let Some(((first, _), _)) = folds.split_first() else { return Err(Error::shape("folds (at least)", 1, 0)) };
        let mut scores = Vec::with_capacity(folds.len());
        for (k, (p, labels)) in folds.iter().enumerate() {
            check_classes(first.ncols(), *p)?;
            let mut fold = label_scores(*p, labels, rule.score, seed.child(streams::CALIBRATION).child(k as u64))?;
            fold.sort_by(f64::total_cmp);
            scores.push(fold);
        }
        Ok(CvPlusSets { rule, classes: first.ncols(), scores })
    }

    /// The rule.
    pub fn rule(&self) -> SetRule {
        self.rule
    }

    /// How many folds judged.
    pub fn folds(&self) -> usize {
        self.scores.len()
    }

    /// n, over all folds.
    pub fn rows(&self) -> usize {
        self.scores.iter().map(Vec::len).sum()
    }

    /// The coverage that is certain for exchangeable rows and folds of equal size: [`cv_plus_guarantee`].
    pub fn guarantee(&self, level: Level) -> f64 {
        cv_plus_guarantee(self.rows(), self.scores.len(), level)
    }

    /// Sets for new rows, given their probabilities under every fold's model, in the order of the folds.
    pub fn sets(&self, p: &[ArrayView2<'_, f64>], level: Level, seed: Seed) -> Result<PredictionSets> {
        if p.len() != self.scores.len() {
            return Err(Error::shape("matrices of probabilities (one per fold)", self.scores.len(), p.len()));
        }
        for p_k in p {
            check_classes(self.classes, *p_k)?;
            if p_k.nrows() != p[0].nrows() {
                return Err(Error::shape("rows of the probabilities of every fold", p[0].nrows(), p_k.nrows()));
            }
        }
        // A whole number is below (1 − α)(n + 1) if it is below its ceiling.
        let rank = conformal_rank(self.rows(), level).unwrap_or(usize::MAX);
        let below = |fold: &Vec<f64>, score: f64| fold.partition_point(|&s| s < score);
        let keep = |at: &[Vec<f64>], y: usize| {
            self.scores.iter().zip(at).map(|(fold, at)| below(fold, at[y])).sum::<usize>() < rank
        };
        sets(p, self.rule, level, seed.child(streams::NEW), keep)
    }
}

fn check_classes(expected: usize, p: ArrayView2<'_, f64>) -> Result<()> {
    if p.ncols() == expected { Ok(()) } else { Err(Error::shape("columns of the probabilities", expected, p.ncols())) }
}
