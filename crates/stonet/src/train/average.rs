//! Parameter averages over windows of epochs: less noisy than the last iterate, and a path of ever longer training from
//! one run.

use super::imputation::Imputation;
use crate::network::{Layer, StoNet};

/// The running sum of one window.
pub(super) struct Average {
    /// w and b of every layer, in the state's own order.
    sums: Vec<(Vec<f64>, Vec<f64>)>,
    count: usize,
}

impl Average {
    pub(super) fn new(state: &Imputation) -> Self {
        let sums = state.parameters().map(|(w, b)| (vec![0.0; w.len()], vec![0.0; b.len()])).collect();
        Average { sums, count: 0 }
    }

    pub(super) fn add(&mut self, state: &Imputation) {
        let onto = |sum: &mut [f64], values: &[f32]| sum.iter_mut().zip(values).for_each(|(s, &v)| *s += f64::from(v));
        for ((ws, bs), (w, b)) in self.sums.iter_mut().zip(state.parameters()) {
            onto(ws, w);
            onto(bs, b);
        }
        self.count += 1;
    }

    /// The mean on the support of the last iterate: a weight that was zero at the end is zero in the average.
    pub(super) fn network(&self, last: &StoNet) -> StoNet {
        let n = self.count.max(1) as f64;
        let layer = |(layer, (ws, bs)): (&Layer, &(Vec<f64>, Vec<f64>))| {
            let mut out = layer.clone();
            // `iter_mut` follows the logical order, rows first, as the packed weights do.
            out.weight.iter_mut().zip(ws).for_each(|(w, s)| *w = if *w == 0.0 { 0.0 } else { s / n });
            out.bias.iter_mut().zip(bs).for_each(|(b, s)| *b = s / n);
            out
        };
        let layers = last.layers().iter().zip(&self.sums).map(layer).collect();
        StoNet::new(layers, last.activation(), last.head()).expect("a mean of finite networks is a network").compact()
    }
}
