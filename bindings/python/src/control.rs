//! Rules of answers: wishes in, rules as the text of their files out.

use std::path::Path;

use pyo3::prelude::*;
use serde_json::json;
use stonet::control::{Control, Controlled, Evidence, Want};
use stonet::score::Decision;
use stonet_io::{Model, SavedRule, Setting};
use stonet_report::control_report;

use crate::error::Raise;
use crate::model::{origin, write_page};
use crate::{arrays, settings};

/// A wish with its confidence and its seed.
pub fn wish(want: &str, confidence: Option<f64>, seed: u64) -> PyResult<Control> {
    let confidence = confidence.map(|c| arrays::levels(&[c])).transpose()?.map(|c| c[0]);
    let control = Control { want: want.parse::<Want>().raise()?, confidence, seed };
    control.check("confidence").raise()?;
    Ok(control)
}

/// What becomes of a wish: the page, where it is wanted, and the outcome as JSON. `rule` is the text of the rule's file, or
/// null where the wish is refused.
pub fn outcome(
    model: &Model,
    control: &Control,
    evidence: &Evidence,
    title: &str,
    path: Option<&Path>,
) -> PyResult<String> {
    let controlled: Controlled = control.decide(evidence).raise()?;
    write_page(path, || {
        let about = stonet_report::About { command: "stonet.control(head, X, y, want)".into(), ..origin(title, model) };
        control_report(control, &controlled, &about)
    })?;
    let (rule, refusal) = match &controlled.rule {
        Ok(rule) => (Some(SavedRule::new(rule.clone(), model).raise()?.to_json().raise()?), None),
        Err(refusal) => (None, Some(refusal)),
    };
    settings::text(&json!({ "rule": rule, "refusal": refusal, "curve": controlled.curve }))
}

/// How a rule decides with this head.
pub fn decision(model: &Model, rule: &str) -> PyResult<Decision> {
    model.decision_as(&read(rule)?, Setting::argument).raise()
}

/// A rule from the text of its file.
pub fn read(rule: &str) -> PyResult<SavedRule> {
    SavedRule::from_bytes(Path::new("rule"), rule.as_bytes()).raise()
}

/// A rule as it is told in Python: its text is read strictly, and comes back as JSON with the words beside it.
#[pyfunction]
pub fn describe_rule(rule: &str, source: &str) -> PyResult<String> {
    let SavedRule { rule, head, version } = SavedRule::from_bytes(Path::new(source), rule.as_bytes()).raise()?;
    settings::text(&json!({
        "want": rule.want, "confidence": rule.confidence, "level": rule.level, "threshold": rule.threshold(),
        "ordering_rows": rule.ordering_rows, "chosen": rule.chosen, "curve": rule.curve, "seed": rule.seed,
        "condition": rule.condition(), "guarantee": rule.guarantee().text, "head": head, "version": version,
    }))
}
