//! Ctrl-C and SIGTERM in the middle of long work: exit code 130, and nothing but whole files.
#![cfg(unix)]

mod common;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ndarray::{Array1, Array2};
use rand_distr::{Distribution, StandardNormal};
use stonet_io::{Cells, Column, Type, Writer};

use common::Desk;

/// A table of noise, `f0`, `f1`, … and `y`.
fn table(desk: &Desk, name: &str, rows: usize, features: usize) {
    let mut draws = StandardNormal.sample_iter(stonet::Seed::new(1).rng());
    let x = Array2::from_shape_simple_fn((features + 1, rows), || draws.next().unwrap());
    let names = (0..features).map(|i| format!("f{i}")).chain(["y".to_owned()]);
    let mut writer = Writer::create(&desk.at(name), names.map(|n| Column::new(n, Type::F64)).collect()).unwrap();
    let columns: Vec<Array1<f64>> = x.outer_iter().map(|c| c.to_owned()).collect();
    writer.write(&columns.iter().map(|c| Cells::Numbers(c.view())).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
}

/// Runs a command, sends it a signal once `ready`, and waits for its end.
fn signalled(desk: &Desk, line: &str, signal: &str, ready: impl Fn(Duration) -> bool) -> Output {
    let mut child = desk.stonet(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !ready(begin.elapsed()) {
        assert!(child.try_wait().unwrap().is_none(), "`{line}` ended before it got a signal");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// Twenty eigen-decompositions of order 1300 or so, inside which nothing is asked.
#[test]
fn a_signal_inside_a_large_factorisation_ends_a_fit() {
    let desk = Desk::new();
    table(&desk, "wide.parquet", 2000, 1300);
    for signal in ["INT", "TERM"] {
        let fit = "fit wide.parquet --task regression --target y --interval fast -o head.stonet";
        let out = signalled(&desk, fit, signal, |since| since > Duration::from_secs(1));
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("stopped") && !stderr.contains("panicked"), "{stderr}");
        let left: Vec<_> = std::fs::read_dir(desk.at("")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["wide.parquet"]);
    }
}

/// A split of a million epochs would take hours.
#[test]
fn a_signal_inside_a_split_ends_a_benchmark() {
    let desk = Desk::new();
    table(&desk, "table.csv", 200, 3);
    let run = "benchmark table.csv --target y --epochs 1000000 --splits 1 --out run";
    let journal = || std::fs::read_to_string(desk.at("run/benchmark.jsonl")).unwrap_or_default();
    let out = signalled(&desk, run, "INT", |_| journal().ends_with('\n'));
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(journal().lines().count(), 1);
    assert!(!desk.at("run/benchmark.json").exists());
}
