//! Times the judgement of class probabilities on one thread: `judge_time n K`; prints `seconds floor bootstrap`.

use std::time::Instant;

use ndarray::Array2;
use rand::RngExt;
use stonet::Seed;
use stonet::metrics::{BINS, JudgeSettings, judge, noise_floor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let [n, k] = arguments[..] else { return Err("usage: judge_time n K".into()) };
    let mut rng = Seed::new(1).rng();
    let mut p = Array2::from_shape_simple_fn((n, k), || rng.random::<f64>().powi(30));
    p.outer_iter_mut().for_each(|mut row| row /= row.sum());
    let labels: Vec<usize> = (0..n).map(|i| i % k).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| -> stonet::Result<()> {
        let begin = Instant::now();
        noise_floor(p.view(), BINS, 200, Seed::new(2))?;
        let floor = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        judge(p.view(), &labels, &JudgeSettings { redraws: 0, ..JudgeSettings::default() }, Seed::new(2))?;
        println!("seconds {floor:.3} {:.3}", begin.elapsed().as_secs_f64());
        Ok(())
    })?;
    Ok(())
}
