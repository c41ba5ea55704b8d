//! Files that numpy, pyarrow and safetensors wrote (`fixtures/make.py`): every type of number and text in every format.

use std::path::{Path, PathBuf};

use ndarray::{Array2, array};
use stonet_io::{Error, Problem, Reading, Table, read};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

fn choose(name: &str, numbers: &[&str], text: &[&str]) -> Result<Table, Error> {
    let reading = Reading { numbers: Some(words(numbers)), text: words(text), ..Reading::default() };
    reading.read(&fixture(name))
}

fn message(result: Result<Table, Error>) -> String {
    result.unwrap_err().to_string()
}

fn whole() -> Array2<f64> {
    Array2::from_shape_fn((3, 4), |(r, c)| (4 * r + c) as f64)
}

fn floats() -> Array2<f64> {
    whole() / 2.0 - 1.0
}

#[test]
fn arrays_of_numpy() {
    for (name, expected) in [
        ("f8.npy", floats()),
        ("f4_fortran.npy", floats()),
        ("f2_big.npy", floats()),
        ("i2_big_fortran.npy", whole()),
        ("u8.npy", whole()),
        ("cube_fortran.npy", whole()),
        ("bool.npy", array![[1.0], [0.0], [1.0]]),
        ("two.npz:features", floats()),
        ("two.npz:labels", array![[2.0], [0.0], [1.0]]),
        ("one.npz", floats()),
        ("one.npz:features", floats()),
        ("deflated.npz:features", floats()),
    ] {
        let table = read(&fixture(name)).unwrap();
        let names: Vec<String> = (0..expected.ncols()).map(|c| format!("c{c}")).collect();
        assert_eq!((table.values(), table.names()), (expected, names.as_slice()), "{name}");
    }
    let some = choose("i2_big_fortran.npy", &["c3", "c1"], &["c2"]).unwrap();
    assert_eq!(some.values(), array![[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]);
    assert_eq!(some.text("c2").unwrap(), ["2", "6", "10"]);
    assert_eq!(choose("f8.npy", &[], &["c1"]).unwrap().text("c1").unwrap(), ["-0.5", "1.5", "3.5"]);
    assert_eq!(choose("words.npy", &[], &["c0"]).unwrap().text("c0").unwrap(), ["cat", "dog", "bär"]);
    assert_eq!(choose("deflated.npz:labels", &[], &["*"]).unwrap().text("c0").unwrap(), ["a", "b", "c"]);
}

#[test]
fn what_numpy_saves_and_a_table_does_not_hold() {
    let m = message(read(&fixture("two.npz")));
    assert!(m.contains("several arrays; name one behind a colon, such as ") && m.contains("two.npz:features;"), "{m}");
    assert!(m.ends_with("there are `features`, `labels`"), "{m}");
    let m = message(read(&fixture("two.npz:feature")));
    assert!(m.contains("two.npz: there is no array `feature` in the file; there are `features`"), "{m}");
    assert!(message(read(&fixture("records.npy"))).contains("records of several fields are not supported"));
    assert!(message(read(&fixture("words.npy"))).contains("column `c0`: an array of words cannot be read as numbers"));
    assert!(
        matches!(read(&fixture("none.npy")), Err(e) if matches!(e.problem(), Some(Problem::HeaderOnly { columns: 4, .. })))
    );
    assert!(message(choose("f8.npy", &["c9"], &[])).contains("no column `c9`; there are `c0`"));
}

#[test]
fn tensors_of_every_type() {
    for name in ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"] {
        let expected = match name {
            "bool" => whole().mapv(|v| f64::from(v != 0.0)),
            name if name.starts_with("float") => floats(),
            _ => whole(),
        };
        let table = read(&fixture(&format!("types.safetensors:{name}"))).unwrap();
        assert_eq!(table.values(), expected, "{name}");
    }
    assert!(
        matches!(read(&fixture("types.safetensors")), Err(e) if matches!(e.problem(), Some(Problem::SeveralMembers { .. })))
    );
    assert!(
        matches!(read(&fixture("types.safetensors:f")), Err(e) if matches!(e.problem(), Some(Problem::NoMember { .. })))
    );
}

#[cfg(feature = "zstd")]
mod columnar {
    use super::*;

    const FILES: [&str; 7] =
        ["snappy.parquet", "zstd.parquet", "lz4.parquet", "lz4.feather", "zstd.feather", "plain.arrow", "stream.arrow"];

    #[test]
    fn every_type_in_every_file() {
        let reading = Reading {
            numbers: Some(words(&["*int*", "float*", "bool", "decimal", "embedding_?", "items_*"])),
            text: words(&["word", "large", "kind"]),
            ..Reading::default()
        };
        for file in FILES {
            let table = reading.read(&fixture(file)).unwrap();
            for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] {
                assert_eq!(table.column(name).unwrap(), array![1.0, 5.0, 9.0], "{file} {name}");
            }
            for name in ["float16", "float32", "float64"] {
                assert_eq!(table.column(name).unwrap(), array![1.0, 5.0, 9.0], "{file} {name}");
            }
            assert_eq!(table.column("bool").unwrap(), array![1.0, 0.0, 1.0], "{file}");
            assert_eq!(table.column("decimal").unwrap(), array![1.25, -0.5, 3.0], "{file}");
            let embedding = table.select(&table.columns(&words(&["embedding_*"])).unwrap());
            assert_eq!(embedding, floats(), "{file}");
            let items = table.select(&table.columns(&words(&["items_*"])).unwrap());
            assert_eq!(items, floats(), "{file}");
            assert_eq!(table.text("word").unwrap(), ["cat", "dog", "bär"], "{file}");
            assert_eq!(table.text("large").unwrap(), ["cat", "dog", "bär"], "{file}");
            assert_eq!(table.text("kind").unwrap(), ["b", "a", "b"], "{file}");
            let numbers = choose(file, &["float32", "int8"], &["int64", "bool", "float64"]).unwrap();
            assert_eq!(numbers.names(), ["int8", "float32"]);
            assert_eq!(numbers.text("int64").unwrap(), ["1", "5", "9"], "{file}");
            assert_eq!(numbers.text("bool").unwrap(), ["true", "false", "true"], "{file}");
            assert_eq!(numbers.text("float64").unwrap(), ["1", "5", "9"], "{file}");
        }
    }

    #[test]
    fn faults_are_named_by_row_and_column() {
        for file in FILES {
            let m = message(choose(file, &["gap"], &[]));
            assert!(m.contains(&format!("{file}, row 1 (from 0), column `gap`: missing value")), "{m}");
            let m = message(choose(file, &[], &["note"]));
            assert!(m.contains(&format!("{file}, row 1 (from 0), column `note`: missing value")), "{m}");
            let m = message(choose(file, &["word"], &[]));
            assert!(
                m.contains("column `word`: the type Utf8 cannot be read as numbers; code it as numbers, name"),
                "{m}"
            );
            let m = message(choose(file, &["day"], &[]));
            assert!(m.contains("column `day`: the type Date32 cannot be read as numbers; convert it"), "{m}");
            let m = message(choose(file, &["ragged_1"], &[]));
            assert!(
                m.contains("row 1 (from 0), column `ragged_1`: a list of 1 numbers, where the first row has 2"),
                "{m}"
            );
            let m = message(choose(file, &["int8"], &["embedding_0"]));
            assert!(m.contains("column `embedding_0`: ") && m.contains("cannot be read as text"), "{m}");
            let m = message(choose(file, &["int"], &[]));
            assert!(m.contains("there is no column `int`; there are `int8`"), "{m}");
        }
    }

    #[test]
    fn files_of_writers_that_leave_out_the_arrow_schema() {
        let table = choose("gzip.parquet", &["float64", "decimal", "bool", "embedding_*"], &["kind"]).unwrap();
        assert_eq!(table.column("decimal").unwrap(), array![1.25, -0.5, 3.0]);
        assert_eq!(table.text("kind").unwrap(), ["b", "a", "b"]);
        assert_eq!(table.select(&table.columns(&words(&["embedding_*"])).unwrap()), floats());
        assert!(
            matches!(choose("none.parquet", &["int8"], &[]), Err(e) if matches!(e.problem(), Some(Problem::HeaderOnly { columns: 25, .. })))
        );
    }

    #[test]
    fn batches_do_not_care_where_row_groups_end() {
        let reading = Reading { numbers: Some(words(&["int8"])), text: words(&["kind"]), ..Reading::default() };
        for file in FILES {
            let batches = reading.batches(&fixture(file), 2).unwrap();
            assert_eq!((batches.names(), batches.text_names()), (&words(&["int8"])[..], &words(&["kind"])[..]));
            let sizes: Vec<usize> = batches.map(|t| t.unwrap().rows()).collect();
            assert_eq!(sizes, [2, 1], "{file}");
        }
        assert_eq!(reading.batches(&fixture("snappy.parquet"), 2).unwrap().rows(), Some(3));
    }
}
