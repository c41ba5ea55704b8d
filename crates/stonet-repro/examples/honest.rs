//! How honest intervals are in every part of the data: real sets and simulated ones whose noise is known.
//!
//! ```sh
//! cargo run --release -p stonet-repro --example honest -- --data DIR --out records.jsonl --splits 0-2 \
//!     --methods 'split-conformal cqr stack fast={"kind":"fast","folds":10}'
//! ```
//! A method is the name of a baseline or of a kind of intervals, or `name={settings}` with the settings of
//! `PostStoNetRegressor` that differ from the defaults; a name that ends in `+x` sees the network's inputs beside the
//! features, and one that ends in `@N` is fitted on the first N calibration rows. Each line of the output is one method on one split; what is there already is not computed again. Networks
//! are kept in the folder `--cache`. `--table 'records.jsonl more.jsonl'` prints the tables of finished records instead.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ndarray::{Array2, Axis, concatenate, s};
use serde::{Deserialize, Serialize};
use stonet::metrics::{coverage, coverage_in_fifths, mean_length, winkler};
use stonet::peers::baseline::{Baseline, Cqr, FittedBaseline, Laplace, Normalised, SplitConformal};
use stonet::{Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use stonet_compare::benchmark::{Part, Prepared, Protocol, Set, prepare};
use stonet_repro::uci::{UciSet, load};

mod truth;

use truth::Truth;

type Any<T> = Result<T, Box<dyn Error>>;

/// Epochs of the networks on real sets.
const EPOCHS: usize = 1000;
/// Epochs of the networks on simulated sets.
const SIMULATED_EPOCHS: usize = 200;

fn main() -> Any<()> {
    let args: BTreeMap<String, String> = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--").to_owned(), pair.get(1).cloned().unwrap_or_default()))
        .collect();
    let arg = |name: &str, otherwise: &str| args.get(name).cloned().unwrap_or_else(|| otherwise.to_owned());
    if let Some(files) = args.get("table") {
        return table(files);
    }
    let (data, cache, out) =
        (PathBuf::from(arg("data", ".")), PathBuf::from(arg("cache", "target/honest")), arg("out", "honest.jsonl"));
    let seed: u64 = arg("seed", "1").parse()?;
    let splits: Vec<usize> = match arg("splits", "0-2").split_once('-') {
        Some((from, to)) => (from.parse()?..=to.parse()?).collect(),
        None => vec![arg("splits", "0").parse()?],
    };
    let wanted = arg("sets", "");
    let names: Vec<String> = match wanted.is_empty() {
        false => wanted.split(',').map(str::to_owned).collect(),
        true => (UciSet::ALL[..9].iter().map(|s| s.name().to_owned()))
            .chain(Truth::ALL.map(|t| t.name().to_owned()))
            .collect(),
    };
    let methods: Vec<String> = arg("methods", "split-conformal stack fast").split(' ').map(str::to_owned).collect();
    let there = std::fs::read_to_string(&out).unwrap_or_default();
    let there: BTreeSet<(String, usize, u64, String)> =
        there.lines().filter_map(|l| serde_json::from_str::<Record>(l).ok()).map(|r| r.key()).collect();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&out)?;
    std::fs::create_dir_all(&cache)?;
    for &split in &splits {
        for name in &names {
            let left: Vec<&String> =
                methods.iter().filter(|m| !there.contains(&(name.clone(), split, seed, (*m).clone()))).collect();
            if left.is_empty() {
                continue;
            }
            let rows = rows(name, split, seed, &data, &cache)?;
            for method in left {
                let record = judge(name, split, seed, method, &rows)?;
                let line = serde_json::to_string(&record)?;
                eprintln!(
                    "{name:12} {split} {method:40.40} {:.4} {:.5} {:.2}s",
                    record.coverage, record.score, record.seconds
                );
                writeln!(file, "{line}")?;
            }
        }
    }
    Ok(())
}

/// A method on one split.
#[derive(Serialize, Deserialize)]
struct Record {
    set: String,
    split: usize,
    seed: u64,
    method: String,
    rows: usize,
    coverage: f64,
    length: f64,
    score: f64,
    by_width: Vec<f64>,
    by_prediction: Vec<f64>,
    /// Mean |c(x) − level| over the test rows, where the noise is known.
    exact: Option<f64>,
    /// Of fit and prediction.
    seconds: f64,
}

impl Record {
    fn key(&self) -> (String, usize, u64, String) {
        (self.set.clone(), self.split, self.seed, self.method.clone())
    }
}

/// Prints scores relative to split conformal, and coverage with its fifths, of all records in these files.
fn table(files: &str) -> Any<()> {
    let mut records = Vec::new();
    for file in files.split(' ') {
        for line in std::fs::read_to_string(file)?.lines() {
            records.push(serde_json::from_str::<Record>(line)?);
        }
    }
    let label = |r: &Record| r.method.split('=').next().unwrap_or_default().to_owned();
    let distinct = |of: &dyn Fn(&Record) -> String| {
        let mut seen = Vec::new();
        records.iter().map(of).for_each(|v| {
            if !seen.contains(&v) {
                seen.push(v)
            }
        });
        seen
    };
    let (sets, methods) = (distinct(&|r| r.set.clone()), distinct(&label));
    let of =
        |set: &str, method: &str| records.iter().filter(|r| r.set == set && label(r) == method).collect::<Vec<_>>();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let is_real = |set: &str| UciSet::ALL.iter().any(|s| s.name() == set);
    // The mean of log score over split conformal's, split by split.
    let ratio = |set: &str, method: &str| {
        let base = of(set, "split-conformal");
        let one =
            |r: &Record| base.iter().find(|b| (b.split, b.seed) == (r.split, r.seed)).map(|b| (r.score / b.score).ln());
        let logs: Vec<f64> = of(set, method).into_iter().filter_map(one).collect();
        (!logs.is_empty()).then(|| mean(logs).exp())
    };
    println!(
        "Interval score relative to split conformal; the last columns are geometric means, and the mean distance of exact conditional coverage from 90 % on simulated sets in points.\n"
    );
    println!(
        "| method | {} | real sets | simulated | distance |\n|---|{}---|---|---|",
        sets.join(" | "),
        "---|".repeat(sets.len())
    );
    for method in &methods {
        let ratios: Vec<(bool, Option<f64>)> = sets.iter().map(|s| (is_real(s), ratio(s, method))).collect();
        let cells: Vec<String> = ratios.iter().map(|(_, r)| r.map_or("".into(), |r| format!("{r:.3}"))).collect();
        let together = |real: bool| {
            let logs: Vec<f64> =
                ratios.iter().filter(|(r, _)| *r == real).filter_map(|(_, v)| v.map(f64::ln)).collect();
            if logs.is_empty() { String::new() } else { format!("{:.4}", mean(logs).exp()) }
        };
        let exact: Vec<f64> = records.iter().filter(|r| label(r) == *method).filter_map(|r| r.exact).collect();
        let exact = if exact.is_empty() { String::new() } else { format!("{:.2}", 100.0 * mean(exact)) };
        println!("| {method} | {} | {} | {} | {exact} |", cells.join(" | "), together(true), together(false));
    }
    println!(
        "\nCoverage in %; in brackets the least and the greatest of its fifths by width and by prediction, means over splits; seconds of fit and prediction.\n"
    );
    println!("| method | {} | seconds |\n|---|{}---|", sets.join(" | "), "---|".repeat(sets.len()));
    for method in &methods {
        let cell = |set: &String| {
            let rows = of(set, method);
            if rows.is_empty() {
                return String::new();
            }
            let ends = |part: &dyn Fn(&Record) -> &Vec<f64>| {
                let fifths: Vec<f64> =
                    (0..5).map(|i| 100.0 * mean(rows.iter().map(|r| part(r)[i]).collect())).collect();
                let least = fifths.iter().copied().fold(f64::INFINITY, f64::min);
                format!("{least:.1}–{:.1}", fifths.iter().copied().fold(0.0, f64::max))
            };
            let coverage = 100.0 * mean(rows.iter().map(|r| r.coverage).collect());
            format!("{coverage:.1} ({}; {})", ends(&|r| &r.by_width), ends(&|r| &r.by_prediction))
        };
        let seconds = mean(records.iter().filter(|r| label(r) == *method).map(|r| r.seconds).collect());
        println!("| {method} | {} | {seconds:.2} |", sets.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    Ok(())
}

fn judge(set: &str, split: usize, seed: u64, method: &str, rows: &Prepared) -> Any<Record> {
    let level = Level::new(0.9)?;
    let (label, settings) = method.split_once('=').map_or((method, None), |(a, b)| (a, Some(b)));
    let (label, most) = label.split_once('@').map_or((label, None), |(a, n)| (a, Some(n)));
    let raw = label.ends_with("+x");
    let name = label.trim_end_matches("+x");
    let features = |part: &Part| match raw {
        true => concatenate![Axis(1), part.features, part.inputs],
        false => part.features.clone(),
    };
    let (calibration, test) = (features(&rows.calibration), features(&rows.test));
    let most: usize = most.map_or(Ok(calibration.nrows()), str::parse)?;
    let first = |a: &Array2<f64>| a.slice(s![..most.min(a.nrows()), ..]).to_owned();
    let [calibration, y, d] = [&calibration, &rows.calibration.y, &rows.calibration.prediction].map(first);
    let (fit, new) = (
        RegressionRows::new(calibration.view(), y.view())?.with_prediction(d.view())?,
        RegressionInputs::new(test.view())?.with_prediction(rows.test.prediction.view())?,
    );
    let fit_seed = Seed::new(seed).child(split as u64).child(2);
    let tick = |_: usize, _: usize| true;
    let begin = Instant::now();
    let intervals = match name.parse::<Baseline>() {
        Ok(baseline) => {
            let fitted: Box<dyn FittedBaseline> = match baseline {
                Baseline::Cqr => Box::new(Cqr::default().fit(&fit, level, fit_seed, &tick)?),
                Baseline::NormalisedConformal => Box::new(Normalised::default().fit(&fit, fit_seed, &tick)?),
                Baseline::Laplace => Box::new(Laplace.fit(&fit, fit_seed, &tick)?),
                _ => Box::new(SplitConformal.fit(&fit, fit_seed, &tick)?),
            };
            fitted.intervals(&new, level)?
        }
        Err(_) => {
            let settings: PostStoNetRegressor = match settings {
                Some(json) => serde_json::from_str(json)?,
                None => PostStoNetRegressor { kind: name.parse()?, ..PostStoNetRegressor::default() },
            };
            settings.fit(&fit, fit_seed, &tick)?.intervals(&new, level, Side::Both)?
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    let y = rows.test.y.view();
    let width = &intervals.upper - &intervals.lower;
    Ok(Record {
        set: set.to_owned(),
        split,
        seed,
        method: method.to_owned(),
        rows: y.nrows(),
        coverage: coverage(&intervals, y)?,
        length: mean_length(&intervals),
        score: winkler(&intervals, y)?,
        by_width: coverage_in_fifths(&intervals, y, width.view())?.to_vec(),
        by_prediction: coverage_in_fifths(&intervals, y, intervals.prediction.view())?.to_vec(),
        exact: Truth::ALL
            .into_iter()
            .find(|t| t.name() == set)
            .map(|t| t.deviation(&intervals, &rows.test.inputs, 0.9)),
        seconds,
    })
}

/// A network and its rows, trained or read from the cache.
fn rows(name: &str, split: usize, seed: u64, data: &Path, cache: &Path) -> Any<Prepared> {
    let path = cache.join(format!("{name}-{seed}-{split}.bin"));
    if let Ok(bytes) = std::fs::read(&path) {
        return Ok(unpack(&bytes));
    }
    let truth = Truth::ALL.into_iter().find(|t| t.name() == name);
    let (data, epochs) = match truth {
        Some(truth) => (truth.sample(Seed::new(1000 * seed + split as u64))?, SIMULATED_EPOCHS),
        None => (load(name.parse()?, data)?.ok_or("no such set")?.data, EPOCHS),
    };
    let set = Set { name: name.to_owned(), data, epochs, groups: None, also: false };
    let prepared = prepare(&set, &Protocol::shipped(), Seed::new(seed).child(split as u64), &|_, _| true)?;
    std::fs::write(&path, pack(&prepared))?;
    Ok(prepared)
}

fn pack(prepared: &Prepared) -> Vec<u8> {
    let mut out = prepared.train_mse.to_le_bytes().to_vec();
    for part in [&prepared.calibration, &prepared.test] {
        for a in [&part.inputs, &part.features, &part.prediction, &part.y] {
            [a.nrows(), a.ncols()].iter().for_each(|n| out.extend((*n as u64).to_le_bytes()));
            a.iter().for_each(|v| out.extend(v.to_le_bytes()));
        }
    }
    out
}

fn unpack(bytes: &[u8]) -> Prepared {
    let mut words = bytes.chunks_exact(8).map(|b| b.try_into().expect("eight bytes"));
    let train_mse = f64::from_le_bytes(words.next().expect("a header"));
    let mut array = || {
        let [rows, columns] = [(); 2].map(|()| u64::from_le_bytes(words.next().expect("a shape")) as usize);
        let values = words.by_ref().take(rows * columns).map(f64::from_le_bytes).collect();
        Array2::from_shape_vec((rows, columns), values).expect("a whole table")
    };
    let mut part = || Part { inputs: array(), features: array(), prediction: array(), y: array(), groups: None };
    Prepared { calibration: part(), test: part(), train_mse }
}
