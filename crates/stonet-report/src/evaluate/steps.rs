//! How far an evaluation is, and whether it is to stop.

use std::cell::Cell;

use stonet::{Error, Result, Ticker};

/// Steps that are announced before they are done.
pub struct Steps<'a> {
    tick: Option<Ticker<'a>>,
    done: Cell<usize>,
    total: Cell<usize>,
}

impl<'a> Steps<'a> {
    pub fn new(tick: Option<Ticker<'a>>) -> Self {
        Steps { tick, done: Cell::new(0), total: Cell::new(0) }
    }

    /// So many more steps will follow.
    pub fn announce(&self, steps: usize) {
        self.total.set(self.total.get() + steps);
    }

    /// One more is done; fails where the caller asks to stop.
    pub fn done(&self) -> Result<()> {
        self.done.set(self.done.get() + 1);
        let (done, total) = (self.done.get(), self.total.get().max(self.done.get()));
        if self.tick.is_none_or(|tick| tick(done, total)) { Ok(()) } else { Err(Error::Cancelled { epochs: done }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_step_is_told_and_a_wish_to_stop_is_heard() {
        let told = Mutex::new(Vec::new());
        let tick = |done: usize, total: usize| {
            told.lock().unwrap().push((done, total));
            done < 3
        };
        let steps = Steps::new(Some(&tick));
        steps.announce(2);
        assert!(steps.done().is_ok());
        steps.announce(3);
        assert!(steps.done().is_ok() && steps.done().is_err());
        assert_eq!(*told.lock().unwrap(), [(1, 2), (2, 5), (3, 5)]);
        assert!(Steps::new(None).done().is_ok());
    }
}
