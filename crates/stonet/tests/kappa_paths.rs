//! What cross-validation saw is kept: curves of the right lengths, choices that follow the rules, and nothing lost in a
//! file.

use ndarray::{Array2, Axis};
use rand_distr::{Distribution, StandardNormal};
use stonet::regression::{Select, StoNetSettings};
use stonet::train::TuningCurve;
use stonet::*;

const KAPPAS: [f64; 3] = [0.001, 0.01, 5.0];

/// Features, a network's prediction and two targets that depend on the first feature.
fn rows() -> [Array2<f64>; 3] {
    let mut rng = Seed::new(5).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((120, 3), &mut normal);
    let signal = features.column(0).insert_axis(Axis(1)).to_owned();
    let y = ndarray::concatenate![Axis(1), signal, 50.0 * &signal]
        + Array2::from_shape_fn((120, 2), |(_, j)| [0.3, 15.0][j] * normal());
    let prediction = Array2::from_shape_fn((120, 2), |(i, j)| y[[i, j]] * 0.5 + [0.3, 15.0][j] * normal());
    [features, prediction, y]
}

fn fit(settings: &PostStoNetRegressor) -> FittedRegressor {
    let [features, prediction, y] = rows();
    let rows = RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(prediction.view()).unwrap();
    settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap()
}

fn quick(kind: Kind) -> PostStoNetRegressor {
    let stonet =
        StoNetSettings { hidden: vec![5], steps: 200, kappas: Some(KAPPAS.to_vec()), ..StoNetSettings::default() };
    PostStoNetRegressor { kind, stonet, folds: 4, ..PostStoNetRegressor::default() }
}

fn argmin(values: &[f64]) -> usize {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

fn shape_is_right(path: &TuningCurve) {
    assert_eq!((path.loss.len(), path.se.len()), (path.values.len(), path.values.len()));
    assert!(path.loss.iter().chain(&path.se).all(|v| v.is_finite() && *v > 0.0), "{path:?}");
    assert_eq!(path.chosen_values().len(), path.chosen.len());
}

#[test]
fn one_path_for_eves_law_by_its_rule() {
    for (select, label) in [(None, "cv"), (Some(Select::OneStandardError), "cv"), (None, "paper")] {
        let kind = if label == "paper" { Kind::Paper } else { Kind::Cv };
        let fitted = fit(&PostStoNetRegressor { select, ..quick(kind) });
        let [path] = fitted.tuning_curves() else { panic!("one path") };
        shape_is_right(path);
        assert_eq!((&*path.label, &path.values[..], &*path.setting), (label, &KAPPAS[..], "kappa"));
        assert!(path.loss_name.starts_with("sum over targets"));
        assert_eq!(path.chosen_values(), [fitted.kappa()]);
        // At the smallest error of both targets together each is about 1; κ = 5 kills every weight, and the signal with
        // it.
        assert!((2.0..2.5).contains(&path.loss[argmin(&path.loss)]) && path.loss[2] > 5.0, "{path:?}");
        let expected = match (&path.coverage, select) {
            (Some(c), _) => argmin(&c.iter().map(|c| (c - 0.9).abs()).collect::<Vec<_>>()),
            (None, None) => argmin(&path.loss),
            (None, Some(_)) => {
                let best = argmin(&path.loss);
                (0..3).rev().find(|&i| path.loss[i] <= path.loss[best] + path.se[best]).unwrap()
            }
        };
        assert_eq!((path.chosen[0], path.coverage.is_some()), (expected, kind == Kind::Paper));
    }
}

#[test]
fn a_path_per_target_and_stonet_member_of_a_stack() {
    for (settings, choices) in [
        (quick(Kind::Stack), 4),
        (PostStoNetRegressor { nested: false, ..quick(Kind::Stack) }, 1),
        (quick(Kind::Split), 1),
        (quick(Kind::CvPlus), 4),
        (quick(Kind::Fast), 0),
    ] {
        let fitted = fit(&settings);
        let labels: Vec<(&str, Option<usize>)> = fitted.tuning_curves().iter().map(|p| (&*p.label, p.output)).collect();
        match settings.kind {
            Kind::Fast => assert!(labels.is_empty()),
            Kind::CvPlus => assert_eq!(labels, [("stonet", Some(0)), ("stonet", Some(1))]),
            _ => assert_eq!(labels, [("stonet", Some(0)), ("skip", Some(0)), ("stonet", Some(1)), ("skip", Some(1))]),
        }
        for path in fitted.tuning_curves() {
            shape_is_right(path);
            assert_eq!((path.chosen.len(), &path.values[..]), (choices, &KAPPAS[..]));
            assert_eq!((&*path.loss_name, path.without.is_some()), ("mean squared error", path.label == "skip"));
            let all: Vec<f64> = path.loss.iter().copied().chain(path.without).collect();
            if choices == 1 {
                assert_eq!(path.chosen[0], argmin(&all), "{path:?}");
            }
            // In the units of the target, whose noise has these variances; the signal's is 1 or 2500.
            let noise = [0.09, 225.0][path.output.unwrap()];
            if path.label == "stonet" {
                assert!(all[argmin(&all)] > 0.5 * noise && all[argmin(&all)] < 3.0 * noise, "{path:?}");
                assert!(path.loss[2] > 4.0 * noise, "{path:?}");
            }
        }
    }
}

#[test]
fn paths_survive_a_file_and_files_without_them_load() {
    let fitted = fit(&quick(Kind::Stack));
    let text = serde_json::to_string(&fitted).unwrap();
    let back: FittedRegressor = serde_json::from_str(&text).unwrap();
    assert_eq!(back, fitted);
    assert_eq!(back.tuning_curves().len(), 4);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["kappa_paths"][0]["chosen"][0] = 3.into();
    assert!(serde_json::from_value::<FittedRegressor>(value.clone()).is_err());
    value.as_object_mut().unwrap().remove("kappa_paths");
    let old: FittedRegressor = serde_json::from_value(value).unwrap();
    assert!(old.tuning_curves().is_empty());
    let model = |f: &FittedRegressor| serde_json::to_value(f).unwrap()["model"].clone();
    assert_eq!(model(&old), model(&fitted));
}

/// A network that is always right leaves nothing to correct in some fits, up to rounding.
#[test]
fn a_perfect_network_is_no_trouble() {
    let [features, _, y] = rows();
    let y = y.mapv(f64::round);
    let rows = RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(y.view()).unwrap();
    let fitted = quick(Kind::Stack).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let new = RegressionInputs::new(features.view()).unwrap().with_prediction(y.view()).unwrap();
    let i = fitted.intervals(&new, Level::new(0.9).unwrap(), Side::Both).unwrap();
    assert!((&i.prediction - &y).iter().all(|d| d.abs() < 1e-9));
}

#[test]
fn members_of_a_classification_with_something_to_choose() {
    let mut rng = Seed::new(6).rng();
    let scores = Array2::from_shape_simple_fn((240, 3), || -> f64 { StandardNormal.sample(&mut rng) });
    let top = |row: ndarray::ArrayView1<'_, f64>| (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    let labels: Vec<usize> =
        scores.outer_iter().enumerate().map(|(i, r)| if i % 4 == 0 { i / 4 % 3 } else { top(r) }).collect();
    let logits = 3.0 * scores;
    let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 3).unwrap();
    use ClassMethod::{PostLinear, Skip, SkipProb, Temperature};
    let members = Some(vec![Temperature, PostLinear, Skip, SkipProb]);
    let mut classifier = PostStoNetClassifier { members, paper_epochs: vec![5, 10], ..Default::default() };
    (classifier.skip.hidden, classifier.skip.asghmc.epochs) = (10, 12);
    let fit = |c: &PostStoNetClassifier| c.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let fitted = fit(&classifier);
    let found: Vec<(&str, &str)> = fitted.tuning_curves().iter().map(|p| (&*p.label, &*p.setting)).collect();
    assert_eq!(found, [("post-linear", "lambda"), ("skip", "kappa"), ("skip-prob", "kappa")]);
    for path in fitted.tuning_curves() {
        shape_is_right(path);
        assert_eq!((&*path.loss_name, path.chosen[0]), ("negative log-likelihood", argmin(&path.loss)));
        if path.setting == "kappa" {
            assert_eq!(path.values, classifier.skip.kappas(3));
        }
        if let Some(notes) = fitted.notes().iter().find(|n| n.method.name() == path.label) {
            assert_eq!(notes.setting, path.chosen_values()[0]);
            assert_eq!(notes.cv_nll, Some(path.loss[path.chosen[0]]));
        }
    }
    let text = serde_json::to_string(&fitted).unwrap();
    assert_eq!(serde_json::from_str::<FittedClassifier>(&text).unwrap(), fitted);
    classifier.method = ClassMethod::Paper;
    let [path] = &fit(&classifier).tuning_curves().to_vec()[..] else { panic!("one path") };
    assert_eq!((&path.values[..], &*path.setting), (&[5.0, 10.0][..], "epochs"));
    classifier.method = Temperature;
    assert!(fit(&classifier).tuning_curves().is_empty());
}

#[test]
fn a_grid_that_is_set_is_kept_by_every_kind_and_one_that_is_not_is_that_of_the_kind() {
    let data = Array2::from_shape_fn((60, 3), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
    let y = data.map_axis(Axis(1), |f| f[0] + 0.4 * (f[1] * 9.0).sin()).insert_axis(Axis(1));
    let rows = RegressionRows::new(data.view(), y.view()).unwrap();
    let grid = |kind: Kind, kappas: Option<Vec<f64>>| {
        let stonet = StoNetSettings { hidden: vec![3], steps: 20, kappas, ..StoNetSettings::default() };
        let settings = PostStoNetRegressor { kind, stonet, folds: 3, ..PostStoNetRegressor::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        // What was in effect is kept; a path may end before its last κ.
        let kept = fitted.settings().stonet.kappas.clone().unwrap();
        assert!(fitted.tuning_curves().iter().all(|p| kept.starts_with(&p.values)), "{kind}");
        kept
    };
    let default = StoNetSettings::default().kappas().to_vec();
    for kind in [Kind::Paper, Kind::Cv, Kind::CvPlus] {
        assert_eq!(grid(kind, Some(default.clone())), default, "{kind}");
        assert_eq!(grid(kind, Some(vec![0.02])), [0.02], "{kind}");
    }
    assert_eq!(grid(Kind::Cv, None), default);
    let paper = grid(Kind::Paper, None);
    assert_eq!((paper.len(), paper[0], paper[10]), (11, 5e-4, 0.1));
}
