//! Intervals of calibration errors, judged by simulation: they cover the population value and hold their own value.

#[path = "common/error_study.rs"]
mod error_study;

use error_study::MODELS;
use stonet::Seed;
use stonet::metrics::{JudgeSettings, judge};

/// At least so many of `replications` at this level, up to 4.5 binomial standard deviations.
fn least(replications: usize, level: f64) -> usize {
    let n = replications as f64;
    (n * level - 4.5 * (n * level * (1.0 - level)).sqrt()).ceil() as usize
}

#[test]
fn intervals_of_calibration_errors_cover_the_population_value() {
    const REPLICATIONS: usize = 120;
    let settings = JudgeSettings { resamples: 200, redraws: 100, ..JudgeSettings::default() };
    for (n, k) in [(500, 3), (500, 10), (1500, 3)] {
        for model in MODELS {
            let (truth, judged) = (model.truth(k), model.judged(n, k, REPLICATIONS, &settings));
            for (j, what) in ["ece", "cece", "adaptive ece"].into_iter().enumerate() {
                let inside = judged.iter().filter(|m| m[j].low <= truth[j] && truth[j] <= m[j].high).count();
                let name = model.name;
                assert!(
                    inside >= least(REPLICATIONS, 0.95),
                    "{name}, n = {n}, K = {k}, {what}: {inside} of {REPLICATIONS}"
                );
                assert!(judged.iter().all(|m| m[j].low <= m[j].value && m[j].value <= m[j].high), "{name}: {what}");
            }
        }
    }
}

#[test]
fn a_clear_error_has_an_interval_away_from_zero_and_a_calibrated_model_has_one_from_zero() {
    let settings = JudgeSettings { resamples: 200, redraws: 100, ..JudgeSettings::default() };
    let lows =
        |model: usize| -> Vec<f64> { MODELS[model].judged(2000, 3, 40, &settings).iter().map(|m| m[0].low).collect() };
    // At least 97.5 % of calibrated models: 36 of 40 with 4.5 standard deviations.
    assert!(lows(0).iter().filter(|low| **low == 0.0).count() >= 36);
    // The true error is 14.5 %; no interval may be so wide that it is useless.
    assert!(lows(3).iter().all(|low| *low > 0.07));
}

#[test]
fn few_rows_and_few_draws_keep_the_value_inside() {
    for n in [1, 2, 5, 30] {
        for (resamples, redraws) in [(1, 0), (1, 1), (20, 5)] {
            let settings = JudgeSettings { resamples, redraws, ..JudgeSettings::default() };
            for seed in 0..20 {
                let p =
                    ndarray::Array2::from_shape_fn((n, 3), |(i, c)| [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]][(i + n) % 2][c]);
                let labels: Vec<usize> = (0..n).map(|i| (i + seed) % 3).collect();
                let found = judge(p.view(), &labels, &settings, Seed::new(seed as u64)).unwrap();
                for m in [found.accuracy, found.nll, found.brier, found.ece, found.cece, found.adaptive_ece] {
                    assert!(m.low.is_finite() && m.low <= m.value && m.value <= m.high && m.high.is_finite(), "{m:?}");
                }
            }
        }
    }
}
