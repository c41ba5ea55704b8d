//! Numbers of any magnitude give finite results or an error with its place, and offsets of the target shift its
//! intervals.

use ndarray::{Array2, ArrayView2, Axis, s};
use stonet::classification::SkipSettings;
use stonet::peers::baseline::{
    Cqr, FittedBaseline, Laplace, NetworkRefit, Normalised, PostLinear, SmallNetwork, SplitConformal,
};
use stonet::regression::StoNetSettings;
use stonet::train::Asghmc;
use stonet::*;

const ROWS: usize = 64;
const MAGNITUDES: [f64; 6] = [1e-308, 1e-200, 1.0, 1e200, 1e300, 1e308];

fn level() -> Level {
    Level::new(0.8).unwrap()
}

#[derive(Clone)]
struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    d: Array2<f64>,
}

/// Three features, a target and a prediction of it, all below 1.7, so that none becomes infinite at 1e308.
fn rows() -> Rows {
    let x = Array2::from_shape_fn((ROWS, 3), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
    let y = x.map_axis(Axis(1), |f| 0.7 * f[0] + 0.3 * (f[1] * 9.0).sin()).insert_axis(Axis(1));
    Rows { d: x.slice(s![.., ..1]).mapv(|v| 0.8 * v), x, y }
}

/// Rows in which some columns have another magnitude, and what they are called.
fn cases() -> Vec<(String, Rows)> {
    let mut all = Vec::new();
    for m in MAGNITUDES {
        let base = rows();
        all.push((format!("features at {m:e}"), Rows { x: &base.x * m, ..base.clone() }));
        all.push((format!("targets at {m:e}"), Rows { y: &base.y * m, ..base.clone() }));
        all.push((format!("predictions at {m:e}"), Rows { d: &base.d * m, ..base.clone() }));
        all.push((format!("all at {m:e}"), Rows { x: &base.x * m, y: &base.y * m, d: &base.d * m }));
        let mut mixed = base.clone();
        mixed.x.column_mut(1).mapv_inplace(|v| v * m);
        mixed.x[[5, 2]] = m;
        all.push((format!("a column and an entry at {m:e}"), mixed));
    }
    all
}

/// The columns as logits or as features.
fn inputs_of<'a>(kind: &str, a: ArrayView2<'a, f64>) -> ClassInputs<'a> {
    if kind == "logits" { ClassInputs::logits(a).unwrap() } else { ClassInputs::features(a).unwrap() }
}

/// An error that says where the number is.
fn has_place(e: &Error) -> bool {
    matches!(e, Error::Magnitude { .. } | Error::SmallRange { .. } | Error::Unbounded { .. })
}

fn finite(i: &Intervals) -> bool {
    [&i.prediction, &i.lower, &i.upper].into_iter().flatten().all(|v| v.is_finite())
}

/// Finite intervals for new rows of every magnitude, or an error with its place.
fn predicts_soundly(what: &str, intervals: impl Fn(&RegressionInputs<'_>) -> Result<Intervals>) {
    for (case, new) in cases() {
        let rows = RegressionInputs::new(new.x.view()).unwrap().with_prediction(new.d.view()).unwrap();
        match intervals(&rows) {
            Ok(i) => assert!(finite(&i), "{what}, then {case}: {i:?}"),
            Err(e) => assert!(matches!(e, Error::Unbounded { .. }), "{what}, then {case}: {e}"),
        }
    }
}

fn quick(kind: Kind) -> PostStoNetRegressor {
    let stonet =
        StoNetSettings { hidden: vec![4], steps: 40, kappas: Some(vec![0.01, 0.1]), ..StoNetSettings::default() };
    PostStoNetRegressor { kind, stonet, folds: 3, ..PostStoNetRegressor::default() }
}

#[test]
fn intervals_of_every_kind_are_finite_or_an_error_with_its_place() {
    for kind in Kind::ALL {
        let mut refused = Vec::new();
        for (case, rows) in cases() {
            let what = format!("{kind}: {case}");
            let all =
                RegressionRows::new(rows.x.view(), rows.y.view()).unwrap().with_prediction(rows.d.view()).unwrap();
            match quick(kind).fit(&all, Seed::new(1), &|_, _| true) {
                Ok(fitted) => {
                    predicts_soundly(&what, |new| fitted.intervals(new, level(), Side::Both));
                    let new = RegressionInputs::new(rows.x.view()).unwrap().with_prediction(rows.d.view()).unwrap();
                    let own = fitted.intervals(&new, level(), Side::Both);
                    assert!(own.is_ok_and(|i| finite(&i)), "{what}: its own rows");
                    assert!(fitted.predict(&new).is_ok_and(|p| p.iter().all(|v| v.is_finite())), "{what}");
                }
                Err(e) => {
                    assert!(has_place(&e), "{what}: {e}");
                    refused.push(case);
                }
            }
        }
        for fine in ["features at 1e200", "features at 1e-200", "features at 1e0", "a column and an entry at 1e200"] {
            // `paper` judges κ by intervals of held-out rows, which are not clipped.
            let alone = kind == Kind::Paper && fine.contains("entry");
            assert!(alone || !refused.iter().any(|r| r == fine), "{kind}: {refused:?}");
        }
        for bad in ["targets at 1e200", "targets at 1e308", "targets at 1e-308", "features at 1e308"] {
            assert!(refused.iter().any(|r| r == bad), "{kind}: {refused:?}");
        }
    }
}

#[test]
fn intervals_of_every_baseline_are_finite_or_an_error_with_its_place() {
    let network = || SmallNetwork { steps: 40, ..SmallNetwork::default() };
    type Fit = (&'static str, fn(&RegressionRows<'_>, SmallNetwork) -> Result<Box<dyn FittedBaseline>>);
    let baselines: [Fit; 6] = [
        ("split", |rows, _| Ok(Box::new(SplitConformal.fit(rows, Seed::new(1), &|_, _| true)?))),
        ("normalised", |rows, _| Ok(Box::new(Normalised::default().fit(rows, Seed::new(1), &|_, _| true)?))),
        ("cqr", |rows, network| Ok(Box::new(Cqr { network }.fit(rows, level(), Seed::new(1), &|_, _| true)?))),
        ("post-linear", |rows, _| Ok(Box::new(PostLinear::default().fit(rows, Seed::new(1), &|_, _| true)?))),
        ("refit", |rows, network| Ok(Box::new(NetworkRefit { network }.fit(rows, Seed::new(1), &|_, _| true)?))),
        ("laplace", |rows, _| Ok(Box::new(Laplace.fit(rows, Seed::new(1), &|_, _| true)?))),
    ];
    for (name, fit) in baselines {
        for (case, rows) in cases() {
            let what = format!("{name}: {case}");
            let all =
                RegressionRows::new(rows.x.view(), rows.y.view()).unwrap().with_prediction(rows.d.view()).unwrap();
            match fit(&all, network()) {
                Ok(fitted) => predicts_soundly(&what, |new| fitted.intervals(new, level())),
                Err(e) => assert!(has_place(&e), "{what}: {e}"),
            }
        }
    }
}

#[test]
fn probabilities_of_every_method_are_finite_or_an_error_with_its_place() {
    let z = &rows().x * 3.0;
    let labels: Vec<usize> = (0..ROWS).map(|i| if i % 4 == 0 { i % 3 } else { metrics::top_class(z.row(i)) }).collect();
    let finite = |p: &Array2<f64>| p.iter().all(|v| v.is_finite());
    let asghmc = Asghmc { epochs: 8, ..SkipSettings::default().asghmc };
    let skip = SkipSettings { hidden: 4, asghmc, ..SkipSettings::default() };
    let mut inputs: Vec<(String, Array2<f64>)> = Vec::new();
    for m in [1e-308, 1e-200, 1.0, 1e50, 1e99, 1e200, 5e307] {
        inputs.push((format!("all at {m:e}"), &z * m));
        let mut mixed = z.clone();
        mixed.column_mut(1).mapv_inplace(|v| v * m);
        inputs.push((format!("a column at {m:e}"), mixed));
    }
    for method in ClassMethod::ALL {
        let settings = PostStoNetClassifier { method, skip: skip.clone(), paper_epochs: vec![2], ..Default::default() };
        for kind in ["logits", "features"] {
            for (case, a) in &inputs {
                let rows = ClassRows::new(inputs_of(kind, a.view()), &labels, 3).unwrap();
                let fitted = match settings.fit(&rows, Seed::new(1), &|_, _| true) {
                    Ok(fitted) => fitted,
                    Err(e) => {
                        let two = method == ClassMethod::VennAbers && matches!(e, Error::Setting { .. });
                        let absent = matches!(e, Error::NoLogits { .. }) && kind == "features"
                            || matches!(e, Error::NeedsFeatures { .. })
                            || two;
                        assert!(absent || has_place(&e), "{method}: {kind} {case}: {e}");
                        continue;
                    }
                };
                for (then, b) in &inputs {
                    match fitted.probabilities(&inputs_of(kind, b.view())) {
                        Ok(p) => assert!(finite(&p), "{method}: {kind} {case}, then {then}"),
                        Err(e) => {
                            assert!(matches!(e, Error::Unbounded { .. }), "{method}: {kind} {case}, then {then}: {e}")
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn features_in_other_units_give_the_same_intervals() {
    let base = rows();
    let intervals = |unit: f64, kind| {
        let x = &base.x * unit;
        let all = RegressionRows::new(x.view(), base.y.view()).unwrap().with_prediction(base.d.view()).unwrap();
        let fitted = quick(kind).fit(&all, Seed::new(1), &|_, _| true).unwrap();
        let new = RegressionInputs::new(x.view()).unwrap().with_prediction(base.d.view()).unwrap();
        fitted.intervals(&new, level(), Side::Both).unwrap()
    };
    for kind in Kind::ALL {
        let plain = intervals(1.0, kind);
        for exponent in [-900, -600, 600, 900] {
            let other = intervals(2f64.powi(exponent), kind);
            let apart = (&plain.upper - &other.upper).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            assert!(apart < 1e-9, "{kind}, 2^{exponent}: {apart}");
        }
    }
}

#[test]
fn a_bad_target_is_named_and_not_the_features() {
    let base = rows();
    let fit = |y: &Array2<f64>| {
        let all = RegressionRows::new(base.x.view(), y.view()).unwrap();
        quick(Kind::Fast).fit(&all, Seed::new(1), &|_, _| true).map(|_| ()).unwrap_err()
    };
    let two = |m: f64| ndarray::concatenate![Axis(1), base.y, &base.y * m];
    let e = fit(&two(1e200));
    assert!(matches!(e, Error::Magnitude { what: "targets", column: 1, .. }), "{e}");
    assert!(e.to_string().contains("targets: row") && e.to_string().contains("divide the column"), "{e}");
    let e = fit(&two(1e-200));
    assert!(matches!(e, Error::SmallRange { column: 1, .. }), "{e}");
    let e = fit(&two(0.0));
    assert!(matches!(e, Error::ConstantTarget { column: 1, .. }), "{e}");
}

/// Multiples of 1/64, so that an offset of 1e14 rounds nothing, with a mean near zero.
fn shifted(offset: f64) -> Rows {
    let n = 240;
    let x = Array2::from_shape_fn((n, 3), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin() + 0.1 * (i % 7) as f64);
    let round = |v: f64| (64.0 * v).round() / 64.0;
    let y: Array2<f64> = x
        .outer_iter()
        .enumerate()
        .map(|(i, f)| 20.0 * f[0] + (8.0 + 6.0 * f[1]) * ((i * i) as f64 * 0.71).sin())
        .collect::<ndarray::Array1<f64>>()
        .insert_axis(Axis(1));
    let mean = y.mean().unwrap();
    let y = y.mapv(|v| round(v - mean) + offset);
    let d = x.column(0).mapv(|v| round(17.0 * v) + offset).insert_axis(Axis(1));
    Rows { x, y, d }
}

#[test]
fn an_offset_of_the_target_shifts_its_intervals() {
    let intervals = |kind, symmetric, offset: f64| {
        let rows = shifted(offset);
        let all = RegressionRows::new(rows.x.view(), rows.y.view()).unwrap().with_prediction(rows.d.view()).unwrap();
        let mut settings = quick(kind);
        settings.stonet.kappas = Some(vec![0.01]);
        settings.symmetric = symmetric;
        let fitted = settings.fit(&all, Seed::new(1), &|_, _| true).unwrap();
        let new = RegressionInputs::new(rows.x.view()).unwrap().with_prediction(rows.d.view()).unwrap();
        let i = fitted.intervals(&new, level(), Side::Both).unwrap();
        (i.lower.mapv(|v| v - offset), i.upper.mapv(|v| v - offset))
    };
    // The shape of two-sided intervals has one of five penalties; where two of them are nearly as good, rounding may
    // choose the other.
    let cases = Kind::ALL.into_iter().flat_map(|kind| [(kind, true, 0.02), (kind, false, 0.04)]);
    for (kind, symmetric, most_allowed) in cases {
        let (lower, upper) = intervals(kind, symmetric, 0.0);
        let length = (&upper - &lower).mean().unwrap();
        for offset in [1e14, -1e14] {
            let (l, u) = intervals(kind, symmetric, offset);
            let apart = |a: &Array2<f64>, b: &Array2<f64>| (a - b).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            // One unit in the last place of 1e14 is 1/64; means and fits round a few times.
            let most = apart(&lower, &l).max(apart(&upper, &u));
            assert!(most < most_allowed * length, "{kind} at {offset:e}: {most} of {length}");
        }
    }
}

#[test]
fn too_few_groups_are_not_called_rows() {
    let base = rows();
    let groups: Vec<usize> = (0..ROWS).map(|i| i % 3).collect();
    for kind in Kind::ALL {
        let all = RegressionRows::new(base.x.view(), base.y.view()).unwrap().with_groups(&groups).unwrap();
        let settings = PostStoNetRegressor { folds: 5, split_share: 0.9, ..quick(kind) };
        let e = settings.fit(&all, Seed::new(1), &|_, _| true).unwrap_err().to_string();
        assert!(
            e.contains("groups of rows, but there are") && !e.contains("rows, but there are 3 rows"),
            "{kind}: {e}"
        );
    }
    let all = RegressionRows::new(base.x.view(), base.y.view()).unwrap().with_groups(&groups).unwrap();
    let e = PostLinear::default().fit(&all, Seed::new(1), &|_, _| true).unwrap_err().to_string();
    assert!(e.contains("at least 4 groups of rows, but there are 3"), "{e}");
}
