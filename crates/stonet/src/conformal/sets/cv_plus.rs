//! CV+ sets: a model per fold, each with the rows that it was not trained on (Barber et al. 2021; Romano, Sesia &
//! Candès 2020).

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{PredictionSets, SetBy, SetRule, SetScores};
use crate::base::{Error, Result, Seed};
use crate::conformal::cv_plus_guarantee;
use crate::rows::Level;

/// The scores of every fold's held-out rows under the model that has not seen them.
///
/// The set is { y : Σ_i 1{s_i < s^{k(i)}(x, y)} < (1 − α)(n + 1) }, where s^k scores by the model of fold k. It usually
/// covers at the level; for exchangeable rows and folds of equal size it covers with probability at least
/// [`guarantee`](CvPlusSets::guarantee). With too few rows every set holds all classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SetScores", into = "SetScores")]
pub struct CvPlusSets(SetScores);

impl TryFrom<SetScores> for CvPlusSets {
    type Error = Error;
    fn try_from(scores: SetScores) -> Result<Self> {
        check(scores.rule())?;
        Ok(CvPlusSets(scores))
    }
}

impl From<CvPlusSets> for SetScores {
    fn from(sets: CvPlusSets) -> Self {
        sets.0
    }
}

/// Thresholds per class or group of classes have no guarantee here.
pub(crate) fn check(rule: SetRule) -> Result<()> {
    let by = format!("{:?}", rule.by).to_lowercase();
    Error::check(rule.by == SetBy::All, "by", by, "`all` for CV+; only split sets have thresholds per class or cluster")
}

impl CvPlusSets {
    /// Scores, per fold, the probabilities of its held-out rows at their labels, with the parameters of a score that
    /// look at no rows. Thresholds per class or group of classes have no guarantee here and are refused.
    pub fn fit(folds: &[(ArrayView2<'_, f64>, &[usize])], rule: impl Into<SetRule>, seed: Seed) -> Result<Self> {
        let rule = rule.into();
        check(rule)?;
        let Some((first, _)) = folds.first() else { return Err(Error::shape("folds (at least)", 1, 0)) };
        let scores = vec![rule.score.untuned(); folds.len()];
        Ok(CvPlusSets(SetScores::fit(folds, rule, scores, vec![0; first.ncols()], seed)?))
    }

    /// The rule.
    pub fn rule(&self) -> SetRule {
        self.0.rule()
    }

    /// How many folds judged.
    pub fn folds(&self) -> usize {
        self.0.scores().len()
    }

    /// n, over all folds.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// The coverage that is certain for exchangeable rows and folds of equal size: [`cv_plus_guarantee`].
    pub fn guarantee(&self, level: Level) -> f64 {
        cv_plus_guarantee(self.rows(), self.folds(), level)
    }

    /// Sets for new rows, given their probabilities under every fold's model, in the order of the folds.
    pub fn sets(&self, p: &[ArrayView2<'_, f64>], level: Level, seed: Seed) -> Result<PredictionSets> {
        self.0.sets(p, None, level, seed)
    }
}
