//! f32 products on row-major slices, by faer, on the caller's thread; nothing is allocated at the sizes of a training
//! step.

pub(crate) use faer::MatRef;
use faer::{Accum, MatMut, Par};

/// A row-major matrix in a slice.
pub(crate) fn rows(data: &[f32], rows: usize, cols: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(&data[..rows * cols], rows, cols)
}

/// C = α A B, where C is row-major in `c`.
pub(crate) fn set(c: &mut [f32], a: MatRef<'_, f32>, b: MatRef<'_, f32>, alpha: f32) {
    multiply(c, Accum::Replace, a, b, alpha);
}

/// C += α A B, where C is row-major in `c`.
pub(crate) fn add(c: &mut [f32], a: MatRef<'_, f32>, b: MatRef<'_, f32>, alpha: f32) {
    multiply(c, Accum::Add, a, b, alpha);
}

fn multiply(c: &mut [f32], accum: Accum, a: MatRef<'_, f32>, b: MatRef<'_, f32>, alpha: f32) {
    let (m, n) = (a.nrows(), b.ncols());
    let c = MatMut::from_row_major_slice_mut(&mut c[..m * n], m, n);
    faer::linalg::matmul::matmul(c, accum, a, b, alpha, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_slices_and_their_transposes() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, -1.0, 2.0, 1.0, 1.0]);
        let mut c = [10.0; 5];
        set(&mut c, rows(&a, 2, 3), rows(&b, 2, 3).transpose(), 1.0);
        assert_eq!(c, [-2.0, 7.0, -2.0, 19.0, 10.0]);
        add(&mut c, rows(&a, 2, 3), rows(&b, 3, 2), 2.0);
        assert_eq!(c, [2.0, 21.0, 8.0, 51.0, 10.0]);
    }

    #[test]
    fn empty_matrices_are_fine() {
        let mut c = [5.0; 2];
        set(&mut c, rows(&[], 2, 0), rows(&[], 0, 1), 1.0);
        assert_eq!(c, [0.0, 0.0]);
        set(&mut [], rows(&[], 0, 3), rows(&[1.0; 3], 3, 1), 1.0);
    }
}
