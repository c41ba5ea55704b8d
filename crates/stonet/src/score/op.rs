//! The operations of a plan, and what they are made of.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::plan::{Node, Port};
use crate::conformal::ranks::Scores;
use crate::conformal::{ConditionalScores, RowScore, SetScores};
use crate::network::{Activation, Layer};
use crate::rows::{Level, Side};
use crate::sparse::Clamp;

/// Linear combinations of columns, by their weights that are not zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sparse {
    /// Where the entries of each combination end.
    pub(super) ends: Vec<usize>,
    pub(super) bias: Vec<f64>,
    pub(super) entries: Vec<(usize, f64)>,
}

impl Sparse {
    /// The combinations of a layer: W a + b.
    pub(crate) fn of(layer: &Layer) -> Self {
        let mut sparse = Sparse::default();
        let rows = layer.weight.outer_iter().zip(&layer.bias);
        rows.for_each(|(row, &bias)| sparse.push(row.iter().copied().enumerate(), bias));
        sparse
    }

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

impl Knots {
    /// The value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        match self.x.partition_point(|&knot| knot <= x) {
            0 => self.y[0],
            above if above == self.x.len() => self.y[above - 1],
            above => {
                let ([x0, x1], [y0, y1]) = ([self.x[above - 1], self.x[above]], [self.y[above - 1], self.y[above]]);
                y0 + (y1 - y0) * ((x - x0) / (x1 - x0))
            }
        }
    }
}

/// Scores of groups of rows, each ranked by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupScores {
    /// The number of a row's group, one column.
    pub of: Node,
    /// By number of the group; none where a group has no ranks of its own.
    pub scores: Arc<[Option<Scores>]>,
}

/// A lower and an upper bound for every bin of a number: functions that are constant between the edges.
#[derive(Debug, Clone, PartialEq)]
pub struct BinBounds {
    /// The upper ends of all bins but the last, ascending; an end belongs to its bin.
    pub ends: Vec<f64>,
    /// One per bin.
    pub lower: Vec<f64>,
    /// One per bin.
    pub upper: Vec<f64>,
}

impl BinBounds {
    /// The bounds of the bin that `x` is in.
    pub fn at(&self, x: f64) -> (f64, f64) {
        let bin = self.ends.partition_point(|end| *end < x);
        (self.lower[bin], self.upper[bin])
    }
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
        /// What the operation is applied to.
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
    /// The products of every two columns, a column with itself included: c(c + 1)/2 columns, the second number running
    /// first.
    Pairs {
        /// The columns.
        of: Node,
    },
    /// ln(|a − b| + offset) of two columns.
    LogDistance {
        /// The first column.
        a: Node,
        /// The second column.
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
        /// What the operation is applied to.
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
        /// What the operation is applied to.
        of: Node,
    },
    /// Every column less the mean of all.
    Centre {
        /// The columns.
        of: Node,
    },
    /// ln max(x, least).
    Log {
        /// What the operation is applied to.
        of: Node,
        /// The least argument.
        least: f64,
    },
    /// ln max(1 − exp(x), least).
    LogRest {
        /// What the operation is applied to.
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
        /// μ_k, and the scales above and below it, of every fold, a column each.
        folds: Vec<[Node; 3]>,
        /// The point prediction, which a two-sided interval always holds.
        centre: Node,
        /// The scores of the rows that each fold held out.
        scores: Arc<Scores>,
        /// The same by group, where ends cover within groups.
        within: Option<GroupScores>,
        /// w(x), one column, where the scores have weights of the same function and rows are ranked among them by theirs.
        weight: Option<Node>,
        /// 1 − α.
        level: Level,
        /// Which ends are finite.
        side: Side,
    },
    /// The ends of a conditional conformal interval of one fold: lower and upper, two columns.
    Conditional {
        /// μ, and the scales above and below it, a column each.
        fold: [Node; 3],
        /// The point prediction, which a two-sided interval always holds.
        centre: Node,
        /// The functions of a row.
        of: Node,
        /// The scores of the rows that were held out, with their functions.
        scores: Arc<ConditionalScores>,
        /// 1 − α.
        level: Level,
        /// Which ends are finite.
        side: Side,
    },
    /// P(y ≤ t) by the scores of held-out rows: one column.
    Below {
        /// μ_k, and the scales above and below it, of every fold, a column each.
        folds: Vec<[Node; 3]>,
        /// The scores of the rows that each fold held out.
        scores: Arc<Scores>,
        /// The same by group, where groups have distributions of their own.
        within: Option<GroupScores>,
        /// w(x), one column, where the scores have weights of the same function.
        weight: Option<Node>,
        /// t, one column.
        value: Node,
    },
    /// Φ((t − μ)/s).
    NormalBelow {
        /// μ.
        mean: Node,
        /// s, as wide as μ.
        sd: Node,
        /// t, as wide as μ.
        value: Node,
    },
    /// 1 where t reaches the greatest value that y can have, 0 where it lies below the least one, and what is given
    /// between them; column by column.
    Bounded {
        /// What is given.
        of: Node,
        /// t, as wide as that.
        value: Node,
        /// The least value of y.
        low: f64,
        /// The greatest value of y.
        high: f64,
    },
    /// The number of the largest column, the first of equals: one column.
    Top {
        /// The columns.
        of: Node,
    },
    /// The largest column: one column.
    Largest {
        /// The columns.
        of: Node,
    },
    /// The bounds of the bin that a number is in: lower and upper, two columns.
    BinBounds {
        /// The number, one column.
        of: Node,
        /// The bins.
        bounds: Arc<BinBounds>,
    },
    /// How badly each class conforms to a row of probabilities.
    Conformity {
        /// The probabilities, a column per class.
        of: Node,
        /// The score, which is not random.
        score: RowScore,
    },
    /// 1 where a class is in the prediction set, and 0 elsewhere: a column per class.
    Members {
        /// The scores of the classes by every fold's model.
        folds: Vec<Node>,
        /// The number of the class that is in every set, one column, where there is one.
        top: Option<Node>,
        /// The scores of the rows that each fold held out.
        scores: Arc<SetScores>,
        /// 1 − α.
        level: Level,
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
            | Op::Pairs { of }
            | Op::Log { of, .. }
            | Op::LogRest { of, .. }
            | Op::Interpolate { of, .. }
            | Op::Conformity { of, .. }
            | Op::Largest { of }
            | Op::BinBounds { of, .. }
            | Op::Top { of } => vec![*of],
            Op::Sum { parts, .. } => parts.iter().map(|p| p.1).collect(),
            Op::Product(a, b) | Op::LogDistance { a, b, .. } => vec![*a, *b],
            Op::Sandwich { of, slopes } => vec![*of, *slopes],
            Op::Congruence { of, own, .. } => vec![*of, *own],
            Op::Normalise { of, otherwise, .. } => vec![*of, *otherwise],
            Op::Join(parts) => parts.clone(),
            Op::Members { folds, top, .. } => folds.iter().copied().chain(*top).collect(),
            Op::Below { folds, within, weight, value, .. } => {
                let group = within.as_ref().map(|w| w.of);
                folds.iter().flatten().copied().chain([*value]).chain(group).chain(*weight).collect()
            }
            Op::NormalBelow { mean, sd, value } => vec![*mean, *sd, *value],
            Op::Bounded { of, value, .. } => vec![*of, *value],
            Op::Conditional { fold, centre, of, .. } => fold.iter().copied().chain([*centre, *of]).collect(),
            Op::Ends { folds, centre, within, weight, .. } => {
                let group = within.as_ref().map(|w| w.of);
                folds.iter().flatten().copied().chain([*centre]).chain(group).chain(*weight).collect()
            }
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

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn combinations_keep_the_weights_that_are_not_zero() {
        let mut sparse = Sparse::default();
        assert!(sparse.is_empty() && sparse.rows().next().is_none());
        sparse.push([(4, 0.5), (1, 0.0), (0, -2.0)], 3.0);
        sparse.push([], 7.0);
        sparse.push([(2, 1.0)], 0.0);
        assert_eq!((sparse.len(), sparse.is_empty()), (3, false));
        let rows: Vec<(f64, &[(usize, f64)])> = sparse.rows().collect();
        assert_eq!(rows, [(3.0, &[(4, 0.5), (0, -2.0)][..]), (7.0, &[]), (0.0, &[(2, 1.0)])]);
    }

    #[test]
    fn a_layer_is_a_combination_per_row_of_its_weights() {
        let layer =
            Layer { weight: array![[1.0, 0.0, -3.0], [0.0, 2.0, 0.0]], bias: array![0.5, -1.0], noise_variance: 1.0 };
        let mut want = Sparse::default();
        want.push([(0, 1.0), (2, -3.0)], 0.5);
        want.push([(1, 2.0)], -1.0);
        assert_eq!(Sparse::of(&layer), want);
    }

    #[test]
    fn knots_are_joined_by_straight_lines() {
        let knots = Knots { x: vec![1.0, 3.0, 7.0], y: vec![10.0, 20.0, 16.0] };
        let points = [
            (f64::NEG_INFINITY, 10.0),
            (0.0, 10.0),
            (1.0, 10.0),
            (1.5, 12.5),
            (3.0, 20.0),
            (4.0, 19.0),
            (6.0, 17.0),
            (7.0, 16.0),
            (9.0, 16.0),
        ];
        points.iter().for_each(|&(x, y)| assert_eq!(knots.at(x), y, "{x}"));
        // A step: what lies at it has the value behind it.
        let step = Knots { x: vec![0.0, 1.0, 1.0, 2.0], y: vec![0.0, 0.0, 1.0, 1.0] };
        assert_eq!([0.5, 1.0f64.next_down(), 1.0, 1.5].map(|x| step.at(x)), [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn the_end_of_a_bin_belongs_to_it() {
        let bounds = BinBounds { ends: vec![0.25, 0.5], lower: vec![1.0, 2.0, 3.0], upper: vec![4.0, 5.0, 6.0] };
        let found = [0.0, 0.25, 0.26, 0.5, 0.75].map(|x| bounds.at(x));
        assert_eq!(found, [(1.0, 4.0), (1.0, 4.0), (2.0, 5.0), (2.0, 5.0), (3.0, 6.0)]);
    }

    #[test]
    fn an_operation_without_any_entry_is_constant() {
        let of = Node(0);
        let clamp = Clamp::within(0, -1.0, 1.0);
        let form = |support: Vec<usize>| Form {
            mean: vec![0.0; support.len()],
            half: Sparse::default(),
            constant: 1.0,
            support,
        };
        let (mut constant, mut linear) = (Sparse::default(), Sparse::default());
        constant.push([], 2.0);
        linear.push([(0, 1.0)], 2.0);
        let all = [
            (Op::Clamp { of, clamps: Vec::new() }, true),
            (Op::Clamp { of, clamps: vec![clamp] }, false),
            (Op::Combine { of, weights: constant }, true),
            (Op::Combine { of, weights: linear }, false),
            (Op::Quadratic { of, forms: vec![form(vec![]), form(vec![])] }, true),
            (Op::Quadratic { of, forms: vec![form(vec![]), form(vec![0])] }, false),
            (Op::Softmax { of }, false),
        ];
        all.iter().for_each(|(op, constant)| assert_eq!(op.is_constant(), *constant, "{op:?}"));
    }

    #[test]
    fn an_operation_takes_all_values_that_it_names() {
        let node = |i: usize| Node(i);
        let (scores, level) = (Arc::new(Scores::new(vec![vec![1.0]; 2], None, 2)), Level::new(0.5).unwrap());
        let folds = vec![[0, 1, 2].map(node), [3, 4, 5].map(node)];
        let within = Some(GroupScores { of: node(7), scores: Arc::from([None]) });
        let side = Side::Both;
        let ends = |within: Option<GroupScores>, weight: Option<Node>| {
            let (folds, scores) = (folds.clone(), scores.clone());
            Op::Ends { folds, centre: node(6), scores, within, weight, level, side }.takes()
        };
        let numbers = |nodes: Vec<Node>| nodes.into_iter().map(Node::index).collect::<Vec<usize>>();
        assert_eq!(numbers(ends(None, None)), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(numbers(ends(within.clone(), None)), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(numbers(ends(None, Some(node(8)))), [0, 1, 2, 3, 4, 5, 6, 8]);
        let below = Op::Below { folds: folds.clone(), scores: scores.clone(), within, weight: None, value: node(9) };
        assert_eq!(numbers(below.takes()), [0, 1, 2, 3, 4, 5, 9, 7]);
        let input = Op::Input { port: Port::Features, columns: vec![0] };
        assert_eq!(numbers(input.takes()), [0; 0]);
        assert_eq!(numbers(Op::Sum { parts: vec![(2.0, node(3)), (1.0, node(1))], constant: 0.0 }.takes()), [3, 1]);
        assert_eq!(numbers(Op::NormalBelow { mean: node(1), sd: node(2), value: node(3) }.takes()), [1, 2, 3]);
    }
}
