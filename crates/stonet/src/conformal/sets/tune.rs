//! λ and k of regularised scores, by the size of sets on rows that do not judge.

use ndarray::ArrayView2;

use super::{RowScore, SetScore};
use crate::conformal::{conformal_quantile, conformal_rank};
use crate::rows::Level;

/// λ to choose from.
const WEIGHTS: [f64; 8] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
/// Rows that are looked at, evenly spread over all.
const ROWS: usize = 2000;
/// What stands for the random share.
const MIDDLE: f64 = 0.5;

impl SetScore {
    /// The score with the λ that makes the smallest sets at the level on these rows, which must not judge the sets; k of
    /// RAPS is the rank that the level's share of true classes has or is above.
    pub(crate) fn tuned(self, p: ArrayView2<'_, f64>, labels: &[usize], level: Level) -> RowScore {
        let candidates: Vec<RowScore> = match self {
            SetScore::Lac | SetScore::Aps { .. } => return self.untuned(),
            SetScore::Raps { part } => {
                let free = usual_rank(p, labels, level);
                WEIGHTS.iter().map(|&weight| RowScore::Raps { part, weight, free }).collect()
            }
            SetScore::Saps { part } => WEIGHTS.iter().map(|&weight| RowScore::Saps { part, weight }).collect(),
        };
        let sizes = candidates.iter().map(|&score| (total_size(score, p, labels, level), score));
        let best = sizes.min_by_key(|(size, _)| *size);
        best.map_or(self.untuned(), |(_, score)| score)
    }
}

fn some_rows(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(rows.div_ceil(ROWS).max(1))
}

/// The classes of all sets together.
fn total_size(score: RowScore, p: ArrayView2<'_, f64>, labels: &[usize], level: Level) -> usize {
    let (mut order, mut row) = (Vec::new(), vec![0.0; p.ncols()]);
    let (mut all, mut own) = (Vec::new(), Vec::new());
    for i in some_rows(p.nrows()) {
        score.of_row(&p.row(i).to_vec(), MIDDLE, &mut order, &mut row);
        own.push(row[labels[i]]);
        all.extend_from_slice(&row);
    }
    let threshold = conformal_quantile(&own, level);
    all.iter().filter(|s| **s <= threshold).count()
}

/// The quantile at the level of the ranks of true classes, from 1.
fn usual_rank(p: ArrayView2<'_, f64>, labels: &[usize], level: Level) -> usize {
    let rank = |i: usize| {
        let own = p[[i, labels[i]]];
        let above = |(k, q): (usize, &f64)| *q > own || (*q == own && k < labels[i]);
        1 + p.row(i).iter().enumerate().filter(|&(k, q)| above((k, q))).count()
    };
    let mut ranks: Vec<usize> = some_rows(p.nrows()).map(rank).collect();
    ranks.sort_unstable();
    conformal_rank(ranks.len(), level).map_or(p.ncols(), |r| ranks[r - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformal::LabelPart;
    use ndarray::Array2;

    #[test]
    fn the_rank_and_the_weight_that_make_small_sets_are_chosen() {
        // The truth is the first or second of ten classes; all others are noise.
        let p = Array2::from_shape_fn((200, 10), |(i, k)| match k {
            0 => 0.5 - 0.0005 * i as f64,
            1 => 0.3,
            _ => (0.2 + 0.0005 * i as f64) / 8.0,
        });
        let labels: Vec<usize> = (0..200).map(|i| usize::from(i % 5 == 0)).collect();
        let level = Level::new(0.9).unwrap();
        let RowScore::Raps { free, weight, .. } =
            (SetScore::Raps { part: LabelPart::Whole }).tuned(p.view(), &labels, level)
        else {
            panic!("another score")
        };
        assert_eq!(free, 2);
        let size = |score| total_size(score, p.view(), &labels, level);
        let best = size(RowScore::Raps { part: LabelPart::Whole, weight, free });
        for other in WEIGHTS {
            assert!(best <= size(RowScore::Raps { part: LabelPart::Whole, weight: other, free }));
        }
        let saps = (SetScore::Saps { part: LabelPart::Whole }).tuned(p.view(), &labels, level);
        assert!(size(saps) <= 400);
        assert_eq!(SetScore::Lac.tuned(p.view(), &labels, level), RowScore::Lac);
    }
}
