//! The Markov chain of an imputation: latents of a block of rows, moved by Langevin or Metropolis steps
//! (`IROforstonet`, step 1).

use ndarray::{Array1, Array2, ArrayView2, Zip};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::iro::{Iro, Kernel};
use crate::base::{Result, Rng};
use crate::linalg::dense::matmul;
use crate::network::{Likelihood, StoNet};

/// The latents of a block of rows and what moves them.
pub(super) struct Chain<'a> {
    pub net: &'a StoNet,
    pub x: ArrayView2<'a, f64>,
    pub y: ArrayView2<'a, f64>,
    /// Y_1 … Y_h.
    pub latents: Vec<Array2<f64>>,
    pub rng: Rng,
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
    pub(super) fn step(&mut self, settings: &Iro, i: usize, noise: f64) {
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

    /// A random step of the same size, accepted row by row with the target raised to 1/τ²; at τ = 0 only improvements
    /// are.
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
                Some(latents) => Likelihood::Gaussian.log_likelihood(latents.view(), f.view()),
                None => self.net.head().log_likelihood(self.y, f.view()),
            };
            likelihood / variance
        };
        part(i) + part(i + 1)
    }
}

/// Y_1 … Y_h of the forward pass.
pub(super) fn forward_latents(net: &StoNet, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
    let mut f = net.preactivations(x)?;
    f.pop();
    Ok(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::{Activation, Layer};
    use ndarray::array;

    /// ReLU far inside its linear part: Y_1 | y, x is normal with precision 1/σ_1² + w²/σ_2².
    fn linear_net(w: f64, sigma2: [f64; 2]) -> StoNet {
        let layer = |weight: f64, bias: f64, noise_variance: f64| Layer {
            weight: array![[weight]],
            bias: array![bias],
            noise_variance,
        };
        let layers = vec![layer(1.0, 50.0, sigma2[0]), layer(w, -50.0 * w, sigma2[1])];
        StoNet::new(layers, Activation::Relu, Likelihood::Gaussian).unwrap()
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
        let net = StoNet::new(layers, Activation::Tanh, Likelihood::Multinomial).unwrap();
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
