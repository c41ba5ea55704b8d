//! How a perceptron is trained: the settings, their checks, and what comes back.

use serde::{Deserialize, Serialize};

use super::network::check_single;
use super::run::Run;
use super::{Loss, Mlp};
use crate::base::{Error, Result, Seed};
use crate::network::Activation;
use crate::rows::Dataset;
use crate::train::Observer;

/// More parameters than this are taken for a slip of the pen.
const MOST_PARAMETERS: usize = 1 << 30;

/// Mini-batch training by Adam; start from `Training::default()`.
///
/// Data are taken as they are: bring inputs, and the targets of a regression, to standard scale first
/// ([`Scaling`](crate::rows::Scaling)).
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `hidden` | \[1000, 100\] | units of each hidden layer | ≥ 1, at least one layer |
/// | `activation` | tanh | ψ of the hidden layers | |
/// | `loss` | squared | what is made small | |
/// | `epochs` | 200 | passes over the data, at most | ≥ 1 |
/// | `batch_size` | 50 | rows per step, cut to n | ≥ 1 |
/// | `rate` | 1e-3 | learning rate | > 0 |
/// | `betas` | \[0.9, 0.999\] | memory of Adam's two moments | \[0, 1) |
/// | `epsilon` | 1e-8 | floor of Adam's denominator | ≥ 1e-30 |
/// | `weight_decay` | 0 | shrinkage of weights, not of biases: by rate · decay in each step | ≥ 0, rate · decay < 1 |
/// | `early_stopping` | none | rows held out to choose the epoch | |
///
/// ```
/// use ndarray::{Array1, Array2};
/// use stonet::{Dataset, Seed};
/// use stonet::peers::mlp::Training;
/// let x = Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 100.0 - 1.0);
/// let y: Array1<f64> = x.column(0).mapv(|x| x * x);
/// let training = Training { hidden: vec![20], epochs: 100, rate: 0.01, ..Training::default() };
/// let trained = training.fit(&Dataset::single(x, y)?, Seed::new(1), &mut ())?;
/// assert!(trained.loss < 1e-3);
/// assert_eq!(trained.network.widths(), [1, 20, 1]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Training {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// ψ of the hidden layers.
    pub activation: Activation,
    /// What is made small.
    pub loss: Loss,
    /// Passes over the data, at most.
    pub epochs: usize,
    /// Rows per step, cut to n where there are fewer.
    pub batch_size: usize,
    /// Learning rate.
    pub rate: f64,
    /// β₁ and β₂.
    pub betas: [f64; 2],
    /// ε.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Rows held out to choose the epoch.
    pub early_stopping: Option<EarlyStopping>,
}

/// Ends training when the loss on held-out rows has not fallen for a while, and returns the network where it was
/// lowest.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `fraction` | 0.1 | of the rows, held out at random; at least one | (0, 1) |
/// | `patience` | 20 | epochs without a new lowest loss before the end | ≥ 1 |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlyStopping {
    /// Part of the rows that is held out.
    pub fraction: f64,
    /// Epochs to wait for a new lowest loss.
    pub patience: usize,
}

impl Default for EarlyStopping {
    fn default() -> Self {
        EarlyStopping { fraction: 0.1, patience: 20 }
    }
}

impl Default for Training {
    fn default() -> Self {
        Training {
            hidden: vec![1000, 100],
            activation: Activation::Tanh,
            loss: Loss::Squared,
            epochs: 200,
            batch_size: 50,
            rate: 1e-3,
            betas: [0.9, 0.999],
            epsilon: 1e-8,
            weight_decay: 0.0,
            early_stopping: None,
        }
    }
}

/// What training returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The network of the last epoch; with early stopping, of the epoch with the lowest held-out loss.
    pub network: Mlp,
    /// Epochs that were run.
    pub epochs: usize,
    /// Mean loss over the batches of the last epoch, each before its own step.
    pub loss: f64,
    /// Loss of `network` on the held-out rows; none without early stopping.
    pub held_out: Option<f64>,
}

impl Training {
    /// Trains on these rows from a random start, on the caller's thread. The result depends on the arguments alone.
    ///
    /// Targets are numbers for [`Loss::Squared`], a single column for [`Loss::Pinball`] and
    /// [`Loss::Gaussian`], one-hot rows ([`Dataset::classes`]) for classes.
    pub fn fit(&self, data: &Dataset, seed: Seed, observer: &mut dyn Observer) -> Result<Trained> {
        self.validate()?;
        let outputs = self.loss.outputs(data)?;
        check_single("inputs", data.x())?;
        check_single("targets", data.y())?;
        let widths: Vec<usize> =
            [data.inputs()].into_iter().chain(self.hidden.iter().copied()).chain([outputs]).collect();
        check_widths(&widths)?;
        let start = Mlp::random(&widths, self.activation, seed.child(crate::base::streams::perceptron::START));
        Run::new(self, start, data, seed)?.all(observer)
    }

    fn validate(&self) -> Result<()> {
        let not_negative = |v: f64| v >= 0.0 && v.is_finite();
        let check = Error::check::<&dyn std::fmt::Debug>;
        let hidden = !self.hidden.is_empty() && !self.hidden.contains(&0);
        check(hidden, "hidden", &self.hidden, "at least one layer, all positive")?;
        check(self.epochs >= 1, "epochs", &self.epochs, "at least 1")?;
        check(self.batch_size >= 1, "batch_size", &self.batch_size, "at least 1")?;
        check(self.rate > 0.0 && self.rate.is_finite(), "rate", &self.rate, "positive and finite")?;
        let betas = self.betas.iter().all(|b| (0.0..1.0).contains(b));
        check(betas, "betas", &self.betas, "at least 0, below 1")?;
        check(self.epsilon >= 1e-30 && self.epsilon.is_finite(), "epsilon", &self.epsilon, "finite, at least 1e-30")?;
        let decay = not_negative(self.weight_decay) && self.rate * self.weight_decay < 1.0;
        check(decay, "weight_decay", &self.weight_decay, "not negative, below 1 / rate")?;
        if let Some(EarlyStopping { fraction, patience }) = self.early_stopping {
            check(fraction > 0.0 && fraction < 1.0, "early_stopping.fraction", &fraction, "between 0 and 1")?;
            check(patience >= 1, "early_stopping.patience", &patience, "at least 1")?;
        }
        self.loss.validate()
    }
}

/// Fails where there are no inputs, or so many weights that memory would run out.
fn check_widths(widths: &[usize]) -> Result<()> {
    if widths[0] == 0 {
        return Err(Error::shape("input columns (at least)", 1, 0));
    }
    let weights = widths.windows(2).try_fold(0usize, |sum, w| w[0].checked_mul(w[1])?.checked_add(sum));
    let few = weights.is_some_and(|weights| weights <= MOST_PARAMETERS);
    Error::check(few, "hidden", &widths[1..widths.len() - 1], "smaller: at most 2^30 weights in all")
}
