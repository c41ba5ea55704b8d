//! Outputs and features of known make: what they are taken for, and which order of the classes is found.

use ndarray::Array2;
use rand::RngExt;

use super::*;
use crate::base::Seed;

/// Logits of a network that is right in a share of the rows, with the classes of the rows.
fn network(rows: usize, columns: usize, classes: usize, right: f64, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Seed::new(seed).rng();
    let labels: Vec<usize> = (0..rows).map(|i| i % classes).collect();
    let mut z = Array2::from_shape_fn((rows, columns), |_| rng.random_range(-1.0..1.0));
    for (i, &k) in labels.iter().enumerate() {
        let said = if rng.random_bool(right) { k } else { rng.random_range(0..columns) };
        z[[i, said]] += 4.0;
    }
    (z, labels)
}

fn find(z: &Array2<f64>, texts: &[String], asked: &ClassAsked<'_>) -> Result<ClassColumns> {
    let seen = Labels::learn(texts, None).unwrap();
    let codes = seen.encode(texts).unwrap();
    ClassColumns::find(z.view(), &seen, &codes, asked)
}

fn texts(labels: &[usize], name: impl Fn(usize) -> String) -> Vec<String> {
    labels.iter().map(|&k| name(k)).collect()
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

#[test]
fn outputs_with_absent_classes_are_recognised_and_keep_their_columns() {
    let (z, labels) = network(250, 100, 90, 0.75, 1);
    let found = find(&z, &texts(&labels, |k| k.to_string()), &ClassAsked::default()).unwrap();
    assert_eq!((found.kind, found.labels.classes(), &found.codes), (InputKind::Logits, 100, &labels));
    let [note @ ClassNote::Decided { kind: InputKind::Logits, columns: 100, classes: 90, rows: 250, .. }] =
        &found.notes[..]
    else {
        panic!("{:?}", found.notes)
    };
    assert!(note.text(Interface::Command).ends_with("pass --kind features"), "{}", note.text(Interface::Command));
    assert!(note.text(Interface::Python).ends_with("pass kind=\"features\""));
    let p = crate::network::Likelihood::Multinomial.mean(z);
    assert_eq!(
        find(&p, &texts(&labels, |k| k.to_string()), &ClassAsked::default()).unwrap().kind,
        InputKind::Probabilities
    );
}

#[test]
fn one_column_is_a_binary_classifier_if_its_side_is_that_of_the_label() {
    let mut rng = Seed::new(8).rng();
    let z = Array2::from_shape_fn((300, 1), |_| rng.random_range(-4.0..4.0f64));
    let sigmoid = z.mapv(|z| 1.0 / (1.0 + (-z).exp()));
    let drawn = |p: f64| if rng.random_bool(p) { "yes" } else { "no" };
    let labels = words(&sigmoid.iter().copied().map(drawn).collect::<Vec<_>>());
    let auto = ClassAsked::default();
    for (column, kind) in [(&z, InputKind::Logits), (&sigmoid, InputKind::Probabilities)] {
        let found = find(column, &labels, &auto).unwrap();
        assert_eq!((found.kind, found.labels.names()), (kind, &words(&["no", "yes"])[..]));
        assert!(found.is_decided());
        let text = found.notes[0].text(Interface::Command);
        assert!(text.contains("one column") && text.ends_with("pass --kind features"), "{text}");
    }
    // A column of one sign, and one that has nothing to do with the label.
    let noise = Array2::from_shape_fn((300, 1), |_| rng.random_range(-1.0..1.0));
    for column in [z.mapv(|z| z + 10.0), noise] {
        let found = find(&column, &labels, &auto).unwrap();
        assert_eq!(found.kind, InputKind::Features);
        assert!(found.notes[0].text(Interface::Python).ends_with("pass kind=\"logits\""), "{:?}", found.notes);
    }
    // The other way round: the order that fits is shown.
    let turned = find(&z.mapv(|z| -z), &labels, &ClassAsked { kind: Some(InputKind::Logits), ..auto }).unwrap();
    assert!(turned.notes[0].text(Interface::Command).ends_with("pass --classes yes,no"), "{:?}", turned.notes);
}

#[test]
fn features_are_not_taken_for_outputs() {
    let mut rng = Seed::new(3).rng();
    let labels: Vec<usize> = (0..500).map(|i| i % 10).collect();
    let noise = Array2::from_shape_fn((500, 64), |_| rng.random_range(0.0..1.0));
    // One feature that is always the largest, and features that are each large for one class: class 3 by coincidence in
    // column 3.
    let mut one = noise.clone();
    one.column_mut(4).mapv_inplace(|v| v + 9.0);
    let mut units = noise.clone();
    labels.iter().enumerate().for_each(|(i, &k)| units[[i, if k == 3 { 3 } else { 20 + k }]] += 9.0);
    for x in [noise, one, units] {
        let found = find(&x, &texts(&labels, |k| k.to_string()), &ClassAsked::default()).unwrap();
        assert_eq!((found.kind, found.labels.classes(), &found.codes), (InputKind::Features, 10, &labels));
        let [note @ ClassNote::Decided { kind: InputKind::Features, .. }] = &found.notes[..] else {
            panic!("{:?}", found.notes)
        };
        assert!(note.text(Interface::Python).ends_with("pass kind=\"logits\""));
    }
}

/// The test is at 1e-6, so that none of these may be taken for outputs.
#[test]
fn noise_is_never_taken_for_outputs() {
    for seed in 0..200 {
        let (z, labels) = network(120, 12, 9, 0.0, 100 + seed);
        let found = find(&z, &texts(&labels, |k| k.to_string()), &ClassAsked::default()).unwrap();
        assert_eq!(found.kind, InputKind::Features, "seed {seed}");
    }
}

#[test]
fn what_is_said_of_the_columns_decides() {
    let (z, labels) = network(120, 12, 9, 0.0, 5);
    let numbers = texts(&labels, |k| k.to_string());
    let logits = ClassAsked { kind: Some(InputKind::Logits), ..ClassAsked::default() };
    assert_eq!(find(&z, &numbers, &logits).unwrap().labels.classes(), 12);
    let beside = ClassAsked { beside: true, ..ClassAsked::default() };
    assert_eq!(find(&z, &numbers, &beside).unwrap().kind, InputKind::Logits);
    let features = ClassAsked { kind: Some(InputKind::Features), ..ClassAsked::default() };
    let found = find(&z, &numbers, &features).unwrap();
    assert_eq!((found.labels.classes(), found.notes.len()), (9, 0));
    let all = Labels::named((0..12).map(|k| format!("c{}", 11 - k)).collect()).unwrap();
    let named = ClassAsked { classes: Some(&all), ..ClassAsked::default() };
    let found = find(&z, &texts(&labels, |k| format!("c{k}")), &named).unwrap();
    assert_eq!((found.kind, &found.labels.names()[0]), (InputKind::Logits, &"c11".to_owned()));
    assert_eq!(found.codes[0], 11);
    let e = find(&z, &texts(&labels, |k| format!("d{k}")), &named).unwrap_err();
    assert!(e.to_string().starts_with("row 0 (from 0): `d0` is not among the classes"), "{e}");
    let e = find(&z, &texts(&labels, |k| format!("c{k}")), &logits).unwrap_err();
    assert!(e.to_string().starts_with("9 of 12 classes occur"), "{e}");
}

#[test]
fn names_of_columns_give_the_order() {
    let (z, labels) = network(90, 3, 3, 0.8, 6);
    let names = words(&["z_cat", "z_ant", "z_bee"]);
    let asked = ClassAsked { columns: &names, ..ClassAsked::default() };
    let found = find(&z, &texts(&labels, |k| ["cat", "ant", "bee"][k].into()), &asked).unwrap();
    assert_eq!((found.labels.names(), &found.codes), (&words(&["cat", "ant", "bee"])[..], &labels));
    // Text that writes numbers goes by its value, as numbers do.
    let (z, labels) = network(240, 12, 12, 0.8, 6);
    let texts = texts(&labels, |k| k.to_string());
    let seen = Labels::of_kind(texts[..12].iter().rev().cloned().collect(), LabelKind::Text).unwrap();
    let codes = seen.encode(&texts).unwrap();
    let found = ClassColumns::find(z.view(), &seen, &codes, &ClassAsked::default()).unwrap();
    assert_eq!((found.codes, found.labels.kind()), (labels, Some(LabelKind::Text)));
}

#[test]
fn a_better_order_is_shown_and_noise_has_none() {
    let cifar = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];
    let (z, labels) = network(500, 10, 10, 0.9, 7);
    let found = find(&z, &texts(&labels, |k| cifar[k].into()), &ClassAsked::default()).unwrap();
    let [note @ ClassNote::OtherOrder { order, better, .. }] = &found.notes[..] else { panic!("{:?}", found.notes) };
    assert_eq!(order.names(), cifar);
    assert!(*better > 400);
    assert!(
        note.text(Interface::Command).ends_with("pass --classes plane,car,bird,cat,deer,dog,frog,horse,ship,truck")
    );
    assert!(note.text(Interface::Python).contains("pass classes=[\"plane\", \"car\", "));
    // In the right order, and where there is nothing to be found, nothing is said.
    let all = Labels::named(words(&cifar)).unwrap();
    let named = ClassAsked { classes: Some(&all), ..ClassAsked::default() };
    assert_eq!(find(&z, &texts(&labels, |k| cifar[k].into()), &named).unwrap().notes, []);
    for seed in 0..100 {
        let (z, labels) = network(250, 50, 50, 0.0, 300 + seed);
        assert_eq!(find(&z, &texts(&labels, |k| format!("{k:02}")), &ClassAsked::default()).unwrap().notes, []);
    }
}

#[test]
fn few_absent_names_ask_for_all_of_them() {
    let (z, labels) = network(250, 100, 90, 0.75, 1);
    let found = find(&z, &texts(&labels, |k| format!("class {k}")), &ClassAsked::default()).unwrap();
    assert_eq!(found.kind, InputKind::Features);
    assert_eq!(found.notes, [ClassNote::FewMore { columns: 100, classes: 90 }]);
    assert!(
        found.notes[0].text(Interface::Python).contains("name all 100 classes in the order of the columns by classes=")
    );
    let (x, labels) = network(250, 64, 10, 0.0, 1);
    assert_eq!(find(&x, &texts(&labels, |k| format!("class {k}")), &ClassAsked::default()).unwrap().notes, []);
}

#[test]
fn names_that_need_quotes_are_shown_as_they_are_typed() {
    let order = Labels::named(words(&["cat", "owl, snowy"])).unwrap();
    assert_eq!(Interface::Command.classes(&order), "--classes 'cat,\"owl, snowy\"'");
    assert_eq!(Interface::Python.classes(&order), "classes=[\"cat\", \"owl, snowy\"]");
    let numbers = Labels::named(words(&["2", "1"])).unwrap();
    assert_eq!(Interface::Python.classes(&numbers), "classes=[2, 1]");
}
