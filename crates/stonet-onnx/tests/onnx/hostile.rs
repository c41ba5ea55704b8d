//! Damaged, truncated and hostile files are errors.

use std::path::Path;

use rand::RngExt;
use stonet::{Kind, Seed};
use stonet_onnx::{Inputs, Network, RunSettings};

use crate::fitted;

/// A network of its own: a head from features to intervals.
fn model() -> Vec<u8> {
    fitted::interval(&fitted::quick(Kind::Paper), 120, 1, false, false).head.to_onnx()
}

/// Everything that can be done with a file, whose outcome is not asked.
fn use_it(bytes: Vec<u8>) -> bool {
    let Ok(network) = Network::from_bytes(bytes, Path::new("net.onnx")) else { return false };
    let taps = network.measured_taps();
    let Some(tap) = taps.first() else { return false };
    let Ok(runner) = network.runner(tap, &RunSettings { outputs: true, ..RunSettings::default() }) else {
        return false;
    };
    runner.features(&Inputs::array(vec![0.5; 12], &[2, 6]).unwrap(), 0..2, &|_, _| true).is_ok()
}

#[test]
fn a_sound_file_is_used_and_a_truncated_one_is_not() {
    let whole = model();
    assert!(use_it(whole.clone()));
    for length in (0..whole.len()).step_by(whole.len() / 200 + 1) {
        let part = Network::from_bytes(whole[..length].to_vec(), Path::new("net.onnx"));
        if let Ok(network) = part {
            // A cut between two fields leaves a file that says less, not one that is wrong.
            assert!(whole.len() - length < 1000, "{length} of {}", whole.len());
            assert!(!network.operators().is_empty());
        }
    }
    let e = Network::from_bytes(b"<html>not found</html>".to_vec(), Path::new("net.onnx")).unwrap_err();
    assert!(e.to_string().starts_with("net.onnx: not a sound ONNX file:"), "{e}");
    assert!(Network::open(Path::new("no/such.onnx")).unwrap_err().to_string().contains("no/such.onnx"));
}

#[test]
fn changed_bytes_never_make_it_panic() {
    let whole = model();
    let mut rng = Seed::new(11).rng();
    let mut used = 0;
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        for _ in 0..rng.random_range(1..4) {
            let place = rng.random_range(0..bytes.len());
            bytes[place] = rng.random();
        }
        used += usize::from(use_it(bytes));
    }
    // Most of the file is weights: other weights are as good.
    assert!(used > 100, "{used}");
}

#[test]
fn an_operator_that_nobody_knows_is_named() {
    let mut bytes = model();
    let place = bytes.windows(4).position(|w| w == b"Tanh").unwrap();
    let last = bytes.windows(4).rposition(|w| w == b"Tanh").unwrap();
    for at in [place, last] {
        bytes[at..at + 4].copy_from_slice(b"Tank");
    }
    let network = Network::from_bytes(bytes, Path::new("net.onnx")).unwrap();
    let tap = network.tap("prediction").unwrap();
    let Err(e) = network.runner(&tap, &RunSettings::default()) else { panic!("it ran") };
    assert!(e.to_string().contains("Tank"), "{e}");
}

#[test]
#[ignore = "needs STONET_DATA"]
fn a_convolutional_network_with_changed_operators_never_makes_it_panic() {
    let dir = crate::data();
    let whole = std::fs::read(dir.join("models/mnist_cnn128.onnx")).unwrap();
    let network = Network::from_bytes(whole.clone(), Path::new("net.onnx")).unwrap();
    let names: Vec<&[u8]> = network.operators().iter().map(|o| o.outputs[0].as_bytes()).collect();
    // Operators stand around the names of what they write; elsewhere are weights.
    let places: Vec<usize> = (40..whole.len() - 200)
        .filter(|&i| names.iter().any(|n| whole[i..].starts_with(n)))
        .flat_map(|i| i - 40..i + 200)
        .collect();
    let mut rng = Seed::new(12).rng();
    for _ in 0..400 {
        let mut bytes = whole.clone();
        bytes[places[rng.random_range(0..places.len())]] = rng.random();
        let Ok(network) = Network::from_bytes(bytes, Path::new("net.onnx")) else { continue };
        let taps = network.measured_taps();
        let Some(tap) = taps.first() else { continue };
        let Ok(runner) = network.runner(tap, &RunSettings::default()) else { continue };
        let _ = runner.features(&Inputs::array(vec![0.5; 784], &[1, 784]).unwrap(), 0..1, &|_, _| true);
    }
}

#[test]
fn a_network_made_for_some_rows_at_once_gets_as_many() {
    let whole = model();
    // An axis called N is a text of one letter in field 2; a fixed one is a number in field 1, here in as many bytes.
    let fixed = |number: [u8; 2]| {
        let mut bytes = whole.clone();
        for i in 0..bytes.len() - 3 {
            if bytes[i..i + 3] == [0x12, 1, b'N'] {
                bytes[i..i + 3].copy_from_slice(&[0x08, number[0], number[1]]);
            }
        }
        Network::from_bytes(bytes, Path::new("net.onnx")).unwrap()
    };
    let any = Network::from_bytes(whole.clone(), Path::new("net.onnx")).unwrap();
    let inputs = Inputs::array((0..60).map(|i| (i as f32).sin()).collect(), &[10, 6]).unwrap();
    let said = |network: &Network| {
        let runner = network.runner(&network.tap("upper").unwrap(), &RunSettings::default()).unwrap();
        runner.features(&inputs, 0..10, &|_, _| true).unwrap().features
    };
    let (free, four) = (said(&any), said(&fixed([0x84, 0])));
    assert_eq!(four.dim(), (10, 1));
    assert!(four.iter().zip(&free).all(|(a, b)| (a - b).abs() < 1e-5));
}
