//! Eve's law as a graph: the covariance of the output layer by layer, for a whole batch at once.
//!
//! Σ̂_1 is diagonal and stays a row per row; from the second layer on it is a matrix per row, unless that layer is the last, of which the
//! diagonal is enough.

use stonet::anatomy::LayerVariance;
use stonet::{Activation, Estimate, EveIntervals, Layer, Level};

use super::FEATURES;
use crate::graph::{Graph, Tensor};

/// Prediction, lower and upper ends.
pub(super) fn ends(graph: &mut Graph, model: &EveIntervals, features: usize, level: Level) -> [Tensor; 3] {
    let x = graph.input(FEATURES, features);
    let z = graph.standardised(x, &model.scaling().x);
    let (mut centres, mut halves) = (Vec::new(), Vec::new());
    for estimate in model.estimates() {
        let (centre, variance) = moments(graph, estimate, z);
        let residual = graph.row(estimate.residual_variance());
        let total = graph.op("Add", &[variance, residual]);
        centres.push(centre);
        halves.push(graph.op("Sqrt", &[total]));
    }
    let m = model.estimates().len() as f64;
    let mut mean_of = |parts: Vec<Tensor>| {
        let Some(sum) = graph.sum(parts) else { unreachable!("there is at least one estimate") };
        graph.times(sum, 1.0 / m)
    };
    let (centre, half) = (mean_of(centres), mean_of(halves));
    let scale = &model.scaling().y;
    let (sd, mean) = (graph.row(scale.sd()), graph.row(scale.mean()));
    let widths: Vec<f64> = scale.sd().iter().map(|s| s * level.z()).collect();
    let widths = graph.row(&widths);
    let spread = graph.op("Mul", &[centre, sd]);
    let prediction = graph.op("Add", &[spread, mean]);
    let half = graph.op("Mul", &[half, widths]);
    [prediction, graph.op("Sub", &[prediction, half]), graph.op("Add", &[prediction, half])]
}

/// Σ̂ of a layer, for every row.
enum Sigma {
    /// Its diagonal, the rest being 0.
    Diagonal(Tensor),
    Full(Tensor),
}

/// μ and the diagonal of Σ̂_L.
fn moments(graph: &mut Graph, estimate: &Estimate, z: Tensor) -> (Tensor, Tensor) {
    let (net, variances) = (estimate.network(), estimate.weight_variance());
    let f = graph.preactivations(z, net);
    let (layers, last) = (net.layers(), net.layers().len() - 1);
    let mean = f[f.len() - 1];
    if f.len() < layers.len() {
        // All hidden units are gone: what is left is the variance of the intercept.
        let constant: Vec<f64> = own_constant(&variances[last]);
        return (mean, graph.repeat(z, net.inputs(), &constant));
    }
    let own = own(graph, &variances[0], z, net.inputs(), None);
    if last == 0 {
        return (mean, own);
    }
    let mut sigma = Sigma::Diagonal(own);
    for i in 1..last {
        sigma = Sigma::Full(step(graph, &layers[i], &variances[i], net.activation(), f[i - 1], sigma, false));
    }
    (mean, step(graph, &layers[last], &variances[last], net.activation(), f[last - 1], sigma, true))
}

/// Σ̂ of the next layer: its diagonal at the last one, matrices elsewhere.
fn step(
    graph: &mut Graph,
    layer: &Layer,
    variance: &LayerVariance,
    activation: Activation,
    below: Tensor,
    sigma: Sigma,
    last: bool,
) -> Tensor {
    let (outputs, inputs) = layer.weight.dim();
    let a = graph.activation(below, activation);
    let slope = slope(graph, activation, below, a);
    let m = match sigma {
        Sigma::Diagonal(s) => {
            let square = graph.op("Mul", &[slope, slope]);
            Sigma::Diagonal(graph.op("Mul", &[s, square]))
        }
        Sigma::Full(s) => {
            let across = reshaped(graph, slope, &[-1, 1, inputs as i64]);
            let down = reshaped(graph, slope, &[-1, inputs as i64, 1]);
            let half = graph.op("Mul", &[s, across]);
            Sigma::Full(graph.op("Mul", &[half, down]))
        }
    };
    let own = own(graph, variance, a, inputs, Some(&m));
    if last {
        let carried = match m {
            Sigma::Diagonal(m) => {
                let squares = graph.floats(&[inputs, outputs], layer.weight.t().iter().map(|w| w * w));
                graph.op("MatMul", &[m, squares])
            }
            Sigma::Full(m) => {
                let weight = graph.floats(&[outputs, inputs], layer.weight.iter().copied());
                let wm = graph.op("MatMul", &[weight, m]);
                let products = graph.op("Mul", &[wm, weight]);
                let sums = graph.row_sums(products, inputs);
                reshaped(graph, sums, &[-1, outputs as i64])
            }
        };
        return graph.op("Add", &[own, carried]);
    }
    let weight = graph.floats(&[outputs, inputs], layer.weight.iter().copied());
    let wm = match m {
        Sigma::Diagonal(m) => {
            let across = reshaped(graph, m, &[-1, 1, inputs as i64]);
            graph.op("Mul", &[across, weight])
        }
        Sigma::Full(m) => graph.op("MatMul", &[weight, m]),
    };
    let turned = graph.floats(&[inputs, outputs], layer.weight.t().iter().copied());
    let carried = graph.op("MatMul", &[wm, turned]);
    let unit =
        graph.floats(&[outputs, outputs], (0..outputs * outputs).map(|i| f64::from(u8::from(i % (outputs + 1) == 0))));
    let column = reshaped(graph, own, &[-1, outputs as i64, 1]);
    let diagonal = graph.op("Mul", &[column, unit]);
    graph.op("Add", &[carried, diagonal])
}

/// ψ′, from y and a = ψ(y).
fn slope(graph: &mut Graph, activation: Activation, y: Tensor, a: Tensor) -> Tensor {
    let one = graph.number(1.0);
    match activation {
        Activation::Tanh => {
            let square = graph.op("Mul", &[a, a]);
            graph.op("Sub", &[one, square])
        }
        Activation::Sigmoid => {
            let rest = graph.op("Sub", &[one, a]);
            graph.op("Mul", &[a, rest])
        }
        Activation::Relu => {
            let zero = graph.number(0.0);
            let above = graph.op("Greater", &[y, zero]);
            let [slope] = graph.call("Cast", &[above], &[("to", crate::tensor::FLOAT)]);
            slope
        }
    }
}

/// ς²_j (ãᵀ(X̃ᵀX̃)⁻¹ã + tr((X̃ᵀX̃)⁻¹ M)) for every neuron.
fn own(graph: &mut Graph, variance: &LayerVariance, a: Tensor, width: usize, m: Option<&Sigma>) -> Tensor {
    let mut per_gram = Vec::new();
    for gram in variance.grams() {
        let q = gram.support().len();
        let constant = 1.0 / gram.rows() as f64;
        if q == 0 {
            per_gram.push(graph.repeat(a, width, &[constant]));
            continue;
        }
        let chosen = graph.columns(a, gram.support());
        let mean = graph.row(gram.mean());
        let d = graph.op("Sub", &[chosen, mean]);
        let inverse = graph.floats(&[q, q], gram.inverse().iter().copied());
        let turned = graph.op("MatMul", &[d, inverse]);
        let products = graph.op("Mul", &[turned, d]);
        let form = graph.row_sums(products, q);
        let mut leverage = graph.line(form, 1.0, constant);
        let at = |r: usize, c: usize| gram.support()[r] * width + gram.support()[c];
        if let Some(m) = m {
            let (flat, spread) = match m {
                Sigma::Diagonal(m) => {
                    let mut diagonal = vec![0.0; width];
                    (0..q).for_each(|r| diagonal[gram.support()[r]] = gram.inverse()[[r, r]]);
                    (*m, diagonal)
                }
                Sigma::Full(m) => {
                    let mut whole = vec![0.0; width * width];
                    gram.inverse().indexed_iter().for_each(|((r, c), v)| whole[at(r, c)] = *v);
                    (reshaped(graph, *m, &[-1, (width * width) as i64]), whole)
                }
            };
            let spread = graph.floats(&[spread.len(), 1], spread);
            let trace = graph.op("MatMul", &[flat, spread]);
            leverage = graph.op("Add", &[leverage, trace]);
        }
        per_gram.push(leverage);
    }
    let all = graph.beside(&per_gram);
    let which: Vec<usize> = variance.neurons().iter().map(|n| n.0).collect();
    let each = graph.columns(all, &which);
    let noise: Vec<f64> = variance.neurons().iter().map(|n| n.1).collect();
    let noise = graph.row(&noise);
    graph.op("Mul", &[each, noise])
}

/// The same where there are no inputs.
fn own_constant(variance: &LayerVariance) -> Vec<f64> {
    variance.neurons().iter().map(|&(g, noise)| noise / variance.grams()[g].rows() as f64).collect()
}

fn reshaped(graph: &mut Graph, a: Tensor, shape: &[i64]) -> Tensor {
    let shape = graph.ints(shape.iter().copied());
    graph.op("Reshape", &[a, shape])
}
