//! A fitted classifier as a graph: softmax(z/T + network) of every member, pooled.

use stonet::anatomy::View;
use stonet::calibration::Corrected;
use stonet::{FittedClassifier, InputKind};

use super::{FEATURES, LOGITS, PROBABILITIES};
use crate::graph::{Graph, Head, Tensor};
use crate::{Error, Result};

/// What a network says of the classes: `columns` of this kind, one for a binary classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassOutput {
    /// What the columns are.
    pub kind: InputKind,
    /// How many there are.
    pub columns: usize,
}

/// The graph from the network's `logits` or `network_probabilities`, its `features`, or both to `probabilities` and `class` (the number of the
/// most probable one).
pub fn classifier(fitted: &FittedClassifier, output: ClassOutput) -> Result<Head> {
    let members = fitted.members();
    if members.is_empty() {
        return Err(Error::NotExportable {
            what: "isotonic regression".into(),
            why: "its maps have steps that f32 cannot tell apart".into(),
            remedy: "fit another method, such as `stack`",
        });
    }
    let mut graph = Graph::default();
    let mut pooled = Vec::new();
    for (weight, member) in members {
        let logits = logits(&mut graph, member, output);
        let p = graph.softmax(logits);
        pooled.push(graph.times(p, weight));
    }
    let Some(p) = graph.sum(pooled) else { unreachable!("there are members") };
    let [class] = graph.call("ArgMax", &[p], &[("axis", 1), ("keepdims", 0)]);
    graph.output("probabilities", p, fitted.classes());
    graph.output_index("class", class);
    graph
        .finish(vec![("stonet.task", "classification".into()), ("stonet.method", fitted.settings().method.to_string())])
}

/// F_L of one member.
fn logits(graph: &mut Graph, member: &Corrected, output: ClassOutput) -> Tensor {
    let k = member.classes();
    let skip = member.temperature().map(|t| {
        let z = given(graph, output);
        over(graph, z, t)
    });
    let correction = member.correction().map(|(view, net)| {
        let seen = seen(graph, view, output, k, member.temperature().unwrap_or(1.0));
        graph.network(seen, net)
    });
    let Some(f) = graph.sum(skip.into_iter().chain(correction)) else {
        unreachable!("a calibrator has a temperature or a network")
    };
    f
}

fn seen(graph: &mut Graph, view: &View, output: ClassOutput, k: usize, t: f64) -> Tensor {
    match view {
        View::Raw => given(graph, output),
        View::Centred => {
            let z = given(graph, output);
            let sums = graph.row_sums(z, k);
            let mean = graph.times(sums, 1.0 / k as f64);
            let centred = graph.op("Sub", &[z, mean]);
            over(graph, centred, t)
        }
        View::Probabilities => {
            let z = given(graph, output);
            let cooled = over(graph, z, t);
            let p = graph.softmax(cooled);
            graph.line(p, 4.0, -4.0 / k as f64)
        }
        View::Logits(clip) => {
            let z = given(graph, output);
            graph.clipped(z, clip)
        }
        View::Features(clip) => {
            let x = graph.input(FEATURES, clip.columns());
            graph.clipped(x, clip)
        }
    }
}

/// The network's output as logits, as `InputKind::logits` makes them.
fn given(graph: &mut Graph, output: ClassOutput) -> Tensor {
    let ClassOutput { kind, columns } = output;
    let one = columns == 1;
    match kind {
        InputKind::Probabilities => {
            let mut p = graph.input(PROBABILITIES, columns);
            if one {
                let other = graph.line(p, -1.0, 1.0);
                p = graph.beside(&[other, p]);
            }
            logarithm(graph, p)
        }
        InputKind::LogProbabilities if one => {
            let z = graph.input(LOGITS, 1);
            // 1 − eᶻ = −2t / (1 − t) with t = tanh(z/2), which is exact near z = 0 too.
            let half = graph.times(z, 0.5);
            let t = graph.op("Tanh", &[half]);
            let (top, bottom) = (graph.times(t, -2.0), graph.line(t, -1.0, 1.0));
            let other = graph.op("Div", &[top, bottom]);
            let other = logarithm(graph, other);
            graph.beside(&[other, z])
        }
        InputKind::Logits if one => {
            let z = graph.input(LOGITS, 1);
            let zero = graph.times(z, 0.0);
            graph.beside(&[zero, z])
        }
        _ => graph.input(LOGITS, columns),
    }
}

/// ln p, where p is not below the least probability.
fn logarithm(graph: &mut Graph, p: Tensor) -> Tensor {
    let least = graph.number(InputKind::LEAST_PROBABILITY);
    let raised = graph.op("Max", &[p, least]);
    graph.op("Log", &[raised])
}

fn over(graph: &mut Graph, x: Tensor, divisor: f64) -> Tensor {
    if divisor == 1.0 {
        return x;
    }
    let divisor = graph.number(divisor);
    graph.op("Div", &[x, divisor])
}
