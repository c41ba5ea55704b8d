//! Eve's law as operations of a plan: the forward pass, and the covariance of the output layer by layer (`varest`,
//! `first_layer_varest`).

use ndarray::ArrayView2;

use crate::base::{Error, Result, normal};
use crate::eve::{Estimate, EveIntervals, LayerVariance};
use crate::network::{Activation, Layer};
use crate::rows::{Intervals, Level, PredictInterval, RegressionInputs, Side};
use crate::score::{Asked, Builder, Clamp, Decision, Form, Node, Op, Plan, Port, Quantity, Scorer, Sparse, Surety};
use crate::sparse::refit::InverseGram;

/// Predictions of all targets, ends at every level, quantiles and probabilities.
///
/// A bound leaves α on one side alone, so its level has to be above one half.
pub(super) fn plan(intervals: &EveIntervals, range: Option<(f64, f64)>, asked: &Asked) -> Result<Plan> {
    let scaling = intervals.scaling();
    let targets = scaling.y.columns();
    let mut b = Builder::within(range);
    let z = standardised(&mut b, intervals);
    let (mut centres, mut halves) = (Vec::new(), Vec::new());
    let share = 1.0 / intervals.estimates().len() as f64;
    for estimate in intervals.estimates() {
        let (centre, variance) = moments(&mut b, estimate, z);
        let residual = b.diagonal_line(variance, &vec![1.0; targets], estimate.residual_variance());
        centres.push((share, centre));
        halves.push((share, b.op(Op::SquareRoot { of: residual })));
    }
    let (centre, half) = (b.sum(centres, 0.0), b.sum(halves, 0.0));
    let (mean, sd) = (scaling.y.mean().to_vec(), scaling.y.sd().to_vec());
    let centre = b.diagonal_line(centre, &sd, &mean);
    let half = b.diagonal_line(half, &sd, &vec![0.0; targets]);
    let mut ends = Vec::new();
    for &level in &asked.levels {
        let z = width(asked.each(level, targets)?, asked.side)?;
        ends.push([-z, z].map(|z| b.sum(vec![(1.0, centre), (z, half)], 0.0)));
    }
    let quantile = |tau: &Level| vec![(1.0, centre), (normal::quantile(tau.get()), half)];
    let quantiles: Vec<Node> = asked.quantiles.iter().map(|tau| b.sum(quantile(tau), 0.0)).collect();
    let mut values: Vec<Node> = asked.below.iter().map(|&t| b.constant(centre, &vec![t; targets])).collect();
    if asked.at_values {
        values.push(b.port(Port::Values, targets));
    }
    let below: Vec<Node> = (values.into_iter())
        .map(|value| b.probability(Op::NormalBelow { mean: centre, sd: half, value }, value))
        .collect();
    for target in 0..targets {
        b.output(Quantity::Prediction { target }, centre, target, true);
        for (level, &[lower, upper]) in ends.iter().enumerate() {
            if asked.side != Side::Upper {
                b.output(Quantity::Lower { target, level }, lower, target, true);
            }
            if asked.side != Side::Lower {
                b.output(Quantity::Upper { target, level }, upper, target, true);
            }
        }
        for (number, &node) in quantiles.iter().enumerate() {
            b.output(Quantity::Quantile { target, number }, node, target, true);
        }
        for (number, &node) in below.iter().enumerate() {
            b.output(Quantity::Below { target, number }, node, target, true);
        }
    }
    if let Some(decision @ Decision { surety: Surety::Shortness(level), .. }) = &asked.decision {
        let z = width(*level, Side::Both)?;
        let ends = [-z, z].map(|z| (b.sum(vec![(1.0, centre), (z, half)], 0.0), 0));
        b.decide_by_length(ends, decision);
    }
    Ok(b.finish())
}

/// Standard deviations from the prediction to an end.
fn width(level: Level, side: Side) -> Result<f64> {
    match side {
        Side::Both => Ok(level.z()),
        _ if level.get() > 0.5 => Ok(Level::new(2.0 * level.get() - 1.0)?.z()),
        _ => Err(Error::setting("level", level, "above 0.5 for a one-sided bound of Eve's law")),
    }
}

/// The features on standard scale.
fn standardised(b: &mut Builder, intervals: &EveIntervals) -> Node {
    let scale = &intervals.scaling().x;
    let x = b.port(Port::Features, scale.columns());
    let clamp = |k: usize| {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        Clamp { column: k, centre: scale.mean()[k], scale: 1.0 / scale.sd()[k], low, high }
    };
    b.clamp(x, (0..scale.columns()).map(clamp).collect(), false)
}

/// Σ̂ of a layer.
#[derive(Clone, Copy)]
struct Covariance {
    node: Node,
    /// Whether no two units are correlated, so that the variances are all.
    diagonal: bool,
}

/// μ and the diagonal of Σ̂_L.
fn moments(b: &mut Builder, estimate: &Estimate, z: Node) -> (Node, Node) {
    let (net, variances) = (estimate.network(), estimate.weight_variance());
    let (psi, last) = (net.activation(), net.layers().len() - 1);
    let (mut below, mut sigma) = (z, None);
    for (i, (layer, variance)) in net.layers().iter().zip(variances).enumerate() {
        let m = sigma.map(|sigma| through(b, sigma, psi, below));
        let own = own(b, variance, below, m);
        let carried = match m {
            None => Covariance { node: own, diagonal: true },
            Some(m) => step(b, layer, m, own, i == last),
        };
        let f = b.combine(below, Sparse::of(layer), false);
        if i == last {
            return (f, carried.node);
        }
        below = b.activate(f, psi);
        sigma = Some(carried);
    }
    (below, z)
}

/// The part of the variance of μ that comes from the weights of each layer, for every target in its own squared unit:
/// the mean over the estimates. Outputs stand layer by layer.
pub(super) fn layers_plan(intervals: &EveIntervals) -> Plan {
    let mut b = Builder::default();
    let z = standardised(&mut b, intervals);
    let each: Vec<Vec<Node>> = intervals.estimates().iter().map(|e| layers(&mut b, e, z)).collect();
    let sd = intervals.scaling().y.sd();
    let units: Vec<f64> = sd.iter().map(|s| s * s / each.len() as f64).collect();
    for layer in 0..each.iter().map(Vec::len).max().unwrap_or(0) {
        let parts = each.iter().filter_map(|layers| layers.get(layer)).map(|&node| (1.0, node)).collect();
        let sum = b.sum(parts, 0.0);
        let part = b.diagonal_line(sum, &units, &vec![0.0; units.len()]);
        (0..units.len()).for_each(|target| b.output(Quantity::Variance { target, layer }, part, target, true));
    }
    b.finish()
}

/// The diagonal of Σ̂_L in parts, one per layer whose weights are uncertain.
///
/// The recursion is linear in Σ̂, so what each layer adds is carried to the output by itself. The product tr(Var(ŵ_ij)
/// M) of two uncertainties counts for the lower of its layers.
fn layers(b: &mut Builder, estimate: &Estimate, z: Node) -> Vec<Node> {
    let (net, variances) = (estimate.network(), estimate.weight_variance());
    let last = net.layers().len() - 1;
    let (mut below, mut sigmas) = (z, Vec::<Covariance>::new());
    for (i, (layer, variance)) in net.layers().iter().zip(variances).enumerate() {
        for sigma in &mut sigmas {
            let m = through(b, *sigma, net.activation(), below);
            let traces = traces(b, variance, m, below);
            let own = per_neuron(b, variance, traces);
            *sigma = step(b, layer, m, own, i == last);
        }
        sigmas.push(Covariance { node: own(b, variance, below, None), diagonal: true });
        if i < last {
            let f = b.combine(below, Sparse::of(layer), false);
            below = b.activate(f, net.activation());
        }
    }
    sigmas.iter().map(|s| s.node).collect()
}

/// D_ψ′ Σ D_ψ′ with the slopes at these activations.
fn through(b: &mut Builder, sigma: Covariance, psi: Activation, a: Node) -> Covariance {
    let slopes = b.op(Op::Slope { of: a, activation: psi });
    let node = if sigma.diagonal {
        let squares = b.op(Op::Product(slopes, slopes));
        b.op(Op::Product(sigma.node, squares))
    } else {
        b.op(Op::Sandwich { of: sigma.node, slopes })
    };
    Covariance { node, ..sigma }
}

/// w M wᵀ + diag(own): all of it, or the diagonal at the last layer.
fn step(b: &mut Builder, layer: &Layer, m: Covariance, own: Node, last: bool) -> Covariance {
    let units = layer.weight.nrows();
    if last && m.diagonal {
        let mut squares = Sparse::default();
        for row in layer.weight.outer_iter() {
            squares.push(row.iter().map(|w| w * w).enumerate(), 0.0);
        }
        let carried = b.combine(m.node, squares, false);
        return Covariance { node: b.sum(vec![(1.0, own), (1.0, carried)], 0.0), diagonal: true };
    }
    let op = Op::Congruence { of: m.node, diagonal: m.diagonal, weights: Sparse::of(layer), own };
    let all = b.wide(op, units * units);
    match last {
        true => Covariance { node: b.pick(all, (0..units).map(|j| j * units + j)), diagonal: true },
        false => Covariance { node: all, diagonal: false },
    }
}

/// ς²_j (ãᵀ(X̃ᵀX̃)⁻¹ã + tr((X̃ᵀX̃)⁻¹ M)) for every neuron.
fn own(b: &mut Builder, variance: &LayerVariance, a: Node, m: Option<Covariance>) -> Node {
    let mut per_gram = leverages(b, variance, a);
    if let Some(m) = m {
        let traces = traces(b, variance, m, a);
        per_gram = b.sum(vec![(1.0, per_gram), (1.0, traces)], 0.0);
    }
    per_neuron(b, variance, per_gram)
}

/// ãᵀ(X̃ᵀX̃)⁻¹ã for every matrix of a layer.
fn leverages(b: &mut Builder, variance: &LayerVariance, a: Node) -> Node {
    let forms: Vec<Form> = variance.grams().iter().map(form).collect();
    b.wide(Op::Quadratic { of: a, forms }, variance.grams().len())
}

/// tr((X̃ᵀX̃)⁻¹ M) for every matrix of a layer.
fn traces(b: &mut Builder, variance: &LayerVariance, m: Covariance, a: Node) -> Node {
    let (width, mut traces) = (b.width(a), Sparse::default());
    for gram in variance.grams() {
        traces.push(trace(gram, m.diagonal, width), 0.0);
    }
    b.combine(m.node, traces, false)
}

/// ς²_j times the value of the neuron's matrix; neurons may share a matrix.
fn per_neuron(b: &mut Builder, variance: &LayerVariance, per_gram: Node) -> Node {
    let mut noise = Sparse::default();
    variance.neurons().iter().for_each(|&(g, n)| noise.push([(g, n)], 0.0));
    b.combine(per_gram, noise, false)
}

fn form(gram: &InverseGram) -> Form {
    let mut half = Sparse::default();
    for (i, row) in gram.inverse().outer_iter().enumerate() {
        // Both halves count, so that a file whose matrix is not symmetric means what it says.
        half.push((0..=i).map(|j| (j, if i == j { row[j] } else { row[j] + gram.inverse()[[j, i]] })), 0.0);
    }
    Form { support: gram.support().to_vec(), mean: gram.mean().to_vec(), half, constant: 1.0 / gram.rows() as f64 }
}

/// tr((X̃ᵀX̃)⁻¹ M) as a combination of the columns of M, or of its diagonal.
fn trace(gram: &InverseGram, diagonal: bool, width: usize) -> Vec<(usize, f64)> {
    let at = |i: usize| gram.support()[i];
    if diagonal {
        return gram.inverse().diag().iter().enumerate().map(|(i, &c)| (at(i), c)).collect();
    }
    gram.inverse().indexed_iter().map(|((i, j), &c)| (at(i) * width + at(j), c)).collect()
}

impl Builder {
    /// Every column times its own slope, plus its own constant.
    fn diagonal_line(&mut self, of: Node, slopes: &[f64], constants: &[f64]) -> Node {
        let mut sparse = Sparse::default();
        slopes.iter().zip(constants).enumerate().for_each(|(k, (&s, &c))| sparse.push([(k, s)], c));
        self.combine(of, sparse, false)
    }
}

impl EveIntervals {
    pub(super) fn check_columns(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        match (self.scaling().x.columns(), x.ncols()) {
            (expected, found) if expected != found => Err(Error::shape("input columns", expected, found)),
            _ => Ok(()),
        }
    }
}

impl PredictInterval for EveIntervals {
    fn intervals(&self, x: ArrayView2<'_, f64>, level: Level) -> Result<Intervals> {
        self.check_columns(x)?;
        let asked = Asked::at(&[level]);
        let scorer = Scorer::new(plan(self, None, &asked)?);
        let columns = super::predict::used(&scorer, &RegressionInputs::new(x)?, None);
        Ok(super::predict::gather(scorer.run(&columns, x.nrows())?, &scorer, &asked, x.nrows()).remove(0))
    }
}
