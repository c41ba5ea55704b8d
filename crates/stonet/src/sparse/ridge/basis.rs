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

use ndarray::{Array1, Array2, s};
use rayon::prelude::*;

use super::{Clip, Design, blocks};
use crate::base::Result;
use crate::base::Work;
use crate::linalg::dense::{matmul, symmetric_eigen};

/// Blocks whose Gram matrices are held at once.
const FEW: usize = 8;
/// Rows per block of the kernel: two blocks of a wide design are held at once by every thread.
const KERNEL_BLOCK: usize = 256;
/// The least 1 − 1/n − h_i. A leverage of 1 means that the row alone decides its fit; rounding must not turn that into
/// a perfect prediction.
const LEAST_LEFT: f64 = 1e-6;
/// The same where it is a sum without cancellation: only zero is excluded.
const LEAST_LEFT_KERNEL: f64 = 1e-200;

/// Rows of a design on standard scale, and their centred response.
pub(super) struct Rows<'a> {
    pub clip: &'a Clip,
    pub design: &'a Design<'a>,
    pub y: Array1<f64>,
}

impl Rows<'_> {
    fn block(&self, part: &Range<usize>) -> Result<Array2<f64>> {
        self.clip.apply((self.design)(part.clone()).view())
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
                let dual = vectors.dot(&(response * &values.mapv(|d| shrink(d, penalty))));
                let mut coefficients = Array1::zeros(rows.clip.columns());
                for part in blocks(rows.y.len()) {
                    coefficients += &rows.block(&part)?.t().dot(&dual.slice(s![part]));
                }
                Ok(coefficients)
            }
        }
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
