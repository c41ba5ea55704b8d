//! The paper's protocol in pieces: the driver keeps the journal, and workers compute splits.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use stonet::{Dataset, Level};
use stonet_compare::Error;
use stonet_compare::benchmark::{Plan, Protocol, Record, Report, Run, Set};
use stonet_io::Model;

use crate::arrays::{Matrix, Numbers, indices};
use crate::error::Raise;
use crate::{settings, work};

/// Everything but the rows that a worker needs.
#[derive(Serialize, Deserialize)]
struct Work {
    version: String,
    name: String,
    epochs: usize,
    also: bool,
    plan: Plan,
}

fn set(name: String, epochs: usize, x: &Matrix<'_>, y: &Matrix<'_>, groups: &Option<Numbers<'_>>) -> PyResult<Set> {
    let groups = groups.as_ref().map(indices).transpose()?;
    let data = Dataset::new(x.as_array().to_owned(), y.as_array().to_owned()).raise()?;
    Ok(Set { name, data, epochs, groups, also: false })
}

/// A benchmark under way.
#[pyclass(frozen, module = "stonet._core")]
pub struct Benchmark {
    set: Set,
    out: PathBuf,
    run: Mutex<Run>,
}

impl Benchmark {
    fn run(&self) -> MutexGuard<'_, Run> {
        // A journal is whole after every line.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn jobs(&self) -> PyResult<Vec<usize>> {
        Ok(self.run().left(std::slice::from_ref(&self.set)).raise()?.into_iter().map(|(_, index)| index).collect())
    }
}

#[pymethods]
impl Benchmark {
    /// Opens or begins the journal in `out`. `also` tells whether inputs join the features; by their number if not given.
    #[new]
    #[pyo3(signature = (x, y, groups, *, name, level, epochs, also, splits, seed, out))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        x: Matrix<'_>,
        y: Matrix<'_>,
        groups: Option<Numbers<'_>>,
        name: String,
        level: f64,
        epochs: usize,
        also: Option<bool>,
        splits: usize,
        seed: u64,
        out: PathBuf,
    ) -> PyResult<Self> {
        if epochs == 0 {
            return Err(Error::Range { name: "--epochs", range: "at least 1" }).raise();
        }
        let protocol = Protocol { level: Level::new(level).raise()?.get(), ..Protocol::shipped() };
        let set = set(name, epochs, &x, &y, &groups)?;
        let also = also.unwrap_or_else(|| protocol.joins_inputs(&set.data));
        let set = Set { also, ..set };
        let run = Run::open(Plan { protocol, splits, seed }, &out).raise()?;
        Ok(Benchmark { set, out, run: Mutex::new(run) })
    }

    /// The numbers of the splits that the journal does not hold yet.
    fn left(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        py.detach(|| self.jobs())
    }

    /// What [`benchmark_split`] needs beside the rows, as JSON.
    fn work(&self) -> PyResult<String> {
        let Set { name, epochs, also, .. } = &self.set;
        let (version, plan) = (Model::VERSION.to_owned(), self.run().plan().clone());
        settings::text(&Work { version, name: name.clone(), epochs: *epochs, also: *also, plan })
    }

    /// Saves what [`benchmark_split`] returned.
    fn add(&self, record: &str) -> PyResult<()> {
        self.run().add(serde_json::from_str::<Record>(record).raise()?).raise()
    }

    /// Writes the files of the command, `benchmark.json` and `benchmark.md`, and returns the JSON.
    fn finish(&self) -> PyResult<String> {
        let left = self.jobs()?;
        if !left.is_empty() {
            return Err(PyValueError::new_err(format!("splits {left:?} are not there yet")));
        }
        let run = self.run();
        let report = Report { summary: &run.summary(&self.set), protocol: &run.plan().protocol };
        report.write(&self.out).raise()?;
        settings::text(&report)
    }
}

/// One split, as JSON.
#[pyfunction]
#[pyo3(signature = (x, y, groups, work, index, n_jobs=None))]
pub fn benchmark_split(
    py: Python<'_>,
    x: Matrix<'_>,
    y: Matrix<'_>,
    groups: Option<Numbers<'_>>,
    work: &str,
    index: usize,
    n_jobs: Option<i64>,
) -> PyResult<String> {
    let Work { version, name, epochs, also, plan } = serde_json::from_str(work).raise()?;
    if version != Model::VERSION {
        let text =
            format!("a worker has stonet {}, and the driver {version}; install the same on both", Model::VERSION);
        return Err(PyValueError::new_err(text));
    }
    let set = Set { also, ..set(name, epochs, &x, &y, &groups)? };
    let record = work::follow(py, work::jobs(n_jobs)?, None, move |tick| plan.record(&set, index, tick).raise())?;
    settings::text(&record)
}
