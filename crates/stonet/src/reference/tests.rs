//! Plans against the readable forms, for every kind, side, level and method.
#![cfg(test)]

use ndarray::{Array2, ArrayView2, Axis, s};
use rand_distr::{Distribution, StandardNormal};

use super::compare::{agree, expected, is_single};
use super::{accuracy_at, eve, eve_moments, isotonic, pool, set, stacks_below};
use crate::base::{Error, Result, Seed};
use crate::calibration::IsotonicOvr;
use crate::classification::{
    AccuracySettings, ClassExtras, ClassMethod, ClassSets, FittedClassifier, PostStoNetClassifier, SetScheme,
    SkipSettings,
};
use crate::conformal::{LabelPart, SetBy, SetRule, SetScore};
use crate::eve::{Estimate, EveIntervals};
use crate::linalg::simd::{InstructionSet, forced};
use crate::network::{Activation, Layer, StoNet};
use crate::regression::{Adapt, FittedRegressor, Kind, PostStoNetRegressor, StoNetSettings};
use crate::rows::{
    ClassInputs, ClassOutput, ClassRows, Dataset, InputKind, Intervals, Level, OwnKind, PredictInterval,
    RegressionInputs, RegressionRows, Scaling, Side, Within,
};
use crate::score::{Asked, Column, Port, Scorer};
use crate::sparse::Refit;

const FEATURES: usize = 7;

pub(super) struct Rows {
    pub(super) features: Array2<f64>,
    pub(super) prediction: Array2<f64>,
    y: Array2<f64>,
}

impl Rows {
    fn calibration(&self, targets: usize, prediction: bool) -> RegressionRows<'_> {
        let rows = RegressionRows::new(self.features.view(), self.y.slice(s![.., ..targets])).unwrap();
        let d = self.prediction.slice(s![.., ..targets]);
        if prediction { rows.with_prediction(d).unwrap() } else { rows }
    }
}

/// Features of very different units, one of them constant; two targets.
fn rows(n: usize, seed: u64) -> Rows {
    let mut rng = Seed::new(seed).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let z = Array2::from_shape_simple_fn((n, FEATURES), &mut normal);
    let mean = |f: ndarray::ArrayView1<'_, f64>, j: usize| f[j] + (1.5 * f[2]).tanh() * (j as f64 - 2.0);
    let y = Array2::from_shape_fn((n, 2), |(i, j)| 10.0 * mean(z.row(i), j) + (0.4 * z[[i, 3]]).exp() * normal());
    let prediction = Array2::from_shape_fn((n, 2), |(i, j)| 9.0 * mean(z.row(i), j) + z[[i, 4]] + normal());
    let unit = [1.0, 1e4, 1e-6, 1.0, 3.0, 1.0, 1.0];
    let mut features = Array2::from_shape_fn(z.dim(), |(i, k)| (z[[i, k]] + [0.0, 900.0, 5.0][k % 3]) * unit[k]);
    features.column_mut(5).fill(2.5);
    Rows { features, prediction, y }
}

pub(super) fn fit(settings: &PostStoNetRegressor, targets: usize, prediction: bool, groups: bool) -> FittedRegressor {
    let sample = rows(90, 1);
    let groups: Option<Vec<usize>> = groups.then(|| (0..90).map(|i| i * i % 31).collect());
    let mut rows = sample.calibration(targets, prediction);
    if let Some(groups) = &groups {
        rows = rows.with_groups(groups).unwrap();
    }
    settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap()
}

/// A split that is fitted on a sample; other rows calibrate it, and their scores are counted in buckets.
fn sampled(targets: usize, prediction: bool) -> FittedRegressor {
    let settings = quick(Kind::Split, vec![5], vec![0.001, 0.02]);
    let (sample, others) = (rows(90, 1), rows(300, 8));
    let mut head = settings.fit_sample(&sample.calibration(targets, prediction), Seed::new(2), &|_, _| true).unwrap();
    head.calibrate(&others.calibration(targets, prediction)).unwrap();
    head.finish().unwrap()
}

pub(super) fn quick(kind: Kind, hidden: Vec<usize>, kappas: Vec<f64>) -> PostStoNetRegressor {
    let stonet = StoNetSettings { hidden, steps: 120, kappas: Some(kappas), ..StoNetSettings::default() };
    PostStoNetRegressor { kind, folds: 3, stonet, ..PostStoNetRegressor::default() }
}

/// Some rows far outside of what was seen, and the constant no longer constant.
pub(super) fn new_rows() -> Rows {
    let mut new = rows(75, 3);
    new.features.slice_mut(s![..20, ..]).mapv_inplace(|v| 4.0 * v - 1.0);
    new.features.column_mut(5).slice_mut(s![..40]).fill(-8.0);
    new
}

/// All intervals that a scorer gives for columns that lie apart in memory.
pub(super) fn scored(fitted: &FittedRegressor, asked: &Asked, rows: &RegressionInputs<'_>) -> Vec<Vec<f64>> {
    let scorer = fitted.scorer(asked).unwrap();
    let (x, d) = (Column::of(rows.features), rows.prediction.map(Column::of).unwrap_or_default());
    let own: Vec<Vec<Column<'_>>> = rows.own().into_iter().map(Column::of).collect();
    let column = |port: Port, k: usize| match (port, port.own_place()) {
        (_, Some((_, place))) => own[place][k],
        (Port::Features, _) => x[k],
        (Port::Groups, _) => Column::F64(rows.within.unwrap()),
        _ => d[k],
    };
    let columns: Vec<Column<'_>> = scorer.inputs().iter().map(|i| column(i.port, i.column)).collect();
    scorer.run(&columns, x.first().map_or(0, Column::len)).unwrap()
}

/// Quantiles that lean to one side and cross at some rows, and standard deviations.
fn own(rows: &Rows, targets: usize) -> [Array2<f64>; 3] {
    let width = |i: usize| (0.4 * rows.features[[i, 3]]).clamp(-3.0, 3.0).exp() - 0.4;
    let at = |factor: f64| {
        Array2::from_shape_fn((rows.y.nrows(), targets), |(i, j)| rows.prediction[[i, j]] + factor * width(i))
    };
    let sd = Array2::from_shape_fn((rows.y.nrows(), targets), |(i, _)| 0.5 + width(i));
    [at(-1.0), at(2.5), sd]
}

/// The levels at which a head has intervals: bounds of Eve's law are for levels above ½.
fn levels(fitted: &FittedRegressor, side: Side) -> Vec<Level> {
    let low = fitted.eve().is_none() || side == Side::Both;
    let level = |l: f64| Level::new(l).unwrap();
    [0.9, 0.6, 0.2, 0.05].map(level).into_iter().filter(|l| low || l.get() > 0.5).collect()
}

fn same_as_the_definition(fitted: &FittedRegressor, targets: usize, what: &str) -> bool {
    let new = new_rows();
    let mut rows = RegressionInputs::new(new.features.view()).unwrap();
    if fitted.needs_prediction() {
        rows = rows.with_prediction(new.prediction.slice(s![.., ..targets])).unwrap();
    }
    let [lower, upper, sd] = own(&new, targets);
    rows = match fitted.own() {
        Some(OwnKind::Quantiles) => rows.with_quantiles(lower.view(), upper.view()).unwrap(),
        Some(OwnKind::Sd) => rows.with_sd(sd.view()).unwrap(),
        None => rows,
    };
    // Two groups with many rows, one with few, and one that is not known.
    let labels: Vec<String> = (0..new.y.nrows()).map(|i| ["a", "b", "few", "new"][i % 4].into()).collect();
    let numbers = fitted.within().map(|within| within.encode(&[&labels]).unwrap());
    if let Some(numbers) = &numbers {
        rows = rows.with_within(numbers).unwrap();
    }
    let turned = new.features.t().as_standard_layout().to_owned();
    let mut single = false;
    let sides = [Side::Both, Side::Lower, Side::Upper];
    for (side, joint) in sides.into_iter().flat_map(|side| [(side, false), (side, true)]) {
        let levels = levels(fitted, side);
        let asked = Asked { joint, ..Asked::at(&levels).with_side(side) };
        single |= is_single(&fitted.scorer(&asked).unwrap());
        let all = fitted.all_intervals(&rows, &asked).unwrap();
        // Columns that lie one after the other in memory give the same, and so does any part of the rows.
        let columns = scored(fitted, &asked, &rows);
        assert_eq!(scored(fitted, &asked, &RegressionInputs { features: turned.t(), ..rows }), columns, "{what}");
        let part = |c: &Vec<f64>| c[40..47].to_vec();
        let some = scored(fitted, &asked, &rows.part(40..47));
        assert_eq!(some, columns.iter().map(part).collect::<Vec<_>>(), "{what}");
        for (level, found) in levels.into_iter().zip(&all) {
            let each = asked.each(level, targets).unwrap();
            let expected = Intervals { level, ..expected(fitted, &rows, each, side) };
            // The error of a prediction does not become smaller with the level.
            let long = Level::new(level.get().max(0.6)).unwrap();
            let both = fitted.all_intervals(&rows, &Asked { joint, ..Asked::at(&[long]) }).unwrap();
            agree(found, &expected, single.then_some(&both[0]), what);
            if !joint {
                assert_eq!(fitted.intervals(&rows, level, side).unwrap(), *found, "{what}");
            }
        }
        assert_eq!(fitted.predict(&rows).unwrap(), all[0].prediction, "{what}");
    }
    distributions_agree(fitted, &rows, what);
    single
}

/// Quantiles are one-sided bounds, and P(y ≤ t) is what its definition says, at common values and at values of every
/// row.
fn distributions_agree(fitted: &FittedRegressor, rows: &RegressionInputs<'_>, what: &str) {
    let (x, level) = (rows.features, |l: f64| Level::new(l).unwrap());
    let quantiles = fitted.quantiles(rows, &[0.05, 0.3, 0.5, 0.9].map(level)).unwrap();
    let bounds = [(0.95, Side::Lower), (0.7, Side::Lower), (0.5, Side::Upper), (0.9, Side::Upper)];
    for (found, (l, side)) in quantiles.iter().zip(bounds) {
        let bound = match fitted.eve() {
            Some(_) if l == 0.5 => fitted.predict(rows).unwrap(),
            _ => {
                let i = fitted.intervals(rows, level(l), side).unwrap();
                if side == Side::Lower { i.lower } else { i.upper }
            }
        };
        let near = |(a, b): (&f64, &f64)| a == b || (a - b).abs() < 1e-9 * (1.0 + b.abs());
        assert!(found.iter().zip(&bound).all(near), "{what} {l}: {found} {bound}");
    }
    // Away from the values themselves, where rounding decides; adapted heads have no median of rows that are too far away.
    let values = quantiles[2].mapv(|q| if q.is_finite() { q + 0.123 } else { 0.123 });
    let expected = match (fitted.stacks(), fitted.eve()) {
        (Some(model), _) => stacks_below(model, fitted.adapted().map(|a| &a.ratio), rows, values.view()),
        (_, Some(model)) => {
            let [mean, sd] = eve_moments(model, x);
            ((&values - &mean) / sd).mapv(crate::base::normal::cdf)
        }
        _ => unreachable!(),
    };
    let found = fitted.cdf_at(rows, values.view()).unwrap();
    // One row of those that calibrate may lie within what single precision loses.
    let apart = (&found - &expected).mapv(f64::abs).fold(0.0, |a: f64, &b| a.max(b));
    assert!(apart < 0.025 && (&found - &expected).sum().abs() < 1e-3 * found.len() as f64, "{what}: {apart}");
    let common = fitted.cdf(rows, &[values[[3, 0]], f64::NEG_INFINITY, f64::INFINITY]).unwrap();
    assert_eq!(common[0][[3, 0]], found[[3, 0]], "{what}");
    assert!(common[1].iter().zip(&common[2]).all(|(least, most)| least < most), "{what}");
    assert!(fitted.cdf(rows, &[f64::NAN]).is_err() && fitted.cdf_at(rows, values.t()).is_err() == (x.nrows() > 2));
    let all = fitted.quantiles(rows, &fitted.equally_likely()).unwrap();
    let finite = all.iter().flatten().all(|q| q.is_finite());
    assert!(finite || fitted.adapted().is_some(), "{what}");
    let ascending = |pair: &[Array2<f64>]| pair[0].iter().zip(&pair[1]).all(|(a, b)| a <= b);
    assert!(all.windows(2).all(ascending), "{what}");
}

#[test]
fn every_kind_with_and_without_prediction_groups_and_hidden_units() {
    let mut singles = 0;
    for kind in Kind::ALL {
        for (targets, prediction, groups) in [(1, true, false), (2, true, false), (1, false, false), (1, true, true)] {
            let what = format!("{kind} {targets} {prediction} {groups}");
            let fitted = fit(&quick(kind, vec![5], vec![0.001, 0.02]), targets, prediction, groups);
            singles += usize::from(same_as_the_definition(&fitted, targets, &what));
            // Eve's law has no clipping, so there a constant may have a weight.
            assert!(fitted.eve().is_some() || !fitted.used_features().contains(&5), "{what}: a constant is used");
        }
    }
    for kind in [Kind::Stack, Kind::CvPlus, Kind::Cv] {
        for (hidden, kappa) in [(vec![], 0.001), (vec![5, 4], 0.001), (vec![4], 0.3), (vec![4], 50.0)] {
            let what = format!("{kind} {hidden:?} {kappa}");
            same_as_the_definition(&fit(&quick(kind, hidden, vec![kappa]), 1, true, false), 1, &what);
        }
        let constant = PostStoNetRegressor { learned_scale: false, nested: false, ..quick(kind, vec![3], vec![0.01]) };
        same_as_the_definition(&fit(&constant, 2, true, false), 2, "constant scale");
    }
    for (targets, prediction) in [(1, true), (2, true), (2, false)] {
        let what = format!("sampled {targets} {prediction}");
        same_as_the_definition(&sampled(targets, prediction), targets, &what);
    }
    assert!(singles >= 12, "single precision was chosen {singles} times");
    // Nothing is left of the StoNet, and so nothing of the features.
    let dead = fit(&quick(Kind::Cv, vec![4], vec![50.0]), 1, false, false);
    assert!(dead.used_features().is_empty());
}

#[test]
fn every_kind_with_the_networks_own_uncertainty() {
    let sample = rows(90, 1);
    let groups: Vec<usize> = (0..90).map(|i| i * i % 31).collect();
    let mut looks = 0;
    for kind in [Kind::Stack, Kind::Fast, Kind::CvPlus, Kind::Split] {
        for (quantiles, targets, prediction, grouped) in
            [(true, 1, true, false), (true, 2, false, false), (false, 2, true, false), (false, 1, false, true)]
        {
            let [lower, upper, sd] = own(&sample, targets);
            let rows = sample.calibration(targets, prediction);
            let rows = match quantiles {
                true => rows.with_quantiles(lower.view(), upper.view()).unwrap(),
                false => rows.with_sd(sd.view()).unwrap(),
            };
            let rows = if grouped { rows.with_groups(&groups).unwrap() } else { rows };
            let fitted = quick(kind, vec![5], vec![0.001, 0.02]).fit(&rows, Seed::new(2), &|_, _| true).unwrap();
            let what = format!("{kind} {quantiles} {targets} {prediction} {grouped}");
            same_as_the_definition(&fitted, targets, &what);
            let folds = fitted.stacks().unwrap().iter().flat_map(|s| s.folds());
            looks += folds.filter(|f| f.shape().is_some()).count();
            let json = serde_json::to_string(&fitted).unwrap();
            assert_eq!(serde_json::from_str::<FittedRegressor>(&json).unwrap(), fitted, "{what}");
        }
    }
    assert!(looks > 0, "no shape looks at the quantiles");
}

#[test]
fn groups_have_ranks_of_their_own() {
    let sample = rows(240, 1);
    let labels: Vec<String> = (0..240).map(|i| if i % 20 == 0 { "few" } else { ["a", "b"][i % 2] }.into()).collect();
    let (within, numbers) = Within::learn(&[&labels]).unwrap();
    for kind in [Kind::Stack, Kind::CvPlus, Kind::Fast, Kind::Split] {
        let rows = sample.calibration(2, true).with_within(&within, &numbers).unwrap();
        let fitted = quick(kind, vec![5], vec![0.01]).fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        same_as_the_definition(&fitted, 2, &format!("{kind} within groups"));
    }
}

/// Rows that come from elsewhere: the far ones of them have infinite intervals, and all others those of the definition.
#[test]
fn weights_of_rows_rank_them() {
    let (sample, mut new) = (rows(150, 1), rows(75, 3));
    new.features.column_mut(0).mapv_inplace(|v| v + 0.8);
    // The network's prediction follows: otherwise it would give every new row away.
    new.prediction.column_mut(0).mapv_inplace(|d| d + 9.0 * 0.8);
    for (kind, targets, prediction) in
        [(Kind::Stack, 1, true), (Kind::Fast, 2, true), (Kind::CvPlus, 1, false), (Kind::Split, 2, true)]
    {
        let calibration = sample.calibration(targets, prediction);
        let head = quick(kind, vec![5], vec![0.01]).fit(&calibration, Seed::new(2), &|_, _| true).unwrap();
        let mut from = RegressionInputs::new(new.features.view()).unwrap();
        if prediction {
            from = from.with_prediction(new.prediction.slice(s![.., ..targets])).unwrap();
        }
        let known = crate::conformal::Ratio::tilt(&[0.3, 0.0, 0.0, 0.5, 0.1]).unwrap();
        for ratio in [None, Some(known)] {
            let adapt = Adapt { ratio, ..Adapt::default() };
            let fitted = adapt.regression(&head, Some(&calibration), &from, &|_, _| true).unwrap();
            let what = format!("{kind} {targets} adapted, known ratio: {}", adapt.ratio.is_some());
            let adapted = fitted.adapted().unwrap();
            assert!(!adapted.ratio.terms().is_empty() && adapted.effective_rows < adapted.rows as f64, "{what}");
            same_as_the_definition(&fitted, targets, &what);
            let at = fitted.intervals(&from, adapted.level, Side::Both).unwrap();
            let infinite = |i: &usize| at.upper.row(*i).iter().any(|v| v.is_infinite());
            assert_eq!((0..at.upper.nrows()).filter(infinite).count(), adapted.infinite, "{what}");
            let json = serde_json::to_string(&fitted).unwrap();
            assert_eq!(serde_json::from_str::<FittedRegressor>(&json).unwrap(), fitted, "{what}");
        }
    }
}

#[test]
fn deep_networks_of_every_activation_averaged() {
    let Rows { features, y, .. } = rows(60, 4);
    let data = Dataset::new(features, y).unwrap();
    let scaling = Scaling::fit(&data).unwrap();
    let scaled = scaling.apply(&data).unwrap();
    for psi in Activation::ALL {
        for widths in [vec![FEATURES, 2], vec![FEATURES, 4, 2], vec![FEATURES, 4, 3, 2], vec![FEATURES, 3, 4, 3, 2]] {
            let one = |seed: u64| {
                let mut layers = StoNet::random(&widths, psi, Seed::new(seed))?.layers().to_vec();
                // Inputs and units that drop out, and supports of their own.
                layers[0].weight.column_mut(seed as usize).fill(0.0);
                layers[0].weight.row_mut(0).slice_mut(s![3..]).fill(0.0);
                let noisy = |l: Layer| Layer { noise_variance: 0.3, ..l };
                let net =
                    StoNet::new(layers.into_iter().map(noisy).collect(), psi, crate::network::Likelihood::Gaussian)?;
                Estimate::new(&net, &scaled, Refit::Mls, vec![0.5, 0.2])
            };
            let estimates = [1, 2].map(|s| one(s).unwrap()).to_vec();
            let model = EveIntervals::new(scaling.clone(), estimates).unwrap();
            let level = Level::new(0.8).unwrap();
            let new = new_rows().features;
            agree(
                &model.intervals(new.view(), level).unwrap(),
                &eve(&model, new.view(), level, Side::Both),
                None,
                "deep",
            );
        }
    }
}

#[test]
fn bad_rows_are_refused_and_no_rows_are_fine() -> Result<()> {
    let asked = Asked::at(&[Level::new(0.9)?]);
    let stack = fit(&quick(Kind::Stack, vec![3], vec![0.01]), 1, true, false);
    let scorer = stack.scorer(&asked)?;
    let good = Array2::<f64>::ones((4, scorer.inputs().len()));
    assert_eq!(scorer.outputs().len(), 3);
    assert!(scorer.run(&Column::of(good.view()), 4).is_ok());
    assert!(scorer.run(&Column::of(good.slice(s![.., 1..])), 4).is_err());
    assert!(scorer.run(&Column::of(good.view()), 5).is_err());
    let mut bad = good.clone();
    bad[[2, 1]] = f64::NAN;
    let e = scorer.run(&Column::of(bad.view()), 4);
    assert!(matches!(e, Err(Error::NotFinite { what: "features", row: 2, column: 1, .. })), "{e:?}");
    assert_eq!(scorer.run(&Column::of(good.slice(s![..0, ..])), 0)?, vec![Vec::<f64>::new(); 3]);
    let rows = new_rows();
    let new = RegressionInputs::new(rows.features.view())?;
    assert!(matches!(stack.all_intervals(&new, &asked), Err(Error::NoPrediction { .. })));
    assert!(stack.predict(&RegressionInputs::new(rows.features.slice(s![.., ..2]))?).is_err());
    let eve = fit(&quick(Kind::Cv, vec![3], vec![0.01]), 1, false, false);
    let low = Asked::at(&[Level::new(0.4)?]);
    assert!(eve.scorer(&low.clone().with_side(Side::Lower)).is_err() && eve.scorer(&low).is_ok());
    Ok(())
}

/// Scores that calibrate and predictions come from the same numbers, bit by bit, whatever the precision.
#[test]
fn the_scores_of_a_fit_are_those_of_its_predictions() {
    let Rows { features, prediction, y } = rows(90, 1);
    for kind in [Kind::Split, Kind::Stack] {
        let fitted = fit(&quick(kind, vec![5], vec![0.001]), 1, true, false);
        let stack = &fitted.stacks().unwrap()[0];
        let models: Vec<_> = stack.folds().iter().collect();
        let plan = crate::regression::stack::lower::models_plan(&models, FEATURES);
        let scorer = Scorer::new(plan);
        let column = |port: Port, k: usize| match port {
            Port::Features => Column::F64(features.column(k)),
            _ => Column::F64(prediction.column(0)),
        };
        let columns: Vec<Column<'_>> = scorer.inputs().iter().map(|i| column(i.port, i.column)).collect();
        let at = scorer.run(&columns, 90).unwrap();
        for (k, (scores, _)) in stack.scores().deciding(Side::Upper).iter().enumerate() {
            let of = |r: usize| {
                let off = y[[r, 0]] - at[3 * k][r];
                off / at[3 * k + if off < 0.0 { 2 } else { 1 }][r]
            };
            let all: Vec<f64> = (0..90).map(of).collect();
            assert!(scores.iter().all(|s| all.contains(s)), "{kind}: a score of fold {k} is of no row");
        }
    }
}

/// A target that the network all but knows: residuals are too small for single precision, which is then not chosen.
#[test]
fn small_residuals_are_computed_in_double_precision() {
    let Rows { features, y, .. } = rows(90, 1);
    let exact = |noise: f64| {
        let y = Array2::from_shape_fn((90, 1), |(i, _)| 1e4 * features[[i, 0]] + noise * y[[i, 1]]);
        let rows = RegressionRows::new(features.view(), y.view()).unwrap();
        let fitted = quick(Kind::Fast, vec![], vec![0.01]).fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let scorer = fitted.scorer(&Asked::at(&[Level::new(0.9).unwrap()])).unwrap();
        is_single(&scorer)
    };
    assert!(exact(100.0) && !exact(1e-7));
}

/// Logits of four classes, features from which they follow, and labels that are not always the largest.
pub(super) fn classes(n: usize, seed: u64) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let mut rng = Seed::new(seed).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let features = Array2::from_shape_simple_fn((n, 6), &mut normal);
    let logits = Array2::from_shape_fn((n, 4), |(i, k)| 3.0 * features[[i, k]] + features[[i, 5]] * k as f64 + 40.0);
    let noisy = logits.mapv(|z| z + 2.0 * normal());
    let labels = noisy.outer_iter().map(crate::metrics::top_class).collect();
    (logits, features, labels)
}

/// The maps that isotonic regression learns from these rows.
fn maps(z: ArrayView2<'_, f64>, labels: &[usize]) -> IsotonicOvr {
    IsotonicOvr::fit(softmax(z).view(), labels).unwrap()
}

fn softmax(z: ArrayView2<'_, f64>) -> Array2<f64> {
    crate::network::Likelihood::Multinomial.mean(z.to_owned())
}

/// At knots, between them and beyond them; some rows are sent to 0 by every map.
#[test]
fn isotonic_maps_of_probabilities() {
    let (z, _, labels) = classes(30, 3);
    let own = softmax(classes(400, 4).0.mapv(|z| 0.2 * z).view());
    let never = serde_json::json!({ "x": [0.1, 0.4, 0.7], "y": [0.0, 0.0, 0.8] });
    let never: IsotonicOvr = serde_json::from_value(serde_json::json!([never, never, never, never])).unwrap();
    let zeros = own.outer_iter().filter(|p| p.iter().all(|&p| p <= 0.4)).count();
    assert!((50..350).contains(&zeros), "{zeros}");
    for maps in [never, maps(z.view(), &labels)] {
        for p in [softmax(z.view()), own.clone()] {
            let (found, expected) = (maps.apply(p.view()).unwrap(), isotonic(&maps, p));
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-12 * b));
        }
    }
}

#[test]
fn every_method_of_classification() {
    let (z, x, labels) = classes(160, 3);
    let (new_z, new_x, _) = classes(70, 4);
    let skip = SkipSettings { hidden: 7, kappas: Some(vec![1e-3]), ..SkipSettings::default() };
    for features in [false, true] {
        for method in ClassMethod::possible(4, features) {
            let settings =
                PostStoNetClassifier { method, skip: skip.clone(), paper_epochs: vec![5], ..Default::default() };
            let with = |z, x| {
                let inputs = ClassInputs::logits(z).unwrap();
                if features { inputs.with_features(x).unwrap() } else { inputs }
            };
            let rows = ClassRows::new(with(z.view(), x.view()), &labels, 4).unwrap();
            let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
            let new = with(new_z.view(), new_x.view());
            let p = fitted.probabilities(&new).unwrap();
            let sums = p.sum_axis(Axis(1));
            assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-12), "{method}");
            let scorer = fitted.scorer(ClassOutput { kind: InputKind::Logits, columns: 4 }).unwrap();
            let most = if is_single(&scorer) { 1e-5 } else { 1e-9 };
            let near = |a: &f64, b: &f64| (a - b).abs() <= most * b.max(1e-6);
            let expected = match method {
                ClassMethod::Isotonic => isotonic(&maps(z.view(), &labels), softmax(new_z.view())),
                _ => pool(&fitted.members(), &new),
            };
            assert!(p.iter().zip(&expected).all(|(a, b)| near(a, b)), "{method} {features}");
            for set in InstructionSet::ALL {
                let other = forced(*set, || fitted.probabilities(&new).unwrap());
                assert!(other.iter().flatten().zip(&p).all(|(a, b)| near(a, b)), "{method} {set:?}");
            }
            // A row alone gives the same.
            let one = with(new_z.slice(s![9..10, ..]), new_x.slice(s![9..10, ..]));
            assert_eq!(fitted.probabilities(&one).unwrap().row(0), p.row(9), "{method}");
        }
    }
}

#[test]
fn prediction_sets_of_every_score_scheme_and_group() {
    let (z, _, labels) = classes(200, 3);
    let (new_z, _, _) = classes(70, 4);
    let (output, inputs) =
        (ClassOutput { kind: InputKind::Logits, columns: 4 }, ClassInputs::logits(new_z.view()).unwrap());
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap();
    let levels = [0.5, 0.9, 0.999].map(|l| Level::new(l).unwrap());
    let classifier = PostStoNetClassifier { method: ClassMethod::Vector, ..Default::default() };
    let parts = [LabelPart::None, LabelPart::Whole].into_iter();
    let scores = parts
        .flat_map(|part| [SetScore::Aps { part }, SetScore::Raps { part }, SetScore::Saps { part }])
        .chain([SetScore::Lac]);
    for score in scores {
        for (by, scheme) in [
            (SetBy::All, SetScheme::CvPlus { folds: 3 }),
            (SetBy::All, SetScheme::Split { share: 0.5 }),
            (SetBy::Class, SetScheme::Split { share: 0.5 }),
            (SetBy::Cluster, SetScheme::Split { share: 0.5 }),
        ] {
            for never_empty in [false, true] {
                let rule = SetRule { score, by, never_empty };
                let sets = ClassSets { classifier: classifier.clone(), rule, scheme, ..ClassSets::default() };
                let fitted = sets.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
                let parts = fitted.class_sets().unwrap();
                let models = if parts.models().is_empty() { std::slice::from_ref(&fitted) } else { parts.models() };
                let p: Vec<Array2<f64>> = models.iter().map(|m| m.probabilities(&inputs).unwrap()).collect();
                let guess = fitted.classify(&inputs).unwrap();
                let scorer = fitted.scorer_with(output, &ClassExtras::sets(&levels)).unwrap();
                let columns: Vec<Column<'_>> =
                    scorer.inputs().iter().map(|i| Column::F64(new_z.column(i.column))).collect();
                let found = forced(InstructionSet::ALL[0], || scorer.run(&columns, 70).unwrap());
                let direct = scorer.run(&columns, 70).unwrap();
                assert_eq!(direct[..4], fitted_columns(&fitted, &inputs));
                for (l, level) in levels.iter().enumerate() {
                    let library = fitted.sets(&inputs, *level, Seed::new(1)).unwrap();
                    for i in 0..70 {
                        let at: Vec<Vec<f64>> = p.iter().map(|p| p.row(i).to_vec()).collect();
                        let expected = set(parts.scores(), &at, guess[i], *level);
                        let first = 5 + 5 * l;
                        let of = |run: &[Vec<f64>]| (0..4).map(|k| run[first + k][i] == 1.0).collect::<Vec<bool>>();
                        assert_eq!(of(&direct), expected, "{rule:?} {scheme:?} row {i}");
                        assert_eq!(library.contains.row(i).to_vec(), expected);
                        assert_eq!(direct[first + 4][i], expected.iter().filter(|e| **e).count() as f64);
                        // Rounding of other instruction sets moves a class across the cut all but never.
                        if let Some(found) = &found {
                            assert_eq!(of(found), expected);
                        }
                    }
                }
            }
        }
    }
    let random = ClassSets { classifier, rule: SetScore::APS.into(), ..ClassSets::default() };
    let fitted = random.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    assert_eq!(fitted.scorer_with(output, &ClassExtras::sets(&levels)).unwrap_err(), Error::RandomSets);
    assert!(fitted.scorer(output).is_ok());
}

#[test]
fn bounds_of_accuracy_by_hand_on_every_instruction_set() {
    let (z, _, labels) = classes(300, 3);
    let (new_z, _, _) = classes(70, 4);
    let output = ClassOutput { kind: InputKind::Logits, columns: 4 };
    let inputs = ClassInputs::logits(new_z.view()).unwrap();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap();
    let levels = [0.5, 0.9, 0.999].map(|l| Level::new(l).unwrap());
    for method in [ClassMethod::Vector, ClassMethod::Isotonic, ClassMethod::Skip] {
        let skip = SkipSettings { hidden: 4, kappas: Some(vec![1e-3]), ..SkipSettings::default() };
        let classifier = PostStoNetClassifier { method, skip, ..Default::default() };
        for bins in [1, 2, 9] {
            let accuracy = AccuracySettings { bins: Some(bins), ..Default::default() };
            let fitted = accuracy.fit(&classifier, &rows, Seed::new(2), &|_, _| true).unwrap();
            let counts = fitted.accuracy_bins().unwrap();
            assert!(counts.rows() == 90 && counts.len() <= bins);
            let scorer = fitted.scorer_with(output, &ClassExtras::accuracy(&levels)).unwrap();
            let columns: Vec<Column<'_>> =
                scorer.inputs().iter().map(|i| Column::F64(new_z.column(i.column))).collect();
            for set in InstructionSet::ALL {
                let Some((p, found)) =
                    forced(*set, || (fitted.probabilities(&inputs).unwrap(), scorer.run(&columns, 70).unwrap()))
                else {
                    continue;
                };
                assert_eq!(found.len(), 4 + 1 + 2 * levels.len());
                for (l, level) in levels.iter().enumerate() {
                    let bounds: Vec<_> =
                        counts.bounds(*level).bins().iter().map(|b| (b.to, b.lower, b.upper)).collect();
                    for (i, row) in p.outer_iter().enumerate() {
                        let expected = accuracy_at(&bounds, &row.to_vec());
                        assert_eq!((found[5 + 2 * l][i], found[6 + 2 * l][i]), expected, "{method} {set:?} row {i}");
                    }
                }
            }
            let library = fitted.accuracy_bounds(&inputs, levels[1]).unwrap();
            let direct = scorer.run(&columns, 70).unwrap();
            assert_eq!(library.column(0).to_vec(), direct[7]);
            assert_eq!(library.column(1).to_vec(), direct[8]);
        }
    }
    let plain = PostStoNetClassifier { method: ClassMethod::Vector, ..Default::default() };
    let fitted = plain.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
    let refused = fitted.scorer_with(output, &ClassExtras::accuracy(&levels)).unwrap_err();
    assert_eq!(refused, Error::NoAccuracyBounds);
}

/// The probabilities, a column each.
fn fitted_columns(fitted: &FittedClassifier, inputs: &ClassInputs<'_>) -> Vec<Vec<f64>> {
    fitted.probabilities(inputs).unwrap().columns().into_iter().map(|c| c.to_vec()).collect()
}

/// With many classes the networks are wide enough for single precision: probabilities agree to 1e-5 of themselves.
#[test]
fn wide_classifiers_are_single_and_close() {
    let mut rng = Seed::new(5).rng();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let z = Array2::from_shape_simple_fn((400, 30), || 4.0 * normal());
    let labels: Vec<usize> = z.mapv(|z| z + 3.0 * normal()).outer_iter().map(crate::metrics::top_class).collect();
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 30).unwrap();
    let mut singles = 0;
    for method in [ClassMethod::Skip, ClassMethod::SkipProb, ClassMethod::PostLinear] {
        let settings = PostStoNetClassifier { method, ..Default::default() };
        let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
        let new = ClassInputs::logits(z.view()).unwrap();
        let scorer = fitted.scorer(ClassOutput { kind: InputKind::Logits, columns: 30 }).unwrap();
        singles += usize::from(is_single(&scorer));
        let (p, expected) = (fitted.probabilities(&new).unwrap(), pool(&fitted.members(), &new));
        let worst = p.iter().zip(&expected).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "{method}: {worst}");
    }
    assert!(singles >= 2, "single precision was chosen {singles} times");
}

/// What a network gives in other forms goes through the plan as through [`InputKind::logits`].
#[test]
fn probabilities_log_probabilities_and_single_columns() {
    let (z, _, labels) = classes(160, 3);
    let p = crate::network::Likelihood::Multinomial.mean(z.mapv(|z| 0.2 * z));
    let binary: Vec<usize> = labels.iter().map(|l| usize::from(*l > 1)).collect();
    let one = p.slice(s![.., 2..]).sum_axis(Axis(1)).insert_axis(Axis(1));
    for (kind, given, labels, k) in [
        (InputKind::Probabilities, p.clone(), &labels, 4),
        (InputKind::LogProbabilities, p.mapv(f64::ln), &labels, 4),
        (InputKind::Probabilities, one.clone(), &binary, 2),
        (InputKind::LogProbabilities, one.mapv(f64::ln), &binary, 2),
        (InputKind::Logits, one.mapv(|p| (p / (1.0 - p)).ln()), &binary, 2),
    ] {
        let logits = kind.logits(given.clone()).unwrap();
        let rows = ClassRows::new(ClassInputs::logits(logits.view()).unwrap(), labels, k).unwrap();
        for method in [ClassMethod::Temperature, ClassMethod::Vector, ClassMethod::Isotonic] {
            let settings = PostStoNetClassifier { method, ..Default::default() };
            let fitted = settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap();
            let expected = fitted.probabilities(&ClassInputs::logits(logits.view()).unwrap()).unwrap();
            let scorer = fitted.scorer(ClassOutput { kind, columns: given.ncols() }).unwrap();
            let found = scorer.run(&Column::of(given.view()), given.nrows()).unwrap();
            for ((r, class), e) in expected.indexed_iter() {
                assert!((found[class][r] - e).abs() < 1e-12, "{kind} {method}: {} and {e}", found[class][r]);
            }
            let tops: Vec<f64> = expected.outer_iter().map(|p| crate::metrics::top_class(p) as f64).collect();
            assert_eq!(found[k], tops);
        }
    }
    let fitted = PostStoNetClassifier { method: ClassMethod::None, ..Default::default() };
    let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap();
    let fitted = fitted.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
    let scorer = fitted.scorer(ClassOutput { kind: InputKind::Probabilities, columns: 4 }).unwrap();
    let wrong = |change: fn(&mut Array2<f64>)| {
        let mut p = p.clone();
        change(&mut p);
        scorer.run(&Column::of(p.view()), 160).unwrap_err()
    };
    assert!(matches!(wrong(|p| p[[7, 1]] = 1.5), Error::NotAProbability { row: 7, column: 1, .. }));
    assert!(matches!(wrong(|p| p[[8, 0]] += 0.1), Error::NotNormalised { row: 8, .. }));
    assert!(matches!(wrong(|p| p[[9, 2]] = f64::NAN), Error::NotFinite { row: 9, column: 2, what: "logits", .. }));
}
