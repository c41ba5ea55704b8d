//! The command as a user types it: real runs, exit codes, and what is left on disk.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::prelude::*;
use serde_json::Value;

fn stonet(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("stonet"));
    command.args(arguments);
    command
}

fn json(command: &mut Command) -> Value {
    let output = command.assert().success().get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn path(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// Fails with exit code 2 and this text on standard error.
fn refuses(arguments: &[&str], text: &str) {
    let output = stonet(arguments).assert().code(2).get_output().clone();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn demo_prints_a_summary_and_draws_its_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("pictures");
    let summary = json(&mut stonet(&["demo", "--json", "--seed", "3", "--out", path(&out)]));
    assert_eq!(summary["schema"], "stonet.demo/1");
    let coverage = summary["coverage"].as_f64().unwrap();
    // Five training sets: the coverage of each has an sd of about 1.2 points, and its 1000 test rows add 0.7.
    assert!((coverage - 0.95).abs() < 4.5 * 0.014 / 5f64.sqrt(), "{coverage}");
    // In the committed simulation they are in all of 600 fits.
    assert!(summary["sets"].as_array().unwrap().iter().all(|s| s["separated"] == true));
    for file in ["intervals.svg", "path.svg"] {
        let svg = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
    let again = json(&mut stonet(&["demo", "--json", "--seed", "3", "--out", path(&out)]));
    assert_eq!(again, summary);
    let text = stonet(&["demo", "--out", path(&out)]).assert().success().get_output().clone();
    assert!(String::from_utf8_lossy(&text.stdout).contains("coverage of 95 % intervals"));
}

#[test]
fn bad_flags_end_with_code_two_and_a_remedy() {
    refuses(&["reproduce", "simulation", "--models", "3"], "there is no model `3`; there are 1, 2");
    refuses(&["reproduce", "selection", "--models", "x"], "there is no model `x`");
    let dir = tempfile::tempdir().unwrap();
    let out = path(dir.path());
    let run = ["reproduce", "simulation", "--out", out];
    refuses(&[&run[..], &["--settings", "iv"]].concat(), "there is no setting `iv`; there are i, ii, iii");
    refuses(&[&run[..], &["--replicates", "0"]].concat(), "--replicates must be at least 1");
    refuses(&[&run[..], &["--jobs", "0"]].concat(), "--jobs must be at least 1");
    refuses(&["demo", "--seed", "minus"], "invalid value 'minus'");
    refuses(&["demonstrate"], "unrecognized subcommand");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    refuses(&["demo", "--out", path(&file)], "cannot create the directory");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in the way");
}

#[test]
fn help_has_an_example_for_every_command() {
    for command in [&["demo"][..], &["reproduce", "simulation"], &["reproduce", "selection"]] {
        let output = stonet(&[command, &["--help"]].concat()).assert().success().get_output().clone();
        assert!(String::from_utf8_lossy(&output.stdout).contains("Example: stonet"), "{command:?}");
    }
}

/// Kills a real run in the middle and starts it again: same numbers as a run that was left alone.
#[test]
fn a_killed_simulation_goes_on_where_it_was() {
    let [whole, cut] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let run = |out: &Path| {
        let out = out.to_str().unwrap().to_owned();
        let flags = ["--models", "1", "--settings", "ii", "--replicates", "3", "--json"];
        stonet(&[&["reproduce", "simulation", "--out", &out], &flags[..]].concat())
    };
    let expected = json(&mut run(whole.path()));
    let mut child = run(cut.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let journal = cut.path().join("simulation.jsonl");
    let deadline = Instant::now() + Duration::from_secs(300);
    // The header and at least two pilots.
    while std::fs::read_to_string(&journal).map_or(0, |t| t.lines().count()) < 3 {
        assert!(Instant::now() < deadline, "the run saved nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!cut.path().join("simulation.json").exists());
    let saved = std::fs::read_to_string(&journal).unwrap();
    let resumed = json(&mut run(cut.path()));
    assert_eq!(resumed, expected);
    let whole_lines = saved.rfind('\n').unwrap() + 1;
    assert!(std::fs::read_to_string(&journal).unwrap().starts_with(&saved[..whole_lines]));
    assert_eq!(resumed["schema"], "stonet.reproduce.simulation/1");
    for field in ["model", "setting", "coverage", "mean_length", "test_rmse"] {
        assert!(!resumed["cells"][0][field].is_null(), "{field}");
    }
}
