//! Prediction intervals by Eve's law, layer by layer (`varest`, `first_layer_varest`, `fixedestS0`, `alg:CI`).
//!
//! ```text
//! Σ̂_1 = diag{ z̃ᵀ Var(ŵ_1j) z̃ }
//! Σ̂_i = diag{ tr(Var(ŵ_ij) M) + ψ̃ᵀ Var(ŵ_ij) ψ̃ } + ŵ_i M ŵ_iᵀ,      M = D_ψ′ Σ̂_{i−1} D_ψ′
//! μ_j ± z √(Σ̂_L,jj + ς²_L,j),  ends averaged over the m estimates
//! ```
//! D9: the design is the forward pass and ς²_L the residual of the network itself. A refit on imputed latents would see the
//! response through them and report almost no noise.

use std::collections::HashMap;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Intervals, Level, PredictInterval, Variance};
use crate::data::{Scaling, check_finite};
use crate::linalg::dense::matmul;
use crate::regression::refit::{InverseGram, Refit};
use crate::train::{Fit, Observer, Trainer};
use crate::{Dataset, Error, Result, Seed, StoNet};

/// Activations that vary less than this over the training rows are left out of a design: they are a second intercept.
const DEAD_SD: f64 = 1e-3;
/// Rows per parallel block; results do not depend on it.
const BLOCK: usize = 256;

/// How Var(ŵ) and ς² are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Eve {
    /// Least squares on the support.
    pub refit: Refit,
    /// ς²_L.
    pub variance: Variance,
}

/// All that Eve's law needs of one network; no training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    net: StoNet,
    weight_variance: Vec<LayerVariance>,
    residual_variance: Vec<f64>,
}

/// Var(ŵ_ij) for every neuron j of layer i: neurons with the same support share the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LayerVariance {
    grams: Vec<InverseGram>,
    /// Per neuron: which matrix, times which ς²_ij.
    neurons: Vec<(usize, f64)>,
}

impl Estimate {
    /// Refits every neuron's regression on the rows the network was trained on. ς²_L,j = `residual_variance[j]`.
    pub fn new(net: &StoNet, data: &Dataset, refit: Refit, residual_variance: Vec<f64>) -> Result<Self> {
        if residual_variance.len() != net.outputs() {
            return Err(Error::shape("residual variances", net.outputs(), residual_variance.len()));
        }
        let net = net.compact();
        let mut design = data.x().to_owned();
        let mut weight_variance = Vec::new();
        for (i, f) in net.preactivations(data.x())?.into_iter().enumerate() {
            let layer = &net.layers()[i];
            // For i ≤ h the forward pass leaves no residual: the noise of the regression is the model's own σ_i².
            let noise = |j: usize| {
                if i + 1 == net.layers().len() { residual_variance[j] } else { layer.noise_variance }
            };
            weight_variance.push(LayerVariance::new(i + 1, layer.weight.view(), design.view(), refit, noise)?);
            design = f.mapv(|y| net.activation().value(y));
        }
        Ok(Estimate { net, weight_variance, residual_variance })
    }

    /// θ̂, compacted.
    pub fn network(&self) -> &StoNet {
        &self.net
    }

    /// ς²_L.
    pub fn residual_variance(&self) -> &[f64] {
        &self.residual_variance
    }

    /// Σ̂_L at every row: rows of d_{h+1} × d_{h+1} matrices, the uncertainty of μ without ς²_L.
    pub fn covariances(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
        let f = self.net.preactivations(x)?;
        let rows: Vec<usize> = (0..x.nrows()).collect();
        let blocks: Vec<Vec<Array2<f64>>> = rows
            .par_chunks(BLOCK)
            .map(|rows| rows.iter().map(|&r| self.covariance(x.row(r), &f, r)).collect())
            .collect();
        Ok(blocks.concat())
    }

    /// The recursion at row `r`, with the pre-activations of the forward pass.
    fn covariance(&self, z: ArrayView1<'_, f64>, f: &[Array2<f64>], r: usize) -> Array2<f64> {
        let psi = self.net.activation();
        let mut sigma = self.weight_variance[0].own(z, None);
        for (i, layer) in self.net.layers().iter().enumerate().skip(1) {
            let below = f[i - 1].row(r);
            let slope = below.mapv(|y| psi.derivative(y));
            let m = sigma * &slope * slope.view().insert_axis(Axis(1));
            let own = self.weight_variance[i].own(below.mapv(|y| psi.value(y)).view(), Some(m.view()));
            sigma = own + matmul(matmul(layer.weight.view(), m.view()).view(), layer.weight.t());
        }
        sigma
    }
}

impl LayerVariance {
    fn new(
        layer: usize,
        weight: ArrayView2<'_, f64>,
        design: ArrayView2<'_, f64>,
        refit: Refit,
        noise: impl Fn(usize) -> f64,
    ) -> Result<Self> {
        let varies: Vec<bool> = design.axis_iter(Axis(1)).map(|c| c.std(0.0) >= DEAD_SD).collect();
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut grams = Vec::new();
        let mut neurons = Vec::new();
        for (j, row) in weight.outer_iter().enumerate() {
            let support: Vec<usize> = (0..row.len()).filter(|&k| row[k] != 0.0 && varies[k]).collect();
            let gram = match known.get(&support) {
                Some(&g) => g,
                None => {
                    let columns = support.len();
                    let gram = InverseGram::new(design, support.clone(), refit).ok_or(Error::RankDeficient {
                        layer,
                        neuron: j,
                        columns,
                    })?;
                    grams.push(gram);
                    known.insert(support, grams.len() - 1);
                    grams.len() - 1
                }
            };
            neurons.push((gram, noise(j)));
        }
        Ok(LayerVariance { grams, neurons })
    }

    /// diag{ ãᵀ Var(ŵ_j) ã + tr(Var(ŵ_j) M) }; `m` is `None` at the first layer, where Var(z) = 0.
    fn own(&self, a: ArrayView1<'_, f64>, m: Option<ArrayView2<'_, f64>>) -> Array2<f64> {
        let per_gram: Vec<f64> = self.grams.iter().map(|g| g.leverage(a) + m.map_or(0.0, |m| g.trace(m))).collect();
        let diagonal: Array1<f64> = self.neurons.iter().map(|&(g, noise)| noise * per_gram[g]).collect();
        Array2::from_diag(&diagonal)
    }
}

/// `alg:CI` in the units of the data: a scaling and m estimates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EveIntervals {
    scaling: Scaling,
    estimates: Vec<Estimate>,
}

impl EveIntervals {
    /// Standardises, trains, and estimates what Eve's law needs.
    ///
    /// `start` has the widths of the network to train and its σ²; its weights are the starting point.
    pub fn fit(
        trainer: &dyn Trainer,
        start: &StoNet,
        data: &Dataset,
        eve: Eve,
        seed: Seed,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Fit)> {
        let scaling = Scaling::fit(data)?;
        let scaled = scaling.apply(data)?;
        let fit = trainer.fit(start, &scaled, seed.child(0), observer)?;
        let intervals = Self::from_fit(&fit, scaling, &scaled, trainer, start, eve, seed.child(1))?;
        Ok((intervals, fit))
    }

    /// The same for networks that are already trained on `scaled`, the data on the scale of `scaling`.
    pub fn from_fit(
        fit: &Fit,
        scaling: Scaling,
        scaled: &Dataset,
        trainer: &dyn Trainer,
        start: &StoNet,
        eve: Eve,
        seed: Seed,
    ) -> Result<Self> {
        let estimates = fit
            .networks
            .iter()
            .map(|net| {
                let variance = eve.variance.residual(net, trainer, start, scaled, seed)?;
                Estimate::new(net, scaled, eve.refit, variance)
            })
            .collect::<Result<_>>()?;
        Ok(EveIntervals { scaling, estimates })
    }

    /// The m estimates, on standard scale.
    pub fn estimates(&self) -> &[Estimate] {
        &self.estimates
    }

    /// Between the data's units and the estimates' standard scale.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }
}

impl PredictInterval for EveIntervals {
    fn intervals(&self, x: ArrayView2<'_, f64>, level: Level) -> Result<Intervals> {
        let z = self.scaling.x.apply(x)?;
        check_finite("inputs", z.view())?;
        let shape = (x.nrows(), self.estimates[0].network().outputs());
        let (mut centre, mut half) = (Array2::zeros(shape), Array2::<f64>::zeros(shape));
        for estimate in &self.estimates {
            centre += &estimate.net.predict(z.view())?;
            for (mut row, sigma) in half.outer_iter_mut().zip(estimate.covariances(z.view())?) {
                for (j, h) in row.iter_mut().enumerate() {
                    *h += (sigma[[j, j]] + estimate.residual_variance[j]).sqrt();
                }
            }
        }
        let m = self.estimates.len() as f64;
        let prediction = self.scaling.y.undo((centre / m).view());
        let half = half * self.scaling.y.sd() * (level.z() / m);
        Ok(Intervals { lower: &prediction - &half, upper: &prediction + &half, prediction, level })
    }
}
