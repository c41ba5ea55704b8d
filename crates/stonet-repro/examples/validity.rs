//! Coverage of every interval, set and bound in many situations, over independent replications.
//!
//! ```sh
//! cargo run --release -p stonet-repro --example validity -- run docs/results/validity/records.jsonl [--part I/M] [--cost MOST] [--judged]
//! cargo run --release -p stonet-repro --example validity -- table docs/results/validity/records.jsonl… > table.md
//! cargo run --release -p stonet-repro --example validity -- list
//! ```
//! `run` saves each finished cell (a situation and a method) and continues where it stopped; cheap cells come first.
//! `--part 2/4` does every fourth cell from the second on, into a file of its own. `--cost` leaves out fits that cost
//! more than about so many milliseconds of processor, `--judged` those of methods that promise nothing. `table` judges all
//! cells of these files together: one-sided t-tests against the promise over replications, with Holm's correction at 1 %. It
//! fails where a promise is broken, or where a method of which the level is expected is more than a point below it. `list`
//! prints the cells.

#[path = "../../stonet/examples/usage/mod.rs"]
mod usage;
#[path = "../../stonet/tests/common/validity/mod.rs"]
mod validity;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet_compare::journal::Journal;
use usage::processor_seconds;
use validity::judge::{ERROR, rejected};
use validity::situations::cells;
use validity::{Cell, Found, NEW_ROWS, REPLICATIONS};

type Any<T> = Result<T, Box<dyn Error>>;

/// A finished cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    situation: String,
    rows: usize,
    method: String,
    /// Processor time of the whole cell.
    seconds: f64,
    /// Why there is no fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    found: Vec<Found>,
}

impl Record {
    fn is(&self, cell: &Cell) -> bool {
        self.situation == cell.situation() && self.method == cell.method.name()
    }

    /// Whether methods of this name are expected at the level although less is proven.
    fn is_cross_fitted(&self) -> bool {
        ["stack", "fast", "cv+"].contains(&&self.method[..]) || self.method == "sets, cv+"
    }
}

fn main() -> Any<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => {
            for cell in cells() {
                println!("{:8.2} {}, {}", cell.cost(), cell.situation(), cell.method.name());
            }
            Ok(())
        }
        ["run", path, ref options @ ..] => run(Path::new(path), options),
        ["table", ref paths @ ..] if !paths.is_empty() => table(&read(paths)?),
        _ => Err("validity run FILE [--part I/M] [--cost MOST] [--judged] | table FILE… | list".into()),
    }
}

fn journal(path: &Path) -> Any<(Journal<Record>, Vec<Record>)> {
    let settings = serde_json::json!({ "replications": REPLICATIONS, "new_rows": NEW_ROWS });
    Ok(Journal::open(path, "validity/1", settings)?)
}

fn run(path: &Path, options: &[&str]) -> Any<()> {
    let ((mut part, mut parts), mut most, mut judged) = ((1, 1), f64::INFINITY, false);
    let mut options = options.iter();
    while let Some(&option) = options.next() {
        let mut value = || options.next().ok_or_else(|| format!("{option} has no value"));
        match option {
            "--part" => {
                let (i, m) = value()?.split_once('/').ok_or("--part is I/M, such as 1/4")?;
                (part, parts) = (i.parse::<usize>()?, m.parse::<usize>()?);
            }
            "--cost" => most = value()?.parse()?,
            "--judged" => judged = true,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    if part == 0 || part > parts {
        return Err(format!("--part {part}/{parts} is no part: the first is 1/{parts}").into());
    }
    let (journal, done) = journal(path)?;
    let asked = cells().into_iter().filter(|c| c.cost() <= most && (c.is_judged() || !judged)).enumerate();
    let mine = asked.filter(|(i, _)| i % parts == part - 1).map(|(_, c)| c);
    let left: Vec<Cell> = mine.filter(|c| !done.iter().any(|r| r.is(c))).collect();
    for (number, cell) in left.iter().enumerate() {
        let busy = processor_seconds();
        let (found, refused) = match cell.run(REPLICATIONS) {
            Ok(found) => (found, None),
            Err(e) => (Vec::new(), Some(e.to_string())),
        };
        let (situation, method) = (cell.situation().to_owned(), cell.method.name());
        let seconds = ((processor_seconds() - busy) * 100.0).round() / 100.0;
        eprintln!("{} of {}: {situation}, {method}: {seconds:.1} s of processor", number + 1, left.len());
        journal.append(&Record { situation, rows: cell.rows(), method, seconds, refused, found })?;
    }
    Ok(())
}

fn read(paths: &[&str]) -> Any<Vec<Record>> {
    let mut all = Vec::new();
    for path in paths {
        if !Path::new(path).is_file() {
            return Err(format!("there is no file {path}").into());
        }
        all.extend(journal(Path::new(path))?.1);
    }
    Ok(all)
}

/// A share with its test.
struct Judged<'a> {
    record: &'a Record,
    found: &'a Found,
    p: Option<f64>,
    broken: bool,
}

fn judged(records: &[Record]) -> Vec<Judged<'_>> {
    let mut all: Vec<Judged<'_>> = records
        .iter()
        .flat_map(|record| {
            record.found.iter().map(move |found| Judged { record, found, p: found.p_value(), broken: false })
        })
        .collect();
    let places: Vec<usize> = (0..all.len()).filter(|&i| all[i].p.is_some()).collect();
    let verdicts = rejected(&places.iter().map(|&i| all[i].p.unwrap_or(1.0)).collect::<Vec<_>>());
    places.into_iter().zip(verdicts).for_each(|(i, broken)| all[i].broken = broken);
    all
}

fn percent(v: f64) -> String {
    format!("{:.1}", 100.0 * v)
}

fn table(records: &[Record]) -> Any<()> {
    let all = judged(records);
    let of = |cell: &Cell| records.iter().find(|r| r.is(cell));
    let cells = cells();
    let done: Vec<&Cell> = cells.iter().filter(|c| of(c).is_some()).collect();
    let situations = |of: &mut dyn Iterator<Item = &Cell>| {
        let mut names: Vec<&str> = of.map(|c| c.situation()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let tested = all.iter().filter(|j| j.p.is_some()).count();
    let broken: Vec<&Judged<'_>> = all.iter().filter(|j| j.broken).collect();
    println!(
        "{} of {} cells, {} of {} situations, {} promises tested by one-sided t-tests over {REPLICATIONS} replications with \
         {NEW_ROWS} new rows each; Holm's correction at {} %: {} below their promise. {:.2} core-hours.\n",
        done.len(),
        cells.len(),
        situations(&mut done.iter().copied()),
        situations(&mut cells.iter()),
        tested,
        percent(ERROR),
        broken.len(),
        records.iter().map(|r| r.seconds).sum::<f64>() / 3600.0
    );
    println!("## By method\n");
    methods(&all);
    println!("\n## Below the promise\n");
    list(&broken);
    println!("\n## More than a point below the level, where less is proven\n");
    let low = |j: &&Judged<'_>| j.record.is_cross_fitted() && !j.found.what.starts_with("P(y") && j.found.is_low();
    let low: Vec<&Judged<'_>> = all.iter().filter(low).collect();
    list(&low);
    println!("\n## Refused\n");
    for r in records {
        r.refused.iter().for_each(|why| println!("- {}, {}: {why}", r.situation, r.method));
    }
    println!("\n## Not yet there\n");
    cells.iter().filter(|c| of(c).is_none()).for_each(|c| println!("- {}, {}", c.situation(), c.method.name()));
    println!("\n## Every cell\n");
    every_cell(&all, records);
    let faults = broken.len() + low.len();
    if faults > 0 { Err(format!("{faults} shares are below what they should be").into()) } else { Ok(()) }
}

/// One line per cell: the promise that is nearest to being broken, and the lowest coverage less its level.
fn every_cell(all: &[Judged<'_>], records: &[Record]) {
    println!(
        "Per cell: how many promises were tested, the one with the smallest p, and how far the lowest coverage of all shares is \
         from its level, in points. Cells without a promise have no p.\n"
    );
    println!(
        "| situation | rows | method | tested | smallest p of | coverage % | promised % | p | lowest less level |"
    );
    println!("|---|--:|---|--:|---|--:|--:|--:|--:|");
    for record in records.iter().filter(|r| r.refused.is_none()) {
        let own: Vec<&Judged<'_>> = all.iter().filter(|j| std::ptr::eq(j.record, record)).collect();
        let tested = own.iter().filter(|j| j.p.is_some()).count();
        let off = |j: &&&Judged<'_>| j.found.coverage - j.found.level;
        let Some(lowest) = own.iter().filter(is_coverage).min_by(|a, b| off(a).total_cmp(&off(b))) else { continue };
        let weakest = (own.iter().filter(|j| j.p.is_some())).min_by(|a, b| a.p.partial_cmp(&b.p).expect("no NaN"));
        let told = weakest.map_or("| | | ".to_owned(), |j| {
            let (coverage, promise) = (percent(j.found.coverage), j.found.promise.map_or(String::new(), percent));
            format!("{} | {coverage} | {promise} | {}", j.found.what, p_text(j.p))
        });
        let (situation, rows, method) = (&record.situation, record.rows, &record.method);
        println!("| {situation} | {rows} | {method} | {tested} | {told} | {:.1} |", 100.0 * off(&lowest));
    }
}

/// Shares of P(y ≤ t) are of a distribution, not of intervals.
fn is_coverage(j: &&&Judged<'_>) -> bool {
    !j.found.what.starts_with("P(y")
}

fn p_text(p: Option<f64>) -> String {
    p.map_or(String::new(), |p| if p < 0.001 { format!("{p:.1e}") } else { format!("{p:.3}") })
}

fn line(j: &Judged<'_>) {
    let f = j.found;
    let error = f.sd / (f.replications as f64).sqrt();
    println!(
        "| {} | {} | {} | {} ± {:.2} | {} | {} | {} |",
        j.record.situation,
        j.record.method,
        f.what,
        percent(f.coverage),
        100.0 * error,
        f.promise.map_or("nothing".to_owned(), percent),
        p_text(j.p),
        percent(f.unbounded)
    );
}

fn list(all: &[&Judged<'_>]) {
    if all.is_empty() {
        return println!("None.");
    }
    println!("| situation | method | what | coverage | promised | p | unbounded |\n|---|---|---|--:|--:|--:|--:|");
    all.iter().for_each(|j| line(j));
}

/// Cells, tests and coverage of each method at 90 % with two ends, or of its sets.
fn methods(all: &[Judged<'_>]) {
    let mut by: BTreeMap<&str, Vec<&Judged<'_>>> = BTreeMap::new();
    all.iter().for_each(|j| by.entry(&j.record.method).or_default().push(j));
    println!("| method | shares | tested | broken | smallest p | lowest coverage less level, points | mean of it |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (method, all) in by {
        let tested: Vec<f64> = all.iter().filter_map(|j| j.p).collect();
        let off: Vec<f64> = (all.iter().filter(|j| !j.found.what.starts_with("P(y")))
            .map(|j| 100.0 * (j.found.coverage - j.found.level))
            .collect();
        println!(
            "| {method} | {} | {} | {} | {} | {:.1} | {:.1} |",
            all.len(),
            tested.len(),
            all.iter().filter(|j| j.broken).count(),
            tested.iter().copied().reduce(f64::min).map_or("none".to_owned(), |p| format!("{p:.1e}")),
            off.iter().copied().fold(f64::INFINITY, f64::min),
            off.iter().sum::<f64>() / off.len() as f64
        );
    }
}
