//! The standard normal distribution: its distribution function Φ and its quantiles.

/// Φ(z).
pub(crate) fn cdf(z: f64) -> f64 {
    if z < 0.0 { upper_tail(-z) } else { 1.0 - upper_tail(z) }
}

/// Φ⁻¹(p), for 0 < p < 1.
pub(crate) fn quantile(p: f64) -> f64 {
    if p < 0.5 { -upper_quantile(p) } else { upper_quantile(1.0 - p) }
}

/// z with 1 − Φ(z) = `tail`, for 0 < tail ≤ ½. The tail is the argument because 1 − tail would lose the small ones.
///
/// Halley's method on the relative error of the tail, from the classical two-term start; five steps always suffice.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    // Abramowitz & Stegun 26.2.22, good to 3e-3.
    let mut z = t - (2.30753 + 0.27061 * t) / (1.0 + t * (0.99229 + 0.04481 * t));
    for _ in 0..5 {
        let error = upper_tail(z) / tail - 1.0;
        let hazard = (-0.5 * z * z).exp() / (std::f64::consts::TAU.sqrt() * tail);
        z += error / (hazard - 0.5 * error * z.max(0.0)).max(0.5 * hazard);
    }
    z
}

/// 1 − Φ(z) for z ≥ 0 (a little below is fine): series near the centre, continued fraction in the tail.
fn upper_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    if z < 3.0 {
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term.abs() > 1e-18 * sum.abs() {
            k += 2.0;
            term *= z * z / k;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let mut fraction = 0.0;
    for k in (1..=80).rev() {
        fraction = f64::from(k) / (z + fraction);
    }
    density / (z + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_values() {
        // Values of Φ⁻¹ printed to 15 digits in standard tables.
        for (p, z) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_082),
            (0.9, 1.281_551_565_544_6),
            (0.95, 1.644_853_626_951_47),
            (0.975, 1.959_963_984_540_05),
            (0.995, 2.575_829_303_548_9),
            (0.9995, 3.290_526_731_491_89),
            (0.999_999_9, 5.199_337_582_192_8),
        ] {
            let found = upper_quantile(1.0 - p);
            assert!((found - z).abs() < 1e-9 * (1.0 + z), "{p}: {found} for {z}");
        }
    }

    #[test]
    fn quantiles_and_the_distribution_function_invert_each_other() {
        for p in [1e-12, 0.001, 0.05, 0.5, 0.7, 0.975, 0.999_999] {
            assert!((cdf(quantile(p)) - p).abs() < 1e-12 * p.max(1e-3), "{p}");
        }
        assert_eq!((cdf(f64::NEG_INFINITY), cdf(0.0), cdf(f64::INFINITY)), (0.0, 0.5, 1.0));
        assert!(cdf(f64::NAN).is_nan());
    }

    #[test]
    fn the_quantile_inverts_the_tail_everywhere() {
        for i in 1..4000 {
            let tail = 0.5 * 0.99f64.powi(i);
            assert!((upper_tail(upper_quantile(tail)) / tail - 1.0).abs() < 1e-10, "{tail}");
        }
    }
}
