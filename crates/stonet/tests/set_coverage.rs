//! Prediction sets of fitted classifiers cover at least as often as they promise: every score, scheme and grouping, over
//! independent replications.

use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::classification::SetScheme;
use stonet::conformal::{LabelPart, SetBy, SetRule, SetScore};
use stonet::metrics::beta_quantile;
use stonet::{ClassInputs, ClassMethod, ClassRows, ClassSets, FittedClassifier, Level, PostStoNetClassifier, Seed};

const REPLICATIONS: usize = 120;
const SCORES: [SetScore; 4] = [
    SetScore::Lac,
    SetScore::Aps { part: LabelPart::None },
    SetScore::Raps { part: LabelPart::None },
    SetScore::Saps { part: LabelPart::None },
];

/// How rows are drawn.
#[derive(Debug, Clone, Copy)]
struct World {
    classes: usize,
    /// Logits of a grid, so that probabilities and scores are often equal.
    tied: bool,
    /// How much more frequent each class is than the next one.
    skew: f64,
    /// A class that never occurs.
    absent: Option<usize>,
}

const PLAIN: World = World { classes: 5, tied: false, skew: 0.0, absent: None };

impl World {
    /// Logits of a network that is twice too sure, and classes drawn from the true probabilities.
    fn draw(&self, rows: usize, seed: Seed) -> (Array2<f64>, Vec<usize>) {
        let mut rng = seed.rng();
        let mut truth = Array2::from_shape_fn((rows, self.classes), |(_, k)| {
            let draw: f64 = StandardNormal.sample(&mut rng);
            let z = 1.5 * draw - self.skew * k as f64;
            if self.tied { z.round() } else { z }
        });
        if let Some(absent) = self.absent {
            truth.column_mut(absent).mapv_inplace(|z| z - 60.0);
        }
        let label = |z: ndarray::ArrayView1<'_, f64>| {
            let mass = z.mapv(f64::exp);
            let mut left = rng.random::<f64>() * mass.sum();
            let drawn = mass.iter().position(|m| {
                left -= m;
                left < 0.0
            });
            drawn.unwrap_or(0)
        };
        let labels = truth.outer_iter().map(label).collect();
        (truth * 2.0, labels)
    }

    fn fit(&self, sets: &ClassSets, rows: usize, seed: Seed) -> FittedClassifier {
        let (z, labels) = self.draw(rows, seed.child(0));
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, self.classes).unwrap();
        sets.fit(&rows, seed.child(1), &|_, _| true).unwrap()
    }
}

fn sets(score: SetScore, by: SetBy, scheme: SetScheme) -> ClassSets {
    let classifier = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    // Nothing is added to what the scores give.
    ClassSets { classifier, rule: SetRule { score, by, never_empty: false }, scheme, ..ClassSets::default() }
}

/// Coverage less what is guaranteed, of each replication, and what it is of.
type Found = (String, Vec<f64>);

/// The excess of coverage over the guarantee, and by class where the guarantee is.
fn excess(world: World, sets: &ClassSets, rows: usize, new: usize) -> Vec<Found> {
    let level = Level::new(0.9).unwrap();
    let one = |r: usize| {
        let seed = Seed::new(5).child(r as u64);
        let fitted = world.fit(sets, rows, seed);
        let (z, labels) = world.draw(new, seed.child(2));
        let covered = fitted.sets(&ClassInputs::logits(z.view()).unwrap(), level, seed).unwrap();
        let covered = covered.covered(&labels).unwrap();
        let promised = fitted.guarantee(level).unwrap().coverage.unwrap();
        let groups: Vec<usize> = match sets.rule.by {
            SetBy::Class => labels,
            // Groups are not the same in every replication; what holds in each holds on average.
            _ => vec![0; labels.len()],
        };
        let mut sums = vec![(0.0, 0.0); world.classes];
        covered.iter().zip(groups).for_each(|(c, g)| {
            sums[g].0 += f64::from(u8::from(*c)) - promised;
            sums[g].1 += 1.0;
        });
        sums
    };
    let all: Vec<Vec<(f64, f64)>> = (0..REPLICATIONS).into_par_iter().map(one).collect();
    let of = |g: usize| {
        let means = all.iter().filter(|s| s[g].1 > 0.0).map(|s| s[g].0 / s[g].1).collect();
        (format!("{world:?} {:?} {:?} group {g}", sets.rule, sets.scheme), means)
    };
    (0..world.classes).map(of).filter(|(_, means): &Found| means.len() > REPLICATIONS / 2).collect()
}

/// The one-sided t-test of every mean against 0, at 1 % over all of them: Holm's procedure rejects one of them if it
/// rejects the smallest.
fn assert_none_is_short(all: &[Found]) {
    let share = 0.01 / all.len() as f64;
    for (what, values) in all {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        // t² / (df + t²) is of the beta distribution.
        let x = beta_quantile(1.0 - 2.0 * share, 0.5, (n - 1.0) / 2.0);
        let limit = ((n - 1.0) * x / (1.0 - x)).sqrt();
        let t = mean / (sd / n.sqrt()).max(1e-12);
        assert!(t > -limit, "{what}: {mean} below the guarantee, t = {t}, limit {limit}");
    }
}

const SPLIT: SetScheme = SetScheme::Split { share: 0.5 };
const CV: SetScheme = SetScheme::CvPlus { folds: 4 };

#[test]
fn every_score_covers_by_cv_plus_and_by_split() {
    let worlds = [
        PLAIN,
        World { classes: 2, ..PLAIN },
        World { tied: true, ..PLAIN },
        World { skew: 1.2, absent: Some(1), ..PLAIN },
        World { classes: 2, tied: true, ..PLAIN },
    ];
    let mut all = Vec::new();
    for world in worlds {
        for score in SCORES {
            for scheme in [SPLIT, CV] {
                all.extend(excess(world, &sets(score, SetBy::All, scheme), 120, 100));
            }
        }
    }
    assert_none_is_short(&all);
}

#[test]
fn thresholds_by_class_and_by_cluster_cover() {
    let worlds = [PLAIN, World { tied: true, ..PLAIN }, World { skew: 1.0, absent: Some(2), ..PLAIN }];
    let mut all = Vec::new();
    for world in worlds {
        for score in SCORES {
            all.extend(excess(world, &sets(score, SetBy::Class, SPLIT), 300, 150));
            all.extend(excess(world, &sets(score, SetBy::Cluster, SPLIT), 800, 100));
        }
    }
    assert_none_is_short(&all);
}

#[test]
fn a_thousand_classes_most_of_them_rare_are_covered() {
    let world = World { classes: 1000, skew: 0.004, ..PLAIN };
    let mut all = excess(world, &sets(SCORES[0], SetBy::All, SetScheme::CvPlus { folds: 2 }), 120, 20);
    for (score, by) in [(SCORES[2], SetBy::All), (SCORES[3], SetBy::Cluster), (SCORES[0], SetBy::Cluster)] {
        all.extend(excess(world, &sets(score, by, SPLIT), 240, 20));
    }
    assert_none_is_short(&all);
}

#[test]
fn randomised_scores_cover() {
    let mut all = Vec::new();
    for score in [SetScore::Raps { part: LabelPart::Random }, SetScore::Saps { part: LabelPart::Random }, SetScore::APS]
    {
        for scheme in [SPLIT, CV] {
            all.extend(excess(PLAIN, &sets(score, SetBy::All, scheme), 120, 100));
        }
    }
    assert_none_is_short(&all);
}

#[test]
fn the_probabilities_of_cv_plus_are_those_without_sets_and_no_set_is_empty_unless_allowed() {
    let level = Level::new(0.5).unwrap();
    for (score, scheme) in SCORES.into_iter().flat_map(|s| [(s, SPLIT), (s, CV)]) {
        let mut with = sets(score, SetBy::All, scheme);
        let (z, labels) = PLAIN.draw(150, Seed::new(1));
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
        let fitted = world.fit(&sets(SetScore::Lac, by, scheme), rows, Seed::new(1));
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
    let (z, labels) = PLAIN.draw(50, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 5).unwrap();
    let alone = alone.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let refused = alone.sets(&rows.inputs(), level, Seed::new(1)).unwrap_err().to_string();
    assert!(refused.contains("stonet fit --sets cv+"), "{refused}");
    assert!(alone.guarantee(level).is_none());
}
