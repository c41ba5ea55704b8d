//! Smooth and debiased calibration errors, tests of calibration, risk against coverage: agreement with relplot, exact tests,
//! intervals that cover.

#[path = "common/error_study.rs"]
#[allow(dead_code)]
mod error_study;
#[path = "common/fixture_rows.rs"]
mod fixture_rows;

use error_study::{MODELS, Model, drawn};
use ndarray::Array2;
use rand::RngExt;
use rayon::prelude::*;
use serde::Deserialize;
use stonet::Seed;
use stonet::metrics::{
    BINS, JudgeSettings, Measured, TrustReport, judge_trust, risk_coverage, smooth_ece_at, top_class, trust_scores,
};

#[derive(Deserialize)]
struct Fixture {
    sigmas: Vec<f64>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rows: usize,
    classes: usize,
    at: Vec<f64>,
    smooth_ece: f64,
    aurc: f64,
    excess_aurc: f64,
}

#[test]
fn smooth_ece_is_relplots_and_aurc_follows_its_definition() {
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/class_trust.json")).unwrap();
    assert_eq!(fixture.cases.len(), 4);
    for case in fixture.cases {
        let (p, labels) = fixture_rows::rows(case.rows, case.classes);
        let p = p * 0.9 + 0.1 / case.classes as f64;
        for (&sigma, expected) in fixture.sigmas.iter().zip(&case.at) {
            let found = smooth_ece_at(p.view(), &labels, sigma).unwrap();
            // relplot's mesh of 200 points and its kernel that ends at half the range.
            assert!(
                (found - expected).abs() < 1e-2 * expected,
                "K = {}, {sigma}: {found} for {expected}",
                case.classes
            );
        }
        let scores = trust_scores(p.view(), &labels, BINS).unwrap();
        // relplot halves [0, 1] ten times.
        assert!(
            (scores.smooth_ece - case.smooth_ece).abs() < 1.0 / 1024.0,
            "{} {}",
            scores.smooth_ece,
            case.smooth_ece
        );
        assert!((scores.aurc - case.aurc).abs() < 1e-12 && (scores.excess_aurc - case.excess_aurc).abs() < 1e-12);
        let curve = risk_coverage(p.view(), &labels).unwrap();
        assert!(
            curve.len() == 100 && curve.windows(2).all(|w| w[0].rows < w[1].rows && w[0].confidence > w[1].confidence)
        );
        assert_eq!(curve[99].rows, case.rows);
    }
}

fn judged(model: &Model, n: usize, k: usize, settings: &JudgeSettings, seed: Seed) -> TrustReport {
    let (p, q) = model.rows(n, k, seed.child(0));
    let mut rng = seed.child(1).rng();
    let labels: Vec<usize> = q.outer_iter().map(|q| drawn(q, rng.random())).collect();
    judge_trust(p.view(), &labels, settings, seed.child(2)).unwrap()
}

#[test]
fn the_tests_reject_a_calibrated_model_as_often_as_they_say_and_a_wrong_one_nearly_always() {
    const REPLICATIONS: usize = 600;
    let settings = JudgeSettings { resamples: 1, redraws: 19, ..JudgeSettings::default() };
    let reports = |model: &Model, replications: usize| -> Vec<TrustReport> {
        let one = |r: usize| judged(model, 100, 4, &settings, Seed::new(21).child(r as u64));
        (0..replications).into_par_iter().map(one).collect()
    };
    for (what, of) in [("top", (|r| r.p_top) as fn(&TrustReport) -> Option<f64>), ("classes", |r| r.p_classes)] {
        let found: Vec<f64> = reports(&MODELS[1], REPLICATIONS).iter().map(|r| of(r).unwrap()).collect();
        for level in [0.05, 0.25, 0.5] {
            let share = found.iter().filter(|p| **p <= level + 1e-12).count() as f64 / REPLICATIONS as f64;
            let tolerance = 4.5 * (level * (1.0 - level) / REPLICATIONS as f64).sqrt();
            assert!((share - level).abs() < tolerance, "{what}: {share} for {level} ± {tolerance}");
        }
        let found = reports(&MODELS[3], 60);
        // The model is off by 14.5 points: at least 90 % of sets of 100 rows show it, up to 4.5 standard deviations.
        let seen = found.iter().filter(|r| of(r).unwrap() <= 0.05).count();
        assert!(seen >= 43, "{what}: {seen} of 60");
    }
}

/// smooth ECE, debiased ECE, AURC and excess AURC of infinitely many rows, by sums without labels.
fn population(model: &Model, k: usize) -> [f64; 4] {
    const ROWS: usize = 60_000;
    const NODES: usize = 400;
    let (p, q) = model.rows(ROWS, k, Seed::new(7));
    let mut rows: Vec<(f64, f64)> =
        p.outer_iter().zip(q.outer_iter()).map(|(p, q)| (p[top_class(p)], q[top_class(p)])).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let n = ROWS as f64;
    let mut residuals = vec![0.0; NODES];
    rows.iter().for_each(|(c, a)| residuals[((c * NODES as f64) as usize).min(NODES - 1)] += (c - a) / n);
    let at = |j: usize| (j as f64 + 0.5) / NODES as f64;
    let error = |sigma: f64| {
        let image = |t: f64, f: f64| {
            let one = |d: f64| (-0.5 * (d / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            (-1..=1).map(|m| one(t - f - 2.0 * f64::from(m)) + one(t + f - 2.0 * f64::from(m))).sum::<f64>()
        };
        let smoothed = |i: usize| (0..NODES).map(|j| image(at(i), at(j)) * residuals[j]).sum::<f64>().abs();
        (0..NODES).map(smoothed).sum::<f64>() / NODES as f64
    };
    let (mut low, mut high) = (0.003, 1.0);
    for _ in 0..12 {
        let middle = 0.5 * (low + high);
        if error(middle) > middle { low = middle } else { high = middle }
    }
    let smooth = if low <= 0.003 { error(low) } else { low };
    let bins = rows.chunks(ROWS / BINS).map(|b| {
        let mean = b.iter().map(|(c, a)| c - a).sum::<f64>() / b.len() as f64;
        b.len() as f64 / n * mean * mean
    });
    let debiased = bins.sum::<f64>().sqrt();
    let (mut errors, mut aurc) = (0.0, 0.0);
    for (j, (_, a)) in rows.iter().enumerate() {
        errors += 1.0 - a;
        aurc += errors / (j + 1) as f64 / n;
    }
    // The best order of infinitely many rows with error rate e: e + (1 − e) ln (1 − e).
    let e = errors / n;
    [smooth, debiased, aurc, aurc - (e + (1.0 - e) * (1.0 - e).ln())]
}

#[test]
fn intervals_cover_the_population_values() {
    const REPLICATIONS: usize = 100;
    let settings = JudgeSettings { resamples: 200, redraws: 60, ..JudgeSettings::default() };
    let least = 0.95 - 4.5 * (0.95 * 0.05 / REPLICATIONS as f64).sqrt();
    for model in [&MODELS[1], &MODELS[3], &MODELS[4]] {
        let truth = population(model, 3);
        let one = |r: usize| judged(model, 500, 3, &settings, Seed::new(31).child(r as u64)).scores;
        let found: Vec<_> = (0..REPLICATIONS).into_par_iter().map(one).collect();
        let scores = ["smooth ece", "debiased ece", "aurc", "excess aurc"];
        for (j, what) in scores.into_iter().enumerate() {
            let of =
                |s: &stonet::metrics::TrustScores<Measured>| [s.smooth_ece, s.debiased_ece, s.aurc, s.excess_aurc][j];
            let inside = found.iter().map(of).filter(|m| m.low <= truth[j] && truth[j] <= m.high).count();
            println!("{}: {what} {:.4}: {inside} of {REPLICATIONS}, e.g. {:?}", model.name, truth[j], of(&found[0]));
            assert!(inside as f64 / REPLICATIONS as f64 >= least, "{}, {what}: {inside} of {REPLICATIONS}", model.name);
            assert!(found.iter().map(of).all(|m| m.low <= m.value && m.value <= m.high), "{}, {what}", model.name);
        }
    }
}

#[test]
fn the_debiased_error_has_no_bias() {
    const REPLICATIONS: usize = 2000;
    // The squares of scores with their sign have the mean of the squared error, here 0.
    let one = |r: usize| {
        let seed = Seed::new(41).child(r as u64);
        let (p, q) = MODELS[1].rows(150, 3, seed.child(0));
        let mut rng = seed.child(1).rng();
        let labels: Vec<usize> = q.outer_iter().map(|q| drawn(q, rng.random())).collect();
        let score = stonet::metrics::debiased_ece(p.view(), &labels, 5).unwrap();
        score.signum() * score * score
    };
    let squares: Vec<f64> = (0..REPLICATIONS).into_par_iter().map(one).collect();
    let n = REPLICATIONS as f64;
    let mean = squares.iter().sum::<f64>() / n;
    let sd = (squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!(mean.abs() < 4.5 * sd / n.sqrt(), "{mean} with standard error {}", sd / n.sqrt());
}

#[test]
fn few_rows_and_no_redraws_give_finite_numbers() {
    for n in [1, 2, 7] {
        let p = Array2::from_shape_fn((n, 3), |(i, c)| [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]][(i + n) % 2][c]);
        let labels: Vec<usize> = (0..n).map(|i| (2 * i) % 3).collect();
        for redraws in [0, 3] {
            let settings = JudgeSettings { resamples: 5, redraws, ..JudgeSettings::default() };
            let report = judge_trust(p.view(), &labels, &settings, Seed::new(1)).unwrap();
            assert_eq!(report.p_top.is_some(), redraws > 0);
            let s = report.scores;
            for m in [s.smooth_ece, s.debiased_ece, s.aurc, s.excess_aurc] {
                assert!(m.low.is_finite() && m.low <= m.value && m.value <= m.high && m.high.is_finite(), "{m:?}");
            }
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<TrustReport>(&text).unwrap(), report);
        }
    }
}
