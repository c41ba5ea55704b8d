//! A fitted head with all that is needed to use it again, in one `.stonet` file.

mod container;
mod fingerprint;
mod further;
mod numbers;
mod sections;
mod seen;

use std::io::Read;
use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};
use stonet::classification::FittedLabels;
use stonet::monitor::Baseline;
use stonet::rows::{LabelKind, OwnKind};
use stonet::{Fingerprints, FittedClassifier, FittedRegressor, InputKind, Labels, Level};

use crate::table::columns_of;
use crate::write::write_whole;
use crate::{Error, Problem, Result, Table, open};
pub(crate) use fingerprint::Fnv;

pub use further::NetworkInputs;
pub use seen::{class_hashes, regression_hashes, regression_parts};

/// What was fitted.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// Prediction intervals.
    Regression(Box<FittedRegressor>),
    /// Class probabilities.
    Classification(Box<FittedClassifier>),
    /// The probability of each of many labels.
    Labels(Box<FittedLabels>),
}

/// The names of the columns, each list in the order of the fitted head's inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelColumns {
    /// Features: the last hidden layer, then the further columns beside it.
    pub features: Vec<String>,
    /// How many of the last `features` are further columns, such as the network's own inputs; regression only.
    #[serde(skip_serializing_if = "is_zero")]
    pub also: usize,
    /// The network's own predictions, one per target; regression only.
    pub prediction: Vec<String>,
    /// The network's own lower quantiles, one per target; regression only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lower: Vec<String>,
    /// The network's own upper quantiles, one per target; regression only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upper: Vec<String>,
    /// The network's own standard deviations, one per target; regression only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sd: Vec<String>,
    /// The network's output per class or per label, of the model's [`kind`](Model::kind); not for regression.
    pub logits: Vec<String>,
    /// The targets; for classification one column with the class, for many labels one column of 0 and 1 each.
    pub targets: Vec<String>,
    /// The groups within which intervals are to cover, read as text; regression only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// The functions of a row for each of which intervals are to cover; regression only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditional: Vec<String>,
}

impl ModelColumns {
    /// The names of the logits that [`InputKind::logits`] makes: a single column, which is that of the second class,
    /// has the other class beside it.
    pub fn logit_names(&self) -> Vec<String> {
        match self.logits.as_slice() {
            [one] => vec![format!("{one} (other class)"), one.clone()],
            all => all.to_vec(),
        }
    }

    /// All numbers that prediction reads: features, predictions, the network's own uncertainty, logits, functions; a
    /// function may be one of the others.
    pub fn inputs(&self) -> Vec<String> {
        let all = [&self.features, &self.prediction, &self.lower, &self.upper, &self.sd, &self.logits];
        let mut names: Vec<String> = all.into_iter().flatten().cloned().collect();
        names.extend(self.conditional.iter().filter(|n| !names.contains(n)).cloned().collect::<Vec<_>>());
        names
    }

    /// The columns that a monitor watches, in the order of the head's baseline.
    pub fn watched(&self) -> Vec<String> {
        let logits = self.logit_names();
        [&logits, &self.features, &self.prediction, &self.lower, &self.upper, &self.sd]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// What there is of the network's own uncertainty, by its columns.
    pub fn own(&self) -> Option<OwnKind> {
        match (self.lower.is_empty() && self.upper.is_empty(), self.sd.is_empty()) {
            (false, _) => Some(OwnKind::Quantiles),
            (true, false) => Some(OwnKind::Sd),
            (true, true) => None,
        }
    }

    /// The columns of the network's own uncertainty, in the order of [`OwnKind::names`].
    pub fn own_columns(&self) -> Vec<&[String]> {
        match self.own() {
            Some(OwnKind::Quantiles) => vec![&self.lower, &self.upper],
            Some(OwnKind::Sd) => vec![&self.sd],
            None => Vec::new(),
        }
    }

    /// Features or logits whose numbers say that they do not stand in the order of a network's tensor, such as `f1`,
    /// `f0`.
    pub fn out_of_order(&self) -> Option<&[String]> {
        let turned = |names: &&[String]| Self::places(names).is_some_and(|places| !places.is_sorted());
        [self.hidden(), &self.logits].into_iter().find(turned)
    }

    /// For each of these columns its place in a network's tensor, where the names number them (`f0`, `f1`, …, in any
    /// order); none where the names say nothing about places or do not number all of them.
    pub fn places(names: &[String]) -> Option<Vec<usize>> {
        let stem = names.first()?.trim_end_matches(|c: char| c.is_ascii_digit());
        let place = |name: &String| name.strip_prefix(stem)?.parse::<usize>().ok();
        let places: Vec<usize> = names.iter().map(place).collect::<Option<_>>()?;
        let mut seen = vec![false; names.len()];
        let fits = places.iter().all(|&p| p < seen.len() && !std::mem::replace(&mut seen[p], true));
        fits.then_some(places)
    }
}

/// A count that files leave out where it is 0, so that programs of earlier versions know all that they hold.
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A fitted head, the names of what goes in and comes out, and where it comes from.
///
/// # The file
///
/// The file is a [safetensors](https://huggingface.co/docs/safetensors) file: eight bytes with the length of the header
/// (little-endian), the header (JSON), the tensors. Any safetensors reader opens it; nothing in it is ever executed.
/// The same model gives the same bytes on every machine: there are no times, names of users or paths in it.
///
/// The header's `__metadata__` are texts:
///
/// | key | contents |
/// |---|---|
/// | `checksum` | first of all; sixteen digits: FNV-1a (64 bits) of the whole file, with zeros in the place of these digits |
/// | `format` | `stonet` |
/// | `format_version` | `2` |
/// | `needs` | the first version of the program that reads this file |
/// | `required` | JSON: a list of the names of the sections that a reader has to understand |
///
/// Every other key is the name of a section. A reader refuses a file with a required section that it does not know, by
/// the section's name; it ignores other sections that it does not know, with their tensors. So later versions only add
/// sections. There are these:
///
/// | section | required | contents |
/// |---|---|---|
/// | `about` | yes | JSON: `task` (`regression`, `classification` or `labels`), `columns` (its `also`, where there is one, counts the further columns at the end of `features`), `kind`, `labels`, `level`, `seed`, `fingerprint`, `version`; perhaps `label_kind` (`text`, `integer`, `boolean`, `date`, `datetime` or `float`) and `label_type` (the name of the labels' type where they come from, such as numpy's) |
/// | `fingerprints` | no | may be missing; JSON: the [`FingerprintCounts`](stonet::rows::FingerprintCounts), and `list`, the name of a tensor of type U32 with the [`Fingerprints`] |
/// | `baseline` | no | may be missing; JSON: the [`Baseline`] of the calibration rows, with tensors as those of `head` |
/// | `within` | yes | there where intervals cover within groups; JSON: the names of the columns that tell a row's group, which `columns` of `about` does not have |
/// | `conditional` | yes | there where intervals cover for functions of a row; JSON: the names of their columns, which `columns` of `about` does not have |
/// | `sets` | yes | there where a classifier has prediction sets; JSON: the [`FittedClassSets`](stonet::FittedClassSets), with tensors as those of `head` |
/// | `accuracy` | yes | there where a classifier has bounds of accuracy; JSON: the [`AccuracyBins`](stonet::classification::AccuracyBins), with tensors as those of `head` |
/// | `time` | yes | there where intervals were fitted on rows in order of time; JSON: the [`InOrder`](stonet::regression::InOrder) |
/// | `updated` | yes | there where rows have joined after the fit; JSON: the [`Updated`](stonet::regression::Updated), with tensors as those of `head` |
/// | `adapted` | yes | there where a head was adapted to other rows than its calibration rows; JSON: the [`Adapted`](stonet::regression::Adapted) of a regression, whose weights stand beside the scores in `head`, or the [`LabelShift`](stonet::classification::LabelShift) of a classifier, with tensors as those of `head` |
/// | `rows` | no | there where a regression head keeps its calibration rows; JSON: `features`, `y`, perhaps `prediction` and `own`, with tensors as those of `head` |
/// | `labels` | yes | there where a head is one of many labels; JSON: their names. `head` is then a list with the [`FittedClassifier`] of each label |
/// | `head` | yes | JSON: the fitted value, its settings and standardisation included, as serde writes [`FittedRegressor`] or [`FittedClassifier`] |
///
/// In `head` every array of at least 16 numbers is a tensor instead: `{"$tensor": "head.0"}` stands for an array with
/// the tensor's shape, which serde writes as `{"v": 1, "dim": [2, 3], "data": […]}`, and `{"$list": "head.1"}` for a
/// plain list. The tensors of a section are called by its name and a number, `head.0`, `head.1`, …; those of `head` are
/// of type F64, or U64 where all numbers are counts, and each is used exactly once. So memory while reading is in
/// proportion to the file, whatever is in it.
///
/// Checksum, `format`, `format_version` and `needs` stay what they are in every version, so that old programs can tell
/// which new one is needed. New programs go on reading old versions. Version 1 has no `required`, and its tensors are
/// called `t0`, `t1`, ….
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was fitted, with its settings.
    pub head: Head,
    /// The names of the columns.
    pub columns: ModelColumns,
    /// What the columns of a network's output per class or label are; none for regression.
    pub kind: Option<InputKind>,
    /// The classes; none for regression and for many labels.
    pub labels: Option<Labels>,
    /// The level to predict at where none is asked for.
    pub level: Option<Level>,
    /// The seed of the fit.
    pub seed: u64,
    /// [`Model::fingerprint_of`] the calibration rows; may be empty.
    pub fingerprint: String,
    /// Which rows it was fitted on; none in files of older programs, and where they were not to be kept.
    pub fingerprints: Option<Fingerprints>,
    /// What the calibration rows looked like, for `stonet monitor`; none in files of older programs.
    pub baseline: Option<Baseline>,
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

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Task {
    Regression,
    Classification,
    Labels,
}

impl Model {
    /// The version of this program.
    pub const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Sixteen digits that tell rows apart: FNV-1a (64 bits) of each array's number of rows and of columns (eight bytes
    /// each, little-endian) and of its values row by row. Features, targets, and so on, always in the same order;
    /// classes as their numbers.
    pub fn fingerprint_of(arrays: &[ArrayView2<'_, f64>]) -> String {
        let array = |hash: Fnv, a: &ArrayView2<'_, f64>| {
            let sizes = [a.nrows(), a.ncols()].map(|n| (n as u64).to_le_bytes());
            // In the logical order, whatever the order in memory.
            a.iter().fold(hash.bytes(sizes.as_flattened()), |hash, v| hash.bytes(&v.to_le_bytes()))
        };
        arrays.iter().fold(Fnv::new(), array).digits()
    }

    /// What a network said of rows, in columns with the head's names: its last hidden layer, and of its outputs the one
    /// that is as wide as the targets, or as there are classes. Further columns are those of the network's `inputs`.
    /// `source` is what messages call the rows.
    pub fn said(
        &self,
        source: &Path,
        inputs: NetworkInputs<'_>,
        features: Array2<f64>,
        outputs: Vec<Array2<f64>>,
    ) -> Result<Table> {
        let ModelColumns { prediction, logits, .. } = &self.columns;
        let wanted = self.columns.hidden();
        if let Some(kind) = self.columns.own() {
            return Err(Error::OwnOutputs { what: kind.names()[0] });
        }
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
        if self.columns.also > 0 {
            names.extend(self.columns.further().iter().cloned());
            parts.push(inputs.further(&self.columns, source)?);
        }
        let beside = if logits.is_empty() { prediction } else { logits };
        if !beside.is_empty() {
            let widest = outputs.iter().map(Array2::ncols).max().unwrap_or(0);
            let found = outputs.into_iter().find(|o| o.ncols() == beside.len());
            names.extend(beside.iter().cloned());
            parts.push(ordered(found.ok_or_else(|| width("output", beside.len(), widest))?, beside));
        }
        let rows = parts.first().map_or(0, Array2::nrows);
        Table::of_columns(source, names, parts.iter().flat_map(|p| columns_of(p.view())).collect(), rows)
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
        file.take(length).read_to_end(&mut bytes).map_err(|source| Problem::Unreadable { source }.of(path))?;
        sections::read(path, &bytes)
    }

    /// The bytes of a file. A head that could not be read again, such as one that holds NaN, is an error.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let unsound = |why: String| Error::Unsound { why };
        self.check().map_err(unsound)?;
        sections::write(self).map_err(unsound)
    }

    /// Sixteen digits that tell this head from others: FNV-1a (64 bits) of the bytes of its file.
    pub fn identity(&self) -> Result<String> {
        Ok(Fnv::new().bytes(&self.to_bytes()?).digits())
    }

    /// A model from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        sections::read(Path::new("model"), bytes)
    }

    fn about(&self, task: Task) -> About {
        let Model { columns, kind, labels, level, seed, fingerprint, version, .. } = self.clone();
        let label_kind = labels.as_ref().and_then(Labels::kind);
        let label_type = labels.as_ref().and_then(Labels::type_name).map(str::to_owned);
        let labels = labels.map(Vec::from);
        // They stand in a section of their own, so that programs that know no groups refuse the file.
        let columns = ModelColumns { within: Vec::new(), conditional: Vec::new(), ..columns };
        About { task, columns, kind, labels, label_kind, label_type, level, seed, fingerprint, version }
    }

    /// Whether the names are as many as the head's inputs and outputs.
    fn check(&self) -> std::result::Result<(), String> {
        self.check_columns(&self.columns)
    }

    /// The same for other names.
    pub(crate) fn check_columns(&self, columns: &ModelColumns) -> std::result::Result<(), String> {
        let ModelColumns { features, also, prediction, lower, upper, sd, logits, targets, within, conditional } =
            columns;
        let count = |what: &str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(format!("there are names for {found} {what}, and the fitted head has {expected}")),
        };
        if *also > features.len() {
            return Err(format!(
                "{also} columns are said to be further ones, and there are {} features",
                features.len()
            ));
        }
        match &self.head {
            Head::Regression(head) => {
                count("features", head.features(), features.len())?;
                count("targets", head.outputs(), targets.len())?;
                count("columns of logits", 0, logits.len())?;
                count("columns of groups", head.within().map_or(0, |w| w.columns()), within.len())?;
                count("columns of functions", head.functions(), conditional.len())?;
                if head.needs_prediction() || !prediction.is_empty() {
                    count("columns of predictions", head.outputs(), prediction.len())?;
                }
                let quantiles = if head.own() == Some(OwnKind::Quantiles) { head.outputs() } else { 0 };
                count("columns of lower quantiles", quantiles, lower.len())?;
                count("columns of upper quantiles", quantiles, upper.len())?;
                let sds = if head.own() == Some(OwnKind::Sd) { head.outputs() } else { 0 };
                count("columns of standard deviations", sds, sd.len())?;
                count("classes", 0, self.labels.as_ref().map_or(0, Labels::classes))?;
                count("kinds of output", 0, self.kind.iter().count())
            }
            Head::Classification(head) => {
                let kind = self.kind.ok_or("a classification needs the kind of its inputs")?;
                count("classes", head.classes(), self.labels.as_ref().map_or(0, Labels::classes))?;
                // One column is the output of a binary classifier.
                if kind.classes(logits.len()) != Some(head.classes()) {
                    let expected = if kind == InputKind::Features { 0 } else { head.classes() };
                    count("columns of logits", expected, logits.len())?;
                }
                count("targets", 1, targets.len())?;
                count("columns of predictions", 0, prediction.len())?;
                count("further columns", 0, *also)?;
                count("columns of groups", 0, within.len())?;
                count("columns of functions", 0, conditional.len())?;
                count("columns of the network's own uncertainty", 0, lower.len() + upper.len() + sd.len())?;
                if kind == InputKind::Features && head.reads_logits() {
                    return Err("its head reads logits, and its kind of input is features".into());
                }
                head.features().map_or(Ok(()), |wanted| count("features", wanted, features.len()))
            }
            Head::Labels(head) => {
                let outputs = |kind: &InputKind| *kind != InputKind::Features;
                self.kind.filter(outputs).ok_or("a head of many labels needs the kind of the network's outputs")?;
                count("classes", 0, self.labels.as_ref().map_or(0, Labels::classes))?;
                count("columns of outputs", head.names().len(), logits.len())?;
                count("targets", head.names().len(), targets.len())?;
                let others = [prediction, lower, upper, sd, within, conditional];
                count("other columns", 0, also + others.iter().map(|c| c.len()).sum::<usize>())?;
                head.features().map_or(Ok(()), |wanted| count("features", wanted, features.len()))
            }
        }
    }
}
