//! `reproduce uci`: the paper's protocol on every set that has a file.

use std::path::{Path, PathBuf};

use stonet::Ticker;
use stonet_compare::benchmark::{self, Plan, Protocol, Set};

use super::report::Report;
use super::{UciSet, load};
use crate::{Error, Result};

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where the files are.
    pub data: PathBuf,
    /// Sets to run.
    pub sets: Vec<UciSet>,
    /// Random splits per set.
    pub splits: usize,
    /// Epochs of the networks; the paper's if not given.
    pub epochs: Option<usize>,
    /// Random seed.
    pub seed: u64,
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn run(options: &Options, dir: &Path, tick: Ticker<'_>) -> Result<Report> {
    let protocol = Protocol::shipped();
    let (mut sets, mut no_data, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for &set in &options.sets {
        match load(set, &options.data)? {
            None => no_data.push(set.name().to_owned()),
            Some(loaded) => {
                notes.extend(loaded.note.map(|n| format!("{set}: {n}")));
                let epochs = options.epochs.unwrap_or_else(|| protocol.epochs(set.name()));
                // The paper's methods see the last hidden layer alone.
                let (name, groups, also) = (set.name().to_owned(), None, false);
                sets.push(Set { name, data: loaded.data, epochs, groups, also });
            }
        }
    }
    if sets.is_empty() {
        return Err(Error::NoData { dir: options.data.clone(), sets: no_data.join(", ") });
    }
    let plan = Plan { protocol, splits: options.splits, seed: options.seed };
    let summaries = benchmark::run(&sets, plan, dir, tick)?;
    Ok(Report::new(options.seed, summaries, no_data, notes))
}
