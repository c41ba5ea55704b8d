//! Coverage over independent replications: new training rows, new network, one new test row each time.

use ndarray::{Array2, array};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::eve::{Eve, EveIntervals, Variance};
use stonet::rows::PredictInterval;
use stonet::sparse::Refit;
use stonet::train::{Asghmc, Iro, Polished, Trainer};
use stonet::*;

/// Two responses with noise of their own.
fn sample(rows: usize, seed: Seed) -> Dataset {
    let mut draws = StandardNormal.sample_iter(seed.rng());
    let x: Array2<f64> = Array2::from_shape_simple_fn((rows, 3), || draws.next().unwrap());
    let mut y = Array2::zeros((rows, 2));
    for (mut y, x) in y.outer_iter_mut().zip(x.outer_iter()) {
        let noise: [f64; 2] = [draws.next().unwrap(), draws.next().unwrap()];
        y.assign(&array![(2.0 * x[0] - x[1]).tanh() + 0.5 * noise[0], 10.0 * x[2].tanh() + 3.0 * noise[1]]);
    }
    Dataset::new(x, y).unwrap()
}

fn asghmc() -> Asghmc {
    Asghmc { epochs: 100, rates: vec![0.1], kappa: vec![0.003], ..Asghmc::default() }
}

/// Whether each output's interval covers in each of so many replications.
fn hits(trainer: &dyn Trainer, eve: Eve, level: Level, replications: u64) -> [usize; 2] {
    let covered: Vec<[bool; 2]> = (0..replications)
        .into_par_iter()
        .map(|r| {
            let seed = Seed::new(2024).child(r);
            let (train, test) = (sample(200, seed.child(0)), sample(1, seed.child(1)));
            let start = StoNet::random(&[3, 8, 2], Activation::Tanh, seed.child(2)).unwrap();
            let (model, _) = EveIntervals::fit(trainer, &start, &train, eve, seed.child(3), &mut ()).unwrap();
            let c = metrics::covered(&model.intervals(test.x(), level).unwrap(), test.y()).unwrap();
            [c[[0, 0]], c[[0, 1]]]
        })
        .collect();
    [0, 1].map(|j| covered.iter().filter(|c| c[j]).count())
}

/// ± 4.5 binomial standard deviations.
fn assert_coverage(hits: usize, replications: u64, level: f64, what: &str) {
    let n = replications as f64;
    let tolerance = 4.5 * (level * (1.0 - level) / n).sqrt();
    let found = hits as f64 / n;
    assert!((found - level).abs() < tolerance, "{what}: {found} for {level} ± {tolerance}");
}

#[test]
fn intervals_cover_both_outputs_at_several_levels() {
    for (level, refit) in [(0.95, Refit::Mls), (0.8, Refit::Ols)] {
        let eve = Eve { refit, ..Eve::default() };
        for (j, h) in hits(&asghmc(), eve, Level::new(level).unwrap(), 2000).into_iter().enumerate() {
            assert_coverage(h, 2000, level, &format!("output {j}"));
        }
    }
}

#[test]
fn cross_validated_variance_covers_too() {
    let eve = Eve { variance: Variance::Cv { folds: 5 }, ..Eve::default() };
    for (j, h) in hits(&asghmc(), eve, Level::new(0.9).unwrap(), 500).into_iter().enumerate() {
        assert_coverage(h, 500, 0.9, &format!("output {j}"));
    }
}

#[test]
fn intervals_of_an_iro_polish_cover_too() {
    let then = Iro { iterations: 20, kappa: 0.003, ..Iro::default() };
    let trainer = Polished { first: asghmc(), then };
    for (j, h) in hits(&trainer, Eve::default(), Level::new(0.9).unwrap(), 600).into_iter().enumerate() {
        assert_coverage(h, 600, 0.9, &format!("output {j}"));
    }
}
