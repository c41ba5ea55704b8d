//! One training run: epochs of steps, the held-out loss, observers.

use std::ops::{ControlFlow, Range};

use rand::seq::SliceRandom;

use super::adam::Adam;
use super::judge::Judge;
use super::pass::Backward;
use super::{EarlyStopping, Mlp, Trained, Training};
use crate::base::streams::perceptron as streams;
use crate::base::{Error, Result, Rng, Seed};
use crate::rows::Dataset;
use crate::train::{Observer, Progress, Stop, cancelled};

/// The state of a run.
pub(super) struct Run<'a> {
    settings: &'a Training,
    data: &'a Dataset,
    /// Rows to train on, in the order of the epoch.
    order: Vec<usize>,
    held_out: Vec<usize>,
    batch: usize,
    net: Mlp,
    backward: Backward,
    judge: Judge,
    adam: Adam,
    rng: Rng,
}

/// The network where the held-out loss was lowest.
struct Best {
    epoch: usize,
    loss: f64,
    net: Mlp,
}

impl<'a> Run<'a> {
    pub(super) fn new(settings: &'a Training, start: Mlp, data: &'a Dataset, seed: Seed) -> Result<Self> {
        let (order, held_out) = split(data.rows(), settings.early_stopping, seed.child(streams::HELD_OUT))?;
        let batch = settings.batch_size.min(data.rows());
        Ok(Run {
            settings,
            data,
            order,
            held_out,
            batch,
            backward: Backward::new(&start, batch),
            judge: Judge::new(&start, data, batch),
            adam: Adam::new(settings, &start),
            net: start,
            rng: seed.child(streams::ORDER).rng(),
        })
    }

    /// Epochs until the last, until patience ends, or until the observer stops them.
    pub(super) fn all(mut self, observer: &mut dyn Observer) -> Result<Trained> {
        let mut best: Option<Best> = None;
        let (mut epochs, mut loss) = (0, f64::NAN);
        while epochs < self.settings.epochs {
            epochs += 1;
            loss = self.epoch();
            let held_out = self.settings.early_stopping.map(|_| self.held_out_loss());
            self.check_finite(epochs, loss, held_out)?;
            if let Some(loss) = held_out.filter(|&l| best.as_ref().is_none_or(|b| l < b.loss)) {
                best = Some(Best { epoch: epochs, loss, net: self.net.clone() });
            }
            let of = self.settings.epochs;
            let progress = Progress { epoch: epochs, epochs: of, loss, restarts: 0, held_out, snapshot: None };
            match observer.progress(&progress) {
                ControlFlow::Break(Stop::Cancel) => return Err(cancelled(epochs, of)),
                ControlFlow::Break(Stop::Early) => break,
                ControlFlow::Continue(()) => {}
            }
            if self.out_of_patience(epochs, &best) {
                break;
            }
        }
        Ok(match best {
            None => Trained { network: self.net, epochs, loss, held_out: None },
            Some(best) => Trained { network: best.net, epochs, loss, held_out: Some(best.loss) },
        })
    }

    fn check_finite(&self, epoch: usize, loss: f64, held_out: Option<f64>) -> Result<()> {
        let finite = loss.is_finite() && held_out.is_none_or(f64::is_finite);
        if finite && self.net.layers.iter().all(|l| l.is_finite()) {
            return Ok(());
        }
        Err(Error::Overflow { epoch, rate: self.settings.rate })
    }

    fn out_of_patience(&self, epoch: usize, best: &Option<Best>) -> bool {
        match (self.settings.early_stopping, best) {
            (Some(EarlyStopping { patience, .. }), Some(best)) => epoch - best.epoch >= patience,
            _ => false,
        }
    }

    /// One pass over the rows in random order; returns the mean loss.
    fn epoch(&mut self) -> f64 {
        self.order.shuffle(&mut self.rng);
        let mut total = 0.0;
        for first in (0..self.order.len()).step_by(self.batch) {
            let rows = first..(first + self.batch).min(self.order.len());
            total += rows.len() as f64 * self.step(rows);
        }
        total / self.order.len() as f64
    }

    /// One step on the rows at these places of the order; returns their mean loss before it.
    fn step(&mut self, places: Range<usize>) -> f64 {
        let rows = &self.order[places];
        let loss = self.judge.loss(&self.settings.loss, &self.net, self.data, rows);
        self.judge.gradient(self.backward.output());
        self.backward.run(&mut self.net, &self.judge.pass, rows.len(), self.adam.step());
        loss
    }

    /// The mean loss on the held-out rows, batch by batch.
    fn held_out_loss(&mut self) -> f64 {
        let mut total = 0.0;
        for rows in self.held_out.chunks(self.batch) {
            total += rows.len() as f64 * self.judge.loss(&self.settings.loss, &self.net, self.data, rows);
        }
        total / self.held_out.len() as f64
    }
}

/// Rows to train on, and rows held out: none without early stopping.
fn split(rows: usize, stopping: Option<EarlyStopping>, seed: Seed) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..rows).collect();
    let Some(stopping) = stopping else { return Ok((order, Vec::new())) };
    if rows < 2 {
        let remedy = "train without it";
        return Err(Error::TooFewRows { what: "early stopping", needed: 2, found: rows, remedy });
    }
    order.shuffle(&mut seed.rng());
    let held_out = ((rows as f64 * stopping.fraction).round() as usize).clamp(1, rows - 1);
    let training = order.split_off(held_out);
    Ok((training, order))
}
