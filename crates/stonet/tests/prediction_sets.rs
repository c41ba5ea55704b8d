//! Prediction sets: exact cases by hand, coverage over independent replications, and input that cannot work.

use ndarray::{Array2, ArrayView2, array};
use rand::RngExt;
use rayon::prelude::*;
use stonet::conformal::{CvPlusSets, LabelPart, PredictionSets, SetBy, SetRule, SetScore, SplitSets};
use stonet::{Error, Level, Seed};

const REPLICATIONS: usize = 2000;
const SCORES: [SetScore; 3] = [SetScore::Lac, SetScore::APS, SetScore::Aps { part: LabelPart::Whole }];

fn level(l: f64) -> Level {
    Level::new(l).unwrap()
}

fn never_mind_empty(score: SetScore) -> SetRule {
    SetRule { never_empty: false, ..score.into() }
}

/// Probabilities of a model that is too sure by the power given, and labels from the true ones.
fn sample(n: usize, k: usize, power: f64, seed: Seed) -> (Array2<f64>, Vec<usize>) {
    let mut rng = seed.rng();
    let mut truth = Array2::from_shape_simple_fn((n, k), || rng.random::<f64>().powi(3) + 0.01);
    // Classes are not equally common.
    truth.column_mut(0).mapv_inplace(|p| 2.0 * p);
    normalise(&mut truth);
    let draw = |row: ndarray::ArrayView1<'_, f64>| {
        let mut left: f64 = rng.random();
        let mut falls = |p: &f64| {
            left -= p;
            left < 0.0
        };
        row.iter().position(&mut falls).unwrap_or(row.len() - 1)
    };
    let labels = truth.outer_iter().map(draw).collect();
    let mut p = truth.mapv(|p| p.powf(power));
    normalise(&mut p);
    (p, labels)
}

fn normalise(p: &mut Array2<f64>) {
    p.outer_iter_mut().for_each(|mut row| row /= row.sum());
}

/// Between the level and `above` more, ± 4.5 binomial standard deviations.
fn assert_coverage(hits: usize, replications: usize, level: f64, above: f64, what: &str) {
    let n = replications as f64;
    let tolerance = 4.5 * (level * (1.0 - level) / n).sqrt();
    let found = hits as f64 / n;
    let fits = found > level - tolerance && found < level + above + tolerance;
    assert!(fits, "{what}: {found} for {level} + {above} ± {tolerance}");
}

/// How many of the replications cover one new row.
fn hits(one: impl Fn(Seed) -> bool + Sync) -> usize {
    (0..REPLICATIONS).into_par_iter().filter(|&r| one(Seed::new(31).child(r as u64))).count()
}

#[test]
fn lac_holds_exactly_the_classes_above_the_threshold() {
    // Scores 1 − p_y: .1, .2, .3, .4, .5, .6, .7, .8, .9; level .6 of nine: rank ⌈.6 · 10⌉ = 6.
    let p = Array2::from_shape_fn((9, 2), |(i, k)| if k == 0 { 0.9 - 0.1 * i as f64 } else { 0.1 + 0.1 * i as f64 });
    let split = SplitSets::fit(p.view(), &[0; 9], never_mind_empty(SetScore::Lac), Seed::new(1)).unwrap();
    assert!((split.thresholds(level(0.6))[0] - 0.6).abs() < 1e-12);
    let new = array![[0.5, 0.5], [0.65, 0.35], [0.3, 0.7]];
    let sets = split.sets(new.view(), level(0.6), Seed::new(2)).unwrap();
    assert_eq!(sets.contains, array![[true, true], [true, false], [false, true]]);
    assert_eq!((sets.sizes(), sets.mean_size()), (vec![2, 1, 1], 4.0 / 3.0));
    assert_eq!(sets.coverage(&[1, 1, 1]).unwrap(), 2.0 / 3.0);
    // Rank 2: only classes of probability .8 or more; the rule that leaves no set empty keeps the guess.
    let sure = split.sets(new.view(), level(0.2), Seed::new(2)).unwrap();
    assert_eq!(sure.sizes(), [0, 0, 0]);
    let kept = SplitSets::fit(p.view(), &[0; 9], SetScore::Lac, Seed::new(1)).unwrap();
    let kept = kept.sets(new.view(), level(0.2), Seed::new(2)).unwrap();
    assert_eq!(kept.contains, array![[true, false], [true, false], [false, true]]);
    // Nine rows are enough for 90 %, not for 95 %.
    assert_eq!(split.sets(new.view(), level(0.95), Seed::new(2)).unwrap().sizes(), [2, 2, 2]);
}

#[test]
fn split_sets_cover_at_their_level() {
    for (k, power) in [(2, 1.0), (2, 2.5), (6, 2.0)] {
        for score in SCORES {
            let covers = |seed: Seed| {
                let (p, labels) = sample(99, k, power, seed.child(0));
                let split = SplitSets::fit(p.view(), &labels, never_mind_empty(score), seed.child(1)).unwrap();
                let (p, labels) = sample(1, k, power, seed.child(2));
                split.sets(p.view(), level(0.9), seed.child(1)).unwrap().covered(&labels).unwrap()[0]
            };
            // 90 of 100 ranks, exactly; without randomisation the last class of a row always scores 1, and ties only
            // add.
            let above = if score == (SetScore::Aps { part: LabelPart::Whole }) { 0.1 } else { 0.0 };
            assert_coverage(hits(covers), REPLICATIONS, 0.9, above, &format!("{score:?}, K = {k}, power {power}"));
        }
    }
}

#[test]
fn thresholds_by_class_cover_within_every_class() {
    let rule = SetRule { by: SetBy::Class, ..never_mind_empty(SetScore::Lac) };
    let covered: Vec<(usize, bool)> = (0..REPLICATIONS)
        .into_par_iter()
        .flat_map_iter(|r| {
            let seed = Seed::new(77).child(r as u64);
            let (p, labels) = sample(150, 3, 2.0, seed.child(0));
            let split = SplitSets::fit(p.view(), &labels, rule, seed).unwrap();
            let (p, labels) = sample(1, 3, 2.0, seed.child(1));
            let covered = split.sets(p.view(), level(0.8), seed).unwrap().covered(&labels).unwrap();
            labels.into_iter().zip(covered)
        })
        .collect();
    for class in 0..3 {
        let of: Vec<bool> = covered.iter().filter(|(y, _)| *y == class).map(|(_, c)| *c).collect();
        // A class has at least twenty rows here, all but never fewer: rounding the rank up adds 1/21 at most.
        assert_coverage(of.iter().filter(|&&c| c).count(), of.len(), 0.8, 1.0 / 21.0, &format!("class {class}"));
    }
}

#[test]
fn a_class_with_too_few_rows_is_in_every_set() {
    let (mut p, mut labels) = sample(60, 2, 1.0, Seed::new(1));
    p.fill(0.5);
    labels.iter_mut().enumerate().for_each(|(i, y)| *y = usize::from(i < 3));
    let rule = SetRule { by: SetBy::Class, ..never_mind_empty(SetScore::Lac) };
    let split = SplitSets::fit(p.view(), &labels, rule, Seed::new(1)).unwrap();
    assert_eq!(split.thresholds(level(0.9)), [0.5, f64::INFINITY]);
    let sets = split.sets(array![[1.0, 0.0], [0.1, 0.9]].view(), level(0.9), Seed::new(1)).unwrap();
    assert_eq!(sets.contains, array![[true, true], [false, true]]);
}

/// The definition, by counting one row after the other.
fn by_counting(folds: &[(Array2<f64>, Vec<usize>)], new: &[Array2<f64>], alpha: f64) -> Array2<bool> {
    let n: usize = folds.iter().map(|f| f.1.len()).sum();
    Array2::from_shape_fn(new[0].dim(), |(i, y)| {
        let smaller = |(f, (p, labels)): (usize, &(Array2<f64>, Vec<usize>))| {
            labels.iter().enumerate().filter(|&(r, &l)| 1.0 - p[[r, l]] < 1.0 - new[f][[i, y]]).count()
        };
        (folds.iter().enumerate().map(smaller).sum::<usize>() as f64) < (1.0 - alpha) * (n as f64 + 1.0) - 1e-9
    })
}

fn views(folds: &[(Array2<f64>, Vec<usize>)]) -> Vec<(ArrayView2<'_, f64>, &[usize])> {
    folds.iter().map(|(p, labels)| (p.view(), &labels[..])).collect()
}

#[test]
fn cv_plus_is_its_definition() {
    let folds: Vec<_> = (0..3).map(|k| sample(7 + k, 4, 1.0 + k as f64, Seed::new(k as u64))).collect();
    let new: Vec<_> = (0..3).map(|k| sample(30, 4, 1.0 + k as f64, Seed::new(9)).0).collect();
    let cv = CvPlusSets::fit(&views(&folds), never_mind_empty(SetScore::Lac), Seed::new(1)).unwrap();
    let p: Vec<_> = new.iter().map(|p| p.view()).collect();
    for alpha in [0.05, 0.1, 0.3, 0.5, 0.8] {
        let sets = cv.sets(&p, level(1.0 - alpha), Seed::new(2)).unwrap();
        assert_eq!(sets.contains, by_counting(&folds, &new, alpha), "α = {alpha}");
    }
    // One fold is a split.
    for score in [SetScore::Lac, SetScore::Aps { part: LabelPart::Whole }] {
        let (p, labels) = &folds[2];
        let split = SplitSets::fit(p.view(), labels, score, Seed::new(3)).unwrap();
        let single = CvPlusSets::fit(&views(&folds[2..]), score, Seed::new(3)).unwrap();
        let expected = split.sets(new[2].view(), level(0.7), Seed::new(4)).unwrap();
        assert_eq!(single.sets(&[new[2].view()], level(0.7), Seed::new(4)).unwrap(), expected);
    }
}

#[test]
fn cv_plus_sets_cover() {
    for score in [SetScore::Lac, SetScore::APS] {
        // Fold models differ in how sure they are, as models of different rows do; all see exchangeable rows.
        let powers = [1.5, 2.0, 2.5];
        let covers = |seed: Seed| {
            let folds: Vec<_> =
                powers.iter().enumerate().map(|(k, &w)| sample(33, 5, w, seed.child(k as u64))).collect();
            let cv = CvPlusSets::fit(&views(&folds), never_mind_empty(score), seed.child(7)).unwrap();
            let (_, labels) = sample(1, 5, 1.0, seed.child(8));
            let new = powers.map(|w| sample(1, 5, w, seed.child(8)).0);
            let p: Vec<_> = new.iter().map(|p| p.view()).collect();
            cv.sets(&p, level(0.9), seed.child(7)).unwrap().covered(&labels).unwrap()[0]
        };
        let found = hits(covers);
        let folds: Vec<_> = (0..3).map(|k| sample(33, 5, 1.0, Seed::new(k))).collect();
        let certain = CvPlusSets::fit(&views(&folds), score, Seed::new(1)).unwrap().guarantee(level(0.9));
        // 1 − 2α is certain; models that hardly differ give about 1 − α.
        assert!(certain > 0.6 && certain < 0.8);
        assert_coverage(found, REPLICATIONS, 0.9, 0.0, &format!("{score:?}"));
    }
}

#[test]
fn files_come_back_and_bad_input_is_named() {
    let (p, labels) = sample(30, 3, 1.0, Seed::new(4));
    let split =
        SplitSets::fit(p.view(), &labels, SetRule { by: SetBy::Class, ..SetScore::APS.into() }, Seed::new(1)).unwrap();
    let cv = CvPlusSets::fit(&[(p.view(), &labels), (p.view(), &labels)], SetScore::APS, Seed::new(1)).unwrap();
    let sets = split.sets(p.view(), level(0.8), Seed::new(2)).unwrap();
    let text = serde_json::to_string(&split).unwrap();
    let again: SplitSets = serde_json::from_str(&text).unwrap();
    assert_eq!(again.sets(p.view(), level(0.8), Seed::new(2)).unwrap(), sets);
    assert_eq!(again, split);
    assert!(serde_json::from_str::<SplitSets>(&text.replace("\"groups\":[0,1,2]", "\"groups\":[0,1]")).is_err());
    let text = serde_json::to_string(&cv).unwrap();
    assert_eq!(serde_json::from_str::<CvPlusSets>(&text).unwrap(), cv);
    let text = serde_json::to_string(&sets).unwrap();
    assert_eq!(serde_json::from_str::<PredictionSets>(&text).unwrap(), sets);

    let wide = Array2::from_elem((2, 4), 0.25);
    assert!(matches!(
        split.sets(wide.view(), level(0.8), Seed::new(2)),
        Err(Error::Shape { expected: 3, found: 4, .. })
    ));
    assert!(matches!(cv.sets(&[p.view()], level(0.8), Seed::new(2)), Err(Error::Shape { expected: 2, found: 1, .. })));
    assert!(CvPlusSets::fit(&[], SetScore::Lac, Seed::new(1)).is_err());
    let by = CvPlusSets::fit(&[(p.view(), &labels)], split.rule(), Seed::new(1)).unwrap_err().to_string();
    assert!(by.contains("by") && by.contains("only split sets have thresholds per class"), "{by}");
    let rule = SetRule { by: SetBy::Cluster, ..SetRule::default() };
    assert!(SplitSets::fit(p.view(), &labels, rule, Seed::new(1)).unwrap_err().to_string().contains("ClassSets"));
    assert!(SplitSets::fit(p.view(), &labels[1..], SetScore::Lac, Seed::new(1)).is_err());
    assert!(sets.coverage(&labels[1..]).is_err());
}
