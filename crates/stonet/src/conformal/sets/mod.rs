//! Sets of classes that hold the true one with a chosen probability: conformal sets from calibrated probabilities.
//!
//! Held-out rows tell how badly true classes conform; a new row's set holds the classes that conform no worse than a
//! fraction 1 − α of them. [`SplitSets`] has one model and rows that it has not seen, [`CvPlusSets`] a model per fold
//! and no row to spare.

mod clusters;
mod cv_plus;
mod held;
mod score;
mod split;
mod tune;

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub(crate) use clusters::clusters;
pub use cv_plus::CvPlusSets;
pub(crate) use cv_plus::check as check_cv_plus;
pub use held::SetScores;
pub use score::{LabelPart, RowScore, SetScore};
pub use split::SplitSets;

use crate::base::{Result, Seed};
use crate::metrics::{check_labels, check_probabilities};
use crate::rows::Level;

/// For whom sets cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SetBy {
    /// For all rows together: one threshold.
    #[default]
    All,
    /// Within every class: a threshold per class. A class with too few rows that judge is in every set.
    Class,
    /// Within groups of classes whose scores are alike (Ding et al. 2023): a threshold per group, on average over its
    /// classes. Groups are learned from rows that do not judge; rare classes are one group together.
    Cluster,
}

/// Which sets are made. A [`SetScore`] alone is a rule too, with the defaults of the rest.
///
/// | name | default | purpose |
/// |---|---|---|
/// | `score` | `Lac` | what the set is cut at |
/// | `by` | `All` | for whom the coverage holds: for all rows, within every class, or within groups of classes |
/// | `never_empty` | true | the most probable class is always in the set: coverage can only rise |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetRule {
    /// What the set is cut at.
    pub score: SetScore,
    /// For whom the coverage holds.
    pub by: SetBy,
    /// The most probable class is always in the set.
    pub never_empty: bool,
}

impl Default for SetRule {
    fn default() -> Self {
        SetRule { score: SetScore::Lac, by: SetBy::All, never_empty: true }
    }
}

impl From<SetScore> for SetRule {
    fn from(score: SetScore) -> Self {
        SetRule { score, ..SetRule::default() }
    }
}

/// A set of classes per row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionSets {
    /// Whether class k is in the set of row i, n × K.
    pub contains: Array2<bool>,
    /// The nominal coverage.
    pub level: Level,
}

impl PredictionSets {
    /// The number of classes in every set.
    pub fn sizes(&self) -> Vec<usize> {
        self.contains.outer_iter().map(|row| row.iter().filter(|&&c| c).count()).collect()
    }

    /// The mean number of classes.
    pub fn mean_size(&self) -> f64 {
        self.sizes().iter().sum::<usize>() as f64 / self.contains.nrows() as f64
    }

    /// Which sets hold their label.
    pub fn covered(&self, labels: &[usize]) -> Result<Vec<bool>> {
        check_labels(labels, self.contains.nrows(), self.contains.ncols())?;
        Ok(labels.iter().enumerate().map(|(i, &y)| self.contains[[i, y]]).collect())
    }

    /// The fraction of sets that hold their label.
    pub fn coverage(&self, labels: &[usize]) -> Result<f64> {
        let covered = self.covered(labels)?;
        Ok(covered.iter().filter(|&&c| c).count() as f64 / covered.len() as f64)
    }
}

/// A uniform number per row, where the score draws one. Fitting and predicting draw from different children, so that one
/// seed may serve both.
fn uniforms(rows: usize, score: SetScore, seed: Seed) -> Vec<f64> {
    if !score.is_randomised() {
        return vec![1.0; rows];
    }
    let mut rng = seed.rng();
    (0..rows).map(|_| rng.random()).collect()
}

/// The scores of the labels, in the order of rows.
pub(crate) fn label_scores(p: ArrayView2<'_, f64>, labels: &[usize], score: RowScore, seed: Seed) -> Result<Vec<f64>> {
    check_probabilities(p)?;
    check_labels(labels, p.nrows(), p.ncols())?;
    let u = uniforms(p.nrows(), score.kind(), seed);
    let (mut order, mut scores) = (Vec::new(), vec![0.0; p.ncols()]);
    let of = |((row, &y), u): ((ndarray::ArrayView1<'_, f64>, &usize), f64)| {
        score.of_row(&row.to_vec(), u, &mut order, &mut scores);
        scores[y]
    };
    Ok(p.outer_iter().zip(labels).zip(u).map(of).collect())
}
