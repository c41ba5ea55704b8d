//! A trained network in an ONNX file: what goes in, what comes out, what is inside.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::external::inlined;
use crate::proto::{Summary, tag};
use crate::tensor::{ElementType, Initialiser, Operator, TensorInfo};
use crate::wire::{Field, Message, fields};
use crate::{Error, Result};

/// The note that holds the names of the columns.
pub(crate) const COLUMNS: &str = "stonet.inputs";

/// A network: its file's bytes, with weights that lay beside it brought in, and a summary of them.
#[derive(Debug, Clone)]
pub struct Network {
    pub(crate) path: PathBuf,
    bytes: Vec<u8>,
    pub(crate) summary: Summary,
    /// The operator that writes each tensor.
    pub(crate) writers: HashMap<String, usize>,
    /// Numbers of the stored tensors.
    stored: HashMap<String, usize>,
}

impl Network {
    /// Reads a file. Weights that are stored beside it are taken from its own folder only.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => stonet_io::Problem::NoFile.of(path).into(),
            _ => Error::Unreadable { path: path.into(), source },
        })?;
        Self::from_bytes(bytes, path)
    }

    /// The same of bytes that are there already; `path` names them in messages, and its folder may hold weights.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        let broken = |what: &str| Error::NotOnnx { path: path.into(), what: what.into() };
        let bytes = match inlined(&bytes, path)? {
            Some(whole) => whole,
            None => bytes,
        };
        let summary = Summary::read(&bytes).map_err(broken)?;
        let mut writers = HashMap::new();
        for (i, operator) in summary.operators.iter().enumerate() {
            for output in operator.outputs.iter().filter(|o| !o.is_empty()) {
                if writers.insert(output.clone(), i).is_some() {
                    return Err(broken(&format!("two operators write the tensor `{output}`")));
                }
            }
        }
        let stored = summary.initialisers.iter().enumerate().map(|(i, s)| (s.name.clone(), i)).collect();
        Ok(Network { path: path.into(), bytes, summary, writers, stored })
    }

    /// The file that is read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model as a self-contained ONNX file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What goes in; stored tensors are not counted.
    pub fn inputs(&self) -> &[TensorInfo] {
        &self.summary.inputs
    }

    /// What comes out.
    pub fn outputs(&self) -> &[TensorInfo] {
        &self.summary.outputs
    }

    /// Its operators in the order of the file.
    pub fn operators(&self) -> &[Operator] {
        &self.summary.operators
    }

    /// How often each operator is used, by name.
    pub fn operator_counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.summary.operators.iter().for_each(|o| *counts.entry(o.op.as_str()).or_insert(0) += 1);
        counts
    }

    /// Its stored tensors: weights and constants.
    pub fn initialisers(&self) -> &[Initialiser] {
        &self.summary.initialisers
    }

    /// The version of ONNX's operators that it is written in; 1 where the file does not say.
    pub fn opset(&self) -> i64 {
        self.summary.opset.unwrap_or(1)
    }

    /// The version of the file format.
    pub fn ir_version(&self) -> i64 {
        self.summary.ir_version
    }

    /// A note that whoever made the file left in it.
    pub fn note(&self, key: &str) -> Option<&str> {
        self.summary.metadata.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The names of the columns that go in, where [`perceptron`](crate::perceptron) noted them, or where there are
    /// several inputs: one of one number per row is a column of its name, one of several numbers the columns `name_0`,
    /// `name_1`, ….
    pub fn columns(&self) -> Option<Vec<String>> {
        let noted = self.note(COLUMNS).and_then(|note| serde_json::from_str(note).ok());
        noted.or_else(|| self.input_columns())
    }

    /// The tensors that operators write.
    pub(crate) fn tensor_names(&self) -> Vec<String> {
        let written = self.summary.operators.iter().flat_map(|o| &o.outputs);
        written.filter(|t| !t.is_empty()).cloned().collect()
    }

    pub(crate) fn writer(&self, tensor: &str) -> Option<&Operator> {
        self.writers.get(tensor).and_then(|&i| self.summary.operators.get(i))
    }

    pub(crate) fn initialiser(&self, tensor: &str) -> Option<&Initialiser> {
        self.stored.get(tensor).and_then(|&i| self.summary.initialisers.get(i))
    }

    /// What the file says of a tensor's type and axes.
    pub(crate) fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        let s = &self.summary;
        s.outputs.iter().chain(&s.values).chain(&s.inputs).find(|v| v.name == name)
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.summary.names.contains(name)
    }

    pub(crate) fn any_name(&self, test: impl Fn(&str) -> bool) -> bool {
        self.summary.names.iter().any(|n| test(n))
    }

    /// Whether there are tensors of f64 or f16, so that what comes out has to be cast.
    pub(crate) fn has_other_floats(&self) -> bool {
        let Summary { inputs, outputs, values, initialisers, .. } = &self.summary;
        let of_tensors = inputs.iter().chain(outputs).chain(values).filter_map(|t| t.element);
        of_tensors.chain(initialisers.iter().map(|i| i.element)).any(ElementType::is_other_float)
    }

    /// The model with other fields of its graph before and behind those that `keep` keeps.
    pub(crate) fn edited(&self, keep: impl Fn(&Field<'_>) -> bool, before: Message, more: Message) -> Vec<u8> {
        let mut graph = before;
        let mut model = Message::default();
        // The bytes have been read whole before, so no field is broken. A graph in several pieces means the pieces in a
        // row.
        for field in fields(&self.bytes).flatten() {
            match (field.number, field.bytes()) {
                (tag::MODEL_GRAPH, Ok(part)) => {
                    for inner in fields(part).flatten().filter(|f| keep(f)) {
                        graph = graph.raw(inner.raw);
                    }
                }
                _ => model = model.raw(field.raw),
            }
        }
        model.message(tag::MODEL_GRAPH, &graph.raw(&more.into_bytes())).into_bytes()
    }
}
