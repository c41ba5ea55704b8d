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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Scorer;
    use crate::score::op::Form;
    use crate::score::tests::{assert_rows, computed, numbers, output_all, run};

    fn weights(rows: &[&[(usize, f64)]]) -> Sparse {
        let mut sparse = Sparse::default();
        rows.iter().for_each(|row| sparse.push(row.iter().copied(), 1.0));
        sparse
    }

    fn inputs(plan: &Plan) -> Vec<(Port, usize)> {
        plan.inputs().iter().map(|i| (i.port, i.column)).collect()
    }

    #[test]
    fn what_is_asked_for_twice_is_computed_once() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 3);
        assert_eq!(plan.port(Port::Features, 3), x);
        assert_ne!(plan.port(Port::Prediction, 3), x);
        let root = plan.op(Op::SquareRoot { of: x });
        assert_eq!(plan.op(Op::SquareRoot { of: x }), root);
        let log = plan.op(Op::Log { of: x, least: 1.0 });
        assert_ne!(plan.op(Op::Log { of: x, least: 2.0 }), log);
        assert_eq!(plan.op(Op::Log { of: x, least: 1.0 }), log);
        let clamps = vec![Clamp::within(0, 0.0, 1.0)];
        // Another precision is another value.
        assert_ne!(plan.clamp(x, clamps.clone(), true), plan.clamp(x, clamps.clone(), false));
        assert_eq!(plan.finish().values().len(), 7);
    }

    #[test]
    fn values_are_as_wide_as_what_they_are_made_of() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 3);
        let clamps = vec![Clamp::within(2, 0.0, 1.0), Clamp::within(0, -1.0, 1.0)];
        let clipped = plan.clamp(x, clamps.clone(), true);
        assert_eq!(plan.clamps(clipped), clamps);
        assert_eq!(plan.clamps(x), []);
        let picked = plan.pick(x, [1]);
        let joined = plan.join(vec![x, picked, clipped]);
        assert_eq!(plan.join(vec![picked]), picked);
        let active = plan.activate(clipped, Activation::Relu);
        let constant = plan.constant(x, &[1.0, 2.0, 3.0, 4.0]);
        let root = plan.op(Op::SquareRoot { of: x });
        let pairs = plan.wide(Op::Pairs { of: x }, 6);
        let sum = plan.sum(vec![(2.0, clipped), (1.0, active)], 0.0);
        let all = [x, clipped, picked, joined, active, constant, root, pairs, sum];
        assert_eq!(all.map(|n| plan.width(n)), [3, 2, 1, 6, 2, 4, 3, 6, 2]);
        let values = plan.finish();
        assert!(values.values()[active.index()].single && !values.values()[joined.index()].single);
    }

    #[test]
    fn a_sum_of_one_value_alone_is_that_value() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 1);
        assert_eq!(plan.sum(vec![(1.0, x)], 0.0), x);
        assert_ne!(plan.sum(vec![(1.0, x)], 0.5), x);
        assert_ne!(plan.sum(vec![(2.0, x)], 0.0), x);
        assert_ne!(plan.sum(vec![(1.0, x), (1.0, x)], 0.0), x);
    }

    #[test]
    fn constants_and_picked_columns_are_what_they_say() {
        let x = numbers(5, 3);
        let constant = computed(&x, |plan, x| plan.constant(x, &[4.0, 0.0, -1.5]));
        assert_rows(&constant, &x, 0.0, |_: [f64; 3]| [4.0, 0.0, -1.5]);
        let picked = computed(&x, |plan, x| plan.pick(x, [2, 0, 2]));
        assert_rows(&picked, &x, 0.0, |x: [f64; 3]| [x[2], x[0], x[2]]);
    }

    #[test]
    fn columns_that_nothing_uses_are_not_read() {
        let x = numbers(40, 6);
        let mut plan = Builder::default();
        let d = plan.port(Port::Prediction, 6);
        let f = plan.port(Port::Features, 6);
        // Of six clipped columns two are used, which are columns 4 and 1; of the other table columns 5, 0 and 3.
        let clamps = [3, 4, 0, 1, 2, 5].map(|k| Clamp { column: k, centre: 0.5, scale: 2.0, low: -9.0, high: 9.0 });
        let clipped = plan.clamp(f, clamps.to_vec(), false);
        let line = plan.combine(clipped, weights(&[&[(3, 10.0), (1, 1.0)]]), false);
        let other = plan.combine(d, weights(&[&[(5, 10.0), (0, 1.0)]]), false);
        let mut half = Sparse::default();
        half.push([(0, 2.0)], 0.0);
        let form = Form { support: vec![3], mean: vec![0.25], half, constant: 1.0 };
        let form = plan.wide(Op::Quadratic { of: d, forms: vec![form] }, 1);
        let unused = plan.combine(f, weights(&[&[(2, 1.0)]]), false);
        plan.op(Op::Softmax { of: unused });
        let within = plan.clamp(d, vec![Clamp::within(3, -0.5, 0.5)], false);
        let all = plan.join(vec![line, other, form, within]);
        output_all(&mut plan, all);
        let plan = plan.finish();
        let read = [(Port::Features, 1), (Port::Features, 4), (Port::Prediction, 0), (Port::Prediction, 3)];
        assert_eq!(inputs(&plan), [&read[..], &[(Port::Prediction, 5)]].concat());
        assert_eq!((plan.width(Port::Features), plan.values()[clipped.index()].width), (Some(6), 2));
        let found = run(&Scorer::new(plan), x.view()).unwrap();
        assert_rows(&found, &x, 1e-13, |x: [f64; 6]| {
            let clip = |v: f64| (v - 0.5) * 2.0;
            let (line, other) = (1.0 + 10.0 * clip(x[1]) + clip(x[4]), 1.0 + 10.0 * x[5] + x[0]);
            [line, other, 1.0 + 2.0 * (x[3] - 0.25).powi(2), x[3].clamp(-0.5, 0.5)]
        });
    }

    #[test]
    fn all_columns_are_kept_where_an_operation_takes_them_all() {
        let x = numbers(40, 3);
        let found = computed(&x, |plan, x| {
            let clamps = vec![Clamp::within(2, -0.5, 0.5), Clamp::within(0, -0.25, 0.25)];
            let clipped = plan.clamp(x, clamps, false);
            plan.op(Op::Product(clipped, clipped))
        });
        assert_rows(&found, &x, 0.0, |x: [f64; 3]| [x[2].clamp(-0.5, 0.5).powi(2), x[0].clamp(-0.25, 0.25).powi(2)]);
    }

    #[test]
    fn the_outputs_of_every_table_are_read_in_the_order_of_tables() {
        let mut plan = Builder::default();
        for port in [Port::Logits, Port::Features] {
            let node = plan.port(port, 2);
            output_all(&mut plan, node);
        }
        plan.set_kind(InputKind::Probabilities, true);
        let plan = plan.finish();
        let all = [(Port::Features, 0), (Port::Features, 1), (Port::Logits, 0), (Port::Logits, 1)];
        assert_eq!((inputs(&plan), plan.kind(), plan.each), (all.to_vec(), InputKind::Probabilities, true));
    }

    #[test]
    fn numbers_of_the_target_are_moved_into_its_range() {
        let x = numbers(20, 2);
        let mut plan = Builder::within(Some((-0.5, 0.25)));
        assert_eq!((plan.range(), Builder::default().range()), (Some((-0.5, 0.25)), None));
        let of = plan.port(Port::Features, 2);
        plan.output(Quantity::Prediction { target: 0 }, of, 1, true);
        plan.output(Quantity::Decision, of, 1, true);
        plan.output(Quantity::Below { target: 0, number: 0 }, of, 0, true);
        // A probability is certain from the ends of the range on.
        let value = plan.pick(of, [1]);
        let p = plan.probability(Op::Largest { of }, value);
        plan.output(Quantity::Below { target: 0, number: 1 }, p, 0, true);
        let found = run(&Scorer::new(plan.finish()), x.view()).unwrap();
        assert_rows(&found, &x, 0.0, |[a, b]: [f64; 2]| {
            let certain = if b >= 0.25 { 1.0 } else { 0.0 };
            [b.clamp(-0.5, 0.25), b, a, if (-0.5..0.25).contains(&b) { a.max(b) } else { certain }]
        });
    }

    #[test]
    fn a_probability_is_as_it_is_where_no_range_is_known() {
        let x = numbers(20, 2);
        let found = computed(&x, |plan, of| {
            let value = plan.pick(of, [1]);
            plan.probability(Op::Largest { of }, value)
        });
        assert_rows(&found, &x, 0.0, |[a, b]: [f64; 2]| [a.max(b)]);
    }

    #[test]
    fn a_table_that_is_not_used_is_not_read() {
        let mut plan = Builder::default();
        let x = plan.port(Port::Features, 2);
        plan.port(Port::Functions, 2);
        let constant = plan.constant(x, &[3.0]);
        plan.output(Quantity::Class, constant, 0, true);
        let scorer = Scorer::new(plan.finish());
        assert!(scorer.inputs().is_empty());
        assert_eq!(scorer.run(&[], 3).unwrap(), [[3.0; 3]]);
    }
}
