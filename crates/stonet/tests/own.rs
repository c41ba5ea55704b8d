//! The network's own uncertainty: heads and baselines that learn from its quantiles or standard deviations.

use ndarray::{Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::metrics::{coverage, mean_length};
use stonet::peers::baseline::{FittedBaseline, OwnQuantiles, OwnSd};
use stonet::rows::OwnKind;
use stonet::{Error, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};

/// A network that knows mean and spread, and whose features know neither.
struct Said {
    features: Array2<f64>,
    mean: Array2<f64>,
    sd: Array2<f64>,
    y: Array2<f64>,
}

fn said(n: usize, seed: u64) -> Said {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let mut next = || -> f64 { draws.next().unwrap() };
    let features = Array2::from_shape_simple_fn((n, 2), &mut next);
    let mean = Array2::from_shape_simple_fn((n, 1), &mut next);
    let sd = Array2::from_shape_simple_fn((n, 1), || (0.8 * next()).exp());
    let noise = Array2::from_shape_simple_fn((n, 1), &mut next);
    let y = &mean + &(&sd * &noise);
    Said { features, mean, sd, y }
}

impl Said {
    fn rows(&self) -> RegressionRows<'_> {
        let rows = RegressionRows::new(self.features.view(), self.y.view()).unwrap();
        rows.with_prediction(self.mean.view()).unwrap()
    }

    fn new_rows(&self) -> RegressionInputs<'_> {
        RegressionInputs::new(self.features.view()).unwrap().with_prediction(self.mean.view()).unwrap()
    }

    /// The 5 and 95 % quantiles.
    fn quantiles(&self) -> (Array2<f64>, Array2<f64>) {
        (&self.mean - &(1.645 * &self.sd), &self.mean + &(1.645 * &self.sd))
    }
}

fn fast() -> PostStoNetRegressor {
    PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() }
}

fn level() -> Level {
    Level::new(0.9).unwrap()
}

/// What the network alone knows comes through: intervals as long as the ideal ones, 2 · 1.645 sd, where nothing else
/// tells the spread.
#[test]
fn a_spread_that_only_the_network_knows_is_used() {
    let (fit, new) = (said(1000, 1), said(2000, 2));
    let (lower, upper) = fit.quantiles();
    let (new_lower, new_upper) = new.quantiles();
    let ideal = 2.0 * 1.645 * new.sd.mean().unwrap();
    let plain = fast().fit(&fit.rows(), Seed::new(1), &|_, _| true).unwrap();
    let plain = plain.intervals(&new.new_rows(), level(), Side::Both).unwrap();
    assert!(mean_length(&plain) > 1.15 * ideal, "{} {ideal}", mean_length(&plain));
    for kind in [OwnKind::Quantiles, OwnKind::Sd] {
        let (rows, inputs) = match kind {
            OwnKind::Quantiles => (
                fit.rows().with_quantiles(lower.view(), upper.view()).unwrap(),
                new.new_rows().with_quantiles(new_lower.view(), new_upper.view()).unwrap(),
            ),
            OwnKind::Sd => (fit.rows().with_sd(fit.sd.view()).unwrap(), new.new_rows().with_sd(new.sd.view()).unwrap()),
        };
        let fitted = fast().fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        assert_eq!(fitted.own(), Some(kind));
        let own: stonet::Intervals = match kind {
            OwnKind::Quantiles => {
                OwnQuantiles.fit(&rows, Seed::new(1), &|_, _| true).unwrap().intervals(&inputs, level()).unwrap()
            }
            OwnKind::Sd => OwnSd.fit(&rows, Seed::new(1), &|_, _| true).unwrap().intervals(&inputs, level()).unwrap(),
        };
        let intervals = fitted.intervals(&inputs, level(), Side::Both).unwrap();
        for (name, i) in [("head", &intervals), ("alone", &own)] {
            // 2,000 new rows, and the quantile of 1,000 has its own error.
            let covered = coverage(i, new.y.view()).unwrap();
            assert!(
                (covered - 0.9).abs() < 4.5 * (0.09f64 / 2000.0 + 0.09 / 1000.0).sqrt(),
                "{name} {kind:?} {covered}"
            );
            assert!((mean_length(i) / ideal - 1.0).abs() < 0.08, "{name} {kind:?} {} {ideal}", mean_length(i));
        }
    }
}

/// Quantiles that cross count in the other order, and where they meet nothing breaks.
#[test]
fn crossing_quantiles_count_in_the_other_order() {
    let (fit, new) = (said(300, 3), said(50, 4));
    let (lower, upper) = fit.quantiles();
    let (new_lower, new_upper) = new.quantiles();
    let head = |lower: &Array2<f64>, upper: &Array2<f64>| {
        let rows = fit.rows().with_quantiles(lower.view(), upper.view()).unwrap();
        fast().fit(&rows, Seed::new(1), &|_, _| true).unwrap()
    };
    let (straight, crossed) = (head(&lower, &upper), head(&upper, &lower));
    let at = |l: &Array2<f64>, u: &Array2<f64>, head: &stonet::FittedRegressor| {
        let rows = new.new_rows().with_quantiles(l.view(), u.view()).unwrap();
        head.intervals(&rows, level(), Side::Both).unwrap()
    };
    assert_eq!(at(&new_lower, &new_upper, &straight), at(&new_upper, &new_lower, &straight));
    assert_eq!(at(&new_lower, &new_upper, &straight), at(&new_lower, &new_upper, &crossed));
    let mut met = upper.clone();
    met.slice_mut(s![..20, ..]).assign(&lower.slice(s![..20, ..]));
    let met = at(&new_lower, &new_lower, &head(&lower, &met));
    assert!(met.lower.iter().zip(&met.upper).all(|(l, u)| l.is_finite() && u.is_finite() && l < u));
    // Quantiles that are one everywhere say nothing about the spread, and their middle is a prediction.
    let one = at(&new_lower, &new_lower, &head(&lower, &lower));
    assert!(one.lower.iter().chain(&one.upper).all(|v| v.is_finite()));
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let data = said(60, 5);
    let fit = |rows: &RegressionRows<'_>, kind: Kind| {
        PostStoNetRegressor { kind, ..fast() }.fit(rows, Seed::new(1), &|_, _| true)
    };
    let mut bad = data.sd.clone();
    bad[[7, 0]] = 0.0;
    let e = data.rows().with_sd(bad.view()).unwrap_err();
    assert_eq!(e, Error::NotPositive { what: "standard deviations", row: 7, column: 0, value: 0.0 });
    bad[[7, 0]] = f64::NAN;
    assert!(matches!(data.rows().with_sd(bad.view()), Err(Error::NotFinite { row: 7, column: 0, .. })));
    assert!(data.rows().with_sd(data.sd.slice(s![..9, ..])).is_err());
    assert!(data.rows().with_sd(data.features.view()).unwrap_err().to_string().contains("standard deviations"));
    let (lower, upper) = data.quantiles();
    let both = data.rows().with_sd(data.sd.view()).unwrap().with_quantiles(lower.view(), upper.view());
    assert!(both.unwrap_err().to_string().contains("not both"));
    let rows = data.rows().with_sd(data.sd.view()).unwrap();
    for kind in [Kind::Paper, Kind::Cv] {
        assert!(fit(&rows, kind).unwrap_err().to_string().contains("own uncertainty"), "{kind}");
    }
    let constant = PostStoNetRegressor { learned_scale: false, ..fast() }.fit(&rows, Seed::new(1), &|_, _| true);
    assert!(constant.unwrap_err().to_string().contains("learned_scale"));
    // New rows need what the fit had, and nothing else.
    let (with, without) = (fit(&rows, Kind::Fast).unwrap(), fit(&data.rows(), Kind::Fast).unwrap());
    let new = data.new_rows();
    assert_eq!(with.predict(&new).unwrap_err(), Error::NoOwn { what: "standard deviations" });
    let quantiles = new.with_quantiles(lower.view(), upper.view()).unwrap();
    assert!(matches!(with.predict(&quantiles), Err(Error::NoOwn { .. })));
    let given = without.predict(&new.with_sd(data.sd.view()).unwrap());
    assert_eq!(given.unwrap_err(), Error::UnusedOwn { what: "standard deviations" });
    assert!(OwnQuantiles.fit(&rows, Seed::new(1), &|_, _| true).is_err());
    // What a head reads behind the checks of rows is checked too.
    let asked = stonet::score::Asked::at(&[level()]);
    let scorer = with.scorer(&asked).unwrap();
    bad[[7, 0]] = -1.0;
    let column = |i: &stonet::score::Input| match i.port {
        stonet::score::Port::Features => data.features.column(i.column),
        stonet::score::Port::Prediction => data.mean.column(0),
        _ => bad.column(0),
    };
    let columns: Vec<_> = scorer.inputs().iter().map(|i| stonet::score::Column::F64(column(i))).collect();
    assert!(matches!(scorer.run(&columns, 60), Err(Error::NotPositive { row: 7, column: 0, .. })));
}

/// Several targets have columns of their own: swapping targets swaps intervals.
#[test]
fn every_target_has_its_own_columns() {
    let (a, b) = (said(200, 6), said(200, 7));
    let beside = |x: &Array2<f64>, y: &Array2<f64>| ndarray::concatenate(Axis(1), &[x.view(), y.view()]).unwrap();
    let intervals = |first: &Said, second: &Said| {
        let (y, mean, sd) =
            (beside(&first.y, &second.y), beside(&first.mean, &second.mean), beside(&first.sd, &second.sd));
        let rows = RegressionRows::new(a.features.view(), y.view()).unwrap().with_prediction(mean.view()).unwrap();
        let fitted = fast().fit(&rows.with_sd(sd.view()).unwrap(), Seed::new(1), &|_, _| true).unwrap();
        let new = RegressionInputs::new(a.features.view()).unwrap().with_prediction(mean.view()).unwrap();
        fitted.intervals(&new.with_sd(sd.view()).unwrap(), level(), Side::Both).unwrap()
    };
    let (one, other) = (intervals(&a, &b), intervals(&b, &a));
    let length = |i: &stonet::Intervals, j: usize| (&i.upper.column(j) - &i.lower.column(j)).mean().unwrap();
    // Folds differ by target, lengths by little.
    assert!((length(&one, 0) / length(&other, 1) - 1.0).abs() < 0.1);
    assert!((length(&one, 1) / length(&other, 0) - 1.0).abs() < 0.1);
}
