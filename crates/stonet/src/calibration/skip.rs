//! The one shape of all parametric calibrators: logits over a temperature, plus a network's correction, through the
//! softmax.
//!
//! | method | skip connection | what the network sees | network |
//! |---|---|---|---|
//! | none, temperature | z / T | | |
//! | temperature-smooth | x = log((1 − u) softmax(z / T) + u/K) | | |
//! | svs, sms | x | x | linear |
//! | vector, matrix | | z | linear |
//! | post-linear, `paper`, `stonet` | | standardised logits or features | linear, or one hidden layer |
//! | `skip-linear` | z / T | centred logits over T | linear |
//! | `skip` | z / T | centred logits over T | one hidden layer |
//! | `skip-prob` | z / T | 4 (softmax(z / T) − 1/K) | one hidden layer |

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::lower;
use crate::base::{Error, Result};
use crate::network::likelihood::softmax_rows;
use crate::network::{Likelihood, StoNet};
use crate::rows::{ClassInputs, ClassRows};
use crate::score::Scorer;
use crate::sparse::ridge::Clip;

/// What the skip connection carries: z/T, or the logarithm of softmax(z/T) mixed with the uniform distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Base {
    pub temperature: f64,
    /// The weight of the uniform distribution; 0 for z/T itself.
    pub uniform: f64,
}

impl Base {
    /// z/T.
    pub(crate) fn plain(temperature: f64) -> Self {
        Base { temperature, uniform: 0.0 }
    }

    /// log((n softmax(z/T) + 1/K) / (n + 1)): Laplace smoothing by as much as n rows can tell.
    pub(crate) fn smoothed(temperature: f64, rows: usize) -> Self {
        Base { temperature, uniform: 1.0 / (rows as f64 + 1.0) }
    }

    /// What is carried at these logits.
    pub(crate) fn of(self, z: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut x = &z / self.temperature;
        if self.uniform > 0.0 {
            softmax_rows(&mut x);
            let (own, share) = (1.0 - self.uniform, self.uniform / x.ncols() as f64);
            x.mapv_inplace(|p| (own * p + share).ln());
        }
        x
    }

    /// Its derivative in log T.
    pub(crate) fn slope(self, z: ArrayView2<'_, f64>) -> Array2<f64> {
        let cooled = &z / self.temperature;
        if self.uniform == 0.0 {
            return -cooled;
        }
        let p = Likelihood::Multinomial.mean(cooled.clone());
        let mean = (&p * &cooled).sum_axis(Axis(1)).insert_axis(Axis(1));
        let (own, share) = (1.0 - self.uniform, self.uniform / z.ncols() as f64);
        let within = p.mapv(|p| own * p / (own * p + share));
        within * &(mean - &cooled)
    }
}

/// What the network of a correction sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum View {
    /// The logits z as they are.
    Raw,
    /// What the skip connection carries.
    Base,
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
    pub(crate) fn of(&self, inputs: &ClassInputs<'_>, base: Base) -> Result<Array2<f64>> {
        let logits = || inputs.logits.ok_or(Error::NoLogits { what: "this model" });
        let temperature = base.temperature;
        match self {
            View::Raw => Ok(logits()?.to_owned()),
            View::Base => Ok(base.of(logits()?)),
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
            View::Raw | View::Base | View::Centred | View::Probabilities => classes,
            View::Logits(clip) | View::Features(clip) => clip.columns(),
        }
    }

    /// Whether it can be applied, as it can unless a file says otherwise.
    fn sound(&self) -> bool {
        match self {
            View::Raw | View::Base | View::Centred | View::Probabilities => true,
            View::Logits(clip) | View::Features(clip) => clip.sound(),
        }
    }
}

/// A fitted calibrator: F = z/T, or its smoothed form (where there is a skip connection), + the network's output;
/// probabilities are softmax(F).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct SkipModel {
    classes: usize,
    base: Option<Base>,
    correction: Option<(View, StoNet)>,
}

/// What is written to files; reading it back goes through [`SkipModel::new`].
#[derive(Serialize, Deserialize)]
struct Parts {
    classes: usize,
    temperature: Option<f64>,
    /// The weight of the uniform distribution in what the skip connection carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uniform: Option<f64>,
    correction: Option<(View, StoNet)>,
}

impl TryFrom<Parts> for SkipModel {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let uniform = p.uniform.unwrap_or(0.0);
        SkipModel::new(p.classes, p.temperature.map(|temperature| Base { temperature, uniform }), p.correction)
    }
}

impl From<SkipModel> for Parts {
    fn from(c: SkipModel) -> Self {
        let uniform = c.base.map(|b| b.uniform).filter(|u| *u > 0.0);
        Parts { classes: c.classes, temperature: c.temperature(), uniform, correction: c.correction }
    }
}

impl SkipModel {
    pub(crate) fn new(classes: usize, base: Option<Base>, correction: Option<(View, StoNet)>) -> Result<Self> {
        let sound = match &correction {
            None => base.is_some(),
            Some((view, net)) => {
                let needs_base = matches!(view, View::Base | View::Centred | View::Probabilities);
                net.outputs() == classes
                    && net.head() == Likelihood::Multinomial
                    && net.inputs() == view.columns(classes)
                    && (base.is_some() || !needs_base)
                    && view.sound()
            }
        };
        let possible = |b: Base| b.temperature > 0.0 && b.temperature.is_finite() && (0.0..=1.0).contains(&b.uniform);
        if !sound || classes < 2 || base.is_some_and(|b| !possible(b)) {
            return Err(Error::Inconsistent { what: "the parts of a calibrator do not belong together" });
        }
        Ok(SkipModel { classes, base, correction })
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// T of the skip connection; none where the network alone makes the logits.
    pub fn temperature(&self) -> Option<f64> {
        self.base.map(|b| b.temperature)
    }

    /// What the skip connection carries; none where the network alone makes the logits.
    pub(crate) fn base(&self) -> Option<Base> {
        self.base
    }

    /// The network that corrects, or that makes the logits alone.
    pub fn network(&self) -> Option<&StoNet> {
        self.correction.as_ref().map(|(_, net)| net)
    }

    /// Whether the network's output per class is read, and not its features alone.
    pub(crate) fn reads_logits(&self) -> bool {
        self.base.is_some() || !matches!(self.correction, Some((View::Features(_), _)))
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
    let x = view.of(&inputs, Base::plain(1.0))?;
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
