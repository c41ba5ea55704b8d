//! Graphs that no exporter writes, and mutations of sound ones: errors or results, and never a panic.

use std::path::Path;

use rand::RngExt;
use stonet::{Kind, Seed};
use stonet_onnx::{Axis, HeadGraph, Inputs, Joint, Network, RunSettings};

use crate::fitted;
use crate::wire::Message;

/// Field numbers of onnx.proto.
mod tag {
    pub const GRAPH_NODE: u64 = 1;
    pub const GRAPH_INITIALISER: u64 = 5;
    pub const GRAPH_INPUT: u64 = 11;
    pub const GRAPH_OUTPUT: u64 = 12;
    pub const NODE_INPUT: u64 = 1;
    pub const NODE_OUTPUT: u64 = 2;
    pub const NODE_NAME: u64 = 3;
    pub const NODE_OP: u64 = 4;
    pub const NODE_ATTRIBUTE: u64 = 5;
    pub const ATTRIBUTE_GRAPH: u64 = 6;
    pub const TENSOR_DIMS: u64 = 1;
    pub const TENSOR_TYPE: u64 = 2;
    pub const TENSOR_NAME: u64 = 8;
    pub const TENSOR_RAW: u64 = 9;
}
/// f32 among ONNX's types.
const FLOAT: i64 = 1;

/// A node of a graph in the making.
#[derive(Clone, Default)]
struct Node {
    op: &'static str,
    name: &'static str,
    inputs: Vec<&'static str>,
    outputs: Vec<&'static str>,
}

/// A graph in the making: x (N × 3) to y.
#[derive(Clone)]
struct Odd {
    nodes: Vec<Node>,
    /// Stored tensors with their axes and how many numbers they hold.
    stored: Vec<(&'static str, Vec<i64>, usize)>,
    inputs: Vec<(&'static str, Option<Vec<Axis>>)>,
    outputs: Vec<&'static str>,
}

fn node(op: &'static str, inputs: &[&'static str], outputs: &[&'static str]) -> Node {
    Node { op, name: "", inputs: inputs.to_vec(), outputs: outputs.to_vec() }
}

fn rows(columns: usize) -> Option<Vec<Axis>> {
    Some(vec![Axis::Open("N".into()), Axis::Fixed(columns)])
}

fn sound() -> Odd {
    Odd {
        nodes: vec![
            node("MatMul", &["x", "w1"], &["a"]),
            node("Tanh", &["a"], &["h"]),
            node("Gemm", &["h", "w2", "b2"], &["y"]),
        ],
        stored: vec![("w1", vec![3, 4], 12), ("w2", vec![4, 2], 8), ("b2", vec![2], 2)],
        inputs: vec![("x", rows(3))],
        outputs: vec!["y"],
    }
}

impl Odd {
    fn bytes(&self) -> Vec<u8> {
        let mut graph = Message::default();
        for n in &self.nodes {
            let ins = n.inputs.iter().fold(Message::default(), |m, i| m.text(tag::NODE_INPUT, i));
            let outs = n.outputs.iter().fold(ins, |m, o| m.text(tag::NODE_OUTPUT, o));
            graph = graph.message(tag::GRAPH_NODE, &outs.text(tag::NODE_OP, n.op).text(tag::NODE_NAME, n.name));
        }
        for (name, axes, count) in &self.stored {
            let raw: Vec<u8> = (0..*count).flat_map(|i| (i as f32 * 0.7).sin().to_le_bytes()).collect();
            let tensor = axes.iter().fold(Message::default(), |m, d| m.number(tag::TENSOR_DIMS, *d));
            let tensor =
                tensor.number(tag::TENSOR_TYPE, FLOAT).text(tag::TENSOR_NAME, name).bytes(tag::TENSOR_RAW, &raw);
            graph = graph.message(tag::GRAPH_INITIALISER, &tensor);
        }
        for (name, shape) in &self.inputs {
            graph = graph.message(tag::GRAPH_INPUT, &input(name, shape.as_deref()));
        }
        for name in &self.outputs {
            graph = graph.message(tag::GRAPH_OUTPUT, &Message::default().text(1, name));
        }
        model(&graph)
    }
}

fn input(name: &str, shape: Option<&[Axis]>) -> Message {
    let axis = |axis: &Axis| match axis {
        Axis::Fixed(n) => Message::default().number(1, *n as i64),
        Axis::Open(name) => Message::default().text(2, name),
    };
    let mut tensor = Message::default().number(1, FLOAT);
    if let Some(shape) = shape {
        tensor = tensor.message(2, &shape.iter().fold(Message::default(), |m, a| m.message(1, &axis(a))));
    }
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

fn model(graph: &Message) -> Vec<u8> {
    let opset = Message::default().text(1, "").number(2, 17);
    Message::default().number(1, 8).message(7, graph).message(8, &opset).into_bytes()
}

/// A head to join to whatever comes.
fn head() -> HeadGraph {
    fitted::interval(&fitted::quick(Kind::Paper), 120, 1, false, false).head
}

/// Everything that can be done with a file; whether it ran.
fn used(bytes: Vec<u8>, head: &HeadGraph) -> bool {
    let Ok(network) = Network::from_bytes(bytes, Path::new("odd.onnx")) else { return false };
    let _ = (network.columns(), network.operator_counts(), network.default_tap(), network.tap(""), network.tap("y"));
    let mut taps = network.measured_taps();
    taps.extend(network.tap("x"));
    let mut ran = false;
    for tap in taps.iter().take(4) {
        let _ = tap.to_string();
        let joint = Joint { features: Some(tap.tensor.clone()), ..Joint::default() };
        let _ = head.join(&network, &joint);
        let Ok(runner) = network.runner(tap, &RunSettings { outputs: true, ..RunSettings::default() }) else {
            continue;
        };
        ran |= runner.features(&Inputs::array(vec![0.5; 6], &[2, 3]).unwrap(), 0..2, &|_, _| true).is_ok();
    }
    ran
}

#[test]
fn graphs_that_no_exporter_writes_never_panic() {
    let head = head();
    assert!(used(sound().bytes(), &head));
    let changed = |change: &dyn Fn(&mut Odd)| {
        let mut odd = sound();
        change(&mut odd);
        used(odd.bytes(), &head);
    };
    // Nodes without outputs, without inputs, without either, with empty names; each in every place.
    for i in 0..3 {
        changed(&|o| o.nodes[i].outputs.clear());
        changed(&|o| o.nodes[i].inputs.clear());
        changed(&|o| o.nodes[i] = node(o.nodes[i].op, &[], &[]));
        changed(&|o| o.nodes[i].outputs = vec![""]);
        changed(&|o| o.nodes[i].outputs = vec!["", "", ""]);
        changed(&|o| o.nodes[i].inputs = vec!["", "", ""]);
        changed(&|o| o.nodes[i].op = "");
        changed(&|o| drop(o.nodes.remove(i)));
        // A node more, linear and reading the hidden layer, that writes nothing.
        changed(&|o| o.nodes.insert(i, node("Gemm", &["h", "w2"], &[])));
        changed(&|o| o.nodes.insert(i, node("MatMul", &["h", "w2"], &[""])));
        changed(&|o| o.nodes.insert(i, node("Flatten", &["h"], &[])));
        changed(&|o| o.nodes[i].inputs = vec!["missing", "missing too"]);
        // Stored tensors that are missing, of other axes, of absurd ones.
        changed(&|o| drop(o.stored.remove(i)));
        for axes in [vec![], vec![0, 0], vec![-1, 4], vec![i64::MAX, i64::MAX], vec![1 << 40, 1 << 40], vec![2, 2, 3]] {
            for count in [0, 12] {
                changed(&|o| o.stored[i] = (o.stored[i].0, axes.clone(), count));
            }
        }
    }
    // Circles: of one node, of two, through the output.
    changed(&|o| o.nodes[1] = node("Tanh", &["h"], &["h"]));
    changed(&|o| o.nodes[0] = node("Add", &["h", "w1"], &["a"]));
    changed(&|o| o.nodes[0].inputs = vec!["y", "w1"]);
    changed(&|o| o.nodes = vec![node("Identity", &["y"], &["y"])]);
    // Inputs and outputs.
    changed(&|o| o.inputs.clear());
    changed(&|o| o.inputs = vec![("", rows(3))]);
    changed(&|o| o.inputs = vec![("x", rows(3)), ("x", rows(3))]);
    changed(&|o| o.inputs = vec![("x", None)]);
    changed(&|o| o.inputs = vec![("x", Some(vec![]))]);
    changed(&|o| o.inputs = vec![("x", rows(usize::MAX / 2))]);
    changed(&|o| o.inputs = vec![("x", rows(1 << 40)), ("z", rows(1 << 40))]);
    changed(&|o| o.inputs = vec![("x", rows(2)), ("z", rows(1))]);
    changed(&|o| o.inputs = vec![("x", Some(vec![Axis::Fixed(usize::MAX / 8), Axis::Fixed(3)]))]);
    changed(&|o| o.inputs.push(("w1", rows(4))));
    changed(&|o| o.outputs.clear());
    changed(&|o| o.outputs = vec![""]);
    changed(&|o| o.outputs = vec!["y", "y", "x", "w1", "missing"]);
}

#[test]
fn graphs_deep_in_graphs_are_refused() {
    // A node with a graph, whose node has a graph, and so on; a program that goes down without end runs out of stack.
    let mut graph = Message::default().message(tag::GRAPH_NODE, &Message::default().text(tag::NODE_OP, "If"));
    for _ in 0..20_000 {
        let attribute = Message::default().message(tag::ATTRIBUTE_GRAPH, &graph);
        let node = Message::default().text(tag::NODE_OP, "If").message(tag::NODE_ATTRIBUTE, &attribute);
        graph = Message::default().message(tag::GRAPH_NODE, &node);
    }
    let e = Network::from_bytes(model(&graph), Path::new("deep.onnx")).unwrap_err();
    assert!(e.to_string().contains("nested too deep"), "{e}");
}

#[test]
fn mutated_graphs_never_panic() {
    let (whole, head) = (sound().bytes(), head());
    let mut rng = Seed::new(5).rng();
    let mut ran = 0;
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..rng.random_range(1..6) {
            let place = rng.random_range(0..bytes.len());
            match rng.random_range(0..5) {
                0 => drop(bytes.remove(place)),
                1 => bytes.insert(place, rng.random()),
                2 => bytes[place] ^= 1 << rng.random_range(0..8),
                3 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)],
                _ => bytes[place] = rng.random(),
            }
        }
        ran += usize::from(used(bytes, &head));
    }
    // Most of the file is weights and names: many mutations leave a network.
    assert!(ran > 100, "{ran}");
}
