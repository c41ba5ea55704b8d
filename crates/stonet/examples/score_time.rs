//! Times scoring: `score_time [ROWS]`; prints rows per second of processor time of every kind of interval, fitted on 2000 rows of 100 features of which
//! thirteen matter.

use ndarray::{Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};
use stonet::{Calibration, Kind, Level, PostStoNet, Seed, Side};

const FEATURES: usize = 100;
const RELEVANT: usize = 13;
const CALIBRATION: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(200_000), |n| n.parse())?;
    let mut rng = Seed::new(1).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((CALIBRATION.max(rows), FEATURES), || normal().tanh());
    let mean = features.map_axis(Axis(1), |f| {
        (0..RELEVANT).map(|k| if k % 2 == 0 { f[k] } else { (2.0 * f[k] - f[k - 1]).tanh() }).sum::<f64>()
    });
    let y = mean.mapv(|m| m + 0.5 * normal()).insert_axis(Axis(1));
    let prediction = mean.mapv(|m| 0.9 * m + 0.4 * normal()).insert_axis(Axis(1));
    let part = |a: &Array2<f64>| a.slice(s![..CALIBRATION, ..]).to_owned();
    let (x, t, d) = (part(&features), part(&y), part(&prediction));
    let calibration = Calibration::new(x.view(), t.view())?.with_prediction(d.view())?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for kind in Kind::ALL {
        let fitted = PostStoNet { kind, ..PostStoNet::default() }.fit(&calibration, Seed::new(1), &|_, _| true)?;
        let scorer = fitted.scorer(&[Level::new(0.9)?], Side::Both)?;
        let used = features.slice(s![..rows, ..]).select(Axis(1), scorer.columns());
        let d = prediction.slice(s![..rows, ..]);
        let once = || {
            let begin = processor();
            one.install(|| scorer.score(used.view(), Some(d))).map(|_| processor() - begin)
        };
        let best = (0..5).map(|_| once()).collect::<Result<Vec<_>, _>>()?.into_iter().fold(f64::INFINITY, f64::min);
        let (rate, columns) = (rows as f64 / best / 1e6, scorer.columns().len());
        println!("{:>6}: {rate:6.3} million rows/s on one core, {columns} of {FEATURES} features", kind.name());
    }
    Ok(())
}

/// Seconds of processor time of this process: what a core would take alone, whatever else the machine does.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    // User and system time in hundredths of a second, counted from behind the name of the program.
    [11, 12].iter().filter_map(|&i| fields.get(i)?.parse::<f64>().ok()).sum::<f64>() / 100.0
}
