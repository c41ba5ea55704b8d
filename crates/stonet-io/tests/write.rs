//! Written tables: numbers come back bit for bit in every format, and a file is whole or not there.

use std::path::Path;

use ndarray::{Array1, Array2, Axis};
use proptest::prelude::*;
use stonet_io::{Cells, Column, Error, Problem, Reading, Type, Writer, read};

#[cfg(feature = "parquet")]
const FORMATS: [&str; 7] = ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather", "t.ipc", "t.npy"];
#[cfg(not(feature = "parquet"))]
const FORMATS: [&str; 3] = ["t.csv", "t.csv.gz", "t.npy"];

fn columns(kinds: &[Type]) -> Vec<Column> {
    kinds.iter().enumerate().map(|(i, &kind)| Column::new(format!("c{i}"), kind)).collect()
}

fn cells(values: &Array2<f64>) -> Vec<Cells<'_>> {
    values.axis_iter(Axis(1)).map(Cells::Numbers).collect()
}

fn write(path: &Path, kind: Type, batches: &[Array2<f64>]) {
    let mut writer = Writer::create(path, columns(&[kind; 3])).unwrap();
    for batch in batches {
        writer.write(&cells(batch)).unwrap();
    }
    assert_eq!(writer.rows(), batches.iter().map(|b| b.nrows() as u64).sum::<u64>());
    writer.finish().unwrap();
}

fn files(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn numbers_come_back_bit_for_bit(
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, 3..90),
        batch in 1usize..20,
    ) {
        let rows = values.len() / 3;
        let values = Array2::from_shape_vec((rows, 3), values[..3 * rows].to_vec()).unwrap();
        let batches: Vec<Array2<f64>> = values.axis_chunks_iter(Axis(0), batch).map(|b| b.to_owned()).collect();
        let dir = tempfile::tempdir().unwrap();
        for name in FORMATS {
            let path = dir.path().join(name);
            write(&path, Type::F64, &batches);
            let back = read(&path).unwrap();
            prop_assert_eq!(back.names(), ["c0", "c1", "c2"]);
            prop_assert_eq!(back.values().mapv(f64::to_bits), values.mapv(f64::to_bits), "{}", name);
            // In batches of another size.
            let mut row = 0;
            for table in Reading::default().batches(&path, 7).unwrap() {
                let table = table.unwrap();
                let expected = values.slice(ndarray::s![row..row + table.rows(), ..]);
                prop_assert_eq!(table.values().mapv(f64::to_bits), expected.mapv(f64::to_bits), "{}", name);
                row += table.rows();
            }
            prop_assert_eq!(row, rows);
        }
        let single = values.mapv(|v| if (v as f32).is_finite() { f64::from(v as f32) } else { 1.5 });
        for name in FORMATS {
            let path = dir.path().join(name);
            write(&path, Type::F32, std::slice::from_ref(&single));
            let back = read(&path).unwrap().values().mapv(|v| (v as f32).to_bits());
            prop_assert_eq!(back, single.mapv(|v| (v as f32).to_bits()), "{}", name);
        }
    }
}

#[test]
fn many_rows_make_several_groups() {
    let rows = 300_000;
    let values = Array2::from_shape_fn((rows, 3), |(r, c)| (r * 3 + c) as f64);
    let dir = tempfile::tempdir().unwrap();
    for name in FORMATS {
        let path = dir.path().join(name);
        write(&path, Type::F32, std::slice::from_ref(&values));
        let batches =
            Reading { numbers: Some(vec!["c1".into()]), ..Reading::default() }.batches(&path, 70_000).unwrap();
        let parts: Vec<Array1<f64>> = batches.map(|t| t.unwrap().column("c1").unwrap().to_owned()).collect();
        assert_eq!(
            parts.iter().map(|p| p.len()).collect::<Vec<_>>(),
            [70_000, 70_000, 70_000, 70_000, 20_000],
            "{name}"
        );
        let expected = (0..rows).map(|r| (3 * r + 1) as f64);
        assert!(parts.iter().flatten().copied().eq(expected), "{name}");
    }
}

#[test]
fn words_stand_beside_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let labels: Vec<String> = ["a", "b,c", "say \"x\"", "ä\nö"].map(String::from).into();
    let numbers = Array1::from(vec![0.1, f64::INFINITY, -1e300, 5e-324]);
    for name in FORMATS.iter().filter(|n| !n.ends_with("npy")) {
        let path = dir.path().join(name);
        let mut writer = Writer::create(&path, columns(&[Type::Text, Type::F64])).unwrap();
        writer.write(&[Cells::Text(&labels), Cells::Numbers(numbers.view())]).unwrap();
        writer.finish().unwrap();
        let reading = Reading { numbers: Some(vec![]), text: vec!["*".into()], ..Reading::default() };
        let back = reading.read(&path).unwrap();
        assert_eq!(back.text("c0").unwrap(), labels, "{name}");
        let parsed: Vec<f64> = back.text("c1").unwrap().iter().map(|t| t.parse().unwrap()).collect();
        assert_eq!(parsed, numbers.to_vec(), "{name}");
    }
    let e = Writer::create(&dir.path().join("t.npy"), columns(&[Type::F64, Type::Text])).err().unwrap();
    assert!(e.to_string().contains("numbers only, and column `c1` is text or integers"), "{e}");
}

#[test]
fn nothing_is_left_of_a_file_that_was_not_finished() {
    for name in FORMATS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, "before").unwrap();
        let mut writer = Writer::create(&path, columns(&[Type::F64])).unwrap();
        writer.write(&[Cells::Numbers(ndarray::aview1(&[1.0]))]).unwrap();
        assert_eq!(files(dir.path()).len(), 2);
        drop(writer);
        assert_eq!(files(dir.path()), [name]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        write(&path, Type::F64, &[ndarray::array![[1.0, 2.0, 3.0]]]);
        assert_eq!(files(dir.path()), [name]);
        assert_eq!(read(&path).unwrap().rows(), 1);
        // A table without rows is a file all the same.
        write(&path, Type::F64, &[]);
        assert!(
            matches!(read(&path), Err(e) if matches!(e.problem(), Some(Problem::HeaderOnly { columns: 3, .. }))),
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let create = |name: &str, columns| Writer::create(&dir.path().join(name), columns).err().unwrap();
    let e = create("t.xyz", columns(&[Type::F64]));
    assert!(matches!(e.problem(), Some(Problem::UnknownOutput { .. })) && e.to_string().contains(".parquet"), "{e}");
    assert!(matches!(create("no/t.csv", columns(&[Type::F64])), Error::Unwritable { .. }));
    let twice = vec![Column::new("a", Type::F64), Column::new("a", Type::Text)];
    assert!(matches!(create("t.csv", twice).problem(), Some(Problem::DuplicateColumn { .. })));
    assert!(matches!(create("t.csv", vec![]), Error::Core(_)));
    std::fs::create_dir(dir.path().join("d.csv")).unwrap();
    assert!(matches!(create("d.csv", columns(&[Type::F64])), Error::Unwritable { .. }));
    let mut writer = Writer::create(&dir.path().join("t.csv"), columns(&[Type::F64, Type::F64])).unwrap();
    let (one, two) = (ndarray::aview1(&[1.0]), ndarray::aview1(&[1.0, 2.0]));
    assert!(matches!(writer.write(&[Cells::Numbers(one)]), Err(Error::Core(_))));
    assert!(matches!(writer.write(&[Cells::Numbers(one), Cells::Numbers(two)]), Err(Error::Core(_))));
    let words = ["a".to_owned()];
    assert!(
        matches!(writer.write(&[Cells::Numbers(one), Cells::Text(&words)]), Err(e) if matches!(e.problem(), Some(Problem::ColumnType { .. })))
    );
}
