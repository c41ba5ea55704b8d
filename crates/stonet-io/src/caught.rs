//! Calls to libraries that panic on hostile input: their panics are caught and print nothing; other panics print as
//! usual.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the threads of the ONNX runtime rten are called; they run nothing else, and their panics arrive at the caller.
const RUNTIME_THREADS: &str = "rten-";

thread_local! {
    /// Sections that this thread is in.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// Sections that any thread is in.
static ANYWHERE: AtomicUsize = AtomicUsize::new(0);

struct Section;

impl Section {
    fn enter() -> Self {
        HERE.with(|here| here.set(here.get() + 1));
        ANYWHERE.fetch_add(1, Ordering::SeqCst);
        Section
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        HERE.with(|here| here.set(here.get() - 1));
        ANYWHERE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The result of the work; none if it panicked, of which nothing is printed. `panic = "abort"` would still end the
/// program.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let section = Section::enter();
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    drop(section);
    result
}

/// Puts a hook before the one that prints, once.
fn install() {
    static INSTALLED: Once = Once::new();
    // A hook cannot be taken while this thread panics.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let printing = take_hook();
        set_hook(Box::new(move |panic| {
            if !is_caught() {
                printing(panic);
            }
        }));
    });
}

/// Whether a panic of this thread ends in [`caught`].
fn is_caught() -> bool {
    let of_runtime = || std::thread::current().name().is_some_and(|n| n.starts_with(RUNTIME_THREADS));
    HERE.try_with(|here| here.get() > 0).unwrap_or(false) || ANYWHERE.load(Ordering::SeqCst) > 0 && of_runtime()
}
