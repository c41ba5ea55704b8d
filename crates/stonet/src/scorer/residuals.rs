//! Scores (y − μ)/s of rows that a model has not seen, by the same program that predicts for new rows.

use rayon::prelude::*;

use super::stack::{StackProgram, StackRoom};
use super::{BLOCK, columns_of};
use crate::Calibration;
use crate::interval::program::load;
use crate::linalg::tile::{LANES, Tile, ZERO};
use crate::stack::FoldModel;

/// Models of all targets made ready to score any number of rows.
#[derive(Debug, Clone)]
pub(crate) struct Residuals {
    columns: Vec<usize>,
    /// One per output, of one fold.
    programs: Vec<StackProgram>,
}

#[derive(Default)]
struct Room {
    x: Vec<Tile>,
    d: Vec<Tile>,
    stack: StackRoom,
}

impl Residuals {
    pub(crate) fn new(models: &[FoldModel], features: usize) -> Self {
        let one = |model: &FoldModel| StackProgram::of(std::slice::from_ref(model), features);
        let mut programs: Vec<StackProgram> = models.iter().map(one).collect();
        let columns = columns_of(&mut programs);
        Residuals { columns, programs }
    }

    /// Rows in blocks and, in each, a score per row, output after output. A row's do not depend on the other rows.
    pub(crate) fn scores(&self, rows: &Calibration<'_>) -> Vec<Vec<f64>> {
        let starts: Vec<usize> = (0..rows.rows()).step_by(BLOCK).collect();
        let block = |room: &mut Room, &first: &usize| self.block(rows, first..(first + BLOCK).min(rows.rows()), room);
        starts.par_iter().map_init(Room::default, block).collect()
    }

    fn block(&self, rows: &Calibration<'_>, part: std::ops::Range<usize>, room: &mut Room) -> Vec<f64> {
        let (n, outputs) = (part.len(), self.programs.len());
        let targets: Vec<usize> = (0..outputs).collect();
        let mut scores = vec![0.0; n * outputs];
        for first in (0..n).step_by(LANES) {
            let start = part.start + first;
            load(rows.features(), start, &self.columns, &mut room.x);
            if let Some(d) = rows.prediction() {
                load(d, start, &targets, &mut room.d);
            }
            for (j, (program, to)) in self.programs.iter().zip(scores.chunks_exact_mut(n)).enumerate() {
                let d = room.d.get(j).unwrap_or(&ZERO);
                let [mean, scale] = &program.at(&room.x, d, &mut room.stack)[0];
                let to = to[first..].iter_mut().take(LANES).enumerate();
                to.for_each(|(l, score)| *score = (rows.y()[[start + l, j]] - mean[l]) / scale[l]);
            }
        }
        scores
    }
}
