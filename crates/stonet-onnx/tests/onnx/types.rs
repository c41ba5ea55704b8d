//! Networks of other types and forms: f64, f16, several inputs, one output, no hidden layer; on every runtime there is.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis, concatenate};
use serde_json::Value;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionInputs, RegressionRows, Seed, Side,
};
use stonet_onnx::{
    Asked, ClassOutput, Features, Inputs, Joint, Network, Result, RunSettings, Runtime, classifier, intervals,
};

use crate::fitted::difference;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn open(name: &str) -> Network {
    Network::open(&fixture(&format!("{name}.onnx"))).unwrap()
}

/// What numpy computed.
fn expected(key: &str) -> Array2<f64> {
    let all: Value = serde_json::from_slice(&std::fs::read(fixture("expected.json")).unwrap()).unwrap();
    let rows: Vec<Vec<f64>> = match serde_json::from_value(all[key].clone()) {
        Ok(rows) => rows,
        Err(_) => all[key].as_array().unwrap().iter().map(|v| vec![v.as_f64().unwrap()]).collect(),
    };
    Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j])
}

/// rten, and onnxruntime where it is installed.
fn runtimes() -> Vec<Runtime> {
    let there = |r: &Runtime| *r == Runtime::Rten || std::env::var_os("ORT_DYLIB_PATH").is_some();
    Runtime::ALL.into_iter().filter(there).collect()
}

fn run(network: &Network, runtime: Runtime, x: &Array2<f64>) -> Result<Features> {
    let settings = RunSettings { runtime, batch: 4, outputs: true };
    let inputs = Inputs::table(x.view(), &[x.ncols()])?;
    network.runner(&network.default_tap()?, &settings)?.features(&inputs, 0..x.nrows(), &|_, _| true)
}

fn agrees(name: &str, x: &Array2<f64>, features: &str, output: &str, tolerance: f64) {
    for runtime in runtimes() {
        let found = run(&open(name), runtime, x).unwrap_or_else(|e| panic!("{name}, {runtime}: {e}"));
        for (found, wanted) in [(&found.features, features), (&found.outputs[0].1, output)] {
            let apart = difference(&found.mapv(f64::from), &expected(wanted));
            assert!(apart < tolerance, "{name}, {runtime}, {wanted}: {apart:.1e}");
        }
    }
}

#[test]
fn networks_of_f64_and_f16_run_like_those_of_f32() {
    agrees("logit", &expected("x"), "hidden", "logit", 1e-5);
    agrees("double", &expected("x"), "hidden", "logit", 1e-5);
    agrees("half", &expected("x"), "hidden", "logit", 2e-2);
}

#[test]
fn a_network_of_two_inputs_takes_their_columns_in_order() {
    let both = concatenate![Axis(1), expected("x"), expected("ids")];
    agrees("two_inputs", &both, "two_hidden", "two", 1e-5);
    let network = open("two_inputs");
    assert_eq!(network.columns().unwrap(), ["x_0", "x_1", "x_2", "id"]);
    for runtime in runtimes() {
        let e = run(&network, runtime, &expected("x")).unwrap_err().to_string();
        assert!(e.contains("`x`, `id` takes rows of shape 4 numbers in all, and the data have 3"), "{e}");
        let mut half = both.clone();
        half[[5, 3]] = 0.5;
        let e = run(&network, runtime, &half).unwrap_err().to_string();
        assert!(e.contains("row 5, column 3 of the inputs is 0.5") && e.contains("takes whole numbers"), "{e}");
    }
}

/// A head that sees the network's inputs beside its features says the same behind the network as after it.
#[test]
fn inputs_of_every_type_join_the_features_of_a_head() {
    // Whole numbers stay what they are.
    let many = |x: Array2<f64>, floats: usize| {
        let moved = |(i, j): (usize, usize)| if j < floats { ((i * (j + 2)) as f64 * 0.7).sin() } else { 0.0 };
        Array2::from_shape_fn((90, x.ncols()), |(i, j)| (x[[i % x.nrows(), j]] + moved((i, j))) as f32 as f64)
    };
    let both = concatenate![Axis(1), expected("x"), expected("ids")];
    let cases = [("logit", expected("x"), vec![2, 0]), ("double", expected("x"), vec![0, 1, 2])]
        .into_iter()
        .chain([("half", expected("x"), vec![1]), ("two_inputs", both, vec![3, 0])]);
    for (name, x, further) in cases {
        let (network, x) = (open(name), many(x, 3));
        let level = Level::new(0.8).unwrap();
        let y = Array2::from_shape_fn((90, 1), |(i, _)| x[[i, 0]] + (i as f64 * 0.9).sin());
        let hidden = run(&network, Runtime::Rten, &x).unwrap().features.mapv(f64::from);
        let columns = concatenate![Axis(1), hidden, x.select(Axis(1), &further)];
        let rows = RegressionRows::new(columns.view(), y.view()).unwrap();
        let fast = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() };
        let fitted = fast.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let new = RegressionInputs::new(columns.view()).unwrap();
        let wanted = fitted.intervals(&new, level, Side::Both).unwrap().upper;
        let head = intervals(&fitted, &Asked { levels: vec![level], ..Asked::default() }).unwrap();
        let e = head.join(&network, &Joint::default()).unwrap_err().to_string();
        assert!(e.contains("numbers per row") && e.contains("fitted with them as --also"), "{name}: {e}");
        let bytes = head.join(&network, &Joint { further, ..Joint::default() }).unwrap();
        let whole = Network::from_bytes(bytes, Path::new("joined.onnx")).unwrap();
        for runtime in runtimes() {
            let settings = RunSettings { runtime, ..RunSettings::default() };
            let runner = whole.runner(&whole.tap("upper").unwrap(), &settings).unwrap();
            let found = runner.features(&Inputs::table(x.view(), &[x.ncols()]).unwrap(), 0..90, &|_, _| true);
            let apart = difference(&found.unwrap().features.mapv(f64::from), &wanted);
            assert!(apart < if name == "half" { 3e-2 } else { 1e-3 }, "{name}, {runtime}: {apart:.1e}");
        }
    }
    let raw = open("two_inputs").raw_inputs(None).unwrap();
    assert_eq!((raw.names.unwrap()[3].as_str(), raw.count), ("id", 4));
    let e = open("logit").raw_inputs(Some(&["a".into()])).unwrap_err().to_string();
    assert!(e.contains("1 names and 3 columns"), "{e}");
}

#[test]
fn a_linear_network_is_tapped_at_its_input() {
    agrees("linear", &expected("x"), "x", "linear", 1e-5);
    let tap = open("linear").default_tap().unwrap();
    assert_eq!((tap.tensor.as_str(), tap.last_hidden), ("x", true));
    assert!(tap.to_string().contains("x (N × 3): last hidden layer: the network's own input"), "{tap}");
    let measured = open("linear").measured_taps();
    assert_eq!(measured[0].shape, tap.shape);
    // Its outputs are not needed for that.
    let network = open("linear");
    let x = expected("x");
    let runner = network.runner(&network.tap("x").unwrap(), &RunSettings::default()).unwrap();
    let found = runner.features(&Inputs::table(x.view(), &[3]).unwrap(), 0..6, &|_, _| true).unwrap();
    assert!(difference(&found.features.mapv(f64::from), &x) < 1e-6);
}

#[test]
fn numbers_that_are_not_finite_are_errors_with_their_place() {
    let mut x = expected("x");
    x[[4, 1]] = 1e39;
    let e = Inputs::table(x.view(), &[3]).unwrap_err().to_string();
    assert!(e.contains("row 4, column 1 of the inputs is 1e39") && e.contains("numbers from -3.4"), "{e}");
    for runtime in runtimes() {
        // Within f32, and beyond f16.
        x[[4, 1]] = 1e6;
        let e = run(&open("half"), runtime, &x).unwrap_err().to_string();
        assert!(e.contains("row 4, column 1 of the inputs is 1000000") && e.contains("65504"), "{runtime}: {e}");
        // Within f32, but not the sum over the inputs.
        x[[4, 1]] = 3.3e38;
        let e = run(&open("linear"), runtime, &x).unwrap_err().to_string();
        assert!(e.contains("row 4: the network computed") && e.contains("of tensor `y`"), "{runtime}: {e}");
        let e = run(&open("linear"), runtime, &x).unwrap_err().after_rows(100).to_string();
        assert!(e.contains("row 104:"), "{e}");
    }
}

#[test]
fn a_binary_classifier_of_one_output_is_joined_to_its_head() {
    let x = Array2::from_shape_fn((200, 3), |(i, j)| ((i * (j + 3)) as f64 * 0.61).sin() * 1.5);
    for (name, kind) in
        [("logit", InputKind::Logits), ("probability", InputKind::Probabilities), ("double", InputKind::Logits)]
    {
        let network = open(name);
        let output = run(&network, Runtime::Rten, &x).unwrap().outputs.remove(0).1.mapv(f64::from);
        let z = kind.convert(output).unwrap();
        // More certain than it should be: a third of the rows with the other label.
        let label = |(i, r): (usize, ndarray::ArrayView1<'_, f64>)| usize::from((r[1] > r[0]) != (i % 3 == 0));
        let labels: Vec<usize> = z.outer_iter().enumerate().map(label).collect();
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 2).unwrap();
        let settings = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let wanted = fitted.probabilities(&rows.inputs()).unwrap();
        let head = classifier(&fitted, ClassOutput { kind, columns: 1 }).unwrap();
        let joined = Network::from_bytes(head.join(&network, &Joint::default()).unwrap(), Path::new("j.onnx")).unwrap();
        for runtime in runtimes() {
            let settings = RunSettings { runtime, ..RunSettings::default() };
            let runner = joined.runner(&joined.tap("probabilities").unwrap(), &settings).unwrap();
            let found = runner.features(&Inputs::table(x.view(), &[3]).unwrap(), 0..200, &|_, _| true).unwrap();
            let apart = difference(&found.features.mapv(f64::from), &wanted);
            assert!(apart < 1e-4, "{name}, {runtime}: {apart:.1e}");
        }
    }
}
