//! Seconds to fit the default on simulated logits, cross-validation included: `class_time [ROWS]`, 10 and 100 classes,
//! 5000 rows by default.

use std::time::Instant;

use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::network::Likelihood;
use stonet::{ClassInputs, ClassRows, PostStoNetClassifier, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(5000), |n| n.parse())?;
    for k in [10, 100] {
        let mut rng = Seed::new(k as u64).rng();
        let scores = Array2::from_shape_simple_fn((rows, k), || {
            let draw: f64 = StandardNormal.sample(&mut rng);
            2.0 * draw
        });
        // A class is drawn from the scores; the network is twice too sure and leans towards the even classes.
        let labels: Vec<usize> = (Likelihood::Multinomial.mean(scores.clone()).outer_iter())
            .map(|p| {
                let mut u: f64 = rng.random();
                let drawn = p.iter().position(|&p| {
                    u -= p;
                    u < 0.0
                });
                drawn.unwrap_or(k - 1)
            })
            .collect();
        let logits = Array2::from_shape_fn((rows, k), |(i, j)| 2.0 * scores[[i, j]] + f64::from(u8::from(j % 2 == 0)));
        let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, k)?;
        let begin = Instant::now();
        let fitted = PostStoNetClassifier::default().fit(&rows, Seed::new(1), &|_, _| true)?;
        let seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let p = fitted.probabilities(&ClassInputs::logits(logits.view())?)?;
        let per_second = p.nrows() as f64 / begin.elapsed().as_secs_f64();
        println!(
            "{} rows, {k} classes: fit {seconds:.2} s on {} threads, {:.0} thousand rows per second predicted",
            p.nrows(),
            rayon::current_num_threads(),
            per_second / 1e3
        );
    }
    Ok(())
}
