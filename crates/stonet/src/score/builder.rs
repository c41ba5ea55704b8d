//! A plan in the making: operations are appended one by one, and columns that nothing uses are left out at the end.

use std::collections::{BTreeMap, HashMap};
use std::mem::Discriminant;

use super::op::{Op, Sparse};
use super::plan::{Input, Node, Output, Plan, Port, Quantity, Value};
use crate::network::Activation;
use crate::rows::InputKind;
use crate::sparse::Clamp;

/// Appends operations to a plan.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    values: Vec<Value>,
    /// The values by their operation and the first value that it takes.
    alike: HashMap<(Discriminant<Op>, Option<usize>), Vec<usize>>,
    outputs: Vec<Output>,
    /// The value of every table that is read, and how many columns the table has.
    ports: BTreeMap<Port, (Node, usize)>,
    kind: InputKind,
    /// Whether each column of the logits is an output by itself.
    each: bool,
    /// Where the target lies.
    range: Option<(f64, f64)>,
}

impl Builder {
    /// A plan whose outputs are raised or lowered into a range, where one is given.
    pub(crate) fn within(range: Option<(f64, f64)>) -> Self {
        Builder { range, ..Builder::default() }
    }

    /// All columns of a table.
    pub(crate) fn port(&mut self, port: Port, width: usize) -> Node {
        if let Some(&(node, _)) = self.ports.get(&port) {
            return node;
        }
        let node = self.push(Op::Input { port, columns: (0..width).collect() }, width, false);
        self.ports.insert(port, (node, width));
        node
    }

    /// What the columns of the logits are, and whether each of them belongs to a label of its own.
    pub(crate) fn set_kind(&mut self, kind: InputKind, each: bool) {
        (self.kind, self.each) = (kind, each);
    }

    /// The value of an operation; what is asked for twice is computed once.
    fn push(&mut self, op: Op, width: usize, single: bool) -> Node {
        let value = Value { op, width, single };
        // Equal operations take the same first value, so only few have to be compared.
        let first = value.op.takes().first().map(|n| n.index());
        let alike = self.alike.entry((std::mem::discriminant(&value.op), first)).or_default();
        if let Some(&known) = alike.iter().find(|&&i| self.values[i] == value) {
            return Node(known);
        }
        alike.push(self.values.len());
        self.values.push(value);
        Node(self.values.len() - 1)
    }

    /// How many columns a value has.
    pub(crate) fn width(&self, node: Node) -> usize {
        self.values[node.0].width
    }

    /// An operation whose result is as wide as its first argument.
    pub(crate) fn op(&mut self, op: Op) -> Node {
        let width = op.takes().first().map_or(0, |n| self.width(*n));
        self.push(op, width, false)
    }

    /// Columns centred, scaled and clipped.
    pub(crate) fn clamp(&mut self, of: Node, clamps: Vec<Clamp>, single: bool) -> Node {
        let width = clamps.len();
        self.push(Op::Clamp { of, clamps }, width, single)
    }

    /// The clamps of a value that is made of them.
    pub(crate) fn clamps(&self, node: Node) -> &[Clamp] {
        match &self.values[node.0].op {
            Op::Clamp { clamps, .. } => clamps,
            _ => &[],
        }
    }

    /// Linear combinations.
    pub(crate) fn combine(&mut self, of: Node, weights: Sparse, single: bool) -> Node {
        let width = weights.len();
        self.push(Op::Combine { of, weights }, width, single)
    }

    /// Some columns of a value, by number.
    pub(crate) fn pick(&mut self, of: Node, columns: impl IntoIterator<Item = usize>) -> Node {
        let mut weights = Sparse::default();
        columns.into_iter().for_each(|c| weights.push([(c, 1.0)], 0.0));
        self.combine(of, weights, false)
    }

    /// ψ of every column, in the precision of the columns.
    pub(crate) fn activate(&mut self, of: Node, activation: Activation) -> Node {
        let Value { width, single, .. } = self.values[of.0];
        self.push(Op::Activate { of, activation }, width, single)
    }

    /// Σ factor · value + constant.
    pub(crate) fn sum(&mut self, parts: Vec<(f64, Node)>, constant: f64) -> Node {
        match parts[..] {
            [(1.0, only)] if constant == 0.0 => only,
            _ => {
                let width = parts.first().map_or(0, |p| self.width(p.1));
                self.push(Op::Sum { parts, constant }, width, false)
            }
        }
    }

    /// Columns side by side.
    pub(crate) fn join(&mut self, parts: Vec<Node>) -> Node {
        if let [only] = parts[..] {
            return only;
        }
        let width = parts.iter().map(|&n| self.width(n)).sum();
        self.push(Op::Join(parts), width, false)
    }

    /// An operation of another width than its first argument.
    pub(crate) fn wide(&mut self, op: Op, width: usize) -> Node {
        self.push(op, width, false)
    }

    /// The same numbers in every row, a column each.
    pub(crate) fn constant(&mut self, of: Node, values: &[f64]) -> Node {
        let mut sparse = Sparse::default();
        values.iter().for_each(|&value| sparse.push([], value));
        self.combine(of, sparse, false)
    }

    /// P(y ≤ t) of one target or of several, in columns: certain where t lies outside of the range.
    pub(crate) fn probability(&mut self, op: Op, value: Node) -> Node {
        let of = self.wide(op, self.width(value));
        match self.range {
            Some((low, high)) => self.op(Op::Bounded { of, value, low, high }),
            None => of,
        }
    }

    /// Where the target lies, if that is known.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        self.range
    }

    /// An output column; where there is a range it is moved into it, unless it is a probability or a decision.
    pub(crate) fn output(&mut self, quantity: Quantity, node: Node, column: usize, finite: bool) {
        let range = if matches!(quantity, Quantity::Below { .. } | Quantity::Decision) { None } else { self.range };
        let (node, column) = match range {
            Some((low, high)) => (self.clamp(node, vec![Clamp::within(column, low, high)], false), 0),
            None => (node, column),
        };
        self.outputs.push(Output { quantity, node, column, finite });
    }

    /// The plan, whose inputs are all used.
    pub(crate) fn finish(mut self) -> Plan {
        self.narrow();
        let mut inputs = Vec::new();
        for (&port, (node, _)) in &self.ports {
            if let Op::Input { columns, .. } = &self.values[node.0].op {
                inputs.extend(columns.iter().map(|&column| Input { port, column }));
            }
        }
        let ports = self.ports.iter().map(|(&port, &(_, width))| (port, width)).collect();
        Plan { ports, inputs, values: self.values, outputs: self.outputs, kind: self.kind, each: self.each }
    }

    /// Leaves out columns of inputs and of clipped inputs that nothing uses.
    fn narrow(&mut self) {
        let used = self.used();
        for i in 0..self.values.len() {
            if used[i].iter().all(|u| *u) {
                continue;
            }
            let keep = |column: usize| used[i][column];
            match &mut self.values[i].op {
                Op::Input { columns, .. } => *columns = kept(columns, keep),
                Op::Clamp { clamps, .. } => *clamps = kept(clamps, keep),
                _ => continue,
            }
            let place: Vec<usize> = (used[i].iter())
                .scan(0, |next, &used| Some(std::mem::replace(next, *next + usize::from(used))))
                .collect();
            self.values[i].width = used[i].iter().filter(|u| **u).count();
            for value in &mut self.values[i + 1..] {
                renumber(&mut value.op, Node(i), &place);
            }
        }
    }

    /// Which columns of every value are used. An operation computes all of its columns, unless they are left out: those
    /// of inputs and of clipped inputs can be, where all that takes them names the columns that it takes.
    fn used(&self) -> Vec<Vec<bool>> {
        let mut used: Vec<Vec<bool>> = self.values.iter().map(|v| vec![false; v.width]).collect();
        self.outputs.iter().for_each(|o| used[o.node.0].fill(true));
        for i in (0..self.values.len()).rev() {
            let own = std::mem::take(&mut used[i]);
            if own.iter().any(|u| *u) {
                mark(&self.values[i].op, &own, &mut used);
            }
            used[i] = own;
        }
        used
    }
}

/// Marks what these columns of an operation's result need.
fn mark(op: &Op, own: &[bool], used: &mut [Vec<bool>]) {
    match op {
        Op::Clamp { of, clamps } => {
            let chosen = clamps.iter().zip(own).filter(|(_, own)| **own);
            chosen.for_each(|(c, _)| used[of.0][c.column] = true);
        }
        Op::Combine { of, weights } => weights.entries.iter().for_each(|e| used[of.0][e.0] = true),
        Op::Quadratic { of, forms } => forms.iter().flat_map(|f| &f.support).for_each(|&k| used[of.0][k] = true),
        _ => op.takes().iter().for_each(|n| used[n.0].fill(true)),
    }
}

/// The items at places that are kept.
fn kept<T: Clone>(items: &[T], keep: impl Fn(usize) -> bool) -> Vec<T> {
    items.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, item)| item.clone()).collect()
}

/// Gives the columns of a value other numbers wherever an operation names them.
fn renumber(op: &mut Op, of: Node, place: &[usize]) {
    match op {
        Op::Clamp { of: taken, clamps } if *taken == of => {
            clamps.iter_mut().for_each(|c| c.column = place[c.column]);
        }
        Op::Combine { of: taken, weights } if *taken == of => {
            weights.entries.iter_mut().for_each(|e| e.0 = place[e.0]);
        }
        Op::Quadratic { of: taken, forms } if *taken == of => {
            forms.iter_mut().for_each(|f| f.support.iter_mut().for_each(|k| *k = place[*k]));
        }
        _ => {}
    }
}
