//! The eigenbasis of a standardised design Z, from the smaller of its two product matrices: ZᵀZ where there are at
//! least as many rows as columns, and the kernel ZZᵀ where there are more columns, so that nothing of order p × p is
//! made.
//!
//! With Z = U diag(√d) Vᵀ and a centred response y, a penalty λ gives coefficients V diag(√d/(d+λ)) Uᵀy, a residual r,
//! and the leverage h_i = Σ_k u_ik² d_k/(d_k+λ) of row i. Its error when it is left out is r_i/(1 − 1/n − h_i); 1/n is
//! the leverage of the intercept. Where the rows are fewer than the columns, the n − 1 vectors u_k span all that is
//! orthogonal to the intercept, and both parts come without cancellation, which matters for small λ: r = U
//! diag(λ/(d+λ)) Uᵀy and 1 − 1/n − h_i = Σ_k u_ik² λ/(d_k+λ).

use std::ops::Range;

use ndarray::{Array1, Array2, CowArray, Ix2, s};
use rayon::prelude::*;

use super::{Clip, Design, blocks};
use crate::base::Result;
use crate::base::Work;
use crate::linalg::dense::{matmul, matvec, spd_inverse, symmetric_eigen};
use crate::rows::by_group;

/// Blocks whose Gram matrices are held at once.
const FEW: usize = 8;
/// Rows per block of the kernel: two blocks of a wide design are held at once by every thread.
const KERNEL_BLOCK: usize = 256;
/// The least 1 − 1/n − h_i. A leverage of 1 means that the row alone decides its fit; rounding must not turn that into
/// a perfect prediction.
const LEAST_LEFT: f64 = 1e-6;
/// The same where it is a sum without cancellation: only zero is excluded.
const LEAST_LEFT_KERNEL: f64 = 1e-200;

/// The least 1 − 1/n − h_i where predictions of left-out rows are used themselves.
const LEAST_LEFT_ROW: f64 = 1e-3;
/// Added to the diagonal of I − H_gg of a group, which can be singular but for rounding.
const LEAST_LEFT_GROUP: f64 = 1e-9;
/// Directions with less of the largest variance are rounding, or nearly so.
const LEAST_VARIANCE: f64 = 1e-6;
/// Numbers of a design that are held in memory: 128 MB.
const HELD: usize = 1 << 24;

/// Rows of a design on standard scale, and their centred response.
pub(super) struct Rows<'a> {
    pub clip: &'a Clip,
    design: &'a Design<'a>,
    pub y: Array1<f64>,
    /// All rows, where they are few enough to be kept.
    held: Option<Array2<f64>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(clip: &'a Clip, design: &'a Design<'a>, y: Array1<f64>) -> Result<Self> {
        let mut rows = Rows { clip, design, y, held: None };
        if rows.y.len() * clip.columns() <= HELD {
            let parts = blocks(rows.y.len());
            let parts = parts.par_iter().map(|p| rows.made(p)).collect::<Result<Vec<Array2<f64>>>>()?;
            let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
            rows.held = ndarray::concatenate(ndarray::Axis(0), &views).ok();
        }
        Ok(rows)
    }

    fn made(&self, part: &Range<usize>) -> Result<Array2<f64>> {
        self.clip.apply((self.design)(part.clone()).view())
    }

    fn block(&self, part: &Range<usize>) -> Result<CowArray<'_, f64, Ix2>> {
        match &self.held {
            Some(all) => Ok(all.slice(s![part.clone(), ..]).into()),
            None => Ok(self.made(part)?.into()),
        }
    }

    /// Zᵀv, for one number of v per row.
    fn transposed_times(&self, v: &Array1<f64>) -> Result<Array1<f64>> {
        let mut sum = Array1::zeros(self.clip.columns());
        for part in blocks(self.y.len()) {
            sum += &self.block(&part)?.t().dot(&v.slice(s![part]));
        }
        Ok(sum)
    }

    fn response(&self, part: &Range<usize>) -> Array1<f64> {
        self.y.slice(s![part.clone()]).to_owned()
    }
}

/// d and the vectors of one side, with the response in their coordinates.
pub(super) enum Basis {
    /// V, and Vᵀ Zᵀy.
    Columns { values: Array1<f64>, vectors: Array2<f64>, moment: Array1<f64> },
    /// U without the constant vector, and Uᵀy.
    Rows { values: Array1<f64>, vectors: Array2<f64>, response: Array1<f64> },
}

impl Basis {
    /// Of the side that is cheaper; nothing if the eigenvalues cannot be found.
    pub(super) fn new(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        if rows.clip.columns() > rows.y.len() { Basis::of_rows(rows, work) } else { Basis::of_columns(rows, work) }
    }

    pub(super) fn of_columns(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        let p = rows.clip.columns();
        if p == 0 {
            return Ok(None);
        }
        let (mut gram, mut moment) = (Array2::zeros((p, p)), Array1::zeros(p));
        // A few blocks at a time: their Gram matrices take more room than they do.
        for few in blocks(rows.y.len()).chunks(FEW) {
            let parts: Vec<(Array2<f64>, Array1<f64>)> = few
                .par_iter()
                .map(|part| {
                    work.check()?;
                    let z = rows.block(part)?;
                    Ok((matmul(z.t(), z.view()), z.t().dot(&rows.response(part))))
                })
                .collect::<Result<_>>()?;
            for (g, m) in &parts {
                gram += g;
                moment += m;
            }
        }
        work.check()?;
        let eigen = symmetric_eigen(gram.view());
        Ok(eigen.map(|(values, vectors)| {
            let moment = vectors.t().dot(&moment);
            Basis::Columns { values: values.mapv(|d| d.max(0.0)), vectors, moment }
        }))
    }

    pub(super) fn of_rows(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        let n = rows.y.len();
        if n == 0 {
            return Ok(None);
        }
        let parts: Vec<Range<usize>> = (0..n).step_by(KERNEL_BLOCK).map(|i| i..(i + KERNEL_BLOCK).min(n)).collect();
        let mut kernel = Array2::zeros((n, n));
        for (i, a) in parts.iter().enumerate() {
            let left = rows.block(a)?;
            let products: Vec<Array2<f64>> = parts[..=i]
                .par_iter()
                .map(|b| {
                    work.check()?;
                    Ok(matmul(left.view(), rows.block(b)?.t()))
                })
                .collect::<Result<_>>()?;
            for (b, product) in parts.iter().zip(&products) {
                kernel.slice_mut(s![a.clone(), b.clone()]).assign(product);
                kernel.slice_mut(s![b.clone(), a.clone()]).assign(&product.t());
            }
        }
        work.check()?;
        // The columns of Z are centred, so the constant vector has eigenvalue 0 but for rounding. Moved beyond all
        // others, it is the last, and the rest is orthogonal to it.
        let beyond = 2.0 * kernel.diag().sum();
        kernel += if beyond > 0.0 { beyond / n as f64 } else { 1.0 };
        let eigen = symmetric_eigen(kernel.view());
        Ok(eigen.map(|(values, vectors)| {
            let values = values.slice(s![..n - 1]).mapv(|d| d.max(0.0));
            let vectors = vectors.slice(s![.., ..n - 1]).to_owned();
            let response = vectors.t().dot(&rows.y);
            Basis::Rows { values, vectors, response }
        }))
    }

    /// The errors y_i − f(x_i) at one penalty of fits that have not seen row i, or none of its group.
    ///
    /// Of a group g they are (I − H_gg)⁻¹ r_g with H = A Aᵀ, where A are the rows on the scale of the vectors and of
    /// the penalty, with the intercept as one more column. A large group inverts I − AᵀA instead.
    pub(super) fn left_out_errors(
        &self,
        rows: &Rows<'_>,
        penalty: f64,
        groups: Option<&[usize]>,
        work: &Work<'_>,
    ) -> Result<Array1<f64>> {
        let n = rows.y.len();
        let rotated = Rotated::new(self, rows, groups.is_some(), work)?;
        let shares = self.shares(penalty);
        let weights = rotated.weights(&(rotated.moment(&rows.y, work)? * &shares));
        let one = |part: &Range<usize>| {
            work.check()?;
            let fitted = matvec(rotated.columns(part)?.view(), weights.view());
            Ok((rows.response(part) - fitted, rotated.leverage(part, &shares)?))
        };
        let parts = blocks(n).par_iter().map(one).collect::<Result<Vec<_>>>()?;
        let residual: Array1<f64> = parts.iter().flat_map(|(r, _)| r.iter().copied()).collect();
        let Some(groups) = groups else {
            let leverage = parts.iter().flat_map(|(_, h)| h.iter().copied());
            let errors = residual.iter().zip(leverage).map(|(r, h)| r / (1.0 - 1.0 / n as f64 - h).max(LEAST_LEFT_ROW));
            return Ok(errors.collect());
        };
        let members = by_group(0..n, groups);
        let roots = shares.mapv(f64::sqrt);
        let solved: Vec<Array1<f64>> = members
            .par_iter()
            .map(|group| {
                work.check()?;
                let mut a = Array2::from_elem((group.len(), roots.len() + 1), 1.0 / (n as f64).sqrt());
                for (mut to, &i) in a.outer_iter_mut().zip(group) {
                    to.slice_mut(s![..roots.len()]).assign(&(&rotated.row(i)? * &roots));
                }
                Ok(without_group(&a, &residual.select(ndarray::Axis(0), group)))
            })
            .collect::<Result<_>>()?;
        let mut errors = Array1::zeros(n);
        for (group, solved) in members.iter().zip(&solved) {
            group.iter().zip(solved).for_each(|(&i, e)| errors[i] = *e);
        }
        Ok(errors)
    }

    /// What a fit takes of each coordinate: the fitted values are Σ_k share_k s_k s_kᵀ y over the rotated rows s.
    pub(super) fn shares(&self, penalty: f64) -> Array1<f64> {
        match self {
            Basis::Columns { values, .. } => values.mapv(|d| shrink(d, penalty)),
            Basis::Rows { values, .. } => values.mapv(|d| 1.0 - keep(d, penalty)),
        }
    }

    /// The coefficients of a fit with these coordinates, which are shares of the rotated response.
    pub(super) fn of_coordinates(&self, rows: &Rows<'_>, coordinates: &Array1<f64>) -> Result<Array1<f64>> {
        match self {
            Basis::Columns { vectors, .. } => Ok(vectors.dot(coordinates)),
            // The fitted values are U c = Z β with β = Zᵀ U diag(1/d) c; what has no spread has no share either.
            Basis::Rows { values, vectors, .. } => {
                let largest = values.iter().fold(0.0, |m: f64, d| m.max(*d));
                let over = |(c, d): (&f64, &f64)| if *d > 1e-14 * largest { c / d } else { 0.0 };
                rows.transposed_times(&vectors.dot(&coordinates.iter().zip(values).map(over).collect::<Array1<f64>>()))
            }
        }
    }

    /// Directions of the largest variances, each divided by its standard deviation: at most so many, as rows.
    pub(super) fn leading(&self, rows: &Rows<'_>, most: usize) -> Result<Array2<f64>> {
        let (Basis::Columns { values, .. } | Basis::Rows { values, .. }) = self;
        let n = rows.y.len() as f64;
        let largest = values.iter().fold(0.0, |m: f64, d| m.max(*d));
        let chosen: Vec<usize> =
            (0..values.len()).rev().filter(|&k| values[k] > LEAST_VARIANCE * largest).take(most).collect();
        let mut out = Array2::zeros((chosen.len(), rows.clip.columns()));
        match self {
            Basis::Columns { vectors, .. } => {
                for (mut to, &k) in out.outer_iter_mut().zip(&chosen) {
                    to.assign(&(&vectors.column(k) * (n / values[k]).sqrt()));
                }
            }
            Basis::Rows { vectors, .. } => {
                for part in blocks(rows.y.len()) {
                    let block = rows.block(&part)?;
                    for (mut to, &k) in out.outer_iter_mut().zip(&chosen) {
                        to += &(block.t().dot(&vectors.slice(s![part.clone(), k])) * (n.sqrt() / values[k]));
                    }
                }
            }
        }
        // The sign of an eigenvector is arbitrary: the largest weight is positive.
        for mut row in out.outer_iter_mut() {
            let top = row.iter().copied().fold(0.0, |m: f64, v| if v.abs() > m.abs() { v } else { m });
            if top < 0.0 {
                row.mapv_inplace(|v| -v);
            }
        }
        Ok(out)
    }

    /// The number of the penalty with the least error of left-out rows.
    pub(super) fn best(&self, rows: &Rows<'_>, penalties: &[f64], work: &Work<'_>) -> Result<usize> {
        let errors = self.left_out(rows, penalties, work)?;
        Ok((0..penalties.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0))
    }

    /// Σ_i (r_i/(1 − 1/n − h_i))² at each of these penalties.
    pub(super) fn left_out(&self, rows: &Rows<'_>, penalties: &[f64], work: &Work<'_>) -> Result<Array1<f64>> {
        match self {
            Basis::Columns { values, vectors, moment } => {
                let n = rows.y.len() as f64;
                let leverage = grid(penalties, |penalty| values.mapv(|d| shrink(d, penalty)));
                let fit = grid(penalties, |penalty| moment * &values.mapv(|d| shrink(d, penalty)));
                let errors: Vec<Array1<f64>> = blocks(rows.y.len())
                    .par_iter()
                    .map(|part| {
                        work.check()?;
                        let scores = matmul(rows.block(part)?.view(), vectors.view());
                        let mut residual = -matmul(scores.view(), fit.view());
                        residual += &rows.response(part).insert_axis(ndarray::Axis(1));
                        let leverage = matmul(scores.mapv_into(|z| z * z).view(), leverage.view());
                        Ok(squares(&residual, &leverage.mapv_into(|h| 1.0 - 1.0 / n - h), LEAST_LEFT))
                    })
                    .collect::<Result<_>>()?;
                Ok(errors.into_iter().fold(Array1::zeros(penalties.len()), |a: Array1<f64>, e| a + e))
            }
            Basis::Rows { values, vectors, response } => {
                let kept = grid(penalties, |penalty| values.mapv(|d| keep(d, penalty)));
                let residual = matmul(vectors.view(), (&kept * &response.view().insert_axis(ndarray::Axis(1))).view());
                let left = matmul(vectors.mapv(|u| u * u).view(), kept.view());
                Ok(squares(&residual, &left, LEAST_LEFT_KERNEL))
            }
        }
    }

    /// One per column of the design, at this penalty.
    pub(super) fn coefficients(&self, rows: &Rows<'_>, penalty: f64) -> Result<Array1<f64>> {
        match self {
            Basis::Columns { values, vectors, moment } => {
                Ok(vectors.dot(&(moment * &values.mapv(|d| shrink(d, penalty)))))
            }
            // V diag(√d/(d+λ)) Uᵀy = Zᵀ U diag(1/(d+λ)) Uᵀy.
            Basis::Rows { values, vectors, response } => {
                rows.transposed_times(&vectors.dot(&(response * &values.mapv(|d| shrink(d, penalty)))))
            }
        }
    }
}

/// Errors of a group's rows by a fit without the group, from its rows A and residuals.
fn without_group(a: &Array2<f64>, residual: &Array1<f64>) -> Array1<f64> {
    let large = a.nrows() > a.ncols();
    let mut left = if large { -matmul(a.t(), a.view()) } else { -matmul(a.view(), a.t()) };
    left.diag_mut().mapv_inplace(|d| d + 1.0 + LEAST_LEFT_GROUP);
    match spd_inverse(left.view()) {
        Some(inverse) if large => residual + &a.dot(&inverse.dot(&a.t().dot(residual))),
        Some(inverse) => inverse.dot(residual),
        None => residual / LEAST_LEFT_ROW,
    }
}

/// The rows of a design in the coordinates of its basis: S = Z V, or U.
pub(super) enum Rotated<'a> {
    Held(CowArray<'a, f64, Ix2>),
    /// Too many to be held. Z is at hand or made again, and V is applied to sums over rows.
    Made {
        rows: &'a Rows<'a>,
        vectors: &'a Array2<f64>,
    },
}

impl<'a> Rotated<'a> {
    pub(super) fn new(basis: &'a Basis, rows: &'a Rows<'a>, hold: bool, work: &Work<'_>) -> Result<Self> {
        match basis {
            Basis::Rows { vectors, .. } => Ok(Rotated::Held(vectors.view().into())),
            Basis::Columns { vectors, .. } if hold || rows.y.len() * vectors.ncols() <= HELD => {
                let made = Rotated::Made { rows, vectors };
                let one = |part: &Range<usize>| {
                    work.check()?;
                    Ok(made.block(part)?.into_owned())
                };
                let parts = blocks(rows.y.len()).par_iter().map(one).collect::<Result<Vec<Array2<f64>>>>()?;
                let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
                let all = ndarray::concatenate(ndarray::Axis(0), &views).expect("blocks of one width");
                Ok(Rotated::Held(all.into()))
            }
            Basis::Columns { vectors, .. } => Ok(Rotated::Made { rows, vectors }),
        }
    }

    /// S at some rows.
    fn block(&self, part: &Range<usize>) -> Result<CowArray<'_, f64, Ix2>> {
        Ok(match self {
            Rotated::Held(all) => all.slice(s![part.clone(), ..]).into(),
            Rotated::Made { rows, vectors } => matmul(rows.block(part)?.view(), vectors.view()).into(),
        })
    }

    /// The columns at some rows that the [weights](Self::weights) of a fit multiply: S where it is held, otherwise Z.
    pub(super) fn columns(&self, part: &Range<usize>) -> Result<CowArray<'_, f64, Ix2>> {
        match self {
            Rotated::Held(_) => self.block(part),
            Rotated::Made { rows, .. } => rows.block(part),
        }
    }

    /// The weights of the columns in a fit with these coordinates.
    pub(super) fn weights(&self, coordinates: &Array1<f64>) -> Array1<f64> {
        match self {
            Rotated::Held(_) => coordinates.clone(),
            Rotated::Made { vectors, .. } => matvec(vectors.view(), coordinates.view()),
        }
    }

    /// Sᵀz, from the sums over all rows of z times the [columns](Self::columns).
    pub(super) fn of_sums(&self, sums: Array1<f64>) -> Array1<f64> {
        match self {
            Rotated::Held(_) => sums,
            Rotated::Made { vectors, .. } => matvec(vectors.t(), sums.view()),
        }
    }

    /// Σ_k share_k s_ik² of some rows.
    pub(super) fn leverage(&self, part: &Range<usize>, shares: &Array1<f64>) -> Result<Array1<f64>> {
        Ok(matvec(self.block(part)?.mapv(|v| v * v).view(), shares.view()))
    }

    fn row(&self, i: usize) -> Result<Array1<f64>> {
        Ok(self.block(&(i..i + 1))?.row(0).to_owned())
    }

    /// The response in these coordinates.
    fn moment(&self, y: &Array1<f64>, work: &Work<'_>) -> Result<Array1<f64>> {
        let one = |part: &Range<usize>| {
            work.check()?;
            Ok(matvec(self.columns(part)?.t(), y.slice(s![part.clone()])))
        };
        let parts = blocks(y.len()).par_iter().map(one).collect::<Result<Vec<Array1<f64>>>>()?;
        Ok(self.of_sums(parts.into_iter().reduce(|a, b| a + b).unwrap_or_default()))
    }
}

/// 1/(d + λ).
fn shrink(d: f64, penalty: f64) -> f64 {
    1.0 / (d + penalty)
}

/// λ/(d + λ), also where λ is infinite.
fn keep(d: f64, penalty: f64) -> f64 {
    if penalty.is_infinite() { 1.0 } else { penalty / (d + penalty) }
}

/// One column per penalty.
fn grid(penalties: &[f64], column: impl Fn(f64) -> Array1<f64>) -> Array2<f64> {
    let columns: Vec<Array1<f64>> = penalties.iter().map(|&p| column(p)).collect();
    let rows = columns.first().map_or(0, Array1::len);
    Array2::from_shape_fn((rows, columns.len()), |(k, j)| columns[j][k])
}

/// The column sums of (residual / left)².
fn squares(residual: &Array2<f64>, left: &Array2<f64>, least: f64) -> Array1<f64> {
    let mut total = Array1::zeros(residual.ncols());
    for ((i, j), r) in residual.indexed_iter() {
        total[j] += (r / left[[i, j]].max(least)).powi(2);
    }
    total
}
