//! Progress of long work, and its cancellation between two steps.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The total of work that is counted by its cost: thousandths.
pub const PARTS: usize = 1000;
/// The unit of such work.
const COST: &str = "thousandths";

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
            Cancelled { done, total: PARTS, unit: COST } => {
                write!(f, "stopped on request after {} % of the work", done * 100 / PARTS)
            }
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

    /// Work of this cost, whose pieces differ: the ticker is called with [`PARTS`] as the total.
    pub fn of_cost(total: Cost, tick: Ticker<'a>) -> Self {
        tick(0, PARTS);
        Work { done: AtomicUsize::new(0), total: AtomicUsize::new(total.0), unit: COST, tick }
    }

    /// A piece of work of known cost.
    pub fn piece(&self, cost: Cost) -> Piece<'_, 'a> {
        Piece { work: self, left: AtomicUsize::new(cost.0) }
    }

    /// Runs a piece of work that is finished as a whole.
    pub fn spend<T, E: From<Cancelled>>(&self, cost: Cost, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let piece = self.piece(cost);
        let done = work()?;
        piece.advance(cost)?;
        Ok(done)
    }

    /// Counts everything as done: what was expected of the pieces is not exact.
    pub fn finish(&self) -> Result<(), Cancelled> {
        self.total.store(self.done.load(Ordering::Relaxed).max(1), Ordering::Relaxed);
        self.done.store(self.total.load(Ordering::Relaxed), Ordering::Relaxed);
        self.check()
    }

    /// So much work turned out not to be needed.
    pub fn spare(&self, cost: Cost) {
        let _ = self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |t| Some(t.saturating_sub(cost.0)));
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
        let (done, total) = if self.unit == COST { (thousandths(done, total), PARTS) } else { (done, total) };
        if (self.tick)(done, total) { Ok(()) } else { Err(Cancelled { done, total, unit: self.unit }) }
    }
}

fn thousandths(done: usize, total: usize) -> usize {
    (PARTS as f64 * done as f64 / total.max(1) as f64) as usize
}

/// What work is expected to cost: about nanoseconds of one core of a machine of 2024. Only ratios matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(usize);

impl Cost {
    /// Of so many nanoseconds.
    pub fn of(nanoseconds: f64) -> Self {
        // Conversions saturate; the sum of all pieces must still fit.
        Cost((nanoseconds.max(0.0) as usize).min(usize::MAX >> 16))
    }

    /// In nanoseconds.
    pub fn get(self) -> f64 {
        self.0 as f64
    }
}

impl std::ops::Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0))
    }
}

impl std::ops::Mul<usize> for Cost {
    type Output = Cost;
    fn mul(self, times: usize) -> Cost {
        Cost(self.0.saturating_mul(times))
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), |a, b| a + b)
    }
}

/// A piece of work of known cost. What it has not spent when it ends was not needed, and is taken off the total.
pub struct Piece<'w, 'a> {
    work: &'w Work<'a>,
    left: AtomicUsize,
}

impl Piece<'_, '_> {
    /// Counts a part of the piece, at most what is left of it; fails if the work is cancelled.
    pub fn advance(&self, cost: Cost) -> Result<(), Cancelled> {
        let take = |left: usize| Some(left.saturating_sub(cost.0));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        self.work.advance_by(before.min(cost.0))
    }

    /// Fails if the work is cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.work.check()
    }
}

impl Drop for Piece<'_, '_> {
    fn drop(&mut self) {
        self.work.spare(Cost(*self.left.get_mut()));
    }
}

/// The ticker of one of several equal parts of work that is counted by its cost.
pub fn part_of<'t>(tick: Ticker<'t>, part: usize, parts: usize) -> impl Fn(usize, usize) -> bool + Sync + 't {
    move |done, total| tick((part * PARTS + thousandths(done, total)) / parts.max(1), PARTS)
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
    fn work_is_counted_by_its_cost_and_what_is_not_needed_is_taken_off() {
        let told = Mutex::new(Vec::new());
        let tick = |done: usize, total: usize| {
            told.lock().unwrap().push((done, total));
            done < 900
        };
        let cost = Cost::of(40.0);
        let work = Work::of_cost(cost * 2 + Cost::of(20.0), &tick);
        let path = work.piece(cost);
        path.advance(Cost::of(10.0)).unwrap();
        // A piece that ends early: 70 are left of 100.
        drop(path);
        work.check().unwrap();
        work.spend(Cost::of(20.0), || Ok::<(), Cancelled>(())).unwrap();
        // A piece that takes longer than it was expected to ends where it was expected to.
        let longer = work.piece(cost);
        longer.advance(Cost::of(20.0)).unwrap();
        let stopped = longer.advance(Cost::of(1e30)).unwrap_err();
        assert_eq!(stopped.to_string(), "stopped on request after 100 % of the work");
        let expected = [(0, 1000), (100, 1000), (142, 1000), (428, 1000), (714, 1000), (1000, 1000)];
        assert_eq!(*told.lock().unwrap(), expected);
        work.spare(Cost::of(1e9));
        assert!(work.check().is_err());
        Work::of_cost(Cost::of(5.0), &tick).finish().unwrap_err();
        assert_eq!(told.lock().unwrap().split_off(7), [(0, 1000), (1000, 1000)]);
        // Progress never goes back, whatever is spent and spared.
        let done: Vec<usize> = told.lock().unwrap().iter().map(|t| t.0).collect();
        assert!(done.is_sorted());
    }

    #[test]
    fn equal_parts_count_on() {
        let told = Mutex::new(Vec::new());
        let tick = |done: usize, total: usize| {
            told.lock().unwrap().push((done, total));
            true
        };
        for part in 0..2 {
            let within = part_of(&tick, part, 2);
            let work = Work::new(2, "fits", &within);
            work.advance().unwrap();
            work.advance().unwrap();
        }
        assert_eq!(*told.lock().unwrap(), [0, 250, 500, 500, 750, 1000].map(|done| (done, 1000)));
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
