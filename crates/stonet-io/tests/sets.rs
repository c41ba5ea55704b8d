//! Heads with prediction sets in files, and their columns.

mod heads;
mod seal;

use std::path::Path;

use heads::{classification, level, noise};
use ndarray::Array2;
use stonet::classification::SetScheme;
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, InputKind, Labels, Seed};
use stonet_io::{Cells, Head, Model, ModelScorer, ScoreSettings, SetColumns, Table};

/// A model whose sets are cut at this score.
fn with_sets(score: SetScore, by: SetBy, scheme: SetScheme) -> Model {
    let model = classification(ClassMethod::Vector, InputKind::Logits);
    let Head::Classification(head) = &model.head else { panic!("a classification") };
    let z = noise(90, 3, 0.0) * 3.0;
    let labels: Vec<usize> = (0..90).map(|i| if z[[i, 0]] > z[[i, 1]] { 0 } else { 1 + i % 2 }).collect();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let rule = SetRule { score, by, never_empty: true };
    let sets = ClassSets { classifier: head.settings().clone(), rule, scheme, ..ClassSets::default() };
    let head = Head::Classification(Box::new(sets.fit(&rows, Seed::new(3), &|_, _| true).unwrap()));
    // Labels in which the separator stands.
    let labels = Labels::named(["a|b", "c\\", "d"].map(String::from).to_vec()).unwrap();
    Model { head, labels: Some(labels), level: Some(level(0.7)), ..model }
}

const CV: SetScheme = SetScheme::CvPlus { folds: 3 };
const SPLIT: SetScheme = SetScheme::Split { share: 0.6 };

fn table(z: &Array2<f64>) -> Table {
    let columns = (0..3).map(|k| z.column(k).to_vec()).collect();
    Table::of_columns(Path::new("rows"), heads::names("z", 3), columns, z.nrows()).unwrap()
}

fn text(cells: &Cells<'_>) -> Vec<String> {
    match cells {
        Cells::Text(t) => t.to_vec(),
        Cells::Numbers(v) => v.iter().map(f64::to_string).collect(),
    }
}

#[test]
fn files_keep_sets_and_predict_what_the_library_says() {
    let new = noise(50, 3, 0.4) * 3.0;
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let part = LabelPart::None;
    let scores = [SetScore::Lac, SetScore::Aps { part }, SetScore::Raps { part }, SetScore::Saps { part }];
    for score in scores {
        for (by, scheme) in [(SetBy::All, CV), (SetBy::All, SPLIT), (SetBy::Class, SPLIT), (SetBy::Cluster, SPLIT)] {
            let model = with_sets(score, by, scheme);
            let bytes = model.to_bytes().unwrap();
            let again = Model::from_bytes(&bytes).unwrap();
            assert_eq!(again, model);
            assert_eq!(again.to_bytes().unwrap(), bytes);
            let Head::Classification(head) = &again.head else { panic!("a classification") };
            let settings = ScoreSettings { sets: Some(SetColumns::Columns), ..ScoreSettings::default() };
            let scorer = ModelScorer::new(&again, &settings).unwrap();
            let names: Vec<&str> = scorer.outputs().iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names, ["class", "p_a|b", "p_c\\", "p_d", "in_a|b", "in_c\\", "in_d", "set_size"]);
            let scored = scorer.score(&table(&new)).unwrap();
            let cells = scored.cells();
            let expected = head.sets(&inputs, level(0.7), Seed::new(9)).unwrap();
            for k in 0..3 {
                let found: Vec<bool> = text(&cells[4 + k]).iter().map(|c| c == "1").collect();
                assert_eq!(found, expected.contains.column(k).to_vec(), "{score:?} {by:?} {scheme:?}");
            }
            let sizes: Vec<String> = expected.sizes().iter().map(usize::to_string).collect();
            assert_eq!(text(&cells[7]), sizes);
        }
    }
}

#[test]
fn labels_in_a_text_stay_apart_and_levels_have_names() {
    let model = with_sets(SetScore::Lac, SetBy::All, CV);
    let new = noise(50, 3, 0.4) * 3.0;
    let Head::Classification(head) = &model.head else { panic!("a classification") };
    let levels = vec![level(0.5), level(0.999)];
    let settings = ScoreSettings { sets: Some(SetColumns::Text), levels, ..ScoreSettings::default() };
    let scorer = ModelScorer::new(&model, &settings).unwrap();
    let names: Vec<&str> = scorer.outputs().iter().map(|c| c.name.as_str()).skip(4).collect();
    assert_eq!(names, ["set_50", "set_size_50", "set_99.9", "set_size_99.9"]);
    let scored = scorer.score(&table(&new)).unwrap();
    let cells = scored.cells();
    // Too few rows for the level: every class.
    assert!(text(&cells[6]).iter().all(|t| t == r"a\|b|c\\|d"));
    let inputs = ClassInputs::logits(new.view()).unwrap();
    let expected = head.sets(&inputs, level(0.5), Seed::new(1)).unwrap();
    for (i, found) in text(&cells[4]).iter().enumerate() {
        let names = [r"a\|b", r"c\\", "d"];
        let kept: Vec<&str> = (0..3).filter(|k| expected.contains[[i, *k]]).map(|k| names[k]).collect();
        assert_eq!(*found, kept.join("|"));
    }
}

#[test]
fn what_a_head_cannot_do_is_refused_in_words() {
    let refused = |model: &Model, settings: ScoreSettings| model.resolve(&settings).unwrap_err().to_string();
    let sets = Some(SetColumns::Text);
    let with = with_sets(SetScore::Lac, SetBy::All, CV);
    let without = classification(ClassMethod::Temperature, InputKind::Logits);
    let e = refused(&without, ScoreSettings { sets, ..ScoreSettings::default() });
    assert!(e.contains("fitted without them") && e.contains("stonet fit --sets cv+"), "{e}");
    let e = refused(&heads::regression(stonet::Kind::Fast, 1), ScoreSettings { sets, ..ScoreSettings::default() });
    assert!(e.contains("this head gives intervals"), "{e}");
    let e = refused(&with, ScoreSettings { levels: vec![level(0.9)], ..ScoreSettings::default() });
    assert!(e.contains("give sets too"), "{e}");
    let e = refused(&with, ScoreSettings { sets, levels: vec![level(0.9); 2], ..ScoreSettings::default() });
    assert!(e.contains("two levels of 90 %"), "{e}");
    let random = with_sets(SetScore::APS, SetBy::All, CV);
    let e = refused(&random, ScoreSettings { sets, ..ScoreSettings::default() });
    assert!(e.contains("drawn at random"), "{e}");
    assert_eq!(Model::from_bytes(&random.to_bytes().unwrap()).unwrap(), random);
}

#[test]
fn programs_that_know_no_sets_refuse_the_file_and_damage_is_named() {
    let bytes = with_sets(SetScore::Lac, SetBy::All, CV).to_bytes().unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let required: Vec<String> = serde_json::from_str(header["__metadata__"]["required"].as_str().unwrap()).unwrap();
    assert_eq!(required, ["about", "head", "sets"]);
    // The scores of another number of classes do not belong to the head.
    let from = bytes.windows(8).position(|w| w == b"\\\"groups").unwrap();
    let place = from + bytes[from..].iter().position(|b| *b == b'0').unwrap();
    let mut damaged = bytes.clone();
    damaged[place] = b'7';
    seal::seal(&mut damaged);
    let e = Model::from_bytes(&damaged).unwrap_err().to_string();
    assert!(e.contains("prediction sets"), "{e}");
}
