//! Quantiles and P(y ≤ t) over independent replications: new calibration rows and one new row each time.

use ndarray::Array2;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;
use stonet::regression::StoNetSettings;
use stonet::*;

const REPLICATIONS: u64 = 1500;
const ROWS: usize = 90;

/// Three features, and a response whose noise is skewed and grows with the first feature.
fn sample(rows: usize, seed: Seed) -> (Array2<f64>, Array2<f64>) {
    let mut rng = seed.rng();
    let x: Array2<f64> = Array2::from_shape_simple_fn((rows, 3), || StandardNormal.sample(&mut rng));
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| {
        let noise: f64 = Exp1.sample(&mut rng);
        (x[[i, 0]] + x[[i, 1]]).tanh() + (0.5 * x[[i, 0]]).exp() * noise
    });
    (x, y)
}

/// What one replication tells: P(y ≤ observed y), and whether y is at or above the quantile 5 % and at or below 95 %.
struct Told {
    pit: f64,
    inside: [bool; 2],
}

fn replications(kind: Kind) -> Vec<Told> {
    let stonet = StoNetSettings { hidden: vec![3], kappas: Some(vec![0.02]), steps: 60, ..Default::default() };
    let settings = PostStoNetRegressor { kind, stonet, folds: 3, ..Default::default() };
    let one = |r: u64| {
        let seed = Seed::new(77).child(r);
        let ((x, y), (new, truth)) = (sample(ROWS, seed.child(0)), sample(1, seed.child(1)));
        let rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let fitted = settings.fit(&rows, seed.child(2), &|_, _| true).unwrap();
        let new = RegressionInputs::new(new.view()).unwrap();
        let q = fitted.quantiles(&new, &[0.05, 0.95].map(|q| Level::new(q).unwrap())).unwrap();
        let truth_at = truth[[0, 0]];
        Told {
            pit: fitted.cdf_at(&new, truth.view()).unwrap()[[0, 0]],
            inside: [truth_at >= q[0][[0, 0]], truth_at <= q[1][[0, 0]]],
        }
    };
    (0..REPLICATIONS).into_par_iter().map(one).collect()
}

fn share(told: &[Told], of: impl Fn(&Told) -> bool) -> f64 {
    told.iter().filter(|t| of(t)).count() as f64 / told.len() as f64
}

/// 4.5 binomial standard deviations.
fn tolerance(p: f64) -> f64 {
    4.5 * (p * (1.0 - p) / REPLICATIONS as f64).sqrt()
}

/// Ranks of exchangeable scores are uniform: exact up to one row of those that calibrate.
#[test]
fn distributions_of_split_are_calibrated() {
    let told = replications(Kind::Split);
    // 30 % of the rows calibrate.
    let row = 1.0 / (0.3 * ROWS as f64 + 1.0);
    for p in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let found = share(&told, |t| t.pit <= p);
        assert!((found - p).abs() < row + tolerance(p), "{p}: {found}");
    }
    for side in [0, 1] {
        let found = share(&told, |t| t.inside[side]);
        assert!(found > 0.95 - tolerance(0.95) && found < 0.95 + row + tolerance(0.95), "{side}: {found}");
    }
}

/// CV+ promises less: 1 − 2α and a little less for a bound at level 1 − α.
#[test]
fn quantiles_of_cv_plus_keep_their_bound() {
    let told = replications(Kind::Fast);
    let bound = conformal::cv_plus_guarantee(ROWS, 3, Level::new(0.95).unwrap());
    for side in [0, 1] {
        let found = share(&told, |t| t.inside[side]);
        assert!(found > bound - tolerance(bound), "{side}: {found} for {bound}");
    }
}

/// What is known of y is certain: t beyond its bounds has probability 0 or 1, and quantiles lie within them.
#[test]
fn known_bounds_are_certain() {
    let (x, y) = sample(ROWS, Seed::new(3));
    let rows = RegressionRows::new(x.view(), y.view()).unwrap();
    let new = RegressionInputs::new(x.view()).unwrap();
    for kind in [Kind::Fast, Kind::Paper] {
        let stonet = StoNetSettings { hidden: vec![3], kappas: Some(vec![0.02]), steps: 60, ..Default::default() };
        let settings =
            PostStoNetRegressor { kind, stonet, y_low: Some(-1.5), y_high: Some(20.0), ..Default::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let p = fitted.cdf(&new, &[-1.6, -1.5, 3.0, 20.0]).unwrap();
        assert!(p[0].iter().all(|p| *p == 0.0) && p[3].iter().all(|p| *p == 1.0), "{kind}");
        assert!(p[1].iter().zip(&p[2]).all(|(a, b)| 0.0 < *a && a <= b && *b < 1.0), "{kind}");
        let q = fitted.quantiles(&new, &[0.02, 0.98].map(|q| Level::new(q).unwrap())).unwrap();
        assert!(q[0].iter().all(|q| *q >= -1.5) && q[1].iter().all(|q| *q <= 20.0), "{kind}");
    }
}
