//! Scores of confidence without bins or with their bias removed, a test of calibration, and risk against coverage.
//!
//! | score | of n rows |
//! |---|---|
//! | smooth ece | the bandwidth σ at which the residuals of the guess, smoothed, have mean absolute value σ (`smooth.rs`) |
//! | debiased ece | root of the squared calibration error less its sampling variance, sign kept (`debiased.rs`) |
//! | aurc | mean share of wrong guesses over all coverages, the surest rows first (`selective.rs`) |
//! | excess aurc | the same less that of the best order |
//!
//! The test draws labels from the probabilities themselves. Were these right, the labels that came would be one more
//! draw, so p = (1 + draws that show at least as much) / (1 + draws) is below α with probability at most α on any number
//! of rows. `p_top` tests the confidence of the guess by smooth ECE, `p_classes` all classes by a kernel statistic
//! (`class_kernel.rs`).

use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bins::Binned;
use super::check::check_labels;
use super::class_kernel::{Basis, ClassNodes};
use super::debiased::{Residuals, debiased, plain, signed_root};
use super::error_interval::{Moves, Signs, Spread};
use super::intervals::mean_sd;
use super::judge::{JudgeSettings, Labelled, Measured, band, redrawn};
use super::selective::{Order, RiskPoint, best, curve};
use super::smooth::{CELLS, LEAST, Place, Spectrum, kernel, mesh};
use crate::base::streams::judgement as streams;
use crate::base::{Error, Result, Seed};
use crate::linalg::dense::matmul;

/// Points of the smooth reliability curve, at most.
const POINTS: usize = 64;

/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The curve is drawn where so many rows lie within the reach of the kernel.
const LEAST_ROWS: f64 = 5.0;

/// One value per score: a number or a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrustScores<T> {
    /// Smooth calibration error of the guess.
    pub smooth_ece: T,
    /// Debiased calibration error of the guess; below 0 where bins differ by less than chance would make them.
    pub debiased_ece: T,
    /// Area under the risk–coverage curve.
    pub aurc: T,
    /// The same above that of the best order.
    pub excess_aurc: T,
}

/// A point of the smooth reliability curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SmoothPoint {
    /// The confidence.
    pub confidence: f64,
    /// The share of right guesses around it.
    pub accuracy: f64,
    /// Lower end of its 95 % interval, for this point alone.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Every score of [`TrustScores`] with a 95 % confidence interval and its noise floor, the tests, and both curves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustReport {
    /// The scores. Intervals of both areas are the bootstrap's, symmetric on the scale of log odds. That of smooth ECE covers the value that infinitely
    /// many rows would show, at least, by the bounds that [`judge`](fn@super::judge) uses for binned errors. That of the
    /// debiased error may begin below 0; it then does not exclude perfect calibration.
    #[serde(flatten)]
    pub scores: TrustScores<Measured>,
    /// p-value of the test whether the guess is right as often as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_top: Option<f64>,
    /// p-value of the test whether all probabilities are right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_classes: Option<f64>,
    /// The bandwidth of smooth ECE and of the curve.
    pub bandwidth: f64,
    /// Accuracy against confidence, smoothed.
    pub smooth: Vec<SmoothPoint>,
    /// Risk against coverage.
    pub risk: Vec<RiskPoint>,
}

/// Every score of probabilities n × K against a label per row; `bins` are those of the debiased error.
pub fn trust_scores(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<TrustScores<f64>> {
    let binned = Binned::new(p, bins)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    let rows = Rows::new(&binned);
    let mut tally = Tally::new(&rows, None);
    labels.iter().enumerate().for_each(|(i, &y)| tally.add(i, y));
    Ok(tally.end(None).finish(&rows, &Spectrum::of_rows(&one_row(&tally.nodes))[0]).scores)
}

/// The smooth calibration error of the guessed class.
pub fn smooth_ece(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<f64> {
    Ok(trust_scores(p, labels, super::BINS)?.smooth_ece)
}

/// smECE of the guessed class at a given bandwidth, between 2/1024 and 1.
pub fn smooth_ece_at(p: ArrayView2<'_, f64>, labels: &[usize], sigma: f64) -> Result<f64> {
    Error::check((LEAST..=1.0).contains(&sigma), "sigma", sigma, "2/1024 to 1, such as 0.05")?;
    let binned = Binned::new(p, super::BINS)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    let rows = Rows::new(&binned);
    let mut tally = Tally::new(&rows, None);
    labels.iter().enumerate().for_each(|(i, &y)| tally.add(i, y));
    Ok(Spectrum::of_rows(&one_row(&tally.nodes))[0].error_at(sigma, labels.len() as f64))
}

/// The debiased calibration error of the guessed class over bins of equal mass, sign(E) √|E|.
pub fn debiased_ece(p: ArrayView2<'_, f64>, labels: &[usize], bins: usize) -> Result<f64> {
    Ok(trust_scores(p, labels, bins)?.debiased_ece)
}

/// The area under the risk–coverage curve of the guessed class, and how far it lies above that of the best order.
pub fn aurc(p: ArrayView2<'_, f64>, labels: &[usize]) -> Result<(f64, f64)> {
    let scores = trust_scores(p, labels, super::BINS)?;
    Ok((scores.aurc, scores.excess_aurc))
}

/// Every score of probabilities n × K against a label per row with confidence intervals and the noise floor, the tests of
/// calibration, and both curves. Without redraws there are neither floor nor tests.
pub fn judge_trust(
    p: ArrayView2<'_, f64>,
    labels: &[usize],
    settings: &JudgeSettings,
    seed: Seed,
) -> Result<TrustReport> {
    let binned = Binned::new(p, settings.bins)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    Error::check(settings.resamples >= 1, "resamples", settings.resamples, "at least 1, such as 500")?;
    let (rows, basis, base) = (Rows::new(&binned), Basis::new(), ClassNodes::new(binned.p.view()));
    let mut tally = Tally::new(&rows, Some(base.clone()));
    labels.iter().enumerate().for_each(|(i, &y)| tally.add(i, y));
    let own = tally.end(Some(&basis));
    let own = own.finish(&rows, &Spectrum::of_rows(&one_row(&tally.nodes))[0]);
    let make = || Tally::new(&rows, Some(base.clone()));
    let of = |t: &Tally<'_>| (t.end(Some(&basis)), t.nodes.clone());
    let redrawn = redrawn(&binned.p, settings.redraws, seed.child(streams::TRUST_REDRAWS), make, of);
    let (ends, nodes): (Vec<_>, Vec<_>) = redrawn.into_iter().unzip();
    let redrawn_nodes = stacked(&nodes);
    let redrawn: Vec<Found> = ends
        .into_par_iter()
        .zip(Spectrum::of_rows(&redrawn_nodes))
        .map(|(end, spectrum)| end.finish(&rows, &spectrum))
        .collect();
    let resampled = Resampled::new(&rows, labels, settings.resamples, seed.child(streams::TRUST_RESAMPLES));

    let area = |value: f64, of: &dyn Fn(&Drawn) -> f64| {
        area_interval(value, &resampled.drawn.iter().map(of).collect::<Vec<f64>>())
    };
    let [below, above] = smooth_reach(&rows, labels, &own, &tally.nodes, &resampled.residuals, &redrawn_nodes);
    let value = own.scores.smooth_ece;
    let smooth_ece = Measured { value, low: (value - below).max(0.0), high: (value + above).min(1.0), floor: None };
    let mut scores = TrustScores {
        smooth_ece,
        debiased_ece: debiased_interval(&own, &resampled.drawn, &redrawn, plain(&tally.bins)),
        aurc: area(own.scores.aurc, &|d| d.aurc),
        excess_aurc: area(own.scores.excess_aurc, &|d| d.excess),
    };
    let floor = |of: fn(&TrustScores<f64>) -> f64| {
        let draws: Vec<f64> = redrawn.iter().map(|d| of(&d.scores)).collect();
        (!draws.is_empty()).then(|| band(&mut draws.iter()))
    };
    scores.smooth_ece.floor = floor(|s| s.smooth_ece);
    scores.debiased_ece.floor = floor(|s| s.debiased_ece);
    scores.aurc.floor = floor(|s| s.aurc);
    scores.excess_aurc.floor = floor(|s| s.excess_aurc);
    let p_value = |of: &dyn Fn(&Found) -> f64| {
        let as_large = redrawn.iter().filter(|d| of(d) >= of(&own)).count();
        (!redrawn.is_empty()).then(|| (1 + as_large) as f64 / (1 + redrawn.len()) as f64)
    };
    Ok(TrustReport {
        scores,
        p_top: p_value(&|d| d.scores.smooth_ece),
        p_classes: p_value(&|d| d.classes),
        bandwidth: own.bandwidth,
        smooth: resampled.smooth(&rows, labels, own.bandwidth),
        risk: curve(&binned, labels),
    })
}

fn one_row(nodes: &[f64]) -> Array2<f64> {
    ArrayView2::from_shape((1, nodes.len()), nodes).map_or_else(|_| Array2::zeros((1, nodes.len())), |v| v.to_owned())
}

fn stacked(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), CELLS + 1), |(r, j)| rows[r][j])
}

/// What is known of the rows before their labels.
struct Rows<'a> {
    binned: &'a Binned,
    places: Vec<Place>,
    order: Order,
    /// The derivative of AURC by each row's error.
    weights: Vec<f64>,
    /// Sums of the confidences: on the nodes, and in the bins of equal mass.
    nodes: Vec<f64>,
    bins: Vec<Residuals>,
}

impl<'a> Rows<'a> {
    fn new(binned: &'a Binned) -> Self {
        let confidence: Vec<f64> = binned.top.iter().map(|t| t.confidence).collect();
        let order = Order::new(&confidence);
        let places: Vec<Place> = confidence.iter().map(|&c| Place::of(c, CELLS)).collect();
        let mut nodes = vec![0.0; CELLS + 1];
        let mut bins = vec![Residuals::default(); binned.bins];
        for (top, place) in binned.top.iter().zip(&places) {
            place.add(&mut nodes, top.confidence);
            bins[top.mass_bin].add(top.confidence, 1.0);
        }
        Rows { binned, places, weights: order.weights(), order, nodes, bins }
    }
}

/// The sums of one set of labels.
struct Tally<'a> {
    rows: &'a Rows<'a>,
    nodes: Vec<f64>,
    bins: Vec<Residuals>,
    wrong: usize,
    aurc: f64,
    classes: Option<ClassNodes>,
}

impl<'a> Tally<'a> {
    fn new(rows: &'a Rows<'a>, classes: Option<ClassNodes>) -> Self {
        Tally { rows, nodes: rows.nodes.clone(), bins: rows.bins.clone(), wrong: 0, aurc: 0.0, classes }
    }

    /// What does not need the smoothed residuals; the statistic of the classes where it is asked for.
    fn end(&self, basis: Option<&Basis>) -> End {
        let classes = self.classes.as_ref().zip(basis).map_or(f64::NAN, |(nodes, basis)| nodes.statistic(basis));
        End { wrong: self.wrong, aurc: self.aurc, debiased: debiased(&self.bins), classes }
    }
}

impl Labelled for Tally<'_> {
    fn add(&mut self, i: usize, y: usize) {
        let top = self.rows.binned.top[i];
        if let Some(classes) = &mut self.classes {
            classes.label(y, self.rows.binned.p[[i, y]]);
        }
        if y == top.class {
            self.rows.places[i].add(&mut self.nodes, -1.0);
            let bin = &mut self.bins[top.mass_bin];
            bin.sum -= 1.0;
            // (c − 1)² = c² + 1 − 2c.
            bin.squares += 1.0 - 2.0 * top.confidence;
        } else {
            self.wrong += 1;
            self.aurc += self.rows.weights[i];
        }
    }
}

struct End {
    wrong: usize,
    aurc: f64,
    debiased: f64,
    classes: f64,
}

impl End {
    fn finish(self, rows: &Rows<'_>, spectrum: &Spectrum) -> Found {
        let n = rows.binned.rows();
        let (smooth_ece, bandwidth) = spectrum.fixed_point(n as f64);
        let scores = TrustScores {
            smooth_ece,
            debiased_ece: signed_root(self.debiased),
            aurc: self.aurc,
            excess_aurc: self.aurc - best(n, self.wrong),
        };
        Found { scores, bandwidth, debiased: self.debiased, classes: self.classes }
    }
}

/// Every score of one set of labels.
struct Found {
    scores: TrustScores<f64>,
    bandwidth: f64,
    debiased: f64,
    classes: f64,
}

/// The scores of one bootstrap resample.
struct Drawn {
    aurc: f64,
    excess: f64,
    debiased: f64,
}

/// Rows drawn with replacement, so many times: scores, and sums on the nodes.
struct Resampled {
    drawn: Vec<Drawn>,
    /// Σ (confidence − hit).
    residuals: Array2<f64>,
    /// Rows and hits.
    counts: Array2<f64>,
    hits: Array2<f64>,
}

impl Resampled {
    fn new(rows: &Rows<'_>, labels: &[usize], resamples: usize, seed: Seed) -> Self {
        let n = labels.len();
        let top = &rows.binned.top;
        let wrong: Vec<bool> = rows.order.rows.iter().map(|&i| top[i].class != labels[i]).collect();
        // What is read of a row, side by side and in the order of the loop.
        let hit = |wrong: bool| if wrong { 0.0 } else { 1.0 };
        let read = |(&i, &wrong): (&usize, &bool)| {
            (rows.places[i], top[i].confidence - hit(wrong), hit(wrong), top[i].mass_bin)
        };
        let sorted: Vec<(Place, f64, f64, usize)> = rows.order.rows.iter().zip(&wrong).map(read).collect();
        let one = |r: usize| {
            let mut rng = seed.child(r as u64).rng();
            let mut counts = vec![0u16; n];
            (0..n).for_each(|_| counts[rng.random_range(0..n)] += 1);
            let mut sums = [(); 3].map(|()| vec![0.0; CELLS + 1]);
            let mut bins = vec![Residuals::default(); rows.binned.bins];
            for (&(place, residual, hit, bin), &count) in sorted.iter().zip(&counts).filter(|(_, c)| **c > 0) {
                let count = f64::from(count);
                bins[bin].add(residual, count);
                place.add(&mut sums[0], count * residual);
                place.add(&mut sums[1], count);
                place.add(&mut sums[2], count * hit);
            }
            let (aurc, excess) = rows.order.drawn(&counts, &wrong);
            (Drawn { aurc, excess, debiased: debiased(&bins) }, sums)
        };
        let found: Vec<_> = (0..resamples).into_par_iter().map(one).collect();
        let part = |s: usize| Array2::from_shape_fn((resamples, CELLS + 1), |(r, j)| found[r].1[s][j]);
        let (residuals, counts, hits) = (part(0), part(1), part(2));
        Resampled { drawn: found.into_iter().map(|f| f.0).collect(), residuals, counts, hits }
    }

    /// Accuracy against confidence, smoothed at this bandwidth, with pointwise percentiles.
    fn smooth(&self, rows: &Rows<'_>, labels: &[usize], sigma: f64) -> Vec<SmoothPoint> {
        let top = &rows.binned.top;
        let (mut all, mut right) = (vec![0.0; CELLS + 1], vec![0.0; CELLS + 1]);
        for ((place, t), &y) in rows.places.iter().zip(top).zip(labels) {
            place.add(&mut all, 1.0);
            if t.class == y {
                place.add(&mut right, 1.0);
            }
        }
        let seen = |(j, v): (usize, &f64)| (*v > 0.0).then_some(j);
        let first = all.iter().enumerate().find_map(seen).unwrap_or(0);
        let last = all.iter().enumerate().rev().find_map(seen).unwrap_or(CELLS);
        let mut to: Vec<usize> = (0..POINTS).map(|i| first + (last - first) * i / (POINTS - 1)).collect();
        to.dedup();
        let kernel = kernel(sigma, &to);
        let smoothed = |nodes: &Array2<f64>| matmul(nodes.view(), kernel.view());
        let (all, right) = (smoothed(&one_row(&all)), smoothed(&one_row(&right)));
        let (counts, hits) = (smoothed(&self.counts), smoothed(&self.hits));
        // Σ K over the kernel's own height: the number of rows that speak here.
        let reach = sigma * (4.0 * std::f64::consts::PI).sqrt();
        let point = |(j, &node): (usize, &usize)| {
            if all[[0, j]] * reach < LEAST_ROWS {
                return None;
            }
            let share = |hits: f64, rows: f64| (hits / rows.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let accuracy = share(right[[0, j]], all[[0, j]]);
            let draws: Vec<f64> = (0..counts.nrows()).map(|r| share(hits[[r, j]], counts[[r, j]])).collect();
            let b = band(&mut draws.iter());
            let confidence = node as f64 / CELLS as f64;
            Some(SmoothPoint { confidence, accuracy, low: b.low.min(accuracy), high: b.high.max(accuracy) })
        };
        to.iter().enumerate().filter_map(point).collect()
    }
}

/// How far smooth ECE may lie above its population value and below it. At the bandwidth that was found, smECE is a sum
/// over the mesh like that of a binned error over its bins, with the same bounds. They carry over to the fixed point:
/// smECE falls with the bandwidth, so where it is off by at most b at the bandwidth found, the fixed point is.
fn smooth_reach(
    rows: &Rows<'_>,
    labels: &[usize],
    own: &Found,
    nodes: &[f64],
    resampled: &Array2<f64>,
    redrawn: &Array2<f64>,
) -> [f64; 2] {
    let mesh = mesh(own.bandwidth);
    let to: Vec<usize> = mesh.iter().map(|m| m.0).collect();
    let mut kernel = kernel(own.bandwidth, &to);
    for (mut column, (_, weight)) in kernel.axis_iter_mut(Axis(1)).zip(&mesh) {
        column *= *weight;
    }
    let (mut squares, mut model) = (vec![0.0; CELLS + 1], vec![0.0; CELLS + 1]);
    for ((top, place), &y) in rows.binned.top.iter().zip(&rows.places).zip(labels) {
        let (c, hit) = (top.confidence, f64::from(u8::from(top.class == y)));
        place.add(&mut squares, (c - hit) * (c - hit));
        place.add(&mut model, c * (1.0 - c));
    }
    let squared = &kernel * &kernel;
    let through = |nodes: &Array2<f64>, by: &Array2<f64>| matmul(nodes.view(), by.view());
    let list = |nodes: &[f64], by: &Array2<f64>| through(&one_row(nodes), by).into_raw_vec_and_offset().0;
    let spread = Spread { squares: list(&squares, &squared), model: list(&model, &squared) };
    let sums = list(nodes, &kernel);
    let n = labels.len();
    let signs = Signs::new(&sums, &spread, n, 1.0 / n as f64);
    let (resampled, redrawn) = (through(resampled, &kernel), through(redrawn, &kernel));
    let of_rows = resampled.outer_iter().map(|r| signs.moves(|b| r[b] - sums[b])).collect::<Vec<Moves>>();
    let of_labels = redrawn.outer_iter().map(|r| signs.moves(|b| r[b])).collect::<Vec<Moves>>();
    let reach = |of: &dyn Fn(&Moves) -> f64| {
        let end = |moves: &[Moves]| {
            let moves: Vec<f64> = moves.iter().map(of).collect();
            if moves.is_empty() { 0.0 } else { band(&mut moves.iter()).high.max(0.0) }
        };
        end(&of_rows).max(end(&of_labels))
    };
    [reach(&|m| m.below), reach(&|m| m.above)]
}

/// The value ± 1.96 bootstrap standard deviations on the scale of log odds: areas are skewed to the right, and
/// percentiles cover a point less. Percentiles where the value has no log odds.
fn area_interval(value: f64, draws: &[f64]) -> Measured {
    let b = band(&mut draws.iter());
    let (mut low, mut high) = (b.low, b.high);
    if value > 0.0 && value < 1.0 {
        let half = NORMAL * mean_sd(draws).1 / (value * (1.0 - value));
        let logit = (value / (1.0 - value)).ln();
        let expit = |x: f64| 1.0 / (1.0 + (-x).exp());
        (low, high) = (expit(logit - half), expit(logit + half));
    }
    Measured { value, low: low.min(value), high: high.max(value), floor: None }
}

/// The pivotal interval of the debiased square: resamples scatter around the plain square of the rows as they are, redrawn
/// labels around 0, and the wider of both counts at each end.
fn debiased_interval(own: &Found, resampled: &[Drawn], redrawn: &[Found], plain: f64) -> Measured {
    let of_rows: Vec<f64> = resampled.iter().map(|d| d.debiased - plain).collect();
    let of_labels: Vec<f64> = redrawn.iter().map(|d| d.debiased).collect();
    let (mut down, mut up) = (0.0f64, 0.0f64);
    for draws in [of_rows, of_labels].iter().filter(|d| !d.is_empty()) {
        let b = band(&mut draws.iter());
        (down, up) = (down.max(b.high), up.max(-b.low));
    }
    let [value, low, high] = [0.0, -down, up].map(|by| signed_root(own.debiased + by));
    Measured { value, low: low.max(-1.0), high: high.min(1.0).max(value), floor: None }
}

#[cfg(test)]
mod tests;
