//! A builder for graphs of ONNX operators, and a head's graph as a file.
//!
//! Only operators and forms that mean the same in operator sets 11 to 25 are used (axes of reductions, for one, moved
//! from attributes to inputs on the way, so sums are products with ones): a head can then be joined to a network of any
//! of these sets without a change.

use std::collections::HashMap;

use crate::proto::{tag, value_message};
use crate::tensor::{Axis, FLOAT, INT64};
use crate::wire::Message;
use crate::{Error, Result};

/// The oldest operator set that has all that heads use.
pub(crate) const OLDEST_OPSET: i64 = 11;
/// The newest in which it is known to mean the same.
pub(crate) const NEWEST_OPSET: i64 = 25;
/// What heads that stand alone are written in.
const OPSET: i64 = 17;
/// The file format of that set.
const IR_VERSION: i64 = 8;
/// The type of an attribute that is a whole number.
const ATTRIBUTE_INT: i64 = 2;

/// A tensor, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tensor(usize);

type Attribute = (&'static str, i64);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Call {
    op: &'static str,
    inputs: Vec<Tensor>,
    attributes: Vec<Attribute>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Constant {
    element: i64,
    shape: Vec<usize>,
    raw: Vec<u8>,
}

/// What a head reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    pub name: String,
    tensor: Tensor,
    element: i64,
    /// Columns; none for one number per row.
    width: Option<usize>,
}

impl Port {
    /// Columns; none for one number per row.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    pub(crate) fn message(&self, name: &str, batch: &str) -> Message {
        let axes: Vec<Axis> = [Axis::Open(batch.into())].into_iter().chain(self.width.map(Axis::Fixed)).collect();
        value_message(name, self.element, Some(&axes))
    }
}

/// Operators, constants, inputs and outputs; what is written twice is there once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    count: usize,
    calls: Vec<(Call, Vec<Tensor>)>,
    known_calls: HashMap<Call, Vec<Tensor>>,
    constants: Vec<(Constant, Tensor)>,
    known_constants: HashMap<Constant, Tensor>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    overflow: bool,
}

impl Graph {
    fn tensor(&mut self) -> Tensor {
        self.count += 1;
        Tensor(self.count - 1)
    }

    /// The input of this name: rows of so many columns.
    pub(crate) fn input(&mut self, name: &'static str, width: usize) -> Tensor {
        if let Some(port) = self.inputs.iter().find(|p| p.name == name) {
            return port.tensor;
        }
        let tensor = self.tensor();
        self.inputs.push(Port { name: name.into(), tensor, element: FLOAT, width: Some(width) });
        tensor
    }

    /// Rows of so many columns; a tensor that is an input or an output already is copied, since it has one name.
    pub(crate) fn output(&mut self, name: String, mut tensor: Tensor, width: usize) {
        while self.inputs.iter().chain(&self.outputs).any(|p| p.tensor == tensor) {
            tensor = self.op("Identity", &[tensor]);
        }
        self.outputs.push(Port { name, tensor, element: FLOAT, width: Some(width) });
    }

    /// One whole number per row.
    pub(crate) fn output_index(&mut self, name: String, tensor: Tensor) {
        self.outputs.push(Port { name, tensor, element: INT64, width: None });
    }

    /// An operator's outputs.
    pub(crate) fn call<const N: usize>(
        &mut self,
        op: &'static str,
        inputs: &[Tensor],
        attributes: &[Attribute],
    ) -> [Tensor; N] {
        let call = Call { op, inputs: inputs.to_vec(), attributes: attributes.to_vec() };
        let outputs = match self.known_calls.get(&call) {
            Some(outputs) => outputs.clone(),
            None => {
                let outputs: Vec<Tensor> = (0..N).map(|_| self.tensor()).collect();
                self.known_calls.insert(call.clone(), outputs.clone());
                self.calls.push((call, outputs.clone()));
                outputs
            }
        };
        outputs.try_into().expect("an operator has always as many outputs")
    }

    /// The output of an operator without attributes.
    pub(crate) fn op(&mut self, op: &'static str, inputs: &[Tensor]) -> Tensor {
        let [out] = self.call(op, inputs, &[]);
        out
    }

    /// Numbers in C order, as f32.
    pub(crate) fn floats(&mut self, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Tensor {
        let mut raw = Vec::new();
        for value in values {
            let single = value as f32;
            self.overflow |= !single.is_finite();
            raw.extend(single.to_le_bytes());
        }
        self.constant(Constant { element: FLOAT, shape: shape.to_vec(), raw })
    }

    /// A number that goes with any shape.
    pub(crate) fn number(&mut self, value: f64) -> Tensor {
        self.floats(&[1], [value])
    }

    /// One number per column.
    pub(crate) fn row<'a>(&mut self, values: impl IntoIterator<Item = &'a f64>) -> Tensor {
        let values: Vec<f64> = values.into_iter().copied().collect();
        self.floats(&[1, values.len()], values)
    }

    pub(crate) fn ints(&mut self, values: impl IntoIterator<Item = i64>) -> Tensor {
        let values: Vec<i64> = values.into_iter().collect();
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(Constant { element: INT64, shape: vec![values.len()], raw })
    }

    fn constant(&mut self, constant: Constant) -> Tensor {
        if let Some(&known) = self.known_constants.get(&constant) {
            return known;
        }
        let tensor = self.tensor();
        self.known_constants.insert(constant.clone(), tensor);
        self.constants.push((constant, tensor));
        tensor
    }

    /// The sum over the columns of each row, as one column.
    pub(crate) fn row_sums(&mut self, a: Tensor, columns: usize) -> Tensor {
        let ones = self.floats(&[columns, 1], vec![1.0; columns]);
        self.op("MatMul", &[a, ones])
    }

    /// Rows of these numbers, as many as `a` has.
    pub(crate) fn repeat(&mut self, a: Tensor, columns: usize, values: &[f64]) -> Tensor {
        let zeros = self.floats(&[columns, values.len()], vec![0.0; columns * values.len()]);
        let bias = self.floats(&[values.len()], values.iter().copied());
        let [out] = self.call("Gemm", &[a, zeros, bias], &[]);
        out
    }

    /// Columns with these numbers.
    pub(crate) fn columns(&mut self, a: Tensor, columns: &[usize]) -> Tensor {
        let numbers = self.ints(columns.iter().map(|&c| c as i64));
        let [out] = self.call("Gather", &[a, numbers], &[("axis", 1)]);
        out
    }

    /// Columns side by side.
    pub(crate) fn beside(&mut self, parts: &[Tensor]) -> Tensor {
        if let [only] = parts {
            return *only;
        }
        let [out] = self.call("Concat", parts, &[("axis", 1)]);
        out
    }

    /// The graph as a head, if all its numbers are f32.
    pub(crate) fn finish(self, notes: Vec<(&'static str, String)>) -> Result<HeadGraph> {
        if self.overflow {
            return Err(Error::NotExportable {
                what: "this model".into(),
                why: "a number in it is beyond the range of f32".into(),
                remedy: "rescale the features or the response, and fit again",
            });
        }
        Ok(HeadGraph { graph: self, notes })
    }

    fn name(&self, tensor: Tensor, names: &Names<'_>) -> String {
        let given = |ports: &[Port], all: &[String]| {
            ports.iter().zip(all).find(|(p, _)| p.tensor == tensor).map(|(_, n)| n.clone())
        };
        given(&self.inputs, &names.inputs)
            .or_else(|| given(&self.outputs, &names.outputs))
            .unwrap_or_else(|| format!("{}{}", names.prefix, tensor.0))
    }
}

/// What the tensors of a head are called in a file.
pub(crate) struct Names<'a> {
    /// Of the inputs, in order.
    pub inputs: Vec<String>,
    /// Of the outputs.
    pub outputs: Vec<String>,
    /// Of all others, before their number.
    pub prefix: &'a str,
}

/// A fitted model as an ONNX graph: alone ([`HeadGraph::to_onnx`]), or behind the network that it belongs to
/// ([`HeadGraph::join`]).
#[derive(Debug, Clone)]
pub struct HeadGraph {
    graph: Graph,
    notes: Vec<(&'static str, String)>,
}

impl HeadGraph {
    /// What it reads: `features`, `logits`, `network_prediction`, or several of them.
    pub fn inputs(&self) -> Vec<&str> {
        self.graph.inputs.iter().map(|p| p.name.as_str()).collect()
    }

    /// What it writes: `probabilities` and `class`, `probabilities` alone of many labels, or `prediction` with the ends
    /// that were asked for, such as `lower` and `upper`.
    pub fn outputs(&self) -> Vec<&str> {
        self.graph.outputs.iter().map(|p| p.name.as_str()).collect()
    }

    /// With a note in the metadata of the file.
    pub(crate) fn with_note(mut self, key: &'static str, value: String) -> Self {
        self.notes.push((key, value));
        self
    }

    /// Numbers stored in it.
    pub fn parameters(&self) -> usize {
        self.graph.constants.iter().map(|(c, _)| c.shape.iter().product::<usize>()).sum()
    }

    pub(crate) fn ports(&self) -> (&[Port], &[Port]) {
        (&self.graph.inputs, &self.graph.outputs)
    }

    /// A model of its own, in operator set 17; rows are called N.
    pub fn to_onnx(&self) -> Vec<u8> {
        let (inputs, outputs) = self.ports();
        let own = |ports: &[Port]| ports.iter().map(|p| p.name.clone()).collect();
        let names = Names { inputs: own(inputs), outputs: own(outputs), prefix: "t" };
        let mut graph = self.nodes(&names).text(tag::GRAPH_NAME, "stonet");
        for (number, ports) in [(tag::GRAPH_INPUT, inputs), (tag::GRAPH_OUTPUT, outputs)] {
            graph = ports.iter().fold(graph, |g, p| g.message(number, &p.message(&p.name, "N")));
        }
        let opset = Message::default().text(tag::FIRST, "").number(tag::SECOND, OPSET);
        let model = Message::default()
            .number(tag::MODEL_IR, IR_VERSION)
            .text(tag::MODEL_PRODUCER, "stonet")
            .text(tag::MODEL_PRODUCER_VERSION, env!("CARGO_PKG_VERSION"))
            .message(tag::MODEL_GRAPH, &graph)
            .message(tag::MODEL_OPSET, &opset);
        model.raw(&self.metadata().into_bytes()).into_bytes()
    }

    /// Nodes and constants, as fields of a graph.
    pub(crate) fn nodes(&self, names: &Names<'_>) -> Message {
        let mut out = Message::default();
        for (number, (call, outputs)) in self.graph.calls.iter().enumerate() {
            let mut node = Message::default();
            for &input in &call.inputs {
                node = node.text(tag::NODE_INPUT, &self.graph.name(input, names));
            }
            for &output in outputs {
                node = node.text(tag::NODE_OUTPUT, &self.graph.name(output, names));
            }
            node = node.text(tag::NODE_NAME, &format!("{}{}_{number}", names.prefix, call.op));
            node = node.text(tag::NODE_OP, call.op);
            for &(name, value) in &call.attributes {
                let attribute = Message::default()
                    .text(tag::ATTRIBUTE_NAME, name)
                    .number(tag::ATTRIBUTE_INT, value)
                    .number(tag::ATTRIBUTE_TYPE, ATTRIBUTE_INT);
                node = node.message(tag::NODE_ATTRIBUTE, &attribute);
            }
            out = out.message(tag::GRAPH_NODE, &node);
        }
        for (constant, tensor) in &self.graph.constants {
            let mut stored = Message::default();
            for &d in &constant.shape {
                stored = stored.number(tag::TENSOR_DIMS, d as i64);
            }
            let stored = stored
                .number(tag::TENSOR_TYPE, constant.element)
                .text(tag::TENSOR_NAME, &self.graph.name(*tensor, names))
                .bytes(tag::TENSOR_RAW, &constant.raw);
            out = out.message(tag::GRAPH_INITIALISER, &stored);
        }
        out
    }

    /// What is known of the head, as fields of a model.
    pub(crate) fn metadata(&self) -> Message {
        self.notes.iter().fold(Message::default(), |model, (key, value)| {
            model.message(tag::MODEL_METADATA, &Message::default().text(tag::FIRST, key).text(tag::SECOND, value))
        })
    }
}
