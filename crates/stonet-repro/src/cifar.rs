//! `reproduce cifar`: the outputs of real networks on CIFAR-10 and CIFAR-100, calibrated by every method.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use stonet::base::Cancelled;
use stonet::base::streams::calibration::FIRST_NETWORK;
use stonet::{ClassInputs, ClassMethod, ClassRows, Seed, Ticker};
use stonet_compare::classes::{Group, Judged, Record, Seeds, TestRows, compare_with, summarise, verdicts};
use stonet_compare::files;
use stonet_compare::journal::Journal;
use stonet_compare::table::Table;
use stonet_io::Reading;

use crate::{Error, Result, published};

const SCHEMA: &str = "stonet.reproduce.cifar/1";

/// Every setting of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CifarSpec {
    /// Validation rows where a file has test rows only; the others judge.
    pub validation_rows: usize,
    /// Random splits of such files.
    pub splits: usize,
    /// The files.
    pub networks: Vec<Network>,
}

/// One file of outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Name of the file, without `.csv.gz`.
    pub file: String,
    /// `cifar10` or `cifar100`, as in the published table.
    pub dataset: String,
    /// What is known of it.
    pub about: String,
}

impl CifarSpec {
    /// The settings that come with the program.
    pub fn shipped() -> Self {
        toml::from_str(include_str!("../experiments/cifar.toml")).expect("the shipped settings are valid")
    }
}

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct CifarOptions {
    /// Where the files are, or the folder above `logits`.
    pub data: PathBuf,
    /// Files to run, by name; all that are there if none.
    pub only: Option<Vec<String>>,
    /// Methods to run.
    pub methods: Vec<ClassMethod>,
    /// Random splits of files with test rows only; the shipped number if not given.
    pub splits: Option<usize>,
    /// Random seed.
    pub seed: u64,
}

/// The result of the experiment; its JSON is the command's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cifar {
    /// Name and version of this layout.
    pub schema: &'static str,
    /// Root seed.
    pub seed: u64,
    /// One per file.
    pub networks: Vec<Group>,
    /// Files that were not there.
    pub no_data: Vec<String>,
    #[serde(skip)]
    spec: CifarSpec,
}

/// A file's rows.
struct Outputs {
    logits: Array2<f64>,
    /// Of the last hidden layer; no columns where the file has none.
    features: Array2<f64>,
    labels: Vec<usize>,
    /// Rows that the literature validates on; empty where all are test rows.
    validation: Vec<usize>,
    test: Vec<usize>,
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn cifar(spec: &CifarSpec, options: &CifarOptions, dir: &Path, tick: Ticker<'_>) -> Result<Cifar> {
    let splits = options.splits.unwrap_or(spec.splits);
    if splits == 0 {
        return Err(Error::range("--splits", "at least 1"));
    }
    let known: Vec<&str> = spec.networks.iter().map(|n| n.file.as_str()).collect();
    if let Some(name) = options.only.iter().flatten().find(|n| !known.contains(&n.as_str())) {
        return Err(Error::unknown("file", name.clone(), known.join(", ")));
    }
    let wanted = |n: &&Network| options.only.as_ref().is_none_or(|only| only.contains(&n.file));
    let (mut found, mut no_data) = (Vec::new(), Vec::new());
    for network in spec.networks.iter().filter(wanted) {
        match locate(&options.data, &network.file) {
            Some(path) => found.push((network, load(&path)?)),
            None => no_data.push(network.file.clone()),
        }
    }
    if found.is_empty() {
        return Err(Error::NoData { dir: options.data.clone(), sets: no_data.join(", ") });
    }
    files::create_dir(dir)?;
    let settings = serde_json::json!({ "seed": options.seed, "spec": spec, "version": env!("CARGO_PKG_VERSION") });
    let (journal, records) = Journal::<Record>::open(&dir.join("cifar.jsonl"), SCHEMA, settings)?;
    let jobs: Vec<(usize, usize)> = (found.iter().enumerate())
        .flat_map(|(i, (_, outputs))| (0..if outputs.validation.is_empty() { splits } else { 1 }).map(move |s| (i, s)))
        .collect();
    let total = jobs.len();
    let mut kept = Vec::new();
    // One after the other: each method uses all cores, so that its seconds mean something.
    for (done, (i, split)) in jobs.into_iter().enumerate() {
        if !tick(done, total) {
            return Err(Cancelled { done, total, unit: "fits" }.into());
        }
        let (network, outputs) = &found[i];
        // The last entry of a split has all methods that were ever asked for.
        let before = records.iter().rfind(|r| r.group == network.file && r.split == split);
        let mut record =
            before.cloned().unwrap_or_else(|| Record { group: network.file.clone(), split, methods: vec![] });
        let missing: Vec<ClassMethod> =
            options.methods.iter().copied().filter(|m| !record.methods.iter().any(|j| j.name == *m)).collect();
        if !missing.is_empty() {
            let seed = split_seed(options.seed, i, split);
            record.methods.extend(run(outputs, spec.validation_rows, &missing, options.seed, seed)?);
            journal.append(&record)?;
        }
        record.methods.retain(|j| options.methods.contains(&j.name));
        kept.push(record);
    }
    tick(total, total);
    Ok(Cifar { schema: SCHEMA, seed: options.seed, networks: summarise(&kept), no_data, spec: spec.clone() })
}

/// `DIR/name.csv.gz` or `DIR/logits/name.csv.gz`.
fn locate(dir: &Path, name: &str) -> Option<PathBuf> {
    let file = format!("{name}.csv.gz");
    [dir.join(&file), dir.join("logits").join(&file)].into_iter().find(|p| p.is_file())
}

fn load(path: &Path) -> Result<Outputs> {
    let table = Reading::default().read(path)?;
    let of = |first: char| (0..table.names().len()).filter(|&c| is_numbered(&table.names()[c], first)).collect();
    let [logits, features]: [Vec<usize>; 2] = ['z', 'f'].map(of);
    let (logits, features) = (table.select(&logits), table.select(&features));
    let labels = table.column("y")?.iter().map(|&y| y as usize).collect();
    let split = table.column("split")?;
    let of = |part: f64| (0..table.rows()).filter(|&r| split[r] == part).collect();
    Ok(Outputs { logits, features, labels, validation: of(0.0), test: of(1.0) })
}

/// Whether a name is this letter and a number.
fn is_numbered(name: &str, first: char) -> bool {
    name.strip_prefix(first).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The rows that methods are fitted on in one split of one file, where the file is there. Choices of a default look at
/// these rows alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// One per class.
    pub logits: Array2<f64>,
    /// Of the last hidden layer; no columns where the file has none.
    pub features: Array2<f64>,
    /// The classes.
    pub labels: Vec<usize>,
}

/// The validation rows of number `network` of the shipped files in a split.
pub fn validation(data: &Path, network: usize, split: usize, seed: u64) -> Result<Option<Validation>> {
    let spec = CifarSpec::shipped();
    let Some(path) = spec.networks.get(network).and_then(|n| locate(data, &n.file)) else { return Ok(None) };
    let outputs = load(&path)?;
    let (rows, _) = divided(&outputs, spec.validation_rows, split_seed(seed, network, split))?;
    Ok(Some(Validation {
        logits: outputs.logits.select(Axis(0), &rows),
        features: outputs.features.select(Axis(0), &rows),
        labels: rows.iter().map(|&r| outputs.labels[r]).collect(),
    }))
}

fn split_seed(seed: u64, network: usize, split: usize) -> Seed {
    let network = if network == 0 { FIRST_NETWORK } else { network as u64 };
    Seed::new(seed).child(network).child(split as u64)
}

/// Validation and test rows.
fn divided(outputs: &Outputs, validation_rows: usize, split: Seed) -> Result<(Vec<usize>, Vec<usize>)> {
    if !outputs.validation.is_empty() {
        return Ok((outputs.validation.clone(), outputs.test.clone()));
    }
    let mut order = outputs.test.clone();
    order.shuffle(&mut split.rng());
    if order.len() <= validation_rows {
        return Err(Error::range("validation_rows", "below the number of rows"));
    }
    let test = order.split_off(validation_rows);
    Ok((order, test))
}

fn run(
    outputs: &Outputs,
    validation_rows: usize,
    methods: &[ClassMethod],
    seed: u64,
    split: Seed,
) -> Result<Vec<Judged>> {
    let (validation, test) = divided(outputs, validation_rows, split)?;
    let part = |rows: &[usize]| {
        let labels: Vec<usize> = rows.iter().map(|&r| outputs.labels[r]).collect();
        (outputs.logits.select(Axis(0), rows), labels)
    };
    let ((z, labels), (new, truth)) = (part(&validation), part(&test));
    let classes = z.ncols();
    let rows = ClassRows::new(ClassInputs::logits(z.view())?, &labels, classes)?;
    let names: Vec<String> = (0..classes).map(|k| k.to_string()).collect();
    let test = TestRows { inputs: ClassInputs::logits(new.view())?, labels: &truth };
    Ok(compare_with(&rows, test, &names, methods, Seeds::of(seed, Seed::new(seed)), &|_, _| true)?.brief())
}

impl Cifar {
    /// Every network's table, the verdicts, and the published numbers with the remark that belongs to them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for g in &self.networks {
            let about = self.spec.networks.iter().find(|n| n.file == g.name).map_or("", |n| &n.about);
            let splits =
                if g.splits == 1 { "one split".to_owned() } else { format!("mean (sd) of {} splits", g.splits) };
            text += &format!("## {}\n\n{about} ({splits})\n\n{}\n", g.name, g.table());
        }
        text += &format!("## What the default (`stack`) shows\n\n{}\n", verdicts(&self.networks));
        text += "## Printed in the paper\n\n";
        text += "These are the authors' own networks, mean (sd) of ten runs each. The networks above are others, so only the pattern compares.\n\n";
        text += &printed().to_string();
        if !self.no_data.is_empty() {
            text += &format!("\nNo file of: {}\n", self.no_data.join(", "));
        }
        text
    }
}

fn printed() -> Table {
    let mut t = Table::new(&["data", "network", "method", "accuracy %", "NLL", "ECE %", "CECE %"]);
    let per_cent = |[m, s]: [f64; 2], digits: usize| format!("{:.digits$} ({:.digits$})", 100.0 * m, 100.0 * s);
    for c in published::cifar() {
        t.row(vec![
            c.dataset.clone(),
            c.network.clone(),
            c.method.clone(),
            per_cent(c.accuracy, 2),
            format!("{:.4} ({:.4})", c.nll[0], c.nll[1]),
            per_cent(c.ece, 2),
            per_cent(c.cece, 3),
        ]);
    }
    t
}
