//! Progress of long work, and its cancellation between two steps.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Called with `(done, total)` as work proceeds, from any of its threads, and as often as the work can be cancelled:
/// `done` may stay the same between two calls. Returning false cancels the work.
pub type Ticker<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// The caller stopped the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled {
    /// Finished pieces of work.
    pub done: usize,
    /// All pieces; 0 where the number was not known.
    pub total: usize,
    /// What a piece is, in the plural: `rows`, `epochs`, `fits`.
    pub unit: &'static str,
}

impl Cancelled {
    /// Stopped while rows were read or written; a total of 0 is not known.
    pub fn rows(done: usize, total: usize) -> Self {
        Cancelled { done, total, unit: "rows" }
    }
}

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cancelled { done, total: 0, unit } => write!(f, "stopped on request after {done} {unit}"),
            Cancelled { done, total, unit } => write!(f, "stopped on request after {done} of {total} {unit}"),
        }
    }
}

impl std::error::Error for Cancelled {}

/// Pieces of work, how many of them are finished, and the caller's ticker.
pub struct Work<'a> {
    done: AtomicUsize,
    total: AtomicUsize,
    unit: &'static str,
    tick: Ticker<'a>,
}

impl<'a> Work<'a> {
    /// Work of this many pieces; the ticker is called with none of them done.
    pub fn new(total: usize, unit: &'static str, tick: Ticker<'a>) -> Self {
        Self::resumed(0, total, unit, tick)
    }

    /// The same where some pieces were finished before.
    pub fn resumed(done: usize, total: usize, unit: &'static str, tick: Ticker<'a>) -> Self {
        tick(done, total);
        Work { done: AtomicUsize::new(done), total: AtomicUsize::new(total), unit, tick }
    }

    /// Work whose pieces are [announced](Self::announce) as they become known; without a ticker nobody follows it.
    pub fn open(unit: &'static str, tick: Option<Ticker<'a>>) -> Self {
        let tick = tick.unwrap_or(&|_, _| true);
        Work { done: AtomicUsize::new(0), total: AtomicUsize::new(0), unit, tick }
    }

    /// This many more pieces will follow.
    pub fn announce(&self, pieces: usize) {
        self.total.fetch_add(pieces, Ordering::Relaxed);
    }

    /// Counts a finished piece; fails if the work is cancelled.
    pub fn advance(&self) -> Result<(), Cancelled> {
        self.advance_by(1)
    }

    /// Counts several finished pieces; fails if the work is cancelled.
    pub fn advance_by(&self, pieces: usize) -> Result<(), Cancelled> {
        self.done.fetch_add(pieces, Ordering::Relaxed);
        self.check()
    }

    /// Fails if the work is cancelled. To be called between steps that take longer than a moment.
    pub fn check(&self) -> Result<(), Cancelled> {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        // What was not announced counts as well.
        let total = if total > 0 { total.max(done) } else { 0 };
        if (self.tick)(done, total) { Ok(()) } else { Err(Cancelled { done, total, unit: self.unit }) }
    }
}

#[cfg(test)]
impl Work<'static> {
    /// Work that nobody follows.
    pub(crate) fn unwatched() -> Self {
        Work::new(1, "steps", &|_, _| true)
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
        let work = Work::new(3, "fits", &tick);
        work.check().unwrap();
        work.advance().unwrap();
        let stopped = work.advance().unwrap_err();
        assert_eq!(stopped, Cancelled { done: 2, total: 3, unit: "fits" });
        assert_eq!(stopped.to_string(), "stopped on request after 2 of 3 fits");
        assert!(work.check().is_err());
        assert_eq!(*told.lock().unwrap(), [(0, 3), (0, 3), (1, 3), (2, 3), (2, 3)]);
    }

    #[test]
    fn pieces_can_be_announced_one_after_the_other() {
        let told = Mutex::new(Vec::new());
        let tick = |done: usize, total: usize| {
            told.lock().unwrap().push((done, total));
            done < 3
        };
        let work = Work::open("steps", Some(&tick));
        work.announce(2);
        work.advance().unwrap();
        work.announce(3);
        work.advance().unwrap();
        assert!(work.advance().is_err());
        assert_eq!(*told.lock().unwrap(), [(1, 2), (2, 5), (3, 5)]);
        let rows = Work::new(0, "rows", &|_, _| false).advance_by(25).unwrap_err();
        assert_eq!(rows.to_string(), "stopped on request after 25 rows");
    }
}
