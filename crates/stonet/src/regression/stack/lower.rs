//! A stack as operations of a plan: per fold one pass over the features, whatever its members.
//!
//! Members of a fold that share a scale share its centring and clipping. What is wide (clipped features, first layers,
//! ridge) is computed in single precision where that cannot be seen in the intervals; see [`FoldModel::single`].

use std::sync::Arc;

use ndarray::{ArrayView1, s};

use super::shape::{Factor, Shape};
use super::{FittedStack, FoldModel, Member, OwnWidth, ScaleModel, Scaled};
use crate::base::Result;
use crate::conformal::{ConditionalScores, Ratio, Term};
use crate::regression::{LevelTracks, Way};
use crate::rows::{Level, OwnKind, Side};
use crate::score::{
    Asked, Builder, Clamp, Decision, GroupScores, Node, Op, Plan, Port, Quantity, SINGLE_ROUNDING, Scores, Sparse,
    Surety,
};
use crate::sparse::ridge::{Clip, Components, Ridge};

/// Two scales are the same if they differ by less than this part of a standard deviation.
const SAME: f64 = 1e-13;
/// The largest error of a mean that is allowed, as a part of the least scale. Intervals at usual levels are several
/// scales long, so the error stays below 1e-5 of their length.
const SINGLE_ERROR: f64 = 2e-5;
/// The largest relative error of a scale that is allowed: it moves both ends together by no more than 1e-5 of the
/// length.
const SINGLE_SCALE_ERROR: f64 = 1e-5;

/// Standard deviations from zero at which errors of products are taken.
const FAR: f64 = 4.0;

/// Sizes of weights, in units of the target, that single precision can hold with all their digits.
const SINGLE_RANGE: std::ops::Range<f64> = 1e-25..1e25;

/// What changes the ranks of scores after the fit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ranking<'a> {
    /// Levels that follow their misses over time.
    pub tracks: Option<&'a LevelTracks>,
    /// Weights of rows by their inputs.
    pub ratio: Option<&'a Ratio>,
}

/// Predictions of all targets, ends at every level, quantiles and probabilities.
pub(crate) fn plan(
    stacks: &[FittedStack],
    features: usize,
    range: Option<(f64, f64)>,
    ranking: Ranking<'_>,
    asked: &Asked,
) -> Result<Plan> {
    let mut b = Builder::within(range);
    for (target, stack) in stacks.iter().enumerate() {
        let inputs = Inputs { features, targets: stacks.len(), target };
        let folds: Vec<[Node; 3]> = stack.folds.iter().map(|fold| inputs.fold(&mut b, fold)).collect();
        let share = 1.0 / folds.len() as f64;
        let centre = b.sum(folds.iter().map(|f| (share, f[0])).collect(), 0.0);
        b.output(Quantity::Prediction { target }, centre, 0, true);
        let (scores, within) = (Arc::new(stack.scores.clone()), stack.by_group(&mut b));
        let conditional = stack.conditional.clone().map(Arc::new);
        let weight = ranking.ratio.map(|ratio| inputs.weight(&mut b, ratio, centre));
        let tracks = ranking.tracks;
        let around = Around { folds: &folds, centre, scores: &scores, within: &within, weight, conditional, tracks };
        for (number, &level) in asked.levels.iter().enumerate() {
            let each = asked.each(level, stacks.len())?;
            let (ends, finite) = around.ends(&mut b, each, asked.side);
            b.ends(ends, (target, number), asked.side, finite);
        }
        for (number, &tau) in asked.quantiles.iter().enumerate() {
            let (level, side) = Asked::bound(tau)?;
            let (ends, finite) = around.ends(&mut b, level, side);
            b.output(Quantity::Quantile { target, number }, ends, usize::from(side == Side::Upper), finite);
        }
        let mut values: Vec<Node> = asked.below.iter().map(|&t| b.constant(centre, &[t])).collect();
        if asked.at_values {
            let all = b.port(Port::Values, stacks.len());
            values.push(b.pick(all, [target]));
        }
        for (number, value) in values.into_iter().enumerate() {
            let (scores, within) = (scores.clone(), within.clone());
            let below = Op::Below { folds: folds.clone(), scores, within, weight, value };
            let below = b.probability(below, value);
            b.output(Quantity::Below { target, number }, below, 0, true);
        }
        if let Some(decision @ Decision { surety: Surety::Shortness(level), .. }) = &asked.decision {
            let (ends, _) = around.ends(&mut b, *level, Side::Both);
            b.decide_by_length([(ends, 0), (ends, 1)], decision);
        }
    }
    Ok(b.finish())
}

impl Builder {
    /// μ and the scales above and below it as outputs.
    fn fold_outputs(&mut self, model: usize, [mean, above, below]: [Node; 3]) {
        self.output(Quantity::Mean { model }, mean, 0, true);
        self.output(Quantity::Scale { model }, above, 0, true);
        self.output(Quantity::LowerScale { model }, below, 0, true);
    }

    /// The outputs of an interval's two columns, of a target and a level.
    fn ends(&mut self, ends: Node, (target, level): (usize, usize), side: Side, finite: bool) {
        if side != Side::Upper {
            self.output(Quantity::Lower { target, level }, ends, 0, finite);
        }
        if side != Side::Lower {
            self.output(Quantity::Upper { target, level }, ends, 1, finite);
        }
    }
}

/// What the ends of a target lie around, and the scores that say how far.
struct Around<'a> {
    folds: &'a [[Node; 3]],
    centre: Node,
    scores: &'a Arc<Scores>,
    within: &'a Option<GroupScores>,
    weight: Option<Node>,
    conditional: Option<Arc<ConditionalScores>>,
    /// Levels that follow their misses over time.
    tracks: Option<&'a LevelTracks>,
}

impl Around<'_> {
    /// The ends of an interval, two columns, and whether they are finite.
    fn ends(&self, b: &mut Builder, level: Level, side: Side) -> (Node, bool) {
        let centre = self.centre;
        if let Some(scores) = self.conditional.clone() {
            let of = b.port(Port::Functions, scores.columns());
            return (b.wide(Op::Conditional { fold: self.folds[0], centre, of, scores, level, side }, 2), false);
        }
        let (folds, within, weight) = (self.folds.to_vec(), self.within.clone(), self.weight);
        // Levels that follow their misses are of intervals with two ends.
        let way = self.tracks.filter(|_| side == Side::Both).and_then(|tracks| tracks.way(level));
        let (scores, level) = match way {
            Some(Way::Level(level)) => (self.scores.clone(), level),
            Some(Way::Shifted(by)) => (Arc::new(self.scores.shifted(by)), level),
            None => (self.scores.clone(), level),
        };
        // A row with a large weight has no finite end.
        let finite = weight.is_none() && scores.bounds(level);
        (b.wide(Op::Ends { folds, centre, scores, within, weight, level, side }, 2), finite)
    }
}

impl FittedStack {
    /// The scores of each group, where there are groups.
    fn by_group(&self, b: &mut Builder) -> Option<GroupScores> {
        let groups = || GroupScores { of: b.port(Port::Groups, 1), scores: self.within.clone().into() };
        (!self.within.is_empty()).then(groups)
    }
}

/// μ and the scales above and below it, of some models of one target: those of a fold, or of several.
pub(crate) fn models_plan(models: &[&FoldModel], features: usize) -> Plan {
    let mut b = Builder::default();
    for (model, fold) in models.iter().enumerate() {
        let outputs = Inputs { features, targets: 1, target: 0 }.fold(&mut b, fold);
        b.fold_outputs(model, outputs);
    }
    b.finish()
}

/// The same of every fold of every target, a target after the other.
pub(crate) fn folds_plan(stacks: &[FittedStack], features: usize) -> Plan {
    let mut b = Builder::default();
    let mut model = 0;
    for (target, stack) in stacks.iter().enumerate() {
        let inputs = Inputs { features, targets: stacks.len(), target };
        for fold in &stack.folds {
            let outputs = inputs.fold(&mut b, fold);
            b.fold_outputs(model, outputs);
            model += 1;
        }
    }
    b.finish()
}

/// The predictions of single members of one target, in double precision.
pub(crate) fn members_plan<'m>(members: impl IntoIterator<Item = &'m Member>, features: usize) -> Plan {
    let mut b = Builder::default();
    let inputs = Inputs { features, targets: 1, target: 0 };
    for (model, member) in members.into_iter().enumerate() {
        let mut fold = Fold { inputs, single: false, clamped: Vec::new() };
        let mut mean = Mean::default();
        fold.member(&mut b, 1.0, member, &mut mean);
        let mean = fold.mean(&mut b, mean);
        b.output(Quantity::Mean { model }, mean, 0, true);
    }
    b.finish()
}

/// Which columns a stack looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inputs {
    pub features: usize,
    pub targets: usize,
    /// The number of the stack's own target.
    pub target: usize,
}

impl Inputs {
    fn x(self, b: &mut Builder) -> Node {
        b.port(Port::Features, self.features)
    }

    /// The network's own prediction of this target.
    fn d(self, b: &mut Builder) -> Node {
        let all = b.port(Port::Prediction, self.targets);
        b.pick(all, [self.target])
    }

    /// The network's own uncertainty about this target, a column per table.
    fn own(self, b: &mut Builder, kind: OwnKind) -> Vec<Node> {
        let column = |port: &Port| {
            let all = b.port(*port, self.targets);
            b.pick(all, [self.target])
        };
        Port::own(kind).iter().map(column).collect()
    }

    /// The weight w(x) of a row: columns of a ratio are the features and then the network's predictions.
    fn weight(self, b: &mut Builder, ratio: &Ratio, otherwise: Node) -> Node {
        let mut parts = Vec::new();
        for (port, width, columns) in [
            (Port::Features, self.features, 0..self.features),
            (Port::Prediction, self.targets, self.features..self.features + self.targets),
        ] {
            let terms: Vec<&Term> = ratio.terms().iter().filter(|t| columns.contains(&t.column)).collect();
            if !terms.is_empty() {
                let of = b.port(port, width);
                let clamped = b.clamp(of, terms.iter().map(|t| t.clamp(t.column - columns.start)).collect(), false);
                let mut sum = Sparse::default();
                sum.push(terms.iter().map(|t| t.coefficient).enumerate(), 0.0);
                parts.push((1.0, b.combine(clamped, sum, false)));
            }
        }
        let exponent = match parts.is_empty() {
            true => b.constant(otherwise, &[ratio.intercept()]),
            false => b.sum(parts, ratio.intercept()),
        };
        b.op(Op::Exp { of: exponent, low: -Ratio::LARGEST, high: Ratio::LARGEST })
    }

    /// The middle of the network's own quantiles.
    fn middle(self, b: &mut Builder) -> Node {
        let both = self.own(b, OwnKind::Quantiles);
        b.sum(both.into_iter().map(|q| (0.5, q)).collect(), 0.0)
    }

    /// μ, and the fold in the making.
    pub(super) fn begin(self, b: &mut Builder, model: &FoldModel, single: bool) -> (Fold, Node) {
        let mut fold = Fold { inputs: self, single, clamped: Vec::new() };
        let mut mean = Mean::default();
        for (weight, member) in &model.members {
            fold.member(b, *weight, member, &mut mean);
        }
        let mean = fold.mean(b, mean);
        (fold, mean)
    }

    /// μ and the scales above and below it, a column each.
    fn fold(self, b: &mut Builder, model: &FoldModel) -> [Node; 3] {
        let (mut fold, mean) = self.begin(b, model, model.single());
        let (exponent, scale) = fold.scale(b, &model.scale, mean);
        match (&model.shape, exponent) {
            (Some(shape), Some(exponent)) => {
                let lean = self.lean(b, model, mean);
                let columns = shape_columns(b, shape, [exponent, mean], lean);
                let [above, below] = [&shape.upper, &shape.lower].map(|factor| {
                    let mut sparse = Sparse::default();
                    sparse.push(factor.weights.iter().copied().enumerate(), factor.constant);
                    let value = b.combine(columns, sparse, false);
                    let factor = b.clamp(value, vec![Clamp::within(0, factor.low, factor.high)], false);
                    b.op(Op::Product(scale, factor))
                });
                [mean, above, below]
            }
            _ => [mean, scale, scale],
        }
    }

    /// The lean of the network's quantiles, where the shape looks at it.
    fn lean(self, b: &mut Builder, model: &FoldModel, mean: Node) -> Option<Node> {
        let [low, high] = model.shape.as_ref()?.lean?;
        let (own, width) = (self.own(b, OwnKind::Quantiles), model.scale.own()?);
        let (log, middle) = (width.lower(b, &own), self.middle(b));
        let lean = width.lower_lean(b, log, middle, mean);
        Some(b.clamp(lean, vec![Clamp::within(0, low, high)], false))
    }
}

/// A fold in the making.
pub(super) struct Fold {
    inputs: Inputs,
    single: bool,
    /// Clipped features, one value per scale.
    clamped: Vec<Node>,
}

/// The parts of μ: columns, a multiple of the network's prediction, one of the middle of its quantiles, and a constant.
#[derive(Default)]
struct Mean {
    parts: Vec<(f64, Node)>,
    network: f64,
    middle: f64,
    constant: f64,
}

impl Fold {
    fn member(&mut self, b: &mut Builder, weight: f64, member: &Member, mean: &mut Mean) {
        match member {
            Member::Network => mean.network += weight,
            Member::Middle => mean.middle += weight,
            Member::Ridge(ridge) => {
                let coefficients = ridge.coefficients() * weight;
                let part = self.unit(b, ridge.clip(), coefficients.view(), weight * ridge.intercept());
                mean.parts.push((1.0, part));
            }
            Member::Quadratic { components, ridge } => {
                let coefficients = ridge.coefficients() * weight;
                let part = self.unit(b, ridge.clip(), coefficients.view(), weight * ridge.intercept());
                let products = self.products(b, components);
                let products = self.terms(b, vec![products], ridge, weight);
                mean.parts.extend([(1.0, part), (1.0, products)]);
            }
            Member::StoNet(net) => mean.parts.push((1.0, self.net(b, net, weight))),
            Member::Skip { intercept, slope, correction } => {
                mean.constant += weight * intercept;
                mean.network += weight * slope;
                if let Some(net) = correction {
                    mean.parts.push((1.0, self.net(b, net, weight)));
                }
            }
        }
    }

    fn mean(&self, b: &mut Builder, mut mean: Mean) -> Node {
        if mean.network != 0.0 {
            mean.parts.insert(0, (mean.network, self.inputs.d(b)));
        }
        if mean.middle != 0.0 {
            mean.parts.insert(0, (mean.middle, self.inputs.middle(b)));
        }
        if mean.parts.is_empty() {
            let x = self.inputs.x(b);
            return b.constant(x, &[mean.constant]);
        }
        b.sum(mean.parts, mean.constant)
    }

    /// The features on this scale.
    pub(super) fn clamped(&mut self, b: &mut Builder, clip: &Clip) -> Node {
        if let Some(&known) = self.clamped.iter().find(|n| b.clamps(**n).iter().all(|c| same(clip, c))) {
            return known;
        }
        let x = self.inputs.x(b);
        let new = b.clamp(x, (0..self.inputs.features).map(|k| clip.clamp(k)).collect(), self.single);
        self.clamped.push(new);
        new
    }

    /// The entries and the constant of a combination of standardised and clipped features.
    fn entries(&self, clip: &Clip, weights: ArrayView1<'_, f64>, bias: f64) -> (Vec<(usize, f64)>, f64) {
        let (mut entries, mut bias) = (Vec::new(), bias);
        for (k, &w) in weights.iter().take(self.inputs.features).enumerate() {
            if clip.low()[k] == clip.high()[k] {
                // What does not vary is part of the constant.
                bias += w * clip.low()[k];
            } else {
                entries.push((k, w));
            }
        }
        (entries, bias)
    }

    /// One combination of standardised and clipped features, in double precision.
    fn unit(&mut self, b: &mut Builder, clip: &Clip, weights: ArrayView1<'_, f64>, bias: f64) -> Node {
        let of = self.clamped(b, clip);
        let ((entries, bias), mut sparse) = (self.entries(clip, weights, bias), Sparse::default());
        sparse.push(entries, bias);
        b.combine(of, sparse, false)
    }

    /// A network, weighted and in units of the response.
    fn net(&mut self, b: &mut Builder, scaled: &Scaled, weight: f64) -> Node {
        let net = scaled.network().compact();
        let ((mean, sd), layers) = (scaled.response(), net.layers());
        let (last, hidden) = layers.split_last().expect("a network has layers");
        let (factor, shift) = (weight * sd, weight * (mean + sd * last.bias[0]));
        let mut top: Option<Node> = None;
        for layer in hidden {
            let (mut sparse, of) = (Sparse::default(), top.unwrap_or_else(|| self.clamped(b, scaled.clip())));
            for (row, &bias) in layer.weight.outer_iter().zip(&layer.bias) {
                let (entries, bias) = match top {
                    None => self.entries(scaled.clip(), row, bias),
                    Some(_) => (row.iter().copied().enumerate().collect(), bias),
                };
                sparse.push(entries, bias);
            }
            let units = b.combine(of, sparse, self.single);
            top = Some(b.activate(units, net.activation()));
        }
        let weights = last.weight.row(0).to_owned() * factor;
        let Some(top) = top else { return self.unit(b, scaled.clip(), weights.view(), shift) };
        let mut sparse = Sparse::default();
        sparse.push(weights.iter().copied().enumerate(), shift);
        b.combine(top, sparse, false)
    }

    /// The products of components of the features.
    fn products(&mut self, b: &mut Builder, components: &Components) -> Node {
        let of = self.components(b, components);
        b.wide(Op::Pairs { of }, components.products())
    }

    /// The components of the features.
    pub(super) fn components(&mut self, b: &mut Builder, components: &Components) -> Node {
        let (of, mut sparse) = (self.clamped(b, components.clip()), Sparse::default());
        for weights in components.weights().outer_iter() {
            let (entries, bias) = self.entries(components.clip(), weights, 0.0);
            sparse.push(entries, bias);
        }
        b.combine(of, sparse, false)
    }

    /// log s before it is clipped, unless it is constant, and the scale s.
    pub(super) fn scale(&mut self, b: &mut Builder, model: &ScaleModel, mean: Node) -> (Option<Node>, Node) {
        let ScaleModel::Learned { ridge, low, high, components, .. } = model else {
            return (None, b.constant(mean, &[1.0]));
        };
        let features = self.unit(b, ridge.clip(), ridge.coefficients().view(), ridge.intercept());
        let mut others = self.beside(b, model, mean);
        if let Some(components) = components {
            others.push(self.products(b, components));
        }
        let terms = self.terms(b, others, ridge, 1.0);
        let exponent = b.sum(vec![(1.0, features), (1.0, terms)], 0.0);
        let log = b.clamp(exponent, vec![Clamp::within(0, *low, *high)], false);
        (Some(log), b.op(Op::Exp { of: exponent, low: *low, high: *high }))
    }

    /// What a learned scale looks at beside the features and products of their components: μ and its square, the
    /// distance from the network's prediction and its own width, where it looks at them.
    pub(super) fn beside(&self, b: &mut Builder, model: &ScaleModel, mean: Node) -> Vec<Node> {
        let ScaleModel::Learned { offset, network, centre, own, .. } = model else { return Vec::new() };
        let from_centre = b.sum(vec![(1.0, mean)], -centre);
        let mut others = vec![from_centre, b.op(Op::Product(from_centre, from_centre))];
        if *network {
            let d = self.inputs.d(b);
            others.push(b.op(Op::LogDistance { a: mean, b: d, offset: *offset }));
        }
        if let Some(own) = own {
            let columns = self.inputs.own(b, own.kind());
            others.push(own.lower(b, &columns));
        }
        others
    }

    /// What a ridge regression takes from the columns behind the features, times a weight.
    fn terms(&self, b: &mut Builder, others: Vec<Node>, ridge: &Ridge, weight: f64) -> Node {
        let all = b.join(others);
        let (first, count) = (self.inputs.features, b.width(all));
        let place = |i: usize| Clamp { column: i, ..ridge.clip().clamp(first + i) };
        let clamped = b.clamp(all, (0..count).map(place).collect(), false);
        let mut sparse = Sparse::default();
        sparse.push((0..count).map(|i| (i, weight * ridge.coefficients()[first + i])), 0.0);
        b.combine(clamped, sparse, false)
    }
}

/// The columns that a shape looks at: log s with its hinges, then u, u² and the hinges of u, and the lean.
fn shape_columns(b: &mut Builder, shape: &Shape, [log, mean]: [Node; 2], lean: Option<Node>) -> Node {
    let hinge = |knot: f64| Clamp { column: 0, centre: knot, scale: 1.0, low: 0.0, high: f64::INFINITY };
    let of_log = b.clamp(log, shape.scale_knots.map(hinge).to_vec(), false);
    let [low, high] = shape.range;
    let u = b.clamp(mean, vec![Clamp { column: 0, centre: shape.centre, scale: shape.unit, low, high }], false);
    let square = b.op(Op::Product(u, u));
    let of_u = b.clamp(u, shape.knots.map(hinge).to_vec(), false);
    b.join([log, of_log, u, square, of_u].into_iter().chain(lean).collect())
}

/// Whether a column's scale is the clamp's, but for rounding.
fn same(clip: &Clip, c: &Clamp) -> bool {
    let own = clip.clamp(c.column);
    let near = |a: f64, b: f64| (a - b).abs() <= SAME * b.abs().max(1.0);
    let centre = (own.centre - c.centre).abs() * own.scale <= SAME;
    centre && near(own.scale / c.scale, 1.0) && near(own.low, c.low) && near(own.high, c.high)
}

impl FoldModel {
    /// Whether the wide products may be in single precision: their error in μ stays far below the least scale, and so
    /// does their relative error in s. It depends on the fold alone, so that calibration and prediction always decide
    /// alike.
    fn single(&self) -> bool {
        let ScaleModel::Learned { low, .. } = &self.scale else { return false };
        let size: f64 = self.members.iter().map(|(weight, member)| weight.abs() * size(member)).sum();
        let error = SINGLE_ROUNDING * size;
        let of_scale = self.scale.error(error);
        let steep = self.scale.own().map_or(0.0, OwnWidth::steepest_lean);
        let of_shape = self.shape.as_ref().map_or(0.0, |s| s.error(of_scale, error, steep));
        // Weights in units of the target must have digits in single precision.
        SINGLE_RANGE.contains(&size) && error <= SINGLE_ERROR * low.exp() && of_scale + of_shape <= SINGLE_SCALE_ERROR
    }
}

fn norm(w: ArrayView1<'_, f64>) -> f64 {
    w.dot(&w).sqrt()
}

/// The error of a member's prediction in single precision, in units of [`SINGLE_ROUNDING`].
fn size(member: &Member) -> f64 {
    let of_net = |s: &Scaled| {
        // Errors of hidden units reach the output through the weights above; those of tanh units are at most of order
        // one.
        let layers = s.network().layers();
        let gain: f64 = layers[1..].iter().map(|l| l.weight.iter().map(|w| w * w).sum::<f64>().sqrt()).product();
        let first = layers[0].weight.outer_iter().map(norm).fold(0.0, f64::max).max(1.0);
        2.0 * s.response().1.abs() * gain * first
    };
    match member {
        Member::Network | Member::Middle => 0.0,
        Member::Ridge(r) => norm(r.coefficients().view()),
        Member::Quadratic { components, ridge } => {
            let first = components.clip().columns();
            norm(ridge.coefficients().slice(s![..first])) + products_error(components, ridge, first)
        }
        Member::StoNet(s) => of_net(s),
        Member::Skip { correction, .. } => correction.as_ref().map_or(0.0, of_net),
    }
}

/// The error of what a ridge regression takes from products of components, whose columns begin at `first`, in units of
/// [`SINGLE_ROUNDING`].
fn products_error(components: &Components, ridge: &Ridge, first: usize) -> f64 {
    let sizes: Vec<f64> = components.weights().outer_iter().map(norm).collect();
    let pairs = (0..sizes.len()).flat_map(|a| (a..sizes.len()).map(move |b| (a, b)));
    let one = |(i, (a, b)): (usize, (usize, usize))| {
        let clamp = ridge.clip().clamp(first + i);
        // A product of errors of two factors of variance one, on the scale of the regression.
        (ridge.coefficients()[first + i] * clamp.scale).abs() * FAR * (sizes[a] + sizes[b])
    };
    pairs.enumerate().map(one).sum()
}

impl Shape {
    /// The largest relative error of a factor where log s and μ have these errors, and the lean is this steep in μ.
    fn error(&self, of_log: f64, of_mean: f64, steep: f64) -> f64 {
        let one = |f: &Factor| {
            let log: f64 = f.weights[..3].iter().map(|w| w.abs()).sum();
            let far = self.range[0].abs().max(self.range[1].abs());
            let u = f.weights[3].abs()
                + 2.0 * far * f.weights[4].abs()
                + f.weights[5..8].iter().map(|w| w.abs()).sum::<f64>();
            let lean = f.weights[8..].iter().map(|w| w.abs()).sum::<f64>() * steep;
            (log * of_log + (u * self.unit + lean) * of_mean) / f.low
        };
        one(&self.upper).max(one(&self.lower))
    }
}

impl ScaleModel {
    /// The largest relative error of s where the features are in single precision and μ has this error.
    fn error(&self, of_mean: f64) -> f64 {
        let ScaleModel::Learned { ridge, offset, network, components, own, .. } = self else { return 0.0 };
        let (clip, coefficients) = (ridge.clip(), ridge.coefficients());
        // The network's own width does not depend on μ.
        let slopes = if *network { 3 } else { 2 };
        let others = slopes + usize::from(own.is_some());
        let products = components.as_ref().map_or(0, |c| c.products());
        let Some(first) = coefficients.len().checked_sub(others + products) else { return f64::INFINITY };
        let of_products = components.as_ref().map_or(0.0, |c| products_error(c, ridge, first + others));
        // How fast the columns behind the features change with μ: μ itself, its square, and the distance to the
        // network's prediction.
        let square = clip.clamp(first + 1);
        let largest = (square.centre + square.high / square.scale).max(0.0).sqrt();
        let steepness = [1.0, 2.0 * largest, 1.0 / offset];
        let through: f64 =
            (0..slopes).map(|i| (coefficients[first + i] * clip.clamp(first + i).scale).abs() * steepness[i]).sum();
        SINGLE_ROUNDING * (norm(coefficients.slice(s![..first])) + of_products) + through * of_mean
    }
}
