//! The loss of a batch of rows under a network, and its gradient in the outputs, where the backward pass starts.

use ndarray::{Array2, s};

use super::pass::Pass;
use super::{Loss, Mlp};
use crate::rows::Dataset;

/// The buffers of a batch, from its inputs to the gradient of the loss in its outputs.
pub(super) struct Judge {
    pub pass: Pass,
    f: Array2<f64>,
    y: Array2<f64>,
    g: Vec<f64>,
    scratch: Vec<f64>,
}

impl Judge {
    /// Room for so many rows.
    pub(super) fn new(net: &Mlp, data: &Dataset, capacity: usize) -> Self {
        Judge {
            pass: Pass::new(net, capacity),
            f: Array2::zeros((capacity, net.outputs())),
            y: Array2::zeros((capacity, data.outputs())),
            g: vec![0.0; capacity * net.outputs()],
            scratch: vec![0.0; 3 * capacity],
        }
    }

    /// The mean loss on these rows, as many as there is room for at most.
    pub(super) fn loss(&mut self, loss: &Loss, net: &Mlp, data: &Dataset, rows: &[usize]) -> f64 {
        let (x, y, depth, count) = (data.x(), data.y(), net.layers().len(), rows.len());
        self.pass.load(rows.iter().map(|&r| x.row(r)));
        self.pass.forward(net, depth, count);
        self.f.iter_mut().zip(self.pass.values(depth, count)).for_each(|(f, &v)| *f = f64::from(v));
        self.y.outer_iter_mut().zip(rows).for_each(|(mut to, &r)| to.assign(&y.row(r)));
        let batch = s![..count, ..];
        loss.gradient(self.f.slice(batch), self.y.slice(batch), &mut self.g, &mut self.scratch)
    }

    /// The gradient of the last loss in the outputs, in single precision.
    pub(super) fn gradient(&self, out: &mut [f32]) {
        out.iter_mut().zip(&self.g).for_each(|(o, &g)| *o = g as f32);
    }
}
