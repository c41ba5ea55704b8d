//! A plain network as a graph from rows in their own units to predictions in theirs, or to logits.

use stonet::peers::mlp::Mlp;
use stonet::rows::Standardizer;

use super::{LOGITS, PREDICTION};
use crate::graph::{Graph, HeadGraph};
use crate::network::COLUMNS;
use crate::{Error, Result};

/// The graph from `inputs` to `network_prediction` if there is a scale of targets, else to `logits`; the names of the
/// inputs are kept as a note. (A head that is joined to it then has the name `prediction` for itself.)
///
/// The network was trained on inputs on the scale of `inputs`, and on targets on the scale of `targets`.
pub fn perceptron(
    network: &Mlp,
    inputs: &Standardizer,
    targets: Option<&Standardizer>,
    columns: &[String],
) -> Result<HeadGraph> {
    let expected = network.inputs();
    for found in [inputs.mean().len(), columns.len()] {
        if found != expected {
            return Err(Error::setting("columns of the inputs", found, format!("{expected}, as the network has")));
        }
    }
    if targets.is_some_and(|t| t.mean().len() != network.outputs()) {
        return Err(Error::setting(
            "columns of the targets",
            targets.map_or(0, |t| t.mean().len()),
            "those of the network",
        ));
    }
    let mut graph = Graph::default();
    let raw = graph.input("inputs", expected);
    let mut a = graph.standardised(raw, inputs.mean(), inputs.sd());
    let last = network.layers().len() - 1;
    for (i, layer) in network.layers().iter().enumerate() {
        // The last layer takes in the scale of the targets, so that a prediction is the output of a linear layer.
        let scale = targets.filter(|_| i == last);
        let (sd, mean) = (|o: usize| scale.map_or(1.0, |s| s.sd()[o]), |o: usize| scale.map_or(0.0, |s| s.mean()[o]));
        let (outputs, width) = layer.weight.dim();
        let weight = layer.weight.indexed_iter().map(|((o, _), &w)| f64::from(w) * sd(o));
        let weight = graph.floats(&[outputs, width], weight);
        let bias = layer.bias.iter().enumerate().map(|(o, &b)| f64::from(b) * sd(o) + mean(o));
        let bias = graph.floats(&[outputs], bias);
        [a] = graph.call("Gemm", &[a, weight, bias], &[("transB", 1)]);
        if i < last {
            a = graph.activation(a, network.activation());
        }
    }
    graph.output(if targets.is_some() { PREDICTION } else { LOGITS }.into(), a, network.outputs());
    let names = serde_json::to_string(columns).map_err(|e| Error::setting("column names", e, "text"))?;
    graph.finish(vec![("stonet.task", "network".into()), (COLUMNS, names)])
}
