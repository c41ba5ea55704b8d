//! The deviations E_i of a mini-batch, their SGHMC sweep, and the parameter update they drive (`ASGHMC`, steps 1 and
//! 2).
//!
//! Deviations are stored, never recomputed as Y_i − F_i: at the paper's settings they are 1e-8 of Y_i, and in f32 the
//! subtraction would leave nothing. Everything is laid out once; a step allocates nothing.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use rand_distr::{Distribution, StandardNormal};

use crate::base::{Result, Rng};
use crate::linalg::elementwise::{self, LatentSlices, LatentStep};
use crate::linalg::product::{self, MatRef, rows};
use crate::network::prox::prox_all;
use crate::network::{Activation, Layer, Likelihood, Penalty, StoNet};
use crate::rows::{Dataset, Standardizer};

/// How latents move: the settings of step 1 of `ASGHMC`, for every hidden layer.
#[derive(Debug, Clone)]
pub(crate) struct Sghmc {
    /// t_HMC.
    pub steps: usize,
    /// a = εη; 1 is Langevin.
    pub friction: f64,
    /// τ.
    pub noise: f64,
    /// ε_i.
    pub step_size: Vec<f64>,
}

/// How one layer's parameters move: step 2 of `ASGHMC`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerUpdate {
    /// Effective rate on ½·MSE: the size of the proximal step.
    pub rate: f64,
    /// G_i / σ_i²: what a deviation is worth to the weights.
    pub gain: f64,
    /// κ_i.
    pub kappa: f64,
}

/// One iteration's settings.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub sghmc: &'a Sghmc,
    pub penalty: Penalty,
    pub updates: &'a [LayerUpdate],
}

/// A layer in f32: w as outputs × inputs, row-major.
struct PackedLayer {
    inputs: usize,
    outputs: usize,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl PackedLayer {
    fn new(layer: &Layer) -> Self {
        let (outputs, inputs) = layer.weight.dim();
        // `iter` follows the logical order, whatever the layout.
        let single = |v: &f64| *v as f32;
        PackedLayer {
            inputs,
            outputs,
            weight: layer.weight.iter().map(single).collect(),
            bias: layer.bias.iter().map(single).collect(),
        }
    }

    fn unpack(&self, noise_variance: f64) -> Layer {
        let at = |(j, k): (usize, usize)| f64::from(self.weight[j * self.inputs + k]);
        Layer {
            weight: Array2::from_shape_fn((self.outputs, self.inputs), at),
            bias: self.bias.iter().map(|&b| f64::from(b)).collect(),
            noise_variance,
        }
    }

    fn w(&self) -> MatRef<'_, f32> {
        rows(&self.weight, self.outputs, self.inputs)
    }

    /// f = a wᵀ + b.
    fn feed(&self, f: &mut [f32], a: &[f32], batch: usize) {
        if self.outputs > 0 {
            f[..batch * self.outputs].chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(&self.bias));
        }
        product::add(f, rows(a, batch, self.inputs), self.w().transpose(), 1.0);
    }

    /// e −= da wᵀ.
    fn absorb(&self, e: &mut [f32], da: &[f32], batch: usize) {
        product::add(e, rows(da, batch, self.inputs), self.w().transpose(), -1.0);
    }

    /// f += da wᵀ.
    fn advance(&self, f: &mut [f32], da: &[f32], batch: usize) {
        product::add(f, rows(da, batch, self.inputs), self.w().transpose(), 1.0);
    }

    /// g = e w.
    fn back(&self, g: &mut [f32], e: &[f32], batch: usize) {
        product::set(g, rows(e, batch, self.outputs), self.w(), 1.0);
    }

    /// w += scale · eᵀ a and b += scale · Σ e.
    fn update(&mut self, e: &[f32], a: &[f32], batch: usize, scale: f32) {
        product::add(&mut self.weight, rows(e, batch, self.outputs).transpose(), rows(a, batch, self.inputs), scale);
        for row in e[..batch * self.outputs].chunks_exact(self.outputs.max(1)) {
            self.bias.iter_mut().zip(row).for_each(|(b, e)| *b += scale * e);
        }
    }
}

/// Rows of inputs or targets in f32.
pub(crate) struct PackedRows {
    width: usize,
    data: Vec<f32>,
}

impl PackedRows {
    pub(crate) fn new(a: ArrayView2<'_, f64>) -> Self {
        PackedRows { width: a.ncols(), data: a.iter().map(|&v| v as f32).collect() }
    }

    /// These rows of `a`, each column moved and scaled; nothing of `a` is copied beside it.
    pub(crate) fn scaled(a: ArrayView2<'_, f64>, rows: &[usize], scale: &Standardizer) -> Self {
        let mut data = Vec::with_capacity(rows.len() * a.ncols());
        for &r in rows {
            data.extend(a.row(r).iter().zip(scale.mean()).zip(scale.sd()).map(|((v, m), s)| ((v - m) / s) as f32));
        }
        PackedRows { width: a.ncols(), data }
    }

    fn gather(&self, out: &mut [f32], rows: &[usize]) {
        for (t, &r) in out.chunks_exact_mut(self.width.max(1)).zip(rows) {
            t.copy_from_slice(&self.data[r * self.width..(r + 1) * self.width]);
        }
    }

    fn add_to(&self, out: &mut [f32], rows: &[usize]) {
        for (t, &r) in out.chunks_exact_mut(self.width.max(1)).zip(rows) {
            let row = &self.data[r * self.width..(r + 1) * self.width];
            t.iter_mut().zip(row).for_each(|(t, v)| *t += v);
        }
    }
}

/// Training rows in f32, packed once for all fits on them.
pub(crate) struct Packed {
    /// Shared by fits of several responses.
    pub x: Arc<PackedRows>,
    pub y: PackedRows,
    /// What is added to F_L and not trained: the logits of a skip connection.
    pub offset: Option<PackedRows>,
    pub rows: usize,
}

impl Packed {
    pub(crate) fn new(data: &Dataset) -> Self {
        Packed { x: Arc::new(PackedRows::new(data.x())), y: PackedRows::new(data.y()), offset: None, rows: data.rows() }
    }

    /// Rows of classes, whose checks they have passed.
    pub(crate) fn classes(x: ArrayView2<'_, f64>, labels: &[usize], classes: usize) -> Self {
        let mut y = PackedRows { width: classes, data: vec![0.0; labels.len() * classes] };
        labels.iter().enumerate().for_each(|(row, &label)| y.data[row * classes + label] = 1.0);
        Packed { x: Arc::new(PackedRows::new(x)), y, offset: None, rows: labels.len() }
    }

    /// With a fixed part of F_L, one row per row of the data.
    pub(crate) fn with_offset(self, offset: ArrayView2<'_, f64>) -> Self {
        Packed { offset: Some(PackedRows::new(offset)), ..self }
    }

    /// The rows in f64 again.
    pub(crate) fn unpack(&self) -> Result<Dataset> {
        let wide =
            |p: &PackedRows| Array2::from_shape_fn((self.rows, p.width), |(r, c)| f64::from(p.data[r * p.width + c]));
        Dataset::new(wide(&self.x), wide(&self.y))
    }
}

/// The arrays of one layer for a batch, rows × width.
#[derive(Default)]
struct LayerState {
    /// Y_i; F_L in the output layer.
    y: Vec<f32>,
    /// A_i; the targets in the output layer.
    a: Vec<f32>,
    /// E_i; y − E(Y | F_L) in the output layer.
    e: Vec<f32>,
    /// v_i.
    v: Vec<f32>,
    /// W_{i+1}ᵀE_{i+1}, then ΔA_i; unused in the output layer.
    back: Vec<f32>,
}

impl LayerState {
    fn new(len: usize) -> Self {
        let zeros = || vec![0.0; len];
        LayerState { y: zeros(), a: zeros(), e: zeros(), v: zeros(), back: zeros() }
    }
}

/// A network and one mini-batch of its latents, ready to take steps.
pub(crate) struct Imputation {
    layers: Vec<PackedLayer>,
    sigma2: Vec<f64>,
    activation: Activation,
    head: Likelihood,
    /// A_0, then layers 1 … L.
    inputs: Vec<f32>,
    states: Vec<LayerState>,
    capacity: usize,
}

impl Imputation {
    pub(crate) fn new(net: &StoNet, batch: usize) -> Self {
        let layers: Vec<_> = net.layers().iter().map(PackedLayer::new).collect();
        let states = layers.iter().map(|l| LayerState::new(batch * l.outputs)).collect();
        Imputation {
            sigma2: net.layers().iter().map(|l| l.noise_variance).collect(),
            activation: net.activation(),
            head: net.head(),
            inputs: vec![0.0; batch * net.inputs()],
            states,
            layers,
            capacity: batch,
        }
    }

    /// Whether every weight and bias is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.layers.iter().all(|l| l.weight.iter().chain(&l.bias).all(|w| w.is_finite()))
    }

    /// w and b of every layer.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&[f32], &[f32])> {
        self.layers.iter().map(|l| (&l.weight[..], &l.bias[..]))
    }

    /// The network as it stands, which must be [finite](Self::is_finite).
    pub(crate) fn network(&self) -> StoNet {
        let layers = self.layers.iter().zip(&self.sigma2).map(|(l, &s)| l.unpack(s)).collect();
        StoNet::new(layers, self.activation, self.head).expect("a finite packed network is well formed")
    }

    /// The mean loss over all rows.
    pub(crate) fn loss(&mut self, data: &Packed) -> f64 {
        let all: Vec<usize> = (0..data.rows).collect();
        let batches = all.chunks(self.capacity);
        batches.map(|b| self.forward(data, b) * b.len() as f64).sum::<f64>() / data.rows as f64
    }

    /// The mean loss of the best constant prediction.
    pub(crate) fn loss_of_a_constant(&self, data: &Packed) -> f64 {
        let n = data.rows as f64;
        let sums = |f: &dyn Fn(f64) -> f64| {
            let mut sums = vec![0.0; data.y.width];
            for row in data.y.data.chunks_exact(data.y.width) {
                sums.iter_mut().zip(row).for_each(|(s, &y)| *s += f(f64::from(y)) / n);
            }
            sums
        };
        let (mean, square) = (sums(&|y| y), sums(&|y| y * y));
        match self.head {
            Likelihood::Gaussian => 0.5 * square.iter().zip(&mean).map(|(s, m)| (s - m * m).max(0.0)).sum::<f64>(),
            Likelihood::Multinomial => -mean.iter().filter(|m| **m > 0.0).map(|m| m * m.ln()).sum::<f64>(),
        }
    }

    /// One iteration of `ASGHMC` on these rows; returns the batch's mean loss before the step.
    pub(crate) fn step(&mut self, data: &Packed, rows: &[usize], plan: Plan<'_>, rng: &mut Rng) -> f64 {
        assert!(!rows.is_empty() && rows.len() <= self.capacity);
        let loss = self.forward(data, rows);
        for _ in 0..plan.sghmc.steps {
            for i in (0..self.layers.len() - 1).rev() {
                self.move_latents(i, rows.len(), plan.sghmc, rng);
            }
        }
        self.update(rows.len(), plan.penalty, plan.updates);
        loss
    }

    /// E_i = 0 below, E_L = the score residual, v_i = 0; returns the mean loss.
    fn forward(&mut self, data: &Packed, rows: &[usize]) -> f64 {
        let b = rows.len();
        data.x.gather(&mut self.inputs, rows);
        let last = self.layers.len() - 1;
        for (i, layer) in self.layers.iter().enumerate() {
            let (below, here) = self.states.split_at_mut(i);
            let state = &mut here[0];
            layer.feed(&mut state.y, below.last().map_or(&self.inputs, |s| &s.a), b);
            if i < last {
                activate(self.activation, state, b * layer.outputs);
                state.e.fill(0.0);
                state.v.fill(0.0);
            }
        }
        let LayerState { y: f, a: targets, e, .. } = &mut self.states[last];
        let outputs = self.layers[last].outputs;
        let len = b * outputs;
        if let Some(offset) = &data.offset {
            offset.add_to(&mut f[..len], rows);
        }
        let total: f64 = match self.head {
            Likelihood::Gaussian => {
                data.y.gather(e, rows);
                e[..len].iter_mut().zip(&*f).for_each(|(e, f)| *e -= f);
                0.5 * e[..len].iter().map(|&e| f64::from(e) * f64::from(e)).sum::<f64>()
            }
            Likelihood::Multinomial => {
                data.y.gather(targets, rows);
                elementwise::class_residual(&mut e[..len], &f[..len], &targets[..len], outputs)
            }
        };
        total / b as f64
    }

    /// One SGHMC update of hidden layer `i` (from 0), against the newest E_{i+1}, which then absorbs ΔA_i.
    fn move_latents(&mut self, i: usize, b: usize, sghmc: &Sghmc, rng: &mut Rng) {
        let above = &self.layers[i + 1];
        let (lower, upper) = self.states.split_at_mut(i + 1);
        let (state, next) = (&mut lower[i], &mut upper[0]);
        let (len, step) = (b * above.inputs, sghmc.step_size[i]);
        above.back(&mut state.back, &next.e, b);
        let mut momentum = (1.0 - sghmc.friction) as f32;
        if sghmc.noise > 0.0 {
            let sd = (sghmc.noise * (2.0 * sghmc.friction * step).sqrt()) as f32;
            for v in &mut state.v[..len] {
                let draw: f32 = StandardNormal.sample(rng);
                *v = momentum * *v + sd * draw;
            }
            momentum = 1.0;
        }
        let scalars = LatentStep {
            from_above: (step / self.sigma2[i + 1]) as f32,
            from_below: (step / self.sigma2[i]) as f32,
            momentum,
        };
        let slices = LatentSlices {
            back: &mut state.back[..len],
            y: &mut state.y,
            a: &mut state.a,
            e: &mut state.e,
            v: &mut state.v,
        };
        match self.activation {
            Activation::Tanh => elementwise::latent_tanh(slices, scalars),
            Activation::Sigmoid => elementwise::latent_sigmoid(slices, scalars),
            Activation::Relu => elementwise::latent_relu(slices, scalars),
        }
        if self.head == Likelihood::Multinomial && i + 2 == self.layers.len() {
            // The softmax is not linear: its residual follows from the new F_L.
            let (outputs, len) = (above.outputs, b * above.outputs);
            above.advance(&mut next.y, &state.back, b);
            elementwise::class_residual(&mut next.e[..len], &next.y[..len], &next.a[..len], outputs);
        } else {
            above.absorb(&mut next.e, &state.back, b);
        }
    }

    /// W_i += (G_i/σ_i²) mean(E_i A_{i−1}ᵀ), b_i likewise, then the proximal map of the weights.
    fn update(&mut self, b: usize, penalty: Penalty, updates: &[LayerUpdate]) {
        for (i, (layer, u)) in self.layers.iter_mut().zip(updates).enumerate() {
            let below = if i == 0 { &self.inputs } else { &self.states[i - 1].a };
            layer.update(&self.states[i].e, below, b, (u.gain / b as f64) as f32);
            if u.kappa > 0.0 {
                prox_all(&mut layer.weight, penalty, u.rate, u.kappa);
            }
        }
    }
}

/// A = ψ(Y).
fn activate(activation: Activation, state: &mut LayerState, len: usize) {
    let (a, y) = (&mut state.a[..len], &state.y[..len]);
    match activation {
        Activation::Tanh => elementwise::tanh_all(a, y),
        Activation::Sigmoid => elementwise::sigmoid_all(a, y),
        Activation::Relu => elementwise::relu_all(a, y),
    }
}
