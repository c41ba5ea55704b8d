//! What both kinds of fitted heads share: their file, and what stands in it beside the head.

use std::path::Path;

use pyo3::prelude::*;
use serde_json::json;
use stonet::Seed;
use stonet_compare::files;
use stonet_io::{Model, ScoreSettings};
use stonet_report::About;

use crate::error::Raise;
use crate::settings;

/// Names, kind, classes, level, seed and where the fit comes from, as JSON.
pub fn about(model: &Model) -> PyResult<String> {
    settings::text(&json!({
        "columns": model.columns,
        "kind": model.kind,
        "labels": model.labels,
        "label_kind": model.labels.as_ref().and_then(|l| l.kind()),
        "label_type": model.labels.as_ref().and_then(|l| l.type_name()),
        "level": model.level,
        "seed": model.seed,
        "fingerprint": model.fingerprint,
        "fingerprints": model.fingerprints.as_ref().map(|f| f.counts()),
        "version": model.version,
    }))
}

/// The names of the columns that come out where nothing further is asked.
pub fn output_names(model: &Model) -> PyResult<Vec<String>> {
    let resolved = model.resolve(&ScoreSettings::default()).raise()?;
    Ok(resolved.outputs(model).into_iter().map(|column| column.name).collect())
}

/// What a page says of its origin.
pub fn origin(title: &str, model: &Model) -> About {
    About {
        title: title.to_owned(),
        command: "stonet.report(estimator, X, y, path)".to_owned(),
        version: Model::VERSION.to_owned(),
        created: String::new(),
        settings: json!({ "columns": model.columns, "seed of the fit": model.seed, "rows of the fit": model.fingerprint }),
    }
}

/// Writes a page, where it is wanted, whole or not at all.
pub fn write_page(path: Option<&Path>, page: impl FnOnce() -> String) -> PyResult<()> {
    match path {
        Some(path) => files::write(path, &page()).raise(),
        None => Ok(()),
    }
}

/// The seed of an evaluation, the same as the command's.
pub const EVALUATION: Seed = Seed::new(1);
