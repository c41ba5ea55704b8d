//! Coverage where new rows come from: before a head is adapted, after, and with the true weights.
//!
//! `cargo run --release --example adapt_study -- FILE.jsonl [powerplant.csv]` appends a record per replication; those that
//! are there already are not computed again. At the end it prints the table of all records.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use serde_json::{Value, json};
use stonet::{Kind, Seed};

#[path = "../tests/common/shifted.rs"]
mod shifted;
use shifted::{Found, Outcome, Rows, TILT, replicate, settings, simulated, tilted};

const REPLICATIONS: u64 = 200;
/// Rows that are fitted on, rows that the ratio is estimated from, and rows that judge.
const SIZES: [usize; 3] = [600, 500, 500];
/// Of the standardised columns AT, V, AP and RH.
const PLANT_TILTS: [(&str, [f64; 4]); 2] =
    [("powerplant", [-0.7, 0.0, 0.0, 0.7]), ("powerplant reversed", [0.7, 0.0, 0.0, -0.7])];
const CELLS: [(Kind, bool); 4] = [(Kind::Split, false), (Kind::Split, true), (Kind::Fast, false), (Kind::Fast, true)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(out) = arguments.first().map(Path::new) else { panic!("give the file of records") };
    let mut records: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in std::fs::read_to_string(out).unwrap_or_default().lines() {
        let record: Value = serde_json::from_str(line).expect("a record per line");
        records.entry(cell_of(&record)).or_default().push(record);
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(out).expect("the file of records");
    let plant = arguments.get(1).map(|path| read(Path::new(path)));
    for (kind, learned) in CELLS {
        for (data, tilt) in [("simulation", TILT)].into_iter().chain(PLANT_TILTS) {
            if data != "simulation" && plant.is_none() {
                continue;
            }
            let done = records.entry(format!("{data} {} {learned}", kind.name())).or_default();
            for run in done.len() as u64..REPLICATIONS {
                let seed = Seed::new(40_000 + run);
                let outcome = match &plant {
                    Some(rows) if data != "simulation" => of_plant(rows, &tilt, kind, learned, seed),
                    _ => of_simulation(kind, learned, seed),
                };
                let record = record(data, kind, learned, run, &outcome);
                writeln!(file, "{record}").expect("a record is written");
                done.push(record);
            }
        }
    }
    print!("{}", table(&records));
}

fn of_simulation(kind: Kind, learned: bool, seed: Seed) -> Outcome {
    let [n, unlabelled, new] = SIZES;
    let calibration = simulated(n, [0.0; 4], seed.child(10));
    let from = (simulated(unlabelled, TILT, seed.child(11)), simulated(new, TILT, seed.child(12)));
    replicate(&settings(kind, learned), &calibration, (&from.0, &from.1), &TILT, seed).expect("a replication")
}

/// Rows of the table without those that are fitted on stand for the population; new rows are drawn from them by the tilt.
fn of_plant(rows: &Rows, tilt: &[f64], kind: Kind, learned: bool, seed: Seed) -> Outcome {
    let [n, unlabelled, new] = SIZES;
    let mut order: Vec<usize> = (0..rows.x.nrows()).collect();
    order.shuffle(&mut seed.child(10).rng());
    let (calibration, others) = (rows.select(&order[..n]), rows.select(&order[n..]));
    let draw = |n: usize, stream: u64| tilted(&others, tilt, n, seed.child(stream)).expect("rows");
    let (from, new) = (draw(unlabelled, 11), draw(new, 12));
    replicate(&settings(kind, learned), &calibration, (&from, &new), tilt, seed).expect("a replication")
}

/// A table whose last column is the target; features are standardised.
fn read(path: &Path) -> Rows {
    let text = std::fs::read_to_string(path).expect("the table");
    let numbers = |line: &str| line.split(',').map(|v| v.trim().parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let rows: Vec<Vec<f64>> = text.lines().skip(1).filter(|l| !l.is_empty()).map(numbers).collect();
    let columns = rows[0].len();
    let all = Array2::from_shape_fn((rows.len(), columns), |(i, j)| rows[i][j]);
    let x = all.slice(ndarray::s![.., ..columns - 1]).to_owned();
    let (mean, sd) = (x.mean_axis(Axis(0)).expect("rows"), x.std_axis(Axis(0), 0.0));
    Rows { x: (x - mean) / sd, y: all.slice(ndarray::s![.., columns - 1..]).to_owned() }
}

fn record(data: &str, kind: Kind, learned: bool, run: u64, outcome: &Outcome) -> Value {
    let of = |f: &Found| {
        let length = f.length.is_finite().then_some(f.length);
        json!({ "covered": f.covered, "infinite": f.infinite, "length": length })
    };
    json!({
        "data": data, "kind": kind.name(), "learned_scale": learned, "run": run, "effective": outcome.effective,
        "before": of(&outcome.before), "estimated": of(&outcome.estimated), "known": of(&outcome.known),
    })
}

fn cell_of(record: &Value) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", text("data"), text("kind"), record["learned_scale"])
}

/// Mean coverage with its standard error, t against 90 %, median length against that before, and infinite intervals.
fn table(records: &BTreeMap<String, Vec<Value>>) -> String {
    let mut text = String::from(
        "| data, kind, learned scale | weights | coverage % (se) | t against 90 % | median length | infinite % |\n|---|---|---:|---:|---:|---:|\n",
    );
    for (cell, records) in records {
        for which in ["before", "estimated", "known"] {
            let of = |name: &str| records.iter().filter_map(|r| r[which][name].as_f64()).collect::<Vec<f64>>();
            let (mean, se) = mean_se(&of("covered"));
            let (length, _) = mean_se(&of("length"));
            let (infinite, _) = mean_se(&of("infinite"));
            text += &format!(
                "| {cell} | {which} | {:.2} ({:.2}) | {:+.1} | {length:.3} | {:.2} |\n",
                100.0 * mean,
                100.0 * se,
                (mean - 0.9) / se,
                100.0 * infinite
            );
        }
    }
    text
}

fn mean_se(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
