//! Calibration rows, and new rows whose inputs come more or less often by a known tilt: coverage of a head before it is
//! adapted, after, and with the true weights.

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::conformal::Ratio;
use stonet::metrics::covered;
use stonet::regression::Adapt;
use stonet::{FittedRegressor, Kind, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Result, Seed, Side};

/// Features and targets.
pub struct Rows {
    pub x: Array2<f64>,
    pub y: Array2<f64>,
}

impl Rows {
    pub fn select(&self, rows: &[usize]) -> Rows {
        Rows { x: self.x.select(Axis(0), rows), y: self.y.select(Axis(0), rows) }
    }
}

/// Of the simulation: normal inputs that move by this in the new rows have the density ratio exp(x · TILT) and a constant.
pub const TILT: [f64; 4] = [0.9, 0.0, -0.4, 0.0];

/// Normal inputs about `centre`, a bent mean, and noise that grows with the first input.
pub fn simulated(n: usize, centre: [f64; 4], seed: Seed) -> Rows {
    let mut rng = seed.rng();
    let mut z = || -> f64 { StandardNormal.sample(&mut rng) };
    let x = Array2::from_shape_fn((n, 4), |(_, k)| centre[k] + z());
    let y = Array2::from_shape_fn((n, 1), |(i, _)| {
        let row = x.row(i);
        row[0] + (1.5 * row[1]).sin() - 0.5 * row[2] + 0.4 * (0.6 * row[0]).exp() * z()
    });
    Rows { x, y }
}

/// Some of these rows: each drawn with a probability in proportion to exp(x · tilt), with replacement.
#[allow(dead_code)]
pub fn tilted(rows: &Rows, tilt: &[f64], n: usize, seed: Seed) -> Result<Rows> {
    let weights = Ratio::tilt(tilt)?.at(rows.x.view());
    let sums: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, w| {
            *sum += w;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0.0);
    let mut rng = seed.rng();
    let draw = |_| {
        let at = rng.random::<f64>() * total;
        sums.partition_point(|s| *s <= at).min(sums.len() - 1)
    };
    Ok(rows.select(&(0..n).map(draw).collect::<Vec<_>>()))
}

/// A head that is quick to fit.
pub fn settings(kind: Kind, learned_scale: bool) -> PostStoNetRegressor {
    let mut post = PostStoNetRegressor { kind, learned_scale, split_share: 0.5, ..PostStoNetRegressor::default() };
    // The smallest StoNets: it is the ranks that are judged.
    (post.stonet.hidden, post.stonet.steps, post.stonet.kappas) = (vec![2], 30, Some(vec![0.1]));
    if kind == Kind::Split {
        post.folds = 2;
    }
    post
}

/// What intervals do on new rows.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code)]
pub struct Found {
    /// The share of rows that they cover.
    pub covered: f64,
    /// The share of rows with infinite ones.
    pub infinite: f64,
    /// The median length.
    pub length: f64,
}

/// Before, adapted by an estimated ratio, adapted by the true one; and the effective number of rows of the last.
#[allow(dead_code)]
pub struct Outcome {
    pub before: Found,
    pub estimated: Found,
    pub known: Found,
    pub effective: f64,
}

pub fn level() -> Level {
    Level::new(0.9).expect("a level")
}

fn judged(head: &FittedRegressor, new: &Rows) -> Result<Found> {
    let i = head.intervals(&RegressionInputs::new(new.x.view())?, level(), Side::Both)?;
    let hits = covered(&i, new.y.view())?;
    let n = hits.len() as f64;
    let mut lengths: Vec<f64> = (&i.upper - &i.lower).iter().copied().collect();
    lengths.sort_by(f64::total_cmp);
    Ok(Found {
        covered: hits.iter().filter(|h| **h).count() as f64 / n,
        infinite: lengths.iter().filter(|l| l.is_infinite()).count() as f64 / n,
        length: lengths[lengths.len() / 2],
    })
}

/// One replication: `unlabelled` rows estimate the ratio, and other `new` rows judge.
pub fn replicate(
    post: &PostStoNetRegressor,
    calibration: &Rows,
    (unlabelled, new): (&Rows, &Rows),
    tilt: &[f64],
    seed: Seed,
) -> Result<Outcome> {
    let rows = RegressionRows::new(calibration.x.view(), calibration.y.view())?;
    let head = post.fit(&rows, seed.child(0), &|_, _| true)?;
    let inputs = RegressionInputs::new(unlabelled.x.view())?;
    let adapt = Adapt { level: level(), seed: seed.child(1), ratio: None };
    let estimated = adapt.regression(&head, Some(&rows), &inputs, &|_, _| true)?;
    let known = Adapt { ratio: Some(Ratio::tilt(tilt)?), ..adapt };
    let known = known.regression(&head, Some(&rows), &inputs, &|_, _| true)?;
    Ok(Outcome {
        before: judged(&head, new)?,
        estimated: judged(&estimated, new)?,
        known: judged(&known, new)?,
        effective: known.adapted().map_or(f64::NAN, |a| a.effective_rows),
    })
}
