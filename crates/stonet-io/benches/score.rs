//! Rows per second from file to file: `cargo bench -p stonet-io --bench score`, with STONET_BENCH_ROWS for another
//! number than a million, and STONET_BENCH_THREADS for one number of threads instead of one and two.
//!
//! Fits `paper` on 2000 generated rows of 13 features, the default stack on all 100, and the default classifier on 10
//! and on 100 of them as logits; writes two Parquet files of 32-bit numbers, one twice as long as the other, and scores
//! them on one and on two threads. Rows per second of processor time are what one core would do alone, whatever else
//! the machine does.

use std::path::Path;
use std::time::Instant;

use ndarray::{Array2, Axis};
use stonet::metrics::top_class;
use stonet::{
    ClassInputs, ClassRows, InputKind, Kind, Labels, Level, PostStoNetClassifier, PostStoNetRegressor, RegressionRows,
    Seed,
};
use stonet_io::{
    Cells, Column, Head, Model, ModelColumns, ModelScorer, Reading, ScoreSettings, Type, Writer, score_file,
};

const FEATURES: usize = 100;
const RELEVANT: usize = 13;
const BATCH: usize = 1 << 14;

/// A number from −1.7 to 1.7, all but random: mean 0, variance 1.
fn noise(i: usize, j: usize) -> f64 {
    let mut z = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (j as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    (2.0 * unit - 1.0) * 3f64.sqrt()
}

/// Thirteen features matter.
fn mean(row: usize) -> f64 {
    let f = |k| noise(row, k);
    (0..RELEVANT).map(|k| if k % 2 == 0 { f(k) } else { (f(k) - 0.5 * f(k - 1)).tanh() }).sum()
}

/// The network's own prediction.
fn network(row: usize) -> f64 {
    0.9 * mean(row) + 0.4 * noise(row, 200)
}

fn names() -> Vec<String> {
    (0..FEATURES).map(|k| format!("f{k}")).collect()
}

/// A head on the first so many features.
fn fit(settings: &PostStoNetRegressor, columns: usize) -> stonet::Result<Model> {
    let features = Array2::from_shape_fn((2000, columns), |(i, k)| noise(i, k));
    let y = Array2::from_shape_fn((2000, 1), |(i, _)| mean(i) + 0.5 * noise(i, 201));
    let prediction = Array2::from_shape_fn((2000, 1), |(i, _)| network(i));
    let rows = RegressionRows::new(features.view(), y.view())?.with_prediction(prediction.view())?;
    Ok(Model {
        head: Head::Regression(Box::new(settings.fit(&rows, Seed::new(1), &|_, _| true)?)),
        columns: ModelColumns {
            features: names()[..columns].to_vec(),
            prediction: vec!["network".into()],
            targets: vec!["y".into()],
            ..ModelColumns::default()
        },
        kind: None,
        labels: None,
        level: Some(Level::new(0.9)?),
        seed: 1,
        fingerprint: String::new(),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    })
}

/// A classifier whose logits are the first so many features.
fn fit_classes(classes: usize) -> stonet::Result<Model> {
    let logits = Array2::from_shape_fn((2000, classes), |(i, k)| noise(i, k));
    let noisy = Array2::from_shape_fn((2000, classes), |(i, k)| logits[[i, k]] + 0.3 * noise(i, 300 + k));
    let labels: Vec<usize> = noisy.outer_iter().map(top_class).collect();
    let rows = ClassRows::new(ClassInputs::logits(logits.view())?, &labels, classes)?;
    let fitted = PostStoNetClassifier::default().fit(&rows, Seed::new(1), &|_, _| true)?;
    Ok(Model {
        head: Head::Classification(Box::new(fitted)),
        columns: ModelColumns {
            logits: names()[..classes].to_vec(),
            targets: vec!["class".into()],
            ..ModelColumns::default()
        },
        kind: Some(InputKind::Logits),
        labels: Some(Labels::named((0..classes).map(|k| format!("class {k}")).collect())?),
        level: None,
        seed: 1,
        fingerprint: String::new(),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    })
}

fn write(path: &Path, rows: usize) -> stonet_io::Result<()> {
    let columns = names().into_iter().chain(["network".into()]).map(|n| Column::new(n, Type::F32)).collect();
    let mut writer = Writer::create(path, columns)?;
    for first in (0..rows).step_by(BATCH) {
        let count = BATCH.min(rows - first);
        let values = Array2::from_shape_fn((FEATURES + 1, count), |(k, i)| {
            // Rows that no fit has seen.
            let row = 1_000_000_000 + first + i;
            if k < FEATURES { noise(row, k) } else { network(row) }
        });
        writer.write(&values.axis_iter(Axis(0)).map(Cells::Numbers).collect::<Vec<_>>())?;
    }
    writer.finish()
}

/// Seconds on the clock, and of processor time of the whole process.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (begin, before) = (Instant::now(), processor());
    let result = work();
    (result, begin.elapsed().as_secs_f64(), processor() - before)
}

fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    // User and system time in hundredths of a second, counted from behind the name of the program.
    [11, 12].iter().filter_map(|&i| fields.get(i)?.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The largest resident set so far, in MiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("");
    line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::var("STONET_BENCH_ROWS").map_or(Ok(1_000_000), |n| n.parse())?;
    let dir = tempfile::tempdir()?;
    let threads: Vec<usize> = match std::env::var("STONET_BENCH_THREADS") {
        Ok(one) => vec![one.parse()?],
        Err(_) => vec![1, 2],
    };
    let paper = PostStoNetRegressor { kind: Kind::Paper, ..PostStoNetRegressor::default() };
    let heads = [
        ("paper", fit(&paper, RELEVANT)?),
        ("stack", fit(&PostStoNetRegressor::default(), FEATURES)?),
        ("10 classes", fit_classes(10)?),
        ("100 classes", fit_classes(100)?),
    ];
    let million = |rows: usize, seconds: f64| rows as f64 / seconds / 1e6;
    let files: Vec<_> = [rows, 2 * rows].into_iter().map(|n| (n, dir.path().join(format!("{n}.parquet")))).collect();
    for (n, path) in &files {
        let (written, wall, _) = timed(|| write(path, *n));
        written?;
        println!("{n} rows: {:.1} GB written in {wall:.1} s", std::fs::metadata(path)?.len() as f64 / 1e9);
    }
    for columns in [RELEVANT, FEATURES] {
        let reading = Reading { numbers: Some(names()[..columns].to_vec()), ..Reading::default() };
        let (n, path) = &files[0];
        let (read, wall, cpu) = timed(|| {
            reading.batches(path, 2048)?.try_fold(0.0, |sum, t| Ok::<_, stonet_io::Error>(sum + t?.column("f0")?[0]))
        });
        read?;
        let (wall, cpu) = (million(*n, wall), million(*n, cpu));
        println!("read {columns} of {FEATURES} columns: {wall:.2} million rows/s, {cpu:.2} per core");
    }
    for (name, model) in &heads {
        let scorer = ModelScorer::new(model, &ScoreSettings::default())?;
        println!("{name}: {} columns are read", scorer.inputs().len());
        for &threads in &threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let mut times = Vec::new();
            for (n, path) in &files {
                let out = dir.path().join("out.parquet");
                let (scored, wall, cpu) = timed(|| {
                    pool.install(|| score_file(&scorer, path, &[], &out, &[], scorer.batch_rows(), &|_, _| true))
                });
                assert_eq!(scored?, *n as u64);
                times.push(cpu);
                let (wall, cpu, peak) = (million(*n, wall), million(*n, cpu), peak());
                println!(
                    "{threads} threads, {n} rows: {wall:.2} million rows/s, {cpu:.2} per core, peak {peak:.0} MiB"
                );
            }
            println!("{threads} threads: twice the rows take {:.2} times as long", times[1] / times[0]);
        }
    }
    Ok(())
}
