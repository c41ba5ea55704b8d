//! Exact binomial uncertainty: Clopper–Pearson intervals and quantiles.

use serde::{Deserialize, Serialize};
use stonet::metrics::{binomial_cdf, clopper_pearson};

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
    /// `hits` of `rows`, with 95 % confidence. Hits may be fractions: a row that stands for several targets counts by
    /// the share that hit, and the interval is then wider than it need be, because such a share varies less than a
    /// single hit.
    pub fn new(hits: f64, rows: usize) -> Self {
        Proportion::with_confidence(hits, rows, CONFIDENCE)
    }

    /// The same with another confidence.
    pub fn with_confidence(hits: f64, rows: usize, confidence: f64) -> Self {
        if rows == 0 {
            return Proportion { rows, value: f64::NAN, low: 0.0, high: 1.0 };
        }
        let n = rows as f64;
        let hits = hits.clamp(0.0, n);
        let (low, high) = clopper_pearson(hits, rows, 0.5 * (1.0 - confidence));
        Proportion { rows, value: hits / n, low, high }
    }

    /// Whether the promise lies within the interval of this many comparisons at once (Bonferroni): one of twenty honest
    /// groups would otherwise be blamed by chance.
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

/// Where the fraction of hits among `rows` falls in 95 % of all cases if each hits with probability `p`: the 2.5 % and
/// 97.5 % quantiles.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() < tolerance, "{found} for {expected}");
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
