//! Fitted prediction sets of a classifier: sets of new rows, their guarantee in words, and their part of a plan.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::{FittedClassifier, same};
use crate::base::{Error, Result, Seed};
use crate::conformal::{PredictionSets, SetBy, SetScores, cv_plus_guarantee, rows_needed};
use crate::regression::Guarantee;
use crate::rows::{ClassInputs, ClassOutput, Level};
use crate::score::{Builder, Node, Op, Quantity, Sparse};

/// The sets of a [`FittedClassifier`]: a model per fold and the scores of the rows that judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedClassSets {
    /// One per fold of CV+; none where the classifier itself was judged.
    models: Vec<FittedClassifier>,
    scores: SetScores,
}

impl FittedClassSets {
    pub(super) fn new(models: Vec<FittedClassifier>, scores: SetScores) -> Self {
        FittedClassSets { models, scores }
    }

    /// The scores of the rows that judged, with the rule.
    pub fn scores(&self) -> &SetScores {
        &self.scores
    }

    /// How many folds judged; none where one share of the rows did.
    pub fn folds(&self) -> Option<usize> {
        (!self.models.is_empty()).then_some(self.models.len())
    }

    pub(crate) fn models(&self) -> &[FittedClassifier] {
        &self.models
    }

    /// Whether its parts belong together and to a classifier.
    fn belongs_to(&self, head: &FittedClassifier) -> bool {
        let models = || self.models.iter().chain([head]);
        self.scores.classes() == head.classes
            && self.scores.scores().len() == self.models.len().max(1)
            && self.models.iter().all(|m| m.classes == head.classes && m.sets.is_none() && m.accuracy.is_none())
            && same(models().filter_map(|m| m.own_features()))
    }

    /// What holds for these sets, in words and as a number.
    pub fn guarantee(&self, level: Level) -> Guarantee {
        let about = "for a new row exchangeable with the calibration rows, if the network was not trained on them";
        let (rows, enough) = (self.scores.rows(), rows_needed(level));
        let bound = self.folds().map_or(level.get(), |folds| cv_plus_guarantee(rows, folds, level));
        let usual = match self.folds() {
            Some(_) => format!("; usually close to {:.0} %", 100.0 * level.get()),
            None => String::new(),
        };
        let groups = self.scores.group_rows();
        let few: Vec<bool> = groups.iter().map(|n| *n < enough).collect();
        let always = self.scores.groups().iter().filter(|g| few[**g]).count();
        let in_all = "and are in every set at this level";
        let short = match self.scores.rule().by {
            _ if always == 0 => String::new(),
            SetBy::All => format!(" {rows} rows judge; below {enough} the sets at this level hold every class."),
            SetBy::Class => format!(" {always} classes have fewer than {enough} rows that judge, {in_all}."),
            SetBy::Cluster => {
                format!(" {always} classes are in groups with fewer than {enough} rows that judge, {in_all}.")
            }
        };
        let within = match self.scores.rule().by {
            SetBy::All => String::new(),
            SetBy::Class => "within every class, ".into(),
            SetBy::Cluster => format!(
                "within each of {} groups of classes, on average over the classes of a group and not for every class, ",
                groups.len()
            ),
        };
        let text = format!("At least {:.1} % {within}{about}{usual}.{short}", 100.0 * bound);
        Guarantee { coverage: Some(bound), text }
    }

    /// Appends the sets to a plan that has the head's probabilities and its most probable class.
    pub(in crate::classification) fn lower(
        &self,
        b: &mut Builder,
        output: ClassOutput,
        (p, top): (Node, Node),
        levels: &[Level],
    ) -> Result<()> {
        if self.scores.rule().score.is_randomised() {
            return Err(Error::RandomSets);
        }
        let judged = match self.models.is_empty() {
            true => vec![p],
            false => self.models.iter().map(|m| m.lower(b, output.into())).collect::<Result<_>>()?,
        };
        let scores = judged.into_iter().zip(self.scores.scores());
        let folds: Vec<Node> = scores.map(|(of, &score)| b.op(Op::Conformity { of, score })).collect();
        let (held, classes) = (Arc::new(self.scores.clone()), self.scores.classes());
        let top = self.scores.rule().never_empty.then_some(top);
        for (number, &level) in levels.iter().enumerate() {
            let members = b.op(Op::Members { folds: folds.clone(), top, scores: held.clone(), level });
            (0..classes).for_each(|class| b.output(Quantity::InSet { class, level: number }, members, class, true));
            let mut all = Sparse::default();
            all.push((0..classes).map(|class| (class, 1.0)), 0.0);
            let size = b.combine(members, all, false);
            b.output(Quantity::SetSize { level: number }, size, 0, true);
        }
        Ok(())
    }
}

impl FittedClassifier {
    /// Its prediction sets, where it was fitted with some.
    pub fn class_sets(&self) -> Option<&FittedClassSets> {
        self.sets.as_deref()
    }

    /// The same classifier with sets that were fitted for it.
    pub fn with_class_sets(self, sets: FittedClassSets) -> Result<Self> {
        if !sets.belongs_to(&self) {
            return Err(Error::Inconsistent {
                what: "the models and scores of prediction sets do not belong together",
            });
        }
        Ok(FittedClassifier { sets: Some(Arc::new(sets)), scorers: Default::default(), ..self })
    }

    pub(in crate::classification) fn need_sets(&self) -> Result<&FittedClassSets> {
        self.class_sets().ok_or(Error::NoSets)
    }

    /// The prediction set of every row at the level; the seed is for randomised scores.
    pub fn sets(&self, inputs: &ClassInputs<'_>, level: Level, seed: Seed) -> Result<PredictionSets> {
        let sets = self.need_sets()?;
        let top = self.classify(inputs)?.to_vec();
        let p = match sets.models.is_empty() {
            // The scores are those of the fit, whatever shares the classes have now.
            true => vec![self.as_fitted().probabilities(inputs)?],
            false => sets.models.iter().map(|m| m.probabilities(inputs)).collect::<Result<_>>()?,
        };
        sets.scores.sets(&p.iter().map(|p| p.view()).collect::<Vec<_>>(), Some(&top), level, seed)
    }

    /// What holds for its prediction sets, where there are any.
    pub fn guarantee(&self, level: Level) -> Option<Guarantee> {
        self.class_sets().map(|sets| sets.guarantee(level))
    }
}
