//! A written graph says what the model says.

use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use rten::{Model, Value, ValueView};
use stonet::{
    ClassInputs, ClassMethod, ClassRows, FittedClassifier, InputKind, Kind, PostStoNetClassifier, Seed, Side,
};
use stonet_onnx::{
    ClassOutput, Error, Features, HeadGraph, Inputs, Network, RunSettings, Runtime, classifier, intervals,
};

use crate::fitted::{self, Case, difference};

/// All outputs of a model, as f64, given those of the tables that it reads.
pub fn run(model: &[u8], head: &HeadGraph, tables: &[(&'static str, Array2<f64>)]) -> Vec<Array2<f64>> {
    let model = Model::load(model.to_vec()).unwrap();
    let given: Vec<(&str, [usize; 2], Vec<f32>)> = (tables.iter())
        .filter(|(name, _)| head.inputs().contains(name))
        .map(|(name, t)| (*name, [t.nrows(), t.ncols()], t.iter().map(|&v| v as f32).collect()))
        .collect();
    assert_eq!(given.len(), head.inputs().len());
    let inputs = given
        .iter()
        .map(|(name, shape, v)| (model.node_id(name).unwrap(), ValueView::from_shape(shape, v).unwrap().into()))
        .collect();
    let outputs: Vec<_> = head.outputs().iter().map(|o| model.node_id(o).unwrap()).collect();
    model.run(inputs, &outputs, None).unwrap().into_iter().map(table).collect()
}

fn table(value: Value) -> Array2<f64> {
    match value {
        Value::Int32Tensor(_) => {
            let (shape, v) = value.into_shape_vec::<i32, 1>().unwrap();
            Array2::from_shape_vec((shape[0], 1), v.into_iter().map(f64::from).collect()).unwrap()
        }
        _ => {
            let (shape, v) = value.into_shape_vec::<f32, 2>().unwrap();
            Array2::from_shape_vec(shape, v.into_iter().map(f64::from).collect()).unwrap()
        }
    }
}

/// The outputs of f32 in an installed onnxruntime, in the order of the head; nothing where there is none.
pub fn run_onnxruntime(case: &Case) -> Option<Vec<Array2<f64>>> {
    std::env::var_os("ORT_DYLIB_PATH")?;
    let network = Network::from_bytes(case.head.to_onnx(), Path::new("head.onnx")).unwrap();
    let named = |name: &&str| case.inputs.iter().find(|(n, _)| n == name).unwrap().1.view();
    let tables: Vec<ArrayView2<'_, f64>> = case.head.inputs().iter().map(named).collect();
    let all = concatenate(Axis(1), &tables).unwrap();
    let settings = RunSettings { runtime: Runtime::Onnxruntime, batch: 256, outputs: true };
    let first = case.head.outputs()[0].to_owned();
    let runner = network.runner(&network.tap(&first).unwrap(), &settings).unwrap();
    let found = runner.features(&Inputs::table(all.view(), &[all.ncols()]).unwrap(), 0..all.nrows(), &|_, _| true);
    let Features { features, outputs } = found.unwrap();
    Some([features].into_iter().chain(outputs.into_iter().map(|o| o.1)).map(|t| t.mapv(f64::from)).collect())
}

/// Whether the graph of a case says what its model says, on every runtime that there is.
pub fn agrees(case: &Case) {
    let names: Vec<&str> = case.outputs.iter().map(|o| o.0.as_str()).collect();
    assert_eq!(case.head.outputs(), names, "{}", case.name);
    repeats(case, &run(&case.head.to_onnx(), &case.head, &case.inputs));
    if let Some(found) = run_onnxruntime(case) {
        repeats(case, &found);
    }
}

/// Whether a graph's outputs are those of the model, or further out where ranks are compressed.
fn repeats(case: &Case, found: &[Array2<f64>]) {
    let centre = &case.outputs[0].1;
    for ((name, wanted), found) in case.outputs.iter().zip(found) {
        if name == "class" {
            // Where two classes are as probable as f32 can tell, either may be named.
            let tied =
                |i: usize| (centre[[i, found[[i, 0]] as usize]] - centre[[i, wanted[[i, 0]] as usize]]).abs() < 1e-5;
            assert!((0..centre.nrows()).all(tied), "{}", case.name);
        } else if name.starts_with("below_") {
            // A score or two may change sides by rounding, and up to half a block where scores are compressed.
            let apart = difference(found, wanted);
            assert!(apart < 0.01, "{}: {name} differs by {apart:.1e}", case.name);
        } else if name == "prediction" || !case.compressed {
            let apart = difference(found, wanted);
            assert!(apart < 1e-4, "{}: {name} differs by {apart:.1e}", case.name);
        } else {
            let sign = if name.starts_with("lower") || ["q10", "q40"].contains(&name.as_str()) { -1.0 } else { 1.0 };
            // Quantiles can be as near to the prediction as they like; what they move by is judged by their range.
            let of = |name: &str| case.outputs.iter().find(|o| o.0 == name).map(|o| &o.1);
            let half = match (of("q10"), of("q90")) {
                (Some(low), Some(high)) => (high - low) * 0.5,
                _ => wanted - centre,
            };
            further_out(case, name, &((found - wanted) * sign), &half);
        }
    }
    let [_, (lower, wanted_lower), (upper, wanted_upper)] = &case.outputs[..] else { return };
    if case.compressed && (lower.as_str(), upper.as_str()) == ("lower", "upper") {
        never_narrower(case, &(&found[2] - &found[1]), &(wanted_upper - wanted_lower));
    }
}

/// Ends move outwards and hardly; rounding of the prediction is another matter.
fn further_out(case: &Case, name: &str, out: &Array2<f64>, half: &Array2<f64>) {
    let length = half.mapv(f64::abs).mean().unwrap();
    // At a level of 5 % most ends are the prediction itself, whose error in f32 does not become smaller for it.
    let slack = 1e-5 * length.max(1.0);
    let (least, mean) = (out.fold(f64::INFINITY, |a, &b| a.min(b)), out.mean().unwrap());
    assert!(least > -slack, "{}: {name} moved inwards by {least:.1e}", case.name);
    assert!(mean < 0.005 * length.max(0.1), "{}: {name} moved outwards by {mean:.1e} on average", case.name);
}

fn never_narrower(case: &Case, width: &Array2<f64>, old: &Array2<f64>) {
    let least = (width / old).fold(f64::INFINITY, |a, &b| a.min(b));
    assert!(least >= 1.0, "{}: an interval shrank to {least} of its width", case.name);
    let mean = width.sum() / old.sum();
    assert!(mean <= 1.005, "{}: intervals are {mean} times as wide on average", case.name);
}

#[test]
fn every_classifier_says_the_same_as_its_graph() {
    let cases = fitted::classifiers();
    let named = |part: &str| cases.iter().filter(|c| c.name.contains(part)).count();
    assert!(
        cases.len() >= 25 && named("stack") == 3 && named("-features") >= 3 && named("isotonic-") == 2,
        "{}",
        cases.len()
    );
    cases.iter().for_each(agrees);
}

/// Probabilities of f32, so that both sides begin with the same numbers.
fn as_kind(kind: InputKind, logits: &Array2<f64>) -> Array2<f64> {
    let mut values = logits.clone();
    for mut row in values.outer_iter_mut() {
        let sum: f64 = row.iter().map(|z| z.exp()).sum();
        row.mapv_inplace(|z| match kind {
            InputKind::Logits => z,
            InputKind::LogProbabilities => z - sum.ln(),
            _ => z.exp() / sum,
        });
    }
    values.mapv(|v| f64::from(v as f32))
}

#[test]
fn a_head_on_probabilities_or_on_one_column_says_the_same_as_its_graph() {
    let (logits, _, labels) = fitted::class_data(240, 1);
    let (new, _, _) = fitted::class_data(300, 50);
    let kinds = [InputKind::Logits, InputKind::LogProbabilities, InputKind::Probabilities];
    for (kind, one) in kinds.into_iter().flat_map(|k| [(k, false), (k, true)]) {
        // Of a binary classifier the column of the second class, whose logit has the first one's taken off.
        let given = |z: &Array2<f64>| match one {
            false => as_kind(kind, z),
            true if kind == InputKind::Logits => (&z.column(1) - &z.column(0)).insert_axis(Axis(1)),
            true => as_kind(kind, &z.select(Axis(1), &[0, 1])).select(Axis(1), &[1]),
        };
        let labels: Vec<usize> = labels.iter().map(|&l| if one { l % 2 } else { l }).collect();
        let (fit, new) = (given(&logits), given(&new));
        let z = kind.convert(fit.clone()).unwrap();
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, z.ncols()).unwrap();
        let members = Some(vec![ClassMethod::Temperature, ClassMethod::PostLinear, ClassMethod::Vector]);
        let stack = PostStoNetClassifier { members, ..Default::default() };
        let isotonic = PostStoNetClassifier { method: ClassMethod::Isotonic, ..Default::default() };
        for settings in [stack, isotonic] {
            let head = settings.fit(&rows, Seed::new(3), &|_, _| true).unwrap();
            agrees(&on_kind(&head, kind, &new));
        }
    }
}

/// A head on what a network gives of this kind.
fn on_kind(fitted: &FittedClassifier, kind: InputKind, new: &Array2<f64>) -> Case {
    let columns = new.ncols();
    let head = classifier(fitted, ClassOutput { kind, columns }).unwrap();
    let name = if kind == InputKind::Probabilities { "network_probabilities" } else { "logits" };
    assert_eq!(head.inputs(), [name], "{kind}");
    let logits = kind.logits(new.clone()).unwrap();
    let inputs = ClassInputs::logits(logits.view()).unwrap();
    let p = fitted.probabilities(&inputs).unwrap();
    let class = fitted.classify(&inputs).unwrap().mapv(|c| c as f64).insert_axis(Axis(1));
    Case {
        name: format!("{} on {columns} columns of {kind}", fitted.settings().method),
        head,
        inputs: vec![(name, new.clone())],
        outputs: vec![("probabilities".into(), p), ("class".into(), class)],
        compressed: false,
    }
}

#[test]
fn every_interval_says_the_same_as_its_graph_or_is_a_little_wider() {
    let cases = fitted::regressions();
    let named = |part: &str| cases.iter().filter(|c| c.name.contains(part)).count();
    for kind in Kind::ALL {
        assert!(named(&format!("{kind}-").replace('+', "plus")) >= 9, "{kind}");
    }
    assert!(named("-joint") >= 20 && named("-false-true-") >= 20 && named("-Lower-5-20") >= 10, "{}", cases.len());
    assert!(named("sampled-") >= 15 && named("-dead-") >= 12, "{}", cases.len());
    for side in ["Lower", "Upper"] {
        let joint = |c: &&Case| c.name.contains(&format!("-{side}-")) && c.name.ends_with("-joint");
        assert!(cases.iter().filter(joint).count() >= 10, "{side}");
    }
    cases.iter().for_each(agrees);
}

#[test]
fn heads_that_read_no_column_still_take_features() {
    for fit in fitted::dead() {
        let case = fit.case(&fitted::at(&[0.9]));
        assert_eq!(case.head.inputs(), ["features"], "{}", case.name);
        let constant = |t: &Array2<f64>| t.iter().all(|v| *v == t[[0, 0]]);
        assert!(run(&case.head.to_onnx(), &case.head, &case.inputs).iter().all(constant), "{}", case.name);
    }
}

#[test]
fn levels_of_one_rank_are_outputs_of_their_own_and_equal_levels_are_refused() {
    let fit = fitted::fit(&fitted::quick(Kind::Fast), 60, 1, true, false);
    // ⌈0.8 · 61⌉ = ⌈0.801 · 61⌉.
    let case = fit.case(&fitted::at(&[0.8, 0.801]));
    assert_eq!(case.head.outputs(), ["prediction", "lower_80", "upper_80", "lower_80.1", "upper_80.1"]);
    agrees(&case);
    let e = intervals(&fit.fitted, &fitted::at(&[0.8, 0.9, 0.8])).unwrap_err().to_string();
    assert!(e.contains("level") && e.contains("0.8") && e.contains("different"), "{e}");
}

#[test]
fn only_what_is_asked_for_is_written() {
    let fit = fitted::fit(&fitted::quick(Kind::Fast), 240, 1, true, false);
    let size = |asked| intervals(&fit.fitted, &asked).unwrap().parameters();
    let (one, both, point) =
        (size(fitted::at(&[0.9]).with_side(Side::Upper)), size(fitted::at(&[0.9])), size(Default::default()));
    assert!(point < one && one <= both, "{point} {one} {both}");
    let head = intervals(&fit.fitted, &Default::default()).unwrap();
    assert_eq!(head.outputs(), ["prediction"]);
}

#[test]
fn many_scores_are_compressed_to_few() {
    // 9000 rows in 3 folds: 3000 scores each, of which at most 400 are kept, with their counts and a column of ones to
    // count by. What the models themselves need stays below 1000.
    let case = fitted::interval(&fitted::quick(Kind::Fast), 9000, 1, true, false);
    assert!(case.head.parameters() < 3 * 3 * 400 + 1000, "{}", case.head.parameters());
}

#[test]
fn what_has_no_graph_is_refused_with_a_remedy() {
    let (x, y, _) = fitted::number_data(30, 1, 1);
    let rows = stonet::RegressionRows::new(x.view(), y.view()).unwrap();
    let few = fitted::quick(Kind::Fast).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let e = intervals(&few, &fitted::at(&[0.5, 0.99])).unwrap_err();
    assert!(matches!(e, Error::NotExportable { .. }) && e.to_string().contains("too few"), "{e}");
    assert!(intervals(&few, &fitted::at(&[0.5])).is_ok());
}

#[test]
fn rows_do_not_depend_on_each_other() {
    let case = fitted::interval(&fitted::quick(Kind::Stack), 240, 1, true, false);
    let model = case.head.to_onnx();
    let whole = run(&model, &case.head, &case.inputs);
    let some = |t: ArrayView2<'_, f64>| t.select(Axis(0), &[7, 3]);
    let part: Vec<(&'static str, Array2<f64>)> = case.inputs.iter().map(|(n, t)| (*n, some(t.view()))).collect();
    for (whole, part) in whole.iter().zip(run(&model, &case.head, &part)) {
        assert!(difference(&part, &some(whole.view())) < 1e-6);
    }
}
