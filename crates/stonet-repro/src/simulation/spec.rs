//! The experiment's settings, read from `experiments/simulation.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stonet::eve::Variance;
use stonet::train::{Asghmc, PaperSettings, Preset};
use stonet::{Activation, Seed, StoNet};
use stonet_compare::simulated::Model;

use crate::{Error, Result};

/// Everything about the experiment that is not a flag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Training rows.
    pub rows: usize,
    /// Test rows.
    pub test_rows: usize,
    /// Nominal coverage.
    pub level: f64,
    /// Epochs of every fit.
    pub epochs: usize,
    /// Grid of κ, the same in all layers.
    pub kappas: Vec<f64>,
    /// Folds of the choice of κ, and of the `cv` variance.
    pub folds: usize,
    /// Pilot sets per cell.
    pub pilots: usize,
    /// The variance that the table reports.
    pub variance: Variance,
    /// The variable-selection figure.
    pub selection: SelectionSpec,
    /// The models.
    pub models: Vec<ModelSpec>,
}

/// The variable-selection figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionSpec {
    /// The setting whose paths are drawn.
    pub setting: String,
    /// Grid of κ, ascending.
    pub kappas: Vec<f64>,
    /// κ of the IRO polish of the chosen fit.
    pub polish_kappa: f64,
    /// Estimates over which the polished structure is compared.
    pub polish_estimates: usize,
}

/// One model: its network and its settings by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Regression function.
    pub model: Model,
    /// p, d_1, …, 1.
    pub widths: Vec<usize>,
    /// Setting → preset.
    pub presets: BTreeMap<String, String>,
}

/// A model and a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// Regression function.
    pub model: Model,
    /// `i`, `ii` or `iii`.
    pub setting: String,
}

impl Cell {
    /// Models have data streams of their own; settings share them, so that they are compared on the same data.
    pub(super) fn seed(&self, root: Seed) -> Seed {
        root.child(stonet::base::streams::experiments::SIMULATION.at(u8::from(self.model).into()))
    }
}

impl Spec {
    /// The experiment as shipped.
    pub fn shipped() -> Self {
        toml::from_str(include_str!("../../experiments/simulation.toml")).expect("the shipped experiment parses")
    }

    /// What decides the value of a record: all but the selection figure.
    pub(super) fn journal_settings(&self) -> serde_json::Value {
        let mut settings = serde_json::to_value(self).expect("plain data serialises");
        if let Some(map) = settings.as_object_mut() {
            map.remove("selection");
        }
        settings
    }

    /// The cells of these models and settings, in the table's order.
    pub fn cells(&self, models: &[Model], settings: &[String]) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for &model in models {
            let spec = self.model(model)?;
            for setting in settings {
                if !spec.presets.contains_key(setting) {
                    let known = spec.presets.keys().cloned().collect::<Vec<_>>().join(", ");
                    return Err(Error::unknown("setting", setting.clone(), known));
                }
                cells.push(Cell { model, setting: setting.clone() });
            }
        }
        cells.sort();
        cells.dedup();
        if cells.is_empty() {
            return Err(Error::range("--models and --settings", "at least one each"));
        }
        Ok(cells)
    }

    fn model(&self, model: Model) -> Result<&ModelSpec> {
        self.models.iter().find(|m| m.model == model).ok_or_else(|| {
            Error::unknown(
                "model",
                model.to_string(),
                self.models.iter().map(|m| m.model.to_string()).collect::<Vec<_>>().join(", "),
            )
        })
    }

    /// The cell's paper settings, its trainer (κ = 1 in all layers, to be scaled), and a random start.
    pub fn network(&self, cell: &Cell, seed: Seed) -> Result<(PaperSettings, Asghmc, StoNet)> {
        let spec = self.model(cell.model)?;
        let settings = Preset::by_name(&spec.presets[&cell.setting])?.settings(0.0);
        let trainer = Asghmc { epochs: self.epochs, kappa: vec![1.0], ..settings.trainer()? };
        let start = StoNet::random(&spec.widths, Activation::Tanh, seed)?.with_noise_variances(&settings.sigma2)?;
        Ok((settings, trainer, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_experiment_is_complete() {
        let spec = Spec::shipped();
        let settings: Vec<String> = ["i", "ii", "iii"].map(String::from).to_vec();
        let cells = spec.cells(&[Model::Two, Model::One, Model::One], &settings).unwrap();
        assert_eq!(cells.len(), 6);
        for cell in &cells {
            let (_, trainer, start) = spec.network(cell, Seed::new(1)).unwrap();
            assert_eq!(trainer.rates.len(), start.layers().len());
            assert_eq!(start.inputs(), stonet_compare::simulated::INPUTS);
        }
        let e = spec.cells(&[Model::One], &["iv".into()]).unwrap_err().to_string();
        assert_eq!(e, "there is no setting `iv`; there are i, ii, iii");
    }
}
