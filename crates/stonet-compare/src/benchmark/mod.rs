//! The paper's protocol on any data: split 40/40/20, train a network, and set every interval method side by side on the
//! same rows.

mod compare;
mod methods;
mod report;
mod run;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use ndarray::{Array2, Axis, concatenate};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use stonet::base::streams::benchmark as streams;
use stonet::peers::mlp::Training;
use stonet::rows::{Scaling, by_group};
use stonet::train::{Progress, Stop};
use stonet::{Dataset, Kind, Level, RegressionInputs, RegressionRows, Seed, Ticker};

pub use compare::{Compared, IntervalComparison, compare_intervals};
pub use methods::{DEFAULT, Judged, Method};
pub use report::{MethodSummary, Report, Summary, number};
pub use run::{Plan, Record, Run, run};

use crate::{Error, Result};

/// How networks are trained and rows are split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// 1 − α.
    pub level: f64,
    /// Widths of the network's hidden layers.
    pub hidden: Vec<usize>,
    /// Rows per step of Adam.
    pub batch_size: usize,
    /// Adam's rate.
    pub rate: f64,
    /// Shares of the rows that are trained and calibrated on; the rest are tested.
    pub shares: [f64; 2],
    /// Epochs.
    pub epochs: usize,
    /// Epochs of sets that have their own.
    #[serde(default)]
    pub epochs_of: BTreeMap<String, usize>,
}

impl Protocol {
    /// The paper's, as shipped.
    pub fn shipped() -> Self {
        toml::from_str(include_str!("../../protocol.toml")).expect("the shipped experiment parses")
    }

    /// Whether the network's inputs join its features where nothing is said: by their number and that of the rows that
    /// calibrate.
    pub fn joins_inputs(&self, data: &Dataset) -> bool {
        Kind::default().joins_inputs(data.inputs(), (self.shares[1] * data.rows() as f64).round() as usize)
    }

    /// Epochs of a set.
    pub fn epochs(&self, set: &str) -> usize {
        self.epochs_of.get(set).copied().unwrap_or(self.epochs)
    }
}

/// What one split gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Mean squared error of the network on the rows it was trained on.
    pub train_mse: f64,
    /// On the calibration rows.
    pub calibration_mse: f64,
    /// On the test rows.
    pub test_mse: f64,
    /// Seconds of training, other splits running beside it.
    pub training_seconds: f64,
    /// By name of the method.
    pub methods: BTreeMap<String, Judged>,
}

/// A network, and the rows it has not been trained on as its last hidden layer sees them.
#[derive(Debug)]
pub struct Prepared {
    /// Rows for calibration.
    pub calibration: Part,
    /// Rows for testing.
    pub test: Part,
    /// The network's mean squared error on its training rows.
    pub train_mse: f64,
}

/// Inputs, features, the network's predictions, and responses, in the data's units.
#[derive(Debug)]
pub struct Part {
    /// The network's inputs.
    pub inputs: Array2<f64>,
    /// Outputs of the last hidden layer.
    pub features: Array2<f64>,
    /// The network's predictions.
    pub prediction: Array2<f64>,
    /// The true values.
    pub y: Array2<f64>,
    /// The number of each row's group.
    pub groups: Option<Vec<usize>>,
}

impl Part {
    /// Features and inputs side by side.
    pub fn joined(&self) -> Array2<f64> {
        concatenate![Axis(1), self.features, self.inputs]
    }

    /// The rows to calibrate on, with these columns.
    pub fn calibration<'a>(&'a self, columns: &'a Array2<f64>) -> Result<RegressionRows<'a>> {
        let rows = RegressionRows::new(columns.view(), self.y.view())?.with_prediction(self.prediction.view())?;
        Ok(match &self.groups {
            Some(groups) => rows.with_groups(groups)?,
            None => rows,
        })
    }

    /// The rows to predict for, with these columns.
    pub fn new_rows<'a>(&'a self, columns: &'a Array2<f64>) -> Result<RegressionInputs<'a>> {
        Ok(RegressionInputs::new(columns.view())?.with_prediction(self.prediction.view())?)
    }

    fn mse(&self) -> f64 {
        (&self.y - &self.prediction).mapv(|e| e * e).sum() / self.y.len() as f64
    }
}

/// Rows to train, to calibrate and to test on, in random order; rows of a group stay together.
fn parts(set: &Set, protocol: &Protocol, seed: Seed) -> Result<[Vec<usize>; 3]> {
    let mut units: Vec<Vec<usize>> = match &set.groups {
        None => (0..set.data.rows()).map(|r| vec![r]).collect(),
        Some(groups) => by_group(0..groups.len(), groups),
    };
    units.shuffle(&mut seed.rng());
    let share = |s: f64| (s * units.len() as f64).round() as usize;
    let (first, second) = (share(protocol.shares[0]), share(protocol.shares[0]) + share(protocol.shares[1]));
    if first < 10 || second - first < 10 || units.len() <= second {
        return Err(Error::TooFewRows {
            units: units.len(),
            what: if set.groups.is_some() { "groups" } else { "rows" },
        });
    }
    Ok([units[..first].concat(), units[first..second].concat(), units[second..].concat()])
}

/// Splits the rows and trains the network; `tick` hears of every epoch.
pub fn prepare(set: &Set, protocol: &Protocol, seed: Seed, tick: Ticker<'_>) -> Result<Prepared> {
    let data = &set.data;
    let [training_rows, calibration_rows, test_rows] = parts(set, protocol, seed.child(streams::PARTS))?;
    let train = data.select(&training_rows);
    let scaling = Scaling::fit(&train)?;
    let training = Training {
        hidden: protocol.hidden.clone(),
        epochs: set.epochs,
        batch_size: protocol.batch_size,
        rate: protocol.rate,
        ..Training::default()
    };
    let mut observer = |p: &Progress<'_>| match tick(p.epoch, p.epochs) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(Stop::Cancel),
    };
    let network = training.fit(&scaling.apply(&train)?, seed.child(streams::NETWORK), &mut observer)?.network;
    let part = |rows: &[usize]| -> Result<Part> {
        let groups = set.groups.as_ref().map(|g| rows.iter().map(|&r| g[r]).collect());
        let rows = data.select(rows);
        let x = scaling.x.apply(rows.x())?;
        let prediction = scaling.y.undo(network.predict(x.view())?.view());
        let (inputs, features) = (rows.x().to_owned(), network.features(x.view())?);
        Ok(Part { inputs, features, prediction, y: rows.y().to_owned(), groups })
    };
    let train_mse = part(&training_rows)?.mse();
    Ok(Prepared { calibration: part(&calibration_rows)?, test: part(&test_rows)?, train_mse })
}

/// One split: the network, then every method on its features. `tick` hears of steps of any kind, and may end the work
/// at each.
pub fn split(set: &Set, protocol: &Protocol, seed: Seed, tick: Ticker<'_>) -> Result<Split> {
    let begin = Instant::now();
    let prepared = prepare(set, protocol, seed, tick)?;
    let training_seconds = begin.elapsed().as_secs_f64();
    let level = Level::new(protocol.level)?;
    let methods = methods::all(&prepared, set.also, level, seed.child(streams::METHODS), tick)?;
    Ok(Split {
        train_mse: prepared.train_mse,
        calibration_mse: prepared.calibration.mse(),
        test_mse: prepared.test.mse(),
        training_seconds,
        methods,
    })
}

/// Mean squared error of a split's network in training and on the calibration rows.
pub fn network_errors(set: &Set, protocol: &Protocol, seed: Seed) -> Result<(f64, f64)> {
    let prepared = prepare(set, protocol, seed, &|_, _| true)?;
    Ok((prepared.train_mse, prepared.calibration.mse()))
}

/// A data set by name, and how long its networks are trained.
#[derive(Debug, Clone)]
pub struct Set {
    /// The name in tables and in the journal.
    pub name: String,
    /// The rows; one target.
    pub data: Dataset,
    /// Epochs of its networks.
    pub epochs: usize,
    /// Groups of rows, such as subjects, that are kept together.
    pub groups: Option<Vec<usize>>,
    /// Whether the network's inputs stand beside its features for the methods that see further columns.
    pub also: bool,
}
