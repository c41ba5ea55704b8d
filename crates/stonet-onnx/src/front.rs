//! A network in front of a head: raw inputs of record batches in, what the head reads out.

use arrow_array::RecordBatch;
use ndarray::Array2;
use stonet::Ticker;
use stonet_io::{BatchScorer, Model, NetworkInputs, Table};

use crate::features::{Features, RunSettings, Runner};
use crate::{Inputs, Network, Preprocess, Result};

/// A tapped network that is ready to run on rows of a table.
pub struct Front {
    runner: Runner<'static>,
    preprocess: Preprocess,
    columns: Option<Vec<String>>,
}

impl Front {
    /// Loads a network, tapped at the tensor of this name or else at its last hidden layer; threads are those of the
    /// current rayon pool.
    pub fn new(network: &Network, tap: Option<&str>, settings: &RunSettings, preprocess: Preprocess) -> Result<Self> {
        let tap = tap.map_or_else(|| network.default_tap(), |name| network.tap(name))?;
        let settings = RunSettings { outputs: true, ..*settings };
        let runner = network.runner(&tap, &settings)?.into_owned();
        Ok(Front { runner, preprocess, columns: network.columns() })
    }

    /// The names of the network's inputs, where its file has them.
    pub fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// Features and outputs of rows.
    pub fn run(&self, inputs: Inputs, tick: Ticker<'_>) -> Result<Features> {
        let inputs = inputs.with_preprocess(&self.preprocess)?;
        self.runner.features(&inputs, 0..inputs.rows(), tick)
    }

    /// Predictions of a head for a batch of the network's inputs; `first_row` is the number of its first row in
    /// messages.
    pub fn score(
        &self,
        model: &Model,
        scorer: &BatchScorer,
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<RecordBatch> {
        let said = self.said(model, scorer, batch, first_row)?;
        Ok(scorer.score_said(batch, &said, first_row)?)
    }

    /// What the network gives for the rows of a batch, in the columns of the head.
    pub fn said(&self, model: &Model, scorer: &BatchScorer, batch: &RecordBatch, first_row: u64) -> Result<Table> {
        let x: Array2<f64> = scorer.network_inputs(batch, first_row)?;
        let said = self.run(Inputs::table(x.view(), &[x.ncols()])?, &|_, _| true)?;
        let outputs = said.outputs.iter().map(|(_, o)| o.mapv(f64::from)).collect();
        let raw = NetworkInputs { names: scorer.inputs(), values: x.view() };
        Ok(model.said(scorer.source(), raw, said.features.mapv(f64::from), outputs)?)
    }
}
