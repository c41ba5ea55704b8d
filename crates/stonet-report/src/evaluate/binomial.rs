//! Exact binomial uncertainty: Clopper–Pearson intervals and quantiles, through the incomplete beta function.

use serde::{Deserialize, Serialize};

/// Of the intervals that are shown.
pub const CONFIDENCE: f64 = 0.95;

/// A fraction of rows with its exact 95 % (Clopper–Pearson) interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// Rows that count.
    pub rows: usize,
    /// The fraction.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What an interval says about a promised probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Less than promised, beyond chance.
    Short,
    /// The promise lies within the interval.
    Kept,
    /// More than promised, beyond chance.
    Cautious,
}

impl Proportion {
    /// `hits` of `rows`, with 95 % confidence. Hits may be fractions: a row that stands for several targets counts by the share that hit,
    /// and the interval is then wider than it need be, because such a share varies less than a single hit.
    pub fn new(hits: f64, rows: usize) -> Self {
        Proportion::with_confidence(hits, rows, CONFIDENCE)
    }

    /// The same with another confidence.
    pub fn with_confidence(hits: f64, rows: usize, confidence: f64) -> Self {
        if rows == 0 {
            return Proportion { rows, value: f64::NAN, low: 0.0, high: 1.0 };
        }
        let (n, tail) = (rows as f64, 0.5 * (1.0 - confidence));
        let hits = hits.clamp(0.0, n);
        let low = if hits <= 0.0 { 0.0 } else { beta_quantile(tail, hits, n - hits + 1.0) };
        let high = if hits >= n { 1.0 } else { beta_quantile(1.0 - tail, hits + 1.0, n - hits) };
        Proportion { rows, value: hits / n, low, high }
    }

    /// Whether the promise lies within the interval of this many comparisons at once (Bonferroni): one of twenty honest groups would
    /// otherwise be blamed by chance.
    pub fn judge(&self, promised: f64, comparisons: usize) -> Judgement {
        let confidence = 1.0 - (1.0 - CONFIDENCE) / comparisons.max(1) as f64;
        let wide = Proportion::with_confidence(self.value * self.rows as f64, self.rows, confidence);
        if wide.high < promised {
            Judgement::Short
        } else if wide.low > promised {
            Judgement::Cautious
        } else {
            Judgement::Kept
        }
    }
}

/// Where the fraction of hits among `rows` falls in 95 % of all cases if each hits with probability `p`: the 2.5 % and 97.5 % quantiles.
pub fn binomial_band(rows: usize, p: f64) -> (f64, f64) {
    let quantile = |q: f64| {
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = (low + high) / 2;
            if binomial_cdf(middle, rows, p) >= q { high = middle } else { low = middle + 1 }
        }
        low as f64 / rows.max(1) as f64
    };
    (quantile(0.5 * (1.0 - CONFIDENCE)), quantile(0.5 * (1.0 + CONFIDENCE)))
}

/// P(hits ≤ k).
fn binomial_cdf(k: usize, rows: usize, p: f64) -> f64 {
    if k >= rows { 1.0 } else { beta_cdf(1.0 - p, (rows - k) as f64, k as f64 + 1.0) }
}

/// The x at which I_x(a, b) = q, by halving: 60 steps leave less than rounding does.
fn beta_quantile(q: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beta_cdf(middle, a, b) < q { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// I_x(a, b), the regularised incomplete beta function for positive a and b.
fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
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

    /// Against the closed forms at the ends, and against quantiles of the beta distribution by scipy.
    #[test]
    fn clopper_pearson_by_known_values() {
        let none = Proportion::new(0.0, 20);
        assert_eq!((none.low, none.value), (0.0, 0.0));
        close(none.high, 1.0 - 0.025f64.powf(1.0 / 20.0), 1e-12);
        let all = Proportion::new(20.0, 20);
        assert_eq!((all.high, all.value), (1.0, 1.0));
        close(all.low, 0.025f64.powf(1.0 / 20.0), 1e-12);
        let some = Proportion::new(5.0, 10);
        close(some.low, 0.187_086_03, 1e-7);
        close(some.high, 0.812_913_97, 1e-7);
        let most = Proportion::new(90.0, 100);
        close(most.low, 0.823_777_4, 1e-6);
        close(most.high, 0.950_995_3, 1e-6);
        // The ends are where the tails weigh 2.5 %.
        for (hits, rows) in [(1, 7), (170, 200), (899_000, 1_000_000)] {
            let p = Proportion::new(hits as f64, rows);
            close(1.0 - binomial_cdf(hits - 1, rows, p.low), 0.025, 1e-7);
            close(binomial_cdf(hits, rows, p.high), 0.025, 1e-7);
        }
        let empty = Proportion::new(0.0, 0);
        assert!(empty.value.is_nan() && empty.low == 0.0 && empty.high == 1.0);
    }

    #[test]
    fn judgements_turn_where_the_interval_leaves_the_promise() {
        let p = Proportion::new(90.0, 100);
        assert_eq!(p.judge(0.9, 1), Judgement::Kept);
        assert_eq!(p.judge(p.high + 1e-9, 1), Judgement::Short);
        assert_eq!(p.judge(p.high - 1e-9, 1), Judgement::Kept);
        assert_eq!(p.judge(p.low - 1e-9, 1), Judgement::Cautious);
        // Among twenty, the same distance is no surprise.
        assert_eq!(p.judge(p.high + 1e-9, 20), Judgement::Kept);
    }

    #[test]
    fn bands_hold_at_least_95_per_cent() {
        for (rows, p) in [(1, 0.5), (30, 0.97), (400, 0.2)] {
            let (low, high) = binomial_band(rows, p);
            let at = |v: f64| (v * rows as f64).round() as usize;
            let below = if at(low) == 0 { 0.0 } else { binomial_cdf(at(low) - 1, rows, p) };
            assert!(binomial_cdf(at(high), rows, p) - below >= 0.95);
            assert!(low <= p && p <= high);
        }
        assert_eq!(binomial_band(10, 1.0), (1.0, 1.0));
        assert_eq!(binomial_band(10, 0.0), (0.0, 0.0));
    }
}
