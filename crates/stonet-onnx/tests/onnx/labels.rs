//! A written graph of many labels says what the model says of each.

use ndarray::{Array2, Axis};
use stonet::classification::{FittedLabels, LabelInputs, LabelRows};
use stonet::{ClassMethod, InputKind, PostStoNetClassifier, Seed};
use stonet_onnx::{HeadGraph, labels};

use crate::fitted::{self, Case};
use crate::heads::agrees;

const NAMES: [&str; 4] = ["cat", "dog", "a \"b\"", "é"];

/// What a network gives for four labels, as f32 can hold it.
fn as_kind(kind: InputKind, z: &Array2<f64>) -> Array2<f64> {
    z.mapv(|z| {
        let p = 1.0 / (1.0 + (-0.4 * z).exp());
        let value = match kind {
            InputKind::Logits => z,
            InputKind::LogProbabilities => p.ln(),
            _ => p,
        };
        f64::from(value as f32)
    })
}

/// A head for four labels, each present where its logit exceeds that of the row's class, or it is the class.
fn fitted(settings: &PostStoNetClassifier, kind: InputKind, with_features: bool) -> FittedLabels {
    let (z, x, classes) = fitted::class_data(240, 1);
    let present = Array2::from_shape_fn((240, 4), |(i, k)| (classes[i] == k) != (z[[i, k]] > 2.0 && i % 3 == 0));
    let (given, names) = (as_kind(kind, &z), NAMES.map(String::from));
    let inputs = LabelInputs::new(kind, given.view()).unwrap();
    let inputs = if with_features { inputs.with_features(x.view()).unwrap() } else { inputs };
    let rows = LabelRows::new(inputs, present.view(), &names).unwrap();
    settings.fit_labels(&rows, Seed::new(3), &|_, _| true).unwrap()
}

fn case(name: String, head: &FittedLabels, kind: InputKind) -> Case {
    let (z, x, _) = fitted::class_data(300, 50);
    let given = as_kind(kind, &z);
    let inputs = LabelInputs::new(kind, given.view()).unwrap().with_features(x.view()).unwrap();
    let p = head.probabilities(&inputs).unwrap();
    let table = if kind == InputKind::Probabilities { "network_probabilities" } else { "logits" };
    Case {
        name,
        head: labels(head, kind).unwrap(),
        inputs: vec![(table, given.clone()), ("features", x.clone())],
        outputs: vec![("probabilities".into(), p)],
        compressed: false,
    }
}

fn has(head: &HeadGraph, text: &str) -> bool {
    head.to_onnx().windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn every_label_says_the_same_as_its_graph() {
    use ClassMethod::{Isotonic, PostLinear, SkipFeatures, SkipProb, Stack, Temperature, Vector, VennAbers};
    let mut settings =
        PostStoNetClassifier { members: Some(vec![Temperature, PostLinear, Vector]), ..Default::default() };
    settings.skip.hidden = 12;
    settings.skip.kappas = Some(vec![1e-3]);
    settings.skip.asghmc.epochs = 12;
    for kind in [InputKind::Logits, InputKind::LogProbabilities, InputKind::Probabilities] {
        for method in [Stack, Isotonic, VennAbers, SkipProb] {
            let head = fitted(&PostStoNetClassifier { method, ..settings.clone() }, kind, false);
            let case = case(format!("labels by {method} on {kind}"), &head, kind);
            assert_eq!(case.head.inputs(), [case.inputs[0].0], "{}", case.name);
            agrees(&case);
            assert!(has(&case.head, "stonet.labels") && has(&case.head, r#"["cat","dog","a \"b\"","é"]"#));
        }
        let head = fitted(&PostStoNetClassifier { method: SkipFeatures, ..settings.clone() }, kind, true);
        let case = case(format!("labels by features beside {kind}"), &head, kind);
        assert_eq!(case.head.inputs(), ["features", case.inputs[0].0], "{}", case.name);
        agrees(&case);
    }
}

#[test]
fn a_label_does_not_depend_on_the_others() {
    let settings = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let head = fitted(&settings, InputKind::Logits, false);
    let whole = case("all".into(), &head, InputKind::Logits);
    let alone = FittedLabels::new(vec!["dog".into()], vec![head.heads()[1].clone()]).unwrap();
    let z = whole.inputs[0].1.select(Axis(1), &[1]);
    let p = alone.probabilities(&LabelInputs::new(InputKind::Logits, z.view()).unwrap()).unwrap();
    assert_eq!(p.column(0), whole.outputs[0].1.column(1));
    let (inputs, outputs) = (vec![("logits", z)], vec![("probabilities".into(), p)]);
    let graph = labels(&alone, InputKind::Logits).unwrap();
    agrees(&Case { name: "one label".into(), head: graph, inputs, outputs, compressed: false });
}
