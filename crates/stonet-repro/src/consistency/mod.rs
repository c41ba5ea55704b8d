//! `reproduce consistency`: prediction error and input selection as n grows, for every trainer and penalty
//! (`thm:stonet-IRO`, `cor:stonet-IRO`).
//!
//! Weights are identified only up to symmetries, so the error is that of the function, E(μ̂ − μ)² on fresh inputs. κ of
//! a method is chosen once per model on pilot sets and then falls as n^(−1/2).

mod fit;
mod report;
mod spec;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::Seed;
use stonet::base::streams::{consistency, experiments};
use stonet::train::{Algorithm, LossCurve};

pub use fit::Judged;
pub use report::{Report, Row};
pub use spec::{Method, ModelSpec, Spec};

use crate::{Error, Result};
use fit::Sample;
use stonet::Ticker;
use stonet_compare::files;
use stonet_compare::journal::{Journal, complete};
use stonet_compare::simulated::Model;

/// The journal's name and version.
const SCHEMA: &str = "stonet.reproduce.consistency/1";

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Models to run.
    pub models: Vec<Model>,
    /// Trainers to run.
    pub trainers: Vec<Algorithm>,
    /// Training sets per model and n.
    pub replicates: usize,
    /// Random seed.
    pub seed: u64,
}

/// A finished piece of work, as saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Record {
    /// One pilot set's error along a method's grid.
    Pilot { model: Model, method: String, index: usize, errors: Vec<f64> },
    /// One training set, by method.
    Replicate { model: Model, rows: usize, index: usize, results: BTreeMap<String, Judged> },
}

#[derive(Default)]
struct Finished {
    pilots: BTreeMap<(Model, String, usize), Vec<f64>>,
    replicates: BTreeMap<(Model, usize, usize), BTreeMap<String, Judged>>,
}

impl Finished {
    fn add(&mut self, record: Record) {
        match record {
            Record::Pilot { model, method, index, errors } => drop(self.pilots.insert((model, method, index), errors)),
            Record::Replicate { model, rows, index, results } => {
                drop(self.replicates.insert((model, rows, index), results));
            }
        }
    }

    /// Error along the grid, pooled over the pilots.
    fn pooled(&self, model: Model, method: &Method) -> Option<LossCurve> {
        let of = |((m, name, _), errors): (&(Model, String, usize), &Vec<f64>)| {
            let own = *m == model && *name == method.name();
            let se = vec![0.0; errors.len()];
            own.then(|| LossCurve { kappas: method.kappas.clone(), loss: errors.clone(), se })
        };
        LossCurve::pool(&self.pilots.iter().filter_map(of).collect::<Vec<_>>())
    }

    fn kappa(&self, model: Model, method: &Method) -> Option<f64> {
        self.pooled(model, method).map(|p| p.kappas[p.best()])
    }
}

/// Runs what `dir`'s journal does not hold yet and reports on all of it.
pub fn run(spec: &Spec, options: &Options, dir: &Path, tick: Ticker<'_>) -> Result<Report> {
    if options.replicates == 0 {
        return Err(Error::range("--replicates", "at least 1"));
    }
    if options.models.is_empty() || options.trainers.is_empty() {
        return Err(Error::range("--models and --trainer", "at least one each"));
    }
    files::create_dir(dir)?;
    let settings = serde_json::json!({
        "seed": options.seed, "spec": spec, "trainers": options.trainers, "version": env!("CARGO_PKG_VERSION"),
    });
    let (journal, old) = Journal::<Record>::open(&dir.join("consistency.jsonl"), SCHEMA, settings)?;
    let mut finished = Finished::default();
    old.into_iter().for_each(|r| finished.add(r));
    let runner = Runner { spec, options, journal: &journal, tick, methods: chosen_methods(spec, options)? };
    runner.pilots(false, &mut finished)?;
    runner.pilots(true, &mut finished)?;
    runner.replicates(&mut finished)?;
    Ok(report::report(spec, options, &runner.methods, &finished))
}

/// The methods of the trainers asked for, and the one that others polish.
fn chosen_methods<'a>(spec: &'a Spec, options: &Options) -> Result<Vec<&'a Method>> {
    let first = spec.first()?;
    let wanted = |m: &&Method| options.trainers.contains(&m.trainer);
    let mut methods: Vec<&Method> = spec.methods.iter().filter(wanted).collect();
    if options.trainers.contains(&Algorithm::Polished) && !methods.contains(&first) {
        methods.insert(0, first);
    }
    Ok(methods)
}

struct Runner<'a> {
    spec: &'a Spec,
    options: &'a Options,
    journal: &'a Journal<Record>,
    tick: Ticker<'a>,
    methods: Vec<&'a Method>,
}

impl Runner<'_> {
    fn root(&self, model: Model) -> Seed {
        Seed::new(self.options.seed).child(experiments::CONSISTENCY.at(u8::from(model).into()))
    }

    /// Pieces of work done, and all there are.
    fn standing(&self, finished: &Finished) -> (usize, usize) {
        let per_model = self.methods.len() * self.spec.pilots + self.spec.rows.len() * self.options.replicates;
        let total = self.options.models.len() * per_model;
        ((finished.pilots.len() + finished.replicates.len()).min(total), total)
    }

    /// Error along the grids; polished methods need the κ of what they polish, and come second.
    fn pilots(&self, polished: bool, finished: &mut Finished) -> Result<()> {
        let mut jobs = Vec::new();
        for &model in &self.options.models {
            for &method in self.methods.iter().filter(|m| (m.trainer == Algorithm::Polished) == polished) {
                let missing = |&i: &usize| !finished.pilots.contains_key(&(model, method.name(), i));
                jobs.extend((0..self.spec.pilots).filter(missing).map(|i| (model, method, i)));
            }
        }
        let standing = self.standing(finished);
        let first = self.spec.first()?;
        let records =
            complete(self.journal, jobs, standing, self.tick, |(model, method, index), _| -> Result<Record> {
                let seed = self.root(model).child(consistency::PILOTS).child(index as u64);
                let sample = Sample::new(self.spec, model, self.spec.pilot_rows, seed)?;
                let start = match finished.kappa(model, first) {
                    Some(kappa) if polished => Some(sample.fit(self.spec, first, kappa, None)?),
                    _ => None,
                };
                let error =
                    |&kappa: &f64| Ok(sample.judge(&sample.fit(self.spec, method, kappa, start.as_ref())?)?.error);
                let errors = method.kappas.iter().map(error).collect::<Result<_>>()?;
                Ok(Record::Pilot { model, method: method.name(), index, errors })
            })?;
        records.into_iter().for_each(|r| finished.add(r));
        Ok(())
    }

    fn replicates(&self, finished: &mut Finished) -> Result<()> {
        let mut jobs = Vec::new();
        for (&model, &rows) in self.options.models.iter().flat_map(|m| self.spec.rows.iter().map(move |r| (m, r))) {
            let missing = |&i: &usize| !finished.replicates.contains_key(&(model, rows, i));
            jobs.extend((0..self.options.replicates).filter(missing).map(|i| (model, rows, i)));
        }
        let standing = self.standing(finished);
        let records = complete(self.journal, jobs, standing, self.tick, |(model, rows, index), _| -> Result<Record> {
            let scale = (self.spec.pilot_rows as f64 / rows as f64).sqrt();
            let kappas = (self.methods.iter())
                .filter_map(|m| finished.kappa(model, m).map(|kappa| (m.name(), kappa * scale)))
                .collect();
            let seed = self.root(model).child(consistency::SETS).child(rows as u64).child(index as u64);
            let results = Sample::new(self.spec, model, rows, seed)?.all(self.spec, &kappas)?;
            Ok(Record::Replicate { model, rows, index, results })
        })?;
        records.into_iter().for_each(|r| finished.add(r));
        Ok(())
    }
}
