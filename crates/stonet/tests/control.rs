//! Rules of answers keep their wishes: over independent replications, at ties, with every measure, and in plans.

use ndarray::{Array1, Array2};
use rand::RngExt;
use stonet::control::{Control, Controlled, Evidence, Measure, Rule};
use stonet::rows::Side;
use stonet::{
    ClassInputs, ClassMethod, ClassRows, Intervals, Kind, Labels, Level, PostStoNetClassifier, PostStoNetRegressor,
    RegressionInputs, RegressionRows, Seed,
};

#[allow(dead_code)]
#[path = "common/answers.rs"]
mod answers;
use answers::{Population, Wish};

/// Replications of every wish. More than this many failures of so many have a probability of at most 1e-5 where each fails
/// with at most 5 %.
const REPLICATIONS: usize = 200;

fn allowed(replications: usize, failing: f64) -> usize {
    (0..).find(|&k| stonet::metrics::binomial_upper_tail(k + 1, replications, failing) < 1e-5).unwrap()
}

#[test]
fn promises_are_kept_over_replications() {
    let population = Population::new(60_000, Seed::new(5));
    for wish in Wish::ALL.iter().filter(|w| w.confidence.is_some()) {
        let failing = 1.0 - wish.confidence.unwrap();
        let (mut failures, mut rules) = (0, 0);
        for r in 0..REPLICATIONS {
            let seed = Seed::new(1).child(r as u64);
            if let Some(rule) = wish.rule(800, seed) {
                rules += 1;
                failures += usize::from(population.risk(wish, rule.threshold()) > rule.want.risk());
            }
        }
        assert!(failures <= allowed(REPLICATIONS, failing), "{}: {failures} of {rules}", wish.text);
        assert!(rules > REPLICATIONS / 2, "{}: only {rules} rules", wish.text);
    }
}

#[test]
fn expectations_are_kept_on_average() {
    let population = Population::new(60_000, Seed::new(6));
    for wish in Wish::ALL.iter().filter(|w| w.confidence.is_none()) {
        let risks: Vec<f64> = (0..REPLICATIONS)
            .filter_map(|r| wish.rule(300, Seed::new(2).child(r as u64)))
            .map(|rule| population.risk(wish, rule.threshold()))
            .collect();
        let (n, limit) = (risks.len() as f64, wish.want().risk());
        let mean = risks.iter().sum::<f64>() / n;
        let sd = (risks.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        assert!(mean <= limit + 4.5 * sd / n.sqrt(), "{}: {mean}", wish.text);
        // Not by far too careful either.
        assert!(mean > 0.7 * limit && risks.len() == REPLICATIONS, "{}: {mean} of {}", wish.text, risks.len());
    }
}

fn labels() -> Labels {
    Labels::named(vec!["ham".into(), "spam".into()]).unwrap()
}

fn controlled(text: &str, confidence: Option<f64>, p: &Array2<f64>, y: &[usize]) -> Controlled {
    let confidence = confidence.map(|c| Level::new(c).unwrap());
    let control = Control { want: text.parse().unwrap(), confidence, seed: 3 };
    let mut evidence = Evidence::of_classes(&control.want, &labels()).unwrap();
    evidence.add_classes(p.view(), y).unwrap();
    control.decide(&evidence).unwrap()
}

fn two(p: impl IntoIterator<Item = f64>) -> Array2<f64> {
    let p: Vec<f64> = p.into_iter().collect();
    Array2::from_shape_fn((p.len(), 2), |(i, k)| if k == 1 { p[i] } else { 1.0 - p[i] })
}

#[test]
fn recall_and_wrong_by_hand() {
    // 19 spam rows of surety 0.50, 0.51, …: with e = 0.1 and no confidence one may be missed, 2 / 20.
    let (p, y) = (two((0..19).map(|i| 0.5 + 0.01 * f64::from(i))), vec![1; 19]);
    let rule = controlled("recall[spam]>=0.9", None, &p, &y).rule.unwrap();
    assert_eq!((rule.threshold(), rule.chosen.errors, rule.chosen.of), (Some(p[[1, 1]]), 1, 19));
    assert_eq!(rule.chosen.bound, 0.1);
    // fnr is the same wish.
    assert_eq!(controlled("fnr[spam]<=0.1", None, &p, &y).rule.unwrap().threshold(), rule.threshold());
    // Rows at the threshold are answered also where they tie.
    let tied = two((0..19).map(|i| if i < 5 { 0.6 } else { 0.9 }));
    let rule = controlled("recall[spam]>=0.9", None, &tied, &y).rule.unwrap();
    assert_eq!((rule.threshold(), rule.chosen.errors), (Some(0.6), 0));
    // All 19 rows are called spam and are ham: one of them may be answered, so the threshold lies above the second.
    let rule = controlled("wrong<=0.1", None, &p, &[0; 19]).rule.unwrap();
    assert_eq!((rule.threshold(), rule.chosen.answered), (Some(p[[17, 1]].next_up()), 1));
    // Few errors: every row is answered.
    let rule = controlled("wrong<=0.1", None, &p, &y).rule.unwrap();
    assert_eq!((rule.threshold(), rule.chosen.answered), (None, 19));
    assert_eq!(rule.condition(), "answer every row");
}

#[test]
fn too_few_rows_are_refused_with_the_number_that_is_needed() {
    let (p, y) = (two((0..30).map(|i| 0.5 + 0.01 * f64::from(i))), vec![1; 30]);
    let refusal = controlled("recall[spam]>=0.95", Some(0.95), &p, &y).rule.unwrap_err();
    assert_eq!(refusal.rows_needed, Some(59));
    assert!(refusal.text.contains("at least 59 rows of class `spam`"), "{}", refusal.text);
    let refusal = controlled("wrong<=0.01", None, &p, &y).rule.unwrap_err();
    assert!(refusal.text.contains("at least 99 rows"), "{}", refusal.text);
    let refusal = controlled("recall[ham]>=0.9", None, &p, &y).rule.unwrap_err();
    assert!(refusal.text.contains("no row is of class `ham`"), "{}", refusal.text);
}

#[test]
fn a_wish_that_these_rows_cannot_keep_is_refused_with_one_that_they_can() {
    // Every third row is wrong, however sure the head is.
    let p = two((0..900).map(|i| 0.5 + 0.5 * f64::from(i % 97) / 97.0));
    let y: Vec<usize> = (0..900).map(|i| usize::from((i * 7) % 3 != 0)).collect();
    let controlled = controlled("accuracy>=0.95", Some(0.95), &p, &y);
    let refusal = controlled.rule.unwrap_err();
    assert!(refusal.text.contains("cannot be promised with a confidence of 95 %"), "{}", refusal.text);
    let instead = refusal.instead.unwrap();
    assert!(instead.bound() < 0.7 && refusal.text.contains(&instead.to_string()), "{}", refusal.text);
    assert!(controlled.curve.len() > 50 && controlled.curve.iter().all(|p| p.bound >= p.risk));
}

/// A refusal never names a wish that asks for as much as the refused one.
#[test]
fn what_a_refusal_offers_instead_is_less_than_the_wish() {
    let mut refused = 0;
    for (text, intervals) in [("accuracy>=0.9", false), ("precision[c]>=0.85", false), ("coverage>=0.93", true)] {
        let wish = Wish { text, confidence: Some(0.95), intervals, ties: false };
        for seed in 0..150 {
            let Err(refusal) = wish.controlled(300, Seed::new(900).child(seed)).rule else { continue };
            refused += 1;
            if let Some(instead) = &refusal.instead {
                assert!(instead.risk() > wish.want().risk(), "{}", refusal.text);
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn wishes_and_heads_have_to_fit() {
    let p = two([0.2, 0.9]);
    let fails = |text: &str, confidence: Option<f64>| {
        let confidence = confidence.map(|c| Level::new(c).unwrap());
        let control = Control { want: text.parse().unwrap(), confidence, seed: 1 };
        let found = control.check("--confidence").and_then(|()| Evidence::of_classes(&control.want, &labels()));
        found.and_then(|mut e| e.add_classes(p.view(), &[0, 1])).unwrap_err().to_string()
    };
    assert!(fails("accuracy>=0.9", None).contains("give --confidence"));
    assert!(fails("coverage>=0.9", Some(0.9)).contains("is for intervals"));
    assert!(fails("precision[egg]>=0.9", Some(0.9)).contains("there are ham, spam"));
    let level = Level::new(0.9).unwrap();
    assert!(Evidence::of_intervals(&"accuracy>=0.9".parse().unwrap(), level).is_err());
    let mut evidence = Evidence::of_intervals(&"coverage>=0.9".parse().unwrap(), level).unwrap();
    let wide = Array2::zeros((2, 2));
    let several = Intervals { prediction: wide.clone(), lower: wide.clone(), upper: wide, level };
    assert!(evidence.add_intervals(&several, Array1::zeros(2).view()).unwrap_err().to_string().contains("one target"));
}

#[test]
fn a_classifier_decides_in_its_plan_as_the_rule_says() {
    let mut rng = Seed::new(4).rng();
    let logits = Array2::from_shape_fn((400, 2), |_| 4.0 * rng.random::<f64>() - 2.0);
    let y: Vec<usize> =
        logits.outer_iter().map(|z| usize::from(z[1] - z[0] > 2.0 * rng.random::<f64>() - 1.0)).collect();
    let inputs = ClassInputs::logits(logits.view()).unwrap();
    let rows = ClassRows::new(inputs, &y, 2).unwrap();
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let head = classifier.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let p = head.probabilities(&inputs).unwrap();
    for (text, confidence) in [
        ("accuracy>=0.85", Some(0.9)),
        ("precision[spam]>=0.85", Some(0.9)),
        ("recall[spam]>=0.9", Some(0.9)),
        ("wrong<=0.05", None),
        ("wrong<=0.9", None),
    ] {
        let rule = controlled(text, confidence, &p, &y).rule.unwrap();
        let decision = rule.decision(Some(&labels())).unwrap();
        let found = head.decide(&inputs, decision).unwrap();
        let sure = |i: usize| {
            if rule.want.measure() == Measure::Accuracy || rule.want.measure() == Measure::Wrong {
                p[[i, 0]].max(p[[i, 1]])
            } else {
                p[[i, 1]]
            }
        };
        let expected: Vec<bool> = (0..400).map(|i| rule.threshold().is_none_or(|t| sure(i) >= t)).collect();
        assert_eq!(found, expected, "{text}");
        if !matches!(rule.want.measure(), Measure::Accuracy | Measure::Precision) {
            assert_eq!(found.iter().filter(|a| **a).count(), rule.chosen.answered, "{text}");
        }
        assert!(rule.decision(None).is_err() && rule.check().is_ok());
    }
}

#[test]
fn intervals_decide_in_their_plan_as_the_rule_says() {
    let mut rng = Seed::new(8).rng();
    let x = Array2::from_shape_fn((700, 2), |_| 2.0 * rng.random::<f64>() - 1.0);
    let y = Array1::from_shape_fn(700, |i| x[[i, 0]] + (0.1 + x[[i, 1]].abs()) * (rng.random::<f64>() - 0.5));
    let y = y.insert_axis(ndarray::Axis(1));
    let level = Level::new(0.9).unwrap();
    for (kind, range) in [(Kind::Fast, None), (Kind::Paper, None), (Kind::Fast, Some((-0.9, 0.9)))] {
        let y = range.map_or(y.clone(), |(low, high)| y.mapv(|v: f64| v.clamp(low, high)));
        let settings = PostStoNetRegressor {
            kind,
            y_low: range.map(|r| r.0),
            y_high: range.map(|r| r.1),
            stonet: stonet::regression::StoNetSettings {
                hidden: vec![3],
                steps: 20,
                kappas: Some(vec![0.01]),
                ..Default::default()
            },
            ..PostStoNetRegressor::default()
        };
        let (fit, rest) = (ndarray::s![..300, ..], ndarray::s![300.., ..]);
        let head = settings
            .fit(&RegressionRows::new(x.slice(fit), y.slice(fit)).unwrap(), Seed::new(1), &|_, _| true)
            .unwrap();
        let rows = RegressionInputs::new(x.slice(rest)).unwrap();
        let found = head.intervals(&rows, level, Side::Both).unwrap();
        for text in ["wrong<=0.06", "wrong<=0.5"] {
            let control = Control { want: text.parse().unwrap(), confidence: None, seed: 1 };
            let mut evidence = Evidence::of_intervals(&control.want, level).unwrap();
            evidence.add_intervals(&found, y.slice(rest).column(0)).unwrap();
            let rule: Rule = control.decide(&evidence).unwrap().rule.unwrap();
            let answered = head.decide(&rows, rule.decision(None).unwrap()).unwrap();
            let length = |i: usize| found.lower[[i, 0]] - found.upper[[i, 0]];
            let expected: Vec<bool> = (0..400).map(|i| rule.threshold().is_none_or(|t| length(i) >= t)).collect();
            assert_eq!(answered, expected, "{kind} {text}");
            assert_eq!(answered.iter().filter(|a| **a).count(), rule.chosen.answered);
        }
    }
}
