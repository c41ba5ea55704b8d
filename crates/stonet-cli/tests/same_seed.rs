//! `compare` and `fit` with `evaluate` give the same numbers at the same seed.

mod common;

use common::{Desk, with_animals, with_houses};
use serde_json::Value;

/// What `compare` says of a method.
fn compared<'a>(all: &'a Value, name: &str) -> &'a Value {
    all["methods"].as_array().unwrap().iter().find(|m| m["name"] == name).unwrap()
}

fn same(a: &Value, b: &Value, what: &str) {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    assert!((a - b).abs() <= 1e-12 * a.abs(), "{what}: {a} {b}");
}

fn fitted(desk: &Desk, fit: &str, test: &str) -> Value {
    desk.run(fit);
    desk.json(&format!("evaluate head.stonet {test} --seed 5"))["evaluation"].clone()
}

#[test]
fn intervals() {
    let desk = with_houses(600);
    let columns = "--task regression --inputs f* --prediction prediction --target price --seed 5";
    let all = desk.json(&format!("compare val.csv test.csv {columns} --methods laplace,cv,fast,stack"));
    for kind in ["fast", "cv", "stack"] {
        let judged = fitted(&desk, &format!("fit val.csv {columns} --interval {kind} -o head.stonet"), "test.csv");
        let (one, overall) = (compared(&all, kind), &judged["overall"]);
        same(&one["coverage"], &overall["coverage"]["value"], kind);
        same(&one["mean_length"], &overall["mean_length"], kind);
        same(&one["winkler"], &overall["winkler"], kind);
    }
}

#[test]
fn probabilities() {
    let desk = with_animals(600);
    let columns = "--task classification --inputs z* --target animal --seed 5";
    let all = desk.json(&format!("compare val.parquet test.parquet {columns} --methods vector,skip,stack"));
    for method in ["skip", "stack"] {
        let judged =
            fitted(&desk, &format!("fit val.parquet {columns} --method {method} -o head.stonet"), "test.parquet");
        let (one, scores) = (&compared(&all, method)["scores"], &judged["scores"]);
        for score in ["accuracy", "nll", "ece", "brier"] {
            assert_eq!(one[score], scores[score], "{method}: {score}");
        }
    }
}
