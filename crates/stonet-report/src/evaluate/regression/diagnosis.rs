//! Where the intervals of one target cover least, with how much of that chance explains.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use stonet::base::Work;
use stonet::diagnosis::{
    Covered, Ert, PART_ROWS, Slab, Slice, Tally, Variable, ert, least_by_chance, worst_slab, worst_slice,
};
use stonet::{Level, Result, Seed};

use super::TargetEvaluation;
use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::strata::Stratum;
use crate::number::{real, shown};

/// Values of features that are kept for the search: 32 MB.
const VALUES: usize = 4_000_000;
/// Rows that the search may use, few and many.
const SEARCHED: [usize; 2] = [2000, 20_000];
/// Targets that are searched; of the others only the fifths are compared.
pub const SEARCHED_TARGETS: usize = 12;
/// Weights of a slab that are listed.
const WEIGHTS: usize = 3;

/// Rows to keep for the search: it reads the features themselves, so a wide table keeps fewer rows.
pub fn rows_to_search(features: usize) -> usize {
    (VALUES / features.max(1)).clamp(SEARCHED[0], SEARCHED[1])
}

/// What rows are ranked or divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// The length of the interval.
    Length,
    /// The prediction.
    Prediction,
    /// A feature.
    Feature,
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

/// Rows that were found on one half and are judged on the other, which does not know of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundPart {
    /// Which rows, such as `f12 > 1.300`.
    pub text: String,
    /// Its rows on the half that was searched.
    pub searched_rows: usize,
    /// Its coverage there, which is low because the search chose it.
    pub searched_coverage: f64,
    /// On the other half.
    pub coverage: Proportion,
    /// Against the level, the slices and slabs of all targets taken together.
    pub judgement: Judgement,
    /// How many these are.
    pub comparisons: usize,
}

/// The slice with the least coverage: rows on one side of a value, or between two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstSlice {
    /// What it is cut by.
    pub by: Ranking,
    /// The column's name; `prediction` or `length` for these.
    pub column: String,
    /// Values lie above this, where there is a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// And not above this, where there is an upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Its coverage.
    #[serde(flatten)]
    pub part: FoundPart,
}

/// The slab with the least coverage: rows between two parallel planes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstSlab {
    /// The features with the largest weights in the direction, which has length one; features are standardised.
    pub weights: Vec<(String, f64)>,
    /// Features with a smaller weight.
    pub others: usize,
    /// The lower end of the weighted sum.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Its coverage.
    #[serde(flatten)]
    pub part: FoundPart,
}

/// Where the intervals of a target cover least.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The least coverage over the fifths of the length and of the prediction; none where no fifth has 20 rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_fifth: Option<WorstFifth>,
    /// Rows that were searched: all, or a uniform sample of them; 0 where there are fewer than 200.
    #[serde(default)]
    pub rows: usize,
    /// The slice with the least coverage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_slice: Option<WorstSlice>,
    /// The slab with the least coverage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_slab: Option<WorstSlab>,
    /// How much better than the level the inputs predict which rows are covered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ert: Option<Ert>,
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

/// The rows that are searched.
pub struct Search<'a> {
    /// Their numbers among all rows.
    pub numbers: &'a [usize],
    /// Their features.
    pub features: ArrayView2<'a, f64>,
    /// One per feature.
    pub names: &'a [String],
    /// Slices and slabs that are judged, over all targets.
    pub comparisons: usize,
}

impl Search<'_> {
    /// Slice, slab and ERT of a target. The functions give the figures of a row among all rows.
    pub fn run(
        &self,
        prediction: impl Fn(usize) -> f64,
        length: impl Fn(usize) -> f64,
        hit: impl Fn(usize) -> bool,
        level: Level,
        seed: Seed,
        work: &Work<'_>,
    ) -> Result<Diagnosis> {
        let prediction: Vec<f64> = self.numbers.iter().map(|&r| prediction(r)).collect();
        let length: Vec<f64> = self.numbers.iter().map(|&r| length(r)).collect();
        let hits: Vec<bool> = self.numbers.iter().map(|&r| hit(r)).collect();
        let rows = Covered::new(self.features, &prediction, &length, &hits, level)?;
        let ert = ert(&rows, seed, work)?;
        Ok(Diagnosis {
            worst_fifth: None,
            rows: if ert.is_some() { rows.rows() } else { 0 },
            worst_slice: worst_slice(&rows, seed)?.and_then(|s| self.slice(&s, level)),
            worst_slab: worst_slab(&rows, seed)?.and_then(|s| self.slab(&s, level)),
            ert,
        })
    }

    fn slice(&self, s: &Slice, level: Level) -> Option<WorstSlice> {
        let (by, column) = match s.variable {
            Variable::Feature(c) => (Ranking::Feature, self.names[c].as_str()),
            Variable::Prediction => (Ranking::Prediction, "prediction"),
            Variable::Length => (Ranking::Length, "length"),
        };
        let [above, at_most] = [s.above, s.at_most].map(|v| v.is_finite().then_some(v));
        let text = match (above, at_most) {
            (Some(above), Some(at_most)) => format!("{} < {column} ≤ {}", shown(above), shown(at_most)),
            (Some(above), None) => format!("{column} > {}", shown(above)),
            // A slice without either bound would be all rows.
            (None, at_most) => format!("{column} ≤ {}", shown(at_most.unwrap_or(f64::INFINITY))),
        };
        let part = self.part(text, s.searched, s.judged, level)?;
        Some(WorstSlice { by, column: column.to_owned(), above, at_most, part })
    }

    fn slab(&self, s: &Slab, level: Level) -> Option<WorstSlab> {
        let mut columns: Vec<usize> = (0..s.direction.len()).filter(|&c| s.direction[c] != 0.0).collect();
        columns.sort_by(|&a, &b| s.direction[b].abs().total_cmp(&s.direction[a].abs()).then(a.cmp(&b)));
        let others = columns.len().saturating_sub(WEIGHTS);
        columns.truncate(WEIGHTS);
        let weights: Vec<(String, f64)> = columns.iter().map(|&c| (self.names[c].clone(), s.direction[c])).collect();
        let text = format!("{} ≤ {} ≤ {}", shown(s.low), sum(&weights, others), shown(s.high));
        let part = self.part(text, s.searched, s.judged, level)?;
        Some(WorstSlab { weights, others, low: s.low, high: s.high, part })
    }

    /// None where the other half has no such row.
    fn part(&self, text: String, searched: Tally, judged: Tally, level: Level) -> Option<FoundPart> {
        let coverage = Proportion::new(judged.hits as f64, judged.rows);
        (judged.rows > 0).then(|| FoundPart {
            text,
            searched_rows: searched.rows,
            searched_coverage: searched.hits as f64 / searched.rows as f64,
            coverage,
            judgement: coverage.judge(level.get(), self.comparisons),
            comparisons: self.comparisons,
        })
    }
}

/// As 0.81 f3 - 0.52 f7 + 4 others.
fn sum(weights: &[(String, f64)], others: usize) -> String {
    let mut text = String::new();
    for (i, (name, weight)) in weights.iter().enumerate() {
        let sign = match (i, *weight < 0.0) {
            (0, true) => "-",
            (0, false) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        };
        text += &format!("{sign}{:.2} {name}", weight.abs());
    }
    match others {
        0 => text,
        1 => text + " + 1 other",
        n => text + &format!(" + {n} others"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_sum_is_written_out() {
        let weights = [("a", -0.8), ("b", 0.6), ("c", -0.05)].map(|(n, w)| (n.to_owned(), w));
        assert_eq!(sum(&weights, 0), "-0.80 a + 0.60 b - 0.05 c");
        assert_eq!(sum(&weights[..2], 1), "-0.80 a + 0.60 b + 1 other");
        assert_eq!(sum(&weights[1..2], 7), "0.60 b + 7 others");
    }

    #[test]
    fn wide_tables_keep_fewer_rows() {
        assert_eq!([0, 10, 400, 1_000_000].map(rows_to_search), [20_000, 20_000, 10_000, 2000]);
    }
}
