//! Times sparse linear regressions on raw little-endian f64 files, rows first: `sparse_time X Y n p q λ,λ,… tolerance`;
//! prints `seconds objective kkt processor` of the last λ, the objective summed over responses. Seconds are the median on
//! the clock, and `processor` the mean seconds of processor, which other work on the machine hardly changes.

mod usage;

use std::time::Instant;

use ndarray::Array2;
use stonet::sparse::SparseLinear;
use usage::processor_seconds;

/// A regression of a millisecond needs more rounds than the others for a steady median.
const ROUNDS: usize = 15;
/// Seconds of processor are counted in hundredths, so that so many are spent at least.
const BUSY: f64 = 1.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [x, y, n, p, q, lambdas, tolerance] = &arguments[..] else {
        return Err("usage: sparse_time X Y n p q λ,λ,… tolerance".into());
    };
    let (n, p, q): (usize, usize, usize) = (n.parse()?, p.parse()?, q.parse()?);
    let (x, y) = (read(x, (n, p))?, read(y, (n, q))?);
    let lambdas: Vec<f64> = lambdas.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let sparse = SparseLinear { tolerance: tolerance.parse()?, ..SparseLinear::default() };
    let mut seconds = Vec::new();
    // The others are called once before they are timed, and so is this.
    let mut path = sparse.path(x.view(), y.view(), &lambdas)?;
    let busy = processor_seconds();
    while seconds.len() < ROUNDS || processor_seconds() - busy < BUSY {
        let begin = Instant::now();
        path = sparse.path(x.view(), y.view(), &lambdas)?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let processor = (processor_seconds() - busy) / seconds.len() as f64;
    seconds.sort_by(f64::total_cmp);
    let fit = path.last().ok_or("no λ was given")?;
    let residual = &y - &fit.predict(x.view())?;
    let loss = residual.iter().map(|r| r * r).sum::<f64>() / (2.0 * n as f64);
    let penalty = fit.lambda * fit.coefficients.iter().map(|w| w.abs()).sum::<f64>();
    println!("{} {} {} {processor}", seconds[seconds.len() / 2], loss + penalty, fit.kkt_residual);
    Ok(())
}

fn read(path: &str, shape: (usize, usize)) -> Result<Array2<f64>, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
    Ok(Array2::from_shape_vec(shape, values)?)
}
