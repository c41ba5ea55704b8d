//! Numbers that judge whole distributions: pinball loss of quantiles, CRPS, and the probability integral transform (PIT).

use ndarray::{Array2, ArrayView2, Zip};

use super::intervals::check_shape;
use crate::base::{Error, Result};
use crate::rows::Level;

/// The mean pinball loss of a quantile: τ for every unit by which a target lies above it, 1 − τ for every unit below.
/// Smaller is better; in expectation the true quantile has the smallest.
pub fn pinball(quantile: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, tau: Level) -> Result<f64> {
    Ok(pinball_losses(quantile, y, tau)?.sum() / y.len() as f64)
}

/// The pinball loss of every target, whose mean is [`pinball`].
pub fn pinball_losses(quantile: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, tau: Level) -> Result<Array2<f64>> {
    check_shape(quantile, y)?;
    let tau = tau.get();
    Ok(Zip::from(quantile).and(y).map_collect(|q, y| (tau * (y - q)).max((tau - 1.0) * (y - q))))
}

/// The mean continuous ranked probability score, see [`crps_scores`].
pub fn crps(quantiles: &[Array2<f64>], y: ArrayView2<'_, f64>) -> Result<f64> {
    Ok(crps_scores(quantiles, y)?.sum() / y.len() as f64)
}

/// The continuous ranked probability score of every target: ∫ (F(t) − 1{y ≤ t})² dt, in the unit of the target, where F
/// gives equal mass to ascending quantiles. It is the absolute error where there is one quantile. Smaller is better; in
/// expectation the true distribution has the smallest.
pub fn crps_scores(quantiles: &[Array2<f64>], y: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    if quantiles.is_empty() {
        return Err(Error::shape("quantiles", 1, 0));
    }
    let k = quantiles.len() as f64;
    let mut scores = Array2::zeros(y.dim());
    for (i, q) in quantiles.iter().enumerate() {
        check_shape(q.view(), y)?;
        // E|Q − y| − E|Q − Q'|/2; half of the mean distance of two quantiles, by their ranks.
        let rank = (2.0 * i as f64 + 1.0 - k) / (k * k);
        Zip::from(&mut scores).and(q).and(y).for_each(|s, q, y| *s += (q - y).abs() / k - rank * q);
    }
    Ok(scores)
}

/// How many values of a probability integral transform lie in each of so many bins of equal width between 0 and 1.
pub fn pit_counts(pit: ArrayView2<'_, f64>, bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for p in pit {
        counts[((p * bins as f64) as usize).min(bins - 1)] += 1;
    }
    counts
}

/// The largest distance of the distribution function of a probability integral transform from that of a uniform
/// distribution, and how large it may be by chance with probability 5 % (Kolmogorov's limit, for many targets that are
/// independent).
pub fn pit_distance(pit: ArrayView2<'_, f64>) -> (f64, f64) {
    let mut values: Vec<f64> = pit.iter().copied().collect();
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let one = |(i, p): (usize, &f64)| (p - i as f64 / n).abs().max((p - (i as f64 + 1.0) / n).abs());
    (values.iter().enumerate().map(one).fold(0.0, f64::max), 1.3581 / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::normal;
    use ndarray::array;

    #[test]
    fn hand_computed() {
        let y = array![[1.0], [5.0]];
        let tau = Level::new(0.9).unwrap();
        // 1 − τ for 2 below, τ for 2 above.
        assert!((pinball(array![[3.0], [3.0]].view(), y.view(), tau).unwrap() - (0.2 + 1.8) / 2.0).abs() < 1e-12);
        let losses = pinball_losses(array![[3.0], [3.0]].view(), y.view(), tau).unwrap() - array![[0.2], [1.8]];
        assert!(losses.iter().all(|off| off.abs() < 1e-12), "{losses}");
        assert!(pinball(y.t(), y.view(), tau).is_err());
        assert_eq!(crps(&[array![[3.0], [4.0]]], y.view()).unwrap(), 1.5);
        // Mass ½ at 0 and at 2: for y = 1 the integral is ¼ · 2, for y = 5 it is ¼ · 2 + 3.
        let two = [array![[0.0], [0.0]], array![[2.0], [2.0]]];
        assert_eq!(crps_scores(&two, y.view()).unwrap(), array![[0.5], [3.5]]);
        assert!(crps(&[], y.view()).is_err());
        assert_eq!(pit_counts(array![[0.0, 0.24], [0.25, 1.0]].view(), 4), [2, 1, 0, 1]);
        let (distance, chance) = pit_distance(array![[0.1, 0.2, 0.3, 0.4]].view());
        assert!((distance - 0.6).abs() < 1e-12 && (chance - 0.67905).abs() < 1e-12);
        // Values too high: the distance is before the second of four, and before the first of one.
        assert!((pit_distance(array![[0.99, 0.1, 0.95, 0.9]].view()).0 - 0.65).abs() < 1e-12);
        assert_eq!(pit_distance(array![[0.75]].view()), (0.75, 1.3581));
    }

    /// The score of N(0, 1) is y (2Φ(y) − 1) + 2φ(y) − 1/√π. Forty quantiles lack the outer per cent of its tails, which
    /// matters for values that far out; on average over y the score is too large by ∫ (F₄₀ − Φ)² ≈ 3e-4.
    #[test]
    fn forty_quantiles_stand_for_a_normal_distribution() {
        let y = Array2::from_shape_fn((1000, 1), |(i, _)| normal::quantile((i as f64 + 0.5) / 1000.0));
        let quantile = |i: usize| Array2::from_elem(y.dim(), normal::quantile((i as f64 + 0.5) / 40.0));
        let quantiles: Vec<Array2<f64>> = (0..40).map(quantile).collect();
        let exact = y.mapv(|y: f64| {
            let density = (-0.5 * y * y).exp() / std::f64::consts::TAU.sqrt();
            y * (2.0 * normal::cdf(y) - 1.0) + 2.0 * density - 1.0 / std::f64::consts::PI.sqrt()
        });
        let off = crps_scores(&quantiles, y.view()).unwrap() - exact;
        assert!(off.iter().all(|o| o.abs() < 0.01), "{off}");
        let mean = off.mean().unwrap();
        assert!((1e-4..5e-4).contains(&mean), "{mean}");
    }

    /// Over 400 replications of 500 uniform values, 5 % are beyond the limit: 20 ± 4.5 · 4.4.
    #[test]
    fn chance_explains_the_distance_of_uniform_values() {
        use rand::RngExt;
        let beyond = (0..400).filter(|&seed| {
            let mut rng = crate::base::Seed::new(seed).rng();
            let (distance, chance) = pit_distance(Array2::from_shape_fn((500, 1), |_| rng.random()).view());
            distance > chance
        });
        let count = beyond.count();
        assert!((1..40).contains(&count), "{count}");
    }
}
