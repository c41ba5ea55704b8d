//! Predictions written down readably, row by row and member by member, in double precision: what plans are compared
//! with in tests and by the fuzz target `plan`.

mod compare;
mod instruction_sets;
mod random;
mod tests;

pub use random::random_head;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate};

use crate::calibration::skip::Base;
use crate::calibration::{IsotonicOvr, SkipModel};
use crate::conformal::ranks::reference::{ends, weighted_ends};
use crate::conformal::{LabelPart, Ratio, RowScore, SetScores};
use crate::eve::{Estimate, EveIntervals, LayerVariance};
use crate::linalg::dense::matmul;
use crate::network::Likelihood;
use crate::regression::stack::{FittedStack, FoldModel, Member, ScaleModel, Scaled};
use crate::rows::regression::Said;
use crate::rows::{ClassInputs, Intervals, Level, RegressionInputs, Side};
use crate::score::Knots;
use crate::sparse::ridge::Ridge;

fn ridge(ridge: &Ridge, x: ArrayView2<'_, f64>) -> Array1<f64> {
    ridge.clip().apply(x).unwrap().dot(ridge.coefficients()) + ridge.intercept()
}

fn scaled(net: &Scaled, x: ArrayView2<'_, f64>) -> Array1<f64> {
    let (mean, sd) = net.response();
    let f = net.network().predict(net.clip().apply(x).unwrap().view()).unwrap();
    f.index_axis_move(Axis(1), 0).mapv_into(|v| v * sd + mean)
}

fn member(member: &Member, x: ArrayView2<'_, f64>, said: &Said<'_>) -> Array1<f64> {
    let d = said.prediction;
    match member {
        Member::StoNet(net) => scaled(net, x),
        Member::Skip { intercept, slope, correction } => {
            let line = d.unwrap().mapv(|d| intercept + slope * d);
            correction.as_ref().map_or(line.clone(), |net| line + scaled(net, x))
        }
        Member::Ridge(r) => ridge(r, x),
        Member::Quadratic { components, ridge: r } => {
            ridge(r, concatenate![Axis(1), x, components.apply(x).unwrap()].view())
        }
        Member::Network => d.unwrap().to_owned(),
        Member::Middle => said.own.unwrap().middle().unwrap(),
    }
}

/// μ and the scales above and below it of a fold.
fn fold(model: &FoldModel, x: ArrayView2<'_, f64>, said: &Said<'_>) -> [Array1<f64>; 3] {
    let mut mean = Array1::zeros(x.nrows());
    for (weight, m) in model.members() {
        mean.scaled_add(*weight, &member(m, x, said));
    }
    let ScaleModel::Learned { ridge: r, offset, low, high, network, centre, components, own } = model.scale_model()
    else {
        return [mean, Array1::ones(x.nrows()), Array1::ones(x.nrows())];
    };
    let column = |v: Array1<f64>| v.insert_axis(Axis(1));
    let from_centre = mean.mapv(|m| m - centre);
    let mut design = concatenate![Axis(1), x, column(from_centre.clone()), column(&from_centre * &from_centre)];
    if *network {
        let apart = (&mean - &said.prediction.unwrap()).mapv(|e| (e.abs() + offset).ln());
        design = concatenate![Axis(1), design, column(apart)];
    }
    let lean = own.as_ref().and_then(|width| width.lean(&said.own.unwrap(), mean.view()));
    if let Some(width) = own {
        design = concatenate![Axis(1), design, column(width.log(&said.own.unwrap()))];
    }
    if let Some(components) = components {
        design = concatenate![Axis(1), design, components.apply(x).unwrap()];
    }
    let log = ridge(r, design.view()).mapv(|f| f.clamp(*low, *high));
    let factors =
        |i: usize| model.shape().map_or((1.0, 1.0), |s| s.at(log[i], mean[i], lean.as_ref().map_or(0.0, |l| l[i])));
    let above = Array1::from_shape_fn(x.nrows(), |i| log[i].exp() * factors(i).0);
    let below = Array1::from_shape_fn(x.nrows(), |i| log[i].exp() * factors(i).1);
    [mean, above, below]
}

/// The ends of a row by the scores of its group: its own where they are enough for the level, otherwise those of all rows
/// or the widest of its own, whichever lie further out.
fn ends_of_group(stack: &FittedStack, at: &[[f64; 3]], group: Option<f64>, level: Level, side: Side) -> (f64, f64) {
    let pooled = ends(stack.scores(), at, level, side);
    match group.and_then(|g| stack.group(g as usize)) {
        None => pooled,
        Some(own) if own.bounds(level) => ends(own, at, level, side),
        Some(own) => {
            let units = own.units() as f64;
            let widest = ends(own, at, Level::new(units / (units + 1.0)).unwrap(), side);
            (pooled.0.min(widest.0), pooled.1.max(widest.1))
        }
    }
}

/// P(y ≤ t) of stacks at a value per row and target: the share of all values μ_k + V s_k at or below t, with one half
/// for the new row.
///
/// With weights of rows, each value counts by its own, and the new row by one half of w(x).
fn stacks_below(
    stacks: &[FittedStack],
    ratio: Option<&Ratio>,
    rows: &RegressionInputs<'_>,
    values: ArrayView2<'_, f64>,
) -> Array2<f64> {
    let (x, mut out) = (rows.features, Array2::zeros(values.dim()));
    let own_weight = ratio.map(|ratio| weights(ratio, rows));
    for (j, stack) in stacks.iter().enumerate() {
        let models: Vec<_> = stack.folds().iter().map(|f| fold(f, x, &rows.said(j))).collect();
        for r in 0..x.nrows() {
            // Groups of few rows have the distribution of all rows.
            let own = rows.within.and_then(|w| stack.group(w[r] as usize)).filter(|own| own.units() >= 19);
            let scores = own.unwrap_or(stack.scores());
            let mut mass = 0.0;
            for ([mean, above, below], (scores, weights)) in models.iter().zip(scores.deciding(Side::Upper)) {
                let value = |v: f64| mean[r] + v * if v < 0.0 { below[r] } else { above[r] };
                let under = scores.iter().zip(&weights).filter(|(v, _)| value(**v) <= values[[r, j]]);
                mass += under.map(|(_, weight)| weight).sum::<f64>();
            }
            let (weight, all) = match &own_weight {
                Some(weights) => (weights[r], scores.mass()),
                None => (1.0, scores.units() as f64),
            };
            out[[r, j]] = (mass + 0.5 * weight) / (all + weight);
        }
    }
    out
}

/// w(x) of every row: the columns of a ratio are the features, then the network's predictions.
fn weights(ratio: &Ratio, rows: &RegressionInputs<'_>) -> Array1<f64> {
    let all = rows.prediction.map_or(rows.features.to_owned(), |d| concatenate![Axis(1), rows.features, d]);
    ratio.at(all.view())
}

/// Predictions and ends of stacks, one per target; by weights of rows where there is a ratio.
fn stacks(
    stacks: &[FittedStack],
    ratio: Option<&Ratio>,
    rows: &RegressionInputs<'_>,
    level: Level,
    side: Side,
) -> Intervals {
    let x = rows.features;
    let own_weight = ratio.map(|ratio| weights(ratio, rows));
    let mut out = [(); 3].map(|()| Array2::zeros((x.nrows(), stacks.len())));
    for (j, stack) in stacks.iter().enumerate() {
        let said = rows.said(j);
        let models: Vec<_> = stack.folds().iter().map(|f| fold(f, x, &said)).collect();
        for r in 0..x.nrows() {
            let at: Vec<[f64; 3]> = models.iter().map(|fold| fold.each_ref().map(|column| column[r])).collect();
            let centre = at.iter().map(|a| a[0]).sum::<f64>() / at.len() as f64;
            let (lower, upper) = match &own_weight {
                Some(weights) => weighted_ends(stack.scores(), &at, weights[r], level, side),
                None => ends_of_group(stack, &at, rows.within.map(|w| w[r]), level, side),
            };
            let crossed = side == Side::Both;
            out[0][[r, j]] = centre;
            out[1][[r, j]] = if crossed { lower.min(centre) } else { lower };
            out[2][[r, j]] = if crossed { upper.max(centre) } else { upper };
        }
    }
    let [prediction, lower, upper] = out;
    Intervals { prediction, lower, upper, level }
}

/// Σ̂_L of one estimate at every row (`varest`): rows of d_{h+1} × d_{h+1} matrices, the uncertainty of μ without ς²_L.
pub(crate) fn covariances(estimate: &Estimate, x: ArrayView2<'_, f64>) -> Vec<Array2<f64>> {
    let net = estimate.network();
    let (psi, f) = (net.activation(), net.preactivations(x).unwrap());
    let own = |variance: &LayerVariance, a: ArrayView1<'_, f64>, m: Option<ArrayView2<'_, f64>>| {
        let per_gram: Vec<f64> =
            variance.grams().iter().map(|g| g.leverage(a) + m.map_or(0.0, |m| g.trace(m))).collect();
        let diagonal: Array1<f64> = variance.neurons().iter().map(|&(g, noise)| noise * per_gram[g]).collect();
        Array2::from_diag(&diagonal)
    };
    let at = |r: usize| {
        let mut sigma = own(&estimate.weight_variance()[0], x.row(r), None);
        for (i, layer) in net.layers().iter().enumerate().skip(1) {
            let below = f[i - 1].row(r);
            let slope = below.mapv(|y| psi.derivative(y));
            let m = sigma * &slope * slope.view().insert_axis(Axis(1));
            let own = own(&estimate.weight_variance()[i], below.mapv(|y| psi.value(y)).view(), Some(m.view()));
            sigma = own + matmul(matmul(layer.weight.view(), m.view()).view(), layer.weight.t());
        }
        sigma
    };
    (0..x.nrows()).map(at).collect()
}

/// The prediction of Eve's law (`alg:CI`) and its standard deviation.
fn eve_moments(model: &EveIntervals, x: ArrayView2<'_, f64>) -> [Array2<f64>; 2] {
    let z = model.scaling().x.apply(x).unwrap();
    let shape = (x.nrows(), model.scaling().y.columns());
    let (mut centre, mut half) = (Array2::zeros(shape), Array2::<f64>::zeros(shape));
    for estimate in model.estimates() {
        centre += &estimate.network().predict(z.view()).unwrap();
        for (mut row, sigma) in half.outer_iter_mut().zip(covariances(estimate, z.view())) {
            for (j, h) in row.iter_mut().enumerate() {
                *h += (sigma[[j, j]] + estimate.residual_variance()[j]).sqrt();
            }
        }
    }
    let m = model.estimates().len() as f64;
    [model.scaling().y.undo((centre / m).view()), half * model.scaling().y.sd() / m]
}

/// Eve's law, with one end or both.
fn eve(model: &EveIntervals, x: ArrayView2<'_, f64>, level: Level, side: Side) -> Intervals {
    let [prediction, sd] = eve_moments(model, x);
    let quantile = if side == Side::Both { level.z() } else { Level::new(2.0 * level.get() - 1.0).unwrap().z() };
    let half = sd * quantile;
    let mut intervals = Intervals { lower: &prediction - &half, upper: &prediction + &half, prediction, level };
    match side {
        Side::Both => {}
        Side::Lower => intervals.upper.fill(f64::INFINITY),
        Side::Upper => intervals.lower.fill(f64::NEG_INFINITY),
    }
    intervals
}

/// F_L of a calibrator.
fn logits(model: &SkipModel, inputs: &ClassInputs<'_>) -> Array2<f64> {
    let skip = model.base().map(|base| base.of(inputs.logits.unwrap()));
    let correction = model.correction().map(|(view, net)| {
        let seen = view.of(inputs, model.base().unwrap_or(Base::plain(1.0))).unwrap();
        net.preactivations(seen.view()).unwrap().pop().unwrap()
    });
    match (skip, correction) {
        (Some(a), Some(b)) => a + b,
        (a, b) => a.or(b).unwrap(),
    }
}

/// The weighted mean of the members' probabilities.
fn pool(members: &[(f64, &SkipModel)], inputs: &ClassInputs<'_>) -> Array2<f64> {
    let one = |(weight, m): &(f64, &SkipModel)| Likelihood::Multinomial.mean(logits(m, inputs)) * *weight;
    members.iter().map(one).reduce(|a, b| a + b).unwrap()
}

/// Whether every class is in the set of a row, by the probabilities of the row under every fold's model: fewer held-out
/// rows of its group score below it, each under its own fold's model, than the level's rank.
fn set(scores: &SetScores, folds: &[Vec<f64>], guess: usize, level: Level) -> Vec<bool> {
    let score = |p: &[f64], fold: usize, class: usize| {
        let own = p[class];
        let above = |k: &usize| p[*k] > own || (p[*k] == own && *k < class);
        let mut before: Vec<usize> = (0..p.len()).filter(above).collect();
        before.sort_by(|a, b| p[*b].total_cmp(&p[*a]).then(a.cmp(b)));
        let (above, rank) = (before.iter().map(|k| p[*k]).sum::<f64>(), before.len() + 1);
        let share = |part: LabelPart| if part == LabelPart::Whole { 1.0 } else { 0.0 };
        let mass = |part: LabelPart| match above + share(part) * own {
            mass if mass > 1.0 - 1e-12 => 1.0,
            mass => mass,
        };
        let largest = p.iter().fold(0.0, |a: f64, b| a.max(*b));
        match scores.scores()[fold] {
            RowScore::Lac => 1.0 - own,
            RowScore::Aps { part } => mass(part),
            RowScore::Raps { part, weight, free } => mass(part) + weight * rank.saturating_sub(free) as f64,
            RowScore::Saps { part, .. } if rank == 1 => share(part) * largest,
            RowScore::Saps { part, weight } => largest + ((rank - 2) as f64 + share(part)) * weight,
        }
    };
    let holds = |class: usize| {
        let group = scores.groups()[class];
        let below = |(fold, p): (usize, &Vec<f64>)| {
            scores.held(fold, group).iter().filter(|s| **s < score(p, fold, class)).count()
        };
        let rows = scores.group_rows()[group] as f64;
        let count = folds.iter().enumerate().map(below).sum::<usize>() as f64;
        (scores.rule().never_empty && class == guess)
            || count < (level.get() * (rows + 1.0) - 1e-9).ceil()
            || (level.get() * (rows + 1.0) - 1e-9).ceil() > rows
    };
    (0..scores.classes()).map(holds).collect()
}

/// The bounds of a row's confidence, by the upper end, the lower and the upper bound of every bin: those of the first bin
/// that ends at or above its largest probability.
fn accuracy_at(bins: &[(f64, f64, f64)], p: &[f64]) -> (f64, f64) {
    let confidence = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let found = bins.iter().find(|bin| confidence <= bin.0).or(bins.last()).unwrap();
    (found.1, found.2)
}

/// The value of a map at x: that of the first knot before it, of the last one behind it, and on a straight line between
/// two.
fn map(knots: &Knots, x: f64) -> f64 {
    let points: Vec<(f64, f64)> = knots.x.iter().copied().zip(knots.y.iter().copied()).collect();
    let (first, last) = (points[0], points[points.len() - 1]);
    if x <= first.0 {
        return first.1;
    }
    let around = points.windows(2).find(|two| two[0].0 < x && x <= two[1].0);
    around.map_or(last.1, |two| {
        let share = (x - two[0].0) / (two[1].0 - two[0].0);
        (1.0 - share) * two[0].1 + share * two[1].1
    })
}

/// Every probability through its map and at least 1e-6, divided by the sum of the row; a row that all maps send to 0 is
/// taken as it is.
fn isotonic(maps: &IsotonicOvr, mut p: Array2<f64>) -> Array2<f64> {
    for mut row in p.outer_iter_mut() {
        let mapped: Array1<f64> = row.iter().zip(maps.maps()).map(|(&p, m)| map(m.knots(), p)).collect();
        let kept = if mapped.sum() == 0.0 { row.to_owned() } else { mapped };
        let raised = kept.mapv(|v| v.max(1e-6));
        row.assign(&(&raised / raised.sum()));
    }
    p
}
