//! The rows of features in the coordinates R of their eigenbasis: S = Z V, or U. They are rotated once where they are few
//! enough to be held, and otherwise made again for every pass.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView2, Axis, CowArray, Ix2, s};
use rayon::prelude::*;

use super::basis::{Basis, Rows, Side};
use super::{BLOCK, blocks};
use crate::base::{Result, Work};
use crate::linalg::dense::{matmul, matvec};

/// Numbers of rotated rows that are held in memory: 128 MB.
const HELD: usize = 1 << 24;

/// Rows and their eigenbasis.
pub(super) struct Frame<'a> {
    pub(super) basis: &'a Basis,
    pub(super) rows: &'a Rows<'a>,
    /// S, where it is held; U is part of its basis.
    rotated: Option<Array2<f64>>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(basis: &'a Basis, rows: &'a Rows<'a>, work: &Work<'_>) -> Result<Self> {
        Frame::holding(basis, rows, HELD, work)
    }

    /// The same with at most so many numbers held.
    pub(super) fn holding(basis: &'a Basis, rows: &'a Rows<'a>, most: usize, work: &Work<'_>) -> Result<Self> {
        let mut frame = Frame { basis, rows, rotated: None };
        if basis.side == Side::Columns && rows.n * basis.values.len() <= most {
            // In place: a second copy of all rows would be most of what a fit needs.
            let mut all = Array2::zeros((rows.n, basis.values.len()));
            let mut parts: Vec<_> = all.axis_chunks_iter_mut(Axis(0), BLOCK).collect();
            parts.par_iter_mut().zip(blocks(rows.n)).try_for_each(|(to, part)| -> Result<()> {
                work.check()?;
                to.assign(&frame.block(&part)?);
                Ok(())
            })?;
            frame.rotated = Some(all);
        }
        Ok(frame)
    }

    pub(super) fn n(&self) -> usize {
        self.rows.n
    }

    fn held(&self) -> Option<ArrayView2<'_, f64>> {
        match self.basis.side {
            Side::Rows => Some(self.basis.vectors.view()),
            Side::Columns => self.rotated.as_ref().map(|s| s.view()),
        }
    }

    /// R at some rows.
    pub(super) fn block(&self, part: &Range<usize>) -> Result<CowArray<'_, f64, Ix2>> {
        Ok(match self.held() {
            Some(all) => all.slice_move(s![part.clone(), ..]).into(),
            None => matmul(self.rows.block(part)?.view(), self.basis.vectors.view()).into(),
        })
    }

    /// The columns at some rows that the [weights](Self::weights) of a fit multiply: R where it is held, otherwise Z.
    fn columns(&self, part: &Range<usize>) -> Result<CowArray<'_, f64, Ix2>> {
        match self.held() {
            Some(_) => self.block(part),
            None => Ok(self.rows.block(part)?.into()),
        }
    }

    /// The weights of the columns in a fit with these coordinates: Z V c, or Z Zᵀ U c = U diag(d) c.
    fn weights(&self, coordinates: &Array1<f64>) -> Array1<f64> {
        match self.basis.side {
            Side::Rows => coordinates * &self.basis.values,
            Side::Columns if self.rotated.is_some() => coordinates.clone(),
            Side::Columns => matvec(self.basis.vectors.view(), coordinates.view()),
        }
    }

    /// The features' part of a fit with these coordinates at all rows.
    pub(super) fn fitted(&self, coordinates: &Array1<f64>, work: &Work<'_>) -> Result<Array1<f64>> {
        let weights = self.weights(coordinates);
        over_rows(self.n(), work, |part| Ok(matvec(self.columns(part)?.view(), weights.view())))
    }

    /// Rᵀz of several z, one per column.
    pub(super) fn moments(&self, z: ArrayView2<'_, f64>, work: &Work<'_>) -> Result<Array2<f64>> {
        let one = |part: &Range<usize>| {
            work.check()?;
            Ok(matmul(self.columns(part)?.t(), z.slice(s![part.clone(), ..])))
        };
        let parts = blocks(self.n()).par_iter().map(one).collect::<Result<Vec<Array2<f64>>>>()?;
        let sum = parts.into_iter().reduce(|a, b| a + b);
        let sum = sum.unwrap_or_else(|| Array2::zeros((self.basis.vectors.nrows(), z.ncols())));
        Ok(match self.held() {
            Some(_) => sum,
            None => matmul(self.basis.vectors.t(), sum.view()),
        })
    }

    /// The coefficients of the features in a fit with these coordinates: V c, or Zᵀ U c.
    pub(super) fn coefficients(&self, coordinates: &Array1<f64>) -> Result<Array1<f64>> {
        let rotated = matvec(self.basis.vectors.view(), coordinates.view());
        match self.basis.side {
            Side::Columns => Ok(rotated),
            Side::Rows => self.rows.transposed_times(&rotated),
        }
    }
}

/// One number per row, block by block.
pub(super) fn over_rows(
    n: usize,
    work: &Work<'_>,
    of: impl Fn(&Range<usize>) -> Result<Array1<f64>> + Sync,
) -> Result<Array1<f64>> {
    let one = |part: &Range<usize>| {
        work.check()?;
        of(part)
    };
    let parts = blocks(n).par_iter().map(one).collect::<Result<Vec<_>>>()?;
    Ok(parts.iter().flatten().copied().collect())
}
