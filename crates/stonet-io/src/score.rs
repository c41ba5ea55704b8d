//! A saved model put to use: tables in, columns of predictions and bounds, or of class probabilities, out.

#[cfg(feature = "parquet")]
mod batch;
mod explain;
mod file;
mod resolve;

use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView1;
use stonet::rows::Within;
use stonet::score::{self, Input, Output, Port, Quantity, Scorer};
use stonet::{Labels, Level, Side};

use crate::{Cells, Column, Error, Head, Model, ModelColumns, Place, Problem, Result, SavedRule, Table, Type, Writer};
#[cfg(feature = "parquet")]
pub use batch::{BatchInputs, BatchScorer, BatchTables};
pub use file::{label_kind, score_file, types};
use resolve::class_type;
pub use resolve::{
    HeadAsked, Resolved, Setting, UNUSED_PREDICTION, below_name, check_levels, default_level, interval_columns,
    quantile_name,
};

/// What to predict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScoreSettings {
    /// Levels of the intervals; if there are none and nothing else is asked for, the model's own, or 0.9.
    pub levels: Vec<Level>,
    /// Which ends.
    pub side: Side,
    /// Whether a row's intervals hold all targets at once with the level, and not each by itself.
    pub joint: bool,
    /// Quantiles of every target by itself.
    pub quantiles: Vec<Level>,
    /// Values t for which P(y ≤ t) is asked.
    pub below: Vec<f64>,
    /// Whether a classifier's prediction sets are asked for, and in which columns.
    pub sets: Option<SetColumns>,
    /// Whether a classifier's bounds of accuracy are asked for.
    pub accuracy: bool,
    /// A rule that answers rows or abstains, in column `decision`.
    pub rule: Option<SavedRule>,
    /// What stands in that column.
    pub decision: DecisionColumn,
    /// Whether numbers are written with 32 bits.
    pub single: bool,
}

/// What stands in the column `decision`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecisionColumn {
    /// `answer` or `abstain`.
    #[default]
    Text,
    /// 1 for an answer, and 0 otherwise: for formats of numbers alone.
    Number,
}

/// The columns of a prediction set; `set_size` stands beside either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetColumns {
    /// `set`: the labels in the order of the classes with `|` between them; a `|` or `\` within a label has a `\` in
    /// front. An empty set is an empty text.
    #[default]
    Text,
    /// `in_<label>` for every class: 1 where it is in the set and 0 elsewhere.
    Columns,
}

/// A model made ready to predict for any number of tables.
///
/// Its [outputs](Self::outputs) are `prediction`, then `lower_90`, `upper_90`, … for every level, `q05` for the quantile
/// 0.05, and `below_100` for P(y ≤ 100); with several targets each has the target's name in front, such as
/// `price_lower_90`. A classifier's are `class`, the most probable one, of the
/// kind of the labels, and `p_<label>` for every class; then `set`, or `in_<label>` for every class, and `set_size`, where
/// sets are asked for; then `accuracy_lower` and `accuracy_upper`, where bounds of accuracy are. A head of many labels
/// has `p_<label>` for each. With a rule the last column is `decision`: `answer` or `abstain`.
#[derive(Debug, Clone)]
pub struct ModelScorer {
    inputs: Vec<String>,
    groups: Option<Groups>,
    outputs: Vec<Column>,
    scorer: Arc<Scorer>,
    /// The classes, where class probabilities come out.
    labels: Option<Labels>,
    /// The columns of prediction sets, where they are asked for.
    sets: Option<SetColumns>,
    /// What stands in the column of decisions.
    decision: DecisionColumn,
    /// What explains the rows, where that is asked for.
    explainer: Option<explain::Explainer>,
}

/// The columns of text that tell a row's group, and the groups that are known.
#[derive(Debug, Clone)]
struct Groups {
    columns: Vec<String>,
    within: Within,
}

/// Predictions of some rows, in the columns of [`ModelScorer::outputs`].
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    columns: Vec<Values>,
    rows: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Values {
    Numbers(Vec<f64>),
    Text(Vec<String>),
}

impl ModelScorer {
    /// Prepares a model for what [`Model::resolve`] makes of the settings.
    pub fn new(model: &Model, settings: &ScoreSettings) -> Result<Self> {
        Self::of(model, &model.resolve(settings)?)
    }

    /// The same for what was resolved.
    pub fn of(model: &Model, resolved: &Resolved) -> Result<Self> {
        Self::with_names(model, &model.columns, resolved)
    }

    /// The same where the model's columns are called as these are, which fit the head.
    fn with_names(model: &Model, columns: &ModelColumns, resolved: &Resolved) -> Result<Self> {
        let scorer = resolved.scorer(model)?;
        let labels = resolved.is_classes().then(|| model.labels.clone()).flatten();
        let (sets, decision) = (resolved.set_columns(), resolved.decision_column());
        let inputs = inputs(columns, &scorer);
        let outputs = resolved.outputs(model);
        let groups = groups(model, columns, &scorer);
        Ok(ModelScorer { inputs, groups, outputs, scorer, labels, sets, decision, explainer: None })
    }

    /// The same for other names; there must be as many of each. The head is not copied, so that it keeps what it made
    /// ready.
    #[cfg(feature = "parquet")]
    fn renamed(model: &Model, columns: &ModelColumns, settings: &ScoreSettings) -> Result<Self> {
        if *columns != model.columns {
            model.check_columns(columns).map_err(|why| Error::Unsound { why })?;
        }
        let resolved = model.resolve(settings)?.with_logits(columns.logits.len());
        Self::with_names(model, columns, &resolved)
    }

    /// The columns to read as numbers; others do not matter.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The columns to read as text: those of the groups within which intervals are to cover.
    pub fn texts(&self) -> &[String] {
        self.groups.as_ref().map_or(&[], |g| &g.columns)
    }

    /// How many rows make a batch that stays in the cache: 2 MiB of inputs.
    pub fn batch_rows(&self) -> usize {
        ((1 << 21) / (8 * self.inputs.len().max(1))).clamp(2048, 1 << 16)
    }

    /// The columns that come out.
    pub fn outputs(&self) -> &[Column] {
        &self.outputs
    }

    /// Predicts for the rows of a table, whose columns are found by their names. All columns that are missing are named
    /// at once.
    pub fn score(&self, table: &Table) -> Result<Scored> {
        self.score_with(table, self.numbers(table)?.as_deref())
    }

    /// The same with the numbers of the rows' groups from elsewhere.
    fn score_with(&self, table: &Table, groups: Option<&[f64]>) -> Result<Scored> {
        let columns = table.all_columns();
        let column = |&place: &usize| score::Column::F64(ArrayView1::from(&columns[place][..]));
        let columns: Vec<score::Column<'_>> = table.find(&self.inputs)?.iter().map(column).collect();
        let mut scored = self.run(&columns, groups, table.rows()).map_err(|e| self.named(e, table.source()))?;
        if let Some(explainer) = &self.explainer {
            scored.columns.extend(explainer.values(table)?);
        }
        Ok(scored)
    }

    /// A standard deviation that is none, by file and column.
    fn named(&self, error: Error, path: &Path) -> Error {
        let Error::Core(stonet::Error::NotPositive { row, column, value, .. }) = error else { return error };
        let place = self.scorer.inputs().iter().position(|i| (i.port, i.column) == (Port::Sd, column));
        let column = place.map_or_else(|| column.to_string(), |k| self.inputs[k].clone());
        Error::NotPositive { path: path.to_owned(), row, column, value }
    }

    /// The numbers of the rows' groups, where they matter.
    fn numbers(&self, table: &Table) -> Result<Option<Vec<f64>>> {
        let Some(Groups { columns, within }) = &self.groups else { return Ok(None) };
        let texts = columns.iter().map(|name| table.text(name)).collect::<Result<Vec<_>>>()?;
        let numbers = within.encode(&texts).map_err(|e| match e {
            stonet::Error::MissingGroup { row, column, text } => {
                let place = Place::Entry(row as u64, columns[column].clone());
                Problem::MissingValue { text }.at(table.source().to_owned(), place)
            }
            e => e.into(),
        })?;
        Ok(Some(numbers))
    }

    /// Predicts for rows of the [inputs](Self::inputs) in their order, and of these groups.
    fn run<'c>(&self, columns: &[score::Column<'c>], groups: Option<&'c [f64]>, rows: usize) -> Result<Scored> {
        let groups = groups.map(|g| score::Column::F64(ArrayView1::from(g)));
        // A constant reads nothing; its one input tells how many rows there are.
        let read = self.scorer.inputs().len() - usize::from(groups.is_some());
        let columns: Vec<score::Column<'_>> = columns[..read].iter().copied().chain(groups).collect();
        let columns = self.scorer.run(&columns, rows)?;
        Ok(Scored { columns: self.values(self.scorer.outputs(), columns), rows })
    }

    /// The columns of a scorer with these outputs, in the order of [`Self::outputs`].
    fn values(&self, outputs: &[Output], columns: Vec<Vec<f64>>) -> Vec<Values> {
        let (mut values, mut members) = (Vec::new(), Vec::new());
        for (output, column) in outputs.iter().zip(columns) {
            let Some(labels) = &self.labels else {
                values.push(self.value(output.quantity, column));
                continue;
            };
            match output.quantity {
                // In front of the probabilities.
                Quantity::Class => values.insert(0, classes(&column, labels)),
                Quantity::InSet { .. } if self.sets != Some(SetColumns::Columns) => members.push(column),
                Quantity::SetSize { .. } => {
                    if !members.is_empty() {
                        values.push(Values::Text(set_texts(&members, labels)));
                        members.clear();
                    }
                    values.push(Values::Text(column.iter().map(f64::to_string).collect()));
                }
                quantity => values.push(self.value(quantity, column)),
            }
        }
        values
    }

    /// A column that stands by itself.
    fn value(&self, quantity: Quantity, column: Vec<f64>) -> Values {
        match (quantity, self.decision) {
            (Quantity::Decision, DecisionColumn::Text) => {
                Values::Text(column.iter().map(|v| if *v == 1.0 { "answer" } else { "abstain" }.to_owned()).collect())
            }
            _ => Values::Numbers(column),
        }
    }
}

/// The names of the columns that are read.
fn inputs(columns: &ModelColumns, scorer: &Scorer) -> Vec<String> {
    // Groups are text, and the last of a scorer's inputs.
    let name = |i: &Input| match i.port {
        Port::Features => Some(&columns.features[i.column]),
        Port::Prediction => Some(&columns.prediction[i.column]),
        Port::Lower => Some(&columns.lower[i.column]),
        Port::Upper => Some(&columns.upper[i.column]),
        Port::Sd => Some(&columns.sd[i.column]),
        Port::Logits => Some(&columns.logits[i.column]),
        Port::Values => Some(&columns.targets[i.column]),
        Port::Functions => Some(&columns.conditional[i.column]),
        Port::Groups => None,
    };
    let names: Vec<String> = scorer.inputs().iter().filter_map(name).cloned().collect();
    if names.is_empty() {
        // A constant; something has to tell how many rows there are.
        return columns.inputs().into_iter().take(1).collect();
    }
    names
}

/// The groups of a head that reads them.
fn groups(model: &Model, columns: &ModelColumns, scorer: &Scorer) -> Option<Groups> {
    let Head::Regression(head) = &model.head else { return None };
    scorer.plan().columns(Port::Groups).next()?;
    Some(Groups { columns: columns.within.clone(), within: head.within()?.clone() })
}

/// The labels of every row's set with `|` between them.
fn set_texts(members: &[Vec<f64>], labels: &Labels) -> Vec<String> {
    let escaped: Vec<String> = labels.names().iter().map(|n| n.replace('\\', "\\\\").replace('|', "\\|")).collect();
    let rows = members.first().map_or(0, Vec::len);
    let row = |i: usize| {
        let kept = members.iter().zip(&escaped).filter(|(member, _)| member[i] == 1.0);
        kept.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join("|")
    };
    (0..rows).map(row).collect()
}

/// Classes by their numbers.
fn classes(best: &[f64], labels: &Labels) -> Values {
    let names = labels.names();
    match class_type(labels) {
        Type::F64 => {
            let values: Vec<f64> = names.iter().map(|n| n.parse().unwrap_or(f64::NAN)).collect();
            Values::Numbers(best.iter().map(|&k| values[k as usize]).collect())
        }
        _ => Values::Text(best.iter().map(|&k| names[k as usize].clone()).collect()),
    }
}

impl Scored {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, as a [`Writer`] takes them.
    pub fn cells(&self) -> Vec<Cells<'_>> {
        fn cells(v: &Values) -> Cells<'_> {
            match v {
                Values::Numbers(v) => Cells::Numbers(ArrayView1::from(&v[..])),
                Values::Text(t) => Cells::Text(t),
            }
        }
        self.columns.iter().map(cells).collect()
    }

    /// Appends the rows to a file that was created with [`ModelScorer::outputs`].
    pub fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.write(&self.cells())
    }
}
