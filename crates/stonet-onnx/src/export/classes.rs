//! A fitted classifier as a graph: softmax(z/T + network) of every member, pooled.

use stonet::FittedClassifier;
use stonet::anatomy::View;
use stonet::calibration::Corrected;

use super::{FEATURES, LOGITS};
use crate::graph::{Graph, Head, Tensor};
use crate::{Error, Result};

/// The graph from `logits`, `features`, or both to `probabilities` and `class` (the number of the most probable one).
pub fn classifier(fitted: &FittedClassifier) -> Result<Head> {
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
        let logits = logits(&mut graph, member);
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
fn logits(graph: &mut Graph, member: &Corrected) -> Tensor {
    let k = member.classes();
    let skip = member.temperature().map(|t| {
        let z = graph.input(LOGITS, k);
        over(graph, z, t)
    });
    let correction = member.correction().map(|(view, net)| {
        let seen = seen(graph, view, k, member.temperature().unwrap_or(1.0));
        graph.network(seen, net)
    });
    let Some(f) = graph.sum(skip.into_iter().chain(correction)) else {
        unreachable!("a calibrator has a temperature or a network")
    };
    f
}

fn seen(graph: &mut Graph, view: &View, k: usize, t: f64) -> Tensor {
    match view {
        View::Raw => graph.input(LOGITS, k),
        View::Centred => {
            let z = graph.input(LOGITS, k);
            let sums = graph.row_sums(z, k);
            let mean = graph.times(sums, 1.0 / k as f64);
            let centred = graph.op("Sub", &[z, mean]);
            over(graph, centred, t)
        }
        View::Probabilities => {
            let z = graph.input(LOGITS, k);
            let cooled = over(graph, z, t);
            let p = graph.softmax(cooled);
            graph.line(p, 4.0, -4.0 / k as f64)
        }
        View::Logits(clip) => {
            let z = graph.input(LOGITS, k);
            graph.clipped(z, clip)
        }
        View::Features(clip) => {
            let x = graph.input(FEATURES, clip.columns());
            graph.clipped(x, clip)
        }
    }
}

fn over(graph: &mut Graph, x: Tensor, divisor: f64) -> Tensor {
    if divisor == 1.0 {
        return x;
    }
    let divisor = graph.number(divisor);
    graph.op("Div", &[x, divisor])
}
