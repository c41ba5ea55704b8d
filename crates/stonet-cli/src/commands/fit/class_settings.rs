//! What is set for class probabilities and what is fitted beside them: the file of settings, then the flags.

use serde::{Deserialize, Serialize};
use stonet::classification::{AccuracySettings, SetScheme, SkipSettings};
use stonet::conformal::SetRule;
use stonet::{ClassMethod, ClassRows, ClassSets, FittedClassifier, Level, PostStoNetClassifier, Seed, Ticker};

use super::Fit;
use crate::error::{Error, Result};

/// A file of settings: those of the probabilities, and tables of what is fitted beside them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassTable {
    method: ClassMethod,
    members: Option<Vec<ClassMethod>>,
    folds: Option<usize>,
    skip: SkipSettings,
    paper_epochs: Vec<usize>,
    /// Prediction sets, where they are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    sets: Option<SetTable>,
    /// Bounds of accuracy, where they are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<AccuracySettings>,
}

/// The settings of [`ClassSets`] but for the classifier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetTable {
    pub level: Level,
    pub rule: SetRule,
    pub scheme: SetScheme,
}

impl Default for SetTable {
    fn default() -> Self {
        let ClassSets { rule, scheme, level, .. } = ClassSets::default();
        SetTable { level, rule, scheme }
    }
}

impl Default for ClassTable {
    fn default() -> Self {
        ClassTable::new(PostStoNetClassifier::default(), None, None)
    }
}

impl ClassTable {
    fn new(post: PostStoNetClassifier, sets: Option<SetTable>, accuracy: Option<AccuracySettings>) -> Self {
        let PostStoNetClassifier { method, members, folds, skip, paper_epochs } = post;
        ClassTable { method, members, folds, skip, paper_epochs, sets, accuracy }
    }

    fn split(self) -> (PostStoNetClassifier, Option<SetTable>, Option<AccuracySettings>) {
        let ClassTable { method, members, folds, skip, paper_epochs, sets, accuracy } = self;
        (PostStoNetClassifier { method, members, folds, skip, paper_epochs }, sets, accuracy)
    }

    /// What is fitted where no flag says more.
    #[cfg(any(test, fuzzing))]
    pub fn wanted(self) -> ClassWanted {
        let (classifier, sets, accuracy) = self.split();
        let sets = sets.map(|SetTable { level, rule, scheme }| {
            let classifier = classifier.clone();
            ClassSets { classifier, rule, scheme, level }
        });
        ClassWanted { classifier, sets, accuracy, level: None }
    }
}

/// What is fitted: probabilities, and what stands beside them.
pub struct ClassWanted {
    pub classifier: PostStoNetClassifier,
    pub sets: Option<ClassSets>,
    pub accuracy: Option<AccuracySettings>,
    /// The level of sets and bounds; none where there are neither.
    pub level: Option<Level>,
}

impl ClassWanted {
    pub fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> stonet::Result<FittedClassifier> {
        match (&self.sets, &self.accuracy) {
            (Some(sets), Some(accuracy)) => accuracy.fit_sets(sets, rows, seed, tick),
            (Some(sets), None) => sets.fit(rows, seed, tick),
            (None, Some(accuracy)) => accuracy.fit(&self.classifier, rows, seed, tick),
            (None, None) => self.classifier.fit(rows, seed, tick),
        }
    }

    /// The settings as a file has them.
    pub fn table(&self) -> ClassTable {
        let sets = self.sets.as_ref().map(|s| SetTable { level: s.level, rule: s.rule, scheme: s.scheme });
        ClassTable::new(self.classifier.clone(), sets, self.accuracy)
    }
}

impl Fit {
    /// What is set for one class per row.
    pub(super) fn class_settings(&self, level: Option<Level>) -> Result<ClassWanted> {
        let (classifier, sets, accuracy) = self.class_table()?;
        let sets = self.sets.settings(&classifier, sets, level)?;
        let accuracy = self.accuracy.settings(accuracy, sets.as_ref())?;
        if level.is_some() && sets.is_none() && accuracy.is_none() {
            let why = "is for --task regression, --sets or --accuracy-bounds; probabilities are chosen by --method";
            return Err(Error::flag("--level", why));
        }
        let default = accuracy.map(|_| stonet_io::default_level());
        let level = level.or(sets.as_ref().map(|sets| sets.level)).or(default);
        Ok(ClassWanted { classifier, sets, accuracy, level })
    }

    /// What is set for many labels, which have nothing beside their probabilities.
    pub(super) fn label_settings(&self) -> Result<PostStoNetClassifier> {
        let why = "is for --task classification; --task labels gives one probability per label";
        if let Some(flag) = self.sets.given() {
            let why = "is for --task classification: prediction sets hold one class of a row, and with --task labels a row may have any \
                       number of labels; leave it out";
            return Err(Error::flag(flag, why));
        }
        if let Some(flag) = self.accuracy.given() {
            return Err(Error::flag(flag, why));
        }
        if self.level.is_some() {
            return Err(Error::flag(
                "--level",
                "is for --task regression; --task labels gives one probability per label",
            ));
        }
        let (classifier, sets, accuracy) = self.class_table()?;
        let table = [("[sets]", sets.is_some()), ("[accuracy]", accuracy.is_some())];
        match table.into_iter().find(|(_, given)| *given) {
            Some((table, _)) => Err(Error::flag("--settings", format!("has {table}, which {why}"))),
            None => Ok(classifier),
        }
    }

    /// The file of settings, and the flags of the probabilities.
    fn class_table(&self) -> Result<(PostStoNetClassifier, Option<SetTable>, Option<AccuracySettings>)> {
        let regression = [
            ("--interval", self.interval.is_some()),
            ("--range", self.range.is_some()),
            ("--select", self.select.is_some()),
            ("--within", !self.columns.within.is_empty()),
            ("--conditional", !self.columns.conditional.is_empty()),
            ("--trainer", self.trainer.is_some()),
            ("--train-error", self.train_error.is_some()),
        ];
        if let Some((flag, _)) = regression.into_iter().find(|(_, given)| *given) {
            return Err(Error::flag(flag, "is for --task regression; probabilities are chosen by --method"));
        }
        let (table, _): (ClassTable, _) = self.read_settings()?;
        let (mut post, sets, accuracy) = table.split();
        post.method = self.method.unwrap_or(post.method);
        post.folds = self.folds.or(post.folds);
        Ok((post, sets, accuracy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::fit::settings::survives;
    use stonet::conformal::{LabelPart, SetBy, SetScore};

    #[test]
    fn tables_of_every_method_set_and_bound_are_commented_and_read_back() {
        for method in ClassMethod::ALL {
            let members = Some(vec![ClassMethod::Temperature, method]);
            let post = PostStoNetClassifier { method, members, folds: Some(4), ..PostStoNetClassifier::default() };
            survives(&ClassTable::new(post, None, None));
        }
        let part = LabelPart::None;
        for score in [SetScore::Lac, SetScore::Aps { part }, SetScore::Raps { part }, SetScore::Saps { part }] {
            for scheme in [SetScheme::CvPlus { folds: 4 }, SetScheme::Split { share: 0.6 }] {
                let rule = SetRule { score, by: SetBy::All, never_empty: false };
                let sets = SetTable { level: Level::new(0.8).unwrap(), rule, scheme };
                let accuracy = AccuracySettings { held_out: Some(0.2), bins: None };
                survives(&ClassTable::new(PostStoNetClassifier::default(), Some(sets), Some(accuracy)));
            }
        }
        survives(&ClassTable::default());
    }
}
