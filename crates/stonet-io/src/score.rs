//! A saved model put to use: tables in, columns of predictions and bounds, or of class probabilities, out.

#[cfg(feature = "parquet")]
mod batch;
mod file;

use std::sync::Arc;

use ndarray::{Array1, s};
use stonet::score::{self, Asked, Input, Port, Scorer};
use stonet::{ClassOutput, FittedClassifier, FittedPostStoNet, LabelKind, Labels, Level, Side};

use crate::{Cells, Column, Error, Fitted, Model, Result, Table, Type, Writer};
#[cfg(feature = "parquet")]
pub use batch::{BatchInputs, BatchScorer};
pub use file::{label_kind, score_file, types};

/// What to predict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScoreSettings {
    /// Levels of the intervals; if there are none, the model's own, or 0.9.
    pub levels: Vec<Level>,
    /// Which ends.
    pub side: Side,
    /// Whether a row's intervals hold all targets at once with the level, and not each by itself.
    pub joint: bool,
    /// Whether numbers are written with 32 bits.
    pub single: bool,
}

/// A model made ready to predict for any number of tables.
///
/// Its [outputs](Self::outputs) are `prediction`, `lower_90`, `upper_90`, … for every level; with several targets each has the target's name in
/// front, such as `price_lower_90`. A classifier's are `class`, the most probable one, of the kind of the labels, and `p_<label>` for every
/// class.
#[derive(Debug, Clone)]
pub struct ModelScorer {
    inputs: Vec<String>,
    outputs: Vec<Column>,
    scorer: Arc<Scorer>,
    /// The classes, where class probabilities come out.
    labels: Option<Labels>,
}

/// Predictions of some rows, in the columns of [`ModelScorer::outputs`].
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    columns: Vec<Values>,
    rows: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Values {
    Numbers(Array1<f64>),
    Text(Vec<String>),
}

impl ModelScorer {
    /// Prepares a model; a one-sided bound of Eve's law at a level of 0.5 and below is an error.
    pub fn new(model: &Model, settings: &ScoreSettings) -> Result<Self> {
        let number = if settings.single { Type::F32 } else { Type::F64 };
        match &model.head {
            Fitted::Regression(head) => Self::intervals(model, head, settings, number),
            Fitted::Classification(head) => Self::classes(model, head, number),
        }
    }

    fn intervals(model: &Model, head: &FittedPostStoNet, settings: &ScoreSettings, number: Type) -> Result<Self> {
        let columns = &model.columns;
        let mut levels = settings.levels.clone();
        if levels.is_empty() {
            levels.push(model.level.map_or_else(|| Level::new(0.9), Ok)?);
        }
        let mut names = Vec::new();
        for target in &columns.targets {
            let prefix = if columns.targets.len() == 1 { String::new() } else { format!("{target}_") };
            names.push(format!("{prefix}prediction"));
            for level in &levels {
                let ends = [(Side::Upper, "lower"), (Side::Lower, "upper")];
                let there = ends.iter().filter(|(without, _)| settings.side != *without);
                names.extend(there.map(|(_, end)| format!("{prefix}{end}_{}", percent(*level))));
            }
        }
        let scorer = head.scorer(&Asked { levels, side: settings.side, joint: settings.joint })?;
        let outputs = names.into_iter().map(|n| Column::new(n, number)).collect();
        Ok(ModelScorer { inputs: inputs(model, &scorer), outputs, scorer, labels: None })
    }

    fn classes(model: &Model, head: &FittedClassifier, number: Type) -> Result<Self> {
        let unsound = |why: &str| Error::Unsound { why: why.into() };
        let kind = model.kind.ok_or_else(|| unsound("a classification needs the kind of its inputs"))?;
        let labels = model.labels.clone().ok_or_else(|| unsound("a classification needs its classes"))?;
        let mut outputs = vec![Column::new("class", class_type(&labels))];
        outputs.extend(labels.names().iter().map(|name| Column::new(format!("p_{name}"), number)));
        let scorer = head.scorer(ClassOutput { kind, columns: model.columns.logits.len() })?;
        Ok(ModelScorer { inputs: inputs(model, &scorer), outputs, scorer, labels: Some(labels) })
    }

    /// The columns to read; others do not matter.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// How many rows make a batch that stays in the cache: 2 MiB of inputs.
    pub fn batch_rows(&self) -> usize {
        ((1 << 21) / (8 * self.inputs.len().max(1))).clamp(2048, 1 << 16)
    }

    /// The columns that come out.
    pub fn outputs(&self) -> &[Column] {
        &self.outputs
    }

    /// Predicts for the rows of a table, whose columns are found by their names. All columns that are missing are named at once.
    pub fn score(&self, table: &Table) -> Result<Scored> {
        let places = table.find(&self.inputs)?;
        let values = table.values();
        let column = |&place: &usize| score::Column::F64(values.slice_move(s![.., place]));
        // A constant reads nothing; its one input tells how many rows there are.
        let columns: Vec<score::Column<'_>> = places.iter().take(self.scorer.inputs().len()).map(column).collect();
        let columns = self.scorer.run(&columns, table.rows())?;
        Ok(Scored { columns: self.values(columns), rows: table.rows() })
    }

    /// The scorer's columns in the order of the outputs.
    fn values(&self, mut columns: Vec<Vec<f64>>) -> Vec<Values> {
        let numbers = |column: Vec<f64>| Values::Numbers(column.into());
        let Some(labels) = &self.labels else { return columns.into_iter().map(numbers).collect() };
        let class = columns.pop().map(|best| classes(&best, labels));
        class.into_iter().chain(columns.into_iter().map(numbers)).collect()
    }
}

/// The names of the columns that are read.
fn inputs(model: &Model, scorer: &Scorer) -> Vec<String> {
    let columns = &model.columns;
    let name = |i: &Input| match i.port {
        Port::Features => &columns.features[i.column],
        Port::Prediction => &columns.prediction[i.column],
        Port::Logits => &columns.logits[i.column],
    };
    let names: Vec<String> = scorer.inputs().iter().map(|i| name(i).clone()).collect();
    if names.is_empty() {
        // A constant; something has to tell how many rows there are.
        return columns.inputs().into_iter().take(1).collect();
    }
    names
}

/// The type of the column of classes. Files of earlier versions do not tell the kind: their classes are text.
fn class_type(labels: &Labels) -> Type {
    match labels.kind() {
        None | Some(LabelKind::Text) => Type::Text,
        Some(LabelKind::Integer) => Type::Integer,
        Some(LabelKind::Boolean) => Type::Boolean,
        Some(LabelKind::Date) => Type::Date,
        Some(LabelKind::Datetime) => Type::Datetime,
        Some(LabelKind::Float) => Type::F64,
    }
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

/// 0.9 is `90` and 0.995 is `99.5`.
fn percent(level: Level) -> String {
    // 100 · 0.57 is not quite 57.
    format!("{}", (level.get() * 1e12).round() / 1e10)
}

impl Scored {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// These rows, and then others.
    #[cfg(feature = "parquet")]
    fn join(parts: Vec<Scored>) -> Option<Scored> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        let rest: Vec<Scored> = parts.collect();
        if rest.is_empty() {
            return Some(whole);
        }
        whole.rows += rest.iter().map(|p| p.rows).sum::<usize>();
        for (i, column) in whole.columns.iter_mut().enumerate() {
            let more = rest.iter().map(|p| &p.columns[i]);
            match column {
                Values::Numbers(first) => {
                    let more = more.filter_map(|v| if let Values::Numbers(v) = v { Some(v) } else { None });
                    *first = first.iter().chain(more.flatten()).copied().collect();
                }
                Values::Text(texts) => {
                    more.for_each(|v| {
                        if let Values::Text(t) = v {
                            texts.extend_from_slice(t)
                        }
                    });
                }
            }
        }
        Some(whole)
    }

    /// The columns, as a [`Writer`] takes them.
    pub fn cells(&self) -> Vec<Cells<'_>> {
        fn cells(v: &Values) -> Cells<'_> {
            match v {
                Values::Numbers(v) => Cells::Numbers(v.view()),
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
