//! Times post-StoNet fits on generated features: `post_time [ROWS] [FEATURES] [KINDS]`, such as `post_time 2000 512
//! fast,stack`; prints seconds per kind of interval, rows predicted per second, and the peak memory of the process
//! relative to the features.

mod usage;

use std::time::Instant;

use ndarray::{Array2, Axis};
use rand_distr::{Distribution, StandardNormal};
use stonet::{Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use usage::{peak_memory, processor_seconds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: usize = arguments.next().map_or(Ok(2000), |n| n.parse())?;
    let columns: usize = arguments.next().map_or(Ok(100), |p| p.parse())?;
    let kinds: Vec<Kind> = match arguments.next() {
        Some(names) => names.split(',').map(str::parse).collect::<Result<_, _>>()?,
        None if rows > 20_000 => vec![Kind::Stack],
        None => Kind::ALL.to_vec(),
    };
    let mut rng = Seed::new(1).rng();
    let features = Array2::from_shape_simple_fn((rows, columns), || {
        let v: f64 = StandardNormal.sample(&mut rng);
        v.tanh()
    });
    let mean = features.map_axis(Axis(1), |f| f[0] + (2.0 * f[1] - f[2]).tanh() + 0.3 * f[3] * f[4]);
    let mut noisy = |scale: f64, noise: f64| {
        let rows = mean.mapv(|m| {
            let e: f64 = StandardNormal.sample(&mut rng);
            scale * m + noise * e
        });
        rows.insert_axis(Axis(1))
    };
    // The network knows the mean, but for a factor and an error of its own.
    let (y, prediction) = (noisy(1.0, 0.5), noisy(0.8, 0.2));
    let calibration = RegressionRows::new(features.view(), y.view())?.with_prediction(prediction.view())?;
    let new = RegressionInputs::new(features.view())?.with_prediction(prediction.view())?;
    let level = Level::new(0.9)?;
    println!("{rows} rows x {columns} features, {} threads", rayon::current_num_threads());
    for kind in kinds {
        let (begin, busy) = (Instant::now(), processor_seconds());
        let fitted = PostStoNetRegressor { kind, ..PostStoNetRegressor::default() }.fit(
            &calibration,
            Seed::new(1),
            &|_, _| true,
        )?;
        let fit = begin.elapsed().as_secs_f64();
        let busy = processor_seconds() - busy;
        let begin = Instant::now();
        fitted.intervals(&new, level, Side::Both)?;
        let rate = rows as f64 / begin.elapsed().as_secs_f64();
        println!("{:>6}: fit {fit:7.3} s, of processor {busy:7.2} s, predict {rate:9.0} rows/s", kind.name());
    }
    if let Some(peak) = peak_memory() {
        let data = (rows * columns * 8) as f64;
        println!("peak memory {:.0} MB, {:.2} times the features", peak / 1e6, peak / data);
    }
    Ok(())
}
