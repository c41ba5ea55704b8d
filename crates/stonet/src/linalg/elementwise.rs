//! Element-wise passes: activations, the latent update and proximal maps of the training step in f32; tanh, exp and the
//! inner loops of the sparse regressions in f64. All auto-vectorise.

use super::simd::{dispatch, fma};

/// tanh to 4e-7 relative, for small arguments too: a rational function of the minimax kind, clamped where tanh is 1 in
/// f32.
///
/// The coefficients are the widely used 13/6 fit (Eigen, XLA).
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let x = x.clamp(-7.905_311, 7.905_311);
    let s = x * x;
    let mut p = fma::<FMA>(s, -2.760_768_4e-16, 2.000_188e-13);
    p = fma::<FMA>(s, p, -8.604_672e-11);
    p = fma::<FMA>(s, p, 5.122_297e-8);
    p = fma::<FMA>(s, p, 1.485_722_4e-5);
    p = fma::<FMA>(s, p, 6.372_619e-4);
    p = fma::<FMA>(s, p, 4.893_524_6e-3);
    let mut q = fma::<FMA>(s, 1.198_258_4e-6, 1.185_347_1e-4);
    q = fma::<FMA>(s, q, 2.268_434_6e-3);
    q = fma::<FMA>(s, q, 4.893_525e-3);
    x * p / q
}

dispatch! {
    /// a = tanh(f).
    fn tanh_all(a: &mut [f32], f: &[f32]) = tanh_body
}
dispatch! {
    /// a = 1 / (1 + exp(−f)).
    fn sigmoid_all(a: &mut [f32], f: &[f32]) = sigmoid_body
}
dispatch! {
    /// a = max(f, 0).
    fn relu_all(a: &mut [f32], f: &[f32]) = relu_body
}

#[inline(always)]
fn tanh_body<const FMA: bool>(a: &mut [f32], f: &[f32]) {
    a.iter_mut().zip(f).for_each(|(a, &f)| *a = tanh::<FMA>(f));
}

#[inline(always)]
fn sigmoid_body<const FMA: bool>(a: &mut [f32], f: &[f32]) {
    a.iter_mut().zip(f).for_each(|(a, &f)| *a = fma::<FMA>(0.5, tanh::<FMA>(0.5 * f), 0.5));
}

#[inline(always)]
fn relu_body<const FMA: bool>(a: &mut [f32], f: &[f32]) {
    a.iter_mut().zip(f).for_each(|(a, &f)| *a = f.max(0.0));
}

dispatch! {
    /// y = tanh(y) in f64, to a few units in the last place and some thirty times faster than the C library's.
    fn tanh_in_place(y: &mut [f64]) = tanh_in_place_body
}

#[inline(always)]
fn tanh_in_place_body<const FMA: bool>(y: &mut [f64]) {
    for y in y {
        let e = expm1_negative::<FMA>(-2.0 * y.abs());
        *y = (-e / (2.0 + e)).copysign(*y);
    }
}

/// exp(x) − 1 for x ≤ 0 (NaN stays NaN).
#[inline(always)]
fn expm1_negative<const FMA: bool>(x: f64) -> f64 {
    // exp(−40) is below half a unit in the last place of 1. A comparison, not `max`, so that NaN passes.
    let (scale, small) = exp_parts::<FMA>(if x < -40.0 { -40.0 } else { x });
    if FMA { scale.mul_add(small, scale - 1.0) } else { scale * small + (scale - 1.0) }
}

/// (2^k, exp(r) − 1) with x = k ln 2 + r, |r| ≤ ½ ln 2, for |x| ≤ 708; a Taylor polynomial of exp(r) − 1.
#[inline(always)]
fn exp_parts<const FMA: bool>(x: f64) -> (f64, f64) {
    /// 1.5 · 2⁵²: adding it leaves the nearest integer in the lowest bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts, the first with zeros at its end so that k times it is exact.
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let fma = |a: f64, b: f64, c: f64| if FMA { a.mul_add(b, c) } else { a * b + c };
    let shifted = fma(x, std::f64::consts::LOG2_E, SHIFT);
    let k = shifted - SHIFT;
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1f64.to_bits()));
    let r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x));
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [479_001_600.0, 39_916_800.0, 3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0] {
        p = fma(p, r, 1.0 / c);
    }
    (scale, fma(p * r, r, r))
}

dispatch! {
    /// exp in f64, of what is held within ±708, so that the result is neither 0 nor infinite.
    fn exp_in_place(x: &mut [f64]) = exp_in_place_body
}

#[inline(always)]
fn exp_in_place_body<const FMA: bool>(x: &mut [f64]) {
    for x in x {
        let (scale, small) = exp_parts::<FMA>(x.clamp(-708.0, 708.0));
        *x = if FMA { scale.mul_add(small, scale) } else { scale * small + scale };
    }
}

dispatch! {
    /// e = exp(z − top) in f64, the difference held within ±708, so that the result is neither 0 nor infinite.
    fn exp_below(e: &mut [f64], z: &[f64], top: &[f64]) = exp_below_body
}

/// The same for other bodies of [`dispatch!`].
#[inline(always)]
pub(crate) fn exp_below_body<const FMA: bool>(e: &mut [f64], z: &[f64], top: &[f64]) {
    for ((e, z), top) in e.iter_mut().zip(z).zip(top) {
        let (scale, small) = exp_parts::<FMA>((z - top).clamp(-708.0, 708.0));
        *e = if FMA { scale.mul_add(small, scale) } else { scale * small + scale };
    }
}

/// e = onehot − softmax(f), row by row; returns the sum over rows of −log softmax(f) at the row's class.
pub(crate) fn class_residual(e: &mut [f32], f: &[f32], onehot: &[f32], classes: usize) -> f64 {
    let mut total = 0.0;
    for ((e, f), hot) in e.chunks_exact_mut(classes).zip(f.chunks_exact(classes)).zip(onehot.chunks_exact(classes)) {
        let top = f.iter().fold(f32::NEG_INFINITY, |a, &z| a.max(z));
        e.iter_mut().zip(f).for_each(|(e, &z)| *e = z - top);
        let at_class: f32 = e.iter().zip(hot).map(|(z, h)| h * z).sum();
        total -= f64::from(at_class);
    }
    // All rows at once: a row of ten classes is too short to fill a vector.
    exp_not_positive(e);
    for (e, hot) in e.chunks_exact_mut(classes).zip(onehot.chunks_exact(classes)) {
        let sum: f32 = e.iter().sum();
        total += f64::from(sum.ln());
        let scale = 1.0 / sum;
        e.iter_mut().zip(hot).for_each(|(e, h)| *e = h - *e * scale);
    }
    total
}

dispatch! {
    /// exp of numbers that are not positive; below −87 it is that of −87.
    fn exp_not_positive(x: &mut [f32]) = exp_not_positive_body
}

#[inline(always)]
fn exp_not_positive_body<const FMA: bool>(x: &mut [f32]) {
    // exp x = 2^n exp r with |r| ≤ ½ ln 2, and the Taylor polynomial of exp r, which ends below the last bit of an f32.
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest whole number in the low bits
    const LN2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    const TAYLOR: [f32; 6] = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    for x in x {
        // `max` drops a NaN; the comparison keeps it, so that a divergence shows.
        let v = if *x < -87.0 { -87.0 } else { *x };
        let shifted = fma::<FMA>(v, std::f32::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = fma::<FMA>(n, -LN2.1, fma::<FMA>(n, -LN2.0, v));
        let poly = TAYLOR[1..].iter().fold(TAYLOR[0], |p, &c| fma::<FMA>(p, r, c));
        let scale = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3F80_0000));
        *x = scale * fma::<FMA>(poly, r, 1.0);
    }
}

/// One latent layer as the sweep sees it; all slices have the same length.
pub(crate) struct LatentSlices<'a> {
    /// W_{i+1}ᵀ E_{i+1}, and on return ΔA_i.
    pub back: &'a mut [f32],
    /// Y_i.
    pub y: &'a mut [f32],
    /// A_i = ψ(Y_i).
    pub a: &'a mut [f32],
    /// E_i.
    pub e: &'a mut [f32],
    /// v_i.
    pub v: &'a mut [f32],
}

/// The scalars of one latent update.
#[derive(Clone, Copy)]
pub(crate) struct LatentStep {
    /// ε_i / σ²_{i+1}.
    pub from_above: f32,
    /// ε_i / σ_i².
    pub from_below: f32,
    /// 1 − a.
    pub momentum: f32,
}

dispatch! {
    /// v, E, A and ΔA of a tanh layer: ΔA = tanh(v)(1 − A²)/(1 + A tanh v), free of cancellation.
    fn latent_tanh(l: LatentSlices<'_>, s: LatentStep) = latent_tanh_body
}
dispatch! {
    /// The same for the sigmoid: ΔA = A(1 − A)·2t/(1 − t + 2At) with t = tanh(v/2).
    fn latent_sigmoid(l: LatentSlices<'_>, s: LatentStep) = latent_sigmoid_body
}
dispatch! {
    /// The same for ReLU, whose change follows from the signs of Y before and after.
    fn latent_relu(l: LatentSlices<'_>, s: LatentStep) = latent_relu_body
}

/// v ← (1−a) v + ε g and E += v; returns the new v. `slope` is ψ′(Y).
#[inline(always)]
fn momentum<const FMA: bool>(s: LatentStep, slope: f32, back: f32, e: &mut f32, v: &mut f32) -> f32 {
    let pull = fma::<FMA>(-s.from_below, *e, s.momentum * *v);
    *v = fma::<FMA>(s.from_above * slope, back, pull);
    *e += *v;
    *v
}

#[inline(always)]
fn latent_tanh_body<const FMA: bool>(l: LatentSlices<'_>, s: LatentStep) {
    let LatentSlices { back, a, e, v, .. } = l;
    let n = back.len();
    let (a, e, v) = (&mut a[..n], &mut e[..n], &mut v[..n]);
    for i in 0..n {
        let slope = fma::<FMA>(-a[i], a[i], 1.0);
        let t = tanh::<FMA>(momentum::<FMA>(s, slope, back[i], &mut e[i], &mut v[i]));
        back[i] = t * slope / fma::<FMA>(a[i], t, 1.0);
        a[i] += back[i];
    }
}

#[inline(always)]
fn latent_sigmoid_body<const FMA: bool>(l: LatentSlices<'_>, s: LatentStep) {
    let LatentSlices { back, a, e, v, .. } = l;
    let n = back.len();
    let (a, e, v) = (&mut a[..n], &mut e[..n], &mut v[..n]);
    for i in 0..n {
        let slope = a[i] * (1.0 - a[i]);
        let t = tanh::<FMA>(0.5 * momentum::<FMA>(s, slope, back[i], &mut e[i], &mut v[i]));
        // The tiny term keeps 0/0 away where A has underflowed to 0 and t rounds to 1.
        back[i] = 2.0 * t * slope / (1.0 - t + 2.0 * a[i] * t + f32::MIN_POSITIVE);
        a[i] += back[i];
    }
}

#[inline(always)]
fn latent_relu_body<const FMA: bool>(l: LatentSlices<'_>, s: LatentStep) {
    let LatentSlices { back, y, a, e, v } = l;
    let n = back.len();
    let (y, a, e, v) = (&mut y[..n], &mut a[..n], &mut e[..n], &mut v[..n]);
    for i in 0..n {
        let slope = if y[i] > 0.0 { 1.0 } else { 0.0 };
        let step = momentum::<FMA>(s, slope, back[i], &mut e[i], &mut v[i]);
        let moved = y[i] + step;
        let both_on = y[i] > 0.0 && moved > 0.0;
        // While the unit stays on, ΔA is the step itself: the difference of the two Y would lose it.
        back[i] = if both_on { step } else { moved.max(0.0) - y[i].max(0.0) };
        y[i] = moved;
        a[i] += back[i];
    }
}

dispatch! {
    /// y += a x, in f64: the inner loop of coordinate descent.
    fn axpy(y: &mut [f64], a: f64, x: &[f64]) = axpy_body
}

#[inline(always)]
fn axpy_body<const FMA: bool>(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = if FMA { a.mul_add(x, *y) } else { a * x + *y });
}

dispatch! {
    /// sums += every row of `rows`, which lie one after the other; four rows at a time.
    fn add_rows(sums: &mut [f64], rows: &[f64]) = add_rows_body
}

#[inline(always)]
fn add_rows_body<const FMA: bool>(sums: &mut [f64], rows: &[f64]) {
    let p = sums.len().max(1);
    let fours = rows.chunks_exact(4 * p);
    let rest = fours.remainder();
    for four in fours {
        let (ab, cd) = four.split_at(2 * p);
        let ((a, b), (c, d)) = (ab.split_at(p), cd.split_at(p));
        for ((((s, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *s += (a + b) + (c + d);
        }
    }
    rest.chunks_exact(p).for_each(|row| sums.iter_mut().zip(row).for_each(|(s, v)| *s += v));
}

dispatch! {
    /// y += a x, x in f32 and the sum in f64.
    fn axpy_single(y: &mut [f64], a: f64, x: &[f32]) = axpy_single_body
}

#[inline(always)]
fn axpy_single_body<const FMA: bool>(y: &mut [f64], a: f64, x: &[f32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = if FMA { a.mul_add(f64::from(x), *y) } else { a * f64::from(x) + *y };
    }
}

dispatch! {
    /// out = x · v, x in f32 and the sum in f64.
    fn dot_single(out: &mut f64, x: &[f32], v: &[f64]) = dot_single_body
}

#[inline(always)]
fn dot_single_body<const FMA: bool>(out: &mut f64, x: &[f32], v: &[f64]) {
    const LANES: usize = 32;
    let ((x, x_rest), (v, v_rest)) = (x.as_chunks::<LANES>(), v.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, v) in x.iter().zip(v) {
        for i in 0..LANES {
            let x = f64::from(x[i]);
            sums[i] = if FMA { x.mul_add(v[i], sums[i]) } else { x * v[i] + sums[i] };
        }
    }
    let rest: f64 = x_rest.iter().zip(v_rest).map(|(&x, v)| f64::from(x) * v).sum();
    *out = sums.iter().sum::<f64>() + rest;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments from 1e-9 to 20 of both signs.
    fn arguments() -> Vec<f32> {
        (0..2000).map(|i| 1e-9f32 * 1.0119f32.powi(i)).flat_map(|x| [x, -x]).collect()
    }

    #[test]
    fn tanh_and_sigmoid_are_accurate_relative_to_f64() {
        let x = arguments();
        let mut a = vec![0.0; x.len()];
        tanh_all(&mut a, &x);
        for (&a, &x) in a.iter().zip(&x) {
            let exact = (x as f64).tanh();
            assert!((a as f64 - exact).abs() <= 4e-7 * exact.abs(), "tanh({x}): {a} for {exact}");
        }
        sigmoid_all(&mut a, &x);
        for (&a, &x) in a.iter().zip(&x) {
            assert!((a as f64 - 1.0 / (1.0 + (-x as f64).exp())).abs() <= 4e-7, "sigmoid({x})");
        }
    }

    #[test]
    fn exp_of_what_is_not_positive_is_accurate_relative_to_f64() {
        let x: Vec<f32> = (0..8600).map(|i| -0.01 * i as f32).collect();
        let mut e = x.clone();
        exp_not_positive(&mut e);
        for (&e, &x) in e.iter().zip(&x) {
            let exact = f64::from(x).exp();
            assert!((f64::from(e) / exact - 1.0).abs() < 3e-7, "exp({x}): {e} for {exact}");
        }
        let mut special = [0.0, -1000.0, f32::NEG_INFINITY, f32::NAN];
        exp_not_positive(&mut special);
        assert!(special[0] == 1.0 && special[1] < 1e-37 && special[2] < 1e-37 && special[3].is_nan());
    }

    #[test]
    fn tanh_in_f64_is_accurate_to_a_few_units_in_the_last_place() {
        let x: Vec<f64> = (0..4000).map(|i| 1e-300f64.max(1e-9 * 1.0062f64.powi(i))).flat_map(|x| [x, -x]).collect();
        let mut a = x.clone();
        tanh_in_place(&mut a);
        for (a, x) in a.iter().zip(&x) {
            assert!((a - x.tanh()).abs() <= 1e-15 * x.tanh().abs(), "tanh({x}): {a} for {}", x.tanh());
        }
        let mut special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310];
        tanh_in_place(&mut special);
        assert_eq!(special[..4], [0.0, 0.0, 1.0, -1.0]);
        assert!(special[4].is_nan() && special[5] == 1e-310);
    }

    #[test]
    fn exp_in_f64_is_accurate_to_a_few_units_in_the_last_place() {
        let z: Vec<f64> = (0..5000).map(|i| -707.9 + 0.283 * i as f64).collect();
        let (top, mut e) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        exp_below(&mut e, &z, &top);
        for (e, z) in e.iter().zip(&z) {
            assert!((e / z.exp() - 1.0).abs() <= 1e-15, "exp({z}): {e} for {}", z.exp());
        }
        let mut ends = [0.0; 2];
        exp_below(&mut ends, &[-2000.0, 2000.0], &[0.0, -1.0]);
        assert!(ends[0] > 0.0 && ends[1].is_finite());
    }

    #[test]
    fn products_of_single_with_double_are_those_of_a_loop() {
        for m in [0, 1, 31, 32, 100] {
            let v: Vec<f64> = (0..m).map(|i| (i as f64 * 0.7).sin()).collect();
            let x: Vec<f32> = (0..m).map(|i| (i as f32 * 0.3).cos()).collect();
            let (mut out, mut y) = (9.0, v.clone());
            dot_single(&mut out, &x, &v);
            axpy_single(&mut y, -1.5, &x);
            let want: f64 = (0..m).map(|i| f64::from(x[i]) * v[i]).sum();
            assert!((out - want).abs() < 1e-13, "{m}: {out} for {want}");
            assert!((0..m).all(|i| (y[i] - (v[i] - 1.5 * f64::from(x[i]))).abs() < 1e-15));
        }
    }
}
