//! Kinds of prediction sets side by side, on the probabilities of the default method.

use serde::Serialize;
use stonet::conformal::{LabelPart, SetRule, SetScore};
use stonet::{ClassRows, ClassSets, Level, PostStoNetClassifier, Seed, Ticker};
use stonet_report::{Proportion, SetEvaluation};

use super::TestRows;
use crate::Result;
use crate::table::Table;

/// One kind of set on the test rows; fractions, not per cent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedSets {
    /// The score that the sets are cut at.
    pub score: &'static str,
    /// How often a set holds the true class.
    pub coverage: Proportion,
    /// The mean number of classes in a set.
    pub mean_size: f64,
    /// The least coverage over classes of at least 20 test rows.
    pub worst_class: Option<f64>,
    /// The least coverage over sizes of sets, each of at least 20 test rows.
    pub worst_size: Option<f64>,
}

/// All kinds of sets at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetComparison {
    /// The level.
    pub level: Level,
    /// What is certain of CV+.
    pub guarantee: String,
    /// One per score.
    pub kinds: Vec<JudgedSets>,
}

/// Fits CV+ sets of every score on the same models, and judges them.
pub fn compare_sets(
    rows: &ClassRows<'_>,
    test: TestRows<'_>,
    classes: &[String],
    level: Level,
    seed: u64,
    tick: Ticker<'_>,
) -> Result<SetComparison> {
    let part = LabelPart::None;
    let scores = [SetScore::Lac, SetScore::Aps { part }, SetScore::Raps { part }, SetScore::Saps { part }];
    let rules = scores.map(SetRule::from);
    let sets = ClassSets { classifier: PostStoNetClassifier::default(), level, ..ClassSets::default() };
    let seed = Seed::new(seed);
    let mut found = SetComparison { level, guarantee: String::new(), kinds: Vec::new() };
    for (fitted, score) in sets.fit_rules(rows, &rules, seed, tick)?.into_iter().zip(scores) {
        let judged = SetEvaluation::of(&fitted, &fitted.sets(&test.inputs, level, seed)?, test.labels, classes)?;
        let known = |value: f64| Some(value).filter(|v| !v.is_nan());
        found.guarantee.clone_from(&judged.guarantee);
        found.kinds.push(JudgedSets {
            score: score.name(),
            coverage: judged.coverage,
            mean_size: judged.mean_size,
            worst_class: known(judged.worst_class()),
            worst_size: known(judged.worst_size()),
        });
    }
    Ok(found)
}

impl SetComparison {
    /// The kinds side by side.
    pub fn table(&self) -> Table {
        let mut t = Table::new(&["sets", "coverage %", "95 % interval", "mean size", "worst class %", "worst size %"]);
        let worst = |v: Option<f64>| v.map_or("–".to_owned(), |v| format!("{:.1}", 100.0 * v));
        for k in &self.kinds {
            t.row(vec![
                k.score.to_owned(),
                format!("{:.2}", 100.0 * k.coverage.value),
                format!("{:.1} to {:.1}", 100.0 * k.coverage.low, 100.0 * k.coverage.high),
                format!("{:.2}", k.mean_size),
                worst(k.worst_class),
                worst(k.worst_size),
            ]);
        }
        t
    }

    /// The result in words around the table.
    pub fn text(&self) -> String {
        format!(
            "Prediction sets (cv+) of the default probabilities at {} %\n\n{}\n{}\n",
            self.level.percent(),
            self.table(),
            self.guarantee
        )
    }
}
