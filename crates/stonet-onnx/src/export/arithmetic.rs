//! Sums, products and functions of single columns, each in one or two operators.

use stonet::Activation;

use crate::graph::{Graph, Tensor};

impl Graph {
    /// (x − mean) / sd, column by column. The mean is subtracted first, so that an offset does not cost f32 its digits.
    pub(super) fn standardised<'a>(
        &mut self,
        x: Tensor,
        mean: impl IntoIterator<Item = &'a f64>,
        sd: impl IntoIterator<Item = &'a f64>,
    ) -> Tensor {
        let (mean, sd) = (self.row(mean), self.row(sd));
        let centred = self.op("Sub", &[x, mean]);
        self.op("Div", &[centred, sd])
    }

    /// Every column kept within its ends; infinite ends do not count.
    pub(super) fn within(&mut self, x: Tensor, low: &[f64], high: &[f64]) -> Tensor {
        let mut out = x;
        for (op, ends) in [("Max", low), ("Min", high)] {
            if ends.iter().any(|e| e.is_finite()) {
                let most = f64::from(f32::MAX);
                let finite = |e: &f64| if e.is_infinite() { most.copysign(*e) } else { *e };
                let ends: Vec<f64> = ends.iter().map(finite).collect();
                let ends = self.row(&ends);
                out = self.op(op, &[out, ends]);
            }
        }
        out
    }

    /// ψ.
    pub(super) fn activation(&mut self, y: Tensor, activation: Activation) -> Tensor {
        let op = match activation {
            Activation::Tanh => "Tanh",
            Activation::Sigmoid => "Sigmoid",
            Activation::Relu => "Relu",
        };
        self.op(op, &[y])
    }

    /// ψ′(y), from a = ψ(y).
    pub(super) fn slope(&mut self, a: Tensor, activation: Activation) -> Tensor {
        let one = self.number(1.0);
        match activation {
            Activation::Tanh => {
                let square = self.op("Mul", &[a, a]);
                self.op("Sub", &[one, square])
            }
            Activation::Sigmoid => {
                let rest = self.op("Sub", &[one, a]);
                self.op("Mul", &[a, rest])
            }
            Activation::Relu => {
                let zero = self.number(0.0);
                let above = self.op("Greater", &[a, zero]);
                let [slope] = self.call("Cast", &[above], &[("to", crate::tensor::FLOAT)]);
                slope
            }
        }
    }

    /// x · factor.
    pub(super) fn times(&mut self, x: Tensor, factor: f64) -> Tensor {
        if factor == 1.0 {
            return x;
        }
        let factor = self.number(factor);
        self.op("Mul", &[x, factor])
    }

    /// x + summand.
    pub(super) fn plus(&mut self, x: Tensor, summand: f64) -> Tensor {
        if summand == 0.0 {
            return x;
        }
        let summand = self.number(summand);
        self.op("Add", &[x, summand])
    }

    /// ln max(x, least).
    pub(super) fn logarithm(&mut self, x: Tensor, least: f64) -> Tensor {
        let least = self.number(least);
        let raised = self.op("Max", &[x, least]);
        self.op("Log", &[raised])
    }

    /// 1 − eᶻ = −2t / (1 − t) with t = tanh(z/2), which is exact near z = 0 too.
    pub(super) fn rest(&mut self, z: Tensor) -> Tensor {
        let half = self.times(z, 0.5);
        let t = self.op("Tanh", &[half]);
        let (top, turned) = (self.times(t, -2.0), self.times(t, -1.0));
        let bottom = self.plus(turned, 1.0);
        self.op("Div", &[top, bottom])
    }

    /// Every column less the mean of all.
    pub(super) fn centred(&mut self, z: Tensor, columns: usize) -> Tensor {
        let sums = self.row_sums(z, columns);
        let mean = self.times(sums, 1.0 / columns as f64);
        self.op("Sub", &[z, mean])
    }

    /// These columns; all in their order are the tensor itself.
    pub(super) fn chosen(&mut self, a: Tensor, width: usize, columns: &[usize]) -> Tensor {
        if columns.iter().copied().eq(0..width) { a } else { self.columns(a, columns) }
    }
}
