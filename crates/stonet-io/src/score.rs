//! A saved model put to use: tables in, columns of predictions and bounds, or of class probabilities, out.

#[cfg(feature = "parquet")]
mod batch;
mod file;

use ndarray::{Array1, Array2, Axis, CowArray, Ix2, s};
use stonet::anatomy::View;
use stonet::metrics::top_class;
use stonet::{
    ClassInputs, FittedClassifier, FittedPostStoNet, InputKind, Intervals, LabelKind, Labels, Level, Scorer, Side,
};

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
    head: Head,
}

#[derive(Debug, Clone)]
enum Head {
    Intervals {
        scorer: Box<Scorer>,
        side: Side,
    },
    Classes {
        fitted: Box<FittedClassifier>,
        kind: InputKind,
        labels: Labels,
        /// How many of the inputs are outputs of the network; the others are features.
        logits: usize,
    },
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
        if settings.joint {
            // Bonferroni.
            let each = |l: &Level| Level::new(1.0 - (1.0 - l.get()) / head.outputs() as f64);
            levels = levels.iter().map(each).collect::<stonet::Result<_>>()?;
        }
        let side = settings.side;
        let scorer = Box::new(head.scorer(&levels, side)?);
        // Only the features that matter, then the network's predictions where they do.
        let prediction = if scorer.needs_prediction() { &columns.prediction[..] } else { &[] };
        let features = scorer.columns().iter().map(|&k| &columns.features[k]);
        let mut inputs: Vec<String> = features.chain(prediction).cloned().collect();
        if inputs.is_empty() {
            // A constant; something has to tell how many rows there are.
            inputs.extend(columns.features.first().cloned());
        }
        let outputs = names.into_iter().map(|n| Column::new(n, number)).collect();
        Ok(ModelScorer { inputs, outputs, head: Head::Intervals { scorer, side } })
    }

    fn classes(model: &Model, head: &FittedClassifier, number: Type) -> Result<Self> {
        let unsound = |why: &str| Error::Unsound { why: why.into() };
        let kind = model.kind.ok_or_else(|| unsound("a classification needs the kind of its inputs"))?;
        let labels = model.labels.clone().ok_or_else(|| unsound("a classification needs its classes"))?;
        let seen = |m: &stonet::calibration::Corrected| matches!(m.correction(), Some((View::Features(_), _)));
        let on_features = head.members().into_iter().any(|(_, m)| seen(m));
        let features = if on_features || kind == InputKind::Features { &model.columns.features[..] } else { &[] };
        let inputs = model.columns.logits.iter().chain(features).cloned().collect();
        let mut outputs = vec![Column::new("class", class_type(&labels))];
        outputs.extend(labels.names().iter().map(|name| Column::new(format!("p_{name}"), number)));
        let logits = model.columns.logits.len();
        let head = Head::Classes { fitted: Box::new(head.clone()), kind, labels, logits };
        Ok(ModelScorer { inputs, outputs, head })
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
        match &self.head {
            Head::Intervals { scorer, side } => {
                let (features, network) = places.split_at(scorer.columns().len().min(places.len()));
                let x = select(table, features);
                let d = scorer.needs_prediction().then(|| select(table, network));
                let all = scorer.score(x.view(), d.as_ref().map(|d| d.view()))?;
                Ok(Scored { columns: ends(all, *side), rows: table.rows() })
            }
            Head::Classes { fitted, kind, labels, logits } => {
                let x = table.select(&places[*logits..]);
                let p = match kind {
                    InputKind::Features => {
                        let x = kind.logits(x)?;
                        fitted.probabilities(&ClassInputs::features(x.view())?)?
                    }
                    _ => {
                        let z = table.select(&places[..*logits]);
                        // Whether logits are not probabilities in truth was looked at when the head was fitted; a few rows may look so by chance.
                        let z = kind.logits(z)?;
                        let inputs = ClassInputs::logits(z.view())?;
                        fitted.probabilities(&if x.ncols() > 0 { inputs.with_features(x.view())? } else { inputs })?
                    }
                };
                Ok(Scored { columns: class_columns(&p, labels), rows: table.rows() })
            }
        }
    }
}

/// These columns; without a copy where they lie side by side.
fn select<'t>(table: &'t Table, columns: &[usize]) -> CowArray<'t, f64, Ix2> {
    let first = columns.first().copied().unwrap_or(0);
    match columns.iter().copied().eq(first..first + columns.len()) {
        true => table.values().slice_move(s![.., first..first + columns.len()]).into(),
        false => table.select(columns).into(),
    }
}

/// Target by target: the prediction, and the ends of every level.
fn ends(all: Vec<Intervals>, side: Side) -> Vec<Values> {
    let targets = all.first().map_or(0, |i| i.prediction.ncols());
    let column = |a: &Array2<f64>, j: usize| Values::Numbers(a.column(j).to_owned());
    let mut columns = Vec::new();
    for j in 0..targets {
        columns.extend(all.first().map(|i| column(&i.prediction, j)));
        for i in &all {
            columns.extend((side != Side::Upper).then(|| column(&i.lower, j)));
            columns.extend((side != Side::Lower).then(|| column(&i.upper, j)));
        }
    }
    columns
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

/// The most probable class, the first of equals, and all probabilities.
fn class_columns(p: &Array2<f64>, labels: &Labels) -> Vec<Values> {
    let names = labels.names();
    let best = p.outer_iter().map(top_class);
    let class = match class_type(labels) {
        Type::F64 => {
            let values: Vec<f64> = names.iter().map(|n| n.parse().unwrap_or(f64::NAN)).collect();
            Values::Numbers(best.map(|k| values[k]).collect())
        }
        _ => Values::Text(best.map(|k| names[k].clone()).collect()),
    };
    [class].into_iter().chain(p.axis_iter(Axis(1)).map(|c| Values::Numbers(c.to_owned()))).collect()
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
