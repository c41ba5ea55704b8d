//! Labels and columns: which class a column belongs to, what columns are, and which type labels have.

use stonet_io::Type;

use crate::common::{Desk, normal};

const NAMES: [&str; 10] = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

/// A table of `columns` numbers per row of which that of the row's class is the largest in about nine of ten rows; with
/// a label.
fn outputs(seed: u64, rows: usize, columns: usize, classes: usize, label: impl Fn(usize) -> String) -> String {
    let mut z = normal(seed);
    let header: Vec<String> = (0..columns).map(|j| format!("z{j}")).collect();
    let mut text = header.join(",") + ",y\n";
    for i in 0..rows {
        let said = if i % 10 == 0 { (i / 10) % columns } else { i % classes };
        let cells: Vec<String> =
            (0..columns).map(|j| format!("{:.4}", z() + if j == said { 6.0 } else { 0.0 })).collect();
        text += &format!("{},{}\n", cells.join(","), label(i % classes));
    }
    text
}

const FIT: &str = "fit val.csv --task classification --method temperature -o head.stonet";

/// Rows to fit on and others to judge on.
fn both(desk: &Desk, rows: usize, columns: usize, classes: usize, label: impl Fn(usize) -> String) {
    desk.write("val.csv", outputs(7, rows, columns, classes, &label));
    desk.write("test.csv", outputs(8, rows, columns, classes, &label));
}

fn accuracy(desk: &Desk) -> f64 {
    let judged = desk.json("evaluate head.stonet test.csv");
    judged["evaluation"]["scores"]["accuracy"]["value"].as_f64().unwrap()
}

#[test]
fn classes_in_the_order_of_the_columns() {
    let desk = Desk::new();
    both(&desk, 400, 10, 10, |k| NAMES[k].into());
    let fit = desk.json(FIT);
    assert_eq!(fit["class_columns"][0], serde_json::json!({ "column": "z0", "class": "bird" }));
    let warning = fit["warnings"][0].as_str().unwrap();
    let order = format!("--classes {}", NAMES.join(","));
    assert!(warning.ends_with(&format!("pass {order}")), "{warning}");
    assert!(accuracy(&desk) < 0.4);
    let fit = desk.json(&format!("{FIT} {order}"));
    assert_eq!((&fit["classes"], &fit["warnings"]), (&serde_json::json!(NAMES), &serde_json::json!([])));
    assert!(accuracy(&desk) > 0.85);
    let shown = "z0 = plane, z1 = car, z2 = bird";
    assert!(desk.run(&format!("{FIT} {order}")).contains(shown));
    assert!(desk.run("inspect head.stonet").contains(shown));
    assert_eq!(desk.json("inspect head.stonet")["class_columns"][9]["class"], "truck");
    let compare = "compare val.csv test.csv --task classification --methods temperature";
    let said = desk.ended(compare, 0);
    assert!(String::from_utf8_lossy(&said.stderr).contains(&order));
    assert_eq!(desk.json(&format!("{compare} {order}"))["classes"], serde_json::json!(NAMES));
}

#[test]
fn classes_without_a_row_may_be_named() {
    let desk = Desk::new();
    both(&desk, 400, 10, 8, |k| NAMES[k].into());
    desk.refuses(FIT, &["val.csv", "8 of 10 classes occur", "--classes", "--kind features"]);
    let order = NAMES.join(",");
    let fit = desk.json(&format!("{FIT} --classes {order}"));
    assert_eq!(fit["absent_classes"], serde_json::json!(["ship", "truck"]));
    assert!(accuracy(&desk) > 0.85);
    desk.refuses(
        &format!("{FIT} --classes plane,car"),
        &["--classes", "row 2 (from 0): `bird` is not among the classes"],
    );
    let wrong = format!("{FIT} --classes {order},tractor");
    desk.refuses(&wrong, &["--classes names 11 classes, and there are 10 inputs", "--kind features"]);
    desk.refuses(&format!("{FIT} --classes plane"), &["--classes", "`plane` is the only class"]);
    desk.refuses(&format!("{FIT} --classes plane,plane"), &["--classes", "are both called `plane`"]);
    desk.refuses("fit val.csv --task regression --classes a,b -o x.stonet", &["--classes", "--task classification"]);
}

#[test]
fn numbers_tell_whether_columns_with_absent_classes_are_outputs() {
    let desk = Desk::new();
    both(&desk, 250, 50, 44, |k| k.to_string());
    let fit = desk.json(FIT);
    assert_eq!((&fit["logits"], &fit["classes"].as_array().unwrap().len()), (&50.into(), &50));
    assert!(fit["warnings"][0].as_str().unwrap().contains("taken for logits"));
    // Features whose largest column has nothing to do with the label.
    let mut z = normal(8);
    let header: Vec<String> = (0..64).map(|j| format!("f{j}")).collect();
    let mut text = header.join(",") + ",y\n";
    for i in 0..500 {
        let cells: Vec<String> =
            (0..64).map(|j| format!("{:.4}", z() + if j == 30 + i % 10 { 3.0 } else { 0.0 })).collect();
        text += &format!("{},{}\n", cells.join(","), i % 10);
    }
    desk.write("val.csv", text);
    let fit = desk.json(&FIT.replace("temperature", "post-linear"));
    assert_eq!((&fit["logits"], &fit["features"]), (&0.into(), &64.into()));
    assert_eq!(fit["classes"].as_array().unwrap().len(), 10);
    let warning = fit["warnings"][0].as_str().unwrap();
    assert!(warning.contains("taken for features") && warning.ends_with("pass --kind logits"), "{warning}");
}

#[test]
fn labels_keep_their_kind() {
    let desk = Desk::new();
    type Name = fn(usize) -> String;
    let kinds: [(&str, Name, Type); 5] = [
        ("integer", |k| k.to_string(), Type::Integer),
        ("text", |k| format!("0{k}"), Type::Text),
        ("boolean", |k| ["False", "True"][k].into(), Type::Text),
        ("date", |k| format!("2024-02-0{}", k + 1), Type::Date),
        ("float", |k| format!("{k}.5"), Type::F64),
    ];
    for (kind, label, written) in kinds {
        both(&desk, 120, 2, 2, label);
        desk.json(FIT);
        assert_eq!(desk.json("inspect head.stonet")["label_kind"], kind);
        desk.run("predict head.stonet test.csv -o p.csv");
        let class = desk.table("p.csv", &["class"]).text("class").unwrap()[0].clone();
        assert!([label(0), label(1)].contains(&class), "{class}");
        assert!(accuracy(&desk) > 0.8);
        desk.run("predict head.stonet test.csv -o p.parquet");
        let types = stonet_io::types(&desk.at("p.parquet"), &[], &["class".into()]).unwrap();
        assert_eq!(types, [Some(written)], "{kind}");
    }
    // Text of a typed file stays text.
    both(&desk, 120, 2, 2, |k| k.to_string());
    desk.json(FIT);
    assert_eq!(desk.json("inspect head.stonet")["label_kind"], "integer");
}
