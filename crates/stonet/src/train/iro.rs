//! Imputation-regularised optimisation (`IROforstonet`): impute the latents of all rows, then regress every neuron of every layer.
//!
//! ```text
//! per iteration   impute   Y_h … Y_1 of every row by t_MC steps of Langevin or Metropolis, each layer against the newest one above
//!                 regress  layer i: (1/2n)‖Y_i − b − ψ(Y_{i−1})Wᵀ‖² + Σ ρ_{t_i}(|w|),   t_i = κ_i σ_i²/σ_L²
//! ```
//! D8: with t_i ∝ σ_i alone (`ass:4`) a small σ_1 would let the first layer's penalty outgrow its signal, since a deviation of layer i is
//! worth σ_i²/σ_L² of a residual. With this t_i, κ means what it means for `Asghmc`: the penalty on ½·MSE.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayView2, Zip};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Fit, Observer, Progress, Stop, Trainer, Warning, check_sizes, constant_inputs};
use crate::linalg::dense::matmul;
use crate::random::Rng;
use crate::{
    Dataset, Error, Head, Layer, Penalty, Result, Seed, SparseLinear, SparseMultinomial, Standardizer, StoNet,
};

/// Rows per stream of random numbers; results do not depend on the number of threads, but on this.
const BLOCK: usize = 128;
/// Of the regressions; finer than the noise of an imputation would be lost.
const TOLERANCE: f64 = 1e-4;
/// Of a linear regression. Activations of a random start are nearly collinear, and the next iteration goes on where this one stopped.
const SWEEPS: usize = 200;

/// The transition kernel of the imputation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
pub enum Design {
    /// The activations of the forward pass through the layers below, as just regressed (D9).
    #[default]
    Forward,
    /// ψ of the imputed latents, as `IROforstonet` prints it; all layers in parallel. Latents carry noise, which flattens the weights,
    /// and, as the noise falls, the response itself, which a layer above then seems to explain.
    Imputed,
}

/// The trainer and its settings. From a random start it stalls; it is meant as a polish after `Asghmc` (`rem:SGMCMC`), see [`Polished`].
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
    /// m.
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
            // From the forward pass: latents kept from iteration to iteration gather noise that the regressions then fit.
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
                ControlFlow::Break(Stop::Cancel) => return Err(Error::Cancelled { epochs: t + 1 }),
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
        Ok(Fit { loss: networks[0].loss(data)?, networks, restarts: 0, warnings })
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

    /// The network with σ_i² = `hidden_sd`² and σ_L² its own mean squared residual; for classes σ_L² = 1, the likelihood as it is.
    fn with_variances(&self, net: StoNet, data: &Dataset) -> Result<StoNet> {
        let mut sigma2 = vec![self.hidden_sd.powi(2); net.layers().len()];
        sigma2[net.layers().len() - 1] = match net.head() {
            // A perfect fit has no residual, but a positive variance all the same.
            Head::Gaussian => (2.0 * net.loss(data)? / data.outputs() as f64).max(1e-12),
            Head::Multinomial => 1.0,
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
            self.layer(old, design, response, lambda, i == last && net.head() == Head::Multinomial)
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
            // From zero: of a concave penalty's stationary points that is the sparse one, and sparsity is what the polish is for.
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

/// The latents of a block of rows and what moves them.
struct Chain<'a> {
    net: &'a StoNet,
    x: ArrayView2<'a, f64>,
    y: ArrayView2<'a, f64>,
    /// Y_1 … Y_h.
    latents: Vec<Array2<f64>>,
    rng: Rng,
}

impl Chain<'_> {
    /// F_i; `i` from 0.
    fn feed(&self, i: usize) -> Array2<f64> {
        let psi = self.net.activation();
        let layer = &self.net.layers()[i];
        let below = if i == 0 { self.x.to_owned() } else { psi.values(self.latents[i - 1].clone()) };
        matmul(below.view(), layer.weight.t()) + &layer.bias
    }

    /// Y_i − F_i, or the residual of the response for the output layer.
    fn deviation(&self, i: usize) -> Array2<f64> {
        let f = self.feed(i);
        if i == self.latents.len() { self.net.head().residual(self.y, f.view()) } else { &self.latents[i] - &f }
    }

    /// One transition of layer `i`.
    fn step(&mut self, settings: &Iro, i: usize, noise: f64) {
        let (own, above) = (self.net.layers()[i].noise_variance, &self.net.layers()[i + 1]);
        let stiffness = 1.0 / own + above.weight.iter().map(|w| w * w).sum::<f64>() / above.noise_variance;
        let step = settings.step_size / stiffness;
        match settings.kernel {
            Kernel::Langevin => self.langevin(i, step, noise),
            Kernel::Metropolis => self.metropolis(i, step, noise),
        }
    }

    fn langevin(&mut self, i: usize, step: f64, noise: f64) {
        let slope = self.net.activation().derivatives(self.latents[i].clone());
        let (own, above) = (self.net.layers()[i].noise_variance, &self.net.layers()[i + 1]);
        let pull = slope * matmul(self.deviation(i + 1).view(), above.weight.view()) / above.noise_variance;
        let back = self.deviation(i) / own;
        let sd = noise * (2.0 * step).sqrt();
        let rng = &mut self.rng;
        Zip::from(&mut self.latents[i]).and(&pull).and(&back).for_each(|y, &pull, &back| {
            let draw: f64 = StandardNormal.sample(rng);
            *y += step * (pull - back) + sd * draw;
        });
    }

    /// A random step of the same size, accepted row by row with the target raised to 1/τ²; at τ = 0 only improvements are.
    fn metropolis(&mut self, i: usize, step: f64, noise: f64) {
        let before = self.log_density(i);
        let old = self.latents[i].clone();
        let sd = noise.max(0.1) * (2.0 * step).sqrt();
        let rng = &mut self.rng;
        self.latents[i].mapv_inplace(|y| {
            let draw: f64 = StandardNormal.sample(rng);
            y + sd * draw
        });
        let after = self.log_density(i);
        for (r, mut row) in self.latents[i].outer_iter_mut().enumerate() {
            let u: f64 = self.rng.random();
            if u.ln() * noise * noise >= after[r] - before[r] {
                row.assign(&old.row(r));
            }
        }
    }

    /// log π(Y_{i+1} | Y_i) + log π(Y_i | Y_{i−1}) of every row, up to a constant.
    fn log_density(&self, i: usize) -> Array1<f64> {
        let part = |i: usize| {
            let (f, variance) = (self.feed(i), self.net.layers()[i].noise_variance);
            let likelihood = match self.latents.get(i) {
                Some(latents) => Head::Gaussian.log_likelihood(latents.view(), f.view()),
                None => self.net.head().log_likelihood(self.y, f.view()),
            };
            likelihood / variance
        };
        part(i) + part(i + 1)
    }
}

/// Y_1 … Y_h of the forward pass.
fn forward_latents(net: &StoNet, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
    let mut f = net.preactivations(x)?;
    f.pop();
    Ok(f)
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
        let first = self.first.fit(start, data, seed.child(0), observer)?;
        let mut fit = self.then.fit(first.network(), data, seed.child(1), observer)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, Head};
    use ndarray::array;

    /// ReLU far inside its linear part: Y_1 | y, x is normal with precision 1/σ_1² + w²/σ_2².
    fn linear_net(w: f64, sigma2: [f64; 2]) -> StoNet {
        let layer = |weight: f64, bias: f64, noise_variance: f64| Layer {
            weight: array![[weight]],
            bias: array![bias],
            noise_variance,
        };
        let layers = vec![layer(1.0, 50.0, sigma2[0]), layer(w, -50.0 * w, sigma2[1])];
        StoNet::new(layers, Activation::Relu, Head::Gaussian).unwrap()
    }

    /// Mean and variance of Y_1 over many independent chains after many steps, at τ = 1.
    fn moments(kernel: Kernel, step_size: f64) -> (f64, f64) {
        let (net, rows) = (linear_net(0.8, [0.5, 0.3]), 20_000);
        let (x, y) = (Array2::from_elem((rows, 1), 0.4), Array2::from_elem((rows, 1), 1.5));
        let mut chain = Chain {
            net: &net,
            x: x.view(),
            y: y.view(),
            latents: forward_latents(&net, x.view()).unwrap(),
            rng: Seed::new(3).rng(),
        };
        let settings = Iro { kernel, step_size, ..Iro::default() };
        (0..200).for_each(|_| chain.step(&settings, 0, 1.0));
        let draws = chain.latents[0].column(0).to_owned();
        (draws.mean().unwrap(), draws.var(1.0))
    }

    #[test]
    fn the_metropolis_kernel_leaves_its_target_invariant_at_any_step() {
        let precision = 1.0 / 0.5 + 0.8 * 0.8 / 0.3;
        let variance = 1.0 / precision;
        let mean = 50.4 + variance * 0.8 * (1.5 - 0.8 * 0.4) / 0.3;
        let n = 20_000f64;
        for step_size in [0.3, 1.0, 3.0] {
            let (m, v) = moments(Kernel::Metropolis, step_size);
            assert!((m - mean).abs() < 4.5 * (variance / n).sqrt(), "{step_size}: mean {m} for {mean}");
            assert!((v / variance - 1.0).abs() < 4.5 * (2.0 / n).sqrt(), "{step_size}: variance {v} for {variance}");
        }
        // Langevin without acceptance has the variance of its own discretisation: 1/(1 − s/2) with step s/precision.
        let (m, v) = moments(Kernel::Langevin, 0.3);
        assert!((m - mean).abs() < 4.5 * (variance / n / 0.85).sqrt());
        assert!((v / variance * 0.85 - 1.0).abs() < 4.5 * (2.0 / n).sqrt(), "{v}");
    }

    /// A softmax above the latent: moments of Y_1 by quadrature.
    #[test]
    fn the_metropolis_kernel_leaves_the_target_under_a_softmax_invariant() {
        let layers = vec![
            Layer { weight: array![[1.0]], bias: array![0.0], noise_variance: 0.5 },
            Layer { weight: array![[2.0], [-1.0]], bias: array![0.1, 0.0], noise_variance: 1.0 },
        ];
        let net = StoNet::new(layers, Activation::Tanh, Head::Multinomial).unwrap();
        let rows = 20_000;
        let (x, mut y) = (Array2::from_elem((rows, 1), 0.3), Array2::zeros((rows, 2)));
        y.column_mut(1).fill(1.0);
        let latents = forward_latents(&net, x.view()).unwrap();
        let mut chain = Chain { net: &net, x: x.view(), y: y.view(), latents, rng: Seed::new(4).rng() };
        let settings = Iro { kernel: Kernel::Metropolis, step_size: 1.0, ..Iro::default() };
        (0..200).for_each(|_| chain.step(&settings, 0, 1.0));
        let density = |v: f64| {
            let f = [2.0 * v.tanh() + 0.1, -v.tanh()];
            (-(v - 0.3).powi(2) / (2.0 * 0.5)).exp() / (1.0 + (f[0] - f[1]).exp())
        };
        let grid = || (0..8000).map(|i| -6.0 + i as f64 * 1.5e-3);
        let mass: f64 = grid().map(density).sum();
        let mean = grid().map(|v| v * density(v)).sum::<f64>() / mass;
        let variance = grid().map(|v| (v - mean).powi(2) * density(v)).sum::<f64>() / mass;
        let draws = chain.latents[0].column(0).to_owned();
        let n = rows as f64;
        assert!((draws.mean().unwrap() - mean).abs() < 4.5 * (variance / n).sqrt());
        // The target is close to normal; twice its sampling error covers the difference.
        assert!((draws.var(1.0) / variance - 1.0).abs() < 9.0 * (2.0 / n).sqrt());
    }
}
