//! Seconds per row of conditional conformal cut-offs: one path per row from a common start, against one linear program
//! per row.
//!
//! `cargo run --release -p stonet --example conditional_time`

use std::time::Instant;

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::conformal::ConditionalScores;
use stonet::{Level, Seed, Side};

fn main() -> stonet::Result<()> {
    println!(
        "{:>7} {:>10} {:>14} {:>14} {:>8} {:>10}",
        "rows", "functions", "µs per path", "µs per LP", "ratio", "exchanges"
    );
    for (n, k) in [(300, 2), (300, 10), (1000, 5), (3000, 5), (3000, 20), (10_000, 10)] {
        let mut rng = Seed::new(1).rng();
        let mut row = || {
            let inside: Vec<f64> = (0..k).map(|_| f64::from(u8::from(rng.random::<f64>() < 0.3))).collect();
            let noise: f64 = StandardNormal.sample(&mut rng);
            (noise * (1.0 + inside.iter().sum::<f64>() / k as f64), inside)
        };
        let scores = ConditionalScores::new((0..n).map(|_| row()).collect())?;
        let new: Vec<Vec<f64>> = (0..500).map(|_| row().1).collect();
        let cutoffs = scores.cutoffs(Level::new(0.9)?, Side::Both);
        let begin = Instant::now();
        let found: Vec<_> = new.iter().map(|f| cutoffs.path(f)).collect();
        let path = 1e6 * begin.elapsed().as_secs_f64() / new.len() as f64;
        let few = &new[..20];
        let begin = Instant::now();
        let alone: Vec<f64> = few.iter().map(|f| cutoffs.alone(f)).collect();
        let one = 1e6 * begin.elapsed().as_secs_f64() / few.len() as f64;
        assert!(alone.iter().zip(&found).all(|(a, f)| *a == f.0), "both are the same");
        let steps = found.iter().map(|f| f.1.0).sum::<usize>() as f64 / new.len() as f64;
        println!("{n:>7} {k:>10} {path:>14.1} {one:>14.1} {:>8.1} {steps:>10.1}", one / path);
    }
    Ok(())
}
