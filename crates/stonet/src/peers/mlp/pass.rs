//! A batch on its way through a perceptron, forward to the outputs and back as gradients; nothing is allocated after
//! `new`.

use ndarray::ArrayView1;

use super::Mlp;
use super::network::Dense;
use crate::linalg::perceptron;
use crate::linalg::product::{self, rows};
use crate::network::Activation;

/// The values of a batch: inputs, activations of each hidden layer, outputs; rows × width each.
pub(super) struct Pass {
    widths: Vec<usize>,
    values: Vec<Vec<f32>>,
}

impl Pass {
    /// Room for so many rows.
    pub(super) fn new(net: &Mlp, capacity: usize) -> Self {
        let widths = net.widths();
        Pass { values: widths.iter().map(|width| vec![0.0; capacity * width]).collect(), widths }
    }

    /// Takes the inputs of a batch.
    pub(super) fn load<'a>(&mut self, rows: impl Iterator<Item = ArrayView1<'a, f64>>) {
        for (slot, row) in self.values[0].chunks_exact_mut(self.widths[0]).zip(rows) {
            match row.to_slice() {
                // Contiguous rows convert in whole vectors.
                Some(row) => slot.iter_mut().zip(row).for_each(|(s, &v)| *s = v as f32),
                None => slot.iter_mut().zip(row).for_each(|(s, &v)| *s = v as f32),
            }
        }
    }

    /// The values of the first `count` rows behind `depth` layers.
    pub(super) fn values(&self, depth: usize, count: usize) -> &[f32] {
        &self.values[depth][..count * self.widths[depth]]
    }

    /// Sends `count` rows through the first `depth` layers.
    pub(super) fn forward(&mut self, net: &Mlp, depth: usize, count: usize) {
        for (i, layer) in net.layers[..depth].iter().enumerate() {
            let (below, above) = self.values.split_at_mut(i + 1);
            let out = &mut above[0][..count * self.widths[i + 1]];
            let (weight, bias) = layer.parts();
            product::set(out, rows(&below[i], count, self.widths[i]), weight.transpose(), 1.0);
            if i + 1 == net.layers.len() {
                perceptron::bias_only(out, bias);
            } else {
                activate(net.activation(), out, bias);
            }
        }
    }
}

/// Which parameters a gradient belongs to; the layer counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Row by row.
    Weight(usize),
    /// One per output.
    Bias(usize),
}

/// The way back: the gradient of the loss in what each layer adds up.
pub(super) struct Backward {
    /// Behind each layer, rows × width.
    deltas: Vec<Vec<f32>>,
    /// Of one layer at a time: gradients are used up at once, while they lie in a near cache.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Backward {
    /// Room for so many rows.
    pub(super) fn new(net: &Mlp, capacity: usize) -> Self {
        let largest = |size: fn(&Dense) -> usize| vec![0.0; net.layers.iter().map(size).max().unwrap_or(0)];
        Backward {
            deltas: net.layers.iter().map(|l| vec![0.0; capacity * l.outputs()]).collect(),
            weight: largest(|l| l.weight.len()),
            bias: largest(Dense::outputs),
        }
    }

    /// Where the gradient of the loss in the outputs goes.
    pub(super) fn output(&mut self) -> &mut [f32] {
        self.deltas.last_mut().expect("a network has layers")
    }

    /// Hands each layer's gradients, with the parameters they belong to, to `update`, from the output layer down.
    pub(super) fn run(
        &mut self,
        net: &mut Mlp,
        pass: &Pass,
        count: usize,
        mut update: impl FnMut(Part, &mut [f32], &[f32]),
    ) {
        let activation = net.activation();
        for (i, layer) in net.layers.iter_mut().enumerate().rev() {
            let (inputs, outputs) = (pass.widths[i], pass.widths[i + 1]);
            let (below, here) = self.deltas.split_at_mut(i);
            let delta = &mut here[0][..count * outputs];
            let sums = &mut self.bias[..outputs];
            if i + 1 < pass.widths.len() - 1 {
                slope(activation, delta, pass.values(i + 1, count), sums);
            } else {
                perceptron::column_sums(delta, sums);
            }
            let delta = rows(delta, count, outputs);
            if let Some(below) = below.last_mut() {
                // Before the weights move.
                product::set(below, delta, layer.parts().0, 1.0);
            }
            let g = &mut self.weight[..inputs * outputs];
            product::set(g, delta.transpose(), rows(&pass.values[i], count, inputs), 1.0);
            let (weight, bias) = layer.parts_mut();
            update(Part::Weight(i), weight, g);
            update(Part::Bias(i), bias, sums);
        }
    }
}

/// a = ψ(a + b).
fn activate(activation: Activation, a: &mut [f32], bias: &[f32]) {
    match activation {
        Activation::Tanh => perceptron::bias_tanh(a, bias),
        Activation::Sigmoid => perceptron::bias_sigmoid(a, bias),
        Activation::Relu => perceptron::bias_relu(a, bias),
    }
}

/// delta *= ψ′, which is a function of the activations a, with the column sums of the result.
fn slope(activation: Activation, delta: &mut [f32], a: &[f32], sums: &mut [f32]) {
    match activation {
        Activation::Tanh => perceptron::slope_tanh(delta, a, sums),
        Activation::Sigmoid => perceptron::slope_sigmoid(delta, a, sums),
        Activation::Relu => perceptron::slope_relu(delta, a, sums),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::peers::mlp::judge::Judge;
    use crate::peers::mlp::{Loss, loss};
    use crate::rows::Dataset;
    use ndarray::{Array1, Array2};

    /// Weights and biases in double precision.
    type Exact = Vec<(Array2<f64>, Array1<f64>)>;

    /// The loss by the definition of the network, in double precision.
    fn exact_loss(loss: &Loss, layers: &Exact, psi: Activation, data: &Dataset) -> f64 {
        let mut a = data.x().to_owned();
        for (i, (weight, bias)) in layers.iter().enumerate() {
            a = a.dot(&weight.t()) + bias;
            if i + 1 < layers.len() {
                a.mapv_inplace(|f| psi.value(f));
            }
        }
        loss.gradient(a.view(), data.y(), &mut vec![0.0; a.len()], &mut vec![0.0; 3 * a.nrows()])
    }

    /// Central differences of the exact loss in the parameters of one part.
    fn numeric(loss: &Loss, net: &Mlp, data: &Dataset, part: Part) -> Vec<f64> {
        let mut layers: Exact = net.layers.iter().map(|l| (l.weight.mapv(f64::from), l.bias.mapv(f64::from))).collect();
        let entry = |layers: &mut Exact, k: usize, d: f64| match part {
            Part::Weight(i) => layers[i].0.as_slice_mut().unwrap()[k] += d,
            Part::Bias(i) => layers[i].1[k] += d,
        };
        let (len, h) = match part {
            Part::Weight(i) => (net.layers[i].weight.len(), 1e-6),
            Part::Bias(i) => (net.layers[i].bias.len(), 1e-6),
        };
        let mut at = |k: usize, d: f64| {
            entry(&mut layers, k, d);
            let value = exact_loss(loss, &layers, net.activation(), data);
            entry(&mut layers, k, -d);
            value
        };
        (0..len).map(|k| (at(k, h) - at(k, -h)) / (2.0 * h)).collect()
    }

    #[test]
    fn gradients_of_the_network_agree_with_central_differences() {
        for (loss, y) in loss::tests::all() {
            for psi in Activation::ALL {
                for hidden in [vec![7], vec![6, 5]] {
                    let x = Array2::from_shape_fn((4, 3), |(i, j)| (1.7 * i as f64 + 2.9 * j as f64).sin());
                    let data = Dataset::new(x, y.clone()).unwrap();
                    let widths: Vec<usize> =
                        [3].into_iter().chain(hidden).chain([loss::tests::outputs(&loss)]).collect();
                    let mut net = Mlp::random(&widths, psi, Seed::new(4));
                    let start = net.clone();
                    let mut judge = Judge::new(&net, &data, 5);
                    judge.loss(&loss, &net, &data, &[0, 1, 2, 3]);
                    let mut backward = Backward::new(&net, 5);
                    judge.gradient(backward.output());
                    let mut parts = Vec::new();
                    backward.run(&mut net, &judge.pass, 4, |part, parameters, g| {
                        parts.push(part);
                        let want = numeric(&loss, &start, &data, part);
                        assert_eq!((want.len(), parameters.len()), (g.len(), g.len()));
                        for (&g, want) in g.iter().zip(&want) {
                            // Single precision: some rounding errors of 6e-8 in numbers of order 1.
                            assert!((f64::from(g) - want).abs() < 2e-6, "{loss:?} {psi:?} {part:?}: {g} for {want}");
                        }
                    });
                    assert_eq!(parts.len(), 2 * net.layers.len());
                }
            }
        }
    }
}
