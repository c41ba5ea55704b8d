//! The calibration experiments: what a journal holds is not run again, and real outputs give the numbers known for
//! them.

use std::fmt::Write as _;
use std::path::PathBuf;

use stonet::ClassMethod::{self, None as Raw, Temperature, Vector};
use stonet_repro::cifar::{CifarOptions, CifarSpec, cifar};

fn options(data: PathBuf, only: &str, methods: &[ClassMethod]) -> CifarOptions {
    CifarOptions { data, only: Some(vec![only.to_owned()]), methods: methods.to_vec(), splits: Some(2), seed: 1 }
}

/// A small file under the name of a real one.
fn write_outputs(dir: &std::path::Path, name: &str) {
    let mut text = String::from("split,z0,z1,z2,y\n");
    for i in 0..120 {
        let z = [0, 1, 2].map(|k| if i % 3 == k { 6.0 } else { ((i * (k + 3)) % 13) as f64 / 4.0 });
        let y = if i % 5 == 0 { (i + 1) % 3 } else { i % 3 };
        writeln!(text, "1,{},{},{},{y}", z[0], z[1], z[2]).unwrap();
    }
    // Gzip is known by its bytes, so that plain text under this name is read as well.
    std::fs::write(dir.join(format!("{name}.csv.gz")), text).unwrap();
}

#[test]
fn a_second_run_fits_only_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    write_outputs(dir.path(), "phan_vgg16_bn_c10");
    let spec = CifarSpec { validation_rows: 60, ..CifarSpec::shipped() };
    let out = dir.path().join("out");
    let run = |methods: &[ClassMethod]| {
        cifar(&spec, &options(dir.path().to_owned(), "phan_vgg16_bn_c10", methods), &out, &|_, _| true).unwrap()
    };
    let first = run(&[Raw, Temperature]);
    let lines = || std::fs::read_to_string(out.join("cifar.jsonl")).unwrap().lines().count();
    assert_eq!(lines(), 1 + 2);
    assert_eq!(run(&[Raw, Temperature]), first);
    assert_eq!(lines(), 1 + 2);
    let more = run(&[Raw, Temperature, Vector]);
    assert_eq!(lines(), 1 + 4);
    assert_eq!(more.networks[0].methods[..2], first.networks[0].methods[..]);
    assert_eq!(run(&[Temperature]).networks[0].methods, first.networks[0].methods[1..]);
    assert_eq!(lines(), 1 + 4);
    let group = &more.networks[0];
    assert_eq!(group.splits, 2);
    assert!(group.methods[1].nll[0] < group.methods[0].nll[0], "temperature scaling helps a network that is too sure");
    assert!(more.text().contains("authors' own networks"));
}

#[test]
fn missing_files_and_unknown_names_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let run = |only: &str| {
        let options = options(dir.path().to_owned(), only, &[Raw]);
        cifar(&CifarSpec::shipped(), &options, &dir.path().join("out"), &|_, _| true).unwrap_err().to_string()
    };
    assert!(run("densenet40_c10").contains("no file of densenet40_c10"));
    assert!(run("alexnet").contains("there is no file `alexnet`; there are densenet40_c10"));
    assert!(!dir.path().join("out").exists());
}

/// The directory with logits/ and published/.
fn data_directory() -> PathBuf {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    dir.expect("STONET_DATA names a directory with logits/densenet40_c10.csv.gz and published/calibration-vision.csv")
}

#[test]
#[ignore = "needs STONET_DATA"]
fn the_literatures_densenet_has_its_known_numbers() {
    let data = data_directory();
    let dir = tempfile::tempdir().unwrap();
    let options = options(data, "densenet40_c10", &[Raw, Temperature]);
    let report = cifar(&CifarSpec::shipped(), &options, dir.path(), &|_, _| true).unwrap();
    let [raw, temperature] = &report.networks[0].methods[..] else { panic!("two methods") };
    // Known to so many digits from other programs on the same file.
    assert_eq!(report.networks[0].splits, 1);
    assert!((raw.accuracy[0] - 0.9242).abs() < 5e-5 && (raw.ece[0] - 0.0550).abs() < 5e-5);
    assert!((temperature.nll[0] - 0.2251).abs() < 5e-5 && (temperature.ece[0] - 0.0095).abs() < 5e-5);
}

/// What Berta, Holzmüller, Jordan & Bach (2025) published for the same rows, to as many digits as our optimum of the
/// same loss can be from where their solver stopped.
#[test]
#[ignore = "needs STONET_DATA"]
fn structured_scaling_has_the_published_likelihood() {
    let data = data_directory();
    let text = std::fs::read_to_string(data.join("published").join("calibration-vision.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let row: Vec<&str> = text.lines().find(|l| l.starts_with("c10,densenet40,")).unwrap().split(',').collect();
    let published = |column: &str| -> f64 { row[header.iter().position(|c| *c == column).unwrap()].parse().unwrap() };
    let dir = tempfile::tempdir().unwrap();
    let options =
        options(data, "densenet40_c10", &[ClassMethod::TemperatureSmooth, ClassMethod::Svs, ClassMethod::Sms]);
    let report = cifar(&CifarSpec::shipped(), &options, dir.path(), &|_, _| true).unwrap();
    let found: Vec<f64> = report.networks[0].methods.iter().map(|m| m.nll[0]).collect();
    assert!((found[0] - published("ts_logloss")).abs() < 1e-6, "{found:?}");
    assert!((found[1] - published("svs_logloss")).abs() < 3e-4, "{found:?}");
    assert!((found[2] - published("sms_logloss")).abs() < 2e-4, "{found:?}");
}
