//! A batch on its way through a perceptron, forward to the outputs and back as gradients; nothing is allocated after `new`.

use ndarray::ArrayView1;

use super::Mlp;
use crate::Activation;
use crate::linalg::perceptron;
use crate::linalg::product::{self, rows};

/// Rows of a weight matrix whose gradient is formed at a time: it is used up while it lies in a near cache.
const GRADIENT_ROWS: usize = 250;

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

    /// Takes the inputs of a batch, and says how many rows there were.
    pub(super) fn load<'a>(&mut self, rows: impl Iterator<Item = ArrayView1<'a, f64>>) -> usize {
        let slots = self.values[0].chunks_exact_mut(self.widths[0]);
        slots.zip(rows).map(|(slot, row)| slot.iter_mut().zip(row).for_each(|(s, &v)| *s = v as f32)).count()
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
                match net.activation() {
                    Activation::Tanh => perceptron::bias_tanh(out, bias),
                    Activation::Sigmoid => perceptron::bias_sigmoid(out, bias),
                    Activation::Relu => perceptron::bias_relu(out, bias),
                }
            }
        }
    }
}

/// Which parameters a piece of a gradient belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Layer, from 0.
    pub layer: usize,
    /// Biases, or weights row by row.
    pub bias: bool,
    /// The first of them.
    pub offset: usize,
}

/// The way back: the gradient of the loss in what each layer adds up.
pub(super) struct Backward {
    /// Behind each layer, rows × width.
    deltas: Vec<Vec<f32>>,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Backward {
    /// Room for so many rows.
    pub(super) fn new(net: &Mlp, capacity: usize) -> Self {
        let largest = |sizes: &mut dyn Iterator<Item = usize>| vec![0.0; sizes.max().unwrap_or(0)];
        let layers = || net.layers.iter();
        Backward {
            deltas: layers().map(|l| vec![0.0; capacity * l.outputs()]).collect(),
            weight: largest(&mut layers().map(|l| l.outputs().min(GRADIENT_ROWS) * l.inputs())),
            bias: largest(&mut layers().map(|l| l.outputs())),
        }
    }

    /// Where the gradient of the loss in the outputs goes.
    pub(super) fn output(&mut self) -> &mut [f32] {
        self.deltas.last_mut().expect("a network has layers")
    }

    /// Gives every piece of the gradient to `update`, with its parameters, from the output layer down.
    pub(super) fn run(
        &mut self,
        net: &mut Mlp,
        pass: &Pass,
        count: usize,
        mut update: impl FnMut(Piece, &mut [f32], &[f32]),
    ) {
        let last = net.layers.len() - 1;
        perceptron::column_sums(
            &self.deltas[last][..count * pass.widths[last + 1]],
            &mut self.bias[..pass.widths[last + 1]],
        );
        for i in (0..=last).rev() {
            let (inputs, outputs) = (pass.widths[i], pass.widths[i + 1]);
            let (below, here) = self.deltas.split_at_mut(i);
            let delta = rows(&here[0], count, outputs);
            if let Some(below) = below.last_mut() {
                // Before the weights move.
                product::set(below, delta, net.layers[i].parts().0, 1.0);
            }
            let (weight, bias) = net.layers[i].parts_mut();
            update(Piece { layer: i, bias: true, offset: 0 }, bias, &self.bias[..outputs]);
            for (block, w) in weight.chunks_mut(GRADIENT_ROWS * inputs).enumerate() {
                let first = block * GRADIENT_ROWS;
                let g = &mut self.weight[..w.len()];
                let part = delta.subcols(first, w.len() / inputs);
                product::set(g, part.transpose(), rows(&pass.values[i], count, inputs), 1.0);
                update(Piece { layer: i, bias: false, offset: first * inputs }, w, g);
            }
            if let Some(below) = below.last_mut() {
                let (delta, a) = (&mut below[..count * inputs], pass.values(i, count));
                let sums = &mut self.bias[..inputs];
                match net.activation() {
                    Activation::Tanh => perceptron::slope_tanh(delta, a, sums),
                    Activation::Sigmoid => perceptron::slope_sigmoid(delta, a, sums),
                    Activation::Relu => perceptron::slope_relu(delta, a, sums),
                }
            }
        }
    }
}
