//! One data set, fitted by a method at a κ and judged against the truth.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stonet::base::streams::{consistency_fits, consistency_set};
use stonet::rows::Scaling;
use stonet::train::{Algorithm, Trainer};
use stonet::{Dataset, Seed, StoNet};
use stonet_compare::simulated::{Model, TRUE_INPUTS, inputs};

use super::spec::{Method, Spec};
use crate::Result;

/// What one fit gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The mean of (μ̂ − μ)² over fresh inputs.
    pub error: f64,
    /// Inputs with a path to the output, from 1.
    pub selected: Vec<usize>,
    /// Non-zero weights.
    pub nonzero_weights: usize,
}

impl Judged {
    /// Whether x1 … x5 are all selected.
    pub fn kept(&self) -> bool {
        (1..=TRUE_INPUTS).all(|k| self.selected.contains(&k))
    }

    /// Selected inputs that do nothing.
    pub fn false_inputs(&self) -> usize {
        self.selected.iter().filter(|&&k| k > TRUE_INPUTS).count()
    }
}

/// A training set on standard scale, and fresh inputs with their true means.
pub(super) struct Sample {
    model: Model,
    scaling: Scaling,
    train: Dataset,
    test: Array2<f64>,
    truth: Vec<f64>,
    start: StoNet,
    seed: Seed,
}

impl Sample {
    pub(super) fn new(spec: &Spec, model: Model, rows: usize, seed: Seed) -> Result<Self> {
        let raw = model.sample(rows, seed.child(consistency_set::ROWS))?;
        let scaling = Scaling::fit(&raw)?;
        let test = inputs(spec.test_rows, seed.child(consistency_set::TEST_INPUTS));
        let truth = test.outer_iter().map(|x| model.mean(x)).collect();
        let test = scaling.x.apply(test.view())?;
        let train = scaling.apply(&raw)?;
        Ok(Sample {
            model,
            scaling,
            train,
            test,
            truth,
            start: spec.start(model, seed.child(consistency_set::START))?,
            seed: seed.child(consistency_set::FITS),
        })
    }

    /// Fits; `asghmc+iro` starts from `first`.
    pub(super) fn fit(&self, spec: &Spec, method: &Method, kappa: f64, first: Option<&StoNet>) -> Result<StoNet> {
        let iro = spec.iro(method, kappa)?;
        let start = first.unwrap_or(&self.start);
        let fit = match method.trainer {
            Algorithm::Asghmc => {
                let asghmc = spec.asghmc(self.model, method, kappa, self.train.rows())?;
                asghmc.fit(start, &self.train, self.seed.child(consistency_fits::ASGHMC), &mut ())?
            }
            Algorithm::Iro | Algorithm::Polished => {
                iro.fit(start, &self.train, self.seed.child(consistency_fits::IRO), &mut ())?
            }
        };
        Ok(fit.network().clone())
    }

    pub(super) fn judge(&self, net: &StoNet) -> Result<Judged> {
        let mean = self.scaling.y.undo(net.predict(self.test.view())?.view());
        let total: f64 = mean.iter().zip(&self.truth).map(|(a, b)| (a - b) * (a - b)).sum();
        Ok(Judged {
            error: total / self.truth.len() as f64,
            selected: net.selected_inputs().iter().map(|k| k + 1).collect(),
            nonzero_weights: net.nonzero_weights(),
        })
    }

    /// Every method at its κ, by name.
    pub(super) fn all(&self, spec: &Spec, kappa: &BTreeMap<String, f64>) -> Result<BTreeMap<String, Judged>> {
        let first = spec.first()?;
        let first_net = self.fit(spec, first, kappa[&first.name()], None)?;
        let mut results = BTreeMap::new();
        for method in spec.methods.iter().filter(|m| kappa.contains_key(&m.name())) {
            let name = method.name();
            let judged = match method.trainer {
                _ if method == first => self.judge(&first_net)?,
                Algorithm::Polished => self.judge(&self.fit(spec, method, kappa[&name], Some(&first_net))?)?,
                _ => self.judge(&self.fit(spec, method, kappa[&name], None)?)?,
            };
            results.insert(name, judged);
        }
        Ok(results)
    }
}
