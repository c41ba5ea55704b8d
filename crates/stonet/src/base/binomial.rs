//! The binomial distribution, through the incomplete beta function.

/// P(hits ≤ k) of a binomial with this many rows.
pub fn binomial_cdf(k: usize, rows: usize, p: f64) -> f64 {
    if k >= rows { 1.0 } else { beta_cdf(1.0 - p, (rows - k) as f64, k as f64 + 1.0) }
}

/// P(hits ≥ k), exact also where it is tiny.
pub fn binomial_upper_tail(k: usize, rows: usize, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > rows => 0.0,
        k => beta_cdf(p, k as f64, (rows - k) as f64 + 1.0),
    }
}

/// The x at which I_x(a, b) = q, by halving: 60 steps leave less than rounding does.
pub fn beta_quantile(q: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beta_cdf(middle, a, b) < q { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The bounds of Clopper & Pearson for the probability of a hit: beyond each of them so many hits, or more extreme, have
/// at most the probability `tail`. Without rows they are 0 and 1.
pub fn clopper_pearson(hits: f64, rows: usize, tail: f64) -> (f64, f64) {
    let misses = rows as f64 - hits;
    let lower = if hits <= 0.0 { 0.0 } else { beta_quantile(tail, hits, misses + 1.0) };
    let upper = if misses <= 0.0 { 1.0 } else { beta_quantile(1.0 - tail, hits + 1.0, misses) };
    (lower, upper)
}

/// I_x(a, b), the regularised incomplete beta function for positive a and b: P(B ≤ x) of a beta distribution.
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    // The fraction converges fast on this side of the mean only; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(x, a, b) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of I_x(a, b), by Lentz's rule; it needs of the order of √max(a, b) terms.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            change = c * d;
            product *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// ln Γ(x) for x > 0 by Lanczos' sum (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    // The sum is for x ≥ ½; Γ(x) = Γ(x + 1) / x brings smaller ones there.
    if x < 0.5 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let x = x - 1.0;
    let sum = TERMS.iter().enumerate().fold(0.999_999_999_999_809_9, |s, (i, t)| s + t / (x + i as f64 + 1.0));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() < tolerance, "{found} for {expected}");
    }

    #[test]
    fn gamma_and_beta_by_known_values() {
        close(ln_gamma(1.0), 0.0, 1e-14);
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-14);
        close(ln_gamma(11.0), 3_628_800f64.ln(), 1e-12);
        // I_x(1, b) = 1 − (1 − x)^b, I_x(a, 1) = x^a, I_½(a, a) = ½.
        for x in [0.01, 0.3, 0.5, 0.9] {
            close(beta_cdf(x, 1.0, 7.0), 1.0 - (1.0f64 - x).powi(7), 1e-14);
            close(beta_cdf(x, 4.5, 1.0), x.powf(4.5), 1e-14);
        }
        close(beta_cdf(0.5, 3000.0, 3000.0), 0.5, 1e-10);
        // The sum of a binomial's terms.
        let direct: f64 =
            (0..=3).map(|k| [1.0, 10.0, 45.0, 120.0][k] * 0.3f64.powi(k as i32) * 0.7f64.powi(10 - k as i32)).sum();
        close(binomial_cdf(3, 10, 0.3), direct, 1e-14);
    }

    #[test]
    fn small_tails_keep_their_digits() {
        // All of 30 rows at ¼, and at least 29 of them.
        let all = 0.25f64.powi(30);
        close(binomial_upper_tail(30, 30, 0.25) / all, 1.0, 1e-10);
        close(binomial_upper_tail(29, 30, 0.25) / (all * 91.0), 1.0, 1e-10);
        assert_eq!((binomial_upper_tail(0, 5, 0.1), binomial_upper_tail(6, 5, 0.9)), (1.0, 0.0));
        for k in 1..20 {
            close(binomial_upper_tail(k, 20, 0.3) + binomial_cdf(k - 1, 20, 0.3), 1.0, 1e-13);
        }
    }
}
