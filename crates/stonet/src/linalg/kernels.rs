//! The two f32 products of the training step, on rows padded to whole vectors.
//!
//! A batch of 50 rows is too small for a general matrix product to pay for its packing: these read their operands in
//! place, six rows by sixteen columns at a time, and allocate nothing. Padding must be zero; products keep it so.

use super::simd::{dispatch, fma};

/// Rows are stored with their length rounded up to a multiple of this.
pub(crate) const PAD: usize = 8;

/// `len` rounded up to whole vectors.
pub(crate) const fn padded(len: usize) -> usize {
    len.div_ceil(PAD) * PAD
}

/// The left operand of [`gemm_nn`]: element (i, k) is `data[i * row + k * col]`.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub col: usize,
}

dispatch! {
    /// C (m × n) = `keep` · C + α · A (m × k) · B (k × n); rows of B and C have the padded length `n`.
    fn gemm_nn(c: &mut [f32], a: Strided<'_>, b: &[f32], m: usize, n: usize, k: usize, alpha: f32, keep: bool) = nn
}

dispatch! {
    /// C (m × n) = A (m × k) · B (n × k)ᵀ; rows of A and B have the padded length `k`, rows of C the length `ldc ≥ n`.
    fn gemm_nt(c: &mut [f32], a: &[f32], b: &[f32], m: usize, n: usize, k: usize, ldc: usize) = nt
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn nn<const FMA: bool>(c: &mut [f32], a: Strided<'_>, b: &[f32], m: usize, n: usize, k: usize, alpha: f32, keep: bool) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    assert!(n.is_multiple_of(PAD) && c.len() >= m * n && b.len() >= k * n);
    assert!(a.data.len() > (m - 1) * a.row + (k - 1) * a.col);
    let mut i = 0;
    while i < m {
        let rows = (m - i).min(6);
        let mut j = 0;
        while j < n {
            let wide = n - j >= 16;
            // SAFETY: rows i..i+rows and columns j..j+8 (or 16) lie inside the bounds asserted above.
            unsafe {
                let cp = c.as_mut_ptr().add(i * n + j);
                let ap = a.data.as_ptr().add(i * a.row);
                let bp = b.as_ptr().add(j);
                let s = (a.row, a.col);
                match (rows, wide) {
                    (6, true) => tile::<FMA, 6, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (5, true) => tile::<FMA, 5, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (4, true) => tile::<FMA, 4, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (3, true) => tile::<FMA, 3, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (2, true) => tile::<FMA, 2, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (_, true) => tile::<FMA, 1, 16>(cp, ap, s, bp, n, k, alpha, keep),
                    (6, false) => tile::<FMA, 6, 8>(cp, ap, s, bp, n, k, alpha, keep),
                    (5, false) => tile::<FMA, 5, 8>(cp, ap, s, bp, n, k, alpha, keep),
                    (4, false) => tile::<FMA, 4, 8>(cp, ap, s, bp, n, k, alpha, keep),
                    (3, false) => tile::<FMA, 3, 8>(cp, ap, s, bp, n, k, alpha, keep),
                    (2, false) => tile::<FMA, 2, 8>(cp, ap, s, bp, n, k, alpha, keep),
                    (_, false) => tile::<FMA, 1, 8>(cp, ap, s, bp, n, k, alpha, keep),
                }
            }
            j += if wide { 16 } else { 8 };
        }
        i += rows;
    }
}

/// One R × N block of C, held in registers over the whole inner loop.
///
/// # Safety
/// The block, R rows of A and k rows of B from these pointers must be in bounds; `ld` is the row length of B and C.
#[inline(always)]
#[allow(clippy::too_many_arguments, clippy::needless_range_loop)]
unsafe fn tile<const FMA: bool, const R: usize, const N: usize>(
    c: *mut f32,
    a: *const f32,
    (row, col): (usize, usize),
    b: *const f32,
    ld: usize,
    k: usize,
    alpha: f32,
    keep: bool,
) {
    let mut acc = [[0.0f32; N]; R];
    for l in 0..k {
        // SAFETY: l < k rows of B, each with N columns from `b`, by the caller's promise.
        let bl = unsafe { &*b.add(l * ld).cast::<[f32; N]>() };
        for r in 0..R {
            // SAFETY: r < R rows of A with k columns, by the caller's promise.
            let ar = unsafe { *a.add(r * row + l * col) };
            for x in 0..N {
                acc[r][x] = fma::<FMA>(ar, bl[x], acc[r][x]);
            }
        }
    }
    for (r, sums) in acc.iter().enumerate() {
        // SAFETY: row r of the block of C, by the caller's promise.
        let cr = unsafe { &mut *c.add(r * ld).cast::<[f32; N]>() };
        for x in 0..N {
            cr[x] = if keep { fma::<FMA>(alpha, sums[x], cr[x]) } else { alpha * sums[x] };
        }
    }
}

#[inline(always)]
fn nt<const FMA: bool>(c: &mut [f32], a: &[f32], b: &[f32], m: usize, n: usize, k: usize, ldc: usize) {
    assert!(k.is_multiple_of(PAD) && a.len() >= m * k && b.len() >= n * k);
    assert!(m == 0 || (ldc >= n && c.len() >= (m - 1) * ldc + n));
    // Few columns: more rows at once keep as many sums in flight.
    let (height, width) = if n < 4 { (6, 1) } else { (3, 4) };
    let mut i = 0;
    while i < m {
        let rows = if m - i >= height { height } else { 1 };
        let mut j = 0;
        while j < n {
            let cols = if n - j >= width { width } else { 1 };
            // SAFETY: rows i..i+rows of A and j..j+cols of B exist by the asserts, each with k columns.
            unsafe {
                let cp = c.as_mut_ptr().add(i * ldc + j);
                let (ap, bp) = (a.as_ptr().add(i * k), b.as_ptr().add(j * k));
                match (rows, cols) {
                    (3, 4) => dots::<FMA, 3, 4>(cp, ldc, ap, bp, k),
                    (1, 4) => dots::<FMA, 1, 4>(cp, ldc, ap, bp, k),
                    (6, 1) => dots::<FMA, 6, 1>(cp, ldc, ap, bp, k),
                    (3, 1) => dots::<FMA, 3, 1>(cp, ldc, ap, bp, k),
                    _ => dots::<FMA, 1, 1>(cp, ldc, ap, bp, k),
                }
            }
            j += cols;
        }
        i += rows;
    }
}

/// R × Q dot products of length k, eight running sums each.
///
/// # Safety
/// R rows of A, Q rows of B (length k) and the R × Q block of C must be in bounds.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn dots<const FMA: bool, const R: usize, const Q: usize>(
    c: *mut f32,
    ldc: usize,
    a: *const f32,
    b: *const f32,
    k: usize,
) {
    let mut acc = [[[0.0f32; 8]; Q]; R];
    for l in (0..k).step_by(8) {
        for q in 0..Q {
            // SAFETY: k is a multiple of 8, so eight columns from l are in row q.
            let bq = unsafe { &*b.add(q * k + l).cast::<[f32; 8]>() };
            for r in 0..R {
                // SAFETY: likewise in row r of A.
                let ar = unsafe { &*a.add(r * k + l).cast::<[f32; 8]>() };
                for x in 0..8 {
                    acc[r][q][x] = fma::<FMA>(ar[x], bq[x], acc[r][q][x]);
                }
            }
        }
    }
    for (r, row) in acc.iter().enumerate() {
        for (q, s) in row.iter().enumerate() {
            let four = [s[0] + s[4], s[1] + s[5], s[2] + s[6], s[3] + s[7]];
            // SAFETY: inside the R × Q block of C.
            unsafe { *c.add(r * ldc + q) = (four[0] + four[2]) + (four[1] + four[3]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    fn random(len: usize, seed: u64) -> Vec<f32> {
        StandardNormal.sample_iter(crate::Seed::new(seed).rng()).take(len).collect()
    }

    #[test]
    fn every_tail_of_rows_and_columns_agrees_with_the_definition() {
        for m in [1, 2, 3, 5, 6, 7, 50] {
            for n in [8, 16, 24, 40] {
                for k in [1, 3, 8, 20] {
                    let (a, b, start) = (random(m * k, 1), random(k * n, 2), random(m * n, 3));
                    for (row, col) in [(k, 1), (1, m)] {
                        let mut c = start.clone();
                        gemm_nn(&mut c, Strided { data: &a, row, col }, &b, m, n, k, 0.5, true);
                        for i in 0..m {
                            for j in 0..n {
                                let dot: f64 = (0..k).map(|l| a[i * row + l * col] as f64 * b[l * n + j] as f64).sum();
                                let want = start[i * n + j] as f64 + 0.5 * dot;
                                assert!((c[i * n + j] as f64 - want).abs() < 1e-5, "{m}x{n}x{k}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_tail_of_dot_products_agrees_with_the_definition() {
        for m in [1, 2, 3, 4, 50] {
            for n in [1, 3, 4, 5, 9] {
                for k in [8, 24, 112] {
                    let (a, b, ldc) = (random(m * k, 4), random(n * k, 5), padded(n));
                    let mut c = vec![0.0; m * ldc];
                    gemm_nt(&mut c, &a, &b, m, n, k, ldc);
                    for i in 0..m {
                        for j in 0..n {
                            let want: f64 = (0..k).map(|l| a[i * k + l] as f64 * b[j * k + l] as f64).sum();
                            assert!((c[i * ldc + j] as f64 - want).abs() < 1e-4, "{m}x{n}x{k}");
                        }
                        assert!(c[i * ldc + n..(i + 1) * ldc].iter().all(|&v| v == 0.0));
                    }
                }
            }
        }
    }
}
