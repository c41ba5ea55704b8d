//! Prediction intervals by Eve's law (`alg:CI`): `μ_j ± z √(Σ̂_L,jj + ς²_L,j)`, ends averaged over the m estimates.

use serde::{Deserialize, Serialize};

use super::{Estimate, Variance};
use crate::base::streams::eve_intervals as streams;
use crate::base::{Error, Result, Seed};
use crate::network::{Likelihood, StoNet};
use crate::rows::{Dataset, Scaling};
use crate::sparse::Refit;
use crate::train::{Fit, Observer, Trainer};

/// How Var(ŵ) and ς² are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Eve {
    /// Least squares on the support.
    pub refit: Refit,
    /// ς²_L.
    pub variance: Variance,
}

/// `alg:CI` in the units of the data: a scaling and m estimates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EveParts")]
pub struct EveIntervals {
    scaling: Scaling,
    estimates: Vec<Estimate>,
}

/// What is read from files; it goes through [`EveIntervals::new`].
#[derive(Deserialize)]
struct EveParts {
    scaling: Scaling,
    estimates: Vec<Estimate>,
}

impl TryFrom<EveParts> for EveIntervals {
    type Error = Error;
    fn try_from(p: EveParts) -> Result<Self> {
        EveIntervals::new(p.scaling, p.estimates)
    }
}

impl EveIntervals {
    /// At least one estimate, all of the scaling's inputs and outputs.
    pub fn new(scaling: Scaling, estimates: Vec<Estimate>) -> Result<Self> {
        if estimates.is_empty() {
            return Err(Error::Inconsistent { what: "intervals need at least one estimate" });
        }
        for net in estimates.iter().map(Estimate::network) {
            if net.inputs() != scaling.x.columns() {
                return Err(Error::shape("input columns of the scaling", net.inputs(), scaling.x.columns()));
            }
            if net.outputs() != scaling.y.columns() {
                return Err(Error::shape("target columns of the scaling", net.outputs(), scaling.y.columns()));
            }
        }
        Ok(EveIntervals { scaling, estimates })
    }

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
        if start.head() != Likelihood::Gaussian {
            return Err(Error::setting(
                "head",
                start.head(),
                "gaussian: Eve's law gives intervals for numeric responses",
            ));
        }
        let scaling = Scaling::fit(data)?;
        let scaled = scaling.apply(data)?;
        let fit = trainer.fit(start, &scaled, seed.child(streams::FIT), observer)?;
        let intervals = Self::from_fit(&fit, scaling, &scaled, trainer, start, eve, seed.child(streams::VARIANCE))?;
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
        // A held-out variance does not depend on which of the m estimates it is for, and costs k fits.
        let shared = match eve.variance {
            Variance::Cv { .. } => Some(eve.variance.residual(fit.network(), trainer, start, scaled, seed)?),
            _ => None,
        };
        let estimate = |net: &StoNet| {
            let variance = match &shared {
                Some(variance) => variance.clone(),
                None => eve.variance.residual(net, trainer, start, scaled, seed)?,
            };
            Estimate::new(net, scaled, eve.refit, variance)
        };
        EveIntervals::new(scaling, fit.networks.iter().map(estimate).collect::<Result<_>>()?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Activation;
    use crate::rows::{Intervals, Level, PredictInterval};
    use ndarray::Array2;
    use rand_distr::{Distribution, StandardNormal};

    fn data(rows: usize, inputs: usize, outputs: usize) -> Dataset {
        let mut draws = StandardNormal.sample_iter(Seed::new(21).rng());
        let mut next = || draws.next().unwrap();
        let x = Array2::from_shape_simple_fn((rows, inputs), &mut next);
        Dataset::new(x, Array2::from_shape_simple_fn((rows, outputs), next)).unwrap()
    }

    #[test]
    fn averaged_intervals_are_the_mean_of_their_ends_and_survive_serde() {
        let data = data(60, 3, 2);
        let one = |seed: u64| {
            let net = StoNet::random(&[3, 4, 2], Activation::Tanh, Seed::new(seed)).unwrap();
            Estimate::new(&net, &data, Refit::Mls, vec![0.5, seed as f64]).unwrap()
        };
        let scaling = Scaling::fit(&data).unwrap();
        let level = Level::new(0.9).unwrap();
        let of = |estimates: Vec<Estimate>| EveIntervals { scaling: scaling.clone(), estimates };
        let each: Vec<Intervals> = [1, 2].map(|s| of(vec![one(s)]).intervals(data.x(), level).unwrap()).to_vec();
        let both = of(vec![one(1), one(2)]);
        let averaged = both.intervals(data.x(), level).unwrap();
        let mean = (&each[0].lower + &each[1].lower) / 2.0;
        assert!((&averaged.lower - &mean).iter().all(|d| d.abs() < 1e-12));
        let mean = (&each[0].upper + &each[1].upper) / 2.0;
        assert!((&averaged.upper - &mean).iter().all(|d| d.abs() < 1e-12));
        let text = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<EveIntervals>(&text).unwrap(), both);
        // Parts that do not belong together are refused, not met later by a panic.
        for (from, to) in [
            ("\"support\":[0,", "\"support\":[9,"),
            ("\"residual_variance\":[0.5,1.0]", "\"residual_variance\":[0.5]"),
            ("\"neurons\":[[0,", "\"neurons\":[[7,"),
            ("\"estimates\":[", "\"estimates\":[],\"unused\":["),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(serde_json::from_str::<EveIntervals>(&text.replacen(from, to, 1)).is_err(), "{from}");
        }
    }
}
