//! Tables from hostile files: whole and in batches, with text, gaps and members of archives.

use std::path::Path;

use stonet_io::{Batches, Error, Reading, Table};

use super::file;

/// Delimited text, also compressed.
pub fn csv(bytes: &[u8]) {
    let name = if bytes.starts_with(&[0x1f, 0x8b]) { "rows.csv.gz" } else { "rows.csv" };
    every_way(&file(name, bytes), "");
}

/// A numpy array.
pub fn npy(bytes: &[u8]) {
    every_way(&file("rows.npy", bytes), "");
}

/// An archive of numpy arrays.
pub fn npz(bytes: &[u8]) {
    let path = file("rows.npz", bytes);
    every_way(&path, "");
    every_way(&path, ":features");
}

/// Parquet.
pub fn parquet(bytes: &[u8]) {
    every_way(&file("rows.parquet", bytes), "");
}

/// Arrow IPC, as a file or a stream.
pub fn arrow(bytes: &[u8]) {
    every_way(&file("rows.arrow", bytes), "");
}

/// Tensors.
pub fn safetensors(bytes: &[u8]) {
    let path = file("rows.safetensors", bytes);
    for member in ["", ":float32", ":float16", ":bool", ":features"] {
        every_way(&path, member);
    }
}

/// Images and labels, also compressed.
pub fn idx(bytes: &[u8]) {
    let name = if bytes.starts_with(&[0x1f, 0x8b]) { "rows.idx.gz" } else { "rows.idx" };
    every_way(&file(name, bytes), "");
}

/// Reads a file as numbers, as text, and with gaps; each whole and in batches, which agree.
fn every_way(path: &Path, member: &str) {
    let named = format!("{}{member}", path.display());
    let all = || vec!["*".to_owned()];
    let odd = ["large", "note", "gap", "day", "ragged*"].map(str::to_owned).to_vec();
    let readings = [
        Reading::default(),
        Reading { text: vec!["word".into(), "kind".into()], exclude: odd, ..Reading::default() },
        Reading { numbers: Some(Vec::new()), text: all(), ..Reading::default() },
        Reading { drop_missing: true, ..Reading::default() },
    ];
    for reading in readings {
        let whole = reading.read(Path::new(&named));
        let batches = reading.batches(Path::new(&named), 3).and_then(Batches::collect::<Result<Vec<Table>, Error>>);
        match (whole, batches) {
            (Ok(whole), Ok(batches)) => same(&whole, &batches),
            (Err(e), Err(_)) => assert!(e.to_string().contains(&*path.to_string_lossy()), "{e}"),
            (whole, batches) => panic!("whole {whole:?}, in batches {batches:?}"),
        }
    }
}

/// The rows of all batches are those of the whole table.
fn same(whole: &Table, batches: &[Table]) {
    assert_eq!(whole.rows(), batches.iter().map(Table::rows).sum::<usize>());
    let mut first = 0;
    for batch in batches {
        assert_eq!(batch.names(), whole.names());
        for name in whole.names() {
            let (all, part) = (whole.column(name).unwrap(), batch.column(name).unwrap());
            let bits = |v: &f64| v.to_bits();
            assert!(all.iter().skip(first).map(bits).take(part.len()).eq(part.iter().map(bits)), "{name}");
        }
        first += batch.rows();
    }
}
