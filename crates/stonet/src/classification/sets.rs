//! Prediction sets around calibrated probabilities: the whole fit, with its own choices, is made anew for every fold
//! that judges.

mod fitted;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{AccuracyBins, AccuracySettings, FittedClassifier, PostStoNetClassifier, ProbabilityCovariance, Wald};
use crate::base::streams::class_sets as streams;
use crate::base::streams::classification::SETS;
use crate::base::{Error, Result, Seed, Ticker, part_of};
use crate::conformal::{RowScore, SetBy, SetRule, SetScores, check_cv_plus, clusters, label_scores};
use crate::rows::{ClassRows, Level, complement, divided};

pub use fitted::FittedClassSets;

/// Who judges the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SetScheme {
    /// A share of the rows fits, the others judge: exact 1 − α, but fewer rows for both. The probabilities are those of
    /// this one fit.
    Split {
        /// Share of the rows that fit, in (0, 1).
        share: f64,
    },
    /// Every row judges a fit that has not seen it (CV+): as many fits as folds, beside that of all rows, which gives the
    /// probabilities.
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
/// println!("{}", fitted.guarantee(level).expect("there are sets"));
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
    /// The level that the parameters of a score, and groups of classes, are chosen for. Sets at other levels are as
    /// valid.
    pub level: Level,
}

impl Default for ClassSets {
    fn default() -> Self {
        ClassSets {
            classifier: PostStoNetClassifier::default(),
            rule: SetRule::default(),
            scheme: SetScheme::CvPlus { folds: 5 },
            level: crate::regression::PostStoNetRegressor::default().level,
        }
    }
}

/// A model, what it says of rows that it has not seen, and of its own.
struct Judged {
    model: FittedClassifier,
    p: Array2<f64>,
    labels: Vec<usize>,
    /// Of the rows of the fit.
    seen: Array2<f64>,
    seen_labels: Vec<usize>,
}

impl ClassSets {
    /// Fails where a setting cannot be.
    pub fn check(&self) -> Result<()> {
        match self.scheme {
            SetScheme::Split { share } => Error::check(share > 0.0 && share < 1.0, "share", share, "between 0 and 1"),
            SetScheme::CvPlus { folds } => {
                Error::check(folds >= 2, "folds", folds, "at least 2")?;
                check_cv_plus(self.rule)
            }
        }
    }

    /// Fits on rows that the network has not seen: a classifier with [its sets](FittedClassifier::class_sets). The
    /// probabilities of CV+ are those of the classifier's own fit with the same seed.
    pub fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedClassifier> {
        let fitted = self.fit_rules(rows, &[self.rule], seed, tick)?;
        fitted.into_iter().next().ok_or(Error::NoSets)
    }

    /// The same for several rules, which share the models.
    pub fn fit_rules(
        &self,
        rows: &ClassRows<'_>,
        rules: &[SetRule],
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<Vec<FittedClassifier>> {
        Ok(self.fit_judged(rows, rules, seed, tick)?.0)
    }

    /// The fit of `split` sets, with bounds of accuracy that are counted on the rows that judge.
    pub(super) fn fit_counted(
        &self,
        rows: &ClassRows<'_>,
        accuracy: &AccuracySettings,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<FittedClassifier> {
        let (fitted, judged) = self.fit_judged(rows, &[self.rule], seed, tick)?;
        let (fitted, judged) = fitted.into_iter().zip(&judged).next().ok_or(Error::NoSets)?;
        let (edges, p, labels) = (judged.seen.view(), judged.p.view(), &judged.labels[..]);
        Ok(fitted.with_accuracy_bins(AccuracyBins::fit(edges, p, labels, accuracy.bins_of(labels.len()))?))
    }

    /// A classifier for every rule, and the models that were judged.
    fn fit_judged(
        &self,
        rows: &ClassRows<'_>,
        rules: &[SetRule],
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(Vec<FittedClassifier>, Vec<Judged>)> {
        rules.iter().try_for_each(|&rule| ClassSets { rule, ..self.clone() }.check())?;
        let own = seed.child(SETS);
        let (head, judged) = match self.scheme {
            SetScheme::Split { share } => {
                let fit = Self::fitted_rows(rows, share, seed);
                (None, vec![self.judged(rows, &fit, &complement(rows.rows(), &fit), (own, 0), tick)?])
            }
            SetScheme::CvPlus { folds } => {
                // Not spread by class: the bound asks for a division that does not look at the labels.
                let parts = crate::rows::folds(rows.rows(), folds, own.child(streams::DIVISION))?;
                // Each fit is parallel inside; ticks count on over all of them.
                let part = |f: usize| part_of(tick, f, folds + 1);
                let head = self.classifier.fit(rows, seed, &part(0))?;
                let mut judged = Vec::new();
                for (f, judges) in parts.iter().enumerate() {
                    let fit = complement(rows.rows(), judges);
                    judged.push(self.judged(rows, &fit, judges, (own, f), &part(f + 1))?);
                }
                (Some(head), judged)
            }
        };
        let views: Vec<(ArrayView2<'_, f64>, &[usize])> = judged.iter().map(|j| (j.p.view(), &j.labels[..])).collect();
        let one = |&rule: &SetRule| {
            let scores: Vec<RowScore> = judged.iter().map(|j| j.score(rule, self.level)).collect();
            let groups = judged[0].groups(rule, scores[0], self.level, own)?;
            let scores = SetScores::fit(&views, rule, scores, groups, own.child(streams::SCORES))?;
            match &head {
                Some(head) => {
                    let models = judged.iter().map(|j| j.model.clone()).collect();
                    head.clone().with_class_sets(FittedClassSets::new(models, scores))
                }
                None => judged[0].model.clone().with_class_sets(FittedClassSets::new(Vec::new(), scores)),
            }
        };
        let fitted = rules.iter().map(one).collect::<Result<_>>()?;
        Ok((fitted, judged))
    }

    /// The covariance of the probabilities of a fit on these rows with this seed: of the share of them that `split` fits
    /// on, and of all for CV+.
    pub fn covariance(
        &self,
        head: &FittedClassifier,
        rows: &ClassRows<'_>,
        seed: Seed,
        settings: Wald,
    ) -> Result<ProbabilityCovariance> {
        match self.scheme {
            SetScheme::Split { share } => {
                let fit = rows.select(&Self::fitted_rows(rows, share, seed));
                ProbabilityCovariance::fit(head, &fit.view(), settings)
            }
            SetScheme::CvPlus { .. } => ProbabilityCovariance::fit(head, rows, settings),
        }
    }

    /// The rows that `split` fits on.
    fn fitted_rows(rows: &ClassRows<'_>, share: f64, seed: Seed) -> Vec<usize> {
        divided(rows.rows(), share, seed.child(SETS).child(streams::DIVISION))
    }

    /// A model of some rows, and what it says of them and of others.
    fn judged(
        &self,
        rows: &ClassRows<'_>,
        fit: &[usize],
        judges: &[usize],
        (seed, number): (Seed, usize),
        tick: Ticker<'_>,
    ) -> Result<Judged> {
        if fit.is_empty() || judges.is_empty() {
            return Err(Error::TooFewRows {
                what: "a prediction set",
                needed: 2,
                found: rows.rows(),
                remedy: "use more rows, or another share",
            });
        }
        let (fit, judges) = (rows.select(fit), rows.select(judges));
        let (fit, judges) = (fit.view(), judges.view());
        let model = self.classifier.fit(&fit, seed.child(streams::FITS.at(number)), tick)?;
        let p = model.probabilities(&judges.inputs())?;
        let labels = judges.labels().to_vec();
        let seen = model.probabilities(&fit.inputs())?;
        Ok(Judged { model, p, labels, seen, seen_labels: fit.labels().to_vec() })
    }
}

impl Judged {
    /// The score, with parameters that were chosen on the rows of the fit.
    fn score(&self, rule: SetRule, level: Level) -> RowScore {
        rule.score.tuned(self.seen.view(), &self.seen_labels, level)
    }

    /// The group of every class; groups of classes are learned from the rows of the fit.
    fn groups(&self, rule: SetRule, score: RowScore, level: Level, seed: Seed) -> Result<Vec<usize>> {
        let classes = self.seen.ncols();
        Ok(match rule.by {
            SetBy::All => vec![0; classes],
            SetBy::Class => (0..classes).collect(),
            SetBy::Cluster => {
                let draw = seed.child(streams::FIT_SCORES);
                let scores = label_scores(self.seen.view(), &self.seen_labels, score, draw)?;
                let start = seed.child(streams::CLUSTERS);
                clusters(&scores, &self.seen_labels, classes, level, self.labels.len(), start)
            }
        })
    }
}
