//! Intervals fitted on a sample and calibrated on other rows: they cover, agree with a split in memory, and do not
//! depend on batches or threads.

use ndarray::{Array2, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::metrics::{coverage, mean_length, mean_sd};
use stonet::regression::StoNetSettings;
use stonet::*;

const LEVEL: f64 = 0.9;

struct Rows {
    x: Array2<f64>,
    d: Array2<f64>,
    y: Array2<f64>,
}

/// Two targets, noise that grows with a feature, and a network that the features show to be wrong.
fn rows(n: usize, seed: Seed) -> Rows {
    let mut rng = seed.rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Array2::from_shape_simple_fn((n, 5), || normal().tanh());
    let (mut y, mut d) = (Array2::zeros((n, 2)), Array2::zeros((n, 2)));
    for (i, f) in x.outer_iter().enumerate() {
        let mean = [2.0 * f[0] - f[1] + (2.0 * f[2]).tanh(), f[3] - f[4]];
        for j in 0..2 {
            y[[i, j]] = mean[j] + 0.4 * (0.9 * f[1]).exp() * normal();
            d[[i, j]] = mean[j] + 0.4 * f[3] + 0.2 * normal();
        }
    }
    Rows { x, d, y }
}

impl Rows {
    fn part(&self, from: usize, to: usize) -> RegressionRows<'_> {
        let rows = RegressionRows::new(self.x.slice(s![from..to, ..]), self.y.slice(s![from..to, ..])).unwrap();
        rows.with_prediction(self.d.slice(s![from..to, ..])).unwrap()
    }

    fn new_rows(&self) -> RegressionInputs<'_> {
        RegressionInputs::new(self.x.view()).unwrap().with_prediction(self.d.view()).unwrap()
    }
}

fn settings() -> PostStoNetRegressor {
    let stonet =
        StoNetSettings { hidden: vec![8], steps: 200, kappas: Some(vec![0.003, 0.03]), ..StoNetSettings::default() };
    PostStoNetRegressor { kind: Kind::Split, stonet, ..PostStoNetRegressor::default() }
}

fn level() -> Level {
    Level::new(LEVEL).unwrap()
}

fn sampled(rows: &Rows, sample: usize, batch: usize, seed: u64) -> FittedRegressor {
    let mut head = settings().fit_sample(&rows.part(0, sample), Seed::new(seed), &|_, _| true).unwrap();
    let n = rows.y.nrows();
    (sample..n).step_by(batch).for_each(|from| head.calibrate(&rows.part(from, (from + batch).min(n))).unwrap());
    assert_eq!(head.rows(), (n - sample) as u64);
    head.finish().unwrap()
}

#[test]
fn batches_and_threads_do_not_matter() {
    let rows = rows(4000, Seed::new(1));
    let whole = sampled(&rows, 300, 5000, 1);
    for batch in [1, 7, 1000, 1024] {
        assert_eq!(sampled(&rows, 300, batch, 1), whole, "{batch}");
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| sampled(&rows, 300, 900, 1)), whole, "{threads}");
    }
}

/// The scores are those of the intervals: at a level just above the share of rows inside, every one of those rows lies
/// inside.
#[test]
fn scores_are_those_that_prediction_uses() {
    let rows = rows(700, Seed::new(2));
    let head = sampled(&rows, 200, 100, 1);
    for side in [Side::Both, Side::Lower, Side::Upper] {
        let i = head.intervals(&rows.new_rows(), level(), side).unwrap();
        // The row that decides lies on the end but for the rounding of μ + (y − μ)/s · s.
        let rounding = |y: f64| 1e-13 * (1.0 + y.abs());
        let inside = |j: usize| {
            let within = |&r: &usize| {
                let y = rows.y[[r, j]];
                i.lower[[r, j]] <= y + rounding(y) && y - rounding(y) <= i.upper[[r, j]]
            };
            (200..700).filter(within).count()
        };
        // ⌈0.9 · 501⌉ of the 500 scores are at or below the end, and a bucket holds few more.
        for j in 0..2 {
            assert!((451..=454).contains(&inside(j)), "{side:?} {j}: {}", inside(j));
        }
    }
}

#[test]
fn coverage_and_length_are_those_of_a_split_in_memory() {
    const REPLICATIONS: u64 = 24;
    let judge = |head: &FittedRegressor, new: &Rows| {
        let i = head.intervals(&new.new_rows(), level(), Side::Both).unwrap();
        (coverage(&i, new.y.view()).unwrap(), mean_length(&i))
    };
    let (mut covered, mut differences) = (Vec::new(), Vec::new());
    for r in 0..REPLICATIONS {
        let (rows, new) = (rows(700, Seed::new(9).child(r)), rows(1000, Seed::new(10).child(r)));
        let streamed = judge(&sampled(&rows, 490, 64, r), &new);
        let memory = judge(&settings().fit(&rows.part(0, 700), Seed::new(r), &|_, _| true).unwrap(), &new);
        covered.push(streamed.0);
        differences.push(streamed.1 - memory.1);
    }
    let root = (REPLICATIONS as f64).sqrt();
    // t quantile of 23 degrees of freedom at .0005.
    let (mean, sd) = mean_sd(&covered);
    assert!((mean - LEVEL).abs() < 3.77 * sd / root + 1.0 / 211.0, "{mean} {sd}");
    let (mean, sd) = mean_sd(&differences);
    assert!(mean.abs() < 3.77 * sd / root, "{mean} {sd}");
}

#[test]
fn files_bring_it_back() {
    let head = sampled(&rows(500, Seed::new(3)), 200, 100, 1);
    let text = serde_json::to_string(&head).unwrap();
    assert_eq!(serde_json::from_str::<FittedRegressor>(&text).unwrap(), head);
    let guarantee = head.guarantee(level());
    assert_eq!(guarantee.coverage, Some(LEVEL));
    assert!(guarantee.text.contains("split conformal, n = 300 rows"), "{guarantee}");
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let rows = rows(300, Seed::new(4));
    let tick: Ticker<'_> = &|_, _| true;
    let fit = |settings: PostStoNetRegressor, rows: &RegressionRows<'_>| settings.fit_sample(rows, Seed::new(1), tick);
    let message = |e: Error| e.to_string();
    let stack = PostStoNetRegressor { kind: Kind::Stack, ..settings() };
    assert!(message(fit(stack, &rows.part(0, 100)).unwrap_err()).contains("split, where a sample is fitted"));
    let groups: Vec<usize> = (0..100).map(|i| i / 2).collect();
    let grouped = rows.part(0, 100).with_groups(&groups).unwrap();
    assert!(message(fit(settings(), &grouped).unwrap_err()).contains("groups"));
    let mut head = fit(settings(), &rows.part(0, 100)).unwrap();
    assert!(head.calibrate(&grouped).is_err());
    let bare = RegressionRows::new(rows.x.view(), rows.y.view()).unwrap();
    assert!(matches!(head.calibrate(&bare), Err(Error::NoPrediction { .. })));
    let narrow = RegressionRows::new(rows.x.slice(s![.., 1..]), rows.y.view()).unwrap();
    assert!(matches!(head.calibrate(&narrow), Err(Error::Shape { .. })));
    assert_eq!(head.rows(), 0);
    head.calibrate(&rows.part(100, 108)).unwrap();
    // Nine rows are the fewest at 90 %.
    assert!(message(head.clone().finish().unwrap_err()).contains("at least 9 rows, but there are 8"));
    head.calibrate(&rows.part(108, 109)).unwrap();
    head.finish().unwrap();
    let stop = settings().fit_sample(&rows.part(0, 100), Seed::new(1), &|done, _| done < 2);
    assert!(matches!(stop, Err(Error::Cancelled(_))));
}
