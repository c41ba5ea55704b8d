//! Model files: what is saved predicts the same after loading, old files keep loading, and hostile ones are refused
//! with a reason.

mod seal;

use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayView2, array};
use seal::seal;
use serde_json::{Value, json};
use stonet::regression::StoNetSettings;
use stonet::rows::{ClassOutput, LabelKind};
use stonet::score::Asked;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, Fingerprints, FittedClassifier, InputKind, Kind, Labels, Level,
    PostStoNetClassifier, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side,
};
use stonet_io::{
    Error, Head, Model, ModelColumns, ModelScorer, Problem, Reading, ScoreSettings, Table, Type, Writer, label_kind,
    regression_hashes, types,
};

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

/// Numbers without a pattern that a small model could learn in full.
fn noise(rows: usize, columns: usize, shift: f64) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * i + 7 * i * (j + 1)) as f64 * 0.37 + shift).sin() * 1.5)
}

/// Features, the network's predictions, and targets.
fn regression_rows(n: usize, shift: f64) -> [Array2<f64>; 3] {
    let features = noise(n, 3, shift);
    let prediction = features.slice(ndarray::s![.., ..1]).mapv(|f| 2.0 * f);
    let y = &prediction + &features.slice(ndarray::s![.., 1..2]).mapv(f64::tanh) + noise(n, 1, shift + 1.0) * 0.2;
    [features, prediction, y]
}

/// Logits and classes.
fn class_rows(n: usize, shift: f64) -> (Array2<f64>, Vec<usize>) {
    let logits = noise(n, 3, shift) * 3.0;
    let best = |row: ndarray::ArrayView1<'_, f64>| (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    let labels = logits.outer_iter().enumerate().map(|(i, row)| if i % 4 == 0 { i / 4 % 3 } else { best(row) });
    let labels = labels.collect();
    (logits, labels)
}

fn regression(kind: Kind) -> Model {
    let [features, prediction, y] = regression_rows(60, 0.0);
    let rows = RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(prediction.view()).unwrap();
    let stonet = StoNetSettings { hidden: vec![6], kappas: Some(vec![0.01]), steps: 20, ..StoNetSettings::default() };
    let settings = PostStoNetRegressor { kind, folds: 3, stonet, ..PostStoNetRegressor::default() };
    let head = settings.fit(&rows, Seed::new(3), &|_, _| true).unwrap();
    Model {
        head: Head::Regression(Box::new(head)),
        columns: ModelColumns {
            features: names("f", 3),
            prediction: vec!["network".into()],
            targets: vec!["price, in €".into()],
            ..ModelColumns::default()
        },
        kind: None,
        labels: None,
        level: Some(Level::new(0.9).unwrap()),
        seed: u64::MAX,
        fingerprint: Model::fingerprint_of(&[features.view(), prediction.view(), y.view()]),
        fingerprints: Some(Fingerprints::new(&regression_hashes(features.view(), None, y.view()).unwrap())),
        baseline: None,
        version: Model::VERSION.into(),
    }
}

fn classification(method: ClassMethod, kind: InputKind) -> Model {
    let (z, labels) = class_rows(60, 0.0);
    let inputs = match kind {
        InputKind::Features => ClassInputs::features(z.view()).unwrap(),
        _ => ClassInputs::logits(z.view()).unwrap(),
    };
    let rows = ClassRows::new(inputs, &labels, 3).unwrap();
    let members = Some(vec![ClassMethod::Temperature, ClassMethod::PostLinear, ClassMethod::Skip]);
    let mut settings = PostStoNetClassifier { method, members, folds: Some(2), ..Default::default() };
    (settings.skip.hidden, settings.skip.kappas) = (6, Some(vec![1e-3]));
    (settings.skip.asghmc.epochs, settings.skip.asghmc.averages) = (4, 1);
    let head = settings.fit(&rows, Seed::new(3), &|_, _| true).unwrap();
    let (features, logits) = match kind {
        InputKind::Features => (names("f", 3), vec![]),
        _ => (vec![], names("z", 3)),
    };
    Model {
        head: Head::Classification(Box::new(head)),
        columns: ModelColumns { features, logits, targets: vec!["class".into()], ..ModelColumns::default() },
        kind: Some(kind),
        labels: Some(Labels::named(vec!["cat".into(), "dog".into(), "\"bär\"\\".into()]).unwrap()),
        level: None,
        seed: 3,
        fingerprint: Model::fingerprint_of(&[z.view()]),
        fingerprints: None,
        baseline: None,
        version: Model::VERSION.into(),
    }
}

/// What the model says about rows that it has not seen: prediction and ends, or probabilities.
fn predict(model: &Model) -> Vec<Vec<f64>> {
    try_predict(model).unwrap()
}

fn try_predict(model: &Model) -> stonet::Result<Vec<Vec<f64>>> {
    let rows = |a: ArrayView2<'_, f64>| a.outer_iter().map(|r| r.to_vec()).collect();
    match &model.head {
        Head::Regression(head) => {
            let [features, prediction, _] = regression_rows(9, 2.0);
            let new = RegressionInputs::new(features.view()).unwrap().with_prediction(prediction.view())?;
            let i = head.intervals(&new, model.level.unwrap(), Side::Both)?;
            Ok(rows(ndarray::concatenate![ndarray::Axis(1), i.prediction, i.lower, i.upper].view()))
        }
        Head::Classification(head) => {
            let (z, _) = class_rows(9, 2.0);
            let inputs = match model.kind {
                Some(InputKind::Features) => ClassInputs::features(z.view()).unwrap(),
                _ => ClassInputs::logits(z.view()).unwrap(),
            };
            Ok(rows(head.probabilities(&inputs)?.view()))
        }
        Head::Labels(head) => {
            let (z, _) = class_rows(9, 2.0);
            let inputs = stonet::classification::LabelInputs::new(model.kind.unwrap_or_default(), z.view())?;
            Ok(rows(head.probabilities(&inputs)?.view()))
        }
    }
}

fn bits(rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    rows.iter().map(|r| r.iter().map(|v| v.to_bits()).collect()).collect()
}

/// One model of every kind.
fn every_model() -> Vec<Model> {
    let methods = [
        ClassMethod::Temperature,
        ClassMethod::Matrix,
        ClassMethod::Isotonic,
        ClassMethod::PostLinear,
        ClassMethod::Skip,
        ClassMethod::Stack,
    ];
    let regressions = Kind::ALL.into_iter().map(regression);
    let classifications = methods.into_iter().map(|m| classification(m, InputKind::Logits));
    let on_features = [classification(ClassMethod::PostLinear, InputKind::Features)];
    regressions.chain(classifications).chain(on_features).collect()
}

#[test]
fn every_head_comes_back_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.stonet");
    for model in every_model() {
        model.save(&path).unwrap();
        let back = Model::load(&path).unwrap();
        assert_eq!(back, model);
        assert_eq!(bits(&predict(&back)), bits(&predict(&model)));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes, back.to_bytes().unwrap());
        let mut sealed = bytes.clone();
        seal(&mut sealed);
        assert_eq!(bytes, sealed, "the checksum is not the one that is described");
    }
    // Nothing beside the file is left.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn labels_come_back_with_their_kind_and_the_name_of_their_type() {
    let kinds: [(LabelKind, [&str; 3], Type); 6] = [
        (LabelKind::Text, ["01", "1", " 1.0"], Type::Text),
        (LabelKind::Integer, ["-4", "0", "9007199254740993"], Type::Integer),
        (LabelKind::Date, ["2024-02-28", "2024-02-29", "1969-12-31"], Type::Date),
        (LabelKind::Datetime, ["2024-02-28T12:00:00", "2024-02-29", "2024-02-29 00:00:00.5"], Type::Datetime),
        (LabelKind::Float, ["0.5", "1", "-2.5"], Type::F64),
        (LabelKind::Text, ["True", "maybe", "False"], Type::Text),
    ];
    let plain = classification(ClassMethod::Temperature, InputKind::Logits);
    let (z, _) = class_rows(20, 1.0);
    let table = Table::new(Path::new("rows"), plain.columns.logits.clone(), z).unwrap();
    for (kind, labels, column) in kinds {
        let labels = Labels::of_kind(labels.map(str::to_owned).to_vec(), kind).unwrap().with_type_name("<i4");
        let model = Model { labels: Some(labels.clone()), ..plain.clone() };
        let back = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(back.labels, Some(labels));
        let scorer = ModelScorer::new(&back, &ScoreSettings::default()).unwrap();
        assert_eq!(scorer.outputs()[0].kind, column);
        // Every type can be written to a typed file.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.parquet");
        let mut writer = Writer::create(&path, scorer.outputs().to_vec()).unwrap();
        scorer.score(&table).unwrap().write(&mut writer).unwrap();
        writer.finish().unwrap();
        // And read from it, as labels of their kind.
        assert_eq!(label_kind(&path, &[], "class").unwrap(), Some(kind));
        let read = Reading { numbers: Some(Vec::new()), text: vec!["class".into()], ..Reading::default() };
        let read = read.read(&path).unwrap();
        let known = back.labels.as_ref().unwrap();
        // Blanks around a text are not read.
        assert!(
            kind == LabelKind::Text || known.encode(read.text("class").unwrap()).is_ok(),
            "{kind}: {:?}",
            read.text("class").unwrap()
        );
        assert_eq!(types(&path, &[], &["class".into()]).unwrap(), [Some(column)]);
    }
    let text = String::from_utf8_lossy(&plain.to_bytes().unwrap()).into_owned();
    assert!(text.contains(r#"\"label_kind\":\"text\""#), "{}", &text[..400]);
}

#[test]
fn rows_of_the_fit_are_known_after_loading_and_forged_fingerprints_are_refused() {
    let model = Model::from_bytes(&regression(Kind::Fast).to_bytes().unwrap()).unwrap();
    let seen = |shift: f64| {
        let [features, _, y] = regression_rows(60, shift);
        let hashes = regression_hashes(features.view(), None, y.view()).unwrap();
        model.overlap(&hashes, String::new).unwrap()
    };
    assert_eq!((seen(0.0).matched, seen(0.1).matched), (60, 0));
    let none = Model { fingerprints: None, fingerprint: String::new(), ..model.clone() };
    let bytes = none.to_bytes().unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("fingerprints"));
    assert_eq!(Model::from_bytes(&bytes).unwrap().overlap(&[1], String::new), None);
    let refused = |from: &str, to: &str, why: &str| {
        assert_eq!(from.len(), to.len());
        let mut bytes = model.to_bytes().unwrap();
        let place = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
        seal(&mut bytes);
        let e = Model::from_bytes(&bytes).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    refused(r#"\"sampled\":60"#, r#"\"sampled\":61"#, "do not fit together");
    refused(r#"\"repeated\":0"#, r#"\"repeated\":x"#, "expected");
    refused(r#"\"list\":\"f"#, r#"\"list\":\"g"#, "missing");
    refused(r#""dtype":"U32","shape":[60]"#, r#""dtype":"I32","shape":[60]"#, "type I32");
}

#[test]
fn models_whose_names_do_not_fit_are_not_saved() {
    let good = classification(ClassMethod::Temperature, InputKind::Logits);
    let refused = |change: &dyn Fn(&mut Model), part: &str| {
        let mut model = good.clone();
        change(&mut model);
        let e = model.to_bytes().unwrap_err();
        assert!(matches!(e, Error::Unsound { .. }) && e.to_string().contains(part), "{e}");
    };
    refused(&|m| m.columns.logits.truncate(2), "names for 2 columns of logits, and the fitted head has 3");
    refused(&|m| m.labels = None, "names for 0 classes");
    refused(&|m| m.kind = None, "kind of its inputs");
    refused(&|m| m.columns.targets.clear(), "names for 0 targets");
    let mut model = regression(Kind::Fast);
    model.columns.prediction.clear();
    assert!(model.to_bytes().unwrap_err().to_string().contains("0 columns of predictions"));
    let missing = Path::new("no/such/directory/m.stonet");
    assert!(matches!(good.save(missing), Err(Error::Unwritable { .. })));
    assert!(matches!(Model::load(missing), Err(e) if matches!(e.problem(), Some(Problem::NoFile))));
    assert!(matches!(Model::load(Path::new(".")), Err(e) if matches!(e.problem(), Some(Problem::Unreadable { .. }))));
}

#[test]
fn the_fingerprint_depends_on_values_and_shapes_and_not_on_memory_order() {
    let a = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let of = |a: ArrayView2<'_, f64>| Model::fingerprint_of(&[a]);
    let fortran = a.t().as_standard_layout().to_owned().reversed_axes();
    assert_eq!(of(a.view()), of(fortran.view()));
    assert_ne!(of(a.view()), of(a.to_shape((2, 3)).unwrap().view()));
    assert_ne!(of(a.view()), of(a.t()));
    assert_ne!(Model::fingerprint_of(&[a.view(), a.view()]), of(a.view()));
    assert_eq!(Model::fingerprint_of(&[]), "cbf29ce484222325");
}

/// A file that is made by hand.
#[derive(Clone)]
struct Forged {
    metadata: serde_json::Map<String, Value>,
    /// The header's entries.
    tensors: serde_json::Map<String, Value>,
    data: Vec<u8>,
}

impl Forged {
    /// A sound file taken apart.
    fn new(model: &Model) -> Self {
        let bytes = model.to_bytes().unwrap();
        let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(end % 8, 0);
        let mut tensors: serde_json::Map<String, Value> = serde_json::from_slice(&bytes[8..end]).unwrap();
        let mut metadata = tensors.remove("__metadata__").unwrap().as_object().unwrap().clone();
        metadata.remove("checksum");
        Forged { metadata, tensors, data: bytes[end..].to_vec() }
    }

    fn with(&self, key: &str, text: impl Into<String>) -> Self {
        let mut changed = self.clone();
        changed.metadata.insert(key.into(), Value::String(text.into()));
        changed
    }

    fn tensor(&self, name: &str, entry: Value) -> Self {
        let mut changed = self.clone();
        changed.tensors.insert(name.into(), entry);
        changed
    }

    fn without(&self, key: &str) -> Self {
        let mut changed = self.clone();
        changed.metadata.remove(key);
        changed
    }

    fn text(&self, key: &str) -> &str {
        self.metadata[key].as_str().unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        let (rest, tensors) = (Value::Object(self.metadata.clone()).to_string(), self.tensors.iter());
        let entries: String = tensors.map(|(name, entry)| format!(",{}:{entry}", json!(name))).collect();
        let header = format!(r#"{{"__metadata__":{{"checksum":"{}",{}{entries}}}"#, "0".repeat(16), &rest[1..]);
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(&self.data);
        seal(&mut bytes);
        bytes
    }
}

#[test]
fn forged_files_are_refused_with_a_reason() {
    let model = regression(Kind::Fast);
    let good = Forged::new(&model);
    assert_eq!(Model::from_bytes(&good.bytes()).unwrap(), model);
    let head = good.text("head").to_owned();
    let refused = |file: Forged, part: &str| {
        let e = Model::from_bytes(&file.bytes()).unwrap_err().to_string();
        assert!(e.contains(part), "{part}: {e}");
    };
    let newer = good.with("format_version", "3").with("needs", "9.8.0");
    assert!(
        matches!(Model::from_bytes(&newer.bytes()), Err(e) if matches!(e.problem(), Some(Problem::NewerModel { found: 3, .. })))
    );
    refused(newer, "format version 3, which stonet 9.8.0 or later reads");
    refused(good.with("format_version", "two"), "not a number");
    refused(good.with("format_version", "0"), "version is 0");
    refused(good.with("format", "pt"), "another one");
    refused(good.with("about", "{}"), "the field `task` is missing");
    refused(good.with("about", good.text("about").replace("0.9", "1.9")), "level");
    let classes = good.text("about").replace("\"regression\"", "\"classification\"");
    refused(good.with("about", classes), "`stacks` is not allowed");
    refused(good.with("about", good.text("about").replace("\"f2\"", "\"f2\",\"f3\"")), "names for 4");
    refused(good.with("head", "[".repeat(1_000_000)), "recursion limit");
    refused(good.with("head", r#"{"a":"#.repeat(100_000)), "recursion limit");
    let references = format!("[{}]", [r#"{"$list":"head.0"}"#; 1_000_000].join(","));
    refused(good.with("head", references), "used twice");
    refused(good.with("head", head.replace("head.0\"", "head.99\"")), "head.99");
    refused(good.with("head", "{}"), "belong to nothing");
    refused(good.with("head", head.replacen("\"features\":3", "\"features\":4", 1)), "do not belong");
    let entry = |shape: Value, offsets: Value| json!({ "dtype": "F64", "shape": shape, "data_offsets": offsets });
    for (shape, offsets) in [
        (json!([1u64 << 40]), json!([0, 1u64 << 43])),
        (json!([u64::MAX, u64::MAX]), json!([0, 8])),
        (json!([2]), json!([0, 24])),
        (json!([2]), json!([16, 0])),
        (json!([2]), json!([8, 24])),
        (json!([0, u64::MAX]), json!([0, 0])),
    ] {
        refused(good.tensor("head.0", entry(shape, offsets)), "not a readable StoNet model file");
    }
    let mut nan = good.clone();
    nan.data[..8].copy_from_slice(&f64::NAN.to_le_bytes());
    refused(nan, "NaN");
    let mut longer = good.clone();
    longer.data.push(0);
    refused(longer, "its tensors take");
}

#[test]
fn unknown_sections_are_refused_by_name_where_they_are_required_and_ignored_otherwise() {
    let model = regression(Kind::Fast);
    let good = Forged::new(&model);
    assert_eq!(good.text("required"), r#"["about","head"]"#);
    let mut more = good.with("groups", r#"{"list":"groups.0"}"#);
    let end = more.data.len();
    more.data.extend([0xff; 8]);
    let tensor = json!({ "dtype": "F64", "shape": [1], "data_offsets": [end, end + 8] });
    let more = more.tensor("groups.0", tensor.clone());
    assert_eq!(Model::from_bytes(&more.bytes()).unwrap(), model);
    let newer = more.with("required", r#"["about","head","groups"]"#).with("needs", "9.8.0");
    let e = Model::from_bytes(&newer.bytes()).unwrap_err();
    assert!(matches!(e.problem(), Some(Problem::NewerSection { section, .. }) if section == "groups"), "{e}");
    assert!(e.to_string().contains("section `groups`, which stonet 9.8.0 or later reads"), "{e}");
    let refused = |file: Forged, part: &str| {
        let e = Model::from_bytes(&file.bytes()).unwrap_err().to_string();
        assert!(e.contains(part), "{part}: {e}");
    };
    refused(more.with("required", "about"), "in its metadata");
    refused(
        good.with("required", r#"["about","head","fingerprints"]"#).without("fingerprints"),
        "`fingerprints` is missing",
    );
    for key in ["about", "head", "required", "needs"] {
        let file = if key == "needs" { newer.without(key) } else { good.without(key) };
        refused(file, &format!("`{key}` is missing"));
    }
    // A tensor belongs to a section that is there and is no other entry of the header.
    refused(more.without("groups"), "belong to nothing");
    let mut stray = more.without("groups");
    stray.tensors.remove("groups.0");
    refused(stray.tensor("needs.0", tensor), "belong to nothing");
}

/// All values inside, the outermost last.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, v)| places(v, &format!("{at}/{key}"), out)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), out)),
        _ => {}
    }
    out.push(at.to_owned());
}

/// Puts something else in the place of a value.
fn spoil(value: &mut Value, turn: usize) {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(1e300),
        json!(-0.5),
        json!(1u64 << 40),
        json!(2),
        json!(-1e308),
        json!(5e-324),
    ];
    match value {
        Value::Array(items) => match turn % 3 {
            0 => drop(items.pop()),
            1 => items.extend(items.last().cloned()),
            _ => items.clear(),
        },
        Value::Bool(b) => *b = !*b,
        other => *other = numbers[turn % numbers.len()].clone(),
    }
}

/// Whether predictions and probabilities are finite and ends are numbers; ends are infinite where there are too few
/// scores.
fn is_sound(model: &Model, rows: &[Vec<f64>]) -> bool {
    let finite = match &model.head {
        Head::Regression(head) => head.outputs(),
        Head::Classification(head) => head.classes(),
        Head::Labels(head) => head.names().len(),
    };
    rows.iter().all(|r| r.iter().take(finite).all(|v| v.is_finite()) && r.iter().all(|v| !v.is_nan()))
}

#[test]
fn heads_with_any_value_spoiled_are_refused_or_predict_finite_numbers() {
    let (mut refused, mut read) = (0, 0);
    for model in every_model() {
        let good = Forged::new(&model);
        let head: Value = serde_json::from_str(good.text("head")).unwrap();
        let mut all = Vec::new();
        places(&head, "", &mut all);
        for (i, place) in all.iter().enumerate() {
            for turn in [i, i + 1, i + 3] {
                let mut changed = head.clone();
                spoil(changed.pointer_mut(place).unwrap(), turn);
                match Model::from_bytes(&good.with("head", changed.to_string()).bytes()) {
                    Ok(model) => {
                        read += 1;
                        if let Ok(rows) = try_predict(&model) {
                            assert!(is_sound(&model, &rows), "{place}: {rows:?}");
                        }
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1000 && read > 1000, "{refused} {read}");
}

#[test]
fn models_with_any_word_of_their_columns_spoiled_are_refused_or_made_ready() {
    let (mut refused, mut read) = (0, 0);
    for model in every_model() {
        let good = Forged::new(&model);
        let about: Value = serde_json::from_str(good.text("about")).unwrap();
        let mut all = Vec::new();
        places(&about, "", &mut all);
        let kinds = InputKind::ALL.map(|kind| (json!(kind.name()), "/kind".to_owned()));
        let spoiled = all.iter().enumerate().flat_map(|(i, place)| {
            [i, i + 1, i + 2].map(|turn| {
                let mut value = about.pointer(place).unwrap().clone();
                spoil(&mut value, turn);
                (value, place.clone())
            })
        });
        for (value, place) in kinds.into_iter().chain(spoiled) {
            let mut changed = about.clone();
            *changed.pointer_mut(&place).unwrap() = value;
            match Model::from_bytes(&good.with("about", changed.to_string()).bytes()) {
                Ok(model) => {
                    read += 1;
                    ModelScorer::new(&model, &ScoreSettings::default()).unwrap();
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100 && read > 50, "{refused} {read}");
}

#[test]
fn classifiers_whose_parts_do_not_fit_together_are_refused() {
    // A head that reads logits, with none.
    let file = Forged::new(&classification(ClassMethod::Temperature, InputKind::Logits));
    let mut about: Value = serde_json::from_str(file.text("about")).unwrap();
    about["kind"] = json!("features");
    about["columns"]["logits"] = json!([]);
    let e = Model::from_bytes(&file.with("about", about.to_string()).bytes()).unwrap_err().to_string();
    assert!(e.contains("its head reads logits"), "{e}");
    // Fewer maps than classes.
    let Head::Classification(head) = classification(ClassMethod::Isotonic, InputKind::Logits).head else {
        panic!("a classifier")
    };
    let mut value = serde_json::to_value(&head).unwrap();
    value.pointer_mut("/model/isotonic").and_then(Value::as_array_mut).unwrap().pop();
    let e = serde_json::from_value::<FittedClassifier>(value).unwrap_err().to_string();
    assert!(e.contains("do not belong together"), "{e}");
    // Another number of logits than classes.
    let two = ClassOutput { kind: InputKind::Logits, columns: 5 };
    assert!(head.scorer(two).is_err() && head.plan(ClassOutput { kind: InputKind::Features, columns: 0 }).is_err());
}

#[test]
fn other_files_are_no_models() {
    let error = |bytes: &[u8]| Model::from_bytes(bytes).unwrap_err().to_string();
    assert!(error(b"").contains("it has 0 bytes"));
    assert!(error(&[0xff; 4000]).contains("does not begin as a model file does"));
    let plain = br#"{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}"#;
    let file = [&(plain.len() as u64).to_le_bytes()[..], plain].concat();
    assert!(error(&file).contains("does not begin as a model file does"));
    let start = br#"{"__metadata__":{"checksum":"0000"#;
    let file = [&(start.len() as u64).to_le_bytes()[..], start].concat();
    assert!(error(&file).contains("does not begin"), "{}", error(&file));
    let mut bytes = classification(ClassMethod::Temperature, InputKind::Logits).to_bytes().unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    assert!(error(&bytes).contains("checksum"));
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Files of every format version and what they say, as written when that version was the latest; those of the latest
/// come last.
const FROZEN: [&str; 13] = [
    "fast_v1",
    "cv_plus_v1",
    "cv_v1",
    "paper_v1",
    "split_v1",
    "groups_v1",
    "isotonic_v1",
    "skip_v1",
    "features_v1",
    "regression_v1",
    "classification_v1",
    "regression_v2",
    "classification_v2",
];

/// How far a prediction of a frozen head may be from what it was: 1e-9 of itself, or 1e-5 of the length of the interval
/// where the plan is in single precision now.
fn tolerance(model: &Model, expected: &[f64], i: usize) -> f64 {
    let exact = 1e-9 * expected[i].abs().max(1e-3);
    match &model.head {
        Head::Regression(head) => {
            let plan = head.plan(&Asked::at(&[model.level.unwrap()])).unwrap();
            // Lower and upper ends are in the last two thirds.
            let targets = expected.len() / 3;
            let length = expected[2 * targets + i % targets] - expected[targets + i % targets];
            if plan.values().iter().any(|v| v.single) { 1e-5 * length } else { exact }
        }
        Head::Classification(_) | Head::Labels(_) => exact,
    }
}

#[test]
fn files_of_every_version_keep_loading() {
    for name in FROZEN {
        let model = Model::load(&fixture(&format!("{name}.stonet"))).unwrap();
        let text = std::fs::read_to_string(fixture(&format!("{name}.json"))).unwrap();
        let expected: Vec<Vec<f64>> = serde_json::from_str(&text).unwrap();
        let found = predict(&model);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            for (i, (a, b)) in found.iter().zip(expected).enumerate() {
                assert!((a - b).abs() <= tolerance(&model, expected, i), "{name}: {a} and not {b}");
            }
        }
        assert_eq!((model.fingerprint.len(), &*model.version), (16, "0.1.0"));
        if model.fingerprints.is_none() {
            // They know all of their rows in their order, or nothing.
            assert!(model.overlap(&[1, 2, 3], || model.fingerprint.clone()).is_some_and(|o| o.too_many()));
            assert_eq!(model.overlap(&[1, 2, 3], || "0".repeat(16)), None);
        }
    }
    for version in ["v1", "v2"] {
        let model = Model::load(&fixture(&format!("regression_{version}.stonet"))).unwrap();
        assert_eq!(model.fingerprints.is_some(), version == "v2");
        assert_eq!(model.columns.inputs(), ["f0", "f1", "f2", "network"]);
        let level = model.level.unwrap().get();
        assert_eq!((&*model.columns.targets[0], level, model.seed), ("price, in €", 0.9, u64::MAX));
        let model = Model::load(&fixture(&format!("classification_{version}.stonet"))).unwrap();
        assert_eq!(model.labels.unwrap().names(), ["cat", "dog", "\"bär\"\\"]);
        assert_eq!((model.kind, model.seed), (Some(InputKind::Logits), 3));
    }
}

/// Writes the fixtures of the latest version, once: `STONET_WRITE_FIXTURES=1 cargo test --release -p stonet-io --test
/// model -- --ignored write_fixtures`. A new version of the format gets new names in [`FROZEN`]; files that are there
/// are never written again.
#[test]
#[ignore = "writes fixtures, with STONET_WRITE_FIXTURES"]
fn write_fixtures() {
    if std::env::var_os("STONET_WRITE_FIXTURES").is_none() {
        return;
    }
    let models = [regression(Kind::Stack), classification(ClassMethod::Stack, InputKind::Logits)];
    for (model, name) in models.iter().zip(&FROZEN[FROZEN.len() - 2..]) {
        let path = fixture(&format!("{name}.stonet"));
        assert!(!path.exists(), "{} is frozen", path.display());
        model.save(&path).unwrap();
        let numbers = serde_json::to_string(&predict(model)).unwrap();
        std::fs::write(fixture(&format!("{name}.json")), numbers + "\n").unwrap();
    }
}
