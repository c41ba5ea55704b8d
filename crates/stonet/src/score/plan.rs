//! A fitted head as a list of operations on columns, made once for what is asked of it.
//!
//! A [`Plan`] names its inputs and outputs and knows nothing of the head that it was made from. Interpreters turn it into numbers:
//! [`Scorer`](super::Scorer) runs it on tiles of rows, and the crate `stonet-onnx` writes it as a graph of ONNX operators.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::interval::conformal::{Scores, Side};
use crate::{Activation, InputKind, Level};

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
    /// The network's output per class, of the plan's [kind](Plan::kind).
    Logits,
}

impl Port {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Port::Features => "features",
            Port::Prediction => "predictions",
            Port::Logits => "logits",
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
    /// The mean μ that one fold predicts.
    Mean {
        /// The number of the fold, or of another model.
        model: usize,
    },
    /// The scale s that one fold predicts.
    Scale {
        /// The number of the fold.
        model: usize,
    },
    /// The logit of a class before the softmax.
    Logit {
        /// The number of the class.
        class: usize,
    },
    /// The probability of a class.
    Probability {
        /// The number of the class.
        class: usize,
    },
    /// The number of the most probable class; the first of equals.
    Class,
}

impl Quantity {
    /// Its name and its column in messages.
    pub(super) fn place(self) -> (&'static str, usize) {
        match self {
            Quantity::Prediction { target } => ("the prediction", target),
            Quantity::Lower { target, .. } => ("the lower end", target),
            Quantity::Upper { target, .. } => ("the upper end", target),
            Quantity::Mean { model } => ("the prediction", model),
            Quantity::Scale { model } => ("the scale", model),
            Quantity::Logit { class } => ("the logit", class),
            Quantity::Probability { class } => ("the probability", class),
            Quantity::Class => ("the class", 0),
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

/// (x − centre) · scale of a column, kept within two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    /// The column.
    pub column: usize,
    /// Subtracted first.
    pub centre: f64,
    /// Multiplied next.
    pub scale: f64,
    /// The least result.
    pub low: f64,
    /// The greatest result.
    pub high: f64,
}

/// Linear combinations of columns, by their weights that are not zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sparse {
    /// Where the entries of each combination end.
    pub(super) ends: Vec<usize>,
    pub(super) bias: Vec<f64>,
    pub(super) entries: Vec<(usize, f64)>,
}

impl Sparse {
    /// Appends a combination: column numbers with their weights, and a constant.
    pub(crate) fn push(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, bias: f64) {
        self.entries.extend(entries.into_iter().filter(|(_, w)| *w != 0.0));
        self.ends.push(self.entries.len());
        self.bias.push(bias);
    }

    /// How many combinations there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The constant and the entries of every combination.
    pub fn rows(&self) -> impl Iterator<Item = (f64, &[(usize, f64)])> {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        (0..self.len()).map(move |i| (self.bias[i], &self.entries[start(i)..self.ends[i]]))
    }
}

/// (1, a)ᵀ (X̃ᵀX̃)⁻¹ (1, a) over the columns of a support.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The columns.
    pub support: Vec<usize>,
    /// Their means, subtracted first.
    pub mean: Vec<f64>,
    /// The lower triangle of the matrix, twice what is off the diagonal.
    pub half: Sparse,
    /// Added to the quadratic form.
    pub constant: f64,
}

/// A function that is linear between its knots and constant beyond them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knots {
    /// Ascending.
    pub x: Vec<f64>,
    /// The values there.
    pub y: Vec<f64>,
}

/// An operation on columns. Unless another width is named, it gives as many columns as it takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Columns of an input.
    Input {
        /// The table.
        port: Port,
        /// Its columns.
        columns: Vec<usize>,
    },
    /// Some columns centred, scaled and clipped, one per clamp.
    Clamp {
        /// What is clipped.
        of: Node,
        /// One per result.
        clamps: Vec<Clamp>,
    },
    /// Linear combinations, one column each.
    Combine {
        /// What is combined.
        of: Node,
        /// One per result.
        weights: Sparse,
    },
    /// ψ of every column.
    Activate {
        /// ψ's argument.
        of: Node,
        /// ψ.
        activation: Activation,
    },
    /// ψ′(y), from a = ψ(y).
    Slope {
        /// a.
        of: Node,
        /// ψ.
        activation: Activation,
    },
    /// Σ factor · value + constant, column by column.
    Sum {
        /// Factors and values of one width.
        parts: Vec<(f64, Node)>,
        /// Added to every column.
        constant: f64,
    },
    /// The product of two values, column by column.
    Product(Node, Node),
    /// ln(|a − b| + offset) of two columns.
    LogDistance {
        /// a.
        a: Node,
        /// b.
        b: Node,
        /// Keeps the logarithm finite.
        offset: f64,
    },
    /// exp of what is first kept within two ends.
    Exp {
        /// The exponent.
        of: Node,
        /// The least exponent.
        low: f64,
        /// The greatest exponent.
        high: f64,
    },
    /// The square root.
    SquareRoot {
        /// Its argument.
        of: Node,
    },
    /// Quadratic forms, one column each.
    Quadratic {
        /// a.
        of: Node,
        /// One per result.
        forms: Vec<Form>,
    },
    /// D Σ D: a symmetric n × n matrix per row, in n² columns, times the slopes of its row and its column.
    Sandwich {
        /// Σ.
        of: Node,
        /// The diagonal of D, n columns.
        slopes: Node,
    },
    /// W M Wᵀ + diag(own): a u × u matrix per row, in u² columns.
    Congruence {
        /// M in n² columns, or its diagonal in n.
        of: Node,
        /// Whether M is diagonal.
        diagonal: bool,
        /// W, u combinations of n columns; constants do not count.
        weights: Sparse,
        /// Added to the diagonal, u columns.
        own: Node,
    },
    /// exp(z) over its sum across the columns.
    Softmax {
        /// z.
        of: Node,
    },
    /// Every column less the mean of all.
    Centre {
        /// The columns.
        of: Node,
    },
    /// ln max(x, least).
    Log {
        /// x.
        of: Node,
        /// The least argument.
        least: f64,
    },
    /// ln max(1 − exp(x), least).
    LogRest {
        /// x.
        of: Node,
        /// The least argument.
        least: f64,
    },
    /// Every column through its own function.
    Interpolate {
        /// The arguments.
        of: Node,
        /// One per column.
        maps: Vec<Knots>,
    },
    /// Columns raised to at least `least` and divided by their sum; a row of zeros is taken from `otherwise` first.
    Normalise {
        /// The columns.
        of: Node,
        /// What stands for a row of zeros.
        otherwise: Node,
        /// The least value before the division.
        least: f64,
    },
    /// Columns of several values side by side.
    Join(Vec<Node>),
    /// The ends of a conformal interval: lower and upper, two columns.
    Ends {
        /// μ_k and s_k of every fold, a column each.
        folds: Vec<(Node, Node)>,
        /// The point prediction, which a two-sided interval always holds.
        centre: Node,
        /// The scores of the rows that each fold held out.
        scores: Arc<Scores>,
        /// 1 − α.
        level: Level,
        /// Which ends are finite.
        side: Side,
    },
    /// The number of the largest column, the first of equals: one column.
    Top {
        /// The columns.
        of: Node,
    },
}

impl Op {
    /// The values that it takes.
    pub fn takes(&self) -> Vec<Node> {
        match self {
            Op::Input { .. } => Vec::new(),
            Op::Clamp { of, .. }
            | Op::Combine { of, .. }
            | Op::Activate { of, .. }
            | Op::Slope { of, .. }
            | Op::Exp { of, .. }
            | Op::SquareRoot { of }
            | Op::Quadratic { of, .. }
            | Op::Softmax { of }
            | Op::Centre { of }
            | Op::Log { of, .. }
            | Op::LogRest { of, .. }
            | Op::Interpolate { of, .. }
            | Op::Top { of } => vec![*of],
            Op::Sum { parts, .. } => parts.iter().map(|p| p.1).collect(),
            Op::Product(a, b) | Op::LogDistance { a, b, .. } => vec![*a, *b],
            Op::Sandwich { of, slopes } => vec![*of, *slopes],
            Op::Congruence { of, own, .. } => vec![*of, *own],
            Op::Normalise { of, otherwise, .. } => vec![*of, *otherwise],
            Op::Join(parts) => parts.clone(),
            Op::Ends { folds, centre, .. } => folds.iter().flat_map(|&(m, s)| [m, s]).chain([*centre]).collect(),
        }
    }
}

impl Op {
    /// Whether its result does not depend on what it takes.
    pub fn is_constant(&self) -> bool {
        match self {
            Op::Clamp { clamps, .. } => clamps.is_empty(),
            Op::Combine { weights, .. } => weights.entries.is_empty(),
            Op::Quadratic { forms, .. } => forms.iter().all(|f| f.support.is_empty()),
            _ => false,
        }
    }
}

/// An operation with what it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The operation.
    pub op: Op,
    /// Columns of the result.
    pub width: usize,
    /// Whether the result is in single precision; only clipped columns, their combinations and activations of those can be.
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
