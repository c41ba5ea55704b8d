//! A row's result does not depend on the rows that come with it, bit by bit: every baseline, and the perceptron.

use ndarray::{Array2, ArrayView2, Axis, s};
use stonet::peers::baseline::{
    Cqr, FittedBaseline, Laplace, NetworkRefit, Normalised, PostLinear, SmallNetwork, SplitConformal,
};
use stonet::peers::mlp::Training;
use stonet::{Dataset, Intervals, Level, RegressionInputs, RegressionRows, Seed};

const ROWS: usize = 331;

fn features(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (1.0 + j as f64))
}

fn responses(x: &Array2<f64>) -> Array2<f64> {
    x.map_axis(Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(Axis(1))
}

/// Numbers by their bits.
fn bits(a: ArrayView2<'_, f64>) -> Vec<u64> {
    a.iter().map(|v| v.to_bits()).collect()
}

/// Batches of odd sizes that cover all rows, and every row alone.
fn batches() -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = (0..ROWS).map(|i| (i, i + 1)).collect();
    for size in [3, 7, 31, 33, 65, 129, 257] {
        all.extend((0..ROWS).step_by(size).map(|from| (from, (from + size).min(ROWS))));
    }
    all
}

fn same_in_batches(what: &str, whole: ArrayView2<'_, f64>, part: impl Fn(usize, usize) -> Array2<f64>) {
    for (from, to) in batches() {
        let one = part(from, to);
        assert_eq!(bits(one.view()), bits(whole.slice(s![from..to, ..])), "{what}: rows {from} to {to}");
    }
}

#[test]
fn intervals_of_every_baseline_do_not_depend_on_the_batch() {
    let level = Level::new(0.9).unwrap();
    for columns in [2, 5, 20] {
        let x = features(ROWS, columns);
        let y = responses(&x);
        let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(x.slice(s![.., ..1])).unwrap();
        let network = SmallNetwork { steps: 60, ..SmallNetwork::default() };
        let seed = Seed::new(1);
        let fitted: [(&str, Box<dyn FittedBaseline>); 6] = [
            ("split", Box::new(SplitConformal.fit(&rows, seed, &|_, _| true).unwrap())),
            ("normalised", Box::new(Normalised::default().fit(&rows, seed, &|_, _| true).unwrap())),
            ("cqr", Box::new(Cqr { network: network.clone() }.fit(&rows, level, seed, &|_, _| true).unwrap())),
            ("post-linear", Box::new(PostLinear::default().fit(&rows, seed, &|_, _| true).unwrap())),
            ("refit", Box::new(NetworkRefit { network }.fit(&rows, seed, &|_, _| true).unwrap())),
            ("laplace", Box::new(Laplace.fit(&rows, seed, &|_, _| true).unwrap())),
        ];
        // Column after column in memory, as a table may be; a batch of one row is both.
        let by_columns = x.t().as_standard_layout().reversed_axes().to_owned();
        for x in [&x, &by_columns] {
            for (name, fitted) in &fitted {
                let numbers = |from: usize, to: usize| {
                    let (features, d) = (x.slice(s![from..to, ..]), x.slice(s![from..to, ..1]));
                    let new = RegressionInputs::new(features).unwrap().with_prediction(d).unwrap();
                    let Intervals { prediction, lower, upper, .. } = fitted.intervals(&new, level).unwrap();
                    ndarray::concatenate![Axis(1), prediction, lower, upper]
                };
                same_in_batches(name, numbers(0, ROWS).view(), numbers);
            }
        }
    }
}

#[test]
fn outputs_of_a_perceptron_do_not_depend_on_the_batch() {
    for (columns, hidden) in [(2, vec![5]), (20, vec![30, 7])] {
        let x = features(ROWS, columns);
        let data = Dataset::new(x.clone(), responses(&x)).unwrap();
        let training = Training { epochs: 3, hidden, ..Training::default() };
        let network = training.fit(&data, Seed::new(1), &mut ()).unwrap().network;
        let whole = network.predict(x.view()).unwrap();
        same_in_batches("predict", whole.view(), |a, b| network.predict(x.slice(s![a..b, ..])).unwrap());
        let whole = network.features(x.view()).unwrap();
        same_in_batches("features", whole.view(), |a, b| network.features(x.slice(s![a..b, ..])).unwrap());
    }
}
