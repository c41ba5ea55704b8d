//! Calibrators as operations of a plan: what the network gives as logits, F = z/T + network, the softmax, and the mean
//! over a pool.

use ndarray::Array2;

use super::isotonic::IsotonicOvr;
use super::skip::{Base, SkipModel, View};
use super::venn_abers::VennAbers;
use crate::base::{Error, Result};
use crate::network::{Layer, StoNet};
use crate::rows::{ClassInputs, ClassOutput, InputKind};
use crate::score::{Builder, Clamp, Column, Node, Op, Plan, Port, Quantity, SINGLE_ROUNDING, Scorer, Sparse};
use crate::sparse::ridge::Clip;

/// Weights of a layer from which on single precision is faster.
const WIDE: usize = 400;
/// The largest error of a logit that is allowed, and so the largest relative error of a probability.
const SINGLE_ERROR: f64 = 1e-5;

/// One logit per class.
pub(crate) fn logits_of(classes: usize) -> ClassOutput {
    ClassOutput { kind: InputKind::Logits, columns: classes }
}

/// The columns of a network's outputs that tell the classes apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    kind: InputKind,
    /// Columns of the table.
    columns: usize,
    /// The one that is read, where each column belongs to a label of its own.
    label: Option<usize>,
}

impl Read {
    /// The output of one of so many labels.
    pub(crate) fn label(kind: InputKind, label: usize, labels: usize) -> Self {
        Read { kind, columns: labels, label: Some(label) }
    }

    /// How many columns are read.
    pub(crate) fn columns(self) -> usize {
        if self.label.is_some() { 1 } else { self.columns }
    }

    /// How many classes they tell apart; none for features.
    pub(crate) fn classes(self) -> Option<usize> {
        self.kind.classes(self.columns())
    }

    /// The columns as a value of a plan.
    fn lower(self, b: &mut Builder) -> Node {
        b.set_kind(self.kind, self.label.is_some());
        let all = b.port(Port::Logits, self.columns);
        match self.label {
            Some(label) if self.columns > 1 => b.pick(all, [label]),
            _ => all,
        }
    }
}

impl From<ClassOutput> for Read {
    fn from(ClassOutput { kind, columns }: ClassOutput) -> Self {
        Read { kind, columns, label: None }
    }
}

/// F_L of one calibrator.
pub(super) fn logits_plan(model: &SkipModel) -> Plan {
    let mut b = Builder::default();
    let f = model.lower(&mut b, logits_of(model.classes()).into());
    (0..model.classes()).for_each(|class| b.output(Quantity::Logit { class }, f, class, true));
    b.finish()
}

/// The weighted mean of the members' probabilities, and the most probable class.
pub(crate) fn pool_plan(members: &[(f64, &SkipModel)], output: ClassOutput) -> Plan {
    let mut b = Builder::default();
    let p = pool(&mut b, members, output.into());
    outputs(&mut b, p);
    b.finish()
}

/// The weighted mean of the members' probabilities.
pub(crate) fn pool(b: &mut Builder, members: &[(f64, &SkipModel)], output: Read) -> Node {
    let mut parts = Vec::new();
    for (weight, member) in members {
        let f = member.lower(b, output);
        parts.push((*weight, b.op(Op::Softmax { of: f })));
    }
    b.sum(parts, 0.0)
}

/// Isotonic regression of the network's own probabilities.
pub(crate) fn isotonic(b: &mut Builder, fitted: &IsotonicOvr, output: Read) -> Node {
    let z = given(b, output);
    let own = b.op(Op::Softmax { of: z });
    fitted.lower(b, own)
}

/// Venn-Abers prediction: (1 − p_0, p_1) over its sum.
pub(crate) fn venn_abers(b: &mut Builder, fitted: &VennAbers, output: Read) -> Node {
    let z = given(b, output);
    fitted.lower(b, z)
}

/// Probabilities as outputs, and the most probable class, whose value is returned.
pub(crate) fn outputs(b: &mut Builder, p: Node) -> Node {
    (0..b.width(p)).for_each(|class| b.output(Quantity::Probability { class }, p, class, true));
    let top = b.wide(Op::Top { of: p }, 1);
    b.output(Quantity::Class, top, 0, true);
    top
}

/// The network's output as logits, as [`InputKind::logits`] makes them.
fn given(b: &mut Builder, output: Read) -> Node {
    let z = output.lower(b);
    let least = InputKind::LEAST_PROBABILITY;
    // One column is that of the second class.
    let pair = |b: &mut Builder, slope: f64, constant: f64| {
        let mut both = Sparse::default();
        both.push([(0, slope)], constant);
        both.push([(0, 1.0)], 0.0);
        b.combine(z, both, false)
    };
    match (output.kind, output.columns()) {
        (InputKind::Probabilities, 1) => {
            let p = pair(b, -1.0, 1.0);
            b.op(Op::Log { of: p, least })
        }
        (InputKind::Probabilities, _) => b.op(Op::Log { of: z, least }),
        (InputKind::LogProbabilities, 1) => {
            let rest = b.op(Op::LogRest { of: z, least });
            b.join(vec![rest, z])
        }
        (InputKind::Logits, 1) => pair(b, 0.0, 0.0),
        _ => z,
    }
}

impl SkipModel {
    /// F_L.
    fn lower(&self, b: &mut Builder, output: Read) -> Node {
        let base = self.base().unwrap_or(Base::plain(1.0));
        let skip = self.base().map(|_| base.lower(b, output));
        let correction = self.correction().map(|(view, net)| {
            let net = net.compact();
            let single = !matches!(view, View::Raw | View::Base) && may_be_single(&net);
            let seen = view.lower(b, output, base, single);
            (1.0, network(b, &net, seen, single))
        });
        b.sum(skip.into_iter().chain(correction).collect(), 0.0)
    }
}

impl Base {
    /// A factor and what it multiplies.
    fn lower(self, b: &mut Builder, output: Read) -> (f64, Node) {
        let (z, cooling) = (given(b, output), 1.0 / self.temperature);
        if self.uniform == 0.0 {
            return (cooling, z);
        }
        let cooled = b.sum(vec![(cooling, z)], 0.0);
        let p = b.op(Op::Softmax { of: cooled });
        let mixed = b.sum(vec![(1.0 - self.uniform, p)], self.uniform / b.width(p) as f64);
        (1.0, b.op(Op::Log { of: mixed, least: f64::MIN_POSITIVE }))
    }
}

impl View {
    /// What the network of a correction sees.
    fn lower(&self, b: &mut Builder, output: Read, base: Base, single: bool) -> Node {
        let t = base.temperature;
        match self {
            View::Raw => given(b, output),
            View::Base => {
                let carried = base.lower(b, output);
                b.sum(vec![carried], 0.0)
            }
            View::Centred => {
                let z = given(b, output);
                let centred = b.op(Op::Centre { of: z });
                unclipped(b, centred, 0.0, 1.0 / t, single)
            }
            View::Probabilities => {
                let z = given(b, output);
                let cooled = b.sum(vec![(1.0 / t, z)], 0.0);
                let p = b.op(Op::Softmax { of: cooled });
                let uniform = 1.0 / b.width(p) as f64;
                unclipped(b, p, uniform, 4.0, single)
            }
            View::Logits(clip) => {
                let z = given(b, output);
                clipped(b, z, clip, single)
            }
            View::Features(clip) => {
                let x = b.port(Port::Features, clip.columns());
                clipped(b, x, clip, single)
            }
        }
    }
}

/// All columns centred and scaled alike.
fn unclipped(b: &mut Builder, x: Node, centre: f64, scale: f64, single: bool) -> Node {
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    let clamps = (0..b.width(x)).map(|column| Clamp { column, centre, scale, low, high }).collect();
    b.clamp(x, clamps, single)
}

fn clipped(b: &mut Builder, x: Node, clip: &Clip, single: bool) -> Node {
    b.clamp(x, (0..clip.columns()).map(|k| clip.clamp(k)).collect(), single)
}

/// Whether the products of a network without dead units may be in single precision: they are wide enough to pay, and
/// their error in a logit is so small that a probability keeps five digits.
fn may_be_single(net: &StoNet) -> bool {
    let largest_row = |layer: &Layer| layer.weight.outer_iter().map(|row| row.dot(&row).sqrt()).fold(0.0, f64::max);
    let wide = net.layers().iter().any(|l| l.weight.len() >= WIDE);
    let gain: f64 = net.layers().iter().map(|l| largest_row(l).max(1.0)).product();
    wide && SINGLE_ROUNDING * gain <= SINGLE_ERROR
}

/// A network's output.
fn network(b: &mut Builder, net: &StoNet, x: Node, single: bool) -> Node {
    let (mut below, last) = (x, net.layers().len() - 1);
    for (i, layer) in net.layers().iter().enumerate() {
        below = b.combine(below, Sparse::of(layer), single && i < last);
        if i < last {
            below = b.activate(below, net.activation());
        }
    }
    below
}

/// A scorer's columns for these rows side by side, but for the class.
pub(crate) fn run(scorer: &Scorer, classes: usize, inputs: &ClassInputs<'_>) -> Result<Array2<f64>> {
    run_classes(scorer, classes, inputs, classes)
}

/// The first `width` outputs of rows with so many classes.
pub(crate) fn run_classes(
    scorer: &Scorer,
    classes: usize,
    inputs: &ClassInputs<'_>,
    width: usize,
) -> Result<Array2<f64>> {
    if let Some(z) = inputs.logits.filter(|z| z.ncols() != classes) {
        return Err(Error::shape("logit columns, one per class", classes, z.ncols()));
    }
    run_columns(scorer, width, inputs)
}

/// The first so many columns of a scorer for rows of what it reads.
pub(crate) fn run_columns(scorer: &Scorer, outputs: usize, inputs: &ClassInputs<'_>) -> Result<Array2<f64>> {
    let plan = scorer.plan();
    let logits = match (plan.width(Port::Logits), inputs.logits) {
        (None, _) => Vec::new(),
        (Some(_), Some(z)) => Column::of(z),
        (Some(_), None) => return Err(Error::NoLogits { what: "this model" }),
    };
    let features = match (plan.width(Port::Features), inputs.features) {
        (None, _) => Vec::new(),
        (Some(columns), None) => return Err(Error::NoFeatures { columns }),
        (Some(columns), Some(x)) if x.ncols() != columns => {
            return Err(Error::shape("feature columns", columns, x.ncols()));
        }
        (Some(_), Some(x)) => Column::of(x),
    };
    let column = |port: Port, k: usize| if port == Port::Logits { logits[k] } else { features[k] };
    let columns: Vec<Column<'_>> = scorer.inputs().iter().map(|i| column(i.port, i.column)).collect();
    scorer.run_rows(&columns, inputs.rows(), outputs)
}
