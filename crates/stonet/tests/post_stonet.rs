//! Post-StoNet regression: every kind of interval covers, nothing leaks, and awkward input is met with sense.

use ndarray::{Array1, Array2, Axis, array};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::conformal::cv_plus_guarantee;
use stonet::metrics::{coverage, covered, mean_length};
use stonet::regression::{StoNetSettings, seen_in_training};
use stonet::train::{Algorithm, Iro};
use stonet::*;

const REPLICATIONS: u64 = 16;
const NEW: usize = 400;

/// Features, the network's prediction and responses. The network is right but for an error that the features reveal;
/// the noise is constant or grows with the second feature.
struct Rows {
    features: Array2<f64>,
    prediction: Array2<f64>,
    y: Array2<f64>,
}

fn rows(n: usize, heteroscedastic: bool, seed: Seed) -> Rows {
    let mut rng = seed.rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((n, 6), || normal().tanh());
    let (mut y, mut prediction) = (Array2::zeros((n, 1)), Array2::zeros((n, 1)));
    for (i, f) in features.outer_iter().enumerate() {
        let mean = 2.0 * f[0] - f[1] + (2.0 * f[2]).tanh();
        let sd = if heteroscedastic { 0.4 * (1.2 * f[1]).exp() } else { 0.5 };
        y[[i, 0]] = mean + sd * normal();
        prediction[[i, 0]] = mean + 0.4 * f[3] + 0.3 * f[0] + 0.2 * normal();
    }
    Rows { features, prediction, y }
}

impl Rows {
    fn calibration(&self) -> RegressionRows<'_> {
        RegressionRows::new(self.features.view(), self.y.view())
            .unwrap()
            .with_prediction(self.prediction.view())
            .unwrap()
    }

    fn new_rows(&self) -> RegressionInputs<'_> {
        RegressionInputs::new(self.features.view()).unwrap().with_prediction(self.prediction.view()).unwrap()
    }
}

fn quick(kind: Kind) -> PostStoNetRegressor {
    let stonet = StoNetSettings {
        hidden: vec![8],
        steps: 300,
        kappas: Some(vec![0.001, 0.01, 0.1]),
        ..StoNetSettings::default()
    };
    PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() }
}

fn fit(settings: &PostStoNetRegressor, rows: &Rows, seed: u64) -> FittedRegressor {
    settings.fit(&rows.calibration(), Seed::new(seed), &|_, _| true).unwrap()
}

fn level() -> Level {
    Level::new(0.9).unwrap()
}

/// Mean coverage over independent replications and its standard error.
fn replicate(settings: &PostStoNetRegressor, n: usize, heteroscedastic: bool, side: Side) -> (f64, f64) {
    let each: Vec<f64> = (0..REPLICATIONS)
        .map(|r| {
            let seed = Seed::new(77).child(r);
            let (train, test) = (rows(n, heteroscedastic, seed.child(0)), rows(NEW, heteroscedastic, seed.child(1)));
            let intervals = fit(settings, &train, r).intervals(&test.new_rows(), level(), side).unwrap();
            coverage(&intervals, test.y.view()).unwrap()
        })
        .collect();
    let (mean, sd) = metrics::mean_sd(&each);
    (mean, sd / (REPLICATIONS as f64).sqrt())
}

/// t quantile of 15 degrees of freedom at .001 one-sided: a multiplicity correction for the dozen or so cases below.
const T: f64 = 3.73;

#[test]
fn every_kind_covers_what_it_promises() {
    for kind in Kind::ALL {
        for heteroscedastic in [false, true] {
            let (mean, se) = replicate(&quick(kind), 150, heteroscedastic, Side::Both);
            // Gaussian intervals with the training variance are known to fall short; they may do so by the fit's own
            // use of rows.
            let allowed = if kind == Kind::Paper { 0.05 } else { 0.0 };
            assert!(mean >= 0.9 - allowed - T * se, "{kind} {heteroscedastic}: {mean} ({se})");
            assert!(mean <= 0.97 + T * se, "{kind} {heteroscedastic}: {mean} ({se})");
        }
    }
}

#[test]
fn one_sided_bounds_and_the_cheaper_scheme_cover_too() {
    for side in [Side::Lower, Side::Upper] {
        for kind in [Kind::Fast, Kind::Split, Kind::Cv] {
            let (mean, se) = replicate(&quick(kind), 150, false, side);
            assert!(mean >= 0.9 - T * se && mean <= 0.96 + T * se, "{kind} {side:?}: {mean} ({se})");
        }
    }
    let same = PostStoNetRegressor { nested: false, ..quick(Kind::Stack) };
    let (mean, se) = replicate(&same, 150, true, Side::Both);
    assert!(mean >= 0.9 - 0.01 - T * se, "{mean} ({se})");
    assert!(fit(&same, &rows(150, true, Seed::new(1)), 1).guarantee(level()).coverage.is_none());
}

/// Coverage of the fifth of the rows whose noise is largest.
fn noisiest_fifth(i: &Intervals, rows: &Rows) -> f64 {
    let mut order: Vec<usize> = (0..rows.y.nrows()).collect();
    order.sort_by(|&a, &b| rows.features[[b, 1]].total_cmp(&rows.features[[a, 1]]));
    let hits = covered(i, rows.y.view()).unwrap();
    let fifth = order.len() / 5;
    order[..fifth].iter().filter(|&&r| hits[[r, 0]]).count() as f64 / fifth as f64
}

#[test]
fn a_learned_scale_widens_intervals_where_the_noise_is() {
    let (mut learned, mut constant) = ((0.0, 0.0), (0.0, 0.0));
    for r in 0..6 {
        let (train, test) = (rows(600, true, Seed::new(r)), rows(2000, true, Seed::new(100 + r)));
        for (scale, out) in [(true, &mut learned), (false, &mut constant)] {
            let settings = PostStoNetRegressor { learned_scale: scale, ..quick(Kind::Fast) };
            let i = fit(&settings, &train, r).intervals(&test.new_rows(), level(), Side::Both).unwrap();
            out.0 += noisiest_fifth(&i, &test) / 6.0;
            out.1 += mean_length(&i) / 6.0;
        }
    }
    // 2400 rows at 90 % have sd .0061, and the quantile of 600 calibration rows adds .012.
    assert!(learned.0 > 0.9 - 0.05 - 4.5 * 0.0135, "{learned:?} {constant:?}");
    assert!(constant.0 < learned.0 - 4.5 * 0.0135 && learned.1 < constant.1, "{learned:?} {constant:?}");
}

#[test]
fn results_depend_on_the_seed_and_not_on_threads_or_blocks() {
    let (train, test) = (rows(120, true, Seed::new(1)), rows(50, true, Seed::new(2)));
    for kind in Kind::ALL {
        let on = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let fitted = fit(&quick(kind), &train, seed);
                let whole = fitted.intervals(&test.new_rows(), level(), Side::Both).unwrap();
                (fitted, whole)
            })
        };
        let (fitted, whole) = on(1, 5);
        assert_eq!(whole, on(3, 5).1, "{kind}");
        assert_ne!(whole, on(2, 6).1, "{kind}");
        // Row by row, and after a round trip through a file.
        let text = serde_json::to_string(&fitted).unwrap();
        let read: FittedRegressor = serde_json::from_str(&text).unwrap();
        assert_eq!(read, fitted);
        let (features, prediction) =
            (test.features.slice(ndarray::s![7..8, ..]), test.prediction.slice(ndarray::s![7..8, ..]));
        let one = RegressionInputs::new(features).unwrap().with_prediction(prediction).unwrap();
        let one = read.intervals(&one, level(), Side::Both).unwrap();
        assert!((one.lower[[0, 0]] - whole.lower[[7, 0]]).abs() < 1e-9, "{kind}");
    }
}

#[test]
fn without_the_networks_prediction_the_stack_has_what_remains() {
    let (train, test) = (rows(150, false, Seed::new(3)), rows(300, false, Seed::new(4)));
    let calibration = RegressionRows::new(train.features.view(), train.y.view()).unwrap();
    let fitted = quick(Kind::Stack).fit(&calibration, Seed::new(1), &|_, _| true).unwrap();
    assert!(!fitted.needs_prediction());
    let weights = fitted.weights().unwrap()[0];
    assert!(weights[1] == 0.0 && weights[3] == 0.0 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{weights:?}");
    let new = RegressionInputs::new(test.features.view()).unwrap();
    fitted.intervals(&new, level(), Side::Both).unwrap();
    // Fitted with predictions, it asks for them.
    let with = fit(&quick(Kind::Fast), &train, 1);
    assert!(with.needs_prediction());
    assert!(matches!(with.intervals(&new, level(), Side::Both), Err(Error::NoPrediction { .. })));
}

#[test]
fn several_outputs_by_themselves_and_jointly() {
    let (train, test) = (rows(200, false, Seed::new(5)), rows(500, false, Seed::new(6)));
    let two = |r: &Rows| ndarray::concatenate![Axis(1), r.y, r.y.mapv(|v| 3.0 - 2.0 * v)];
    let (y, truth) = (two(&train), two(&test));
    let calibration = RegressionRows::new(train.features.view(), y.view()).unwrap();
    for kind in [Kind::Fast, Kind::Cv, Kind::Split] {
        let fitted = quick(kind).fit(&calibration, Seed::new(1), &|_, _| true).unwrap();
        assert_eq!(fitted.outputs(), 2);
        let new = RegressionInputs::new(test.features.view()).unwrap();
        let each = fitted.intervals(&new, level(), Side::Both).unwrap();
        let joint = fitted.joint_intervals(&new, level(), Side::Both).unwrap();
        assert!(each.lower.iter().zip(&joint.lower).all(|(a, b)| a >= b));
        let hits = covered(&joint, truth.view()).unwrap();
        let both = hits.outer_iter().filter(|h| h.iter().all(|&h| h)).count() as f64 / 500.0;
        // Binomial sd .013 of the test rows and as much of the calibration rows.
        assert!(both > 0.9 - 4.5 * 0.02, "{kind}: {both}");
    }
}

/// Rows of a group share an error. Folds that split groups see it before they judge it; folds that keep them whole do
/// not.
#[test]
fn groups_are_kept_whole_and_count_as_one() {
    let mut missed = [0.0, 0.0];
    let replications = 12;
    for r in 0..replications {
        let mut rng = Seed::new(300 + r).rng();
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut draw = |count: usize| {
            let (mut features, mut y, mut groups) = (Vec::new(), Vec::new(), Vec::new());
            for g in 0..count {
                let (place, effect) = ([normal(), normal(), normal()], normal());
                for _ in 0..8 {
                    // The features tell the group, and with it the effect, to whoever has seen it.
                    features.extend(place.iter().map(|p| p + 0.01 * normal()));
                    y.push(effect + 0.2 * normal());
                    groups.push(g);
                }
            }
            (Array2::from_shape_vec((8 * count, 3), features).unwrap(), Array1::from(y).insert_axis(Axis(1)), groups)
        };
        let ((x, y, groups), (test, truth, _)) = (draw(40), draw(40));
        for (whole, missed) in [false, true].into_iter().zip(&mut missed) {
            let mut rows = RegressionRows::new(x.view(), y.view()).unwrap();
            if whole {
                rows = rows.with_groups(&groups).unwrap();
            }
            let settings = PostStoNetRegressor { learned_scale: false, ..quick(Kind::CvPlus) };
            let fitted = settings.fit(&rows, Seed::new(r), &|_, _| true).unwrap();
            let i = fitted.intervals(&RegressionInputs::new(test.view()).unwrap(), level(), Side::Both).unwrap();
            *missed += (1.0 - coverage(&i, truth.view()).unwrap()) / replications as f64;
            assert_eq!(fitted.guarantee(level()).text.contains("group"), whole);
        }
    }
    // 12 × 40 groups at 10 %: sd √(.09/480) = .014.
    assert!(missed[1] < 0.1 + 4.5 * 0.014, "{missed:?}");
    assert!(missed[0] > missed[1], "{missed:?}");
}

#[test]
fn guarantees_say_what_holds() {
    let train = rows(100, false, Seed::new(1));
    let of = |kind: Kind| fit(&quick(kind), &train, 1).guarantee(level());
    assert_eq!(of(Kind::Split).coverage, Some(0.9));
    let nested = of(Kind::Fast);
    assert!((nested.coverage.unwrap() - cv_plus_guarantee(100, 5, level())).abs() < 1e-12);
    assert!(nested.text.contains("if the network was not trained on the calibration rows"), "{nested}");
    assert!(of(Kind::Cv).coverage.is_none());
    // Too few rows for the level: said, and the interval is the whole line.
    let few = fit(&quick(Kind::Fast), &rows(30, false, Seed::new(2)), 1);
    let high = Level::new(0.99).unwrap();
    assert!(few.guarantee(high).text.contains("below 99"), "{}", few.guarantee(high));
    let i = few.intervals(&train.new_rows(), high, Side::Both).unwrap();
    assert!(i.lower.iter().all(|&l| l == f64::NEG_INFINITY) && i.upper.iter().all(|&u| u == f64::INFINITY));
    assert!(seen_in_training(1.0, 1.01).is_some() && seen_in_training(1.0, 1.3).is_none());
}

#[test]
fn awkward_input_is_met_with_sense() {
    let train = rows(60, false, Seed::new(1));
    let tick = |_: usize, _: usize| true;
    // More features than rows, a constant feature, and a repeated one.
    let mut wide = Array2::from_shape_fn((60, 80), |(i, j)| train.features[[i, j % 6]] * (1.0 + j as f64 / 80.0));
    wide.column_mut(3).fill(7.0);
    let rows_wide = RegressionRows::new(wide.view(), train.y.view()).unwrap();
    for kind in Kind::ALL {
        let fitted = quick(kind).fit(&rows_wide, Seed::new(1), &tick).unwrap();
        let i = fitted.intervals(&RegressionInputs::new(wide.view()).unwrap(), level(), Side::Both).unwrap();
        assert!(i.prediction.iter().all(|p| p.is_finite()), "{kind}");
    }
    let constant = Array2::from_elem((60, 1), 2.0);
    let e = RegressionRows::new(train.features.view(), constant.view()).unwrap();
    let e = quick(Kind::Stack).fit(&e, Seed::new(1), &tick).unwrap_err();
    assert_eq!(e, Error::ConstantTarget { column: 0, value: 2.0 });
    let few = train.features.slice(ndarray::s![..7, ..]);
    let y = train.y.slice(ndarray::s![..7, ..]);
    let e = quick(Kind::Stack).fit(&RegressionRows::new(few, y).unwrap(), Seed::new(1), &tick).unwrap_err();
    assert!(e.to_string().contains("fewer folds"), "{e}");
    assert!(RegressionRows::new(few, train.y.view()).is_err());
    assert!(RegressionRows::new(array![[f64::NAN]].view(), array![[1.0]].view()).is_err());
    let e = train.calibration().with_prediction(few).unwrap_err();
    assert!(e.to_string().contains("predictions"), "{e}");
    let fitted = fit(&quick(Kind::Fast), &train, 1);
    assert!(fitted.intervals(&RegressionInputs::new(wide.view()).unwrap(), level(), Side::Both).is_err());
    assert!("stacked".parse::<Kind>().unwrap_err().to_string().contains("cv+"));
    // A stop is obeyed.
    let e = quick(Kind::Stack).fit(&train.calibration(), Seed::new(1), &|done, _| done < 3).unwrap_err();
    assert!(matches!(e, Error::Cancelled(_)), "{e}");
}

/// All three trainers stand behind every kind that has a StoNet.
#[test]
fn every_trainer_serves_the_pipeline() {
    let (train, test) = (rows(150, false, Seed::new(8)), rows(400, false, Seed::new(9)));
    for algorithm in Algorithm::ALL {
        for kind in [Kind::Cv, Kind::CvPlus] {
            let mut settings = quick(kind);
            settings.stonet.algorithm = algorithm;
            settings.stonet.iro = Iro { iterations: 10, kappa: 0.01, ..Iro::default() };
            let i = fit(&settings, &train, 1).intervals(&test.new_rows(), level(), Side::Both).unwrap();
            // Binomial sd .015 of the test rows and .025 of the calibration rows.
            let c = coverage(&i, test.y.view()).unwrap();
            assert!(c > 0.9 - 4.5 * 0.029, "{algorithm} {kind}: {c}");
        }
    }
}

/// Test targets are no argument of anything; what could leak is the order of calibration rows, and it must not matter
/// much.
#[test]
fn permuting_test_targets_changes_no_interval() {
    let (train, mut test) = (rows(120, true, Seed::new(1)), rows(60, true, Seed::new(2)));
    let fitted = fit(&quick(Kind::Stack), &train, 3);
    let before = fitted.intervals(&test.new_rows(), level(), Side::Both).unwrap();
    let mut rng = Seed::new(9).rng();
    test.y.mapv_inplace(|_| rng.random());
    assert_eq!(before, fitted.intervals(&test.new_rows(), level(), Side::Both).unwrap());
}

#[test]
fn nested_fits_need_three_folds() {
    let train = rows(60, false, Seed::new(1));
    for kind in [Kind::Stack, Kind::Fast, Kind::CvPlus] {
        let settings = PostStoNetRegressor { folds: 2, ..quick(kind) };
        let e = settings.fit(&train.calibration(), Seed::new(1), &|_, _| true).unwrap_err();
        assert!(e.to_string().contains("at least 3"), "{kind}: {e}");
        let same = PostStoNetRegressor { nested: false, ..settings };
        assert!(same.fit(&train.calibration(), Seed::new(1), &|_, _| true).is_ok(), "{kind}");
    }
}

/// Known bounds cut predictions and ends of every kind and side, and nothing else changes.
#[test]
fn known_bounds_of_the_target_cut_predictions_and_ends() {
    let mut draws = StandardNormal.sample_iter(Seed::new(31).rng());
    let x: Array2<f64> = Array2::from_shape_simple_fn((160, 3), || draws.next().unwrap());
    let y = x.map_axis(Axis(1), |r| (0.8 * r[0] + 0.5 * draws.next().unwrap()).exp()).insert_axis(Axis(1));
    let (rows, new) = (RegressionRows::new(x.view(), y.view()).unwrap(), RegressionInputs::new(x.view()).unwrap());
    let stonet = StoNetSettings { hidden: vec![3], steps: 60, kappas: Some(vec![0.01]), ..StoNetSettings::default() };
    for kind in Kind::ALL {
        let plain = PostStoNetRegressor { kind, stonet: stonet.clone(), ..PostStoNetRegressor::default() };
        let bounded =
            PostStoNetRegressor { y_low: Some(0.0), y_high: Some(y.fold(0.0, |a, &b| b.max(a))), ..plain.clone() };
        let (low, high) = (bounded.y_low.unwrap(), bounded.y_high.unwrap());
        let [plain, bounded] = [plain, bounded].map(|s| s.fit(&rows, Seed::new(3), &|_, _| true).unwrap());
        for side in [Side::Both, Side::Lower, Side::Upper] {
            let level = Level::new(0.9).unwrap();
            let [wide, cut] = [&plain, &bounded].map(|f| f.intervals(&new, level, side).unwrap());
            let clamped =
                |a: &Array2<f64>, infinite: bool| if infinite { a.clone() } else { a.mapv(|v| v.clamp(low, high)) };
            assert_eq!(cut.prediction, clamped(&wide.prediction, false), "{kind}");
            assert_eq!(cut.lower, clamped(&wide.lower, side == Side::Upper), "{kind} {side:?}");
            assert_eq!(cut.upper, clamped(&wide.upper, side == Side::Lower), "{kind} {side:?}");
            assert!(side != Side::Both || wide.lower.iter().any(|v| *v < low), "{kind}: nothing was cut");
        }
        // A file keeps the bounds.
        let read: FittedRegressor = serde_json::from_str(&serde_json::to_string(&bounded).unwrap()).unwrap();
        assert_eq!(read.predict(&new).unwrap(), bounded.predict(&new).unwrap());
    }
    let fit = |y_low, y_high| {
        PostStoNetRegressor { kind: Kind::Fast, y_low, y_high, ..PostStoNetRegressor::default() }
            .fit(&rows, Seed::new(3), &|_, _| true)
            .unwrap_err()
            .to_string()
    };
    assert!(fit(Some(1.0), None).contains("outside of the known range from 1 to inf"));
    assert!(fit(Some(3.0), Some(2.0)).contains("y_low must be below y_high, but is 3"));
    assert!(fit(None, Some(f64::NAN)).contains("y_high must be a finite number"));
}
