//! Baselines: exact cases by hand, coverage over independent replications, and input that cannot work.

use ndarray::{Array1, Array2, Axis, array, s};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::baseline::{self, Fitted, NetworkRefit, SmallNetwork, SplitConformal};
use stonet::metrics::{covered, mean_sd};
use stonet::{Calibration, Error, Intervals, Level, NewRows, Seed};

/// Rows of a known model, with the predictions of a network that errs along the features.
struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    d: Array2<f64>,
    /// Standard deviation of the noise, row by row.
    sd: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    Homoscedastic,
    Heteroscedastic,
}

/// y = x0 + x1/2 + sd · e, d = the mean + x1/4. The last two features are constant, and nearly so.
fn sample(rows: usize, noise: Noise, seed: Seed) -> Rows {
    let mut draws = StandardNormal.sample_iter(seed.rng());
    let mut x: Array2<f64> = Array2::from_shape_simple_fn((rows, 6), || draws.next().unwrap());
    x.column_mut(4).fill(0.3);
    x.column_mut(5).mapv_inplace(|v| 1.0 + 1e-7 * v);
    let log_sd = |x: f64| if noise == Noise::Heteroscedastic { 0.7 * x } else { 0.0 };
    let sd: Vec<f64> = x.column(2).iter().map(|&x| log_sd(x).exp()).collect();
    let mean = &x.column(0) + &(0.5 * &x.column(1));
    let y = &mean + &sd.iter().map(|sd| sd * draws.next().unwrap()).collect::<Array1<f64>>();
    let d = &mean + &(0.25 * &x.column(1));
    Rows { x, y: y.insert_axis(Axis(1)), d: d.insert_axis(Axis(1)), sd }
}

impl Rows {
    fn calibration(&self) -> Calibration<'_> {
        Calibration::new(self.x.view(), self.y.view()).unwrap().with_prediction(self.d.view()).unwrap()
    }

    fn new_rows(&self) -> NewRows<'_> {
        NewRows::new(self.x.view()).unwrap().with_prediction(self.d.view()).unwrap()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Split,
    Normalised,
    Cqr,
    PostLinear,
    Refit,
    Laplace,
}
use Method::*;

const ALL: [Method; 6] = [Split, Normalised, Cqr, PostLinear, Refit, Laplace];

impl Method {
    fn fit(self, rows: &Calibration<'_>, level: Level, seed: Seed) -> stonet::Result<Box<dyn Fitted>> {
        // Fewer steps at a higher rate than by default: validity does not depend on them, the time of the test does.
        let network = || SmallNetwork { steps: 600, rate: 5e-3, ..SmallNetwork::default() };
        Ok(match self {
            Split => Box::new(SplitConformal.fit(rows, seed)?),
            Normalised => Box::new(baseline::Normalised::default().fit(rows, seed)?),
            Cqr => Box::new(baseline::Cqr { network: network() }.fit(rows, level, seed)?),
            PostLinear => Box::new(baseline::PostLinear::default().fit(rows, seed)?),
            Refit => Box::new(NetworkRefit { network: network() }.fit(rows, seed)?),
            Laplace => Box::new(baseline::Laplace.fit(rows, seed)?),
        })
    }

    fn replications(self) -> u64 {
        if matches!(self, Cqr | Refit) { 80 } else { 300 }
    }

    /// Rows that judge among `rows`.
    fn judging(self, rows: usize) -> usize {
        if self == Split { rows } else { rows.div_ceil(2) }
    }
}

fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

const CALIBRATION: usize = 200;
const TEST: usize = 200;

/// Of every replication: coverage over all test rows, and over the fifth with the largest noise.
fn replicate(method: Method, noise: Noise, at: Level) -> Vec<[f64; 2]> {
    let one = |r: u64| {
        let seed = Seed::new(31).child(method as u64).child(noise as u64).child(r);
        let (rows, test) = (sample(CALIBRATION, noise, seed.child(0)), sample(TEST, noise, seed.child(1)));
        let fitted = method.fit(&rows.calibration(), at, seed.child(2)).unwrap();
        let hits = covered(&fitted.intervals(&test.new_rows(), at).unwrap(), test.y.view()).unwrap();
        let mut order: Vec<usize> = (0..TEST).collect();
        order.sort_by(|&a, &b| test.sd[b].total_cmp(&test.sd[a]));
        let of = |rows: &[usize]| rows.iter().filter(|&&r| hits[[r, 0]]).count() as f64 / rows.len() as f64;
        [of(&order), of(&order[..TEST / 5])]
    };
    (0..method.replications()).into_par_iter().map(one).collect()
}

/// Mean over replications, and the half-width of Student's interval for it when each of `tests` one-sided tests may fail with
/// probability 1e-3 / tests.
fn mean_and_margin(values: &[f64], tests: usize) -> (f64, f64) {
    let ((mean, sd), n) = (mean_sd(values), values.len() as f64);
    let z = level(1.0 - 2e-3 / tests as f64).z();
    // Student's quantile to second order in 1/ν (Abramowitz & Stegun 26.7.5).
    let nu = n - 1.0;
    let t = z + (z.powi(3) + z) / (4.0 * nu) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * nu * nu);
    (mean, t * sd / n.sqrt())
}

#[test]
fn coverage_is_what_was_promised_over_replications() {
    let at = level(0.9);
    let mut cases: Vec<(Method, Noise)> = ALL.iter().map(|&m| (m, Noise::Homoscedastic)).collect();
    cases.extend(ALL[..5].iter().map(|&m| (m, Noise::Heteroscedastic)));
    for (method, noise) in cases {
        let start = std::time::Instant::now();
        let found = replicate(method, noise, at);
        let (mean, margin) = mean_and_margin(&found.iter().map(|c| c[0]).collect::<Vec<_>>(), 2 * 11);
        let slack = if method == Laplace { 0.0 } else { 1.0 / (method.judging(CALIBRATION) as f64 + 1.0) };
        let noisy = mean_and_margin(&found.iter().map(|c| c[1]).collect::<Vec<_>>(), 2 * 11);
        println!("{method:?} {noise:?}: {mean:.4} ± {margin:.4}, noisy {noisy:?} {:?}", start.elapsed());
        assert!(mean >= 0.9 - margin, "{method:?}, {noise:?}: {mean} ± {margin}");
        assert!(mean <= 0.9 + slack + margin, "{method:?}, {noise:?}: {mean} ± {margin}");
    }
}
