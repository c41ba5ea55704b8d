//! `stonet inspect`: what is in a head or a network.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use stonet::FittedRegressor;
use stonet_io::{Head, Model};
use stonet_onnx::Network;

use super::fit::{ToldAccuracy, class_columns, shown_columns, shown_labels, weights};
use crate::console::Console;
use crate::error::Result;
use crate::stdout::path;

/// Show what is in a head (.stonet) or a network (.onnx)
#[derive(Args)]
#[command(after_help = "Examples:\n  stonet inspect head.stonet\n  stonet inspect network.onnx --json")]
pub struct Inspect {
    /// A head or a network
    file: PathBuf,
}

impl Inspect {
    pub fn run(self, console: &Console) -> Result<()> {
        let (value, text) = shown(&self.file)?;
        console.result(&value, || text)?;
        let file = path(&self.file);
        match self.file.extension().is_some_and(|e| e == "onnx") {
            true => console.next(format_args!("stonet features {file} rows.csv --keep TARGET -o features.parquet")),
            false => console.next(format_args!("stonet evaluate {file} test.csv --report report.html")),
        }
        Ok(())
    }
}

/// What is printed of a file: as JSON, and as text.
pub fn shown(file: &Path) -> Result<(Value, String)> {
    Ok(if file.extension().is_some_and(|e| e == "onnx") {
        network(&Network::open(file)?)
    } else {
        head(file, &Model::load(file)?)
    })
}

/// At most this many names on a line.
const LISTED: usize = 12;

fn list(names: &[String]) -> String {
    match names.len() {
        0 => "none".into(),
        n if n > LISTED => format!("{} … {} ({n})", names[..LISTED].join(", "), names[n - 1]),
        _ => names.join(", "),
    }
}

fn head(path: &Path, model: &Model) -> (Value, String) {
    let (task, settings) = match &model.head {
        Head::Regression(f) => ("regression", serde_json::to_value(f.settings())),
        Head::Classification(f) => ("classification", serde_json::to_value(f.settings())),
        // The settings are those of every label.
        Head::Labels(f) => ("labels", serde_json::to_value(f.heads().first().map(|head| head.settings()))),
    };
    let settings = settings.unwrap_or(Value::Null);
    let mut value = json!({
        "schema": "stonet.inspect.head/1",
        "task": task,
        "columns": model.columns,
        "kind": model.kind,
        "labels": model.labels.as_ref().map(|l| l.names()),
        "label_kind": model.labels.as_ref().and_then(|l| l.kind()),
        "level": model.level,
        "seed": model.seed,
        "fingerprint": model.fingerprint,
        "fingerprints": model.fingerprints.as_ref().map(|f| json!({
            "rows": f.counts().rows,
            "sampled": f.counts().sampled,
            "kept": f.values().len(),
            "duplicate_rate": f.duplicate_rate(),
            "false_positive_rate": f.false_positive_rate(),
        })),
        "version": model.version,
        "settings": settings,
    });
    let columns = &model.columns;
    let mut text = format!("{}: a head for {task}, fitted by stonet {}\n", path.display(), model.version);
    text += &format!("target       {}\n", list(&columns.targets));
    text += &format!("features     {}\n", list(columns.hidden()));
    if columns.also > 0 {
        text += &format!("also         {}\n", list(columns.further()));
    }
    match &model.head {
        Head::Regression(f) => {
            text += &format!("prediction   {}\n", list(&columns.prediction));
            for (name, own) in [("lower", &columns.lower), ("upper", &columns.upper), ("sd", &columns.sd)] {
                if !own.is_empty() {
                    text += &format!("{name:13}{}\n", list(own));
                }
            }
            text += &format!("interval     {}\n", f.settings().kind);
            order_and_updates(f, &mut value, &mut text);
            if let Some(within) = f.within() {
                let sizes = f.group_sizes(model.level.unwrap_or(f.settings().level), false).unwrap_or_default();
                text += &format!("within       {} ({} groups)\n", list(&columns.within), within.len());
                value["groups"] = json!(
                    sizes
                        .iter()
                        .map(|g| json!({
                            "labels": within.groups()[g.group], "rows": g.units, "own_ranks": g.enough,
                        }))
                        .collect::<Vec<_>>()
                );
            }
            if !columns.conditional.is_empty() {
                text += &format!("conditional  {}\n", list(&columns.conditional));
            }
            if let Some(adapted) = f.adapted() {
                let (value_of, line) = super::adapt::told(adapted, &columns.features, &columns.prediction);
                text += &format!("adapted      {line}\n");
                value["adapted"] = value_of;
            }
            if f.keeps_rows() {
                text += "kept rows    yes\n";
                value["keeps_rows"] = json!(true);
            }
            if let Some(level) = model.level {
                let guarantee = f.guarantee(level);
                text += &format!("guarantee    {guarantee}\n");
                value["guarantee"] = json!(guarantee);
            }
            for (target, w) in columns.targets.iter().zip(f.weights().iter().flatten()) {
                text += &format!("weights      {target}: {}\n", weights(w));
            }
            value["weights"] = json!(f.weights());
            value["selected_features"] = json!(f.selected_features());
        }
        Head::Classification(f) => {
            text += &format!("inputs       {} ({})\n", list(&columns.logits), model.kind.unwrap_or_default());
            let names = model.labels.as_ref().map_or(&[][..], |l| l.names());
            let by_column = class_columns(&columns.logits, names);
            let shown = if by_column.is_empty() { list(names) } else { shown_columns(&by_column) };
            text += &format!("classes      {shown}\n");
            value["class_columns"] = json!(by_column);
            text += &format!("method       {}\n", f.settings().method);
            for n in f.notes() {
                let setting = n.setting.map_or(String::new(), |s| format!(", chosen {s:.3e}"));
                text += &format!("member       {} {:.3}{setting}\n", n.method, n.weight);
            }
            f.left_out().iter().for_each(|l| text += &format!("left out     {l}\n"));
            if let Some(shift) = f.adapted() {
                let (value_of, line) = super::adapt::told_shares(shift, names);
                text += &format!("adapted      {line}\n");
                value["adapted"] = value_of;
            }
            value["members"] = json!(f.notes());
            value["left_out"] = json!(f.left_out());
            if let Some(sets) = f.class_sets() {
                text += &format!("sets         {}\n", super::fit::shown_sets(sets));
                value["sets"] = super::fit::told_sets(sets);
                if let Some(guarantee) = model.level.and_then(|level| f.guarantee(level)) {
                    text += &format!("guarantee    {guarantee}\n");
                    value["guarantee"] = json!(guarantee);
                }
            }
            if let Some(told) = ToldAccuracy::of(f, model.level) {
                text += &format!("accuracy     {}\n", told.shown());
                told.lines().iter().for_each(|line| text += &format!("bin          {line}\n"));
                text += &format!("guarantee    {}\n", told.guarantee());
                value["accuracy"] = told.told();
            }
        }
        Head::Labels(f) => {
            text += &format!("inputs       {} ({})\n", list(&columns.logits), model.kind.unwrap_or_default());
            text += &format!("labels       {}\n", shown_labels(columns.logits.iter().zip(f.names())));
            let mut labels = Vec::new();
            for (k, (name, head)) in f.names().iter().zip(f.heads()).enumerate() {
                let members: Vec<String> =
                    head.notes().iter().map(|n| format!("{} {:.2}", n.method, n.weight)).collect();
                text += &format!("label        {name}: {} ({})\n", head.settings().method, members.join(", "));
                labels.push(json!({
                    "label": name, "target": columns.targets[k], "column": columns.logits[k],
                    "method": head.settings().method, "members": head.notes(), "left_out": head.left_out(),
                }));
            }
            value["labels"] = json!(labels);
        }
    }
    if let Some(level) = model.level {
        text += &format!("level        {}\n", level.get());
    }
    text += &format!("seed         {}\nrows         {}\n", model.seed, fingerprints(model));
    (value, text)
}

/// How the rows were ordered, and which have joined after the fit.
fn order_and_updates(head: &FittedRegressor, value: &mut Value, text: &mut String) {
    if let Some(time) = head.in_order() {
        let by = time.by.as_ref().map(|by| format!("by {by}, ")).unwrap_or_default();
        *text += &format!("in order     {by}with a gap of {} rows beside every fold\n", time.gap);
        value["time"] = json!(time);
    }
    let Some(updated) = head.updated() else { return };
    let window = updated.window().map(|n| format!(", window {n}")).unwrap_or_default();
    let (joined, scored) = (updated.joined(), head.scored_rows());
    *text += &format!("updated      {joined} rows joined after the fit, {scored} rows are ranked{window}\n");
    value["updated"] = json!({ "joined": joined, "window": updated.window(), "scored": scored });
    let Some(adapted) = updated.level_tracks() else { return };
    let mut levels = Vec::new();
    for track in adapted.tracks() {
        let told = adapted.told(track.level);
        *text += &format!(
            "adapted      level {} by {}, rate {}: {told}\n",
            track.level.get(),
            adapted.method(),
            adapted.rate()
        );
        levels.push(json!({ "level": track.level, "rows": track.rows, "misses": track.misses, "state": told }));
    }
    value["updated"]["adapted"] = json!({ "method": adapted.method(), "rate": adapted.rate(), "levels": levels });
}

/// Which rows the head knows.
fn fingerprints(model: &Model) -> String {
    match &model.fingerprints {
        Some(set) => {
            let (kept, rows) = (set.values().len(), set.counts().rows);
            format!("{} ({kept} fingerprints of {rows} rows)", model.fingerprint)
        }
        None if model.fingerprint.is_empty() => "no fingerprints are kept".into(),
        None => format!("{} (one fingerprint of all rows)", model.fingerprint),
    }
}

fn network(network: &Network) -> (Value, String) {
    let ports = |all: &[stonet_onnx::TensorInfo]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (inputs, outputs) = (ports(network.inputs()), ports(network.outputs()));
    let counts = network.operator_counts();
    let taps = network.measured_taps();
    // Sizes are as the file says, and files can say anything.
    let numbers: f64 = network.initialisers().iter().map(|i| i.shape.iter().map(|&d| d as f64).product::<f64>()).sum();
    let value = json!({
        "schema": "stonet.inspect.network/1",
        "inputs": inputs,
        "outputs": outputs,
        "opset": network.opset(),
        "ir_version": network.ir_version(),
        "operators": counts,
        "stored_numbers": numbers,
        "taps": taps.iter().map(|t| json!({"tensor": t.tensor, "node": t.node, "operator": t.operator, "shape": t.shape.as_ref().map(|s| s.iter().map(ToString::to_string).collect::<Vec<_>>()), "why": t.why, "last_hidden": t.last_hidden})).collect::<Vec<_>>(),
    });
    let operators: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let mut text =
        format!("{}: a network of {numbers} numbers, operator set {}\n", network.path().display(), network.opset());
    text += &format!(
        "inputs       {}\noutputs      {}\noperators    {}\n",
        inputs.join(", "),
        outputs.join(", "),
        operators.join(", ")
    );
    for tap in taps {
        text += &format!("tap          {tap}\n");
    }
    (value, text)
}
