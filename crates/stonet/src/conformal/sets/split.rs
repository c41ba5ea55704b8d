//! Split-conformal sets: one model, and rows that it was not trained on.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{PredictionSets, SetBy, SetRule, SetScores};
use crate::base::{Error, Result, Seed};
use crate::rows::Level;

/// The scores of held-out rows, from which sets at any level follow.
///
/// For exchangeable rows the set holds the true class with probability at least 1 − α, and with a continuous score at
/// most 1 − α + 1/(n + 1), unless `never_empty` adds to it; with [`SetBy::Class`] the same holds within every class. Where
/// there are fewer rows than [`rows_needed`](crate::conformal::rows_needed), nothing can be left out: every set holds
/// all classes; with [`SetBy::Class`], a class with too few rows is in every set.
///
/// ```
/// use ndarray::Array2;
/// use stonet::{Level, Seed};
/// use stonet::conformal::{SetScore, SplitSets};
/// // Twenty held-out rows, all sure of class 0 and three of them wrong.
/// let p = Array2::from_shape_fn((20, 2), |(i, k)| if k == 0 { 0.9 - 0.01 * i as f64 } else { 0.1 + 0.01 * i as f64 });
/// let labels: Vec<usize> = (0..20).map(|i| usize::from(i >= 17)).collect();
/// let split = SplitSets::fit(p.view(), &labels, SetScore::Lac, Seed::new(1))?;
/// let sets = split.sets(p.view(), Level::new(0.8)?, Seed::new(2))?;
/// assert_eq!(sets.coverage(&labels)?, 0.85);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SetScores", into = "SetScores")]
pub struct SplitSets(SetScores);

impl TryFrom<SetScores> for SplitSets {
    type Error = Error;
    fn try_from(scores: SetScores) -> Result<Self> {
        match scores.scores().len() {
            1 => Ok(SplitSets(scores)),
            _ => Err(Error::Inconsistent { what: "split sets have one model" }),
        }
    }
}

impl From<SplitSets> for SetScores {
    fn from(sets: SplitSets) -> Self {
        sets.0
    }
}

impl SplitSets {
    /// Scores probabilities n × K, of rows that the model has not seen, at their labels, with the parameters of a score
    /// that look at no rows. Groups of classes have to be learned from other rows, as
    /// [`ClassSets`](crate::ClassSets) does, and are refused.
    pub fn fit(p: ArrayView2<'_, f64>, labels: &[usize], rule: impl Into<SetRule>, seed: Seed) -> Result<Self> {
        let rule = rule.into();
        let groups = match rule.by {
            SetBy::All => vec![0; p.ncols()],
            SetBy::Class => (0..p.ncols()).collect(),
            SetBy::Cluster => {
                let range = "`all` or `class`; `ClassSets` learns groups of classes from rows that do not judge";
                return Err(Error::Setting { name: "by", value: "cluster".into(), range });
            }
        };
        let scores = vec![rule.score.untuned()];
        Ok(SplitSets(SetScores::fit(&[(p, labels)], rule, scores, groups, seed)?))
    }

    /// The rule.
    pub fn rule(&self) -> SetRule {
        self.0.rule()
    }

    /// The largest score that a class of a set has at this level: one for all classes, or one per class; +∞ where there
    /// are too few rows.
    pub fn thresholds(&self, level: Level) -> Vec<f64> {
        let ranks = self.0.ranks(level).into_iter().enumerate();
        ranks
            .map(|(g, r)| r.checked_sub(1).and_then(|r| self.0.held(0, g).get(r)).map_or(f64::INFINITY, |s| *s))
            .collect()
    }

    /// Sets for new rows of probabilities by the same model.
    pub fn sets(&self, p: ArrayView2<'_, f64>, level: Level, seed: Seed) -> Result<PredictionSets> {
        self.0.sets(&[p], None, level, seed)
    }
}
