//! Heads under watch: states of monitors, as the files of the command have them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stonet::monitor::{Family, Monitor, MonitorSettings};
use stonet::{Level, Seed};
use stonet_io::{Claim, Model, MonitorState, Watch, default_level};
use stonet_report::{About, MonitorNames, MonitorReport, monitor_report};

use crate::error::Raise;
use crate::model::{origin, write_page};
use crate::settings;

/// The state of a monitor with the names that its head has for columns.
#[pyclass(frozen, module = "stonet._core")]
pub struct Watched {
    state: Mutex<MonitorState>,
    names: MonitorNames,
    about: About,
}

/// The right to go on with the file of a state, as a context manager.
#[pyclass(module = "stonet._core")]
pub struct StateClaim {
    path: PathBuf,
    held: Option<Claim>,
}

#[pymethods]
impl StateClaim {
    #[new]
    fn new(path: PathBuf) -> Self {
        StateClaim { path, held: None }
    }

    fn __enter__(&mut self) -> PyResult<()> {
        let claim = Claim::new(&self.path).map_err(|e| PyOSError::new_err(format!("{}: {e}", self.path.display())))?;
        self.held = Some(claim.ok_or_else(|| {
            let path = self.path.display();
            PyValueError::new_err(format!(
                "state: another process goes on with {path}, such as `stonet serve`; wait for its end, or name another file"
            ))
        })?);
        Ok(())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&mut self, _error: &Bound<'_, PyTuple>) {
        self.held = None;
    }
}

/// Begins to watch a head.
pub fn begin(model: &Model, alarm: Option<f64>, level: Option<f64>, seed: u64) -> PyResult<Watched> {
    let level = match level {
        Some(level) => Level::new(level).raise()?,
        None => model.level.unwrap_or_else(default_level),
    };
    let new = MonitorSettings::new(level);
    let settings = MonitorSettings { alarm: alarm.unwrap_or(new.alarm), seed: Seed::new(seed), ..new };
    let monitor = Watch::new(model, settings).raise()?.state().clone();
    of(model, MonitorState { head: model.identity().raise()?, monitor })
}

/// Goes on with a state, which must be one of this head and of these settings, where any are given.
pub fn resume(model: &Model, text: &str, source: &str, alarm: Option<f64>, level: Option<f64>) -> PyResult<Watched> {
    let state = MonitorState::from_bytes(Path::new(source), text.as_bytes()).raise()?;
    match state.misfit(&model.identity().raise()?, (alarm, "alarm"), (level, "level")) {
        Some(why) => Err(PyValueError::new_err(format!("{source}: {why}"))),
        None => {
            Watch::resume(model, state.monitor.clone()).raise()?;
            of(model, state)
        }
    }
}

fn of(model: &Model, state: MonitorState) -> PyResult<Watched> {
    let names = MonitorNames { columns: model.columns.watched(), targets: model.columns.targets.clone() };
    let about = About { command: "stonet.monitor(head, X, y)".into(), ..origin("", model) };
    Ok(Watched { state: Mutex::new(state), names, about })
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, MonitorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds rows to the state of this head; an error leaves it as it was.
    pub fn add(&self, model: &Model, rows: impl FnOnce(&mut Watch<'_>) -> PyResult<()>) -> PyResult<()> {
        let mut state = self.lock();
        if state.head != model.identity().raise()? {
            return Err(PyValueError::new_err("this monitor watches another head; begin a new one"));
        }
        let mut watch = Watch::resume(model, state.monitor.clone()).raise()?;
        rows(&mut watch)?;
        state.monitor = watch.state().clone();
        Ok(())
    }

    fn told(&self) -> MonitorReport {
        MonitorReport::new(&self.lock().monitor, &self.names)
    }
}

/// Errors and targets where there were any, and the inputs otherwise.
fn family(monitor: &Monitor, name: Option<&str>) -> PyResult<Family> {
    match name {
        None if monitor.answered() > 0 => Ok(Family::Answers),
        None | Some("inputs") => Ok(Family::Inputs),
        Some("answers") => Ok(Family::Answers),
        Some(other) => Err(PyValueError::new_err(format!("family is {other:?}; give \"answers\" or \"inputs\""))),
    }
}

#[pymethods]
impl Watched {
    /// The text of the file that keeps the state.
    fn to_text(&self) -> PyResult<String> {
        let bytes = self.lock().to_bytes().raise()?;
        String::from_utf8(bytes).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Writes that file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.lock().save(&path).raise()
    }

    /// All that is told, as JSON.
    fn report(&self) -> PyResult<String> {
        settings::text(&self.told())
    }

    /// The row of a family after which the alarm was raised.
    #[pyo3(signature = (of=None))]
    fn alarm(&self, of: Option<&str>) -> PyResult<Option<u64>> {
        let state = self.lock();
        Ok(state.monitor.alarm(family(&state.monitor, of)?))
    }

    /// The same in words: one sentence, and all of it.
    #[pyo3(signature = (of=None))]
    fn words(&self, of: Option<&str>) -> PyResult<(String, String)> {
        let family = family(&self.lock().monitor, of)?;
        let told = self.told();
        Ok((told.verdict(family), told.text(family)))
    }

    /// Writes a page.
    #[pyo3(signature = (path, title, of=None))]
    fn page(&self, path: PathBuf, title: &str, of: Option<&str>) -> PyResult<()> {
        let family = family(&self.lock().monitor, of)?;
        let (told, about) = (self.told(), About { title: title.to_owned(), ..self.about.clone() });
        write_page(Some(&path), || monitor_report(&told, family, &about))
    }
}
