//! What rows with known answers say about a wish: how sure the head was of each, and which of them count.

use ndarray::{ArrayView1, ArrayView2, Axis};

use super::want::{Measure, Want};
use crate::base::{Error, Result};
use crate::metrics::{check_labels, check_probabilities, covered, top_class};
use crate::rows::{Intervals, Labels, Level};
use crate::score::Surety;

/// The surety of rows, and which of them are marked: those that are wrong if they are answered, or, for `recall` and
/// `fnr`, those of the class.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    pub(super) want: Want,
    pub(super) surety: Surety,
    classes: usize,
    pub(super) sure: Vec<f64>,
    pub(super) marked: Vec<bool>,
}

impl Evidence {
    /// For a wish about a head of these classes.
    pub fn of_classes(want: &Want, labels: &Labels) -> Result<Self> {
        if want.measure() == Measure::Coverage {
            let why = "is for intervals, and this head gives class probabilities; wish for accuracy, precision[class], recall[class] or wrong";
            return Err(want.wrong(why));
        }
        let surety = want.class_among(labels)?.map_or(Surety::Largest, Surety::Class);
        Ok(Evidence { want: want.clone(), surety, classes: labels.classes(), sure: Vec::new(), marked: Vec::new() })
    }

    /// For a wish about intervals of one target at a level.
    pub fn of_intervals(want: &Want, level: Level) -> Result<Self> {
        if !matches!(want.measure(), Measure::Coverage | Measure::Wrong) {
            return Err(
                want.wrong("is for class probabilities, and this head gives intervals; wish for coverage or wrong")
            );
        }
        let surety = Surety::Shortness(level);
        Ok(Evidence { want: want.clone(), surety, classes: 0, sure: Vec::new(), marked: Vec::new() })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.sure.len()
    }

    /// Adds rows with their probabilities and the numbers of their classes.
    pub fn add_classes(&mut self, p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<()> {
        if p.nrows() == 0 && labels.is_empty() {
            return Ok(());
        }
        if p.ncols() != self.classes || self.classes == 0 {
            return Err(Error::shape("classes of the probabilities", self.classes, p.ncols()));
        }
        check_probabilities(p)?;
        check_labels(labels, p.nrows(), p.ncols())?;
        for (p, &label) in p.outer_iter().zip(labels) {
            let (sure, marked) = match self.surety {
                Surety::Class(class) => (p[class], (label == class) == self.want.measure().misses()),
                _ => (p[top_class(p)], label != top_class(p)),
            };
            self.sure.push(sure);
            self.marked.push(marked);
        }
        Ok(())
    }

    /// Adds rows with their intervals, which must be of the level and of one target, and their true values.
    pub fn add_intervals(&mut self, intervals: &Intervals, y: ArrayView1<'_, f64>) -> Result<()> {
        if intervals.lower.ncols() != 1 {
            return Err(self.want.wrong(format!(
                "is for one target, and the head has {}; fit a head of one target",
                intervals.lower.ncols()
            )));
        }
        if self.surety != Surety::Shortness(intervals.level) {
            return Err(Error::setting("level", intervals.level, "that of the rule"));
        }
        let hits = covered(intervals, y.insert_axis(Axis(1)))?;
        // The same difference as in a plan, so that rows at the threshold decide alike.
        let length = intervals.lower.iter().zip(&intervals.upper).map(|(lower, upper)| lower - upper);
        self.sure.extend(length);
        self.marked.extend(hits.iter().map(|hit| !hit));
        Ok(())
    }
}
