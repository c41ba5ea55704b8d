//! Coverage of every promise over independent replications, in many situations: one table of cells that the tests and
//! the full run share.

// Each test uses what it needs of this.
#![allow(dead_code)]

pub mod classes;
pub mod judge;
pub mod labels;
pub mod regression;
pub mod situations;
pub mod worlds;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use stonet::classification::SetScheme;
use stonet::metrics::mean_sd;
use stonet::{Kind, Result, Seed};

/// Independent replications of every cell of the full run.
pub const REPLICATIONS: usize = 200;
/// New rows of every replication.
pub const NEW_ROWS: usize = 200;

/// What is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    Intervals(Kind),
    Sets(SetScheme),
    /// Bounds of accuracy, alone or beside sets.
    Accuracy(Option<SetScheme>),
}

/// How rows are drawn.
#[derive(Debug, Clone, Copy)]
pub enum World {
    Regression(worlds::World),
    Classes(labels::World),
}

/// A situation and what is fitted in it.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub world: World,
    pub method: Method,
}

/// One covered share of one replication.
#[derive(Debug, Clone)]
pub struct Share {
    /// Which intervals or sets, at which level, of which rows.
    pub what: String,
    /// The level that was asked for.
    pub level: f64,
    /// What is proven; none where nothing is.
    pub promise: Option<f64>,
    /// The share of the new rows that was covered.
    pub covered: f64,
    /// The share of intervals or sets that exclude nothing.
    pub unbounded: f64,
}

/// One kind of share over all replications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub what: String,
    pub level: f64,
    /// The mean of what is proven.
    pub promise: Option<f64>,
    /// How many replications have it.
    pub replications: usize,
    /// Mean coverage.
    pub coverage: f64,
    /// Mean and standard deviation of coverage less promise, or less level where nothing is promised.
    pub excess: f64,
    pub sd: f64,
    pub unbounded: f64,
}

impl Method {
    pub fn name(self) -> String {
        match self {
            Method::Intervals(kind) => kind.name().to_owned(),
            Method::Sets(scheme) => format!("sets, {}", scheme_name(scheme)),
            Method::Accuracy(None) => "accuracy bounds".to_owned(),
            Method::Accuracy(Some(scheme)) => format!("accuracy bounds beside sets, {}", scheme_name(scheme)),
        }
    }
}

fn scheme_name(scheme: SetScheme) -> &'static str {
    if matches!(scheme, SetScheme::Split { .. }) { "split" } else { "cv+" }
}

impl Cell {
    pub fn situation(&self) -> &'static str {
        match self.world {
            World::Regression(w) => w.name,
            World::Classes(w) => w.name,
        }
    }

    pub fn rows(&self) -> usize {
        match self.world {
            World::Regression(w) => w.rows,
            World::Classes(w) => w.rows,
        }
    }

    /// The seed of one replication: every method meets the same rows.
    fn seed(&self, replication: usize) -> Seed {
        let name = self.situation().bytes().fold(0u64, |h, b| h.wrapping_mul(1_000_003).wrapping_add(u64::from(b)));
        Seed::new(21).child(name).child(replication as u64)
    }

    fn replicate(&self, replication: usize) -> Result<Vec<Share>> {
        let seed = self.seed(replication);
        match (self.world, self.method) {
            (World::Regression(world), Method::Intervals(kind)) => regression::shares(&world, kind, seed),
            (World::Classes(world), Method::Sets(scheme)) => classes::set_shares(&world, scheme, seed),
            (World::Classes(world), Method::Accuracy(scheme)) => classes::accuracy_shares(&world, scheme, seed),
            _ => unreachable!("intervals are of regressions, sets and accuracies of classes"),
        }
    }

    /// All shares over so many replications; an error of one of them is the error of the cell.
    pub fn run(&self, replications: usize) -> Result<Vec<Found>> {
        let all: Vec<Vec<Share>> =
            (0..replications).into_par_iter().map(|r| self.replicate(r)).collect::<Result<_>>()?;
        let mut names: Vec<&str> = Vec::new();
        for share in all.iter().flatten() {
            if !names.contains(&share.what.as_str()) {
                names.push(&share.what);
            }
        }
        let of = |name: &&str| summed(&all.iter().flatten().filter(|s| s.what == *name).collect::<Vec<_>>());
        // Classes and groups that are rarely there have too few replications for a test.
        Ok(names.iter().map(of).filter(|f| 2 * f.replications > replications).collect())
    }
}

/// Mean and spread of one kind of share. A promise that some replications lack is judged where it is given.
fn summed(shares: &[&Share]) -> Found {
    let promised: Vec<&&Share> = shares.iter().filter(|s| s.promise.is_some()).collect();
    let shares = if promised.is_empty() { shares.iter().collect() } else { promised };
    let mean = |of: &dyn Fn(&Share) -> f64| shares.iter().map(|s| of(s)).sum::<f64>() / shares.len() as f64;
    let excess: Vec<f64> = shares.iter().map(|s| s.covered - s.promise.unwrap_or(s.level)).collect();
    let (average, sd) = mean_sd(&excess);
    Found {
        what: shares[0].what.clone(),
        level: shares[0].level,
        promise: shares[0].promise.map(|_| mean(&|s| s.promise.unwrap_or(0.0))),
        replications: shares.len(),
        coverage: mean(&|s| s.covered),
        excess: average,
        sd,
        unbounded: mean(&|s| s.unbounded),
    }
}
