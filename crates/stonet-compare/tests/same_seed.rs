//! The same seed gives the same fit, whichever command asks for it; methods are known by their names alone.

use ndarray::{Array2, Axis};
use stonet::base::streams;
use stonet::metrics::{JudgeSettings, coverage, judge, mean_length, winkler};
use stonet::*;
use stonet_compare::benchmark::{Method, compare_intervals};
use stonet_compare::classes::{TestRows, compare};

const SEED: u64 = 7;

fn features(rows: usize, start: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 3), |(i, j)| (((i + start) * (2 * j + 3)) as f64 * 0.37).sin())
}

fn targets(x: &Array2<f64>, start: usize) -> Array2<f64> {
    let noise = |i: usize| (((i + start) * (i + start)) as f64 * 0.71).sin();
    Array2::from_shape_fn((x.nrows(), 1), |(i, _)| x[[i, 0]] + 0.4 * noise(i))
}

#[test]
fn a_comparison_of_intervals_fits_as_a_fit_does() {
    let (x, new) = (features(80, 0), features(50, 1000));
    let (y, truth) = (targets(&x, 0), targets(&new, 1000));
    let network = |x: &Array2<f64>| x.map_axis(Axis(1), |f| f[0] + 0.3 * f[1]).insert_axis(Axis(1));
    let (d, new_d) = (network(&x), network(&new));
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
    let new = RegressionInputs::new(new.view()).unwrap().with_prediction(new_d.view()).unwrap();
    let level = Level::new(0.8).unwrap();
    let kinds = [Kind::Fast, Kind::Cv, Kind::Split, Kind::CvPlus];
    // In another order and without the others: neither may matter.
    let names: Vec<String> = ["laplace"].into_iter().chain(kinds.map(Kind::name)).map(str::to_owned).collect();
    let compared = compare_intervals(&rows, (new, truth.view()), 0, &names, level, SEED, &|_, _| true).unwrap();
    for kind in kinds {
        let fitted = PostStoNetRegressor { kind, level, ..PostStoNetRegressor::default() };
        let fitted = fitted.fit(&rows, Seed::new(SEED), &|_, _| true).unwrap();
        let i = fitted.intervals(&new, level, Side::Both).unwrap();
        let judged = &compared.methods.iter().find(|m| m.name == kind.name()).unwrap().judged;
        assert_eq!(judged.coverage.to_bits(), coverage(&i, truth.view()).unwrap().to_bits(), "{kind}");
        assert_eq!(judged.mean_length.to_bits(), mean_length(&i).to_bits(), "{kind}");
        assert_eq!(judged.winkler.to_bits(), winkler(&i, truth.view()).unwrap().to_bits(), "{kind}");
    }
}

#[test]
fn a_comparison_of_probabilities_fits_and_judges_as_fit_and_evaluate_do() {
    let (z, new) = (&features(90, 0) * 3.0, &features(60, 1000) * 3.0);
    let labels = |z: &Array2<f64>| -> Vec<usize> {
        (0..z.nrows()).map(|i| if i % 4 == 0 { i % 3 } else { metrics::top_class(z.row(i)) }).collect()
    };
    let (own, truth) = (labels(&z), labels(&new));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &own, 3).unwrap();
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let test = TestRows { inputs, labels: &truth };
    let names = ["a", "b", "c"].map(str::to_owned);
    let methods = [ClassMethod::Skip, ClassMethod::Temperature, ClassMethod::PostLinear, ClassMethod::Stack];
    let compared = compare(&rows, test, &names, &methods, SEED, &|_, _| true).unwrap();
    for (method, judged) in methods.into_iter().zip(&compared.methods) {
        let settings = PostStoNetClassifier { method, ..PostStoNetClassifier::default() };
        let fitted = settings.fit(&rows, Seed::new(SEED), &|_, _| true).unwrap();
        let p = fitted.probabilities(&inputs).unwrap();
        let evaluated = Seed::new(SEED).child(streams::evaluation::SCORES);
        let report = judge(p.view(), &truth, &JudgeSettings::default(), evaluated).unwrap();
        assert_eq!(judged.nll.to_bits(), report.nll.value.to_bits(), "{method}");
        assert_eq!(judged.scores, Some(report), "{method}");
    }
}

#[test]
fn every_method_has_a_name_of_its_own_and_others_are_refused() {
    for method in Method::ALL {
        assert_eq!(method.name().parse::<Method>().unwrap(), method);
    }
    for name in ["laplac", "", "Stack"] {
        let e = name.parse::<Method>().unwrap_err().to_string();
        assert!(e.contains("split-conformal") && e.contains("laplace"), "{e}");
    }
}
