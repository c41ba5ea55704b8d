//! Rows in order of time and updates: what `fit` notices, what joins and leaves, exact coverage of a split's window, and
//! levels that follow their misses.

use ndarray::{Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::regression::{Adaptive, Issued, StoNetSettings, UpdateSettings, Way};
use stonet::rows::Order;
use stonet::{Error, FittedRegressor, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};

fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

fn settings(kind: Kind) -> PostStoNetRegressor {
    let stonet = StoNetSettings { steps: 10, kappas: Some(vec![0.05]), hidden: vec![2], ..StoNetSettings::default() };
    PostStoNetRegressor { kind, stonet, split_share: 0.5, ..PostStoNetRegressor::default() }
}

/// Two features and y = x₀ + noise · e, where e depends on the row before it by `rho`.
fn rows(n: usize, noise: f64, rho: f64, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let mut rng = Seed::new(seed).rng();
    let x = Array2::from_shape_simple_fn((n, 2), || StandardNormal.sample(&mut rng));
    let mut e = 0.0;
    let y = x.map_axis(Axis(1), |r| {
        let z: f64 = StandardNormal.sample(&mut rng);
        e = rho * e + (1.0 - rho * rho).sqrt() * z;
        r[0] + noise * e
    });
    (x, y.insert_axis(Axis(1)))
}

fn fit(kind: Kind, x: &Array2<f64>, y: &Array2<f64>, seed: u64) -> FittedRegressor {
    let rows = RegressionRows::new(x.view(), y.view()).unwrap();
    settings(kind).fit(&rows, Seed::new(seed), &|_, _| true).unwrap()
}

fn new(x: &Array2<f64>) -> RegressionInputs<'_> {
    RegressionInputs::new(x.view()).unwrap()
}

fn windowed(head: &FittedRegressor, window: Option<usize>, parts: &[(&Array2<f64>, &Array2<f64>)]) -> FittedRegressor {
    let mut update = head.update(UpdateSettings { window, ..UpdateSettings::default() }).unwrap();
    parts.iter().for_each(|(x, y)| update.add(&new(x), y.view(), &[]).unwrap());
    update.finish().unwrap()
}

#[test]
fn fits_notice_rows_in_order_and_shuffled_rows_do_not_alarm() {
    let (x, y) = rows(300, 1.0, 0.7, 1);
    let head = fit(Kind::Fast, &x, &y, 1);
    assert!(head.looks_ordered().unwrap().correlation > 0.4);
    // The same rows in random order: 80 orders, none of which may alarm at a level of 10⁻⁴.
    let mut rng = Seed::new(5).rng();
    for seed in 0..80 {
        let mut order: Vec<usize> = (0..300).collect();
        rand::seq::SliceRandom::shuffle(&mut order[..], &mut rng);
        let (x, y) = (x.select(Axis(0), &order), y.select(Axis(0), &order));
        let kind = if seed % 8 == 0 { Kind::Split } else { Kind::Fast };
        assert!(fit(kind, &x, &y, seed).looks_ordered().is_none(), "{seed}");
    }
    // Rows that are said to be in order, or to belong together, are not looked at.
    let times: Vec<f64> = (0..300).map(f64::from).collect();
    let order = Order::new(&times, Some(10)).unwrap();
    let in_order = RegressionRows::new(x.view(), y.view()).unwrap().with_order(&order).unwrap();
    let head = settings(Kind::Fast).fit(&in_order, Seed::new(1), &|_, _| true).unwrap();
    assert!(head.looks_ordered().is_none() && head.in_order().unwrap().gap == 10);
    let guarantee = head.guarantee(level(0.9));
    assert!(guarantee.coverage.is_none() && guarantee.text.contains("No finite-sample bound"), "{guarantee}");
}

/// A feature that says where in the series a row lies lets members remember neighbours: shuffled folds then have errors
/// that are far too small, and blocks do not.
#[test]
fn blocks_do_not_let_rows_be_predicted_from_their_neighbours() {
    let n = 400;
    let (_, e) = rows(n, 1.0, 0.98, 3);
    let x = Array2::from_shape_fn((n, 12), |(i, k)| (i as f64 * 0.02 * (k + 1) as f64).sin());
    let times: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let order = Order::new(&times, Some(20)).unwrap();
    let data = RegressionRows::new(x.view(), e.view()).unwrap();
    let length = |rows: &RegressionRows<'_>| {
        let head = settings(Kind::Fast).fit(rows, Seed::new(1), &|_, _| true).unwrap();
        let found = head.intervals(&new(&x), level(0.9), Side::Both).unwrap();
        (&found.upper - &found.lower).mean().unwrap()
    };
    let (shuffled, blocked) = (length(&data), length(&data.with_order(&order).unwrap()));
    assert!(blocked > 1.3 * shuffled, "{blocked} {shuffled}");
}

#[test]
fn what_does_not_go_with_an_order_is_refused() {
    let (x, y) = rows(60, 1.0, 0.0, 1);
    let order = Order::new(&(0..60).map(f64::from).collect::<Vec<_>>(), Some(2)).unwrap();
    let groups: Vec<usize> = (0..60).map(|i| i / 2).collect();
    let data = RegressionRows::new(x.view(), y.view()).unwrap().with_order(&order).unwrap();
    let fit = |kind, rows: &RegressionRows<'_>| settings(kind).fit(rows, Seed::new(1), &|_, _| true).unwrap_err();
    for kind in [Kind::Paper, Kind::Cv] {
        assert!(matches!(fit(kind, &data), Error::Setting { name: "kind", .. }));
    }
    assert!(matches!(fit(Kind::Fast, &data.with_groups(&groups).unwrap()), Error::Setting { name: "time", .. }));
    // A gap that leaves nothing to fit on, and one time alone.
    let wide = Order::new(&(0..60).map(f64::from).collect::<Vec<_>>(), Some(30)).unwrap();
    let data = RegressionRows::new(x.view(), y.view()).unwrap();
    for kind in [Kind::Fast, Kind::Split] {
        assert!(matches!(fit(kind, &data.with_order(&wide).unwrap()), Error::TooFewRows { .. }), "{kind}");
    }
    let once = Order::new(&[1.0; 60], None).unwrap();
    assert!(matches!(fit(Kind::Fast, &data.with_order(&once).unwrap()), Error::TooFewRows { .. }));
    assert!(data.with_order(&Order::new(&[1.0; 59], None).unwrap()).is_err());
}

#[test]
fn two_updates_are_one_and_old_rows_leave() {
    let ((x, y), (x1, y1), (x2, y2)) = (rows(120, 1.0, 0.0, 1), rows(40, 2.0, 0.0, 2), rows(50, 3.0, 0.0, 3));
    for kind in [Kind::Fast, Kind::Stack, Kind::CvPlus, Kind::Split] {
        let head = fit(kind, &x, &y, 1);
        assert!(head.updated().is_none());
        for window in [None, Some(60), Some(110)] {
            let once = windowed(&head, window, &[(&x1, &y1), (&x2, &y2)]);
            let twice = windowed(&windowed(&head, window, &[(&x1, &y1)]), window, &[(&x2, &y2)]);
            assert_eq!(once, twice, "{kind} {window:?}");
            let (updated, before) = (once.updated().unwrap(), head.scored_rows());
            assert_eq!((updated.joined(), updated.window()), (90, window));
            assert_eq!(once.scored_rows(), window.unwrap_or(before + 90).min(before + 90));
            // Files bring it back.
            let text = serde_json::to_string(&once).unwrap();
            assert_eq!(serde_json::from_str::<FittedRegressor>(&text).unwrap(), once);
        }
        // All old rows have left: what they were does not matter.
        let (a, b) = (windowed(&head, Some(50), &[(&x2, &y2)]), windowed(&head, Some(50), &[(&x1, &y1), (&x2, &y2)]));
        let ends = |h: &FittedRegressor| h.intervals(&new(&x1), level(0.9), Side::Both).unwrap();
        if kind == Kind::Split {
            assert_eq!(ends(&a), ends(&b));
        }
        let length = |h: &FittedRegressor| (&ends(h).upper - &ends(h).lower).mean().unwrap();
        assert!(length(&a) > 1.8 * length(&head), "{kind}: {} {}", length(&a), length(&head));
        // Point predictions stay.
        assert_eq!(a.predict(&new(&x1)).unwrap(), head.predict(&new(&x1)).unwrap());
    }
}

/// n scored rows and one more, all from another distribution than those of the fit: coverage of a split's window is
/// ⌈(1 − α)(n + 1)⌉/(n + 1), by a t-test over replications.
#[test]
fn a_window_of_a_split_covers_exactly() {
    const REPLICATIONS: usize = 300;
    let (x, y) = rows(160, 1.0, 0.0, 1);
    let head = fit(Kind::Split, &x, &y, 1);
    let expected = (0.9f64 * 100.0).ceil() / 100.0;
    let coverage: Vec<f64> = (0..REPLICATIONS as u64)
        .map(|r| {
            let ((x, y), (tx, ty)) = (rows(99, 3.0, 0.0, 100 + r), rows(200, 3.0, 0.0, 9000 + r));
            let head = windowed(&head, Some(99), &[(&x, &y)]);
            assert_eq!(head.guarantee(level(0.9)).coverage, Some(0.9));
            let found = head.intervals(&new(&tx), level(0.9), Side::Both).unwrap();
            let hit = |i: usize| found.lower[[i, 0]] <= ty[[i, 0]] && ty[[i, 0]] <= found.upper[[i, 0]];
            (0..200).filter(|&i| hit(i)).count() as f64 / 200.0
        })
        .collect();
    let mean = coverage.iter().sum::<f64>() / REPLICATIONS as f64;
    let sd = (coverage.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (REPLICATIONS as f64 - 1.0)).sqrt();
    let t = (mean - expected) / (sd / (REPLICATIONS as f64).sqrt());
    assert!(t.abs() < 4.0, "{mean} {t}");
}

/// The interval at an adapted level is that of the unadapted head at the level it has come to, and other levels, sides
/// and quantiles are those of the scores.
#[test]
fn an_adapted_level_is_another_level() {
    let ((x, y), (x1, y1)) = (rows(200, 1.0, 0.0, 1), rows(60, 1.4, 0.0, 2));
    for kind in [Kind::Fast, Kind::Split] {
        let head = fit(kind, &x, &y, 1);
        let plain = windowed(&head, None, &[(&x1, &y1)]);
        let issued = head.intervals(&new(&x1), level(0.9), Side::Both).unwrap();
        let (lower, upper) = (issued.lower.column(0).to_vec(), issued.upper.column(0).to_vec());
        let adapt = |method: Adaptive, rate: f64| {
            let settings = UpdateSettings {
                adaptive: Some((method, rate)),
                levels: vec![level(0.9)],
                ..UpdateSettings::default()
            };
            let mut update = head.update(settings).unwrap();
            update.add(&new(&x1), y1.view(), &[Issued { lower: &lower, upper: &upper }]).unwrap();
            update.finish().unwrap()
        };
        let adapted = adapt(Adaptive::Aci, 0.002);
        let track = adapted.level_tracks().unwrap().track(level(0.9)).unwrap();
        let missed = (0..60).filter(|&i| y1[[i, 0]] < lower[i] || y1[[i, 0]] > upper[i]).count();
        assert_eq!((track.rows, track.misses as usize), (60, missed));
        assert!((9..17).contains(&missed), "{missed}");
        let Some(Way::Level(now)) = adapted.level_tracks().unwrap().way(level(0.9)) else { panic!("a level") };
        assert!((1.0 - now.get() - (0.1 + 0.002 * (6.0 - missed as f64))).abs() < 1e-12);
        let ends = |h: &FittedRegressor, l: Level, side| h.intervals(&new(&x), l, side).unwrap();
        let (a, b) = (ends(&adapted, level(0.9), Side::Both), ends(&plain, now, Side::Both));
        assert_eq!((&a.lower, &a.upper), (&b.lower, &b.upper), "{kind}");
        assert_eq!(ends(&adapted, level(0.8), Side::Both), ends(&plain, level(0.8), Side::Both));
        assert_eq!(ends(&adapted, level(0.9), Side::Upper), ends(&plain, level(0.9), Side::Upper));
        let guarantee = adapted.guarantee(level(0.9));
        assert!(guarantee.coverage.is_none() && guarantee.text.contains("long-run mean"), "{guarantee}");
        // Too many misses: the whole line; and PID's scores are larger by as much everywhere.
        let whole = ends(&adapt(Adaptive::Aci, 0.2), level(0.9), Side::Both);
        assert!(whole.lower.iter().all(|l| *l == f64::NEG_INFINITY) && whole.upper.iter().all(|u| *u == f64::INFINITY));
        let pid = adapt(Adaptive::Pid, 0.05);
        let Some(Way::Shifted(by)) = pid.level_tracks().unwrap().way(level(0.9)) else { panic!("shifted") };
        assert!(by > 0.0);
        let c = ends(&pid, level(0.9), Side::Both);
        assert!(
            c.upper.iter().zip(&b.prediction).zip(&ends(&plain, level(0.9), Side::Both).upper).all(|((c, _), p)| c > p)
        );
        let text = serde_json::to_string(&pid).unwrap();
        assert_eq!(serde_json::from_str::<FittedRegressor>(&text).unwrap(), pid);
        // It goes on where it was, and not in another way or without the intervals.
        assert!(matches!(pid.update(UpdateSettings::default()), Err(Error::NoUpdate { .. })));
        let other = UpdateSettings {
            adaptive: Some((Adaptive::Aci, 0.1)),
            levels: vec![level(0.9)],
            ..UpdateSettings::default()
        };
        assert!(matches!(pid.update(other), Err(Error::NoUpdate { .. })));
        let less = UpdateSettings {
            adaptive: Some((Adaptive::Pid, 0.1)),
            levels: vec![level(0.8)],
            ..UpdateSettings::default()
        };
        assert!(matches!(pid.update(less), Err(Error::NoUpdate { .. })));
    }
}

/// A network whose errors grow steadily: the frozen head misses more and more, and adapted levels keep theirs.
#[test]
fn adapted_levels_keep_their_share_of_misses_where_a_frozen_head_does_not() {
    let (x, y) = rows(200, 1.0, 0.0, 1);
    let head = fit(Kind::Fast, &x, &y, 1);
    let (days, per_day) = (150, 20);
    for (method, rate) in [(Adaptive::Aci, 0.02), (Adaptive::Pid, 0.1)] {
        let (mut now, mut misses, mut frozen) = (head.clone(), 0, 0);
        for day in 0..days {
            let (x, y) = rows(per_day, 1.0 + day as f64 / 40.0, 0.0, 50 + day);
            let issued = now.intervals(&new(&x), level(0.9), Side::Both).unwrap();
            let outside = |f: &stonet::Intervals| {
                (0..per_day).filter(|&i| y[[i, 0]] < f.lower[[i, 0]] || y[[i, 0]] > f.upper[[i, 0]]).count()
            };
            misses += outside(&issued);
            frozen += outside(&head.intervals(&new(&x), level(0.9), Side::Both).unwrap());
            let (lower, upper) = (issued.lower.column(0).to_vec(), issued.upper.column(0).to_vec());
            let settings = UpdateSettings {
                adaptive: Some((method, rate)),
                levels: vec![level(0.9)],
                ..UpdateSettings::default()
            };
            let mut update = now.update(settings).unwrap();
            update.add(&new(&x), y.view(), &[Issued { lower: &lower, upper: &upper }]).unwrap();
            now = update.finish().unwrap();
        }
        let all = (days as usize * per_day) as f64;
        assert_eq!(now.level_tracks().unwrap().track(level(0.9)).unwrap().misses as usize, misses);
        assert!((misses as f64 / all - 0.1).abs() < 0.02, "{method}: {}", misses as f64 / all);
        assert!(frozen as f64 / all > 0.25, "{}", frozen as f64 / all);
    }
}

#[test]
fn what_cannot_be_updated_is_refused_in_words() {
    let (x, y) = rows(120, 1.0, 0.0, 1);
    let refused = |head: &FittedRegressor, settings: UpdateSettings| match head.update(settings) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("an update"),
    };
    let head = fit(Kind::Cv, &x, &y, 1);
    assert!(refused(&head, UpdateSettings::default()).contains("Eve"));
    let groups: Vec<usize> = (0..120).map(|i| i / 2).collect();
    let data = RegressionRows::new(x.view(), y.view()).unwrap().with_groups(&groups).unwrap();
    let head = settings(Kind::Fast).fit(&data, Seed::new(1), &|_, _| true).unwrap();
    assert!(refused(&head, UpdateSettings::default()).contains("groups"));
    let head = fit(Kind::Fast, &x, &y, 1);
    assert!(refused(&head, UpdateSettings { window: Some(8), ..UpdateSettings::default() }).contains("window"));
    let rate =
        UpdateSettings { adaptive: Some((Adaptive::Aci, 0.0)), levels: vec![level(0.9)], ..UpdateSettings::default() };
    assert!(refused(&head, rate).contains("rate"));
    let with = |lower: f64, upper: f64| {
        let settings = UpdateSettings {
            adaptive: Some((Adaptive::Aci, 0.01)),
            levels: vec![level(0.9)],
            ..UpdateSettings::default()
        };
        let mut update = head.update(settings).unwrap();
        update.add(&new(&x), y.view(), &[Issued { lower: &[lower; 120], upper: &[upper; 120] }])
    };
    assert!(matches!(with(1.0, 0.0), Err(Error::NotIssued { row: 0, .. })));
    assert!(matches!(with(f64::NAN, 0.0), Err(Error::NotIssued { .. })));
    assert!(with(f64::NEG_INFINITY, f64::INFINITY).is_ok());
}

/// A head that was fitted on a sample counts its scores: rows join, and none leaves.
#[test]
fn rows_join_counted_scores() {
    let (x, y) = rows(400, 1.0, 0.0, 1);
    let part = |from: usize, to: usize| (x.slice(s![from..to, ..]), y.slice(s![from..to, ..]));
    let rows = |from, to| RegressionRows::new(part(from, to).0, part(from, to).1).unwrap();
    let mut one = settings(Kind::Split).fit_sample(&rows(0, 100), Seed::new(1), &|_, _| true).unwrap();
    let mut all = one.clone();
    one.calibrate(&rows(100, 300)).unwrap();
    all.calibrate(&rows(100, 400)).unwrap();
    let (one, all) = (one.finish().unwrap(), all.finish().unwrap());
    let mut update = one.update(UpdateSettings::default()).unwrap();
    update.add(&RegressionInputs::new(part(300, 400).0).unwrap(), part(300, 400).1, &[]).unwrap();
    let updated = update.finish().unwrap();
    assert_eq!(updated.scored_rows(), 300);
    let ends = |h: &FittedRegressor| h.intervals(&new(&x), level(0.9), Side::Both).unwrap();
    assert_eq!(ends(&updated), ends(&all));
    assert!(one.update(UpdateSettings { window: Some(50), ..UpdateSettings::default() }).is_err());
    let text = serde_json::to_string(&updated).unwrap();
    assert_eq!(serde_json::from_str::<FittedRegressor>(&text).unwrap(), updated);
}
