//! A head of many labels judged on rows with known answers: the scores of each label, and their means.

use ndarray::{Array2, ArrayView2};
use serde::Serialize;
use stonet::metrics::{BINS, class_scores};
use stonet::{Error, Overlap, Result};

use super::Metrics;
use super::seen;

/// The scores of every label that conditions may name; they mean the mean over labels.
const LABEL_METRICS: [&str; 4] = ["nll", "brier", "ece", "cece"];

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
}

/// The scores of one label with its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelRow {
    /// The name of the label.
    pub label: String,
    /// Its scores.
    #[serde(flatten)]
    pub scores: LabelScores,
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
    /// Rows that were fitted on, where it is known.
    pub seen: Option<Overlap>,
}

impl LabelsEvaluation {
    /// Of the probability that each label is present (n × K), and whether it is.
    pub fn new(names: &[String], p: ArrayView2<'_, f64>, present: ArrayView2<'_, bool>) -> Result<Self> {
        let shape = |what: &str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(Error::Shape { what: what.into(), expected, found }),
        };
        shape("columns of probabilities, one per label", names.len(), p.ncols())?;
        shape("columns of labels", names.len(), present.ncols())?;
        shape("rows of labels", p.nrows(), present.nrows())?;
        let one = |k: usize| {
            let both = Array2::from_shape_fn((p.nrows(), 2), |(i, j)| if j == 1 { p[[i, k]] } else { 1.0 - p[[i, k]] });
            let codes: Vec<usize> = present.column(k).iter().map(|&p| usize::from(p)).collect();
            let found = class_scores(both.view(), &codes, BINS)?;
            let base_rate = codes.iter().sum::<usize>() as f64 / codes.len() as f64;
            let scores =
                LabelScores { base_rate, nll: found.nll, brier: found.brier, ece: found.ece, cece: found.cece };
            Ok(LabelRow { label: names[k].clone(), scores })
        };
        let labels = (0..names.len()).map(one).collect::<Result<Vec<_>>>()?;
        let mean =
            |of: fn(&LabelScores) -> f64| labels.iter().map(|l| of(&l.scores)).sum::<f64>() / labels.len() as f64;
        let mean = LabelScores {
            base_rate: mean(|s| s.base_rate),
            nll: mean(|s| s.nll),
            brier: mean(|s| s.brier),
            ece: mean(|s| s.ece),
            cece: mean(|s| s.cece),
        };
        Ok(LabelsEvaluation { rows: p.nrows(), labels, mean, seen: None })
    }

    /// With the rows that were fitted on.
    pub fn with_seen(self, seen: Option<Overlap>) -> Self {
        LabelsEvaluation { seen, ..self }
    }

    /// One sentence.
    pub fn verdict(&self) -> String {
        let LabelScores { nll, ece, .. } = self.mean;
        let (count, rows) = (self.labels.len(), seen::called(self.seen.as_ref(), "rows"));
        let labels = if count == 1 { "label" } else { "labels" };
        let addition = seen::addition(self.seen.as_ref());
        format!("on {} {rows} the mean over {count} {labels} is nll {nll:.4}, ece {ece:.4}{addition}", self.rows)
    }

    /// For people: a table with a line per label, and the means.
    pub fn text(&self) -> String {
        let width = self.labels.iter().map(|l| l.label.chars().count()).max().unwrap_or(0).max("label".len());
        let line = |name: &str, s: &LabelScores| {
            let LabelScores { base_rate, nll, brier, ece, cece } = s;
            format!("{name:width$}  {base_rate:>9.4}  {nll:>8.4}  {brier:>8.4}  {ece:>8.4}  {cece:>8.4}\n")
        };
        let mut text = format!("{}\n", self.verdict());
        text += &format!("rows       {} ({})\n", self.rows, seen::short(self.seen.as_ref()));
        text += &format!(
            "{:width$}  {:>9}  {:>8}  {:>8}  {:>8}  {:>8}\n",
            "label", "base rate", "nll", "brier", "ece", "cece"
        );
        self.labels.iter().for_each(|l| text += &line(&l.label, &l.scores));
        text + &line("mean", &self.mean)
    }
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
