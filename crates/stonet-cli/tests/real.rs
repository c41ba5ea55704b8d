//! A real network on real images, from the pixels to one file that says probabilities.
//!
//! `STONET_DATA` names the folder with models/, images/ and logits/: `cargo test … -- --include-ignored`.

mod common;

use std::path::PathBuf;

use common::{Desk, apart};
use ndarray::{Array2, Axis, s};
use stonet_io::{Cells, Column, Reading, Type, Writer};

/// Bytes of a CIFAR image with its label.
const IMAGE: usize = 3073;
const PIXELS: &str = "--scale 0.00392156862745098 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225";

fn data() -> PathBuf {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    dir.expect("STONET_DATA names a directory with models/, images/ and logits/")
}

/// Writes features, logits and labels of some rows.
fn write(desk: &Desk, name: &str, names: &[String], values: &Array2<f64>, labels: &[String]) {
    let columns = names.iter().map(|n| Column::new(n, Type::F32)).chain([Column::new("label", Type::Integer)]);
    let mut writer = Writer::create(&desk.at(name), columns.collect()).unwrap();
    let cells = values.axis_iter(Axis(1)).map(Cells::Numbers).chain([Cells::Text(labels)]);
    writer.write(&cells.collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_resnet_on_cifar_from_pixels_to_one_file() {
    let dir = data();
    let desk = Desk::new();
    let [network, images, logits] =
        ["models/resnet20_cifar10.onnx", "images/cifar10/test_batch.bin", "logits/resnet20_c10_features.csv.gz"]
            .map(|p| dir.join(p));
    let (network, images) = (network.display(), images.display());
    let said = desk.json(&format!("features {network} {images} {PIXELS} -o all.parquet"));
    assert_eq!(said["rows"], 10_000);
    assert_eq!((said["accuracy"].as_f64().unwrap() * 10_000.0).round(), 9173.0);

    // The same numbers as another program made from the same weights, row by row.
    let all = Reading { text: vec!["label".into()], ..Reading::default() }.read(&desk.at("all.parquet")).unwrap();
    let theirs = stonet_io::read(&logits).unwrap();
    let features: Vec<String> = (0..64).map(|i| format!("f{i}")).collect();
    let mut apart_most = 0f64;
    for name in &features {
        let (a, b) = (all.column(name).unwrap(), theirs.column(name).unwrap());
        apart_most = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(apart_most, f64::max);
    }
    println!("features differ by at most {apart_most:.1e}");
    assert!(apart_most < 1e-3, "{apart_most}");
    let labels = all.text("label").unwrap().to_vec();
    assert!(labels.iter().zip(theirs.column("y").unwrap()).all(|(a, b)| a.parse::<f64>() == Ok(*b)));

    // Half the rows fit a head, the other half judge it.
    let logits: Vec<String> = (0..10).map(|i| format!("z{i}")).collect();
    let names: Vec<String> = logits.iter().chain(&features).cloned().collect();
    let values = all.select(&all.columns(&names).unwrap());
    write(&desk, "val.parquet", &names, &values.slice(s![..5000, ..]).to_owned(), &labels[..5000]);
    write(&desk, "test.parquet", &names, &values.slice(s![5000.., ..]).to_owned(), &labels[5000..]);
    let fit = "fit val.parquet --task classification --inputs z* --features f* --target label -o head.stonet";
    desk.run(&format!("{fit} --method vector"));
    let judged = desk.json("evaluate head.stonet test.parquet --report page.html --require accuracy>=0.9");
    let evaluation = &judged["evaluation"]["scores"];
    let (ece, floor) =
        (evaluation["ece"]["value"].as_f64().unwrap(), evaluation["ece"]["floor"]["high"].as_f64().unwrap());
    println!("ECE {ece:.4}, by chance up to {floor:.4}");
    assert!(ece < 0.02, "{ece}");
    assert!(desk.text("page.html").trim_end().ends_with("</html>"));

    // One file from pixels to probabilities, on the last 300 images.
    desk.run("predict head.stonet test.parquet -o wanted.parquet");
    let summary = desk.json(&format!("export head.stonet -o joined.onnx --network {network} --network-output logits"));
    assert_eq!(summary["inputs"].as_array().unwrap().len(), 1);
    let pixels = std::fs::read(dir.join("images/cifar10/test_batch.bin")).unwrap();
    desk.write("some.bin", &pixels[9700 * IMAGE..]);
    let wanted = desk.table("wanted.parquet", &["class"]);
    let mut runtimes = vec!["rten"];
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        runtimes.push("onnxruntime");
    }
    for runtime in runtimes {
        let run = format!("features joined.onnx some.bin {PIXELS} --tap probabilities --no-outputs");
        desk.run(&format!("{run} --runtime {runtime} -o found.parquet"));
        let found = desk.table("found.parquet", &["label"]);
        for k in 0..10 {
            let wanted = wanted.column(&format!("p_{k}")).unwrap().slice(s![4700..]).to_vec();
            let difference = apart(&wanted, &found.column(&format!("f{k}")).unwrap().to_vec());
            assert!(difference < 1e-4, "{runtime}, class {k}: {difference}");
        }
    }
}

/// 250 rows of 100 logits in which 90 classes occur: the columns stay logits, and every class keeps its probability.
#[test]
#[ignore = "needs STONET_DATA"]
fn classes_without_a_calibration_row_keep_their_logits() {
    let dir = data();
    let desk = Desk::new();
    let reading = Reading { text: vec!["y".into()], ..Reading::default() };
    let all = reading.read(&dir.join("logits/netcal_densenetbc100_c100.csv.gz")).unwrap();
    let names: Vec<String> = (0..100).map(|k| format!("z{k}")).collect();
    let (values, texts) = (all.select(&all.columns(&names).unwrap()), all.text("y").unwrap());
    let class = |row: usize| texts[row].parse::<f64>().unwrap() as usize;
    let rows = |range: std::ops::Range<usize>| range.collect::<Vec<usize>>();
    let fitted: Vec<usize> = rows(0..5000).into_iter().filter(|&r| class(r) < 90).take(250).collect();
    let part = |name: &str, rows: &[usize]| {
        let labels: Vec<String> = rows.iter().map(|&r| class(r).to_string()).collect();
        write(&desk, name, &names, &values.select(Axis(0), rows), &labels);
    };
    part("val.parquet", &fitted);
    part("test.parquet", &rows(5000..10_000));
    let fit = desk
        .json("fit val.parquet --task classification --inputs z* --target label --method temperature -o head.stonet");
    assert_eq!((&fit["logits"], &fit["features"]), (&100.into(), &0.into()));
    assert_eq!(fit["classes"].as_array().unwrap().len(), 100);
    assert!(fit["warnings"][0].as_str().unwrap().contains("taken for logits"), "{}", fit["warnings"]);
    let judged = desk.json("evaluate head.stonet test.parquet");
    let accuracy = judged["evaluation"]["scores"]["accuracy"]["value"].as_f64().unwrap();
    // Temperature scaling changes no class, so this is the network's own accuracy.
    assert!((0.72..0.80).contains(&accuracy), "{accuracy}");
    println!("accuracy {accuracy}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn images_without_their_scale_are_a_warning() {
    let dir = data();
    let desk = Desk::new();
    let images = std::fs::read(dir.join("images/cifar10/test_batch.bin")).unwrap();
    desk.write("some.bin", &images[..200 * IMAGE]);
    let network = dir.join("models/resnet20_cifar10.onnx");
    for (flags, warned) in [("", true), (PIXELS, false)] {
        let output = desk.ended(&format!("features {} some.bin {flags} -o f.parquet", network.display()), 0);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.contains("pass --scale, --mean and --std"), warned, "{said}");
    }
}
