//! `reproduce fashion`: networks trained under every loss, calibrated by every method, judged on the published test
//! images.

use std::path::{Path, PathBuf};

use serde::Serialize;
use stonet::base::streams::fashion as streams;
use stonet::{ClassInputs, ClassMethod, ClassRows, Seed, Ticker};
use stonet_compare::classes::{Group, Record, Seeds, TestRows, compare_with, summarise};
use stonet_compare::files;
use stonet_compare::journal::{Journal, complete};
use stonet_compare::table::Table;

use super::{Images, NamedLoss, Spec, train};
use crate::{Error, Result, published};

const SCHEMA: &str = "stonet.reproduce.fashion/1";
const CLASSES: usize = 10;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct FashionOptions {
    /// Where the images are.
    pub data: PathBuf,
    /// Networks per loss; the shipped number if not given.
    pub repeats: Option<usize>,
    /// Epochs of the networks; the shipped number if not given.
    pub epochs: Option<usize>,
    /// Methods that calibrate.
    pub methods: Vec<ClassMethod>,
    /// Random seed.
    pub seed: u64,
}

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fashion {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// Epochs of the networks.
    pub epochs: usize,
    /// One per loss.
    pub losses: Vec<Group>,
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn run(spec: &Spec, options: &FashionOptions, dir: &Path, tick: Ticker<'_>) -> Result<Fashion> {
    let repeats = options.repeats.unwrap_or(spec.repeats);
    let mut spec = spec.clone();
    spec.training.epochs = options.epochs.unwrap_or(spec.training.epochs);
    if repeats == 0 || spec.training.epochs == 0 {
        return Err(Error::range("--repeats and --epochs", "at least 1"));
    }
    let images = Images::load(&options.data)?;
    files::create_dir(dir)?;
    // The number of repeats is no part of what a record means.
    let (seed, methods) = (options.seed, &options.methods);
    let settings = serde_json::json!({
        "seed": seed, "training": spec.training, "losses": spec.losses, "validation_rows": spec.validation_rows,
        "methods": methods, "version": env!("CARGO_PKG_VERSION"),
    });
    let (journal, mut records) = Journal::<Record>::open(&dir.join("fashion.jsonl"), SCHEMA, settings)?;
    records.retain(|r| r.split < repeats);
    let all = spec.losses.iter().flat_map(|l| (0..repeats).map(move |repeat| (l, repeat)));
    let missing: Vec<(&NamedLoss, usize)> =
        all.filter(|(l, repeat)| !records.iter().any(|r| r.group == l.name && r.split == *repeat)).collect();
    let total = spec.losses.len() * repeats;
    let done = total - missing.len();
    records.extend(complete(&journal, missing, (done, total), tick, |(loss, repeat), tick| -> Result<Record> {
        let outputs = train(&images, &spec, &loss.loss, Seed::new(seed).child(streams::NETWORKS.at(repeat)))?;
        let seeds = Seeds::of(seed, Seed::new(seed).child(streams::COMPARISON));
        let (validation, test) = (&outputs.validation, &outputs.test);
        let rows = ClassRows::new(ClassInputs::logits(validation.logits.view())?, &validation.labels, CLASSES)?;
        let test = TestRows { inputs: ClassInputs::logits(test.logits.view())?, labels: &test.labels };
        let names: Vec<String> = (0..CLASSES).map(|k| k.to_string()).collect();
        let compared = compare_with(&rows, test, &names, methods, seeds, tick)?;
        Ok(Record { group: loss.name.clone(), split: repeat, methods: compared.brief() })
    })?);
    let place = |r: &Record| (spec.losses.iter().position(|l| l.name == r.group), r.split);
    records.sort_by_key(place);
    Ok(Fashion { schema: SCHEMA, seed, epochs: spec.training.epochs, losses: summarise(&records) })
}

impl Fashion {
    /// Every loss without and with calibration, and the paper's rows of the same losses.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for g in &self.losses {
            text += &format!(
                "## {}\n\nMean (sd) of {} networks, {} epochs each\n\n{}\n",
                g.name,
                g.splits,
                self.epochs,
                g.table()
            );
        }
        text += "## Printed in the paper, CIFAR\n\nOther images and other networks: only the pattern compares.\n\n";
        text += &printed().to_string();
        text
    }
}

/// The rows of the published tables that are about training.
fn printed() -> Table {
    let mut t = Table::new(&["data", "network", "trained with", "accuracy %", "NLL", "ECE %"]);
    for c in published::cifar() {
        let trained = match c.method.as_str() {
            "none" => "cross-entropy",
            "focal" | "mmce" => &c.method,
            _ => continue,
        };
        let per_cent = |[m, s]: [f64; 2]| format!("{:.2} ({:.2})", 100.0 * m, 100.0 * s);
        t.row(vec![
            c.dataset.clone(),
            c.network.clone(),
            trained.to_owned(),
            per_cent(c.accuracy),
            format!("{:.4} ({:.4})", c.nll[0], c.nll[1]),
            per_cent(c.ece),
        ]);
    }
    t
}
