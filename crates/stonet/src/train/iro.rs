//! Imputation-regularised optimisation (`IROforstonet`): impute the latents of all rows, then regress every neuron of
//! every layer.
//!
//! ```text
//! per iteration   impute   Y_h … Y_1 of every row by t_MC steps of Langevin or Metropolis, each layer against the newest one above
//!                 regress  layer i: (1/2n)‖Y_i − b − ψ(Y_{i−1})Wᵀ‖² + Σ ρ_{t_i}(|w|),   t_i = κ_i σ_i²/σ_L²
//! ```
//! D8: with t_i ∝ σ_i alone (`ass:4`) a small σ_1 would let the first layer's penalty outgrow its signal, since a
//! deviation of layer i is worth σ_i²/σ_L² of a residual. With this t_i, κ means what it means for `Asghmc`: the
//! penalty on ½·MSE.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chain::{Chain, forward_latents};
use super::{Fit, Observer, Progress, Stop, Trainer, Warning, cancelled, check_sizes, constant_inputs};
use crate::base::streams::polished as streams;
use crate::base::{Error, Result, Seed};
use crate::linalg::dense::matmul;
use crate::network::{Layer, Likelihood, Penalty, StoNet};
use crate::rows::{Dataset, Standardizer};
use crate::sparse::{SparseLinear, SparseMultinomial};

/// Rows per stream of random numbers; results do not depend on the number of threads, but on this.
const BLOCK: usize = 128;
/// Of the regressions; finer than the noise of an imputation would be lost.
const TOLERANCE: f64 = 1e-4;
/// Of a linear regression. Activations of a random start are nearly collinear, and the next iteration goes on where
/// this one stopped.
const SWEEPS: usize = 200;

/// The transition kernel of the imputation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kernel {
    /// A gradient step and noise.
    #[default]
    Langevin,
    /// A random step, accepted or not, row by row: exact for any step size.
    Metropolis,
}

/// What a layer's regression has as its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Design {
    /// The activations of the forward pass through the layers below, as just regressed (D9).
    #[default]
    Forward,
    /// ψ of the imputed latents, as `IROforstonet` prints it; all layers in parallel. Latents carry noise, which
    /// flattens the weights, and, as the noise falls, the response itself, which a layer above then seems to explain.
    Imputed,
}

/// The trainer and its settings. From a random start it stalls; it is meant as a polish after `Asghmc` (`rem:SGMCMC`),
/// see [`Polished`].
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `iterations` | 100 | T | ≥ 1 |
/// | `kappa` | 0.03 | strength of the penalty, on ½·MSE | ≥ 0 |
/// | `penalty` | MCP | its shape; SCAD and MCP act on standardised columns, and select far better than the Lasso | |
/// | `design` | forward | inputs of the regressions | |
/// | `kernel` | Langevin | of the imputation | |
/// | `steps` | 5 | t_MC | ≥ 1 |
/// | `step_size` | 0.5 | of a step, in units of 1/(1/σ_i² + ‖W_{i+1}‖²/σ²_{i+1}) | > 0 |
/// | `hidden_sd` | 0.5 | σ_i of the hidden layers | > 0 |
/// | `noise` | 1 | τ of the first iteration; it falls linearly to 0 | ≥ 0 |
/// | `estimates` | 1 | m, the last ones | ≥ 1, ≤ T |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Iro {
    /// T.
    pub iterations: usize,
    /// κ of all layers.
    pub kappa: f64,
    /// Shape of the penalty.
    pub penalty: Penalty,
    /// Inputs of the regressions.
    pub design: Design,
    /// Kernel of the imputation.
    pub kernel: Kernel,
    /// t_MC.
    pub steps: usize,
    /// Relative step size.
    pub step_size: f64,
    /// σ_i of the hidden layers; σ_L² is the mean squared residual of the current network.
    pub hidden_sd: f64,
    /// τ of the first iteration.
    pub noise: f64,
    /// The number of estimates, m.
    pub estimates: usize,
}

impl Default for Iro {
    fn default() -> Self {
        Iro {
            iterations: 100,
            kappa: 0.03,
            penalty: Penalty::MCP,
            design: Design::Forward,
            kernel: Kernel::Langevin,
            steps: 5,
            step_size: 0.5,
            hidden_sd: 0.5,
            noise: 1.0,
            estimates: 1,
        }
    }
}

impl Trainer for Iro {
    fn fit(&self, start: &StoNet, data: &Dataset, seed: Seed, observer: &mut dyn Observer) -> Result<Fit> {
        self.validate()?;
        check_sizes(start, data)?;
        let mut net = self.with_variances(start.compact(), data)?;
        let mut networks = Vec::new();
        for t in 0..self.iterations {
            let left = if self.iterations > 1 { 1.0 - t as f64 / (self.iterations - 1) as f64 } else { 0.0 };
            // From the forward pass: latents kept from iteration to iteration gather noise that the regressions then
            // fit.
            let mut latents = forward_latents(&net, data.x())?;
            self.impute(&net, data, &mut latents, self.noise * left, seed.child(t as u64));
            net = self.with_variances(self.regress(&net, data, &latents)?, data)?;
            if self.iterations - t <= self.estimates {
                networks.push(net.compact());
            }
            let loss = net.loss(data)?;
            let snapshot = || net.compact();
            let (epoch, epochs, snapshot) = (t + 1, self.iterations, Some(&snapshot as &dyn Fn() -> StoNet));
            let progress = Progress { epoch, epochs, loss, restarts: 0, held_out: None, snapshot };
            match observer.progress(&progress) {
                ControlFlow::Break(Stop::Cancel) => return Err(cancelled(epoch, epochs)),
                ControlFlow::Break(Stop::Early) => break,
                ControlFlow::Continue(()) => {}
            }
        }
        if networks.is_empty() {
            networks.push(net.compact());
        }
        // The estimate at the end of training comes first.
        networks.reverse();
        let mut warnings = constant_inputs(data);
        if networks[0].selected_inputs().is_empty() {
            warnings.push(Warning::AllUnitsDead { kappa: vec![self.kappa] });
        }
        Ok(Fit { loss: networks[0].loss(data)?, networks, averages: Vec::new(), restarts: 0, warnings })
    }

    fn penalty(&self, layers: usize) -> (Penalty, Vec<f64>) {
        (self.penalty, vec![self.kappa; layers])
    }
}

impl Iro {
    fn validate(&self) -> Result<()> {
        let check = Error::check::<&dyn std::fmt::Debug>;
        let positive = |v: f64| v > 0.0 && v.is_finite();
        check(self.iterations >= 1, "iterations", &self.iterations, "at least 1")?;
        check(self.kappa >= 0.0 && self.kappa.is_finite(), "kappa", &self.kappa, "finite and not negative")?;
        check(self.steps >= 1, "steps", &self.steps, "at least 1")?;
        check(positive(self.step_size), "step_size", &self.step_size, "positive and finite")?;
        check(positive(self.hidden_sd), "hidden_sd", &self.hidden_sd, "positive and finite")?;
        check(self.noise >= 0.0 && self.noise.is_finite(), "noise", &self.noise, "finite and not negative")?;
        let few = (1..=self.iterations).contains(&self.estimates);
        check(few, "estimates", &self.estimates, "at least 1, at most `iterations`")?;
        self.penalty.validate()
    }

    /// The network with σ_i² = `hidden_sd`² and σ_L² its own mean squared residual; for classes σ_L² = 1, the
    /// likelihood as it is.
    fn with_variances(&self, net: StoNet, data: &Dataset) -> Result<StoNet> {
        let mut sigma2 = vec![self.hidden_sd.powi(2); net.layers().len()];
        sigma2[net.layers().len() - 1] = match net.head() {
            // A perfect fit has no residual, but a positive variance all the same.
            Likelihood::Gaussian => (2.0 * net.loss(data)? / data.outputs() as f64).max(1e-12),
            Likelihood::Multinomial => 1.0,
        };
        net.with_noise_variances(&sigma2)
    }

    /// Moves the latents of all rows, blocks of rows in parallel.
    fn impute(&self, net: &StoNet, data: &Dataset, latents: &mut [Array2<f64>], noise: f64, seed: Seed) {
        let blocks: Vec<usize> = (0..data.rows()).step_by(BLOCK).collect();
        let moved: Vec<Vec<Array2<f64>>> = blocks
            .par_iter()
            .map(|&first| {
                let rows = ndarray::s![first..(first + BLOCK).min(data.rows()), ..];
                let mut chain = Chain {
                    net,
                    x: data.x().slice_move(rows),
                    y: data.y().slice_move(rows),
                    latents: latents.iter().map(|l| l.slice(rows).to_owned()).collect(),
                    rng: seed.child(first as u64).rng(),
                };
                for _ in 0..self.steps {
                    (0..chain.latents.len()).rev().for_each(|i| chain.step(self, i, noise));
                }
                chain.latents
            })
            .collect();
        for (&first, block) in blocks.iter().zip(&moved) {
            for (whole, part) in latents.iter_mut().zip(block) {
                whole.slice_mut(ndarray::s![first..first + part.nrows(), ..]).assign(part);
            }
        }
    }

    /// Every layer's regression on the pseudo-complete data.
    fn regress(&self, net: &StoNet, data: &Dataset, latents: &[Array2<f64>]) -> Result<StoNet> {
        let last = net.layers().len() - 1;
        let psi = |a: &Array2<f64>| net.activation().values(a.clone());
        let regress = |i: usize, design: ArrayView2<'_, f64>| {
            let (old, output_variance) = (&net.layers()[i], net.layers()[last].noise_variance);
            let response = if i == last { data.y() } else { latents[i].view() };
            let lambda = self.kappa * old.noise_variance / output_variance;
            self.layer(old, design, response, lambda, i == last && net.head() == Likelihood::Multinomial)
        };
        let layers = match self.design {
            Design::Imputed => (0..=last)
                .into_par_iter()
                .map(|i| if i == 0 { regress(0, data.x()) } else { regress(i, psi(&latents[i - 1]).view()) })
                .collect::<Result<_>>()?,
            Design::Forward => {
                let (mut layers, mut design) = (Vec::new(), data.x().to_owned());
                for i in 0..=last {
                    let layer = regress(i, design.view())?;
                    design = psi(&(matmul(design.view(), layer.weight.t()) + &layer.bias));
                    layers.push(layer);
                }
                layers
            }
        };
        StoNet::new(layers, net.activation(), net.head())
    }

    /// One layer's regressions, from its weights as they are.
    fn layer(
        &self,
        old: &Layer,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        lambda: f64,
        classes: bool,
    ) -> Result<Layer> {
        // A concave penalty needs columns of unit scale; activations of tanh have less.
        let scale = match self.penalty {
            Penalty::Lasso => Standardizer::identity(x.ncols()),
            Penalty::Scad { .. } | Penalty::Mcp { .. } => Standardizer::fit(x),
        };
        let scaled = scale.apply(x)?;
        let (weight, intercept) = match (classes, self.penalty) {
            (false, Penalty::Lasso) => {
                let fit = self.linear().fit_from(scaled.view(), y, lambda, old.weight.view())?;
                (fit.coefficients, fit.intercepts)
            }
            // From zero: of a concave penalty's stationary points that is the sparse one, and sparsity is what the
            // polish is for.
            (false, _) => {
                let fit = self.linear().fit(scaled.view(), y, lambda)?;
                (fit.coefficients, fit.intercepts)
            }
            (true, penalty) => {
                let sparse = SparseMultinomial { penalty, tolerance: TOLERANCE, ..SparseMultinomial::default() };
                let labels: Vec<usize> =
                    y.outer_iter().map(|r| r.iter().position(|&v| v == 1.0).unwrap_or(0)).collect();
                let start = (old.weight.view(), old.bias.view());
                let fit = match penalty {
                    Penalty::Lasso => sparse.fit_from(scaled.view(), &labels, y.ncols(), lambda, start)?,
                    _ => sparse.fit(scaled.view(), &labels, y.ncols(), lambda)?,
                };
                (fit.coefficients, fit.intercepts)
            }
        };
        let weight = weight / scale.sd();
        let bias = intercept - weight.dot(scale.mean());
        Ok(Layer { weight, bias, noise_variance: old.noise_variance })
    }
}

impl Iro {
    fn linear(&self) -> SparseLinear {
        SparseLinear { penalty: self.penalty, tolerance: TOLERANCE, max_sweeps: SWEEPS, ..SparseLinear::default() }
    }
}

/// `Asghmc`, then `Iro` from where it ended (`rem:SGMCMC`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Polished {
    /// The first trainer.
    pub first: super::Asghmc,
    /// The polish.
    pub then: Iro,
}

impl Trainer for Polished {
    fn fit(&self, start: &StoNet, data: &Dataset, seed: Seed, observer: &mut dyn Observer) -> Result<Fit> {
        let first = self.first.fit(start, data, seed.child(streams::FIRST), observer)?;
        let mut fit = self.then.fit(first.network(), data, seed.child(streams::THEN), observer)?;
        fit.restarts = first.restarts;
        // What is said of the data has been said by the second; a network that ended dead stays dead there.
        let of_training = |w: &Warning| !matches!(w, Warning::AllUnitsDead { .. } | Warning::ConstantInput { .. });
        fit.warnings.extend(first.warnings.into_iter().filter(of_training));
        Ok(fit)
    }

    fn penalty(&self, layers: usize) -> (Penalty, Vec<f64>) {
        self.then.penalty(layers)
    }
}
