//! Progress that counts by cost, and estimates of fits, for every kind of interval and for classes and labels.

use std::sync::Mutex;

use ndarray::{Array2, Axis};
use stonet::base::{FitEstimate, PARTS};
use stonet::classification::{LabelInputs, LabelRows};
use stonet::regression::StoNetSettings;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, Error, InputKind, Kind, PostStoNetClassifier, PostStoNetRegressor,
    RegressionRows, Seed, Ticker,
};

fn features(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (1.0 + j as f64))
}

/// What a fit tells: never less than before, and everything at the end. A refusal half-way ends it.
fn follows<T>(what: &str, fit: impl Fn(Ticker<'_>) -> stonet::Result<T>) {
    let told = Mutex::new(Vec::new());
    fit(&|done, total| {
        told.lock().unwrap().push((done, total));
        true
    })
    .unwrap_or_else(|e| panic!("{what}: {e}"));
    let told = told.into_inner().unwrap();
    assert!(told.iter().all(|(done, total)| *total == PARTS && done <= total), "{what}");
    assert_eq!(told.last(), Some(&(PARTS, PARTS)), "{what}");
    // Threads may tell what they saw in another order, but each tells more than the fit began with.
    let most = |told: &[(usize, usize)]| told.iter().map(|t| t.0).max().unwrap_or(0);
    assert!(most(&told[..told.len() / 2]) < PARTS, "{what}: {told:?}");
    let stopped = fit(&|done, _| done < PARTS / 2);
    assert!(matches!(stopped, Err(Error::Cancelled(_))), "{what}");
}

fn is_sound(what: &str, estimate: &FitEstimate, rows: usize, bytes: usize) {
    assert_eq!(estimate.rows, rows, "{what}");
    assert!(estimate.seconds > 0.0 && estimate.seconds.is_finite(), "{what}: {estimate:?}");
    assert!(estimate.seconds >= estimate.sample_seconds && estimate.sample_rows <= rows, "{what}: {estimate:?}");
    assert!(estimate.memory >= bytes as f64, "{what}: {estimate:?}");
}

#[test]
fn every_interval_tells_how_far_it_is_and_what_it_will_take() {
    let x = features(400, 4);
    let y = Array2::from_shape_fn((400, 2), |(i, j)| x[[i, j]] + 0.3 * ((i * 31 + j) as f64).cos());
    let d = x.slice(ndarray::s![.., ..2]);
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d).unwrap();
    for kind in Kind::ALL {
        let stonet = StoNetSettings { hidden: vec![3], steps: 60, ..StoNetSettings::default() };
        let settings = PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() };
        let seed = Seed::new(1);
        follows(kind.name(), |tick| settings.fit(&rows, seed, tick));
        let estimate = settings.estimate(&rows, seed, &|_, _| true).unwrap();
        is_sound(kind.name(), &estimate, 400, 400 * 4 * 8);
        assert_eq!(estimate.columns, 6);
        assert!(matches!(settings.estimate(&rows, seed, &|_, _| false), Err(Error::Cancelled(_))), "{kind}");
    }
}

#[test]
fn classes_and_labels_tell_it_too() {
    let z = Array2::from_shape_fn((600, 3), |(i, k)| 2.0 * ((i * (k + 3)) as f64 * 0.7).sin());
    let labels: Vec<usize> = z
        .axis_iter(Axis(0))
        .enumerate()
        .map(|(i, z)| if i % 5 == 0 { i % 3 } else { usize::from(z[1] > z[0]) })
        .collect();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let seed = Seed::new(1);
    let skip = stonet::classification::SkipSettings { max_steps: 40, ..Default::default() };
    for method in [ClassMethod::Stack, ClassMethod::Vector, ClassMethod::PostLinear, ClassMethod::MatrixOdir] {
        let settings = PostStoNetClassifier { method, skip: skip.clone(), ..Default::default() };
        follows(method.name(), |tick| settings.fit(&rows, seed, tick));
        is_sound(method.name(), &settings.estimate(&rows, seed, &|_, _| true).unwrap(), 600, 600 * 3 * 8);
    }
    let present = Array2::from_shape_fn((600, 3), |(i, k)| (z[[i, k]] > 0.0) != (i % 7 == 0));
    let names = ["a", "b", "c"].map(String::from);
    let inputs = LabelInputs::new(InputKind::Logits, z.view()).unwrap();
    let rows = LabelRows::new(inputs, present.view(), &names).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Stack, skip, ..Default::default() };
    follows("labels", |tick| settings.fit_labels(&rows, seed, tick));
    let all = settings.estimate_labels(&rows, seed, &|_, _| true).unwrap();
    is_sound("labels", &all, 600, 600 * 3 * 8);
    assert_eq!(all.columns, 3);
}
