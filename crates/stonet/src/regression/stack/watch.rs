//! Candidates of a member along a path, watched on held-out rows: their predictions, and where the path has become worse.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::fit::scored;
use super::lower;
use super::members::Member;
use crate::base::Result;
use crate::rows::regression::Single;
use crate::score::Scorer;

/// Standard errors by which a squared error must exceed the least one so far before it is called worse.
const CLEAR: f64 = 3.0;

/// One member on some folds of held-out rows.
///
/// A fold's predictions end where its own rows say so. What another fold says can lengthen the path, but it cannot change
/// which candidates this fold has, so that nothing of the rows of one fold is in the other's predictions.
pub(super) struct Watch<'a, 'd> {
    data: &'a Single<'d>,
    folds: Vec<Fold<'a>>,
}

struct Fold<'a> {
    rows: &'a [usize],
    y: Array1<f64>,
    columns: Vec<Array1<f64>>,
    /// The candidate with a StoNet that has the least squared error.
    best: Option<usize>,
    /// Whether its rows have seen enough.
    over: bool,
}

impl<'a, 'd> Watch<'a, 'd> {
    pub(super) fn new(data: &'a Single<'d>, folds: &[&'a [usize]]) -> Self {
        let fold = |rows: &&'a [usize]| {
            let y = data.y.select(Axis(0), rows);
            Fold { rows, y, columns: Vec::new(), best: None, over: false }
        };
        Watch { data, folds: folds.iter().map(fold).collect() }
    }

    /// Looks at the next candidate; false where no fold wants another.
    pub(super) fn see(&mut self, member: &Member) -> Result<bool> {
        let scorer = Scorer::new(lower::members_plan([member], self.data.features.ncols()));
        for fold in self.folds.iter_mut().filter(|f| !f.over) {
            let mut columns = scored(&scorer, self.data, fold.rows)?;
            fold.take(Array1::from(columns.swap_remove(0)), member.net().is_some());
        }
        Ok(self.folds.iter().any(|f| !f.over))
    }

    /// Rows × candidates of every fold.
    pub(super) fn into_predictions(self) -> Vec<Array2<f64>> {
        let together = |fold: Fold<'_>| {
            let views: Vec<ArrayView1<'_, f64>> = fold.columns.iter().map(|c| c.view()).collect();
            ndarray::stack(Axis(1), &views).expect("columns of one length")
        };
        self.folds.into_iter().map(together).collect()
    }
}

impl Fold<'_> {
    /// The next candidate. One without a StoNet begins the path and is not compared with the others.
    fn take(&mut self, column: Array1<f64>, net: bool) {
        self.columns.push(column);
        let last = self.columns.len() - 1;
        if !net {
            return;
        }
        let Some(best) = self.best else {
            self.best = Some(last);
            return;
        };
        let (mean, error) = self.excess(last, best);
        if mean < 0.0 {
            self.best = Some(last);
        }
        self.over = mean > CLEAR * error;
    }

    /// The mean excess of one candidate's squared error over another's, and its standard error.
    fn excess(&self, one: usize, other: usize) -> (f64, f64) {
        let square = |c: usize, i: usize| (self.columns[c][i] - self.y[i]).powi(2);
        let excess: Vec<f64> = (0..self.y.len()).map(|i| square(one, i) - square(other, i)).collect();
        let (mean, sd) = crate::metrics::mean_sd(&excess);
        (mean, sd / (excess.len().max(1) as f64).sqrt())
    }
}
