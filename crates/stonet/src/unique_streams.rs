//! Tests that no two parts of a fit draw from the same random stream.

use std::collections::HashSet;

use ndarray::{Array2, Axis};

use crate::base::random::recorded;
use crate::base::streams;
use crate::classification::{SetScheme, SkipSettings};
use crate::conformal::{SetBy, SetRule, SetScore};
use crate::metrics::{JudgeSettings, judge};
use crate::peers::baseline::{Cqr, NetworkRefit, Normalised, PostLinear};
use crate::peers::mlp::Training;
use crate::regression::StoNetSettings;
use crate::train::{Algorithm, Asghmc, Iro};
use crate::*;

const SEED: Seed = Seed::new(11);

fn assert_unique(what: impl std::fmt::Debug, work: impl FnOnce() + Send) {
    let opened = recorded::during(work);
    let distinct: HashSet<Seed> = opened.iter().copied().collect();
    assert!(!opened.is_empty(), "{what:?}: nothing was drawn");
    assert_eq!(distinct.len(), opened.len(), "{what:?}: a stream was opened twice");
}

fn features(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (1.0 + j as f64))
}

fn stonet() -> StoNetSettings {
    StoNetSettings { hidden: vec![3], steps: 20, kappas: Some(vec![0.01, 0.1]), ..StoNetSettings::default() }
}

#[test]
fn every_interval_has_streams_of_its_own_for_every_part() {
    let x = features(90, 3);
    let y = Array2::from_shape_fn((90, 2), |(i, j)| x[[i, j]] + 0.3 * ((i * 31 + j) as f64).cos());
    let d = x.slice(ndarray::s![.., ..2]);
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d).unwrap();
    for kind in Kind::ALL {
        for algorithm in [Algorithm::Asghmc, Algorithm::Polished] {
            let iro = Iro { iterations: 2, ..Iro::default() };
            let stonet = StoNetSettings { algorithm, iro, ..stonet() };
            let settings = PostStoNetRegressor { kind, stonet, folds: 4, ..PostStoNetRegressor::default() };
            assert_unique((kind, algorithm), || {
                settings.fit(&rows, SEED, &|_, _| true).unwrap();
            });
        }
    }
    let same = PostStoNetRegressor { nested: false, stonet: stonet(), ..PostStoNetRegressor::default() };
    assert_unique("same folds", || {
        same.fit(&rows, SEED, &|_, _| true).unwrap();
    });
}

#[test]
fn every_baseline_and_perceptron_has_streams_of_its_own_for_every_part() {
    let x = features(80, 3);
    let y = x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1));
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(y.view()).unwrap();
    let level = Level::new(0.8).unwrap();
    assert_unique("cqr", || drop(Cqr::default().fit(&rows, level, SEED, &|_, _| true).unwrap()));
    assert_unique("refit", || drop(NetworkRefit::default().fit(&rows, SEED, &|_, _| true).unwrap()));
    assert_unique("post-linear", || drop(PostLinear::default().fit(&rows, SEED, &|_, _| true).unwrap()));
    assert_unique("normalised", || drop(Normalised::default().fit(&rows, SEED, &|_, _| true).unwrap()));
    let data = Dataset::new(x.clone(), y.clone()).unwrap();
    let early_stopping = Some(peers::mlp::EarlyStopping::default());
    let training = Training { epochs: 5, early_stopping, ..Training::default() };
    assert_unique("perceptron", || drop(training.fit(&data, SEED, &mut ()).unwrap()));
}

#[test]
fn every_classifier_and_its_sets_have_streams_of_their_own_for_every_part() {
    let z = features(90, 3);
    let labels: Vec<usize> = (0..90).map(|i| if i % 4 == 0 { i % 3 } else { metrics::top_class(z.row(i)) }).collect();
    let inputs = ClassInputs::logits(z.view()).unwrap();
    let rows = ClassRows::new(inputs, &labels, 3).unwrap();
    let asghmc = Asghmc { epochs: 8, ..SkipSettings::default().asghmc };
    let skip = SkipSettings { hidden: 4, asghmc, ..SkipSettings::default() };
    for method in ClassMethod::possible(3, false) {
        let settings = PostStoNetClassifier { method, skip: skip.clone(), paper_epochs: vec![2], ..Default::default() };
        for scheme in [SetScheme::Split { share: 0.6 }, SetScheme::CvPlus { folds: 3 }] {
            let by = if matches!(scheme, SetScheme::Split { .. }) { SetBy::Cluster } else { SetBy::All };
            let rule = SetRule { by, ..SetScore::APS.into() };
            let sets = ClassSets { classifier: settings.clone(), scheme, rule, ..ClassSets::default() };
            assert_unique((method, scheme), || {
                let fitted = sets.fit(&rows, SEED, &|_, _| true).unwrap();
                fitted.sets(&inputs, Level::new(0.8).unwrap(), SEED.child(streams::classification::SETS)).unwrap();
                let p = fitted.probabilities(&inputs).unwrap();
                let settings = JudgeSettings { resamples: 20, redraws: 20, ..JudgeSettings::default() };
                judge(p.view(), &labels, &settings, SEED.child(streams::evaluation::SCORES)).unwrap();
            });
        }
    }
}
