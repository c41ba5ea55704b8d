//! The scorers of a head of many labels: one per label, each on its own column.

use std::sync::Arc;

use stonet::InputKind;
use stonet::classification::FittedLabels;
use stonet::rows::ClassOutput;
use stonet::score::{Column, Scorer};

use crate::Result;

/// One scorer per label, with whether it reads the label's column: a constant reads nothing.
#[derive(Debug, Clone)]
pub(super) struct LabelScorers(Vec<(Arc<Scorer>, bool)>);

/// The place of the probability that a label is present, behind that of its absence.
const PRESENT: usize = 1;

impl LabelScorers {
    /// The scorers, and the columns that they read: that of each label in turn.
    pub(super) fn new(head: &FittedLabels, kind: InputKind, columns: &[String]) -> Result<(Self, Vec<String>)> {
        let output = ClassOutput { kind, columns: 1 };
        let one = |head: &stonet::FittedClassifier| {
            let scorer = head.scorer(output)?;
            let reads = !scorer.inputs().is_empty();
            Ok((scorer, reads))
        };
        Ok((LabelScorers(head.heads().iter().map(one).collect::<Result<_>>()?), columns.to_vec()))
    }

    /// The probability of each label for rows of these columns.
    pub(super) fn run(&self, columns: &[Column<'_>], rows: usize) -> Result<Vec<Vec<f64>>> {
        let one = |(k, (scorer, reads)): (usize, &(Arc<Scorer>, bool))| {
            let own = if *reads { &columns[k..=k] } else { &[] };
            let mut both = scorer.run(own, rows).map_err(|e| e.of_column(k))?;
            Ok(both.swap_remove(PRESENT))
        };
        self.0.iter().enumerate().map(one).collect()
    }
}
