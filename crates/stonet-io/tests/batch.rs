//! Models on record batches: the same numbers as from tables, whatever the batches, and errors that name the place.
#![cfg(feature = "parquet")]

mod heads;

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use heads::{classification, noise, regression, rows};
use ndarray::Array2;
use stonet::{ClassInputs, ClassMethod, ClassRows, InputKind, Kind, Labels, PostStoNetClassifier, Seed};
use stonet_io::{
    BatchInputs, BatchScorer, Head, Model, ModelColumns, ModelScorer, NetworkInputs, ScoreSettings, Table,
};

fn column(x: &Array2<f64>, j: usize) -> ArrayRef {
    Arc::new(Float64Array::from(x.column(j).to_vec()))
}

/// Rows with a key, the features in another order, and something else.
fn batch(n: usize) -> RecordBatch {
    let [f, d, _] = rows(n, 2.0);
    let key: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n as i64));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..n).map(|i| format!("row {i}"))));
    let columns = [("d1", column(&d, 1)), ("f2", column(&f, 2)), ("key", key), ("f0", column(&f, 0)), ("text", text)];
    let more = [("f3", column(&f, 3)), ("d0", column(&d, 0)), ("f1", column(&f, 1))];
    RecordBatch::try_from_iter(columns.into_iter().chain(more)).unwrap()
}

fn scorer(model: &Model, inputs: &BatchInputs, keep: &[&str], batch: &RecordBatch) -> stonet_io::Result<BatchScorer> {
    let keep: Vec<String> = keep.iter().map(|k| (*k).to_owned()).collect();
    BatchScorer::new(model, &ScoreSettings::default(), inputs, &keep, "rows", &batch.schema(), Some(batch))
}

fn failure(model: &Model, inputs: &BatchInputs, keep: &[&str], batch: &RecordBatch) -> String {
    match scorer(model, inputs, keep, batch) {
        Ok(scorer) => scorer.score(batch, 100).unwrap_err().to_string(),
        Err(e) => e.to_string(),
    }
}

/// The bits of every number.
fn bits(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let column = batch.column_by_name(name).unwrap();
    column.as_primitive::<Float64Type>().values().iter().map(|v| v.to_bits()).collect()
}

fn logits(n: usize) -> RecordBatch {
    let z = noise(n, 3, 5.0) * 2.0;
    RecordBatch::try_from_iter([("z0", column(&z, 0)), ("z1", column(&z, 1)), ("z2", column(&z, 2))]).unwrap()
}

/// Two classes by temperature scaling.
fn binary() -> Model {
    let z = noise(90, 2, 0.0) * 3.0;
    let labels: Vec<usize> = (0..90).map(|i| usize::from((z[[i, 1]] > z[[i, 0]]) != (i % 5 == 0))).collect();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 2).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let model = classification(ClassMethod::Temperature, InputKind::Logits);
    Model {
        head: Head::Classification(Box::new(settings.fit(&rows, Seed::new(3), &|_, _| true).unwrap())),
        columns: ModelColumns { logits: vec!["z0".into(), "z1".into()], ..model.columns },
        labels: Some(Labels::named(vec!["a".into(), "b".into()]).unwrap()),
        ..model
    }
}

#[test]
fn scores_do_not_depend_on_the_batch_and_are_those_of_tables() {
    let mut cases: Vec<(Model, RecordBatch, String)> = Vec::new();
    for kind in Kind::ALL {
        cases.extend([1, 2].map(|targets| (regression(kind, targets), batch(3001), format!("{kind}, {targets}"))));
    }
    for method in ClassMethod::ALL {
        let kind = if method == ClassMethod::Paper { InputKind::Features } else { InputKind::Logits };
        if let Ok(model) = std::panic::catch_unwind(|| classification(method, kind)) {
            cases.push((model, logits(3001), method.to_string()));
        }
    }
    assert!(cases.len() > 20, "{}", cases.len());
    for (model, batch, what) in cases {
        let scorer = scorer(&model, &BatchInputs::default(), &[], &batch).unwrap();
        let whole = scorer.score(&batch, 0).unwrap();
        let numbers: Vec<String> = whole.schema().fields().iter().map(|f| f.name().clone()).collect();
        let numbers: Vec<&String> = numbers.iter().filter(|n| *n != "class").collect();
        for size in [1, 7, 1000] {
            let mut found = vec![Vec::new(); numbers.len()];
            for from in (0..batch.num_rows()).step_by(size).take(200) {
                let part = batch.slice(from, size.min(batch.num_rows() - from));
                let part = scorer.score(&part, 0).unwrap();
                found.iter_mut().zip(&numbers).for_each(|(f, n)| f.extend(bits(&part, n)));
            }
            for (found, name) in found.iter().zip(&numbers) {
                assert!(found[..] == bits(&whole, name)[..found.len()], "{what}: `{name}` in batches of {size}");
            }
        }
        // The same from a table.
        let by_table = ModelScorer::new(&model, &ScoreSettings::default()).unwrap();
        let inputs = by_table.inputs().to_vec();
        let columns = inputs.iter().map(|n| batch.column_by_name(n).unwrap().as_primitive::<Float64Type>().values());
        let columns: Vec<Vec<f64>> = columns.map(|c| c.to_vec()).collect();
        let values = Array2::from_shape_fn((batch.num_rows(), columns.len()), |(i, j)| columns[j][i]);
        let scored = by_table.score(&Table::new("t", inputs, values).unwrap()).unwrap();
        let cells = scored.cells();
        for (cells, column) in cells.iter().zip(by_table.outputs()) {
            if let stonet_io::Cells::Numbers(v) = cells {
                let expected: Vec<u64> = v.iter().map(|v| v.to_bits()).collect();
                assert!(bits(&whole, &column.name) == expected, "{what}: `{}` from a table", column.name);
            }
        }
    }
}

#[test]
fn kept_columns_stand_in_front_as_they_are() {
    let (model, batch) = (regression(Kind::Fast, 1), batch(10));
    let scorer = scorer(&model, &BatchInputs::default(), &["text", "key"], &batch).unwrap();
    let scored = scorer.score(&batch, 0).unwrap();
    assert_eq!(scored.schema(), scorer.schema());
    let schema = scored.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["text", "key", "prediction", "lower_80", "upper_80"]);
    assert!(Arc::ptr_eq(scored.column(0), batch.column(4)), "no copy");
    let none = scorer.score(&batch.slice(0, 0), 0).unwrap();
    assert_eq!((none.num_rows(), none.schema()), (0, scorer.schema()));
}

#[test]
fn columns_by_other_names_by_pattern_and_in_lists() {
    let (model, plain) = (regression(Kind::Stack, 1), batch(50));
    let expected = scorer(&model, &BatchInputs::default(), &[], &plain).unwrap().score(&plain, 0).unwrap();
    let [f, d, _] = rows(50, 2.0);
    let mut lists = ListBuilder::new(Float64Builder::new());
    f.outer_iter().for_each(|row| lists.append_value(row.iter().map(|&v| Some(v))));
    let single: ArrayRef = Arc::new(Float32Array::from_iter_values(d.column(0).iter().map(|&v| v as f32)));
    let hidden: ArrayRef = Arc::new(lists.finish());
    let others = RecordBatch::try_from_iter([("own", column(&d, 0)), ("hidden", hidden), ("single", single)]).unwrap();
    for features in ["hidden", "hidden_*"] {
        let inputs = BatchInputs::Head {
            features: Some(vec![features.into()]),
            prediction: Some(vec!["own".into()]),
            logits: None,
        };
        let found = scorer(&model, &inputs, &[], &others).unwrap().score(&others, 0).unwrap();
        assert_eq!(found, expected);
    }
    // Single precision is read as such.
    let inputs = BatchInputs::Head {
        features: Some(vec!["hidden".into()]),
        prediction: Some(vec!["single".into()]),
        logits: None,
    };
    let found = scorer(&model, &inputs, &[], &others).unwrap().score(&others, 0).unwrap();
    assert!(found != expected && found.num_rows() == 50);
}

#[test]
fn as_many_other_names_as_the_head_has_columns() {
    let [f, d, _] = rows(50, 2.0);
    let others = RecordBatch::try_from_iter([("a", column(&f, 0)), ("own", column(&d, 0))]).unwrap();
    let inputs = |features: &[&str], prediction: &[&str]| {
        let names = |names: &[&str]| Some(names.iter().map(|&n| n.into()).collect());
        BatchInputs::Head { features: names(features), prediction: names(prediction), logits: None }
    };
    let model = regression(Kind::Stack, 1);
    let e = failure(&model, &inputs(&["a"], &["own"]), &[], &others);
    assert!(e.contains("names for 1 features, and the fitted head has 4"), "{e}");
    // One column of logits stands for two, whatever the fit had.
    let model = binary();
    let z = logits(50);
    let both = scorer(&model, &BatchInputs::default(), &[], &z).unwrap().score(&z, 0).unwrap();
    let [first, second] = ["z0", "z1"].map(|n| z.column_by_name(n).unwrap().as_primitive::<Float64Type>().clone());
    let margin = second.values().iter().zip(first.values()).map(|(b, a)| b - a);
    let margin: ArrayRef = Arc::new(Float64Array::from_iter_values(margin));
    let one = RecordBatch::try_from_iter([("margin", margin)]).unwrap();
    let named = BatchInputs::Head { features: None, prediction: None, logits: Some(vec!["margin".into()]) };
    let found = scorer(&model, &named, &[], &one).unwrap().score(&one, 0).unwrap();
    let p = |batch: &RecordBatch| batch.column_by_name("p_b").unwrap().as_primitive::<Float64Type>().clone();
    for (a, b) in p(&both).values().iter().zip(p(&found).values()) {
        assert!((a - b).abs() < 1e-12, "{a} and not {b}");
    }
}

#[test]
fn what_a_network_says_goes_to_the_head_by_its_width() {
    let (model, plain) = (regression(Kind::Stack, 1), batch(50));
    let expected = scorer(&model, &BatchInputs::default(), &["key"], &plain).unwrap().score(&plain, 0).unwrap();
    let network = BatchInputs::Network(Some(vec!["f3".into(), "f0".into()]));
    let through = scorer(&model, &network, &["key"], &plain).unwrap();
    let [f, d, _] = rows(50, 2.0);
    let x = through.network_inputs(&plain, 0).unwrap();
    assert_eq!((x.column(0), x.column(1)), (f.column(3), f.column(0)), "in the order of the network");
    let own = d.slice(ndarray::s![.., ..1]).to_owned();
    let names = through.inputs().to_vec();
    let inputs = NetworkInputs { names: &names, values: x.view() };
    let said = model.said("rows".as_ref(), inputs, f.clone(), vec![d.clone(), own.clone()]).unwrap();
    assert_eq!(through.score_said(&plain, &said, 0).unwrap(), expected);
    let narrow = f.slice(ndarray::s![.., ..3]).to_owned();
    let error = model.said("rows".as_ref(), inputs, narrow, vec![own]).unwrap_err().to_string();
    assert!(error.contains("rows: columns of the network's last hidden layer") && error.contains('3'), "{error}");
    let error = model.said("rows".as_ref(), inputs, f.clone(), vec![d.clone()]).unwrap_err().to_string();
    assert!(error.contains("network's output"), "{error}");
    let short = model.said("rows".as_ref(), inputs, rows(49, 2.0)[0].clone(), vec![Array2::zeros((49, 1))]).unwrap();
    assert!(through.score_said(&plain, &short, 0).is_err());
    // Of four features the last two are further columns: the network's inputs f3 and f0, by name.
    let mut with = regression(Kind::Stack, 1);
    with.columns.features = ["h0", "h1", "f3", "f0"].map(String::from).to_vec();
    with.columns.also = 2;
    let hidden = f.slice(ndarray::s![.., ..2]).to_owned();
    let own = || vec![d.slice(ndarray::s![.., ..1]).to_owned()];
    let said = with.said("rows".as_ref(), inputs, hidden.clone(), own()).unwrap();
    assert_eq!(said.names()[..4], with.columns.features);
    assert_eq!((said.column("f3").unwrap(), said.column("f0").unwrap()), (f.column(3), f.column(0)));
    with.columns.features[3] = "weight".into();
    let error = with.said("rows".as_ref(), inputs, hidden, own()).unwrap_err().to_string();
    assert!(error.starts_with("rows: the head was fitted on further columns") && error.contains("`weight`"), "{error}");
    // The file keeps how many there are, and a file without any says nothing.
    let bytes = with.to_bytes().unwrap();
    assert_eq!(Model::from_bytes(&bytes).unwrap().columns, with.columns);
    let has = |model: &Model| String::from_utf8_lossy(&model.to_bytes().unwrap()).contains("also");
    assert!(has(&with) && !has(&model));
    with.columns.also = 9;
    assert!(with.to_bytes().unwrap_err().to_string().contains("9 columns are said to be further ones"));
}

#[test]
fn errors_name_the_rows_and_the_column() {
    let (model, good) = (regression(Kind::Stack, 1), batch(50));
    let default = BatchInputs::default();
    let without = good.project(&[0, 2, 3, 4, 5, 6]).unwrap();
    let error = failure(&model, &default, &[], &without);
    assert!(error.starts_with("rows: 2 columns are missing: `f1`") && error.contains("`f2`"), "{error}");
    let mut columns = good.columns().to_vec();
    let replaced = |i: usize, array: ArrayRef, columns: &mut Vec<ArrayRef>| {
        columns[i] = array;
        let names: Vec<String> = good.schema().fields().iter().map(|f| f.name().clone()).collect();
        RecordBatch::try_from_iter(names.into_iter().zip(columns.iter().cloned())).unwrap()
    };
    let nulls: ArrayRef = Arc::new(Float64Array::from_iter((0..50).map(|i| (i != 17).then_some(1.0))));
    let error = failure(&model, &default, &[], &replaced(3, nulls, &mut columns));
    assert!(error.starts_with("rows, row 117 (from 0), column `f0`"), "{error}");
    let infinite: ArrayRef = Arc::new(Float64Array::from_iter_values((0..50).map(|i| 1.0 / f64::from(i - 3))));
    let error = failure(&model, &default, &[], &replaced(3, infinite, &mut columns));
    assert!(error.starts_with("rows, row 103 (from 0), column `f0`"), "{error}");
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..50).map(|i| i.to_string())));
    let error = failure(&model, &default, &[], &replaced(3, text, &mut columns));
    assert!(error.contains("`f0`") && error.contains("Utf8"), "{error}");
    let error = failure(&model, &default, &["kye"], &good);
    assert!(error.contains("`kye`") && error.contains("`key`"), "{error}");
    let few = BatchInputs::Head { features: Some(vec!["f0".into()]), prediction: None, logits: None };
    let error = failure(&model, &few, &[], &good);
    assert!(error.contains("1 features") && error.contains('4'), "{error}");
    let taken = RecordBatch::try_from_iter(
        [("prediction", good.column(2).clone())]
            .into_iter()
            .chain(["d0", "f0", "f1", "f2", "f3"].map(|n| (n, good.column_by_name(n).unwrap().clone()))),
    );
    let error = failure(&model, &default, &["prediction"], &taken.unwrap());
    assert!(error.contains("`prediction` is to be kept"), "{error}");
}
