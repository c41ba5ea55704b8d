//! A model under watch: tables in, the state of its monitor out.

use stonet::monitor::{ClassMonitor, Monitor, MonitorSettings, RegressionMonitor};
use stonet::{ClassInputs, RegressionInputs};

use crate::inputs::ModelInputs;
use crate::{Error, Head, Model, Result, Table};

/// Why a head of many labels is refused.
const MANY_LABELS: &str = "a head of many labels cannot be watched yet; watch heads of one label each";

/// A monitor of a model's head, whatever its task is.
#[derive(Debug)]
pub struct Watch<'m> {
    model: &'m Model,
    of: Of<'m>,
}

#[derive(Debug)]
enum Of<'m> {
    Regression(Box<RegressionMonitor<'m>>),
    Classes(Box<ClassMonitor<'m>>),
}

impl<'m> Watch<'m> {
    /// Begins to watch a head; a head of many labels is an error.
    pub fn new(model: &'m Model, settings: MonitorSettings) -> Result<Self> {
        let (baseline, logits) = (model.baseline.as_ref(), !model.columns.logits.is_empty());
        let of = match &model.head {
            Head::Regression(head) => Of::Regression(Box::new(RegressionMonitor::new(head, baseline, settings)?)),
            Head::Classification(head) => Of::Classes(Box::new(ClassMonitor::new(head, baseline, logits, settings)?)),
            Head::Labels(_) => return Err(Error::Unwatched { why: MANY_LABELS }),
        };
        Ok(Watch { model, of })
    }

    /// Goes on with an earlier state of the same head.
    pub fn resume(model: &'m Model, state: Monitor) -> Result<Self> {
        let (baseline, logits) = (model.baseline.as_ref(), !model.columns.logits.is_empty());
        let of = match &model.head {
            Head::Regression(head) => Of::Regression(Box::new(RegressionMonitor::resume(head, baseline, state)?)),
            Head::Classification(head) => Of::Classes(Box::new(ClassMonitor::resume(head, baseline, logits, state)?)),
            Head::Labels(_) => return Err(Error::Unwatched { why: MANY_LABELS }),
        };
        Ok(Watch { model, of })
    }

    /// What it has seen.
    pub fn state(&self) -> &Monitor {
        match &self.of {
            Of::Regression(watch) => watch.state(),
            Of::Classes(watch) => watch.state(),
        }
    }

    /// Adds rows of a regression, with their targets where these are known.
    pub fn add_regression(
        &mut self,
        rows: &RegressionInputs<'_>,
        y: Option<ndarray::ArrayView2<'_, f64>>,
    ) -> Result<()> {
        match &mut self.of {
            Of::Regression(watch) => Ok(watch.add(rows, y)?),
            Of::Classes(_) => Err(Error::Unwatched {
                why: "the head gives class probabilities, and the rows are those of a regression",
            }),
        }
    }

    /// Adds rows of a classification, with their classes where these are known.
    pub fn add_classes(&mut self, rows: &ClassInputs<'_>, labels: Option<&[usize]>) -> Result<()> {
        match &mut self.of {
            Of::Classes(watch) => Ok(watch.add(rows, labels)?),
            Of::Regression(_) => {
                Err(Error::Unwatched { why: "the head gives intervals, and the rows are those of a classification" })
            }
        }
    }

    /// Adds the rows of a table without answers. It has all columns that the head was fitted on; those of groups are
    /// text.
    pub fn add(&mut self, table: &Table) -> Result<()> {
        let inputs = ModelInputs::of(self.model, table)?;
        match &self.model.head {
            Head::Regression(head) => {
                let texts =
                    self.model.columns.within.iter().map(|name| table.text(name)).collect::<Result<Vec<_>>>()?;
                let groups = head.within().map(|within| within.encode(&texts)).transpose()?;
                self.add_regression(&inputs.regression(groups.as_deref())?, None)
            }
            Head::Classification(_) | Head::Labels(_) => self.add_classes(&inputs.classes()?, None),
        }
    }
}
