//! Ridge regression with its penalty chosen by closed-form leave-one-out error, in blocks of rows.

mod basis;
mod components;
mod laplace;

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip};
use serde::{Deserialize, Serialize};

use crate::base::Work;
use crate::base::{Error, Result};
use crate::rows::Standardizer;
use crate::rows::dataset::{add_squares, is_constant_range, target_mean, units};
use basis::{Basis, Rows};
pub use components::Components;
pub(crate) use laplace::LogScale;

/// Rows per block: memory stays flat, and results do not depend on the number of threads.
pub(crate) const BLOCK: usize = 1024;

/// (x − centre) · scale of a column, kept within two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clamp {
    /// The column.
    pub column: usize,
    /// Subtracted first.
    pub centre: f64,
    /// Multiplied next.
    pub scale: f64,
    /// The least result.
    pub low: f64,
    /// The greatest result.
    pub high: f64,
}

impl Clamp {
    /// A column as it is, within two ends.
    pub(crate) fn within(column: usize, low: f64, high: f64) -> Self {
        Clamp { column, centre: 0.0, scale: 1.0, low, high }
    }
}

/// Standard scale and the range of the rows it was learned on: new rows are clipped one standard deviation beyond, so
/// that a feature that hardly varied among them cannot send a prediction far away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    pub(crate) scale: Standardizer,
    low: Array1<f64>,
    high: Array1<f64>,
}

impl Clip {
    pub(crate) fn fit(x: ArrayView2<'_, f64>, rows: &[usize]) -> Result<Self> {
        let (scale, low, high) = Standardizer::fit_rows(x, rows);
        Clip::new(scale, low, high)
    }

    /// From the scale and the ends of the columns.
    fn new(scale: Standardizer, mut low: Array1<f64>, mut high: Array1<f64>) -> Result<Self> {
        Zip::from(&mut low).and(&mut high).and(scale.mean()).and(scale.sd()).for_each(|l, h, m, s| {
            // A column that was constant says nothing, whatever it is later.
            (*l, *h) = if is_constant_range(*l, *h) { (0.0, 0.0) } else { ((*l - m) / s - 1.0, (*h - m) / s + 1.0) };
        });
        let clip = Clip { scale, low, high };
        // Finite features can still overflow their own mean or variance.
        if clip.sound() {
            Ok(clip)
        } else {
            Err(Error::Inconsistent { what: "features are too large to be standardised; rescale them" })
        }
    }

    /// What it does to a column, as an operation of a plan.
    pub(crate) fn clamp(&self, column: usize) -> Clamp {
        let (centre, scale) = (self.scale.mean()[column], 1.0 / self.scale.sd()[column]);
        Clamp { column, centre, scale, low: self.low[column], high: self.high[column] }
    }

    /// The same of a design that is only there block by block.
    pub(crate) fn of_blocks(design: &Design<'_>, rows: usize) -> Result<Self> {
        let columns = design(0..rows.min(1)).ncols();
        let n = rows.max(1) as f64;
        let (mut mean, mut square) = (Array1::<f64>::zeros(columns), Array1::<f64>::zeros(columns));
        let (mut low, mut high) =
            (Array1::from_elem(columns, f64::INFINITY), Array1::from_elem(columns, f64::NEG_INFINITY));
        for part in blocks(rows) {
            let block = design(part);
            mean += &(block.sum_axis(Axis(0)) / n);
            for row in block.outer_iter() {
                Zip::from(&mut low).and(&mut high).and(row).for_each(|l, h, &v| {
                    *l = l.min(v);
                    *h = h.max(v);
                });
            }
        }
        let units = units(&low, &high);
        for part in blocks(rows) {
            design(part).outer_iter().for_each(|row| add_squares(&mut square, row, &mean, &units, n));
        }
        let scale = Standardizer::of_moments(mean, square, &units, &low, &high);
        Clip::new(scale, low, high)
    }

    /// How many columns it is for.
    pub fn columns(&self) -> usize {
        self.low.len()
    }

    /// The least value of each column on standard scale.
    pub fn low(&self) -> &Array1<f64> {
        &self.low
    }

    /// The greatest.
    pub fn high(&self) -> &Array1<f64> {
        &self.high
    }

    /// Standardised and clipped.
    pub(crate) fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut z = self.scale.apply(x)?;
        for mut row in z.outer_iter_mut() {
            Zip::from(&mut row).and(&self.low).and(&self.high).for_each(|z, &l, &h| *z = z.clamp(l, h));
        }
        Ok(z)
    }

    /// Whether its parts have one length and are in order, as they are unless a file says otherwise.
    pub(crate) fn sound(&self) -> bool {
        let numbers = self.scale.mean().iter().chain(self.scale.sd()).chain(&self.low).chain(&self.high);
        self.scale.columns() == self.low.len()
            && self.low.len() == self.high.len()
            && numbers.into_iter().all(|v| v.is_finite())
            && self.low.iter().zip(&self.high).all(|(l, h)| l <= h)
    }
}

/// Rows of a design by their numbers, made on request.
pub(crate) type Design<'a> = dyn Fn(Range<usize>) -> Array2<f64> + Sync + 'a;

/// Consecutive ranges of rows.
pub(crate) fn blocks(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(BLOCK).map(|first| first..(first + BLOCK).min(rows)).collect()
}

/// A fitted ridge regression of one response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    clip: Clip,
    coefficients: Array1<f64>,
    intercept: f64,
}

/// A regression with its penalty chosen: its coefficients, and what it says of rows that are left out.
pub(crate) struct Regression<'a> {
    rows: Rows<'a>,
    basis: Option<Basis>,
    penalty: f64,
    intercept: f64,
    work: &'a Work<'a>,
}

impl<'a> Regression<'a> {
    /// Of a design that is only ever there block by block; the penalty is one of n · `grid`, by leave-one-out error.
    pub(crate) fn new(
        clip: &'a Clip,
        design: &'a Design<'a>,
        y: ArrayView1<'_, f64>,
        grid: &[f64],
        work: &'a Work<'a>,
    ) -> Result<Self> {
        let intercept = target_mean(y);
        let rows = Rows::new(clip, design, y.mapv(|v| v - intercept))?;
        let basis = Basis::new(&rows, work)?;
        let penalties: Vec<f64> = grid.iter().map(|c| y.len() as f64 * c).collect();
        let best = basis.as_ref().map_or(Ok(0), |b| b.best(&rows, &penalties, work))?;
        Ok(Regression { rows, basis, penalty: penalties[best], intercept, work })
    }

    /// The fit of all rows.
    pub(crate) fn ridge(&self) -> Result<Ridge> {
        let coefficients = match &self.basis {
            Some(basis) => basis.coefficients(&self.rows, self.penalty)?,
            None => Array1::zeros(self.rows.clip.columns()),
        };
        Ok(Ridge { clip: self.rows.clip.clone(), coefficients, intercept: self.intercept })
    }

    /// What fits at the same penalty say of each row that have not seen the row, or any of its group.
    pub(crate) fn left_out(&self, groups: Option<&[usize]>) -> Result<Array1<f64>> {
        let y = &self.rows.y + self.intercept;
        match &self.basis {
            Some(basis) => Ok(y - basis.left_out_errors(&self.rows, self.penalty, groups, self.work)?),
            None => Ok(Array1::from_elem(y.len(), self.intercept)),
        }
    }

    /// The leading components of the columns.
    pub(crate) fn components(&self) -> Result<Components> {
        Components::of(self.basis.as_ref(), &self.rows)
    }
}

impl Ridge {
    /// Fits `y[i]` on row `rows[i]` of `x`, the penalty one of n · `grid`, by leave-one-out error.
    pub(crate) fn fit(
        x: ArrayView2<'_, f64>,
        rows: &[usize],
        y: ArrayView1<'_, f64>,
        grid: &[f64],
        work: &Work<'_>,
    ) -> Result<Self> {
        let block = |part: Range<usize>| x.select(Axis(0), &rows[part]);
        Regression::new(&Clip::fit(x, rows)?, &block, y, grid, work)?.ridge()
    }

    /// The scale of its columns.
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// One per column, on standard scale.
    pub fn coefficients(&self) -> &Array1<f64> {
        &self.coefficients
    }

    /// The prediction at the middle of all columns.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    pub(crate) fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        Ok(self.clip.apply(x)?.dot(&self.coefficients) + self.intercept)
    }

    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        let numbers = self.coefficients.iter().all(|c| c.is_finite()) && self.intercept.is_finite();
        if self.clip.sound() && self.clip.columns() == columns && self.coefficients.len() == columns && numbers {
            return Ok(());
        }
        Err(Error::Inconsistent { what: "a ridge regression's parts do not belong together" })
    }
}

#[cfg(test)]
mod tests {
    use super::basis::Rotated;
    use super::*;
    use crate::base::Seed;
    use ndarray::array;
    use rand_distr::{Distribution, StandardNormal};

    fn data(n: usize, p: usize) -> (Array2<f64>, Array1<f64>) {
        let mut rng = Seed::new(4).rng();
        let x = Array2::from_shape_simple_fn((n, p), || StandardNormal.sample(&mut rng));
        let y = x
            .outer_iter()
            .map(|r| {
                2.0 + r[0] - 0.5 * r[r.len() / 2]
                    + 0.7 * {
                        let e: f64 = StandardNormal.sample(&mut rng);
                        e
                    }
            })
            .collect();
        (x, y)
    }

    /// The error at row `i` of a ridge regression of the other rows, by the normal equations of the augmented design:
    /// an unpenalised intercept, and the scale of the columns not learned anew.
    fn error_without(i: usize, x: &Array2<f64>, y: &Array1<f64>, penalty: f64) -> f64 {
        let (n, p) = x.dim();
        let rows: Vec<usize> = (0..n).filter(|&r| r != i).collect();
        let mut design = ndarray::concatenate![Axis(1), Array2::ones((n - 1, 1)), x.select(Axis(0), &rows)];
        let mut target = y.select(Axis(0), &rows).to_vec();
        for k in 0..p {
            let mut row = Array1::zeros(p + 1);
            row[k + 1] = penalty.sqrt();
            design.push_row(row.view()).unwrap();
            target.push(0.0);
        }
        let inverse = crate::linalg::dense::spd_inverse(design.t().dot(&design).view()).unwrap();
        let beta = inverse.dot(&design.t().dot(&Array1::from(target)));
        y[i] - beta[0] - beta.slice(ndarray::s![1..]).dot(&x.row(i))
    }

    /// Both forms: leaving rows out one by one and refitting gives the closed form.
    #[test]
    fn the_closed_form_is_the_error_of_leaving_rows_out() {
        for (n, p) in [(25, 3), (25, 24), (12, 40), (13, 13)] {
            let (x, y) = data(n, p);
            let clip = Clip::fit(x.view(), &(0..n).collect::<Vec<_>>()).unwrap();
            let x = clip.apply(x.view()).unwrap();
            let same = Clip::fit(x.view(), &(0..n).collect::<Vec<_>>()).unwrap();
            let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
            let rows = Rows::new(&same, &design, &y - y.sum() / n as f64).unwrap();
            let work = Work::unwatched();
            let penalties = [0.05, 0.1 * n as f64, 3.0 * n as f64];
            let brute = penalties.map(|c| (0..n).map(|i| error_without(i, &x, &y, c).powi(2)).sum::<f64>());
            for basis in [Basis::of_columns(&rows, &work), Basis::of_rows(&rows, &work)] {
                let closed = basis.unwrap().unwrap().left_out(&rows, &penalties, &work).unwrap();
                for (closed, brute) in closed.iter().zip(brute) {
                    assert!((closed / brute - 1.0).abs() < 1e-7, "{n} × {p}: {closed} {brute}");
                }
            }
        }
    }

    /// Left-out predictions of single rows and of groups are those of fits without them, in both forms; a group of rows
    /// larger than the number of columns too.
    #[test]
    fn left_out_predictions_are_those_of_other_fits() {
        for (n, p) in [(40, 3), (40, 12), (18, 60)] {
            let (x, y) = data(n, p);
            let all: Vec<usize> = (0..n).collect();
            let clip = Clip::fit(x.view(), &all).unwrap();
            let z = clip.apply(x.view()).unwrap();
            let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
            let rows = Rows::new(&clip, &design, &y - y.sum() / n as f64).unwrap();
            let (work, penalty) = (Work::unwatched(), 0.1 * n as f64);
            let groups: Vec<usize> = (0..n).map(|i| if i % 3 == 0 { 0 } else { i / 4 }).collect();
            for groups in [None, Some(&groups[..])] {
                for basis in [Basis::of_columns(&rows, &work), Basis::of_rows(&rows, &work)] {
                    let errors = basis.unwrap().unwrap().left_out_errors(&rows, penalty, groups, &work).unwrap();
                    for i in 0..n {
                        let out = |j: usize| groups.map_or(j == i, |g| g[j] == g[i]);
                        let kept: Vec<usize> = (0..n).filter(|&j| !out(j)).collect();
                        let brute = y[i] - with_intercept(&z, &y, &kept, penalty).dot(&with_one(z.row(i)));
                        assert!(
                            (errors[i] - brute).abs() < 1e-4 * brute.abs().max(0.1),
                            "{n} × {p}: {} {brute}",
                            errors[i]
                        );
                    }
                }
            }
        }
    }

    /// Rows that are rotated once, and rows whose sums are rotated, give the same fits.
    #[test]
    fn rows_that_are_not_held_give_the_same() {
        let (x, y) = data(60, 7);
        let clip = Clip::fit(x.view(), &(0..60).collect::<Vec<_>>()).unwrap();
        let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
        let rows = Rows::new(&clip, &design, &y - y.sum() / 60.0).unwrap();
        let work = Work::unwatched();
        let basis = Basis::of_columns(&rows, &work).unwrap().unwrap();
        let Basis::Columns { vectors, .. } = &basis else { unreachable!("made of columns") };
        let both = [Rotated::new(&basis, &rows, true, &work).unwrap(), Rotated::Made { rows: &rows, vectors }];
        assert!(matches!(both[0], Rotated::Held(_)));
        let shares = basis.shares(3.0);
        let [held, made] = both.map(|rotated| {
            let columns = rotated.columns(&(0..60)).unwrap().into_owned();
            let coordinates = rotated.of_sums(columns.t().dot(&rows.y)) * &shares;
            let fitted = columns.dot(&rotated.weights(&coordinates));
            (fitted, rotated.leverage(&(0..60), &shares).unwrap())
        });
        assert!((&held.0 - &made.0).iter().chain(&(&held.1 - &made.1)).all(|d| d.abs() < 1e-12));
    }

    fn with_one(row: ArrayView1<'_, f64>) -> Array1<f64> {
        row.iter().copied().chain([1.0]).collect()
    }

    /// Coefficients and the intercept, which has no penalty, on these rows.
    fn with_intercept(z: &Array2<f64>, y: &Array1<f64>, rows: &[usize], penalty: f64) -> Array1<f64> {
        let a = Array2::from_shape_fn(
            (rows.len(), z.ncols() + 1),
            |(i, j)| if j < z.ncols() { z[[rows[i], j]] } else { 1.0 },
        );
        let mut gram = a.t().dot(&a);
        (0..z.ncols()).for_each(|j| gram[[j, j]] += penalty);
        let inverse = crate::linalg::dense::spd_inverse(gram.view()).unwrap();
        inverse.dot(&a.t().dot(&y.select(Axis(0), rows)))
    }

    /// Components have variance one and no correlation, in both forms, and come with their largest weight positive.
    #[test]
    fn components_are_uncorrelated_and_of_variance_one() {
        for (n, p) in [(200, 12), (30, 90), (50, 3)] {
            let (mut x, _) = data(n, p);
            let twin = x.column(0).to_owned();
            x.column_mut(1).assign(&twin);
            let rows: Vec<usize> = (0..n).collect();
            let c = Components::fit(x.view(), &rows, &Work::unwatched()).unwrap();
            let scores = c.clip().apply(x.view()).unwrap().dot(&c.weights().t());
            let covariance = scores.t().dot(&scores) / n as f64;
            assert!((&covariance - &Array2::<f64>::eye(scores.ncols())).iter().all(|d| d.abs() < 1e-8), "{covariance}");
            // Twins are one direction less.
            assert_eq!(c.weights().nrows(), 8.min(p - 1));
            let products = c.apply(x.view()).unwrap();
            assert_eq!(products.ncols(), c.products());
            assert!((products[[3, 1]] - scores[[3, 0]] * scores[[3, 1]]).abs() < 1e-12);
        }
    }

    /// Normal residuals whose log scale is linear: the slope is found within 4.5 standard errors of its efficiency, 88 %
    /// of what normal likelihood would give (1/√(2n)), and better than by least squares on logarithms (40 %).
    #[test]
    fn the_laplace_scale_finds_a_slope_with_its_efficiency() {
        let (n, replications, truth) = (1000, 40, 0.6f64);
        let mut slopes = Vec::new();
        for replication in 0..replications {
            let mut draws = StandardNormal.sample_iter(Seed::new(100 + replication).rng());
            let x = Array2::<f64>::from_shape_simple_fn((n, 2), || draws.next().unwrap());
            let sizes: Array1<f64> =
                x.outer_iter().map(|row| (truth * row[0]).exp() * f64::abs(draws.next().unwrap())).collect();
            let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
            let fit = LogScale::fit(&design, sizes.view(), None, &[1e-6], &Work::unwatched()).unwrap();
            slopes.push(fit.ridge.coefficients()[0] / fit.ridge.clip().clamp(0).scale.recip());
            // Left-out values are the fitted ones but for their own row.
            let moved = (&fit.fitted - &fit.left_out).iter().fold(0.0, |m: f64, d| m.max(d.abs()));
            assert!(moved > 0.0 && moved < 0.3, "{moved}");
        }
        let (mean, sd) = crate::metrics::mean_sd(&slopes);
        let best = 1.0 / (2.0 * n as f64).sqrt();
        let expected = best / 0.88f64.sqrt();
        // The sd of 40 replications is within 4.5 of its own standard errors, and far below that of logarithms.
        assert!((mean - truth).abs() < 4.5 * expected / (replications as f64).sqrt(), "{mean}");
        assert!(sd < expected * (1.0 + 4.5 / (2.0 * 39.0f64).sqrt()) && sd < best / 0.4f64.sqrt(), "{sd} {expected}");
    }

    /// A column that is the log scale itself has slope 1 at an infinite penalty, where it is drawn to 1, and none where it
    /// is drawn to 0; noise is drawn to 0.
    #[test]
    fn the_slope_of_a_known_log_scale_is_one() {
        let n = 500;
        let mut draws = StandardNormal.sample_iter(Seed::new(9).rng());
        let x = Array2::<f64>::from_shape_simple_fn((n, 2), || draws.next().unwrap());
        let sizes: Array1<f64> = x.outer_iter().map(|row| row[0].exp() * f64::abs(draws.next().unwrap())).collect();
        let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
        let fit = |slope: Option<usize>| {
            let fit = LogScale::fit(&design, sizes.view(), slope, &[f64::INFINITY], &Work::unwatched()).unwrap();
            let again = fit.ridge.predict(x.view()).unwrap();
            assert!((&again - &fit.fitted).iter().all(|d| d.abs() < 1e-10));
            (0..2).map(|k| fit.ridge.coefficients()[k] * fit.ridge.clip().clamp(k).scale).collect::<Vec<_>>()
        };
        let near = |found: Vec<f64>, expected: [f64; 2]| {
            assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-10), "{found:?} and not {expected:?}");
        };
        near(fit(None), [0.0, 0.0]);
        near(fit(Some(0)), [1.0, 0.0]);
        near(fit(Some(1)), [0.0, 0.0]);
    }

    /// The two forms are one regression: coefficients and left-out errors agree to rounding over the whole grid,
    /// constant and repeated columns and repeated rows included, whatever the shape.
    #[test]
    fn the_kernel_form_is_the_primal_form() {
        let penalties = [1e-5, 1e-3, 0.1, 1.0, 3.0, f64::INFINITY];
        for (n, p) in [(30, 4), (30, 29), (30, 30), (30, 31), (30, 200), (300, 310), (5, 1)] {
            let (mut x, y) = data(n, p);
            if p > 3 {
                x.column_mut(3).fill(2.5);
                let twin = x.column(0).to_owned();
                x.column_mut(2).assign(&twin);
                let twin = x.row(1).to_owned();
                x.row_mut(2).assign(&twin);
            }
            let clip = Clip::fit(x.view(), &(0..n).collect::<Vec<_>>()).unwrap();
            let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
            let rows = Rows::new(&clip, &design, &y - y.sum() / n as f64).unwrap();
            let (work, grid) = (Work::unwatched(), penalties.map(|c| c * n as f64));
            let primal = Basis::of_columns(&rows, &work).unwrap().unwrap();
            let dual = Basis::of_rows(&rows, &work).unwrap().unwrap();
            let [a, b] = [&primal, &dual].map(|basis| basis.left_out(&rows, &grid, &work).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a / b - 1.0).abs() < 1e-5), "{n} × {p}: {a} {b}");
            for &penalty in &grid {
                let [a, b] = [&primal, &dual].map(|basis| basis.coefficients(&rows, penalty).unwrap());
                let size = a.iter().fold(1e-12, |m: f64, v| m.max(v.abs()));
                assert!((&a - &b).iter().all(|d| d.abs() < 1e-7 * size), "{n} × {p} at {penalty}");
            }
        }
    }

    /// At a tiny penalty and many columns 1 − h is below 1e-6, where 1 minus a sum would have lost it.
    #[test]
    fn a_fit_through_every_row_is_not_taken_for_a_good_one() {
        let (x, y) = data(20, 4000);
        let noise = Array1::from_iter((0..20).map(|i| y[(i * 7) % 20]));
        let clip = Clip::fit(x.view(), &(0..20).collect::<Vec<_>>()).unwrap();
        let design = |part: Range<usize>| x.slice(ndarray::s![part, ..]).to_owned();
        let rows = Rows::new(&clip, &design, &noise - noise.sum() / 20.0).unwrap();
        let work = Work::unwatched();
        let basis = Basis::new(&rows, &work).unwrap().unwrap();
        assert!(matches!(basis, Basis::Rows { .. }));
        let errors = basis.left_out(&rows, &[20.0 * 1e-9, 20.0 * 1e-5, 20.0], &work).unwrap();
        // As λ → 0 the error converges to that of the least-norm interpolation, which is that of a mild penalty here.
        assert!(errors.iter().all(|e| (e / errors[2] - 1.0).abs() < 0.05), "{errors}");
    }

    #[test]
    fn a_cancelled_fit_stops_in_both_forms() {
        for (n, p) in [(40, 5), (5, 40)] {
            let (x, y) = data(n, p);
            let rows: Vec<usize> = (0..n).collect();
            let fit = Ridge::fit(x.view(), &rows, y.view(), &[0.1], &Work::new(1, "fits", &|_, _| false));
            assert!(matches!(fit, Err(Error::Cancelled(_))));
        }
    }

    #[test]
    fn it_finds_the_signal_and_an_infinite_penalty_is_the_mean() {
        let (x, y) = data(3000, 5);
        let rows: Vec<usize> = (0..3000).collect();
        let grid = [1e-5, 1e-3, 0.1, 1.0, f64::INFINITY];
        let fit = Ridge::fit(x.view(), &rows, y.view(), &grid, &Work::unwatched()).unwrap();
        let error = (&fit.predict(x.view()).unwrap() - &y).mapv(|e| e * e).sum() / 3000.0;
        // Noise variance .49, and sd of its estimate .49 √(2/3000).
        assert!((error - 0.49).abs() < 4.5 * 0.49 * (2.0f64 / 3000.0).sqrt(), "{error}");
        let flat = Ridge::fit(x.view(), &rows, y.view(), &[f64::INFINITY], &Work::unwatched()).unwrap();
        assert!(flat.predict(x.view()).unwrap().iter().all(|m| (m - y.sum() / 3000.0).abs() < 1e-12));
    }

    #[test]
    fn new_rows_are_clipped_one_deviation_beyond_the_old_and_constants_stay_zero() {
        let clip = Clip::fit(array![[1.0, 7.1], [3.0, 7.1]].view(), &[0, 1]).unwrap();
        let new = clip.apply(array![[2.5, 9.0], [1e300, -9.0], [-50.0, 7.1]].view()).unwrap();
        assert_eq!(new, array![[0.5, 0.0], [2.0, 0.0], [-2.0, 0.0]]);
        assert!(clip.apply(array![[1.0]].view()).is_err());
        assert!(Clip::fit(array![[1e308], [1.7e308], [1.7e308]].view(), &[0, 1, 2]).is_ok());
        assert!(Clip::fit(array![[-1e308], [1.7e308], [1.7e308]].view(), &[0, 1, 2]).is_err());
    }

    #[test]
    fn more_columns_than_rows_and_constant_columns_are_sound() {
        let (mut x, y) = data(20, 40);
        x.column_mut(7).fill(3.0);
        let rows: Vec<usize> = (0..20).collect();
        let grid = [1e-5, 0.01, 1.0, f64::INFINITY];
        let fit = Ridge::fit(x.view(), &rows, y.view(), &grid, &Work::unwatched()).unwrap();
        let mut far = x.clone();
        far.column_mut(7).fill(1e9);
        let (near, far) = (fit.predict(x.view()).unwrap(), fit.predict(far.view()).unwrap());
        assert!((near - far).iter().all(|d| d.abs() < 1e-9));
    }
}
