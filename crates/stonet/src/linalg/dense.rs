//! f64 products and factorisations on ndarray views, by faer, on the caller's thread.

use std::ops::Range;

use faer::linalg::solvers::Solve;
use faer::{Accum, MatMut, MatRef, Par, Side};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::elementwise::add_rows;

/// Up to this many columns, half of a Gram matrix is made panel by panel.
const NARROW: usize = 256;
/// Columns of a panel. What is computed twice is half of the square blocks at the diagonal.
const PANEL: usize = 16;

fn faer_view<'a>(a: ArrayView2<'a, f64>) -> MatRef<'a, f64> {
    let (rows, cols, strides) = (a.nrows(), a.ncols(), [a.strides()[0], a.strides()[1]]);
    // SAFETY: pointer, shape and strides come from a live view, which the returned borrow keeps alive.
    unsafe { MatRef::from_raw_parts(a.as_ptr(), rows, cols, strides[0], strides[1]) }
}

fn faer_view_mut<'a>(mut a: ArrayViewMut2<'a, f64>) -> MatMut<'a, f64> {
    let (rows, cols, strides) = (a.nrows(), a.ncols(), [a.strides()[0], a.strides()[1]]);
    // SAFETY: as above, and the view is unique.
    unsafe { MatMut::from_raw_parts_mut(a.as_mut_ptr(), rows, cols, strides[0], strides[1]) }
}

/// a · b.
pub(crate) fn matmul(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    assert_eq!(a.ncols(), b.nrows(), "inner sizes of a product");
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    faer::linalg::matmul::matmul(
        faer_view_mut(c.view_mut()),
        Accum::Replace,
        faer_view(a),
        faer_view(b),
        1.0,
        Par::Seq,
    );
    c
}

/// A matrix times a vector.
pub(crate) fn matvec(a: ArrayView2<'_, f64>, v: ArrayView1<'_, f64>) -> Array1<f64> {
    matmul(a, v.insert_axis(Axis(1))).index_axis_move(Axis(1), 0)
}

/// The sum of every column.
pub(crate) fn column_sums(a: ArrayView2<'_, f64>) -> Array1<f64> {
    let Some(all) = a.as_slice() else { return a.sum_axis(Axis(0)) };
    let mut sums = vec![0.0; a.ncols()];
    add_rows(&mut sums, all);
    sums.into()
}

/// aᵀ a: half of the products, mirrored.
pub(crate) fn gram(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut g = Array2::zeros((a.ncols(), a.ncols()));
    add_gram(&mut g, a);
    mirror(&mut g);
    g
}

/// (a − 1mᵀ)ᵀ (a − 1mᵀ) about the column means m. A few runs of rows go in parallel; how many depends on the shape
/// alone, so the result does not depend on the number of threads.
pub(crate) fn centred_gram(a: ArrayView2<'_, f64>, mean: &Array1<f64>) -> Array2<f64> {
    let n = a.nrows() as f64;
    // aᵀa − n m mᵀ needs no copy of the rows, and loses no more than two digits where no mean is beyond ten standard
    // deviations.
    let mut g = in_runs(a.nrows(), a.ncols(), |g, rows| add_gram(g, a.slice(s![rows, ..])));
    let harmless = |(m, d): (&f64, &f64)| *d >= 1.01 * n * m * m;
    if mean.iter().zip(g.diag()).all(harmless) {
        for (mut row, m) in g.outer_iter_mut().zip(mean) {
            row.scaled_add(-n * m, mean);
        }
    } else {
        const BLOCK: usize = 256;
        g = in_runs(a.nrows(), a.ncols(), |g, rows| {
            let rows = a.slice(s![rows, ..]);
            rows.axis_chunks_iter(Axis(0), BLOCK).for_each(|block| add_gram(g, (&block - mean).view()));
        });
    }
    mirror(&mut g);
    g
}

/// The sum of a few lower halves, each made by `add` from a run of rows.
fn in_runs(rows: usize, p: usize, add: impl Fn(&mut Array2<f64>, Range<usize>) + Sync) -> Array2<f64> {
    const RUNS: usize = 2;
    const LEAST: usize = 512;
    let run = rows.div_ceil(RUNS).max(LEAST);
    let starts: Vec<usize> = (0..rows).step_by(run).collect();
    let partial = |&first: &usize| {
        let mut g = Array2::zeros((p, p));
        add(&mut g, first..(first + run).min(rows));
        g
    };
    let parts: Vec<Array2<f64>> = starts.par_iter().map(partial).collect();
    parts.into_iter().reduce(|a, b| a + b).unwrap_or_else(|| Array2::zeros((p, p)))
}

/// The lower half of g += aᵀ a; what is above the diagonal is no part of the result.
pub(crate) fn add_gram(g: &mut Array2<f64>, a: ArrayView2<'_, f64>) {
    match a.ncols() <= NARROW {
        true => add_gram_in_panels(g, a),
        false => add_gram_in_halves(g, a),
    }
}

/// Panels of columns, each from its diagonal block down. At 2000 × 100 this takes 1.1 times as long as half of the full
/// product, and halves of halves 1.35 times.
fn add_gram_in_panels(g: &mut Array2<f64>, a: ArrayView2<'_, f64>) {
    for first in (0..a.ncols()).step_by(PANEL) {
        let width = PANEL.min(a.ncols() - first);
        faer::linalg::matmul::matmul(
            faer_view_mut(g.slice_mut(s![first.., first..first + width])),
            Accum::Add,
            faer_view(a.slice(s![.., first..])).transpose(),
            faer_view(a.slice(s![.., first..first + width])),
            1.0,
            Par::Seq,
        );
    }
}

fn add_gram_in_halves(g: &mut Array2<f64>, a: ArrayView2<'_, f64>) {
    use faer::linalg::matmul::triangular::{BlockStructure, matmul};
    matmul(
        faer_view_mut(g.view_mut()),
        BlockStructure::TriangularLower,
        Accum::Add,
        faer_view(a.t()),
        BlockStructure::Rectangular,
        faer_view(a),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// The lower half copied to the upper.
pub(crate) fn mirror(g: &mut Array2<f64>) {
    for i in 0..g.nrows() {
        for j in i + 1..g.nrows() {
            g[[i, j]] = g[[j, i]];
        }
    }
}

/// The inverse of a symmetric positive definite matrix, or nothing if it is not.
pub(crate) fn spd_inverse(a: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
    let factor = faer_view(a).llt(Side::Lower).ok()?;
    let mut inverse = Array2::eye(a.nrows());
    factor.solve_in_place(faer_view_mut(inverse.view_mut()));
    Some(inverse)
}

/// The Cholesky factor of a symmetric positive definite matrix.
pub(crate) struct Cholesky(faer::linalg::solvers::Llt<f64>);

impl Cholesky {
    /// Nothing where the matrix is not positive definite.
    pub fn new(a: ArrayView2<'_, f64>) -> Option<Self> {
        faer_view(a).llt(Side::Lower).ok().map(Cholesky)
    }

    /// The diagonal of A⁻¹ for A of this order, some columns at a time.
    pub fn inverse_diagonal(&self, order: usize) -> Vec<f64> {
        const COLUMNS: usize = 64;
        let mut diagonal = Vec::with_capacity(order);
        for first in (0..order).step_by(COLUMNS) {
            let width = COLUMNS.min(order - first);
            let mut part = Array2::from_shape_fn((order, width), |(i, j)| f64::from(u8::from(i == first + j)));
            self.0.solve_in_place(faer_view_mut(part.view_mut()));
            diagonal.extend((0..width).map(|j| part[[first + j, j]]));
        }
        diagonal
    }

    /// gᵀ A⁻¹ g of every row g.
    pub fn inverse_forms(&self, g: Array2<f64>) -> Array1<f64> {
        let mut solved = g.t().as_standard_layout().into_owned();
        self.0.solve_in_place(faer_view_mut(solved.view_mut()));
        (solved.t().to_owned() * g).sum_axis(Axis(1))
    }
}

/// Eigenvalues (ascending) and orthonormal eigenvectors (columns) of a symmetric matrix; nothing if the iteration
/// fails.
pub(crate) fn symmetric_eigen(a: ArrayView2<'_, f64>) -> Option<(Array1<f64>, Array2<f64>)> {
    let n = a.nrows();
    // faer 0.24 counts the scratch of 0 × 0 below zero, which panics in builds with overflow checks.
    if n == 0 {
        return Some((Array1::zeros(0), Array2::zeros((0, 0))));
    }
    let eigen = faer_view(a).self_adjoint_eigen(Side::Lower).ok()?;
    let (values, vectors) = (eigen.S(), eigen.U());
    Some((Array1::from_shape_fn(n, |i| values[i]), Array2::from_shape_fn((n, n), |(i, j)| vectors[(i, j)])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn products_follow_strides() {
        let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let product = matmul(a.view(), a.t());
        assert_eq!(product, array![[14.0, 32.0], [32.0, 77.0]]);
        assert_eq!(matmul(a.t(), a.view()), a.t().dot(&a));
        assert_eq!(gram(a.view()), a.t().dot(&a));
        assert_eq!(gram(a.t()), a.dot(&a.t()));
        let long = Array2::from_shape_fn((1500, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.37).sin() + 5.0);
        assert!((column_sums(long.view()) - long.sum_axis(Axis(0))).iter().all(|d| d.abs() < 1e-9));
        let odd = long.slice(s![..7, ..2]).to_owned();
        assert!((column_sums(odd.view()) - odd.sum_axis(Axis(0))).iter().all(|d| d.abs() < 1e-12));
        assert_eq!(column_sums(odd.t()), odd.sum_axis(Axis(1)));
        assert_eq!(column_sums(long.slice(s![.., ..0])).len(), 0);
        // Panels with a rest, and halves.
        for p in [1, PANEL, PANEL + 1, 50, NARROW, NARROW + 1] {
            let a = Array2::from_shape_fn((40, p), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
            assert!((gram(a.view()) - a.t().dot(&a)).iter().all(|d| d.abs() < 1e-12), "{p} columns");
        }
        // Means of five and of five million standard deviations, and a constant column.
        for shift in [0.0, 1e7] {
            let mut long = &long + shift;
            long.column_mut(2).fill(shift);
            let mean = long.sum_axis(Axis(0)) / 1500.0;
            let want = gram((&long - &mean).view());
            assert!((centred_gram(long.view(), &mean) - want).iter().all(|d| d.abs() < 1e-9));
            assert_eq!(centred_gram(long.slice(s![..0, ..]), &mean), Array2::<f64>::zeros((3, 3)));
        }
    }

    #[test]
    fn the_inverse_inverts_and_an_indefinite_matrix_is_refused() {
        let a = array![[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let identity = matmul(a.view(), spd_inverse(a.view()).unwrap().view());
        assert!((identity - Array2::<f64>::eye(3)).iter().all(|d| d.abs() < 1e-14));
        assert!(spd_inverse(array![[1.0, 2.0], [2.0, 1.0]].view()).is_none());
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let a = array![[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]];
        let (values, vectors) = symmetric_eigen(a.view()).unwrap();
        let rebuilt = matmul((&vectors * &values).view(), vectors.t());
        assert!((rebuilt - a).iter().all(|d| d.abs() < 1e-14));
        assert!(values.windows(2).into_iter().all(|w| w[0] <= w[1]));
        let nothing = symmetric_eigen(Array2::zeros((0, 0)).view()).unwrap();
        assert_eq!((nothing.0.len(), nothing.1.dim()), (0, (0, 0)));
    }
}
