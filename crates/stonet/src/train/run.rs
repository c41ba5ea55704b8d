//! One attempt at training with given rates: epochs, observers, compaction, the collection of estimates.

use std::ops::ControlFlow;

use rand::seq::SliceRandom;

use super::average::Average;
use super::imputation::{Imputation, LayerUpdate, Packed, Plan, Sghmc};
use super::{Asghmc, Fit, Observer, Progress, Stop, cancelled, check_sizes};
use crate::base::{Result, Rng, Seed};
use crate::network::StoNet;
use crate::rows::Dataset;

/// How an attempt ended.
pub(super) enum Outcome {
    Done(Fit),
    Diverged { epoch: usize },
}

/// The state of an attempt.
pub(super) struct Run<'a> {
    trainer: &'a Asghmc,
    rates: &'a [f64],
    data: &'a Packed,
    order: Vec<usize>,
    batch: usize,
    sghmc: Sghmc,
    state: Imputation,
    rng: Rng,
    /// Ten times the loss at the start, or of the best constant where that is larger.
    ceiling: f64,
    restarts: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        trainer: &'a Asghmc,
        start: &StoNet,
        data: &'a Packed,
        rates: &'a [f64],
        seed: Seed,
        restarts: usize,
    ) -> Self {
        let batch = trainer.batch_size.min(data.rows);
        let mut state = Imputation::new(start, batch);
        let scale = state.loss(data).max(state.loss_of_a_constant(data));
        Run {
            trainer,
            rates,
            data,
            order: (0..data.rows).collect(),
            batch,
            sghmc: trainer.sghmc(start),
            state,
            rng: seed.child(restarts as u64).rng(),
            ceiling: 10.0 * scale,
            restarts,
        }
    }

    /// Training, then the collection of the estimates after the first.
    pub(super) fn all(&mut self, observer: &mut dyn Observer) -> Result<Outcome> {
        let t = self.trainer;
        let mut loss = f64::NAN;
        let (mut networks, mut averages) = (Vec::new(), Vec::new());
        let mut window = Average::new(&self.state);
        for epoch in 0..self.epochs() {
            let collecting = epoch >= t.epochs;
            loss = self.epoch(if collecting { t.collection.rate } else { t.rate_scale(epoch) });
            if self.diverged(loss) {
                return Ok(Outcome::Diverged { epoch });
            }
            if !collecting && t.averages > 0 {
                window.add(&self.state);
                if t.ends_window(epoch) {
                    averages.push(window.network(&self.state.network()));
                }
            }
            // A window's sum needs the same units from its beginning to its end.
            let between = t.averages == 0 || t.ends_window(epoch);
            if !collecting && between && t.compact_every > 0 && (epoch + 1) % t.compact_every == 0 {
                self.compact();
            }
            if t.ends_window(epoch) {
                window = Average::new(&self.state);
            }
            match self.report(epoch + 1, loss, observer) {
                ControlFlow::Break(Stop::Cancel) => return Err(cancelled(epoch + 1, self.epochs())),
                ControlFlow::Break(Stop::Early) => break,
                ControlFlow::Continue(()) => {}
            }
            if epoch + 1 >= t.epochs && (epoch + 1 - t.epochs).is_multiple_of(t.collection.spacing) {
                networks.push(self.state.network().compact());
                self.sghmc.noise = t.collection.noise;
            }
        }
        if networks.is_empty() {
            networks.push(self.state.network().compact());
        }
        Ok(Outcome::Done(Fit { networks, averages, loss, restarts: self.restarts, warnings: Vec::new() }))
    }

    fn epochs(&self) -> usize {
        let Asghmc { epochs, collection, .. } = self.trainer;
        epochs + (collection.estimates - 1) * collection.spacing
    }

    fn report(&self, epoch: usize, loss: f64, observer: &mut dyn Observer) -> ControlFlow<Stop> {
        let snapshot = || self.state.network().compact();
        let (epochs, restarts) = (self.epochs(), self.restarts);
        observer.progress(&Progress { epoch, epochs, loss, restarts, held_out: None, snapshot: Some(&snapshot) })
    }

    /// A loss that is not a number or far above where training began, or weights that overflowed in the last step.
    fn diverged(&self, loss: f64) -> bool {
        loss.is_nan() || loss > self.ceiling || !self.state.is_finite()
    }

    /// One pass over the rows in random order; returns the mean loss.
    fn epoch(&mut self, scale: f64) -> f64 {
        let updates = self.trainer.updates(self.rates, scale);
        self.order.shuffle(&mut self.rng);
        let mut total = 0.0;
        for rows in self.order.chunks(self.batch) {
            let plan = Plan { sghmc: &self.sghmc, penalty: self.trainer.penalty, updates: &updates };
            let loss = self.state.step(self.data, rows, plan, &mut self.rng);
            total += loss * rows.len() as f64;
        }
        total / self.order.len() as f64
    }

    /// Removes dead units from the running state.
    fn compact(&mut self) {
        let net = self.state.network();
        let small = net.compact();
        if small.widths() != net.widths() {
            self.state = Imputation::new(&small, self.batch);
        }
    }
}

/// A trainer stopped before one step, so that benchmarks time exactly that step.
#[doc(hidden)]
pub struct StepBench<'a> {
    run: Run<'a>,
    updates: Vec<LayerUpdate>,
}

impl<'a> StepBench<'a> {
    /// Prepares data, network and buffers.
    pub fn new(trainer: &'a Asghmc, start: &StoNet, data: &Dataset) -> Result<Self> {
        trainer.validate(start)?;
        check_sizes(start, data)?;
        assert_eq!(trainer.rates.len(), start.layers().len(), "one rate per layer");
        // A benchmark ends with its process.
        let packed = Box::leak(Box::new(Packed::new(data)));
        let run = Run::new(trainer, start, packed, &trainer.rates, Seed::new(1), 0);
        Ok(StepBench { updates: trainer.updates(&trainer.rates, 1.0), run })
    }

    /// One step on the first batch of rows; returns its loss.
    pub fn step(&mut self) -> f64 {
        let r = &mut self.run;
        let plan = Plan { sghmc: &r.sghmc, penalty: r.trainer.penalty, updates: &self.updates };
        r.state.step(r.data, &r.order[..r.batch], plan, &mut r.rng)
    }

    /// The network as it stands.
    pub fn network(&self) -> StoNet {
        self.run.state.network()
    }
}
