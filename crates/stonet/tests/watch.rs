//! Heads of every kind under watch: false alarms, states that go on, and which calibration rows new ones are ranked among.

use ndarray::{Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::classification::SetScheme;
use stonet::conformal::{LabelPart, SetScore};
use stonet::monitor::{Baseline, ClassMonitor, Family, Monitor, MonitorSettings, Quantity, RegressionMonitor, Watched};
use stonet::regression::StoNetSettings;
use stonet::*;

const ALARM: f64 = 0.1;

fn normal(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    Array2::from_shape_simple_fn((rows, columns), || -> f64 { draws.next().unwrap() })
}

/// Features and targets.
fn rows(n: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let x = normal(n, 4, seed);
    let y = x.map_axis(Axis(1), |r| r[0] - r[1] + (0.4 + 0.3 * r[2].abs()) * r[3]).insert_axis(Axis(1));
    (x.slice(s![.., ..3]).to_owned(), y)
}

fn settings(kind: Kind) -> PostStoNetRegressor {
    let stonet = StoNetSettings { steps: 10, kappas: Some(vec![0.05]), hidden: vec![2], ..StoNetSettings::default() };
    PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() }
}

fn watching(seed: u64) -> MonitorSettings {
    let level = Level::new(0.9).unwrap();
    MonitorSettings { alarm: ALARM, seed: Seed::new(seed), ..MonitorSettings::new(level) }
}

fn baseline(x: &Array2<f64>, y: &Array2<f64>, seed: u64) -> Baseline {
    let watched = Watched { inputs: &[x.view()], targets: Some(y.view()), labels: None, logits: None };
    Baseline::fit(&watched, Seed::new(seed)).unwrap()
}

/// Each family of a CV+ head over 80 streams of 2000 rows. Beyond 20 of them lie with probability below 1e-4 if ten in a
/// hundred were false.
#[test]
fn false_alarms_of_cv_plus_heads_are_as_rare_as_promised() {
    let mut alarms = [0; 2];
    for stream in 0..80 {
        let (x, y) = rows(60, 1000 + stream);
        let cal = RegressionRows::new(x.view(), y.view()).unwrap();
        let head = settings(Kind::Fast).fit(&cal, Seed::new(stream), &|_, _| true).unwrap();
        let kept = baseline(&x, &y, stream);
        let mut watch = RegressionMonitor::new(&head, Some(&kept), watching(stream)).unwrap();
        let (x, y) = rows(2000, 5000 + stream);
        watch.add(&RegressionInputs::new(x.view()).unwrap(), Some(y.view())).unwrap();
        for (count, family) in alarms.iter_mut().zip([Family::Answers, Family::Inputs]) {
            *count += usize::from(watch.state().alarm(family).is_some());
        }
    }
    assert!(alarms.iter().all(|a| *a <= 20), "{alarms:?}");
}

/// Calibration rows of errors by kind of head: none where they helped to choose what judges them.
#[test]
fn only_rows_that_a_model_has_not_seen_are_its_past() {
    let (x, y) = rows(120, 1);
    let cal = RegressionRows::new(x.view(), y.view()).unwrap();
    let groups: Vec<usize> = (0..120).map(|i| i / 4).collect();
    let same = PostStoNetRegressor { nested: false, ..settings(Kind::Fast) };
    let (fast, split, cv) = (settings(Kind::Fast), settings(Kind::Split), settings(Kind::Cv));
    let grouped = RegressionRows::new(x.view(), y.view()).unwrap().with_groups(&groups).unwrap();
    let cases =
        [(&fast, &cal, 120, 5), (&split, &cal, 36, 1), (&same, &cal, 0, 1), (&cv, &cal, 0, 1), (&fast, &grouped, 0, 1)];
    for (settings, rows, past, processes) in cases {
        let head = settings.fit(rows, Seed::new(1), &|_, _| true).unwrap();
        let mut watch = RegressionMonitor::new(&head, None, watching(1)).unwrap();
        let scores = |m: &Monitor| -> Vec<u64> {
            let all = m.processes(Family::Answers).iter();
            all.filter(|p| matches!(p.quantity(), Quantity::Score { .. })).map(|p| p.past()).collect()
        };
        let found = scores(watch.state());
        assert_eq!(
            (found.iter().sum::<u64>(), found.len()),
            (past, processes),
            "{:?} {}",
            settings.kind,
            settings.nested
        );
        watch.add(&RegressionInputs::new(x.view()).unwrap(), Some(y.view())).unwrap();
        assert_eq!((watch.state().rows(), watch.state().answered()), (120, 120));
    }
}

/// Scores that are drawn at random too: a row's draw depends on its number alone.
#[test]
fn states_of_classifiers_do_not_depend_on_batches() {
    let z = normal(300, 3, 7) * 2.0;
    let labels: Vec<usize> = (0..300).map(|i| (i * 7 + usize::from(z[[i, 0]] > 0.0)) % 3).collect();
    let inputs = ClassInputs::logits(z.view()).unwrap();
    let cal = ClassRows::new(inputs, &labels, 3).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let rule = SetScore::Aps { part: LabelPart::Random }.into();
    for scheme in [SetScheme::Split { share: 0.5 }, SetScheme::CvPlus { folds: 3 }] {
        let sets = ClassSets { classifier: classifier.clone(), rule, scheme, ..ClassSets::default() };
        let head = sets.fit(&cal, Seed::new(1), &|_, _| true).unwrap();
        let watched =
            Watched { inputs: &[z.view()], targets: None, labels: Some((&labels, 3)), logits: Some(z.view()) };
        let kept = Baseline::fit(&watched, Seed::new(1)).unwrap();
        let add = |watch: &mut ClassMonitor<'_>, from: usize, to: usize| {
            let part = z.slice(s![from..to, ..]);
            watch.add(&ClassInputs::logits(part).unwrap(), Some(&labels[from..to])).unwrap();
        };
        let mut whole = ClassMonitor::new(&head, Some(&kept), true, watching(3)).unwrap();
        add(&mut whole, 0, 300);
        let mut parts = ClassMonitor::new(&head, Some(&kept), true, watching(3)).unwrap();
        for (from, to) in [(0, 1), (1, 100), (100, 300)] {
            add(&mut parts, from, to);
            let text = serde_json::to_string(parts.state()).unwrap();
            let state: Monitor = serde_json::from_str(&text).unwrap();
            parts = ClassMonitor::resume(&head, Some(&kept), true, state).unwrap();
        }
        assert_eq!(parts.state(), whole.state());
        // Sets that are drawn with the same rule cover as often as the level says, up to chance.
        let (coverage, low, high) = whole.state().coverage()[0].unwrap();
        assert!(low <= coverage && coverage <= high && coverage > 0.8, "{coverage}");
        let (error, low, high) = whole.state().calibration().unwrap().error(0.05).unwrap();
        assert!(low <= error && error <= high, "{low} {error} {high}");
        // Another head has other quantities or another past.
        let other = classifier.fit(&cal, Seed::new(1), &|_, _| true).unwrap();
        assert!(ClassMonitor::resume(&other, Some(&kept), true, whole.state().clone()).is_err());
    }
}

#[test]
fn baselines_come_back_from_files_and_nonsense_is_refused() {
    let (x, y) = rows(200, 3);
    let kept = baseline(&x, &y, 1);
    assert_eq!((kept.rows(), kept.columns()), (150, 3));
    let good = serde_json::to_value(&kept).unwrap();
    assert_eq!(serde_json::from_value::<Baseline>(good.clone()).unwrap(), kept);
    for (key, value) in [
        ("columns", serde_json::json!(4)),
        ("targets", serde_json::json!(u64::MAX)),
        ("lengths", serde_json::json!([15])),
        ("counts", serde_json::json!([])),
        ("scale", serde_json::json!([1.0, -1.0, 1.0])),
        ("outputs", serde_json::json!(true)),
        ("edges", serde_json::json!([0.0])),
    ] {
        let mut broken = good.clone();
        broken[key] = value;
        assert!(serde_json::from_value::<Baseline>(broken).is_err(), "{key}");
    }
}
