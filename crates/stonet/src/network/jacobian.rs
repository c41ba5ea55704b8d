//! Derivatives of a network's output F_L in its free parameters: the non-zero weights and the biases.

use ndarray::{Array2, ArrayView2, ShapeBuilder};

use super::StoNet;
use crate::base::Result;
use crate::linalg::dense::matmul;

/// How many free parameters a network has.
pub(crate) fn free_parameters(net: &StoNet) -> usize {
    net.nonzero_weights() + net.layers().iter().map(|l| l.bias.len()).sum::<usize>()
}

/// A forward pass that keeps what its derivatives need.
pub(crate) struct Pass<'a> {
    net: &'a StoNet,
    /// What each layer sees.
    below: Vec<Array2<f64>>,
    /// ψ′ of each hidden layer.
    slopes: Vec<Array2<f64>>,
    /// F_L.
    output: Array2<f64>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(net: &'a StoNet, x: ArrayView2<'_, f64>) -> Result<Self> {
        let mut f = net.preactivations(x)?;
        let output = f.pop().expect("a network has at least one layer");
        let values = f.iter().map(|f| net.activation().values(f.clone()));
        let below = std::iter::once(x.to_owned()).chain(values).collect();
        let slopes = f.into_iter().map(|f| net.activation().derivatives(f)).collect();
        Ok(Pass { net, below, slopes, output })
    }

    /// ∂F_L,j / ∂θ at every row: rows × parameters, layer by layer, neuron by neuron, a neuron's weights before its
    /// bias.
    pub(crate) fn jacobian(&self, j: usize) -> Array2<f64> {
        let (layers, n) = (self.net.layers(), self.output.nrows());
        // Columns are written one at a time, so each lies in one piece.
        let mut all = Array2::zeros((n, free_parameters(self.net)).f());
        let mut end = all.ncols();
        let mut delta = Array2::zeros(self.output.dim());
        delta.column_mut(j).fill(1.0);
        for (i, layer) in layers.iter().enumerate().rev() {
            let first = end - layer.bias.len() - layer.weight.iter().filter(|w| **w != 0.0).count();
            let mut at = first;
            for (delta, row) in delta.columns().into_iter().zip(layer.weight.outer_iter()) {
                for (k, _) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    all.column_mut(at).assign(&(&delta * &self.below[i].column(k)));
                    at += 1;
                }
                all.column_mut(at).assign(&delta);
                at += 1;
            }
            end = first;
            if i > 0 {
                delta = matmul(delta.view(), layer.weight.view()) * &self.slopes[i - 1];
            }
        }
        all
    }

    /// The change of F_L, to first order, where the inputs change by `direction`.
    pub(crate) fn push_forward(&self, direction: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut moved = direction.to_owned();
        for (i, layer) in self.net.layers().iter().enumerate() {
            moved = matmul(moved.view(), layer.weight.t());
            if let Some(slope) = self.slopes.get(i) {
                moved *= slope;
            }
        }
        moved
    }
}

/// The network with its number `at` of free parameters moved.
#[cfg(test)]
pub(crate) fn moved(net: &StoNet, at: usize, by: f64) -> StoNet {
    let (mut layers, mut left) = (net.layers().to_vec(), at as isize);
    for layer in &mut layers {
        for (mut row, b) in layer.weight.outer_iter_mut().zip(&mut layer.bias) {
            for v in row.iter_mut().filter(|w| **w != 0.0).chain(std::iter::once(b)) {
                if left == 0 {
                    *v += by;
                }
                left -= 1;
            }
        }
    }
    StoNet::new(layers, net.activation(), net.head()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::Activation;
    use ndarray::{Array1, Axis};
    use rand_distr::{Distribution, StandardNormal};

    fn inputs(n: usize, p: usize) -> Array2<f64> {
        let mut draws = StandardNormal.sample_iter(Seed::new(2).rng());
        Array2::from_shape_simple_fn((n, p), || draws.next().unwrap())
    }

    #[test]
    fn the_jacobian_agrees_with_central_differences() {
        for psi in Activation::ALL {
            let mut layers = StoNet::random(&[3, 4, 3, 2], psi, Seed::new(4)).unwrap().layers().to_vec();
            layers[0].weight[[1, 2]] = 0.0;
            layers[2].weight[[0, 0]] = 0.0;
            let net = StoNet::new(layers, psi, crate::network::Likelihood::Gaussian).unwrap();
            let (x, h) = (inputs(6, 3), 1e-6);
            assert_eq!(free_parameters(&net), 16 + 15 + 8 - 2);
            let pass = Pass::new(&net, x.view()).unwrap();
            for output in 0..2 {
                let exact = pass.jacobian(output);
                for at in 0..free_parameters(&net) {
                    let f = |d: f64| moved(&net, at, d).predict(x.view()).unwrap().index_axis_move(Axis(1), output);
                    let numeric: Array1<f64> = (f(h) - f(-h)) / (2.0 * h);
                    assert!((&numeric - &exact.column(at)).iter().all(|d| d.abs() < 1e-8), "{psi:?} {at}");
                }
            }
        }
    }

    #[test]
    fn pushing_a_direction_forward_is_the_input_gradient_along_it() {
        for psi in Activation::ALL {
            let net = StoNet::random(&[3, 4, 3, 2], psi, Seed::new(4)).unwrap();
            let (x, d) = (inputs(6, 3), inputs(7, 3));
            let d = d.slice(ndarray::s![1.., ..]);
            let pushed = Pass::new(&net, x.view()).unwrap().push_forward(d);
            let gradients = net.input_gradients(x.view()).unwrap();
            for ((i, j), p) in pushed.indexed_iter() {
                assert!((p - gradients.slice(ndarray::s![i, j, ..]).dot(&d.row(i))).abs() < 1e-13);
            }
        }
    }
}
