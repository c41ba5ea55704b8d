//! `reproduce simulation`: coverage of nominal 95 % intervals on the illustrative example (Table `CItab`, Figure
//! `stonet_CI`).
//!
//! A cell is a model and a setting. κ is chosen once per cell by cross-validation on pilot sets with seeds of their
//! own; then every replicate draws a training set, trains as the paper does, and judges intervals at the same 500 test
//! inputs with fresh noise.

mod replicate;
mod report;
mod spec;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::Seed;
use stonet::train::LossCurve;

pub use replicate::Replicate;
pub use report::{CellReport, Report};
pub use spec::{Cell, ModelSpec, SelectionSpec, Spec};

use crate::{Error, Result};
use stonet::Ticker;
use stonet_compare::files;
use stonet_compare::journal::{Journal, complete};
use stonet_compare::simulated::Model;

/// The journal's name and version; a change of either begins a new journal.
const SCHEMA: &str = "stonet.reproduce.simulation/1";

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Models to run.
    pub models: Vec<Model>,
    /// Settings to run.
    pub settings: Vec<String>,
    /// Training sets per cell.
    pub replicates: usize,
    /// Random seed.
    pub seed: u64,
}

/// A finished piece of work, as saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Record {
    /// One pilot set's out-of-fold error along the grid.
    Pilot { cell: Cell, index: usize, error: LossCurve },
    /// One replicate.
    Replicate { cell: Cell, index: usize, result: Replicate },
}

/// All that is finished, by cell and index.
#[derive(Default)]
struct Finished {
    pilots: BTreeMap<(Cell, usize), LossCurve>,
    replicates: BTreeMap<(Cell, usize), Replicate>,
}

impl Finished {
    fn add(&mut self, record: Record) {
        match record {
            Record::Pilot { cell, index, error } => drop(self.pilots.insert((cell, index), error)),
            Record::Replicate { cell, index, result } => drop(self.replicates.insert((cell, index), result)),
        }
    }

    fn pooled(&self, cell: &Cell) -> Option<LossCurve> {
        let curves: Vec<LossCurve> =
            self.pilots.iter().filter(|((c, _), _)| c == cell).map(|(_, e)| e.clone()).collect();
        LossCurve::pool(&curves)
    }
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn run(spec: &Spec, options: &Options, dir: &Path, tick: Ticker<'_>) -> Result<Report> {
    if options.replicates == 0 {
        return Err(Error::range("--replicates", "at least 1"));
    }
    if spec.pilots == 0 {
        return Err(Error::range("pilots", "at least 1: kappa is chosen on them"));
    }
    let cells = spec.cells(&options.models, &options.settings)?;
    files::create_dir(dir)?;
    let settings = serde_json::json!({
        "seed": options.seed, "spec": spec.journal_settings(), "version": env!("CARGO_PKG_VERSION"),
    });
    let (journal, old) = Journal::<Record>::open(&dir.join("simulation.jsonl"), SCHEMA, settings)?;
    let mut finished = Finished::default();
    old.into_iter().for_each(|r| finished.add(r));
    let runner =
        Runner { spec, options, journal: &journal, tick, total: cells.len() * (spec.pilots + options.replicates) };
    runner.pilots(&cells, &mut finished)?;
    runner.replicates(&cells, &mut finished)?;
    report::report(spec, options, &cells, &finished)
}

struct Runner<'a> {
    spec: &'a Spec,
    options: &'a Options,
    journal: &'a Journal<Record>,
    tick: Ticker<'a>,
    total: usize,
}

impl Runner<'_> {
    fn root(&self, cell: &Cell) -> Seed {
        cell.seed(Seed::new(self.options.seed))
    }

    fn pilots(&self, cells: &[Cell], finished: &mut Finished) -> Result<()> {
        let missing = jobs(cells, self.spec.pilots, |key| finished.pilots.contains_key(key));
        let done = cells.len() * self.spec.pilots - missing.len();
        self.all(missing, done, finished, |cell, index| {
            let error = replicate::pilot(
                self.spec,
                cell,
                self.root(cell).child(stonet::base::streams::simulation::PILOTS).child(index as u64),
            )?;
            Ok(Record::Pilot { cell: cell.clone(), index, error })
        })
    }

    fn replicates(&self, cells: &[Cell], finished: &mut Finished) -> Result<()> {
        let kappa: BTreeMap<Cell, f64> =
            cells.iter().filter_map(|c| finished.pooled(c).map(|p| (c.clone(), p.kappas[p.best()]))).collect();
        let missing = jobs(cells, self.options.replicates, |key| finished.replicates.contains_key(key));
        let done = self.total - missing.len();
        self.all(missing, done, finished, |cell, index| {
            let result = replicate::replicate(self.spec, cell, kappa[cell], self.root(cell), index)?;
            Ok(Record::Replicate { cell: cell.clone(), index, result })
        })
    }

    /// Every job in parallel; each record is saved as soon as it is there.
    fn all(
        &self,
        jobs: Vec<(Cell, usize)>,
        done: usize,
        finished: &mut Finished,
        work: impl Fn(&Cell, usize) -> Result<Record> + Sync,
    ) -> Result<()> {
        let work = |(cell, index): (Cell, usize), _: Ticker<'_>| work(&cell, index);
        let records = complete(self.journal, jobs, (done, self.total), self.tick, work)?;
        records.into_iter().for_each(|r| finished.add(r));
        Ok(())
    }
}

/// Cells × indices that are not finished.
fn jobs(cells: &[Cell], count: usize, finished: impl Fn(&(Cell, usize)) -> bool) -> Vec<(Cell, usize)> {
    cells.iter().flat_map(|c| (0..count).map(move |i| (c.clone(), i))).filter(|key| !finished(key)).collect()
}
