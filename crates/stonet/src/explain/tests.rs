//! Shares add up, what a head cannot tell is left out with a reason, and classes have the entropy of their members.

use ndarray::{Array2, Axis};
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::base::Seed;
use crate::classification::PostStoNetClassifier;
use crate::monitor::Watched;
use crate::regression::{Kind, PostStoNetRegressor};
use crate::rows::{ClassRows, RegressionRows};

fn normal(shape: (usize, usize), seed: u64) -> Array2<f64> {
    let mut draws = StandardNormal.sample_iter(Seed::new(seed).rng());
    Array2::from_shape_simple_fn(shape, || draws.next().unwrap())
}

#[test]
fn shares_of_every_kind_add_up_to_one_and_a_single_model_has_none() {
    let x = normal((150, 3), 1);
    let noise = normal((150, 1), 2);
    let y = x.map_axis(Axis(1), |r| r[0] + 0.2 * r[1]).insert_axis(Axis(1)) + 0.3 * &noise;
    let rows = RegressionRows::new(x.view(), y.view()).unwrap();
    let new = RegressionInputs::new(x.view()).unwrap();
    for (kind, shared, wide) in
        [(Kind::Fast, true, true), (Kind::Split, false, true), (Kind::Cv, true, false), (Kind::Paper, true, false)]
    {
        let head = PostStoNetRegressor { kind, ..Default::default() }.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let can = Explainable::regression(&head, None);
        assert_eq!((can.shares, can.widths[0].is_some(), can.novelty), (shared, wide, false), "{kind:?}");
        assert_eq!(can.missing().len(), 3 - usize::from(shared) - usize::from(wide), "{kind:?}");
        let told = regression(&head, None, &new).unwrap();
        assert_eq!(told.targets[0].shares.is_some(), shared);
        assert_eq!(told.targets[0].width.is_some(), wide);
        let Some(shares) = &told.targets[0].shares else { continue };
        let parts = &head.variance_parts(&new).unwrap()[0];
        for i in 0..150 {
            assert!((shares.model[i] + shares.noise[i] - 1.0).abs() < 1e-12);
            let all: f64 = parts.iter().map(|p| p.values[i]).sum();
            assert!((shares.noise[i] * all - parts.last().unwrap().values[i]).abs() < 1e-9 * all, "{kind:?}");
        }
    }
}

#[test]
fn classes_have_the_entropy_of_their_members_and_what_these_disagree_about() {
    let x = normal((400, 4), 3);
    let draws = normal((400, 3), 4);
    let z = Array2::from_shape_fn((400, 3), |(i, k)| 2.0 * x[[i, k]] + x[[i, 3]]);
    let truth = &z + &(draws * 2.0);
    let labels: Vec<usize> = truth.outer_iter().map(crate::metrics::top_class).collect();
    let new = ClassInputs::logits(z.view()).unwrap().with_features(x.view()).unwrap();
    let rows = ClassRows::new(new, &labels, 3).unwrap();
    let head = PostStoNetClassifier::default().fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let watched = Watched { inputs: &[z.view(), x.view()], targets: None, labels: None, logits: None };
    let baseline = Baseline::fit(&watched, Seed::new(1)).unwrap();
    let can = Explainable::classification(&head, Some(&baseline));
    assert!(can.novelty && !can.is_empty());
    let told = classification(&head, Some(&baseline), &new).unwrap();
    assert_eq!(told.novelty.as_ref().unwrap().len(), 400);
    assert_eq!(told.targets[0].shares.is_some(), head.members().len() > 1);
    if let Some(shares) = &told.targets[0].shares {
        assert!(shares.model.iter().zip(&shares.noise).all(|(m, n)| (m + n - 1.0).abs() < 1e-12 && *m >= 0.0));
        assert!(shares.model.iter().any(|m| *m > 1e-6), "members that differ disagree somewhere");
    }
    let one = PostStoNetClassifier { method: crate::ClassMethod::Temperature, ..Default::default() };
    let one = one.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    assert!(Explainable::classification(&one, None).is_empty());
    assert_eq!(classification(&one, None, &new).unwrap().targets[0].shares, None);
}
