//! Real networks: taps are found, features are those of the layer, and bad requests are named.

use std::path::Path;

use ndarray::{Array2, s};
use stonet_io::{Idx, Reading};
use stonet_onnx::{Axis, Error, Inputs, Network, Preprocess, RunSettings, Runtime};

use crate::data;

fn cifar(dir: &Path) -> Inputs {
    let p = Preprocess { scale: 1.0 / 255.0, mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] };
    Inputs::cifar(&dir.join("images/cifar10/test_batch.bin")).unwrap().with_preprocess(&p).unwrap()
}

fn resnet(dir: &Path) -> Network {
    Network::open(&dir.join("models/resnet20_cifar10.onnx")).unwrap()
}

/// The share of rows whose largest logit is their label's.
fn accuracy(logits: &Array2<f32>, labels: &[usize]) -> f64 {
    let right = |(z, &l): (ndarray::ArrayView1<'_, f32>, &usize)| z.iter().all(|&v| v <= z[l]);
    logits.outer_iter().zip(labels).filter(|&pair| right(pair)).count() as f64 / labels.len() as f64
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_resnets_features_are_those_that_others_computed() {
    let dir = data();
    let (network, inputs) = (resnet(&dir), cifar(&dir));
    assert_eq!((network.opset(), inputs.rows(), inputs.shape()), (13, 10_000, &[3, 32, 32][..]));
    let tap = network.default_tap().unwrap();
    assert_eq!((tap.tensor.as_str(), tap.operator.as_str()), ("features", "Flatten"));
    let settings = RunSettings { outputs: true, ..RunSettings::default() };
    let found = network.runner(&tap, &settings).unwrap().features(&inputs, 0..500, &|_, _| true).unwrap();
    let table = dir.join("logits/resnet20_c10_features.csv.gz");
    let columns = ["f*".to_owned(), "z*".to_owned(), "y".to_owned()];
    let known = Reading::default().read(&table).unwrap();
    let known = |pattern: usize| {
        let columns = known.columns(&columns[pattern..=pattern]).unwrap();
        known.values().select(ndarray::Axis(1), &columns).slice(s![..500, ..]).to_owned()
    };
    for (found, known) in [(&found.features, known(0)), (&found.outputs[0].1, known(1))] {
        assert_eq!(found.dim(), known.dim());
        let apart = found.iter().zip(&known).map(|(f, k)| (f64::from(*f) - k).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-3, "{apart}");
    }
    let labels = inputs.labels().unwrap();
    assert!(known(2).iter().zip(labels).all(|(y, &l)| *y == l as f64));
    // 91.73 % of all rows; 500 of them within 4.5 binomial standard deviations.
    let share = accuracy(&found.outputs[0].1, &labels[..500]);
    assert!((share - 0.9173).abs() < 4.5 * (0.9173f64 * 0.0827 / 500.0).sqrt(), "{share}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_resnet_on_all_test_images() {
    let dir = data();
    let (network, inputs) = (resnet(&dir), cifar(&dir));
    let known = Reading::default().read(&dir.join("logits/resnet20_c10_features.csv.gz")).unwrap();
    let known = known.select(&known.columns(&["f*".to_owned()]).unwrap());
    let tap = network.default_tap().unwrap();
    let runtimes =
        Runtime::ALL.into_iter().filter(|r| *r == Runtime::Rten || std::env::var_os("ORT_DYLIB_PATH").is_some());
    for runtime in runtimes {
        let settings = RunSettings { outputs: true, runtime, ..RunSettings::default() };
        let start = std::time::Instant::now();
        let found = network.runner(&tap, &settings).unwrap().features(&inputs, 0..10_000, &|_, _| true).unwrap();
        let share = accuracy(&found.outputs[0].1, inputs.labels().unwrap());
        let seconds = start.elapsed().as_secs_f64();
        let apart = found.features.iter().zip(&known).map(|(f, k)| (f64::from(*f) - k).abs()).fold(0.0, f64::max);
        println!("{runtime}: accuracy {share}, features within {apart:.1e}, {seconds:.1} s");
        assert_eq!(share, 0.9173);
        assert!(found.features.dim() == known.dim() && apart < 1e-3, "{apart}");
    }
}

#[test]
#[ignore = "needs STONET_DATA"]
fn taps_of_a_small_network_are_found_from_the_back() {
    let dir = data();
    let network = Network::open(&dir.join("models/mnist_cnn128.onnx")).unwrap();
    let taps = network.measured_taps();
    let named: Vec<(&str, bool)> = taps.iter().map(|t| (t.tensor.as_str(), t.last_hidden)).collect();
    assert_eq!(named, [("/relu_2/Relu_output_0", true), ("/Reshape_output_0", false)]);
    let shapes: Vec<&[Axis]> = taps.iter().map(|t| t.shape.as_deref().unwrap()).collect();
    assert_eq!(shapes[0][1..], [Axis::Fixed(128)]);
    assert_eq!(shapes[1][1..], [Axis::Fixed(3136)]);
    assert_eq!(
        taps[0].to_string(),
        "/relu_2/Relu_output_0 (batch_size × 128): last hidden layer: input of Gemm `/fc2/Gemm`, after Relu behind output `output`"
    );
    assert_eq!(network.default_tap().unwrap().tensor, "/relu_2/Relu_output_0");
    // A node's name stands for what it writes.
    assert_eq!(network.tap("/pool_1/MaxPool").unwrap().tensor, "/pool_1/MaxPool_output_0");
    let e = network.tap("/relu_3/Relu").unwrap_err().to_string();
    assert!(e.contains("there are `/relu_1/Relu`") || e.contains("there are `/relu_2/Relu`"), "{e}");
    let counts: Vec<(&str, usize)> = network.operator_counts().into_iter().collect();
    assert_eq!(counts, [("Constant", 1), ("Conv", 2), ("Gemm", 2), ("MaxPool", 2), ("Relu", 3), ("Reshape", 1)]);
    assert_eq!(network.initialisers().len(), 8);
    // 28 × 28 goes in where 1 × 28 × 28 is wanted; a layer that is fused away otherwise can be tapped.
    let images = Inputs::idx(Idx::read(&dir.join("images/fashion_mnist/t10k-images-idx3-ubyte.gz")).unwrap());
    let tap = network.tap("/conv1/Conv").unwrap();
    let found = network.runner(&tap, &RunSettings::default()).unwrap().features(&images, 30..70, &|_, _| true).unwrap();
    assert_eq!(found.features.dim(), (40, 32 * 28 * 28));
    assert!(found.features.iter().any(|v| *v < 0.0));
}

#[test]
#[ignore = "needs STONET_DATA"]
fn batches_threads_and_runtimes_do_not_change_features_and_work_can_be_cancelled() {
    let dir = data();
    let (network, inputs) = (resnet(&dir), cifar(&dir));
    let tap = network.default_tap().unwrap();
    let run = |settings: RunSettings| network.runner(&tap, &settings)?.features(&inputs, 5..45, &|_, _| true);
    let whole = run(RunSettings::default()).unwrap().features;
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one_thread.install(|| run(RunSettings::default())).unwrap().features, whole);
    let small = run(RunSettings { batch: 7, ..RunSettings::default() }).unwrap().features;
    assert!(small.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-4));
    match run(RunSettings { runtime: Runtime::Onnxruntime, ..RunSettings::default() }) {
        Ok(other) => assert!(other.features.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-3)),
        Err(e) => assert!(std::env::var_os("ORT_DYLIB_PATH").is_none(), "{e}"),
    }
    let runner = network.runner(&tap, &RunSettings { batch: 2, ..RunSettings::default() }).unwrap();
    let e = runner.features(&inputs, 0..1000, &|done, _| done < 10).unwrap_err();
    assert!(matches!(e, Error::Cancelled(c) if (c.done, c.total) == (10, 1000)), "{e}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn inputs_that_do_not_fit_are_named() {
    let dir = data();
    let network = resnet(&dir);
    let runner = network.runner(&network.default_tap().unwrap(), &RunSettings::default()).unwrap();
    let zeros = |shape: &[usize]| Inputs::array(vec![0.0; shape.iter().product()], shape).unwrap();
    let e = runner.features(&zeros(&[2, 1, 28, 28]), 0..2, &|_, _| true).unwrap_err().to_string();
    assert!(e.contains("takes rows of shape 3 × 32 × 32, and the data have 1 × 28 × 28"), "{e}");
    // Channels last are turned, whatever the values.
    let turned = |flip: bool| {
        let value = |c: usize, p: usize| (c * 7 + p % 13) as f32 / 20.0;
        let values: Vec<f32> = match flip {
            true => (0..1024).flat_map(|p| (0..3).map(move |c| value(c, p))).collect(),
            false => (0..3).flat_map(|c| (0..1024).map(move |p| value(c, p))).collect(),
        };
        let shape: &[usize] = if flip { &[1, 32, 32, 3] } else { &[1, 3, 32, 32] };
        let p = Preprocess { scale: 1.0, mean: vec![0.1, 0.2, 0.3], std: vec![1.0, 2.0, 3.0] };
        let inputs = Inputs::array(values, shape).unwrap().with_preprocess(&p).unwrap();
        runner.features(&inputs, 0..1, &|_, _| true).unwrap().features
    };
    assert_eq!(turned(true), turned(false));
    let p = Preprocess { std: vec![1.0, 0.0, 1.0], ..Preprocess::default() };
    assert!(zeros(&[1, 3, 2, 2]).with_preprocess(&p).is_err());
    let p = Preprocess { mean: vec![0.0; 5], ..Preprocess::default() };
    assert!(zeros(&[1, 3, 2, 2]).with_preprocess(&p).unwrap_err().to_string().contains("[3, 2, 2]"));
    assert!(runner.features(&zeros(&[2, 3, 32, 32]), 1..3, &|_, _| true).is_err());
    assert!(matches!(Inputs::cifar(&dir.join("models/mnist_cnn128.onnx")), Err(Error::NotCifar { .. })));
}
