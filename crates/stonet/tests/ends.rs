//! The ends of an interval do not cross, whatever the level.

use ndarray::{Array2, Axis};
use stonet::regression::StoNetSettings;
use stonet::{Intervals, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};

fn intervals(kind: Kind, levels: &[f64]) -> Vec<Intervals> {
    let x = Array2::from_shape_fn((90, 4), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
    let noise = |i: usize| ((i * i) as f64 * 0.71).sin();
    let y: Array2<f64> = Array2::from_shape_fn((90, 1), |(i, _)| x[[i, 0]] + noise(i));
    let d = x.map_axis(Axis(1), |f| f[0] + 0.5 * f[1]).insert_axis(Axis(1));
    let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
    let stonet = StoNetSettings { hidden: vec![6], steps: 300, kappas: Some(vec![0.001]), ..StoNetSettings::default() };
    let fitted = PostStoNetRegressor { kind, stonet, ..PostStoNetRegressor::default() }
        .fit(&rows, Seed::new(1), &|_, _| true)
        .unwrap();
    let new = RegressionInputs::new(x.view()).unwrap().with_prediction(d.view()).unwrap();
    levels.iter().map(|&l| fitted.intervals(&new, Level::new(l).unwrap(), Side::Both).unwrap()).collect()
}

#[test]
fn the_prediction_lies_between_the_ends_and_a_higher_level_holds_a_lower_one() {
    for kind in [Kind::Stack, Kind::Fast, Kind::CvPlus] {
        let all = intervals(kind, &[0.02, 0.05, 0.1, 0.3, 0.5, 0.9]);
        for (k, i) in all.iter().enumerate() {
            let crossed = i.lower.iter().zip(&i.upper).filter(|(l, u)| l > u).count();
            assert_eq!(crossed, 0, "{kind} at {}: lower > upper in {crossed} of {} rows", i.level.get(), i.lower.len());
            let around = (0..i.lower.len()).all(|r| {
                let (l, c, u) = (i.lower[[r, 0]], i.prediction[[r, 0]], i.upper[[r, 0]]);
                l <= c && c <= u
            });
            assert!(around, "{kind} at {}: the prediction is outside", i.level.get());
            if let Some(higher) = all.get(k + 1) {
                let nested = (0..i.lower.len())
                    .all(|r| higher.lower[[r, 0]] <= i.lower[[r, 0]] && i.upper[[r, 0]] <= higher.upper[[r, 0]]);
                assert!(nested, "{kind}: {} is not inside {}", i.level.get(), higher.level.get());
            }
        }
    }
}
