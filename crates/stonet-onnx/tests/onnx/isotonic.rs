//! Isotonic maps in single precision: a graph says what the model says of probabilities that are known to five digits.
//!
//! Steps of a map may be as steep as the calibration rows make them, so no difference of results holds for all maps.
//! What holds is a difference of arguments: with δ = 1e-5 · min(p, 1 − p), a mapped probability lies between the map's
//! values at p − δ and at p + δ.

use ndarray::{Array2, ArrayView1, Axis};
use stonet::score::{Knots, Op};
use stonet::{ClassInputs, ClassMethod, ClassRows, FittedClassifier, InputKind, PostStoNetClassifier, Seed};
use stonet_onnx::{ClassOutput, classifier};

use crate::fitted::{self, Case};
use crate::heads::{run, run_onnxruntime};

/// The digits of a probability, or of what it lacks to 1, in single precision.
const KNOWN: f64 = 1e-5;
/// What single precision adds to numbers of order 1 by itself.
const ROUNDING: f64 = 2e-6;
/// The least probability before rows are divided by their sums.
const LEAST: f64 = 1e-6;

/// A network that gives a logit per class.
fn logits_of(classes: usize) -> ClassOutput {
    ClassOutput { kind: InputKind::Logits, columns: classes }
}

fn fit(logits: &Array2<f64>, labels: &[usize]) -> FittedClassifier {
    let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), labels, logits.ncols()).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Isotonic, ..Default::default() };
    settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap()
}

/// A calibration by these maps, one per class.
fn by(maps: &[Knots]) -> FittedClassifier {
    let classes = maps.len();
    let logits = Array2::from_shape_fn((4 * classes, classes), |(i, k)| f64::from(u8::from(i % classes == k)));
    let labels: Vec<usize> = (0..4 * classes).map(|i| i % classes).collect();
    let mut parts = serde_json::to_value(fit(&logits, &labels)).unwrap();
    parts["model"]["isotonic"] = serde_json::to_value(maps).unwrap();
    serde_json::from_value(parts).unwrap()
}

fn maps(fitted: &FittedClassifier, classes: usize) -> Vec<Knots> {
    let plan = fitted.plan(logits_of(classes)).unwrap();
    let maps = plan.values().iter().find_map(|v| match &v.op {
        Op::Interpolate { maps, .. } => Some(maps.clone()),
        _ => None,
    });
    maps.unwrap()
}

/// Every class's probability with the sum of all others.
fn softmax(z: ArrayView1<'_, f64>) -> Vec<(f64, f64)> {
    let largest = z.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    let powers: Vec<f64> = z.iter().map(|z| (z - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let others = |k: usize| powers.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p).sum::<f64>();
    (0..powers.len()).map(|k| (powers[k] / sum, others(k) / sum)).collect()
}

/// The least and the greatest probabilities of a row whose own are known to δ; nothing if it is open whether every map
/// sends the row to 0.
fn bounds(maps: &[Knots], z: ArrayView1<'_, f64>) -> Option<Vec<(f64, f64)>> {
    let own = softmax(z);
    let ends = |(map, &(p, rest)): (&Knots, &(f64, f64))| {
        // Double precision too knows a probability near 1 only so well.
        let delta = KNOWN * p.min(rest) + 4.0 * f64::EPSILON * p;
        (map.at(p - delta), map.at(p + delta))
    };
    let mut mapped: Vec<(f64, f64)> = maps.iter().zip(&own).map(ends).collect();
    if mapped.iter().all(|m| m.1 == 0.0) {
        mapped = own.iter().map(|&(p, rest)| (p - KNOWN * p.min(rest), p + KNOWN * p.min(rest))).collect();
    } else if mapped.iter().all(|m| m.0 == 0.0) {
        return None;
    }
    let raised: Vec<(f64, f64)> = mapped.iter().map(|m| (m.0.max(LEAST), m.1.max(LEAST))).collect();
    let others = |k: usize, end: fn(&(f64, f64)) -> f64| -> f64 {
        raised.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, m)| end(m)).sum()
    };
    let share = |k: usize| {
        let (low, high) = raised[k];
        (low / (low + others(k, |m| m.1)), high / (high + others(k, |m| m.0)))
    };
    Some((0..raised.len()).map(share).collect())
}

/// Whether both runtimes keep the bounds at these rows; the largest difference, the mean one, and the rows that were
/// open.
fn within_bounds(name: &str, fitted: &FittedClassifier, new: &Array2<f64>) -> (f64, f64, usize) {
    let maps = maps(fitted, new.ncols());
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let class = fitted.classify(&inputs).unwrap().mapv(|c| c as f64).insert_axis(Axis(1));
    let p = fitted.probabilities(&inputs).unwrap();
    let case = Case {
        name: name.into(),
        head: classifier(fitted, logits_of(new.ncols())).unwrap(),
        inputs: vec![("logits", new.clone())],
        outputs: vec![("probabilities".into(), p.clone()), ("class".into(), class)],
        compressed: false,
    };
    let bounds: Vec<_> = new.outer_iter().map(|z| bounds(&maps, z)).collect();
    let rten = run(&case.head.to_onnx(), &case.head, &case.inputs);
    let mut apart = (0.0_f64, 0.0_f64);
    for found in [Some(rten), run_onnxruntime(&case)].into_iter().flatten() {
        for (row, bounds) in bounds.iter().enumerate().filter_map(|(r, b)| Some((r, b.as_ref()?))) {
            for (k, &(low, high)) in bounds.iter().enumerate() {
                let q = found[0][[row, k]];
                let (low, high) = (low * (1.0 - 1e-5) - ROUNDING, high * (1.0 + 1e-5) + ROUNDING);
                assert!(low <= q && q <= high, "{name}, row {row}, class {k}: {q} is not in {low} to {high}");
            }
        }
        let difference = (&found[0] - &p).mapv(f64::abs);
        apart = (apart.0.max(fitted::difference(&found[0], &p)), apart.1.max(difference.mean().unwrap()));
    }
    let open = bounds.iter().filter(|b| b.is_none()).count();
    println!("{name}: {:.1e} at most, {:.1e} on average, {open} rows open", apart.0, apart.1);
    (apart.0, apart.1, open)
}

/// Of logits times 3, most rows have a probability that f32 takes for 1.
#[test]
fn maps_of_few_and_many_rows_of_sure_and_of_modest_networks() {
    for (rows, sure) in [(100, 1.0), (240, 1.0), (5000, 0.3), (5000, 1.0), (5000, 3.0)] {
        let (logits, _, labels) = fitted::class_data(rows, 1);
        let (new, _, _) = fitted::class_data(3000, 50);
        let single = |z: &Array2<f64>| z.mapv(|z| f64::from((sure * z) as f32));
        let name = format!("{rows} rows, logits times {sure}");
        let fitted = fit(&single(&logits), &labels);
        let (most, mean, open) = within_bounds(&name, &fitted, &single(&new));
        assert!(most < 1e-4 && mean < 1e-6 && open <= 3, "{name}: {most:.1e}, {mean:.1e}, {open}");
        // The rows of the fit are knots, some at the foot of a steep step.
        let (most, mean, _) = within_bounds(&name, &fitted, &single(&logits));
        assert!(most < 1e-2 && mean < 1e-5, "{name}: {most:.1e}, {mean:.1e}");
    }
}

fn knots(x: &[f64], y: &[f64]) -> Knots {
    Knots { x: x.to_vec(), y: y.to_vec() }
}

/// Rows of two classes, with these logits of the first.
fn pairs(first: impl IntoIterator<Item = f64>) -> Array2<f64> {
    let rows: Vec<[f64; 2]> = first.into_iter().map(|z| [f64::from(z as f32), 0.0]).collect();
    Array2::from(rows)
}

#[test]
fn probabilities_that_f32_takes_for_one_are_told_apart() {
    // 1 − p is 1e-10 at a logit of 23, and 1e-12 at 27.6.
    let top = knots(&[0.5, 1.0 - 1e-8, 1.0 - 1e-10, 1.0 - 1e-12], &[0.2, 0.3, 0.8, 0.95]);
    let fitted = by(&[top, knots(&[0.5], &[0.5])]);
    let new = pairs((0..400).map(|i| f64::from(i) * 0.1 - 5.0));
    let p = fitted.probabilities(&ClassInputs::logits(new.view()).unwrap()).unwrap();
    assert!(p[[210, 0]] < 0.38 && p[[399, 0]] > 0.65, "{} {}", p[[210, 0]], p[[399, 0]]);
    let (most, _, open) = within_bounds("near one", &fitted, &new);
    assert!(most < 1e-4 && open == 0, "{most:.1e}");
}

#[test]
fn a_step_that_f32_cannot_see_is_a_step() {
    // From 0.1 to 0.9 within 1e-14 of ½ and of 1e-3, where a probability in f32 is either side.
    for middle in [0.5, 1e-3] {
        let steep = knots(&[middle, middle + 1e-14], &[0.1, 0.9]);
        let fitted = by(&[steep, knots(&[0.5], &[0.5])]);
        let at = (middle / (1.0 - middle)).ln();
        let new = pairs((0..200).map(|i| at + f64::from(i - 100) * 1e-4));
        let (most, _, _) = within_bounds("a step", &fitted, &new);
        // Only the row at the step itself may be on its other side.
        assert!(most < 0.8);
    }
}

#[test]
fn rows_that_every_map_sends_to_zero_keep_their_own_probabilities() {
    let never = knots(&[0.0, 0.4, 0.9], &[0.0, 0.0, 1.0]);
    let fitted = by(&[never.clone(), never.clone(), never]);
    let new = ndarray::array![[0.1, 0.2, 0.0], [0.0, 3.0, 1.0], [0.3, 0.3, 0.3], [0.2, 0.1, 0.3], [40.0, 0.0, 0.0]]
        .mapv(|z: f64| f64::from(z as f32));
    let (most, _, open) = within_bounds("zeros", &fitted, &new);
    assert!(most < 1e-5 && open == 0, "{most:.1e}");
    let p = fitted.probabilities(&ClassInputs::logits(new.view()).unwrap()).unwrap();
    assert!((p[[2, 0]] - 1.0 / 3.0).abs() < 1e-12 && (p[[4, 0]] - 1.0).abs() < 1e-5);
}

/// The search for a segment takes no numbers but the table's own: four for each of 512 slots, of two maps in two
/// halves.
#[test]
fn the_file_grows_with_the_knots() {
    let even: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
    let map = knots(&even, &even);
    let size = classifier(&by(&[map.clone(), map]), logits_of(2)).unwrap().parameters();
    assert!((4 * 2000..4 * 2048 + 50).contains(&size), "{size}");
}
