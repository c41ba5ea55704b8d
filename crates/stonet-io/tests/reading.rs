//! Some columns of a file, as numbers and as text.

use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, write::GzEncoder};
use ndarray::{Array1, array};
use stonet_io::{Beside, Cells, Column, Error, Problem, Reading, Table, Type, Writer};
use tempfile::TempDir;

const ANIMALS: &str = "file,z0,z1,animal,id\na.png,0.5,3,dog,7\n\"b,c.png\",2,-1, cat ,8\n";

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

fn parse(text: &str, numbers: Option<&[&str]>, texts: &[&str], exclude: &[&str]) -> Result<Table, Error> {
    let reading =
        Reading { numbers: numbers.map(words), text: words(texts), exclude: words(exclude), ..Reading::default() };
    reading.read(&file(text).1)
}

/// The message, without the directory.
fn message(text: &str, numbers: Option<&[&str]>, texts: &[&str], exclude: &[&str]) -> String {
    let m = parse(text, numbers, texts, exclude).unwrap_err().to_string();
    m[m.find("t.csv").expect("the file is named")..].to_owned()
}

#[test]
fn columns_that_are_not_asked_for_may_hold_anything() {
    let table = parse(ANIMALS, Some(&["z*"]), &["animal"], &[]).unwrap();
    assert_eq!(table.names(), ["z0", "z1"]);
    assert_eq!(table.values(), array![[0.5, 3.0], [2.0, -1.0]]);
    assert_eq!(table.text("animal").unwrap(), ["dog", "cat"]);
    let missing = "note,z0\n,1\nNA,2\n";
    assert_eq!(parse(missing, Some(&["z0"]), &[], &[]).unwrap().values(), array![[1.0], [2.0]]);
    assert_eq!(parse(missing, None, &[], &["note"]).unwrap().values(), array![[1.0], [2.0]]);
}

#[test]
fn numbers_come_in_the_order_of_the_file_and_text_is_never_a_number() {
    let table = parse(ANIMALS, Some(&["id", "z1"]), &["file"], &[]).unwrap();
    assert_eq!(table.names(), ["z1", "id"]);
    let table = parse(ANIMALS, None, &["animal", "id"], &["file", "id"]).unwrap();
    assert_eq!(table.names(), ["z0", "z1"]);
    assert_eq!(table.text("id").unwrap(), ["7", "8"]);
    assert!(matches!(table.column("id"), Err(e) if matches!(e.problem(), Some(Problem::UnknownColumn { .. }))));
    let only = parse(ANIMALS, Some(&[]), &["file"], &[]).unwrap();
    assert_eq!((only.rows(), only.values().ncols()), (2, 0));
    assert_eq!(only.text("file").unwrap(), ["a.png", "b,c.png"]);
}

#[test]
fn compressed_files_have_text_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv.gz");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(ANIMALS.as_bytes()).unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    let reading = Reading { numbers: Some(words(&["z*"])), text: words(&["animal"]), ..Reading::default() };
    assert_eq!(reading.read(&path).unwrap().text("animal").unwrap(), ["dog", "cat"]);
}

#[test]
fn faults_are_named_by_line_and_column() {
    let m = message(ANIMALS, None, &["animal"], &[]);
    assert!(m.starts_with("t.csv, line 2, column `file`: `a.png` is not a number"), "{m}");
    let m = message("z0,z1,y\n1,2,a\n1,-inf,b\n", Some(&["z*"]), &["y"], &[]);
    assert!(m.starts_with("t.csv, line 3, column `z1`: infinite value (`-inf`)"), "{m}");
    let m = message("z0,y\n1,a\n\n2, \n", None, &["y"], &[]);
    assert!(m.starts_with("t.csv, line 4, column `y`: missing value (``)"), "{m}");
    // Words for what is missing may be the names of classes; whoever reads the text decides.
    assert_eq!(parse("z0,y\n1,none\n2,NA\n", None, &["y"], &[]).unwrap().text("y").unwrap(), ["none", "NA"]);
}

#[test]
fn columns_that_are_not_there_are_errors() {
    let m = message(ANIMALS, Some(&["z*"]), &["animals"], &[]);
    assert!(m.starts_with("t.csv: there is no column `animals`; there are `animal`, "), "{m}");
    assert!(message(ANIMALS, Some(&["q*"]), &[], &[]).starts_with("t.csv: no column matches `q*`"));
    assert!(message(ANIMALS, None, &[], &["q"]).starts_with("t.csv: there is no column `q`"));
    assert!(message(ANIMALS, None, &[], &["*"]).starts_with("t.csv: no input columns are left"));
    assert!(message("z0,y\n", Some(&[]), &["y"], &[]).starts_with("t.csv: there are 2 column names and no rows"));
    let e = parse(ANIMALS, Some(&["z*"]), &["animal"], &[]).unwrap().text("z0").unwrap_err().to_string();
    assert!(e.ends_with("t.csv: no column `z0` was read as text; read as text were: `animal`"), "{e}");
}

#[test]
fn files_side_by_side_are_one_table() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let write = |name: &str, columns: usize, rows: usize| {
        let names = (0..columns).map(|c| Column::new(format!("n{c}"), Type::F64)).collect();
        let mut writer = Writer::create(&at(name), names).unwrap();
        let columns: Vec<Array1<f64>> =
            (0..columns).map(|c| (0..rows).map(|r| (100 * c + r) as f64).collect()).collect();
        writer.write(&columns.iter().map(|c| Cells::Numbers(c.view())).collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
    };
    write("features.npy", 3, 5);
    write("y.npy", 1, 5);
    write("logits.npy", 2, 5);
    write("short.npy", 1, 4);
    std::fs::write(at("who.csv"), "id,who\n0,ann\n1,bob\n2,cy\n3,di\n4,ed\n").unwrap();
    let beside = |names: &[&str]| names.iter().map(|n| Beside::from(at(n))).collect::<Vec<_>>();
    let reading = Reading {
        text: vec!["who".into()],
        exclude: vec!["id".into()],
        beside: beside(&["y.npy", "who.csv", "logits.npy"]),
        ..Reading::default()
    };
    let table = reading.read(&at("features.npy")).unwrap();
    assert_eq!(table.names(), ["c0", "c1", "c2", "y", "logits0", "logits1"]);
    assert_eq!(table.values().row(3).to_vec(), [3.0, 103.0, 203.0, 3.0, 3.0, 103.0]);
    assert_eq!(table.text("who").unwrap(), ["ann", "bob", "cy", "di", "ed"]);
    let batches: Vec<Table> = reading.batches(&at("features.npy"), 2).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.iter().map(Table::rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(batches[2].text("who").unwrap(), ["ed"]);
    let says = |reading: Reading, text: &str| {
        let e = reading.read(&at("features.npy")).unwrap_err().to_string();
        assert!(e.contains(text), "{e}");
    };
    let with = |names: &[&str], numbers: Option<&[&str]>| Reading {
        numbers: numbers.map(|n| n.iter().map(|&n| n.into()).collect()),
        beside: beside(names),
        ..Reading::default()
    };
    let named: Beside = format!("target={}", at("y.npy").display()).parse().unwrap();
    let renamed = Reading { beside: vec![named], ..Reading::default() }.read(&at("features.npy")).unwrap();
    assert_eq!(renamed.names()[3], "target");
    says(with(&["short.npy"], None), "short.npy has 4 rows, where");
    says(with(&["y.npy"], Some(&["c*", "why"])), "there is no column `why`");
    says(with(&["y.npy"], Some(&["c*"])), "y.npy: none of its columns is used");
    says(with(&["y.npy", "y.npy"], None), "both have a column `y`");
}
