//! False alarms of a monitor over long streams without a change, and rows until the alarm after named changes.
//!
//! `monitor null RECORDS [STREAMS]` and `monitor delay RECORDS [STREAMS]` append one line of JSON per stream and leave out
//! those that are there; `monitor table RECORDS` prints what they say. `monitor dump DIR [STREAMS]` writes streams of `split`
//! heads at n = 500 as CSV files, for other programs.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;

use ndarray::{Array2, s};
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use stonet::monitor::{Baseline, Family, MonitorSettings, RegressionMonitor, Watched};
use stonet::regression::StoNetSettings;
use stonet::{Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed};

const ROWS: usize = 20_000;
const CHUNK: usize = 1000;
const COLUMNS: usize = 4;
const ALARM: f64 = 0.05;
/// Rows without a change in front of each change.
const QUIET: usize = 2000;
/// Rows of a stream that are written for other programs.
const DUMPED: usize = 4000;
const CHANGES: [&str; 6] = ["mean up", "mean down", "noise up", "noise down", "target mix", "feature broken"];

/// Features, predictions of a network and targets.
struct Rows {
    x: Array2<f64>,
    d: Array2<f64>,
    y: Array2<f64>,
}

/// Rows of a stream, all of them before or after a change.
fn draw(n: usize, seed: Seed, change: Option<&str>) -> Rows {
    let mut normal = StandardNormal.sample_iter(seed.rng());
    let mut z = || -> f64 { normal.next().unwrap_or(0.0) };
    let mut rows = Rows { x: Array2::zeros((n, COLUMNS)), d: Array2::zeros((n, 1)), y: Array2::zeros((n, 1)) };
    for i in 0..n {
        let mut x = [z(), z(), z(), z()];
        if change == Some("target mix") {
            x[0] += 0.5;
        }
        let mut noise = (0.5 + 0.25 * x[1].abs()) * z();
        match change {
            Some("mean up") => noise += 0.25,
            Some("mean down") => noise -= 0.25,
            Some("noise up") => noise *= 1.4,
            Some("noise down") => noise *= 0.7,
            _ => {}
        }
        rows.y[[i, 0]] = 2.0 * x[0] - x[1] + (2.0 * x[2]).sin() + noise;
        if change == Some("feature broken") {
            x[0] = 0.0;
        }
        (0..COLUMNS).for_each(|k| rows.x[[i, k]] = x[k]);
        rows.d[[i, 0]] = 1.8 * x[0] - x[1];
    }
    rows
}

fn settings(kind: &str) -> PostStoNetRegressor {
    let stonet = StoNetSettings { steps: 20, kappas: Some(vec![0.05]), hidden: vec![3], ..StoNetSettings::default() };
    let kind = if kind == "split" { Kind::Split } else { Kind::Fast };
    PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() }
}

/// The rows of both families at which alarms were raised, of one stream.
fn stream(kind: &str, n: usize, seed: Seed, change: Option<&str>) -> stonet::Result<[Option<u64>; 2]> {
    let cal = draw(n, seed.child(0), None);
    let rows = RegressionRows::new(cal.x.view(), cal.y.view())?.with_prediction(cal.d.view())?;
    let head = settings(kind).fit(&rows, seed.child(1), &|_, _| true)?;
    let inputs = [cal.x.view(), cal.d.view()];
    let watched = Watched { inputs: &inputs, targets: Some(cal.y.view()), labels: None, logits: None };
    let baseline = Baseline::fit(&watched, seed.child(2))?;
    let level = Level::new(0.9)?;
    let settings = MonitorSettings { alarm: ALARM, seed: seed.child(3), ..MonitorSettings::new(level) };
    let mut watch = RegressionMonitor::new(&head, Some(&baseline), settings)?;
    for first in (0..ROWS).step_by(CHUNK) {
        let changed = change.filter(|_| first >= QUIET);
        let new = draw(CHUNK, seed.child(4 + first as u64), changed);
        let d = new.d.slice(s![.., ..]);
        watch.add(&RegressionInputs::new(new.x.view())?.with_prediction(d)?, Some(new.y.view()))?;
        let found = [Family::Answers, Family::Inputs].map(|f| watch.state().alarm(f));
        if change.is_some() && found.iter().all(Option::is_some) {
            break;
        }
    }
    Ok([Family::Answers, Family::Inputs].map(|f| watch.state().alarm(f)))
}

/// The seed of a stream: that of its number, its change, its kind of head and its size.
fn seed_of(number: u64, change: usize, kind: usize, n: usize) -> Seed {
    Seed::new(2026).child(number).child((change * 4 + kind) as u64).child(n as u64)
}

/// Calibration rows and the first rows of streams, with the same numbers as `delay` sees.
fn dump(folder: &str, streams: u64) -> std::io::Result<()> {
    let (n, kind) = (500, 0);
    for number in 0..streams {
        for (c, change) in CHANGES.iter().enumerate() {
            let seed = seed_of(number, c, kind, n);
            let name = change.replace(' ', "-");
            let mut file = std::io::BufWriter::new(std::fs::File::create(format!("{folder}/{name}.{number}.csv"))?);
            writeln!(file, "part,x0,x1,x2,x3,d,y")?;
            let mut put = |part: &str, rows: Rows| {
                (0..rows.y.nrows()).try_for_each(|i| {
                    let x = rows.x.row(i);
                    let (d, y) = (rows.d[[i, 0]], rows.y[[i, 0]]);
                    writeln!(file, "{part},{},{},{},{},{d},{y}", x[0], x[1], x[2], x[3])
                })
            };
            put("calibration", draw(n, seed.child(0), None))?;
            for first in (0..DUMPED).step_by(CHUNK) {
                let changed = Some(*change).filter(|_| first >= QUIET);
                put("new", draw(CHUNK, seed.child(4 + first as u64), changed))?;
            }
        }
    }
    Ok(())
}

fn key(v: &Value) -> (String, String, u64, u64) {
    let text = |k: &str| v[k].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("change"), v["n"].as_u64().unwrap_or(0), v["stream"].as_u64().unwrap_or(0))
}

fn records(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

fn run(path: &str, streams: u64, changes: &[Option<&str>], sizes: &[usize]) -> Result<(), Box<dyn std::error::Error>> {
    let done: std::collections::HashSet<_> = records(path).iter().map(key).collect();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for number in 0..streams {
        for (c, change) in changes.iter().enumerate() {
            for (k, kind) in ["split", "cv+"].into_iter().enumerate() {
                for &n in sizes {
                    let about = json!({ "kind": kind, "change": change.unwrap_or("none"), "n": n, "stream": number });
                    if done.contains(&key(&about)) {
                        continue;
                    }
                    let seed = seed_of(number, c, k, n);
                    let [answers, inputs] = stream(kind, n, seed, *change)?;
                    let mut line = about;
                    line["answers"] = json!(answers);
                    line["inputs"] = json!(inputs);
                    writeln!(file, "{line}")?;
                }
            }
        }
    }
    Ok(())
}

/// Per kind, size and change: streams, alarms of each family, and the median rows from the change to the alarm.
fn table(path: &str) {
    let mut groups: BTreeMap<(String, String, u64), Vec<Value>> = BTreeMap::new();
    for record in records(path) {
        let (kind, change, n, _) = key(&record);
        groups.entry((change, kind, n)).or_default().push(record);
    }
    println!(
        "| change | head | n | streams | alarms: answers | before the change | median delay | alarms: inputs | before | median delay |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for ((change, kind, n), rows) in groups {
        let quiet = if change == "none" { u64::MAX } else { QUIET as u64 };
        let of = |family: &str| {
            let all: Vec<u64> = rows.iter().filter_map(|r| r[family].as_u64()).collect();
            let mut late: Vec<u64> = rows
                .iter()
                .map(|r| r[family].as_u64().filter(|a| *a > quiet).map_or(u64::MAX, |a| a - quiet))
                .collect();
            late.retain(|_| quiet != u64::MAX);
            late.sort_unstable();
            let median = late.get(late.len() / 2).filter(|m| **m < u64::MAX).map_or("–".to_owned(), u64::to_string);
            let early =
                if quiet == u64::MAX { "–".into() } else { all.iter().filter(|a| **a <= quiet).count().to_string() };
            format!("{} | {early} | {median}", all.len())
        };
        println!("| {change} | {kind} | {n} | {} | {} | {} |", rows.len(), of("answers"), of("inputs"));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, path) = match &arguments[..] {
        [what, path, ..] => (what.as_str(), path.as_str()),
        _ => return Err("monitor null|delay|table RECORDS [STREAMS], or monitor dump DIR [STREAMS]".into()),
    };
    let streams: u64 = arguments.get(2).map_or(Ok(500), |s| s.parse())?;
    let changes: Vec<Option<&str>> = CHANGES.iter().map(|c| Some(*c)).collect();
    match what {
        "null" => run(path, streams, &[None], &[500, 5000])?,
        "delay" => run(path, streams, &changes, &[500, 5000])?,
        "dump" => dump(path, streams)?,
        _ => table(path),
    }
    Ok(())
}
