//! A network with f32 at its border: inputs of other types are cast from f32, and what is asked for is cast to it.

use crate::Network;
use crate::proto::{tag, tensor_info, value_message};
use crate::tensor::FLOAT;
use crate::wire::Message;

/// The type of an attribute that is a whole number.
const ATTRIBUTE_INT: i64 = 2;

/// A model to run, and what its inputs and the tensors that were asked for are called in it.
pub(crate) struct Bordered {
    pub model: Vec<u8>,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

/// The model with these tensors among its outputs, so that no runtime optimises them away, and with f32 at its border.
pub(crate) fn bordered(network: &Network, tensors: &[&str]) -> Bordered {
    let prefix = unused(network, "stonet_cast");
    let (mut before, mut behind) = (Message::default(), Message::default());
    let (mut inputs, mut cast) = (Vec::new(), Vec::new());
    for (i, input) in network.inputs().iter().enumerate() {
        match input.element.filter(|e| !e.is_f32()) {
            Some(element) => {
                let name = format!("{prefix}_in{i}");
                before = before.message(tag::GRAPH_NODE, &node(&name, &input.name, element.0));
                behind = behind.message(tag::GRAPH_INPUT, &value_message(&name, FLOAT, input.shape.as_deref()));
                cast.push(input.name.as_str());
                inputs.push(name);
            }
            None => inputs.push(input.name.clone()),
        }
    }
    let other = network.has_other_floats();
    let mut outputs = Vec::new();
    for (i, tensor) in tensors.iter().enumerate() {
        let name = if other { format!("{prefix}_out{i}") } else { (*tensor).to_owned() };
        if other {
            behind = behind.message(tag::GRAPH_NODE, &node(tensor, &name, FLOAT));
        }
        if network.outputs().iter().all(|o| o.name != name) {
            behind = behind.message(tag::GRAPH_OUTPUT, &Message::default().text(tag::FIRST, &name));
        }
        outputs.push(name);
    }
    let is_cast = |bytes: &[u8]| tensor_info(bytes).is_ok_and(|t| cast.contains(&t.name.as_str()));
    let model =
        network.edited(|field| field.number != tag::GRAPH_INPUT || !field.bytes().is_ok_and(is_cast), before, behind);
    Bordered { model, inputs, outputs }
}

/// The operator that casts a tensor.
pub(crate) fn node(from: &str, to: &str, element: i64) -> Message {
    let kind = Message::default()
        .text(tag::ATTRIBUTE_NAME, "to")
        .number(tag::ATTRIBUTE_INT, element)
        .number(tag::ATTRIBUTE_TYPE, ATTRIBUTE_INT);
    Message::default()
        .text(tag::NODE_INPUT, from)
        .text(tag::NODE_OUTPUT, to)
        .text(tag::NODE_NAME, &format!("{to}_cast"))
        .text(tag::NODE_OP, "Cast")
        .message(tag::NODE_ATTRIBUTE, &kind)
}

/// A beginning that none of the network's names has.
pub(crate) fn unused(network: &Network, prefix: &str) -> String {
    let mut prefix = prefix.to_owned();
    while network.any_name(|n| n.starts_with(&prefix)) {
        prefix.push('_');
    }
    prefix
}
