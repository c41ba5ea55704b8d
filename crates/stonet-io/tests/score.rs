//! Saved models put to use: scores are the fitted head's own, whatever the order of the columns and the size of the
//! batches.
#![cfg(feature = "parquet")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

mod heads;

use heads::{classification, level, names, noise, regression, rows};
use ndarray::{Array2, Axis, concatenate, s};
use stonet::{ClassInputs, ClassMethod, InputKind, Kind, Level, RegressionInputs, RegressionRows, Seed, Side};
use stonet_io::{
    Cells, Column, Error, Head, Model, ModelColumns, ModelScorer, Problem, Reading, ScoreSettings, Setting, Table,
    Type, Writer, read, score_file,
};

fn scorer(model: &Model, settings: ScoreSettings) -> ModelScorer {
    ModelScorer::new(model, &settings).unwrap()
}

fn output_names(scorer: &ModelScorer) -> Vec<&str> {
    scorer.outputs().iter().map(|c| &*c.name).collect()
}

/// Columns in an order that is not the model's, with one that nobody asked for.
fn table(n: usize) -> (Table, [Array2<f64>; 3]) {
    let [f, d, y] = rows(n, 2.0);
    let order = ["d1", "f2", "other", "f0", "f3", "d0", "f1"];
    let columns = [d.column(1), f.column(2), y.column(0), f.column(0), f.column(3), d.column(0), f.column(1)];
    let values = ndarray::stack(Axis(1), &columns).unwrap();
    (Table::new("new.csv", order.map(String::from).into(), values).unwrap(), [f, d, y])
}

fn numbers(cells: &Cells<'_>) -> Vec<f64> {
    match cells {
        Cells::Numbers(v) => v.to_vec(),
        Cells::Text(_) => panic!("numbers"),
    }
}

fn close(a: &[f64], b: impl IntoIterator<Item = f64>) {
    let b: Vec<f64> = b.into_iter().collect();
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!(*a == b || (a - b).abs() <= 1e-10 * b.abs().max(1e-3), "{a} and not {b}");
    }
}

#[test]
fn quantiles_and_probabilities_stand_in_columns_of_their_own() {
    for targets in [1, 2] {
        let model = regression(Kind::Fast, targets);
        let Head::Regression(head) = &model.head else { panic!("a regression") };
        let (table, [f, d, _]) = table(50);
        let new = RegressionInputs::new(f.view()).unwrap().with_prediction(d.slice(s![.., ..targets])).unwrap();
        let quantiles = [level(0.25), level(0.5), level(0.975)].to_vec();
        let below = vec![-1.5, 100.0];
        let settings = ScoreSettings { quantiles: quantiles.clone(), below: below.clone(), ..ScoreSettings::default() };
        let scorer = scorer(&model, settings.clone());
        let all = ["prediction", "q25", "q50", "q97.5", "below_-1.5", "below_100"];
        let name = |prefix: &str| all.map(|n| format!("{prefix}{n}"));
        let wanted = if targets == 1 { name("").to_vec() } else { [name("y0_"), name("y1_")].concat() };
        assert_eq!(output_names(&scorer), wanted);
        let (scored, found) = (scorer.score(&table).unwrap(), head.quantiles(&new, &quantiles).unwrap());
        let (cells, p) = (scored.cells(), head.cdf(&new, &below).unwrap());
        for j in 0..targets {
            let tables = found.iter().chain(&p).enumerate();
            tables.for_each(|(i, t)| close(&numbers(&cells[6 * j + 1 + i]), t.column(j).iter().copied()));
        }
        // Intervals come beside them where levels are given.
        let levels = vec![level(0.8)];
        let both = ModelScorer::new(&model, &ScoreSettings { levels, ..settings.clone() }).unwrap();
        assert_eq!(both.outputs().len(), 8 * targets);
        let refused = |settings: ScoreSettings, words: &str| {
            let e = ModelScorer::new(&model, &settings).unwrap_err().to_string();
            assert!(e.contains(words), "{e}");
        };
        refused(
            ScoreSettings { side: Side::Lower, ..settings.clone() },
            "side is for intervals, and none are asked for",
        );
        refused(ScoreSettings { below: vec![1.0, 1.0], ..settings.clone() }, "below has two values of below_1");
        refused(ScoreSettings { below: vec![f64::NAN], ..settings.clone() }, "below has NaN");
        refused(ScoreSettings { quantiles: vec![level(0.5); 2], ..settings }, "quantiles has two quantiles of q50");
    }
    let classes = classification(ClassMethod::Temperature, InputKind::Logits);
    let settings = ScoreSettings { below: vec![1.0], ..ScoreSettings::default() };
    assert!(ModelScorer::new(&classes, &settings).unwrap_err().to_string().contains("below is for numbers"));
}

#[test]
fn intervals_are_those_of_the_fitted_head() {
    for kind in Kind::ALL {
        for targets in [1, 2] {
            let model = regression(kind, targets);
            let Head::Regression(head) = &model.head else { panic!("a regression") };
            let (table, [f, d, _]) = table(50);
            let d = d.slice(s![.., ..targets]);
            let new = RegressionInputs::new(f.view()).unwrap().with_prediction(d).unwrap();
            let levels = [level(0.9), level(0.75)];
            let settings = ScoreSettings { levels: levels.to_vec(), joint: targets == 2, ..ScoreSettings::default() };
            let scorer = scorer(&model, settings);
            let scored = scorer.score(&table).unwrap();
            let cells = scored.cells();
            assert_eq!((scored.rows(), cells.len()), (50, 5 * targets));
            for (l, level) in levels.into_iter().enumerate() {
                let i = head.joint_intervals(&new, level, Side::Both).unwrap();
                for j in 0..targets {
                    let of = |c: usize| numbers(&cells[5 * j + c]);
                    close(&of(0), i.prediction.column(j).iter().copied());
                    close(&of(1 + 2 * l), i.lower.column(j).iter().copied());
                    close(&of(2 + 2 * l), i.upper.column(j).iter().copied());
                }
            }
            if targets == 1 {
                assert_eq!(output_names(&scorer), ["prediction", "lower_90", "upper_90", "lower_75", "upper_75"]);
            }
        }
    }
}

#[test]
fn names_of_outputs() {
    let model = regression(Kind::Fast, 2);
    let two = scorer(&model, ScoreSettings { side: Side::Upper, ..ScoreSettings::default() });
    assert_eq!(output_names(&two), ["y0_prediction", "y0_upper_80", "y1_prediction", "y1_upper_80"]);
    let model = regression(Kind::Fast, 1);
    let levels = vec![level(0.995), level(0.57), level(1.0 / 3.0)];
    let one = scorer(&model, ScoreSettings { side: Side::Lower, levels, single: true, ..ScoreSettings::default() });
    assert_eq!(output_names(&one), ["prediction", "lower_99.5", "lower_57", "lower_33.3333333333"]);
    assert!(one.outputs().iter().all(|c| c.kind == Type::F32));
    assert_eq!(one.inputs().last().unwrap(), "d0");
    let paper = scorer(&regression(Kind::Paper, 1), ScoreSettings::default());
    assert!(paper.inputs().iter().all(|n| n.starts_with('f')), "Eve's law does not look at the network's prediction");
    let classes = scorer(&classification(ClassMethod::Vector, InputKind::Logits), ScoreSettings::default());
    assert_eq!(output_names(&classes), ["class", "p_cat", "p_dog", "p_bär"]);
    assert_eq!(classes.inputs(), ["z0", "z1", "z2"]);
}

#[test]
fn levels_that_nobody_gave_and_levels_that_are_refused() {
    let levels = |model: &Model| model.resolve(&ScoreSettings::default()).unwrap().levels().map(<[Level]>::to_vec);
    let model = regression(Kind::Fast, 1);
    assert_eq!(levels(&model), Some(vec![level(0.8)]));
    assert_eq!(levels(&Model { level: None, ..model.clone() }), Some(vec![level(0.9)]));
    // Columns would have the same name, though the second pair is not quite equal.
    for (second, name) in [(0.9, "90"), (0.9 + 1e-14, "90"), (0.9999999, "99.99999")] {
        let first = if second > 0.99 { second } else { 0.9 };
        let twice = ScoreSettings { levels: vec![level(first), level(0.5), level(second)], ..Default::default() };
        let e = model.resolve(&twice).unwrap_err().to_string();
        assert_eq!(e, format!("levels has two levels of {name} %; leave one of them out"));
        let e = model.resolve_as(&twice, |_| "--level").unwrap_err().to_string();
        assert!(e.starts_with("--level has two levels"), "{e}");
    }
    let classes = classification(ClassMethod::Vector, InputKind::Logits);
    assert_eq!(levels(&classes), None);
    let e = classes.resolve(&ScoreSettings { joint: true, ..Default::default() }).unwrap_err().to_string();
    assert_eq!(e, "joint is for intervals, and this head gives class probabilities");
    for (model, setting, refused) in [
        (&model, Setting::Prediction, false),
        (&model, Setting::Features, true),
        (&classes, Setting::Prediction, true),
        (&classes, Setting::Features, false),
    ] {
        assert_eq!(model.refused(&[setting], |s| s).is_some(), refused, "{setting:?}");
    }
    let columns = ModelColumns { prediction: Vec::new(), ..model.columns.clone() };
    let (_, why) = Model { columns, ..model }.refused(&[Setting::Prediction], |s| s).unwrap();
    assert!(why.contains("fitted without one"), "{why}");
}

#[test]
fn all_missing_columns_are_named_at_once_with_the_nearest() {
    let scorer = scorer(&regression(Kind::Fast, 1), ScoreSettings::default());
    let table = Table::new("new.csv", ["F0", "f1", "F2x", "g"].map(String::from).into(), noise(3, 4, 0.0)).unwrap();
    let e = scorer.score(&table).unwrap_err().to_string();
    assert!(e.contains("new.csv: 4 columns are missing: `f0` (nearest is `F0`), `f2` (nearest is `F0`)"), "{e}");
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("new.csv"), dir.path().join("out.csv"));
    std::fs::write(&input, "F0,f1,F2x,g\n1,2,3,4\n").unwrap();
    let e = score_file(&scorer, &input, &[], &output, &[], 10, &|_, _| true).unwrap_err();
    assert!(matches!(e.problem(), Some(Problem::MissingColumns { count: 4, .. })), "{e}");
    assert!(!output.exists());
}

#[test]
fn classes_are_those_of_the_fitted_head() {
    for (method, kind) in [
        (ClassMethod::Stack, InputKind::Logits),
        (ClassMethod::Isotonic, InputKind::Logits),
        (ClassMethod::PostLinear, InputKind::Features),
        (ClassMethod::Temperature, InputKind::Probabilities),
    ] {
        let model = classification(method, kind);
        let Head::Classification(head) = &model.head else { panic!("a classification") };
        let z = noise(40, 3, 2.0);
        let given = if kind == InputKind::Probabilities {
            stonet::network::Likelihood::Multinomial.mean(z.clone())
        } else {
            z.clone()
        };
        let inputs = match kind {
            InputKind::Features => ClassInputs::features(z.view()),
            _ => ClassInputs::logits(z.view()),
        };
        let p = head.probabilities(&inputs.unwrap()).unwrap();
        let table = Table::new("t", names("z", 3), given).unwrap();
        let scored = scorer(&model, ScoreSettings::default()).score(&table).unwrap();
        let cells = scored.cells();
        for k in 0..3 {
            close(&numbers(&cells[k + 1]), p.column(k).iter().copied());
        }
        let Cells::Text(classes) = cells[0] else { panic!("text") };
        for (class, p) in classes.iter().zip(p.outer_iter()) {
            // The first of equals.
            let best = (0..3).rev().max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
            assert_eq!(class, ["cat", "dog", "bär"][best]);
        }
    }
}

/// Writes rows with an id, a note and the inputs.
fn write(path: &Path, n: usize) -> Array2<f64> {
    let [f, d, _] = rows(n, 2.0);
    let values = concatenate![Axis(1), f, d];
    let mut columns = vec![Column::new("id", Type::Integer), Column::new("note", Type::Text)];
    columns.extend(names("f", 4).into_iter().chain(names("d", 2)).map(|n| Column::new(n, Type::F64)));
    let mut writer = Writer::create(path, columns).unwrap();
    let id: Vec<String> = (0..n).map(|i| (i64::MAX - i as i64).to_string()).collect();
    let note: Vec<String> = (0..n).map(|i| format!("row, {i}")).collect();
    let numbers = values.axis_iter(Axis(1)).map(Cells::Numbers);
    writer.write(&[Cells::Text(&id), Cells::Text(&note)].into_iter().chain(numbers).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    values
}

#[test]
fn files_keep_their_order_and_the_columns_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let model = regression(Kind::Stack, 2);
    let scorer = scorer(&model, ScoreSettings::default());
    let expected = {
        let path = dir.path().join("once.parquet");
        write(&path, 1000);
        let table = Reading { numbers: Some(scorer.inputs().to_vec()), ..Reading::default() }.read(&path).unwrap();
        scorer.score(&table).unwrap()
    };
    let keep = ["note".to_owned(), "id".into(), "f1".into()];
    for input in ["in.parquet", "in.arrow", "in.csv"] {
        for output in ["out.parquet", "out.feather", "out.csv.gz"] {
            for batch in [37, 5000] {
                let (input, output) = (dir.path().join(input), dir.path().join(output));
                let values = write(&input, 1000);
                let seen = AtomicUsize::new(0);
                let tick = |done: usize, total: usize| {
                    assert!(total == 0 || total == 1000);
                    seen.store(done, Ordering::Relaxed);
                    true
                };
                assert_eq!(score_file(&scorer, &input, &[], &output, &keep, batch, &tick).unwrap(), 1000);
                assert_eq!(seen.load(Ordering::Relaxed), 1000);
                let reading = Reading { text: vec!["id".into(), "note".into()], ..Reading::default() };
                let back = reading.read(&output).unwrap();
                assert_eq!(back.text("id").unwrap()[998], "9223372036854774809");
                assert_eq!(back.text("note").unwrap()[7], "row, 7");
                assert_eq!(back.names()[0], "f1");
                // A kept integer is an integer again; a text file knows no types.
                if input.extension() != Some("csv".as_ref()) && output.ends_with("out.parquet") {
                    let e = read(&output).unwrap_err().to_string();
                    assert!(e.contains("`note`") && !e.contains("`id`"), "{e}");
                }
                assert_eq!(back.column("f1").unwrap(), values.column(1));
                for (column, cells) in scorer.outputs().iter().zip(expected.cells()) {
                    close(&back.column(&column.name).unwrap().to_vec(), numbers(&cells));
                }
            }
        }
    }
}

#[test]
fn nothing_is_left_of_what_fails_or_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let scorer = scorer(&regression(Kind::Fast, 1), ScoreSettings::default());
    let (input, output) = (dir.path().join("in.parquet"), dir.path().join("out.parquet"));
    write(&input, 3000);
    let count = || std::fs::read_dir(dir.path()).unwrap().count();
    let stop = |done: usize, _: usize| done < 900;
    let e = score_file(&scorer, &input, &[], &output, &[], 100, &stop).unwrap_err();
    assert!(matches!(e, Error::Cancelled(c) if c.done == 900) && count() == 1, "{e}");
    let e = score_file(&scorer, &input, &[], &dir.path().join("no/out.parquet"), &[], 100, &|_, _| true).unwrap_err();
    assert!(matches!(e, Error::Unwritable { .. }), "{e}");
    let e = score_file(&scorer, &input, &[], &output, &["f1".into(), "nix".into()], 100, &|_, _| true).unwrap_err();
    assert!(e.to_string().contains("no column `nix`"), "{e}");
    let csv = dir.path().join("in.csv");
    let mut text = "f0,f1,f2,f3,d0\n".to_owned() + &"1,2,3,4,5\n".repeat(400);
    text += "1,2,,4,5\n";
    std::fs::write(&csv, text).unwrap();
    let e = score_file(&scorer, &csv, &[], &output, &[], 100, &|_, _| true).unwrap_err().to_string();
    assert!(e.contains("line 402, column `f2`: missing value"), "{e}");
    assert_eq!(count(), 2);
    // Rows count through the whole file, also where the model refuses them.
    let scorer = ModelScorer::new(
        &classification(ClassMethod::Temperature, InputKind::Probabilities),
        &ScoreSettings::default(),
    );
    let text = "z0,z1,z2\n".to_owned() + &"0.5,0.25,0.25\n".repeat(250) + "0.5,0.5,0.5\n";
    std::fs::write(&csv, text).unwrap();
    let e = score_file(&scorer.unwrap(), &csv, &[], &output, &[], 100, &|_, _| true).unwrap_err().to_string();
    assert!(e.contains("row 250"), "{e}");
    assert!(read(&csv).is_ok() && count() == 2);
}

#[test]
fn a_head_that_a_stream_calibrated_comes_back_from_its_file() {
    let model = regression(Kind::Split, 2);
    let Head::Regression(head) = &model.head else { unreachable!("it is a regression") };
    let [features, prediction, y] = rows(80, 0.0);
    let sample = RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(prediction.view()).unwrap();
    let mut head = head.settings().fit_sample(&sample, Seed::new(3), &|_, _| true).unwrap();
    for batch in 1..20 {
        let [features, prediction, y] = rows(1000, f64::from(batch));
        let more = RegressionRows::new(features.view(), y.view()).unwrap().with_prediction(prediction.view()).unwrap();
        head.calibrate(&more).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("head.stonet");
    let model = Model { head: Head::Regression(Box::new(head.finish().unwrap())), ..model };
    model.save(&path).unwrap();
    let back = Model::load(&path).unwrap();
    assert_eq!(back.head, model.head);
    let settings = ScoreSettings { levels: vec![level(0.5), level(0.999)], side: Side::Upper, ..Default::default() };
    let (table, _) = table(50);
    let score = |m: &Model| scorer(m, settings.clone()).score(&table).unwrap();
    assert_eq!(score(&back), score(&model));
}
