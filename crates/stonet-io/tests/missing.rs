//! Missing values where they are allowed or leave out a row, columns that nobody asked for, and columns in two roles.

use std::path::{Path, PathBuf};

use ndarray::array;
use stonet::Seed;
use stonet_io::{Beside, Cells, Column, Place, Problem, Reading, Sampling, Type, Writer};

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

const TABLE: &str = "a,b,name,y\n1,2,x,3\n,5,y,6\n7,NA,,9\n10,11,w,12\n13,14,,15\n";

fn dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, TABLE).unwrap();
    (dir, path)
}

/// The same table as Parquet, through a file with gaps.
fn parquet(csv: &Path, path: &Path) {
    let names = ["a", "b", "y"];
    let gaps = words(&["a", "b", "name"]);
    let reading = Reading { numbers: Some(words(&names)), text: words(&["name"]), gaps, ..Reading::default() };
    let table = reading.read(csv).unwrap();
    let mut columns: Vec<Column> = names.iter().map(|&n| Column::new(n, Type::F64).with_gaps()).collect();
    columns.push(Column::new("name", Type::Text).with_gaps());
    let mut writer = Writer::create(path, columns).unwrap();
    let mut cells: Vec<Cells<'_>> = names.iter().map(|n| Cells::Numbers(table.column(n).unwrap())).collect();
    cells.push(Cells::Text(table.text("name").unwrap()));
    writer.write(&cells).unwrap();
    writer.finish().unwrap();
}

#[test]
fn incomplete_rows_are_left_out_and_counted_by_column() {
    let (dir, csv) = dir();
    let columnar = dir.path().join("t.parquet");
    parquet(&csv, &columnar);
    for path in [&csv, &columnar] {
        let reading = Reading { text: words(&["name"]), drop_missing: true, ..Reading::default() };
        let table = reading.read(path).unwrap();
        assert_eq!(table.values(), array![[1.0, 2.0, 3.0], [10.0, 11.0, 12.0]], "{path:?}");
        assert_eq!(table.text("name").unwrap(), ["x", "w"]);
        let dropped = table.dropped();
        assert_eq!((dropped.rows, dropped.total), (3, 5));
        let counts = [("a", 1), ("b", 1), ("name", 2)].map(|(n, c)| (n.to_owned(), c));
        assert_eq!(dropped.columns, counts);
        // Columns that are not read do not matter, and gaps may be allowed in one column alone.
        let some = Reading { numbers: Some(words(&["b", "y"])), ..reading.clone() };
        assert_eq!(Reading { text: vec![], ..some }.read(path).unwrap().rows(), 4);
        let gaps = Reading { gaps: words(&["name"]), ..reading.clone() };
        assert_eq!(gaps.read(path).unwrap().text("name").unwrap(), ["x", "w", ""]);
        // In batches, the count goes on to the end.
        let batches = reading.batches(path, 1).unwrap();
        let dropping = batches.dropping();
        assert_eq!(batches.map(|t| t.unwrap().rows()).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(&dropping.so_far(), dropped);
        let sampling = Sampling { most: 10, share: 1.0, seed: Seed::new(1) };
        let sample = reading.sample(path, &sampling, &|_, _| true).unwrap();
        assert_eq!((sample.total, sample.rows, sample.table.dropped()), (2, vec![0, 1], dropped));
        assert!(matches!(
            Reading { drop_missing: false, ..reading }.read(path),
            Err(e) if matches!(e.problem(), Some(Problem::MissingValue { .. } | Problem::MissingEntry))
        ));
    }
}

#[test]
fn a_gap_in_one_file_leaves_out_the_row_of_all_files() {
    let (dir, csv) = dir();
    let beside = dir.path().join("more.csv");
    std::fs::write(&beside, "z\n1\n2\n3\nnan\n5\n").unwrap();
    let reading = Reading {
        numbers: Some(words(&["y", "z"])),
        beside: vec![Beside::from(beside)],
        drop_missing: true,
        ..Reading::default()
    };
    let table = reading.read(&csv).unwrap();
    assert_eq!(table.values(), array![[3.0, 1.0], [6.0, 2.0], [9.0, 3.0], [15.0, 5.0]]);
    assert_eq!(table.dropped().columns, [("z".to_owned(), 1)]);
}

#[test]
fn infinite_values_are_errors_all_the_same_and_some_row_must_be_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    let reading = Reading { drop_missing: true, ..Reading::default() };
    std::fs::write(&path, "a,y\n1,2\ninf,3\n").unwrap();
    assert!(
        matches!(reading.read(&path), Err(e) if matches!(e.problem(), Some(Problem::InfiniteValue { .. })) && matches!(e.place(), Some(Place::Cell(3, _))))
    );
    std::fs::write(&path, "a,y\n,2\n3,\n").unwrap();
    let e = reading.read(&path).unwrap_err().to_string();
    assert!(e.contains("no row is left after dropping 2 of 2 rows with missing values in `a` (1), `y` (1)"), "{e}");
}

#[test]
fn row_numbers_are_no_columns_unless_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    for (first, name) in [("Unnamed: 0", "Unnamed: 0"), ("__index_level_0__", "__index_level_0__"), ("", "column1")] {
        std::fs::write(&path, format!("{first},f,y\n0,5,6\n1,7,8\n")).unwrap();
        let table = stonet_io::read(&path).unwrap();
        assert_eq!((table.names(), table.left_out()), (&words(&["f", "y"])[..], &words(&[name])[..]));
        let all = Reading { numbers: Some(words(&["*"])), ..Reading::default() }.read(&path).unwrap();
        assert_eq!((all.names().len(), all.left_out()), (2, &words(&[name])[..]));
        let begun = format!("{}*", &name[..3]);
        for named in [name, &begun] {
            let named = Reading { numbers: Some(words(&["f", "y", named])), ..Reading::default() }.read(&path).unwrap();
            assert_eq!((named.names().len(), named.left_out().len()), (3, 0));
        }
        let required = Reading { required: words(&[name]), ..Reading::default() }.read(&path).unwrap();
        assert_eq!(required.names().len(), 3);
    }
    std::fs::write(&path, "Unnamed: 0.1,Unnamed: 0,Unnamed: 3,Unnamed: 00,y\n0,0,1,2,3\n").unwrap();
    assert_eq!(stonet_io::read(&path).unwrap().names(), ["Unnamed: 3", "Unnamed: 00", "y"]);
}

#[test]
fn a_column_may_be_numbers_and_text_at_once() {
    let (dir, csv) = dir();
    let columnar = dir.path().join("t.parquet");
    parquet(&csv, &columnar);
    for (path, printed) in [(&csv, "3"), (&columnar, "3")] {
        let reading = Reading { numbers: Some(words(&["y"])), text: words(&["y"]), ..Reading::default() };
        let table = reading.read(path).unwrap();
        assert_eq!((table.column("y").unwrap()[0], table.text("y").unwrap()[0].as_str()), (3.0, printed));
        // A pattern does not mean a column of text.
        let pattern = Reading { numbers: Some(words(&["y*"])), ..reading };
        assert_eq!(pattern.read(path).unwrap().names().len(), 0);
    }
}

#[test]
fn a_column_that_is_not_there_is_named_before_cells_that_do_not_fit() {
    let (_dir, path) = dir();
    let reading = Reading { required: words(&["z"]), ..Reading::default() };
    assert!(
        matches!(reading.read(&path), Err(e) if matches!(e.problem(), Some(Problem::UnknownColumn { name, .. }) if name == "z"))
    );
}
