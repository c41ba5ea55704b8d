//! The command as a user types it: real runs, exit codes, and what is left on disk.

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use assert_cmd::prelude::*;
use serde_json::Value;

use common::{json, path, refuses, stonet};

#[test]
fn demo_prints_a_summary_and_draws_its_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("pictures");
    let summary = json(&mut stonet(&["demo", "--json", "--seed", "3", "--out", path(&out)]));
    assert_eq!(summary["schema"], "stonet.demo/2");
    let method = |i: usize, field: &str| summary["methods"][i][field].as_f64().unwrap();
    // Five sets: 500 calibration rows add 1.3 points to the coverage of each and 1000 test rows 0.9; CV+ may cover
    // more, not less.
    let sd = 0.016 / 5f64.sqrt();
    assert!((0.9 - 4.5 * sd..0.93 + 4.5 * sd).contains(&method(0, "coverage")), "{summary}");
    assert!((0.9 - 4.5 * sd..0.905 + 4.5 * sd).contains(&method(1, "coverage")), "{summary}");
    assert!(method(0, "winkler") < method(1, "winkler"), "{summary}");
    assert!(summary["network_train_rmse"].as_f64() < summary["network_test_rmse"].as_f64());
    for file in ["intervals.svg", "levels.svg"] {
        let svg = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
    let again = json(&mut stonet(&["demo", "--json", "--seed", "3", "--out", path(&out)]));
    assert_eq!(again, summary);
    let fast = ["demo", "--interval", "cv", "--trainer", "asghmc+iro", "--out", path(&out)];
    let text = stonet(&fast).assert().success().get_output().clone();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("split-conformal") && text.contains("guarantee"), "{text}");
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
    refuses(&["demo", "--level", "95", "--out", out], "strictly between 0 and 1");
    refuses(&["demo", "--trainer", "adam"], "there are asghmc, iro, asghmc+iro");
    refuses(&["demo", "--interval", "exact"], "there are stack, cv+, cv, paper, fast, split");
    refuses(&["demonstrate"], "unrecognized subcommand");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// `stonet … | head`: the reader leaves, and nothing panics.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = stonet(&["demo", "--interval", "fast", "--out", path(dir.path())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.lines().all(|l| l.starts_with("next: ")), "{said}");
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    refuses(&["demo", "--out", path(&file)], "cannot create the directory");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in the way");
}

const TABLE: &str = "a,b,c,y";

/// A table with this many rows that a network can learn from.
fn table(dir: &Path, rows: usize) -> std::path::PathBuf {
    let mut text = format!("{TABLE}\n");
    for i in 0..rows {
        let (a, b, c) = ((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos(), ((i * i) as f64 * 0.37).sin());
        text += &format!("{a},{b},{c},{}\n", 2.0 * a - b + 0.4 * c);
    }
    let file = dir.join("table.csv");
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn benchmark_compares_every_method_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (table(dir.path(), 120), dir.path().join("out"));
    let run = |splits: &str| {
        let flags =
            ["--target", "y", "--inputs", "a,b", "--epochs", "5", "--splits", splits, "--json", "--out", path(&out)];
        json(&mut stonet(&[&["benchmark", path(&file)], &flags[..]].concat()))
    };
    let one = run("1");
    assert_eq!((&one["default"], &one["inputs"]), (&Value::from("stack"), &Value::from(2)));
    let names: Vec<&str> = one["methods"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    for name in ["stack", "cv+", "cv", "paper", "fast", "split", "split-conformal", "normalised-conformal", "cqr"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for field in ["coverage", "mean_length", "winkler", "seconds"] {
        assert!(one["methods"][0][field].is_number(), "{field}");
    }
    let journal = out.join("benchmark.jsonl");
    let before = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(run("2")["splits"], 2);
    let grouped =
        ["benchmark", path(&file), "--target", "y", "--groups", "a", "--epochs", "5", "--splits", "1", "--json"];
    let report = json(&mut stonet(&[&grouped[..], &["--out", path(&out)]].concat()));
    assert_eq!(report["inputs"], 2);
    assert!(std::fs::read_to_string(&journal).unwrap().starts_with(&before));
    // The file's name is the same, what stands in it is not.
    table(dir.path(), 130);
    refuses(&[&grouped[..], &["--out", path(&out)]].concat(), "`table.csv (y)` comes from other rows");
}

#[test]
fn benchmark_leaves_out_words_and_takes_them_for_groups() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("words.csv"), dir.path().join("out"));
    let numbers = std::fs::read_to_string(table(dir.path(), 120)).unwrap();
    let words = numbers.lines().enumerate().map(|(i, line)| match i {
        0 => format!("id,subject,{line}\n"),
        _ => format!("r{i},s{},{line}\n", i % 40),
    });
    std::fs::write(&file, words.collect::<String>()).unwrap();
    let run =
        ["benchmark", path(&file), "--target", "y", "--epochs", "2", "--splits", "1", "--out", path(&out), "--json"];
    refuses(&run, "words.csv: 2 columns hold text and not numbers: `id`, `subject`");
    let report = json(&mut stonet(&[&run[..], &["--exclude", "id", "--groups", "subject"]].concat()));
    assert_eq!((&report["inputs"], &report["seed"]), (&Value::from(3), &Value::from(1)));
}

#[test]
fn benchmark_names_what_is_wrong_with_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (table(dir.path(), 60), dir.path().join("out"));
    let refuse = |file: &Path, more: &[&str], text: &str| {
        refuses(&[&["benchmark", path(file), "--out", path(&out)], more].concat(), text);
        assert!(!out.exists(), "{text}");
    };
    refuse(&file, &["--target", "z"], "z");
    refuse(&file, &["--target", "y", "--level", "90"], "strictly between 0 and 1");
    refuse(&dir.path().join("none.csv"), &["--target", "y"], "none.csv");
    let with = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    refuse(&with("word.csv", &format!("{TABLE}\n1,2,3,4\n1,two,3,4\n")), &["--target", "y"], "two");
    refuse(&with("twice.csv", "a,a,y\n1,2,3\n"), &["--target", "y"], "a");
    refuse(&with("empty.csv", ""), &["--target", "y"], "empty.csv");
    let few = table(dir.path(), 20);
    refuses(&["benchmark", path(&few), "--target", "y", "--out", path(&out)], "cannot be split");
    let flat = format!("{TABLE}\n{}", "1,2,3,4\n".repeat(60));
    refuses(&["benchmark", path(&with("flat.csv", &flat)), "--target", "y", "--out", path(&out)], "constant");
}

/// The folder with the real data.
fn data_folder() -> String {
    std::env::var("STONET_DATA").expect("STONET_DATA names the folder with the data sets")
}

#[test]
#[ignore = "needs STONET_DATA"]
fn uci_and_inconsistency_run_on_real_data() {
    let data = data_folder();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("uci");
    let flags =
        ["--data", &data, "--only", "liver,year", "--splits", "1", "--epochs", "20", "--json", "--out", path(&out)];
    let report = json(&mut stonet(&[&["reproduce", "uci"], &flags[..]].concat()));
    assert_eq!((&report["no_data"][0], &report["sets"][0]["rows"]), (&Value::from("year"), &Value::from(345)));
    assert_eq!(report["comparison"][0]["printed"], "post-stonet");
    assert!(std::fs::read_to_string(out.join("uci.md")).unwrap().contains("no data"));
    let out = dir.path().join("inconsistency");
    let flags = ["--data", &data, "--splits", "1", "--epochs", "5", "--json", "--out", path(&out)];
    let report = json(&mut stonet(&[&["reproduce", "inconsistency"], &flags[..]].concat()));
    assert_eq!(report["points"].as_array().unwrap().len(), 8);
    refuses(&["reproduce", "uci", "--data", path(dir.path()), "--out", path(&out)], "no file of liver");
    refuses(
        &["reproduce", "uci", "--data", &data, "--only", "cars", "--out", path(&out)],
        "there is no data set `cars`",
    );
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

/// The paper's figure: on one of its models the five inputs that matter stand apart from the fifteen that do not.
#[test]
fn selection_finds_the_inputs_that_matter_on_any_number_of_threads() {
    let [one, two] = ["1", "2"].map(|jobs| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        let line = ["reproduce", "selection", "--models", "1", "--out", out, "--json", "--jobs", jobs];
        let said = json(&mut stonet(&line));
        for file in ["path-1.csv", "path-1.svg", "selection.md"] {
            assert!(std::fs::read_to_string(folder.path().join(file)).unwrap().len() > 100, "{file}");
        }
        let written = std::fs::read_to_string(folder.path().join("selection.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), said);
        said
    });
    assert_eq!(one, two);
    let model = &one["models"][0];
    let [smallest, largest] = ["smallest_true", "largest_false"].map(|name| model[name].as_f64().unwrap());
    assert!(smallest > largest && model["separated"] == true, "{smallest} and {largest}");
    assert_eq!(model["polished"]["structure"]["inputs"], serde_json::json!([0, 1, 2, 3, 4]));
    // The penalty grows along the path, and the weights vanish.
    let weights: Vec<u64> =
        model["points"].as_array().unwrap().iter().map(|p| p["nonzero_weights"].as_u64().unwrap()).collect();
    assert!(weights.len() > 10 && weights[0] > 100 && weights[weights.len() - 1] == 0, "{weights:?}");
}
