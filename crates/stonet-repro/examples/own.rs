//! What the network's own uncertainty is worth: quantile networks and networks with a mean and a standard deviation,
//! conformalised alone and inside the stack.
//!
//! ```sh
//! cargo run --release -p stonet-repro --example own -- --data DIR --out design.jsonl --splits 0-2
//! cargo run --release -p stonet-repro --example own -- --table design.jsonl
//! ```
//! A method is `own` (CQR with the network's quantiles, or split conformal in units of its standard deviation),
//! `split-conformal`, or a kind of intervals; a kind that ends in `+own` is given the network's own uncertainty, and one
//! with `-outputs` has the network's prediction in the place of features, and so knows only what the network puts out. Each line of the output is one method on one
//! network; what is there already is not computed again.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use stonet::metrics::{coverage, coverage_in_fifths, mean_length, winkler};
use stonet::peers::baseline::{FittedBaseline, OwnQuantiles, OwnSd, SplitConformal};
use stonet::peers::mlp::{EarlyStopping, Loss, Mlp, Training};
use stonet::rows::Scaling;
use stonet::{Dataset, Intervals, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use stonet_repro::uci::{UciSet, load};

mod truth;

use truth::Truth;

type Any<T> = Result<T, Box<dyn Error>>;

/// Rows of a set that are used, at most.
const MOST_ROWS: usize = 10_000;
/// The two kinds of networks.
const NETWORKS: [&str; 2] = ["quantiles", "sd"];

fn main() -> Any<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: BTreeMap<String, String> = args
        .chunks(2)
        .map(|pair| (pair[0].trim_start_matches("--").to_owned(), pair.get(1).cloned().unwrap_or_default()))
        .collect();
    let arg = |name: &str, otherwise: &str| args.get(name).cloned().unwrap_or_else(|| otherwise.to_owned());
    if let Some(files) = args.get("table") {
        return table(files);
    }
    let (data, out) = (PathBuf::from(arg("data", ".")), arg("out", "own.jsonl"));
    let seed: u64 = arg("seed", "1").parse()?;
    let splits: Vec<usize> = match arg("splits", "0-2").split_once('-') {
        Some((from, to)) => (from.parse()?..=to.parse()?).collect(),
        None => vec![arg("splits", "0").parse()?],
    };
    let all = || UciSet::ALL[..9].iter().map(|s| s.name()).chain(Truth::ALL.map(Truth::name)).map(str::to_owned);
    let sets: Vec<String> = match arg("sets", "") {
        none if none.is_empty() => all().collect(),
        some => some.split(',').map(str::to_owned).collect(),
    };
    let methods = arg("methods", "own split-conformal stack stack+own fast fast+own");
    let there = std::fs::read_to_string(&out).unwrap_or_default();
    let there: BTreeSet<String> =
        there.lines().filter_map(|l| serde_json::from_str::<Record>(l).ok()).map(|r| r.key()).collect();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&out)?;
    for &split in &splits {
        for set in &sets {
            for network in NETWORKS {
                let blank = |method: &str| Record::blank(set, network, split, seed, method);
                let left: Vec<Record> =
                    methods.split(' ').map(blank).filter(|r: &Record| !there.contains(&r.key())).collect();
                if left.is_empty() {
                    continue;
                }
                let rows = prepare(set, network, split, seed, &data)?;
                for record in left {
                    let record = judge(record, &rows)?;
                    eprintln!(
                        "{set:12} {network:9} {split} {:16} {:.3} {:.5}",
                        record.method, record.coverage, record.score
                    );
                    writeln!(file, "{}", serde_json::to_string(&record)?)?;
                }
            }
        }
    }
    Ok(())
}

/// A method on one network.
#[derive(Serialize, Deserialize)]
struct Record {
    set: String,
    network: String,
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
}

impl Record {
    fn blank(set: &str, network: &str, split: usize, seed: u64, method: &str) -> Self {
        let [set, network, method] = [set, network, method].map(str::to_owned);
        let (by_width, by_prediction, exact) = (Vec::new(), Vec::new(), None);
        let (rows, coverage, length, score) = (0, 0.0, 0.0, 0.0);
        Record { set, network, split, seed, method, rows, coverage, length, score, by_width, by_prediction, exact }
    }

    fn key(&self) -> String {
        format!("{} {} {} {} {}", self.set, self.network, self.split, self.seed, self.method)
    }
}

/// What a network says of some rows.
struct Part {
    inputs: Array2<f64>,
    features: Array2<f64>,
    prediction: Array2<f64>,
    /// Lower and upper quantiles, or standard deviations.
    own: Vec<Array2<f64>>,
    y: Array2<f64>,
}

struct Prepared {
    calibration: Part,
    test: Part,
}

/// A network that stops early, and what it says of the rows that it was not trained on: 40 % of the rows train, 40 %
/// calibrate, 20 % test.
fn prepare(set: &str, network: &str, split: usize, seed: u64, data: &Path) -> Any<Prepared> {
    let data = match Truth::ALL.into_iter().find(|t| t.name() == set) {
        Some(truth) => truth.sample(Seed::new(1000 * seed + split as u64))?,
        None => load(set.parse()?, data)?.ok_or("no such set")?.data,
    };
    let seed = Seed::new(seed).child(split as u64);
    let fifths = stonet::rows::folds(data.rows(), 5, seed.child(0))?;
    let most = |rows: Vec<usize>, share: f64| -> Vec<usize> {
        rows.into_iter().take((share * MOST_ROWS as f64) as usize).collect()
    };
    let train = data.select(&most(fifths[..2].concat(), 0.4));
    let scaling = Scaling::fit(&train)?;
    let loss = match network {
        "quantiles" => Loss::Pinball { levels: vec![0.05, 0.5, 0.95] },
        _ => Loss::Gaussian,
    };
    let early_stopping = Some(EarlyStopping::default());
    let training = Training { hidden: vec![200, 50], epochs: 300, loss, early_stopping, ..Training::default() };
    let net = training.fit(&scaling.apply(&train)?, seed.child(1), &mut ())?.network;
    let part = |rows: Vec<usize>| said(&net, &scaling, &data.select(&rows), network);
    Ok(Prepared { calibration: part(most(fifths[2..4].concat(), 0.4))?, test: part(most(fifths[4].clone(), 0.2))? })
}

/// What the network says, in the target's units.
fn said(net: &Mlp, scaling: &Scaling, rows: &Dataset, network: &str) -> Any<Part> {
    let x = scaling.x.apply(rows.x())?;
    let (mean, sd) = (scaling.y.mean()[0], scaling.y.sd()[0]);
    let out = net.predict(x.view())?;
    let column = |k: usize| out.column(k).to_owned().insert_axis(Axis(1));
    let [first, second] = [column(0), column(1)];
    let (prediction, own) = match network {
        "quantiles" => (second * sd + mean, vec![first * sd + mean, column(2) * sd + mean]),
        _ => (first * sd + mean, vec![second.mapv(f64::exp) * sd]),
    };
    let (inputs, features) = (rows.x().to_owned(), net.features(x.view())?);
    Ok(Part { inputs, features, prediction, own, y: rows.y().to_owned() })
}

fn judge(record: Record, rows: &Prepared) -> Any<Record> {
    let level = Level::new(0.9)?;
    let (kind, with_own) = match record.method.as_str() {
        "own" => ("own", true),
        other => (other.trim_end_matches("+own"), other.ends_with("+own")),
    };
    let (calibration, test) = (&rows.calibration, &rows.test);
    let features = |part: &Part| match kind.ends_with("-outputs") {
        true => part.prediction.clone(),
        false => part.features.clone(),
    };
    let (kind, x, new_x) = (kind.trim_end_matches("-outputs"), features(calibration), features(test));
    let mut fit =
        RegressionRows::new(x.view(), calibration.y.view())?.with_prediction(calibration.prediction.view())?;
    let mut new = RegressionInputs::new(new_x.view())?.with_prediction(test.prediction.view())?;
    if with_own {
        (fit, new) = match (&calibration.own[..], &test.own[..]) {
            ([lower, upper], [new_lower, new_upper]) => (
                fit.with_quantiles(lower.view(), upper.view())?,
                new.with_quantiles(new_lower.view(), new_upper.view())?,
            ),
            (sd, new_sd) => (fit.with_sd(sd[0].view())?, new.with_sd(new_sd[0].view())?),
        };
    }
    let seed = Seed::new(record.seed).child(record.split as u64).child(2);
    let tick = |_: usize, _: usize| true;
    let intervals = match kind {
        "own" if calibration.own.len() == 2 => OwnQuantiles.fit(&fit, seed, &tick)?.intervals(&new, level)?,
        "own" => OwnSd.fit(&fit, seed, &tick)?.intervals(&new, level)?,
        "split-conformal" => SplitConformal.fit(&fit, seed, &tick)?.intervals(&new, level)?,
        kind => {
            let settings = PostStoNetRegressor { kind: kind.parse()?, ..PostStoNetRegressor::default() };
            settings.fit(&fit, seed, &tick)?.intervals(&new, level, Side::Both)?
        }
    };
    judged(record, &intervals, test)
}

fn judged(record: Record, intervals: &Intervals, test: &Part) -> Any<Record> {
    let y = test.y.view();
    let width = &intervals.upper - &intervals.lower;
    let truth = Truth::ALL.into_iter().find(|t| t.name() == record.set);
    Ok(Record {
        rows: y.nrows(),
        coverage: coverage(intervals, y)?,
        length: mean_length(intervals),
        score: winkler(intervals, y)?,
        by_width: coverage_in_fifths(intervals, y, width.view())?.to_vec(),
        by_prediction: coverage_in_fifths(intervals, y, intervals.prediction.view())?.to_vec(),
        exact: truth.map(|t| t.deviation(intervals, &test.inputs, 0.9)),
        ..record
    })
}

/// Prints scores relative to the network's own uncertainty, conformalised alone, and coverage.
fn table(files: &str) -> Any<()> {
    let mut records = Vec::new();
    for file in files.split(' ') {
        for line in std::fs::read_to_string(file)?.lines() {
            records.push(serde_json::from_str::<Record>(line)?);
        }
    }
    let distinct = |of: &dyn Fn(&Record) -> String| {
        let mut seen = Vec::new();
        for value in records.iter().map(of) {
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        seen
    };
    let (sets, methods) = (distinct(&|r| r.set.clone()), distinct(&|r| r.method.clone()));
    for network in NETWORKS {
        println!(
            "\nNetworks with {network}: interval score relative to the network's own {network}, conformalised alone.\n"
        );
        let heads = sets.join(" | ");
        println!(
            "| method | {heads} | real sets | simulated | distance |\n|---|{}---|---|---|",
            "---|".repeat(sets.len())
        );
        methods.iter().for_each(|m| println!("{}", line(&records, network, &sets, m)));
        println!(
            "\nCoverage in %; in brackets the least and the greatest of its fifths by width, means over splits.\n"
        );
        println!("| method | {heads} |\n|---|{}", "---|".repeat(sets.len()));
        methods.iter().for_each(|m| println!("{}", covered(&records, network, &sets, m)));
    }
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn of<'r>(records: &'r [Record], network: &str, set: &str, method: &str) -> Vec<&'r Record> {
    records.iter().filter(|r| (&*r.network, &*r.set, &*r.method) == (network, set, method)).collect()
}

fn line(records: &[Record], network: &str, sets: &[String], method: &str) -> String {
    let ratio = |set: &String| {
        let base = of(records, network, set, "own");
        let one =
            |r: &Record| base.iter().find(|b| (b.split, b.seed) == (r.split, r.seed)).map(|b| (r.score / b.score).ln());
        let logs: Vec<f64> = of(records, network, set, method).into_iter().filter_map(one).collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    };
    let ratios: Vec<(bool, Option<f64>)> =
        sets.iter().map(|s| (UciSet::ALL.iter().any(|u| u.name() == s), ratio(s))).collect();
    let cells: Vec<String> = ratios.iter().map(|(_, r)| r.map_or(String::new(), |r| format!("{r:.3}"))).collect();
    let together = |real: bool| {
        let logs: Vec<f64> = ratios.iter().filter(|(r, _)| *r == real).filter_map(|(_, v)| v.map(f64::ln)).collect();
        if logs.is_empty() { String::new() } else { format!("{:.4}", mean(&logs).exp()) }
    };
    let exact: Vec<f64> =
        records.iter().filter(|r| r.network == network && r.method == method).filter_map(|r| r.exact).collect();
    let exact = if exact.is_empty() { String::new() } else { format!("{:.2}", 100.0 * mean(&exact)) };
    format!("| {method} | {} | {} | {} | {exact} |", cells.join(" | "), together(true), together(false))
}

fn covered(records: &[Record], network: &str, sets: &[String], method: &str) -> String {
    let cell = |set: &String| {
        let rows = of(records, network, set, method);
        if rows.is_empty() {
            return String::new();
        }
        let fifth = |i: usize| 100.0 * mean(&rows.iter().map(|r| r.by_width[i]).collect::<Vec<_>>());
        let fifths: Vec<f64> = (0..5).map(fifth).collect();
        let (least, most) = (fifths.iter().copied().fold(100.0, f64::min), fifths.iter().copied().fold(0.0, f64::max));
        let all = 100.0 * mean(&rows.iter().map(|r| r.coverage).collect::<Vec<_>>());
        format!("{all:.1} ({least:.1}–{most:.1})")
    };
    format!("| {method} | {} |", sets.iter().map(cell).collect::<Vec<_>>().join(" | "))
}
