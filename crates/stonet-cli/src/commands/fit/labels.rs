//! `stonet fit --task labels`: one binary head per label, all of them in one file.

use stonet::Seed;
use stonet_io::{Head, Model};

use super::Fit;
use super::summary::{LabelSummary, Summary};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::seen::Known;

impl Fit {
    pub(super) fn labels(&self, console: &Console) -> Result<(Model, Summary)> {
        self.check_keep_rows()?;
        let post = self.label_settings()?;
        let (rows, total) = self.label_rows(console)?;
        if !rows.by_name {
            console
                .note("the names of the columns do not tell which output belongs to which label, so their order does");
        }
        let calibration = rows.calibration()?;
        let fitted = console.run("fit", |tick| {
            let fitted = post.fit_labels(&calibration, Seed::new(self.seed.seed), tick);
            fitted.map_err(Error::labels(&self.rows, &rows.columns))
        })?;
        let mut warnings = Vec::new();
        let mut labels = Vec::new();
        for (k, (name, head)) in fitted.names().iter().zip(fitted.heads()).enumerate() {
            head.left_out().iter().for_each(|l| console.note(format_args!("label {name}: {l}")));
            let open = head.notes().iter().filter(|n| !n.converged);
            warnings.extend(open.map(|n| format!("label {name}: {} is not converged", n.method)));
            labels.push(LabelSummary {
                label: name.clone(),
                target: rows.columns.targets[k].clone(),
                column: rows.columns.logits[k].clone(),
                base_rate: rows.base_rates()[k],
                members: serde_json::to_value(head.notes()).unwrap_or_default(),
            });
        }
        let known = Known::new(rows.hashes.clone(), Vec::new());
        warnings.extend(known.warning(false, false));
        let summary = Summary {
            sampled: total.map(|_| calibration.rows()),
            total_rows: total,
            labels: Some(labels),
            warnings,
            ..self.summary("labels", &rows.columns, calibration.rows(), serde_json::to_value(&post))
        };
        let head = Head::Labels(Box::new(fitted));
        let model = self.model(head, rows.columns.clone(), || rows.fingerprint(), &known);
        let fingerprint = model.fingerprint.clone();
        Ok((Model { kind: Some(rows.kind), ..model }, Summary { fingerprint, ..summary }))
    }
}
