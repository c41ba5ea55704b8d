//! A head of many labels judged on rows with known answers: the scores of each label, and their means.

mod judge;
mod words;

use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;
use stonet::base::Work;
use stonet::base::streams::evaluation as streams;
use stonet::metrics::{JudgeSettings, bin_of, class_scores, noise_floor};
use stonet::{Error, Overlap, Result, Seed, Ticker};

pub use judge::LabelsJudge;

use super::Metrics;
use super::binomial::{Proportion, binomial_band};
use super::classes::ReliabilityRow;
use super::strata::Groups;

/// The scores of every label that conditions may name; they mean the mean over labels.
pub const LABEL_METRICS: [&str; 4] = ["nll", "brier", "ece", "cece"];
/// The share of labels whose error exceeds its limit although every probability is right.
const BEYOND: f64 = 0.025;
/// Labels whose reliability is kept.
const WORST: usize = 4;

/// What goes with the probabilities.
#[derive(Clone, Copy)]
pub struct LabelsSettings<'a> {
    /// A column's name and its value in every row: scores are also given for each of its values. A [`LabelsJudge`] takes
    /// both elsewhere.
    pub by: Option<(&'a str, &'a [String])>,
    /// Bins, and labels drawn anew; nothing is resampled.
    pub judge: JudgeSettings,
    /// Of all randomness.
    pub seed: Seed,
    /// Told how far the work is; returning false cancels it.
    pub tick: Option<Ticker<'a>>,
}

impl Default for LabelsSettings<'_> {
    fn default() -> Self {
        LabelsSettings { by: None, judge: JudgeSettings::default(), seed: Seed::new(1), tick: None }
    }
}

/// The scores of one label, those of a binary classifier: [`stonet::metrics::class_scores`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelScores {
    /// The share of rows in which the label is present.
    pub base_rate: f64,
    /// Mean negative log-likelihood, in nats.
    pub nll: f64,
    /// Brier score, summed over presence and absence.
    pub brier: f64,
    /// Expected calibration error of the guess.
    pub ece: f64,
    /// Expected calibration error of the probability of presence, and of that of absence, mean of both.
    pub cece: f64,
    /// The ECE that chance alone would show, on average.
    pub ece_chance: f64,
}

/// The scores of one label with its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelRow {
    /// The name of the label.
    pub label: String,
    /// Rows in which it is present.
    pub rows: usize,
    /// Its scores.
    #[serde(flatten)]
    pub scores: LabelScores,
    /// The ECE that chance alone exceeds in 2.5 % of all cases.
    pub ece_limit: f64,
}

/// Probability and frequency of one label by bins of the probability that it is present.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelReliability {
    /// The name of the label.
    pub label: String,
    /// Per bin with rows; the confidence is the mean probability, the accuracy the share of rows with the label.
    pub bins: Vec<ReliabilityRow>,
}

/// Rows that share a value of the column asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelGroup {
    /// The value.
    pub name: String,
    /// The number of rows.
    pub rows: usize,
    /// The mean over labels.
    pub mean: LabelScores,
    /// Labels whose ECE exceeds what chance shows in 97.5 % of all cases.
    pub beyond_chance: usize,
    /// The label whose ECE exceeds chance most.
    pub worst: LabelRow,
}

/// The evaluation of a head of many labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelsEvaluation {
    /// How many rows were judged.
    pub rows: usize,
    /// Each label by itself.
    pub labels: Vec<LabelRow>,
    /// The mean over labels.
    pub mean: LabelScores,
    /// Labels whose ECE exceeds what chance shows in 97.5 % of all cases; one of 40 does although every probability is
    /// right.
    pub beyond_chance: usize,
    /// Of the labels whose ECE exceeds chance most, at most four.
    pub reliability: Vec<LabelReliability>,
    /// The column of subgroups, and they.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subgroups: Option<(String, Vec<LabelGroup>)>,
    /// Rows that were fitted on, where it is known.
    pub seen: Option<Overlap>,
    /// The settings of the fit.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub settings: serde_json::Value,
}

impl LabelsEvaluation {
    /// Of the probability that each label is present (n × K), and whether it is.
    pub fn new(
        names: &[String],
        p: ArrayView2<'_, f64>,
        present: ArrayView2<'_, bool>,
        settings: &LabelsSettings<'_>,
    ) -> Result<Self> {
        let groups = settings.by.map(|(column, values)| {
            let mut groups = Groups::default();
            groups.add(values);
            (column, groups)
        });
        let by = groups.as_ref().map(|(column, groups)| (*column, groups));
        Self::judged(names, p, present, by, settings, &Work::open("steps", settings.tick))
    }

    /// The same with subgroups by number.
    fn judged(
        names: &[String],
        p: ArrayView2<'_, f64>,
        present: ArrayView2<'_, bool>,
        by: Option<(&str, &Groups)>,
        settings: &LabelsSettings<'_>,
        steps: &Work<'_>,
    ) -> Result<Self> {
        let shape = |what: &str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(Error::Shape { what: what.into(), expected, found }),
        };
        shape("columns of probabilities, one per label", names.len().max(1), p.ncols())?;
        shape("columns of labels", names.len(), present.ncols())?;
        shape("rows of labels", p.nrows(), present.nrows())?;
        let groups = by.map(|(_, groups)| groups.largest()).unwrap_or_default();
        by.map_or(Ok(()), |(_, groups)| shape("rows of the column of subgroups", p.nrows(), groups.rows()))?;
        steps.announce(names.len() * (1 + groups.len()));
        let (judge, seed) = (&settings.judge, settings.seed);
        let labels = label_rows(names, p, present, judge, seed.child(streams::SCORES), steps)?;
        let group = |(g, (name, rows)): (usize, (String, Vec<usize>))| {
            let (p, present) = (p.select(Axis(0), &rows), present.select(Axis(0), &rows));
            let seed = seed.child(streams::SUBGROUPS).child(g as u64);
            let labels = label_rows(names, p.view(), present.view(), judge, seed, steps)?;
            let (mean, beyond_chance) = (mean(&labels), beyond(&labels));
            let worst = by_excess(&labels)[0].clone();
            Ok(LabelGroup { name, rows: rows.len(), mean, beyond_chance, worst })
        };
        let groups = groups.into_iter().enumerate().map(group).collect::<Result<Vec<_>>>()?;
        let place = |row: &&LabelRow| names.iter().position(|n| *n == row.label);
        let worst = by_excess(&labels).into_iter().take(WORST).filter_map(|row| place(&row));
        let reliability = worst.map(|k| reliability(&names[k], p, present, k, judge.bins)).collect();
        Ok(LabelsEvaluation {
            rows: p.nrows(),
            mean: mean(&labels),
            beyond_chance: beyond(&labels),
            reliability,
            subgroups: by.map(|(column, _)| (column.to_owned(), groups)),
            labels,
            seen: None,
            settings: serde_json::Value::Null,
        })
    }

    /// With the rows that were fitted on.
    pub fn with_seen(self, seen: Option<Overlap>) -> Self {
        LabelsEvaluation { seen, ..self }
    }

    /// Whether so many labels may exceed their limits by chance alone: an exact binomial test with an error of 2.5 %, which
    /// takes labels for independent of each other.
    pub fn calibrated(&self) -> bool {
        by_chance(self.beyond_chance, self.labels.len())
    }
}

/// The scores of each label.
fn label_rows(
    names: &[String],
    p: ArrayView2<'_, f64>,
    present: ArrayView2<'_, bool>,
    judge: &JudgeSettings,
    seed: Seed,
    steps: &Work<'_>,
) -> Result<Vec<LabelRow>> {
    let one = |(k, name): (usize, &String)| {
        let both = Array2::from_shape_fn((p.nrows(), 2), |(i, j)| if j == 1 { p[[i, k]] } else { 1.0 - p[[i, k]] });
        let codes: Vec<usize> = present.column(k).iter().map(|&p| usize::from(p)).collect();
        let found = class_scores(both.view(), &codes, judge.bins)?;
        let floor = noise_floor(both.view(), judge.bins, judge.redraws.max(1), seed.child(k as u64))?.ece;
        steps.advance()?;
        let rows = codes.iter().sum::<usize>();
        let scores = LabelScores {
            base_rate: rows as f64 / codes.len() as f64,
            nll: found.nll,
            brier: found.brier,
            ece: found.ece,
            cece: found.cece,
            ece_chance: floor.mean,
        };
        Ok(LabelRow { label: name.clone(), rows, scores, ece_limit: floor.high })
    };
    names.iter().enumerate().map(one).collect()
}

/// The mean over labels.
fn mean(labels: &[LabelRow]) -> LabelScores {
    let mean = |of: fn(&LabelScores) -> f64| labels.iter().map(|l| of(&l.scores)).sum::<f64>() / labels.len() as f64;
    LabelScores {
        base_rate: mean(|s| s.base_rate),
        nll: mean(|s| s.nll),
        brier: mean(|s| s.brier),
        ece: mean(|s| s.ece),
        cece: mean(|s| s.cece),
        ece_chance: mean(|s| s.ece_chance),
    }
}

/// Whether so many of the labels may exceed their limits although every probability is right. The one label of a head
/// that exceeds its limit does not.
fn by_chance(beyond: usize, labels: usize) -> bool {
    Proportion::new(beyond as f64, labels).low < BEYOND * (1.0 - 1e-9)
}

/// How many labels are off by more than chance.
fn beyond(labels: &[LabelRow]) -> usize {
    labels.iter().filter(|l| l.beyond_chance()).count()
}

/// The labels, that whose error exceeds chance most first.
fn by_excess(labels: &[LabelRow]) -> Vec<&LabelRow> {
    let mut order: Vec<&LabelRow> = labels.iter().collect();
    let excess = |l: &LabelRow| l.scores.ece - l.scores.ece_chance;
    order.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    order
}

impl LabelRow {
    /// Whether the ECE exceeds what chance shows in 97.5 % of all cases.
    pub fn beyond_chance(&self) -> bool {
        self.scores.ece > self.ece_limit
    }
}

fn reliability(
    label: &str,
    p: ArrayView2<'_, f64>,
    present: ArrayView2<'_, bool>,
    k: usize,
    bins: usize,
) -> LabelReliability {
    let (mut counts, mut hits, mut sums) = (vec![0usize; bins], vec![0usize; bins], vec![0.0; bins]);
    for (&p, &present) in p.column(k).iter().zip(present.column(k)) {
        let bin = bin_of(p, bins);
        counts[bin] += 1;
        hits[bin] += usize::from(present);
        sums[bin] += p;
    }
    let row = |bin: usize| {
        let confidence = sums[bin] / counts[bin] as f64;
        ReliabilityRow {
            low: bin as f64 / bins as f64,
            high: (bin + 1) as f64 / bins as f64,
            confidence,
            accuracy: Proportion::new(hits[bin] as f64, counts[bin]),
            floor: binomial_band(counts[bin], confidence.clamp(0.0, 1.0)),
        }
    };
    LabelReliability { label: label.to_owned(), bins: (0..bins).filter(|&b| counts[b] > 0).map(row).collect() }
}

impl Metrics for LabelsEvaluation {
    fn names(&self) -> &'static [&'static str] {
        &LABEL_METRICS
    }

    fn metric(&self, name: &str) -> Option<f64> {
        match name {
            "nll" => Some(self.mean.nll),
            "brier" => Some(self.mean.brier),
            "ece" => Some(self.mean.ece),
            "cece" => Some(self.mean.cece),
            _ => None,
        }
    }
}
