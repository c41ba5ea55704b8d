//! Arrays whose headers lie: shapes, lengths and archives that promise what the file does not hold.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use ndarray::array;
use stonet_io::{Error, Place, Problem, Reading, Table, read};
use tempfile::TempDir;

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn parse(name: &str, bytes: &[u8]) -> Result<Table, Error> {
    read(&file(name, bytes).1)
}

/// An array with this header, as numpy would begin it.
fn npy(descr: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), values].concat()
}

/// An archive of one member with this many announced bytes.
fn zip(name: &str, contents: &[u8], deflate: bool, announced: u32) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents).unwrap();
    let data = if deflate { encoder.finish().unwrap() } else { contents.to_vec() };
    let mut crc = flate2::Crc::new();
    crc.update(contents);
    let method: u16 = if deflate { 8 } else { 0 };
    let shared = [
        &method.to_le_bytes()[..],
        &[0; 4],
        &crc.sum().to_le_bytes(),
        &(data.len() as u32).to_le_bytes(),
        &announced.to_le_bytes(),
        &(name.len() as u16).to_le_bytes(),
        &[0; 2],
    ]
    .concat();
    let local = [b"PK\x03\x04\x14\0\0\0", &shared[..], name.as_bytes(), &data].concat();
    let central = [b"PK\x01\x02\x14\0\x14\0\0\0", &shared[..], &[0; 14], name.as_bytes()].concat();
    let sizes = [(central.len() as u32).to_le_bytes(), (local.len() as u32).to_le_bytes()].concat();
    [&local[..], &central, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes, &[0; 2]].concat()
}

fn safetensors(header: &str, values: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), values].concat()
}

fn damaged(result: Result<Table, Error>, why: &str) {
    match result {
        Err(e) if matches!(e.problem(), Some(Problem::Damaged { .. })) => assert!(e.to_string().contains(why), "{e}"),
        other => panic!("{why}: {other:?}"),
    }
}

#[test]
fn shapes_have_to_fit_the_file() {
    let good = npy("'<f4'", "False", "(2, 1)", &[0; 8]);
    assert_eq!(parse("a.npy", &good).unwrap().values(), array![[0.0], [0.0]]);
    damaged(parse("a.npy", &[&good[..], &[0]].concat()), "takes 8 bytes, and there are 9");
    damaged(parse("a.npy", &good[..good.len() - 1]), "takes 8 bytes, and there are 7");
    for shape in ["(1000000000000, 1000)", "(18446744073709551615, 18446744073709551615)", "(9223372036854775807,)"] {
        for order in ["False", "True"] {
            damaged(parse("a.npy", &npy("'<f8'", order, shape, &[1, 2, 3])), "takes ");
        }
    }
    damaged(parse("a.npy", &npy("'<f8'", "False", "(18446744073709551616,)", &[])), "header is not one of numpy");
    damaged(parse("a.npy", &npy("'<f8'", "False", "(-1,)", &[])), "header is not one of numpy");
    damaged(parse("a.npy", &npy("'<f8'", "Maybe", "(1,)", &[0; 8])), "header is not one of numpy");
    damaged(parse("a.npy", &npy("'<f8'", "False", "()", &[0; 8])), "the array has no dimensions");
    damaged(parse("a.npy", &npy("'<f8'", "False", "(2, 0)", &[])), "no row of a table");
    damaged(parse("a.npy", &npy("'|u1'", "False", "(1, 2000000)", &[0; 2_000_000])), "no row of a table");
    damaged(parse("a.npy", b""), "header breaks off");
    damaged(parse("a.npy", b"a,b\n1,2\n3,4\n"), "it begins with the bytes");
    let long = [b"\x93NUMPY\x02\x00".as_slice(), &u32::MAX.to_le_bytes()].concat();
    damaged(parse("a.npy", &long), "a header of 4294967295 bytes");
}

#[test]
fn types_that_are_not_read_are_named() {
    for (descr, what) in [("'|O'", "Python objects"), ("'<c16'", "`<c16`"), ("'<M8[ns]'", "`<M8[ns]`"), ("''", "``")] {
        let e = parse("a.npy", &npy(descr, "False", "(1,)", &[0; 16])).unwrap_err().to_string();
        assert!(e.contains(what) && e.contains("not supported"), "{e}");
    }
    let e = parse("a.safetensors", &safetensors(r#"{"a":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}}"#, &[0]));
    assert!(e.unwrap_err().to_string().contains("the type F8_E5M2 of tensor `a` is not supported"));
}

#[test]
fn numbers_have_to_be_finite() {
    let raw = |values: [f64; 4]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    for (order, row, column) in [("False", 1, "c0"), ("True", 0, "c1")] {
        let e = parse("a.npy", &npy("'<f8'", order, "(2, 2)", &raw([1.0, 2.0, f64::NAN, 4.0]))).unwrap_err();
        assert!(e.to_string().contains(&format!("row {row} (from 0), column `{column}`: missing value")), "{e}");
        let e = parse("a.npy", &npy("'<f8'", order, "(2, 2)", &raw([1.0, 2.0, f64::INFINITY, 4.0]))).unwrap_err();
        assert!(e.to_string().contains(&format!("row {row} (from 0), column `{column}`: infinite value")), "{e}");
    }
    let nan = npy("'<f8'", "False", "(2, 2)", &raw([1.0, 2.0, f64::NAN, 4.0]));
    let reading = Reading { exclude: vec!["c0".into()], ..Reading::default() };
    assert_eq!(reading.read(&file("a.npy", &nan).1).unwrap().values(), array![[2.0], [4.0]]);
    let reading = Reading { numbers: Some(vec![]), text: vec!["c0".into()], ..Reading::default() };
    assert!(
        matches!(reading.read(&file("a.npy", &nan).1), Err(e) if matches!(e.problem(), Some(Problem::MissingEntry)) && matches!(e.place(), Some(Place::Entry(1, _))))
    );
}

#[test]
fn archives_that_lie() {
    let array = npy("'<f8'", "False", "(2,)", &[0; 16]);
    let size = array.len() as u32;
    for deflate in [true, false] {
        let good = zip("x.npy", &array, deflate, size);
        assert_eq!(parse("a.npz", &good).unwrap().values(), array![[0.0], [0.0]]);
        let mut bad = good.clone();
        bad[14] ^= 1; // the checksum in front of the data is not looked at, …
        assert!(parse("a.npz", &bad).is_ok());
        let central = good.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        bad[central + 16] ^= 1; // … the one in the directory is.
        damaged(parse("a.npz", &bad), "the checksum is wrong");
        assert!(
            matches!(parse("a.npz", &zip("x.npy", &array, deflate, size + 8)), Err(e) if matches!(e.problem(), Some(Problem::Damaged { .. })))
        );
    }
    damaged(parse("a.npz", &zip("x.npy", &array, true, u32::MAX - 1)), "cannot be in a file of");
    // 64 MiB of zeros in 64 kB, behind a header that promises two numbers, and one that promises them all.
    let zeros = vec![0; 1 << 26];
    let bomb = [&array[..], &zeros].concat();
    damaged(parse("a.npz", &zip("x.npy", &bomb, true, bomb.len() as u32)), "takes 16 bytes");
    damaged(parse("a.npz", &zip("x.npy", &bomb, true, size)), "more data than the archive announces");
    damaged(parse("a.npz", b"PK\x05\x06"), "no directory");
    damaged(parse("a.npz", b""), "no directory");
    damaged(parse("a.npz", &[b"PK\x05\x06".as_slice(), &[0; 18]].concat()), "there is no array in it");
}

#[test]
fn tensors_that_lie() {
    let of =
        |offsets: &str, shape: &str| format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#);
    let good = safetensors(&of("[0,8]", "[2]"), &[0; 8]);
    assert_eq!(parse("a.safetensors", &good).unwrap().values(), array![[0.0], [0.0]]);
    damaged(parse("a.safetensors", &good[..good.len() - 1]), "its tensors take 8 bytes, and there are 7");
    for header in [
        of("[0,9]", "[2]"),
        of("[4,12]", "[2]"),
        of("[8,0]", "[2]"),
        of("[0,18446744073709551615]", "[4611686018427387904]"),
        of("[0,8]", "[18446744073709551615,18446744073709551615]"),
        "{".into(),
    ] {
        damaged(parse("a.safetensors", &safetensors(&header, &[0; 8])), "");
    }
    damaged(parse("a.safetensors", &u64::MAX.to_le_bytes()), "announced in a file of 8");
    damaged(parse("a.safetensors", b"abc"), "it has 3 bytes");
    damaged(parse("a.safetensors", &safetensors("{}", &[])), "there is no array in it");
    let half = safetensors(r#"{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}"#, &[0x20, 0x40, 0x80, 0xbf]);
    assert_eq!(parse("a.safetensors", &half).unwrap().values(), array![[2.5, -1.0]]);
}

#[test]
fn images_of_idx_files_are_rows() {
    let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2], &[1u8, 2, 3, 255][..]].concat();
    for name in ["images-idx3-ubyte", "images.idx"] {
        let table = parse(name, &images).unwrap();
        assert_eq!(
            (table.values(), table.names()),
            (array![[1.0, 2.0], [3.0, 255.0]], &["c0".into(), "c1".into()][..])
        );
    }
    let labels = [&[0, 0, 0x0E, 1, 0, 0, 0, 1][..], &7.0f64.to_be_bytes()].concat();
    assert_eq!(parse("labels.idx", &labels).unwrap().values(), array![[7.0]]);
}

#[test]
fn files_under_the_wrong_ending() {
    let text = b"a,b\n1,2\n3,4\n5,6\n7,8\n";
    for name in ["a.npy", "a.npz", "a.safetensors", "a.parquet", "a.arrow", "a.feather", "a.ipc"] {
        let columnar =
            name.starts_with("a.p") || name.starts_with("a.a") || name.starts_with("a.f") || name.starts_with("a.i");
        if columnar && !cfg!(feature = "parquet") {
            continue;
        }
        for bytes in [&text[..], b"", b"x"] {
            let e = parse(name, bytes).unwrap_err().to_string();
            assert!(e.contains(name) && e.contains("check the ending of the name"), "{e}");
        }
    }
    assert!(matches!(read(Path::new("no.npz:x")), Err(e) if matches!(e.problem(), Some(Problem::NoFile))));
    assert!(
        matches!(read(Path::new("no.parquet")), Err(e) if matches!(e.problem(), Some(Problem::NoFile | Problem::Unsupported { .. })))
    );
}
