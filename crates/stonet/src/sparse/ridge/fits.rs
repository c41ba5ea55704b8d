//! Ridge regressions of any response on features and on a few columns E beside them, from one eigenbasis of the
//! features.
//!
//! In the coordinates R of the basis, a penalty λ gives coordinates c of the features and coefficients e of the columns
//! beside them. With W = diag(1/(d+λ)), B = RᵀE, a = Rᵀz and b = Eᵀz for a centred response z,
//!
//! ```text
//!          side of columns, R = S                       side of rows, R = U
//! e        C⁻¹(b − BᵀW a)                               C⁻¹(K B)ᵀa,  K = λW
//! C        EᵀE + λ − BᵀW B                              λ(1 + BᵀW B)
//! c        W(a − B e)                                   the same
//! left     1 − 1/n − rWrᵀ − v C⁻¹vᵀ,  v = e_i − rW B    rKrᵀ − v C⁻¹vᵀ,  v = rK B
//! error    z − S c − E e                                U K (a − B e)
//! ```
//! where r is a row of R, and `left` is 1 − 1/n − h_i of the leverage h_i; 1/n is that of the intercept. The error of a
//! row that is left out is its residual divided by `left`. On the side of rows, the n − 1 vectors span all that is
//! orthogonal to the intercept, so nothing cancels, which matters for small λ.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::basis::Side;
use super::blocks;
use super::frame::Frame;
use crate::base::{Result, Work};
use crate::linalg::dense::{gram, matmul, matvec, spd_inverse, symmetric_eigen};
use crate::rows::by_group;

/// The least 1 − 1/n − h_i. A leverage of 1 means that the row alone decides its fit; rounding must not turn that into
/// a perfect prediction.
const LEAST_LEFT: f64 = 1e-6;
/// The same where it is a sum without cancellation: only zero is excluded.
const LEAST_LEFT_KERNEL: f64 = 1e-200;
/// The least 1 − 1/n − h_i where predictions of left-out rows are used themselves.
const LEAST_LEFT_ROW: f64 = 1e-3;
/// Added to the diagonal of I − H_gg of a group, which can be singular but for rounding.
const LEAST_LEFT_GROUP: f64 = 1e-9;

/// Regressions on features and on columns beside them.
pub(super) struct Fits<'a> {
    frame: &'a Frame<'a>,
    /// E: centred, one row per row.
    beside: &'a Array2<f64>,
    /// B.
    cross: Array2<f64>,
    /// EᵀE.
    square: Array2<f64>,
}

/// What a penalty makes of every response.
pub(super) struct At {
    /// W.
    shrunk: Array1<f64>,
    /// W on the side of columns, K on that of rows.
    leave: Array1<f64>,
    /// W B or K B.
    cross: Array2<f64>,
    /// C⁻¹.
    inverse: Array2<f64>,
}

/// A fit: c and e.
#[derive(Clone)]
pub(super) struct Solution {
    pub coordinates: Array1<f64>,
    pub beside: Array1<f64>,
}

/// A response and its moments a and b.
pub(super) struct Response<'a> {
    z: &'a Array1<f64>,
    rotated: Array1<f64>,
    beside: Array1<f64>,
}

/// Residuals and 1 − 1/n − h of every row, one column per penalty.
pub(super) struct LeftOut {
    side: Side,
    residual: Array2<f64>,
    pub left: Array2<f64>,
}

impl<'a> Fits<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, beside: &'a Array2<f64>, work: &Work<'_>) -> Result<Self> {
        let cross = match beside.ncols() {
            0 => Array2::zeros((frame.basis.values.len(), 0)),
            _ => frame.moments(beside.view(), work)?,
        };
        Ok(Fits { frame, cross, square: gram(beside.view()), beside })
    }

    pub(super) fn rows(&self) -> usize {
        self.frame.n()
    }

    /// All coefficients are 0.
    pub(super) fn none(&self) -> Solution {
        Solution { coordinates: Array1::zeros(self.cross.nrows()), beside: Array1::zeros(self.cross.ncols()) }
    }

    pub(super) fn at(&self, penalty: f64) -> At {
        let shrunk = self.frame.basis.values.mapv(|d| 1.0 / (d + penalty));
        let columns = |v: &Array1<f64>| &self.cross * &v.view().insert_axis(Axis(1));
        let q = self.square.nrows();
        let (leave, c) = match self.frame.basis.side {
            Side::Columns => {
                let mut c = &self.square - &matmul(self.cross.t(), columns(&shrunk).view());
                c.diag_mut().mapv_inplace(|v| v + penalty);
                (shrunk.clone(), c)
            }
            Side::Rows => {
                let mut c = matmul(self.cross.t(), columns(&shrunk).view());
                c.diag_mut().mapv_inplace(|v| v + 1.0);
                (self.frame.basis.values.mapv(|d| keep(d, penalty)), c * penalty)
            }
        };
        // An infinite penalty leaves no column beside the features a coefficient.
        let inverse = match penalty.is_finite() && q > 0 {
            true => spd_inverse(c.view()).unwrap_or_else(|| Array2::zeros((q, q))),
            false => Array2::zeros((q, q)),
        };
        At { cross: columns(&leave), shrunk, leave, inverse }
    }

    /// A centred response, rotated.
    pub(super) fn response<'z>(&self, z: &'z Array1<f64>, work: &Work<'_>) -> Result<Response<'z>> {
        let rotated = self.frame.moments(z.view().insert_axis(Axis(1)), work)?.index_axis_move(Axis(1), 0);
        Ok(Response { z, rotated, beside: matvec(self.beside.t(), z.view()) })
    }

    pub(super) fn solve(&self, at: &At, response: &Response<'_>) -> Solution {
        let explained = matvec(at.cross.t(), response.rotated.view());
        let beside = match self.frame.basis.side {
            Side::Columns => at.inverse.dot(&(&response.beside - &explained)),
            Side::Rows => at.inverse.dot(&explained),
        };
        let coordinates = (&response.rotated - &matvec(self.cross.view(), beside.view())) * &at.shrunk;
        Solution { coordinates, beside }
    }

    /// What a fit says of all rows, but for its intercept.
    pub(super) fn fitted(&self, fit: &Solution, work: &Work<'_>) -> Result<Array1<f64>> {
        Ok(self.frame.fitted(&fit.coordinates, work)? + matvec(self.beside.view(), fit.beside.view()))
    }

    /// One per feature, then one per column beside them.
    pub(super) fn coefficients(&self, fit: &Solution) -> Result<Array1<f64>> {
        let features = self.frame.coefficients(&fit.coordinates)?;
        Ok(features.iter().chain(&fit.beside).copied().collect())
    }

    /// 1 − 1/n − h of every row, one column per penalty.
    pub(super) fn left(&self, at: &[At], work: &Work<'_>) -> Result<Array2<f64>> {
        let one = left_out(self.frame, &[(self, at, None)], work)?.pop();
        Ok(one.map_or_else(|| Array2::zeros((0, 0)), |one| one.left))
    }

    /// The errors of these rows at one penalty by fits that have not seen the row's group.
    ///
    /// Of a group g they are (I − H_gg)⁻¹ r_g with H = A Aᵀ, where A are the rows on the scale of the basis and of the
    /// penalty, with the columns beside the features and the intercept as further columns. A large group inverts
    /// I − AᵀA instead.
    pub(super) fn without_groups(
        &self,
        at: &At,
        residual: ArrayView1<'_, f64>,
        groups: &[usize],
        work: &Work<'_>,
    ) -> Result<Array1<f64>> {
        let n = self.frame.n();
        let share = match self.frame.basis.side {
            Side::Columns => at.leave.mapv(f64::sqrt),
            Side::Rows => at.leave.mapv(|k| (1.0 - k).max(0.0).sqrt()),
        };
        // C⁻¹ = F Fᵀ.
        let half = match symmetric_eigen(at.inverse.view()) {
            Some((values, vectors)) if !values.is_empty() => vectors * &values.mapv(|v| v.max(0.0).sqrt()),
            _ => Array2::zeros(at.inverse.dim()),
        };
        let members = by_group(0..n, groups);
        let of_group = |group: &Vec<usize>| {
            work.check()?;
            let mut a = Array2::from_elem((group.len(), share.len() + half.ncols() + 1), 1.0 / (n as f64).sqrt());
            for (mut to, &i) in a.outer_iter_mut().zip(group) {
                let part = i..i + 1;
                let r = self.frame.block(&part)?;
                to.slice_mut(s![..share.len()]).assign(&(&r.row(0) * &share));
                let v = self.beyond(at, r.view(), &part);
                to.slice_mut(s![share.len()..share.len() + half.ncols()]).assign(&v.row(0).dot(&half));
            }
            Ok(without_group(&a, &residual.select(Axis(0), group)))
        };
        let solved = members.par_iter().map(of_group).collect::<Result<Vec<Array1<f64>>>>()?;
        let mut errors = Array1::zeros(n);
        for (group, solved) in members.iter().zip(&solved) {
            group.iter().zip(solved).for_each(|(&i, e)| errors[i] = *e);
        }
        Ok(errors)
    }

    /// v of some rows: what the features do not explain of the columns beside them.
    fn beyond(&self, at: &At, r: ArrayView2<'_, f64>, part: &Range<usize>) -> Array2<f64> {
        let explained = matmul(r, at.cross.view());
        match self.frame.basis.side {
            Side::Columns => &self.beside.slice(s![part.clone(), ..]) - &explained,
            Side::Rows => explained,
        }
    }

    /// 1 − 1/n − h of some rows, from the squares of R.
    fn left_of(
        &self,
        at: &[At],
        r: ArrayView2<'_, f64>,
        squares: ArrayView2<'_, f64>,
        part: &Range<usize>,
    ) -> Array2<f64> {
        let mut left = matmul(squares, by_penalty(at, |at| at.leave.clone()).view());
        if self.frame.basis.side == Side::Columns {
            let most = 1.0 - 1.0 / self.frame.n() as f64;
            left.mapv_inplace(|h| most - h);
        }
        if self.beside.ncols() > 0 {
            for (at, mut left) in at.iter().zip(left.columns_mut()) {
                let v = self.beyond(at, r, part);
                let taken = (matmul(v.view(), at.inverse.view()) * v).sum_axis(Axis(1));
                left -= &taken;
            }
        }
        left
    }

    /// Residuals of fits at some rows.
    fn residual_of(
        &self,
        (at, fits): (&[At], &[Solution]),
        response: &Response<'_>,
        r: ArrayView2<'_, f64>,
        part: &Range<usize>,
    ) -> Array2<f64> {
        if self.frame.basis.side == Side::Rows {
            let kept = |(at, fit): (&At, &Solution)| {
                (&response.rotated - &matvec(self.cross.view(), fit.beside.view())) * &at.leave
            };
            let kept: Vec<Array1<f64>> = at.iter().zip(fits).map(kept).collect();
            return matmul(r, by_penalty(&kept, Array1::clone).view());
        }
        let mut residual = -matmul(r, by_penalty(fits, |fit| fit.coordinates.clone()).view());
        residual += &response.z.slice(s![part.clone()]).insert_axis(Axis(1));
        if self.beside.ncols() > 0 {
            let beside = by_penalty(fits, |fit| fit.beside.clone());
            residual -= &matmul(self.beside.slice(s![part.clone(), ..]), beside.view());
        }
        residual
    }
}

/// Fits at some penalties of a response, to be judged by the rows that each leaves out.
pub(super) type Judged<'a> = (&'a Fits<'a>, &'a [At], Option<(&'a Response<'a>, &'a [Solution])>);

/// Residuals, where there is a response, and 1 − 1/n − h of several regressions on the same features, in one pass.
pub(super) fn left_out(frame: &Frame<'_>, of: &[Judged<'_>], work: &Work<'_>) -> Result<Vec<LeftOut>> {
    let part = |part: &Range<usize>| {
        work.check()?;
        let r = frame.block(part)?;
        let squares = r.mapv(|v| v * v);
        let one = |&(fits, at, response): &Judged<'_>| {
            let left = fits.left_of(at, r.view(), squares.view(), part);
            let residual = response.map(|(response, solved)| fits.residual_of((at, solved), response, r.view(), part));
            (left, residual)
        };
        Ok(of.iter().map(one).collect::<Vec<_>>())
    };
    let parts = blocks(frame.n()).par_iter().map(part).collect::<Result<Vec<_>>>()?;
    let together = |views: Vec<ArrayView2<'_, f64>>| match &views[..] {
        [] => Array2::zeros((0, 0)),
        views => ndarray::concatenate(Axis(0), views).expect("blocks of one width"),
    };
    let one = |i: usize| LeftOut {
        side: frame.basis.side,
        residual: together(parts.iter().filter_map(|p| p[i].1.as_ref().map(|r| r.view())).collect()),
        left: together(parts.iter().map(|p| p[i].0.view()).collect()),
    };
    Ok((0..of.len()).map(one).collect())
}

impl LeftOut {
    /// Σ_i (r_i/(1 − 1/n − h_i))² at every penalty.
    pub(super) fn squares(&self) -> Array1<f64> {
        let least = match self.side {
            Side::Columns => LEAST_LEFT,
            Side::Rows => LEAST_LEFT_KERNEL,
        };
        let mut total = Array1::zeros(self.residual.ncols());
        for ((i, j), r) in self.residual.indexed_iter() {
            total[j] += (r / self.left[[i, j]].max(least)).powi(2);
        }
        total
    }

    /// The number of the penalty with the least error of left-out rows.
    pub(super) fn best(&self) -> usize {
        let errors = self.squares();
        (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0)
    }

    pub(super) fn residual(&self, penalty: usize) -> ArrayView1<'_, f64> {
        self.residual.column(penalty)
    }

    /// The errors of rows at one penalty by fits that have not seen the row.
    pub(super) fn errors(&self, penalty: usize) -> Array1<f64> {
        let left = self.left.column(penalty);
        self.residual.column(penalty).iter().zip(left).map(|(r, l)| r / l.max(LEAST_LEFT_ROW)).collect()
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

/// λ/(d + λ), also where λ is infinite.
fn keep(d: f64, penalty: f64) -> f64 {
    if penalty.is_infinite() { 1.0 } else { penalty / (d + penalty) }
}

/// One column per penalty.
fn by_penalty<T>(of: &[T], column: impl Fn(&T) -> Array1<f64>) -> Array2<f64> {
    let columns: Vec<Array1<f64>> = of.iter().map(column).collect();
    let rows = columns.first().map_or(0, Array1::len);
    Array2::from_shape_fn((rows, columns.len()), |(k, j)| columns[j][k])
}
