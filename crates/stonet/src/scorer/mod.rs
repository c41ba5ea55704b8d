//! Fitted intervals made ready for many rows: only the features that are used, once per block of rows.

mod residuals;
mod stack;

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::data::check_finite;
use crate::interval::conformal::Side;
use crate::interval::program::{EveProgram, EveRoom, load};
use crate::linalg::tile::{LANES, Tile, ZERO};
use crate::stack::FittedStack;
use crate::{Error, EveIntervals, Intervals, Level, Result};
pub(crate) use residuals::Residuals;
use stack::{StackProgram, StackRoom};

/// Rows that one thread takes at a time.
const BLOCK: usize = 1024;

/// Intervals at fixed levels for any number of rows; made by [`FittedPostStoNet::scorer`](crate::FittedPostStoNet::scorer).
///
/// It needs only some of the features, so that a reader can leave the others in their file.
///
/// ```
/// use ndarray::{Array2, Axis};
/// use stonet::{Calibration, Kind, Level, NewRows, PostStoNet, Seed, Side};
/// let features = Array2::from_shape_fn((90, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = features.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
/// let rows = Calibration::new(features.view(), y.view())?;
/// let fitted = PostStoNet { kind: Kind::Fast, ..PostStoNet::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let level = Level::new(0.9)?;
/// let scorer = fitted.scorer(&[level], Side::Both)?;
/// let used = features.select(Axis(1), scorer.columns());
/// let scored = scorer.score(used.view(), None)?;
/// assert_eq!(scored[0], fitted.intervals(&NewRows::new(features.view())?, level, Side::Both)?);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scorer {
    columns: Vec<usize>,
    levels: Vec<Level>,
    outputs: usize,
    needs_prediction: bool,
    side: Side,
    /// Whether each level has enough rows for finite ends, for every target.
    bounded: Vec<bool>,
    program: Program,
}

#[derive(Debug, Clone)]
enum Program {
    /// One per output.
    Stacks(Vec<StackProgram>),
    /// With z of every level, and which ends there are.
    Eve { eve: EveProgram, z: Vec<f64>, side: Side },
}

/// Room for one tile of rows.
#[derive(Default)]
struct Room {
    x: Vec<Tile>,
    d: Vec<Tile>,
    out: Vec<Tile>,
    stack: StackRoom,
    eve: EveRoom,
    ends: Vec<[Tile; 2]>,
}

impl Scorer {
    pub(crate) fn of_stacks(
        stacks: &[FittedStack],
        features: usize,
        needs_prediction: bool,
        levels: &[Level],
        side: Side,
    ) -> Self {
        let mut programs: Vec<StackProgram> =
            stacks.iter().map(|s| StackProgram::new(s, features, levels, side)).collect();
        let columns = columns_of(&mut programs);
        let (outputs, program) = (stacks.len(), Program::Stacks(programs));
        let bounded = levels.iter().map(|&l| stacks.iter().all(|s| s.scores().bounds(l))).collect();
        Scorer { columns, levels: levels.to_vec(), outputs, needs_prediction, side, bounded, program }
    }

    /// A bound leaves α on one side alone, so its level has to be above one half.
    pub(crate) fn of_eve(intervals: &EveIntervals, levels: &[Level], side: Side) -> Result<Self> {
        let z = |level: &Level| match side {
            Side::Both => Ok(level.z()),
            _ if level.get() > 0.5 => Ok(Level::new(2.0 * level.get() - 1.0)?.z()),
            _ => Err(Error::setting("level", level, "above 0.5 for a one-sided bound of Eve's law")),
        };
        let eve = EveProgram::new(intervals);
        Ok(Scorer {
            columns: eve.columns(),
            levels: levels.to_vec(),
            outputs: intervals.scaling().y.columns(),
            needs_prediction: false,
            side,
            bounded: vec![true; levels.len()],
            program: Program::Eve { z: levels.iter().map(z).collect::<Result<_>>()?, eve, side },
        })
    }

    /// The features that it needs, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Targets per row.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Whether it needs the network's own predictions.
    pub fn needs_prediction(&self) -> bool {
        self.needs_prediction
    }

    /// The levels, in the order of the intervals.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Intervals at every level. `x` are the features [`columns`](Self::columns) alone, in that order; `prediction` has a column per target.
    /// A row's do not depend on the other rows.
    pub fn score(&self, x: ArrayView2<'_, f64>, prediction: Option<ArrayView2<'_, f64>>) -> Result<Vec<Intervals>> {
        if x.ncols() != self.columns.len() {
            return Err(Error::shape("feature columns that are used", self.columns.len(), x.ncols()));
        }
        check_finite("features", x)?;
        if let Some(d) = prediction {
            if d.nrows() != x.nrows() {
                return Err(Error::shape("rows of the predictions", x.nrows(), d.nrows()));
            }
            check_finite("predictions", d)?;
        }
        self.run(x, &(0..x.ncols()).collect::<Vec<_>>(), prediction)
    }

    /// The same of all features, already checked.
    pub(crate) fn all(
        &self,
        x: ArrayView2<'_, f64>,
        prediction: Option<ArrayView2<'_, f64>>,
    ) -> Result<Vec<Intervals>> {
        self.run(x, &self.columns, prediction)
    }

    fn run(
        &self,
        x: ArrayView2<'_, f64>,
        source: &[usize],
        prediction: Option<ArrayView2<'_, f64>>,
    ) -> Result<Vec<Intervals>> {
        if let Some(d) = prediction.filter(|d| d.ncols() != self.outputs) {
            return Err(Error::shape("columns of the predictions", self.outputs, d.ncols()));
        }
        if self.needs_prediction && prediction.is_none() {
            return Err(Error::NoPrediction { what: crate::stack::NAME });
        }
        let d = prediction.filter(|_| self.needs_prediction);
        let starts: Vec<usize> = (0..x.nrows()).step_by(BLOCK).collect();
        let blocks: Vec<Vec<f64>> = starts
            .par_iter()
            .map_init(Room::default, |room, &first| {
                self.block(x, source, d, first..(first + BLOCK).min(x.nrows()), room)
            })
            .collect();
        let all = self.join(&blocks, x.nrows());
        // Finite inputs can still overflow.
        all.iter().zip(&self.bounded).try_for_each(|(i, &bounded)| i.check(bounded, self.side))?;
        Ok(all)
    }

    /// Numbers per output: the prediction, and two ends per level.
    fn width(&self) -> usize {
        1 + 2 * self.levels.len()
    }

    /// All numbers of some rows, one after the other by output and kind.
    fn block(
        &self,
        x: ArrayView2<'_, f64>,
        source: &[usize],
        d: Option<ArrayView2<'_, f64>>,
        rows: std::ops::Range<usize>,
        room: &mut Room,
    ) -> Vec<f64> {
        let (n, width) = (rows.len(), self.width());
        let targets: Vec<usize> = (0..self.outputs).collect();
        let mut block = vec![0.0; n * width * self.outputs];
        room.out.resize(width * self.outputs, ZERO);
        for first in (0..n).step_by(LANES) {
            let count = LANES.min(n - first);
            load(x, rows.start + first, source, &mut room.x);
            if let Some(d) = d {
                load(d, rows.start + first, &targets, &mut room.d);
            }
            self.tile(count, room);
            for (tile, to) in room.out.iter().zip(block.chunks_exact_mut(n)) {
                to[first..first + count].copy_from_slice(&tile[..count]);
            }
        }
        block
    }

    fn tile(&self, rows: usize, room: &mut Room) {
        let Room { x, d, out, stack, eve: eve_room, ends } = room;
        match &self.program {
            Program::Stacks(programs) => {
                for (j, (program, out)) in programs.iter().zip(out.chunks_exact_mut(self.width())).enumerate() {
                    program.run(x, d.get(j), rows, stack, out);
                }
            }
            Program::Eve { eve, z, side } => {
                ends.resize(self.outputs, [ZERO; 2]);
                eve.run(x, eve_room, ends);
                for ([centre, half], out) in ends.iter().zip(out.chunks_exact_mut(self.width())) {
                    out[0] = *centre;
                    for (z, out) in z.iter().zip(out[1..].chunks_exact_mut(2)) {
                        let lower =
                            |l: usize| if *side == Side::Upper { f64::NEG_INFINITY } else { centre[l] - z * half[l] };
                        let upper =
                            |l: usize| if *side == Side::Lower { f64::INFINITY } else { centre[l] + z * half[l] };
                        out[0] = std::array::from_fn(lower);
                        out[1] = std::array::from_fn(upper);
                    }
                }
            }
        }
    }

    /// Arrays from the blocks' numbers.
    fn join(&self, blocks: &[Vec<f64>], rows: usize) -> Vec<Intervals> {
        let array = |kind: usize| {
            let mut all = Array2::zeros((rows, self.outputs));
            for (mut part, block) in all.axis_chunks_iter_mut(Axis(0), BLOCK).zip(blocks) {
                let n = part.nrows();
                for (j, mut column) in part.columns_mut().into_iter().enumerate() {
                    let values = &block[(j * self.width() + kind) * n..][..n];
                    column.iter_mut().zip(values).for_each(|(to, v)| *to = *v);
                }
            }
            all
        };
        let prediction = array(0);
        let one = |(l, &level): (usize, &Level)| Intervals {
            prediction: prediction.clone(),
            lower: array(1 + 2 * l),
            upper: array(2 + 2 * l),
            level,
        };
        self.levels.iter().enumerate().map(one).collect()
    }
}

/// The features that any of the programs uses, ascending; the programs then take only these.
fn columns_of(programs: &mut [StackProgram]) -> Vec<usize> {
    let mut columns: Vec<usize> = programs.iter().flat_map(StackProgram::columns).collect();
    columns.sort_unstable();
    columns.dedup();
    programs.iter_mut().for_each(|p| p.keep(&columns));
    columns
}

#[cfg(test)]
mod tests;
