//! Where a sequence of tests begins: at the threshold that is most likely to pass, by a logistic curve of the errors.
//!
//! Few of the ordering rows lie above strict thresholds, and their own counts say little. A curve over all ordering rows
//! says more: errors are logistic in the log-odds of a probability, or in the logarithm of a length. Where the curve is
//! wrong the start is a poor one, and the promise stays.

use super::count::{Limit, Ordered};
use crate::base::binomial::binomial_cdf;
use crate::score::Surety;

/// A prior of one row's weight on the standardised slope keeps it finite where errors separate.
const RIDGE: [f64; 2] = [1e-3, 1.0];
const STEPS: usize = 25;
/// The largest log-odds and logarithms.
const FAR: f64 = 30.0;

/// The thresholds of the ordering rows from the one that most likely passes its test on so many rows, towards looser ones.
pub(super) fn sequence(
    ordering: &Ordered,
    most: usize,
    rows: usize,
    surety: Surety,
    limit: &Limit,
) -> Vec<Option<f64>> {
    let thresholds = ordering.thresholds(most);
    let n = ordering.rows();
    let expected = expected(ordering, surety);
    let power = |t: &Option<f64>| {
        let below = ordering.below(*t);
        let risk = expected[below..].iter().sum::<f64>() / (n - below).max(1) as f64;
        let tested = ((n - below) as f64 * rows as f64 / n as f64) as usize;
        limit.most_errors(tested).map_or(0.0, |errors| binomial_cdf(errors, tested, risk))
    };
    // The loosest of equals.
    let best = thresholds.iter().map(power).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    thresholds[best.map_or(0, |(i, _)| i)..].to_vec()
}

/// The probability of an error of every row in its order, by the curve.
fn expected(ordering: &Ordered, surety: Surety) -> Vec<f64> {
    let x = standardised(ordering.sure().iter().map(|s| scale(*s, surety)).collect());
    let errors: Vec<f64> = (0..x.len()).map(|i| f64::from(u8::from(ordering.is_marked(i)))).collect();
    let mut b = [0.0; 2];
    let p = |b: [f64; 2], x: f64| 1.0 / (1.0 + (-(b[0] + b[1] * x).clamp(-FAR, FAR)).exp());
    for _ in 0..STEPS {
        let (mut g, mut h) = ([RIDGE[0] * b[0], RIDGE[1] * b[1]], [RIDGE[0], 0.0, RIDGE[1]]);
        for (x, error) in x.iter().zip(&errors) {
            let p = p(b, *x);
            let (r, w) = (p - error, p * (1.0 - p));
            g = [g[0] + r, g[1] + r * x];
            h = [h[0] + w, h[1] + w * x, h[2] + w * x * x];
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        let step = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
        if !step.iter().all(|s| s.is_finite()) {
            break;
        }
        b = [b[0] - step[0], b[1] - step[1]];
    }
    x.iter().map(|x| p(b, *x)).collect()
}

/// Log-odds, or the logarithm of a length with a minus sign.
fn scale(sure: f64, surety: Surety) -> f64 {
    let scaled = match surety {
        Surety::Largest | Surety::Class(_) => (sure / (1.0 - sure)).ln(),
        Surety::Shortness(_) => -(-sure).ln(),
    };
    scaled.clamp(-FAR, FAR)
}

/// Values less their mean, by their standard deviation; zeros where they do not vary.
fn standardised(mut x: Vec<f64>) -> Vec<f64> {
    let n = x.len().max(1) as f64;
    let mean = x.iter().sum::<f64>() / n;
    let sd = (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    x.iter_mut().for_each(|v| *v = if sd > 0.0 { (*v - mean) / sd } else { 0.0 });
    x
}
