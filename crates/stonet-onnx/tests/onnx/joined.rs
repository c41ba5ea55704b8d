//! A head joined to its network gives in one step what both give in two.

use std::path::Path;

use ndarray::{Array2, concatenate, s};
use stonet::classification::ClassExtras;
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, InputKind, Kind, Level, PostStoNetClassifier, Seed};
use stonet_io::Idx;
use stonet_onnx::{
    ClassOutput, Error, Features, Inputs, Joint, Network, Preprocess, RunSettings, Runtime, classifier, classifier_with,
};

use crate::{data, fitted};

fn run(network: &Network, tap: &str, inputs: &Inputs, rows: usize) -> Features {
    let settings = RunSettings { outputs: true, ..RunSettings::default() };
    let runner = network.runner(&network.tap(tap).unwrap(), &settings).unwrap();
    runner.features(inputs, 0..rows, &|_, _| true).unwrap()
}

/// Fits on 300 rows of what a network says, joins, and compares 400 rows with two steps.
fn one_step_says_what_two_say(network: &Network, inputs: &Inputs, labels: &[usize], output: &str) {
    let tap = network.default_tap().unwrap().tensor;
    let said = run(network, &tap, inputs, 400);
    let (features, logits) = (said.features.mapv(f64::from), said.outputs[0].1.mapv(f64::from));
    let (x, z) = (features.slice(s![..300, ..]), logits.slice(s![..300, ..]));
    let given = ClassInputs::logits(z).unwrap().with_features(x).unwrap();
    let rows = ClassRows::new(given, &labels[..300], 10).unwrap();
    let members = Some(vec![ClassMethod::Temperature, ClassMethod::PostLinear, ClassMethod::Vector]);
    let settings = PostStoNetClassifier { members, ..Default::default() };
    let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let head = classifier(&fitted, ClassOutput { kind: InputKind::Logits, columns: 10 }).unwrap();
    let all = ClassInputs::logits(logits.view()).unwrap().with_features(features.view()).unwrap();
    let wanted = fitted.probabilities(&all).unwrap();
    for (keep_outputs, runtime) in [(false, Runtime::Rten), (true, Runtime::Rten), (false, Runtime::Onnxruntime)] {
        if runtime == Runtime::Onnxruntime && std::env::var_os("ORT_DYLIB_PATH").is_none() {
            continue;
        }
        let joint = Joint { output: Some(output.into()), keep_outputs, ..Joint::default() };
        let bytes = head.join(network, &joint).unwrap();
        let whole = Network::from_bytes(bytes, Path::new("joined.onnx")).unwrap();
        let outputs = 2 + if keep_outputs { network.outputs().len() } else { 0 };
        assert_eq!((whole.opset(), whole.outputs().len()), (network.opset(), outputs));
        let settings = RunSettings { runtime, ..RunSettings::default() };
        let runner = whole.runner(&whole.tap("probabilities").unwrap(), &settings).unwrap();
        let found = runner.features(inputs, 0..400, &|_, _| true).unwrap().features.mapv(f64::from);
        let apart = fitted::difference(&found, &wanted);
        println!("{}, {runtime}: {apart:.1e}", network.path().display());
        assert!(apart < 1e-4, "{runtime}: {apart:.1e}");
    }
    // The same with prediction sets.
    let level = Level::new(0.9).unwrap();
    let fitted = ClassSets { classifier: settings, ..ClassSets::default() }.fit(&rows, Seed::new(1), &|_, _| true);
    let fitted = fitted.unwrap();
    let head =
        classifier_with(&fitted, ClassOutput { kind: InputKind::Logits, columns: 10 }, &ClassExtras::sets(&[level]))
            .unwrap();
    let bytes = head.join(network, &Joint { output: Some(output.into()), ..Joint::default() }).unwrap();
    let whole = Network::from_bytes(bytes, Path::new("joined.onnx")).unwrap();
    let names: Vec<&str> = whole.outputs().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["probabilities", "class", "in_set", "set_size"]);
    let runner = whole.runner(&whole.tap("in_set").unwrap(), &RunSettings::default()).unwrap();
    let found = runner.features(inputs, 0..400, &|_, _| true).unwrap().features;
    let wanted = fitted.sets(&all, level, Seed::new(1)).unwrap().contains;
    let apart = found.iter().zip(&wanted).filter(|(f, w)| (**f == 1.0) != **w).count();
    assert!(apart <= 4, "{apart} of 4000 differ");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_resnet_and_its_probabilities_in_one_file() {
    let dir = data();
    let network = Network::open(&dir.join("models/resnet20_cifar10.onnx")).unwrap();
    let p = Preprocess { scale: 1.0 / 255.0, mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] };
    let inputs = Inputs::cifar(&dir.join("images/cifar10/test_batch.bin")).unwrap().with_preprocess(&p).unwrap();
    one_step_says_what_two_say(&network, &inputs, inputs.labels().unwrap(), "logits");
    // Two outputs: which of them holds the logits has to be said.
    let head = fitted::classifiers().remove(0).head;
    let e = head.join(&network, &Joint::default()).unwrap_err();
    assert!(matches!(e, Error::HeadInput { .. }), "{e}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_network_of_the_oldest_operators_that_will_do() {
    let dir = data();
    let network = Network::open(&dir.join("models/mnist_cnn128.onnx")).unwrap();
    assert_eq!(network.opset(), 11);
    let read = |name: &str| Idx::read(&dir.join("images/fashion_mnist").join(name)).unwrap();
    let scale = Preprocess { scale: 1.0 / 255.0, ..Preprocess::default() };
    let images = Inputs::idx(read("t10k-images-idx3-ubyte.gz")).with_preprocess(&scale).unwrap();
    let labels = read("t10k-labels-idx1-ubyte.gz").labels().unwrap();
    one_step_says_what_two_say(&network, &images, &labels, "output");
}

#[test]
fn names_that_both_use_are_told_apart() {
    // The network is itself a head, so every name of the second one is taken.
    let first = fitted::interval(&fitted::quick(Kind::Paper), 120, 1, false, false);
    let network = Network::from_bytes(first.head.to_onnx(), Path::new("first.onnx")).unwrap();
    let second = fitted::interval(&fitted::quick(Kind::Fast), 120, 1, true, false);
    let joint = Joint {
        features: Some("three".into()),
        output: Some("prediction".into()),
        keep_outputs: true,
        ..Joint::default()
    };
    let e = second.head.join(&network, &joint).unwrap_err();
    assert!(matches!(e, Error::UnknownTap { .. }), "{e}");
    // Six standardised features are what the second head is given for its own six.
    let six = network.operators().iter().find(|o| o.op == "Div").unwrap().outputs[0].clone();
    let bytes = second.head.join(&network, &Joint { features: Some(six.clone()), ..joint }).unwrap();
    let whole = Network::from_bytes(bytes, Path::new("both.onnx")).unwrap();
    let names: Vec<&str> = whole.outputs().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["prediction", "lower", "upper", "stonet_prediction", "stonet_lower", "stonet_upper"]);

    let x = &first.inputs[0].1;
    let inputs = Inputs::array(x.iter().map(|&v| v as f32).collect(), &[x.nrows(), 6]).unwrap();
    let both = run(&whole, "stonet_upper", &inputs, x.nrows());
    let middle = run(&network, &six, &inputs, x.nrows());
    let d = &middle.outputs.iter().find(|(n, _)| n == "prediction").unwrap().1;
    let given: Vec<(&'static str, Array2<f64>)> =
        vec![("features", middle.features.mapv(f64::from)), ("network_prediction", d.mapv(f64::from))];
    let apart = crate::heads::run(&second.head.to_onnx(), &second.head, &given);
    let wanted = concatenate![ndarray::Axis(1), apart[2]];
    assert!(fitted::difference(&both.features.mapv(f64::from), &wanted) < 1e-6);
}

#[test]
fn a_network_of_old_operators_is_refused() {
    let case = fitted::interval(&fitted::quick(Kind::Paper), 120, 1, false, false);
    let mut bytes = case.head.to_onnx();
    // The operator set stands behind an empty domain: field 1, length 0; field 2, 17.
    let place = bytes.windows(4).rposition(|w| w == [0x0a, 0, 0x10, 17]).unwrap();
    bytes[place + 3] = 9;
    let network = Network::from_bytes(bytes, Path::new("old.onnx")).unwrap();
    let e = case.head.join(&network, &Joint::default()).unwrap_err().to_string();
    assert!(e.contains("operator set 9") && e.contains("11 to 25"), "{e}");
}
