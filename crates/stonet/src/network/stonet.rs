//! The StoNet: layers, activations, forward pass, input gradients, compaction (`eq:DNN`, `eq:stonet`).

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::Likelihood;
use crate::base::{Error, Result, Seed};
use crate::linalg::dense::matmul;
use crate::linalg::elementwise::tanh_in_place;
use crate::rows::Dataset;

/// ψ, element-wise and Lipschitz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// tanh.
    #[default]
    Tanh,
    /// 1 / (1 + exp(−y)).
    Sigmoid,
    /// max(y, 0), with derivative 0 at 0.
    Relu,
}

impl Activation {
    /// All of them, for tests that state one property of every activation.
    pub const ALL: [Activation; 3] = [Activation::Tanh, Activation::Sigmoid, Activation::Relu];

    /// ψ(y).
    pub fn value(self, y: f64) -> f64 {
        match self {
            Activation::Tanh => y.tanh(),
            Activation::Sigmoid => 1.0 / (1.0 + (-y).exp()),
            Activation::Relu => y.max(0.0),
        }
    }

    /// ψ of a whole array, much faster than one by one; the two agree to a few units in the last place.
    pub fn values(self, mut y: Array2<f64>) -> Array2<f64> {
        let tanh = |y: &mut Array2<f64>| match y.as_slice_memory_order_mut() {
            Some(slice) => tanh_in_place(slice),
            None => y.mapv_inplace(f64::tanh),
        };
        match self {
            Activation::Tanh => tanh(&mut y),
            Activation::Sigmoid => {
                y *= 0.5;
                tanh(&mut y);
                y.mapv_inplace(|t| 0.5 + 0.5 * t);
            }
            Activation::Relu => y.mapv_inplace(|y| y.max(0.0)),
        }
        y
    }

    /// ψ′ of a whole array.
    pub fn derivatives(self, y: Array2<f64>) -> Array2<f64> {
        match self {
            Activation::Tanh => self.values(y).mapv_into(|a| 1.0 - a * a),
            Activation::Sigmoid => self.values(y).mapv_into(|a| a * (1.0 - a)),
            Activation::Relu => y.mapv_into(|y| f64::from(u8::from(y > 0.0))),
        }
    }

    /// ψ′(y).
    pub fn derivative(self, y: f64) -> f64 {
        match self {
            Activation::Tanh => 1.0 - y.tanh().powi(2),
            Activation::Sigmoid => {
                let a = self.value(y);
                a * (1.0 - a)
            }
            Activation::Relu => f64::from(u8::from(y > 0.0)),
        }
    }
}

/// One layer's regressions: Y_i = b_i + w_i ψ(Y_{i−1}) + e_i with e_i ~ N(0, σ_i² I).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// w_i, d_i × d_{i−1}.
    pub weight: Array2<f64>,
    /// b_i.
    pub bias: Array1<f64>,
    /// σ_i².
    pub noise_variance: f64,
}

impl Layer {
    /// F = A wᵀ + b for rows of activations A.
    fn feed(&self, a: ArrayView2<'_, f64>) -> Array2<f64> {
        matmul(a, self.weight.t()) + &self.bias
    }

    fn check(&self, index: usize, inputs: usize) -> Result<()> {
        let name = |part: &str| format!("layer {index}: {part}");
        if self.weight.ncols() != inputs {
            return Err(Error::shape(name("weight columns"), inputs, self.weight.ncols()));
        }
        if self.bias.len() != self.weight.nrows() {
            return Err(Error::shape(name("bias entries"), self.weight.nrows(), self.bias.len()));
        }
        if !(self.noise_variance > 0.0 && self.noise_variance.is_finite()) {
            return Err(Error::setting("noise_variance", self.noise_variance, "positive and finite"));
        }
        crate::rows::dataset::check_finite("weights", self.weight.view())?;
        crate::rows::dataset::check_finite("biases", self.bias.view().insert_axis(Axis(0)))
    }
}

/// A stochastic neural network. Prediction sets all noise to zero, so it is then an ordinary sparse network.
///
/// ```
/// use stonet::{Activation, Seed, StoNet};
/// let net = StoNet::random(&[3, 20, 1], Activation::Tanh, Seed::new(1))?;
/// assert_eq!(net.widths(), [3, 20, 1]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct StoNet {
    layers: Vec<Layer>,
    activation: Activation,
    head: Likelihood,
}

/// What is written to files; reading it back goes through [`StoNet::new`] and its checks.
#[derive(Serialize, Deserialize)]
struct Parts {
    layers: Vec<Layer>,
    activation: Activation,
    head: Likelihood,
}

impl TryFrom<Parts> for StoNet {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        StoNet::new(p.layers, p.activation, p.head)
    }
}

impl From<StoNet> for Parts {
    fn from(net: StoNet) -> Self {
        Parts { layers: net.layers, activation: net.activation, head: net.head }
    }
}

impl StoNet {
    /// A network of these layers, checked to fit each other. Hidden layers may be empty (all their units folded away).
    pub fn new(layers: Vec<Layer>, activation: Activation, head: Likelihood) -> Result<Self> {
        let Some(first) = layers.first() else {
            return Err(Error::shape("layers (at least)", 1, 0));
        };
        let mut inputs = first.weight.ncols();
        for (i, layer) in layers.iter().enumerate() {
            layer.check(i + 1, inputs)?;
            inputs = layer.weight.nrows();
        }
        if inputs == 0 {
            return Err(Error::shape("outputs (at least)", 1, 0));
        }
        Ok(StoNet { layers, activation, head })
    }

    /// A random start: weights and biases uniform on ±1/√fan-in, σ_L² = 1e-4 and ten times smaller each layer below.
    ///
    /// `widths` runs from the inputs p to the outputs d_{h+1}; `&[p, d]` is a linear regression.
    pub fn random(widths: &[usize], activation: Activation, seed: Seed) -> Result<Self> {
        if widths.len() < 2 || widths.contains(&0) {
            return Err(Error::setting("widths", widths, "at least two numbers, all positive"));
        }
        let mut rng = seed.rng();
        let depth = widths.len() - 1;
        let layers = widths
            .windows(2)
            .enumerate()
            .map(|(i, w)| {
                let bound = 1.0 / (w[0] as f64).sqrt();
                let mut uniform = || rng.random_range(-bound..bound);
                Layer {
                    weight: Array2::from_shape_simple_fn((w[1], w[0]), &mut uniform),
                    bias: Array1::from_shape_simple_fn(w[1], uniform),
                    noise_variance: 1e-4 * 0.1f64.powi((depth - 1 - i) as i32),
                }
            })
            .collect();
        StoNet::new(layers, activation, Likelihood::Gaussian)
    }

    /// The same network with another distribution of its output.
    pub fn with_head(mut self, head: Likelihood) -> Self {
        self.head = head;
        self
    }

    /// The same network with noise variances σ_1² … σ_L².
    pub fn with_noise_variances(mut self, sigma2: &[f64]) -> Result<Self> {
        if sigma2.len() != self.layers.len() {
            return Err(Error::shape("noise variances", self.layers.len(), sigma2.len()));
        }
        self.layers.iter_mut().zip(sigma2).for_each(|(l, &s)| l.noise_variance = s);
        StoNet::new(self.layers, self.activation, self.head)
    }

    /// Layers 1 … L = h + 1.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// ψ.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The distribution of the output.
    pub fn head(&self) -> Likelihood {
        self.head
    }

    /// p, d_1, …, d_{h+1}.
    pub fn widths(&self) -> Vec<usize> {
        std::iter::once(self.inputs()).chain(self.layers.iter().map(|l| l.weight.nrows())).collect()
    }

    /// The number of input columns, p.
    pub fn inputs(&self) -> usize {
        self.layers[0].weight.ncols()
    }

    /// d_{h+1}.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].weight.nrows()
    }

    /// Weights that are not exactly zero, biases not counted.
    pub fn nonzero_weights(&self) -> usize {
        self.layers.iter().map(|l| l.weight.iter().filter(|&&w| w != 0.0).count()).sum()
    }

    /// Pre-activations F_1 … F_L of the forward pass, one row per row of `x`.
    pub fn preactivations(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
        if x.ncols() != self.inputs() {
            return Err(Error::shape("input columns", self.inputs(), x.ncols()));
        }
        let mut all: Vec<Array2<f64>> = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let f = match all.last() {
                None => layer.feed(x),
                Some(below) => layer.feed(self.activation.values(below.clone()).view()),
            };
            all.push(f);
        }
        Ok(all)
    }

    /// μ(x, θ): the forward pass, one row per row of `x`.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut all = self.preactivations(x)?;
        Ok(self.head.mean(all.pop().expect("a network has at least one layer")))
    }

    /// The head's mean loss on these rows.
    pub(crate) fn loss(&self, data: &Dataset) -> Result<f64> {
        let mut all = self.preactivations(data.x())?;
        let f = all.pop().expect("a network has at least one layer");
        Ok(self.head.loss(data.y(), f.view()))
    }

    /// ∂F_L,j / ∂x_k at every row: an array rows × outputs × inputs.
    pub fn input_gradients(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let f = self.preactivations(x)?;
        let (rows, outputs) = (x.nrows(), self.outputs());
        let mut gradients = Array3::zeros((rows, outputs, self.inputs()));
        for j in 0..outputs {
            let output_weights = self.layers[self.layers.len() - 1].weight.row(j);
            let mut g = output_weights.broadcast((rows, output_weights.len())).expect("rows").to_owned();
            for (layer, f) in self.layers.iter().zip(&f).rev().skip(1) {
                g *= &self.activation.derivatives(f.clone());
                g = matmul(g.view(), layer.weight.view());
            }
            gradients.index_axis_mut(Axis(1), j).assign(&g);
        }
        Ok(gradients)
    }

    /// The importance of each input: the mean over rows of ∂F_L,j / ∂x_k; outputs × inputs.
    pub fn average_gradients(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(self.input_gradients(x)?.sum_axis(Axis(0)) / x.nrows() as f64)
    }

    /// Inputs with a path of non-zero weights to some output, ascending.
    pub fn selected_inputs(&self) -> Vec<usize> {
        let compact = self.compact();
        let first = &compact.layers[0].weight;
        (0..self.inputs()).filter(|&k| first.column(k).iter().any(|&w| w != 0.0)).collect()
    }

    /// The same function with fewer units: one without inputs is folded into the next bias, one without outputs
    /// dropped.
    ///
    /// Exact up to rounding, and idempotent.
    pub fn compact(&self) -> StoNet {
        let mut net = self.clone();
        for i in 0..net.layers.len() - 1 {
            net.fold_constant_units(i);
        }
        for i in (0..net.layers.len() - 1).rev() {
            let used = |j: usize| net.layers[i + 1].weight.column(j).iter().any(|&w| w != 0.0);
            let keep: Vec<usize> = (0..net.layers[i].bias.len()).filter(|&j| used(j)).collect();
            net.keep_units(i, &keep);
        }
        net
    }

    /// Folds units of layer `i` (from 0) whose weights are all zero: their activation is ψ(b), whatever the input.
    fn fold_constant_units(&mut self, i: usize) {
        let activation = self.activation;
        let [layer, next] = &mut self.layers[i..i + 2] else { unreachable!("i is a hidden layer") };
        let mut keep = Vec::new();
        for (j, row) in layer.weight.outer_iter().enumerate() {
            if row.iter().any(|&w| w != 0.0) {
                keep.push(j);
            } else {
                next.bias.scaled_add(activation.value(layer.bias[j]), &next.weight.column(j));
            }
        }
        self.keep_units(i, &keep);
    }

    fn keep_units(&mut self, i: usize, keep: &[usize]) {
        if keep.len() == self.layers[i].bias.len() {
            return;
        }
        let layer = &mut self.layers[i];
        layer.weight = layer.weight.select(Axis(0), keep);
        layer.bias = layer.bias.select(Axis(0), keep);
        self.layers[i + 1].weight = self.layers[i + 1].weight.select(Axis(1), keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use rand_distr::{Distribution, StandardNormal};

    fn inputs(rows: usize, p: usize, seed: u64) -> Array2<f64> {
        let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
        Array2::from_shape_simple_fn((rows, p), || draws.next().unwrap())
    }

    #[test]
    fn activation_derivatives_agree_with_central_differences() {
        for psi in Activation::ALL {
            for i in -50..50 {
                let (y, h) = (0.0937 * i as f64 + 0.01, 1e-6);
                let numeric = (psi.value(y + h) - psi.value(y - h)) / (2.0 * h);
                assert!((numeric - psi.derivative(y)).abs() < 1e-8, "{psi:?} at {y}");
                // Whole arrays, in either layout and through a stride.
                for layout in [array![[y, 0.5], [y, y]], array![[y, y], [0.5, y]].reversed_axes()] {
                    assert!((psi.values(layout.clone())[[0, 0]] - psi.value(y)).abs() < 1e-15);
                    assert!((psi.derivatives(layout)[[0, 0]] - psi.derivative(y)).abs() < 1e-15);
                }
            }
        }
    }

    #[test]
    fn input_gradients_agree_with_central_differences_at_every_depth() {
        for psi in Activation::ALL {
            for widths in [vec![4, 2], vec![4, 7, 2], vec![4, 6, 5, 3], vec![4, 3, 3, 3, 1]] {
                let net = StoNet::random(&widths, psi, Seed::new(3)).unwrap();
                let (x, h) = (inputs(5, 4, 8), 1e-6);
                let g = net.input_gradients(x.view()).unwrap();
                for k in 0..4 {
                    let shifted = |d: f64| {
                        let mut z = x.clone();
                        z.column_mut(k).mapv_inplace(|v| v + d);
                        net.predict(z.view()).unwrap()
                    };
                    let numeric = (shifted(h) - shifted(-h)) / (2.0 * h);
                    let exact = g.index_axis(Axis(2), k);
                    assert!((&numeric - &exact).iter().all(|d| d.abs() < 1e-8), "{psi:?} {widths:?}");
                }
            }
        }
    }

    /// A network with units dead in every way: no inputs, no outputs, and only through other dead units.
    fn with_dead_units(psi: Activation) -> StoNet {
        let mut net = StoNet::random(&[4, 8, 6, 5, 2], psi, Seed::new(5)).unwrap();
        net.layers[0].weight.row_mut(1).fill(0.0);
        net.layers[1].weight.column_mut(3).fill(0.0);
        net.layers[1].weight.row_mut(2).fill(0.0);
        net.layers[1].weight.row_mut(4).fill(0.0);
        net.layers[1].weight[[4, 1]] = 0.7; // fed by a constant unit alone
        net.layers[2].weight.column_mut(0).fill(0.0);
        net.layers[3].weight.column_mut(4).fill(0.0);
        net.layers[0].weight.column_mut(2).fill(0.0);
        net
    }

    #[test]
    fn compaction_leaves_predictions_unchanged_and_is_idempotent() {
        for psi in Activation::ALL {
            let net = with_dead_units(psi);
            let small = net.compact();
            assert_eq!(small.widths(), [4, 6, 3, 4, 2]);
            let x = inputs(50, 4, 9);
            let (a, b) = (net.predict(x.view()).unwrap(), small.predict(x.view()).unwrap());
            assert!((a - b).iter().all(|d| d.abs() < 1e-13));
            assert_eq!(small.compact(), small);
            assert_eq!(net.selected_inputs(), [0, 1, 3]);
        }
    }

    #[test]
    fn a_network_whose_every_unit_died_still_predicts_its_constant() {
        let mut net = StoNet::random(&[3, 4, 4, 1], Activation::Tanh, Seed::new(6)).unwrap();
        net.layers[1].weight.fill(0.0);
        let small = net.compact();
        assert_eq!(small.widths(), [3, 0, 0, 1]);
        let x = inputs(4, 3, 1);
        assert!((net.predict(x.view()).unwrap() - small.predict(x.view()).unwrap()).iter().all(|d| d.abs() < 1e-14));
        assert!(small.selected_inputs().is_empty());
        assert_eq!(small.input_gradients(x.view()).unwrap(), Array3::<f64>::zeros((4, 1, 3)));
    }

    #[test]
    fn networks_survive_serde_and_broken_ones_are_refused() {
        let net = with_dead_units(Activation::Relu);
        let text = serde_json::to_string(&net).unwrap();
        assert_eq!(serde_json::from_str::<StoNet>(&text).unwrap(), net);
        let mut parts = Parts::from(net);
        parts.layers[1].bias = array![1.0];
        let broken = serde_json::to_string(&parts).unwrap();
        let e = serde_json::from_str::<StoNet>(&broken).unwrap_err().to_string();
        assert!(e.contains("layer 2: bias entries: expected 6, found 1"), "{e}");
    }

    #[test]
    fn zero_widths_and_wrong_inputs_are_refused() {
        for widths in [&[3usize][..], &[], &[3, 0, 1], &[0, 2]] {
            assert!(StoNet::random(widths, Activation::Tanh, Seed::new(1)).is_err(), "{widths:?}");
        }
        let net = StoNet::random(&[3, 2, 1], Activation::Tanh, Seed::new(1)).unwrap();
        assert_eq!(net.predict(Array2::zeros((1, 4)).view()), Err(Error::shape("input columns", 3, 4)));
        assert!(net.clone().with_noise_variances(&[1.0]).is_err());
        assert!(net.with_noise_variances(&[1.0, -1.0]).is_err());
    }
}
