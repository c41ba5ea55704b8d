//! The benchmark's protocol: no method sees what it is judged on, and groups stay whole.

use ndarray::{Array1, Array2};
use stonet::{Dataset, Seed};
use stonet_repro::benchmark::{METHODS, Protocol, Set, network_errors, split};

fn small() -> Protocol {
    Protocol { hidden: vec![12, 6], ..Protocol::shipped() }
}

fn set(y: impl Fn(usize, f64) -> f64, groups: Option<Vec<usize>>) -> Set {
    let x = Array2::from_shape_fn((200, 3), |(i, j)| ((i * (2 * j + 3)) as f64 * 0.37).sin());
    let y: Array1<f64> = x.outer_iter().enumerate().map(|(i, r)| y(i, r[0] - 0.5 * r[1])).collect();
    Set { name: "small".into(), data: Dataset::single(x, y).unwrap(), epochs: 5, groups }
}

fn noisy(i: usize, mean: f64) -> f64 {
    mean + 0.3 * ((i * i) as f64 * 0.71).sin()
}

#[test]
fn targets_of_test_rows_change_no_interval() {
    let seed = Seed::new(4);
    let before = split(&set(noisy, None), &small(), seed).unwrap();
    assert_eq!(before.methods.len(), METHODS.len());
    // Which rows are tested shows when targets are moved one at a time: the network's errors in training and calibration stay.
    let tested: Vec<usize> = (0..200)
        .filter(|&row| {
            let moved = set(|i, m| noisy(i, m) + if i == row { 0.01 } else { 0.0 }, None);
            network_errors(&moved, &small(), seed).unwrap() == (before.train_mse, before.calibration_mse)
        })
        .collect();
    assert_eq!(tested.len(), 40);
    let changed = set(|i, m| if tested.contains(&i) { 77.0 + i as f64 } else { noisy(i, m) }, None);
    let after = split(&changed, &small(), seed).unwrap();
    for name in METHODS {
        let (a, b) = (&before.methods[name], &after.methods[name]);
        assert_eq!((a.mean_length, a.median_length), (b.mean_length, b.median_length), "{name}");
        assert_eq!(b.coverage, 0.0, "{name}");
    }
}

#[test]
fn groups_are_whole_in_every_part() {
    let groups: Vec<usize> = (0..200).map(|i| i / 4).collect();
    let s = split(&set(noisy, Some(groups)), &small(), Seed::new(1)).unwrap();
    assert!(s.methods.values().all(|m| m.mean_length > 0.0));
    let few: Vec<usize> = (0..200).map(|i| i / 20).collect();
    let e = split(&set(noisy, Some(few)), &small(), Seed::new(1)).unwrap_err();
    assert!(e.to_string().contains("10 groups cannot be split"), "{e}");
}
