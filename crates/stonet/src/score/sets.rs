//! Prediction sets of one tile: the scores of a row's classes, and which of them are in its set.

use super::kernels::Tile;
use super::memory::Place;
use super::plan::Node;
use super::scorer::Scorer;
use super::tile::Room;
use crate::conformal::{RowScore, SetScores};

/// Room for the classes of one row.
#[derive(Debug, Default)]
pub(super) struct RowRoom {
    p: Vec<f64>,
    scores: Vec<f64>,
    order: Vec<usize>,
}

impl Room {
    /// The scores of the classes of the first `rows` rows.
    pub(super) fn conformity(&mut self, from: &Place, to: &Place, score: RowScore, rows: usize) {
        let Room { wide, row, .. } = self;
        row.scores.resize(from.tiles.len(), 0.0);
        for lane in 0..rows {
            row.p.clear();
            row.p.extend(wide[from.tiles.clone()].iter().map(|column| column[lane]));
            // Not random, so that the share is 1.
            score.of_row(&row.p, 1.0, &mut row.order, &mut row.scores);
            let out = wide[to.tiles.clone()].iter_mut().zip(&row.scores);
            out.for_each(|(column, score)| column[lane] = *score);
        }
    }

    /// Which classes are in the sets of the first `rows` rows.
    pub(super) fn members(
        &mut self,
        scorer: &Scorer,
        folds: &[Node],
        (scores, ranks): (&SetScores, &[usize]),
        top: Option<&Tile>,
        to: &Place,
        rows: usize,
    ) {
        for lane in 0..rows {
            for class in 0..to.tiles.len() {
                let at = |node: &Node| self.wide[scorer.place(node.index()).tiles.start + class][lane];
                let kept = top.is_some_and(|top| top[lane] == class as f64)
                    || scores.holds(ranks, class, folds.iter().map(at));
                self.wide[to.tiles.start + class][lane] = f64::from(u8::from(kept));
            }
        }
    }
}
