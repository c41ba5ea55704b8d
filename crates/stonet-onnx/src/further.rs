//! A network's own inputs beside its tapped layer, for a head that was fitted on both.

use crate::casts;
use crate::proto::tag;
use crate::tensor::{FLOAT, INT64};
use crate::wire::Message;
use crate::{Error, Network, Result};

/// What is known of the columns that go into a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawInputs {
    /// Their names, where they are known.
    pub names: Option<Vec<String>>,
    /// How many there are.
    pub count: usize,
}

impl Network {
    /// The columns that go in: by these names, or by those that the file has for them. Names of another number than the
    /// file's inputs, and a number that nothing tells, are errors.
    pub fn raw_inputs(&self, names: Option<&[String]>) -> Result<RawInputs> {
        let refused = |why: String, remedy: &'static str| {
            let what = format!("{} with further columns beside its features", self.path().display());
            Error::NotExportable { what, why, remedy }
        };
        let names = names.map(<[String]>::to_vec).or_else(|| self.columns());
        match (self.input_size(), names) {
            (Some(count), Some(names)) if names.len() != count => {
                let why = format!("its inputs have {} names and {count} columns", names.len());
                Err(refused(why, "name each column of the network's input once"))
            }
            (Some(count), names) => Ok(RawInputs { names, count }),
            (None, Some(names)) => Ok(RawInputs { count: names.len(), names: Some(names) }),
            (None, None) => Err(refused(
                "the file does not tell how many inputs the network has".into(),
                "name the columns of the network's input in their order, or export the head alone",
            )),
        }
    }
}

/// Nodes that write the tensor `to`: the columns of `rows`, then these of the network's inputs. Other tensors of theirs
/// are called `to` and more.
pub(crate) fn beside(network: &Network, rows: &str, places: &[usize], to: &str) -> Message {
    let mut more = Message::default();
    let mut inputs = Vec::new();
    for (i, input) in network.inputs().iter().enumerate() {
        let mut single = input.name.clone();
        if input.element.is_some_and(|e| !e.is_f32()) {
            let cast = format!("{to}_raw{i}_f32");
            more = more.message(tag::GRAPH_NODE, &casts::node(&single, &cast, FLOAT));
            single = cast;
        }
        let flat = format!("{to}_raw{i}");
        more = more.message(tag::GRAPH_NODE, &node("Flatten", &[&single], &flat));
        inputs.push(flat);
    }
    let mut raw = format!("{to}_raw");
    match &inputs[..] {
        [only] => raw = only.clone(),
        several => {
            let several: Vec<&str> = several.iter().map(String::as_str).collect();
            more = more.message(tag::GRAPH_NODE, &node("Concat", &several, &raw));
        }
    }
    let (numbers, picked) = (format!("{to}_columns"), format!("{to}_further"));
    more = more.message(tag::GRAPH_INITIALISER, &whole_numbers(&numbers, places));
    more = more.message(tag::GRAPH_NODE, &node("Gather", &[&raw, &numbers], &picked));
    more.message(tag::GRAPH_NODE, &node("Concat", &[rows, &picked], to))
}

/// An operator along the columns.
pub(crate) fn node(op: &str, inputs: &[&str], to: &str) -> Message {
    let axis = Message::default()
        .text(tag::ATTRIBUTE_NAME, "axis")
        .number(tag::ATTRIBUTE_INT, 1)
        .number(tag::ATTRIBUTE_TYPE, 2);
    inputs
        .iter()
        .fold(Message::default(), |node, from| node.text(tag::NODE_INPUT, from))
        .text(tag::NODE_OUTPUT, to)
        .text(tag::NODE_NAME, &format!("{to}_{op}"))
        .text(tag::NODE_OP, op)
        .message(tag::NODE_ATTRIBUTE, &axis)
}

/// A stored list of whole numbers.
fn whole_numbers(name: &str, values: &[usize]) -> Message {
    let raw: Vec<u8> = values.iter().flat_map(|&v| (v as i64).to_le_bytes()).collect();
    Message::default()
        .number(tag::TENSOR_DIMS, values.len() as i64)
        .number(tag::TENSOR_TYPE, INT64)
        .text(tag::TENSOR_NAME, name)
        .bytes(tag::TENSOR_RAW, &raw)
}
