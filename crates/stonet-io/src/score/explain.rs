//! Columns that explain a row: parts of its uncertainty, the columns that widen its interval, and how strange it is.

use std::sync::Arc;

use stonet::explain::{self, Explainable, Explanation, Shares};
use stonet::regression::{WidthParts, WidthTerm};

use super::{ModelScorer, Values};
use crate::inputs::ModelInputs;
use crate::{Column, Error, Head, Model, ModelColumns, Result, Table, Type};

/// Columns that are named for every row.
const NAMED: usize = 3;

/// Why a head of many labels is refused.
const MANY_LABELS: &str = "is not for heads of many labels; fit a head of one label to explain its rows";

/// What explains the rows of a model.
#[derive(Debug, Clone)]
pub(super) struct Explainer {
    model: Arc<Model>,
    can: Explainable,
}

impl ModelColumns {
    /// What a term of the learned scale is called: the name of a column, or words in brackets.
    pub fn width_term(&self, term: WidthTerm) -> &str {
        match term {
            WidthTerm::Feature(k) => self.features.get(k).map_or("", String::as_str),
            WidthTerm::Prediction => "(prediction)",
            WidthTerm::Network => "(distance to the network's prediction)",
            WidthTerm::Own => "(the network's own width)",
            WidthTerm::Limits => "(limits)",
        }
    }
}

impl Model {
    /// What can be told of the rows of this head; a head of which nothing can be told is an error, which calls the wish
    /// `setting`.
    pub fn explainable(&self, setting: &'static str) -> Result<Explainable> {
        let can = match &self.head {
            Head::Regression(head) => Explainable::regression(head, self.baseline.as_ref()),
            Head::Classification(head) => Explainable::classification(head, self.baseline.as_ref()),
            Head::Labels(_) => return Err(Error::Refused { setting, why: MANY_LABELS.into() }),
        };
        match can.is_empty() {
            true => {
                let why = format!("has nothing to tell of this head: {}", can.missing().join("; "));
                Err(Error::Refused { setting, why: why.into() })
            }
            false => Ok(can),
        }
    }
}

impl ModelScorer {
    /// With columns that explain every row behind the predictions: `model_share` and `noise_share`, `width_ratio`,
    /// `wide_1` to `wide_3` with their factors, and `novelty`; what the head cannot tell is left out. With several targets
    /// each has the target's name in front, but for `novelty`. `setting` is what messages call the wish.
    pub fn explained(mut self, model: &Model, setting: &'static str) -> Result<Self> {
        let can = model.explainable(setting)?;
        let number = if self.outputs.iter().any(|c| c.kind == Type::F32) { Type::F32 } else { Type::F64 };
        let columns = columns(&can, &model.columns.targets, number);
        if let Some(both) = columns.iter().find(|c| self.outputs.iter().any(|o| o.name == c.name)) {
            let why = format!("gives a column `{}`, and a prediction is called that too; rename the class", both.name);
            return Err(Error::Refused { setting, why: why.into() });
        }
        self.outputs.extend(columns);
        let read = model.columns.inputs();
        self.inputs.extend(read.into_iter().filter(|n| !self.inputs.contains(n)).collect::<Vec<_>>());
        self.explainer = Some(Explainer { model: Arc::new(model.clone()), can });
        Ok(self)
    }

    /// What is left out of the explanation, and why.
    pub fn unexplained(&self) -> &[&'static str] {
        self.explainer.as_ref().map_or(&[], |e| e.can.missing())
    }
}

/// The columns of an explanation.
fn columns(can: &Explainable, targets: &[String], number: Type) -> Vec<Column> {
    let mut columns = Vec::new();
    for (width, name) in can.widths.iter().zip(targets) {
        let prefix = if can.widths.len() == 1 { String::new() } else { format!("{name}_") };
        let mut add = |name: &str, kind: Type| columns.push(Column::new(format!("{prefix}{name}"), kind));
        if can.shares {
            add("model_share", number);
            add("noise_share", number);
        }
        if width.is_some() {
            add("width_ratio", number);
            for i in 1..=NAMED {
                add(&format!("wide_{i}"), Type::Text);
                add(&format!("wide_{i}_factor"), number);
            }
        }
    }
    columns.extend(can.novelty.then(|| Column::new("novelty", number)));
    columns
}

impl Explainer {
    /// The columns of an explanation for the rows of a table.
    pub(super) fn values(&self, table: &Table) -> Result<Vec<Values>> {
        let Explanation { targets, novelty } = self.explain(table)?;
        let mut values = Vec::new();
        for target in targets {
            if let Some(Shares { model, noise }) = target.shares {
                values.extend([Values::Numbers(model), Values::Numbers(noise)]);
            }
            if let Some(width) = target.width {
                values.extend(self.width(&width));
            }
        }
        values.extend(novelty.map(Values::Numbers));
        Ok(values)
    }

    fn explain(&self, table: &Table) -> Result<Explanation> {
        let (inputs, baseline) = (ModelInputs::of(&self.model, table)?, self.model.baseline.as_ref());
        match &self.model.head {
            Head::Regression(head) => Ok(explain::regression(head, baseline, &inputs.regression(None)?)?),
            Head::Classification(head) => Ok(explain::classification(head, baseline, &inputs.classes()?)?),
            Head::Labels(_) => Err(Error::Unsound { why: "a head of many labels is not explained".into() }),
        }
    }

    /// The ratio of the scale to its mean, and the columns that widen it most with their factors; no name and 1 where
    /// fewer do.
    fn width(&self, width: &WidthParts) -> Vec<Values> {
        let mut columns = vec![Values::Numbers(width.log_ratio.iter().map(|l| l.exp()).collect())];
        let rows: Vec<Vec<(WidthTerm, f64)>> = (0..width.log_ratio.len()).map(|i| width.widest(i, NAMED)).collect();
        for i in 0..NAMED {
            let name = |row: &Vec<(WidthTerm, f64)>| row.get(i).map_or("", |t| self.model.columns.width_term(t.0));
            columns.push(Values::Text(rows.iter().map(|row| name(row).to_owned()).collect()));
            columns.push(Values::Numbers(rows.iter().map(|row| row.get(i).map_or(1.0, |t| t.1.exp())).collect()));
        }
        columns
    }
}
