//! Prediction sets of a graph are those of the model, but for classes whose score is at the cut.

use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};
use stonet::classification::{ClassExtras, SetScheme};
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, InputKind, Level, PostStoNetClassifier, Seed};
use stonet_onnx::{ClassOutput, classifier_with};

use crate::fitted::Case;
use crate::heads::{run, run_onnxruntime};

/// Logits of so many classes and labels that are often the largest.
pub fn draw(rows: usize, classes: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Seed::new(seed).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let z = Array2::from_shape_simple_fn((rows, classes), || 2.0 * normal());
    let noisy = z.mapv(|z| z + normal());
    let top = |row: ndarray::ArrayView1<'_, f64>| (0..classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
    let labels = noisy.outer_iter().map(top).collect();
    (z, labels)
}

fn agrees(classes: usize, score: SetScore, by: SetBy, scheme: SetScheme, never_empty: bool) {
    let what = format!("{classes} {score:?} {by:?} {scheme:?}");
    let (z, labels) = draw(300, classes, 1);
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, classes).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let sets = ClassSets { classifier, rule: SetRule { score, by, never_empty }, scheme, ..ClassSets::default() };
    let fitted = sets.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let levels = [0.6, 0.9].map(|l| Level::new(l).unwrap());
    let output = ClassOutput { kind: InputKind::Logits, columns: classes };
    let head = classifier_with(&fitted, output, &ClassExtras::sets(&levels)).unwrap();
    assert_eq!(head.outputs(), ["probabilities", "class", "in_set_60", "set_size_60", "in_set_90", "set_size_90"]);
    let (new, _) = draw(400, classes, 3);
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let case =
        Case { name: what.clone(), head, inputs: vec![("logits", new.clone())], outputs: vec![], compressed: false };
    let rten = run(&case.head.to_onnx(), &case.head, &case.inputs);
    // The number of the class, which is no f32, is not among the outputs of the other runtime.
    let ort = run_onnxruntime(&case);
    let ran = [Some((rten, 2)), ort.map(|out| (out.clone(), out.len() - 4))].into_iter().flatten();
    for (found, first) in ran {
        for (l, level) in levels.iter().enumerate() {
            let expected = fitted.sets(&inputs, *level, Seed::new(4)).unwrap();
            let (members, sizes) = (&found[first + 2 * l], &found[first + 2 * l + 1]);
            let mut apart = 0;
            for i in 0..400 {
                assert_eq!(sizes[[i, 0]], members.row(i).sum(), "{what}");
                apart += (0..classes).filter(|&k| (members[[i, k]] == 1.0) != expected.contains[[i, k]]).count();
            }
            // Scores within 1e-5 of the cut: all but none of 400 rows.
            assert!(apart * 200 <= 400 * classes.min(40), "{what} level {}: {apart} differ", level.get());
            println!("{what} level {}: {apart} of {} differ", level.get(), 400 * classes);
        }
    }
}

#[test]
fn sets_of_every_score_scheme_and_group() {
    let part = LabelPart::None;
    let scores = [SetScore::Lac, SetScore::Aps { part }, SetScore::Raps { part }, SetScore::Saps { part }];
    let (cv, split) = (SetScheme::CvPlus { folds: 3 }, SetScheme::Split { share: 0.5 });
    for score in scores {
        for (by, scheme, never_empty) in [
            (SetBy::All, cv, true),
            (SetBy::All, split, false),
            (SetBy::Class, split, true),
            (SetBy::Cluster, split, true),
        ] {
            agrees(5, score, by, scheme, never_empty);
        }
        agrees(2, score, SetBy::All, cv, false);
    }
    agrees(300, SetScore::Raps { part }, SetBy::All, split, true);
    agrees(300, SetScore::Lac, SetBy::All, cv, true);
}

#[test]
fn a_head_without_sets_has_none_in_its_graph() {
    let (z, labels) = draw(60, 3, 1);
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = classifier.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let output = ClassOutput { kind: InputKind::Logits, columns: 3 };
    let e = classifier_with(&fitted, output, &ClassExtras::sets(&[Level::new(0.9).unwrap()])).unwrap_err().to_string();
    assert!(e.contains("stonet fit --sets cv+"), "{e}");
}
