//! A fitted head as a list of operations on columns, made once for what is asked of it.
//!
//! A [`Plan`] names its inputs and outputs and knows nothing of the head that it was made from. Interpreters turn it
//! into numbers: [`Scorer`](super::Scorer) runs it on tiles of rows, and the crate `stonet-onnx` writes it as a graph
//! of ONNX operators.

use super::op::Op;
use crate::rows::{InputKind, OwnKind};

/// A value of a plan: some columns, by the number of the operation that computes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(super) usize);

impl Node {
    /// Its place in [`Plan::values`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// A table that a plan reads columns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The features of the network's last hidden layer.
    Features,
    /// The network's own predictions, one column per target.
    Prediction,
    /// The network's own lower quantiles, one column per target.
    Lower,
    /// The network's own upper quantiles, one column per target.
    Upper,
    /// The network's own standard deviations, one column per target.
    Sd,
    /// The network's output per class or label, of the plan's [kind](Plan::kind).
    Logits,
    /// Values t at which P(y ≤ t) is asked, one column per target.
    Values,
    /// Functions of a row for each of which ends cover.
    Functions,
    /// The number of a row's group, one column, where ends cover within groups.
    Groups,
}

impl Port {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Port::Features => "features",
            Port::Prediction => "predictions",
            Port::Lower => OwnKind::Quantiles.names()[0],
            Port::Upper => OwnKind::Quantiles.names()[1],
            Port::Sd => OwnKind::Sd.names()[0],
            Port::Logits => "logits",
            Port::Values => "values",
            Port::Functions => "functions",
            Port::Groups => "groups",
        }
    }

    /// The tables of the network's own uncertainty, in the order of [`OwnKind::names`].
    pub fn own(kind: OwnKind) -> &'static [Port] {
        match kind {
            OwnKind::Quantiles => &[Port::Lower, Port::Upper],
            OwnKind::Sd => &[Port::Sd],
        }
    }

    /// Its place among the tables of the network's own uncertainty, if it is one.
    pub fn own_place(self) -> Option<(OwnKind, usize)> {
        match self {
            Port::Lower => Some((OwnKind::Quantiles, 0)),
            Port::Upper => Some((OwnKind::Quantiles, 1)),
            Port::Sd => Some((OwnKind::Sd, 0)),
            _ => None,
        }
    }
}

/// One column that a plan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The table.
    pub port: Port,
    /// The number of its column.
    pub column: usize,
}

/// What an output column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The point prediction of a target.
    Prediction {
        /// The number of the target.
        target: usize,
    },
    /// The lower end of an interval.
    Lower {
        /// The number of the target.
        target: usize,
        /// The number of the level among those asked for.
        level: usize,
    },
    /// The upper end of an interval.
    Upper {
        /// The number of the target.
        target: usize,
        /// The number of the level among those asked for.
        level: usize,
    },
    /// A quantile.
    Quantile {
        /// The number of the target.
        target: usize,
        /// The number of the quantile among those asked for.
        number: usize,
    },
    /// P(y ≤ t).
    Below {
        /// The number of the target.
        target: usize,
        /// The number of t among those asked for; one more for values that come with the rows.
        number: usize,
    },
    /// The mean μ that one fold predicts.
    Mean {
        /// The number of the fold, or of another model.
        model: usize,
    },
    /// The scale above the mean that one fold predicts.
    Scale {
        /// The number of the fold.
        model: usize,
    },
    /// The scale below it.
    LowerScale {
        /// The number of the fold.
        model: usize,
    },
    /// The part of the variance of a prediction that comes from the weights of a layer.
    Variance {
        /// The number of the target.
        target: usize,
        /// The number of the layer, from 0.
        layer: usize,
    },
    /// What a column adds to the logarithm of a learned scale, or the whole of it.
    WidthTerm {
        /// The number of the target.
        target: usize,
        /// The number of the term.
        term: usize,
    },
    /// The logit of a class before the softmax.
    Logit {
        /// The number of the class.
        class: usize,
    },
    /// The probability of a class, or of a label.
    Probability {
        /// The number of the class or label.
        class: usize,
    },
    /// The number of the most probable class; the first of equals.
    Class,
    /// Whether a class is in the prediction set: 1 or 0.
    InSet {
        /// The number of the class.
        class: usize,
        /// The number of the level among those asked for.
        level: usize,
    },
    /// How many classes are in the prediction set.
    SetSize {
        /// The number of the level among those asked for.
        level: usize,
    },
    /// The lower bound of the accuracy among rows of this confidence.
    AccuracyLower {
        /// The number of the level among those asked for.
        level: usize,
    },
    /// The upper bound of the accuracy among rows of this confidence.
    AccuracyUpper {
        /// The number of the level among those asked for.
        level: usize,
    },
    /// Whether a rule answers the row: 1, or 0 where it abstains.
    Decision,
}

impl Quantity {
    /// Its name and its column in messages.
    pub(super) fn place(self) -> (&'static str, usize) {
        match self {
            Quantity::Prediction { target } => ("the prediction", target),
            Quantity::Lower { target, .. } => ("the lower end", target),
            Quantity::Upper { target, .. } => ("the upper end", target),
            Quantity::Quantile { target, .. } => ("the quantile", target),
            Quantity::Below { target, .. } => ("the probability", target),
            Quantity::Mean { model } => ("the prediction", model),
            Quantity::Scale { model } | Quantity::LowerScale { model } => ("the scale", model),
            Quantity::Variance { target, .. } => ("the variance", target),
            Quantity::WidthTerm { target, .. } => ("the logarithm of the scale", target),
            Quantity::Logit { class } => ("the logit", class),
            Quantity::Probability { class } => ("the probability", class),
            Quantity::Class => ("the class", 0),
            Quantity::InSet { class, .. } => ("the prediction set", class),
            Quantity::SetSize { level } => ("the size of the prediction set", level),
            Quantity::AccuracyLower { level } => ("the lower bound of the accuracy", level),
            Quantity::AccuracyUpper { level } => ("the upper bound of the accuracy", level),
            Quantity::Decision => ("the decision", 0),
        }
    }
}

/// One column that a plan computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// What it is.
    pub quantity: Quantity,
    /// The value that holds it.
    pub node: Node,
    /// The column of that value.
    pub column: usize,
    /// Whether it is finite for finite inputs, so that another result is an error.
    pub finite: bool,
}

/// An operation with what it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The operation.
    pub op: Op,
    /// Columns of the result.
    pub width: usize,
    /// Whether the result is in single precision; only clipped columns, their combinations and activations of those can
    /// be.
    pub single: bool,
}

/// A fitted head as a list of operations on columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The tables that are read, with all their columns.
    pub(super) ports: Vec<(Port, usize)>,
    pub(super) inputs: Vec<Input>,
    pub(super) values: Vec<Value>,
    pub(super) outputs: Vec<Output>,
    pub(super) kind: InputKind,
    /// Whether each column of the logits is an output by itself.
    pub(super) each: bool,
}

impl Plan {
    /// The columns that it reads: table by table, ascending.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The operations, each after those whose results it takes.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The columns that it computes.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// What the columns of [`Port::Logits`] are.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// How many columns a table has in all, whether they are read or not; none where the plan does not know the table.
    pub fn width(&self, port: Port) -> Option<usize> {
        self.ports.iter().find(|(p, _)| *p == port).map(|(_, width)| *width)
    }

    /// The columns that it reads of a table, ascending.
    pub fn columns(&self, port: Port) -> impl Iterator<Item = usize> {
        self.inputs.iter().filter(move |i| i.port == port).map(|i| i.column)
    }

    /// Whether each value is needed for an output.
    pub fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.values.len()];
        self.outputs.iter().for_each(|o| needed[o.node.0] = true);
        for i in (0..self.values.len()).rev() {
            if needed[i] && !self.values[i].op.is_constant() {
                self.values[i].op.takes().iter().for_each(|n| needed[n.0] = true);
            }
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;
    use crate::score::op::Sparse;

    #[test]
    fn tables_of_a_networks_own_uncertainty_have_the_names_of_its_columns() {
        for kind in [OwnKind::Quantiles, OwnKind::Sd] {
            let ports = Port::own(kind);
            assert_eq!(ports.iter().map(|p| p.name()).collect::<Vec<_>>(), kind.names());
            for (place, port) in ports.iter().enumerate() {
                assert_eq!(port.own_place(), Some((kind, place)));
            }
        }
        for port in [Port::Features, Port::Prediction, Port::Logits, Port::Values, Port::Functions, Port::Groups] {
            assert_eq!(port.own_place(), None);
        }
        assert_eq!((Port::Features.name(), Port::Logits.name()), ("features", "logits"));
    }

    #[test]
    fn messages_name_what_an_output_is_and_its_column() {
        assert_eq!(Quantity::Upper { target: 2, level: 1 }.place(), ("the upper end", 2));
        assert_eq!(Quantity::SetSize { level: 3 }.place(), ("the size of the prediction set", 3));
        assert_eq!(Quantity::Class.place(), ("the class", 0));
    }

    #[test]
    fn a_plan_tells_what_it_reads_and_what_it_needs() {
        let mut plan = Builder::default();
        let unread = plan.port(Port::Functions, 2);
        let x = plan.port(Port::Features, 5);
        let d = plan.port(Port::Prediction, 2);
        let mut weights = Sparse::default();
        weights.push([(3, 1.0), (1, 2.0)], 0.0);
        let sum = plan.combine(x, weights, false);
        let constant = plan.constant(d, &[4.0]);
        let root = plan.op(Op::SquareRoot { of: sum });
        let unused = plan.op(Op::Centre { of: root });
        let product = plan.op(Op::Product(sum, constant));
        plan.output(Quantity::Class, product, 0, true);
        plan.set_kind(InputKind::Probabilities, false);
        let plan = plan.finish();
        assert_eq!(
            (plan.width(Port::Features), plan.width(Port::Prediction), plan.width(Port::Sd)),
            (Some(5), Some(2), None)
        );
        assert_eq!(plan.columns(Port::Features).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(plan.columns(Port::Logits).count(), 0);
        let all = [unread, x, d, sum, constant, root, unused, product];
        assert_eq!(all.map(Node::index), [0, 1, 2, 3, 4, 5, 6, 7]);
        // A constant needs nothing of what it stands beside.
        assert_eq!(plan.needed(), [false, true, false, true, true, false, false, true]);
        assert_eq!((plan.values().len(), plan.kind()), (8, InputKind::Probabilities));
        assert_eq!(
            plan.inputs().iter().map(|i| (i.port, i.column)).collect::<Vec<_>>(),
            [(Port::Features, 1), (Port::Features, 3)]
        );
        assert_eq!(plan.outputs(), [Output { quantity: Quantity::Class, node: product, column: 0, finite: true }]);
    }
}
