//! Evaluations agree with the library's own numbers, keep their promises in words, and survive JSON.

mod common;

use ndarray::{Array2, array, s};
use stonet::metrics::{class_scores, coverage, mean_length, rmse, winkler};
use stonet::{ClassInputs, ClassMethod, ClassRows, Kind, Level, PostStoNetClassifier, RegressionInputs, Seed, Side};
use stonet_report::*;

fn level() -> Level {
    Level::new(0.9).unwrap()
}

#[test]
fn numbers_of_intervals_are_those_of_the_library() {
    let (train, test) = (common::rows(250, 1, 1), common::rows(300, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let e =
        RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &EvaluateSettings::new(level())).unwrap();
    let i = fitted.intervals(&test.new_rows(), level(), Side::Both).unwrap();
    let expected = [
        ("coverage", coverage(&i, test.y.view()).unwrap()),
        ("mean_length", mean_length(&i)),
        ("winkler", winkler(&i, test.y.view()).unwrap()),
        ("rmse", rmse(i.prediction.view(), test.y.view()).unwrap()),
    ];
    for (name, value) in expected {
        assert!((e.metric(name).unwrap() - value).abs() < 1e-12, "{name}");
    }
    assert_eq!(e.metric("ece"), None);
    assert!(REGRESSION_METRICS.iter().all(|name| e.metric(name).is_some()));
    assert_eq!(e.overall.network_rmse, Some(rmse(test.prediction.view(), test.y.view()).unwrap()));
    let target = &e.targets[0];
    // Strata hold every row once, and their hits add up.
    for strata in [&target.by_width, &target.by_prediction] {
        assert_eq!(strata.iter().map(|s| s.coverage.rows).sum::<usize>(), 300);
        let hits: f64 = strata.iter().map(|s| s.coverage.value * s.coverage.rows as f64).sum();
        assert!((hits - 300.0 * e.overall.coverage.value).abs() < 1e-9);
    }
    // Wider levels cover no less, and the curve passes through the level asked for.
    assert!(target.curve.windows(2).all(|w| w[0].coverage.value <= w[1].coverage.value));
    assert_eq!(target.curve[4].coverage, e.overall.coverage);
    assert_eq!((target.sample.len(), target.variance.as_ref().unwrap().parts.len()), (200, 2));
    let shares: f64 = target.variance.as_ref().unwrap().parts.iter().map(|p| p.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    // `fast` has ridge and the network; the network's prediction is one of the columns that are shuffled.
    let w = target.weights.unwrap();
    assert!((w.ridge + w.network - 1.0).abs() < 1e-9 && w.stonet == 0.0);
    assert_eq!(e.importance.columns, 6);
    assert!(e.importance.features.iter().any(|f| f.name.contains("own prediction") && f.increase > 0.1));
}

#[test]
fn a_small_sample_is_all_rows_in_the_order_of_predictions() {
    let (train, test) = (common::rows(100, 1, 1), common::rows(150, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let e =
        RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &EvaluateSettings::new(level())).unwrap();
    let sample = &e.targets[0].sample;
    let inside = sample.iter().filter(|r| r.lower <= r.truth && r.truth <= r.upper).count();
    assert!(sample.len() == 150 && (inside as f64 / 150.0 - e.overall.coverage.value).abs() < 1e-12);
    assert!(sample.windows(2).all(|w| w[0].prediction <= w[1].prediction));
    assert!(sample.iter().all(|r| r.truth == test.y[[r.row, 0]]));
}

#[test]
fn eves_law_splits_by_layer_and_names_the_driving_features() {
    let e = common::regression(Kind::Paper, 1, false);
    let split = e.targets[0].variance.as_ref().unwrap();
    assert!(split.eve && split.parts.len() == 3 && split.parts[2].source.contains("ς²"));
    assert!((split.parts.iter().map(|p| p.share).sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(e.targets[0].weights.is_none());
    let first = &e.importance.features[0];
    assert_eq!((first.name.as_str(), first.selected), ("rooms", Some(1.0)));
    let (column, groups) = e.subgroups.as_ref().unwrap();
    assert_eq!((column.as_str(), groups.len()), ("region", 3));
    assert_eq!(groups.iter().map(|g| g.coverage.rows).sum::<usize>(), 600);
    assert!(groups.windows(2).all(|w| w[0].coverage.rows >= w[1].coverage.rows));
}

#[test]
fn joint_boxes_count_rows_and_single_intervals_count_values() {
    let (train, test) = (common::rows(200, 2, 1), common::rows(400, 2, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let of = |joint| {
        let settings = EvaluateSettings { joint, ..EvaluateSettings::new(level()) };
        RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap()
    };
    let (single, joint) = (of(false), of(true));
    let mean = (single.targets[0].scores.coverage.value + single.targets[1].scores.coverage.value) / 2.0;
    assert!((single.overall.coverage.value - mean).abs() < 1e-12);
    // Values of one row go together: the interval is that of 400 rows, not of 800 values.
    assert_eq!(single.overall.coverage.rows, 400);
    let boxes = fitted.joint_intervals(&test.new_rows(), level(), Side::Both).unwrap();
    let hits = stonet::metrics::covered(&boxes, test.y.view()).unwrap();
    let rows = hits.outer_iter().filter(|r| r.iter().all(|h| *h)).count();
    assert!((joint.overall.coverage.value - rows as f64 / 400.0).abs() < 1e-12);
    assert!((joint.targets[0].scores.level.get() - 0.95).abs() < 1e-12 && joint.overall.level == level());
    assert!(joint.verdict().starts_with("The joint 90 % boxes held both targets of "));
    assert!(single.verdict().contains("of the values of 2 targets in 400 new rows"));
}

#[test]
fn verdicts_turn_where_the_interval_leaves_the_level() {
    let mut e = common::regression(Kind::Fast, 1, false);
    let mut verdict = |hits: f64| {
        e.overall.coverage = Proportion::new(hits, 2000);
        e.rows = 2000;
        (e.judgement(), e.verdict())
    };
    let edges =
        |p: &dyn Fn(&Proportion) -> bool| (1700..1900).find(|h| p(&Proportion::new(f64::from(*h), 2000))).unwrap();
    let first_kept = edges(&|p| p.high >= 0.9);
    let first_cautious = edges(&|p| p.low > 0.9);
    assert!(first_kept > 1760 && first_cautious < 1840);
    let (judgement, text) = verdict(f64::from(first_kept));
    assert_eq!(judgement, Judgement::Kept);
    assert!(text.starts_with("The 90 % intervals held 88.") && text.ends_with("): as promised."), "{text}");
    let (judgement, text) = verdict(f64::from(first_kept - 1));
    assert!(judgement == Judgement::Short && text.contains("too few"), "{text}");
    assert_eq!(verdict(f64::from(first_cautious - 1)).0, Judgement::Kept);
    let (judgement, text) = verdict(f64::from(first_cautious));
    assert!(judgement == Judgement::Cautious && text.contains("cautious"), "{text}");
    let (_, text) = verdict(1788.0);
    assert_eq!(text, "The 90 % intervals held 89.4 % of 2,000 new values (95 % interval 88.0–90.7): as promised.");
}

#[test]
fn weak_spots_are_told_though_the_promise_is_kept_overall() {
    let mut e = common::regression(Kind::Fast, 1, false);
    e.targets[0].by_width.iter_mut().for_each(|s| s.judgement = Judgement::Kept);
    e.targets[0].by_prediction.iter_mut().for_each(|s| s.judgement = Judgement::Kept);
    e.targets[0].diagnosis = Diagnosis::default();
    e.subgroups.as_mut().unwrap().1.iter_mut().for_each(|g| g.judgement = Judgement::Kept);
    assert!(e.weak_spots().is_empty());
    assert!(!regression_report(&e, &common::about("")).contains("Worth a look"));
    e.targets[0].by_width[4].judgement = Judgement::Short;
    let group = &mut e.subgroups.as_mut().unwrap().1[0];
    (group.judgement, group.coverage) = (Judgement::Short, Proportion::new(150.0, 200));
    let spots = e.weak_spots();
    assert_eq!(spots.len(), 2);
    assert!(spots[0].contains("of the values with an interval of length"), "{spots:?}");
    assert_eq!(spots[1], "Only 75.0 % were held where region is south (200 rows).");
    assert!(e.text().contains("\n! Only 75.0 %"));
    assert!(regression_report(&e, &common::about("")).contains("Worth a look"));
}

#[test]
fn a_target_that_falls_short_is_named() {
    let mut e = common::regression(Kind::Fast, 2, false);
    e.targets[1].scores.coverage = Proportion::new(480.0, 600);
    assert!(e.verdict().ends_with("; too few for `y1` (80.0 %)."), "{}", e.verdict());
}

#[test]
fn infinite_intervals_are_told_and_drawn_as_such() {
    // Twelve calibration rows give no finite interval at 99 %.
    let (train, test) = (common::rows(12, 1, 1), common::rows(40, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let settings = EvaluateSettings::new(Level::new(0.99).unwrap());
    let e = RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap();
    assert!(e.overall.mean_length.is_infinite() && e.overall.coverage.value == 1.0);
    let text = serde_json::to_string(&e).unwrap();
    assert_eq!(serde_json::from_str::<RegressionEvaluation>(&text).unwrap(), e);
    let html = regression_report(&e, &common::about("infinite"));
    assert!(html.contains("class=\"clip\"") && html.contains('∞') && html.contains("without an end"));
    for svg in html.split("<svg").skip(1) {
        let svg = svg.split("</svg>").next().unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("=\"inf") && !svg.contains("=\"-inf"));
    }
    assert!(!"mean_length<=100".parse::<Requirement>().unwrap().holds(&e).unwrap());
}

#[test]
fn evaluations_survive_json_and_have_text() {
    let e = common::regression(Kind::Stack, 1, false);
    assert_eq!(serde_json::from_str::<RegressionEvaluation>(&serde_json::to_string(&e).unwrap()).unwrap(), e);
    let text = e.text();
    assert!(text.starts_with(&e.verdict()) && text.contains("region") && text.contains("99 %"));
    let c = common::classes();
    assert_eq!(serde_json::from_str::<ClassEvaluation>(&serde_json::to_string(&c).unwrap()).unwrap(), c);
    let text = c.text();
    assert!(text.starts_with(&c.verdict()) && text.contains("horse") && text.contains("camera 2"));
    assert!(text.lines().all(|l| l == l.trim_end()));
}

#[test]
fn numbers_of_classes_are_those_of_the_library() {
    let e = common::classes();
    assert!(CLASS_METRICS.iter().all(|name| e.metric(name).is_some()) && e.metric("coverage").is_none());
    assert_eq!(e.reliability.iter().map(|r| r.accuracy.rows).sum::<usize>(), 1500);
    // Σ n_b |accuracy_b − confidence_b| is the calibration error.
    let gaps = e.reliability.iter().map(|r| r.accuracy.rows as f64 * (r.accuracy.value - r.confidence).abs());
    assert!((gaps.sum::<f64>() / 1500.0 - e.scores.ece.value).abs() < 1e-12);
    let (z, labels) = common::logits(1500, 4, 2);
    let own = class_scores(common::softmax(&z).view(), &labels, 15).unwrap();
    assert_eq!(e.network.as_ref().unwrap().ece.value, own.ece);
    assert!((e.classes.iter().map(|c| c.frequency).sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(e.confidence.iter().map(|b| b.right + b.wrong).sum::<usize>(), 1500);
    // All four logits matter, and alike.
    let importance = e.importance.as_ref().unwrap();
    assert!(importance.features.len() == 4 && importance.features.iter().all(|f| f.increase > 0.1));
    assert_eq!(e.subgroups.as_ref().unwrap().1.iter().map(|g| g.accuracy.rows).sum::<usize>(), 1500);
}

#[test]
fn class_verdicts_turn_at_the_limit_of_chance() {
    let mut e = common::classes();
    let limit = e.scores.ece.floor.unwrap().high;
    e.scores.ece.value = limit;
    assert!(e.calibrated() && e.verdict().contains(": calibrated"), "{}", e.verdict());
    e.scores.ece.value = limit + 1e-9;
    e.accuracy = Proportion::new(900.0, 1500);
    e.mean_confidence = 0.7;
    assert!(e.verdict().contains(": overconfident, it says 70.0 % and is right in 60.0 %"), "{}", e.verdict());
    e.mean_confidence = 0.5;
    assert!(e.verdict().contains(": too modest"));
    e.mean_confidence = 0.6;
    assert!(e.verdict().contains(": not calibrated;"), "{}", e.verdict());
}

#[test]
fn trust_is_told_in_words_numbers_and_figures() {
    let e = common::classes();
    let trust = e.trust.as_ref().unwrap();
    assert_eq!(e.metric("smooth_ece"), Some(trust.scores.smooth_ece.value));
    assert_eq!(e.metric("p_classes"), trust.p_classes);
    assert!(e.network_trust.unwrap().smooth_ece > trust.scores.smooth_ece.high);
    let last = trust.risk.last().unwrap();
    assert!(last.rows == 1500 && (last.risk + e.scores.accuracy.value - 1.0).abs() < 1e-12, "{last:?}");
    let (text, page) = (e.text(), class_report(&e, &common::about("Classes")));
    for told in ["smooth_ece", "excess_aurc", "Tests of calibration: confidence in the guess", "surest rows"] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    for told in ["Smooth reliability", "Risk and coverage", "Debiased calibration error"] {
        assert!(page.contains(told), "{told}");
    }
    assert!("p_top>=0.05".parse::<Requirement>().unwrap().holds(&e).is_ok());
    assert!("p_top>=5".parse::<Requirement>().is_err() && "debiased_ece<=-0.01".parse::<Requirement>().is_ok());
}

/// Chance is chance: labels drawn from the probabilities are found calibrated in about 97.5 % of all cases.
#[test]
fn honest_probabilities_are_called_calibrated() {
    let names: Vec<String> = (0..3).map(|k| k.to_string()).collect();
    let judge = stonet::metrics::JudgeSettings { resamples: 1, ..Default::default() };
    let calibrated = (0..60).filter(|&r| {
        let (z, labels) = common::logits(300, 3, 100 + r);
        let settings = ClassSettings { judge, seed: Seed::new(r), ..ClassSettings::default() };
        ClassEvaluation::new(common::softmax(&(z / 3.0)).view(), &labels, &names, &settings).unwrap().calibrated()
    });
    // 60 × .025 = 1.5 are expected to fail; 4.5 sd more is 1.5 + 4.5 × 1.21 ≈ 7.
    assert!(calibrated.count() >= 53);
}

#[test]
fn faults_are_named() {
    let (train, test) = (common::rows(100, 1, 1), common::rows(50, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let new = test.new_rows();
    let evaluate = |y: &Array2<f64>, settings: &EvaluateSettings<'_>| {
        RegressionEvaluation::new(&fitted, &new, y.view(), settings).unwrap_err().to_string()
    };
    let plain = EvaluateSettings::new(level());
    let e = evaluate(&test.y.slice(s![..20, ..]).to_owned(), &plain);
    assert!(e.contains("rows of the targets: expected 50, found 20"), "{e}");
    let mut missing = test.y.clone();
    missing[[7, 0]] = f64::NAN;
    assert!(evaluate(&missing, &plain).contains("row 7, column 0 is NaN"));
    let named = EvaluateSettings { feature_names: vec!["one".into()], ..plain.clone() };
    assert!(evaluate(&test.y, &named).contains("names of the features: expected 5, found 1"));
    let few = ["a".to_owned()];
    let by = EvaluateSettings { by: Some(("group", &few)), ..plain.clone() };
    assert!(evaluate(&test.y, &by).contains("column of subgroups: expected 50, found 1"));
    let none = Array2::zeros((0, 5));
    let nothing = RegressionInputs::new(none.view()).unwrap();
    let e = RegressionEvaluation::new(&fitted, &nothing, Array2::zeros((0, 1)).view(), &plain).unwrap_err();
    assert!(e.to_string().contains("an evaluation needs at least 1 rows"), "{e}");
    let p = array![[0.5, 0.5]];
    let names = ["a".to_owned()];
    assert!(ClassEvaluation::new(p.view(), &[0], &names, &ClassSettings::default()).is_err());
}

#[test]
fn batches_of_any_size_give_the_evaluation_of_all_rows() {
    let n = 2600; // more than the sample holds
    let (train, test) = (common::rows(200, 2, 1), common::rows(n, 2, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let regions: Vec<String> = (0..n).map(|i| ["north", "south"][i % 7 % 2].to_owned()).collect();
    let settings = EvaluateSettings { joint: true, by: Some(("region", &regions)), ..EvaluateSettings::new(level()) };
    let whole = RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap();
    assert_eq!((whole.rows, whole.importance.rows), (n, 500));
    for batch in [97, 700] {
        let mut judge = RegressionJudge::new(&fitted, Some("region"), &settings).unwrap();
        for first in (0..n).step_by(batch) {
            let part = first..(first + batch).min(n);
            let y = test.y.slice(s![part.clone(), ..]);
            judge.add(&test.new_rows().part(part.clone()), y, Some(&regions[part])).unwrap();
        }
        assert_eq!(judge.finish(None).unwrap(), whole, "batches of {batch}");
    }
    // Rows are counted from the first batch on, and a batch that does not fit changes nothing.
    let mut judge = RegressionJudge::new(&fitted, None, &EvaluateSettings::new(level())).unwrap();
    let rows = |range| test.new_rows().part(range);
    judge.add(&rows(0..700), test.y.slice(s![..700, ..]), None).unwrap();
    let mut missing = test.y.slice(s![700..800, ..]).to_owned();
    missing[[7, 0]] = f64::NAN;
    let e = judge.add(&rows(700..800), missing.view(), None).unwrap_err().to_string();
    assert!(e.contains("row 707, column 0 is NaN"), "{e}");
    let alone = RegressionInputs::new(test.features.slice(s![700..800, ..])).unwrap();
    assert!(judge.add(&alone, test.y.slice(s![700..800, ..]), None).is_err());
    assert!(judge.add(&rows(700..800), test.y.slice(s![700..800, ..]), Some(&regions[..100])).is_err());
    assert_eq!(judge.rows(), 700);
}

#[test]
fn batches_of_classes_give_the_evaluation_of_all_rows() {
    let n = 2600;
    let ((z, labels), (new, truth)) = (common::logits(400, 3, 1), common::logits(n, 3, 2));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = classifier.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let names = ["a", "b", "c"].map(str::to_owned);
    let cameras: Vec<String> = (0..n).map(|i| format!("camera {}", i % 3)).collect();
    let judge = stonet::metrics::JudgeSettings { resamples: 3, redraws: 5, ..Default::default() };
    let settings = ClassSettings { by: Some(("camera", &cameras)), judge, ..ClassSettings::default() };
    let inputs = HeadInputs { logits: Some(new.view()), features: None, names: &names };
    let whole = ClassEvaluation::of_head(&fitted, &inputs, &truth, &names, &settings).unwrap();
    assert_eq!((whole.rows, whole.importance.as_ref().unwrap().rows), (n, 500));
    let mut judge = ClassJudge::new(&fitted, &names, Some("camera"), &settings);
    for first in (0..n).step_by(450) {
        let part = first..(first + 450).min(n);
        let inputs = HeadInputs { logits: Some(new.slice(s![part.clone(), ..])), ..inputs };
        judge.add(&inputs, &truth[part.clone()], Some(&cameras[part])).unwrap();
    }
    assert!(judge.add(&inputs, &truth[..5], Some(&cameras)).is_err());
    assert_eq!(judge.finish(None).unwrap(), whole);
}

#[test]
fn the_worst_fifth_is_the_least_of_ten_and_can_be_required() {
    let e = common::regression(Kind::Fast, 1, false);
    let worst = e.targets[0].diagnosis.worst_fifth.as_ref().unwrap();
    let strata = e.targets[0].by_width.iter().chain(&e.targets[0].by_prediction);
    let least = strata.map(|s| s.coverage.value).fold(1.0, f64::min);
    assert_eq!((worst.fifths, worst.coverage.value, e.metric("worst_fifth")), (10, least, Some(least)));
    // The least of ten fifths of 120 rows: below the level, and above three standard deviations of one of them.
    assert!(worst.expected < 0.88 && worst.expected > 0.9 - 3.0 * (0.09f64 / 120.0).sqrt(), "{worst:?}");
    let holds = |bound: f64| format!("worst_fifth>={bound}").parse::<Requirement>().unwrap().holds(&e).unwrap();
    assert!(holds(least) && !holds(least + 1e-6));
    assert!(e.text().contains("worst fifth: ") && e.text().contains("is the least of 10."));
    assert!(regression_report(&e, &common::about("")).contains("Where coverage is lowest"));
    let both = common::regression(Kind::Fast, 2, false);
    let of = |j: usize| both.targets[j].diagnosis.worst_fifth.as_ref().unwrap().coverage.value;
    assert_eq!(both.metric("worst_fifth"), Some(of(0).min(of(1))));
}

#[test]
fn fifths_of_few_rows_are_not_compared() {
    let (train, test) = (common::rows(100, 1, 1), common::rows(60, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    let settings = EvaluateSettings::new(level());
    let e = RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap();
    assert_eq!(e.targets[0].diagnosis, Diagnosis::default());
    assert!(e.metric("worst_fifth").unwrap().is_nan() && !e.text().contains("lowest coverage"));
    assert!(!"worst_fifth>=0".parse::<Requirement>().unwrap().holds(&e).unwrap());
}

/// Values far away wherever one feature is large: the slice has that feature's name, and the other half confirms it.
#[test]
fn a_planted_slice_is_found_by_the_name_of_its_column() {
    let (train, mut test) = (common::rows(250, 1, 1), common::rows(3000, 1, 2));
    let fitted = common::fit(Kind::Fast, &train);
    for (row, x) in test.features.outer_iter().enumerate() {
        // About a sixth of the rows, of which a third is missed besides the 10 % that are missed anyway.
        if x[3] > 0.76 && row % 3 == 0 {
            test.y[[row, 0]] += 1000.0;
        }
    }
    let feature_names = ["rooms", "age", "floor area", "coast", "f12"].map(str::to_owned).into();
    let settings = EvaluateSettings { feature_names, ..EvaluateSettings::new(level()) };
    let e = RegressionEvaluation::new(&fitted, &test.new_rows(), test.y.view(), &settings).unwrap();
    let d = &e.targets[0].diagnosis;
    let slice = d.worst_slice.as_ref().unwrap();
    assert_eq!((slice.column.as_str(), slice.by, slice.at_most, d.rows), ("coast", Ranking::Feature, None, 3000));
    assert!((slice.above.unwrap() - 0.76).abs() < 0.1 && slice.part.judgement == Judgement::Short, "{slice:?}");
    let sentence = format!("{:.1} % were held for coast > 0.7", 100.0 * slice.part.coverage.value);
    assert!(e.weak_spots().iter().any(|s| s.starts_with(&format!("Only {sentence}"))), "{:?}", e.weak_spots());
    // The slice is part of the rows that are judged, and the counts are those of these rows.
    assert!(slice.part.coverage.rows < 400 && slice.part.coverage.rows > 100);
    let slab = d.worst_slab.as_ref().unwrap();
    assert!(
        slab.weights.iter().any(|(name, _)| name == "coast") && slab.part.judgement == Judgement::Short,
        "{slab:?}"
    );
    let ert = d.ert.unwrap();
    assert!(ert.value > 4.5 * ert.se && e.metric("ert") == Some(ert.value), "{ert:?}");
    assert_eq!(e.metric("worst_slice"), Some(slice.part.coverage.value));
    assert_eq!(e.metric("worst_slab"), Some(slab.part.coverage.value));
    assert_eq!(serde_json::from_str::<RegressionEvaluation>(&serde_json::to_string(&e).unwrap()).unwrap(), e);
    let text = e.text();
    assert!(text.contains("worst slice: coast > ") && text.contains("are judged on 1,500 others"), "{text}");
    let html = regression_report(&e, &common::about(""));
    assert!(html.contains("worst slab: ") && html.contains("ERT is "));
}
