//! The arithmetic of a plan on thirty-two rows at a time, column by column, in double and in single precision.
//!
//! Bodies of [`dispatch!`] contain loops, not closures: a closure that is not inlined is compiled for the plain target.

use super::op::{BinBounds, Form, Sparse};
use crate::linalg::elementwise::{exp_below_body, relu_all, sigmoid_all, tanh_all, tanh_in_place};
use crate::linalg::simd::{dispatch, fma};
use crate::network::Activation;
use crate::sparse::Clamp;

/// Rows of a tile: eight vector registers of AVX2 in double precision, enough to hide the latency of a multiply-add.
pub(crate) const LANES: usize = 32;
/// Entries of a combination that are added up in single precision before the sum goes on in double precision.
const CHUNK: usize = 16;

/// One column at thirty-two rows.
pub(crate) type Tile = [f64; LANES];
/// The same in single precision.
pub(crate) type Narrow = [f32; LANES];

/// No rows yet.
pub(crate) const ZERO: Tile = [0.0; LANES];
/// The same in single precision.
pub(crate) const NARROW_ZERO: Narrow = [0.0; LANES];

dispatch! {
    /// One tile per combination of these columns.
    fn combine(out: &mut [Tile], x: &[Tile], sparse: &Sparse) = combine_body<FMA, SUMS>
}

#[inline(always)]
fn combine_body<const FMA: bool, const SUMS: usize>(out: &mut [Tile], x: &[Tile], sparse: &Sparse) {
    let mut from = 0;
    for ((out, &to), &bias) in out.iter_mut().zip(&sparse.ends).zip(&sparse.bias) {
        // Sums that do not wait for each other: one multiply-add takes as long as several that overlap.
        let mut sums = [ZERO; SUMS];
        sums[0] = [bias; LANES];
        let (parts, last) = sparse.entries[from..to].as_chunks::<SUMS>();
        for part in parts {
            for s in 0..SUMS {
                add_entry::<FMA>(&mut sums[s], &x[part[s].0], part[s].1);
            }
        }
        for &(column, w) in last {
            add_entry::<FMA>(&mut sums[0], &x[column], w);
        }
        *out = sums[0];
        for more in &sums[1..] {
            for l in 0..LANES {
                out[l] += more[l];
            }
        }
        from = to;
    }
}

#[inline(always)]
fn add_entry<const FMA: bool>(sum: &mut Tile, x: &Tile, w: f64) {
    for l in 0..LANES {
        sum[l] = if FMA { x[l].mul_add(w, sum[l]) } else { x[l] * w + sum[l] };
    }
}

/// Linear combinations in single precision: the entries of each, and where they end.
#[derive(Debug, Clone, Default)]
pub(crate) struct NarrowSparse {
    ends: Vec<usize>,
    bias: Vec<f64>,
    entries: Vec<(u32, f32)>,
}

impl NarrowSparse {
    pub(crate) fn new(sparse: &Sparse) -> Self {
        let entries = sparse.entries.iter().map(|&(column, w)| (column as u32, w as f32)).collect();
        NarrowSparse { ends: sparse.ends.clone(), bias: sparse.bias.clone(), entries }
    }
}

dispatch! {
    /// One tile per combination of these columns, in single precision throughout.
    fn combine_narrow(out: &mut [Narrow], x: &[Narrow], sparse: &NarrowSparse) = combine_narrow_body
}

#[inline(always)]
fn combine_narrow_body<const FMA: bool>(out: &mut [Narrow], x: &[Narrow], sparse: &NarrowSparse) {
    let mut from = 0;
    for ((out, &to), &bias) in out.iter_mut().zip(&sparse.ends).zip(&sparse.bias) {
        *out = dot::<FMA>(bias as f32, x, &sparse.entries[from..to]);
        from = to;
    }
}

dispatch! {
    /// The same with sums that go on in double precision after every few entries.
    fn combine_widened(out: &mut [Tile], x: &[Narrow], sparse: &NarrowSparse) = combine_widened_body
}

#[inline(always)]
fn combine_widened_body<const FMA: bool>(out: &mut [Tile], x: &[Narrow], sparse: &NarrowSparse) {
    let mut from = 0;
    for ((out, &to), &bias) in out.iter_mut().zip(&sparse.ends).zip(&sparse.bias) {
        let mut sum = [bias; LANES];
        for part in sparse.entries[from..to].chunks(CHUNK) {
            let part = dot::<FMA>(0.0, x, part);
            for l in 0..LANES {
                sum[l] += f64::from(part[l]);
            }
        }
        *out = sum;
        from = to;
    }
}

#[inline(always)]
fn dot<const FMA: bool>(bias: f32, x: &[Narrow], entries: &[(u32, f32)]) -> Narrow {
    // Two sums that do not wait for each other. More of them would not stay in registers.
    let (mut sum, mut other) = ([bias; LANES], [0.0; LANES]);
    let (pairs, last) = entries.as_chunks::<2>();
    for &[(a, v), (b, w)] in pairs {
        add_narrow::<FMA>(&mut sum, &x[a as usize], v);
        add_narrow::<FMA>(&mut other, &x[b as usize], w);
    }
    for &(column, w) in last {
        add_narrow::<FMA>(&mut sum, &x[column as usize], w);
    }
    for l in 0..LANES {
        sum[l] += other[l];
    }
    sum
}

#[inline(always)]
fn add_narrow<const FMA: bool>(sum: &mut Narrow, x: &Narrow, w: f32) {
    for l in 0..LANES {
        sum[l] = fma::<FMA>(x[l], w, sum[l]);
    }
}

dispatch! {
    /// (x − centre) · scale within [low, high], one tile per clamp.
    fn clamp(out: &mut [Tile], x: &[Tile], clamps: &[Clamp]) = clamp_body
}

#[inline(always)]
fn clamp_body<const FMA: bool>(out: &mut [Tile], x: &[Tile], clamps: &[Clamp]) {
    for (out, c) in out.iter_mut().zip(clamps) {
        let x = &x[c.column];
        for l in 0..LANES {
            // Not `f64::clamp`, which panics where a file has its ends in the wrong order.
            let z = (x[l] - c.centre) * c.scale;
            let z = if z < c.low { c.low } else { z };
            out[l] = if z > c.high { c.high } else { z };
        }
    }
}

dispatch! {
    /// The same with results in single precision; the arithmetic is in double precision, so that offsets cost no
    /// digits.
    fn clamp_narrow(out: &mut [Narrow], x: &[Tile], clamps: &[Clamp]) = clamp_narrow_body
}

#[inline(always)]
fn clamp_narrow_body<const FMA: bool>(out: &mut [Narrow], x: &[Tile], clamps: &[Clamp]) {
    for (out, c) in out.iter_mut().zip(clamps) {
        let (x, low, high) = (&x[c.column], c.low as f32, c.high as f32);
        for l in 0..LANES {
            // Features and scales of any magnitude; only what comes out is of order one.
            let z = ((x[l] - c.centre) * c.scale) as f32;
            let z = if z < low { low } else { z };
            out[l] = if z > high { high } else { z };
        }
    }
}

dispatch! {
    /// sum += Σ_k a_k b_k, element by element.
    fn add_products(sum: &mut Tile, a: &[Tile], b: &[Tile]) = add_products_body
}

#[inline(always)]
fn add_products_body<const FMA: bool>(sum: &mut Tile, a: &[Tile], b: &[Tile]) {
    let mut all = *sum;
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            all[l] = if FMA { a[l].mul_add(b[l], all[l]) } else { a[l] * b[l] + all[l] };
        }
    }
    *sum = all;
}

dispatch! {
    /// The products of every two columns, each with itself first.
    fn pairs(out: &mut [Tile], x: &[Tile]) = pairs_body
}

#[inline(always)]
fn pairs_body<const FMA: bool>(out: &mut [Tile], x: &[Tile]) {
    let mut next = 0;
    for a in 0..x.len() {
        for b in a..x.len() {
            for l in 0..LANES {
                out[next][l] = x[a][l] * x[b][l];
            }
            next += 1;
        }
    }
}

dispatch! {
    /// The weighted sum of blocks of `width` tiles, which begin at the places of `parts`, plus a constant; written from
    /// place `to` on.
    fn weighted_sum(tiles: &mut [Tile], to: usize, width: usize, parts: &[(f64, usize)], constant: f64) = weighted_sum_body
}

#[inline(always)]
fn weighted_sum_body<const FMA: bool>(
    tiles: &mut [Tile],
    to: usize,
    width: usize,
    parts: &[(f64, usize)],
    constant: f64,
) {
    for column in 0..width {
        let mut sum = [constant; LANES];
        for &(factor, from) in parts {
            add_entry::<FMA>(&mut sum, &tiles[from + column], factor);
        }
        tiles[to + column] = sum;
    }
}

dispatch! {
    /// Makes `sums` NaN where a column is not finite, and leaves zeros otherwise: 0 · v is 0 for a finite v.
    fn add_not_finite(sums: &mut Tile, x: &[Tile]) = add_not_finite_body
}

#[inline(always)]
fn add_not_finite_body<const FMA: bool>(sums: &mut Tile, x: &[Tile]) {
    let mut all = *sums;
    for x in x {
        for l in 0..LANES {
            all[l] += 0.0 * x[l];
        }
    }
    *sums = all;
}

dispatch! {
    /// sum += a · x for whole blocks of columns.
    fn add_scaled(sum: &mut [Tile], a: f64, x: &[Tile]) = add_scaled_body
}

#[inline(always)]
fn add_scaled_body<const FMA: bool>(sum: &mut [Tile], a: f64, x: &[Tile]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        add_entry::<FMA>(sum, x, a);
    }
}

/// ψ in place.
pub(crate) fn activate(psi: Activation, tiles: &mut [Tile]) {
    let all = tiles.as_flattened_mut();
    match psi {
        Activation::Tanh => tanh_in_place(all),
        Activation::Sigmoid => {
            all.iter_mut().for_each(|y| *y *= 0.5);
            tanh_in_place(all);
            all.iter_mut().for_each(|t| *t = 0.5 + 0.5 * *t);
        }
        Activation::Relu => all.iter_mut().for_each(|y| *y = y.max(0.0)),
    }
}

/// ψ in single precision.
pub(crate) fn activate_narrow(psi: Activation, out: &mut [Narrow], y: &[Narrow]) {
    let (out, y) = (out.as_flattened_mut(), y.as_flattened());
    match psi {
        Activation::Tanh => tanh_all(out, y),
        Activation::Sigmoid => sigmoid_all(out, y),
        Activation::Relu => relu_all(out, y),
    }
}

/// ψ′(y) where ψ(y) = a.
pub(crate) fn slope(psi: Activation, a: &Tile) -> Tile {
    match psi {
        Activation::Tanh => a.map(|a| 1.0 - a * a),
        Activation::Sigmoid => a.map(|a| a * (1.0 - a)),
        Activation::Relu => a.map(|a| f64::from(u8::from(a > 0.0))),
    }
}

/// A quadratic form; `room` holds what is between.
pub(crate) fn quadratic(out: &mut Tile, a: &[Tile], form: &Form, room: &mut Vec<Tile>) {
    let q = form.support.len();
    room.resize(2 * q, ZERO);
    let (d, products) = room.split_at_mut(q);
    differences(d, a, form);
    combine(products, d, &form.half);
    *out = [form.constant; LANES];
    add_products(out, d, products);
}

dispatch! {
    /// What a quadratic form is of: columns less their means.
    fn differences(out: &mut [Tile], a: &[Tile], form: &Form) = differences_body
}

#[inline(always)]
fn differences_body<const FMA: bool>(out: &mut [Tile], a: &[Tile], form: &Form) {
    for ((out, &k), m) in out.iter_mut().zip(&form.support).zip(&form.mean) {
        for l in 0..LANES {
            out[l] = a[k][l] - m;
        }
    }
}

/// W M Wᵀ of a matrix M, or of a diagonal one by its diagonal; `room` holds what is between.
pub(crate) fn congruence(out: &mut [Tile], m: &[Tile], diagonal: bool, weights: &Sparse, room: &mut Vec<Tile>) {
    let units = weights.len();
    let width = if diagonal { m.len() } else { m.len().isqrt() };
    // Row b of M Wᵀ: what unit b makes of every row of M.
    room.resize(width, ZERO);
    for (b, (_, column)) in weights.rows().enumerate() {
        room.fill(ZERO);
        if diagonal {
            column.iter().for_each(|&(k, v)| add_scaled(&mut room[k..=k], v, &m[k..=k]));
        } else {
            // M is symmetric, so its rows are its columns.
            column.iter().for_each(|&(k, v)| add_scaled(room, v, &m[k * width..(k + 1) * width]));
        }
        for (a, (_, row)) in weights.rows().enumerate().take(b + 1) {
            let mut sum = ZERO;
            row.iter().for_each(|&(j, w)| add_scaled(std::slice::from_mut(&mut sum), w, &room[j..=j]));
            out[a * units + b] = sum;
            out[b * units + a] = sum;
        }
    }
}

dispatch! {
    /// softmax across the columns.
    fn softmax(out: &mut [Tile], z: &[Tile]) = softmax_body
}

#[inline(always)]
fn softmax_body<const FMA: bool>(out: &mut [Tile], z: &[Tile]) {
    let (mut top, mut sum) = ([f64::NEG_INFINITY; LANES], ZERO);
    for z in z {
        for l in 0..LANES {
            top[l] = top[l].max(z[l]);
        }
    }
    for (out, z) in out.iter_mut().zip(z) {
        exp_below_body::<FMA>(out, z, &top);
        for l in 0..LANES {
            sum[l] += out[l];
        }
    }
    for s in &mut sum {
        *s = 1.0 / *s;
    }
    for p in out {
        for l in 0..LANES {
            p[l] *= sum[l];
        }
    }
}

/// Every column less the mean of all.
pub(crate) fn centre(out: &mut [Tile], z: &[Tile]) {
    let mut sum = ZERO;
    z.iter().for_each(|z| (0..LANES).for_each(|l| sum[l] += z[l]));
    let mean = sum.map(|s| s / z.len() as f64);
    out.iter_mut().zip(z).for_each(|(out, z)| (0..LANES).for_each(|l| out[l] = z[l] - mean[l]));
}

/// The number of the largest column, the first of equals.
pub(crate) fn top(out: &mut Tile, z: &[Tile]) {
    let mut best = [f64::NEG_INFINITY; LANES];
    *out = ZERO;
    for (k, z) in z.iter().enumerate() {
        for l in 0..LANES {
            if z[l] > best[l] {
                (best[l], out[l]) = (z[l], k as f64);
            }
        }
    }
}

/// The largest column.
pub(crate) fn largest(out: &mut Tile, x: &[Tile]) {
    *out = [f64::NEG_INFINITY; LANES];
    for x in x {
        for l in 0..LANES {
            out[l] = out[l].max(x[l]);
        }
    }
}

/// The lower and the upper bound of the bin that each number is in.
pub(crate) fn bin_bounds(out: &mut [Tile], x: &Tile, bounds: &BinBounds) {
    for l in 0..LANES {
        (out[0][l], out[1][l]) = bounds.at(x[l]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::{InstructionSet, forced};

    fn column(seed: usize) -> Tile {
        std::array::from_fn(|l| ((l * 7 + seed * 13) as f64).sin() * 3.0)
    }

    fn narrow(x: &[Tile]) -> Vec<Narrow> {
        x.iter().map(|x| x.map(|v| v as f32)).collect()
    }

    fn weights(rows: &[Vec<(usize, f64)>]) -> Sparse {
        let mut sparse = Sparse::default();
        rows.iter().enumerate().for_each(|(i, r)| sparse.push(r.clone(), i as f64));
        sparse
    }

    #[test]
    fn combinations_are_those_of_a_loop_on_every_instruction_set() {
        let x: Vec<Tile> = (0..40).map(column).collect();
        let many: Vec<(usize, f64)> = (0..40).map(|k| (k, (k as f64 * 0.7).cos())).collect();
        let rows = [vec![(0, 1.5), (3, 0.0), (4, -2.0)], vec![], vec![(2, 0.25)], many];
        let sparse = weights(&rows);
        assert_eq!((sparse.len(), sparse.rows().next()), (4, Some((0.0, &[(0, 1.5), (4, -2.0)][..]))));
        let single = NarrowSparse::new(&sparse);
        for &set in InstructionSet::ALL {
            let _ = forced(set, || {
                let (mut double, mut widened, mut short) = (vec![ZERO; 4], vec![ZERO; 4], vec![NARROW_ZERO; 4]);
                combine(&mut double, &x, &sparse);
                combine_widened(&mut widened, &narrow(&x), &single);
                combine_narrow(&mut short, &narrow(&x), &single);
                for (i, r) in rows.iter().enumerate() {
                    let size: f64 = i as f64 + r.iter().map(|&(_, w)| 3.0 * w.abs()).sum::<f64>();
                    for l in 0..LANES {
                        let want: f64 = i as f64 + r.iter().map(|&(c, w)| w * x[c][l]).sum::<f64>();
                        assert!((double[i][l] - want).abs() < 1e-15 * (size + 1.0));
                        assert!((widened[i][l] - want).abs() < 2e-7 * size);
                        assert!((f64::from(short[i][l]) - want).abs() < 1e-6 * size);
                    }
                }
            });
        }
    }

    #[test]
    fn clamps_products_and_slopes_on_every_instruction_set() {
        let x = [column(1)];
        for &set in InstructionSet::ALL {
            let _ = forced(set, || {
                let clamps = [Clamp { column: 0, centre: 0.5, scale: 2.0, low: -1.0, high: 2.0 }];
                let (mut out, mut short) = ([ZERO], [NARROW_ZERO]);
                clamp(&mut out, &x, &clamps);
                clamp_narrow(&mut short, &x, &clamps);
                for l in 0..LANES {
                    let want = ((x[0][l] - 0.5) * 2.0).clamp(-1.0, 2.0);
                    assert!(out[0][l] == want && (f64::from(short[0][l]) - want).abs() < 1e-6);
                }
                let mut sum = [1.0; LANES];
                add_products(&mut sum, &x, &out);
                let mut block = [sum];
                add_scaled(&mut block, -3.0, &x);
                for l in 0..LANES {
                    assert!((block[0][l] - (1.0 + x[0][l] * out[0][l] - 3.0 * x[0][l])).abs() < 1e-13);
                }
                for psi in Activation::ALL {
                    let (mut a, mut short) = (x, [NARROW_ZERO]);
                    activate(psi, &mut a);
                    activate_narrow(psi, &mut short, &narrow(&x));
                    let d = slope(psi, &a[0]);
                    for l in 0..LANES {
                        assert!((a[0][l] - psi.value(x[0][l])).abs() < 1e-15);
                        assert!((f64::from(short[0][l]) - a[0][l]).abs() < 1e-6);
                        assert!((d[l] - psi.derivative(x[0][l])).abs() < 1e-15);
                    }
                }
            });
        }
    }

    #[test]
    fn congruences_are_products_of_matrices() {
        let rows = [vec![(0, 1.5), (2, -2.0)], vec![(1, 0.3), (2, 0.7)]];
        let sparse = weights(&rows);
        let w = |a: usize, k: usize| rows[a].iter().find(|e| e.0 == k).map_or(0.0, |e| e.1);
        let diagonal: Vec<Tile> = (0..3).map(column).collect();
        let full: Vec<Tile> = (0..9).map(|i| column((i / 3) * (i % 3) + i / 3 + i % 3)).collect();
        let mut room = Vec::new();
        for m in [&diagonal, &full] {
            let mut out = vec![ZERO; 4];
            congruence(&mut out, m, m.len() == 3, &sparse, &mut room);
            for (a, b, l) in (0..2).flat_map(|a| (0..2).flat_map(move |b| (0..LANES).map(move |l| (a, b, l)))) {
                let at = |j: usize, k: usize| match m.len() {
                    9 => m[j * 3 + k][l],
                    _ if j == k => m[j][l],
                    _ => 0.0,
                };
                let want: f64 =
                    (0..3).flat_map(|j| (0..3).map(move |k| (j, k))).map(|(j, k)| w(a, j) * at(j, k) * w(b, k)).sum();
                assert!((out[a * 2 + b][l] - want).abs() < 1e-13, "{} {a} {b}", m.len());
            }
        }
    }

    #[test]
    fn classes_across_columns() {
        let z: Vec<Tile> = (0..3).map(column).collect();
        let (mut p, mut c, mut t) = (vec![ZERO; 3], vec![ZERO; 3], ZERO);
        softmax(&mut p, &z);
        centre(&mut c, &z);
        top(&mut t, &z);
        for l in 0..LANES {
            let sum: f64 = z.iter().map(|z| z[l].exp()).sum();
            let largest = (0..3).max_by(|&a, &b| z[a][l].total_cmp(&z[b][l])).unwrap();
            assert_eq!(t[l], largest as f64);
            for k in 0..3 {
                assert!((p[k][l] - z[k][l].exp() / sum).abs() < 1e-14);
                assert!((c[k][l] - z[k][l] + z.iter().map(|z| z[l]).sum::<f64>() / 3.0).abs() < 1e-14);
            }
        }
    }

    /// Numbers of few digits, so that sums and products are exact.
    fn exact(seed: usize) -> Tile {
        std::array::from_fn(|l| ((l * 5 + seed * 3) % 11) as f64 - 4.5)
    }

    #[test]
    fn sums_and_products_of_columns_are_exact_on_every_instruction_set() {
        let x: Vec<Tile> = (0..5).map(exact).collect();
        for &set in InstructionSet::ALL {
            let _ = forced(set, || {
                let mut all = vec![ZERO; 6];
                pairs(&mut all, &x[..3]);
                for (k, (a, b)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
                    (0..LANES).for_each(|l| assert_eq!(all[k][l], x[a][l] * x[b][l]));
                }
                let mut sum = exact(7);
                add_products(&mut sum, &x[..2], &x[3..]);
                let want = |l: usize| exact(7)[l] + x[0][l] * x[3][l] + x[1][l] * x[4][l];
                (0..LANES).for_each(|l| assert_eq!(sum[l], want(l)));
                // Two blocks of two columns, to the place behind them.
                let mut tiles = [x.clone(), vec![ZERO; 3]].concat();
                weighted_sum(&mut tiles, 6, 2, &[(2.0, 0), (-0.5, 3)], 0.25);
                for l in 0..LANES {
                    let sums = [0, 1].map(|k| 2.0 * x[k][l] - 0.5 * x[3 + k][l] + 0.25);
                    assert_eq!([tiles[5][l], tiles[6][l], tiles[7][l]], [0.0, sums[0], sums[1]]);
                }
                let mut forms = ZERO;
                // Of columns 4, 0 and 2 less 1, 2 and 3: a² + 2ab + b² + 4bc + 8c² + 16.
                let half = weights_only(&[&[(0, 1.0)], &[(0, 2.0), (1, 1.0)], &[(1, 4.0), (2, 8.0)]]);
                let form = Form { support: vec![4, 0, 2], mean: vec![1.0, 2.0, 3.0], half, constant: 16.0 };
                quadratic(&mut forms, &x, &form, &mut vec![exact(1); 9]);
                for l in 0..LANES {
                    let (a, b, c) = (x[4][l] - 1.0, x[0][l] - 2.0, x[2][l] - 3.0);
                    assert_eq!(forms[l], a * a + 2.0 * a * b + b * b + 4.0 * b * c + 8.0 * c * c + 16.0);
                }
            });
        }
    }

    fn weights_only(rows: &[&[(usize, f64)]]) -> Sparse {
        let mut sparse = Sparse::default();
        rows.iter().for_each(|row| sparse.push(row.iter().copied(), 0.0));
        sparse
    }

    #[test]
    fn numbers_that_are_not_finite_leave_their_mark() {
        for &set in InstructionSet::ALL {
            let _ = forced(set, || {
                let mut x = [exact(0), exact(1), [f64::MAX; LANES], ZERO];
                let mut sums = ZERO;
                add_not_finite(&mut sums, &x);
                assert_eq!(sums, ZERO);
                (x[1][3], x[2][7], x[0][31]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
                add_not_finite(&mut sums, &x);
                (0..LANES).for_each(|l| assert_eq!(sums[l].is_nan(), [3, 7, 31].contains(&l)));
                // What is marked stays so.
                add_not_finite(&mut sums, &[ZERO]);
                assert!(sums[3].is_nan() && sums[0] == 0.0);
            });
        }
    }

    #[test]
    fn clamps_agree_with_the_standard_library_to_the_bit() {
        let mut x = ZERO;
        x[..8].copy_from_slice(&[-0.0, 0.0, 1.0, -1.0, 2.0, -2.0, f64::INFINITY, f64::NEG_INFINITY]);
        for (low, high) in [(0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0), (-1.0, 2.0)] {
            for &set in InstructionSet::ALL {
                let _ = forced(set, || {
                    let (mut wide, mut narrow) = ([ZERO], [NARROW_ZERO]);
                    let clamps = [Clamp::within(0, low, high)];
                    clamp(&mut wide, &[x], &clamps);
                    clamp_narrow(&mut narrow, &[x], &clamps);
                    for l in 0..LANES {
                        assert_eq!(wide[0][l].to_bits(), x[l].clamp(low, high).to_bits());
                        assert_eq!(narrow[0][l].to_bits(), (x[l] as f32).clamp(low as f32, high as f32).to_bits());
                    }
                });
            }
        }
    }

    #[test]
    fn the_first_of_equal_columns_is_the_top() {
        let (mut number, mut value) = (ZERO, ZERO);
        let x = [[1.0; LANES], [2.0; LANES], [2.0; LANES], [-3.0; LANES]];
        top(&mut number, &x);
        largest(&mut value, &x);
        assert_eq!((number, value), ([1.0; LANES], [2.0; LANES]));
        let bounds = BinBounds { ends: vec![1.5], lower: vec![5.0, 6.0], upper: vec![7.0, 8.0] };
        let (mut bins, mut x) = ([ZERO; 2], [1.0; LANES]);
        x[31] = 2.0;
        bin_bounds(&mut bins, &x, &bounds);
        assert_eq!((bins[0][0], bins[1][0], bins[0][31], bins[1][31]), (5.0, 7.0, 6.0, 8.0));
    }

    #[test]
    fn slopes_at_zero_by_hand() {
        let a: Tile = std::array::from_fn(|l| [0.0, 0.5, -0.5][l % 3]);
        let of = |psi: Activation| slope(psi, &a)[..3].to_vec();
        assert_eq!(of(Activation::Tanh), [1.0, 0.75, 0.75]);
        assert_eq!(of(Activation::Sigmoid), [0.0, 0.25, -0.75]);
        // ReLU has the slope 0 at 0.
        assert_eq!(of(Activation::Relu), [0.0, 1.0, 0.0]);
    }
}
