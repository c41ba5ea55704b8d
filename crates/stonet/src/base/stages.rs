//! Where the time of long work goes: stages by name, timed across threads.
//!
//! At every moment the time is divided equally among the threads that are inside a stage, so the seconds of all stages
//! add up to the time on the clock. A thread that waits for others inside a stage and is given other work meanwhile
//! counts for the stage of that work. Nothing is timed unless a [`Recording`] is under way.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

static ON: AtomicBool = AtomicBool::new(false);
static TABLE: Mutex<Table> = Mutex::new(Table { number: 0, stages: Vec::new(), since: None });

thread_local! {
    /// The stages this thread is inside of, by recording and place in the table; the innermost is last.
    static INSIDE: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The time of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// What is done.
    pub name: &'static str,
    /// κ, where the stage is one of a path.
    pub kappa: Option<f64>,
    /// Its part of the time on the clock.
    pub seconds: f64,
    /// How often it began.
    pub times: usize,
}

struct Stage {
    time: StageTime,
    /// Threads inside.
    threads: usize,
}

struct Table {
    /// Of the recording: what began under another one is not counted.
    number: u64,
    stages: Vec<Stage>,
    since: Option<Instant>,
}

impl Table {
    /// Gives the time since the last change to the stages that threads are inside of.
    fn settle(&mut self) {
        let now = Instant::now();
        let passed = self.since.map_or(0.0, |since| now.duration_since(since).as_secs_f64());
        let threads: usize = self.stages.iter().map(|s| s.threads).sum();
        for stage in self.stages.iter_mut().filter(|s| s.threads > 0) {
            stage.time.seconds += passed * stage.threads as f64 / threads as f64;
        }
        self.since = Some(now);
    }

    fn place(&mut self, name: &'static str, kappa: Option<f64>) -> usize {
        let there = self.stages.iter().position(|s| s.time.name == name && s.time.kappa == kappa);
        there.unwrap_or_else(|| {
            self.stages.push(Stage { time: StageTime { name, kappa, seconds: 0.0, times: 0 }, threads: 0 });
            self.stages.len() - 1
        })
    }
}

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs work as a stage of this name. Costs one look at a flag where nothing is recorded.
pub fn stage<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    timed(name, None, work)
}

/// The same at one κ of a path.
pub fn stage_at<T>(name: &'static str, kappa: f64, work: impl FnOnce() -> T) -> T {
    timed(name, Some(kappa), work)
}

fn timed<T>(name: &'static str, kappa: Option<f64>, work: impl FnOnce() -> T) -> T {
    if !ON.load(Ordering::Relaxed) {
        return work();
    }
    let _inside = Inside::enter(name, kappa);
    work()
}

/// A thread inside a stage, until it is dropped.
struct Inside;

impl Inside {
    fn enter(name: &'static str, kappa: Option<f64>) -> Self {
        let mut table = table();
        table.settle();
        let place = table.place(name, kappa);
        table.stages[place].threads += 1;
        table.stages[place].time.times += 1;
        INSIDE.with_borrow_mut(|inside| {
            if let Some(outer) = inside.last() {
                table.change(*outer, |threads| threads.saturating_sub(1));
            }
            inside.push((table.number, place));
        });
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut table = table();
        table.settle();
        INSIDE.with_borrow_mut(|inside| {
            let left = inside.pop();
            left.into_iter().for_each(|stage| table.change(stage, |threads| threads.saturating_sub(1)));
            inside.last().into_iter().for_each(|outer| table.change(*outer, |threads| threads + 1));
        });
    }
}

impl Table {
    fn change(&mut self, (number, place): (u64, usize), threads: impl Fn(usize) -> usize) {
        if let Some(stage) = self.stages.get_mut(place).filter(|_| number == self.number) {
            stage.threads = threads(stage.threads);
        }
    }
}

/// A recording of stages, of all threads of the process; a later one takes over from an earlier one.
pub struct Recording {
    begin: Instant,
}

impl Recording {
    /// Begins.
    pub fn begin() -> Self {
        let mut table = table();
        *table = Table { number: table.number + 1, stages: Vec::new(), since: None };
        ON.store(true, Ordering::Relaxed);
        Recording { begin: Instant::now() }
    }

    /// Ends; returns the stages in the order in which they first began, and the seconds since the beginning. Seconds
    /// outside of all stages are those that are left.
    pub fn end(self) -> (Vec<StageTime>, f64) {
        ON.store(false, Ordering::Relaxed);
        let mut table = table();
        table.settle();
        let stages = std::mem::take(&mut table.stages).into_iter().map(|s| s.time).collect();
        table.number += 1;
        (stages, self.begin.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, MutexGuard};
    use std::thread::{scope, sleep};
    use std::time::Duration;

    /// One recording at a time: tests run side by side.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(stages: &[StageTime], name: &str) -> f64 {
        stages.iter().find(|s| s.name == name).unwrap().seconds
    }

    #[test]
    fn nothing_is_recorded_outside_of_a_recording() {
        let _alone = alone();
        assert_eq!(stage("test: never", || 3), 3);
        let (stages, _) = Recording::begin().end();
        assert!(stages.iter().all(|s| s.name != "test: never"));
    }

    #[test]
    fn an_inner_stage_takes_over_from_the_outer_one() {
        let _alone = alone();
        let recording = Recording::begin();
        stage("test: outer", || {
            sleep(Duration::from_millis(20));
            stage_at("test: inner", 0.5, || sleep(Duration::from_millis(60)));
            sleep(Duration::from_millis(20));
        });
        let (stages, seconds) = recording.end();
        let (outer, inner) = (of(&stages, "test: outer"), of(&stages, "test: inner"));
        assert!(outer >= 0.0 && inner > 0.0);
        // Other tests may be inside stages of their own, which have their part.
        assert!(stages.iter().map(|s| s.seconds).sum::<f64>() <= seconds * 1.000_001);
        let inner = stages.iter().find(|s| s.name == "test: inner").unwrap();
        assert_eq!((inner.kappa, inner.times), (Some(0.5), 1));
    }

    #[test]
    fn threads_share_the_time_on_the_clock() {
        let _alone = alone();
        let recording = Recording::begin();
        let both = Barrier::new(2);
        let work = |name: &'static str| {
            stage(name, || {
                both.wait();
                sleep(Duration::from_millis(50));
                both.wait();
            });
        };
        scope(|s| {
            s.spawn(|| work("test: left"));
            s.spawn(|| work("test: right"));
        });
        let (stages, seconds) = recording.end();
        let (left, right) = (of(&stages, "test: left"), of(&stages, "test: right"));
        assert!(left > 0.0 && right > 0.0 && left + right <= seconds * 1.000_001);
        assert!(stages.iter().map(|s| s.seconds).sum::<f64>() <= seconds * 1.000_001);
    }

    #[test]
    fn a_stage_ends_with_its_panic_and_with_its_recording() {
        let _alone = alone();
        let recording = Recording::begin();
        let panicked = std::panic::catch_unwind(|| stage("test: panic", || panic!("on purpose")));
        assert!(panicked.is_err());
        let before = of(&recording.end().0, "test: panic");
        // Another recording inside of a stage that began before it.
        let first = Recording::begin();
        let stages = stage("test: across", || {
            let second = Recording::begin();
            stage("test: within", || sleep(Duration::from_millis(5)));
            second.end().0
        });
        assert!(of(&stages, "test: within") > 0.0 && stages.iter().all(|s| s.name != "test: across"));
        assert!(first.end().0.iter().all(|s| !s.name.starts_with("test:")) && before >= 0.0);
        assert!(INSIDE.with_borrow(|inside| inside.is_empty()));
    }
}
