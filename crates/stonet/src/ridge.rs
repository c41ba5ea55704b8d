//! Ridge regression with its penalty chosen by closed-form leave-one-out error, in blocks of rows.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{add_squares, is_constant_range, target_mean, units};
use crate::linalg::dense::{matmul, symmetric_eigen};
use crate::{Error, Result, Standardizer};

/// Rows per block: memory stays flat, and results do not depend on the number of threads.
pub(crate) const BLOCK: usize = 1024;
/// Blocks whose Gram matrices are held at once.
const FEW: usize = 8;

/// Standard scale and the range of the rows it was learned on: new rows are clipped one standard deviation beyond, so that a feature
/// that hardly varied among them cannot send a prediction far away.
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

    /// The same of a design that is only there block by block.
    fn of_blocks(design: &Design<'_>, rows: usize) -> Result<Self> {
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

    /// The standard scale, applied first.
    pub fn scale(&self) -> &Standardizer {
        &self.scale
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

impl Ridge {
    /// Fits `y[i]` on row `rows[i]` of `x`, the penalty one of n · `grid`, by leave-one-out error.
    pub(crate) fn fit(x: ArrayView2<'_, f64>, rows: &[usize], y: ArrayView1<'_, f64>, grid: &[f64]) -> Result<Self> {
        let block = |part: Range<usize>| x.select(Axis(0), &rows[part]);
        Ridge::fit_blocks(Clip::fit(x, rows)?, &block, y, grid)
    }

    /// The same on a design that is only ever there block by block.
    pub(crate) fn fit_design(design: &Design<'_>, y: ArrayView1<'_, f64>, grid: &[f64]) -> Result<Self> {
        Ridge::fit_blocks(Clip::of_blocks(design, y.len())?, design, y, grid)
    }

    fn fit_blocks(clip: Clip, design: &Design<'_>, y: ArrayView1<'_, f64>, grid: &[f64]) -> Result<Self> {
        let n = y.len() as f64;
        let mean = target_mean(y);
        let blocks = blocks(y.len());
        let block = |part: &Range<usize>| clip.apply(design(part.clone()).view());
        let centred = |part: &Range<usize>| y.slice(s![part.clone()]).mapv(|v| v - mean);
        let p = clip.columns();
        let (mut gram, mut moment) = (Array2::zeros((p, p)), Array1::zeros(p));
        // A few blocks at a time: their Gram matrices take more room than they do.
        for few in blocks.chunks(FEW) {
            let parts: Vec<(Array2<f64>, Array1<f64>)> = few
                .par_iter()
                .map(|part| {
                    let z = block(part)?;
                    Ok((matmul(z.t(), z.view()), z.t().dot(&centred(part))))
                })
                .collect::<Result<_>>()?;
            for (g, m) in &parts {
                gram += g;
                moment += m;
            }
        }
        let Some((values, vectors)) = (if p == 0 { None } else { symmetric_eigen(gram.view()) }) else {
            return Ok(Ridge { clip, coefficients: Array1::zeros(p), intercept: mean });
        };
        let rotated = vectors.t().dot(&moment);
        let shrink = |penalty: f64| values.mapv(|d| 1.0 / (d.max(0.0) + n * penalty));
        let path = Path::new(grid, &rotated, &shrink);
        let errors: Vec<Array1<f64>> = blocks
            .par_iter()
            .map(|part| Ok(path.left_out(matmul(block(part)?.view(), vectors.view()), &centred(part), n)))
            .collect::<Result<_>>()?;
        let errors = errors.into_iter().fold(Array1::zeros(grid.len()), |a: Array1<f64>, e| a + e);
        let best = (0..grid.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let coefficients = vectors.dot(&(rotated * shrink(grid[best])));
        Ok(Ridge { clip, coefficients, intercept: mean })
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

/// The fits of a whole grid, in the eigenbasis.
struct Path {
    /// p × grid: coefficients.
    fit: Array2<f64>,
    /// p × grid: what a squared score adds to the leverage.
    leverage: Array2<f64>,
}

impl Path {
    fn new(grid: &[f64], rotated: &Array1<f64>, shrink: &dyn Fn(f64) -> Array1<f64>) -> Self {
        let (mut fit, mut leverage) =
            (Array2::zeros((rotated.len(), grid.len())), Array2::zeros((rotated.len(), grid.len())));
        for (j, &penalty) in grid.iter().enumerate() {
            let s = shrink(penalty);
            fit.column_mut(j).assign(&(rotated * &s));
            leverage.column_mut(j).assign(&s);
        }
        Path { fit, leverage }
    }

    /// Σ ((y − ŷ)/(1 − h))² over the block, per penalty; `z` are the block's scores in the eigenbasis.
    fn left_out(&self, z: Array2<f64>, y: &Array1<f64>, n: f64) -> Array1<f64> {
        let fitted = matmul(z.view(), self.fit.view());
        let leverage = matmul(z.mapv_into(|z| z * z).view(), self.leverage.view());
        let mut total = Array1::zeros(fitted.ncols());
        for ((i, j), f) in fitted.indexed_iter() {
            // A leverage of 1 means that the row alone decides its fit; rounding must not turn that into a perfect prediction.
            let left = (1.0 - 1.0 / n - leverage[[i, j]]).max(1e-6);
            total[j] += ((y[i] - f) / left).powi(2);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use ndarray::array;
    use rand_distr::{Distribution, StandardNormal};

    fn data(n: usize, p: usize) -> (Array2<f64>, Array1<f64>) {
        let mut rng = Seed::new(4).rng();
        let x = Array2::from_shape_simple_fn((n, p), || StandardNormal.sample(&mut rng));
        let y = x
            .outer_iter()
            .map(|r| {
                2.0 + r[0] - 0.5 * r[1]
                    + 0.7 * {
                        let e: f64 = StandardNormal.sample(&mut rng);
                        e
                    }
            })
            .collect();
        (x, y)
    }

    /// One penalty: leaving rows out one by one and refitting gives the closed form, when the scale is not learned anew.
    #[test]
    fn the_closed_form_is_the_error_of_leaving_rows_out() {
        let (x, y) = data(25, 3);
        let x = Standardizer::fit(x.view()).apply(x.view()).unwrap();
        let (n, penalty) = (25.0, 0.1);
        let gram = x.t().dot(&x);
        let (values, vectors) = symmetric_eigen(gram.view()).unwrap();
        let mean = y.sum() / n;
        let rotated = vectors.t().dot(&x.t().dot(&(&y - mean)));
        let shrink = |c: f64| values.mapv(|d| 1.0 / (d + n * c));
        let closed = Path::new(&[penalty], &rotated, &shrink).left_out(x.dot(&vectors), &(&y - mean), n)[0];
        let mut brute = 0.0;
        for i in 0..25 {
            let rows: Vec<usize> = (0..25).filter(|&r| r != i).collect();
            let (a, b) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
            // An unpenalised intercept and penalty n·c on the slopes, by solving the normal equations of the augmented design.
            let mut design = ndarray::concatenate![Axis(1), Array2::ones((24, 1)), a];
            let mut target = b.to_vec();
            for k in 0..3 {
                let mut row = Array1::zeros(4);
                row[k + 1] = (n * penalty).sqrt();
                design.push_row(row.view()).unwrap();
                target.push(0.0);
            }
            let target = Array1::from(target);
            let inverse = crate::linalg::dense::spd_inverse(design.t().dot(&design).view()).unwrap();
            let beta = inverse.dot(&design.t().dot(&target));
            let predicted = beta[0] + beta.slice(ndarray::s![1..]).dot(&x.row(i));
            brute += (y[i] - predicted).powi(2);
        }
        assert!((closed / brute - 1.0).abs() < 1e-9, "{closed} {brute}");
    }

    #[test]
    fn it_finds_the_signal_and_an_infinite_penalty_is_the_mean() {
        let (x, y) = data(3000, 5);
        let rows: Vec<usize> = (0..3000).collect();
        let grid = [1e-5, 1e-3, 0.1, 1.0, f64::INFINITY];
        let fit = Ridge::fit(x.view(), &rows, y.view(), &grid).unwrap();
        let error = (&fit.predict(x.view()).unwrap() - &y).mapv(|e| e * e).sum() / 3000.0;
        // Noise variance .49, and sd of its estimate .49 √(2/3000).
        assert!((error - 0.49).abs() < 4.5 * 0.49 * (2.0f64 / 3000.0).sqrt(), "{error}");
        let flat = Ridge::fit(x.view(), &rows, y.view(), &[f64::INFINITY]).unwrap();
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
        let fit = Ridge::fit(x.view(), &rows, y.view(), &[1e-5, 0.01, 1.0, f64::INFINITY]).unwrap();
        let mut far = x.clone();
        far.column_mut(7).fill(1e9);
        let (near, far) = (fit.predict(x.view()).unwrap(), fit.predict(far.view()).unwrap());
        assert!((near - far).iter().all(|d| d.abs() < 1e-9));
    }
}
