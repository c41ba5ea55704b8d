//! Adaptive stochastic gradient Hamiltonian Monte Carlo (`ASGHMC`) with proximal steps.
//!
//! ```text
//! per batch   impute   E_h … E_1 by t_HMC sweeps of SGHMC, each layer against the newest deviation above it
//!             update   W_i ← prox( W_i + (G_i/σ_i²) mean E_i A_{i−1}ᵀ ),   b_i likewise without the prox
//! ```
//! What acts is the rate on ½·MSE, `rate_i = (G_i/σ_i²) Π_{k=i..h} ε_k/σ²_{k+1}` for one Langevin sweep, and the
//! strength κ_i of the penalty on the same scale; σ² and ε cancel, so `Asghmc` is set by rates and κ and derives G_i.
//! More sweeps or momentum carry the residual further into the latents; G_i is smaller by as much, so that rates and κ
//! keep their meaning.

use serde::{Deserialize, Serialize};

use super::imputation::{LayerUpdate, Packed, Sghmc};
use super::run::{Outcome, Run};
use super::{Fit, Observer, Trainer, Warning, check_sizes, constant_inputs};
use crate::base::{Error, Result, Seed};
use crate::network::{Penalty, StoNet};
use crate::rows::Dataset;

/// The trainer and its settings; start from `Asghmc::default()` or a [`Preset`](super::Preset).
///
/// Lists with one entry per layer may have a single entry, which then holds for all.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `epochs` | 200 | passes over the data | ≥ 1 |
/// | `batch_size` | 50 | rows per step, cut to n | ≥ 1 |
/// | `rates` | \[0.1\] | learning rate on ½·MSE, per layer | > 0 |
/// | `kappa` | \[0.01\] | strength of the penalty, per layer | ≥ 0 |
/// | `penalty` | Lasso | its shape | |
/// | `noise` | 0 | τ, size of the latent noise | ≥ 0 |
/// | `friction` | 1 | a; 1 is Langevin | (0, 1] |
/// | `hmc_steps` | 1 | t_HMC | ≥ 1 |
/// | `step_ratio` | \[1e-3\] | ε_i / σ²_{i+1}, per hidden layer | > 0 |
/// | `decay` | from 0.5 to 0.01 | linear decay of the rates | |
/// | `averages` | 0 | parameter averages to return, over as many equal windows of epochs | ≤ `epochs` |
/// | `compact_every` | 20 | epochs between removals of dead units; 0 for never | |
/// | `max_restarts` | 6 | halvings of the rates after a divergence | |
/// | `collection` | 1 estimate | the set of estimates after convergence | |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asghmc {
    /// Passes over the data.
    pub epochs: usize,
    /// |S_k|, cut to n where there are fewer rows.
    pub batch_size: usize,
    /// Learning rate per layer.
    pub rates: Vec<f64>,
    /// κ per layer.
    pub kappa: Vec<f64>,
    /// Shape of the penalty.
    pub penalty: Penalty,
    /// τ.
    pub noise: f64,
    /// a = εη.
    pub friction: f64,
    /// t_HMC.
    pub hmc_steps: usize,
    /// ε_i / σ²_{i+1} per hidden layer: how far latents move towards the residual before the weights follow.
    pub step_ratio: Vec<f64>,
    /// Schedule of the rates.
    pub decay: Decay,
    /// Windows of epochs over which parameters are averaged ([`Fit::averages`]).
    #[serde(skip_serializing_if = "is_zero")]
    pub averages: usize,
    /// Epochs between removals of dead units (0: never), where a window of averaging does not wait for its end. Removal
    /// is exact for the prediction; the unit cannot return.
    pub compact_every: usize,
    /// Halvings of all rates after a divergence before giving up.
    pub max_restarts: usize,
    /// The estimates drawn after convergence.
    pub collection: Collection,
}

/// Rates are constant at first, then fall linearly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decay {
    /// Fraction of the epochs after which the fall begins.
    pub from: f64,
    /// Fraction of the rate that is left at the end.
    pub to: f64,
}

/// m estimates: the end of training, then snapshots of a continued run (`alg:CI` averages over them).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Collection {
    /// The number of estimates, m.
    pub estimates: usize,
    /// Epochs between two estimates.
    pub spacing: usize,
    /// Fraction of the rates used in the continued run.
    pub rate: f64,
    /// τ of the continued run.
    pub noise: f64,
}

impl Default for Asghmc {
    fn default() -> Self {
        Asghmc {
            epochs: 200,
            batch_size: 50,
            rates: vec![0.1],
            kappa: vec![0.01],
            penalty: Penalty::Lasso,
            noise: 0.0,
            friction: 1.0,
            hmc_steps: 1,
            step_ratio: vec![1e-3],
            decay: Decay { from: 0.5, to: 0.01 },
            averages: 0,
            compact_every: 20,
            max_restarts: 6,
            collection: Collection { estimates: 1, spacing: 20, rate: 0.1, noise: 0.0 },
        }
    }
}

impl Trainer for Asghmc {
    fn fit(&self, start: &StoNet, data: &Dataset, seed: Seed, observer: &mut dyn Observer) -> Result<Fit> {
        check_sizes(start, data)?;
        let mut fit = self.fit_packed(start, &Packed::new(data), seed, observer)?;
        // What is said of the data comes before what is said of the training.
        fit.warnings.splice(0..0, self.warnings(data));
        Ok(fit)
    }

    fn penalty(&self, layers: usize) -> (Penalty, Vec<f64>) {
        (self.penalty, per_layer(&self.kappa, layers))
    }
}

impl Asghmc {
    /// [`fit`](Trainer::fit) on rows that are packed already and known to suit the network.
    pub(crate) fn fit_packed(
        &self,
        start: &StoNet,
        data: &Packed,
        seed: Seed,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        self.validate(start)?;
        let mut rates = per_layer(&self.rates, start.layers().len());
        for restarts in 0.. {
            let mut run = Run::new(self, start, data, &rates, seed, restarts);
            match run.all(observer)? {
                Outcome::Done(mut fit) => {
                    fit.warnings = self.outcome_warnings(&fit, &rates);
                    return Ok(fit);
                }
                Outcome::Diverged { epoch } if restarts == self.max_restarts => {
                    return Err(Error::Diverged { attempts: restarts + 1, epoch, rates });
                }
                Outcome::Diverged { .. } => rates.iter_mut().for_each(|r| *r *= 0.5),
            }
        }
        unreachable!("the loop ends at max_restarts")
    }

    /// The same trainer with κ scaled so that layer 1 has this value and the others keep their ratio to it; where κ_1
    /// was 0, all layers get this value.
    pub fn with_kappa(&self, kappa: f64) -> Self {
        let first = self.kappa.first().copied().unwrap_or(0.0);
        let ratio = |k: f64| if first > 0.0 { k / first } else { 1.0 };
        Asghmc { kappa: self.kappa.iter().map(|&k| kappa * ratio(k)).collect(), ..self.clone() }
    }

    pub(super) fn validate(&self, net: &StoNet) -> Result<()> {
        let positive = |list: &[f64]| list.iter().all(|&v| v > 0.0 && v.is_finite());
        let not_negative = |list: &[f64]| list.iter().all(|&v| v >= 0.0 && v.is_finite());
        let unit = |v: f64| v > 0.0 && v <= 1.0;
        let check = Error::check::<&dyn std::fmt::Debug>;
        let c = &self.collection;
        check(self.epochs >= 1, "epochs", &self.epochs, "at least 1")?;
        check(self.batch_size >= 1, "batch_size", &self.batch_size, "at least 1")?;
        check(self.hmc_steps >= 1, "hmc_steps", &self.hmc_steps, "at least 1")?;
        check(positive(&self.rates), "rates", &self.rates, "positive and finite")?;
        check(not_negative(&self.kappa), "kappa", &self.kappa, "finite and not negative")?;
        check(positive(&self.step_ratio), "step_ratio", &self.step_ratio, "positive and finite")?;
        check(not_negative(&[self.noise]), "noise", &self.noise, "finite and not negative")?;
        check(self.averages <= self.epochs, "averages", &self.averages, "at most one per epoch")?;
        check(unit(self.friction), "friction", &self.friction, "above 0, at most 1")?;
        check((0.0..=1.0).contains(&self.decay.from), "decay.from", &self.decay.from, "0 to 1")?;
        check(unit(self.decay.to), "decay.to", &self.decay.to, "above 0, at most 1")?;
        check(c.estimates >= 1, "collection.estimates", &c.estimates, "at least 1")?;
        check(c.spacing >= 1, "collection.spacing", &c.spacing, "at least 1")?;
        check(unit(c.rate), "collection.rate", &c.rate, "above 0, at most 1")?;
        check(not_negative(&[c.noise]), "collection.noise", &c.noise, "finite and not negative")?;
        let layers = net.layers().len();
        for (what, list, len) in [
            ("rates", &self.rates, layers),
            ("kappa", &self.kappa, layers),
            ("step_ratio", &self.step_ratio, layers - 1),
        ] {
            if list.len() != 1 && list.len() != len {
                return Err(Error::shape(format!("{what}: one per layer, or one for all"), len, list.len()));
            }
        }
        // Deviations of f32: much further down they would underflow, and their gains overflow.
        let reach = self.reach(layers)[0];
        check(
            reach > 1e-30,
            "step_ratio",
            &self.step_ratio,
            "larger, so that the residual reaches the first of so many layers",
        )?;
        self.penalty.validate()?;
        let steepest = self.rates.iter().fold(0.0f64, |a, &r| a.max(r));
        let convex = steepest * self.penalty.concavity() < 1.0;
        check(convex, "rates", &self.rates, "below 1/concavity of the penalty, or its `a` or `gamma` larger")
    }

    pub(super) fn sghmc(&self, net: &StoNet) -> Sghmc {
        let hidden = net.layers().len() - 1;
        let ratios = per_layer(&self.step_ratio, hidden);
        Sghmc {
            steps: self.hmc_steps,
            friction: self.friction,
            noise: self.noise,
            step_size: (0..hidden).map(|i| ratios[i] * net.layers()[i + 1].noise_variance).collect(),
        }
    }

    /// What a unit of residual adds to the deviation of each of so many layers, weights and slopes aside and to first
    /// order in ε/σ²: Π_{k=i..h} ε_k/σ²_{k+1} for one Langevin sweep, the sweep's own recursion otherwise.
    pub(super) fn reach(&self, layers: usize) -> Vec<f64> {
        let ratio = per_layer(&self.step_ratio, layers - 1);
        let (mut e, mut v) = (vec![0.0; layers], vec![0.0; layers]);
        e[layers - 1] = 1.0;
        for _ in 0..self.hmc_steps {
            for i in (0..layers - 1).rev() {
                v[i] = (1.0 - self.friction) * v[i] + ratio[i] * e[i + 1];
                e[i] += v[i];
            }
        }
        e
    }

    /// Rate, gain G_i/σ_i² and κ_i of every layer.
    pub(super) fn updates(&self, rates: &[f64], scale: f64) -> Vec<LayerUpdate> {
        let kappa = per_layer(&self.kappa, rates.len());
        let reach = self.reach(rates.len());
        let layer =
            |i: usize| LayerUpdate { rate: scale * rates[i], gain: scale * rates[i] / reach[i], kappa: kappa[i] };
        (0..rates.len()).map(layer).collect()
    }

    /// Whether a window of averaging ends with this epoch, counted from 0.
    pub(super) fn ends_window(&self, epoch: usize) -> bool {
        let window = |e: usize| e * self.averages / self.epochs;
        window(epoch) != window(epoch + 1)
    }

    pub(super) fn rate_scale(&self, epoch: usize) -> f64 {
        let (done, Decay { from, to }) = ((epoch as f64 + 1.0) / self.epochs as f64, self.decay);
        if done <= from || from >= 1.0 { 1.0 } else { 1.0 - (1.0 - to) * (done - from) / (1.0 - from) }
    }

    fn warnings(&self, data: &Dataset) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if data.rows() < self.batch_size {
            warnings.push(Warning::BatchCut { batch_size: self.batch_size, rows: data.rows() });
        }
        warnings.extend(constant_inputs(data));
        warnings
    }

    fn outcome_warnings(&self, fit: &Fit, rates: &[f64]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if fit.network().selected_inputs().is_empty() {
            warnings.push(Warning::AllUnitsDead { kappa: self.kappa.clone() });
        }
        if fit.restarts > 0 {
            warnings.push(Warning::RatesHalved { restarts: fit.restarts, rates: rates.to_vec() });
        }
        warnings
    }
}

/// Settings written before there were averages stay equal to those written now.
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// A list with one entry per layer, from one that has them all or a single one; zeros from an empty one, which
/// `validate` refuses.
pub(super) fn per_layer(list: &[f64], len: usize) -> Vec<f64> {
    (0..len).map(|i| list.get(i).or(list.last()).copied().unwrap_or(0.0)).collect()
}
