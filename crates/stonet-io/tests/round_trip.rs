//! Any table through any format: names, numbers, whole numbers and words come back, whole or in batches of any size.

use std::path::Path;

use ndarray::{Array2, ArrayView1, Axis};
use proptest::prelude::*;
use stonet_io::{Cells, Column, Reading, Table, Type, Writer, is_missing, read};

#[cfg(feature = "parquet")]
const TYPED: [&str; 6] = ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather", "t.ipc"];
#[cfg(not(feature = "parquet"))]
const TYPED: [&str; 2] = ["t.csv", "t.csv.gz"];

/// A column and its entries; those of numbers as they are read back.
#[derive(Debug, Clone)]
enum Entries {
    Numbers(Type, Vec<f64>),
    Text(Type, Vec<String>),
}

impl Entries {
    fn kind(&self) -> Type {
        match self {
            Entries::Numbers(kind, _) | Entries::Text(kind, _) => *kind,
        }
    }

    fn cells(&self) -> Cells<'_> {
        match self {
            Entries::Numbers(_, values) => Cells::Numbers(ArrayView1::from(&values[..])),
            Entries::Text(_, texts) => Cells::Text(texts),
        }
    }
}

fn number() -> impl Strategy<Value = f64> {
    let extremes = [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 0.1, 1e16, 123_456_789.123_456_79];
    let any = prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL;
    prop_oneof![4 => any, 1 => prop::sample::select(extremes.to_vec())]
}

fn single() -> impl Strategy<Value = f64> {
    (prop::num::f32::NORMAL | prop::num::f32::ZERO | prop::num::f32::SUBNORMAL).prop_map(f64::from)
}

/// Words with what a careless writer of files breaks at.
fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9éß漢字,;|\"' ._()*?=-]{1,12}"
        .prop_filter("an entry that stands for itself", |t| t.trim() == t && !is_missing(t))
}

fn column(rows: usize) -> impl Strategy<Value = Entries> {
    prop_oneof![
        prop::collection::vec(number(), rows).prop_map(|v| Entries::Numbers(Type::F64, v)),
        prop::collection::vec(single(), rows).prop_map(|v| Entries::Numbers(Type::F32, v)),
        prop::collection::vec(word(), rows).prop_map(|t| Entries::Text(Type::Text, t)),
        prop::collection::vec(any::<i64>().prop_map(|i| i.to_string()), rows)
            .prop_map(|t| Entries::Text(Type::Integer, t)),
    ]
}

prop_compose! {
    /// Columns of distinct names; the first holds numbers, and no name is a number.
    fn table()(rows in 1usize..40, names in prop::collection::hash_set(word(), 2..7))(
        first in prop::collection::vec(number(), rows),
        others in prop::collection::vec(column(rows), names.len() - 1),
        names in Just(names),
    ) -> Vec<(String, Entries)> {
        let entries = [Entries::Numbers(Type::F64, first)].into_iter().chain(others);
        names.into_iter().map(|n| format!("n{n}")).zip(entries).collect()
    }
}

fn write(path: &Path, table: &[(String, Entries)]) {
    let columns = table.iter().map(|(name, e)| Column::new(name, e.kind())).collect();
    let mut writer = Writer::create(path, columns).unwrap();
    writer.write(&table.iter().map(|(_, e)| e.cells()).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
}

fn names(table: &[(String, Entries)], text: bool) -> Vec<String> {
    let wanted = table.iter().filter(|(_, e)| matches!(e, Entries::Text(..)) == text);
    wanted.map(|(name, _)| name.clone()).collect()
}

/// Rows `from..` of a table that was written are those of a table that was read.
fn same(read: &Table, written: &[(String, Entries)], from: usize, file: &str) -> Result<(), TestCaseError> {
    for (name, entries) in written {
        match entries {
            Entries::Numbers(kind, values) => {
                let found = read.column(name).unwrap();
                for (row, (a, b)) in found.iter().zip(&values[from..]).enumerate() {
                    let equal = match kind {
                        // Text has as many digits as tell one f32 from the next.
                        Type::F32 => (*a as f32).to_bits() == (*b as f32).to_bits(),
                        _ => a.to_bits() == b.to_bits(),
                    };
                    prop_assert!(equal, "{}: row {} of `{}`: {:e}, not {:e}", file, from + row, name, a, b);
                }
            }
            Entries::Text(_, texts) => {
                let found = read.text(name).unwrap();
                prop_assert_eq!(found, &texts[from..from + found.len()], "{}: `{}`", file, name);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tables_of_every_type_come_back(table in table(), batch in 1usize..50) {
        let dir = tempfile::tempdir().unwrap();
        let reading = Reading { text: names(&table, true), ..Reading::default() };
        let Entries::Numbers(_, first) = &table[0].1 else { unreachable!() };
        for file in TYPED {
            let path = dir.path().join(file);
            write(&path, &table);
            let whole = reading.read(&path).unwrap();
            prop_assert_eq!(whole.names(), names(&table, false));
            prop_assert_eq!(whole.rows(), first.len());
            same(&whole, &table, 0, file)?;
            let mut row = 0;
            for part in reading.batches(&path, batch).unwrap() {
                let part = part.unwrap();
                prop_assert!(part.rows() <= batch, "{}", file);
                same(&part, &table, row, file)?;
                row += part.rows();
            }
            prop_assert_eq!(row, first.len(), "{}", file);
        }
    }

    #[test]
    fn whole_numbers_are_the_nearest_f64(values in prop::collection::vec(any::<i64>(), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        let table = [
            ("x".to_owned(), Entries::Numbers(Type::F64, vec![1.0; values.len()])),
            ("id".to_owned(), Entries::Text(Type::Integer, texts.clone())),
        ];
        for file in TYPED {
            let path = dir.path().join(file);
            write(&path, &table);
            let read = read(&path).unwrap();
            prop_assert_eq!(read.column("id").unwrap().to_vec(), values.iter().map(|&v| v as f64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn arrays_of_every_file_come_back(
        values in prop::collection::vec(number(), 1..120), columns in 1usize..6, batch in 1usize..50,
    ) {
        let rows = values.len().div_ceil(columns);
        let at = |(r, c): (usize, usize)| values[(r * columns + c) % values.len()];
        let wanted = Array2::from_shape_fn((rows, columns), at);
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let mut writer =
            Writer::create(&file("a.npy"), (0..columns).map(|c| Column::new(format!("c{c}"), Type::F64)).collect()).unwrap();
        writer.write(&wanted.axis_iter(Axis(1)).map(Cells::Numbers).collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
        let npy = std::fs::read(file("a.npy")).unwrap();
        std::fs::write(file("a.npz"), stored("inside.npy", &npy)).unwrap();
        std::fs::write(file("a.safetensors"), safetensors(&wanted)).unwrap();
        std::fs::write(file("a.idx"), idx(&wanted)).unwrap();
        for name in ["a.npy", "a.npz", "a.npz:inside", "a.safetensors", "a.safetensors:inside", "a.idx"] {
            let read = read(&file(name)).unwrap();
            prop_assert_eq!(read.values().mapv(f64::to_bits), wanted.mapv(f64::to_bits), "{}", name);
            let mut row = 0;
            for part in Reading::default().batches(&file(name), batch).unwrap() {
                let part = part.unwrap();
                let here = wanted.slice(ndarray::s![row..row + part.rows(), ..]);
                prop_assert_eq!(part.values().mapv(f64::to_bits), here.mapv(f64::to_bits), "{}", name);
                row += part.rows();
            }
            prop_assert_eq!(row, rows, "{}", name);
        }
    }
}

/// The reader tells the delimiter by the header: `a;b;c,d` would be three columns.
#[test]
fn names_with_other_delimiters_are_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    let table =
        [("a;b;c", 1.0), ("d\te", 2.0)].map(|(name, v)| (name.to_owned(), Entries::Numbers(Type::F64, vec![v])));
    write(&path, &table);
    assert_eq!(read(&path).unwrap().names(), ["a;b;c", "d\te"]);
}

/// A zip archive with one member, stored as it is.
fn stored(name: &str, contents: &[u8]) -> Vec<u8> {
    let crc = contents.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    });
    let size = (contents.len() as u32).to_le_bytes();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &(!crc).to_le_bytes(), &size, &size].concat();
    let length = (name.len() as u16).to_le_bytes();
    let local = [b"PK\x03\x04", &common[..], &length, &[0, 0], name.as_bytes(), contents].concat();
    let central = [b"PK\x01\x02\x14\0", &common[..], &length, &[0; 16], name.as_bytes()].concat();
    let sizes = [central.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat();
    [&local[..], &central, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes, &[0, 0]].concat()
}

/// A safetensors file with one tensor, `inside`.
fn safetensors(values: &Array2<f64>) -> Vec<u8> {
    let (rows, columns) = values.dim();
    let end = 8 * values.len();
    let header = format!(r#"{{"inside":{{"dtype":"F64","shape":[{rows},{columns}],"data_offsets":[0,{end}]}}}}"#);
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes].concat()
}

/// An idx file of 64-bit numbers, which are big-endian there.
fn idx(values: &Array2<f64>) -> Vec<u8> {
    let axes = [values.nrows(), values.ncols()].map(|d| (d as u32).to_be_bytes()).concat();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    [&[0, 0, 0x0e, 2][..], &axes, &bytes].concat()
}
