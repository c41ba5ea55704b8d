//! The eigenbasis of standardised features Z, from the smaller of their two product matrices: ZᵀZ where there are at
//! least as many rows as columns, and the kernel ZZᵀ where there are more columns, so that nothing of order p × p is
//! made.

use std::ops::Range;

use ndarray::{Array1, Array2, Axis, s};
use rayon::prelude::*;

use super::{Clip, Design, blocks};
use crate::base::{Result, Work};
use crate::linalg::dense::{add_gram, matmul, mirror, symmetric_eigen};

/// Blocks whose Gram matrices are held at once.
const FEW: usize = 8;
/// Rows per block of the kernel: two blocks of a wide design are held at once by every thread.
const KERNEL_BLOCK: usize = 256;
/// Directions with less of the largest variance are rounding, or nearly so.
const LEAST_VARIANCE: f64 = 1e-6;

/// Rows of features on standard scale, made block by block.
pub(super) struct Rows<'a> {
    pub clip: &'a Clip,
    pub design: &'a Design<'a>,
    pub n: usize,
}

impl Rows<'_> {
    pub(super) fn block(&self, part: &Range<usize>) -> Result<Array2<f64>> {
        self.clip.apply((self.design)(part.clone()).view())
    }

    /// Zᵀv, for one number of v per row.
    pub(super) fn transposed_times(&self, v: &Array1<f64>) -> Result<Array1<f64>> {
        let mut sum = Array1::zeros(self.clip.columns());
        for part in blocks(self.n) {
            sum += &self.block(&part)?.t().dot(&v.slice(s![part]));
        }
        Ok(sum)
    }
}

/// Which product matrix a basis is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// ZᵀZ = V diag(d) Vᵀ.
    Columns,
    /// ZZᵀ = U diag(d) Uᵀ, without the constant vector.
    Rows,
}

/// Eigenvalues d, ascending, and vectors of one side.
pub(super) struct Basis {
    pub side: Side,
    pub values: Array1<f64>,
    pub vectors: Array2<f64>,
}

impl Basis {
    /// Of the side that is cheaper; nothing if there is no column, or if the eigenvalues cannot be found.
    pub(super) fn new(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        let side = if rows.clip.columns() > rows.n { Side::Rows } else { Side::Columns };
        Basis::of(side, rows, work)
    }

    pub(super) fn of(side: Side, rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        if rows.clip.columns() == 0 || rows.n == 0 {
            return Ok(None);
        }
        match side {
            Side::Columns => Basis::of_columns(rows, work),
            Side::Rows => Basis::of_rows(rows, work),
        }
    }

    fn of_columns(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        let p = rows.clip.columns();
        let mut gram = Array2::zeros((p, p));
        // A few blocks at a time: their Gram matrices take more room than they do.
        for few in blocks(rows.n).chunks(FEW) {
            let part = |part: &Range<usize>| {
                work.check()?;
                let mut one = Array2::zeros((p, p));
                add_gram(&mut one, rows.block(part)?.view());
                Ok(one)
            };
            few.par_iter().map(part).collect::<Result<Vec<_>>>()?.iter().for_each(|g| gram += g);
        }
        mirror(&mut gram);
        work.check()?;
        let eigen = symmetric_eigen(gram.view());
        let side = Side::Columns;
        Ok(eigen.map(|(values, vectors)| Basis { side, values: values.mapv(|d| d.max(0.0)), vectors }))
    }

    fn of_rows(rows: &Rows<'_>, work: &Work<'_>) -> Result<Option<Self>> {
        let n = rows.n;
        let parts: Vec<Range<usize>> = (0..n).step_by(KERNEL_BLOCK).map(|i| i..(i + KERNEL_BLOCK).min(n)).collect();
        let mut kernel = Array2::zeros((n, n));
        for (i, a) in parts.iter().enumerate() {
            let left = rows.block(a)?;
            let product = |b: &Range<usize>| {
                work.check()?;
                Ok(matmul(left.view(), rows.block(b)?.t()))
            };
            let products = parts[..=i].par_iter().map(product).collect::<Result<Vec<Array2<f64>>>>()?;
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
        drop(kernel);
        Ok(eigen.map(|(values, mut vectors)| {
            let values = values.slice(s![..n - 1]).mapv(|d| d.max(0.0));
            vectors.remove_index(Axis(1), n - 1);
            Basis { side: Side::Rows, values, vectors }
        }))
    }

    /// Directions of the largest variances, each divided by its standard deviation: at most so many, as rows.
    pub(super) fn leading(&self, rows: &Rows<'_>, most: usize) -> Result<Array2<f64>> {
        let values = &self.values;
        let n = rows.n as f64;
        let largest = values.iter().fold(0.0, |m: f64, d| m.max(*d));
        let chosen: Vec<usize> =
            (0..values.len()).rev().filter(|&k| values[k] > LEAST_VARIANCE * largest).take(most).collect();
        let mut out = Array2::zeros((chosen.len(), rows.clip.columns()));
        match self.side {
            Side::Columns => {
                for (mut to, &k) in out.outer_iter_mut().zip(&chosen) {
                    to.assign(&(&self.vectors.column(k) * (n / values[k]).sqrt()));
                }
            }
            Side::Rows => {
                let scales: Array1<f64> = chosen.iter().map(|&k| n.sqrt() / values[k]).collect();
                let vectors = self.vectors.select(Axis(1), &chosen) * &scales;
                for part in blocks(rows.n) {
                    out += &matmul(vectors.slice(s![part.clone(), ..]).t(), rows.block(&part)?.view());
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
}
