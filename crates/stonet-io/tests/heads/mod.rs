//! Small fitted models of every kind, and rows for them.

use ndarray::{Array2, s};
use stonet::regression::StoNetSettings;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Labels, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionRows, Seed,
};
use stonet_io::{Head, Model, ModelColumns};

pub fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

/// Numbers without a pattern.
pub fn noise(rows: usize, columns: usize, shift: f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * i + 7 * i * (j + 1)) as f64 * 0.37 + shift).sin() * 1.5)
}

/// Four features, predictions of two targets, and the targets.
pub fn rows(n: usize, shift: f64) -> [Array2<f64>; 3] {
    let features = noise(n, 4, shift);
    let prediction = features.slice(s![.., ..2]).mapv(|f| 2.0 * f);
    let y = &prediction + &features.slice(s![.., 1..3]).mapv(f64::tanh) + noise(n, 2, shift + 1.0) * 0.2;
    [features, prediction, y]
}

pub fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

pub fn regression(kind: Kind, targets: usize) -> Model {
    let [features, prediction, y] = rows(80, 0.0);
    let (prediction, y) = (prediction.slice_move(s![.., ..targets]), y.slice_move(s![.., ..targets]));
    let calibration =
        RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(prediction.view()).unwrap();
    let stonet = StoNetSettings { hidden: vec![6], kappas: Some(vec![0.01]), steps: 50, ..StoNetSettings::default() };
    let settings = PostStoNetRegressor { kind, folds: 3, stonet, ..PostStoNetRegressor::default() };
    Model {
        head: Head::Regression(Box::new(settings.fit(&calibration, Seed::new(3), &|_, _| true).unwrap())),
        columns: ModelColumns {
            features: names("f", 4),
            prediction: names("d", targets),
            targets: names("y", targets),
            ..ModelColumns::default()
        },
        kind: None,
        labels: None,
        level: Some(level(0.8)),
        seed: 3,
        fingerprint: String::new(),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    }
}

pub fn classification(method: ClassMethod, kind: InputKind) -> Model {
    let z = noise(90, 3, 0.0) * 3.0;
    let labels: Vec<usize> = (0..90).map(|i| if z[[i, 0]] > z[[i, 1]] { 0 } else { 1 + i % 2 }).collect();
    let inputs = match kind {
        InputKind::Features => ClassInputs::features(z.view()).unwrap(),
        _ => ClassInputs::logits(z.view()).unwrap(),
    };
    let class_rows = ClassRows::new(inputs, &labels, 3).unwrap();
    let mut settings = PostStoNetClassifier { method, folds: Some(2), ..Default::default() };
    (settings.skip.hidden, settings.skip.asghmc.epochs) = (6, 4);
    let (features, logits) =
        if kind == InputKind::Features { (names("z", 3), vec![]) } else { (vec![], names("z", 3)) };
    Model {
        head: Head::Classification(Box::new(settings.fit(&class_rows, Seed::new(3), &|_, _| true).unwrap())),
        columns: ModelColumns { features, logits, targets: vec!["class".into()], ..ModelColumns::default() },
        kind: Some(kind),
        labels: Some(Labels::named(vec!["cat".into(), "dog".into(), "bär".into()]).unwrap()),
        level: None,
        seed: 3,
        fingerprint: String::new(),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    }
}
