//! One half of the rows fits, the other judges; rows of a group stay together.

use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result, Seed};
use crate::conformal::ranks::{At, Scores};
use crate::rows::dataset::{check_results, names, whole_folds};
use crate::rows::regression::Single;
use crate::rows::{Level, Side};

/// Rows of one half.
pub(super) struct Half {
    pub features: Array2<f64>,
    pub y: Array1<f64>,
    pub groups: Option<Vec<usize>>,
    /// Their numbers among all rows.
    numbers: Vec<usize>,
}

impl Half {
    fn of(rows: &Single<'_>, numbers: &[usize]) -> Half {
        Half {
            features: rows.features.select(Axis(0), numbers),
            y: rows.y.select(Axis(0), numbers),
            groups: rows.groups.map(|g| numbers.iter().map(|&i| g[i]).collect()),
            numbers: numbers.to_vec(),
        }
    }

    /// The scores by which these rows judge, one per row.
    pub(super) fn judge(&self, scores: Array1<f64>) -> Result<Judge> {
        check_results("the score", scores.view().insert_axis(Axis(1))).map_err(|e| e.of_rows(&self.numbers))?;
        Ok(Judge::new(scores.to_vec(), self.groups.as_deref()))
    }
}

/// The rows that fit and the rows that judge, which are as many or one more: they set the rank.
pub(super) fn halves(rows: &Single<'_>, seed: Seed) -> Result<(Half, Half)> {
    let found = rows.groups.map_or(rows.y.len(), |groups| names(groups).len());
    if found < 4 {
        let what = "fitting on one half and judging on the other";
        let remedy = "add rows, or use a baseline without halves: `SplitConformal` or `Laplace`";
        return Err(Error::too_few(rows.groups.is_some(), what, 4, found, remedy));
    }
    let parts = whole_folds(rows.y.len(), rows.groups, 2, seed)?;
    Ok((Half::of(rows, &parts[1]), Half::of(rows, &parts[0])))
}

/// Scores of rows that no fit has seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Judge(Scores);

impl Judge {
    /// A row weighs one over the size of its group.
    pub(super) fn new(scores: Vec<f64>, groups: Option<&[usize]>) -> Self {
        let Some(groups) = groups else {
            let rows = scores.len();
            return Judge(Scores::new(vec![scores], None, rows));
        };
        let names = names(groups);
        let place = |g: &usize| names.partition_point(|n| n < g);
        let mut sizes = vec![0.0; names.len()];
        groups.iter().for_each(|g| sizes[place(g)] += 1.0);
        let weights = groups.iter().map(|g| 1.0 / sizes[place(g)]).collect();
        Judge(Scores::new(vec![scores], Some(vec![weights]), names.len()))
    }

    /// The score that a new row stays below with the level's probability; +∞ where the rows are too few for that.
    pub(super) fn quantile(&self, level: Level) -> f64 {
        self.0.search(level, Side::Upper).ends(&mut [At::new([0.0], [1.0], [1.0])], &mut [[0]])[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformal::conformal_quantile;

    #[test]
    fn groups_stay_whole_and_weigh_one() {
        let groups: Vec<usize> = (0..60).map(|i| 7 * (i % 13)).collect();
        let (features, y) = (Array2::zeros((60, 1)), Array1::from_iter((0..60).map(f64::from)));
        let rows = Single {
            features: features.view(),
            y: y.view(),
            prediction: None,
            own: None,
            groups: Some(&groups),
            within: None,
            conditional: None,
            order: None,
        };
        let (fit, judge) = halves(&rows, Seed::new(1)).unwrap();
        let (a, b) = (names(&fit.groups.unwrap()), names(&judge.groups.unwrap()));
        assert_eq!((a.len(), b.len()), (6, 7));
        assert!(a.iter().all(|g| !b.contains(g)));
        assert_eq!(fit.y.len() + judge.y.len(), 60);
        // Masses ½ ½ 1 1: level .5 of three groups needs 2.
        let judge = Judge::new(vec![1.0, 2.0, 3.0, 4.0], Some(&[5, 5, 9, 2]));
        assert_eq!(judge.quantile(Level::new(0.5).unwrap()), 3.0);
    }

    #[test]
    fn without_groups_the_quantile_is_the_split_conformal_one() {
        let scores: Vec<f64> = (0..37).map(|i| (f64::from(i) * 1.7).sin()).collect();
        for l in [0.1, 0.5, 0.9, 0.99] {
            let level = Level::new(l).unwrap();
            assert_eq!(Judge::new(scores.clone(), None).quantile(level), conformal_quantile(&scores, level));
        }
    }
}
