//! Arrays in the idx format: values of every type, and every fault of a header.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use ndarray::array;
use proptest::prelude::*;
use stonet_io::{Error, Idx, Place, Problem};

fn parse(bytes: &[u8]) -> Result<Idx, Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a-idx");
    std::fs::write(&path, bytes).unwrap();
    Idx::read(&path)
}

/// A file of this type with these sizes.
fn file(kind: u8, shape: &[u32], values: &[u8]) -> Vec<u8> {
    let sizes: Vec<u8> = shape.iter().flat_map(|d| d.to_be_bytes()).collect();
    [&[0, 0, kind, shape.len() as u8], sizes.as_slice(), values].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn images_and_labels_of_bytes() {
    let images = file(0x08, &[3, 2, 2], &[0, 1, 2, 3, 10, 20, 30, 40, 255, 0, 255, 0]);
    for bytes in [gzip(&images), images] {
        let images = parse(&bytes).unwrap();
        assert_eq!((images.shape(), images.rows(), images.width()), ([3, 2, 2].as_slice(), 3, 4));
        assert_eq!(images.matrix(&[2, 0], 0.5), array![[127.5, 0.0, 127.5, 0.0], [0.0, 0.5, 1.0, 1.5]]);
        assert!(images.labels().unwrap_err().to_string().contains("one dimension, and this one has 3"));
    }
    let labels = parse(&file(0x08, &[4], &[9, 0, 200, 1])).unwrap();
    assert_eq!((labels.labels().unwrap(), labels.width()), (vec![9, 0, 200, 1], 1));
}

#[test]
fn every_type_of_number_is_big_endian() {
    fn check<const N: usize>(kind: u8, bytes: impl Fn(f64) -> [u8; N], values: [f64; 3]) {
        let raw: Vec<u8> = values.iter().flat_map(|&v| bytes(v)).collect();
        let idx = parse(&file(kind, &[3], &raw)).unwrap();
        assert_eq!(idx.matrix(&[0, 1, 2], 1.0).into_raw_vec_and_offset().0, values, "{kind:x}");
        let e = idx.labels().unwrap_err();
        assert!(
            matches!(e.problem(), Some(Problem::IdxLabel { .. })) && e.place() == Some(&Place::Row(1)),
            "{kind:x}: {e}"
        );
    }
    check(0x09, |v| (v as i8).to_be_bytes(), [5.0, -128.0, 127.0]);
    check(0x0B, |v| (v as i16).to_be_bytes(), [300.0, -32768.0, 1.0]);
    check(0x0C, |v| (v as i32).to_be_bytes(), [2147483647.0, -70000.0, 1.0]);
    check(0x0D, |v| (v as f32).to_be_bytes(), [3.0, 0.15625, -2.5]);
    check(0x0E, f64::to_be_bytes, [3.0, 0.1, -1e300]);
    let whole: Vec<u8> = [0.0f32, 12.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(parse(&file(0x0D, &[2], &whole)).unwrap().labels().unwrap(), [0, 12]);
}

#[test]
fn other_files_are_refused_by_their_first_bytes() {
    for bytes in
        [b"a,b\n1,2\n".as_slice(), &[0, 0, 7, 1, 0, 0, 0, 1, 5], &[0, 0, 8, 0, 5], &[1, 0, 8, 1, 0, 0, 0, 1, 5]]
    {
        let e = parse(bytes).unwrap_err();
        assert!(
            matches!(e.problem(), Some(Problem::NotIdx { .. })) && e.to_string().contains("not an idx file"),
            "{e}"
        );
    }
    assert!(matches!(Idx::read(Path::new("no-such-idx")), Err(e) if matches!(e.problem(), Some(Problem::NoFile))));
}

#[test]
fn a_file_that_is_too_short_or_too_long_is_an_error_wherever_it_ends() {
    let whole = file(0x0B, &[2, 3], &[7; 12]);
    for keep in 0..whole.len() {
        let e = parse(&whole[..keep]).unwrap_err();
        assert!(matches!(e.problem(), Some(Problem::IdxShort { found, .. }) if *found == keep as u64), "{keep}: {e}");
    }
    let longer = parse(&[whole.as_slice(), &[0]].concat()).unwrap_err();
    assert!(matches!(longer.problem(), Some(Problem::IdxLong { expected: 24, .. })), "{longer}");
    let noise: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect();
    let compressed = gzip(&file(0x08, &[5000], &noise));
    for keep in [3, 12, compressed.len() / 2, compressed.len() - 1] {
        let e = parse(&compressed[..keep]).unwrap_err();
        assert!(
            matches!(e.problem(), Some(Problem::BrokenGzip { .. })) && e.to_string().contains("after byte "),
            "{keep}: {e}"
        );
    }
}

#[test]
fn a_header_that_promises_too_much_costs_no_memory() {
    // 2^64 values and more, and 2^62: the first cannot be, the second is not there.
    let most = u32::MAX;
    for (dimensions, kind) in [(2, 0x0E), (3, 0x08), (255, 0x08)] {
        let e = parse(&file(kind, &vec![most; dimensions], &[1, 2, 3])).unwrap_err();
        assert!(matches!(e.problem(), Some(Problem::IdxShape { .. })), "{e}");
    }
    let e = parse(&file(0x08, &[1 << 31, 1 << 31], &[1, 2, 3])).unwrap_err();
    assert!(matches!(e.problem(), Some(Problem::IdxShort { found: 15, .. })), "{e}");
    let e = parse(&file(0x08, &[most, 0], &[])).unwrap_err();
    assert!(matches!(e.problem(), Some(Problem::IdxShape { .. })), "{e}");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(kind in 0u8..16, dimensions in 0u8..4, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let idx = parse(&[&[0, 0, kind, dimensions], bytes.as_slice()].concat());
        if let Ok(idx) = idx {
            prop_assert_eq!(idx.matrix(&[0], 1.0).len(), idx.width());
        }
    }
}

#[test]
#[ignore = "needs STONET_DATA"]
fn the_real_files_are_read() {
    let dir = std::env::var_os("STONET_DATA").expect("STONET_DATA names a directory with images/fashion_mnist");
    let dir = PathBuf::from(dir).join("images/fashion_mnist");
    for (part, rows) in [("train", 60000), ("t10k", 10000)] {
        let images = Idx::read(&dir.join(format!("{part}-images-idx3-ubyte.gz"))).unwrap();
        assert_eq!(images.shape(), [rows, 28, 28]);
        let labels = Idx::read(&dir.join(format!("{part}-labels-idx1-ubyte.gz"))).unwrap().labels().unwrap();
        // As published, the classes are equally frequent.
        for class in 0..10 {
            assert_eq!(labels.iter().filter(|&&l| l == class).count(), rows / 10);
        }
    }
}
