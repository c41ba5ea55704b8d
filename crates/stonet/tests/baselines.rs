//! Baselines: exact cases by hand, coverage over independent replications, and input that cannot work.

use ndarray::{Array1, Array2, Axis, array, s};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::metrics::{coverage, coverage_by_width, covered, mean_sd};
use stonet::peers::baseline::{self, FittedBaseline, NetworkRefit, SmallNetwork, SplitConformal};
use stonet::{Error, Intervals, Level, RegressionInputs, RegressionRows, Seed};

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
    fn calibration(&self) -> RegressionRows<'_> {
        RegressionRows::new(self.x.view(), self.y.view()).unwrap().with_prediction(self.d.view()).unwrap()
    }

    fn new_rows(&self) -> RegressionInputs<'_> {
        RegressionInputs::new(self.x.view()).unwrap().with_prediction(self.d.view()).unwrap()
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
    fn fit(self, rows: &RegressionRows<'_>, level: Level, seed: Seed) -> stonet::Result<Box<dyn FittedBaseline>> {
        // Fewer steps at a higher rate than by default: validity does not depend on them, the time of the test does.
        let network = || SmallNetwork { steps: 600, rate: 5e-3, ..SmallNetwork::default() };
        Ok(match self {
            Split => Box::new(SplitConformal.fit(rows, seed, &|_, _| true)?),
            Normalised => Box::new(baseline::Normalised::default().fit(rows, seed, &|_, _| true)?),
            Cqr => Box::new(baseline::Cqr { network: network() }.fit(rows, level, seed, &|_, _| true)?),
            PostLinear => Box::new(baseline::PostLinear::default().fit(rows, seed, &|_, _| true)?),
            Refit => Box::new(NetworkRefit { network: network() }.fit(rows, seed, &|_, _| true)?),
            Laplace => Box::new(baseline::Laplace.fit(rows, seed, &|_, _| true)?),
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
const CASES: usize = 11;

/// Coverage over the test rows of every replication.
fn replicate(method: Method, noise: Noise, at: Level) -> Vec<f64> {
    let one = |r: u64| {
        let seed = Seed::new(31).child(method as u64).child(noise as u64).child(r);
        let (rows, test) = (sample(CALIBRATION, noise, seed.child(0)), sample(TEST, noise, seed.child(1)));
        let fitted = method.fit(&rows.calibration(), at, seed.child(2)).unwrap();
        coverage(&fitted.intervals(&test.new_rows(), at).unwrap(), test.y.view()).unwrap()
    };
    (0..method.replications()).into_par_iter().map(one).collect()
}

/// Mean over replications, and the half-width of Student's interval for it when each of `tests` one-sided tests may
/// fail with probability 1e-3 / tests.
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
    // A Gaussian model of one variance promises nothing where there are many.
    let mut cases: Vec<(Method, Noise)> = ALL.iter().map(|&m| (m, Noise::Homoscedastic)).collect();
    cases.extend(ALL[..5].iter().map(|&m| (m, Noise::Heteroscedastic)));
    assert_eq!(cases.len(), CASES);
    for (method, noise) in cases {
        let (mean, margin) = mean_and_margin(&replicate(method, noise, at), 2 * CASES);
        let slack = if method == Laplace { 0.0 } else { 1.0 / (method.judging(CALIBRATION) as f64 + 1.0) };
        assert!(mean >= 0.9 - margin, "{method:?}, {noise:?}: {mean} ± {margin}");
        assert!(mean <= 0.9 + slack + margin, "{method:?}, {noise:?}: {mean} ± {margin}");
    }
}

/// Coverage among the fifth of the rows with the most noise, and among the fifth with the longest intervals, over
/// replications.
fn in_the_noisiest_and_widest_fifth(method: Method, replications: u64, at: Level) -> (f64, f64) {
    let one = |r: u64| {
        let seed = Seed::new(32).child(r);
        let rows = |n, child| sample(n, Noise::Heteroscedastic, seed.child(child));
        let (rows, test) = (rows(1000, 0), rows(500, 1));
        let i = method.fit(&rows.calibration(), at, seed.child(2)).unwrap().intervals(&test.new_rows(), at).unwrap();
        let hits = covered(&i, test.y.view()).unwrap();
        let mut order: Vec<usize> = (0..500).collect();
        order.sort_by(|&a, &b| test.sd[b].total_cmp(&test.sd[a]));
        let noisiest = order[..100].iter().filter(|&&r| hits[[r, 0]]).count() as f64 / 100.0;
        (noisiest, coverage_by_width(&i, test.y.view()).unwrap().1)
    };
    let found: Vec<(f64, f64)> = (0..replications).into_par_iter().map(one).collect();
    let mean = |pick: fn(&(f64, f64)) -> f64| found.iter().map(pick).sum::<f64>() / replications as f64;
    (mean(|f| f.0), mean(|f| f.1))
}

#[test]
fn only_intervals_that_adapt_cover_where_the_noise_is_large() {
    let replications = 40;
    let tolerance = 4.5 * (0.9f64 * 0.1 / (100.0 * replications as f64)).sqrt();
    // The largest fifth of exp(.7 x2) is beyond e^{.59}: a constant half-width that covers 90 % of all covers some 65 %
    // of it.
    let split = in_the_noisiest_and_widest_fifth(Split, replications, level(0.9)).0;
    assert!(split < 0.7 + tolerance, "split conformal: {split}");
    for method in [Normalised, Cqr] {
        let (noisiest, widest) = in_the_noisiest_and_widest_fifth(method, replications, level(0.9));
        // Learned from 500 rows, shrunk and clipped, a scale is flatter than the truth: the level is missed by up to
        // .07.
        assert!(widest > 0.83 - tolerance && noisiest > 0.83 - tolerance, "{method:?}: {noisiest} {widest}");
    }
}

#[test]
fn split_conformal_by_hand() {
    // |y − d| = 1, 2, …, 9 in some order; level .8 of nine rows is rank 8.
    let x = Array2::zeros((9, 2));
    let d = array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]];
    let y = &d + &array![[-3.0], [1.0], [-9.0], [2.0], [8.0], [-4.0], [5.0], [7.0], [-6.0]];
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
    let fitted = SplitConformal.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let (new, at) = (array![[10.0], [-1.5]], array![[0.0, 0.0], [5.0, 5.0]]);
    let new_rows = RegressionInputs::new(at.view()).unwrap().with_prediction(new.view()).unwrap();
    let i = fitted.intervals(&new_rows, level(0.8)).unwrap();
    assert_eq!((i.prediction, i.lower, i.upper), (new.clone(), array![[2.0], [-9.5]], array![[18.0], [6.5]]));
    assert_eq!(fitted.intervals(&new_rows, level(0.9)).unwrap().upper, array![[19.0], [7.5]]);
    let i = fitted.intervals(&new_rows, level(0.91)).unwrap();
    assert!(i.lower.iter().all(|l| *l == f64::NEG_INFINITY) && i.upper.iter().all(|u| *u == f64::INFINITY));
    // As three groups of three, weights ⅓: level .5 needs a mass of 2, which is the sixth smallest.
    let groups = [4, 4, 4, 0, 0, 0, 7, 7, 7];
    let fitted = SplitConformal.fit(&rows.with_groups(&groups).unwrap(), Seed::new(1), &|_, _| true).unwrap();
    assert_eq!(fitted.intervals(&new_rows, level(0.5)).unwrap().upper, array![[16.0], [4.5]]);
}

/// The largest difference between two sets of ends, relative to the ends.
fn gap(a: &Intervals, b: &Intervals) -> f64 {
    let pair = |a: &Array2<f64>, b: &Array2<f64>| {
        assert_eq!(a.dim(), b.dim());
        a.iter().zip(b).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max)
    };
    pair(&a.lower, &b.lower).max(pair(&a.upper, &b.upper)).max(pair(&a.prediction, &b.prediction))
}

#[test]
fn a_row_has_the_same_interval_alone_and_among_others() {
    let (rows, test) =
        (sample(120, Noise::Heteroscedastic, Seed::new(5)), sample(70, Noise::Heteroscedastic, Seed::new(6)));
    for method in ALL {
        let fitted = method.fit(&rows.calibration(), level(0.9), Seed::new(7)).unwrap();
        let all = fitted.intervals(&test.new_rows(), level(0.9)).unwrap();
        assert_eq!(all.lower.dim(), (70, 1));
        for r in 0..70 {
            let (x, d) = (test.x.slice(s![r..=r, ..]), test.d.slice(s![r..=r, ..]));
            let row = RegressionInputs::new(x).unwrap().with_prediction(d).unwrap();
            let alone = fitted.intervals(&row, level(0.9)).unwrap();
            let of = |a: &Array2<f64>| a.slice(s![r..=r, ..]).to_owned();
            let among = Intervals {
                prediction: of(&all.prediction),
                lower: of(&all.lower),
                upper: of(&all.upper),
                level: all.level,
            };
            // Networks compute in single precision, and products of another shape may round otherwise.
            let tolerance = if matches!(method, Cqr | Refit) { 1e-5 } else { 1e-12 };
            assert!(gap(&alone, &among) < tolerance, "{method:?}, row {r}");
        }
    }
}

#[test]
fn the_seed_alone_decides() {
    let (rows, test) = (sample(80, Noise::Homoscedastic, Seed::new(8)), sample(5, Noise::Homoscedastic, Seed::new(9)));
    for method in ALL {
        let fit = |seed| method.fit(&rows.calibration(), level(0.9), Seed::new(seed)).unwrap();
        let run = |seed| fit(seed).intervals(&test.new_rows(), level(0.9)).unwrap();
        assert_eq!(run(1), run(1), "{method:?}");
        assert_eq!(run(1) == run(2), matches!(method, Split | Laplace), "{method:?}");
    }
}

#[test]
fn more_features_than_rows_and_dead_features_are_fine() {
    let mut draws = StandardNormal.sample_iter(Seed::new(10).rng());
    let mut x: Array2<f64> = Array2::from_shape_simple_fn((40, 90), || draws.next().unwrap());
    x.slice_mut(s![.., 30..35]).fill(-2.5);
    let y = (&x.column(0) * 3.0 + 1.0).insert_axis(Axis(1));
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(y.view()).unwrap();
    // What was constant in calibration is not any more.
    let wild = Array2::from_elem((3, 90), 1e6);
    let d = Array2::zeros((3, 1));
    let new = RegressionInputs::new(wild.view()).unwrap().with_prediction(d.view()).unwrap();
    for method in ALL {
        let i = method.fit(&rows, level(0.8), Seed::new(1)).unwrap().intervals(&new, level(0.8)).unwrap();
        let fine = i.lower.iter().zip(&i.upper).all(|(l, u)| l.is_finite() && u.is_finite() && l <= u);
        assert!(fine && i.upper.iter().all(|u| u.abs() < 1e4), "{method:?}: {i:?}");
    }
}

#[test]
fn few_rows_give_infinite_intervals_and_fewer_an_error() {
    let test = sample(3, Noise::Homoscedastic, Seed::new(12));
    for method in ALL {
        let few = sample(6, Noise::Homoscedastic, Seed::new(11));
        let fitted = method.fit(&few.calibration(), level(0.9), Seed::new(1)).unwrap();
        let i = fitted.intervals(&test.new_rows(), level(0.9)).unwrap();
        assert!(i.prediction.iter().all(|p| p.is_finite()));
        let infinite = i.lower.iter().all(|l| *l == f64::NEG_INFINITY) && i.upper.iter().all(|u| *u == f64::INFINITY);
        assert_eq!(infinite, method != Laplace, "{method:?}");
        let three = sample(3, Noise::Homoscedastic, Seed::new(11));
        let fewer = method.fit(&three.calibration(), level(0.9), Seed::new(1)).map(|_| ());
        match method {
            Split | Laplace => assert_eq!(fewer, Ok(())),
            _ => assert!(matches!(fewer, Err(Error::TooFewRows { needed: 4, found: 3, .. })), "{method:?}: {fewer:?}"),
        }
        let groups = [1, 2, 3, 3, 2, 1];
        let grouped =
            method.fit(&few.calibration().with_groups(&groups).unwrap(), level(0.9), Seed::new(1)).map(|_| ());
        assert_eq!(grouped.is_ok(), matches!(method, Split | Laplace), "{method:?}: {grouped:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let rows = sample(40, Noise::Homoscedastic, Seed::new(13));
    let bare = RegressionRows::new(rows.x.view(), rows.y.view()).unwrap();
    let two = ndarray::concatenate![Axis(1), rows.y, rows.y];
    let two = RegressionRows::new(rows.x.view(), two.view()).unwrap().with_prediction(two.view()).unwrap();
    let flat = Array2::from_elem((40, 1), 2.0);
    let flat = RegressionRows::new(rows.x.view(), flat.view()).unwrap().with_prediction(rows.d.view()).unwrap();
    let empty = Array2::zeros((40, 0));
    let empty = RegressionRows::new(empty.view(), rows.y.view()).unwrap().with_prediction(rows.d.view()).unwrap();
    let (narrow, at) = (Array2::zeros((2, 3)), level(0.9));
    for method in ALL {
        let fit = |rows: &RegressionRows<'_>| method.fit(rows, at, Seed::new(1)).map(|_| ());
        let from_network = matches!(method, Split | Normalised);
        assert_eq!(matches!(fit(&bare), Err(Error::NoPrediction { .. })), from_network, "{method:?}");
        assert!(matches!(fit(&two), Err(Error::Shape { expected: 1, found: 2, .. })), "{method:?}");
        let constant = matches!(fit(&flat), Err(Error::ConstantTarget { column: 0, value: 2.0 }));
        assert_eq!(constant, !from_network, "{method:?}");
        assert_eq!(fit(&empty).is_ok(), method == Split, "{method:?}");
        let fitted = method.fit(&rows.calibration(), at, Seed::new(1)).unwrap();
        let new = RegressionInputs::new(narrow.view()).unwrap();
        assert!(fitted.intervals(&new, at).is_err(), "{method:?}");
        let wide = Array2::zeros((2, 2));
        let wrong = fitted.intervals(&new.with_prediction(wide.view()).unwrap(), at);
        assert!(wrong.is_err(), "{method:?}");
    }
    let cqr = baseline::Cqr::default().fit(&bare, at, Seed::new(1), &|_, _| true).unwrap();
    assert_eq!(cqr.level(), at);
    let other = cqr.intervals(&rows.new_rows(), level(0.8)).unwrap_err();
    assert!(other.to_string().contains("the level of the fit"), "{other}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let rows = sample(40, Noise::Homoscedastic, Seed::new(14));
    let name = |e: Error| match e {
        Error::Setting { name, .. } => name,
        e => panic!("{e}"),
    };
    let (rows, seed, normal) = (rows.calibration(), Seed::new(1), baseline::Normalised::default());
    for penalties in [vec![], vec![0.0], vec![1.0, f64::NAN]] {
        let e = baseline::Normalised { penalties, ..normal.clone() }.fit(&rows, seed, &|_, _| true).unwrap_err();
        assert_eq!(name(e), "penalties");
    }
    let e = baseline::Normalised { offset: 0.0, ..normal.clone() }.fit(&rows, seed, &|_, _| true).unwrap_err();
    assert_eq!(name(e), "offset");
    assert_eq!(
        name(baseline::Normalised { floor: 1.0, ..normal }.fit(&rows, seed, &|_, _| true).unwrap_err()),
        "floor"
    );
    let linear = baseline::PostLinear::default();
    assert_eq!(
        name(baseline::PostLinear { lambdas: 1, ..linear }.fit(&rows, seed, &|_, _| true).unwrap_err()),
        "lambdas"
    );
    assert_eq!(
        name(baseline::PostLinear { smallest: 1.0, ..linear }.fit(&rows, seed, &|_, _| true).unwrap_err()),
        "smallest"
    );
    assert_eq!(name(baseline::PostLinear { folds: 1, ..linear }.fit(&rows, seed, &|_, _| true).unwrap_err()), "folds");
    let network = SmallNetwork::default();
    for (network, field) in [
        (SmallNetwork { hidden: vec![], ..network.clone() }, "hidden"),
        (SmallNetwork { steps: 0, ..network.clone() }, "steps"),
        (SmallNetwork { batch_size: 0, ..network.clone() }, "batch_size"),
        (SmallNetwork { rate: f64::NAN, ..network }, "rate"),
    ] {
        assert_eq!(name(NetworkRefit { network: network.clone() }.fit(&rows, seed, &|_, _| true).unwrap_err()), field);
        assert_eq!(name(baseline::Cqr { network }.fit(&rows, level(0.9), seed, &|_, _| true).unwrap_err()), field);
    }
}

#[test]
fn the_scale_follows_the_noise_and_exact_networks_are_fine() {
    let (rows, test) =
        (sample(2000, Noise::Heteroscedastic, Seed::new(15)), sample(300, Noise::Heteroscedastic, Seed::new(16)));
    let fitted = baseline::Normalised::default().fit(&rows.calibration(), Seed::new(1), &|_, _| true).unwrap();
    let log: Vec<f64> = fitted.scale(&test.new_rows()).unwrap().mapv(f64::ln).to_vec();
    let truth: Vec<f64> = test.sd.iter().map(|sd| sd.ln()).collect();
    let ((a, sa), (b, sb)) = (mean_sd(&log), mean_sd(&truth));
    let correlation = log.iter().zip(&truth).map(|(l, t)| (l - a) * (t - b)).sum::<f64>() / (299.0 * sa * sb);
    assert!(correlation > 0.95, "{correlation}");
    // A network without errors: intervals of length zero, not NaN.
    let exact = RegressionRows::new(rows.x.view(), rows.y.view()).unwrap().with_prediction(rows.y.view()).unwrap();
    let i = baseline::Normalised::default().fit(&exact, Seed::new(1), &|_, _| true).unwrap();
    let i = i.intervals(&test.new_rows(), level(0.9)).unwrap();
    assert_eq!((&i.lower, &i.upper), (&test.d, &test.d));
}

#[test]
fn the_lasso_of_post_linear_is_on_its_path_and_optimal() {
    for seed in 0..5 {
        let rows = sample(200, Noise::Homoscedastic, Seed::new(17).child(seed));
        let fitted = baseline::PostLinear::default().fit(&rows.calibration(), Seed::new(seed), &|_, _| true).unwrap();
        let (path, lasso) = (fitted.path(), fitted.lasso());
        assert_eq!(path.len(), 50);
        assert!((path[49] / path[0] - 1e-3).abs() < 1e-12 && path.windows(2).all(|w| w[0] > w[1]));
        assert!(path.contains(&lasso.lambda) && lasso.lambda < path[0], "{}", lasso.lambda);
        assert!(lasso.converged && lasso.kkt_residual <= 1e-6 * path[0]);
        // The signal is found, the constant is not.
        assert!(lasso.coefficients[[0, 0]] > 0.3 && lasso.coefficients[[0, 4]] == 0.0);
    }
}

/// The inverse and the logarithm of the determinant, by elimination without pivots: for positive definite matrices.
fn inverse(mut a: Array2<f64>) -> (Array2<f64>, f64) {
    let (n, mut log) = (a.nrows(), 0.0);
    let mut inverse = Array2::eye(n);
    for k in 0..n {
        let pivot = a[[k, k]];
        log += pivot.ln();
        for m in [&mut a, &mut inverse] {
            m.row_mut(k).mapv_inplace(|v| v / pivot);
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[[i, k]];
            for m in [&mut a, &mut inverse] {
                let row = m.row(k).to_owned();
                m.row_mut(i).scaled_add(-factor, &row);
            }
        }
    }
    (inverse, log)
}

/// Columns about their means in units of their standard deviations.
fn standard(a: &Array2<f64>, by: &Array2<f64>) -> Array2<f64> {
    (a - &by.mean_axis(Axis(0)).unwrap()) / by.std_axis(Axis(0), 0.0)
}

/// Rows with a clear signal.
fn tiny(n: usize, p: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let x: Array2<f64> = Array2::from_shape_simple_fn((n, p), || draws.next().unwrap());
    let y: Array1<f64> = x.outer_iter().map(|x| 5.0 + 2.0 * x[0] - x[1] + 0.7 * draws.next().unwrap()).collect();
    (x, y.insert_axis(Axis(1)))
}

#[test]
fn the_laplace_posterior_is_the_one_found_by_brute_force() {
    // The second has directions that no row has seen.
    for (n, p) in [(9, 3), (6, 8)] {
        let (x, y) = tiny(n, p, 18);
        let fitted = baseline::Laplace
            .fit(&RegressionRows::new(x.view(), y.view()).unwrap(), Seed::new(1), &|_, _| true)
            .unwrap();
        let (unit, centre) = (y.std(0.0), y.mean().unwrap());
        let noise = fitted.noise_variance() / (unit * unit);
        let design = |x: &Array2<f64>, by: &Array2<f64>| {
            ndarray::concatenate![Axis(1), Array2::ones((x.nrows(), 1)), standard(x, by)]
        };
        let phi = design(&x, &x);
        let mut precision = phi.t().dot(&phi) / noise;
        (1..=p).for_each(|k| precision[[k, k]] += fitted.prior_precision());
        let (posterior, _) = inverse(precision);
        let mean = posterior.dot(&phi.t().dot(&standard(&y, &y))) / noise;
        // Within one deviation of the mean, where no feature is clipped.
        let new = Array2::from_shape_fn((4, p), |(i, j)| ((i * p + j) as f64).sin());
        let new = new * x.std_axis(Axis(0), 0.0) + x.mean_axis(Axis(0)).unwrap();
        let i = fitted.intervals(&RegressionInputs::new(new.view()).unwrap(), level(0.8)).unwrap();
        let phi = design(&new, &x);
        // Six rows and eight features are met exactly: the smallest penalty, and a precision of condition 1e7 to invert
        // here.
        let tolerance = if n > p { 1e-12 } else { 1e-7 };
        for r in 0..4 {
            let phi = phi.row(r);
            let point = centre + unit * phi.dot(&mean.column(0));
            let half = level(0.8).z() * unit * (noise + phi.dot(&posterior.dot(&phi))).sqrt();
            assert!((i.prediction[[r, 0]] - point).abs() < tolerance, "{n} × {p}");
            assert!((i.upper[[r, 0]] - point - half).abs() < tolerance, "{n} × {p}");
            assert!((point - half - i.lower[[r, 0]]).abs() < tolerance, "{n} × {p}");
        }
    }
}

#[test]
fn prior_and_noise_maximise_the_marginal_likelihood() {
    let (x, y) = tiny(12, 3, 19);
    let fitted =
        baseline::Laplace.fit(&RegressionRows::new(x.view(), y.view()).unwrap(), Seed::new(1), &|_, _| true).unwrap();
    let (phi, t) = (standard(&x, &x), standard(&y, &y).index_axis_move(Axis(1), 0));
    // log p(t | a, σ²) with a flat intercept, from the 12 × 12 covariance of the rows.
    let log = |precision: f64, noise: f64| {
        let (inverse, determinant) = inverse(phi.dot(&phi.t()) / precision + noise * Array2::<f64>::eye(12));
        let (one, weighted) = (inverse.sum(), inverse.dot(&t));
        -0.5 * (determinant + one.ln() + t.dot(&weighted) - weighted.sum().powi(2) / one)
    };
    let (a, noise) = (fitted.prior_precision(), fitted.noise_variance() / y.var(0.0));
    let best = log(a, noise);
    for i in -20..=20 {
        for j in -20..=20 {
            let here = log(a * 1.3f64.powi(i), noise * 1.2f64.powi(j));
            assert!((i, j) == (0, 0) || here < best, "{i} {j}: {here} above {best}");
        }
    }
    // MacKay's equation for the prior: γ = a ‖m‖².
    let gram = phi.t().dot(&phi);
    let (posterior, _) = inverse(&gram / noise + a * Array2::<f64>::eye(3));
    let mean = posterior.dot(&phi.t().dot(&t)) / noise;
    let gamma = 3.0 - a * posterior.diag().sum();
    assert!((gamma / (a * mean.dot(&mean)) - 1.0).abs() < 1e-5);
}

#[test]
fn features_without_signal_leave_the_mean() {
    let x = Array2::from_shape_fn((50, 1), |(i, _)| f64::from(i as u32 / 2));
    let y = Array2::from_shape_fn((50, 1), |(i, _)| if i % 2 == 0 { 1.0 } else { -1.0 });
    let fitted =
        baseline::Laplace.fit(&RegressionRows::new(x.view(), y.view()).unwrap(), Seed::new(1), &|_, _| true).unwrap();
    // σ² is the variance with divisor n − 1, and the mean is known to σ²/n.
    assert!((fitted.noise_variance() - 50.0 / 49.0).abs() < 1e-9);
    let i = fitted.intervals(&RegressionInputs::new(x.view()).unwrap(), level(0.9)).unwrap();
    let half = level(0.9).z() * (50.0f64 / 49.0 * 51.0 / 50.0).sqrt();
    assert!(i.upper.iter().all(|u| (u - half).abs() < 1e-6));
}
