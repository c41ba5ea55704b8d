//! The flags of `stonet fit` for prediction sets, and what is said about fitted ones.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use stonet::classification::{FittedClassSets, SetScheme};
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::{ClassSets, Level, PostStoNetClassifier};
use stonet_io::default_level;

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
    #[arg(long, value_name = "SCORE", requires = "sets")]
    set_score: Option<Score>,
    /// Classification, `--sets split`: for whom the sets cover: all rows, every class, or clusters of classes whose
    /// scores are alike [default: all]
    #[arg(long, value_name = "BY", requires = "sets")]
    set_by: Option<By>,
    /// Classification: leave a set empty where no class conforms; without it the most probable class is in every set
    #[arg(long, requires = "sets")]
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
    /// Whether sets are asked for.
    pub fn is_given(&self) -> bool {
        self.sets.is_some()
    }

    /// The sets that are asked for around a classifier.
    pub fn settings(&self, classifier: &PostStoNetClassifier, level: Option<Level>) -> Result<Option<ClassSets>> {
        let Some(scheme) = self.sets else { return Ok(None) };
        let by = self.set_by.unwrap_or(By::All);
        if scheme == Scheme::CvPlus && by != By::All {
            let why = "class and cluster need --sets split: with cv+ a threshold of each class has no guarantee";
            return Err(Error::flag("--set-by", why));
        }
        let part = LabelPart::None;
        let score = match self.set_score.unwrap_or(Score::Lac) {
            Score::Lac => SetScore::Lac,
            Score::Aps => SetScore::Aps { part },
            Score::Raps => SetScore::Raps { part },
            Score::Saps => SetScore::Saps { part },
        };
        let by = match by {
            By::All => SetBy::All,
            By::Class => SetBy::Class,
            By::Cluster => SetBy::Cluster,
        };
        let scheme = match scheme {
            Scheme::CvPlus => SetScheme::CvPlus { folds: 5 },
            Scheme::Split => SetScheme::Split { share: 0.7 },
        };
        let rule = SetRule { score, by, never_empty: !self.allow_empty_sets };
        let level = level.unwrap_or_else(default_level);
        Ok(Some(ClassSets { classifier: classifier.clone(), rule, scheme, level }))
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
