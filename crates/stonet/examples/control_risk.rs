//! Whether rules of answers keep their promises: 500 replications of every wish, their true risks on fresh rows.
//!
//! `cargo run --release --example control_risk -- FILE.csv` appends a line per wish and number of rows; lines that are there
//! already are not computed again. `-- FILE.csv DIR` also writes the rows of 100 replications for
//! `benches/compare/control.py`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use stonet::Seed;
use stonet::control::Rule;

#[allow(dead_code)]
#[path = "../tests/common/answers.rs"]
mod answers;
use answers::{ClassDraw, Population, Wish};

const REPLICATIONS: usize = 500;
const FRESH: usize = 400_000;
const ROWS: [usize; 3] = [500, 2000, 10_000];
const HEADER: &str =
    "wish,confidence,ties,head,rows,replications,rules,exceeded,mean_risk,t,mean_answered,best_answered\n";
/// Apart from the seeds of the tests, and from those that the procedure was designed with.
const CONFIRMING: u64 = 77;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(out) = arguments.first().map(Path::new) else { panic!("give the file of results") };
    let population = Population::new(FRESH, Seed::new(CONFIRMING).child(1));
    if let Some(folder) = arguments.get(1) {
        return rows_for_others(Path::new(folder), &population);
    }
    let known: HashSet<String> = std::fs::read_to_string(out).unwrap_or_default().lines().map(key).collect();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(out)?;
    if known.is_empty() {
        file.write_all(HEADER.as_bytes())?;
    }
    for rows in ROWS {
        for wish in &Wish::ALL {
            let about = about(wish, rows);
            if !known.contains(&about) {
                file.write_all(format!("{about},{}\n", replicate(wish, rows, &population)).as_bytes())?;
                file.flush()?;
            }
        }
    }
    Ok(())
}

/// What a line is about: its first five fields.
fn key(line: &str) -> String {
    line.split(',').take(5).collect::<Vec<_>>().join(",")
}

fn about(wish: &Wish, rows: usize) -> String {
    let confidence = wish.confidence.map_or("none".into(), |c| c.to_string());
    let head = if wish.intervals { "intervals" } else { "classes" };
    format!("{},{confidence},{},{head},{rows}", wish.text, wish.ties)
}

fn replicate(wish: &Wish, rows: usize, population: &Population) -> String {
    let seed = |r: usize| Seed::new(CONFIRMING).child(2).child(r as u64);
    let rules: Vec<Rule> = (0..REPLICATIONS).filter_map(|r| wish.rule(rows, seed(r))).collect();
    let limit = wish.want().risk();
    let risks: Vec<f64> = rules.iter().map(|rule| population.risk(wish, rule.threshold())).collect();
    let exceeded = risks.iter().filter(|r| **r > limit).count();
    let n = risks.len() as f64;
    let mean = risks.iter().sum::<f64>() / n;
    let sd = (risks.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let t = (mean - limit) / (sd / n.sqrt());
    let answered = rules.iter().map(|rule| population.share(wish, rule.threshold())).sum::<f64>() / REPLICATIONS as f64;
    format!("{REPLICATIONS},{},{exceeded},{mean:.5},{t:.2},{answered:.4},{:.4}", rules.len(), best(wish, population))
}

/// The share that the best threshold answers whose true risk keeps the wish.
fn best(wish: &Wish, population: &Population) -> f64 {
    let thresholds = (0..2000).map(|i| match wish.intervals {
        true => -6.0 * f64::from(i) / 2000.0,
        false => 1.0 - f64::from(i) / 2000.0,
    });
    let kept = thresholds.map(Some).chain([None]).filter(|t| population.risk(wish, *t) <= wish.want().risk());
    let shares = kept.map(|t| population.share(wish, t));
    // For recall fewer rows taken are better.
    if wish.want().measure().of_class() && wish.text.starts_with("recall") {
        shares.fold(1.0, f64::min)
    } else {
        shares.fold(0.0, f64::max)
    }
}

/// The probability of class c and whether it is class c, of the rows of 100 replications; and of fresh rows the true
/// probability in place of the class.
fn rows_for_others(folder: &Path, population: &Population) -> std::io::Result<()> {
    let wish = &Wish::ALL[2];
    let mut ours = String::from("replication,threshold,risk,answered\n");
    for r in 0..100 {
        let seed = Seed::new(CONFIRMING).child(2).child(r as u64);
        let draw = ClassDraw::new(2000, false, seed);
        let mut text = String::from("p,is_c\n");
        for (p, y) in draw.p.outer_iter().zip(&draw.y) {
            let _ = writeln!(text, "{},{}", p[2], usize::from(*y == 2));
        }
        std::fs::write(folder.join(format!("rows_{r}.csv")), text)?;
        if let Some(rule) = wish.rule(2000, seed) {
            let (risk, share) = (population.risk(wish, rule.threshold()), population.share(wish, rule.threshold()));
            let _ = writeln!(ours, "{r},{},{risk},{share}", rule.threshold().unwrap_or(0.0));
        }
    }
    std::fs::write(folder.join("ours.csv"), ours)?;
    let fresh = ClassDraw::new(100_000, false, Seed::new(CONFIRMING).child(3));
    let mut text = String::from("p,truth\n");
    for (p, truth) in fresh.p.outer_iter().zip(&fresh.truth) {
        let _ = writeln!(text, "{},{}", p[2], truth[2]);
    }
    std::fs::write(folder.join("fresh.csv"), text)
}
