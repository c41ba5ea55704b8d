//! `stonet evaluate` of a head of many labels: the scores of each label, and their means.

use ndarray::Array2;
use stonet::InputKind;
use stonet::classification::FittedLabels;
use stonet_io::Model;
use stonet_report::{About, LabelsEvaluation};

use super::{Evaluate, HASH, Told};
use crate::Outcome;
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{Batch, LabelFile, Source};

/// Bytes of a row's probability of a label and of the label itself.
const KEPT: u64 = 9;

impl Evaluate {
    pub(super) fn labels(
        &self,
        model: &Model,
        fitted: &FittedLabels,
        kind: InputKind,
        console: &Console,
    ) -> Result<Outcome> {
        let refused = [("--report", self.report.report.is_some()), ("--by", self.by.is_some())];
        if let Some((flag, _)) = refused.into_iter().find(|(_, given)| *given) {
            return Err(Error::flag(flag, "is not for heads of many labels yet; leave it out"));
        }
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let (mut hashes, mut fingerprint) = (Vec::new(), String::new());
        let (mut p, mut present) = (Vec::new(), Vec::new());
        let kept = HASH + KEPT * fitted.names().len() as u64;
        source.stream(LabelFile::reading_like(&model.columns), model, kept, |batch: &Batch<'_>| {
            let rows = LabelFile::known(&source, &model.columns, kind, batch.table, &batch.rows())
                .map_err(|e| e.after_rows(batch.first))?;
            hashes.extend(&rows.hashes);
            if batch.whole {
                fingerprint = rows.fingerprint();
            }
            let found = fitted.probabilities(kind, rows.outputs.view());
            let found = found.map_err(|e| Error::labels(&self.rows, &model.columns)(e.after_rows(batch.first)))?;
            p.extend(found.iter().copied());
            present.extend(rows.present.iter().copied());
            Ok(())
        })?;
        let seen = model.overlap(&hashes, || fingerprint);
        self.seen.check(seen.as_ref(), &self.rows, console)?;
        let shape = (hashes.len(), fitted.names().len());
        let misfit = |_| Error::flag("ROWS", "have another number of labels than the head");
        let p = Array2::from_shape_vec(shape, p).map_err(misfit)?;
        let present = Array2::from_shape_vec(shape, present).map_err(misfit)?;
        let evaluation = LabelsEvaluation::new(fitted.names(), p.view(), present.view())
            .map_err(Error::rows(&self.rows))?
            .with_seen(seen);
        self.tell(model, &evaluation, console)
    }
}

impl Told for LabelsEvaluation {
    const TASK: &'static str = "labels";
    fn level(&self) -> Option<f64> {
        None
    }
    fn verdict(&self) -> String {
        self.verdict()
    }
    fn text(&self) -> String {
        self.text()
    }
    fn page(&self, _: &About) -> Option<String> {
        None
    }
}
