//! Prediction sets around calibrated probabilities: the whole fit, with its own choices, is made anew for every fold
//! that judges.

use ndarray::ArrayView2;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::{FittedClassifier, PostStoNetClassifier};
use crate::base::streams::class_sets as streams;
use crate::base::{Error, Result, Seed, Ticker};
use crate::conformal::{CvPlusSets, PredictionSets, SetRule, SplitSets, rows_needed};
use crate::regression::Guarantee;
use crate::rows::{ClassInputs, ClassRows, Level, complement};

/// Who judges the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SetScheme {
    /// A share of the rows fits, the others judge: exact 1 − α, but fewer rows for both.
    Split {
        /// Share of the rows that fit, in (0, 1).
        share: f64,
    },
    /// Every row judges a fit that has not seen it (CV+): as many fits as folds.
    CvPlus {
        /// Folds, at least 2.
        folds: usize,
    },
}

/// Prediction sets and their settings; the value is its own configuration.
///
/// ```
/// use ndarray::Array2;
/// use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, Level, PostStoNetClassifier, Seed};
/// let logits = Array2::from_shape_fn((90, 3), |(i, k)| if i % 3 == k { 2.0 } else { (i % 5) as f64 / 4.0 });
/// let labels: Vec<usize> = (0..90).map(|i| if i % 7 == 0 { (i + 1) % 3 } else { i % 3 }).collect();
/// let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, 3)?;
/// let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
/// let fitted = ClassSets { classifier, ..Default::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let level = Level::new(0.9)?;
/// let sets = fitted.sets(&ClassInputs::logits(logits.view())?, level, Seed::new(2))?;
/// assert!(sets.coverage(&labels)? >= 0.85);
/// println!("{}", fitted.guarantee(level));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassSets {
    /// How probabilities are made.
    pub classifier: PostStoNetClassifier,
    /// Which sets are made of them.
    pub rule: SetRule,
    /// Who judges.
    pub scheme: SetScheme,
}

impl Default for ClassSets {
    fn default() -> Self {
        ClassSets {
            classifier: PostStoNetClassifier::default(),
            rule: SetRule::default(),
            scheme: SetScheme::CvPlus { folds: 5 },
        }
    }
}

/// Fitted sets: a model per fold and the scores of the rows that judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct FittedClassSets {
    models: Vec<FittedClassifier>,
    sets: Sets,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sets {
    Split { sets: SplitSets, rows: usize },
    CvPlus(CvPlusSets),
}

#[derive(Serialize, Deserialize)]
struct Parts {
    models: Vec<FittedClassifier>,
    sets: Sets,
}

impl TryFrom<Parts> for FittedClassSets {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let count = match &p.sets {
            Sets::Split { .. } => p.models.len() == 1,
            Sets::CvPlus(sets) => p.models.len() == sets.folds(),
        };
        if !count || p.models.windows(2).any(|m| m[0].classes() != m[1].classes()) {
            return Err(Error::Inconsistent {
                what: "the models and scores of prediction sets do not belong together",
            });
        }
        Ok(FittedClassSets { models: p.models, sets: p.sets })
    }
}

impl From<FittedClassSets> for Parts {
    fn from(f: FittedClassSets) -> Self {
        Parts { models: f.models, sets: f.sets }
    }
}

impl ClassSets {
    /// Fails where a setting cannot be.
    pub fn check(&self) -> Result<()> {
        match self.scheme {
            SetScheme::Split { share } => Error::check(share > 0.0 && share < 1.0, "share", share, "between 0 and 1"),
            SetScheme::CvPlus { folds } => Error::check(folds >= 2, "folds", folds, "at least 2"),
        }
    }

    /// Fits on rows that the network has not seen.
    pub fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedClassSets> {
        self.check()?;
        match self.scheme {
            SetScheme::Split { share } => {
                let mut order: Vec<usize> = (0..rows.rows()).collect();
                order.shuffle(&mut seed.child(streams::DIVISION).rng());
                let fit = ((share * rows.rows() as f64).round() as usize).clamp(1, rows.rows());
                let judges = order.split_off(fit);
                let (model, p, labels) = self.judged(rows, &order, &judges, seed.child(streams::FITS.at(0)), tick)?;
                let sets = SplitSets::fit(p.view(), &labels, self.rule, seed.child(streams::SCORES))?;
                Ok(FittedClassSets { models: vec![model], sets: Sets::Split { sets, rows: labels.len() } })
            }
            SetScheme::CvPlus { folds } => {
                // Not spread by class: the bound asks for a division that does not look at the labels.
                let parts = crate::rows::folds(rows.rows(), folds, seed.child(streams::DIVISION))?;
                let (mut models, mut judged) = (Vec::new(), Vec::new());
                for (f, judges) in parts.iter().enumerate() {
                    // Each fit is parallel inside; ticks count on over all of them.
                    let all = |done: usize, total: usize| tick(f * total + done, folds * total);
                    let fit = complement(rows.rows(), judges);
                    let (model, p, labels) = self.judged(rows, &fit, judges, seed.child(streams::FITS.at(f)), &all)?;
                    models.push(model);
                    judged.push((p, labels));
                }
                let views: Vec<(ArrayView2<'_, f64>, &[usize])> =
                    judged.iter().map(|(p, l)| (p.view(), &l[..])).collect();
                let sets = CvPlusSets::fit(&views, self.rule, seed.child(streams::SCORES))?;
                Ok(FittedClassSets { models, sets: Sets::CvPlus(sets) })
            }
        }
    }

    /// A model of some rows, and what it says of others.
    fn judged(
        &self,
        rows: &ClassRows<'_>,
        fit: &[usize],
        judges: &[usize],
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(FittedClassifier, ndarray::Array2<f64>, Vec<usize>)> {
        if fit.is_empty() || judges.is_empty() {
            return Err(Error::TooFewRows {
                what: "a prediction set",
                needed: 2,
                found: rows.rows(),
                remedy: "use more rows, or another share",
            });
        }
        let (fit, judges) = (rows.select(fit), rows.select(judges));
        let model = self.classifier.fit(&fit.view(), seed, tick)?;
        let p = model.probabilities(&judges.view().inputs())?;
        Ok((model, p, judges.view().labels().to_vec()))
    }
}

impl FittedClassSets {
    /// The set of every row at the level; the seed is for randomised scores.
    pub fn sets(&self, inputs: &ClassInputs<'_>, level: Level, seed: Seed) -> Result<PredictionSets> {
        let p = self.models.iter().map(|m| m.probabilities(inputs)).collect::<Result<Vec<_>>>()?;
        match &self.sets {
            Sets::Split { sets, .. } => sets.sets(p[0].view(), level, seed),
            Sets::CvPlus(sets) => sets.sets(&p.iter().map(|p| p.view()).collect::<Vec<_>>(), level, seed),
        }
    }

    /// What holds for these sets, in words and as a number.
    pub fn guarantee(&self, level: Level) -> Guarantee {
        let about = "for a new row exchangeable with the calibration rows, if the network was not trained on them";
        let (bound, rows) = match &self.sets {
            Sets::Split { rows, .. } => (level.get(), *rows),
            Sets::CvPlus(sets) => (sets.guarantee(level), sets.rows()),
        };
        let enough = rows_needed(level);
        let short = if rows < enough {
            format!(" {rows} rows judge; below {enough} the sets at this level hold every class.")
        } else {
            String::new()
        };
        let usual = match &self.sets {
            Sets::Split { .. } => String::new(),
            Sets::CvPlus(_) => format!("; usually close to {:.0} %", 100.0 * level.get()),
        };
        let text = format!("At least {:.1} % {about}{usual}.{short}", 100.0 * bound);
        Guarantee { coverage: Some(bound), text }
    }
}
