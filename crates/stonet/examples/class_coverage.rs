//! How often intervals for class probabilities hold the truth, on simulated networks:
//! `class_coverage K ROWS REPLICATIONS linear|bent METHODS`.
//!
//! The network is twice too sure. On the scale of log-probabilities it is off by a straight line (`linear`) or by one
//! through tanh (`bent`) of its own logits. Prints coverage at 95 % with its standard error, and the mean length, for
//! three parts of the curvature of early stopping.

mod class_network;

use std::error::Error;

use class_network::draw;
use rayon::prelude::*;
use stonet::metrics::mean_sd;
use stonet::{ClassInputs, ClassMethod, ClassRows, Level, PostStoNetClassifier, ProbabilityCovariance, Seed, Wald};

const PARTS: [f64; 3] = [0.0, 0.1, 1.0];
const TEST_ROWS: usize = 200;

/// Coverage and mean length for every part; nothing where there is no interval.
fn replicate(
    method: ClassMethod,
    k: usize,
    rows: usize,
    bent: bool,
    seed: Seed,
) -> stonet::Result<Vec<Option<(f64, f64)>>> {
    let (z, _, labels) = draw(rows, k, bent, seed.child(0));
    let (new, truth, _) = draw(TEST_ROWS, k, bent, seed.child(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view())?, &labels, k)?;
    let fitted = PostStoNetClassifier { method, ..Default::default() }.fit(&rows, seed.child(2), &|_, _| true)?;
    let inputs = ClassInputs::logits(new.view())?;
    let judge = |training: f64| {
        let covariance = ProbabilityCovariance::fit(&fitted, &rows, Wald { training, ..Wald::default() })?;
        let i = covariance.intervals(&fitted, &inputs, Level::new(0.95)?)?;
        let hits = truth.indexed_iter().filter(|(at, t)| i.lower[*at] <= **t && **t <= i.upper[*at]).count();
        let length = (&i.upper - &i.lower).mean().unwrap_or(f64::NAN);
        Ok::<_, stonet::Error>((hits as f64 / truth.len() as f64, length))
    };
    Ok(PARTS.iter().map(|&part| judge(part).ok()).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [k, rows, replications, shape, methods] = &arguments[..] else {
        return Err("class_coverage K ROWS REPLICATIONS linear|bent METHODS, such as 3 1000 8 bent skip,stack".into());
    };
    let (k, rows, replications): (usize, usize, u64) = (k.parse()?, rows.parse()?, replications.parse()?);
    for method in methods.split(',') {
        let method: ClassMethod = method.parse()?;
        let all: Vec<Vec<Option<(f64, f64)>>> = (0..replications)
            .into_par_iter()
            .map(|r| replicate(method, k, rows, shape == "bent", Seed::new(1).child(r)))
            .collect::<stonet::Result<_>>()?;
        print!("K = {k}, {rows} rows, {shape}, {method}:");
        for (i, part) in PARTS.iter().enumerate() {
            let there: Vec<(f64, f64)> = all.iter().filter_map(|r| r[i]).collect();
            let (coverage, sd) = mean_sd(&there.iter().map(|c| c.0).collect::<Vec<_>>());
            let length = there.iter().map(|c| c.1).sum::<f64>() / there.len().max(1) as f64;
            let se = sd / (there.len().max(1) as f64).sqrt();
            print!("  part {part}: {coverage:.3} (se {se:.3}), length {length:.3}, {} of {replications};", there.len());
        }
        println!();
    }
    Ok(())
}
