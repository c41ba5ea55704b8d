//! The columns of a table as the arrays that a model's head reads.

use ndarray::Array2;
use stonet::{ClassInputs, RegressionInputs};

use crate::{Error, Head, Model, Result, Table};

/// Arrays of the columns that a head was fitted on.
#[derive(Debug)]
pub struct ModelInputs {
    features: Option<Array2<f64>>,
    prediction: Option<Array2<f64>>,
    /// Lower and upper quantiles, a standard deviation, or nothing.
    own: Vec<Array2<f64>>,
    functions: Option<Array2<f64>>,
    logits: Option<Array2<f64>>,
    rows: usize,
}

impl ModelInputs {
    /// The columns of a table, found by name; all that are missing are named at once.
    pub fn of(model: &Model, table: &Table) -> Result<Self> {
        let columns = &model.columns;
        table.find(&columns.inputs())?;
        let some = |names: &[String]| -> Result<Option<Array2<f64>>> {
            if names.is_empty() { Ok(None) } else { Ok(Some(table.select(&table.find(names)?))) }
        };
        let own = columns.own_columns().into_iter().map(|names| Ok(table.select(&table.find(names)?)));
        let logits = match (some(&columns.logits)?, model.kind) {
            (Some(z), Some(kind)) => Some(kind.logits(z)?),
            _ => None,
        };
        let features = match (some(&columns.features)?, &model.head) {
            // A head may read the network's prediction alone.
            (None, Head::Regression(_)) => Some(Array2::zeros((table.rows(), 0))),
            (features, _) => features,
        };
        Ok(ModelInputs {
            features,
            prediction: some(&columns.prediction)?,
            own: own.collect::<Result<_>>()?,
            functions: some(&columns.conditional)?,
            logits,
            rows: table.rows(),
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// For a regression head, of rows in the groups of these numbers.
    pub fn regression<'a>(&'a self, groups: Option<&'a [f64]>) -> Result<RegressionInputs<'a>> {
        let features = self.features.as_ref().ok_or_else(nothing)?;
        let mut rows = RegressionInputs::new(features.view())?;
        if let Some(groups) = groups {
            rows = rows.with_within(groups)?;
        }
        if let Some(f) = &self.functions {
            rows = rows.with_conditional(f.view())?;
        }
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view())?;
        }
        Ok(match &self.own[..] {
            [] => rows,
            [sd] => rows.with_sd(sd.view())?,
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view())?,
        })
    }

    /// For a classifier.
    pub fn classes(&self) -> Result<ClassInputs<'_>> {
        match (&self.logits, &self.features) {
            (Some(z), None) => Ok(ClassInputs::logits(z.view())?),
            (Some(z), Some(f)) => Ok(ClassInputs::logits(z.view())?.with_features(f.view())?),
            (None, Some(f)) => Ok(ClassInputs::features(f.view())?),
            (None, None) => Err(nothing()),
        }
    }
}

fn nothing() -> Error {
    Error::Unsound { why: "a head that reads nothing".into() }
}
