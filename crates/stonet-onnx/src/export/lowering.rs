//! A plan as ONNX operators: each operation on columns becomes standard operators on tensors of N rows.
//!
//! Only what the outputs need is written. All is in f32, whatever precision the plan names.

use stonet::score::{Clamp, Node, Op, Output, Plan, Port, Quantity, Sparse};
use stonet::{Activation, InputKind};

use super::forms::dense;
use super::ranks::Ranks;
use super::{FEATURES, GROUPS, LOGITS, LOWER, PREDICTION, PROBABILITIES, SD, UPPER, VALUES};
use crate::graph::{Graph, HeadGraph, Tensor};
use crate::{Error, Result};

/// A plan and the part of its graph that is written so far.
pub(super) struct Lowering<'p> {
    plan: &'p Plan,
    pub(super) graph: Graph,
    /// The tensors of the plan's values.
    known: Vec<Option<Tensor>>,
}

impl<'p> Lowering<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let mut lowering = Lowering { plan, graph: Graph::default(), known: vec![None; plan.values().len()] };
        // In this order, whatever is used first.
        plan.inputs().iter().for_each(|i| {
            lowering.input(i.port);
        });
        lowering
    }

    /// Writes these outputs of the plan as one output of the graph, a column each; nothing if there are none.
    pub(super) fn output(&mut self, name: String, wanted: impl Fn(Quantity) -> bool) -> Result<()> {
        let chosen: Vec<Output> = self.plan.outputs().iter().filter(|o| wanted(o.quantity)).copied().collect();
        let mut parts = Vec::new();
        for run in chosen.chunk_by(|a, b| a.node == b.node) {
            let columns: Vec<usize> = run.iter().map(|o| o.column).collect();
            parts.push(self.columns(run[0].node, &columns)?);
        }
        if !parts.is_empty() {
            let table = self.graph.beside(&parts);
            self.graph.output(name, table, chosen.len());
        }
        Ok(())
    }

    /// Writes the number of the most probable class as an output.
    pub(super) fn class(&mut self, name: &str) -> Result<()> {
        let plan = self.plan;
        for output in plan.outputs().iter().filter(|o| o.quantity == Quantity::Class) {
            if let Op::Top { of } = plan.values()[output.node.index()].op {
                let p = self.value(of)?;
                let [class] = self.graph.call("ArgMax", &[p], &[("axis", 1), ("keepdims", 0)]);
                self.graph.output_index(name.into(), class);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, notes: Vec<(&'static str, String)>) -> Result<HeadGraph> {
        self.graph.finish(notes)
    }

    /// How many columns a value has.
    pub(super) fn width(&self, node: Node) -> usize {
        self.plan.values()[node.index()].width
    }

    /// The operation that gives a value.
    pub(super) fn op(&self, node: Node) -> &'p Op {
        &self.plan.values()[node.index()].op
    }

    /// Some columns of a value. Of an interval, only the ends that are named are written.
    fn columns(&mut self, node: Node, columns: &[usize]) -> Result<Tensor> {
        let plan = self.plan;
        let Op::Ends { folds, centre, scores, within, weight, level, side } = &plan.values()[node.index()].op else {
            let (all, width) = (self.value(node)?, self.width(node));
            return Ok(self.graph.chosen(all, width, columns));
        };
        if within.is_some() {
            return Err(grouped());
        }
        let weight = weight.map(|w| self.value(w)).transpose()?;
        let ranks = Ranks::new(scores, *level, *side, weight)?;
        let mut at = Vec::new();
        for &[mean, above, below] in folds {
            at.push([self.value(mean)?, self.value(above)?, self.value(below)?]);
        }
        let centre = self.value(*centre)?;
        let ends: Vec<Tensor> = columns.iter().map(|&c| ranks.end(&mut self.graph, &at, centre, c == 1)).collect();
        Ok(self.graph.beside(&ends))
    }

    /// The tensor of a value, written at its first use.
    pub(super) fn value(&mut self, node: Node) -> Result<Tensor> {
        if let Some(tensor) = self.known[node.index()] {
            return Ok(tensor);
        }
        let plan = self.plan;
        let tensor = self.lower(&plan.values()[node.index()].op)?;
        self.known[node.index()] = Some(tensor);
        Ok(tensor)
    }

    fn lower(&mut self, op: &Op) -> Result<Tensor> {
        Ok(match op {
            Op::Input { port, columns } => {
                let (all, width) = self.input(*port);
                self.graph.chosen(all, width, columns)
            }
            Op::Clamp { of, clamps } => self.clamp(*of, clamps)?,
            Op::Combine { of, weights } => match ends_picked(self.op(*of), weights) {
                Some(columns) => self.columns(*of, &columns)?,
                None => self.combine(*of, weights)?,
            },
            Op::Activate { of, activation } => self.with(*of, |g, y| g.activation(y, *activation))?,
            Op::Slope { of, activation } => self.slope(*of, *activation)?,
            Op::Sum { parts, constant } => self.sum(parts, *constant)?,
            Op::Product(a, b) => self.pair("Mul", *a, *b)?,
            Op::Pairs { of } => {
                let width = self.width(*of);
                let (first, second): (Vec<usize>, Vec<usize>) =
                    (0..width).flat_map(|a| (a..width).map(move |b| (a, b))).unzip();
                self.with(*of, |g, x| {
                    let (first, second) = (g.columns(x, &first), g.columns(x, &second));
                    g.op("Mul", &[first, second])
                })?
            }
            Op::LogDistance { a, b, offset } => {
                let apart = self.pair("Sub", *a, *b)?;
                let apart = self.graph.op("Abs", &[apart]);
                let kept = self.graph.plus(apart, *offset);
                self.graph.op("Log", &[kept])
            }
            Op::Exp { of, low, high } => {
                let n = self.width(*of);
                let (low, high) = (vec![*low; n], vec![*high; n]);
                let exponent = self.with(*of, |g, x| g.within(x, &low, &high))?;
                self.graph.op("Exp", &[exponent])
            }
            Op::SquareRoot { of } => self.with(*of, |g, x| g.op("Sqrt", &[x]))?,
            Op::Quadratic { of, forms } => self.quadratic(*of, forms)?,
            Op::Sandwich { of, slopes } => self.sandwich(*of, *slopes)?,
            Op::Congruence { of, diagonal, weights, own } => self.congruence(*of, *diagonal, weights, *own)?,
            Op::Softmax { of } => self.with(*of, |g, z| {
                let [p] = g.call("Softmax", &[z], &[("axis", 1)]);
                p
            })?,
            Op::Centre { of } => {
                let k = self.width(*of);
                self.with(*of, |g, z| g.centred(z, k))?
            }
            Op::Log { of, least } => self.with(*of, |g, x| g.logarithm(x, *least))?,
            Op::LogRest { of, least } => {
                let rest = self.with(*of, Graph::rest)?;
                self.graph.logarithm(rest, *least)
            }
            Op::Join(parts) => {
                let parts = parts.iter().map(|&n| self.value(n)).collect::<Result<Vec<Tensor>>>()?;
                self.graph.beside(&parts)
            }
            Op::Below { within: Some(_), .. } => return Err(grouped()),
            Op::Below { folds, scores, weight, value, .. } => self.below(folds, scores, *weight, *value)?,
            Op::NormalBelow { mean, sd, value } => self.normal_below(*mean, *sd, *value)?,
            Op::Bounded { of, value, low, high } => self.bounded(*of, *value, *low, *high)?,
            Op::Interpolate { of, maps } => self.interpolate(*of, maps)?,
            Op::Normalise { of, otherwise, least } => self.normalise(*of, *otherwise, *least)?,
            Op::Conditional { .. } => return Err(conditional()),
            Op::Conformity { of, score } => self.conformity(*of, *score)?,
            Op::Members { folds, top, scores, level } => self.members(folds, *top, scores, *level)?,
            Op::Largest { of } => self.with(*of, Graph::largest)?,
            Op::BinBounds { of, bounds } => self.bin_bounds(*of, bounds)?,
            _ => return Err(unknown()),
        })
    }

    /// A function of one value.
    fn with(&mut self, of: Node, work: impl FnOnce(&mut Graph, Tensor) -> Tensor) -> Result<Tensor> {
        let x = self.value(of)?;
        Ok(work(&mut self.graph, x))
    }

    /// An operator on two values.
    fn pair(&mut self, op: &'static str, a: Node, b: Node) -> Result<Tensor> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        Ok(self.graph.op(op, &[a, b]))
    }

    fn slope(&mut self, of: Node, activation: Activation) -> Result<Tensor> {
        self.with(of, |g, a| g.slope(a, activation))
    }

    /// A table that the plan reads, with all its columns.
    fn input(&mut self, port: Port) -> (Tensor, usize) {
        let name = match port {
            Port::Features => FEATURES,
            Port::Prediction => PREDICTION,
            Port::Lower => LOWER,
            Port::Upper => UPPER,
            Port::Sd => SD,
            Port::Logits if self.plan.kind() == InputKind::Probabilities => PROBABILITIES,
            Port::Logits => LOGITS,
            Port::Values => VALUES,
            Port::Functions | Port::Groups => GROUPS,
        };
        let width = self.plan.width(port).unwrap_or(0);
        (self.graph.input(name, width), width)
    }

    /// Rows of these numbers, as many as the inputs have.
    pub(super) fn constant(&mut self, values: &[f64]) -> Tensor {
        let read = self.plan.inputs().first().map(|i| i.port);
        // A head that is constant reads nothing; a table tells how many rows there are.
        let tables = [Port::Features, Port::Prediction, Port::Lower, Port::Upper, Port::Sd, Port::Logits];
        let there = tables.into_iter().find(|p| self.plan.width(*p).is_some());
        let (rows, width) = self.input(read.or(there).unwrap_or(Port::Features));
        self.graph.repeat(rows, width, values)
    }

    fn clamp(&mut self, of: Node, clamps: &[Clamp]) -> Result<Tensor> {
        let each = |of: fn(&Clamp) -> f64| clamps.iter().map(of).collect::<Vec<f64>>();
        let x = self.columns(of, &clamps.iter().map(|c| c.column).collect::<Vec<usize>>())?;
        let z = match clamps.iter().all(|c| c.centre == 0.0 && c.scale == 1.0) {
            true => x,
            false => self.graph.standardised(x, &each(|c| c.centre), &each(|c| 1.0 / c.scale)),
        };
        Ok(self.graph.within(z, &each(|c| c.low), &each(|c| c.high)))
    }

    fn combine(&mut self, of: Node, weights: &Sparse) -> Result<Tensor> {
        let bias: Vec<f64> = weights.rows().map(|(bias, _)| bias).collect();
        let entries: Vec<&[(usize, f64)]> = weights.rows().map(|(_, entries)| entries).collect();
        if entries.iter().all(|e| e.is_empty()) {
            return Ok(self.constant(&bias));
        }
        let (x, width) = (self.value(of)?, self.width(of));
        if entries.iter().all(|e| e.len() == 1) {
            let single: Vec<(usize, f64)> = entries.concat();
            return Ok(self.lines(x, width, &single, &bias));
        }
        let matrix = self.graph.floats(&[entries.len(), width], dense(weights, width));
        let bias = self.graph.floats(&[bias.len()], bias);
        let [out] = self.graph.call("Gemm", &[x, matrix, bias], &[("transB", 1)]);
        Ok(out)
    }

    /// Single columns, each times its own factor plus its own constant.
    fn lines(&mut self, x: Tensor, width: usize, entries: &[(usize, f64)], bias: &[f64]) -> Tensor {
        let (columns, factors): (Vec<usize>, Vec<f64>) = entries.iter().copied().unzip();
        let mut out = self.graph.chosen(x, width, &columns);
        for (op, values, neutral) in [("Mul", &factors[..], 1.0), ("Add", bias, 0.0)] {
            if values.iter().any(|v| *v != neutral) {
                let values = self.graph.row(values);
                out = self.graph.op(op, &[out, values]);
            }
        }
        out
    }

    fn sum(&mut self, parts: &[(f64, Node)], constant: f64) -> Result<Tensor> {
        let mut total = None;
        for &(factor, node) in parts {
            let x = self.value(node)?;
            let part = self.graph.times(x, factor);
            total = Some(total.map_or(part, |t| self.graph.op("Add", &[t, part])));
        }
        let total = total.unwrap_or_else(|| self.constant(&[0.0]));
        Ok(self.graph.plus(total, constant))
    }
}

fn grouped() -> Error {
    Error::NotExportable {
        what: "a head with ranks of its own for each group (within)".into(),
        why: "it takes the group of a row as text".into(),
        remedy: "predict with `stonet predict` or the Python package, or fit without within",
    }
}

fn conditional() -> Error {
    Error::NotExportable {
        what: "a head that covers for functions of a row (conditional)".into(),
        why: "each row needs a linear program, which has no ONNX operators".into(),
        remedy: "predict with `stonet predict` or the Python package, or fit without conditional",
    }
}

/// The columns that combinations of the ends of an interval stand for, each by itself. A product with the others would
/// turn an infinite end into no number.
fn ends_picked(of: &Op, weights: &Sparse) -> Option<Vec<usize>> {
    let one = |(bias, entries): (f64, &[(usize, f64)])| match entries {
        [(column, 1.0)] if bias == 0.0 => Some(*column),
        _ => None,
    };
    if matches!(of, Op::Ends { .. }) { weights.rows().map(one).collect() } else { None }
}

fn unknown() -> Error {
    Error::NotExportable {
        what: "this model".into(),
        why: "one of its operations has no ONNX form".into(),
        remedy: "fit another kind or method, such as `stack`",
    }
}
