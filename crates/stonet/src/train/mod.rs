//! What all trainers share: the contract, what they report while they run, and what they return.

mod algorithm;
mod asghmc;
mod average;
mod chain;
mod cost;
pub(crate) mod imputation;
mod iro;
mod paper;
mod run;
mod structure;
pub(crate) mod tuning;

use std::fmt;
use std::ops::ControlFlow;

pub use algorithm::Algorithm;
pub use asghmc::{Asghmc, Collection, Decay};
pub(crate) use cost::{spending, training};
pub use iro::{Design, Iro, Kernel, Polished};
pub use paper::{PaperSettings, Preset};
#[doc(hidden)]
pub use run::StepBench;
pub use structure::{Assumptions, Condition, Connection, Rule, Structure};
pub use tuning::{LossCurve, TuningCurve, Walk, cross_validate, kappa_path};

use crate::base::{Cancelled, Error, Result, Seed};
use crate::network::{Penalty, StoNet};
use crate::rows::Dataset;
use crate::rows::dataset::is_constant;

/// An algorithm that turns a start and data into one or several networks. The value is its own configuration.
pub trait Trainer: Sync {
    /// Trains on rows that are already on standard scale. The result depends on the arguments alone.
    fn fit(&self, start: &StoNet, data: &Dataset, seed: Seed, observer: &mut dyn Observer) -> Result<Fit>;

    /// The penalty and its strength κ_i on ½·MSE in each of this many layers: what degrees of freedom depend on.
    fn penalty(&self, layers: usize) -> (Penalty, Vec<f64>);
}

/// What a trainer returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// θ̂^(1) … θ̂^(m), compacted; the first is the one at the end of training.
    pub networks: Vec<StoNet>,
    /// Parameter averages over consecutive windows of epochs, compacted; as many as were asked for, fewer after an
    /// early stop.
    pub averages: Vec<StoNet>,
    /// Mean loss of the last epoch (½ the mean squared error, or the cross-entropy).
    pub loss: f64,
    /// How often training diverged and was begun again at half the rates.
    pub restarts: usize,
    /// What the user should know, and may ignore.
    pub warnings: Vec<Warning>,
}

impl Fit {
    /// The network at the end of training; trainers return at least one.
    pub fn network(&self) -> &StoNet {
        &self.networks[0]
    }
}

/// Something sound but perhaps not meant.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Fewer rows than a batch: every batch has all rows.
    BatchCut {
        /// The batch size asked for.
        batch_size: usize,
        /// The rows there are.
        rows: usize,
    },
    /// An input that never changes cannot inform anything.
    ConstantInput {
        /// Column, from 0.
        column: usize,
    },
    /// The penalty removed every path from inputs to outputs: the prediction is a constant.
    AllUnitsDead {
        /// κ per layer.
        kappa: Vec<f64>,
    },
    /// Training diverged and was begun again at lower rates.
    RatesHalved {
        /// How often.
        restarts: usize,
        /// The rates that worked.
        rates: Vec<f64>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::BatchCut { batch_size, rows } => {
                write!(f, "batch size {batch_size} is cut to the {rows} rows there are")
            }
            Warning::ConstantInput { column } => {
                write!(f, "input column {column} is constant and can have no effect; drop it")
            }
            Warning::AllUnitsDead { kappa } => write!(
                f,
                "kappa {kappa:?} removed every unit, so the prediction is a constant; use a smaller kappa, or walk up to it with warm starts"
            ),
            Warning::RatesHalved { restarts, rates } => {
                write!(f, "training diverged and was begun again {restarts} times; rates are now {rates:?}")
            }
        }
    }
}

/// Where a fit stands after an epoch.
pub struct Progress<'a> {
    /// Epochs done, from 1.
    pub epoch: usize,
    /// Epochs planned, those of the collection included.
    pub epochs: usize,
    /// Mean loss over the epoch's batches, each before its own step.
    pub loss: f64,
    /// Divergences so far.
    pub restarts: usize,
    /// Loss on rows held out, where there are any.
    pub held_out: Option<f64>,
    pub(crate) snapshot: Option<&'a dyn Fn() -> StoNet>,
}

impl Progress<'_> {
    /// The StoNet as it stands (a copy, made on request); none while a plain perceptron is trained.
    pub fn network(&self) -> Option<StoNet> {
        self.snapshot.map(|copy| copy())
    }
}

/// Why an observer ends a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Good enough: the fit returns what it has.
    Early,
    /// Not wanted any more: the fit returns [`Error::Cancelled`].
    Cancel,
}

/// Watches a fit: a progress bar, early stopping, Ctrl-C. Closures over [`Progress`] are observers, and `()` is a
/// silent one.
pub trait Observer {
    /// Called after every epoch, those of the collection too.
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<Stop>;
}

impl Observer for () {
    fn progress(&mut self, _: &Progress<'_>) -> ControlFlow<Stop> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress<'_>) -> ControlFlow<Stop>> Observer for F {
    fn progress(&mut self, progress: &Progress<'_>) -> ControlFlow<Stop> {
        self(progress)
    }
}

/// A training that its observer stopped.
pub(crate) fn cancelled(done: usize, total: usize) -> Error {
    Cancelled { done, total, unit: "epochs" }.into()
}

/// Fails unless the network's inputs and outputs are those of the data, and the targets are its head's.
pub(crate) fn check_sizes(net: &StoNet, data: &Dataset) -> Result<()> {
    if net.inputs() != data.inputs() {
        return Err(Error::shape("input columns", net.inputs(), data.inputs()));
    }
    if net.outputs() != data.outputs() {
        return Err(Error::shape("target columns", net.outputs(), data.outputs()));
    }
    net.head().check(data.y())
}

/// A warning for every input that never changes.
pub(crate) fn constant_inputs(data: &Dataset) -> Vec<Warning> {
    let columns = data.x();
    let constant = columns.columns().into_iter().enumerate().filter(|(_, x)| is_constant(*x));
    constant.map(|(column, _)| Warning::ConstantInput { column }).collect()
}
