//! One watched quantity: its past, ranks of new values, the capital of the bets, and when it raised an alarm.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::bets::Bets;
use super::cells::{Cells, Counts};
use super::path::Path;
use crate::base::streams::monitor::TIES;
use crate::base::{Error, Result, Seed};

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Quantity {
    /// (y − μ)/s of a target under the model of a fold, which the fold's calibration rows have too.
    Score {
        /// The target.
        target: usize,
        /// The fold.
        fold: usize,
    },
    /// How badly the true class conforms, under the model of a fold.
    ClassScore {
        /// The fold.
        fold: usize,
    },
    /// The values of a target, or the classes.
    Target {
        /// The target.
        target: usize,
    },
    /// The distance of a row's inputs from the middle of the calibration rows.
    Distance,
    /// The class that the network's output makes the most probable.
    PredictedClass,
    /// The probability of that class by the network's output.
    Confidence,
    /// The prediction of a target.
    Prediction {
        /// The target.
        target: usize,
    },
    /// How far the models of the folds, and the network, are apart in a target.
    Disagreement {
        /// The target.
        target: usize,
    },
    /// A column of the inputs.
    Column {
        /// Its number among the inputs.
        column: usize,
    },
}

/// A watched quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Process {
    quantity: Quantity,
    cells: Cells,
    counts: Counts,
    bets: Bets,
    /// log 1/(its part of α).
    threshold: f64,
    /// Values of calibration rows.
    past: u64,
    rows: u64,
    largest: f64,
    alarm: Option<u64>,
    path: Option<Path>,
}

/// What is written to files.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    quantity: Quantity,
    cells: Cells,
    counts: Vec<(usize, u64)>,
    bets: Bets,
    threshold: f64,
    past: u64,
    largest: f64,
    alarm: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<Path>,
}

impl TryFrom<Parts> for Process {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let Parts { quantity, cells, counts, bets, threshold, past, largest, alarm, path } = p;
        cells.check()?;
        bets.check()?;
        let counts = Counts::of(cells.len(), &counts)?;
        let wrong = Error::Inconsistent { what: "the parts of a watched quantity do not belong together" };
        let Some(rows) = counts.total().checked_sub(past) else { return Err(wrong) };
        let reached = largest >= threshold;
        let sound = threshold.is_finite()
            && largest.is_finite()
            && bets.log_capital() <= largest + 1e-9
            && alarm.is_none_or(|row| (1..=rows).contains(&row))
            && alarm.is_some() == reached;
        if !sound {
            return Err(wrong);
        }
        path.as_ref().map_or(Ok(()), |path| path.check(rows))?;
        Ok(Process { quantity, cells, counts, bets, threshold, past, rows, largest, alarm, path })
    }
}

impl From<Process> for Parts {
    fn from(p: Process) -> Self {
        let counts = p.counts.filled();
        let Process { quantity, cells, bets, threshold, past, largest, alarm, path, .. } = p;
        Parts { quantity, cells, counts, bets, threshold, past, largest, alarm, path }
    }
}

impl Process {
    /// A quantity with the values of calibration rows by cell, whose alarms may be false with probability `share` at
    /// most.
    pub(crate) fn new(
        quantity: Quantity,
        cells: Cells,
        past: &[(usize, u64)],
        share: f64,
        drawn: bool,
    ) -> Result<Self> {
        let counts = Counts::of(cells.len(), past)?;
        let past = counts.total();
        Ok(Process {
            quantity,
            cells,
            counts,
            bets: Bets::default(),
            threshold: -share.ln(),
            past,
            rows: 0,
            largest: 0.0,
            alarm: None,
            path: drawn.then(Path::default),
        })
    }

    /// The next value; `seed` is that of the quantity.
    pub(crate) fn add(&mut self, value: f64, seed: Seed) {
        // One stream per row: a run that goes on draws what one run over all rows would have drawn.
        let tie = seed.child(self.rows).rng().random();
        let p = self.counts.p_value(self.cells.of(value), tie);
        self.bets.add(p);
        self.rows += 1;
        let capital = self.bets.log_capital();
        self.largest = self.largest.max(capital);
        if self.alarm.is_none() && capital >= self.threshold {
            self.alarm = Some(self.rows);
        }
        if let Some(path) = &mut self.path {
            path.add(capital);
        }
    }

    /// Whether another one watches the same quantity in the same way, whatever it has seen.
    pub(crate) fn is_like(&self, other: &Process) -> bool {
        self.quantity == other.quantity
            && self.cells == other.cells
            && self.past == other.past
            && (self.threshold - other.threshold).abs() < 1e-9
            && self.path.is_some() == other.path.is_some()
    }

    /// What is watched.
    pub fn quantity(&self) -> &Quantity {
        &self.quantity
    }

    /// Calibration rows that new ones are ranked among; 0 where new rows are compared with each other alone.
    pub fn past(&self) -> u64 {
        self.past
    }

    /// New rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The natural logarithm of the capital now.
    pub fn log_capital(&self) -> f64 {
        self.bets.log_capital()
    }

    /// The largest that it was.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The logarithm of the capital at which the alarm is raised.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The row, from 1, after which the alarm was raised.
    pub fn alarm(&self) -> Option<u64> {
        self.alarm
    }

    /// The logarithm of the capital over the rows, where it is kept.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_ref()
    }
}

/// Adds a value to each of some quantities, in their order; `first` is the number of the first of them.
pub(super) fn add_all(processes: &mut [Process], first: usize, values: &[Vec<f64>], seed: Seed) {
    use rayon::prelude::*;
    let one = |(number, (process, values)): (usize, (&mut Process, &Vec<f64>))| {
        let seed = seed.child(TIES.at(first + number));
        values.iter().for_each(|&v| process.add(v, seed));
    };
    processes.par_iter_mut().zip(values).enumerate().for_each(one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    fn process(share: f64, past: usize, seed: u64) -> Process {
        let mut counts = Counts::new(Cells::Scores.len());
        let draws: Vec<f64> = StandardNormal.sample_iter(Seed::new(seed).rng()).take(past).collect();
        draws.iter().for_each(|v| counts.add(Cells::Scores.of(*v), 1));
        let quantity = Quantity::Score { target: 0, fold: 0 };
        Process::new(quantity, Cells::Scores, &counts.filled(), share, true).unwrap()
    }

    fn run(process: &mut Process, rows: usize, seed: u64, of: impl Fn(f64) -> f64) {
        let draws: Vec<f64> = StandardNormal.sample_iter(Seed::new(seed).child(9).rng()).take(rows).collect();
        add_all(std::slice::from_mut(process), 0, &[draws.iter().map(|v| of(*v)).collect()], Seed::new(seed));
    }

    /// The promise: with nothing changed, at most a part α of streams ever alarms, however little past there is.
    #[test]
    fn alarms_without_a_change_are_rarer_than_their_share() {
        const STREAMS: u64 = 300;
        for past in [0, 30, 400] {
            let alarmed = (0..STREAMS).filter(|&s| {
                let mut watched = process(0.1, past, s);
                run(&mut watched, 3000, s, |v| v);
                watched.alarm().is_some()
            });
            let alarmed = alarmed.count();
            let p = crate::base::binomial::binomial_upper_tail(alarmed, STREAMS as usize, 0.1);
            assert!(p > 1e-4, "{past}: {alarmed} of {STREAMS}");
        }
    }

    #[test]
    fn changes_in_either_direction_are_found() {
        let changes: [fn(f64) -> f64; 4] = [|v| v + 0.5, |v| v - 0.5, |v| 1.5 * v, |v| 0.6 * v];
        for (i, change) in changes.into_iter().enumerate() {
            let mut watched = process(0.01, 500, i as u64);
            run(&mut watched, 1000, i as u64, |v| v);
            assert!(watched.alarm().is_none());
            run(&mut watched, 1500, 77 + i as u64, change);
            assert!(watched.alarm().is_some_and(|row| row > 1000), "{i}: {:?}", watched.largest());
        }
    }

    #[test]
    fn files_bring_a_process_back_and_it_goes_on_as_if_nothing_had_been() {
        let mut whole = process(0.01, 50, 3);
        let values: Vec<f64> = (0..700).map(|i| f64::from(i % 13) * 0.3 - 1.0).collect();
        let seed = Seed::new(5);
        let mut parts = whole.clone();
        add_all(std::slice::from_mut(&mut whole), 2, std::slice::from_ref(&values), seed);
        for part in values.chunks(123) {
            add_all(std::slice::from_mut(&mut parts), 2, &[part.to_vec()], seed);
            let text = serde_json::to_string(&parts).unwrap();
            parts = serde_json::from_str(&text).unwrap();
        }
        assert_eq!(parts, whole);
        let good = serde_json::to_value(&whole).unwrap();
        for (key, value) in [
            ("past", serde_json::json!(99_999)),
            ("threshold", serde_json::json!(null)),
            ("counts", serde_json::json!([[1, 0]])),
            ("alarm", serde_json::json!(701)),
            ("largest", serde_json::json!(-50.0)),
            ("extra", serde_json::json!(1)),
        ] {
            let mut broken = good.clone();
            broken[key] = value;
            assert!(serde_json::from_value::<Process>(broken).is_err(), "{key}");
        }
    }
}
