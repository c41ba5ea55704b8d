//! Thirty-two rows at a time, column by column: sparse products, scales and quadratic forms of the scoring loops, in f64.

use super::elementwise::tanh_in_place;
use super::simd::dispatch;
use crate::Activation;

/// Rows of a tile: eight vector registers of AVX2, enough to hide the latency of a multiply-add.
pub(crate) const LANES: usize = 32;

/// One quantity at thirty-two rows.
pub(crate) type Tile = [f64; LANES];

/// No rows yet.
pub(crate) const ZERO: Tile = [0.0; LANES];

/// Linear combinations of columns, by the entries that are not zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sparse {
    /// Where each combination's entries end.
    ends: Vec<usize>,
    bias: Vec<f64>,
    entries: Vec<(usize, f64)>,
}

impl Sparse {
    /// Appends a combination: column numbers with their factors, and a constant.
    pub(crate) fn push(&mut self, entries: impl IntoIterator<Item = (usize, f64)>, bias: f64) {
        self.entries.extend(entries.into_iter().filter(|(_, w)| *w != 0.0));
        self.ends.push(self.entries.len());
        self.bias.push(bias);
    }

    /// How many combinations.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Columns that are used, with repetitions.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().map(|e| e.0)
    }

    /// Gives columns other numbers.
    pub(crate) fn renumber(&mut self, new: impl Fn(usize) -> usize) {
        self.entries.iter_mut().for_each(|e| e.0 = new(e.0));
    }
}

dispatch! {
    /// One tile per combination of these columns.
    fn combine(out: &mut [Tile], x: &[Tile], sparse: &Sparse) = combine_body
}

#[inline(always)]
fn combine_body<const FMA: bool>(out: &mut [Tile], x: &[Tile], sparse: &Sparse) {
    let mut from = 0;
    for ((out, &to), &bias) in out.iter_mut().zip(&sparse.ends).zip(&sparse.bias) {
        let mut sum = [bias; LANES];
        for &(column, w) in &sparse.entries[from..to] {
            let x = &x[column];
            for l in 0..LANES {
                sum[l] = if FMA { x[l].mul_add(w, sum[l]) } else { x[l] * w + sum[l] };
            }
        }
        *out = sum;
        from = to;
    }
}

/// A column that is centred and then kept between two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clamp {
    pub column: usize,
    pub centre: f64,
    /// Of what is left.
    pub low: f64,
    pub high: f64,
}

dispatch! {
    /// out = x − centre within [low, high], one tile per clamp.
    fn clamp(out: &mut [Tile], x: &[Tile], clamps: &[Clamp]) = clamp_body
}

#[inline(always)]
fn clamp_body<const FMA: bool>(out: &mut [Tile], x: &[Tile], clamps: &[Clamp]) {
    for (out, c) in out.iter_mut().zip(clamps) {
        let x = &x[c.column];
        for l in 0..LANES {
            // Not `f64::clamp`, which panics where a file has its ends in the wrong order.
            let z = x[l] - c.centre;
            let z = if z < c.low { c.low } else { z };
            out[l] = if z > c.high { c.high } else { z };
        }
    }
}

dispatch! {
    /// sum += a b c, with a the same for all rows.
    fn add_product(sum: &mut Tile, a: f64, b: &Tile, c: &Tile) = add_product_body
}

#[inline(always)]
fn add_product_body<const FMA: bool>(sum: &mut Tile, a: f64, b: &Tile, c: &Tile) {
    for l in 0..LANES {
        let ab = a * b[l];
        sum[l] = if FMA { ab.mul_add(c[l], sum[l]) } else { ab * c[l] + sum[l] };
    }
}

/// sum += a b.
pub(crate) fn add_scaled(sum: &mut Tile, a: f64, b: &Tile) {
    for l in 0..LANES {
        sum[l] += a * b[l];
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

/// ψ′(y) where ψ(y) = a.
pub(crate) fn slope(psi: Activation, a: &Tile) -> Tile {
    match psi {
        Activation::Tanh => a.map(|a| 1.0 - a * a),
        Activation::Sigmoid => a.map(|a| a * (1.0 - a)),
        Activation::Relu => a.map(|a| f64::from(u8::from(a > 0.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(seed: usize) -> Tile {
        std::array::from_fn(|l| ((l * 7 + seed * 13) as f64).sin() * 3.0)
    }

    #[test]
    fn combinations_are_those_of_a_loop() {
        let x: Vec<Tile> = (0..5).map(column).collect();
        let rows = [vec![(0, 1.5), (3, 0.0), (4, -2.0)], vec![], vec![(2, 0.25)]];
        let mut sparse = Sparse::default();
        rows.iter().enumerate().for_each(|(i, r)| sparse.push(r.clone(), i as f64));
        assert_eq!((sparse.len(), sparse.columns().collect::<Vec<_>>()), (3, vec![0, 4, 2]));
        let mut out = vec![ZERO; 3];
        combine(&mut out, &x, &sparse);
        for (i, r) in rows.iter().enumerate() {
            for l in 0..LANES {
                let want: f64 = i as f64 + r.iter().map(|&(c, w)| w * x[c][l]).sum::<f64>();
                assert!((out[i][l] - want).abs() < 1e-14);
            }
        }
        sparse.renumber(|c| 4 - c);
        assert_eq!(sparse.columns().collect::<Vec<_>>(), [4, 0, 2]);
    }

    #[test]
    fn clamps_products_and_slopes() {
        let x = [column(1)];
        let mut out = [ZERO];
        clamp(&mut out, &x, &[Clamp { column: 0, centre: 0.5, low: -1.0, high: 2.0 }]);
        assert!(out[0].iter().zip(&x[0]).all(|(o, x)| *o == (x - 0.5).clamp(-1.0, 2.0)));
        let mut sum = [1.0; LANES];
        add_product(&mut sum, 2.0, &x[0], &out[0]);
        add_scaled(&mut sum, -3.0, &x[0]);
        for l in 0..LANES {
            assert!((sum[l] - (1.0 + 2.0 * x[0][l] * out[0][l] - 3.0 * x[0][l])).abs() < 1e-13);
        }
        for psi in Activation::ALL {
            let mut a = x;
            activate(psi, &mut a);
            let d = slope(psi, &a[0]);
            for l in 0..LANES {
                assert!((a[0][l] - psi.value(x[0][l])).abs() < 1e-15 && (d[l] - psi.derivative(x[0][l])).abs() < 1e-15);
            }
        }
    }
}
