//! Where features can be taken from a network: the inputs of its linear layers, and what pooling and flattening leave.

use std::collections::HashSet;
use std::fmt;

use stonet_io::nearest;

use crate::tensor::{Axis, Operator, shape_text};
use crate::{Error, Network, Result};

/// A tensor to take features from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The tensor.
    pub tensor: String,
    /// The node that writes it; its name may be empty.
    pub node: String,
    /// The operator that writes it, such as `Relu`.
    pub operator: String,
    /// Its axes, the batch first; none where nothing is known.
    pub shape: Option<Vec<Axis>>,
    /// What makes it a candidate.
    pub why: String,
    /// Whether it is the input of the last linear layer before an output.
    pub last_hidden: bool,
}

impl Network {
    /// Tensors that features can be taken from, the most useful first.
    pub fn taps(&self) -> Vec<Tap> {
        find(self)
    }

    /// The last hidden layer: the input of the last linear layer.
    pub fn default_tap(&self) -> Result<Tap> {
        self.taps().into_iter().find(|t| t.last_hidden).ok_or_else(|| {
            let last: Vec<String> = self.tensor_names().into_iter().rev().take(8).collect();
            Error::NoTap { path: self.path.clone(), known: nearest("", &last) }
        })
    }

    /// The tap with this name: a tensor (one that a node writes, or an input), or the first output of a node.
    pub fn tap(&self, name: &str) -> Result<Tap> {
        if let Some(known) = self.taps().into_iter().find(|t| t.tensor == name) {
            return Ok(known);
        }
        let by_node = || self.summary.operators.iter().find(|o| o.name == name).and_then(|o| o.outputs.first());
        let written = self.writers.contains_key(name) || self.inputs().iter().any(|i| i.name == name);
        let tensor = if written { Some(name) } else { by_node().map(String::as_str) };
        let Some(tensor) = tensor.filter(|t| !t.is_empty()) else {
            let mut known = self.tensor_names();
            known.extend(self.summary.operators.iter().map(|o| o.name.clone()).filter(|n| !n.is_empty()));
            return Err(Error::UnknownTap { path: self.path.clone(), name: name.into(), known: nearest(name, &known) });
        };
        Ok(named(self, tensor))
    }
}

impl fmt::Display for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.as_deref().map_or("shape unknown".into(), shape_text);
        write!(f, "{} ({shape}): {}", self.tensor, self.why)
    }
}

/// Operators that may stand between the last linear layer and an output: they change form or scale, and learn nothing.
const TAIL: [&str; 20] = [
    "Softmax",
    "LogSoftmax",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Exp",
    "Identity",
    "Cast",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Reshape",
    "Dropout",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Clip",
    "Log",
    "Neg",
];
/// Operators that leave few numbers of many.
const POOLING: [&str; 6] = ["GlobalAveragePool", "GlobalMaxPool", "AveragePool", "ReduceMean", "Flatten", "Reshape"];

/// All candidates: last hidden layers, then the inputs of other linear layers and poolings, from the back.
pub(crate) fn find(network: &Network) -> Vec<Tap> {
    let mut taps: Vec<Tap> = Vec::new();
    let mut seen = HashSet::new();
    // Where a network has several outputs, the last is the one that the others led to.
    for output in network.outputs().iter().rev() {
        if let Some(layer) = last_linear(network, &output.name)
            && let Some(mut tap) = input_of(network, layer).or_else(|| own_input(network, layer))
            && seen.insert(tap.tensor.clone())
        {
            tap.last_hidden = true;
            tap.why = format!("last hidden layer: {} behind output `{}`", tap.why, output.name);
            taps.push(tap);
        }
    }
    for operator in network.operators().iter().rev() {
        if let Some(tap) = input_of(network, operator).filter(|t| !seen.contains(&t.tensor)) {
            seen.insert(tap.tensor.clone());
            taps.push(tap);
        }
        let pooled = operator.outputs.first().filter(|_| POOLING.contains(&operator.op.as_str()));
        if let Some(tensor) = pooled.filter(|t| !t.is_empty() && !is_constant(network, t))
            && seen.insert(tensor.clone())
        {
            taps.push(Tap { why: format!("what {} leaves", operator.op), ..named(network, tensor) });
        }
    }
    taps
}

/// A tensor as a tap.
pub(crate) fn named(network: &Network, tensor: &str) -> Tap {
    let writer = network.writer(tensor);
    let of = |part: fn(&Operator) -> &String| writer.map_or(String::new(), |o| part(o).clone());
    Tap {
        tensor: tensor.into(),
        node: of(|o| &o.name),
        operator: of(|o| &o.op),
        shape: network.tensor(tensor).and_then(|t| t.shape.clone()),
        why: "named".into(),
        last_hidden: false,
    }
}

/// The linear layer that an output comes from, if nothing else that learns stands in between.
fn last_linear<'a>(network: &'a Network, output: &str) -> Option<&'a Operator> {
    let mut tensor = output.to_owned();
    // Every step goes to an operator further up, unless the graph runs in circles.
    for _ in 0..network.operators().len() {
        let operator = network.writer(&tensor)?;
        if weight_of(network, operator).is_some() {
            return Some(operator);
        }
        if !TAIL.contains(&operator.op.as_str()) {
            return None;
        }
        let mut flows = operator.inputs.iter().filter(|i| !i.is_empty() && !is_constant(network, i));
        let (Some(next), None) = (flows.next(), flows.next()) else { return None };
        tensor = next.clone();
    }
    None
}

/// The constant matrix of a linear layer.
fn weight_of<'a>(network: &Network, operator: &'a Operator) -> Option<&'a String> {
    let linear = matches!(operator.op.as_str(), "Gemm" | "MatMul" | "FusedGemm" | "FusedMatMul");
    operator.inputs.get(1).filter(|w| linear && is_constant(network, w))
}

/// The input of the last linear layer where that is the network's own.
fn own_input(network: &Network, layer: &Operator) -> Option<Tap> {
    weight_of(network, layer)?;
    let tensor = layer.inputs.first().filter(|t| network.inputs().iter().any(|i| i.name == **t))?;
    let why = format!("the network's own input, which {} `{}` reads", layer.op, label(layer));
    Some(Tap { why, ..named(network, tensor) })
}

/// What a node is called: by its name, or else by what it writes.
fn label(operator: &Operator) -> &str {
    let written = operator.outputs.iter().chain(&operator.inputs);
    [&operator.name].into_iter().chain(written).find(|n| !n.is_empty()).map_or("", String::as_str)
}

/// A linear layer's input, unless that is the network's own.
fn input_of(network: &Network, operator: &Operator) -> Option<Tap> {
    let weight = weight_of(network, operator)?;
    let tensor = operator.inputs.first()?;
    let writer = network.writer(tensor)?;
    let why = format!("input of {} `{}`, after {}", operator.op, label(operator), writer.op);
    let mut tap = Tap { why, ..named(network, tensor) };
    tap.shape = tap.shape.or_else(|| {
        // Which of a matrix's sides is the input's depends on an attribute; the other one is the bias's length.
        let sides = &network.initialiser(weight)?.shape;
        let outputs = operator.inputs.get(2).and_then(|b| network.initialiser(b)).and_then(|b| b.shape.last().copied());
        let width = match (sides.as_slice(), outputs) {
            ([a, b], _) if operator.op == "MatMul" || a == b => Some(if a == b { *b } else { *a }),
            ([a, b], Some(o)) if *a == o => Some(*b),
            ([a, b], Some(o)) if *b == o => Some(*a),
            _ => None,
        };
        width.map(|w| vec![Axis::Open("N".into()), Axis::Fixed(w)])
    });
    Some(tap)
}

/// Whether a tensor is the same for all inputs: stored, or computed from stored ones alone.
fn is_constant(network: &Network, tensor: &str) -> bool {
    let mut open = vec![tensor];
    let mut seen = HashSet::new();
    while let Some(tensor) = open.pop() {
        if network.initialiser(tensor).is_some() || tensor.is_empty() || !seen.insert(tensor) {
            continue;
        }
        match network.writer(tensor) {
            Some(operator) if operator.op == "Constant" => {}
            // Random numbers and the like come from nothing, and are no constants.
            Some(operator) if !operator.inputs.is_empty() => open.extend(operator.inputs.iter().map(String::as_str)),
            _ => return false,
        }
    }
    true
}
