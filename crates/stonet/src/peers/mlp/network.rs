//! The trained perceptron: layers in single precision, predictions and features by blocks of rows.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pass::Pass;
use crate::base::{Error, Result, Seed};
use crate::linalg::product::{MatRef, rows};
use crate::network::Activation;
use crate::rows::dataset::TILE;

/// Rows that a prediction takes at a time: memory stays flat, and results do not depend on the number of threads.
const BLOCK: usize = 256;

/// One layer, f = w a + b.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dense {
    /// w, outputs × inputs.
    pub weight: Array2<f32>,
    /// b, one per output.
    pub bias: Array1<f32>,
}

impl Dense {
    /// Weights and biases uniform on ±1/√inputs.
    fn random(inputs: usize, outputs: usize, rng: &mut crate::base::Rng) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        let mut uniform = || rng.random_range(-bound..bound) as f32;
        Dense {
            weight: Array2::from_shape_simple_fn((outputs, inputs), &mut uniform),
            bias: Array1::from_shape_simple_fn(outputs, uniform),
        }
    }

    fn check(&self, index: usize, inputs: usize) -> Result<()> {
        let name = |part: &str| format!("layer {index}: {part}");
        if self.weight.ncols() != inputs {
            return Err(Error::shape(name("weight columns"), inputs, self.weight.ncols()));
        }
        if self.bias.len() != self.weight.nrows() {
            return Err(Error::shape(name("bias entries"), self.weight.nrows(), self.bias.len()));
        }
        if self.outputs() == 0 || inputs == 0 {
            return Err(Error::shape(name("units and inputs (at least)"), 1, 0));
        }
        check_single("weights", self.weight.mapv(f64::from).view())?;
        check_single("biases", self.bias.mapv(f64::from).insert_axis(Axis(0)).view())
    }

    /// The same numbers, row by row in memory.
    fn in_order(self) -> Self {
        Dense {
            weight: self.weight.as_standard_layout().into_owned(),
            bias: self.bias.as_standard_layout().into_owned(),
        }
    }

    pub(super) fn inputs(&self) -> usize {
        self.weight.ncols()
    }

    pub(super) fn outputs(&self) -> usize {
        self.weight.nrows()
    }

    /// The weights as a factor of a product, and the biases. Layers of an [`Mlp`] lie in order.
    pub(super) fn parts(&self) -> (MatRef<'_, f32>, &[f32]) {
        let weight = self.weight.as_slice().expect("row by row");
        (rows(weight, self.outputs(), self.inputs()), self.bias.as_slice().expect("in order"))
    }

    /// Weights, row by row, and biases.
    pub(super) fn parts_mut(&mut self) -> (&mut [f32], &mut [f32]) {
        (self.weight.as_slice_mut().expect("row by row"), self.bias.as_slice_mut().expect("in order"))
    }

    pub(super) fn is_finite(&self) -> bool {
        self.weight.iter().chain(&self.bias).all(|w| w.is_finite())
    }
}

/// A fully connected network with a linear output layer, in single precision: `F = b + w ψ(… ψ(b₁ + w₁ x))`.
///
/// Comes from [`Training::fit`](super::Training::fit), from a file, or from layers trained elsewhere:
///
/// ```
/// use ndarray::array;
/// use stonet::Activation;
/// use stonet::peers::mlp::{Dense, Mlp};
/// let hidden = Dense { weight: array![[1.0, -1.0]], bias: array![0.0] };
/// let output = Dense { weight: array![[2.0]], bias: array![1.0] };
/// let net = Mlp::new(vec![hidden, output], Activation::Relu)?;
/// assert_eq!(net.widths(), [2, 1, 1]);
/// assert_eq!(net.predict(array![[3.0, 1.0], [1.0, 3.0]].view())?, array![[5.0], [1.0]]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Mlp {
    pub(super) layers: Vec<Dense>,
    activation: Activation,
}

/// What is written to files; reading it back goes through [`Mlp::new`] and its checks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    layers: Vec<Dense>,
    activation: Activation,
}

impl TryFrom<Parts> for Mlp {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        Mlp::new(p.layers, p.activation)
    }
}

impl From<Mlp> for Parts {
    fn from(net: Mlp) -> Self {
        Parts { layers: net.layers, activation: net.activation }
    }
}

impl Mlp {
    /// A network of these layers, at least one of them hidden, checked to fit each other and to be finite.
    pub fn new(layers: Vec<Dense>, activation: Activation) -> Result<Self> {
        if layers.len() < 2 {
            return Err(Error::shape("layers (at least)", 2, layers.len()));
        }
        let mut inputs = layers[0].inputs();
        for (i, layer) in layers.iter().enumerate() {
            layer.check(i + 1, inputs)?;
            inputs = layer.outputs();
        }
        Ok(Mlp { layers: layers.into_iter().map(Dense::in_order).collect(), activation })
    }

    /// A random start, weights and biases uniform on ±1/√fan-in. Widths run from the inputs to the outputs, all
    /// positive.
    pub(super) fn random(widths: &[usize], activation: Activation, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let layers = widths.windows(2).map(|w| Dense::random(w[0], w[1], &mut rng)).collect();
        Mlp { layers, activation }
    }

    /// The layers, from the first hidden one to the output.
    pub fn layers(&self) -> &[Dense] {
        &self.layers
    }

    /// ψ, of all hidden layers.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Inputs, hidden units of each layer, outputs.
    pub fn widths(&self) -> Vec<usize> {
        std::iter::once(self.inputs()).chain(self.layers.iter().map(Dense::outputs)).collect()
    }

    /// The number of input columns, p.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs()
    }

    /// Columns of a prediction.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs()
    }

    /// The raw outputs, one row per row of `x`: predictions, quantiles, or the logits of classes.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.through(self.layers.len(), x)
    }

    /// The activations of the last hidden layer, one row per row of `x`; [`predict`](Self::predict) is linear in them.
    pub fn features(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.through(self.layers.len() - 1, x)
    }

    /// The values behind the first `depth` layers, in parallel over blocks of rows.
    fn through(&self, depth: usize, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if x.ncols() != self.inputs() {
            return Err(Error::shape("input columns", self.inputs(), x.ncols()));
        }
        check_single("inputs", x)?;
        let width = self.layers[depth - 1].outputs();
        let mut out = vec![0.0; x.nrows() * width];
        out.par_chunks_mut(BLOCK * width).enumerate().for_each_init(
            || Pass::new(self, BLOCK.min(x.nrows().next_multiple_of(TILE))),
            |pass, (block, out)| {
                let count = out.len() / width;
                pass.load(x.slice(s![block * BLOCK..block * BLOCK + count, ..]).outer_iter());
                // In whole tiles, so that a row's result does not depend on the rows that come with it.
                pass.forward(self, depth, count.next_multiple_of(TILE));
                out.iter_mut().zip(pass.values(depth, count)).for_each(|(o, &v)| *o = f64::from(v));
            },
        );
        Ok(Array2::from_shape_vec((x.nrows(), width), out).expect("one value per row and column"))
    }
}

/// Fails with the first value that is not finite in single precision, by row and column.
pub(super) fn check_single(what: &'static str, a: ArrayView2<'_, f64>) -> Result<()> {
    // The usual case in whole vectors; the indexed search is for the message.
    if a.fold(true, |finite, &v| finite & (v as f32).is_finite()) {
        return Ok(());
    }
    match a.indexed_iter().find(|(_, v)| !(**v as f32).is_finite()) {
        None => Ok(()),
        Some(((row, column), v)) => Err(Error::NotFinite { what, row, column, value: v.to_string() }),
    }
}
