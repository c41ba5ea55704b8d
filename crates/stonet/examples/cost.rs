//! Measures what fits cost: `cost RECORDS.jsonl [SWEEPS]`. Every fit runs in a process of its own, and its record is
//! appended when it ends, so a run that was stopped goes on where it was. A record has the expected time and memory, the
//! real ones, where the time went, and the time left that progress told at every tenth of the work.
//! `benches/scaling.py` draws the records.
//!
//! Sweeps: `rows`, `features`, `folds`, `kappas`, `kinds`, `classes`, `class-rows`; all of them if none is named, and
//! those with `-large` behind the name are run where they are named.

mod class_network;
mod usage;

use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use ndarray::{Array2, Axis};
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use stonet::base::{FitEstimate, PARTS, Recording};
use stonet::regression::StoNetSettings;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, Kind, PostStoNetClassifier, PostStoNetRegressor, RegressionRows, Seed,
};
use usage::{peak_memory, processor_seconds};

type Failure = Box<dyn std::error::Error>;

/// One fit: `task kind rows columns folds kappas`; columns are features, or classes.
#[derive(Clone, Debug, PartialEq)]
struct Cell {
    task: String,
    kind: String,
    rows: usize,
    columns: usize,
    folds: usize,
    kappas: usize,
}

impl Cell {
    fn regression(kind: &str, rows: usize, columns: usize) -> Self {
        Cell { task: "regression".into(), kind: kind.into(), rows, columns, folds: 5, kappas: 4 }
    }

    fn classification(kind: &str, rows: usize, columns: usize) -> Self {
        Cell { task: "classification".into(), kind: kind.into(), rows, columns, folds: 3, kappas: 3 }
    }

    fn arguments(&self) -> Vec<String> {
        let numbers = [self.rows, self.columns, self.folds, self.kappas].map(|n| n.to_string());
        [self.task.clone(), self.kind.clone()].into_iter().chain(numbers).collect()
    }

    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let number = |i: usize| arguments.get(i).ok_or("six words name a fit")?.parse::<usize>().map_err(Failure::from);
        let (rows, columns, folds, kappas) = (number(2)?, number(3)?, number(4)?, number(5)?);
        Ok(Cell { task: arguments[0].clone(), kind: arguments[1].clone(), rows, columns, folds, kappas })
    }

    fn named(&self, sweep: &str) -> Value {
        let Cell { task, kind, rows, columns, folds, kappas } = self;
        json!({"sweep": sweep, "task": task, "kind": kind, "rows": rows, "columns": columns, "folds": folds, "kappas": kappas})
    }
}

fn sweep(name: &str) -> Vec<Cell> {
    let regression = |kind: &'static str, sizes: &[(usize, usize)]| {
        sizes.iter().map(|&(n, p)| Cell::regression(kind, n, p)).collect::<Vec<_>>()
    };
    let both = |sizes: &[(usize, usize)]| [regression("fast", sizes), regression("stack", sizes)].concat();
    match name {
        "rows" => both(&[500, 1000, 2000, 4000, 8000, 16_000, 32_000].map(|n| (n, 100))),
        "rows-large" => both(&[100_000, 200_000, 400_000, 800_000].map(|n| (n, 100))),
        "features" => both(&[16, 32, 64, 128, 256, 512, 1024].map(|p| (2000, p))),
        "features-large" => both(&[2048, 4096, 8192, 16_384, 32_768].map(|p| (2000, p))),
        "folds" => [3, 5, 8, 12, 20].map(|folds| Cell { folds, ..Cell::regression("stack", 2000, 100) }).into(),
        "kappas" => [1, 2, 4, 8, 16].map(|kappas| Cell { kappas, ..Cell::regression("stack", 2000, 100) }).into(),
        "kinds" => {
            ["cv+", "cv", "paper", "split"].iter().flat_map(|k| regression(k, &[(1000, 50), (4000, 100)])).collect()
        }
        "classes" => [2, 4, 8, 16, 32, 64].map(|k| Cell::classification("stack", 2000, k)).into(),
        "classes-large" => [128, 256, 512, 1000].map(|k| Cell::classification("stack", 5000, k)).into(),
        "class-rows" => [500, 1000, 2000, 4000, 8000, 16_000].map(|n| Cell::classification("stack", n, 10)).into(),
        "class-rows-large" => [50_000, 100_000, 200_000].map(|n| Cell::classification("stack", n, 10)).into(),
        _ => Vec::new(),
    }
}

const SWEEPS: [&str; 7] = ["rows", "features", "folds", "kappas", "kinds", "classes", "class-rows"];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "one") {
        println!("{}", measured(&Cell::parse(&arguments[1..])?)?);
        return Ok(());
    }
    let path = arguments.first().ok_or("name a file of records")?;
    let sweeps: Vec<&str> = match arguments.len() {
        1 => SWEEPS.to_vec(),
        _ => arguments[1..].iter().map(String::as_str).collect(),
    };
    let known = std::fs::read_to_string(path).unwrap_or_default();
    let known: Vec<Value> = known.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut records = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    for name in sweeps {
        let cells = sweep(name);
        if cells.is_empty() {
            return Err(format!("there is no sweep {name}").into());
        }
        for cell in cells {
            let named = cell.named(name);
            let same =
                |r: &Value| named.as_object().is_some_and(|n| n.iter().all(|(key, value)| r.get(key) == Some(value)));
            if known.iter().any(same) {
                continue;
            }
            eprintln!("{name}: {}", cell.arguments().join(" "));
            let out = Command::new(std::env::current_exe()?).arg("one").args(cell.arguments()).output()?;
            if !out.status.success() {
                return Err(String::from_utf8_lossy(&out.stderr).into());
            }
            let mut record: Value = serde_json::from_slice(&out.stdout)?;
            for (key, value) in named.as_object().into_iter().flatten() {
                record[key] = value.clone();
            }
            writeln!(records, "{record}")?;
        }
    }
    Ok(())
}

/// How far a fit was at which second.
#[derive(Default)]
struct Told(Mutex<Vec<(f64, usize)>>);

impl Told {
    fn tick(&self, begin: Instant, done: usize, total: usize) -> bool {
        let mut told = self.0.lock().expect("nobody panics here");
        let done = done * PARTS / total.max(1);
        if told.last().is_none_or(|(_, last)| done > *last) {
            told.push((begin.elapsed().as_secs_f64(), done));
        }
        true
    }

    /// At every tenth of the time: the share of the work that was told to be done, and the time that it says is left, as
    /// a multiple of what really was left.
    fn tenths(&self, seconds: f64) -> Vec<Value> {
        let told = self.0.lock().expect("nobody panics here");
        let at = |tenth: usize| {
            let now = seconds * tenth as f64 / 10.0;
            let done = told.iter().take_while(|(t, _)| *t <= now).last().map_or(0, |(_, done)| *done);
            let left = (done > 0).then(|| now * (PARTS - done) as f64 / done as f64 / (seconds - now));
            json!([done as f64 / PARTS as f64, left])
        };
        (1..10).map(at).collect()
    }
}

/// Estimates and fits a cell.
fn measured(cell: &Cell) -> Result<Value, Failure> {
    match cell.task.as_str() {
        "regression" => regression(cell),
        "classification" => classification(cell),
        other => Err(format!("there is no task {other}").into()),
    }
}

fn record(
    estimate: impl FnOnce() -> stonet::Result<FitEstimate>,
    timed_sample: impl FnOnce(usize) -> Result<f64, Failure>,
    fit: impl FnOnce(stonet::Ticker<'_>) -> stonet::Result<()>,
) -> Result<Value, Failure> {
    let (before, busy) = (peak_memory(), processor_seconds());
    let estimate = estimate()?;
    let estimating = processor_seconds() - busy;
    // The sample once more, in seconds of processor: those of the whole do not depend on what else the machine does.
    let sample_processor = timed_sample(estimate.sample_rows)?;
    let (told, begin, busy, recording) = (Told::default(), Instant::now(), processor_seconds(), Recording::begin());
    fit(&|done, total| told.tick(begin, done, total))?;
    let (seconds, busy) = (begin.elapsed().as_secs_f64(), processor_seconds() - busy);
    let stages: Vec<Value> =
        recording.end().0.iter().map(|s| json!([s.name, s.kappa, (s.seconds * 1e4).round() / 1e4])).collect();
    Ok(json!({
        "threads": rayon::current_num_threads(), "seconds": seconds, "processor": busy, "peak": peak_memory(), "data_peak": before,
        "expected_seconds": estimate.seconds, "expected_memory": estimate.memory, "sample_rows": estimate.sample_rows,
        "sample_seconds": estimate.sample_seconds, "sample_processor": sample_processor,
        "expected_processor": sample_processor * estimate.seconds / estimate.sample_seconds, "estimating_processor": estimating, "tenths": told.tenths(seconds), "stages": stages,
    }))
}

fn regression(cell: &Cell) -> Result<Value, Failure> {
    let mut rng = Seed::new(1).rng();
    let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((cell.rows, cell.columns), || draw().tanh());
    let mean = features.map_axis(Axis(1), |f| f[0] + (2.0 * f[1] - f[2]).tanh() + 0.3 * f[3] * f[4]);
    let mut noisy = |scale: f64, noise: f64| mean.mapv(|m| scale * m + noise * draw()).insert_axis(Axis(1));
    let (y, prediction) = (noisy(1.0, 0.5), noisy(0.8, 0.2));
    let rows = RegressionRows::new(features.view(), y.view())?.with_prediction(prediction.view())?;
    let kind: Kind = cell.kind.parse()?;
    // κ between the ends of the default grid; the default grid itself has four.
    let even = |i: usize| 0.001 * 200f64.powf(i as f64 / (cell.kappas - 1).max(1) as f64);
    let kappas = (cell.kappas != 4).then(|| (0..cell.kappas).map(even).collect());
    let stonet = StoNetSettings { kappas, ..StoNetSettings::default() };
    let settings = PostStoNetRegressor { kind, folds: cell.folds, stonet, ..PostStoNetRegressor::default() };
    let seed = Seed::new(1);
    // Rows are independent draws, so the first are a random sample.
    let sample = |n: usize| {
        let part = ndarray::s![..n, ..];
        let some = RegressionRows::new(features.slice(part), y.slice(part))?.with_prediction(prediction.slice(part))?;
        let busy = processor_seconds();
        settings.fit(&some, seed, &|_, _| true)?;
        Ok(processor_seconds() - busy)
    };
    record(|| settings.estimate(&rows, seed, &|_, _| true), sample, |tick| settings.fit(&rows, seed, tick).map(drop))
}

fn classification(cell: &Cell) -> Result<Value, Failure> {
    let (z, _, labels) = class_network::draw(cell.rows, cell.columns, true, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view())?, &labels, cell.columns)?;
    let method: ClassMethod = cell.kind.parse()?;
    let settings = PostStoNetClassifier { method, ..PostStoNetClassifier::default() };
    let seed = Seed::new(1);
    let sample = |n: usize| {
        let some = ClassRows::new(ClassInputs::logits(z.slice(ndarray::s![..n, ..]))?, &labels[..n], cell.columns)?;
        let busy = processor_seconds();
        settings.fit(&some, seed, &|_, _| true)?;
        Ok(processor_seconds() - busy)
    };
    record(|| settings.estimate(&rows, seed, &|_, _| true), sample, |tick| settings.fit(&rows, seed, tick).map(drop))
}
