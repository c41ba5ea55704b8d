//! Long work beside the interpreter: the lock released, progress told, Ctrl-C heard, and no panic that gets out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use stonet::Ticker;

use crate::pools;

/// How often the calling thread looks at signals and tells of progress.
const GLANCE: Duration = Duration::from_millis(50);
/// How long work that was told to stop is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

static PROCESS: OnceLock<u32> = OnceLock::new();

/// Remembers which process loaded the module: a fork has none of the threads of rayon's pool, and would wait for them
/// for ever.
pub fn remember_process() {
    PROCESS.get_or_init(std::process::id);
}

/// Rows for which the interpreter's lock is kept: one tile of a scorer. Where other threads of Python are busy, a lock
/// that was given away comes back after the interpreter's switch interval, 5 ms.
const TILE: usize = 32;
/// Rows that a scorer gives to one thread in any case.
const BLOCK: usize = 1024;

/// Runs short work with the interpreter's lock released, on so many threads or on all cores.
pub fn run<T: Send>(py: Python<'_>, jobs: Option<usize>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| pooled(jobs, work)?)
}

/// Scores so many rows: a few on the calling thread, many as [`run`] does.
pub fn score<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    rows: usize,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    match rows {
        few if few <= TILE => caught(work)?,
        some if some <= BLOCK => py.detach(|| caught(work)?),
        _ => run(py, jobs, work),
    }
}

/// Runs work on so many threads or on all cores, in a pool that is kept.
pub fn pooled<T: Send>(jobs: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if jobs.is_none() && PROCESS.get() == Some(&std::process::id()) {
        return caught(work);
    }
    pools::kept(jobs)?.install(|| caught(work))
}

/// The same in a pool of its own: long work that is left behind must not keep others waiting.
fn alone<T: Send>(jobs: Option<usize>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if jobs.is_none() && PROCESS.get() == Some(&std::process::id()) {
        return caught(work);
    }
    pools::new(jobs)?.install(|| caught(work))
}

/// A panic is a bug of ours; Python hears of it as of any other error.
fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(bug)
}

fn bug(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    PyRuntimeError::new_err(format!("a bug in stonet, please report it: {}", text.unwrap_or("no details")))
}

/// How far work is, and whether it is to stop.
#[derive(Default)]
struct State {
    done: AtomicUsize,
    total: AtomicUsize,
    stop: AtomicBool,
}

impl State {
    fn tick(&self, done: usize, total: usize) -> bool {
        self.total.store(total, Ordering::Relaxed);
        // Several threads tell; what is done is never undone.
        self.done.fetch_max(done, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }

    fn now(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Runs long work on a thread of its own. The calling thread is the only one that Python's signals reach and that a
/// callback expects to be called on: it waits, and every now and then calls `progress(done, total)` and looks for
/// Ctrl-C. Either may raise, which ends the work.
///
/// Work ends where it asks its ticker whether to go on. Inside a large factorisation it does not ask for many seconds:
/// then the caller gets its exception after [`PATIENCE`], and the work, which owns all that it needs, is left behind
/// until it asks the next time.
pub fn follow<T: Send + 'static>(
    py: Python<'_>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(Ticker<'_>) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let state = Arc::new(State::default());
    let progress = progress.map(Bound::unbind);
    let mut told = (0, 0);
    let mut look = || {
        Python::attach(|py| {
            py.check_signals()?;
            let now = state.now();
            match &progress {
                Some(call) if now != told && now.1 > 0 => {
                    told = now;
                    call.call1(py, now).map(drop)
                }
                _ => Ok(()),
            }
        })
    };
    let working = state.clone();
    py.detach(|| {
        let (sender, receiver) = channel::<PyResult<T>>();
        std::thread::spawn(move || {
            let result = alone(jobs, || work(&|done, total| working.tick(done, total)));
            // Nobody waits for work that was left behind.
            let _ = sender.send(result.and_then(|result| result));
        });
        loop {
            match receiver.recv_timeout(GLANCE) {
                Ok(result) => {
                    let result = result?;
                    look()?;
                    return Ok(result);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(bug(Box::new("a thread ended without a result"))),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = look() {
                        state.stop.store(true, Ordering::Relaxed);
                        let _ = receiver.recv_timeout(PATIENCE);
                        return Err(raised);
                    }
                }
            }
        }
    })
}

/// The number of threads that `n_jobs` asks for; none for all cores.
pub fn jobs(n_jobs: Option<i64>) -> PyResult<Option<usize>> {
    match n_jobs {
        None | Some(-1) => Ok(None),
        Some(n) if n >= 1 => {
            let threads = usize::try_from(n).unwrap_or(usize::MAX);
            stonet::base::check_threads("n_jobs", threads).map_err(|e| PyValueError::new_err(e.to_string()))?;
            Ok(Some(threads))
        }
        Some(n) => Err(PyValueError::new_err(format!("n_jobs is {n}; it must be None, -1 or at least 1"))),
    }
}
