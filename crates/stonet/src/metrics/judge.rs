//! Scores with their uncertainty: bootstrap intervals, and the noise floor that a perfectly calibrated model would
//! show.

use ndarray::{Array2, ArrayView2, s};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bins::{Binned, Tally, absolute_sum, bin_of, surprise};
use super::check::check_labels;
use super::classes::{BINS, ClassScores};
use super::error_interval::{ERRORS, ErrorBins, Moves};
use crate::base::streams::judgement as streams;
use crate::base::{Error, Result, Seed};
use crate::linalg::dense::matmul;

/// Ends of every band and interval: 95 %.
const ENDS: [f64; 2] = [0.025, 0.975];

/// Numbers that a block of resamples may hold at a time.
const BLOCK: usize = 1 << 19;

/// Replicates of the noise floor that share a pass over the rows.
const BATCH: usize = 20;

/// How much work [`judge`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeSettings {
    /// Bins of the calibration errors.
    pub bins: usize,
    /// Bootstrap resamples of the rows.
    pub resamples: usize,
    /// Labels drawn anew for the noise floor and for intervals of calibration errors. 0 leaves the floor out, and these
    /// intervals then cover less than 95 % where bins have few events.
    pub redraws: usize,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        JudgeSettings { bins: BINS, resamples: 500, redraws: 200 }
    }
}

/// Where a score falls by chance alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The mean.
    pub mean: f64,
    /// The 2.5 % quantile.
    pub low: f64,
    /// The 97.5 % quantile.
    pub high: f64,
}

/// A score with a 95 % confidence interval for its population value, and its noise floor.
///
/// Accuracy, likelihood and Brier score are means over rows; their interval is that of bootstrap percentiles. A
/// calibration error is bounded at zero and biased upwards by about the floor. Its interval covers the error over the
/// same bins that infinitely many rows would show; it covers that value in at least 95 % of all cases, and in more
/// where the error is small. `value` is the plain binned error, not corrected for its bias, and always lies in the
/// interval; a lower end of 0 means that the rows do not exclude perfect calibration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// On the rows as they are.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What a perfectly calibrated model with these probabilities would show on as many rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Band>,
}

/// Every score of a classifier, measured.
pub type ClassReport = ClassScores<Measured>;

/// Every score of probabilities n × K against a label per row, with confidence intervals and the noise floor.
pub fn judge(p: ArrayView2<'_, f64>, labels: &[usize], settings: &JudgeSettings, seed: Seed) -> Result<ClassReport> {
    let binned = Binned::new(p, settings.bins)?;
    check_labels(labels, binned.rows(), binned.classes())?;
    Error::check(settings.resamples >= 1, "resamples", settings.resamples, "at least 1, such as 500")?;
    let tally = binned.tally_of(labels);
    let errors = ErrorBins::new(&binned, labels, &tally);
    let resampled = resampled(&binned, labels, &errors, settings.resamples, seed.child(streams::RESAMPLES));
    let of_labels = |t: &Tally<'_>| Draw { scores: t.scores(), moves: errors.of_labels(t.sums()) };
    let redrawn = redrawn(&binned.p, settings.redraws, seed.child(streams::REDRAWS), || binned.tally(), of_labels);
    let mut measured = tally.scores().map(&scores(&resampled), |&value, draws| {
        let Band { low, high, .. } = band(draws);
        Measured { value, low: low.min(value), high: high.max(value), floor: None }
    });
    let reach = [reach(&resampled), reach(&redrawn)];
    for (j, m) in [&mut measured.ece, &mut measured.cece, &mut measured.adaptive_ece].into_iter().enumerate() {
        m.low = (m.value - reach[0][j].below.max(reach[1][j].below)).max(0.0);
        m.high = (m.value + reach[0][j].above.max(reach[1][j].above)).min(1.0);
    }
    if settings.redraws == 0 {
        return Ok(measured);
    }
    Ok(measured.map(&scores(&redrawn), |&m, draws| Measured { floor: Some(band(draws)), ..m }))
}

/// The scores of one draw, and how far it says that calibration errors may lie from their population values.
struct Draw {
    scores: ClassScores<f64>,
    moves: [Moves; ERRORS],
}

fn scores(draws: &[Draw]) -> Vec<ClassScores<f64>> {
    draws.iter().map(|d| d.scores).collect()
}

/// The 97.5 % quantile of each move, at least 0, so that an interval holds its own value.
fn reach(draws: &[Draw]) -> [Moves; ERRORS] {
    let end = |of: &dyn Fn(&Draw) -> f64| {
        let moves: Vec<f64> = draws.iter().map(of).collect();
        if moves.is_empty() { 0.0 } else { band(&mut moves.iter()).high.max(0.0) }
    };
    std::array::from_fn(|j| Moves { below: end(&|d| d.moves[j].below), above: end(&|d| d.moves[j].above) })
}

/// The noise floor alone: the scores of labels that are drawn from the probabilities themselves.
pub fn noise_floor(p: ArrayView2<'_, f64>, bins: usize, redraws: usize, seed: Seed) -> Result<ClassScores<Band>> {
    let binned = Binned::new(p, bins)?;
    Error::check(redraws >= 1, "redraws", redraws, "at least 1, such as 200")?;
    let redrawn =
        redrawn(&binned.p, redraws, seed.child(streams::REDRAWS), || binned.tally(), |t: &Tally<'_>| t.scores());
    Ok(redrawn[0].map(&redrawn, |_, draws| band(draws)))
}

/// Sums that a row's label is added to.
pub(super) trait Labelled {
    /// Row `i` has label `y`.
    fn add(&mut self, i: usize, y: usize);
}

impl Labelled for Tally<'_> {
    fn add(&mut self, i: usize, y: usize) {
        Tally::add(self, i, y);
    }
}

/// What `of` makes of labels drawn from the probabilities and added to the sums of `make`, so many times. A batch of
/// replicates goes through the rows together, while a row's cumulative sums are at hand; each has its own stream.
pub(super) fn redrawn<A: Labelled, T: Send>(
    p: &Array2<f64>,
    redraws: usize,
    seed: Seed,
    make: impl Fn() -> A + Sync,
    of: impl Fn(&A) -> T + Sync,
) -> Vec<T> {
    let (make, of) = (&make, &of);
    let one_batch = |b: usize| {
        let batch = b * BATCH..((b + 1) * BATCH).min(redraws);
        let mut replicates: Vec<_> = batch.map(|r| (seed.child(r as u64).rng(), make())).collect();
        let mut cumulative = vec![0.0; p.ncols()];
        for (i, row) in p.outer_iter().enumerate() {
            let mut sum = 0.0;
            for (c, p) in cumulative.iter_mut().zip(row) {
                sum += p;
                *c = sum;
            }
            for (rng, tally) in &mut replicates {
                // Strictly below the row's sum, which is 1 only up to rounding: a class of probability 0 is never
                // drawn.
                let at = (rng.random::<f64>() * sum).min(sum.next_down());
                tally.add(i, cumulative.partition_point(|&c| c <= at));
            }
        }
        replicates.iter().map(|(_, tally)| of(tally)).collect::<Vec<_>>()
    };
    (0..redraws.div_ceil(BATCH)).into_par_iter().flat_map_iter(one_batch).collect()
}

/// The scores of rows drawn with replacement, so many times, with the bins as they are.
///
/// Counts of rows enter linearly into every sum. Class k's sum over all bins is a product of matrices; of a row's
/// classes only those beyond the first bin, fewer than there are bins, have to be visited one by one, and the first bin
/// holds the rest.
fn resampled(binned: &Binned, labels: &[usize], errors: &ErrorBins, resamples: usize, seed: Seed) -> Vec<Draw> {
    let rows = Rows::new(binned, labels);
    let block = (BLOCK / binned.rows()).clamp(1, 64);
    let one_block = |b: usize| {
        let of = b * block..((b + 1) * block).min(resamples);
        let mut counts = Array2::zeros((of.len(), binned.rows()));
        for (r, mut counts) in of.zip(counts.outer_iter_mut()) {
            let mut rng = seed.child(r as u64).rng();
            (0..binned.rows()).for_each(|_| counts[rng.random_range(0..binned.rows())] += 1.0);
        }
        let totals = matmul(counts.view(), rows.excess.view());
        let draw =
            |r: usize| rows.draw(binned, errors, &counts.slice(s![r, ..]).to_vec(), &totals.slice(s![r, ..]).to_vec());
        (0..counts.nrows()).map(draw).collect::<Vec<_>>()
    };
    (0..resamples.div_ceil(block)).into_par_iter().flat_map_iter(one_block).collect()
}

/// What each row adds to the sums, once for every time that it is drawn.
struct Rows {
    /// p_k − 1{k = y}, n × K.
    excess: Array2<f64>,
    /// Of row i's classes beyond the first bin: their place k · bins + bin and their excess, from `begin[i]` to
    /// `begin[i + 1]`.
    beyond: Vec<(usize, f64)>,
    begin: Vec<usize>,
    /// Confidence − 1{the guess is right}.
    top_excess: Vec<f64>,
    hit: Vec<f64>,
    log_loss: Vec<f64>,
    brier: Vec<f64>,
}

impl Rows {
    fn new(binned: &Binned, labels: &[usize]) -> Self {
        let mut excess = binned.p.clone();
        let (mut beyond, mut begin) = (Vec::new(), vec![0]);
        for (i, (mut row, &y)) in excess.outer_iter_mut().zip(labels).enumerate() {
            row[y] -= 1.0;
            for (k, &p) in binned.p.row(i).iter().enumerate() {
                let bin = bin_of(p, binned.bins);
                if bin > 0 {
                    beyond.push((k * binned.bins + bin, row[k]));
                }
            }
            begin.push(beyond.len());
        }
        let hit: Vec<f64> = binned.top.iter().zip(labels).map(|(t, &y)| f64::from(u8::from(t.class == y))).collect();
        let top_excess = binned.top.iter().zip(&hit).map(|(t, hit)| t.confidence - hit).collect();
        let log_loss = labels.iter().enumerate().map(|(i, &y)| surprise(binned.p[[i, y]])).collect();
        let brier = excess.outer_iter().map(|e| e.dot(&e)).collect();
        Rows { excess, beyond, begin, top_excess, hit, log_loss, brier }
    }

    /// The scores when row i is there `counts[i]` times; `totals` are the products of the counts with the excess.
    fn draw(&self, binned: &Binned, errors: &ErrorBins, counts: &[f64], totals: &[f64]) -> Draw {
        let (bins, n) = (binned.bins, counts.len() as f64);
        let (mut top, mut mass) = (vec![0.0; bins], vec![0.0; bins]);
        let mut class = vec![0.0; totals.len() * bins];
        for (k, total) in totals.iter().enumerate() {
            class[k * bins] = *total;
        }
        for (i, &count) in counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            top[binned.top[i].bin] += count * self.top_excess[i];
            mass[binned.top[i].mass_bin] += count * self.top_excess[i];
            for &(place, excess) in &self.beyond[self.begin[i]..self.begin[i + 1]] {
                class[place] += count * excess;
                class[place - place % bins] -= count * excess;
            }
        }
        let mean = |values: &[f64]| values.iter().zip(counts).map(|(v, c)| v * c).sum::<f64>() / n;
        let scores = ClassScores {
            accuracy: mean(&self.hit),
            nll: mean(&self.log_loss),
            brier: mean(&self.brier),
            ece: absolute_sum(&top) / n,
            cece: absolute_sum(&class) / (n * totals.len() as f64),
            adaptive_ece: absolute_sum(&mass) / n,
        };
        Draw { scores, moves: errors.of_rows([&top, &class, &mass]) }
    }
}

/// Mean and quantiles of at least one draw; between two draws a quantile is interpolated.
pub(super) fn band(draws: &mut dyn Iterator<Item = &f64>) -> Band {
    let mut draws: Vec<f64> = draws.copied().collect();
    draws.sort_by(f64::total_cmp);
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let [low, high] = ENDS.map(|q| {
        let at = q * (draws.len() - 1) as f64;
        let (below, above) = (draws[at.floor() as usize], draws[at.ceil() as usize]);
        below + (at - at.floor()) * (above - below)
    });
    Band { mean, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::class_scores;
    use ndarray::Axis;

    /// Rows of K probabilities, uneven ones, and labels that follow them only roughly.
    fn rows(n: usize, k: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut rng = Seed::new(seed).rng();
        let mut p = Array2::from_shape_simple_fn((n, k), || rng.random::<f64>().powi(6) + 1e-9);
        p.outer_iter_mut().for_each(|mut row| row /= row.sum());
        let labels =
            (0..n).map(|i| if i.is_multiple_of(3) { i % k } else { crate::metrics::top_class(p.row(i)) }).collect();
        (p, labels)
    }

    #[test]
    fn a_resample_scores_like_its_rows_written_out() {
        for (k, bins) in [(2, 15), (3, 4), (12, 15), (12, 1)] {
            let (p, labels) = rows(70, k, 5);
            let binned = Binned::new(p.view(), bins).unwrap();
            let seed = Seed::new(9);
            let errors = ErrorBins::new(&binned, &labels, &binned.tally_of(&labels));
            for (r, found) in resampled(&binned, &labels, &errors, 5, seed).into_iter().enumerate() {
                let mut rng = seed.child(r as u64).rng();
                let drawn: Vec<usize> = (0..70).map(|_| rng.random_range(0..70)).collect();
                let drawn_labels: Vec<usize> = drawn.iter().map(|&i| labels[i]).collect();
                let mut expected = class_scores(p.select(Axis(0), &drawn).view(), &drawn_labels, bins).unwrap();
                // Bins of equal mass stay those of the rows as they are.
                let mut sums = [bins, k * bins, bins].map(|places| vec![0.0; places]);
                for &i in &drawn {
                    let (top, y) = (binned.top[i], labels[i]);
                    let excess = top.confidence - f64::from(u8::from(top.class == y));
                    sums[0][top.bin] += excess;
                    sums[2][top.mass_bin] += excess;
                    for (c, &p) in binned.p.row(i).iter().enumerate() {
                        sums[1][c * bins + bin_of(p, bins)] += p - f64::from(u8::from(c == y));
                    }
                }
                expected.adaptive_ece = absolute_sum(&sums[2]) / 70.0;
                found.scores.map(&[expected], |found, expected| {
                    let expected = expected.next().unwrap();
                    assert!((found - expected).abs() < 1e-13, "K = {k}: {found} for {expected}");
                });
                let moves = errors.of_rows([&sums[0], &sums[1], &sums[2]]);
                for (found, expected) in found.moves.iter().zip(moves) {
                    let off = (found.below - expected.below).abs() + (found.above - expected.above).abs();
                    assert!(off < 1e-12, "K = {k}: {found:?} for {expected:?}");
                }
            }
        }
    }

    #[test]
    fn the_report_holds_the_scores_and_its_bands_are_in_order() {
        let (p, labels) = rows(120, 4, 1);
        let settings = JudgeSettings { resamples: 70, redraws: 40, ..JudgeSettings::default() };
        let report = judge(p.view(), &labels, &settings, Seed::new(3)).unwrap();
        let values = class_scores(p.view(), &labels, BINS).unwrap();
        let floor = noise_floor(p.view(), BINS, 40, Seed::new(3)).unwrap();
        report.map(&[values], |m, value| assert_eq!(m.value, *value.next().unwrap()));
        report.map(&[floor], |m, floor| assert_eq!(m.floor, floor.next().copied()));
        report.map::<_, ()>(&[], |m, _| {
            let floor = m.floor.unwrap();
            assert!(m.low < m.high && floor.low < floor.mean && floor.mean < floor.high);
        });
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<ClassReport>(&text).unwrap(), report);
        let bare = JudgeSettings { redraws: 0, ..settings };
        assert_eq!(judge(p.view(), &labels, &bare, Seed::new(3)).unwrap().nll.floor, None);
        let none = JudgeSettings { resamples: 0, ..settings };
        assert!(judge(p.view(), &labels, &none, Seed::new(3)).is_err());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let (p, labels) = rows(300, 5, 2);
        let report = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| judge(p.view(), &labels, &JudgeSettings::default(), Seed::new(1)).unwrap())
        };
        assert_eq!(report(1), report(3));
    }

    #[test]
    fn quantiles_by_hand() {
        let draws: Vec<f64> = (0..=40).map(f64::from).collect();
        assert_eq!(band(&mut draws.iter()), Band { mean: 20.0, low: 1.0, high: 39.0 });
        assert_eq!(band(&mut [2.0].iter()), Band { mean: 2.0, low: 2.0, high: 2.0 });
        // Between two draws: a twentieth of the way from 0 to 1, nineteen of those from 1 to 5.
        let Band { mean, low, high } = band(&mut [5.0, 0.0, 1.0].iter());
        assert!(mean == 2.0 && (low - 0.05).abs() < 1e-14 && (high - 4.8).abs() < 1e-14, "{low} {high}");
    }

    /// Labels as they come.
    struct Listed(Vec<usize>);

    impl Labelled for Listed {
        fn add(&mut self, i: usize, y: usize) {
            assert_eq!(i, self.0.len());
            self.0.push(y);
        }
    }

    #[test]
    fn every_replicate_draws_its_labels_from_a_stream_of_its_own() {
        // A class without probability in front, between and behind; sums of one up to rounding.
        let p = Array2::from_shape_fn((30, 5), |(i, k)| {
            [0.0, 0.1 * (i % 7) as f64, 0.0, 1.0 - 0.1 * (i % 7) as f64, 0.0][k]
        });
        let sets = redrawn(&p, 45, Seed::new(4), || Listed(Vec::new()), |l| l.0.clone());
        assert_eq!(sets.len(), 45);
        for (r, found) in sets.iter().enumerate() {
            let mut rng = Seed::new(4).child(r as u64).rng();
            let expected = (0..30).map(|i| if rng.random::<f64>() < p[[i, 1]] { 1 } else { 3 });
            assert_eq!(*found, expected.collect::<Vec<_>>(), "{r}");
        }
        // Of rows that add up to less, every class has its share of what they add up to.
        assert_eq!(redrawn(&(&p * 0.5), 45, Seed::new(4), || Listed(Vec::new()), |l| l.0.clone()), sets);
        assert!(sets.concat().contains(&1) && redrawn(&p, 0, Seed::new(4), || Listed(Vec::new()), |_| ()).is_empty());
    }

    #[test]
    fn intervals_are_percentiles_and_those_of_errors_what_their_sums_may_move_by() {
        let (p, labels) = rows(80, 3, 4);
        let settings = JudgeSettings { bins: 5, resamples: 150, redraws: 50 };
        let seed = Seed::new(6);
        let binned = Binned::new(p.view(), 5).unwrap();
        let errors = ErrorBins::new(&binned, &labels, &binned.tally_of(&labels));
        let of_rows = resampled(&binned, &labels, &errors, 150, seed.child(streams::RESAMPLES));
        let of_labels = |t: &Tally<'_>| errors.of_labels(t.sums());
        let of_labels = redrawn(&binned.p, 50, seed.child(streams::REDRAWS), || binned.tally(), of_labels);
        assert_eq!((of_rows.len(), of_labels.len()), (150, 50));
        let percentiles = |of: fn(&ClassScores<f64>) -> f64, m: Measured| {
            let draws: Vec<f64> = of_rows.iter().map(|d| of(&d.scores)).collect();
            let expected = band(&mut draws.iter());
            assert_eq!((m.low, m.high), (expected.low, expected.high));
            assert!(m.low < m.value && m.value < m.high);
        };
        let high = |moves: Vec<f64>| band(&mut moves.iter()).high.max(0.0);
        for redraws in [50, 0] {
            let report = judge(p.view(), &labels, &JudgeSettings { redraws, ..settings }, seed).unwrap();
            percentiles(|s| s.accuracy, report.accuracy);
            percentiles(|s| s.nll, report.nll);
            percentiles(|s| s.brier, report.brier);
            for (j, m) in [report.ece, report.cece, report.adaptive_ece].into_iter().enumerate() {
                let (mut below, mut above) = (
                    high(of_rows.iter().map(|d| d.moves[j].below).collect()),
                    high(of_rows.iter().map(|d| d.moves[j].above).collect()),
                );
                if redraws > 0 {
                    below = below.max(high(of_labels.iter().map(|m| m[j].below).collect()));
                    above = above.max(high(of_labels.iter().map(|m| m[j].above).collect()));
                }
                assert_eq!((m.low, m.high), ((m.value - below).max(0.0), (m.value + above).min(1.0)));
            }
        }
    }

    #[test]
    fn noise_floors_are_bands_of_labels_drawn_anew() {
        let (p, _) = rows(60, 4, 3);
        let binned = Binned::new(p.view(), 5).unwrap();
        let floor = noise_floor(p.view(), 5, 30, Seed::new(2)).unwrap();
        let seed = Seed::new(2).child(streams::REDRAWS);
        let sets = redrawn(&binned.p, 30, seed, || Listed(Vec::new()), |l| l.0.clone());
        let scores: Vec<_> = sets.iter().map(|y| class_scores(p.view(), y, 5).unwrap()).collect();
        scores[0].map(&scores, |_, draws| band(draws)).map(&[floor], |expected, floor| {
            let floor = floor.next().unwrap();
            let off = (floor.mean - expected.mean).abs()
                + (floor.low - expected.low).abs()
                + (floor.high - expected.high).abs();
            assert!(off < 1e-12, "{floor:?} {expected:?}");
        });
        assert!(noise_floor(p.view(), 5, 0, Seed::new(2)).is_err());
        assert_eq!(noise_floor(p.view(), 5, 1, Seed::new(2)).unwrap().nll.low, scores[0].nll);
    }
}
