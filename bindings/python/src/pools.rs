//! Pools of threads that a process keeps by their number of threads.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Pools that are kept; the one that was not used for the longest time goes first.
const KEPT: usize = 4;

/// The pools of one process.
struct Pools {
    process: u32,
    /// By the number of threads, 0 for all cores; the last one that was used stands first.
    all: Mutex<Vec<(usize, Arc<ThreadPool>)>>,
}

/// Those of this process, or of the one that it was forked from.
static POOLS: AtomicPtr<Pools> = AtomicPtr::new(std::ptr::null_mut());

/// The pools of this process. A fork has none of its parent's threads, and a thread of the parent may have held the
/// lock when it was made: it begins anew, and what it inherits stays where it is.
fn own() -> &'static Pools {
    let process = std::process::id();
    loop {
        let found = POOLS.load(Ordering::Acquire);
        // SAFETY: the pointer is null or one that was leaked below, which is never freed.
        if let Some(pools) = unsafe { found.as_ref() }
            && pools.process == process
        {
            return pools;
        }
        let new = Box::into_raw(Box::new(Pools { process, all: Mutex::new(Vec::new()) }));
        if POOLS.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: another thread was first, and nobody has seen this one.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

/// A pool of so many threads, or of one per core, made only if it is not there yet.
pub fn kept(jobs: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let threads = jobs.unwrap_or(0);
    let mut all = own().all.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = match all.iter().position(|(t, _)| *t == threads) {
        Some(place) => all.remove(place).1,
        None => Arc::new(new(jobs)?),
    };
    all.insert(0, (threads, pool.clone()));
    all.truncate(KEPT);
    Ok(pool)
}

/// A pool of so many threads, or of one per core.
pub fn new(jobs: Option<usize>) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    pool.map_err(|e| PyRuntimeError::new_err(format!("no threads to work on: {e}")))
}
