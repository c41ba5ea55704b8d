//! Prediction sets of fitted classifiers: a thousand classes, what they share with fits without sets, and guarantees in
//! words. Coverage of every score, scheme and grouping is in validity.rs.

#[path = "common/validity/mod.rs"]
mod validity;

use stonet::classification::SetScheme;
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, FittedClassifier, Level, PostStoNetClassifier, Seed};
use validity::judge::assert_kept;
use validity::labels::{PLAIN, Rows, World};
use validity::{Cell, Method};

/// A thousand classes cost seconds each.
const REPLICATIONS: usize = 120;
const SCORES: [SetScore; 4] = [
    SetScore::Lac,
    SetScore::Aps { part: LabelPart::None },
    SetScore::Raps { part: LabelPart::None },
    SetScore::Saps { part: LabelPart::None },
];

fn fit(world: &World, sets: &ClassSets, rows: usize, seed: Seed) -> FittedClassifier {
    let drawn = world.draw(rows, seed.child(0));
    let rows = ClassRows::new(ClassInputs::logits(drawn.logits.view()).unwrap(), &drawn.labels, world.classes).unwrap();
    sets.fit(&rows, seed.child(1), &|_, _| true).unwrap()
}

fn sets(score: SetScore, by: SetBy, scheme: SetScheme) -> ClassSets {
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    // Nothing is added to what the scores give.
    ClassSets { classifier, rule: SetRule { score, by, never_empty: false }, scheme, ..ClassSets::default() }
}

const SPLIT: SetScheme = SetScheme::Split { share: 0.5 };
const CV: SetScheme = SetScheme::CvPlus { folds: 4 };

#[test]
fn a_thousand_classes_most_of_them_rare_are_covered() {
    let world = World { name: "1000 classes", classes: 1000, skew: 0.004, ..PLAIN };
    let mut all = Vec::new();
    for (rows, scheme) in [(120, SetScheme::CvPlus { folds: 2 }), (240, SPLIT)] {
        let (world, method) = (validity::World::Classes(World { rows, ..world }), Method::Sets(scheme));
        let found = Cell { world, method }.run(REPLICATIONS).unwrap();
        all.extend(found.into_iter().map(|f| (method.name(), f)));
    }
    assert_kept(&all);
}

#[test]
fn the_probabilities_of_cv_plus_are_those_without_sets_and_no_set_is_empty_unless_allowed() {
    let level = Level::new(0.5).unwrap();
    for (score, scheme) in SCORES.into_iter().flat_map(|s| [(s, SPLIT), (s, CV)]) {
        let mut with = sets(score, SetBy::All, scheme);
        let Rows { logits: z, labels, .. } = PLAIN.draw(150, Seed::new(1));
        let inputs = ClassInputs::logits(z.view()).unwrap();
        let rows = ClassRows::new(inputs, &labels, 5).unwrap();
        let strict = with.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        with.rule.never_empty = true;
        let kept = with.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        let alone = with.classifier.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        if scheme == CV {
            assert_eq!(kept.probabilities(&inputs).unwrap(), alone.probabilities(&inputs).unwrap());
        }
        let (a, b) =
            (strict.sets(&inputs, level, Seed::new(3)).unwrap(), kept.sets(&inputs, level, Seed::new(3)).unwrap());
        let guess = kept.classify(&inputs).unwrap();
        for (i, k) in (0..150).flat_map(|i| (0..5).map(move |k| (i, k))) {
            assert_eq!(b.contains[[i, k]], a.contains[[i, k]] || guess[i] == k);
        }
        let text = serde_json::to_string(&kept).unwrap();
        let again: FittedClassifier = serde_json::from_str(&text).unwrap();
        assert_eq!(again, kept);
        assert_eq!(again.sets(&inputs, level, Seed::new(3)).unwrap(), b);
    }
}

#[test]
fn guarantees_are_told_in_words() {
    let level = Level::new(0.9).unwrap();
    let text = |by, scheme, world: World, rows| {
        let fitted = fit(&world, &sets(SetScore::Lac, by, scheme), rows, Seed::new(1));
        fitted.guarantee(level).unwrap().text
    };
    assert!(text(SetBy::All, SPLIT, PLAIN, 100).starts_with("At least 90.0 % for a new row"));
    assert!(text(SetBy::All, CV, PLAIN, 100).contains("usually close to 90 %"));
    assert!(
        text(SetBy::All, SPLIT, PLAIN, 10).contains("5 rows judge; below 9 the sets at this level hold every class")
    );
    let rare = World { absent: Some(2), ..PLAIN };
    let told = text(SetBy::Class, SPLIT, rare, 400);
    assert!(told.starts_with("At least 90.0 % within every class") && told.contains("1 classes have fewer than 9"));
    let told = text(SetBy::Cluster, SPLIT, PLAIN, 900);
    assert!(told.contains("within each of 2 groups of classes, on average over the classes of a group"), "{told}");
    let refused = sets(SetScore::Lac, SetBy::Class, CV).check().unwrap_err().to_string();
    assert!(refused.contains("only split sets"), "{refused}");
    let alone = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let Rows { logits: z, labels, .. } = PLAIN.draw(50, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 5).unwrap();
    let alone = alone.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let refused = alone.sets(&rows.inputs(), level, Seed::new(1)).unwrap_err().to_string();
    assert!(refused.contains("stonet fit --sets cv+"), "{refused}");
    assert!(alone.guarantee(level).is_none());
}
