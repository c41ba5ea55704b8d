//! Whether coverage falls short of a promise: one-sided t-tests over replications, with Holm's correction over all of
//! them.

use stonet::metrics::beta_cdf;

use super::Found;

/// The chance that any verdict of a table is wrong.
pub const ERROR: f64 = 0.01;
/// How far below the level coverage may be before a method whose proven bound is lower is flagged.
pub const POINT: f64 = 0.01;

/// P(T ≤ t) of Student's distribution.
pub fn student(t: f64, freedom: f64) -> f64 {
    // df/(df + t²) is of the beta distribution, and small where |t| is large, so that tails are exact.
    let tail = 0.5 * beta_cdf(freedom / (freedom + t * t), 0.5 * freedom, 0.5);
    if t < 0.0 { tail } else { 1.0 - tail }
}

impl Found {
    /// The chance of coverage this low or lower where the promise is just kept; none where nothing is promised.
    pub fn p_value(&self) -> Option<f64> {
        self.promise?;
        let error = self.sd / (self.replications as f64).sqrt();
        if error < 1e-12 {
            return Some(if self.excess < -1e-9 { 0.0 } else { 1.0 });
        }
        Some(student(self.excess / error, self.replications as f64 - 1.0))
    }

    /// Whether coverage is below the level by more than a point.
    pub fn is_low(&self) -> bool {
        self.coverage < self.level - POINT
    }
}

/// Which of these p-values Holm's procedure rejects at [`ERROR`].
pub fn rejected(p_values: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut rejected = vec![false; p_values.len()];
    for (step, &i) in order.iter().enumerate() {
        if p_values[i] > ERROR / (p_values.len() - step) as f64 {
            break;
        }
        rejected[i] = true;
    }
    rejected
}

/// Panics where a promise is broken; the family is all that is promised here.
pub fn assert_kept(all: &[(String, Found)]) {
    let promised: Vec<(&str, &Found, f64)> =
        all.iter().filter_map(|(name, f)| f.p_value().map(|p| (&name[..], f, p))).collect();
    assert!(!promised.is_empty(), "nothing was promised");
    let broken = rejected(&promised.iter().map(|p| p.2).collect::<Vec<_>>());
    let told: Vec<String> = (promised.iter().zip(broken).filter(|(_, broken)| *broken))
        .map(|((name, f, p), _)| {
            format!(
                "{name}, {}: {:.4} where {:.4} is promised (p = {p:.1e})",
                f.what,
                f.coverage,
                f.coverage - f.excess
            )
        })
        .collect();
    assert!(told.is_empty(), "{} of {} promises are broken:\n{}", told.len(), promised.len(), told.join("\n"));
}
