//! What is asked of a head, and scorers that are kept for the next time that the same is asked.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Decision, Scorer};
use crate::base::Result;
use crate::rows::{Level, Side};

/// Scorers that a head keeps.
const KEPT: usize = 4;

/// What is asked of a regression head beside its prediction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// Levels of the intervals; none for no intervals.
    pub levels: Vec<Level>,
    /// Which ends are finite.
    pub side: Side,
    /// Whether the intervals of all targets hold at once with the level, and not each by itself.
    pub joint: bool,
    /// Quantiles of every target by itself. Below ½ the quantile τ is the lower bound at level 1 − τ, otherwise the
    /// upper bound at level τ, and it has the guarantee of that bound.
    pub quantiles: Vec<Level>,
    /// Values t for which P(y ≤ t) is asked, for every target.
    pub below: Vec<f64>,
    /// Whether P(y ≤ t) is asked at values t that come with the rows, one per target ([`Port::Values`](super::Port::Values)).
    pub at_values: bool,
    /// A rule that answers rows or abstains, by the length of the only target's interval.
    pub decision: Option<Decision>,
}

impl Asked {
    /// Two-sided intervals of every target by itself at these levels.
    pub fn at(levels: &[Level]) -> Self {
        Asked { levels: levels.to_vec(), ..Asked::default() }
    }

    /// The same with other ends.
    pub fn with_side(self, side: Side) -> Self {
        Asked { side, ..self }
    }

    /// The bound that is the quantile τ: its level and its side.
    pub(crate) fn bound(tau: Level) -> Result<(Level, Side)> {
        if tau.get() < 0.5 { Ok((Level::new(1.0 - tau.get())?, Side::Lower)) } else { Ok((tau, Side::Upper)) }
    }

    /// The level of each of so many targets by itself: 1 − α/targets where all are to hold at once (Bonferroni).
    pub fn each(&self, level: Level, targets: usize) -> Result<Level> {
        if self.joint { Level::new(1.0 - (1.0 - level.get()) / targets as f64) } else { Ok(level) }
    }
}

/// The scorers that were made last, each for what was asked. They are no part of a head's value: copies start without
/// them, and all are equal.
pub(crate) struct Kept<A>(Mutex<Vec<(A, Arc<Scorer>)>>);

impl<A: PartialEq + Clone> Kept<A> {
    /// The scorer for what is asked, made only if it is not there yet.
    pub(crate) fn get(&self, asked: &A, make: impl FnOnce() -> Result<Scorer>) -> Result<Arc<Scorer>> {
        if let Some((_, scorer)) = self.lock().iter().find(|(a, _)| a == asked) {
            return Ok(scorer.clone());
        }
        // Without the lock, since it can take a while; whoever comes second makes its own.
        let scorer = Arc::new(make()?);
        let mut kept = self.lock();
        kept.insert(0, (asked.clone(), scorer.clone()));
        kept.truncate(KEPT);
        Ok(scorer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(A, Arc<Scorer>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A> Default for Kept<A> {
    fn default() -> Self {
        Kept(Mutex::new(Vec::new()))
    }
}

impl<A> Clone for Kept<A> {
    fn clone(&self) -> Self {
        Kept::default()
    }
}

impl<A> PartialEq for Kept<A> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<A> std::fmt::Debug for Kept<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::score::{Builder, Port, Quantity};

    fn level(l: f64) -> Level {
        Level::new(l).unwrap()
    }

    #[test]
    fn a_quantile_is_the_bound_of_its_side() {
        assert_eq!(Asked::bound(level(0.25)).unwrap(), (level(0.75), Side::Lower));
        assert_eq!(Asked::bound(level(0.5)).unwrap(), (level(0.5), Side::Upper));
        assert_eq!(Asked::bound(level(0.9)).unwrap(), (level(0.9), Side::Upper));
    }

    #[test]
    fn targets_that_hold_at_once_share_the_error() {
        let asked = Asked::at(&[level(0.75), level(0.5)]).with_side(Side::Lower);
        assert_eq!((&asked.levels[..], asked.side, asked.joint), (&[level(0.75), level(0.5)][..], Side::Lower, false));
        assert_eq!(asked.each(level(0.75), 4).unwrap(), level(0.75));
        // ¼ of the error 0.5 each.
        assert_eq!(Asked { joint: true, ..asked }.each(level(0.5), 4).unwrap(), level(0.875));
    }

    #[test]
    fn a_scorer_is_made_once_until_four_others_were_asked_for() {
        let (kept, made) = (Kept::<usize>::default(), Cell::new(0));
        let get = |asked: usize| {
            let make = || {
                made.set(made.get() + 1);
                let mut plan = Builder::default();
                let x = plan.port(Port::Features, asked);
                plan.output(Quantity::Class, x, 0, true);
                Ok(Scorer::new(plan.finish()))
            };
            let scorer = kept.get(&asked, make).unwrap();
            assert_eq!(scorer.plan().width(Port::Features), Some(asked));
            made.get()
        };
        assert_eq!([1, 2, 1, 2, 3, 4, 1].map(get), [1, 2, 2, 2, 3, 4, 4]);
        // The fifth drops the first.
        assert_eq!([5, 2, 1, 5, 4].map(get), [5, 5, 6, 6, 6]);
        // Copies start without scorers, and are equal all the same.
        let copy = kept.clone();
        assert!(copy.lock().is_empty() && copy == kept);
        assert_eq!(format!("{kept:?}"), "Kept");
    }
}
