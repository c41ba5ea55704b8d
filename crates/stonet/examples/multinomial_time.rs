//! Times a Lasso path of multinomial regressions on raw little-endian f64 files, rows first, labels one per row:
//! `multinomial_time X LABELS n p classes lambdas least tolerance`, the λ log-spaced from λ_max to `least` · λ_max.
//! Prints a line `lambda non-zeros kkt/λ_max objective` for each λ, then the seconds of the path.

use std::time::Instant;

use ndarray::Array2;
use stonet::sparse::{MultinomialFit, SparseMultinomial};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [x, labels, n, p, classes, count, least, tolerance] = &arguments[..] else {
        return Err("usage: multinomial_time X LABELS n p classes lambdas least tolerance".into());
    };
    let (n, p, classes): (usize, usize, usize) = (n.parse()?, p.parse()?, classes.parse()?);
    let (count, least): (usize, f64) = (count.parse()?, least.parse()?);
    let x = read(x, (n, p))?;
    let labels: Vec<usize> = read(labels, (n, 1))?.iter().map(|&y| y as usize).collect();
    let sparse = SparseMultinomial { tolerance: tolerance.parse()?, ..SparseMultinomial::default() };
    let top = sparse.lambda_max(x.view(), &labels, classes)?;
    let fraction = |i: usize| least.powf(i as f64 / (count.max(2) - 1) as f64);
    let lambdas: Vec<f64> = (0..count).map(|i| top * fraction(i)).collect();
    let begin = Instant::now();
    let path = sparse.path(x.view(), &labels, classes, &lambdas)?;
    let seconds = begin.elapsed().as_secs_f64();
    for fit in &path {
        let used = fit.coefficients.iter().filter(|w| **w != 0.0).count();
        println!("{:.3e} {used} {:.1e} {:.9}", fit.lambda, fit.kkt_residual / top, objective(fit, &x, &labels)?);
    }
    println!("{seconds:.3} s");
    Ok(())
}

fn objective(fit: &MultinomialFit, x: &Array2<f64>, labels: &[usize]) -> Result<f64, Box<dyn std::error::Error>> {
    let probability = fit.probabilities(x.view())?;
    let loss: f64 = labels.iter().enumerate().map(|(i, &c)| -probability[[i, c]].ln()).sum();
    let norm: f64 = fit.coefficients.iter().map(|w| w.abs()).sum();
    Ok(loss / labels.len() as f64 + fit.lambda * norm)
}

fn read(path: &str, shape: (usize, usize)) -> Result<Array2<f64>, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(path)?;
    let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
    Ok(Array2::from_shape_vec(shape, values)?)
}
