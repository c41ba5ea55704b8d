//! Heads that were adapted to other rows, and their graphs: weights of rows, infinite ends, other shares of classes.

use ndarray::{Array2, s};
use stonet::conformal::Ratio;
use stonet::regression::Adapt;
use stonet::score::Asked;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Level, PostStoNetClassifier, RegressionInputs,
    RegressionRows, Seed, Side,
};
use stonet_onnx::{ClassOutput, classifier, intervals};

use crate::fitted::{class_data, number_data, quick};
use crate::heads::run;

#[test]
fn weighted_ends_are_those_of_the_model_or_a_little_further_out() {
    let (x, y, d) = number_data(400, 1, 7);
    let (new, _, new_d) = number_data(200, 1, 8);
    let mut all = 0;
    for (kind, network) in [(Kind::Split, true), (Kind::Fast, true), (Kind::Fast, false)] {
        let mut rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let mut from = RegressionInputs::new(new.view()).unwrap();
        if network {
            rows = rows.with_prediction(d.view()).unwrap();
            from = from.with_prediction(new_d.view()).unwrap();
        }
        let head = quick(kind).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let mut tilt = vec![0.0; x.ncols()];
        (tilt[0], tilt[1]) = (1.2 / x.column(0).std(0.0), -0.5 / x.column(1).std(0.0));
        let adapt = Adapt { ratio: Some(Ratio::tilt(&tilt).unwrap()), ..Adapt::default() };
        let fitted = adapt.regression(&head, Some(&rows), &from, &|_, _| true).unwrap();
        let asked = Asked { below: vec![0.5], ..Asked::at(&[Level::new(0.95).unwrap()]) };
        let graph = intervals(&fitted, &asked).unwrap();
        let mut tables = vec![("features", new.clone())];
        if network {
            tables.push(("network_prediction", new_d.clone()));
        }
        let found = run(&graph.to_onnx(), &graph, &tables);
        let model = fitted.intervals(&from, Level::new(0.95).unwrap(), Side::Both).unwrap();
        let below = fitted.cdf(&from, &[0.5]).unwrap().remove(0);
        let (mut infinite, mut apart, mut length) = (0, 0.0, 0.0);
        for i in 0..new.nrows() {
            let (lower, upper) = (found[1][[i, 0]], found[2][[i, 0]]);
            let (wanted_lower, wanted_upper) = (model.lower[[i, 0]], model.upper[[i, 0]]);
            if wanted_upper.is_infinite() {
                infinite += 1;
                assert!(upper.is_infinite() && lower.is_infinite(), "{kind} row {i}");
                continue;
            }
            let whole = wanted_upper - wanted_lower;
            assert!(upper >= wanted_upper - 1e-4 * whole && lower <= wanted_lower + 1e-4 * whole, "{kind} row {i}");
            (apart, length) = (apart + upper - lower - whole, length + whole);
            assert!((found[3][[i, 0]] - below[[i, 0]]).abs() < 0.02, "{kind} row {i}");
        }
        assert!(infinite < 100, "{kind}: {infinite}");
        assert!(apart < 0.02 * length, "{kind}: {apart} of {length}");
        all += infinite;
    }
    assert!(all > 0, "no row has an infinite interval");
}

#[test]
fn other_shares_of_classes_are_in_the_graph() {
    let (logits, _, labels) = class_data(400, 1);
    let (new, _, kinds) = class_data(600, 50);
    // New rows of the first class are left out but for a few.
    let kept: Vec<usize> = (0..600).filter(|&i| kinds[i] != 0 || i % 5 == 0).collect();
    let new: Array2<f64> = new.select(ndarray::Axis(0), &kept).slice(s![..200, ..]).to_owned();
    let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 4).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Vector, ..Default::default() };
    let head = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let counts: Vec<f64> = (0..4).map(|k| labels.iter().filter(|l| **l == k).count() as f64).collect();
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let fitted = head.adapt_labels(&counts, &inputs).unwrap();
    let graph = classifier(&fitted, ClassOutput { kind: InputKind::Logits, columns: 4 }).unwrap();
    let found = run(&graph.to_onnx(), &graph, &[("logits", new.clone())]);
    let (wanted, before) = (fitted.probabilities(&inputs).unwrap(), head.probabilities(&inputs).unwrap());
    assert!((&found[0] - &wanted).iter().all(|d| d.abs() < 1e-5));
    assert!((&wanted - &before).iter().any(|d| d.abs() > 0.02));
}
