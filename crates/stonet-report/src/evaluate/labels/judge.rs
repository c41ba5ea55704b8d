//! A fitted head of many labels judged batch by batch.

use ndarray::{Array2, ArrayView2};
use stonet::base::Work;
use stonet::classification::{FittedLabels, LabelInputs};
use stonet::metrics::JudgeSettings;
use stonet::{Error, Result, Seed, Ticker};

use super::{LabelsEvaluation, LabelsSettings};
use crate::evaluate::strata::Groups;

/// Judges a head of many labels on rows that come in batches; the result does not depend on how they are divided.
///
/// Per row it keeps the probability of each label and whether it is present.
pub struct LabelsJudge<'a> {
    fitted: &'a FittedLabels,
    judge: JudgeSettings,
    seed: Seed,
    rows: usize,
    p: Vec<f64>,
    present: Vec<bool>,
    groups: Option<(String, Groups)>,
}

impl<'a> LabelsJudge<'a> {
    /// Without rows yet. `by` names the column of subgroups, whose values come with the rows. Of `settings` only the bins,
    /// the redraws and the seed are used.
    pub fn new(fitted: &'a FittedLabels, by: Option<&str>, settings: &LabelsSettings<'_>) -> Self {
        let groups = by.map(|column| (column.to_owned(), Groups::default()));
        let (judge, seed) = (settings.judge, settings.seed);
        LabelsJudge { fitted, judge, seed, rows: 0, p: Vec::new(), present: Vec::new(), groups }
    }

    /// Bytes that are kept of every row.
    pub fn bytes_per_row(&self) -> u64 {
        9 * self.fitted.names().len() as u64 + 8 * u64::from(self.groups.is_some())
    }

    /// More rows, whether each label is present (n × K), and their subgroups. Errors count rows from the first batch on.
    pub fn add(&mut self, rows: &LabelInputs<'_>, present: ArrayView2<'_, bool>, by: Option<&[String]>) -> Result<()> {
        let number = rows.rows();
        let groups = if self.groups.is_some() { number } else { 0 };
        let found = [
            ("rows of labels", number, present.nrows()),
            ("columns of labels", self.fitted.names().len(), present.ncols()),
            ("rows of the column of subgroups", groups, by.map_or(0, <[_]>::len)),
        ];
        for (what, expected, found) in found {
            if expected != found {
                return Err(Error::Shape { what: what.into(), expected, found });
            }
        }
        let p = self.fitted.probabilities(rows).map_err(|e| e.after_rows(self.rows))?;
        self.p.extend(p.iter());
        self.present.extend(present.iter());
        if let (Some((_, groups)), Some(by)) = (&mut self.groups, by) {
            groups.add(by);
        }
        self.rows += number;
        Ok(())
    }

    /// The evaluation. `tick(done, total)` follows what remains to be done and cancels it by returning false.
    pub fn finish(self, tick: Option<Ticker<'_>>) -> Result<LabelsEvaluation> {
        let LabelsJudge { fitted, judge, seed, rows, p, present, groups } = self;
        let shape = (rows, fitted.names().len());
        let misfit = |_| Error::Inconsistent { what: "rows have different numbers of labels" };
        let p = Array2::from_shape_vec(shape, p).map_err(misfit)?;
        let present = Array2::from_shape_vec(shape, present).map_err(misfit)?;
        let settings = LabelsSettings { judge, seed, ..LabelsSettings::default() };
        let by = groups.as_ref().map(|(column, groups)| (column.as_str(), groups));
        let steps = Work::open("steps", tick);
        let found = LabelsEvaluation::judged(fitted.names(), p.view(), present.view(), by, &settings, &steps)?;
        let settings = fitted.heads().first().and_then(|h| serde_json::to_value(h.settings()).ok());
        Ok(LabelsEvaluation { settings: settings.unwrap_or_default(), ..found })
    }
}
