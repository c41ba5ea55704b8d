//! Bounds of accuracy of fitted classifiers hold for all bins at once at least as often as they promise, over independent
//! replications.

#[path = "common/validity/mod.rs"]
mod validity;

use ndarray::Array2;
use rayon::prelude::*;
use stonet::classification::{AccuracySettings, SetScheme};
use stonet::metrics::{binomial_cdf, top_class};
use stonet::{
    ClassInputs, ClassMethod, ClassRows, ClassSets, Error, FittedClassifier, Level, PostStoNetClassifier, Seed,
};
use validity::labels::{PLAIN, Rows, World};

const REPLICATIONS: usize = 150;
/// New rows whose true probabilities give the accuracy of a bin.
const MANY: usize = 8000;

fn world(classes: usize, tied: bool) -> World {
    World { classes, tied, ..PLAIN }
}

fn temperature() -> PostStoNetClassifier {
    PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() }
}

/// What is fitted, on which rows.
#[derive(Debug, Clone, Copy)]
struct Case {
    classes: usize,
    rows: usize,
    bins: Option<usize>,
    tied: bool,
    scheme: Option<SetScheme>,
}

impl Case {
    fn fit(&self, seed: Seed) -> FittedClassifier {
        let Rows { logits: z, labels, .. } = world(self.classes, self.tied).draw(self.rows, seed.child(0));
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, self.classes).unwrap();
        let accuracy = AccuracySettings { bins: self.bins, ..Default::default() };
        match self.scheme {
            None => accuracy.fit(&temperature(), &rows, seed.child(1), &|_, _| true),
            Some(scheme) => {
                let sets = ClassSets { classifier: temperature(), scheme, ..ClassSets::default() };
                accuracy.fit_sets(&sets, &rows, seed.child(1), &|_, _| true)
            }
        }
        .unwrap()
    }

    /// Whether the true accuracies of all bins lie in their bounds, and the mean length of these.
    fn holds(&self, many: &Array2<f64>, truth: &Array2<f64>, level: Level, seed: Seed) -> (bool, f64) {
        let fitted = self.fit(seed);
        let bins = fitted.accuracy_bins().unwrap();
        let p = fitted.probabilities(&ClassInputs::logits(many.view()).unwrap()).unwrap();
        let mut sums = vec![(0.0, 0.0); bins.len()];
        for (row, truth) in p.outer_iter().zip(truth.outer_iter()) {
            let guess = top_class(row);
            let (sum, rows) = &mut sums[bins.bin(row[guess])];
            (*sum, *rows) = (*sum + truth[guess], *rows + 1.0);
        }
        let bounds = bins.bounds(level);
        let bounds = bounds.bins();
        let length = bounds.iter().map(|b| b.upper - b.lower).sum::<f64>() / bounds.len() as f64;
        // A bin that none of so many rows is in has no accuracy to speak of.
        let mut filled = bounds.iter().zip(&sums).filter(|(_, (_, rows))| *rows > 0.0);
        (filled.all(|(b, (sum, rows))| b.lower <= sum / rows && sum / rows <= b.upper), length)
    }
}

#[test]
fn all_bins_hold_at_once_with_at_least_the_level() {
    let level = Level::new(0.9).unwrap();
    let mut cases = Vec::new();
    for classes in [2, 50] {
        for tied in [false, true] {
            // 24 rows are held out, alone in one bin or in six; and 300.
            cases.push(Case { classes, rows: 80, bins: None, tied, scheme: None });
            cases.push(Case { classes, rows: 80, bins: Some(6), tied, scheme: None });
            cases.push(Case { classes, rows: 1000, bins: None, tied, scheme: None });
        }
        for scheme in [SetScheme::Split { share: 0.6 }, SetScheme::CvPlus { folds: 3 }] {
            cases.push(Case { classes, rows: 300, bins: Some(4), tied: false, scheme: Some(scheme) });
        }
    }
    for (number, case) in cases.iter().enumerate() {
        let Rows { logits: many, truth, .. } = world(case.classes, case.tied).draw(MANY, Seed::new(8));
        let one = |r: usize| case.holds(&many, &truth, level, Seed::new(9).child(number as u64).child(r as u64));
        let found: Vec<(bool, f64)> = (0..REPLICATIONS).into_par_iter().map(one).collect();
        let held = found.iter().filter(|f| f.0).count();
        // One-sided, at 1 % over all cases.
        let chance = binomial_cdf(held, REPLICATIONS, level.get());
        assert!(chance > 0.01 / cases.len() as f64, "{case:?}: {held} of {REPLICATIONS}, p = {chance}");
        let length = found.iter().map(|f| f.1).sum::<f64>() / REPLICATIONS as f64;
        println!("{case:?}: {held} of {REPLICATIONS} hold, mean length {length:.3}");
        // Bounds of many rows say something.
        assert!(case.rows < 1000 || length < 0.4, "{case:?}: mean length {length}");
    }
}

#[test]
fn rows_held_out_are_those_that_judge_split_sets_and_apart_from_all_of_cv_plus() {
    let Rows { logits: z, labels, .. } = world(3, false).draw(200, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let inputs = rows.inputs();
    let (seed, tick) = (Seed::new(2), &|_, _| true);
    let accuracy = AccuracySettings::default();
    let split =
        ClassSets { classifier: temperature(), scheme: SetScheme::Split { share: 0.7 }, ..ClassSets::default() };
    let both = accuracy.fit_sets(&split, &rows, seed, tick).unwrap();
    let alone = split.fit(&rows, seed, tick).unwrap();
    assert_eq!(both.probabilities(&inputs).unwrap(), alone.probabilities(&inputs).unwrap());
    assert_eq!(both.class_sets(), alone.class_sets());
    assert_eq!(both.accuracy_bins().unwrap().rows(), both.class_sets().unwrap().scores().rows());
    let cv = ClassSets { classifier: temperature(), ..ClassSets::default() };
    let both = accuracy.fit_sets(&cv, &rows, seed, tick).unwrap();
    assert_eq!((both.accuracy_bins().unwrap().rows(), both.class_sets().unwrap().scores().rows()), (60, 140));
    let bounds = accuracy.fit(&temperature(), &rows, seed, tick).unwrap();
    assert_eq!(both.probabilities(&inputs).unwrap(), bounds.probabilities(&inputs).unwrap());
    assert_eq!(both.accuracy_bins(), bounds.accuracy_bins());
    // All of it survives a file.
    let text = serde_json::to_string(&both).unwrap();
    assert_eq!(serde_json::from_str::<FittedClassifier>(&text).unwrap(), both);
    // Share and bins are as they are set.
    let more = AccuracySettings { held_out: Some(0.5), bins: Some(3) }.fit(&temperature(), &rows, seed, tick).unwrap();
    assert_eq!((more.accuracy_bins().unwrap().rows(), more.accuracy_bins().unwrap().len()), (100, 3));
}

#[test]
fn guarantees_are_told_in_words_and_what_cannot_be_is_refused() {
    let level = Level::new(0.9).unwrap();
    let case = Case { classes: 3, rows: 400, bins: Some(2), tied: false, scheme: None };
    let told = case.fit(Seed::new(1)).accuracy_guarantee(level).unwrap();
    assert_eq!(told.coverage, Some(0.9));
    assert!(told.text.contains("at least 90 % over the 120 rows held out"), "{}", told.text);
    assert!(told.text.contains("for all 2 bins at once") && told.text.contains("not the probability"), "{}", told.text);
    assert!(!told.text.contains("jointly"));
    let one = Case { bins: Some(1), ..case }.fit(Seed::new(1)).accuracy_guarantee(level).unwrap().text;
    assert!(one.contains("among all rows") && !one.contains("at once"), "{one}");
    let scheme = Some(SetScheme::CvPlus { folds: 2 });
    let both = Case { scheme, ..case }.fit(Seed::new(1)).accuracy_guarantee(level).unwrap().text;
    assert!(both.ends_with("the two do not hold jointly."), "{both}");

    let Rows { logits: z, labels, .. } = world(3, false).draw(50, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 3).unwrap();
    let refused = |settings: AccuracySettings| {
        settings.fit(&temperature(), &rows, Seed::new(1), &|_, _| true).unwrap_err().to_string()
    };
    for share in [0.0, 1.0, -0.2, f64::NAN] {
        let e = refused(AccuracySettings { held_out: Some(share), bins: None });
        assert!(e.contains("held_out") && e.contains("between 0 and 1"), "{e}");
    }
    assert!(refused(AccuracySettings { held_out: Some(0.001), bins: None }).contains("hold out a larger share"));
    assert!(refused(AccuracySettings { held_out: None, bins: Some(0) }).contains("bins"));
    let split =
        ClassSets { classifier: temperature(), scheme: SetScheme::Split { share: 0.7 }, ..ClassSets::default() };
    let e = AccuracySettings { held_out: Some(0.2), bins: None }.check(Some(&split)).unwrap_err().to_string();
    assert!(e.contains("held_out") && e.contains("split sets"), "{e}");
    let plain = temperature().fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    assert!(plain.accuracy_bins().is_none() && plain.accuracy_guarantee(level).is_none());
    assert_eq!(plain.accuracy_bounds(&rows.inputs(), level).unwrap_err(), Error::NoAccuracyBounds);
}
