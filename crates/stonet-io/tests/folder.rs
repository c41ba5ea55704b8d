//! Folders of Parquet files read as one table, and samples of their rows.
#![cfg(feature = "parquet")]

use std::path::Path;

use ndarray::{Array1, Array2, array};
use stonet::Seed;
use stonet_io::{Cells, Column, Error, Problem, Reading, Sampling, Type, Writer, read, types};
use tempfile::TempDir;

/// Writes `a`, `b` and the text `t`, in this order of the columns.
fn write(path: &Path, order: [&str; 3], rows: std::ops::Range<usize>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let kind = |name: &&str| Column::new(*name, if *name == "t" { Type::Text } else { Type::F64 });
    let mut writer = Writer::create(path, order.iter().map(kind).collect()).unwrap();
    let numbers = |factor: f64| rows.clone().map(|r| factor * r as f64).collect::<Array1<f64>>();
    let (a, b) = (numbers(1.0), numbers(-10.0));
    let t: Vec<String> = rows.clone().map(|r| format!("row {r}")).collect();
    let cells = order.map(|name| match name {
        "a" => Cells::Numbers(a.view()),
        "b" => Cells::Numbers(b.view()),
        _ => Cells::Text(&t),
    });
    writer.write(&cells).unwrap();
    writer.finish().unwrap();
}

/// 25 rows in four files, the columns of one of them in another order, beside what Spark leaves there.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    write(&at("part-00.parquet"), ["a", "b", "t"], 0..0);
    write(&at("part-01.parquet"), ["a", "b", "t"], 0..10);
    write(&at("part-02.PQ"), ["a", "b", "t"], 10..11);
    std::fs::rename(at("part-02.PQ"), at("part-02.pq")).unwrap();
    write(&at("year=2024/part.parquet"), ["t", "b", "a"], 11..25);
    write(&at("year=2025/part.parquet"), ["a", "b", "t"], 0..0);
    write(&at("_temporary/part.parquet"), ["a", "b", "t"], 0..3);
    for name in ["_SUCCESS", ".part-01.parquet.crc", "notes.txt", "_metadata.parquet", ".hidden.parquet"] {
        std::fs::write(at(name), "nothing of interest").unwrap();
    }
    dir
}

fn reading() -> Reading {
    Reading { text: vec!["t".into()], ..Reading::default() }
}

#[test]
fn files_follow_each_other_by_path_whatever_the_order_of_their_columns() {
    let dir = folder();
    let table = reading().read(dir.path()).unwrap();
    assert_eq!(table.names(), ["a", "b"]);
    let expected = Array2::from_shape_fn((25, 2), |(i, j)| [1.0, -10.0][j] * i as f64);
    assert_eq!(table.values(), expected);
    assert_eq!(table.text("t").unwrap()[24], "row 24");
    for rows in [1, 3, 10, 1000] {
        let batches = reading().batches(dir.path(), rows).unwrap();
        assert_eq!((batches.rows(), batches.source()), (Some(25), dir.path()));
        let mut all = Vec::new();
        for batch in batches.ahead() {
            let batch = batch.unwrap();
            assert!(batch.rows() == rows || all.len() + batch.rows() == 25);
            all.extend(batch.column("a").unwrap().to_vec());
        }
        assert_eq!(all, (0..25).map(f64::from).collect::<Vec<_>>());
    }
    let b = Reading { numbers: Some(vec!["b".into()]), ..Reading::default() };
    assert_eq!(b.read(dir.path()).unwrap().values(), expected.slice(ndarray::s![.., 1..]));
    assert_eq!(types(dir.path(), &[], &["t".into(), "a".into()]).unwrap(), [Some(Type::Text), Some(Type::F64)]);
}

#[test]
fn types_that_differ_between_files_are_copied_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let one = |name: &str, kind: Type| {
        let mut writer = Writer::create(&dir.path().join(name), vec![Column::new("a", kind)]).unwrap();
        let text = ["7".to_owned()];
        let number = array![7.0];
        let cells = if kind == Type::Integer { Cells::Text(&text) } else { Cells::Numbers(number.view()) };
        writer.write(&[cells]).unwrap();
        writer.finish().unwrap();
    };
    let kinds = || types(dir.path(), &[], &["a".into()]).unwrap();
    one("1.parquet", Type::F32);
    assert_eq!(kinds(), [Some(Type::F32)]);
    one("2.parquet", Type::F64);
    assert_eq!(kinds(), [Some(Type::F64)]);
    std::fs::remove_file(dir.path().join("1.parquet")).unwrap();
    one("3.parquet", Type::Integer);
    assert_eq!(kinds(), [Some(Type::F64)]);
    assert_eq!(read(dir.path()).unwrap().values(), array![[7.0], [7.0]]);
}

/// The message of a folder in which something is wrong.
fn message(dir: &TempDir, reading: &Reading) -> String {
    let whole = reading.read(dir.path()).unwrap_err().to_string();
    // What is wrong with a file is known before its turn comes.
    let opened = reading.batches(dir.path(), 5).map(|mut b| b.find_map(Result::err));
    let early = match opened {
        Err(e) => e.to_string(),
        Ok(e) => e.unwrap().to_string(),
    };
    assert_eq!(whole, early);
    whole.replace(dir.path().to_str().unwrap(), "dir")
}

#[test]
fn faults_name_the_file_the_row_in_it_and_the_column() {
    let dir = folder();
    // All columns as numbers: `t` is none, which the first file says.
    let m = message(&dir, &Reading::default());
    assert!(m.contains("dir/part-01.parquet, column `t`") && m.contains("numbers"), "{m}");

    let two = [Column::new("a", Type::F64), Column::new("t", Type::Text)];
    let mut writer = Writer::create(&dir.path().join("part-03.parquet"), two.to_vec()).unwrap();
    writer.write(&[Cells::Numbers(array![1.0].view()), Cells::Text(&["x".into()])]).unwrap();
    writer.finish().unwrap();
    let m = message(&dir, &reading());
    assert!(m.starts_with("dir/part-03.parquet: there is no column `b`"), "{m}");
    assert!(reading().batches(dir.path(), 5).is_err());

    let text = [Column::new("a", Type::F64), Column::new("b", Type::Text), Column::new("t", Type::Text)];
    let mut writer = Writer::create(&dir.path().join("part-03.parquet"), text.to_vec()).unwrap();
    let x = ["x".to_owned()];
    writer.write(&[Cells::Numbers(array![1.0].view()), Cells::Text(&x), Cells::Text(&x)]).unwrap();
    writer.finish().unwrap();
    let m = message(&dir, &reading());
    assert!(m.starts_with("dir/part-03.parquet, column `b`"), "{m}");

    let fine = [Column::new("a", Type::F64), Column::new("b", Type::F64), Column::new("t", Type::Text)];
    let mut writer = Writer::create(&dir.path().join("part-03.parquet"), fine.to_vec()).unwrap();
    let (a, b) = (array![1.0, 2.0], array![1.0, f64::NAN]);
    writer
        .write(&[Cells::Numbers(a.view()), Cells::Numbers(b.view()), Cells::Text(&["x".into(), "y".into()])])
        .unwrap();
    writer.finish().unwrap();
    let m = message(&dir, &reading());
    assert!(m.starts_with("dir/part-03.parquet, row 1 (from 0), column `b`: missing value"), "{m}");

    std::fs::write(dir.path().join("part-03.parquet"), "no such thing").unwrap();
    let m = message(&dir, &reading());
    assert!(m.starts_with("dir/part-03.parquet: not a readable Parquet file"), "{m}");
}

#[test]
fn folders_without_rows_say_what_they_lack() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(read(dir.path()), Err(e) if matches!(e.problem(), Some(Problem::NoParquet))));
    std::fs::write(dir.path().join("rows.csv"), "a\n1\n").unwrap();
    let m = message(&dir, &Reading::default());
    assert!(m.starts_with("dir: there is no Parquet file in this folder"), "{m}");
    write(&dir.path().join("a.parquet"), ["a", "b", "t"], 0..0);
    assert!(
        matches!(reading().read(dir.path()), Err(e) if matches!(e.problem(), Some(Problem::HeaderOnly { columns: 3, .. })))
    );
}

#[test]
fn samples_depend_on_rows_and_seed_alone_and_are_uniform() {
    let dir = folder();
    let draw = |most: usize, share: f64, seed: u64| {
        let sampling = Sampling { most, share, seed: Seed::new(seed) };
        reading().sample(dir.path(), &sampling, &|_, _| true).unwrap()
    };
    let sample = draw(8, 0.7, 1);
    assert_eq!((sample.table.rows(), sample.total), (8, 25));
    assert!(sample.rows.is_sorted() && sample != draw(8, 0.7, 2));
    let numbers: Vec<f64> = sample.rows.iter().map(|&r| r as f64).collect();
    assert_eq!(sample.table.column("a").unwrap().to_vec(), numbers);
    let texts: Vec<String> = sample.rows.iter().map(|r| format!("row {r}")).collect();
    assert_eq!(sample.table.text("t").unwrap(), texts);
    // One file with the same rows gives the same sample.
    let one = dir.path().join("one.parquet");
    write(&one, ["a", "b", "t"], 0..25);
    let sampling = Sampling { most: 8, share: 0.7, seed: Seed::new(1) };
    assert_eq!(reading().sample(&one, &sampling, &|_, _| true).unwrap().rows, sample.rows);
    std::fs::remove_file(&one).unwrap();
    // ⌊0.7 · 25⌋ of them, each as likely as any other, also where the share and not the size is the limit.
    assert_eq!((draw(1000, 0.7, 1).rows.len(), draw(1000, 1.0, 1).rows.len()), (17, 25));
    for (most, share, expected) in [(5, 1.0, 5.0), (1000, 0.2, 5.0), (10, 0.2, 5.0)] {
        const DRAWS: u64 = 1000;
        let mut counts = [0u32; 25];
        (0..DRAWS).for_each(|s| draw(most, share, s).rows.iter().for_each(|&r| counts[r as usize] += 1));
        let p = expected / 25.0;
        let sd = (p * (1.0 - p) / DRAWS as f64).sqrt();
        assert!(counts.iter().all(|&c| (f64::from(c) / DRAWS as f64 - p).abs() < 4.5 * sd), "{counts:?}");
    }
    let stop = reading().sample(dir.path(), &sampling, &|_, _| false);
    assert!(matches!(stop, Err(Error::Cancelled(c)) if c.done == 25));
}

#[test]
fn lists_are_as_long_in_every_file() {
    use arrow_array::builder::{Float64Builder, ListBuilder};
    use arrow_array::{ArrayRef, RecordBatch};
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, length: usize| {
        let mut lists = ListBuilder::new(Float64Builder::new());
        (0..4).for_each(|row| lists.append_value((0..length).map(|i| Some((row * 10 + i) as f64))));
        let lists: ArrayRef = std::sync::Arc::new(lists.finish());
        let batch = RecordBatch::try_from_iter([("e", lists)]).unwrap();
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    write("a.parquet", 2);
    write("b.parquet", 2);
    assert_eq!(read(dir.path()).unwrap().values().dim(), (8, 2));
    write("b.parquet", 3);
    let m = message(&dir, &Reading::default());
    assert!(m.starts_with("dir/b.parquet, row 0 (from 0), column `e`: a list of 3 numbers"), "{m}");
    write("b.parquet", 1);
    let m = message(&dir, &Reading::default());
    assert!(m.starts_with("dir/b.parquet") && m.contains("`e_1`"), "{m}");
}
