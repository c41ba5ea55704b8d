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
    for &(name, _) in TARGETS {
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

/// Writes the corpus of states, rules and requests: `cargo test -p stonet-cli --features serve seeds -- --ignored`.
#[test]
#[ignore = "writes the corpus"]
fn seeds_of_states_rules_and_requests() {
    use super::operate::{head, rows as fixed_rows};
    use stonet::RegressionInputs;
    use stonet::control::{Control, Evidence};
    use stonet::monitor::MonitorSettings;
    use stonet::{Level, Side};
    use stonet_io::{Head, MonitorState, SavedRule, Watch};
    let put = |target: &str, name: &str, bytes: &[u8]| {
        let folder = top().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
    };
    let (model, (x, y)) = (head(), fixed_rows());
    let Head::Regression(fitted) = &model.head else { unreachable!("a regression") };
    let rows = RegressionInputs::new(x.view()).unwrap();
    let mut watch = Watch::new(model, MonitorSettings::new(Level::new(0.8).unwrap())).unwrap();
    let state = |watch: &Watch<'_>| MonitorState { head: model.identity().unwrap(), monitor: watch.state().clone() };
    put("state", "new.json", &state(&watch).to_bytes().unwrap());
    watch.add_regression(&rows, Some(y.view())).unwrap();
    put("state", "rows.json", &state(&watch).to_bytes().unwrap());
    let level = Level::new(0.8).unwrap();
    let intervals = fitted.intervals(&rows, level, Side::Both).unwrap();
    for (name, want, confidence) in [("wrong.json", "wrong<=0.5", None), ("coverage.json", "coverage>=0.3", Some(0.8))]
    {
        let confidence = confidence.map(|c| Level::new(c).unwrap());
        let control = Control { want: want.parse().unwrap(), confidence, seed: 1 };
        let mut evidence = Evidence::of_intervals(&control.want, level).unwrap();
        evidence.add_intervals(&intervals, y.column(0)).unwrap();
        let rule = control.decide(&evidence).unwrap().rule.unwrap();
        put("rule", name, SavedRule::new(rule, model).unwrap().to_json().unwrap().as_bytes());
    }
    put("http", "rows", b"jlevel=0.8,0.95\n{\"rows\": [{\"f0\": 1.5, \"f1\": 2}, {\"f1\": -1e3, \"f0\": 0}]}");
    put("http", "columns", b"jquantiles=0.1&below=1\n{\"columns\": {\"f0\": [1, 2.5], \"f1\": [0, null]}}");
    put("http", "empty", b"j\n{\"rows\": []}");
}
