//! The flags of `stonet fit` for prediction sets, and what is said about fitted ones.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use stonet::classification::{FittedClassSets, SetScheme};
use stonet::conformal::{LabelPart, SetBy, SetScore};
use stonet::{ClassSets, Level, PostStoNetClassifier};

use super::class_settings::SetTable;
use crate::error::{Error, Result};

/// Prediction sets beside class probabilities.
#[derive(Args)]
pub struct SetArgs {
    /// Classification: also fit prediction sets, which hold the true class with the probability --level. cv+: every row
    /// calibrates, five more fits, and the probabilities are those without --sets; split: the probabilities are fitted
    /// on 70 % of the rows, and the others calibrate
    #[arg(long, value_name = "SCHEME")]
    sets: Option<Scheme>,
    /// Classification: score of the sets. lac: smallest sets; aps, raps, saps: coverage more even over easy and hard
    /// rows [default: lac]
    #[arg(long, value_name = "SCORE")]
    set_score: Option<Score>,
    /// Classification, `--sets split`: for whom the sets cover: all rows, every class, or clusters of classes whose
    /// scores are alike [default: all]
    #[arg(long, value_name = "BY")]
    set_by: Option<By>,
    /// Classification: leave a set empty where no class conforms; without it the most probable class is in every set
    #[arg(long)]
    allow_empty_sets: bool,
}

/// Who calibrates.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scheme {
    /// Every row, fold by fold
    #[value(name = "cv+")]
    CvPlus,
    /// Some of the rows
    Split,
}

/// The score of a class.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Score {
    /// 1 less the probability
    Lac,
    /// The probability of all classes down to this one
    Aps,
    /// The same with a penalty on ranks
    Raps,
    /// The largest probability and ranks
    Saps,
}

/// For whom sets cover.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// All rows together
    All,
    /// Every class
    Class,
    /// Clusters of classes
    Cluster,
}

impl SetArgs {
    /// The first flag that is given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--sets", self.sets.is_some()),
            ("--set-score", self.set_score.is_some()),
            ("--set-by", self.set_by.is_some()),
            ("--allow-empty-sets", self.allow_empty_sets),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// The sets that are asked for around a classifier: the table of a file of settings, then the flags.
    pub fn settings(
        &self,
        classifier: &PostStoNetClassifier,
        file: Option<SetTable>,
        level: Option<Level>,
    ) -> Result<Option<ClassSets>> {
        let mut table = match (self.sets, file) {
            (None, None) => match self.given() {
                Some(flag) => return Err(Error::flag(flag, "needs --sets, or [sets] in --settings")),
                None => return Ok(None),
            },
            (_, file) => file.unwrap_or_default(),
        };
        table.scheme = match (self.sets, table.scheme) {
            // Folds and shares of the file stay where the flag names the same scheme.
            (None, scheme)
            | (Some(Scheme::CvPlus), scheme @ SetScheme::CvPlus { .. })
            | (Some(Scheme::Split), scheme @ SetScheme::Split { .. }) => scheme,
            (Some(Scheme::CvPlus), _) => SetScheme::CvPlus { folds: 5 },
            (Some(Scheme::Split), _) => SetScheme::Split { share: 0.7 },
        };
        let part = LabelPart::None;
        table.rule.score = match self.set_score {
            None => table.rule.score,
            Some(Score::Lac) => SetScore::Lac,
            Some(Score::Aps) => SetScore::Aps { part },
            Some(Score::Raps) => SetScore::Raps { part },
            Some(Score::Saps) => SetScore::Saps { part },
        };
        table.rule.by = match self.set_by {
            None => table.rule.by,
            Some(By::All) => SetBy::All,
            Some(By::Class) => SetBy::Class,
            Some(By::Cluster) => SetBy::Cluster,
        };
        table.rule.never_empty &= !self.allow_empty_sets;
        if matches!(table.scheme, SetScheme::CvPlus { .. }) && table.rule.by != SetBy::All {
            let why = "class and cluster need --sets split: with cv+ a threshold of each class has no guarantee";
            return Err(match self.set_by {
                Some(_) => Error::flag("--set-by", why),
                None => Error::flag("--settings", format!("has sets.rule.by, of which {why}")),
            });
        }
        let SetTable { rule, scheme, level: own } = table;
        Ok(Some(ClassSets { classifier: classifier.clone(), rule, scheme, level: level.unwrap_or(own) }))
    }
}

/// Fitted sets in a few words.
pub fn shown_sets(sets: &FittedClassSets) -> String {
    let (scores, rule) = (sets.scores(), sets.scores().rule());
    let by = match rule.by {
        SetBy::Class => ", by class".into(),
        SetBy::Cluster => format!(", by {} clusters of classes", scores.group_rows().len()),
        _ => String::new(),
    };
    let scheme = sets.folds().map_or_else(|| "split".into(), |folds| format!("cv+ of {folds} folds"));
    let empty = if rule.never_empty { "" } else { ", may be empty" };
    format!("{}, {scheme}, {} rows judge{by}{empty}", rule.score.name(), scores.rows())
}

/// The same for programs.
pub fn told_sets(sets: &FittedClassSets) -> Value {
    let scores = sets.scores();
    json!({
        "rule": scores.rule(),
        "folds": sets.folds(),
        "rows": scores.rows(),
        "scores": scores.scores(),
        "groups": scores.groups(),
    })
}
