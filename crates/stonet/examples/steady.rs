//! How much a fit varies over its seeds: one set of simulated rows, many seeds.
//!
//! ```sh
//! cargo run --release -p stonet --example steady -- ROWS SEEDS 'split' 'wide={"kind":"split","stonet":{"hidden":[50]}}'
//! ```
//! Rows have 50 features, a mean and a scale of the noise that are nonlinear and known, and the prediction of a network
//! that is wrong where the features show it. A method is the name of a kind of intervals, or `name={settings}` with the
//! settings of `PostStoNetRegressor` that differ from the defaults. One line per seed, then mean and standard deviation
//! over the seeds: mean length of 90 % intervals relative to that of mean(x) ± 1.645 sd(x), interval score relative to
//! the same, root mean squared error of the prediction from the true mean, weight of the StoNets, seconds of processor.
//! Instead of ROWS, a file by `benches/compare/steady_features.py` gives the features of a network on real data. There
//! lengths, scores and errors (from the targets) are in units of the target.
//! With `STEADY_PATHS=1` in the environment, also what the choice of κ saw.

mod usage;

use std::error::Error;

use ndarray::{Array1, Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::metrics::{coverage, mean_length, winkler};
use stonet::{Intervals, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use usage::processor_seconds;

const FEATURES: usize = 50;
const TEST: usize = 20_000;
const NORMAL: f64 = 1.6448536269514722;

struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    prediction: Array2<f64>,
    /// What predictions are compared with: the mean where it is known, the target otherwise.
    mean: Array1<f64>,
    /// Where it is known.
    sd: Option<Array1<f64>>,
}

/// Neighbours share a factor, as units of a hidden layer do.
fn rows(n: usize, seed: u64) -> Rows {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    let mut next = || -> f64 { draws.next().expect("draws have no end") };
    let raw = Array2::from_shape_simple_fn((n, FEATURES + 1), &mut next);
    let x = Array2::from_shape_fn((n, FEATURES), |(i, k)| (0.8 * raw[[i, k + 1]] + 0.6 * raw[[i, k]]).tanh());
    let mean = x
        .map_axis(Axis(1), |x| 2.0 * x[0] - x[1] + (3.0 * x[2]).tanh() + x[3] * x[4] + 0.3 * x.slice(s![10..20]).sum());
    let sd = x.map_axis(Axis(1), |x| 0.3 * (0.8 * x[1] + 0.4 * x[5]).exp());
    let y = Array1::from_shape_fn(n, |i| mean[i] + sd[i] * next()).insert_axis(Axis(1));
    let prediction = Array1::from_shape_fn(n, |i| mean[i] + 0.4 * x[[i, 6]] + 0.3 * x[[i, 0]] + 0.2 * next());
    Rows { x, y, prediction: prediction.insert_axis(Axis(1)), mean, sd: Some(sd) }
}

/// Rows to fit on and rows that judge, from a file by `steady_features.py`.
fn read(path: &str) -> Result<(Rows, Rows), Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let mut numbers = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")));
    let mut size = || numbers.next().map(|v| v as usize).ok_or("an empty file");
    let (fit, test, features) = (size()?, size()?, size()?);
    let table = Array2::from_shape_vec((fit + test, features + 2), numbers.collect())?;
    let part = |from: usize, to: usize| {
        let rows = table.slice(s![from..to, ..]);
        let column = |k: usize| rows.column(k).to_owned();
        let (prediction, y) = (column(features).insert_axis(Axis(1)), column(features + 1).insert_axis(Axis(1)));
        Rows { x: rows.slice(s![.., ..features]).to_owned(), y, prediction, mean: column(features + 1), sd: None }
    };
    Ok((part(0, fit), part(fit, fit + test)))
}

/// Mean length and interval score of mean(x) ± 1.645 sd(x); 1 where these are not known.
fn best(test: &Rows, level: Level) -> Result<(f64, f64), Box<dyn Error>> {
    let Some(sd) = &test.sd else { return Ok((1.0, 1.0)) };
    let known = Intervals {
        level,
        prediction: test.mean.clone().insert_axis(Axis(1)),
        lower: (&test.mean - sd * NORMAL).insert_axis(Axis(1)),
        upper: (&test.mean + sd * NORMAL).insert_axis(Axis(1)),
    };
    Ok((mean_length(&known), winkler(&known, test.y.view())?))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [n, seeds, methods @ ..] = &args[..] else { return Err("steady ROWS|FILE SEEDS METHOD…".into()) };
    let seeds: u64 = seeds.parse()?;
    let (fit, test) = match n.parse() {
        Ok(n) => (rows(n, 1), rows(TEST, 2)),
        Err(_) => read(n).map_err(|e| format!("{n}: {e}"))?,
    };
    let (n, level) = (fit.x.nrows(), Level::new(0.9)?);
    let (best_length, best_score) = best(&test, level)?;
    let data = RegressionRows::new(fit.x.view(), fit.y.view())?.with_prediction(fit.prediction.view())?;
    let new = RegressionInputs::new(test.x.view())?.with_prediction(test.prediction.view())?;
    for method in methods {
        let settings: PostStoNetRegressor = match method.split_once('=') {
            Some((_, json)) => serde_json::from_str(json)?,
            None => PostStoNetRegressor { kind: method.parse()?, ..PostStoNetRegressor::default() },
        };
        let name = method.split('=').next().unwrap_or_default();
        let mut all = Vec::new();
        for seed in 1..=seeds {
            let busy = processor_seconds();
            let fitted = settings.fit(&data, Seed::new(seed), &|_, _| true)?;
            let seconds = processor_seconds() - busy;
            let intervals = fitted.intervals(&new, level, Side::Both)?;
            let error =
                (&intervals.prediction.column(0) - &test.mean).mapv(|e| e * e).mean().unwrap_or(f64::NAN).sqrt();
            let weight = fitted.weights().map_or(0.0, |w| w[0][0] + w[0][1]);
            let length = mean_length(&intervals) / best_length;
            let score = winkler(&intervals, test.y.view())? / best_score;
            let covered = coverage(&intervals, test.y.view())?;
            println!(
                "{name} n={n} seed={seed} length {length:.4} score {score:.4} coverage {covered:.4} error {error:.4} weight {weight:.2} seconds {seconds:.2}"
            );
            if std::env::var("STEADY_PATHS").is_ok() {
                for c in fitted.tuning_curves() {
                    println!("    {} {:?} chosen {:?}", c.label, c.loss, c.chosen);
                }
            }
            all.push([length, score, error, seconds]);
        }
        let column = |k: usize| all.iter().map(|r| r[k]).collect::<Array1<f64>>();
        let told: Vec<String> = ["length", "score", "error", "seconds"]
            .iter()
            .enumerate()
            .map(|(k, what)| {
                let c = column(k);
                let mean = c.mean().unwrap_or(f64::NAN);
                format!("{what} {mean:.4} (sd {:.2} %)", 100.0 * c.std(1.0) / mean)
            })
            .collect();
        println!("{name} n={n}: {}", told.join(", "));
    }
    Ok(())
}
