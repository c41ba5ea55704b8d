//! Where the intervals of one target cover least, with how much of that chance explains.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stonet::diagnosis::{PART_ROWS, least_by_chance};
use stonet::{Level, Result, Seed};

use super::TargetEvaluation;
use super::words::ends;
use crate::evaluate::binomial::Proportion;
use crate::evaluate::strata::Stratum;
use crate::evaluate::text::Columns;
use crate::number::{percent, points, real, shown, whole};

/// What rows are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The length of the interval.
    Length,
    /// The prediction.
    Prediction,
}

impl Ranking {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Ranking::Length => "length",
            Ranking::Prediction => "prediction",
        }
    }
}

/// The fifth of the rows with the least coverage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstFifth {
    /// What the rows are ranked by.
    pub by: Ranking,
    /// The least value in it.
    #[serde(with = "real")]
    pub low: f64,
    /// The greatest.
    #[serde(with = "real")]
    pub high: f64,
    /// Its coverage; the interval is that of a fifth chosen beforehand.
    pub coverage: Proportion,
    /// Fifths that were compared: those of both rankings with at least 20 rows.
    pub fifths: usize,
    /// The mean of the least coverage among as many if every row is covered with exactly the level's probability.
    pub expected: f64,
    /// The probability that it is then as low as this one, or lower.
    pub chance: f64,
}

/// Where the intervals of a target cover least.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The least coverage over the fifths of the length and of the prediction; none where no fifth has 20 rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_fifth: Option<WorstFifth>,
}

/// The worst of the fifths, where `fifth_of` has a row's fifth of the length and of the prediction.
pub fn worst_fifth(
    target: &TargetEvaluation,
    fifth_of: [&[usize]; 2],
    level: Level,
    seed: Seed,
) -> Result<Option<WorstFifth>> {
    let both = [(Ranking::Length, &target.by_width), (Ranking::Prediction, &target.by_prediction)];
    let all = both.into_iter().flat_map(|(by, strata)| strata.iter().map(move |s| (by, s)));
    let compared: Vec<(Ranking, &Stratum)> = all.filter(|(_, s)| s.coverage.rows >= PART_ROWS).collect();
    let worst = compared.iter().min_by(|a, b| a.1.coverage.value.total_cmp(&b.1.coverage.value));
    let Some(&(by, worst)) = worst else { return Ok(None) };
    let mut table = Array2::zeros((target.by_width.len(), target.by_prediction.len()));
    fifth_of[0].iter().zip(fifth_of[1]).for_each(|(&a, &b)| table[[a, b]] += 1);
    let least = least_by_chance(table.view(), level, worst.coverage.value, seed)?;
    Ok(least.map(|least| WorstFifth {
        by,
        low: worst.low,
        high: worst.high,
        coverage: worst.coverage,
        fifths: compared.len(),
        expected: least.expected,
        chance: least.chance,
    }))
}

/// One part of the rows, ready to be shown.
pub struct Finding {
    /// Which part, in words.
    pub place: String,
    /// Its coverage.
    pub coverage: Proportion,
    /// Whether it is lower than chance explains.
    pub short: bool,
}

impl Diagnosis {
    /// The parts with the least coverage.
    pub fn findings(&self) -> Vec<Finding> {
        let fifth = self.worst_fifth.iter().map(|f| Finding {
            place: format!("worst fifth: {} {} to {}", f.by.name(), shown(f.low), shown(f.high)),
            coverage: f.coverage,
            short: f.chance < 0.05,
        });
        fifth.collect()
    }

    /// How the parts were found, and what chance explains.
    pub fn notes(&self) -> Vec<String> {
        let fifth = self.worst_fifth.iter().map(|f| {
            format!(
                "The worst fifth is the least of {}. If coverage were exact everywhere, the least of them would be {} \
                 on average, and at most {} with probability {}.",
                f.fifths,
                percent(f.expected),
                percent(f.coverage.value),
                probability(f.chance)
            )
        });
        fifth.collect()
    }

    /// A short table and the notes; nothing where nothing was found.
    pub fn text(&self, of: &str) -> String {
        let findings = self.findings();
        if findings.is_empty() {
            return String::new();
        }
        let mut table = Columns::new(&[&format!("lowest coverage{of}"), "rows", "coverage", "95 % interval"]);
        for f in findings {
            let mark = if f.short { " !" } else { "" };
            table.row(vec![f.place, whole(f.coverage.rows), percent(f.coverage.value) + mark, ends(&f.coverage)]);
        }
        let notes: String = self.notes().iter().map(|n| format!("  {n}\n")).collect();
        format!("\n{}{notes}", table.text())
    }
}

/// In per cent, and not below what a simulation can tell from nothing.
fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.1 %".into() } else { format!("{} %", points(p)) }
}
