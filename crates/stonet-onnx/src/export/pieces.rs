//! Pieces that several models share: clipped standard scales, StoNets, ridge regressions.

use stonet::anatomy::{Clip, Ridge};
use stonet::{Activation, Standardizer, StoNet};

use crate::graph::{Graph, Tensor};

impl Graph {
    /// (x − mean) / sd.
    pub(super) fn standardised(&mut self, x: Tensor, scale: &Standardizer) -> Tensor {
        let (mean, sd) = (self.row(scale.mean()), self.row(scale.sd()));
        let centred = self.op("Sub", &[x, mean]);
        self.op("Div", &[centred, sd])
    }

    /// On standard scale, within its ends.
    pub(super) fn clipped(&mut self, x: Tensor, clip: &Clip) -> Tensor {
        let z = self.standardised(x, clip.scale());
        let (low, high) = (self.row(clip.low()), self.row(clip.high()));
        let above = self.op("Max", &[z, low]);
        self.op("Min", &[above, high])
    }

    pub(super) fn activation(&mut self, y: Tensor, activation: Activation) -> Tensor {
        let op = match activation {
            Activation::Tanh => "Tanh",
            Activation::Sigmoid => "Sigmoid",
            Activation::Relu => "Relu",
        };
        self.op(op, &[y])
    }

    /// F_1 … F_L of a compact network; a network without hidden units left is its constant, F_L alone.
    pub(super) fn preactivations(&mut self, x: Tensor, net: &StoNet) -> Vec<Tensor> {
        let layers = net.layers();
        if net.widths()[1..].contains(&0) {
            let bias = layers[layers.len() - 1].bias.to_vec();
            return vec![self.repeat(x, net.inputs(), &bias)];
        }
        let mut all: Vec<Tensor> = Vec::new();
        for layer in layers {
            let a = match all.last() {
                None => x,
                Some(&below) => self.activation(below, net.activation()),
            };
            let (rows, columns) = layer.weight.dim();
            let weight = self.floats(&[rows, columns], layer.weight.iter().copied());
            let bias = self.floats(&[rows], layer.bias.iter().copied());
            let [f] = self.call("Gemm", &[a, weight, bias], &[("transB", 1)]);
            all.push(f);
        }
        all
    }

    /// F_L.
    pub(super) fn network(&mut self, x: Tensor, net: &StoNet) -> Tensor {
        let all = self.preactivations(x, &net.compact());
        all[all.len() - 1]
    }

    /// A column of predictions.
    pub(super) fn ridge(&mut self, x: Tensor, ridge: &Ridge) -> Tensor {
        let z = self.clipped(x, ridge.clip());
        let coefficients = self.floats(&[ridge.coefficients().len(), 1], ridge.coefficients().iter().copied());
        let intercept = self.number(ridge.intercept());
        let [out] = self.call("Gemm", &[z, coefficients, intercept], &[]);
        out
    }

    /// a · x + b.
    pub(super) fn line(&mut self, x: Tensor, factor: f64, summand: f64) -> Tensor {
        let (factor, summand) = (self.number(factor), self.number(summand));
        let product = self.op("Mul", &[x, factor]);
        self.op("Add", &[product, summand])
    }

    pub(super) fn times(&mut self, x: Tensor, factor: f64) -> Tensor {
        if factor == 1.0 {
            return x;
        }
        let factor = self.number(factor);
        self.op("Mul", &[x, factor])
    }

    /// The sum of all; none of nothing.
    pub(super) fn sum(&mut self, parts: impl IntoIterator<Item = Tensor>) -> Option<Tensor> {
        parts.into_iter().reduce(|a, b| self.op("Add", &[a, b]))
    }

    pub(super) fn softmax(&mut self, x: Tensor) -> Tensor {
        let [out] = self.call("Softmax", &[x], &[("axis", 1)]);
        out
    }
}
