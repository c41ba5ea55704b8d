//! How often bounds for the guessed class hold the truth, on the simulated networks of `class_coverage`:
//! `class_guess K ROWS REPLICATIONS linear|bent METHODS`.
//!
//! Two kinds at 95 %: Wald's interval for P(guess | x) of a row (`OneClass`), and bounds for the accuracy among rows of
//! similar confidence (`AccuracyBounds`, ten bins, half as many rows for their edges and as many rows to count). Prints
//! the share of rows whose P(guess | x) is held, and the share of replications in which the accuracies of all bins are,
//! with standard errors and mean lengths.

mod class_network;

use std::error::Error;

use class_network::draw;
use rayon::prelude::*;
use stonet::classification::{AccuracyBounds, OneClass};
use stonet::metrics::{mean_sd, top_class};
use stonet::{ClassInputs, ClassMethod, ClassRows, Level, PostStoNetClassifier, Seed, Wald};

const TEST_ROWS: usize = 200;
const POPULATION: usize = 20_000;
const BINS: usize = 10;

/// Coverage and mean length of Wald's intervals, if there are any, and of the bounds of all bins.
type Outcome = (Result<(f64, f64), String>, (f64, f64));

fn replicate(method: ClassMethod, k: usize, n: usize, bent: bool, seed: Seed) -> stonet::Result<Outcome> {
    let level = Level::new(0.95)?;
    let (z, _, labels) = draw(n, k, bent, seed.child(0));
    let rows = ClassRows::new(ClassInputs::logits(z.view())?, &labels, k)?;
    let fitted = PostStoNetClassifier { method, ..Default::default() }.fit(&rows, seed.child(2), &|_, _| true)?;
    let (new, truth, _) = draw(TEST_ROWS, k, bent, seed.child(1));
    let inputs = ClassInputs::logits(new.view())?;
    let found = OneClass::study(&fitted, &rows, Wald::default())
        .and_then(|one| one.intervals(&fitted, &inputs, None, level))
        .map(|found| {
            let held = |(i, c): (usize, &stonet::classification::ClassInterval)| {
                c.lower <= truth[[i, c.class]] && truth[[i, c.class]] <= c.upper
            };
            let hits = found.iter().enumerate().filter(|at| held(*at)).count();
            let length = found.iter().map(|c| c.upper - c.lower).sum::<f64>() / TEST_ROWS as f64;
            (hits as f64 / TEST_ROWS as f64, length)
        });
    let p = |z: &ndarray::Array2<f64>| fitted.probabilities(&ClassInputs::logits(z.view())?);
    let ((edges, _, _), (counted, _, counted_labels)) =
        (draw(n / 2, k, bent, seed.child(3)), draw(n, k, bent, seed.child(4)));
    let bounds = AccuracyBounds::fit(p(&edges)?.view(), p(&counted)?.view(), &counted_labels, BINS, level)?;
    let (many, truth, _) = draw(POPULATION, k, bent, seed.child(5));
    let mut sums = vec![(0.0, 0usize); bounds.bins().len()];
    for (row, truth) in p(&many)?.outer_iter().zip(truth.outer_iter()) {
        let guess = top_class(row);
        let bin = bounds.bins().iter().position(|b| b.to >= row[guess]).unwrap_or(sums.len() - 1);
        sums[bin] = (sums[bin].0 + truth[guess], sums[bin].1 + 1);
    }
    let held = |(b, (sum, rows)): (&stonet::classification::AccuracyInterval, &(f64, usize))| {
        let accuracy = sum / (*rows).max(1) as f64;
        *rows == 0 || (b.lower <= accuracy && accuracy <= b.upper)
    };
    let all = bounds.bins().iter().zip(&sums).all(held);
    let length = bounds.bins().iter().map(|b| b.upper - b.lower).sum::<f64>() / bounds.bins().len() as f64;
    Ok((found.map_err(|e| e.to_string()), (f64::from(u8::from(all)), length)))
}

fn told(what: &str, found: &[(f64, f64)]) -> String {
    let (coverage, sd) = mean_sd(&found.iter().map(|c| c.0).collect::<Vec<_>>());
    let count = found.len().max(1) as f64;
    let length = found.iter().map(|c| c.1).sum::<f64>() / count;
    format!("{what}: {coverage:.3} (se {:.3}), length {length:.3}, {} of them", sd / count.sqrt(), found.len())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [k, rows, replications, shape, methods] = &arguments[..] else {
        return Err("class_guess K ROWS REPLICATIONS linear|bent METHODS, such as 50 2000 24 bent vector".into());
    };
    let (k, rows, replications): (usize, usize, u64) = (k.parse()?, rows.parse()?, replications.parse()?);
    for method in methods.split(',') {
        let method: ClassMethod = method.parse()?;
        let all: Vec<Outcome> = (0..replications)
            .into_par_iter()
            .map(|r| replicate(method, k, rows, shape == "bent", Seed::new(1).child(r)))
            .collect::<stonet::Result<_>>()?;
        let wald: Vec<(f64, f64)> = all.iter().filter_map(|o| o.0.as_ref().ok().copied()).collect();
        let bins: Vec<(f64, f64)> = all.iter().map(|o| o.1).collect();
        println!("K = {k}, {rows} rows, {shape}, {method}: {}; {}", told("Wald", &wald), told("all bins", &bins));
        if let Some(why) = all.iter().find_map(|o| o.0.as_ref().err()) {
            println!("  refused: {why}");
        }
    }
    Ok(())
}
