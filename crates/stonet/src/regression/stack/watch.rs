//! Candidates of a member along a path, watched on held-out rows: their predictions, and where the path has become worse.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::fit::scored;
use super::lower;
use super::members::Member;
use crate::base::{Result, stage};
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
            let mut columns = stage("predictions of held-out rows", || scored(&scorer, self.data, fold.rows))?;
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

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::members::Scaled;
    use super::*;
    use crate::base::Seed;
    use crate::network::{Activation, StoNet};
    use crate::rows::RegressionRows;
    use crate::sparse::ridge::Clip;

    /// A path ends fold by fold, and a fold's predictions do not depend on the other's rows.
    #[test]
    fn a_fold_ends_where_its_own_rows_say_so() {
        let x = Array2::from_shape_fn((40, 2), |(i, k)| ((i * (k + 2)) as f64).sin());
        let y = Array2::from_shape_fn((40, 1), |(i, _)| if i < 20 { 0.0 } else { 10.0 } + 0.1 * (i as f64).cos());
        let rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let data = rows.output(0);
        let (low, high): (Vec<usize>, Vec<usize>) = (0..40).partition(|&i| i < 20);
        let net = StoNet::random(&[2, 3, 1], Activation::Tanh, Seed::new(1)).unwrap();
        let clip = Clip::fit(x.view(), &low).unwrap();
        // A scale of 0 leaves the centre alone.
        let constant = |value: f64| Member::StoNet(Scaled::new(clip.clone(), (value, 0.0), net.clone()));
        let none = Member::Skip { intercept: -50.0, slope: 0.0, correction: None };
        let seen = |folds: &[&[usize]], path: &[&Member]| {
            let mut watch = Watch::new(&data, folds);
            let go_on: Vec<bool> = path.iter().map(|m| watch.see(m).unwrap()).collect();
            (go_on, watch.into_predictions())
        };
        let path = [0.0, 5.0, 10.0, 20.0].map(constant);
        let path: Vec<&Member> = path.iter().collect();
        let (go_on, both) = seen(&[&low, &high], &path);
        assert_eq!(go_on, [true, true, true, false]);
        assert_eq!((both[0].ncols(), both[1].ncols()), (2, 4));
        // Alone, each fold has the same predictions.
        assert_eq!(seen(&[&low], &path[..2]), (vec![true, false], vec![both[0].clone()]));
        assert_eq!(seen(&[&high], &path).1, [both[1].clone()]);
        // What has no StoNet is not compared.
        let rows = rows.with_prediction(y.view()).unwrap();
        let data = rows.output(0);
        let mut watch = Watch::new(&data, &[&low]);
        assert!(watch.see(&none).unwrap() && watch.see(path[1]).unwrap() && watch.see(path[0]).unwrap());
    }
}
