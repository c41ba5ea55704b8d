//! Small files that unfold into endless rows are refused before they fill the memory, and outputs never replace what is
//! read.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use stonet_io::{Place, Problem, check_output, read};

/// A compressed file of a beginning and many repetitions.
fn bomb(dir: &Path, name: &str, start: &str, repeated: &str, bytes: usize) -> PathBuf {
    let path = dir.join(name);
    let mut encoder = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    encoder.write_all(start.as_bytes()).unwrap();
    let block = repeated.repeat((1 << 20) / repeated.len());
    (0..bytes >> 20).for_each(|_| encoder.write_all(block.as_bytes()).unwrap());
    encoder.finish().unwrap();
    path
}

#[test]
fn a_row_that_does_not_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let long = |start: &str, repeated: &str, line: u64| {
        let path = bomb(dir.path(), "t.csv.gz", start, repeated, 40 << 20);
        match read(&path) {
            Err(e) => {
                assert!(matches!(e.problem(), Some(Problem::LongRow { .. })), "{e}");
                assert_eq!(e.place(), Some(&Place::Line(line)), "{e}");
                assert!(e.to_string().contains("Parquet"), "{e}");
            }
            other => panic!("{start}: {other:?}"),
        }
    };
    long("a,b\n1,2\n3,", "7", 3);
    long("a,b\n1,2\n3,\"4\n", "5,6\n", 3);
    long("", "name", 1);
    let plain = dir.path().join("t.csv");
    std::fs::write(&plain, format!("a,b\n1,{}", "7".repeat(17 << 20))).unwrap();
    assert!(
        matches!(read(&plain), Err(e) if matches!(e.problem(), Some(Problem::LongRow { .. })) && e.place() == Some(&Place::Line(2)))
    );
    // As many bytes in many rows are no fault.
    let rows = bomb(dir.path(), "t.csv.gz", "a,b\n", "1.000000,2.00000\n", 20 << 20);
    assert_eq!(read(&rows).unwrap().rows(), 20 * ((1 << 20) / 17));
}

#[test]
fn a_row_of_too_many_cells_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for start in ["", "a,b\n"] {
        let path = bomb(dir.path(), "t.csv.gz", start, ",", 2 << 20);
        assert!(matches!(read(&path), Err(e) if matches!(e.problem(), Some(Problem::WideRow { .. }))), "{start}");
    }
}

#[test]
fn outputs_are_not_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("a.csv"), "x\n1\n").unwrap();
    std::fs::write(at("d.npz"), "").unwrap();
    std::fs::create_dir(at("parts")).unwrap();
    std::fs::write(at("parts/one.parquet"), "").unwrap();
    let refuses = |output: &str, input: &str| {
        let found = check_output(&at(output), &[Path::new("-"), &at(input)]);
        assert!(
            matches!(found, Err(e) if matches!(e.problem(), Some(Problem::OutputIsInput { .. }))),
            "{output} {input}"
        );
    };
    refuses("a.csv", "a.csv");
    refuses("parts/../a.csv", "a.csv");
    refuses("d.npz", "d.npz:features");
    refuses("parts/one.parquet", "parts");
    refuses("parts/new.parquet", "parts");
    refuses("new.csv", "new.csv");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("a.csv"), at("soft.csv")).unwrap();
        std::fs::hard_link(at("a.csv"), at("hard.csv")).unwrap();
        std::os::unix::fs::symlink(at("parts"), at("linked")).unwrap();
        refuses("soft.csv", "a.csv");
        refuses("a.csv", "soft.csv");
        refuses("hard.csv", "a.csv");
        refuses("linked/one.parquet", "parts");
        refuses("parts/new.parquet", "linked");
    }
    for (output, input) in
        [("b.csv", "a.csv"), ("parts/p.csv", "parts"), ("p.parquet", "parts"), ("a.csv", "d.npz:a.csv")]
    {
        check_output(&at(output), &[&at(input)]).unwrap();
    }
    check_output(Path::new("-"), &[Path::new("-")]).unwrap();
}
