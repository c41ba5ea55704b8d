//! Heads with bounds of accuracy in files, and their columns.

mod heads;
mod seal;

use std::path::Path;

use heads::{classification, level, noise};
use ndarray::Array2;
use stonet::classification::{AccuracySettings, SetScheme};
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, FittedClassifier, InputKind, Seed};
use stonet_io::{Cells, Head, Model, ModelScorer, ScoreSettings, SetColumns, Table};

const SPLIT: SetScheme = SetScheme::Split { share: 0.6 };

/// A model with bounds in so many bins, and with sets where a scheme is given.
fn bounded(bins: usize, scheme: Option<SetScheme>) -> Model {
    let model = classification(ClassMethod::Vector, InputKind::Logits);
    let z = noise(200, 3, 0.0) * 3.0;
    let labels: Vec<usize> = (0..200).map(|i| if z[[i, 0]] > z[[i, 1]] { 0 } else { 1 + i % 2 }).collect();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let classifier = head(&model).settings().clone();
    let accuracy = AccuracySettings { held_out: None, bins: Some(bins) };
    let fitted = match scheme {
        None => accuracy.fit(&classifier, &rows, Seed::new(3), &|_, _| true),
        Some(scheme) => {
            let sets = ClassSets { classifier, scheme, ..ClassSets::default() };
            accuracy.fit_sets(&sets, &rows, Seed::new(3), &|_, _| true)
        }
    };
    Model { head: Head::Classification(Box::new(fitted.unwrap())), level: Some(level(0.7)), ..model }
}

fn head(model: &Model) -> &FittedClassifier {
    match &model.head {
        Head::Classification(head) => head,
        _ => panic!("a classification"),
    }
}

fn table(z: &Array2<f64>) -> Table {
    let columns = (0..3).map(|k| z.column(k).to_vec()).collect();
    Table::of_columns(Path::new("rows"), heads::names("z", 3), columns, z.nrows()).unwrap()
}

fn numbers(cells: &Cells<'_>) -> Vec<f64> {
    match cells {
        Cells::Numbers(v) => v.to_vec(),
        Cells::Text(_) => panic!("numbers"),
    }
}

#[test]
fn files_keep_bounds_and_predict_what_the_library_says() {
    let new = noise(50, 3, 0.4) * 3.0;
    let inputs = ClassInputs::logits(new.view()).unwrap();
    for (bins, scheme) in
        [(1, None), (4, None), (40, None), (3, Some(SPLIT)), (3, Some(SetScheme::CvPlus { folds: 3 }))]
    {
        let model = bounded(bins, scheme);
        let bytes = model.to_bytes().unwrap();
        let again = Model::from_bytes(&bytes).unwrap();
        assert_eq!(again, model);
        assert_eq!(again.to_bytes().unwrap(), bytes);
        // The level of the fit, or those that are asked for.
        for levels in [vec![], vec![level(0.8)], vec![level(0.5), level(0.99)]] {
            let sets = scheme.map(|_| SetColumns::Text);
            let settings = ScoreSettings { accuracy: true, sets, levels: levels.clone(), ..ScoreSettings::default() };
            let scorer = ModelScorer::new(&again, &settings).unwrap();
            let names: Vec<&str> = scorer.outputs().iter().map(|c| c.name.as_str()).collect();
            let first = names.iter().position(|n| n.starts_with("accuracy")).unwrap();
            assert_eq!(first, 4 + if scheme.is_some() { 2 * levels.len().max(1) } else { 0 });
            let own = if levels.is_empty() { vec![level(0.7)] } else { levels };
            let expected: &[&str] = match own.len() {
                1 => &["accuracy_lower", "accuracy_upper"],
                _ => &["accuracy_lower_50", "accuracy_upper_50", "accuracy_lower_99", "accuracy_upper_99"],
            };
            assert_eq!(&names[first..], expected);
            let scored = scorer.score(&table(&new)).unwrap();
            let cells = scored.cells();
            for (l, level) in own.iter().enumerate() {
                let bounds = head(&again).accuracy_bounds(&inputs, *level).unwrap();
                for end in 0..2 {
                    assert_eq!(numbers(&cells[first + 2 * l + end]), bounds.column(end).to_vec());
                }
            }
        }
    }
}

#[test]
fn what_a_head_cannot_do_is_refused_in_words() {
    let refused = |model: &Model, settings: ScoreSettings| model.resolve(&settings).unwrap_err().to_string();
    let accuracy = ScoreSettings { accuracy: true, ..ScoreSettings::default() };
    let with = bounded(3, None);
    let without = classification(ClassMethod::Temperature, InputKind::Logits);
    let e = refused(&without, accuracy.clone());
    assert!(e.contains("fitted without them") && e.contains("stonet fit --accuracy-bounds"), "{e}");
    let e = refused(&heads::regression(stonet::Kind::Fast, 1), accuracy.clone());
    assert!(e.contains("this head gives intervals"), "{e}");
    let at = |levels: Vec<stonet::Level>| ScoreSettings { levels, ..ScoreSettings::default() };
    assert!(refused(&with, at(vec![level(0.9)])).contains("give accuracy too"));
    assert!(refused(&bounded(3, Some(SPLIT)), at(vec![level(0.9)])).contains("give sets or accuracy too"));
    let e = refused(&with, ScoreSettings { levels: vec![level(0.9); 2], ..accuracy });
    assert!(e.contains("two levels of 90 %"), "{e}");
    let e = refused(&with, ScoreSettings { sets: Some(SetColumns::Text), ..ScoreSettings::default() });
    assert!(e.contains("stonet fit --sets cv+"), "{e}");
}

#[test]
fn programs_that_know_no_bounds_refuse_the_file_and_damage_is_named() {
    let required = |bytes: &[u8]| -> Vec<String> {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        serde_json::from_str(header["__metadata__"]["required"].as_str().unwrap()).unwrap()
    };
    let bytes = bounded(3, None).to_bytes().unwrap();
    assert_eq!(required(&bytes), ["about", "head", "accuracy"]);
    assert_eq!(required(&bounded(3, Some(SPLIT)).to_bytes().unwrap()), ["about", "head", "sets", "accuracy"]);
    // A bin that ends at another number than 1 leaves rows without bounds.
    let from = bytes.windows(7).position(|w| w == b"\\\"ends\\").unwrap();
    let place = from + bytes[from..].windows(3).position(|w| w == b"1.0").unwrap();
    let mut damaged = bytes.clone();
    damaged[place + 2] = b'7';
    seal::seal(&mut damaged);
    let e = Model::from_bytes(&damaged).unwrap_err().to_string();
    assert!(e.contains("bounds of accuracy"), "{e}");
}
