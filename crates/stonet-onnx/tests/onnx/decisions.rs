//! Decisions of a graph are those of the model; a row that single precision cannot tell from the threshold goes to the safe
//! side.

use ndarray::Array2;
use stonet::classification::ClassExtras;
use stonet::score::{Asked, Decision, Surety};
use stonet::{
    ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionInputs, Seed, Side,
};
use stonet_onnx::{ClassOutput, HeadGraph, classifier_with, intervals};

use crate::fitted::{Case, fit, quick};
use crate::heads::{run, run_onnxruntime};
use crate::sets::draw;

/// The column `decision` of every runtime that there is.
fn decisions(name: &str, head: HeadGraph, inputs: Vec<(&'static str, Array2<f64>)>) -> Vec<Vec<f64>> {
    let case = Case { name: name.into(), head, inputs, outputs: vec![], compressed: false };
    let names: Vec<String> = case.head.outputs().iter().map(|n| n.to_string()).collect();
    let place = |names: &[String]| names.iter().position(|n| n == "decision").unwrap();
    // The number of the class, which is no f32, is not among the outputs of the other runtime.
    let without: Vec<String> = names.iter().filter(|n| *n != "class").cloned().collect();
    let rten = run(&case.head.to_onnx(), &case.head, &case.inputs);
    let ran = [Some((rten, names)), run_onnxruntime(&case).map(|out| (out, without))];
    ran.into_iter().flatten().map(|(found, names)| found[place(&names)].column(0).to_vec()).collect()
}

/// Graph and model differ only near the threshold, and there to the safe side.
fn agree(name: &str, found: &[Vec<f64>], decision: &Decision, sure: &[f64], near: f64) {
    for found in found {
        let mut differ = 0;
        for (i, (&d, &s)) in found.iter().zip(sure).enumerate() {
            assert!(d == 0.0 || d == 1.0, "{name}: row {i} is {d}");
            if (d == 1.0) == decision.answers(s) {
                continue;
            }
            differ += 1;
            let distance = (s - decision.threshold.unwrap()).abs();
            assert!(
                distance <= near * s.abs().max(1.0) && (d == 1.0) == decision.answer_in_doubt,
                "{name}: row {i}, {distance}"
            );
        }
        assert!(differ <= 5, "{name}: {differ} rows differ");
    }
}

#[test]
fn classes_are_answered_as_by_the_model() {
    let (z, labels) = draw(400, 4, 1);
    let inputs = ClassInputs::logits(z.view()).unwrap();
    let rows = ClassRows::new(inputs, &labels, 4).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Vector, ..Default::default() };
    let fitted = classifier.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let p = fitted.probabilities(&inputs).unwrap();
    for (surety, answer_in_doubt) in [(Surety::Largest, false), (Surety::Class(2), false), (Surety::Class(1), true)] {
        let sure: Vec<f64> = match surety {
            Surety::Class(k) => p.column(k).to_vec(),
            _ => p.outer_iter().map(|p| p.fold(0.0, |a, b| f64::max(a, *b))).collect(),
        };
        // A row's own surety, a number between, and none.
        for threshold in [Some(sure[7]), Some(0.6), Some(1.5), None] {
            let decision = Decision { surety, threshold, answer_in_doubt };
            let extras = ClassExtras { decision: Some(decision), ..ClassExtras::default() };
            let head = classifier_with(&fitted, ClassOutput { kind: InputKind::Logits, columns: 4 }, &extras).unwrap();
            let name = format!("{decision:?}");
            agree(&name, &decisions(&name, head, vec![("logits", z.clone())]), &decision, &sure, 1e-5);
        }
    }
}

#[test]
fn intervals_are_answered_as_by_the_model() {
    let level = Level::new(0.8).unwrap();
    for (kind, rows, shift) in
        [(Kind::Fast, 200, None), (Kind::Split, 200, Some((-4.0, 14.0))), (Kind::Paper, 200, None)]
    {
        let settings = PostStoNetRegressor {
            y_low: shift.map(|s: (f64, f64)| s.0),
            y_high: shift.map(|s: (f64, f64)| s.1),
            ..quick(kind)
        };
        let one = fit(&settings, rows, 1, false, false);
        let found = one.fitted.intervals(&RegressionInputs::new(one.x.view()).unwrap(), level, Side::Both).unwrap();
        let sure: Vec<f64> = found.lower.iter().zip(&found.upper).map(|(l, u)| l - u).collect();
        for threshold in [Some(sure[5]), Some(-0.01), Some(-100.0), None] {
            let decision = Decision { surety: Surety::Shortness(level), threshold, answer_in_doubt: false };
            // At another level than the intervals that are shown.
            let asked = Asked { decision: Some(decision), ..Asked::at(&[Level::new(0.5).unwrap()]) };
            let head = intervals(&one.fitted, &asked).unwrap();
            let name = format!("{kind} {threshold:?}");
            agree(&name, &decisions(&name, head, vec![("features", one.x.clone())]), &decision, &sure, 1e-3);
        }
    }
}

/// Too few rows for the level: intervals are infinite, and only a rule without a threshold answers them. A graph has no
/// infinite intervals, so that a rule that looks at them is refused.
#[test]
fn infinite_intervals_are_not_answered() {
    let level = Level::new(0.999).unwrap();
    let one = fit(&quick(Kind::Fast), 100, 1, false, false);
    for (threshold, answered) in [(Some(-1e6), false), (None, true)] {
        let decision = Decision { surety: Surety::Shortness(level), threshold, answer_in_doubt: false };
        let rows = RegressionInputs::new(one.x.view()).unwrap();
        assert!(one.fitted.decide(&rows, decision).unwrap().iter().all(|a| *a == answered));
        let asked = Asked { decision: Some(decision), ..Asked::at(&[Level::new(0.5).unwrap()]) };
        let head = intervals(&one.fitted, &asked);
        if !answered {
            let refused = head.err().unwrap().to_string();
            assert!(refused.contains("level 0.999") && refused.contains("the whole line"), "{refused}");
            continue;
        }
        for found in decisions("infinite", head.unwrap(), vec![("features", one.x.clone())]) {
            assert!(found.iter().all(|d| *d == 1.0), "{found:?}");
        }
    }
}
