//! What is asked of a classifier beside its probabilities and the most probable class.

use crate::rows::Level;
use crate::score::Decision;

/// What is asked of a [`FittedClassifier`](super::FittedClassifier) beside its probabilities; nothing by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassExtras {
    /// Levels of prediction sets.
    pub sets: Vec<Level>,
    /// Levels of bounds of accuracy.
    pub accuracy: Vec<Level>,
    /// A rule that answers rows or abstains.
    pub decision: Option<Decision>,
}

impl ClassExtras {
    /// Prediction sets at these levels.
    pub fn sets(levels: &[Level]) -> Self {
        ClassExtras { sets: levels.to_vec(), ..ClassExtras::default() }
    }

    /// Bounds of accuracy at these levels.
    pub fn accuracy(levels: &[Level]) -> Self {
        ClassExtras { accuracy: levels.to_vec(), ..ClassExtras::default() }
    }

    /// The levels in effect: those of sets, or of bounds of accuracy where no sets are asked for.
    pub fn levels(&self) -> &[Level] {
        if self.sets.is_empty() { &self.accuracy } else { &self.sets }
    }
}
