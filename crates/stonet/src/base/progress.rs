//! Work that is counted piece by piece and can be cancelled between its steps.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, Result};

/// Called with `(done, total)` as work proceeds, from any of its threads, and as often as the work can be cancelled: `done` may stay the same
/// between two calls. Returning false cancels the work.
pub type Ticker<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// Pieces of work, how many of them are finished, and the caller's ticker.
pub(crate) struct Work<'a> {
    done: AtomicUsize,
    total: usize,
    tick: Ticker<'a>,
}

impl<'a> Work<'a> {
    /// Work of this many pieces; the ticker is called with none of them done.
    pub(crate) fn new(total: usize, tick: Ticker<'a>) -> Self {
        tick(0, total);
        Work { done: AtomicUsize::new(0), total, tick }
    }

    /// Counts a finished piece; fails if the work is cancelled.
    pub(crate) fn advance(&self) -> Result<()> {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.check()
    }

    /// Fails if the work is cancelled. To be called between steps that take longer than a moment.
    pub(crate) fn check(&self) -> Result<()> {
        let done = self.done.load(Ordering::Relaxed);
        if (self.tick)(done, self.total) { Ok(()) } else { Err(Error::Cancelled { epochs: done }) }
    }
}

#[cfg(test)]
impl Work<'static> {
    /// Work that nobody follows.
    pub(crate) fn unwatched() -> Self {
        Work::new(1, &|_, _| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn pieces_are_counted_and_a_refusal_cancels() {
        let told = Mutex::new(Vec::new());
        let tick = |done: usize, total: usize| {
            told.lock().unwrap().push((done, total));
            done < 2
        };
        let work = Work::new(3, &tick);
        work.check().unwrap();
        work.advance().unwrap();
        assert!(matches!(work.advance(), Err(Error::Cancelled { epochs: 2 })));
        assert!(work.check().is_err());
        assert_eq!(*told.lock().unwrap(), [(0, 3), (0, 3), (1, 3), (2, 3), (2, 3)]);
    }
}
