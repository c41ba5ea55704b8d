//! Hostile files of a head in use: states of monitors, rules of answers, and bodies of requests.

use std::path::Path;
use std::sync::OnceLock;

use ndarray::{Array2, Axis};
use stonet::monitor::{Baseline, Family};
use stonet::score::Asked;
use stonet::{Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed};
use stonet_io::{Head, Model, ModelColumns, MonitorState, SavedRule, Watch};
use stonet_report::{MonitorNames, MonitorReport};

/// Rows that are the same everywhere.
pub(super) fn rows() -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i * 7 + j * 13 + i * i) % 23) as f64 / 8.0);
    let y = x.map_axis(Axis(1), |r| r[0] - r[1] + ((r[0] * 40.0) as i64 % 5) as f64 / 8.0).insert_axis(Axis(1));
    (x, y)
}

/// A small head that states and bodies are for.
pub(super) fn head() -> &'static Model {
    static HEAD: OnceLock<Model> = OnceLock::new();
    HEAD.get_or_init(|| {
        let (x, y) = rows();
        let rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let settings = PostStoNetRegressor { kind: Kind::Split, ..PostStoNetRegressor::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let baseline = Baseline::of_regression(&rows, Seed::new(1));
        let names = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect();
        Model {
            head: Head::Regression(Box::new(fitted)),
            columns: ModelColumns { features: names(&["f0", "f1"]), targets: names(&["y"]), ..ModelColumns::default() },
            kind: None,
            labels: None,
            level: Some(Level::new(0.8).unwrap()),
            seed: 1,
            fingerprint: String::new(),
            fingerprints: None,
            baseline,
            version: Model::VERSION.to_owned(),
        }
    })
}

/// The state of a monitor, with the checksum that it has and with the one that it ought to have: what is accepted is told,
/// written and read again, and goes on with rows.
pub fn state(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    for bytes in [bytes, &sealed] {
        match MonitorState::from_bytes(Path::new("state.json"), bytes) {
            Ok(state) => go_on(&state),
            Err(e) => assert!(e.to_string().contains("state.json"), "{e}"),
        }
    }
}

fn go_on(state: &MonitorState) {
    let written = state.to_bytes().expect("a state that was read can be written");
    let again = MonitorState::from_bytes(Path::new("again.json"), &written).expect("what was written can be read");
    assert_eq!(&again, state);
    let told = MonitorReport::new(&state.monitor, &MonitorNames::default());
    assert!(!told.text(Family::Inputs).is_empty() && !told.text(Family::Answers).is_empty());
    let Ok(mut watch) = Watch::resume(head(), state.monitor.clone()) else { return };
    let (x, y) = rows();
    if watch.add_regression(&RegressionInputs::new(x.view()).unwrap(), Some(y.view())).is_ok() {
        assert_eq!(watch.state().rows(), state.monitor.rows() + 60);
    }
}

/// Puts the right checksum into its place, as the description of the file says.
fn seal(bytes: &mut [u8]) {
    let start = r#"{"schema":"stonet.monitor-state/1","checksum":""#.len();
    let Some(place) = bytes.get_mut(start..start + 16) else { return };
    place.fill(b'0');
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    bytes[start..start + 16].copy_from_slice(format!("{sum:016x}").as_bytes());
}

/// A rule of answers: what is accepted is told, written and read again, and decides.
pub fn rule(bytes: &[u8]) {
    let saved = match SavedRule::from_bytes(Path::new("rule.json"), bytes) {
        Ok(saved) => saved,
        Err(e) => return assert!(e.to_string().contains("rule.json"), "{e}"),
    };
    let written = saved.to_json().expect("a rule that was read can be written");
    let again =
        SavedRule::from_bytes(Path::new("again.json"), written.as_bytes()).expect("what was written can be read");
    assert_eq!(again, saved);
    assert!(!saved.rule.condition().is_empty() && !saved.rule.guarantee().text.is_empty());
    let Head::Regression(fitted) = &head().head else { return };
    if let Ok(decision) = saved.rule.decision(None) {
        let (x, _) = rows();
        if fitted.plan(&Asked { decision: Some(decision), ..Asked::default() }).is_ok() {
            let _ = fitted.decide(&RegressionInputs::new(x.view()).unwrap(), decision);
        }
    }
}

/// A request: the first byte tells the form of the body, the first line what is asked, and the rest is the body.
#[cfg(feature = "serve")]
pub fn http(bytes: &[u8]) {
    static PREDICTOR: OnceLock<stonet_serve::Predictor> = OnceLock::new();
    let predictor = PREDICTOR.get_or_init(|| stonet_serve::Predictor::new(head().clone(), None, None).unwrap());
    let Some((form, rest)) = bytes.split_first() else { return };
    let end = rest.iter().position(|b| *b == b'\n').unwrap_or(0);
    let (query, body) = rest.split_at(end);
    let query = String::from_utf8_lossy(query);
    match predictor.try_answer(&query, *form == b'a', body.get(1..).unwrap_or_default().to_vec()) {
        Ok((status, _)) => assert_eq!(status, 200),
        Err((status, why)) => assert!((400..500).contains(&status) && !why.is_empty(), "{status}: {why}"),
    }
}
