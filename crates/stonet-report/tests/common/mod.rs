#![allow(dead_code, reason = "each test file uses its part")]
//! Small fits on generated data, and what is evaluated of them.

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::regression::StoNetSettings;
use stonet::train::TuningCurve;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, FittedRegressor, Kind, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionInputs, RegressionRows, Seed,
};
use stonet_report::*;

/// A name that would break out of any markup.
pub const HOSTILE: &str = "</script><b>width & \"height\"";

/// Features, responses and the network's own predictions; the noise grows with the second feature.
pub struct Rows {
    pub features: Array2<f64>,
    pub prediction: Array2<f64>,
    pub y: Array2<f64>,
}

pub fn rows(n: usize, outputs: usize, seed: u64) -> Rows {
    let mut rng = Seed::new(seed).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((n, 5), || normal().tanh());
    let (mut y, mut prediction) = (Array2::zeros((n, outputs)), Array2::zeros((n, outputs)));
    for (i, f) in features.outer_iter().enumerate() {
        for j in 0..outputs {
            let mean = 2.0 * f[j] - f[1] + (2.0 * f[2]).tanh();
            y[[i, j]] = 20.0 + mean + 0.4 * (1.2 * f[1]).exp() * normal();
            prediction[[i, j]] = 20.0 + mean + 0.4 * f[3] + 0.2 * normal();
        }
    }
    Rows { features, prediction, y }
}

impl Rows {
    pub fn new_rows(&self) -> RegressionInputs<'_> {
        RegressionInputs::new(self.features.view()).unwrap().with_prediction(self.prediction.view()).unwrap()
    }
}

pub fn fit(kind: Kind, rows: &Rows) -> FittedRegressor {
    let stonet = StoNetSettings {
        hidden: vec![6],
        steps: 200,
        kappas: Some(vec![0.001, 0.01, 0.1]),
        ..StoNetSettings::default()
    };
    let settings = PostStoNetRegressor { kind, stonet, folds: 3, ..PostStoNetRegressor::default() };
    let calibration = RegressionRows::new(rows.features.view(), rows.y.view()).unwrap();
    let calibration = calibration.with_prediction(rows.prediction.view()).unwrap();
    settings.fit(&calibration, Seed::new(1), &|_, _| true).unwrap()
}

/// A fit on 250 rows, evaluated on 600 others.
pub fn regression(kind: Kind, outputs: usize, joint: bool) -> RegressionEvaluation {
    let (train, test) = (rows(250, outputs, 1), rows(600, outputs, 2));
    let fitted = fit(kind, &train);
    let regions: Vec<String> = (0..600).map(|i| ["north", "south", HOSTILE][(i * i) % 7 % 3].to_owned()).collect();
    let settings = EvaluateSettings {
        joint,
        feature_names: ["rooms", "age", "floor area", "distance to the coast", HOSTILE].map(str::to_owned).into(),
        by: Some(("region", &regions)),
        ..EvaluateSettings::new(Level::new(0.9).unwrap())
    };
    RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap()
}

pub fn path() -> TuningCurve {
    TuningCurve {
        label: "StoNet, 3 folds".into(),
        values: vec![0.001, 0.003, 0.01, 0.03, 0.1, 0.3],
        loss: vec![0.52, 0.47, 0.44, 0.46, 0.58, 0.9],
        se: vec![0.04, 0.03, 0.03, 0.03, 0.04, 0.05],
        chosen: vec![2, 2, 3],
        loss_name: "mean squared error".into(),
        ..TuningCurve::default()
    }
}

/// Logits of a network that is three times too sure of itself, and labels drawn from the truth.
pub fn logits(n: usize, classes: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Seed::new(seed).rng();
    let truth = Array2::from_shape_simple_fn((n, classes), || -> f64 {
        let z: f64 = StandardNormal.sample(&mut rng);
        1.5 * z
    });
    let p = softmax(&truth);
    let mut draw = |row: ndarray::ArrayView1<'_, f64>| {
        let (at, mut sum) = (rng.random::<f64>(), 0.0);
        row.iter().position(|p| {
            sum += p;
            at < sum
        })
    };
    let labels = p.outer_iter().map(|row| draw(row).unwrap_or(classes - 1)).collect();
    (truth * 3.0, labels)
}

pub fn softmax(z: &Array2<f64>) -> Array2<f64> {
    let mut p = z.mapv(f64::exp);
    let sums = p.sum_axis(Axis(1)).insert_axis(Axis(1));
    p /= &sums;
    p
}

pub fn classes() -> ClassEvaluation {
    let ((z, labels), (new, truth)) = (logits(600, 4, 1), logits(1500, 4, 2));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = classifier.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let predict = |z: ndarray::ArrayView2<'_, f64>| fitted.probabilities(&ClassInputs::logits(z)?);
    let p = predict(new.view()).unwrap();
    let names = ["cat", "dog", "horse", HOSTILE].map(str::to_owned);
    let columns = ["z cat", "z dog", "z horse", "z </b>"].map(str::to_owned);
    let cameras: Vec<String> = (0..1500).map(|i| format!("camera {}", i % 3)).collect();
    let own = softmax(&new);
    let settings = ClassSettings {
        network: Some(own.view()),
        by: Some(("camera", &cameras)),
        explain: Some(Explain { inputs: new.view(), names: &columns, predict: &predict, rows: None }),
        ..ClassSettings::default()
    };
    let mut e = ClassEvaluation::new(p.view(), &truth, &names, &settings).unwrap();
    e.settings = serde_json::to_value(fitted.settings()).unwrap();
    e.weights = vec![MemberWeight { name: "temperature".into(), weight: 1.0 }];
    e.kappa_paths = vec![path()];
    e
}

pub fn comparison() -> Comparison {
    let column = |name: &str, better, unit| Column { name: name.into(), better: Some(better), unit };
    let method = |name: &str, ours, values: [f64; 4]| Method {
        name: name.into(),
        ours,
        scores: values.iter().map(|v| Some(Score { value: *v, error: Some(0.02 * v) })).collect(),
    };
    Comparison {
        title: "Methods compared on the same rows".into(),
        lead: "Fitted on 400 rows, judged on 2000 others.".into(),
        columns: vec![
            column("Coverage", Better::Near(0.9), Unit::Percent),
            column("Mean length", Better::Lower, Unit::Number),
            column("Winkler score", Better::Lower, Unit::Number),
            column("Time", Better::Lower, Unit::Seconds),
        ],
        methods: vec![
            method("StoNet stack", true, [0.902, 3.21, 4.4, 2.3]),
            method("split conformal", false, [0.911, 3.9, 5.1, 0.001]),
            method("conformalised quantile regression with a long name", false, [0.894, 3.5, 4.7, 1.9]),
            method(HOSTILE, false, [0.71, f64::INFINITY, 9.2, 1200.0]),
        ],
        charts: vec![1, 2],
    }
}

pub fn about(title: &str) -> About {
    About {
        title: title.into(),
        command: format!(
            "stonet evaluate houses.stonet test.parquet --target price --by region --report '{HOSTILE}.html'"
        ),
        version: "0.1.0".into(),
        created: "2026-01-01".into(),
        settings: serde_json::json!({ "model": "houses.stonet", "rows": "test.parquet", "name": HOSTILE, "seed": 1 }),
    }
}
