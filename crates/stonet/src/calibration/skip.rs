//! The one shape of all parametric calibrators: logits over a temperature, plus a network's correction, through the
//! softmax.
//!
//! | method | skip connection | what the network sees | network |
//! |---|---|---|---|
//! | none, temperature | z / T | | |
//! | vector, matrix | | z | linear |
//! | post-linear, `paper`, `stonet` | | standardised logits or features | linear, or one hidden layer |
//! | `skip-linear` | z / T | centred logits over T | linear |
//! | `skip` | z / T | centred logits over T | one hidden layer |
//! | `skip-prob` | z / T | 4 (softmax(z / T) − 1/K) | one hidden layer |

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::lower;
use crate::base::{Error, Result};
use crate::network::likelihood::softmax_rows;
use crate::network::{Likelihood, StoNet};
use crate::rows::{ClassInputs, ClassRows};
use crate::score::Scorer;
use crate::sparse::ridge::Clip;

/// What the network of a correction sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum View {
    /// The logits z as they are.
    Raw,
    /// (z − its mean over classes) / T.
    Centred,
    /// 4 (softmax(z / T) − 1/K): of order one, as a hidden unit wants it.
    Probabilities,
    /// Standardised and clipped logits.
    Logits(Clip),
    /// Standardised and clipped features.
    Features(Clip),
}

impl View {
    /// The network's inputs at these rows.
    pub(crate) fn of(&self, inputs: &ClassInputs<'_>, temperature: f64) -> Result<Array2<f64>> {
        let logits = || inputs.logits.ok_or(Error::NoLogits { what: "this model" });
        match self {
            View::Raw => Ok(logits()?.to_owned()),
            View::Centred => {
                let z = logits()?;
                let mean = z.mean_axis(Axis(1)).expect("at least two classes").insert_axis(Axis(1));
                Ok((&z - &mean) / temperature)
            }
            View::Probabilities => {
                let z = logits()?;
                let uniform = 1.0 / z.ncols() as f64;
                Ok(Likelihood::Multinomial.mean(&z / temperature).mapv_into(|p| 4.0 * (p - uniform)))
            }
            View::Logits(clip) => clip.apply(logits()?),
            View::Features(clip) => clip.apply(inputs.features.ok_or(Error::NoFeatures { columns: clip.columns() })?),
        }
    }

    /// How many inputs the network has, where that is not the number of classes.
    fn columns(&self, classes: usize) -> usize {
        match self {
            View::Raw | View::Centred | View::Probabilities => classes,
            View::Logits(clip) | View::Features(clip) => clip.columns(),
        }
    }

    /// Whether it can be applied, as it can unless a file says otherwise.
    fn sound(&self) -> bool {
        match self {
            View::Raw | View::Centred | View::Probabilities => true,
            View::Logits(clip) | View::Features(clip) => clip.sound(),
        }
    }
}

/// A fitted calibrator: F = z/T (where there is a skip connection) + the network's output; probabilities are
/// softmax(F).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct SkipModel {
    classes: usize,
    temperature: Option<f64>,
    correction: Option<(View, StoNet)>,
}

/// What is written to files; reading it back goes through [`SkipModel::new`].
#[derive(Serialize, Deserialize)]
struct Parts {
    classes: usize,
    temperature: Option<f64>,
    correction: Option<(View, StoNet)>,
}

impl TryFrom<Parts> for SkipModel {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        SkipModel::new(p.classes, p.temperature, p.correction)
    }
}

impl From<SkipModel> for Parts {
    fn from(c: SkipModel) -> Self {
        Parts { classes: c.classes, temperature: c.temperature, correction: c.correction }
    }
}

impl SkipModel {
    pub(crate) fn new(classes: usize, temperature: Option<f64>, correction: Option<(View, StoNet)>) -> Result<Self> {
        let sound = match &correction {
            None => temperature.is_some(),
            Some((view, net)) => {
                let needs_temperature = matches!(view, View::Centred | View::Probabilities);
                net.outputs() == classes
                    && net.head() == Likelihood::Multinomial
                    && net.inputs() == view.columns(classes)
                    && (temperature.is_some() || !needs_temperature)
                    && view.sound()
            }
        };
        if !sound || classes < 2 || temperature.is_some_and(|t| !(t > 0.0 && t.is_finite())) {
            return Err(Error::Inconsistent { what: "the parts of a calibrator do not belong together" });
        }
        Ok(SkipModel { classes, temperature, correction })
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// T of the skip connection; none where the network alone makes the logits.
    pub fn temperature(&self) -> Option<f64> {
        self.temperature
    }

    /// The network that corrects, or that makes the logits alone.
    pub fn network(&self) -> Option<&StoNet> {
        self.correction.as_ref().map(|(_, net)| net)
    }

    /// Whether the network's output per class is read, and not its features alone.
    pub(crate) fn reads_logits(&self) -> bool {
        self.temperature.is_some() || !matches!(self.correction, Some((View::Features(_), _)))
    }

    /// How many columns of features there are, where they are read.
    pub(crate) fn features(&self) -> Option<usize> {
        match &self.correction {
            Some((View::Features(clip), _)) => Some(clip.columns()),
            _ => None,
        }
    }

    /// What the network sees, and the network.
    pub(crate) fn correction(&self) -> Option<&(View, StoNet)> {
        self.correction.as_ref()
    }

    /// F_L at these rows.
    pub fn logits(&self, inputs: &ClassInputs<'_>) -> Result<Array2<f64>> {
        lower::run(&Scorer::new(lower::logits_plan(self)), self.classes, inputs)
    }

    /// softmax(F_L) at these rows.
    pub fn probabilities(&self, inputs: &ClassInputs<'_>) -> Result<Array2<f64>> {
        lower::run(&Scorer::new(lower::pool_plan(&[(1.0, self)], lower::logits_of(self.classes))), self.classes, inputs)
    }
}

/// Features where there are any, else logits, on standard scale.
pub(crate) fn standardised(rows: &ClassRows<'_>) -> Result<(View, Array2<f64>)> {
    let inputs = rows.inputs();
    let all: Vec<usize> = (0..rows.rows()).collect();
    let view = match (inputs.features, inputs.logits) {
        (Some(f), _) => View::Features(Clip::fit(f, &all)?),
        (None, Some(z)) => View::Logits(Clip::fit(z, &all)?),
        (None, None) => return Err(Error::NoLogits { what: "a classifier" }),
    };
    let x = view.of(&inputs, 1.0)?;
    Ok((view, x))
}

/// The mean negative log-likelihood of these logits.
pub(crate) fn log_loss(mut f: Array2<f64>, labels: &[usize]) -> f64 {
    to_probabilities(&mut f, labels) / labels.len().max(1) as f64
}

/// Turns logits into probabilities; returns the summed negative log-likelihood.
pub(crate) fn to_probabilities(f: &mut Array2<f64>, labels: &[usize]) -> f64 {
    let at_label: f64 = f.outer_iter().zip(labels).map(|(row, &l)| row[l]).sum();
    softmax_rows(f).sum() - at_label
}
