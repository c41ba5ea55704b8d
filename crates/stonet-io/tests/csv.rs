//! Delimited text: what is read comes back exactly, and every fault is named by line, column and remedy.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::array;
use proptest::prelude::*;
use stonet_io::{Error, Place, Problem, Table, read};
use tempfile::TempDir;

fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn parse(text: &str) -> Result<Table, Error> {
    let (_dir, path) = file("t.csv", text.as_bytes());
    read(&path)
}

/// The message, without the directory.
fn message(text: &str) -> String {
    let m = parse(text).unwrap_err().to_string();
    m[m.find("t.csv").expect("the file is named")..].to_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |v| v.is_finite()), (-1000i32..1000).prop_map(f64::from)]
}

/// How a file may be written without changing what it says.
#[derive(Debug, Clone)]
struct Dress {
    delimiter: char,
    ending: &'static str,
    bom: bool,
    last_ending: bool,
    quotes: bool,
    exponent: bool,
    gzip: bool,
}

prop_compose! {
    fn dress()(
        delimiter in prop::sample::select(vec![',', ';', '\t']),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        flags in any::<[bool; 5]>(),
    ) -> Dress {
        let [bom, last_ending, quotes, exponent, gzip] = flags;
        Dress { delimiter, ending, bom, last_ending, quotes, exponent, gzip }
    }
}

impl Dress {
    fn number(&self, v: f64) -> String {
        let text = if self.exponent { format!("{v:e}") } else { format!("{v}") };
        if self.quotes { format!("\"{text}\"") } else { text }
    }

    fn write(&self, names: &[&str], rows: &[Vec<f64>]) -> Vec<u8> {
        let delimiter = self.delimiter.to_string();
        let mut lines = vec![names.join(&delimiter)];
        lines.extend(rows.iter().map(|r| r.iter().map(|&v| self.number(v)).collect::<Vec<_>>().join(&delimiter)));
        let mut text = if self.bom { "\u{feff}".to_owned() } else { String::new() };
        text += &lines.join(self.ending);
        text += if self.last_ending { self.ending } else { "" };
        if self.gzip { gzip(text.as_bytes()) } else { text.into_bytes() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn numbers_come_back_bit_for_bit_however_the_file_is_dressed(
        dress in dress(),
        rows in prop::collection::vec(prop::collection::vec(finite(), 3), 1..30),
    ) {
        let (_dir, path) = file("t.csv", &dress.write(&["a", "b c", "y"], &rows));
        let table = read(&path).unwrap();
        prop_assert_eq!(table.names(), ["a", "b c", "y"]);
        prop_assert_eq!(table.rows(), rows.len());
        let bits = |v: f64| v.to_bits();
        prop_assert!(table.values().iter().zip(rows.iter().flatten()).all(|(&a, &b)| bits(a) == bits(b)));
    }

    #[test]
    fn a_fault_is_found_on_its_line_however_the_file_is_dressed(
        dress in dress(), before in 0usize..40, after in 0usize..3, blank in 0usize..3,
    ) {
        let plain = Dress { gzip: false, last_ending: true, ..dress.clone() };
        let mut text = plain.write(&["a", "y"], &vec![vec![1.0, 2.0]; before]);
        text.extend(dress.ending.repeat(blank).bytes());
        text.extend(format!("1{}two", dress.delimiter).bytes());
        let tail = format!("{}3{}4", dress.ending, dress.delimiter);
        text.extend(tail.repeat(after).bytes());
        let (_dir, path) = file("t.csv", &if dress.gzip { gzip(&text) } else { text });
        match read(&path) {
            Err(Error::File(e)) => {
                prop_assert!(matches!(&e.problem, Problem::NotANumber { text, .. } if text == "two"), "{}", e);
                prop_assert_eq!(e.place, Place::Cell((before + blank + 2) as u64, "y".into()));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

#[test]
fn gzip_is_recognised_by_its_bytes_and_not_by_its_name() {
    let text = b"a,y\n1,2\n";
    let expected = array![[1.0, 2.0]];
    for (name, bytes) in [("t.csv", gzip(text)), ("t.csv.gz", text.to_vec()), ("t.CSV.GZ", gzip(text))] {
        let (_dir, path) = file(name, &bytes);
        assert_eq!(read(&path).unwrap().values(), expected, "{name}");
    }
    // Two members, as `cat a.gz b.gz` and block compression write them.
    let (_dir, path) = file("t.csv.gz", &[gzip(b"a,y\n1,"), gzip(b"2\n")].concat());
    assert_eq!(read(&path).unwrap().values(), expected);
}

#[test]
fn a_truncated_gzip_is_an_error_wherever_it_breaks_off() {
    let rows: String = (0..2000).map(|i| format!("{i},{}\n", f64::from(i).sqrt())).collect();
    let whole = gzip(format!("a,y\n{rows}").as_bytes());
    for keep in [3, 12, whole.len() / 2, whole.len() - 1] {
        let (_dir, path) = file("t.csv.gz", &whole[..keep]);
        let e = read(&path).unwrap_err();
        assert!(matches!(e.problem(), Some(Problem::BrokenGzip { .. })), "{keep}: {e}");
        assert!(e.to_string().contains("t.csv.gz: the compressed data break off"), "{e}");
    }
}

#[test]
fn files_that_are_not_there_or_not_readable() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(read(&dir.path().join("no.csv")), Err(e) if matches!(e.problem(), Some(Problem::NoFile))));
    let inside = dir.path().join("directory.csv");
    std::fs::create_dir(&inside).unwrap();
    // A folder is its Parquet files, whatever its name ends in.
    assert!(
        matches!(read(&inside), Err(e) if matches!(e.problem(), Some(Problem::NoParquet | Problem::Unsupported { .. })))
    );
    let e = read(&dir.path().join("model.xyz")).unwrap_err();
    assert!(matches!(e.problem(), Some(Problem::UnknownFormat { .. })) && e.to_string().contains(".csv"), "{e}");
}

#[test]
fn faults_of_the_header() {
    assert!(message("").starts_with("t.csv: the file is empty"));
    assert!(message("\n\n").starts_with("t.csv: the file is empty"));
    assert!(message("a,b,y\n").starts_with("t.csv: there are 3 column names and no rows"));
    assert!(message("a,b,a\n1,2,3\n").starts_with("t.csv, line 1: columns 1 and 3 are both called `a`"));
    assert!(message("1.5,2\n3,4\n").starts_with("t.csv, line 1: the first line holds numbers only"));
    let (_dir, path) = file("t.csv", b"temp \xb0C,y\n1,2\n");
    assert!(
        matches!(read(&path), Err(e) if matches!(e.problem(), Some(Problem::NotText)) && e.place() == Some(&Place::Line(1)))
    );
    // What pandas writes for arrays and indices is no fault.
    assert_eq!(parse("0,1\n5,6\n").unwrap().names(), ["0", "1"]);
    assert_eq!(parse("a,,y\n4,5,6\n").unwrap().names(), ["a", "column2", "y"]);
}

#[test]
fn faults_of_the_rows() {
    assert!(message("a,y\n1,2\n3\n").starts_with("t.csv, line 3: 1 cells, where the first line has 2"));
    assert!(message("a,y\n1,2,3\n").starts_with("t.csv, line 2: 3 cells, where the first line has 2"));
    assert!(message("a,y\n1,2\nred,4\n").starts_with("t.csv, line 3, column `a`: `red` is not a number; code it"));
    for decimal in ["1,5", "-0,25", "1000,5", "1,0001"] {
        let m = message(&format!("a;y\n{decimal};2\n"));
        assert!(m.contains(&format!("`{decimal}` is not a number; write a point for the decimal comma")), "{m}");
    }
    for thousands in ["1,000", "-12,345.5", "1,234,567"] {
        let m = message(&format!("a;y\n{thousands};2\n"));
        assert!(m.contains(&format!("`{thousands}` is not a number; remove the thousands separator")), "{m}");
    }
    for text in ["", "NA", "nan", "-nan", "?", "NULL"] {
        let m = message(&format!("a,y\n1,2\n\n3,{text}\n"));
        assert!(m.starts_with(&format!("t.csv, line 4, column `y`: missing value (`{text}`)")), "{m}");
    }
    for text in ["inf", "-inf", "-Infinity", "1e999"] {
        let m = message(&format!("a,y\n1,2\n\n3,{text}\n"));
        assert!(m.starts_with(&format!("t.csv, line 4, column `y`: infinite value (`{text}`)")), "{m}");
        assert!(m.contains("if it is the logarithm of a probability, clip"), "{m}");
    }
    let long = message(&format!("a,y\n1,{}\n", "x".repeat(1000)));
    assert!(long.len() < 200 && long.contains("xx…`"), "{long}");
}

#[test]
fn delimiters_inside_quotes_do_not_count() {
    let t = parse("\"a,b,c\";y\n1;\" 2 \"\n").unwrap();
    assert_eq!(t.names(), ["a,b,c", "y"]);
    assert_eq!(t.values(), array![[1.0, 2.0]]);
}

#[test]
fn true_and_false_are_one_and_zero() {
    let t = parse("a,b,y\nTrue,false,2\nFALSE,TRUE,3\n").unwrap();
    assert_eq!(t.values(), array![[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]);
    assert!(message("a,y\nTrue,2\nyes,3\n").starts_with("t.csv, line 3, column `a`: `yes` is not a number"));
}

#[test]
fn columns_of_text_are_named_all_at_once() {
    // `c` shows itself three rows later, `d` has a gap, and `e` is a number with a comma.
    let m = message("a,b,c,d,e,y\n1,red,1,?,5,2\n2,,2,north,5,3\n3,blue,x,south,\"1,5\",4\n");
    assert!(m.starts_with("t.csv: 3 columns hold text and not numbers: `b`, `c`, `d`; code them as numbers"), "{m}");
}
