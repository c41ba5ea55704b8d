//! Element-wise passes of a perceptron's training step in f32: bias with activation, slope with bias gradient, Adam.
//! All auto-vectorise.

use super::elementwise::tanh;
use super::simd::{dispatch, fma};

dispatch! {
    /// a = tanh(a + bias) in every row; as many columns as biases.
    fn bias_tanh(a: &mut [f32], bias: &[f32]) = bias_tanh_body
}
dispatch! {
    /// a = 1 / (1 + exp(−a − bias)) in every row.
    fn bias_sigmoid(a: &mut [f32], bias: &[f32]) = bias_sigmoid_body
}
dispatch! {
    /// a = max(a + bias, 0) in every row.
    fn bias_relu(a: &mut [f32], bias: &[f32]) = bias_relu_body
}
dispatch! {
    /// a = a + bias in every row.
    fn bias_only(a: &mut [f32], bias: &[f32]) = bias_only_body
}

#[inline(always)]
fn in_rows(a: &mut [f32], bias: &[f32], f: impl Fn(f32) -> f32) {
    for row in a.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(a, b)| *a = f(*a + b));
    }
}

#[inline(always)]
fn bias_tanh_body<const FMA: bool>(a: &mut [f32], bias: &[f32]) {
    in_rows(a, bias, tanh::<FMA>);
}

#[inline(always)]
fn bias_sigmoid_body<const FMA: bool>(a: &mut [f32], bias: &[f32]) {
    in_rows(a, bias, |f| fma::<FMA>(0.5, tanh::<FMA>(0.5 * f), 0.5));
}

#[inline(always)]
fn bias_relu_body<const FMA: bool>(a: &mut [f32], bias: &[f32]) {
    in_rows(a, bias, |f| f.max(0.0));
}

#[inline(always)]
fn bias_only_body<const FMA: bool>(a: &mut [f32], bias: &[f32]) {
    in_rows(a, bias, |f| f);
}

dispatch! {
    /// delta *= 1 − a², and `sums` the column sums of the result: the gradient of the biases.
    fn slope_tanh(delta: &mut [f32], a: &[f32], sums: &mut [f32]) = slope_tanh_body
}
dispatch! {
    /// delta *= a(1 − a), with its column sums.
    fn slope_sigmoid(delta: &mut [f32], a: &[f32], sums: &mut [f32]) = slope_sigmoid_body
}
dispatch! {
    /// delta = 0 where a = 0, with its column sums.
    fn slope_relu(delta: &mut [f32], a: &[f32], sums: &mut [f32]) = slope_relu_body
}
dispatch! {
    /// The column sums of delta.
    fn column_sums(delta: &[f32], sums: &mut [f32]) = column_sums_body
}

#[inline(always)]
fn slope_rows(delta: &mut [f32], a: &[f32], sums: &mut [f32], scaled: impl Fn(f32, f32) -> f32) {
    sums.fill(0.0);
    let width = sums.len();
    for (delta, a) in delta.chunks_exact_mut(width).zip(a.chunks_exact(width)) {
        for ((d, &a), s) in delta.iter_mut().zip(a).zip(&mut *sums) {
            *d = scaled(*d, a);
            *s += *d;
        }
    }
}

#[inline(always)]
fn slope_tanh_body<const FMA: bool>(delta: &mut [f32], a: &[f32], sums: &mut [f32]) {
    slope_rows(delta, a, sums, |d, a| d * fma::<FMA>(-a, a, 1.0));
}

#[inline(always)]
fn slope_sigmoid_body<const FMA: bool>(delta: &mut [f32], a: &[f32], sums: &mut [f32]) {
    slope_rows(delta, a, sums, |d, a| d * (a * (1.0 - a)));
}

#[inline(always)]
fn slope_relu_body<const FMA: bool>(delta: &mut [f32], a: &[f32], sums: &mut [f32]) {
    slope_rows(delta, a, sums, |d, a| if a > 0.0 { d } else { 0.0 });
}

#[inline(always)]
fn column_sums_body<const FMA: bool>(delta: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for row in delta.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(s, d)| *s += d);
    }
}

/// The scalars of one Adam step, bias corrections included.
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// β₁.
    pub beta1: f32,
    /// β₂.
    pub beta2: f32,
    /// rate / (1 − β₁ᵗ).
    pub rate: f32,
    /// 1 / √(1 − β₂ᵗ).
    pub root_scale: f32,
    /// ε.
    pub epsilon: f32,
    /// 1 − rate · weight decay.
    pub keep: f32,
}

dispatch! {
    /// One Adam step of the parameters `w` along the gradient `g`; all slices are as long as `g`.
    fn adam(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], s: AdamStep) = adam_body
}

#[inline(always)]
fn adam_body<const FMA: bool>(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], s: AdamStep) {
    let n = g.len();
    let (w, m, v) = (&mut w[..n], &mut m[..n], &mut v[..n]);
    for i in 0..n {
        // Moments of a unit that died shrink at every step until they are subnormal and stay so, and a processor
        // takes a hundred times longer for a subnormal number. So tiny moments and squares of tiny gradients are 0.
        let mean = fma::<FMA>(s.beta1, m[i] - g[i], g[i]);
        m[i] = if mean.abs() < 1e-30 { 0.0 } else { mean };
        let seen = if g[i].abs() < 1e-17 { 0.0 } else { g[i] };
        let square = seen * seen;
        let spread = fma::<FMA>(s.beta2, v[i] - square, square);
        v[i] = if spread < 1e-35 { 0.0 } else { spread };
        let change = s.rate * m[i] / fma::<FMA>(v[i].sqrt(), s.root_scale, s.epsilon);
        w[i] = fma::<FMA>(s.keep, w[i], -change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adam_follows_its_definition() {
        let (beta1, beta2, rate, epsilon, decay) = (0.9f64, 0.999f64, 0.01, 1e-8, 0.1);
        let gradient = |t: usize, i: usize| ((t * 37 + i * 11) as f64).sin() * 0.1f64.powi(i as i32 % 4);
        let start: Vec<f32> = (0..19).map(|i| (i as f32).cos()).collect();
        let (mut w, mut m, mut v) = (start.clone(), vec![0.0; 19], vec![0.0; 19]);
        let mut exact: Vec<[f64; 3]> = start.iter().map(|&w| [f64::from(w), 0.0, 0.0]).collect();
        for t in 1..=50 {
            let (c1, c2) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
            let s = AdamStep {
                beta1: beta1 as f32,
                beta2: beta2 as f32,
                rate: (rate / c1) as f32,
                root_scale: (1.0 / c2.sqrt()) as f32,
                epsilon: epsilon as f32,
                keep: (1.0 - rate * decay) as f32,
            };
            let g: Vec<f32> = (0..19).map(|i| gradient(t as usize, i) as f32).collect();
            adam(&mut w, &mut m, &mut v, &g, s);
            for ([w, m, v], &g) in exact.iter_mut().zip(&g) {
                let g = f64::from(g);
                *m = beta1 * *m + (1.0 - beta1) * g;
                *v = beta2 * *v + (1.0 - beta2) * g * g;
                *w -= rate * decay * *w + rate * (*m / c1) / ((*v / c2).sqrt() + epsilon);
            }
        }
        for (w, exact) in w.iter().zip(&exact) {
            assert!((f64::from(*w) - exact[0]).abs() < 5e-6, "{w} for {}", exact[0]);
        }
    }

    #[test]
    fn moments_of_a_dead_unit_never_become_subnormal() {
        let s = AdamStep { beta1: 0.9, beta2: 0.999, rate: 1e-3, root_scale: 1.0, epsilon: 1e-8, keep: 1.0 };
        // The unit of gradient 0 died; the other gradients are small enough for squares that are subnormal.
        for later in [0.0, 1e-19, 1e-21] {
            let (mut w, mut m, mut v) = ([0.5f32; 3], [0.0f32; 3], [0.0f32; 3]);
            adam(&mut w, &mut m, &mut v, &[0.1, -1e-4, 1e-9], s);
            for step in 0..150_000 {
                adam(&mut w, &mut m, &mut v, &[later; 3], s);
                assert!(
                    m.iter().chain(&v).all(|x| !x.is_subnormal()),
                    "step {step} with gradient {later}: {m:?} {v:?}"
                );
            }
        }
    }

    #[test]
    fn slopes_come_with_their_column_sums() {
        let a = [0.5, -0.25, 0.0, 0.75];
        for (slope, want) in [
            (slope_tanh as fn(&mut [f32], &[f32], &mut [f32]), [0.75, 0.9375, 1.0, 0.4375]),
            (slope_relu, [1.0, 0.0, 0.0, 1.0]),
            (slope_sigmoid, [0.25, -0.3125, 0.0, 0.1875]),
        ] {
            let (mut delta, mut sums) = ([1.0f32; 4], [9.0f32; 2]);
            slope(&mut delta, &a, &mut sums);
            assert_eq!(delta, want);
            assert_eq!(sums, [want[0] + want[2], want[1] + want[3]]);
            column_sums(&delta, &mut sums);
            assert_eq!(sums, [want[0] + want[2], want[1] + want[3]]);
        }
    }
}
