//! The named sections of a model file: which there are, which a reader has to understand, and what is in them.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use stonet::classification::FittedLabels;
use stonet::monitor::Baseline;
use stonet::{FittedClassifier, FittedRegressor};

use super::container::{self, Parts};
use super::numbers::{self, Tensor, Tensors};
use super::{About, Head, Model, Task, seen};
use crate::location::damaged;
use crate::{Problem, Result, explain};

/// The latest format version, which is written.
const VERSION: u64 = 2;
/// The first version of the program that reads it.
const NEEDS: &str = "0.1.0";
/// What messages call the format.
const FORMAT: &str = "StoNet model";
/// Characters of the text of others in a message.
const SHOWN: usize = 20;
/// Sections that a reader has to understand.
const REQUIRED: [&str; 2] = ["about", "head"];
/// All sections that this program understands.
const KNOWN: [&str; 11] =
    ["about", "head", "fingerprints", BASELINE, WITHIN, CONDITIONAL, SETS, ACCURACY, LABELS, ADAPTED, ROWS];
/// The section of what calibration rows looked like; programs that do not know it can do without.
const BASELINE: &str = "baseline";
/// The section of heads that cover within groups, which a reader has to understand too.
const WITHIN: &str = "within";
/// The same of heads that cover for functions of a row.
const CONDITIONAL: &str = "conditional";
/// The same of heads with prediction sets.
const SETS: &str = "sets";
/// The same of heads with bounds of accuracy.
const ACCURACY: &str = "accuracy";
/// The same of heads that were adapted to other rows than those of their calibration.
const ADAPTED: &str = "adapted";
/// The section of calibration rows that a head keeps; programs that do not know it can do without.
const ROWS: &str = "rows";
/// Fields of a head that stand in sections of their own, so that programs that do not know them refuse the file or leave
/// them out.
const BESIDE: [Beside; 4] = [
    Beside { name: SETS, what: "prediction sets", of: &[Task::Classification], required: true },
    Beside { name: ACCURACY, what: "bounds of accuracy", of: &[Task::Classification], required: true },
    Beside {
        name: ADAPTED,
        what: "weights for other rows",
        of: &[Task::Regression, Task::Classification],
        required: true,
    },
    Beside { name: ROWS, what: "calibration rows", of: &[Task::Regression], required: false },
];
/// The same of heads of many labels: their names.
const LABELS: &str = "labels";
/// Keys of the header that are no sections.
const KEYS: [&str; 5] = ["checksum", "format", "format_version", "needs", "required"];

/// A field of a head in a section of the same name.
struct Beside {
    name: &'static str,
    /// What messages call it.
    what: &'static str,
    /// The heads that may have it.
    of: &'static [Task],
    /// Whether a reader has to understand it.
    required: bool,
}

type Outcome<T> = std::result::Result<T, String>;
type Given<'a> = HashMap<String, Tensor<&'a [u8]>>;

/// The bytes of a file of the latest version.
pub(super) fn write(model: &Model) -> Outcome<Vec<u8>> {
    let text = |e: serde_json::Error| e.to_string();
    let (task, mut head) = match &model.head {
        Head::Regression(head) => (Task::Regression, sound::<FittedRegressor>(serde_json::to_value(head))?),
        Head::Classification(head) => (Task::Classification, sound::<FittedClassifier>(serde_json::to_value(head))?),
        Head::Labels(head) => (Task::Labels, sound::<Vec<FittedClassifier>>(serde_json::to_value(head.heads()))?),
    };
    let labels = match &model.head {
        Head::Labels(head) => Some((LABELS, serde_json::to_string(head.names()).map_err(text)?)),
        _ => None,
    };
    let mut tensors = Tensors::default();
    tensors.section("head");
    let fields = BESIDE.map(|b| head.as_object_mut().and_then(|fields| fields.remove(b.name)).map(|field| (b, field)));
    let head = numbers::take_out(head, &mut tensors).to_string();
    let (mut beside, mut needed) = (Vec::new(), Vec::new());
    for (Beside { name, required, .. }, field) in fields.into_iter().flatten() {
        tensors.section(name);
        beside.push((name, numbers::take_out(field, &mut tensors).to_string()));
        needed.extend(required.then_some(name));
    }
    let baseline = match &model.baseline {
        Some(baseline) => {
            tensors.section(BASELINE);
            Some(numbers::take_out(sound::<Baseline>(serde_json::to_value(baseline))?, &mut tensors).to_string())
        }
        None => None,
    };
    tensors.section("fingerprints");
    let fingerprints =
        model.fingerprints.as_ref().map(|f| seen::take_out(f, &mut tensors)).transpose().map_err(text)?;
    let further = [(WITHIN, &model.columns.within), (CONDITIONAL, &model.columns.conditional)];
    let further: Vec<(&str, &Vec<String>)> = further.into_iter().filter(|(_, names)| !names.is_empty()).collect();
    let required: Vec<&str> = REQUIRED
        .into_iter()
        .chain(further.iter().map(|f| f.0))
        .chain(needed)
        .chain(labels.iter().map(|s| s.0))
        .collect();
    let mut metadata: Vec<(&str, String)> = vec![
        ("format", "stonet".into()),
        ("format_version", VERSION.to_string()),
        ("needs", NEEDS.into()),
        ("required", serde_json::to_string(&required).map_err(text)?),
        ("about", serde_json::to_string(&model.about(task)).map_err(text)?),
        ("head", head),
    ];
    for (section, names) in further {
        metadata.push((section, serde_json::to_string(names).map_err(text)?));
    }
    metadata.extend(beside);
    metadata.extend(labels);
    metadata.extend(baseline.map(|text| (BASELINE, text)));
    metadata.extend(fingerprints.map(|text| ("fingerprints", text)));
    container::write(&metadata, &tensors.all)
}

/// The JSON value of a head, if a head can be made of it again: JSON has no NaN and no infinities, which become null.
fn sound<T: for<'d> Deserialize<'d>>(value: serde_json::Result<Value>) -> Outcome<Value> {
    let value = value.map_err(|e| e.to_string())?;
    T::deserialize(&value).map_err(plain)?;
    Ok(value)
}

fn plain(e: serde_json::Error) -> String {
    format!("in its metadata {}", explain(&e.to_string(), "field"))
}

/// Reads any format version.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Model> {
    let bad = |why: String| damaged(path, FORMAT, why);
    let Parts { metadata, tensors } = container::read(bytes).map_err(bad)?;
    let text = |key: &str| text(&metadata, key).map_err(bad);
    if text("format")? != "stonet" {
        return Err(bad("its format is another one".into()));
    }
    let found: u64 = text("format_version")?.parse().map_err(|_| bad("its format version is not a number".into()))?;
    let needs = || text("needs").map(shown);
    match found {
        0 => Err(bad("its format version is 0".into())),
        1 => model(&metadata, tensors, |_| false).map_err(bad),
        2 => {
            if let Some(section) = unknown(&metadata).map_err(bad)? {
                return Err(Problem::NewerSection { section, needs: needs()?, here: Model::VERSION }.of(path));
            }
            model(&metadata, tensors, |tensor| ignored(&metadata, tensor)).map_err(bad)
        }
        _ => {
            let needs = needs()?;
            Err(Problem::NewerModel { found, needs, here: Model::VERSION, known: VERSION }.of(path))
        }
    }
}

fn text<'m>(metadata: &'m HashMap<String, String>, key: &str) -> Outcome<&'m str> {
    metadata.get(key).map(String::as_str).ok_or_else(|| format!("`{key}` is missing in its header"))
}

/// The beginning of a text of others.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN).filter(|c| !c.is_control()).collect()
}

/// A required section that this program does not understand; all that it understands must be there.
fn unknown(metadata: &HashMap<String, String>) -> Outcome<Option<String>> {
    let required: Vec<String> = serde_json::from_str(text(metadata, "required")?).map_err(plain)?;
    if let Some(section) = required.iter().find(|name| !KNOWN.contains(&name.as_str())) {
        return Ok(Some(shown(section)));
    }
    required.iter().try_for_each(|name| text(metadata, name).map(|_| ()))?;
    Ok(None)
}

/// Whether a tensor belongs to a section that this program does not understand and need not.
fn ignored(metadata: &HashMap<String, String>, tensor: &str) -> bool {
    let section = tensor.rsplit_once('.').map_or("", |(section, _)| section);
    metadata.contains_key(section) && !KNOWN.contains(&section) && !KEYS.contains(&section)
}

/// The model of the sections that this program understands; tensors that are neither theirs nor `others` are an error.
fn model(metadata: &HashMap<String, String>, mut tensors: Given<'_>, others: impl Fn(&str) -> bool) -> Outcome<Model> {
    let about: About = serde_json::from_str(text(metadata, "about")?).map_err(plain)?;
    // serde_json refuses more than 128 levels, so what goes down the value cannot run out of stack.
    let head: Value = serde_json::from_str(text(metadata, "head")?).map_err(plain)?;
    let mut head = numbers::put_back(head, &mut tensors)?;
    for Beside { name, what, of, .. } in BESIDE {
        let Some(text) = metadata.get(name) else { continue };
        let field: Value = serde_json::from_str(text).map_err(plain)?;
        let field = numbers::put_back(field, &mut tensors)?;
        match head.as_object_mut().filter(|_| of.contains(&about.task)) {
            Some(fields) => fields.insert(name.into(), field),
            None => return Err(format!("its {what} belong to no such head")),
        };
    }
    let fingerprints = metadata.get("fingerprints").map(|text| seen::put_back(text, &mut tensors)).transpose()?;
    let baseline = match metadata.get(BASELINE) {
        Some(text) => {
            let value = numbers::put_back(serde_json::from_str(text).map_err(plain)?, &mut tensors)?;
            Some(serde_json::from_value::<Baseline>(value).map_err(plain)?)
        }
        None => None,
    };
    tensors.retain(|name, _| !others(name));
    if !tensors.is_empty() {
        return Err(format!("{} of its tensors belong to nothing", tensors.len()));
    }
    let head = match about.task {
        Task::Regression => Head::Regression(serde_json::from_value(head).map_err(plain)?),
        Task::Classification => Head::Classification(serde_json::from_value(head).map_err(plain)?),
        Task::Labels => {
            let names = serde_json::from_str(text(metadata, LABELS)?).map_err(plain)?;
            let heads = serde_json::from_value(head).map_err(plain)?;
            Head::Labels(Box::new(FittedLabels::new(names, heads).map_err(|e| e.to_string())?))
        }
    };
    if metadata.contains_key(LABELS) && !matches!(head, Head::Labels(_)) {
        return Err("its names of labels belong to no head of many labels".into());
    }
    let labels = about.labels()?;
    let About { mut columns, kind, level, seed, fingerprint, version, .. } = about;
    let names = |section: &str| match metadata.get(section) {
        Some(text) => serde_json::from_str(text).map_err(plain),
        None => Ok(Vec::new()),
    };
    (columns.within, columns.conditional) = (names(WITHIN)?, names(CONDITIONAL)?);
    let model = Model { head, columns, kind, labels, level, seed, fingerprint, fingerprints, baseline, version };
    model.check()?;
    Ok(model)
}
