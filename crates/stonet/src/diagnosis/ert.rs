//! ERT, the excess risk of the target coverage: how much better a regression on the inputs predicts whether a row is
//! covered than the level does.
//!
//! With Z = 1 for a covered row, p(x) = P(Z = 1 | x), level ℓ and a regression h that was fitted on other rows,
//!
//! ```text
//! ERT = E (Z − ℓ)² − E (Z − h(X))² = E (p(X) − ℓ)² − E (p(X) − h(X))²
//! ```
//!
//! so that ERT is at most the mean square of p − ℓ, the error of the coverage given x, and 0 or less where h finds
//! nothing.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Covered, SEARCH_ROWS};
use crate::base::streams::diagnosis as streams;
use crate::base::{Result, Seed, Work};
use crate::metrics::mean_sd;
use crate::rows::{complement, folds};
use crate::sparse::ridge::Ridge;

/// Every row is predicted by a fit on the other four fifths.
const FOLDS: usize = 5;
/// Terms of features in a fit; where there are more, those that correlate most with the hits of its own rows.
const TERMS: usize = 96;
/// Penalties per row; an infinite one leaves the mean.
const PENALTIES: [f64; 7] = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, f64::INFINITY];

/// How much better than the level a regression predicts which rows are covered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ert {
    /// The difference of the mean squared errors.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Rows that it was computed on.
    pub rows: usize,
}

/// ERT by a ridge regression of the hits on every feature, the prediction and the length, cross-fitted in five folds.
/// Each of them enters by its rank and by the square of its rank, so that lone large values have no weight and
/// coverage may be low at both ends or in the middle. `work` can cancel it. None for fewer than [`SEARCH_ROWS`] rows.
pub fn ert(rows: &Covered<'_>, seed: Seed, work: &Work<'_>) -> Result<Option<Ert>> {
    let n = rows.rows();
    if n < SEARCH_ROWS {
        return Ok(None);
    }
    let terms = Terms::new(rows);
    let hits = Array1::from_iter(rows.hits.iter().map(|&h| f64::from(u8::from(h))));
    let level = rows.level.get();
    let mut gains = vec![0.0; n];
    for held in folds(n, FOLDS, seed.child(streams::FOLDS))? {
        let others = complement(n, &held);
        let y = hits.select(Axis(0), &others);
        let design = terms.design(&terms.chosen(&others, y.view()));
        let fit = Ridge::fit(design.view(), &others, y.view(), &PENALTIES, work)?;
        let predicted = fit.predict(design.select(Axis(0), &held).view())?;
        for (&row, h) in held.iter().zip(predicted) {
            gains[row] = (hits[row] - level).powi(2) - (hits[row] - h.clamp(0.0, 1.0)).powi(2);
        }
    }
    let (value, sd) = mean_sd(&gains);
    Ok(Some(Ert { value, se: sd / (n as f64).sqrt(), rows: n }))
}

/// The columns that coverage may depend on, by their ranks.
struct Terms {
    /// Between −1 and 1, one row for each column: the features, the prediction, the length.
    ranks: Array2<f64>,
}

impl Terms {
    fn new(rows: &Covered<'_>) -> Self {
        let n = rows.rows();
        let of = |variable| ranks(&(0..n).map(|row| rows.value(variable, row)).collect::<Vec<_>>());
        let columns: Vec<Vec<f64>> = rows.variables().into_par_iter().map(of).collect();
        Terms { ranks: Array2::from_shape_fn((columns.len(), n), |(c, row)| columns[c][row]) }
    }

    /// Term t at a row: the rank of column t / 2, or its square.
    fn value(&self, term: usize, row: usize) -> f64 {
        let rank = self.ranks[[term / 2, row]];
        if term.is_multiple_of(2) { rank } else { rank * rank }
    }

    /// The terms of a fit on `rows`, whose hits are `y`. Other rows have no say.
    fn chosen(&self, rows: &[usize], y: ArrayView1<'_, f64>) -> Vec<usize> {
        let all = 2 * self.ranks.nrows();
        // Prediction and length are the last two columns.
        let of_features = all - 4;
        if of_features <= TERMS {
            return (0..all).collect();
        }
        let strength: Vec<f64> = (0..of_features)
            .into_par_iter()
            .map(|t| correlation(rows.iter().map(|&row| self.value(t, row)), y).abs())
            .collect();
        let mut order: Vec<usize> = (0..of_features).collect();
        order.sort_by(|&a, &b| strength[b].total_cmp(&strength[a]).then(a.cmp(&b)));
        order.truncate(TERMS);
        order.sort_unstable();
        order.extend(of_features..all);
        order
    }

    /// All rows, with these terms as columns.
    fn design(&self, terms: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((self.ranks.ncols(), terms.len()), |(row, t)| self.value(terms[t], row))
    }
}

/// Ranks from −1 to 1; equal values have the same, the middle of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut below) = (vec![0.0; values.len()], 0);
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = (2 * below + equal.len()) as f64 / values.len() as f64 - 1.0;
        equal.iter().for_each(|&row| ranks[row] = middle);
        below += equal.len();
    }
    ranks
}

/// 0 where one of them is constant.
fn correlation(x: impl Iterator<Item = f64> + Clone, y: ArrayView1<'_, f64>) -> f64 {
    let n = y.len() as f64;
    let (mx, my) = (x.clone().sum::<f64>() / n, y.sum() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.zip(y) {
        xy += (x - mx) * (y - my);
        xx += (x - mx).powi(2);
        yy += (y - my).powi(2);
    }
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LEVEL, Simulated};
    use super::*;

    fn of(rows: &Simulated, seed: u64) -> Ert {
        ert(&rows.covered(), Seed::new(seed), &Work::unwatched()).unwrap().unwrap()
    }

    /// With exact coverage ERT is at most 0 in expectation, so a one-sided test of 5 % rejects at most as often.
    #[test]
    fn exact_coverage_has_no_excess_risk() {
        // The second table has more terms than a fit takes, so that they are chosen by the hits.
        for (n, p, replications) in [(600, 4, 200), (400, 80, 60)] {
            let found: Vec<Ert> = (0..replications).map(|r| of(&Simulated::new(n, p, r, |_| LEVEL), r)).collect();
            let above = found.iter().filter(|e| e.value > 1.645 * e.se).count() as f64;
            let r = replications as f64;
            assert!(above < 0.05 * r + 4.5 * (0.05 * 0.95 * r).sqrt(), "{above} of {r}");
            let mean = found.iter().map(|e| e.value).sum::<f64>() / r;
            let se = (found.iter().map(|e| e.se.powi(2)).sum::<f64>()).sqrt() / r;
            assert!(mean < 4.5 * se, "{mean} with {se}");
        }
    }

    /// The mean square of p − ℓ is .01 here; a parabola of the rank explains most of a step, and never more than all.
    #[test]
    fn coverage_that_depends_on_a_feature_is_found_and_not_overstated() {
        for (p, column) in [(4, 2), (80, 70)] {
            let step = |x: &[f64]| if x[column] > 0.0 { 0.8 } else { 1.0 };
            let found: Vec<Ert> = (0..10).map(|r| of(&Simulated::new(4000, p, r, step), r)).collect();
            let mean = found.iter().map(|e| e.value).sum::<f64>() / 10.0;
            let se = found.iter().map(|e| e.se.powi(2)).sum::<f64>().sqrt() / 10.0;
            assert!(mean > 4.5 * se && mean < 0.01 + 4.5 * se, "{mean} with {se}");
            // Noise in 160 other terms costs some of it.
            assert!(found.iter().all(|e| e.value > 2.0 * e.se), "{found:?}");
        }
        // At both ends of the prediction.
        let rows = Simulated::new(4000, 2, 3, |x| if (x[0] + x[1]).abs() > 1.5 { 0.7 } else { LEVEL });
        let found = of(&rows, 3);
        assert!(found.value > 4.5 * found.se, "{found:?}");
    }

    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&[5.0, 1.0, f64::INFINITY, 1.0]), [0.25, -0.5, 0.75, -0.5]);
        assert_eq!(ranks(&[2.0; 3]), [0.0; 3]);
        let y = ndarray::arr1(&[1.0, 2.0, 3.0]);
        assert!((correlation([2.0, 4.0, 6.0].into_iter(), y.view()) - 1.0).abs() < 1e-15);
        assert_eq!(correlation([2.0; 3].into_iter(), y.view()), 0.0);
    }
}
