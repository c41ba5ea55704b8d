//! `stonet evaluate` of a head of many labels: the scores of each label, and their means.

use stonet::base::stage;
use stonet::classification::FittedLabels;
use stonet::{InputKind, Seed};
use stonet_io::Model;
use stonet_report::{About, LabelsEvaluation, LabelsJudge, LabelsSettings, labels_card, labels_report};

use super::{Evaluate, Told};
use crate::Outcome;
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{Batch, HASH, LabelFile, Source};

impl Evaluate {
    pub(super) fn labels(
        &self,
        model: &Model,
        fitted: &FittedLabels,
        kind: InputKind,
        console: &Console,
    ) -> Result<Outcome> {
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let settings = LabelsSettings { seed: Seed::new(self.seed.seed), ..LabelsSettings::default() };
        let mut judge = LabelsJudge::new(fitted, self.by.as_deref(), &settings);
        let (mut hashes, mut fingerprint) = (Vec::new(), String::new());
        let reading = LabelFile::reading_like(&model.columns, self.by.as_deref());
        source.stream(reading, model, HASH + judge.bytes_per_row(), |batch: &Batch<'_>| {
            let rows = LabelFile::known(&source, &model.columns, kind, batch.table, &batch.rows())
                .map_err(|e| e.after_rows(batch.first))?;
            hashes.extend(&rows.hashes);
            if batch.whole {
                fingerprint = rows.fingerprint();
            }
            let by = self.by.as_deref().map(|by| batch.table.text(by)).transpose()?;
            let inputs = rows.inputs().map_err(|e| e.after_rows(batch.first))?;
            // The judge counts rows from the first batch on.
            let added = stage("scoring", || judge.add(&inputs, rows.present.view(), by));
            added.map_err(Error::labels(&self.rows, &model.columns))
        })?;
        let seen = model.overlap(&hashes, || fingerprint);
        self.seen.check(seen.as_ref(), &self.rows, console)?;
        drop(hashes);
        let evaluation = console
            .run("evaluate", |tick| stage("judging", || judge.finish(Some(tick))).map_err(Error::rows(&self.rows)))?;
        self.tell(model, &evaluation.with_seen(seen), console)
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
    fn page(&self, about: &About) -> String {
        labels_report(self, about)
    }
    fn card(&self, about: &About) -> String {
        labels_card(self, about)
    }
}
