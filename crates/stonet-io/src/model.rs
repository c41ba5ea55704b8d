//! A fitted head with all that is needed to use it again, in one `.stonet` file.

mod container;
mod fingerprint;
mod numbers;
mod seen;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stonet::anatomy::View;
use stonet::{Fingerprints, FittedClassifier, FittedPostStoNet, InputKind, LabelKind, Labels, Level};

use crate::location::damaged;
use crate::write::write_whole;
use crate::{Error, Result, Table, explain, open};
use fingerprint::Fnv;

pub use seen::{class_hashes, regression_hashes, regression_parts};

/// The latest format version, which is written.
const VERSION: u64 = 1;
/// The first version of the program that reads it.
const NEEDS: &str = "0.1.0";
/// What messages call the format.
const FORMAT: &str = "StoNet model";
/// Characters of the text of others in a message.
const SHOWN: usize = 20;

/// What was fitted.
#[derive(Debug, Clone, PartialEq)]
pub enum Fitted {
    /// Prediction intervals.
    Regression(Box<FittedPostStoNet>),
    /// Class probabilities.
    Classification(Box<FittedClassifier>),
}

/// The names of the columns, each list in the order of the fitted head's inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelColumns {
    /// Features: the last hidden layer.
    pub features: Vec<String>,
    /// The network's own predictions, one per target; regression only.
    pub prediction: Vec<String>,
    /// The network's output per class, of the model's [`kind`](Model::kind); classification only.
    pub logits: Vec<String>,
    /// The targets; for classification one column with the class.
    pub targets: Vec<String>,
}

impl ModelColumns {
    /// The names of the logits that [`InputKind::logits`] makes: a single column, which is that of the second class, has the other class beside it.
    pub fn logit_names(&self) -> Vec<String> {
        match self.logits.as_slice() {
            [one] => vec![format!("{one} (other class)"), one.clone()],
            all => all.to_vec(),
        }
    }

    /// All that prediction reads: features, predictions, logits.
    pub fn inputs(&self) -> Vec<String> {
        [&self.features, &self.prediction, &self.logits].into_iter().flatten().cloned().collect()
    }

    /// Features or logits whose numbers say that they do not stand in the order of a network's tensor, such as `f1`, `f0`.
    pub fn out_of_order(&self) -> Option<&[String]> {
        let turned = |names: &&[String]| Self::places(names).is_some_and(|places| !places.is_sorted());
        [&self.features[..], &self.logits].into_iter().find(turned)
    }

    /// For each of these columns its place in a network's tensor, where the names number them (`f0`, `f1`, …, in any order); none where the
    /// names say nothing about places or do not number all of them.
    pub fn places(names: &[String]) -> Option<Vec<usize>> {
        let stem = names.first()?.trim_end_matches(|c: char| c.is_ascii_digit());
        let place = |name: &String| name.strip_prefix(stem)?.parse::<usize>().ok();
        let places: Vec<usize> = names.iter().map(place).collect::<Option<_>>()?;
        let mut seen = vec![false; names.len()];
        let fits = places.iter().all(|&p| p < seen.len() && !std::mem::replace(&mut seen[p], true));
        fits.then_some(places)
    }
}

/// A fitted head, the names of what goes in and comes out, and where it comes from.
///
/// # The file
///
/// The file is a [safetensors](https://huggingface.co/docs/safetensors) file: eight bytes with the length of the header
/// (little-endian), the header (JSON), the tensors. Any safetensors reader opens it; nothing in it is ever executed. The same model
/// gives the same bytes on every machine: there are no times, names of users or paths in it.
///
/// The header's `__metadata__` are texts:
///
/// | key | contents |
/// |---|---|
/// | `checksum` | first of all; sixteen digits: FNV-1a (64 bits) of the whole file, with zeros in the place of these digits |
/// | `format` | `stonet` |
/// | `format_version` | `1` |
/// | `needs` | the first version of the program that reads this format version |
/// | `about` | JSON: `task` (`regression` or `classification`), `columns`, `kind`, `labels`, `level`, `seed`, `fingerprint`, `version`; perhaps `label_kind` (`text`, `integer`, `boolean`, `date`, `datetime` or `float`) and `label_type` (the name of the labels' type where they come from, such as numpy's) |
/// | `fingerprints` | may be missing; JSON: the [`FingerprintCounts`](stonet::FingerprintCounts), and `list`, the name of a tensor of type U32 with the [`Fingerprints`] |
/// | `head` | JSON: the fitted value, its settings and standardisation included, as serde writes [`FittedPostStoNet`] or [`FittedClassifier`] |
///
/// In `head` every array of at least 16 numbers is a tensor instead: `{"$tensor": "t0"}` stands for an array with the tensor's shape,
/// which serde writes as `{"v": 1, "dim": [2, 3], "data": […]}`, and `{"$list": "t1"}` for a plain list. Tensors are called `t0`,
/// `t1`, …, are of type F64, or U64 where all numbers are counts, and each is used exactly once. So memory while reading is in
/// proportion to the file, whatever is in it.
///
/// Checksum, `format`, `format_version` and `needs` stay what they are in every version, so that old programs can tell which new one is
/// needed. New programs go on reading old versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was fitted, with its settings.
    pub head: Fitted,
    /// The names of the columns.
    pub columns: ModelColumns,
    /// What the columns of a classifier's output are; none for regression.
    pub kind: Option<InputKind>,
    /// The classes; none for regression.
    pub labels: Option<Labels>,
    /// The level to predict at where none is asked for.
    pub level: Option<Level>,
    /// The seed of the fit.
    pub seed: u64,
    /// [`Model::fingerprint_of`] the calibration rows; may be empty.
    pub fingerprint: String,
    /// Which rows it was fitted on; none in files of older programs, and where they were not to be kept.
    pub fingerprints: Option<Fingerprints>,
    /// The version of the program that fitted it: [`Model::VERSION`].
    pub version: String,
}

/// All but the fitted head, as it stands in the file.
#[derive(Serialize, Deserialize)]
struct About {
    task: Task,
    columns: ModelColumns,
    kind: Option<InputKind>,
    labels: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_kind: Option<LabelKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_type: Option<String>,
    level: Option<Level>,
    seed: u64,
    fingerprint: String,
    version: String,
}

impl About {
    /// The classes with their kind.
    fn labels(&self) -> std::result::Result<Option<Labels>, String> {
        let Some(names) = self.labels.clone() else { return Ok(None) };
        let labels = match self.label_kind {
            Some(kind) => Labels::of_kind(names, kind),
            None => Labels::try_from(names),
        };
        let labels = labels.map_err(|e| e.to_string())?;
        Ok(Some(match &self.label_type {
            Some(name) => labels.with_type_name(name.as_str()),
            None => labels,
        }))
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Task {
    Regression,
    Classification,
}

impl Model {
    /// The version of this program.
    pub const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Sixteen digits that tell rows apart: FNV-1a (64 bits) of each array's number of rows and of columns (eight bytes each,
    /// little-endian) and of its values row by row. Features, targets, and so on, always in the same order; classes as their numbers.
    pub fn fingerprint_of(arrays: &[ArrayView2<'_, f64>]) -> String {
        let array = |hash: Fnv, a: &ArrayView2<'_, f64>| {
            let sizes = [a.nrows(), a.ncols()].map(|n| (n as u64).to_le_bytes());
            // In the logical order, whatever the order in memory.
            a.iter().fold(hash.bytes(sizes.as_flattened()), |hash, v| hash.bytes(&v.to_le_bytes()))
        };
        arrays.iter().fold(Fnv::new(), array).digits()
    }

    /// The same head with other names for its columns; there must be as many of each.
    pub fn with_columns(&self, columns: ModelColumns) -> Result<Self> {
        let model = Model { columns, ..self.clone() };
        model.check().map_err(|why| Error::Unsound { why })?;
        Ok(model)
    }

    /// What a network said of rows, in columns with the head's names: its last hidden layer, and of its outputs the one that is as wide as
    /// the targets, or as there are classes. `source` is what messages call the rows.
    pub fn said(&self, source: &Path, features: Array2<f64>, outputs: Vec<Array2<f64>>) -> Result<Table> {
        let ModelColumns { features: wanted, prediction, logits, .. } = &self.columns;
        let width = |what: &str, expected: usize, found: usize| {
            let what = format!("{}: columns of the network's {what}", source.display());
            stonet::Error::Shape { what, expected, found }
        };
        // A head may have been fitted on the columns in another order than the network's.
        let ordered = |values: Array2<f64>, names: &[String]| match ModelColumns::places(names) {
            Some(places) if !places.is_sorted() => values.select(Axis(1), &places),
            _ => values,
        };
        let (mut names, mut parts) = (Vec::new(), Vec::new());
        if !wanted.is_empty() {
            if features.ncols() != wanted.len() {
                return Err(width("last hidden layer", wanted.len(), features.ncols()).into());
            }
            names.extend(wanted.iter().cloned());
            parts.push(ordered(features, wanted));
        }
        let beside = if logits.is_empty() { prediction } else { logits };
        if !beside.is_empty() {
            let widest = outputs.iter().map(Array2::ncols).max().unwrap_or(0);
            let found = outputs.into_iter().find(|o| o.ncols() == beside.len());
            names.extend(beside.iter().cloned());
            parts.push(ordered(found.ok_or_else(|| width("output", beside.len(), widest))?, beside));
        }
        let views: Vec<ArrayView2<'_, f64>> = parts.iter().map(|p| p.view()).collect();
        let values = ndarray::concatenate(Axis(1), &views).map_err(|e| Error::Unsound { why: e.to_string() })?;
        Table::new(source, names, values)
    }

    /// Writes the file; it appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes()?;
        write_whole(path, &bytes).map_err(|source| Error::Unwritable { path: path.into(), source })
    }

    /// Reads a file of this or an earlier format version.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, length) = open::file(path)?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).map_err(|source| Error::Unreadable { path: path.into(), source })?;
        read(path, &bytes)
    }

    /// The bytes of a file. They have been read again: what could not be used later is an error now.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let unsound = |why: String| Error::Unsound { why };
        self.check().map_err(unsound)?;
        let (task, head) = match &self.head {
            Fitted::Regression(head) => (Task::Regression, serde_json::to_value(head)),
            Fitted::Classification(head) => (Task::Classification, serde_json::to_value(head)),
        };
        let mut tensors = Vec::new();
        let head = numbers::take_out(head.map_err(|e| unsound(e.to_string()))?, &mut tensors);
        let about = serde_json::to_string(&self.about(task)).map_err(|e| unsound(e.to_string()))?;
        let fingerprints = self.fingerprints.as_ref().map(|f| seen::take_out(f, &mut tensors)).transpose();
        let fingerprints = fingerprints.map_err(|e| unsound(e.to_string()))?;
        let metadata: Vec<(&str, String)> = [
            ("format", "stonet".into()),
            ("format_version", VERSION.to_string()),
            ("needs", NEEDS.into()),
            ("about", about),
            ("head", head.to_string()),
        ]
        .into_iter()
        .chain(fingerprints.map(|text| ("fingerprints", text)))
        .collect();
        let bytes = container::write(&metadata, &tensors).map_err(unsound)?;
        Self::from_bytes(&bytes).map_err(|e| unsound(e.to_string()))?;
        Ok(bytes)
    }

    /// A model from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        read(Path::new("model"), bytes)
    }

    fn about(&self, task: Task) -> About {
        let Model { columns, kind, labels, level, seed, fingerprint, version, .. } = self.clone();
        let label_kind = labels.as_ref().and_then(Labels::kind);
        let label_type = labels.as_ref().and_then(Labels::type_name).map(str::to_owned);
        let labels = labels.map(Vec::from);
        About { task, columns, kind, labels, label_kind, label_type, level, seed, fingerprint, version }
    }

    /// Whether the names are as many as the head's inputs and outputs.
    fn check(&self) -> std::result::Result<(), String> {
        let ModelColumns { features, prediction, logits, targets } = &self.columns;
        let count = |what: &str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(format!("there are names for {found} {what}, and the fitted head has {expected}")),
        };
        match &self.head {
            Fitted::Regression(head) => {
                count("features", head.features(), features.len())?;
                count("targets", head.outputs(), targets.len())?;
                count("columns of logits", 0, logits.len())?;
                if head.needs_prediction() || !prediction.is_empty() {
                    count("columns of predictions", head.outputs(), prediction.len())?;
                }
                count("classes", 0, self.labels.as_ref().map_or(0, Labels::classes))?;
                count("kinds of output", 0, self.kind.iter().count())
            }
            Fitted::Classification(head) => {
                let kind = self.kind.ok_or("a classification needs the kind of its inputs")?;
                count("classes", head.classes(), self.labels.as_ref().map_or(0, Labels::classes))?;
                // One column is the output of a binary classifier.
                if kind.classes(logits.len()) != Some(head.classes()) {
                    let expected = if kind == InputKind::Features { 0 } else { head.classes() };
                    count("columns of logits", expected, logits.len())?;
                }
                count("targets", 1, targets.len())?;
                count("columns of predictions", 0, prediction.len())?;
                let seen = head.members().into_iter().filter_map(|(_, member)| match member.correction() {
                    Some((View::Features(_), net)) => Some(net.inputs()),
                    _ => None,
                });
                seen.into_iter().try_for_each(|wanted| count("features", wanted, features.len()))
            }
        }
    }
}

/// Reads any format version.
fn read(path: &Path, bytes: &[u8]) -> Result<Model> {
    let bad = |why: String| damaged(path, FORMAT, why);
    let parts = container::read(bytes).map_err(bad)?;
    let text = |key: &str| parts.metadata.get(key).ok_or_else(|| bad(format!("`{key}` is missing in its header")));
    if text("format")? != "stonet" {
        return Err(bad("its format is another one".into()));
    }
    let found: u64 = text("format_version")?.parse().map_err(|_| bad("its format version is not a number".into()))?;
    match found {
        1 => {
            let fingerprints = parts.metadata.get("fingerprints").map(String::as_str);
            first_version(text("about")?, text("head")?, fingerprints, parts.tensors).map_err(bad)
        }
        0 => Err(bad("its format version is 0".into())),
        _ => {
            let needs = text("needs")?.chars().take(SHOWN).filter(|c| !c.is_control()).collect();
            Err(Error::NewerModel { path: path.into(), found, needs, here: Model::VERSION, known: VERSION })
        }
    }
}

fn first_version(
    about: &str,
    head: &str,
    fingerprints: Option<&str>,
    mut tensors: HashMap<String, numbers::Tensor<&[u8]>>,
) -> std::result::Result<Model, String> {
    let plain = |e: serde_json::Error| format!("in its metadata {}", explain(&e.to_string(), "field"));
    let about: About = serde_json::from_str(about).map_err(plain)?;
    // serde_json refuses more than 128 levels, so what goes down the value cannot run out of stack.
    let head: Value = serde_json::from_str(head).map_err(plain)?;
    let head = numbers::put_back(head, &mut tensors)?;
    let fingerprints = fingerprints.map(|text| seen::put_back(text, &mut tensors)).transpose()?;
    if !tensors.is_empty() {
        return Err(format!("{} of its tensors belong to nothing", tensors.len()));
    }
    let head = match about.task {
        Task::Regression => Fitted::Regression(serde_json::from_value(head).map_err(plain)?),
        Task::Classification => Fitted::Classification(serde_json::from_value(head).map_err(plain)?),
    };
    let labels = about.labels()?;
    let About { columns, kind, level, seed, fingerprint, version, .. } = about;
    let model = Model { head, columns, kind, labels, level, seed, fingerprint, fingerprints, version };
    model.check()?;
    Ok(model)
}
