//! Times scoring: `score_time [ROWS [KIND]]`; prints rows per second of processor time in memory of every kind of
//! interval, fitted on 2000 rows of 100 features of which thirteen matter, and of the default classifier for 10 and 100
//! classes.

mod usage;

use ndarray::{Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::metrics::top_class;
use stonet::score::{Asked, Column, Input, Port};
use stonet::{ClassInputs, ClassRows, Kind, Level, PostStoNetClassifier, PostStoNetRegressor, RegressionRows, Seed};

const FEATURES: usize = 100;
const RELEVANT: usize = 13;
const CALIBRATION: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(200_000), |n| n.parse())?;
    let mut rng = Seed::new(1).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((CALIBRATION.max(rows), FEATURES), || normal().tanh());
    let mean = features.map_axis(Axis(1), |f| {
        (0..RELEVANT).map(|k| if k % 2 == 0 { f[k] } else { (2.0 * f[k] - f[k - 1]).tanh() }).sum::<f64>()
    });
    let y = mean.mapv(|m| m + 0.5 * normal()).insert_axis(Axis(1));
    let prediction = mean.mapv(|m| 0.9 * m + 0.4 * normal()).insert_axis(Axis(1));
    let part = |a: &Array2<f64>| a.slice(s![..CALIBRATION, ..]).to_owned();
    let (x, t, d) = (part(&features), part(&y), part(&prediction));
    let calibration = RegressionRows::new(x.view(), t.view())?.with_prediction(d.view())?;
    let (features, prediction) = (features.view(), prediction.view());
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let only = std::env::args().nth(2);
    for kind in Kind::ALL.into_iter().filter(|k| only.as_ref().is_none_or(|o| o == k.name())) {
        let fitted = PostStoNetRegressor { kind, ..PostStoNetRegressor::default() }.fit(
            &calibration,
            Seed::new(1),
            &|_, _| true,
        )?;
        let scorer = fitted.scorer(&Asked::at(&[Level::new(0.9)?]))?;
        let column = |i: &Input| match i.port {
            Port::Features => Column::F64(features.slice_move(s![..rows, i.column])),
            _ => Column::F64(prediction.slice_move(s![..rows, i.column])),
        };
        let columns: Vec<Column<'_>> = scorer.inputs().iter().map(column).collect();
        let rate = rate(rows, || one.install(|| scorer.run(&columns, rows)))?;
        let used = scorer.plan().columns(Port::Features).count();
        println!("{:>6}: {rate:6.3} million rows/s on one core, {used} of {FEATURES} features", kind.name());
    }
    for classes in [10, 100].into_iter().filter(|k| only.as_ref().is_none_or(|o| *o == k.to_string())) {
        let logits = Array2::from_shape_simple_fn((CALIBRATION.max(rows / 4), classes), || 3.0 * normal());
        let noisy = logits.mapv(|z| z + normal());
        let labels: Vec<usize> = noisy.outer_iter().take(CALIBRATION).map(top_class).collect();
        let inputs = ClassInputs::logits(logits.slice(s![..CALIBRATION, ..]))?;
        let rows = ClassRows::new(inputs, &labels, classes)?;
        let fitted = PostStoNetClassifier::default().fit(&rows, Seed::new(1), &|_, _| true)?;
        let new = ClassInputs::logits(logits.view())?;
        let rate = rate(logits.nrows(), || one.install(|| fitted.probabilities(&new)))?;
        println!("classification: {rate:6.3} million rows/s on one core, {classes} classes");
    }
    Ok(())
}

/// Million rows per second of processor time, the best of five.
fn rate<T>(rows: usize, work: impl Fn() -> stonet::Result<T>) -> stonet::Result<f64> {
    let once = || {
        let begin = usage::processor_seconds();
        work().map(|_| usage::processor_seconds() - begin)
    };
    let best = (0..5).map(|_| once()).collect::<stonet::Result<Vec<_>>>()?.into_iter().fold(f64::INFINITY, f64::min);
    Ok(rows as f64 / best / 1e6)
}
