//! ONNX models as messages: field numbers of onnx.proto, and what of a model is looked at.

use std::collections::HashSet;

use crate::tensor::{Axis, ElementType, Initialiser, Operator, TensorInfo};
use crate::wire::{Broken, Field, Message, fields};

/// Field numbers of onnx.proto, by message; they never change.
pub(crate) mod tag {
    pub const MODEL_IR: u64 = 1;
    pub const MODEL_PRODUCER: u64 = 2;
    pub const MODEL_PRODUCER_VERSION: u64 = 3;
    pub const MODEL_GRAPH: u64 = 7;
    pub const MODEL_OPSET: u64 = 8;
    pub const MODEL_METADATA: u64 = 14;
    pub const GRAPH_NODE: u64 = 1;
    pub const GRAPH_NAME: u64 = 2;
    pub const GRAPH_INITIALISER: u64 = 5;
    pub const GRAPH_INPUT: u64 = 11;
    pub const GRAPH_OUTPUT: u64 = 12;
    pub const GRAPH_VALUE: u64 = 13;
    pub const NODE_INPUT: u64 = 1;
    pub const NODE_OUTPUT: u64 = 2;
    pub const NODE_NAME: u64 = 3;
    pub const NODE_OP: u64 = 4;
    pub const NODE_ATTRIBUTE: u64 = 5;
    pub const NODE_DOMAIN: u64 = 7;
    pub const ATTRIBUTE_NAME: u64 = 1;
    pub const ATTRIBUTE_INT: u64 = 3;
    pub const ATTRIBUTE_TENSOR: u64 = 5;
    pub const ATTRIBUTE_GRAPH: u64 = 6;
    pub const ATTRIBUTE_GRAPHS: u64 = 11;
    pub const ATTRIBUTE_TYPE: u64 = 20;
    pub const TENSOR_DIMS: u64 = 1;
    pub const TENSOR_TYPE: u64 = 2;
    pub const TENSOR_NAME: u64 = 8;
    pub const TENSOR_RAW: u64 = 9;
    pub const TENSOR_EXTERNAL: u64 = 13;
    pub const TENSOR_LOCATION: u64 = 14;
    pub const FIRST: u64 = 1;
    pub const SECOND: u64 = 2;
}

/// How deep graphs may be nested in graphs.
pub(crate) const DEPTH: usize = 16;

pub(crate) const TOO_DEEP: Broken = "graphs are nested too deep in graphs";

/// What of a model is looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub ir_version: i64,
    /// Version of ONNX's own operators.
    pub opset: Option<i64>,
    pub inputs: Vec<TensorInfo>,
    pub outputs: Vec<TensorInfo>,
    pub values: Vec<TensorInfo>,
    pub operators: Vec<Operator>,
    pub initialisers: Vec<Initialiser>,
    /// Notes of whoever made it, by key.
    pub metadata: Vec<(String, String)>,
    /// Every name in the graph and in graphs inside it.
    pub names: HashSet<String>,
}

/// A key and its value.
fn note(entry: &[u8]) -> Result<(String, String), Broken> {
    let mut note = (String::new(), String::new());
    for field in fields(entry) {
        let field = field?;
        match field.number {
            tag::FIRST => note.0 = field.text()?,
            tag::SECOND => note.1 = field.text()?,
            _ => {}
        }
    }
    Ok(note)
}

impl Summary {
    pub(crate) fn read(model: &[u8]) -> Result<Self, Broken> {
        let mut summary = Summary::default();
        let mut found = false;
        for field in fields(model) {
            let field = field?;
            match field.number {
                tag::MODEL_IR => summary.ir_version = field.number()?,
                tag::MODEL_OPSET => summary.opset(&field)?,
                tag::MODEL_METADATA => summary.metadata.push(note(field.bytes()?)?),
                tag::MODEL_GRAPH => {
                    found = true;
                    summary.graph(field.bytes()?)?;
                }
                _ => {}
            }
        }
        // Files before version 4 repeat the stored tensors among the inputs.
        let stored: HashSet<&str> = summary.initialisers.iter().map(|i| i.name.as_str()).collect();
        summary.inputs.retain(|i| !stored.contains(i.name.as_str()));
        match (found, summary.operators.is_empty()) {
            (false, _) => Err("there is no graph in it"),
            (true, true) => Err("its graph has no operators"),
            _ => Ok(summary),
        }
    }

    fn opset(&mut self, field: &Field<'_>) -> Result<(), Broken> {
        let (mut domain, mut version) = (String::new(), 1);
        for field in fields(field.bytes()?) {
            let field = field?;
            match field.number {
                tag::FIRST => domain = field.text()?,
                tag::SECOND => version = field.number()?,
                _ => {}
            }
        }
        if domain.is_empty() || domain == "ai.onnx" {
            self.opset = Some(version);
        }
        Ok(())
    }

    fn graph(&mut self, graph: &[u8]) -> Result<(), Broken> {
        names(graph, &mut self.names, 0)?;
        for field in fields(graph) {
            let field = field?;
            match field.number {
                tag::GRAPH_NODE => self.operators.push(operator(field.bytes()?)?),
                tag::GRAPH_INITIALISER => self.initialisers.push(initialiser(field.bytes()?)?),
                tag::GRAPH_INPUT => self.inputs.push(tensor_info(field.bytes()?)?),
                tag::GRAPH_OUTPUT => self.outputs.push(tensor_info(field.bytes()?)?),
                tag::GRAPH_VALUE => self.values.push(tensor_info(field.bytes()?)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Every name of a graph and of the graphs inside its nodes.
fn names(graph: &[u8], all: &mut HashSet<String>, depth: usize) -> Result<(), Broken> {
    if depth > DEPTH {
        return Err(TOO_DEEP);
    }
    for field in fields(graph) {
        let field = field?;
        match field.number {
            tag::GRAPH_NODE => {
                for part in fields(field.bytes()?) {
                    let part = part?;
                    match part.number {
                        tag::NODE_INPUT | tag::NODE_OUTPUT | tag::NODE_NAME => drop(all.insert(part.text()?)),
                        tag::NODE_ATTRIBUTE => {
                            for inner in fields(part.bytes()?) {
                                let inner = inner?;
                                if matches!(inner.number, tag::ATTRIBUTE_GRAPH | tag::ATTRIBUTE_GRAPHS) {
                                    names(inner.bytes()?, all, depth + 1)?;
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            tag::GRAPH_INITIALISER => drop(all.insert(initialiser(field.bytes()?)?.name)),
            tag::GRAPH_INPUT | tag::GRAPH_OUTPUT | tag::GRAPH_VALUE => {
                all.insert(tensor_info(field.bytes()?)?.name);
            }
            _ => {}
        }
    }
    Ok(())
}

fn operator(node: &[u8]) -> Result<Operator, Broken> {
    let (name, op, domain) = (String::new(), String::new(), String::new());
    let mut operator = Operator { name, op, domain, inputs: Vec::new(), outputs: Vec::new() };
    for field in fields(node) {
        let field = field?;
        match field.number {
            tag::NODE_INPUT => operator.inputs.push(field.text()?),
            tag::NODE_OUTPUT => operator.outputs.push(field.text()?),
            tag::NODE_NAME => operator.name = field.text()?,
            tag::NODE_OP => operator.op = field.text()?,
            tag::NODE_DOMAIN => operator.domain = field.text()?,
            _ => {}
        }
    }
    Ok(operator)
}

pub(crate) fn initialiser(tensor: &[u8]) -> Result<Initialiser, Broken> {
    let mut stored = Initialiser { name: String::new(), element: ElementType(0), shape: Vec::new() };
    let mut raw = None;
    for field in fields(tensor) {
        let field = field?;
        match field.number {
            tag::TENSOR_DIMS => {
                for d in field.numbers()? {
                    stored.shape.push(usize::try_from(d).map_err(|_| "a stored tensor has a negative size")?);
                }
            }
            tag::TENSOR_TYPE => stored.element = ElementType(field.number()?),
            tag::TENSOR_NAME => stored.name = field.text()?,
            tag::TENSOR_RAW => raw = Some(field.bytes()?.len() as u64),
            _ => {}
        }
    }
    let promised = expected_bytes(&stored)?;
    if let (Some(raw), Some(promised)) = (raw, promised)
        && raw != promised
    {
        return Err("a stored tensor has another size than its axes announce");
    }
    Ok(stored)
}

/// Bytes of a stored tensor's numbers.
pub(crate) fn expected_bytes(stored: &Initialiser) -> Result<Option<u64>, Broken> {
    let Some(bytes) = stored.element.bytes() else { return Ok(None) };
    let product = stored.shape.iter().try_fold(bytes, |product, &d| product.checked_mul(d as u64));
    product
        .filter(|p| *p <= i64::MAX as u64)
        .map(Some)
        .ok_or("a stored tensor announces more numbers than any memory holds")
}

pub(crate) fn tensor_info(value: &[u8]) -> Result<TensorInfo, Broken> {
    let mut info = TensorInfo { name: String::new(), element: None, shape: None };
    for field in fields(value) {
        let field = field?;
        match field.number {
            tag::FIRST => info.name = field.text()?,
            tag::SECOND => {
                for kind in fields(field.bytes()?) {
                    let kind = kind?;
                    // Sequences, maps and the like are other fields.
                    if kind.number == tag::FIRST {
                        tensor_type(kind.bytes()?, &mut info)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(info)
}

fn tensor_type(tensor: &[u8], info: &mut TensorInfo) -> Result<(), Broken> {
    for field in fields(tensor) {
        let field = field?;
        match field.number {
            tag::FIRST => info.element = Some(ElementType(field.number()?)),
            tag::SECOND => {
                let mut shape = Vec::new();
                for axis in fields(field.bytes()?) {
                    let axis = axis?;
                    if axis.number == tag::FIRST {
                        shape.push(axis_size(axis.bytes()?)?);
                    }
                }
                info.shape = Some(shape);
            }
            _ => {}
        }
    }
    Ok(())
}

fn axis_size(axis: &[u8]) -> Result<Axis, Broken> {
    let mut size = Axis::Open(String::new());
    for field in fields(axis) {
        let field = field?;
        match field.number {
            // Some exporters write −1 or 0 for an axis of any size.
            tag::FIRST => {
                size = match usize::try_from(field.number()?) {
                    Ok(n) if n > 0 => Axis::Fixed(n),
                    _ => Axis::Open(String::new()),
                }
            }
            tag::SECOND => size = Axis::Open(field.text()?),
            _ => {}
        }
    }
    Ok(size)
}

/// The message of an input or output; axes may be unknown.
pub(crate) fn value_message(name: &str, element: i64, shape: Option<&[Axis]>) -> Message {
    let mut tensor = Message::default().number(tag::FIRST, element);
    if let Some(shape) = shape {
        let axes = shape.iter().fold(Message::default(), |message, axis| {
            let axis = match axis {
                Axis::Fixed(n) => Message::default().number(tag::FIRST, *n as i64),
                Axis::Open(name) => Message::default().text(tag::SECOND, name),
            };
            message.message(tag::FIRST, &axis)
        });
        tensor = tensor.message(tag::SECOND, &axes);
    }
    Message::default().text(tag::FIRST, name).message(tag::SECOND, &Message::default().message(tag::FIRST, &tensor))
}
