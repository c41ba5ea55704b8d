//! A head behind its network: one file from raw inputs to probabilities or intervals.

use crate::casts::{self, unused};
use crate::export::{FEATURES, LOWER, PREDICTION, SD, UPPER};
use crate::further::{beside, node};
use crate::graph::{HeadGraph, NEWEST_OPSET, Names, OLDEST_OPSET, Port};
use crate::proto::tag;
use crate::tensor::FLOAT;
use crate::wire::Message;
use crate::{Axis, Error, Network, Result, TensorInfo};

/// Which tensors of a network a head reads, and what becomes of the network's own outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Joint {
    /// The tap.
    pub features: Option<String>,
    /// The tensor of logits, or of predictions: the network's output.
    pub output: Option<String>,
    /// Columns of the network's inputs that stand behind the features, by number: those that the head was fitted on.
    pub further: Vec<usize>,
    /// Whether the network's own outputs stay outputs.
    pub keep_outputs: bool,
}

impl HeadGraph {
    /// The network with the head behind it. Names of the head that the network uses too get `stonet_` in front.
    pub fn join(&self, network: &Network, joint: &Joint) -> Result<Vec<u8>> {
        let opset = network.opset();
        if !(OLDEST_OPSET..=NEWEST_OPSET).contains(&opset) {
            let (lowest, highest) = (OLDEST_OPSET, NEWEST_OPSET);
            return Err(Error::Opset { path: network.path().into(), found: opset, lowest, highest });
        }
        let (inputs, outputs) = self.ports();
        let prefix = unused(network, "stonet_t");
        let mut more = Message::default();
        let mut fed = Vec::new();
        for (i, port) in inputs.iter().enumerate() {
            let tensor = self.source(network, joint, port)?;
            let further: &[usize] = if port.name == FEATURES { &joint.further } else { &[] };
            if let (Some(expected), Some(found)) =
                (port.width().map(|w| w.saturating_sub(further.len())), network.row_width(&tensor))
                && expected != found
            {
                let (path, input) = (network.path().to_owned(), port.name.clone());
                return Err(Error::HeadWidth { path, tensor, found, input, expected });
            }
            let mut rows = format!("{prefix}in{i}");
            let mut single = tensor;
            if network.has_other_floats() {
                let cast = format!("{rows}_f32");
                more = more.message(tag::GRAPH_NODE, &casts::node(&single, &cast, FLOAT));
                single = cast;
            }
            more = more.message(tag::GRAPH_NODE, &node("Flatten", &[&single], &rows));
            if !further.is_empty() {
                let both = format!("{rows}_and");
                more = more.raw(&beside(network, &rows, further, &both).into_bytes());
                rows = both;
            }
            fed.push(rows);
        }
        let names: Vec<String> = outputs.iter().map(|p| free(network, &p.name)).collect();
        more = more.raw(&self.nodes(&Names { inputs: fed, outputs: names.clone(), prefix: &prefix }).into_bytes());
        for (port, name) in outputs.iter().zip(&names) {
            more = more.message(tag::GRAPH_OUTPUT, &port.message(name, "stonet_rows"));
        }
        let model = network.edited(|f| joint.keep_outputs || f.number != tag::GRAPH_OUTPUT, Message::default(), more);
        Ok(Message::default().raw(&model).raw(&self.metadata().into_bytes()).into_bytes())
    }

    /// The network's tensor for an input of the head.
    fn source(&self, network: &Network, joint: &Joint, port: &Port) -> Result<String> {
        let input = port.name.as_str();
        // Neither the name nor the width of an output tells a quantile from a prediction.
        if matches!(input, LOWER | UPPER | SD) {
            return Err(Error::HeadInput {
                input: "the network's own uncertainty",
                remedy: "export the head alone, and feed it the network's outputs by its input names",
            });
        }
        let named = if input == FEATURES { &joint.features } else { &joint.output };
        if let Some(name) = named {
            return Ok(network.tap(name)?.tensor);
        }
        match (input, network.outputs()) {
            (FEATURES, _) => Ok(network.default_tap()?.tensor),
            (_, [only]) => Ok(only.name.clone()),
            // Of several, the only one with as many columns.
            (_, several) => match several.iter().filter(|o| fits(o, port)).collect::<Vec<_>>().as_slice() {
                [only] => Ok(only.name.clone()),
                _ => Err(self.unnamed(input)),
            },
        }
    }

    fn unnamed(&self, input: &str) -> Error {
        match input {
            PREDICTION => {
                Error::HeadInput { input: "the network's own prediction", remedy: "name the output that holds it" }
            }
            _ => Error::HeadInput {
                input: "the network's output per class or label",
                remedy: "name the output that holds it",
            },
        }
    }
}

/// Whether an output is rows of as many columns.
fn fits(output: &TensorInfo, port: &Port) -> bool {
    let columns = output.shape.as_deref().and_then(|s| if let [_, columns] = s { Some(columns) } else { None });
    port.width().is_some_and(|w| columns == Some(&Axis::Fixed(w)))
}

/// The name, or another that the network does not use.
fn free(network: &Network, name: &str) -> String {
    let mut name = name.to_owned();
    while network.has_name(&name) {
        name = format!("stonet_{name}");
    }
    name
}
