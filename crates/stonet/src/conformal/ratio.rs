//! How much more often rows come from one source than from another: w(x) = q(x)/p(x), the exponential of a linear function
//! of the row, known or estimated by sparse logistic regression.
//!
//! A regression that tells rows of q from rows of p has the log-odds ln w(x) and a constant. Its penalty is the one with the
//! least held-out log-loss over folds; the same held-out odds say whether there is a shift at all.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::base::streams::adapt as streams;
use crate::base::{Error, Result, Seed, Work};
use crate::sparse::ridge::Clip;
use crate::sparse::{Clamp, SparseMultinomial};

/// Folds that choose the penalty.
const FOLDS: usize = 5;
/// Penalties from the largest on, down to this part of it.
const PENALTIES: usize = 16;
const LEAST_PENALTY: f64 = 1e-3;
/// Worse penalties in a row after which smaller ones are not tried.
const WORSE: usize = 3;
/// Rows of each source that are learned from; more hardly change a linear function.
const MOST: usize = 10_000;
/// Rows of each source that are needed.
pub(crate) const FEWEST: usize = 20;

/// w(x) = exp(b + Σ β z) over some columns z of a row, each standardised and kept within a range.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ratio {
    terms: Vec<Term>,
    intercept: f64,
}

/// One column of a [`Ratio`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The number of the column.
    pub column: usize,
    /// Subtracted first.
    pub centre: f64,
    /// Multiplied next.
    pub scale: f64,
    /// The least result.
    pub low: f64,
    /// The greatest result.
    pub high: f64,
    /// β.
    pub coefficient: f64,
}

impl Term {
    /// What is done to the column, which has this number where it is read.
    pub(crate) fn clamp(&self, column: usize) -> Clamp {
        Clamp { column, centre: self.centre, scale: self.scale, low: self.low, high: self.high }
    }

    fn value(&self, x: f64) -> f64 {
        self.coefficient * ((x - self.centre) * self.scale).max(self.low).min(self.high)
    }
}

/// What held-out rows say about a shift between two sources.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ShiftEvidence {
    /// The probability that a new row has higher held-out odds than a calibration row: ½ where nothing tells them apart.
    pub auc: f64,
    /// The held-out log-loss per row without any column, less that of the estimate.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The penalty that was chosen.
    pub penalty: f64,
}

impl ShiftEvidence {
    /// Whether held-out rows are told apart by more than two standard errors.
    pub fn is_clear(&self) -> bool {
        self.gain > 2.0 * self.standard_error
    }
}

impl Ratio {
    /// Exponents are kept within this of 0, so that no weight overflows.
    pub const LARGEST: f64 = 30.0;

    /// exp(Σ β x), the exponential tilt by known coefficients, one per column.
    pub fn tilt(coefficients: &[f64]) -> Result<Self> {
        if let Some(bad) = coefficients.iter().find(|b| !b.is_finite()) {
            return Err(Error::setting("tilt", bad, "finite numbers, one per feature"));
        }
        let term = |(column, &coefficient): (usize, &f64)| Term {
            column,
            centre: 0.0,
            scale: 1.0,
            // Exponents are kept within a range anyway; graphs hold these numbers in single precision.
            low: f64::from(f32::MIN),
            high: f64::from(f32::MAX),
            coefficient,
        };
        let terms = coefficients.iter().enumerate().filter(|(_, b)| **b != 0.0).map(term).collect();
        Ok(Ratio { terms, intercept: 0.0 })
    }

    /// Estimates q/p from rows of both, which have the same columns. The work is counted as it comes.
    pub(crate) fn estimate(
        p: ArrayView2<'_, f64>,
        q: ArrayView2<'_, f64>,
        seed: Seed,
        work: &Work<'_>,
    ) -> Result<(Self, ShiftEvidence)> {
        let (p, q) = (sampled(p, seed.child(streams::CALIBRATION)), sampled(q, seed.child(streams::NEW)));
        let rows = concatenate![Axis(0), p, q];
        let clip = Clip::fit(rows.view(), &(0..rows.nrows()).collect::<Vec<_>>())?;
        let odds = Odds {
            z: clip.apply(rows.view())?,
            labels: (0..rows.nrows()).map(|i| usize::from(i >= p.nrows())).collect(),
            prior: (q.nrows() as f64 / p.nrows() as f64).ln(),
        };
        let (penalty, evidence) = odds.chosen(seed, work)?;
        let mut ratio = Ratio { terms: Vec::new(), intercept: -odds.prior };
        if let Some(penalty) = penalty {
            let fit = SparseMultinomial::default().fit(odds.z.view(), &odds.labels, 2, penalty)?;
            ratio.intercept += fit.intercepts[1] - fit.intercepts[0];
            for column in 0..odds.z.ncols() {
                let coefficient = fit.coefficients[[1, column]] - fit.coefficients[[0, column]];
                let Clamp { centre, scale, low, high, .. } = clip.clamp(column);
                if coefficient != 0.0 {
                    ratio.terms.push(Term { column, centre, scale, low, high, coefficient });
                }
            }
        }
        work.advance()?;
        Ok((ratio, evidence))
    }

    /// The columns that w depends on.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// b.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// w at every row.
    pub fn at(&self, x: ArrayView2<'_, f64>) -> Array1<f64> {
        let mut exponent = Array1::from_elem(x.nrows(), self.intercept);
        for term in &self.terms {
            ndarray::Zip::from(&mut exponent).and(x.column(term.column)).for_each(|e, &x| *e += term.value(x));
        }
        exponent.mapv_into(|e| e.clamp(-Self::LARGEST, Self::LARGEST).exp())
    }

    /// The same function, divided so that its mean over these rows is 1: a constant factor changes no rank.
    pub(crate) fn normalised(mut self, x: ArrayView2<'_, f64>) -> Self {
        // Exponents in the middle of what is allowed, whatever the units of the columns.
        let exponents = |r: &Ratio| (0..x.nrows()).map(|i| r.exponent(x.row(i))).collect::<Vec<f64>>();
        let largest = exponents(&self).into_iter().fold(f64::NEG_INFINITY, f64::max);
        if largest.is_finite() {
            self.intercept -= largest;
            let mean = self.at(x).mean().unwrap_or(1.0);
            self.intercept -= mean.ln();
        }
        self
    }

    fn exponent(&self, row: ndarray::ArrayView1<'_, f64>) -> f64 {
        self.intercept + self.terms.iter().map(|t| t.value(row[t.column])).sum::<f64>()
    }

    /// Fails unless it is for so many columns and its parts are numbers, as they are unless a file says otherwise.
    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        let sound = |t: &Term| {
            t.column < columns
                && [t.centre, t.scale, t.low, t.high, t.coefficient].iter().all(|v| v.is_finite())
                && t.low <= t.high
        };
        match self.intercept.is_finite() && self.terms.iter().all(sound) {
            true => Ok(()),
            false => Err(Error::Inconsistent { what: "the ratio of an adapted head does not belong to its columns" }),
        }
    }
}

/// Rows drawn at random, where there are more than enough.
fn sampled(x: ArrayView2<'_, f64>, seed: Seed) -> Array2<f64> {
    let mut rows: Vec<usize> = (0..x.nrows()).collect();
    if rows.len() > MOST {
        rows.shuffle(&mut seed.rng());
        rows.truncate(MOST);
        rows.sort_unstable();
    }
    x.select(Axis(0), &rows)
}

/// Rows of two sources and the regression that tells them apart.
struct Odds {
    z: Array2<f64>,
    /// 0 for p, 1 for q.
    labels: Vec<usize>,
    /// ln of the odds of q without any column.
    prior: f64,
}

impl Odds {
    /// The penalty with the least held-out log-loss, none where no column is better than all; and what held-out rows say.
    fn chosen(&self, seed: Seed, work: &Work<'_>) -> Result<(Option<f64>, ShiftEvidence)> {
        let n = self.labels.len();
        let largest = if self.z.ncols() == 0 {
            0.0
        } else {
            SparseMultinomial::default().lambda_max(self.z.view(), &self.labels, 2)?
        };
        // Columns that do not vary together with the source have no penalty to choose.
        let steps = if largest > 0.0 { PENALTIES } else { 0 };
        let penalty = |i: usize| largest * LEAST_PENALTY.powf(i as f64 / (PENALTIES - 1) as f64);
        let penalties: Vec<f64> = (0..steps).map(penalty).collect();
        let fold_of = self.folds(seed.child(streams::FOLDS));
        let mut held = vec![vec![self.prior; n]; steps];
        let mut common = steps;
        for fold in 0..FOLDS {
            let reached = self.held_out(&fold_of, fold, &penalties, &mut held, work)?;
            common = common.min(reached);
            work.advance()?;
        }
        let null: Vec<f64> = (0..n).map(|i| self.loss(i, self.prior)).collect();
        let loss = |odds: &[f64]| -> f64 { (0..n).map(|i| self.loss(i, odds[i])).sum::<f64>() / n as f64 };
        let best = (0..common).min_by(|&a, &b| loss(&held[a]).total_cmp(&loss(&held[b])));
        let best = best.filter(|&b| loss(&held[b]) < null.iter().sum::<f64>() / n as f64);
        let odds = best.map_or_else(|| vec![self.prior; n], |b| held[b].clone());
        let gains: Vec<f64> = (0..n).map(|i| null[i] - self.loss(i, odds[i])).collect();
        let (gain, sd) = crate::metrics::mean_sd(&gains);
        let evidence = ShiftEvidence {
            auc: self.auc(&odds),
            gain,
            standard_error: sd / (n as f64).sqrt(),
            penalty: best.map_or(largest, penalty),
        };
        Ok((best.map(penalty), evidence))
    }

    /// The fold of every row, of both sources alike.
    fn folds(&self, seed: Seed) -> Vec<usize> {
        let mut rng = seed.rng();
        let mut fold_of = vec![0; self.labels.len()];
        for label in 0..2 {
            let mut rows: Vec<usize> = (0..self.labels.len()).filter(|&i| self.labels[i] == label).collect();
            rows.shuffle(&mut rng);
            rows.iter().enumerate().for_each(|(place, &row)| fold_of[row] = place % FOLDS);
        }
        fold_of
    }

    /// Log-odds of the rows of a fold by fits without it, at each penalty; how many penalties there are.
    fn held_out(
        &self,
        fold_of: &[usize],
        fold: usize,
        penalties: &[f64],
        held: &mut [Vec<f64>],
        work: &Work<'_>,
    ) -> Result<usize> {
        let (out, rest): (Vec<usize>, Vec<usize>) = (0..fold_of.len()).partition(|&i| fold_of[i] == fold);
        let labels: Vec<usize> = rest.iter().map(|&i| self.labels[i]).collect();
        let (x, new) = (self.z.select(Axis(0), &rest), self.z.select(Axis(0), &out));
        let (mut least, mut worse, mut at) = (f64::INFINITY, 0, 0);
        let check = || work.check().map_err(Error::from);
        let mut see = |fit: &crate::sparse::MultinomialFit| {
            let logits = fit.logits(new.view())?;
            out.iter().zip(logits.outer_iter()).for_each(|(&i, f)| held[at][i] = f[1] - f[0]);
            let loss: f64 = out.iter().map(|&i| self.loss(i, held[at][i])).sum();
            at += 1;
            worse = if loss < least { 0 } else { worse + 1 };
            least = least.min(loss);
            Ok(worse < WORSE)
        };
        let regression = SparseMultinomial::default();
        regression.path_while(x.view(), &labels, 2, None, penalties, &check, &mut see)?;
        Ok(at)
    }

    /// The log-loss of a row whose log-odds of q are these.
    fn loss(&self, row: usize, odds: f64) -> f64 {
        let against = if self.labels[row] == 1 { -odds } else { odds };
        // ln(1 + e^a) without overflow.
        against.max(0.0) + (-against.abs()).exp().ln_1p()
    }

    /// The share of pairs in which the row of q has the higher odds; pairs of equals count one half.
    fn auc(&self, odds: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..odds.len()).collect();
        order.sort_by(|&a, &b| odds[a].total_cmp(&odds[b]));
        let (mut wins, mut below) = (0.0, 0.0);
        for ties in order.chunk_by(|&a, &b| odds[a] == odds[b]) {
            let new = ties.iter().filter(|&&i| self.labels[i] == 1).count() as f64;
            let old = ties.len() as f64 - new;
            wins += new * (below + 0.5 * old);
            below += old;
        }
        let new = self.labels.iter().sum::<usize>() as f64;
        wins / (new * (self.labels.len() as f64 - new))
    }
}

/// Pieces of work of an estimate.
pub(crate) const PIECES: usize = FOLDS + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    fn normal(n: usize, columns: usize, shift: f64, seed: u64) -> Array2<f64> {
        let mut rng = Seed::new(seed).rng();
        let mut x = Array2::from_shape_simple_fn((n, columns), || -> f64 { StandardNormal.sample(&mut rng) });
        x.column_mut(1).mapv_inplace(|v| v + shift);
        x
    }

    fn estimate(p: &Array2<f64>, q: &Array2<f64>) -> (Ratio, ShiftEvidence) {
        let work = Work::new(PIECES, "folds", &|_, _| true);
        Ratio::estimate(p.view(), q.view(), Seed::new(5), &work).unwrap()
    }

    /// Normal rows moved by δ in one column have w = exp(δ x − δ²/2).
    #[test]
    fn a_moved_column_is_found_with_its_coefficient() {
        let (p, q) = (normal(3000, 6, 0.0, 1), normal(2000, 6, 0.8, 2));
        let (ratio, evidence) = estimate(&p, &q);
        assert!(evidence.is_clear() && evidence.auc > 0.65, "{evidence:?}");
        let largest = ratio.terms().iter().max_by(|a, b| a.coefficient.abs().total_cmp(&b.coefficient.abs())).unwrap();
        assert_eq!(largest.column, 1);
        // On the scale of the column; the lasso shrinks a little.
        let slope = largest.coefficient * largest.scale;
        assert!((slope - 0.8).abs() < 0.15, "{slope}");
        let ratio = ratio.normalised(p.view());
        assert!((ratio.at(p.view()).mean().unwrap() - 1.0).abs() < 1e-12);
        let row = ndarray::array![[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]];
        let truth = (0.8f64 - 0.32).exp();
        assert!((ratio.at(row.view())[0] / truth - 1.0).abs() < 0.15);
    }

    #[test]
    fn rows_of_one_source_are_not_told_apart() {
        let mut clear = 0;
        for seed in 0..20 {
            let (p, q) = (normal(400, 5, 0.0, 100 + seed), normal(300, 5, 0.0, 200 + seed));
            let (ratio, evidence) = estimate(&p, &q);
            clear += usize::from(evidence.is_clear());
            assert!((evidence.auc - 0.5).abs() < 0.12, "{evidence:?}");
            assert!(ratio.terms().iter().all(|t| t.coefficient.abs() < 0.4), "{ratio:?}");
        }
        assert!(clear <= 2, "{clear}");
    }

    #[test]
    fn a_tilt_is_what_it_says() {
        let ratio = Ratio::tilt(&[0.5, 0.0, -2.0]).unwrap();
        let x = ndarray::array![[1.0, 9.0, 0.25], [0.0, 1.0, 100.0]];
        assert_eq!(ratio.at(x.view()).to_vec(), vec![1.0, (-30.0f64).exp()]);
        assert!(Ratio::tilt(&[f64::NAN]).is_err() && ratio.check(3).is_ok() && ratio.check(2).is_err());
        let away = Array2::from_elem((4, 3), 1e3);
        assert!((ratio.normalised(away.view()).at(away.view())[0] - 1.0).abs() < 1e-12);
    }
}
