//! Hostile heads and networks: what is accepted is shown, predicts and is exported, or is refused in words.

use std::path::Path;

use ndarray::Array2;
use stonet_io::{Model, ModelScorer, ScoreSettings, SetColumns, Table};
use stonet_onnx::{Inputs, Network, RunSettings, head_graph};

use super::file;
use crate::commands::inspect::shown;

/// A head: its bytes as they are, and with the checksum that they ought to have, so that the rest is reached.
pub fn stonet(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    for bytes in [bytes, &sealed] {
        let path = file("head.stonet", bytes);
        match Model::load(&path) {
            Ok(model) => use_head(&path, &model),
            Err(e) => assert!(e.to_string().contains("head.stonet"), "{e}"),
        }
    }
}

fn use_head(path: &Path, model: &Model) {
    shown(path).expect("a head that was read can be shown");
    let bytes = model.to_bytes().expect("a head that was read can be written");
    assert_eq!(&Model::from_bytes(&bytes).expect("a head that was written can be read"), model);
    let plain = ScoreSettings::default();
    let sets = ScoreSettings { sets: Some(SetColumns::Text), ..ScoreSettings::default() };
    for settings in [plain, sets] {
        let Ok(resolved) = model.resolve(&settings) else { continue };
        if let Ok(scorer) = ModelScorer::of(model, &resolved) {
            score(&scorer);
        }
        if let Ok(graph) = head_graph(model, &resolved) {
            Network::from_bytes(graph.to_onnx(), Path::new("head.onnx")).expect("an exported head can be read");
        }
    }
}

/// Predictions of three rows, or an error.
fn score(scorer: &ModelScorer) {
    // A number and a text may have one name, and so may two numbers of a forged head: then there is no such table.
    let names: Vec<String> = scorer.inputs().to_vec();
    let values = Array2::from_shape_fn((3, names.len()), |(i, j)| (i + j) as f64 / 4.0 - 0.5);
    if let Ok(table) = Table::new("rows", names, values) {
        let _ = scorer.score(&table);
    }
}

/// Puts the right checksum into its place, behind `{"__metadata__":{"checksum":"`, as the file's description says.
fn seal(bytes: &mut [u8]) {
    let start = 8 + r#"{"__metadata__":{"checksum":""#.len();
    let Some(place) = bytes.get_mut(start..start + 16) else { return };
    place.fill(b'0');
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    bytes[start..start + 16].copy_from_slice(format!("{sum:016x}").as_bytes());
}

/// A network: shown, tapped, and run on two rows of as many numbers as it takes, where it says that.
pub fn onnx(bytes: &[u8]) {
    let path = file("network.onnx", bytes);
    let network = match Network::open(&path) {
        Ok(network) => network,
        Err(e) => return assert!(e.to_string().contains("network.onnx"), "{e}"),
    };
    shown(&path).expect("a network that was read can be shown");
    let Some(tap) = network.taps().into_iter().next() else { return };
    let settings = RunSettings { outputs: true, ..RunSettings::default() };
    let Ok(runner) = network.runner(&tap, &settings) else { return };
    for columns in [2, 3, 6] {
        let inputs = Inputs::array(vec![0.5; 2 * columns], &[2, columns]).unwrap();
        let _ = runner.features(&inputs, 0..2, &|_, _| true);
    }
}
