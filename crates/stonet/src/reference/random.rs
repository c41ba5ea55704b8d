//! Heads that bytes choose, fitted on random rows: their plans on tiles give what the definition gives.

use ndarray::{Array1, Array2, Axis, s};
use rand_distr::{Distribution, StandardNormal};

use super::compare::{agree, expected, is_single};
use super::{isotonic, pool};
use crate::base::Seed;
use crate::calibration::IsotonicOvr;
use crate::classification::{ClassMethod, PostStoNetClassifier, SkipSettings};
use crate::metrics::top_class;
use crate::network::Likelihood;
use crate::regression::{FittedRegressor, Kind, PostStoNetRegressor, StoNetSettings};
use crate::rows::{
    ClassInputs, ClassOutput, ClassRows, InputKind, Intervals, Level, OwnKind, RegressionInputs, RegressionRows, Side,
    Within,
};
use crate::score::Asked;

/// Bytes as choices, one after the other; 0 where they are used up.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next().map_or(0, |b| usize::from(*b) % bound)
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }
}

/// Fits the head that these bytes describe, and compares its plan with the definition on new rows. Panics where they
/// differ.
pub fn random_head(bytes: &[u8]) {
    let mut choices = Choices(bytes.iter());
    if choices.yes() { classifier(&mut choices) } else { regressor(&mut choices) }
}

fn normals(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut rng = Seed::new(seed).rng();
    Array2::from_shape_simple_fn((rows, columns), || StandardNormal.sample(&mut rng))
}

/// Columns that are far from 0, in other units, constant, or zero in most rows, as the choices say.
fn features(rows: usize, columns: usize, choices: &mut Choices<'_>, seed: u64) -> Array2<f64> {
    let mut x = normals(rows, columns, seed);
    for mut column in x.columns_mut() {
        match choices.below(6) {
            1 => column.mapv_inplace(|v| 1e4 * (v + 9.0)),
            2 => column.mapv_inplace(|v| 1e-6 * v),
            3 => column.fill(2.5),
            4 => column.mapv_inplace(|v| v.max(0.0)),
            5 => column.mapv_inplace(|v| if v > 1.0 { 1.0 } else { 0.0 }),
            _ => {}
        }
    }
    x
}

fn regressor(choices: &mut Choices<'_>) {
    let kind = Kind::ALL[choices.below(Kind::ALL.len())];
    let stonet = StoNetSettings {
        hidden: vec![choices.below(6); choices.below(3)].into_iter().filter(|h| *h > 0).collect(),
        steps: 20,
        kappas: Some(vec![[1e-3, 0.02, 0.3, 50.0][choices.below(4)]]),
        ..StoNetSettings::default()
    };
    let settings = PostStoNetRegressor {
        kind,
        folds: 2 + choices.below(3),
        learned_scale: !choices.yes(),
        symmetric: choices.yes(),
        nested: !choices.yes(),
        stonet,
        ..PostStoNetRegressor::default()
    };
    let (fitted_on, targets, columns) = (60 + choices.below(60), 1 + choices.below(2), 1 + choices.below(8));
    let (predicted, own, grouped) = (choices.yes(), choices.below(3), choices.yes());
    let seed = choices.below(256) as u64;
    // New rows behind those that are fitted on; some of them far away.
    let all = fitted_on + 40;
    let mut x = features(all, columns, choices, seed);
    let noise = normals(all, 2 * targets, seed + 1000);
    let y = Array2::from_shape_fn((all, targets), |(i, j)| {
        let z = x[[i, j % columns]];
        z + (z / (1.0 + z.abs())).tanh() + (1.0 + 0.3 * noise[[i, targets + j]].abs()) * noise[[i, j]]
    });
    let prediction = &y * 0.9 + normals(all, targets, seed + 2000);
    let width = noise.slice(s![.., targets..]).mapv(|v| 0.2 + v.abs());
    x.slice_mut(s![fitted_on..fitted_on + 10, ..]).mapv_inplace(|v| 4.0 * v - 1.0);
    let (lower, upper) = (&prediction - &width, &prediction + &(2.0 * &width));
    let labels: Vec<String> =
        (0..fitted_on).map(|i| ["a", "b", "few"][(i % 2).max(2 * usize::from(i % 19 == 0))].into()).collect();
    let (within, numbers) = Within::learn(&[&labels]).unwrap();

    let (old, new) = (s![..fitted_on, ..], s![fitted_on.., ..]);
    let mut rows = RegressionRows::new(x.slice(old), y.slice(old)).unwrap();
    if predicted {
        rows = rows.with_prediction(prediction.slice(old)).unwrap();
    }
    rows = match own {
        1 => rows.with_quantiles(lower.slice(old), upper.slice(old)).unwrap(),
        2 => rows.with_sd(width.slice(old)).unwrap(),
        _ => rows,
    };
    if grouped {
        rows = rows.with_within(&within, &numbers).unwrap();
    }
    // Not every kind takes every input: what is refused in words is none of this test's business.
    let Ok(fitted) = settings.fit(&rows, Seed::new(seed), &|_, _| true) else { return };

    let mut rows = RegressionInputs::new(x.slice(new)).unwrap();
    if fitted.needs_prediction() {
        rows = rows.with_prediction(prediction.slice(new)).unwrap();
    }
    rows = match fitted.own() {
        Some(OwnKind::Quantiles) => rows.with_quantiles(lower.slice(new), upper.slice(new)).unwrap(),
        Some(OwnKind::Sd) => rows.with_sd(width.slice(new)).unwrap(),
        None => rows,
    };
    let labels: Vec<String> = (0..all - fitted_on).map(|i| ["a", "b", "few", "new"][i % 4].into()).collect();
    let numbers = fitted.within().map(|within| within.encode(&[&labels]).unwrap());
    if let Some(numbers) = &numbers {
        rows = rows.with_within(numbers).unwrap();
    }
    plan_agrees(&fitted, &rows, targets, choices);
}

fn plan_agrees(fitted: &FittedRegressor, rows: &RegressionInputs<'_>, targets: usize, choices: &mut Choices<'_>) {
    let side = [Side::Both, Side::Lower, Side::Upper][choices.below(3)];
    let joint = choices.yes();
    let level = Level::new([0.9, 0.6, 0.99, 0.2][choices.below(4)]).unwrap();
    if fitted.eve().is_some() && side != Side::Both && level.get() <= 0.5 {
        return; // bounds of Eve's law are for levels above ½
    }
    let asked = Asked { joint, ..Asked::at(&[level]).with_side(side) };
    let what = format!("{:?} {side:?} {joint} {level:?}", fitted.settings());
    let single = is_single(&fitted.scorer(&asked).unwrap());
    let found = fitted.all_intervals(rows, &asked).unwrap();
    let each = asked.each(level, targets).unwrap();
    let expected = Intervals { level, ..expected(fitted, rows, each, side) };
    // The error of a prediction does not become smaller with the level.
    let long = Level::new(level.get().max(0.6)).unwrap();
    let both = fitted.all_intervals(rows, &Asked { joint, ..Asked::at(&[long]) }).unwrap();
    agree(&found[0], &expected, single.then_some(&both[0]), &what);
    // A row does not depend on the rows beside it.
    let part = fitted.all_intervals(&rows.part(7..12), &asked).unwrap();
    assert_eq!(part[0].lower, found[0].lower.slice(s![7..12, ..]), "{what}");
    assert_eq!(part[0].upper, found[0].upper.slice(s![7..12, ..]), "{what}");
}

fn classifier(choices: &mut Choices<'_>) {
    let (classes, with_features) = (2 + choices.below(4), choices.yes());
    let methods = ClassMethod::possible(classes, with_features);
    let method = methods[choices.below(methods.len())];
    let skip = SkipSettings {
        hidden: choices.below(7),
        kappas: Some(vec![[1e-3, 0.1][choices.below(2)]]),
        max_steps: 40,
        ..SkipSettings::default()
    };
    let settings = PostStoNetClassifier { method, skip, paper_epochs: vec![2], ..PostStoNetClassifier::default() };
    let (fitted_on, columns) = (60 + choices.below(80), 1 + choices.below(5));
    let scale = [0.3, 1.0, 8.0][choices.below(3)];
    let seed = choices.below(256) as u64;
    let all = fitted_on + 30;
    let x = features(all, columns, choices, seed);
    let z = normals(all, classes, seed + 1000) * scale;
    let noisy = &z + &(normals(all, classes, seed + 2000) * scale);
    let labels: Vec<usize> = noisy.outer_iter().take(fitted_on).map(top_class).collect();
    let inputs = |from: usize, to: usize| {
        let inputs = ClassInputs::logits(z.slice(s![from..to, ..])).unwrap();
        if with_features { inputs.with_features(x.slice(s![from..to, ..])).unwrap() } else { inputs }
    };
    let (old, new) = (inputs(0, fitted_on), inputs(fitted_on, all));
    let rows = ClassRows::new(old, &labels, classes).unwrap();
    let Ok(fitted) = settings.fit(&rows, Seed::new(seed), &|_, _| true) else { return };
    let found = fitted.probabilities(&new).unwrap();
    let mean = |z: ndarray::ArrayView2<'_, f64>| Likelihood::Multinomial.mean(z.to_owned());
    let expected = match method {
        ClassMethod::VennAbers => return,
        ClassMethod::Isotonic => {
            let maps = IsotonicOvr::fit(mean(old.logits.unwrap()).view(), &labels).unwrap();
            isotonic(&maps, mean(new.logits.unwrap()))
        }
        _ => pool(&fitted.members(), &new),
    };
    let scorer = fitted.scorer(ClassOutput { kind: InputKind::Logits, columns: classes }).unwrap();
    let most = if is_single(&scorer) { 1e-5 } else { 1e-9 };
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() <= most * b.max(1e-6), "{method} {classes} {with_features}: {a} and not {b}");
    }
    let sums: Array1<f64> = found.sum_axis(Axis(1));
    assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-12), "{method}: {sums}");
}

/// The same bytes on every machine, as a fuzzer would choose them.
#[test]
fn random_heads() {
    let mut rng = Seed::new(21).rng();
    for _ in 0..150 {
        let bytes: [u8; 40] = std::array::from_fn(|_| rand::RngExt::random(&mut rng));
        random_head(&bytes);
    }
}
