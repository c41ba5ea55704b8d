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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::{Array2, array};

    use super::*;
    use crate::base::Seed;
    use crate::conformal::{LabelPart, SetBy, SetRule};
    use crate::rows::Level;
    use crate::score::Op;
    use crate::score::tests::{assert_rows, computed, table};

    #[test]
    fn every_class_has_its_score_by_hand() {
        let p = table([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]].into_iter().cycle().take(37));
        let scores = |score: RowScore| computed(&p, |plan, of| plan.op(Op::Conformity { of, score }));
        assert_rows(&scores(RowScore::Lac), &p, 0.0, |p: [f64; 3]| p.map(|p| 1.0 - p));
        // The probability of all classes before it, and its own; of equals the first comes first.
        let whole = scores(RowScore::Aps { part: LabelPart::Whole });
        assert_rows(&whole, &p, 0.0, |p: [f64; 3]| if p[0] == 0.5 { [0.5, 0.75, 1.0] } else { [0.875, 0.75, 1.0] });
        // One uniform number per row is 1 where nothing is random.
        assert_eq!(scores(RowScore::Aps { part: LabelPart::Random }), whole);
    }

    /// Scores 1 − p of two folds: 0.1, 0.2, 0.3 and 0.4 of the first, 0.15 and 0.25 of the second, in groups by class.
    fn held(by: SetBy, groups: Vec<usize>) -> SetScores {
        let first: Array2<f64> = array![[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]];
        let second: Array2<f64> = array![[0.85, 0.15], [0.25, 0.75]];
        let rule = SetRule { by, never_empty: false, ..SetRule::default() };
        let all = [(first.view(), &[0, 1, 0, 1][..]), (second.view(), &[0, 1][..])];
        let folds = if by == SetBy::All { 2 } else { 1 };
        SetScores::fit(&all[..folds], rule, vec![RowScore::Lac; folds], groups, Seed::new(1)).unwrap()
    }

    #[test]
    fn a_class_is_in_the_set_while_few_held_out_scores_lie_below() {
        let scores = Arc::new(held(SetBy::All, vec![0, 0]));
        let level = Level::new(0.5).unwrap();
        // Two columns of scores by the first fold, two by the second: ⌈.5 · 7⌉ = 4 scores below leave a class out.
        let rows =
            table((0..40).map(|i| [[0.3, 0.31, 0.2, 0.26], [0.41, 0.05, 0.1, 0.4], [0.21, 0.9, 0.24, 0.0]][i % 3]));
        let members = |top: bool| {
            computed(&rows, |plan, x| {
                let folds = vec![plan.pick(x, [0, 1]), plan.pick(x, [2, 3])];
                let top = top.then(|| plan.wide(Op::Top { of: folds[0] }, 1));
                plan.wide(Op::Members { folds, top, scores: scores.clone(), level }, 2)
            })
        };
        // Scores below, of the first fold and the second: 2 + 1 and 3 + 2; 4 + 0 and 0 + 2; 2 + 1 and 4 + 0.
        let sets = |x: [f64; 4]| if x[0] == 0.41 { [0.0, 1.0] } else { [1.0, 0.0] };
        assert_rows(&members(false), &rows, 0.0, sets);
        // The largest of the first two columns is that of the class which is left out, and has to be in the set.
        assert_rows(&members(true), &rows, 0.0, |_: [f64; 4]| [1.0, 1.0]);
    }

    #[test]
    fn every_group_of_classes_has_its_own_scores() {
        let scores = Arc::new(held(SetBy::Class, vec![0, 1]));
        // 0.1 and 0.3 of the first class, 0.2 and 0.4 of the second: ⌈.6 · 3⌉ = 2 below leave a class out.
        let rows = table([[0.3, 0.4], [0.35, 0.35], [0.2, 0.5], [0.5, 0.1]]);
        let found = computed(&rows, |plan, x| {
            let level = Level::new(0.6).unwrap();
            plan.wide(Op::Members { folds: vec![x], top: None, scores, level }, 2)
        });
        assert_eq!(found, [[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]);
    }
}
