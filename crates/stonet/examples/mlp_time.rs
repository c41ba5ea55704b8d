//! Times an epoch of a perceptron's training (tanh, squared error, Adam, batch 50, one thread) for the shapes given as
//! `90-1000-100-1 …`, on 2000 rows; prints `shape µs` lines with the median over epochs.

use std::ops::ControlFlow;
use std::time::Instant;

use ndarray::Array2;
use stonet::peers::mlp::Training;
use stonet::train::Progress;
use stonet::{Dataset, Seed};

const ROWS: usize = 2000;
const EPOCHS: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for shape in std::env::args().skip(1) {
        let widths: Vec<usize> = shape.split('-').map(str::parse).collect::<Result<_, _>>()?;
        println!("{shape} {}", microseconds(&widths)?);
    }
    Ok(())
}

/// The median over epochs, the first left out.
fn microseconds(widths: &[usize]) -> Result<f64, stonet::Error> {
    let (first, last) = (widths[0], widths[widths.len() - 1]);
    let x = Array2::from_shape_fn((ROWS, first), |(i, j)| ((i * 31 + j * 17) as f64).sin());
    let y = Array2::from_shape_fn((ROWS, last), |(i, j)| ((i + j) as f64).cos());
    let training = Training { hidden: widths[1..widths.len() - 1].to_vec(), epochs: EPOCHS, ..Training::default() };
    let mut ends = Vec::with_capacity(EPOCHS);
    let mut clock = |_: &Progress<'_>| {
        ends.push(Instant::now());
        ControlFlow::Continue(())
    };
    training.fit(&Dataset::new(x, y)?, Seed::new(1), &mut clock)?;
    let mut times: Vec<f64> = ends.windows(2).map(|w| 1e6 * (w[1] - w[0]).as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
