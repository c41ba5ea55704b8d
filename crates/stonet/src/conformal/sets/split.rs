//! Split-conformal sets: one model, and rows that it was not trained on.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{PredictionSets, SetRule, label_scores, sets};
use crate::base::streams::set_scores as streams;
use crate::base::{Error, Result, Seed};
use crate::conformal::conformal_quantile;
use crate::rows::Level;

/// The scores of held-out rows, from which sets at any level follow.
///
/// For exchangeable rows the set holds the true class with probability at least 1 − α, and with a continuous score at
/// most 1 − α + 1/(n + 1), unless `never_empty` adds to it; with `by_class` the same holds within every class. Where
/// there are fewer rows than [`rows_needed`](crate::conformal::rows_needed), nothing can be left out: every set holds
/// all classes; with `by_class`, a class with too few rows is in every set.
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
#[serde(try_from = "Parts", into = "Parts")]
pub struct SplitSets {
    rule: SetRule,
    classes: usize,
    /// Of all rows, or with `by_class` of the rows of every class.
    scores: Vec<Vec<f64>>,
}

/// What is written to files.
#[derive(Clone, Serialize, Deserialize)]
struct Parts {
    rule: SetRule,
    classes: usize,
    scores: Vec<Vec<f64>>,
}

impl TryFrom<Parts> for SplitSets {
    type Error = Error;
    fn try_from(Parts { rule, classes, scores }: Parts) -> Result<Self> {
        let groups = if rule.by_class { classes } else { 1 };
        if classes == 0 || scores.len() != groups || !scores.iter().flatten().all(|s| s.is_finite()) {
            return Err(Error::Inconsistent {
                what: "scores of prediction sets do not belong to their rule and classes",
            });
        }
        Ok(SplitSets { rule, classes, scores })
    }
}

impl From<SplitSets> for Parts {
    fn from(SplitSets { rule, classes, scores }: SplitSets) -> Self {
        Parts { rule, classes, scores }
    }
}

impl SplitSets {
    /// Scores probabilities n × K, of rows that the model has not seen, at their labels.
    pub fn fit(p: ArrayView2<'_, f64>, labels: &[usize], rule: impl Into<SetRule>, seed: Seed) -> Result<Self> {
        let rule = rule.into();
        let all = label_scores(p, labels, rule.score, seed.child(streams::CALIBRATION))?;
        let mut scores = vec![Vec::new(); if rule.by_class { p.ncols() } else { 1 }];
        for (score, &y) in all.into_iter().zip(labels) {
            scores[if rule.by_class { y } else { 0 }].push(score);
        }
        Ok(SplitSets { rule, classes: p.ncols(), scores })
    }

    /// The rule.
    pub fn rule(&self) -> SetRule {
        self.rule
    }

    /// The largest score that a class of a set has at this level: one for all classes, or one per class; +∞ where there
    /// are too few rows.
    pub fn thresholds(&self, level: Level) -> Vec<f64> {
        self.scores.iter().map(|scores| conformal_quantile(scores, level)).collect()
    }

    /// Sets for new rows of probabilities by the same model.
    pub fn sets(&self, p: ArrayView2<'_, f64>, level: Level, seed: Seed) -> Result<PredictionSets> {
        if p.ncols() != self.classes {
            return Err(Error::shape("columns of the probabilities", self.classes, p.ncols()));
        }
        let thresholds = self.thresholds(level);
        let threshold = |y: usize| thresholds[if self.rule.by_class { y } else { 0 }];
        sets(&[p], self.rule, level, seed.child(streams::NEW), |scores, y| scores[0][y] <= threshold(y))
    }
}
