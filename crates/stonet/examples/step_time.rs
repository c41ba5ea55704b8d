//! Times one ASGHMC step (batch 50, one thread) for the shapes given as `100-20-1 20-500-100-1 …`; prints `shape µs`
//! lines.

use std::time::Instant;

use ndarray::Array2;
use stonet::train::{Asghmc, StepBench};
use stonet::{Activation, Dataset, Seed, StoNet};

const ROUNDS: usize = 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for shape in std::env::args().skip(1) {
        let widths: Vec<usize> = shape.split('-').map(str::parse).collect::<Result<_, _>>()?;
        println!("{shape} {}", microseconds(&widths)?);
    }
    Ok(())
}

/// The median over rounds of the mean over a round's steps.
fn microseconds(widths: &[usize]) -> Result<f64, stonet::Error> {
    let x = Array2::from_shape_fn((500, widths[0]), |(i, j)| ((i * 31 + j * 17) as f64).sin());
    let y = Array2::from_shape_fn((500, widths[widths.len() - 1]), |(i, j)| ((i + j) as f64).cos());
    // κ small enough to keep the network dense, but the proximal map is part of the step.
    let trainer = Asghmc { rates: vec![1e-3; widths.len() - 1], kappa: vec![1e-9], ..Asghmc::default() };
    let start = StoNet::random(widths, Activation::Tanh, Seed::new(1))?;
    let data = Dataset::new(x, y)?;
    let mut bench = StepBench::new(&trainer, &start, &data)?;
    let steps = 4_000_000 / widths.windows(2).map(|w| w[0] * w[1]).sum::<usize>().max(400);
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..steps {
                std::hint::black_box(bench.step());
            }
            1e6 * begin.elapsed().as_secs_f64() / steps as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}
