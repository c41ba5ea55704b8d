//! Bounds for the guessed class: one solve equals the covariance of all classes, and accuracies of bins are held at once.

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::classification::{AccuracyBounds, OneClass, SkipSettings};
use stonet::metrics::top_class;
use stonet::network::Likelihood;
use stonet::*;

/// Probabilities that are twice too sure, the true ones, and labels drawn from these.
fn sample(classes: usize, rows: usize, seed: Seed) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let mut rng = seed.rng();
    let z = Array2::from_shape_simple_fn((rows, classes), || {
        let draw: f64 = StandardNormal.sample(&mut rng);
        2.5 * draw
    });
    let truth = Likelihood::Multinomial.mean(&z / 2.0);
    let labels = truth.outer_iter().map(|p| {
        let mut left: f64 = rng.random();
        p.iter().position(|p| (left -= p, left < 0.0).1).unwrap_or(classes - 1)
    });
    let labels = labels.collect();
    (z, truth, labels)
}

#[test]
fn one_solve_gives_the_interval_that_the_covariance_of_all_classes_gives() {
    let (z, _, labels) = sample(4, 800, Seed::new(1));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap();
    let level = Level::new(0.9).unwrap();
    for method in [ClassMethod::Temperature, ClassMethod::Vector, ClassMethod::MatrixOdir, ClassMethod::Skip] {
        let skip = SkipSettings { hidden: 10, kappas: Some(vec![1e-3]), ..Default::default() };
        let settings = PostStoNetClassifier { method, skip, ..Default::default() };
        let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        let all = ProbabilityCovariance::fit(&fitted, &rows, Wald::default()).unwrap();
        let all = all.intervals(&fitted, &rows.inputs(), level).unwrap();
        let one = OneClass::fit(&fitted, &rows, Wald::default()).unwrap();
        for named in [None, Some(2)] {
            let found = one.intervals(&fitted, &rows.inputs(), named, level).unwrap();
            assert_eq!(found.len(), 800);
            for (i, f) in found.iter().enumerate() {
                let k = named.unwrap_or_else(|| top_class(all.probability.row(i)));
                assert_eq!(f.class, k);
                for (found, want) in [
                    (f.probability, all.probability[[i, k]]),
                    (f.lower, all.lower[[i, k]]),
                    (f.upper, all.upper[[i, k]]),
                ] {
                    assert!((found - want).abs() < 1e-6, "{method}, row {i}: {found} for {want}");
                }
            }
        }
        let bad = one.intervals(&fitted, &rows.inputs(), Some(4), level);
        assert!(matches!(bad, Err(Error::Label { label: 4, classes: 4, .. })));
    }
}

#[test]
fn accuracies_of_all_bins_are_held_at_once_for_a_hundred_classes() {
    const REPLICATIONS: usize = 150;
    const CLASSES: usize = 100;
    let level = Level::new(0.9).unwrap();
    let (many, truth, _) = sample(CLASSES, 20_000, Seed::new(3));
    let many = Likelihood::Multinomial.mean(many);
    let held = |r: usize| {
        let seed = Seed::new(4).child(r as u64);
        let (edges, _, _) = sample(CLASSES, 300, seed.child(0));
        let (counted, _, labels) = sample(CLASSES, 600, seed.child(1));
        let p = |z: Array2<f64>| Likelihood::Multinomial.mean(z);
        let bounds = AccuracyBounds::fit(p(edges).view(), p(counted).view(), &labels, 8, level).unwrap();
        let mut sums = vec![(0.0, 0.0); bounds.bins().len()];
        for (row, truth) in many.axis_iter(Axis(0)).zip(truth.axis_iter(Axis(0))) {
            let guess = top_class(row);
            let to = bounds.at(row[guess]).to;
            let bin = bounds.bins().iter().position(|b| b.to == to).unwrap();
            sums[bin] = (sums[bin].0 + truth[guess], sums[bin].1 + 1.0);
        }
        bounds.bins().iter().zip(&sums).all(|(b, (sum, rows))| b.lower <= sum / rows && sum / rows <= b.upper)
    };
    let held = (0..REPLICATIONS).into_par_iter().filter(|r| held(*r)).count();
    let least = 0.9 - 4.5 * (0.9f64 * 0.1 / REPLICATIONS as f64).sqrt();
    assert!(held as f64 / REPLICATIONS as f64 >= least, "{held} of {REPLICATIONS}");
}

#[test]
fn beyond_twenty_classes_the_error_says_what_to_do() {
    let (z, _, labels) = sample(21, 1500, Seed::new(5));
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 21).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::Temperature, ..Default::default() };
    let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let e = OneClass::fit(&fitted, &rows, Wald::default()).err().unwrap().to_string();
    assert!(e.contains("21 classes, and beyond 20") && e.contains("accuracy_bounds"), "{e}");
}
