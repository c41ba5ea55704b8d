//! The experiment's settings, read from `experiments/consistency.toml`.

use serde::{Deserialize, Serialize};
use stonet::train::{Algorithm, Asghmc, Iro};
use stonet::{Activation, Penalty, Seed, StoNet};
use stonet_compare::simulated::Model;

use crate::{Error, Result};

/// Everything about the experiment that is not a flag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Training rows, ascending.
    pub rows: Vec<usize>,
    /// Fresh inputs on which μ̂ is compared with μ.
    pub test_rows: usize,
    /// Steps of every ASGHMC fit.
    pub steps: usize,
    /// Rows per step.
    pub batch_size: usize,
    /// Iterations of every IRO fit.
    pub iterations: usize,
    /// σ_i of the hidden layers in IRO.
    pub hidden_sd: f64,
    /// Rows of a pilot set.
    pub pilot_rows: usize,
    /// Pilot sets per model.
    pub pilots: usize,
    /// The method whose fit `asghmc+iro` starts from.
    pub polishes: String,
    /// The models.
    pub models: Vec<ModelSpec>,
    /// What is compared.
    pub methods: Vec<Method>,
}

/// One model's network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Regression function.
    pub model: Model,
    /// p, d_1, …, 1.
    pub widths: Vec<usize>,
    /// Rates of ASGHMC.
    pub rates: Vec<f64>,
}

/// A trainer with a penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The trainer.
    pub trainer: Algorithm,
    /// `lasso`, `scad` or `mcp`, with the shapes of the paper.
    pub penalty: String,
    /// Grid from which the pilots choose.
    pub kappas: Vec<f64>,
}

impl Method {
    /// `asghmc+iro mcp`.
    pub fn name(&self) -> String {
        format!("{} {}", self.trainer, self.penalty)
    }

    fn shape(&self) -> Result<Penalty> {
        match self.penalty.as_str() {
            "lasso" => Ok(Penalty::Lasso),
            "scad" => Ok(Penalty::SCAD),
            "mcp" => Ok(Penalty::MCP),
            name => Err(Error::unknown("penalty", name.to_owned(), "lasso, scad, mcp".to_owned())),
        }
    }
}

impl Spec {
    /// The experiment as shipped.
    pub fn shipped() -> Self {
        toml::from_str(include_str!("../../experiments/consistency.toml")).expect("the shipped experiment parses")
    }

    /// The method that `asghmc+iro` polishes.
    pub fn first(&self) -> Result<&Method> {
        self.methods.iter().find(|m| m.name() == self.polishes).ok_or_else(|| {
            Error::unknown(
                "method",
                self.polishes.clone(),
                self.methods.iter().map(Method::name).collect::<Vec<_>>().join(", "),
            )
        })
    }

    pub(super) fn model(&self, model: Model) -> Result<&ModelSpec> {
        self.models.iter().find(|m| m.model == model).ok_or_else(|| {
            Error::unknown(
                "model",
                model.to_string(),
                self.models.iter().map(|m| m.model.to_string()).collect::<Vec<_>>().join(", "),
            )
        })
    }

    pub(super) fn start(&self, model: Model, seed: Seed) -> Result<StoNet> {
        Ok(StoNet::random(&self.model(model)?.widths, Activation::Tanh, seed)?)
    }

    pub(super) fn asghmc(&self, model: Model, method: &Method, kappa: f64, rows: usize) -> Result<Asghmc> {
        Ok(Asghmc {
            epochs: (self.steps * self.batch_size).div_ceil(rows),
            batch_size: self.batch_size,
            rates: self.model(model)?.rates.clone(),
            kappa: vec![kappa],
            penalty: method.shape()?,
            ..Asghmc::default()
        })
    }

    pub(super) fn iro(&self, method: &Method, kappa: f64) -> Result<Iro> {
        let (iterations, hidden_sd) = (self.iterations, self.hidden_sd);
        Ok(Iro { iterations, hidden_sd, kappa, penalty: method.shape()?, ..Iro::default() })
    }
}
