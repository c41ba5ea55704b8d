//! Sparsity penalties, separable over weights: ρ_λ(|w|) with ρ concave on [0, ∞) and ρ′(0+) = λ (`ass:4`, `IROeq1`).
//!
//! | | ρ′(t), t > 0 | flat beyond | concavity |
//! |---|---|---|---|
//! | [`Lasso`](Penalty::Lasso) | λ | never | 0 |
//! | [`Scad`](Penalty::Scad) | λ up to t = λ, then (aλ − t)/(a − 1) | aλ | 1/(a − 1) |
//! | [`Mcp`](Penalty::Mcp) | λ − t/γ | γλ | 1/γ |

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};

/// The shape of the penalty; its strength λ (the trainer's κ) is an argument of every method.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Penalty {
    /// ρ = λ|w|.
    #[default]
    Lasso,
    /// Smoothly clipped absolute deviation (Fan & Li 2001); a > 2, usually 3.7.
    Scad {
        /// Where the penalty becomes flat, in units of λ.
        a: f64,
    },
    /// Minimax concave penalty (Zhang 2010); γ > 1, usually 3.
    Mcp {
        /// Where the penalty becomes flat, in units of λ.
        gamma: f64,
    },
}

impl Penalty {
    /// SCAD with the usual a = 3.7.
    pub const SCAD: Penalty = Penalty::Scad { a: 3.7 };
    /// MCP with the usual γ = 3.
    pub const MCP: Penalty = Penalty::Mcp { gamma: 3.0 };

    /// Fails unless the shape's own parameter is in range.
    pub fn validate(&self) -> Result<()> {
        match *self {
            Penalty::Scad { a } if !(a > 2.0 && a.is_finite()) => {
                Err(Error::setting("scad a", a, "finite and above 2"))
            }
            Penalty::Mcp { gamma } if !(gamma > 1.0 && gamma.is_finite()) => {
                Err(Error::setting("mcp gamma", gamma, "finite and above 1"))
            }
            _ => Ok(()),
        }
    }

    /// ρ_λ(|w|).
    pub fn value(&self, w: f64, lambda: f64) -> f64 {
        let t = w.abs();
        match *self {
            Penalty::Lasso => lambda * t,
            Penalty::Scad { .. } if t <= lambda => lambda * t,
            Penalty::Scad { a } if t <= a * lambda => {
                (2.0 * a * lambda * t - t * t - lambda * lambda) / (2.0 * (a - 1.0))
            }
            Penalty::Scad { a } => lambda * lambda * (a + 1.0) / 2.0,
            Penalty::Mcp { gamma } if t <= gamma * lambda => lambda * t - t * t / (2.0 * gamma),
            Penalty::Mcp { gamma } => gamma * lambda * lambda / 2.0,
        }
    }

    /// ρ′_λ(t) at t = |w| > 0, and λ at 0.
    pub fn derivative(&self, w: f64, lambda: f64) -> f64 {
        let t = w.abs();
        match *self {
            Penalty::Lasso => lambda,
            Penalty::Scad { .. } if t <= lambda => lambda,
            Penalty::Scad { a } => ((a * lambda - t) / (a - 1.0)).max(0.0),
            Penalty::Mcp { gamma } => (lambda - t / gamma).max(0.0),
        }
    }

    /// The most that −ρ″ reaches: ½ c w² + ρ is strictly convex for every c above it.
    pub fn concavity(&self) -> f64 {
        match *self {
            Penalty::Lasso => 0.0,
            Penalty::Scad { a } => 1.0 / (a - 1.0),
            Penalty::Mcp { gamma } => 1.0 / gamma,
        }
    }

    /// The minimiser over `w` of `½ c (w − z)² + ρ_λ(|w|)`.
    ///
    /// Requires `c > self.concavity()`; trainers check it once per layer.
    #[inline(always)]
    pub fn prox(&self, z: f64, c: f64, lambda: f64) -> f64 {
        let t = z.abs();
        let soft = |threshold: f64| (t - threshold).max(0.0);
        let shrunk = match *self {
            Penalty::Lasso => soft(lambda / c),
            Penalty::Scad { .. } if t <= lambda + lambda / c => soft(lambda / c),
            Penalty::Scad { a } if t <= a * lambda => (c * (a - 1.0) * t - a * lambda) / (c * (a - 1.0) - 1.0),
            Penalty::Mcp { gamma } if t <= gamma * lambda => soft(lambda / c) / (1.0 - 1.0 / (c * gamma)),
            Penalty::Scad { .. } | Penalty::Mcp { .. } => t,
        };
        shrunk.copysign(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Penalty; 4] = [Penalty::Lasso, Penalty::SCAD, Penalty::MCP, Penalty::Scad { a: 2.5 }];

    #[test]
    fn derivative_agrees_with_central_differences() {
        for p in ALL {
            for i in 1..400 {
                let (t, lambda, h) = (0.0131 * i as f64, 0.7, 1e-6);
                let numeric = (p.value(t + h, lambda) - p.value(t - h, lambda)) / (2.0 * h);
                // ρ′ is continuous with slope at most 1, so a kink inside the step costs less than h.
                assert!((numeric - p.derivative(t, lambda)).abs() < 2e-6, "{p:?} at {t}");
            }
        }
    }

    proptest! {
        #[test]
        fn prox_is_the_minimiser_found_by_brute_force(z in -6.0..6.0f64, c in 0.8..4.0f64, lambda in 0.0..1.5f64) {
            for p in ALL {
                let objective = |w: f64| 0.5 * c * (w - z).powi(2) + p.value(w, lambda);
                let best = objective(p.prox(z, c, lambda));
                let grid = (-7000..=7000).map(|i| objective(1e-3 * i as f64)).fold(f64::INFINITY, f64::min);
                prop_assert!(best <= grid + 1e-9, "{p:?}: {best} > {grid}");
            }
        }

        #[test]
        fn prox_is_odd_monotone_and_never_longer_than_its_argument(z in 0.0..6.0f64, dz in 0.0..1.0f64, c in 0.8..4.0f64) {
            for p in ALL {
                let w = p.prox(z, c, 0.5);
                prop_assert_eq!(p.prox(-z, c, 0.5), -w);
                prop_assert!((0.0..=z).contains(&w));
                prop_assert!(p.prox(z + dz, c, 0.5) >= w);
            }
        }
    }

    #[test]
    fn shapes_out_of_range_are_refused() {
        for bad in [Penalty::Scad { a: 2.0 }, Penalty::Mcp { gamma: 1.0 }, Penalty::Mcp { gamma: f64::NAN }] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
        assert!(ALL.iter().all(|p| p.validate().is_ok()));
    }
}
