//! Heads of many labels judged: what chance shows, subgroups, batches, and the page.

use ndarray::{Array2, s};
use rand_distr::{Distribution, StandardUniform};
use stonet::classification::{LabelInputs, LabelRows};
use stonet::metrics::{BINS, JudgeSettings, class_scores};
use stonet::{ClassMethod, InputKind, PostStoNetClassifier, Seed};
use stonet_report::{About, LabelsEvaluation, LabelsJudge, LabelsSettings, labels_report};

fn names(labels: usize) -> Vec<String> {
    (0..labels).map(|k| format!("l{k}")).collect()
}

/// Probabilities, and labels that are drawn from them.
fn calibrated(rows: usize, labels: usize, seed: u64) -> (Array2<f64>, Array2<bool>) {
    let mut rng = Seed::new(seed).rng();
    let mut uniform = || -> f64 { StandardUniform.sample(&mut rng) };
    let p = Array2::from_shape_simple_fn((rows, labels), || uniform().powi(2));
    let present = p.mapv(|p| uniform() < p);
    (p, present)
}

#[test]
fn one_calibrated_label_of_forty_is_beyond_chance() {
    let (p, present) = calibrated(300, 400, 1);
    let e = LabelsEvaluation::new(&names(400), p.view(), present.view(), &LabelsSettings::default()).unwrap();
    // The limit is the 97.5 % quantile of 200 draws, which a further draw exceeds with probability 6/201 at most. The
    // labels are independent: mean 12, standard deviation 3.4.
    let (mean, sd) = (400.0 * 6.0 / 201.0, (400.0_f64 * 6.0 / 201.0).sqrt());
    assert!((e.beyond_chance as f64) < mean + 4.5 * sd, "{}", e.beyond_chance);
    // The mean of ECE over 400 labels is that of chance. Each differs from it by less than 0.03 in standard deviation.
    assert!((e.mean.ece - e.mean.ece_chance).abs() < 4.5 * 0.03 / 20.0, "{:?}", e.mean);
    // Probabilities that are far too sure are found out.
    let sure = p.mapv(|p| if p > 0.5 { 1.0 - 0.1 * (1.0 - p) } else { 0.1 * p });
    let e = LabelsEvaluation::new(&names(400), sure.view(), present.view(), &LabelsSettings::default()).unwrap();
    assert!(e.beyond_chance == 400 && !e.calibrated());
}

#[test]
fn calibrated_heads_are_rarely_called_otherwise() {
    let judged = |labels: usize, seed: u64| {
        let (p, present) = calibrated(100, labels, seed);
        LabelsEvaluation::new(&names(labels), p.view(), present.view(), &LabelsSettings::default()).unwrap()
    };
    // Four labels of 40 are needed, each with probability 6/201 at most: 3.3 % of all heads. Of 60 heads that are 2 with
    // a standard deviation of 1.4.
    let called = (1..=60).filter(|&seed| !judged(40, seed).calibrated()).count();
    assert!(called as f64 <= 2.0 + 4.5 * 1.4, "{called}");
    // A head of one label is judged by that label.
    let alone: Vec<LabelsEvaluation> = (1..=200).map(|seed| judged(1, seed)).collect();
    assert!(alone.iter().all(|e| e.calibrated() == (e.beyond_chance == 0)));
    assert!(alone.iter().any(|e| !e.calibrated()));
}

#[test]
fn scores_and_bins_by_hand() {
    let p = Array2::from_shape_fn((40, 1), |(i, _)| if i < 20 { 0.3 } else { 0.9 });
    let present = Array2::from_shape_fn((40, 1), |(i, _)| if i < 20 { i < 10 } else { i < 38 });
    let by: Vec<String> = (0..40).map(|i| if i < 20 { "low" } else { "high" }.to_owned()).collect();
    let settings = LabelsSettings { by: Some(("part", &by)), ..LabelsSettings::default() };
    let e = LabelsEvaluation::new(&names(1), p.view(), present.view(), &settings).unwrap();
    assert_eq!((e.labels[0].rows, e.labels[0].scores.base_rate), (28, 0.7));
    let bins = &e.reliability[0].bins;
    assert_eq!(bins.len(), 2);
    assert!((bins[0].confidence - 0.3).abs() < 1e-12 && bins[0].accuracy.value == 0.5 && bins[0].accuracy.rows == 20);
    assert!((bins[1].confidence - 0.9).abs() < 1e-12 && bins[1].accuracy.value == 0.9);
    // Of the guesses with confidence 0.7 half are right, of those with 0.9 as many as they say.
    assert!((e.mean.ece - 0.1).abs() < 1e-12);
    let (column, groups) = e.subgroups.as_ref().unwrap();
    assert_eq!(column, "part");
    let found: Vec<(&str, usize)> = groups.iter().map(|g| (g.name.as_str(), g.rows)).collect();
    assert_eq!(found, [("high", 20), ("low", 20)]);
    assert!((groups[1].mean.ece - 0.2).abs() < 1e-12 && groups[0].mean.ece.abs() < 1e-12);
    let both = Array2::from_shape_fn((20, 2), |(_, j)| if j == 1 { 0.3 } else { 0.7 });
    let codes: Vec<usize> = (0..20).map(|i| usize::from(i < 10)).collect();
    assert!((groups[1].mean.nll - class_scores(both.view(), &codes, BINS).unwrap().nll).abs() < 1e-12);
    // A label that no row has, or all rows have, is judged like any other.
    let none = Array2::from_elem((40, 1), false);
    assert!(LabelsEvaluation::new(&names(1), p.view(), none.view(), &LabelsSettings::default()).is_ok());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (p, present) = calibrated(30, 2, 1);
    let judged = |names: &[String], p, present, settings: &LabelsSettings<'_>| {
        LabelsEvaluation::new(names, p, present, settings).map(|_| ()).unwrap_err().to_string()
    };
    let plain = LabelsSettings::default();
    assert!(judged(&names(3), p.view(), present.view(), &plain).contains("one per label"));
    let none = Array2::zeros((30, 0));
    assert!(judged(&[], none.view(), present.slice(s![.., ..0]), &plain).contains("one per label"));
    assert!(judged(&names(2), p.view(), present.slice(s![..9, ..]), &plain).contains("rows of labels"));
    let by = vec!["a".to_owned(); 7];
    let few = LabelsSettings { by: Some(("part", &by)), ..plain };
    assert!(judged(&names(2), p.view(), present.view(), &few).contains("subgroups"));
    assert!(judged(&names(2), p.slice(s![..0, ..]), present.slice(s![..0, ..]), &plain).contains("row"));
}

#[test]
fn batches_do_not_matter_and_pages_escape_names() {
    let (p, present) = calibrated(400, 3, 2);
    let z = p.mapv(|p| (p / (1.0 - p)).ln().clamp(-9.0, 9.0));
    let names = ["a", "<b>", "c & d"].map(String::from);
    let inputs = LabelInputs::new(InputKind::Logits, z.view()).unwrap();
    let rows = LabelRows::new(inputs, present.view(), &names).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = classifier.fit_labels(&rows, Seed::new(1), &|_, _| true).unwrap();
    let by: Vec<String> = (0..400).map(|i| ["<i>x</i>", "y"][i % 2].to_owned()).collect();
    let settings = LabelsSettings { judge: JudgeSettings { redraws: 50, ..Default::default() }, ..Default::default() };
    let judged = |size: usize| {
        let mut judge = LabelsJudge::new(&fitted, Some("<u>"), &settings);
        for first in (0..400).step_by(size) {
            let part = first..(first + size).min(400);
            let rows = LabelInputs::new(InputKind::Logits, z.slice(s![part.clone(), ..])).unwrap();
            judge.add(&rows, present.slice(s![part.clone(), ..]), Some(&by[part])).unwrap();
        }
        judge.finish(None).unwrap()
    };
    let e = judged(400);
    assert_eq!(e, judged(37));
    let page = labels_report(&e, &About { title: "Labels".into(), ..About::default() });
    for tag in ["<b>", "<i>", "<u>", "c & d"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("&lt;b&gt;") && page.contains("Every label") && page.contains("c &amp; d"));
    let text = e.text();
    assert!(text.contains("labels beyond chance") && text.contains("mean"), "{text}");
}
