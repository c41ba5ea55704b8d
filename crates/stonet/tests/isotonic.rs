//! Isotonic regression: agreement with scikit-learn.

use serde::Deserialize;
use stonet::calibration::Isotonic;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    at: Vec<f64>,
    values: Vec<f64>,
}

#[test]
fn fits_equal_scikit_learns_at_between_and_beyond_the_points() {
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/isotonic.json")).unwrap();
    assert_eq!(fixture.cases.len(), 4);
    for case in fixture.cases {
        let fit = Isotonic::fit(&case.x, &case.y, Some(&case.weights)).unwrap();
        for (&at, &value) in case.at.iter().zip(&case.values) {
            assert!(
                (fit.at(at) - value).abs() < 1e-12,
                "{} for {value} at {at} of {} points",
                fit.at(at),
                case.x.len()
            );
        }
    }
}
