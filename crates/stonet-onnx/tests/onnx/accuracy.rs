//! Bounds of accuracy of a graph are those of the model; near an edge they are those of both bins.

use stonet::classification::{AccuracySettings, ClassExtras, SetScheme};
use stonet::metrics::top_class;
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, InputKind, Level, PostStoNetClassifier, Seed};
use stonet_onnx::{ClassOutput, classifier_with};

use crate::fitted::Case;
use crate::heads::{run, run_onnxruntime};
use crate::sets::draw;

fn agrees(classes: usize, bins: usize, method: ClassMethod, sets: bool) {
    let what = format!("{classes} classes, {bins} bins, {method}, sets: {sets}");
    let (z, labels) = draw(400, classes, 1);
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, classes).unwrap();
    let classifier = PostStoNetClassifier { method, ..Default::default() };
    let accuracy = AccuracySettings { held_out: None, bins: Some(bins) };
    let (seed, tick) = (Seed::new(2), &|_, _| true);
    let fitted = match sets {
        false => accuracy.fit(&classifier, &rows, seed, tick).unwrap(),
        true => {
            let scheme = SetScheme::Split { share: 0.7 };
            let sets = ClassSets { classifier, scheme, ..ClassSets::default() };
            accuracy.fit_sets(&sets, &rows, seed, tick).unwrap()
        }
    };
    let levels = [0.6, 0.9].map(|l| Level::new(l).unwrap());
    let own = if sets { levels.to_vec() } else { Vec::new() };
    let extras = ClassExtras { sets: own, accuracy: levels.to_vec(), decision: None };
    let head = classifier_with(&fitted, ClassOutput { kind: InputKind::Logits, columns: classes }, &extras).unwrap();
    let names = head.outputs().iter().map(|n| n.to_string()).collect::<Vec<_>>();
    // The rows of the fit are there too: some of them lie on the edges.
    let (new, _) = draw(400, classes, 3);
    let new = ndarray::concatenate![ndarray::Axis(0), new, z];
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let p = fitted.probabilities(&inputs).unwrap();
    let case =
        Case { name: what.clone(), head, inputs: vec![("logits", new.clone())], outputs: vec![], compressed: false };
    let rten = run(&case.head.to_onnx(), &case.head, &case.inputs);
    // The number of the class, which is no f32, is not among the outputs of the other runtime.
    let without: Vec<String> = names.iter().filter(|n| *n != "class").cloned().collect();
    let ran = [Some((rten, names.clone())), run_onnxruntime(&case).map(|out| (out, without))];
    for (found, names) in ran.into_iter().flatten() {
        let of = |name: String| &found[names.iter().position(|n| *n == name).unwrap()];
        let mut apart = 0;
        for level in levels {
            let percent = level.percent();
            let (lower, upper) = (of(format!("accuracy_lower_{percent}")), of(format!("accuracy_upper_{percent}")));
            let bounds = fitted.accuracy_bins().unwrap().bounds(level);
            for (i, row) in p.outer_iter().enumerate() {
                let confidence = row[top_class(row)];
                let near: Vec<_> =
                    bounds.bins().iter().filter(|b| b.from - 1e-5 <= confidence && confidence <= b.to + 1e-5).collect();
                let own = bounds.at(confidence);
                let (low, high) = (lower[[i, 0]], upper[[i, 0]]);
                let same = (low - own.lower).abs() < 1e-6 && (high - own.upper).abs() < 1e-6;
                apart += usize::from(!same);
                // Never within the bounds of its own bin, and never beyond those of the bins that are near.
                assert!(low <= own.lower + 1e-6 && high >= own.upper - 1e-6, "{what}: row {i}");
                assert!(near.iter().any(|b| (b.lower - low).abs() < 1e-6), "{what}: row {i}");
                assert!(near.iter().any(|b| (b.upper - high).abs() < 1e-6), "{what}: row {i}");
            }
        }
        // Only rows on an edge can have the bounds of two bins.
        assert!(apart <= 2 * 2 * bins, "{what}: {apart} rows differ");
    }
}

#[test]
fn bounds_of_every_number_of_bins() {
    for (classes, bins, method, sets) in [
        (2, 1, ClassMethod::Temperature, false),
        (2, 12, ClassMethod::Temperature, false),
        (5, 6, ClassMethod::Vector, true),
        (40, 10, ClassMethod::Temperature, false),
    ] {
        agrees(classes, bins, method, sets);
    }
}

#[test]
fn a_head_without_bounds_has_none_in_its_graph() {
    let (z, labels) = draw(60, 3, 1);
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = classifier.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let output = ClassOutput { kind: InputKind::Logits, columns: 3 };
    let asked = ClassExtras::accuracy(&[Level::new(0.9).unwrap()]);
    let e = classifier_with(&fitted, output, &asked).unwrap_err().to_string();
    assert!(e.contains("stonet fit --accuracy-bounds"), "{e}");
}
