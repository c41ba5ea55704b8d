//! The corpus of every fuzz target, the files that once broke something, and mutations of all of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use rand::RngExt;
use stonet::Seed;

use super::TARGETS;

/// Mutations of each target's files; STONET_MUTATIONS asks for another number.
const MUTATIONS: usize = 400;
/// Names the target in the child process of the test below.
const TARGET: &str = "STONET_TEST_TARGET";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of a folder that is there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).map_or(Vec::new(), |all| all.map(|e| e.unwrap().path()).collect());
    found.sort();
    found
}

/// The corpus of a target, the files that once broke it, and fixtures of its format.
fn inputs(target: &str) -> Vec<PathBuf> {
    let endings: &[&str] = match target {
        "arrow" => &["arrow", "feather"],
        other => &[other],
    };
    let fixture = |path: &PathBuf| path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending));
    let fixtures = ["crates/stonet-io/tests/fixtures", "crates/stonet-onnx/tests/fixtures"];
    let mut all: Vec<PathBuf> = fixtures.iter().flat_map(|f| files(&top().join(f))).filter(fixture).collect();
    all.extend(files(&top().join("fuzz/corpus").join(target)));
    all.extend(files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks").join(target)));
    all
}

/// Bytes changed, cut, repeated, put in or taken from another file.
fn mutated(all: &[Vec<u8>], rng: &mut impl RngExt) -> Vec<u8> {
    let mut bytes = all[rng.random_range(0..all.len())].clone();
    for _ in 0..rng.random_range(1..5) {
        let place = rng.random_range(0..bytes.len() + 1);
        let end = bytes.len().min(place + rng.random_range(1..9));
        match rng.random_range(0..8) {
            0 => bytes.truncate(place),
            1 => drop(bytes.drain(place..end)),
            2 => drop(bytes.splice(place..end, [0xff; 4])),
            3 => drop(bytes.splice(place..end, [0; 8])),
            4 => drop(bytes.splice(place..place, bytes[place..end].to_vec())),
            5 => {
                let other = &all[rng.random_range(0..all.len())];
                bytes.truncate(place);
                bytes.extend_from_slice(&other[place.min(other.len())..]);
            }
            _ => bytes[place..end].iter_mut().take(1).for_each(|b| *b = rng.random()),
        }
    }
    bytes
}

/// In a process of its own, so that a stack or memory that runs out ends this one alone. The test below runs it.
#[test]
#[ignore = "the child process of another test"]
fn child_that_replays_one_target() {
    let Ok(name) = std::env::var(TARGET) else { return };
    let target = TARGETS.iter().find(|(n, _)| *n == name).unwrap().1;
    let paths = inputs(&name);
    let all: Vec<Vec<u8>> = paths.iter().map(|p| std::fs::read(p).unwrap()).collect();
    for (path, bytes) in paths.iter().zip(&all) {
        println!("{}", path.display());
        target(bytes);
    }
    let mut rng = Seed::new(21).rng();
    let asked = std::env::var("STONET_MUTATIONS").ok().and_then(|n| n.parse().ok());
    for i in 0..asked.unwrap_or(MUTATIONS) {
        println!("mutation {i}");
        target(&mutated(&all, &mut rng));
    }
    std::fs::remove_dir_all(super::folder()).unwrap();
    println!("{} files", all.len());
}

#[test]
fn every_target_survives_its_corpus_and_mutations_of_it() {
    for (name, _) in TARGETS {
        let out = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "attacks::tests::child_that_replays_one_target", "--ignored", "--nocapture"])
            .env(TARGET, name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        let wrong = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {last:?}\n{}", wrong.chars().take(2000).collect::<String>());
        assert!(said.contains(" files") && !said.contains("\n0 files"), "{name}: no input was found");
    }
}
