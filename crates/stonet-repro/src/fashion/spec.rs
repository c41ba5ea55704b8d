//! The experiment's settings, read from `experiments/fashion.toml`.

use serde::{Deserialize, Serialize};
use stonet::peers::mlp::{Loss, Training};

/// Everything about the experiment that is not a flag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Training images that no network is trained on.
    pub validation_rows: usize,
    /// Splits and networks per loss.
    pub repeats: usize,
    /// The network and its training; the loss is one of `losses`.
    pub training: Training,
    /// Losses to compare.
    pub losses: Vec<NamedLoss>,
}

/// A loss and its name in the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedLoss {
    /// As in `published::cifar` where the paper has it.
    pub name: String,
    /// What is made small.
    pub loss: Loss,
}

impl Spec {
    /// The experiment as shipped.
    pub fn shipped() -> Self {
        toml::from_str(include_str!("../../experiments/fashion.toml")).expect("the shipped experiment parses")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_experiment_is_complete() {
        let spec = Spec::shipped();
        let names: Vec<&str> = spec.losses.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["cross-entropy", "focal", "mmce"]);
        assert_eq!(spec.losses[0].loss, Loss::CrossEntropy);
        assert_eq!(spec.losses[1].loss, Loss::FOCAL);
        assert!(spec.losses.iter().all(|l| l.loss.validate().is_ok()));
        // Rows are kept from training altogether, not to choose an epoch.
        assert_eq!(spec.training.early_stopping, None);
    }
}
