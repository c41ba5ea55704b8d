//! Sets of classes that hold the true one with a chosen probability: conformal sets from calibrated probabilities.
//!
//! Held-out rows tell how badly true classes conform; a new row's set holds the classes that conform no worse than a
//! fraction 1 − α of them. [`SplitSets`] has one model and rows that it has not seen, [`CvPlusSets`] a model per fold
//! and no row to spare.

mod cv_plus;
mod score;
mod split;

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use cv_plus::CvPlusSets;
pub use score::SetScore;
pub use split::SplitSets;

use crate::base::{Result, Seed};
use crate::metrics::{check_labels, check_probabilities, top_class};
use crate::rows::Level;

/// Which sets are made. A [`SetScore`] alone is a rule too, with the defaults of the rest.
///
/// | name | default | purpose |
/// |---|---|---|
/// | `score` | `Lac` | what the set is cut at |
/// | `by_class` | false | a threshold per class: the coverage holds within every class, not on average over them |
/// | `never_empty` | true | the most probable class is always in the set: coverage can only rise |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetRule {
    /// What the set is cut at.
    pub score: SetScore,
    /// A threshold per class.
    pub by_class: bool,
    /// The most probable class is always in the set.
    pub never_empty: bool,
}

impl Default for SetRule {
    fn default() -> Self {
        SetRule { score: SetScore::Lac, by_class: false, never_empty: true }
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

/// A uniform number per row. Fitting and predicting draw from different children, so that one seed may serve both.
fn uniforms(rows: usize, seed: Seed) -> Vec<f64> {
    let mut rng = seed.rng();
    (0..rows).map(|_| rng.random()).collect()
}

/// The scores of the labels, in the order of rows.
fn label_scores(p: ArrayView2<'_, f64>, labels: &[usize], score: SetScore, seed: Seed) -> Result<Vec<f64>> {
    check_probabilities(p)?;
    check_labels(labels, p.nrows(), p.ncols())?;
    let u = uniforms(p.nrows(), seed);
    let (mut order, mut scores) = (Vec::new(), vec![0.0; p.ncols()]);
    let of = |((row, &y), u): ((ndarray::ArrayView1<'_, f64>, &usize), f64)| {
        score.of_row(&row.to_vec(), u, &mut order, &mut scores);
        scores[y]
    };
    Ok(p.outer_iter().zip(labels).zip(u).map(of).collect())
}

/// Sets by a test of each class: `keep` gets a row's scores under every model and the class. All models' probabilities
/// are checked here.
fn sets(
    models: &[ArrayView2<'_, f64>],
    rule: SetRule,
    level: Level,
    seed: Seed,
    keep: impl Fn(&[Vec<f64>], usize) -> bool + Sync,
) -> Result<PredictionSets> {
    models.iter().try_for_each(|p| check_probabilities(*p))?;
    let (n, k) = models[0].dim();
    let u = uniforms(n, seed);
    let mut contains = vec![false; n * k];
    contains.par_chunks_mut(k).enumerate().for_each_init(
        || (Vec::new(), vec![vec![0.0; k]; models.len()]),
        |(order, scores), (i, set)| {
            for (p, scores) in models.iter().zip(scores.iter_mut()) {
                rule.score.of_row(&p.row(i).to_vec(), u[i], order, scores);
            }
            set.iter_mut().enumerate().for_each(|(y, c)| *c = keep(scores, y));
            if rule.never_empty {
                set[top_of_mean(models, i)] = true;
            }
        },
    );
    let contains = Array2::from_shape_vec((n, k), contains).expect("n · K entries");
    Ok(PredictionSets { contains, level })
}

/// The most probable class under the mean of the models.
fn top_of_mean(models: &[ArrayView2<'_, f64>], row: usize) -> usize {
    let mut sum = models[0].row(row).to_owned();
    models[1..].iter().for_each(|p| sum += &p.row(row));
    top_class(sum.view())
}
