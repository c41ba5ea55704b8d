//! Bets against uniform p-values: capital that grows where p-values stop being uniform, and that is a fair game while
//! they are.
//!
//! Every bet is a density on [0, 1], so the capital is multiplied by a number of mean 1 as long as p-values are uniform
//! and independent: it is a test martingale, and by Ville's inequality it ever reaches 1/α with probability at most α.
//!
//! The bet of a row is a mixture of densities whose weights follow their success (fixed share, Herbster & Warmuth
//! 1998): with rate J a part of the capital returns to the starting weights at every row, half of it to no bet at all.
//! So a change after a long time without one costs about log(1/J), and waiting costs about J per row. Nobody knows when a
//! change comes, so the capital is divided among four rates.

use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::network::likelihood::log_sum_exp;

/// Rates at which capital returns to the starting weights.
const RATES: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-5];
/// 1 + ε(2p − 1): values that grow or fall.
const LINEAR: [f64; 4] = [-0.9, -0.35, 0.35, 0.9];
/// 1 + ε(6p² − 6p + 1): values that spread or gather.
const QUADRATIC: [f64; 4] = [-0.9, -0.4, 0.6, 1.6];
/// Densities ½p^(−½) and so on at the ends: few values, but far ones.
const TAILS: usize = 3;
/// Histograms of earlier p-values, by how fast they forget: any other change.
const MEMORY: [f64; 2] = [0.98, 0.998];
/// Cells of these histograms.
const BINS: usize = 16;
/// What a cell counts before the first p-value.
const START: f64 = 1.0;
/// Bets of one row, the first of which keeps the capital.
const BETS: usize = 1 + LINEAR.len() + QUADRATIC.len() + TAILS + MEMORY.len();
/// The starting weight of no bet.
const CASH: f64 = 0.5;

/// Capital that bets against uniform p-values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bets {
    /// Logarithm of the capital of each rate.
    capital: [f64; RATES.len()],
    /// How the capital of each rate is divided.
    weights: [[f64; BETS]; RATES.len()],
    /// Counts of earlier p-values that fade.
    histograms: [[f64; BINS]; MEMORY.len()],
}

impl Default for Bets {
    fn default() -> Self {
        Bets { capital: [0.0; RATES.len()], weights: [start(); RATES.len()], histograms: [[START; BINS]; MEMORY.len()] }
    }
}

/// Half to no bet, the rest in equal parts.
fn start() -> [f64; BETS] {
    let mut weights = [(1.0 - CASH) / (BETS - 1) as f64; BETS];
    weights[0] = CASH;
    weights
}

impl Bets {
    /// Bets on a p-value.
    pub(crate) fn add(&mut self, p: f64) {
        let (densities, prior) = (self.densities(p), start());
        for ((capital, weights), rate) in self.capital.iter_mut().zip(&mut self.weights).zip(RATES) {
            let growth: f64 = weights.iter().zip(&densities).map(|(w, d)| w * d).sum();
            *capital += growth.ln();
            for ((w, d), prior) in weights.iter_mut().zip(&densities).zip(&prior) {
                *w = (1.0 - rate) * (*w * d / growth) + rate * prior;
            }
        }
        for (histogram, memory) in self.histograms.iter_mut().zip(MEMORY) {
            // What fades returns to the start, so that the sum stays above it.
            histogram.iter_mut().for_each(|n| *n = START + (*n - START) * memory);
            histogram[bin(p)] += 1.0;
        }
    }

    /// Every density at a p-value, which earlier p-values alone have shaped.
    fn densities(&self, p: f64) -> [f64; BETS] {
        let mut out = [1.0; BETS];
        let mut next = out[1..].iter_mut();
        let mut put = |density: f64| next.next().into_iter().for_each(|d| *d = density);
        LINEAR.iter().for_each(|e| put(1.0 + e * (2.0 * p - 1.0)));
        QUADRATIC.iter().for_each(|e| put(1.0 + e * (6.0 * p * p - 6.0 * p + 1.0)));
        // 1 − p may be 0, and 1/√0 would not be a number to go on with; p-values that close to an end hardly occur.
        let [low, high] = [p, 1.0 - p].map(|t| 0.5 / t.max(1e-12).sqrt());
        [low, high, 0.5 * (low + high)].into_iter().for_each(&mut put);
        for histogram in &self.histograms {
            put(histogram[bin(p)] * BINS as f64 / histogram.iter().sum::<f64>());
        }
        out
    }

    /// The logarithm of the capital.
    pub(crate) fn log_capital(&self) -> f64 {
        log_sum_exp(self.capital.iter().copied()) - (RATES.len() as f64).ln()
    }

    /// Fails unless this is a state that bets can lead to, as it is unless a file says otherwise.
    pub(crate) fn check(&self) -> Result<()> {
        let whole = |w: &[f64; BETS]| w.iter().all(|w| *w > 0.0) && (w.iter().sum::<f64>() - 1.0).abs() < 1e-6;
        let sound = self.capital.iter().all(|c| c.is_finite())
            && self.weights.iter().all(whole)
            && self.histograms.iter().flatten().all(|n| n.is_finite() && *n >= START * (1.0 - 1e-9));
        if sound { Ok(()) } else { Err(Error::Inconsistent { what: "weights of bets do not add up" }) }
    }
}

fn bin(p: f64) -> usize {
    ((p * BINS as f64) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use rand::RngExt;

    /// What Ville's inequality asks for: whatever came before, the capital is expected to stay what it is.
    #[test]
    fn every_bet_is_a_density() {
        let mut rng = Seed::new(1).rng();
        let mut bets = Bets::default();
        for round in 0..12 {
            // A past that is far from uniform.
            (0..round).for_each(|_| bets.add(rng.random::<f64>().powi(3)));
            const POINTS: usize = 1 << 16;
            let mut mean = [0.0; BETS];
            for i in 0..POINTS {
                let densities = bets.densities((i as f64 + 0.5) / POINTS as f64);
                mean.iter_mut().zip(densities).for_each(|(m, d)| *m += d / POINTS as f64);
            }
            // The mean over points cuts the peaks 1/√p off by about 0.3/√POINTS; it never adds.
            assert!(mean.iter().all(|m| (m - 1.0).abs() < 4e-3 && *m < 1.0 + 1e-9), "{mean:?}");
        }
        assert!(bets.check().is_ok());
    }

    #[test]
    fn capital_grows_where_p_values_change_and_survives_waiting() {
        let mut rng = Seed::new(2).rng();
        let mut bets = Bets::default();
        (0..20_000).for_each(|_| bets.add(rng.random()));
        assert!(bets.log_capital() < 3.0 && bets.log_capital() > -4.0, "{}", bets.log_capital());
        let start = bets.clone();
        let shapes: [fn(f64) -> f64; 4] = [|u| u * u, |u| 1.0 - u * u, |u| 0.3 + 0.4 * u, |u| 0.5 + 0.05 * u];
        for shape in shapes {
            let mut bets = start.clone();
            (0..300).for_each(|_| bets.add(shape(rng.random())));
            assert!(bets.log_capital() > 100f64.ln(), "{}", bets.log_capital());
        }
    }

    #[test]
    fn extreme_p_values_leave_numbers() {
        let mut bets = Bets::default();
        for _ in 0..20_000 {
            bets.add(0.0);
            bets.add(1.0);
        }
        assert!(bets.log_capital().is_finite() && bets.check().is_ok());
    }
}
