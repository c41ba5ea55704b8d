//! The levels at which rows are judged, and what is counted at each while rows pass.

use ndarray::ArrayView2;
use stonet::score::Asked;
use stonet::{Intervals, Level, Result};

use super::{CurvePoint, LEVELS};
use crate::evaluate::binomial::Proportion;
use crate::evaluate::sum::Sum;

/// The levels to ask a head for, each once, and their roles.
pub struct Curve {
    /// All of them.
    pub levels: Vec<Level>,
    /// The place of the level that is judged, for each target by itself.
    pub judged: usize,
    /// That level: for boxes 1 − α/targets.
    pub each: Level,
    /// For every point of the curve, the places of its level for each target by itself and for all together.
    pub points: Vec<(usize, usize)>,
}

impl Curve {
    pub fn new(level: Level, joint: bool, targets: usize) -> Result<Self> {
        let boxes = Asked { joint, ..Asked::default() };
        let each = boxes.each(level, targets)?;
        let mut levels = vec![each];
        let mut place = |level: Level| {
            levels.iter().position(|l| *l == level).unwrap_or_else(|| {
                levels.push(level);
                levels.len() - 1
            })
        };
        let mut points = Vec::with_capacity(LEVELS.len());
        for level in LEVELS {
            let level = Level::new(level)?;
            points.push((place(level), place(boxes.each(level, targets)?)));
        }
        Ok(Curve { levels, judged: 0, each, points })
    }
}

/// Hits and lengths at one level.
#[derive(Clone)]
pub struct Tally {
    /// Of all targets: the sum over rows of [`row_hit`], and of the lengths.
    hits: f64,
    lengths: Sum,
    /// The same of each target by itself.
    targets: Vec<(usize, Sum)>,
}

impl Tally {
    pub fn new(targets: usize) -> Self {
        Tally { hits: 0.0, lengths: Sum::default(), targets: vec![(0, Sum::default()); targets] }
    }

    /// More rows with their intervals, for each target by itself and for all together.
    pub fn add(&mut self, each: &Intervals, all: &Intervals, y: ArrayView2<'_, f64>, joint: bool) {
        for (row, y) in y.outer_iter().enumerate() {
            let inside = |i: &Intervals, j: usize| i.lower[[row, j]] <= y[j] && y[j] <= i.upper[[row, j]];
            for (j, (hits, lengths)) in self.targets.iter_mut().enumerate() {
                *hits += usize::from(inside(each, j));
                lengths.add(each.upper[[row, j]] - each.lower[[row, j]]);
                self.lengths.add(all.upper[[row, j]] - all.lower[[row, j]]);
            }
            self.hits += row_hit((0..y.len()).filter(|&j| inside(all, j)).count(), y.len(), joint);
        }
    }

    /// All targets together, after so many rows.
    pub fn all(&self, level: f64, rows: usize) -> CurvePoint {
        let values = (rows * self.targets.len()) as f64;
        CurvePoint { level, coverage: Proportion::new(self.hits, rows), mean_length: self.lengths.total() / values }
    }

    /// One target by itself.
    pub fn target(&self, j: usize, level: f64, rows: usize) -> CurvePoint {
        let (hits, lengths) = &self.targets[j];
        CurvePoint { level, coverage: Proportion::new(*hits as f64, rows), mean_length: lengths.total() / rows as f64 }
    }
}

/// What a row counts with so many of its values inside: of boxes whether it lies inside, otherwise the share of its
/// values that do.
pub fn row_hit(inside: usize, targets: usize, joint: bool) -> f64 {
    if joint { f64::from(u8::from(inside == targets)) } else { inside as f64 / targets as f64 }
}
