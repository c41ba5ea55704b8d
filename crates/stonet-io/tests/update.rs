//! Files of heads that were fitted in order of time, and of heads that rows have joined: older programs refuse them, and
//! they come back as they were.

use ndarray::{Array2, Axis};
use stonet::regression::{Adaptive, Issued, UpdateSettings};
use stonet::rows::Order;
use stonet::{FittedRegressor, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use stonet_io::{Head, Model, ModelColumns};

fn rows() -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((120, 2), |(i, k)| ((i * (k + 2)) as f64 * 0.7).sin());
    let y = x.map_axis(Axis(1), |r| r[0] + 0.3 * (40.0 * r[1]).sin()).insert_axis(Axis(1));
    (x, y)
}

fn fitted(order: Option<&Order>) -> FittedRegressor {
    let (x, y) = rows();
    let rows = RegressionRows::new(x.view(), y.view()).unwrap();
    let rows = order.map_or(rows, |order| rows.with_order(order).unwrap());
    let settings = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() };
    settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap()
}

fn model(head: FittedRegressor) -> Model {
    let names = |all: &[&str]| all.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    Model {
        head: Head::Regression(Box::new(head)),
        columns: ModelColumns { features: names(&["a", "b"]), targets: names(&["y"]), ..ModelColumns::default() },
        kind: None,
        labels: None,
        level: Some(Level::new(0.9).unwrap()),
        seed: 1,
        fingerprint: String::new(),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.to_owned(),
    }
}

/// The header's texts.
fn metadata(bytes: &[u8]) -> serde_json::Value {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    header["__metadata__"].clone()
}

fn required(bytes: &[u8]) -> Vec<String> {
    serde_json::from_str(metadata(bytes)["required"].as_str().unwrap()).unwrap()
}

#[test]
fn order_and_updates_are_sections_that_older_programs_refuse() {
    let plain = model(fitted(None)).to_bytes().unwrap();
    assert_eq!(required(&plain), ["about", "head"]);
    let order = Order::new(&(0..120).map(f64::from).collect::<Vec<_>>(), Some(4)).unwrap();
    let head = fitted(Some(&order)).ordered_by("hour");
    let timed = model(head.clone());
    let bytes = timed.to_bytes().unwrap();
    assert_eq!(required(&bytes), ["about", "head", "time"]);
    assert_eq!(metadata(&bytes)["time"], r#"{"by":"hour","gap":4}"#);
    assert_eq!(Model::from_bytes(&bytes).unwrap(), timed);

    let (x, y) = rows();
    let new = RegressionInputs::new(x.view()).unwrap();
    let level = Level::new(0.9).unwrap();
    let issued = head.intervals(&new, level, Side::Both).unwrap();
    let (lower, upper) = (issued.lower.column(0).to_vec(), issued.upper.column(0).to_vec());
    for method in Adaptive::ALL {
        let settings = UpdateSettings {
            window: Some(150),
            adaptive: Some((method, 0.01)),
            levels: vec![level],
            ..UpdateSettings::default()
        };
        let mut update = head.update(settings).unwrap();
        update.add(&new, y.view(), &[Issued { lower: &lower, upper: &upper }]).unwrap();
        let updated = model(update.finish().unwrap());
        let bytes = updated.to_bytes().unwrap();
        assert_eq!(required(&bytes), ["about", "head", "time", "updated"]);
        // Nothing of it stands in the section that older programs know.
        assert!(!metadata(&bytes)["head"].as_str().unwrap().contains("arrivals"));
        assert_eq!(Model::from_bytes(&bytes).unwrap(), updated);
    }
}

/// Values of the JSON that do not belong together are refused and do not panic.
#[test]
fn nonsense_is_refused() {
    let (x, y) = rows();
    let head = fitted(None);
    let mut update = head.update(UpdateSettings::default()).unwrap();
    update.add(&RegressionInputs::new(x.view()).unwrap(), y.view(), &[]).unwrap();
    let text = serde_json::to_value(update.finish().unwrap()).unwrap();
    assert!(serde_json::from_value::<FittedRegressor>(text.clone()).is_ok());
    type Change = fn(&mut serde_json::Value);
    let changes: [(&str, Change); 6] = [
        ("a fold less", |v| drop(v["updated"]["arrivals"][0].as_array_mut().unwrap().pop())),
        ("a row less", |v| drop(v["updated"]["arrivals"][0][0].as_array_mut().unwrap().pop())),
        ("a row twice", |v| v["updated"]["arrivals"][0][0][0] = v["updated"]["arrivals"][0][0][1].clone()),
        ("a row to come", |v| v["updated"]["arrivals"][0][0][0] = 1_000_000.into()),
        ("too many", |v| v["updated"]["next"] = u64::MAX.into()),
        ("groups", |v| v["groups"] = true.into()),
    ];
    for (what, change) in changes {
        let mut broken = text.clone();
        change(&mut broken);
        assert!(serde_json::from_value::<FittedRegressor>(broken).is_err(), "{what}");
    }
}
