//! Heads of many labels in files: round trips, damage, and the columns that come out.

mod seal;

use std::path::Path;

use ndarray::{Array2, s};
use stonet::base::streams::labels;
use stonet::classification::{FittedLabels, LabelInputs, LabelRows};
use stonet::{ClassInputs, ClassMethod, ClassRows, Fingerprints, InputKind, PostStoNetClassifier, Seed};
use stonet_io::{Cells, Head, Model, ModelColumns, ModelScorer, ScoreSettings, SetColumns, Table};

const NAMES: [&str; 3] = ["cat", "dog", "a, \"b\""];

fn outputs(rows: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, 3), |(i, k)| 4.0 * ((i * (k + 2)) as f64 * 0.73 + k as f64).sin())
}

fn present(z: &Array2<f64>) -> Array2<bool> {
    Array2::from_shape_fn(z.dim(), |(i, k)| (z[[i, k]] > 0.0) != ((i + k) % 5 == 0))
}

fn names() -> Vec<String> {
    NAMES.map(String::from).to_vec()
}

fn fitted(method: ClassMethod, kind: InputKind, z: &Array2<f64>) -> FittedLabels {
    let (present, names) = (present(&outputs(z.nrows())), names());
    let rows = LabelRows::new(LabelInputs::new(kind, z.view()).unwrap(), present.view(), &names).unwrap();
    let settings = PostStoNetClassifier { method, ..Default::default() };
    settings.fit_labels(&rows, Seed::new(3), &|_, _| true).unwrap()
}

fn model(method: ClassMethod, kind: InputKind) -> Model {
    let z = if kind == InputKind::Probabilities { sigmoid(outputs(90)) } else { outputs(90) };
    let columns = ["z_cat", "z_dog", "z_b"].map(String::from).to_vec();
    let targets = ["y_cat", "y_dog", "y_b"].map(String::from).to_vec();
    Model {
        head: Head::Labels(Box::new(fitted(method, kind, &z))),
        columns: ModelColumns { logits: columns, targets, ..ModelColumns::default() },
        kind: Some(kind),
        labels: None,
        level: None,
        seed: 3,
        fingerprint: "0123456789abcdef".into(),
        fingerprints: Some(Fingerprints::new(&[1, 2, 3])),
        baseline: None,
        version: Model::VERSION.into(),
    }
}

fn sigmoid(z: Array2<f64>) -> Array2<f64> {
    z.mapv(|z| 1.0 / (1.0 + (-z).exp()))
}

fn head(model: &Model) -> &FittedLabels {
    let Head::Labels(head) = &model.head else { panic!("many labels") };
    head
}

#[test]
fn each_head_is_the_binary_fit_of_its_own_stream() {
    let z = outputs(90);
    for method in [ClassMethod::Temperature, ClassMethod::Isotonic, ClassMethod::Stack] {
        let all = fitted(method, InputKind::Logits, &z);
        let p = all.probabilities(&LabelInputs::new(InputKind::Logits, z.view()).unwrap()).unwrap();
        for k in 0..3 {
            let both = InputKind::Logits.convert(z.slice(s![.., k..=k]).to_owned()).unwrap();
            let codes: Vec<usize> = present(&z).column(k).iter().map(|&p| usize::from(p)).collect();
            let rows = ClassRows::new(ClassInputs::logits(both.view()).unwrap(), &codes, 2).unwrap();
            let settings = PostStoNetClassifier { method, ..Default::default() };
            let alone = settings.fit(&rows, Seed::new(3).child(labels::HEADS.at(k)), &|_, _| true).unwrap();
            assert_eq!(alone, all.heads()[k]);
            let expected = alone.probabilities(&rows.inputs()).unwrap();
            assert_eq!(p.column(k), expected.column(1));
        }
    }
}

#[test]
fn files_keep_every_head_and_scorers_agree_with_it() {
    for (method, kind) in [
        (ClassMethod::Stack, InputKind::Logits),
        (ClassMethod::Temperature, InputKind::Probabilities),
        (ClassMethod::Isotonic, InputKind::Logits),
        (ClassMethod::VennAbers, InputKind::Logits),
    ] {
        let model = model(method, kind);
        let bytes = model.to_bytes().unwrap();
        let again = Model::from_bytes(&bytes).unwrap();
        assert_eq!(again, model);
        assert_eq!(again.to_bytes().unwrap(), bytes);
        // Programs that know no labels refuse the file by the name of the section.
        let header = String::from_utf8_lossy(&bytes).into_owned();
        assert!(header.contains(r#"[\"about\",\"head\",\"labels\"]"#), "{header}");

        let z = if kind == InputKind::Probabilities { sigmoid(outputs(7)) } else { outputs(7) };
        let scorer = ModelScorer::new(&again, &ScoreSettings::default()).unwrap();
        let shown: Vec<&str> = scorer.outputs().iter().map(|c| c.name.as_str()).collect();
        assert_eq!(shown, ["p_cat", "p_dog", "p_a, \"b\""]);
        // Columns are found by name, in any order.
        let turned = ["z_b", "z_cat", "z_dog"].map(String::from).to_vec();
        let table = Table::new("new.csv", turned, z.select(ndarray::Axis(1), &[2, 0, 1])).unwrap();
        let scored = scorer.score(&table).unwrap();
        let expected = head(&model).probabilities(&LabelInputs::new(kind, z.view()).unwrap()).unwrap();
        for (k, cells) in scored.cells().into_iter().enumerate() {
            let Cells::Numbers(p) = cells else { panic!("numbers") };
            assert!(p.iter().zip(expected.column(k)).all(|(a, b)| (a - b).abs() < 1e-9), "{method}");
        }
    }
}

#[test]
fn features_are_read_by_every_label_and_kept_in_files() {
    let (z, names) = (outputs(90), names());
    let x = Array2::from_shape_fn((90, 2), |(i, j)| ((i * (j + 3)) as f64 * 0.41).cos());
    let present = Array2::from_shape_fn((90, 3), |(i, k)| x[[i, k % 2]] + 0.2 * z[[i, k]] > 0.1);
    let inputs = LabelInputs::new(InputKind::Logits, z.view()).unwrap().with_features(x.view()).unwrap();
    let rows = LabelRows::new(inputs, present.view(), &names).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::SkipFeatures, ..Default::default() };
    let fitted = settings.fit_labels(&rows, Seed::new(3), &|_, _| true).unwrap();
    assert_eq!(fitted.features(), Some(2));
    let expected = fitted.probabilities(&inputs).unwrap();
    let why = fitted.probabilities(&LabelInputs::new(InputKind::Logits, z.view()).unwrap()).unwrap_err().to_string();
    assert!(why.contains("features"), "{why}");
    let without = model(ClassMethod::Temperature, InputKind::Logits);
    let mut model = Model { head: Head::Labels(Box::new(fitted)), ..without };
    let why = model.to_bytes().unwrap_err().to_string();
    assert!(why.contains("names for 0 features") && why.contains("has 2"), "{why}");
    model.columns.features = vec!["f0".into(), "f1".into()];
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again, model);
    let scorer = ModelScorer::new(&again, &ScoreSettings::default()).unwrap();
    let all = ndarray::concatenate(ndarray::Axis(1), &[x.view(), z.view()]).unwrap();
    let columns = ["f0", "f1", "z_cat", "z_dog", "z_b"].map(String::from).to_vec();
    let scored = scorer.score(&Table::new("new.csv", columns, all).unwrap()).unwrap();
    for (k, cells) in scored.cells().into_iter().enumerate() {
        let Cells::Numbers(p) = cells else { panic!("numbers") };
        assert_eq!(p, expected.column(k));
    }
}

#[test]
fn settings_of_other_heads_are_refused() {
    let model = model(ClassMethod::Temperature, InputKind::Logits);
    let settings = ScoreSettings { sets: Some(SetColumns::Text), ..ScoreSettings::default() };
    let why = ModelScorer::new(&model, &settings).unwrap_err().to_string();
    assert!(why.contains("sets is not for heads of many labels"), "{why}");
    let wrong = Table::new("new.csv", vec!["z_cat".into()], outputs(3).slice(s![.., ..1]).to_owned()).unwrap();
    let scorer = ModelScorer::new(&model, &ScoreSettings::default()).unwrap();
    let why = scorer.score(&wrong).unwrap_err().to_string();
    assert!(why.contains("new.csv") && why.contains("z_dog") && why.contains("z_b"), "{why}");
}

#[test]
fn no_damaged_file_is_taken_for_a_model() {
    let bytes = model(ClassMethod::Vector, InputKind::Logits).to_bytes().unwrap();
    for keep in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..keep]).is_err(), "cut to {keep} bytes");
    }
    // With a right checksum, changed digits are an error or another model, and never a panic.
    let digits: Vec<usize> = (60..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
    let mut state = 7_u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    };
    for round in 0..2000 {
        let mut changed = bytes.clone();
        let place = if round % 2 == 0 { digits[below(digits.len())] } else { below(bytes.len()) };
        changed[place] = if round % 2 == 0 { b'0' + below(10) as u8 } else { below(256) as u8 };
        if changed != bytes {
            assert!(Model::from_bytes(&changed).is_err());
        }
        seal::seal(&mut changed);
        if let Ok(Model { head: Head::Labels(head), kind: Some(kind), .. }) = Model::from_bytes(&changed) {
            let z = outputs(3);
            let _ = LabelInputs::new(kind, z.view()).and_then(|rows| head.probabilities(&rows));
        }
    }
}

#[test]
fn sections_that_do_not_belong_together_are_errors() {
    let sound = model(ClassMethod::Temperature, InputKind::Logits).to_bytes().unwrap();
    // Texts of the same length, so that nothing else moves.
    for (from, to, says) in [
        (r#"[\"cat\",\"dog\""#, r#"[\"cat\",\"cat\""#, "both called"),
        (r#"\"kind\":\"logits\""#, r#"\"kind\":\"lagits\""#, "lagits"),
        (r#"\"classes\":2"#, r#"\"classes\":3"#, ""),
        (r#"\"z_dog\","#, r#"\"zdog\" ,"#, "sound"),
    ] {
        let mut changed = sound.clone();
        let at = sound.windows(from.len()).position(|w| w == from.as_bytes()).expect(from);
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        seal::seal(&mut changed);
        match Model::from_bytes(&changed).map_err(|e| e.to_string()) {
            Ok(_) => assert_eq!(says, "sound", "{to}"),
            Err(why) => assert!(why.contains(says), "{to}: {why}"),
        }
    }
    let mut model = model(ClassMethod::Temperature, InputKind::Logits);
    model.columns.logits.pop();
    let why = model.save(Path::new("never.stonet")).unwrap_err().to_string();
    assert!(why.contains("names for 2 columns of outputs, and the fitted head has 3"), "{why}");
}
