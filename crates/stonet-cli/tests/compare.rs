//! `stonet compare` as a user types it: results on rows of known truth, labels of every kind, and bad input by its
//! name.

mod common;

use std::path::{Path, PathBuf};

use assert_cmd::prelude::*;
use common::{json, path, refuses, stonet, with_houses};

/// A table of three logits, classes by `name`, and a part: the network is four times too sure and wrong on every sixth
/// row.
fn table(rows: usize, name: impl Fn(usize) -> String) -> String {
    let mut text = String::from("split,z0,z1,z2,note,y\n");
    for i in 0..rows {
        let (class, wobble) = (i % 3, ((i * 7) % 11) as f64 / 5.0);
        let z = |k: usize| if k == class { 9.0 + wobble } else { ((i * (k + 2)) % 7) as f64 / 3.0 };
        let truth = if i % 6 == 5 { (class + 1) % 3 } else { class };
        text += &format!("{},{},{},{},free text,{}\n", i % 2, z(0), z(1), z(2), name(truth));
    }
    text
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let file = dir.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

/// The rows of these tables repeat.
const TASK: [&str; 5] = ["--task", "classification", "--inputs", "z*", "--allow-seen"];

#[test]
fn every_method_is_judged_and_the_default_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (v, t) = (table(300, |k| k.to_string()), table(301, |k| k.to_string()));
    let (v, t) = (write(dir.path(), "v.csv", &v), write(dir.path(), "t.csv", &t));
    let arguments = [&["compare", path(&v), path(&t), "--json", "--jobs", "2"][..], &TASK].concat();
    let result = json(&mut stonet(&arguments));
    assert_eq!(result["default"], "stack");
    let methods = result["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|m| m["name"].as_str().unwrap()).collect();
    for name in ["none", "temperature", "vector", "svs", "sms", "matrix", "isotonic", "post-linear", "skip", "stack"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // Slower and worse than sms; asked for by name it is still there.
    assert!(!names.contains(&"matrix-odir"), "{names:?}");
    let of = |name: &str, field: &str| methods.iter().find(|m| m["name"] == name).unwrap()[field].as_f64().unwrap();
    for field in ["accuracy", "nll", "ece", "cece", "ece_floor", "seconds"] {
        assert!(names.iter().all(|n| of(n, field).is_finite()), "{field}");
    }
    assert!(of("temperature", "nll") < 0.7 * of("none", "nll") && of("stack", "nll") < 0.7 * of("none", "nll"));
    assert!(of("none", "ece") > 0.1 && of("temperature", "ece") < 0.05);
    // The same rows again give the same numbers, whatever the number of threads.
    let again = json(&mut stonet(&[&["compare", path(&v), path(&t), "--json", "--jobs", "1"][..], &TASK].concat()));
    let nll =
        |r: &serde_json::Value| r["methods"].as_array().unwrap().iter().map(|m| m["nll"].clone()).collect::<Vec<_>>();
    assert_eq!(nll(&again), nll(&result));
}

#[test]
fn one_file_with_parts_and_classes_by_name_give_the_same_as_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = write(dir.path(), "n.csv", &table(600, |k| k.to_string()));
    let words = write(dir.path(), "w.csv", &table(600, |k| ["ant", "bee", "cat"][k].into()));
    let named = table(600, |k| ["cat", "ant", "bee"][k].into()).replace("z0,z1,z2", "z_cat,z_ant,z_bee");
    let named = write(dir.path(), "p.csv", &named);
    let part = ["--split-column", "split", "--methods", "none,temperature", "--json"];
    let run = |file: &Path| json(&mut stonet(&[&["compare", path(file)][..], &TASK, &part].concat()));
    let (a, b, c) = (run(&numbers), run(&words), run(&named));
    assert_eq!(b["classes"], serde_json::json!(["ant", "bee", "cat"]));
    assert_eq!(c["classes"], serde_json::json!(["cat", "ant", "bee"]));
    for i in 0..2 {
        assert_eq!(a["methods"][i]["nll"], b["methods"][i]["nll"]);
        assert_eq!(a["methods"][i]["nll"], c["methods"][i]["nll"]);
    }
    assert_eq!((&a["validation_rows"], &a["test_rows"]), (&300.into(), &300.into()));
    let out = dir.path().join("out");
    let text = stonet(&[&["compare", path(&words)][..], &TASK, &part[..4], &["--out", path(&out)]].concat());
    let text = {
        let mut t = text;
        t.assert().success().get_output().clone()
    };
    assert!(String::from_utf8_lossy(&text.stdout).contains("| temperature"));
    assert!(out.join("compare.json").is_file() && out.join("compare.md").is_file());
}

#[test]
fn features_have_the_methods_that_suit_them_and_say_why_others_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "f.csv", &table(600, |k| k.to_string()));
    let arguments = ["--split-column", "split", "--kind", "features", "--methods", "temperature,post-linear", "--json"];
    let result = json(&mut stonet(&[&["compare", path(&file)][..], &TASK, &arguments].concat()));
    assert_eq!(result["methods"][0]["name"], "post-linear");
    assert_eq!(result["methods"][0]["members"][0]["converged"], true);
    assert_eq!(result["refused"][0]["name"], "temperature");
    assert!(result["refused"][0]["reason"].as_str().unwrap().contains("only features"));
}

#[test]
fn bad_rows_are_named_with_their_file_and_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let good = table(60, |k| k.to_string());
    let t = write(dir.path(), "t.csv", &good);
    let bad = |name: &str, text: &str, extra: &[&str], message: &str| {
        let file = write(dir.path(), name, text);
        refuses(&[&["compare", path(&file), path(&t)][..], &TASK, extra].concat(), name);
        refuses(&[&["compare", path(&file), path(&t)][..], &TASK, extra].concat(), message);
    };
    let probabilities = "z0,z1,z2,y\n0.2,0.3,0.5,0\n0.1,0.8,0.1,1\n1,0,0,2\n";
    let p = write(dir.path(), "p.csv", probabilities);
    let logits = ["--kind", "logits"];
    refuses(&[&["compare", path(&p), path(&p)][..], &TASK, &logits].concat(), "look like probabilities");
    bad(
        "sum.csv",
        "z0,z1,z2,y\n0.2,0.3,0.4,0\n0.1,0.8,0.1,1\n",
        &["--kind", "probabilities"],
        "row 0: the probabilities sum to 0.9",
    );
    bad(
        "range.csv",
        "z0,z1,z2,y\n1.4,-0.3,-0.1,0\n0.1,0.8,0.1,1\n",
        &["--kind", "probabilities"],
        "1.4 is not a probability",
    );
    bad("log.csv", "z0,z1,z2,y\n-1,-1,-1,0\n-1,-2,-3,1\n", &["--kind", "log-probabilities"], "sum to 1.1036");
    bad("inf.csv", "z0,z1,z2,y\n-inf,0,1,0\n1,2,3,1\n", &[], "clip");
    bad("nan.csv", "z0,z1,z2,y\n1,0,1,0\n1,nan,3,1\n", &[], "column `z1`");
    bad("one.csv", &table(60, |_| "2".into()), &["--methods", "temperature"], "is the only class");
    bad("many.csv", &table(60, |k| (k * 5).to_string()), &[], "different labels");
    bad("missing.csv", "z0,z1,z2,y\n1,0,1,\n1,2,3,1\n", &[], "column `y`");
    bad("target.csv", "z0,z1,z2,label\n1,0,1,0\n", &[], "there is no column `y`");
    bad("columns.csv", "q0,q1,y\n1,0,1\n", &[], "z*");
    refuses(&["compare", path(&t), "--task", "classification"], "<TEST>");
    refuses(&["compare", path(&t), path(&t), "--task", "ranking"], "classification");
    refuses(
        &[&["compare", path(&t), path(&t)][..], &TASK, &["--methods", "magic"]].concat(),
        "no method is called `magic`",
    );
    let parts = write(dir.path(), "parts.csv", &good.replace("\n1,", "\n7,"));
    let split = ["--split-column", "split"];
    refuses(&[&["compare", path(&parts)][..], &TASK, &split].concat(), "column `split` is `7`");
    let halves = write(dir.path(), "half.csv", &good.replace("\n1,", "\n0,"));
    refuses(&[&["compare", path(&halves)][..], &TASK, &split].concat(), "no row of column `split` is test");
    let narrow = write(dir.path(), "narrow.csv", "z0,z1,y\n1,0,1\n0,1,0\n");
    refuses(&[&["compare", path(&t), path(&narrow)][..], &TASK].concat(), "narrow.csv: there is no column `z2`");
}

#[test]
fn a_method_without_the_prediction_that_it_needs_names_the_flag() {
    let desk = with_houses(200);
    let compare = "compare val.csv test.csv --task regression --inputs f* --target price --methods";
    let told = desk.run(&format!("{compare} split-conformal,normalised-conformal,laplace"));
    assert_eq!(told.matches("needs the network's own predictions; pass --prediction COLUMN").count(), 2, "{told}");
    desk.refuses(&format!("{compare} split-conformal"), &["split-conformal", "pass --prediction COLUMN"]);
    assert!(!told.contains("with_prediction"), "{told}");
}
