//! The scorer against the readable way: member by member, row by row.

use ndarray::{Array2, ArrayView2, Axis, s};
use rand_distr::{Distribution, StandardNormal};

use super::Scorer;
use crate::stack::FittedStack;
use crate::{
    Activation, Calibration, Dataset, Error, Estimate, EveIntervals, FittedPostStoNet, Intervals, Kind, Layer, Level,
    NewRows, PostStoNet, PredictInterval, Refit, Result, Scaling, Seed, Side, StoNet, StoNetSettings,
};

const FEATURES: usize = 7;

struct Rows {
    features: Array2<f64>,
    prediction: Array2<f64>,
    y: Array2<f64>,
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

fn fit(settings: &PostStoNet, targets: usize, prediction: bool, groups: bool) -> FittedPostStoNet {
    let Rows { features, prediction: d, y } = rows(90, 1);
    let groups: Option<Vec<usize>> = groups.then(|| (0..90).map(|i| i * i % 31).collect());
    let mut rows = Calibration::new(features.view(), y.slice(s![.., ..targets])).unwrap();
    if prediction {
        rows = rows.with_prediction(d.slice(s![.., ..targets])).unwrap();
    }
    if let Some(groups) = &groups {
        rows = rows.with_groups(groups).unwrap();
    }
    settings.fit(&rows, Seed::new(2), &|_, _| true).unwrap()
}

fn quick(kind: Kind, hidden: Vec<usize>, kappas: Vec<f64>) -> PostStoNet {
    let stonet = StoNetSettings { hidden, steps: 120, kappas: Some(kappas), ..StoNetSettings::default() };
    PostStoNet { kind, folds: 3, stonet, ..PostStoNet::default() }
}

/// Some rows far outside of what was seen, and the constant no longer constant.
fn new_rows() -> Rows {
    let mut new = rows(75, 3);
    new.features.slice_mut(s![..20, ..]).mapv_inplace(|v| 4.0 * v - 1.0);
    new.features.column_mut(5).slice_mut(s![..40]).fill(-8.0);
    new
}

/// μ and ends by the definition.
fn by_definition(
    stacks: &[FittedStack],
    x: ArrayView2<'_, f64>,
    d: Option<ArrayView2<'_, f64>>,
    level: Level,
    side: Side,
) -> Intervals {
    let mut out = [(); 3].map(|()| Array2::zeros((x.nrows(), stacks.len())));
    for (j, stack) in stacks.iter().enumerate() {
        let d = d.map(|d| d.index_axis_move(Axis(1), j));
        let models: Vec<_> = stack.folds().iter().map(|f| f.at(x, d).unwrap()).collect();
        for r in 0..x.nrows() {
            let at: Vec<(f64, f64)> = models.iter().map(|(m, s)| (m[r], s[r])).collect();
            let (lower, upper) = stack.scores().ends(&at, level, side);
            out[0][[r, j]] = at.iter().map(|a| a.0).sum::<f64>() / at.len() as f64;
            out[1][[r, j]] = lower;
            out[2][[r, j]] = upper;
        }
    }
    let [prediction, lower, upper] = out;
    Intervals { prediction, lower, upper, level }
}

/// Eve's law through the public covariances, with one end or both.
fn eves_law(eve: &EveIntervals, x: ArrayView2<'_, f64>, level: Level, side: Side) -> Intervals {
    if side == Side::Both {
        return eve.intervals(x, level).unwrap();
    }
    let mut i = eve.intervals(x, Level::new(2.0 * level.get() - 1.0).unwrap()).unwrap();
    match side {
        Side::Lower => i.upper.fill(f64::INFINITY),
        _ => i.lower.fill(f64::NEG_INFINITY),
    }
    Intervals { level, ..i }
}

/// To 1e-10 of the interval's own size.
fn agree(found: &Intervals, expected: &Intervals, what: &str) {
    assert_eq!(found.level, expected.level);
    for (a, b) in
        [(&found.prediction, &expected.prediction), (&found.lower, &expected.lower), (&found.upper, &expected.upper)]
    {
        assert_eq!(a.dim(), b.dim());
        for (a, b) in a.iter().zip(b) {
            assert!(a == b || (a - b).abs() <= 1e-10 * b.abs().max(1e-2), "{what}: {a} and not {b}");
        }
    }
}

fn same_as_the_definition(fitted: &FittedPostStoNet, targets: usize, what: &str) {
    let new = new_rows();
    let d = new.prediction.slice(s![.., ..targets]);
    let d = fitted.needs_prediction().then_some(d);
    let levels = [0.9, 0.6].map(|l| Level::new(l).unwrap());
    for side in [Side::Both, Side::Lower, Side::Upper] {
        let scorer = fitted.scorer(&levels, side).unwrap();
        assert_eq!(scorer.columns(), fitted.used_features());
        let used = new.features.select(Axis(1), scorer.columns());
        let scored = scorer.score(used.view(), d).unwrap();
        // Columns that lie one after the other in memory give the same.
        let turned = used.t().as_standard_layout().to_owned();
        assert_eq!(scorer.score(turned.t(), d).unwrap(), scored);
        for (level, scored) in levels.into_iter().zip(&scored) {
            let expected = match (fitted.stacks(), fitted.eve()) {
                (Some(stacks), _) => by_definition(stacks, new.features.view(), d, level, side),
                (_, Some(eve)) => eves_law(eve, new.features.view(), level, side),
                _ => unreachable!(),
            };
            agree(scored, &expected, what);
            let mut rows = NewRows::new(new.features.view()).unwrap();
            if let Some(d) = d {
                rows = rows.with_prediction(d).unwrap();
            }
            agree(&fitted.intervals(&rows, level, side).unwrap(), &expected, what);
        }
    }
}

#[test]
fn every_kind_with_and_without_prediction_groups_and_hidden_units() {
    for kind in Kind::ALL {
        for (targets, prediction, groups) in [(1, true, false), (2, true, false), (1, false, false), (1, true, true)] {
            let what = format!("{kind} {targets} {prediction} {groups}");
            let fitted = fit(&quick(kind, vec![5], vec![0.001, 0.02]), targets, prediction, groups);
            same_as_the_definition(&fitted, targets, &what);
            // Eve's law has no clipping, so there a constant may have a weight.
            assert!(fitted.eve().is_some() || !fitted.used_features().contains(&5), "{what}: a constant is used");
        }
    }
    for kind in [Kind::Stack, Kind::CvPlus, Kind::Cv] {
        for (hidden, kappa) in [(vec![], 0.001), (vec![5, 4], 0.001), (vec![4], 0.3), (vec![4], 50.0)] {
            let what = format!("{kind} {hidden:?} {kappa}");
            same_as_the_definition(&fit(&quick(kind, hidden, vec![kappa]), 1, true, false), 1, &what);
        }
        let constant = PostStoNet { learned_scale: false, nested: false, ..quick(kind, vec![3], vec![0.01]) };
        same_as_the_definition(&fit(&constant, 2, true, false), 2, "constant scale");
    }
    // Nothing is left of the StoNet, and so nothing of the features.
    let dead = fit(&quick(Kind::Cv, vec![4], vec![50.0]), 1, false, false);
    assert!(dead.used_features().is_empty());
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
                let net = StoNet::new(layers.into_iter().map(noisy).collect(), psi, crate::Head::Gaussian)?;
                Estimate::new(&net, &scaled, Refit::Mls, vec![0.5, 0.2])
            };
            let estimates = [1, 2].map(|s| one(s).unwrap()).to_vec();
            let eve = EveIntervals::new(scaling.clone(), estimates).unwrap();
            let level = Level::new(0.8).unwrap();
            let new = new_rows().features;
            let scorer = Scorer::of_eve(&eve, &[level], Side::Both).unwrap();
            agree(&scorer.all(new.view(), None).unwrap()[0], &eve.intervals(new.view(), level).unwrap(), "deep");
        }
    }
}

#[test]
fn bad_rows_are_refused_and_no_rows_are_fine() -> Result<()> {
    let level = Level::new(0.9)?;
    let stack = fit(&quick(Kind::Stack, vec![3], vec![0.01]), 1, true, false);
    let scorer = stack.scorer(&[level], Side::Both)?;
    let columns = scorer.columns().len();
    let good = Array2::<f64>::ones((4, columns));
    let d = Array2::<f64>::ones((4, 1));
    assert_eq!((scorer.outputs(), scorer.levels(), scorer.needs_prediction()), (1, &[level][..], true));
    assert!(scorer.score(good.view(), Some(d.view())).is_ok());
    assert!(matches!(scorer.score(good.view(), None), Err(Error::NoPrediction { .. })));
    assert!(scorer.score(good.slice(s![.., 1..]), Some(d.view())).is_err());
    assert!(scorer.score(good.slice(s![1.., ..]), Some(d.view())).is_err());
    let mut bad = good.clone();
    bad[[2, 1]] = f64::NAN;
    assert!(matches!(scorer.score(bad.view(), Some(d.view())), Err(Error::NotFinite { row: 2, column: 1, .. })));
    let none = scorer.score(good.slice(s![..0, ..]), Some(d.slice(s![..0, ..])))?;
    assert_eq!(none[0].prediction.dim(), (0, 1));
    let eve = fit(&quick(Kind::Cv, vec![3], vec![0.01]), 1, false, false);
    assert!(eve.scorer(&[Level::new(0.4)?], Side::Lower).is_err());
    assert!(eve.scorer(&[Level::new(0.4)?], Side::Both).is_ok());
    Ok(())
}
