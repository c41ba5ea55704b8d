//! A written graph says what the model says.

use ndarray::{Array2, ArrayView2, Axis};
use rten::{Model, Value, ValueView};
use stonet::{ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Level, PostStoNetClassifier, Seed};
use stonet_onnx::{ClassOutput, Error, Head, classifier, intervals};

use crate::fitted::{self, Case, difference};

/// All outputs of a model, as f64, given those of the tables that it reads.
pub fn run(model: &[u8], head: &Head, tables: &[(&'static str, Array2<f64>)]) -> Vec<Array2<f64>> {
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

fn agrees(case: &Case) {
    let found = run(&case.head.to_onnx(), &case.head, &case.inputs);
    for ((name, wanted), found) in case.outputs.iter().zip(&found) {
        if *name == "class" {
            // Where two classes are as probable as f32 can tell, either may be named.
            let p = &case.outputs[0].1;
            let tied = |i: usize| (p[[i, found[[i, 0]] as usize]] - p[[i, wanted[[i, 0]] as usize]]).abs() < 1e-5;
            assert!((0..p.nrows()).all(tied), "{}", case.name);
        } else if *name == "prediction" || !case.compressed {
            let apart = difference(found, wanted);
            assert!(apart < 1e-4, "{}: {name} differs by {apart:.1e}", case.name);
        }
    }
    if case.compressed {
        let ends = |tables: [&Array2<f64>; 2]| (tables[0].to_owned(), tables[1].to_owned());
        never_narrower(case, ends([&found[1], &found[2]]), ends([&case.outputs[1].1, &case.outputs[2].1]));
    }
}

fn never_narrower(case: &Case, found: (Array2<f64>, Array2<f64>), wanted: (Array2<f64>, Array2<f64>)) {
    let (width, old) = (&found.1 - &found.0, &wanted.1 - &wanted.0);
    let least = (&width / &old).fold(f64::INFINITY, |a, &b| a.min(b));
    assert!(least >= 1.0, "{}: an interval shrank to {least} of its width", case.name);
    let mean = width.sum() / old.sum();
    assert!(mean <= 1.005, "{}: intervals are {mean} times as wide on average", case.name);
    // Both ends move outwards; rounding of their centre is another matter.
    let slack = 1e-5 * old.mean().unwrap();
    assert!((&found.0 - &wanted.0).iter().all(|d| *d < slack), "{}", case.name);
    assert!((&wanted.1 - &found.1).iter().all(|d| *d < slack), "{}", case.name);
}

#[test]
fn every_classifier_says_the_same_as_its_graph() {
    let cases = fitted::classifiers();
    let named = |part: &str| cases.iter().filter(|c| c.name.contains(part)).count();
    assert!(cases.len() >= 25 && named("stack") == 3 && named("-features") >= 3, "{}", cases.len());
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
        let settings = PostStoNetClassifier { members, ..Default::default() };
        let head = settings.fit(&rows, Seed::new(3), &|_, _| true).unwrap();
        let graph = classifier(&head, ClassOutput { kind, columns: fit.ncols() }).unwrap();
        let name = if kind == InputKind::Probabilities { "network_probabilities" } else { "logits" };
        assert_eq!(graph.inputs(), [name], "{kind}");
        let new_logits = kind.logits(new.clone()).unwrap();
        let wanted = head.probabilities(&ClassInputs::logits(new_logits.view()).unwrap()).unwrap();
        let found = run(&graph.to_onnx(), &graph, &[(name, new)]);
        let apart = difference(&found[0], &wanted);
        assert!(apart < 1e-4, "{kind}, {} columns: {apart:.1e}", fit.ncols());
    }
}

#[test]
fn every_interval_says_the_same_as_its_graph_or_is_a_little_wider() {
    fitted::regressions().iter().for_each(agrees);
}

#[test]
fn many_scores_are_compressed_to_few() {
    // 9000 rows in 3 folds: 3000 scores each, of which at most 400 are kept, with their counts and a column of ones to count by.
    let case = fitted::interval(&fitted::quick(Kind::Fast), 9000, 1, true, false);
    assert!(case.head.parameters() < 3 * 3 * 400 + 500, "{}", case.head.parameters());
}

#[test]
fn what_has_no_graph_is_refused_with_a_remedy() {
    let (logits, _, labels) = fitted::class_data(120, 1);
    let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), &labels, 4).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Isotonic, ..Default::default() };
    let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let e = classifier(&fitted, ClassOutput { kind: InputKind::Logits, columns: 4 }).unwrap_err();
    assert!(e.to_string().contains("isotonic regression cannot be written as ONNX"), "{e}");

    let (x, y, _) = fitted::number_data(30, 1, 1);
    let rows = stonet::Calibration::new(x.view(), y.view()).unwrap();
    let few = fitted::quick(Kind::Fast).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let e = intervals(&few, Level::new(0.99).unwrap()).unwrap_err();
    assert!(matches!(e, Error::NotExportable { .. }) && e.to_string().contains("too few"), "{e}");
    assert!(intervals(&few, Level::new(0.5).unwrap()).is_ok());
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
