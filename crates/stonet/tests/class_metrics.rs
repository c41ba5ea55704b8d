//! Scores of class probabilities: agreement with netcal and scikit-learn, and bands that hold what they promise.

#[path = "common/fixture_rows.rs"]
mod fixture_rows;

use fixture_rows::rows;
use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::RngExt;
use rayon::prelude::*;
use serde::Deserialize;
use stonet::Seed;
use stonet::metrics::{BINS, JudgeSettings, class_scores, class_wise_ece, ece, judge, noise_floor};

#[derive(Deserialize)]
struct Fixture {
    bins: usize,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rows: usize,
    classes: usize,
    accuracy: f64,
    nll: f64,
    brier: f64,
    ece: f64,
    cece: f64,
    netcal_ece: f64,
}

#[test]
fn scores_equal_netcals_and_scikit_learns() {
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/class_metrics.json")).unwrap();
    assert_eq!(fixture.cases.iter().map(|c| c.classes).collect::<Vec<_>>(), [2, 3, 10, 100]);
    for case in fixture.cases {
        let (p, labels) = rows(case.rows, case.classes);
        let scores = class_scores(p.view(), &labels, fixture.bins).unwrap();
        let close = |name: &str, found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-12, "K = {}: {name} {found} for {expected}", case.classes);
        };
        close("accuracy", scores.accuracy, case.accuracy);
        close("nll", scores.nll, case.nll);
        close("brier", scores.brier, case.brier);
        close("ece", scores.ece, case.ece);
        close("cece", scores.cece, case.cece);
        // For two classes netcal judges the probability of class 1, which is what either class contributes to the
        // class-wise error.
        let netcals = if case.classes == 2 { scores.cece } else { scores.ece };
        close("netcal's ece", netcals, case.netcal_ece);
        assert_eq!(ece(p.view(), &labels, BINS).unwrap(), scores.ece);
        assert_eq!(class_wise_ece(p.view(), &labels, BINS).unwrap(), scores.cece);
    }
}

/// Rows of K probabilities, and labels drawn from them.
fn calibrated(n: usize, k: usize, seed: Seed) -> (Array2<f64>, Vec<usize>) {
    let mut rng = seed.rng();
    let mut p = Array2::from_shape_simple_fn((n, k), || rng.random::<f64>().powi(4) + 1e-3);
    p.outer_iter_mut().for_each(|mut row| row /= row.sum());
    let labels = labels_of(p.view(), seed.child(0));
    (p, labels)
}

fn labels_of(p: ArrayView2<'_, f64>, seed: Seed) -> Vec<usize> {
    let mut rng = seed.rng();
    let draw = |row: ArrayView1<'_, f64>| {
        let mut left: f64 = rng.random();
        row.iter()
            .position(|p| {
                left -= p;
                left < 0.0
            })
            .unwrap_or(row.len() - 1)
    };
    p.outer_iter().map(draw).collect()
}

/// ± 4.5 binomial standard deviations.
fn assert_coverage(hits: usize, replications: usize, level: f64, what: &str) {
    let n = replications as f64;
    let tolerance = 4.5 * (level * (1.0 - level) / n).sqrt();
    let found = hits as f64 / n;
    assert!((found - level).abs() < tolerance, "{what}: {found} for {level} ± {tolerance}");
}

#[test]
fn the_floor_holds_the_scores_of_a_calibrated_model() {
    const REDRAWS: usize = 200;
    const REPLICATIONS: usize = 1500;
    // The labels are one more draw like those of the floor, so the chance of the band is that between two interpolated
    // ranks.
    let rank = |q: f64| (1.0 + q * (REDRAWS - 1) as f64) / (REDRAWS + 1) as f64;
    let level = rank(0.975) - rank(0.025);
    let inside: Vec<[bool; 5]> = (0..REPLICATIONS)
        .into_par_iter()
        .map(|r| {
            let seed = Seed::new(11).child(r as u64);
            let (p, labels) = calibrated(150, 4, seed.child(0));
            let floor = noise_floor(p.view(), BINS, REDRAWS, seed.child(1)).unwrap();
            let found = class_scores(p.view(), &labels, BINS).unwrap();
            [
                (found.ece, floor.ece),
                (found.cece, floor.cece),
                (found.adaptive_ece, floor.adaptive_ece),
                (found.nll, floor.nll),
                (found.brier, floor.brier),
            ]
            .map(|(value, band)| band.low <= value && value <= band.high)
        })
        .collect();
    for (j, what) in ["ece", "cece", "adaptive ece", "nll", "brier"].into_iter().enumerate() {
        assert_coverage(inside.iter().filter(|i| i[j]).count(), REPLICATIONS, level, what);
    }
}

#[test]
fn the_floors_means_are_those_of_the_probabilities() {
    const REDRAWS: usize = 4000;
    let (p, _) = calibrated(200, 4, Seed::new(3));
    let floor = noise_floor(p.view(), BINS, REDRAWS, Seed::new(4)).unwrap();
    let top = |row: ArrayView1<'_, f64>| row.iter().copied().fold(0.0, f64::max);
    // Expectation and variance of each row's score under its own probabilities.
    let moments = |score: &dyn Fn(ArrayView1<'_, f64>, usize) -> f64| {
        let of = |power: i32| {
            move |row: ArrayView1<'_, f64>| (0..4).map(|k| row[k] * score(row, k).powi(power)).sum::<f64>()
        };
        let mean = p.outer_iter().map(of(1)).sum::<f64>();
        let variance = p.outer_iter().map(|row| of(2)(row) - of(1)(row).powi(2)).sum::<f64>();
        (mean / 200.0, variance.sqrt() / 200.0 / (REDRAWS as f64).sqrt())
    };
    let squares = |row: ArrayView1<'_, f64>, k: usize| row.dot(&row) - 2.0 * row[k] + 1.0;
    for (what, found, (expected, sd)) in [
        ("accuracy", floor.accuracy.mean, moments(&|row, k| f64::from(u8::from(row[k] == top(row))))),
        ("nll", floor.nll.mean, moments(&|row, k| -row[k].ln())),
        ("brier", floor.brier.mean, moments(&squares)),
    ] {
        assert!((found - expected).abs() < 4.5 * sd, "{what}: {found} for {expected} ± {}", 4.5 * sd);
    }
}

#[test]
fn an_overconfident_model_lies_above_the_floor() {
    let (mut p, labels) = calibrated(2000, 4, Seed::new(5));
    p.mapv_inplace(|p| p * p * p);
    p.outer_iter_mut().for_each(|mut row| row /= row.sum());
    let settings = JudgeSettings { resamples: 100, ..JudgeSettings::default() };
    let report = judge(p.view(), &labels, &settings, Seed::new(6)).unwrap();
    for measured in [report.ece, report.cece, report.adaptive_ece, report.nll, report.brier] {
        assert!(measured.low > measured.floor.unwrap().high, "{measured:?}");
    }
    assert!(report.accuracy.high < report.accuracy.floor.unwrap().low, "{:?}", report.accuracy);
}

#[test]
fn bootstrap_intervals_cover_accuracy_and_likelihood() {
    const REPLICATIONS: usize = 1000;
    let settings = JudgeSettings { redraws: 0, resamples: 400, ..JudgeSettings::default() };
    // Two classes, confidence c uniform on (½, 1): accuracy E c = ¾; E(−c ln c − (1 − c) ln (1 − c)) = ½, by
    // integration over (0, 1).
    let inside: Vec<[bool; 2]> = (0..REPLICATIONS)
        .into_par_iter()
        .map(|r| {
            let seed = Seed::new(8).child(r as u64);
            let mut rng = seed.rng();
            let first: Vec<f64> = (0..400).map(|_| rng.random()).collect();
            let p = Array2::from_shape_fn((400, 2), |(i, k)| if k == 0 { first[i] } else { 1.0 - first[i] });
            let labels = labels_of(p.view(), seed.child(0));
            let report = judge(p.view(), &labels, &settings, seed.child(1)).unwrap();
            [(report.accuracy, 0.75), (report.nll, 0.5)].map(|(m, truth)| m.low <= truth && truth <= m.high)
        })
        .collect();
    for (j, what) in ["accuracy", "nll"].into_iter().enumerate() {
        assert_coverage(inside.iter().filter(|i| i[j]).count(), REPLICATIONS, 0.95, what);
    }
}
