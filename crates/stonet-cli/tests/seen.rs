//! Rows that a head was fitted on are refused when they are to judge it, and copies among rows to fit on are reported.

mod common;

use common::{Desk, FIT_ANIMALS, FIT_HOUSES, normal, with_animals, with_houses};
use ndarray::{Array2, Axis, s};
use rand::RngExt;
use serde_json::Value;
use stonet::{Kind, PostStoNetRegressor, RegressionRows, Seed};
use stonet_io::{Head, Model, ModelColumns};

/// Standard error of a command that ends well.
fn stderr(desk: &Desk, line: &str) -> String {
    String::from_utf8(desk.ended(line, 0).stderr).unwrap()
}

/// A CSV file whose rows are changed.
fn changed(desk: &Desk, from: &str, to: &str, change: impl FnOnce(&mut Vec<String>)) {
    let text = desk.text(from);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let header = lines.remove(0);
    change(&mut lines);
    desk.write(to, format!("{header}\n{}\n", lines.join("\n")));
}

#[test]
fn compare_and_benchmark_warn_of_copies() {
    let desk = with_houses(700);
    let text = desk.text("val.csv");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    desk.write(
        "twice.csv",
        format!("{}\n{}\n", text.lines().next().unwrap(), [&rows[..], &rows[..]].concat().join("\n")),
    );
    let compare =
        "compare NAME test.csv --task regression --inputs f* --prediction prediction --target price --methods split";
    let benchmark = "benchmark NAME --target price --inputs f* --splits 1 --epochs 1 --out out-NAME";
    for line in [compare, benchmark] {
        let said = stderr(&desk, &line.replace("NAME", "twice.csv"));
        assert!(said.contains("copies") && said.contains("--groups"), "{said}");
        let said = stderr(&desk, &line.replace("NAME", "val.csv"));
        assert!(!said.contains("copies"), "{said}");
    }
}

#[test]
fn rows_of_the_fit_are_refused_in_any_order_number_and_format() {
    let desk = with_houses(700);
    desk.run(FIT_HOUSES);
    let other = desk.text("test.csv").lines().nth(1).unwrap().to_owned();
    changed(&desk, "val.csv", "fewer.csv", |rows| drop(rows.remove(7)));
    changed(&desk, "val.csv", "more.csv", |rows| rows.push(other));
    changed(&desk, "val.csv", "turned.csv", |rows| rows.reverse());
    changed(&desk, "val.csv", "some.csv", |rows| rows.truncate(20));
    changed(&desk, "test.csv", "mixed.csv", |rows| {
        rows.extend(desk.text("val.csv").lines().skip(1).take(9).map(str::to_owned));
    });
    desk.run("features net.onnx held.csv --keep id,region,price -o val.parquet");
    for (rows, found) in [
        ("val.csv", "280 of these 280 rows (100.0 %)"),
        ("fewer.csv", "279 of these 279 rows"),
        ("more.csv", "280 of these 281 rows (99.6 %)"),
        ("turned.csv", "280 of these 280 rows"),
        ("some.csv", "20 of these 20 rows"),
        ("mixed.csv", "9 of these 219 rows (4.1 %)"),
        ("val.parquet", "280 of these 280 rows"),
    ] {
        let line = format!("evaluate head.stonet {rows} --report page.html --require coverage>=0.1");
        desk.refuses(&line, &[rows, found, "--allow-seen"]);
    }
    // A head of a Parquet file knows the rows of a CSV file.
    desk.run(&FIT_HOUSES.replace("val.csv", "val.parquet"));
    desk.refuses("evaluate head.stonet turned.csv", &["280 of these 280 rows", "--allow-seen"]);
    // The same inputs with other targets are other rows.
    let targets = desk.column("val.csv", "price");
    let shifted: String = targets.iter().map(|y| format!("{}\n", y + 1.0)).collect();
    desk.write("price.csv", format!("other\n{shifted}"));
    let line = "evaluate head.stonet val.csv --with price.csv --target other";
    assert!(!stderr(&desk, line).contains("warning"));
}

#[test]
fn rows_that_may_be_seen_are_not_called_new() {
    let desk = with_houses(700);
    desk.run(FIT_HOUSES);
    let line = "evaluate head.stonet val.csv --allow-seen --report page.html";
    let told = stderr(&desk, line);
    assert!(told.contains("warning: val.csv: 280 of these 280 rows"), "{told}");
    let page = desk.text("page.html");
    assert!(!page.contains("not used for fitting") && !page.contains("280 new"), "{page}");
    assert!(page.contains("Not new rows") && page.contains("100.0 % of them fitted on"));
    let text = desk.run(line);
    assert!(text.contains("280 of these 280 rows (100.0 %) are among the rows that were fitted on"), "{text}");
    assert!(!text.contains("new value"), "{text}");
    let json = desk.json(line);
    let seen = &json["evaluation"]["seen"];
    assert_eq!((&seen["matched"], &seen["checked"], &seen["share"]), (&280.into(), &280.into(), &1.0.into()));
    assert!(!json["verdict"].as_str().unwrap().contains("new value"), "{json}");

    // One row in a hundred is a warning.
    changed(&desk, "test.csv", "one.csv", |rows| {
        rows.extend(desk.text("val.csv").lines().skip(1).take(1).map(str::to_owned));
    });
    let told = stderr(&desk, "evaluate head.stonet one.csv --report page.html");
    assert!(told.contains("warning: one.csv: 1 of these 211 rows (0.5 %)"), "{told}");
    assert!(!desk.text("page.html").contains("not used for fitting"));

    let line = "evaluate head.stonet test.csv --report page.html";
    assert!(!stderr(&desk, line).contains("warning"));
    assert!(desk.text("page.html").contains("not used for fitting"));
    assert!(desk.run(line).contains("None of these 210 rows is among the rows that were fitted on."));
    assert_eq!(desk.json(line)["evaluation"]["seen"]["matched"], 0);
}

#[test]
fn heads_without_fingerprints_cannot_tell() {
    let desk = with_houses(700);
    desk.run(FIT_HOUSES);
    let inspected = desk.json("inspect head.stonet");
    assert_eq!((&inspected["fingerprints"]["rows"], &inspected["fingerprints"]["kept"]), (&280.into(), &280.into()));
    assert!(desk.run("inspect head.stonet").contains("280 fingerprints of 280 rows"));
    // As older programs wrote it: all rows in their order, or nothing.
    let model = Model::load(&desk.at("head.stonet")).unwrap();
    Model { fingerprints: None, ..model }.save(&desk.at("old.stonet")).unwrap();
    desk.refuses("evaluate old.stonet val.csv", &["280 of these 280 rows", "--allow-seen"]);
    changed(&desk, "val.csv", "turned.csv", |rows| rows.reverse());
    assert_eq!(desk.json("evaluate old.stonet turned.csv")["evaluation"]["seen"], Value::Null);
    assert!(desk.run("inspect old.stonet").contains("one fingerprint of all rows"));

    let fit = desk.json(&format!("{FIT_HOUSES} --no-fingerprints"));
    assert_eq!(fit["fingerprint"], "");
    let line = "evaluate head.stonet val.csv --report page.html";
    assert!(!stderr(&desk, line).contains("warning"));
    assert!(!desk.text("page.html").contains("not used for fitting"));
    assert!(desk.run(line).contains("Whether rows were fitted on is not known"));
    assert_eq!(desk.json("inspect head.stonet")["fingerprints"], Value::Null);
    assert!(desk.run("inspect head.stonet").contains("no fingerprints are kept"));
    assert_eq!(Model::load(&desk.at("head.stonet")).unwrap().fingerprint, "");
}

#[test]
fn classifiers_know_their_rows_too() {
    let desk = with_animals(600);
    desk.run(FIT_ANIMALS);
    desk.run("features net.onnx held.csv --keep animal -o val.csv");
    changed(&desk, "val.csv", "turned.csv", |rows| rows.reverse());
    for rows in ["val.parquet", "val.csv", "turned.csv"] {
        let line = format!("evaluate head.stonet {rows} --require accuracy>=0.1");
        desk.refuses(&line, &[rows, "240 of these 240 rows", "--allow-seen"]);
    }
    let json = desk.json("evaluate head.stonet turned.csv --allow-seen --report page.html");
    assert_eq!(json["evaluation"]["seen"]["share"], 1.0);
    let page = desk.text("page.html");
    assert!(page.contains("Not new rows") && !page.contains("240 new") && !page.contains("not used for fitting"));
    assert!(!stderr(&desk, "evaluate head.stonet test.parquet --report page.html").contains("warning"));
    assert!(desk.text("page.html").contains("not used for fitting"));
}

#[test]
fn comparisons_on_the_same_rows_are_refused() {
    let desk = with_houses(700);
    let compare = |test: &str| {
        format!(
            "compare val.csv {test} --task regression --inputs f* --prediction prediction --target price \
             --methods split-conformal,laplace"
        )
    };
    desk.refuses(&compare("val.csv"), &["val.csv", "280 of these 280 rows", "--allow-seen"]);
    let line = compare("val.csv --allow-seen --report page.html");
    let told = stderr(&desk, &line);
    assert!(told.contains("warning: val.csv: 280 of these 280 rows"), "{told}");
    assert!(desk.text("page.html").contains("280 of these 280 rows") && !desk.text("page.html").contains("others"));
    assert_eq!(desk.json(&line)["seen"]["share"], 1.0);
    assert!(desk.run(&line).contains("280 of these 280 rows (100.0 %)"));
    let line = compare("test.csv --report page.html");
    assert!(!stderr(&desk, &line).contains("warning"));
    assert!(desk.text("page.html").contains("None of these 210 rows"));
    assert_eq!((&desk.json(&line)["seen"]["matched"], &desk.json(&line)["test_rows"]), (&0.into(), &210.into()));

    let desk = with_animals(300);
    let line = FIT_ANIMALS.replace("fit val.parquet", "compare val.parquet val.parquet");
    let line = line.replace("--method ", "--methods ").replace("-o head.stonet", "");
    desk.refuses(&line, &["val.parquet", "120 of these 120 rows", "--allow-seen"]);
    assert_eq!(desk.json(&format!("{line} --allow-seen"))["seen"]["matched"], 120);
}

/// Rows of a table in which few values are possible: many rows are equal, and new rows equal old ones as often.
fn ratings(rows: usize, seed: u64) -> String {
    let mut rng = Seed::new(seed).rng();
    let mut text = String::from("a,b,c,y\n");
    for _ in 0..rows {
        let [a, b, c] = [4, 5, 3].map(|n| rng.random_range(0..n));
        text += &format!("{a},{b},{c},{}\n", a + 2 * b + c + rng.random_range(0..3));
    }
    text
}

#[test]
fn discrete_tables_repeat_rows_and_are_not_refused() {
    let desk = Desk::new();
    desk.write("val.csv", ratings(150, 1)).write("test.csv", ratings(200, 2));
    let told = stderr(&desk, "fit val.csv --task regression --interval fast -o head.stonet");
    assert!(!told.contains("warning"), "{told}");
    let inspected = desk.json("inspect head.stonet");
    let rate = inspected["fingerprints"]["duplicate_rate"].as_f64().unwrap();
    assert!((0.2..0.9).contains(&rate), "{rate}");
    let told = stderr(&desk, "evaluate head.stonet test.csv");
    assert!(told.contains("warning: test.csv") && told.contains("have an equal one among them"), "{told}");
    desk.refuses("evaluate head.stonet val.csv", &["150 of these 150 rows", "--allow-seen"]);
}

#[test]
fn copies_among_the_rows_to_fit_on_are_reported() {
    let desk = with_houses(700);
    changed(&desk, "val.csv", "twice.csv", |rows| rows.extend(rows.clone()));
    changed(&desk, "val.csv", "some.csv", |rows| rows.extend(rows[..10].to_vec()));
    changed(&desk, "val.csv", "one.csv", |rows| rows.extend(rows[..1].to_vec()));
    let fit = |rows: &str| FIT_HOUSES.replace("val.csv", rows);
    for (rows, found) in [("twice.csv", "560 of 560"), ("some.csv", "20 of 290")] {
        let told = stderr(&desk, &fit(rows));
        assert!(told.contains(&format!("warning: {found} calibration rows")) && told.contains("--groups"), "{told}");
    }
    let json = desk.json(&fit("twice.csv"));
    assert!(json["warnings"][0].as_str().unwrap().contains("--groups"), "{json}");
    for rows in ["val.csv", "one.csv", "twice.csv --groups id"] {
        let told = stderr(&desk, &fit(rows));
        assert!(!told.contains("warning"), "{rows}: {told}");
    }
    let desk = with_animals(600);
    desk.run("features net.onnx held.csv --keep animal -o val.csv");
    changed(&desk, "val.csv", "twice.csv", |rows| rows.extend(rows.clone()));
    let told = stderr(&desk, &FIT_ANIMALS.replace("val.parquet", "twice.csv"));
    assert!(told.contains("warning: 480 of 480 calibration rows") && told.contains("remove the copies"), "{told}");
    assert!(!stderr(&desk, &FIT_ANIMALS.replace("val.parquet", "val.csv")).contains("warning"));
}

#[test]
fn samples_know_the_rows_that_calibrate_them() {
    let desk = Desk::new();
    let mut z = normal(3);
    let mut table = |n: usize| {
        let row = |z: &mut dyn FnMut() -> f64| {
            let (a, b) = (z(), z());
            format!("{a},{b},{}\n", a + 0.3 * z())
        };
        (0..n).fold(String::from("a,b,y\n"), |text, _| text + &row(&mut z))
    };
    desk.write("val.csv", table(600)).write("new.csv", table(300));
    desk.write("quick.toml", "[stonet]\nhidden = [6]\nsteps = 150\nkappas = [0.01, 0.1]\n");
    desk.run("fit val.csv --task regression --sample 200 --settings quick.toml -o head.stonet");
    assert_eq!(desk.json("inspect head.stonet")["fingerprints"]["rows"], 600);
    changed(&desk, "val.csv", "turned.csv", |rows| rows.reverse());
    desk.refuses("evaluate head.stonet turned.csv", &["600 of these 600 rows", "--allow-seen"]);
    assert!(!stderr(&desk, "evaluate head.stonet new.csv").contains("warning"));
}

/// Tables are read 256 MiB at a time, and the one fingerprint of an older head is of all rows.
#[test]
#[ignore = "a table above 256 MiB"]
fn older_heads_know_their_rows_in_large_tables() {
    let (rows, columns) = (65_600, 512);
    let value = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 65_521 % 251) as u8;
    let bytes: Vec<u8> = (0..rows * columns).map(|k| value(k / columns, k % columns)).collect();
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let header = format!("{header:<117}\n");
    let desk = Desk::new();
    desk.write("rows.npy", [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), &bytes].concat());
    let all = Array2::from_shape_vec((rows, columns), bytes).unwrap().mapv(f64::from);
    let (x, y) = all.view().split_at(Axis(1), columns - 1);
    let some = RegressionRows::new(x.slice(s![..200, ..]), y.slice(s![..200, ..])).unwrap();
    let settings = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() };
    let names = |columns: std::ops::Range<usize>| columns.map(|c| format!("c{c}")).collect();
    let model = Model {
        head: Head::Regression(Box::new(settings.fit(&some, Seed::new(1), &|_, _| true).unwrap())),
        columns: ModelColumns {
            features: names(0..columns - 1),
            targets: names(columns - 1..columns),
            ..ModelColumns::default()
        },
        kind: None,
        labels: None,
        level: None,
        seed: 1,
        fingerprint: Model::fingerprint_of(&[x, y]),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    };
    model.save(&desk.at("old.stonet")).unwrap();
    desk.refuses("evaluate old.stonet rows.npy", &["65600 of these 65600 rows", "--allow-seen"]);
}
