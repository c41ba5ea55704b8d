//! A benchmark in pieces that need not run in one process: what is left to do, one split, the journal, the summary.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stonet::{Seed, Ticker};
use stonet_io::Model;

use super::report::{self, Summary};
use super::{Protocol, Set, Split, split};
use crate::journal::{Journal, complete};
use crate::{Error, Result, files};

/// The journal's name and version.
const SCHEMA: &str = "stonet.benchmark/1";

/// What is done with every set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How networks are trained and rows are split.
    pub protocol: Protocol,
    /// Random splits.
    pub splits: usize,
    /// Random seed.
    pub seed: u64,
}

/// A finished split, as saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    set: String,
    index: usize,
    /// Of the rows; journals of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    split: Split,
}

impl Plan {
    /// Computes one split of a set, which depends on nothing but its number; `tick` hears of steps of any kind and may
    /// end the work.
    pub fn record(&self, set: &Set, index: usize, tick: Ticker<'_>) -> Result<Record> {
        let split = split(set, &self.protocol, Seed::new(self.seed).child(index as u64), tick)?;
        Ok(Record { set: key(set), index, fingerprint: Some(fingerprint(set)), split })
    }
}

/// A benchmark under way: what its journal holds of it.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    path: PathBuf,
    journal: Journal<Record>,
    finished: BTreeMap<(String, usize), Record>,
}

impl Run {
    /// Opens or begins the journal in `dir`.
    pub fn open(plan: Plan, dir: &Path) -> Result<Self> {
        if plan.splits == 0 {
            return Err(Error::Range { name: "--splits", range: "at least 1" });
        }
        files::create_dir(dir)?;
        let path = dir.join("benchmark.jsonl");
        let settings =
            serde_json::json!({ "seed": plan.seed, "protocol": plan.protocol, "version": env!("CARGO_PKG_VERSION") });
        let (journal, old) = Journal::<Record>::open(&path, SCHEMA, settings)?;
        let finished = old.into_iter().map(|r| ((r.set.clone(), r.index), r)).collect();
        Ok(Run { plan, path, journal, finished })
    }

    /// What is done with every set.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The splits that the journal does not hold yet, small sets first. What it holds must be of the same rows.
    pub fn left<'a>(&self, sets: &'a [Set]) -> Result<Vec<(&'a Set, usize)>> {
        let mut jobs = Vec::new();
        for set in sets {
            let (key, rows) = (key(set), fingerprint(set));
            for index in 0..self.plan.splits {
                match self.finished.get(&(key.clone(), index)) {
                    None => jobs.push((set, index)),
                    Some(r) if r.fingerprint.as_ref().is_some_and(|f| *f != rows) => {
                        return Err(Error::OtherRows { path: self.path.clone(), set: set.name.clone() });
                    }
                    Some(_) => {}
                }
            }
        }
        jobs.sort_by_key(|(set, index)| (*index, set.data.rows()));
        Ok(jobs)
    }

    /// Saves a finished split.
    pub fn add(&mut self, record: Record) -> Result<()> {
        self.journal.append(&record)?;
        self.keep(record);
        Ok(())
    }

    fn keep(&mut self, record: Record) {
        self.finished.insert((record.set.clone(), record.index), record);
    }

    /// The means over a set's splits, of those that are finished.
    pub fn summary(&self, set: &Set) -> Summary {
        let key = key(set);
        let of = |index| self.finished.get(&(key.clone(), index)).map(|r| &r.split);
        let results: Vec<&Split> = (0..self.plan.splits).filter_map(of).collect();
        report::summary(set, &self.plan, &results)
    }
}

/// Runs the splits that `dir`'s journal does not hold yet and sums up all of them, set by set.
pub fn run(sets: &[Set], plan: Plan, dir: &Path, tick: Ticker<'_>) -> Result<Vec<Summary>> {
    let mut run = Run::open(plan, dir)?;
    let jobs = run.left(sets)?;
    let total = run.plan.splits * sets.len();
    let done = total - jobs.len();
    let work = |(set, index): (&Set, usize), tick: Ticker<'_>| run.plan.record(set, index, tick);
    let records = complete(&run.journal, jobs, (done, total), tick, work)?;
    records.into_iter().for_each(|record| run.keep(record));
    Ok(sets.iter().map(|set| run.summary(set)).collect())
}

/// A set under its epochs, grouping and columns: others are other networks or other fits.
fn key(set: &Set) -> String {
    let grouped = if set.groups.is_some() { ", grouped" } else { "" };
    let also = if set.also { ", with inputs" } else { "" };
    format!("{} at {} epochs{grouped}{also}", set.name, set.epochs)
}

/// Digits that tell rows and their groups apart.
fn fingerprint(set: &Set) -> String {
    let groups = set.groups.as_deref().unwrap_or_default();
    let groups = Array2::from_shape_fn((groups.len(), 1), |(row, _)| groups[row] as f64);
    Model::fingerprint_of(&[set.data.x(), set.data.y(), groups.view()])
}
