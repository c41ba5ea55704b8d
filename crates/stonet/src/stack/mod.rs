//! Nested CV+ around a stack of members with a learned scale: the default intervals (beyond the paper).
//!
//! ```text
//! every fold k, every pair j < k   fit the members outside k, and outside j and k
//! every fold k, on rows outside k  κ per member and weights by inner predictions (row of fold j: fits without j and k); scale of residuals
//! every row i of fold k            R_i = (y_i − μ_k(x_i)) / s_k(x_i)
//! at x                             ends: ranks of μ_k(i)(x) ± |R_i| s_k(i)(x) over all rows i (interval/conformal.rs)
//! ```
//! Nothing that judges row i has seen it, so the CV+ bound holds.

mod members;
mod scale;
mod weights;

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use members::{Members, StoNetSettings};

use crate::calibration_rows::Single;
use crate::interval::conformal::{Scores, Side};
use crate::{Error, Level, Result, Seed, StoNet};
use members::{Candidates, Member};
use scale::{At, Learned, ScaleModel};

/// What asks for the network's prediction.
const NAME: &str = "a stack that was fitted with them";
/// Rows per block of a prediction.
const BLOCK: usize = 1024;

/// Told `(done, total)` as work proceeds; returning false cancels it.
pub type Ticker<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// How held-out scores come about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Everything chosen inside the fold: the CV+ bound holds. 15 fits of the members for 5 folds.
    Nested,
    /// κ, weights and scale chosen once, on the out-of-fold predictions of all rows: 5 fits, no proven bound.
    Same,
    /// Fitted on a share of the rows, scored on the others: exact 1 − α.
    Split {
        /// The share that is fitted on.
        share: f64,
    },
}

/// A stack of members and how it is turned into intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stack {
    /// Which members; those that need the network's prediction drop out where there is none.
    pub members: Members,
    /// Whether the scale of residuals is learned; a constant otherwise.
    pub learned_scale: bool,
    /// Nested or same-fold CV+, or a split.
    pub scheme: Scheme,
    /// K.
    pub folds: usize,
    /// Of the StoNet members.
    pub stonet: StoNetSettings,
}

impl Default for Stack {
    fn default() -> Self {
        Stack {
            members: Members::ALL,
            learned_scale: true,
            scheme: Scheme::Nested,
            folds: 5,
            stonet: StoNetSettings::default(),
        }
    }
}

/// A fitted stack for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FittedStack {
    folds: Vec<FoldModel>,
    scores: Scores,
}

/// What one fold predicts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoldModel {
    /// Members with positive weight.
    members: Vec<(f64, Member)>,
    scale: ScaleModel,
}

impl FoldModel {
    /// μ and s at rows of features.
    fn at(&self, x: ArrayView2<'_, f64>, d: Option<ArrayView1<'_, f64>>) -> Result<(Array1<f64>, Array1<f64>)> {
        let mut mean = Array1::zeros(x.nrows());
        for (weight, member) in &self.members {
            mean.scaled_add(*weight, &member.predict(x, d)?);
        }
        let scale = self.scale.scale(At { features: x, prediction: mean.view(), network: d })?;
        Ok((mean, scale))
    }
}

/// The chosen candidates of every member, their weights, and the scale.
struct Choice {
    candidate: Vec<usize>,
    weights: Array1<f64>,
    scale: ScaleModel,
}

impl Stack {
    fn validate(&self) -> Result<()> {
        Error::check(self.members.any(), "members", self.members, "at least one")?;
        Error::check(self.folds >= 2, "folds", self.folds, "at least 2")?;
        if let Scheme::Split { share } = self.scheme {
            Error::check(share > 0.0 && share < 1.0, "share", share, "strictly between 0 and 1")?;
        }
        self.stonet.check()
    }

    pub(crate) fn fit(&self, data: &Single<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedStack> {
        self.validate()?;
        let members = self.members.available(data.prediction.is_some());
        Error::check(
            members.any(),
            "members",
            self.members,
            "some that do not need the network's prediction, or give it",
        )?;
        let job = Job { stack: self, members, data, seed, tick, done: AtomicUsize::new(0), total: self.fits() };
        tick(0, job.total);
        match self.scheme {
            Scheme::Nested => job.nested(),
            Scheme::Same => job.same(),
            Scheme::Split { share } => job.split(share),
        }
    }

    /// How often all members are fitted.
    pub(crate) fn fits(&self) -> usize {
        match self.scheme {
            Scheme::Nested => self.folds + self.folds * (self.folds - 1) / 2,
            Scheme::Same => self.folds,
            Scheme::Split { .. } => self.folds + 1,
        }
    }
}

/// Rows × candidates, per member.
type Predictions = Vec<Array2<f64>>;

struct Job<'a, 'd> {
    stack: &'a Stack,
    members: Members,
    data: &'a Single<'d>,
    seed: Seed,
    tick: Ticker<'a>,
    done: AtomicUsize,
    total: usize,
}

impl Job<'_, '_> {
    /// Fits all members outside the held-out rows; `stream` names the random numbers.
    fn fit(&self, rows: &[usize], held_out: &[&[usize]], stream: u64) -> Result<Candidates> {
        let left = without(rows, held_out);
        let fitted = Candidates::fit(&self.stack.stonet, self.members, self.data, &left, self.seed.child(stream))?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if (self.tick)(done, self.total) { Ok(fitted) } else { Err(Error::Cancelled { epochs: done }) }
    }

    fn nested(&self) -> Result<FittedStack> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let rows: Vec<usize> = folds.concat();
        let k = folds.len();
        let subsets: Vec<(usize, usize)> = (0..k).flat_map(|a| (a..k).map(move |b| (a, b))).collect();
        // A pair's fit predicts both of its folds and is gone; a single one predicts its own fold later, and stays.
        enum Done {
            Single(Candidates),
            Pair(Predictions, Predictions),
        }
        let done: Vec<Done> = subsets
            .par_iter()
            .map(|&(a, b)| {
                let stream = (a * k + b) as u64;
                if a == b {
                    return Ok(Done::Single(self.fit(&rows, &[&folds[a]], stream)?));
                }
                let fit = self.fit(&rows, &[&folds[a], &folds[b]], stream)?;
                Ok(Done::Pair(fit.predict(self.data, &folds[a])?, fit.predict(self.data, &folds[b])?))
            })
            .collect::<Result<_>>()?;
        let of = |a: usize, b: usize| &done[subsets.iter().position(|&s| s == (a.min(b), a.max(b))).unwrap_or(0)];
        let outer = |out: usize| {
            let Done::Single(single) = of(out, out) else { unreachable!("the diagonal holds single fits") };
            let inner: Vec<usize> = (0..k).filter(|&j| j != out).collect();
            let predictions: Vec<&Predictions> = inner
                .iter()
                .map(|&j| match of(j, out) {
                    Done::Pair(first, second) => {
                        if j < out {
                            first
                        } else {
                            second
                        }
                    }
                    Done::Single(_) => unreachable!("off the diagonal are pairs"),
                })
                .collect();
            let inner_rows: Vec<usize> = inner.iter().flat_map(|&j| folds[j].iter().copied()).collect();
            let choice = self.choose(&predictions, &inner_rows)?;
            let model = assemble(single, &choice);
            let scores = self.scores(&model, &folds[out])?;
            Ok((model, scores))
        };
        let fitted: Vec<(FoldModel, Vec<f64>)> = (0..k).into_par_iter().map(outer).collect::<Result<_>>()?;
        let (models, scores) = fitted.into_iter().unzip();
        Ok(self.finish(models, scores, &folds))
    }

    fn same(&self) -> Result<FittedStack> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let (fits, predictions) = self.out_of_fold(&folds)?;
        let choice = self.choose(&predictions.iter().collect::<Vec<_>>(), &folds.concat())?;
        let models: Vec<FoldModel> = fits.iter().map(|f| assemble(f, &choice)).collect();
        let scores = models.iter().zip(&folds).map(|(m, f)| self.scores(m, f)).collect::<Result<_>>()?;
        Ok(self.finish(models, scores, &folds))
    }

    fn split(&self, share: f64) -> Result<FittedStack> {
        let parts = self.shares(share)?;
        let folds = self.folds(&parts[0], false)?;
        let (_, predictions) = self.out_of_fold(&folds)?;
        let choice = self.choose(&predictions.iter().collect::<Vec<_>>(), &folds.concat())?;
        let whole = self.fit(&parts[0], &[], 1000)?;
        let model = assemble(&whole, &choice);
        let scores = self.scores(&model, &parts[1])?;
        Ok(self.finish(vec![model], vec![scores], &parts[1..]))
    }

    /// A fit outside each fold, and its predictions of that fold.
    fn out_of_fold(&self, folds: &[Vec<usize>]) -> Result<(Vec<Candidates>, Vec<Predictions>)> {
        let rows: Vec<usize> = folds.concat();
        let one = |(k, fold): (usize, &Vec<usize>)| {
            let fit = self.fit(&rows, &[fold], k as u64)?;
            let predictions = fit.predict(self.data, fold)?;
            Ok((fit, predictions))
        };
        let both: Vec<_> = folds.par_iter().enumerate().map(one).collect::<Result<_>>()?;
        Ok(both.into_iter().unzip())
    }

    /// κ per member, weights, and the scale, from predictions of rows by fits that had not seen them.
    fn choose(&self, parts: &[&Predictions], rows: &[usize]) -> Result<Choice> {
        let y = self.data.y.select(Axis(0), rows);
        let member = |m: usize| {
            let views: Vec<ArrayView2<'_, f64>> = parts.iter().map(|p| p[m].view()).collect();
            ndarray::concatenate(Axis(0), &views).expect("the same candidates in every fold")
        };
        let mut candidate = Vec::new();
        let mut chosen = Array2::zeros((rows.len(), parts[0].len()));
        for m in 0..parts[0].len() {
            let c = member(m);
            let error = |j: usize| (&c.column(j) - &y).mapv(|e| e * e).sum();
            let best = (0..c.ncols()).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0);
            chosen.column_mut(m).assign(&c.column(best));
            candidate.push(best);
        }
        let weights = weights::simplex(chosen.view(), y.view());
        if !self.stack.learned_scale {
            return Ok(Choice { candidate, weights, scale: ScaleModel::Constant });
        }
        let mean = chosen.dot(&weights);
        let network = self.data.prediction.map(|d| d.select(Axis(0), rows));
        let network = network.as_ref().map(|d| d.view());
        let on = Learned { features: self.data.features, rows, prediction: mean.view(), network };
        let scale = ScaleModel::learn(on, (&y - &mean).view())?;
        Ok(Choice { candidate, weights, scale })
    }

    /// (y − μ)/s at rows the model has not seen.
    fn scores(&self, model: &FoldModel, rows: &[usize]) -> Result<Vec<f64>> {
        let block = |rows: &[usize]| {
            let x = self.data.features.select(Axis(0), rows);
            let d = self.data.prediction.map(|d| d.select(Axis(0), rows));
            let (mean, scale) = model.at(x.view(), d.as_ref().map(|d| d.view()))?;
            Ok(rows.iter().enumerate().map(|(i, &r)| (self.data.y[r] - mean[i]) / scale[i]).collect::<Vec<_>>())
        };
        let parts: Vec<Vec<f64>> = rows.chunks(BLOCK).map(block).collect::<Result<_>>()?;
        Ok(parts.concat())
    }

    fn finish(&self, folds: Vec<FoldModel>, scores: Vec<Vec<f64>>, held_out: &[Vec<usize>]) -> FittedStack {
        let rows: usize = held_out.iter().map(Vec::len).sum();
        let Some(groups) = self.data.groups else {
            return FittedStack { folds, scores: Scores::new(scores, None, rows) };
        };
        // A group counts as one, whatever its size.
        let mut sizes = std::collections::BTreeMap::new();
        held_out.iter().flatten().for_each(|&r| *sizes.entry(groups[r]).or_insert(0usize) += 1);
        let weights = held_out.iter().map(|f| f.iter().map(|&r| 1.0 / sizes[&groups[r]] as f64).collect()).collect();
        FittedStack { folds, scores: Scores::new(scores, Some(weights), sizes.len()) }
    }

    /// Random folds of these rows, groups kept whole. Without groups and if `equal`, at most K − 1 rows are left out so that all folds have one
    /// size, as the bound asks.
    fn folds(&self, rows: &[usize], equal: bool) -> Result<Vec<Vec<usize>>> {
        let k = self.stack.folds;
        let units = self.units(rows, self.seed.child(2000));
        // Each fit of a pair leaves out two folds, and what is left must still be several units.
        if units.len() < 2 * k {
            let what = if self.data.groups.is_some() { "cross-fitting, in groups" } else { "cross-fitting" };
            let remedy = "use fewer folds or more calibration rows";
            return Err(Error::TooFewRows { what, needed: 2 * k, found: units.len(), remedy });
        }
        let mut folds = vec![Vec::new(); k];
        if self.data.groups.is_none() {
            let used = if equal { units.len() / k * k } else { units.len() };
            units[..used].iter().enumerate().for_each(|(i, unit)| folds[i % k].extend(unit));
            return Ok(folds);
        }
        for unit in units {
            // The emptiest fold takes the next group.
            let emptiest = (0..k).min_by_key(|&f| folds[f].len()).unwrap_or(0);
            folds[emptiest].extend(unit);
        }
        Ok(folds)
    }

    /// Rows to fit on and rows to score, groups kept whole.
    fn shares(&self, share: f64) -> Result<Vec<Vec<usize>>> {
        let units = self.units(&all_rows(self.data), self.seed.child(2001));
        let first = (share * units.len() as f64).round() as usize;
        let (fit, score) = units.split_at(first.min(units.len()));
        if score.is_empty() {
            let remedy = "use a smaller share or more calibration rows";
            return Err(Error::TooFewRows { what: "a split", needed: 2, found: units.len(), remedy });
        }
        Ok(vec![fit.concat(), score.concat()])
    }

    /// Rows, or groups of rows, in random order.
    fn units(&self, rows: &[usize], seed: Seed) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = match self.data.groups {
            None => rows.iter().map(|&r| vec![r]).collect(),
            Some(groups) => {
                let mut by_group = std::collections::BTreeMap::<usize, Vec<usize>>::new();
                rows.iter().for_each(|&r| by_group.entry(groups[r]).or_default().push(r));
                by_group.into_values().collect()
            }
        };
        units.shuffle(&mut seed.rng());
        units
    }
}

fn all_rows(data: &Single<'_>) -> Vec<usize> {
    (0..data.y.len()).collect()
}

/// `rows` without those held out.
fn without(rows: &[usize], held_out: &[&[usize]]) -> Vec<usize> {
    let top = rows.iter().copied().max().map_or(0, |m| m + 1);
    let mut keep = vec![true; top];
    held_out.iter().for_each(|f| f.iter().for_each(|&r| keep[r] = false));
    let mut left: Vec<usize> = rows.iter().copied().filter(|&r| keep[r]).collect();
    left.sort_unstable();
    left
}

fn assemble(fit: &Candidates, choice: &Choice) -> FoldModel {
    let chosen = fit.0.iter().zip(&choice.candidate).zip(&choice.weights);
    let members = chosen.filter(|(_, w)| **w > 0.0).map(|((m, &c), &w)| (w, m[c].clone())).collect();
    FoldModel { members, scale: choice.scale.clone() }
}

impl FittedStack {
    /// Point predictions, lower and upper ends, blocks of rows in parallel.
    pub(crate) fn ends(
        &self,
        x: ArrayView2<'_, f64>,
        d: Option<ArrayView1<'_, f64>>,
        level: Level,
        side: Side,
    ) -> Result<[Vec<f64>; 3]> {
        let starts: Vec<usize> = (0..x.nrows()).step_by(BLOCK).collect();
        let blocks: Vec<[Vec<f64>; 3]> = starts
            .par_iter()
            .map(|&first| {
                let rows = first..(first + BLOCK).min(x.nrows());
                self.block(x.slice(s![rows.clone(), ..]), d.map(|d| d.slice_move(s![rows])), level, side)
            })
            .collect::<Result<_>>()?;
        let join = |i: usize| blocks.iter().flat_map(|b| b[i].iter().copied()).collect();
        Ok([join(0), join(1), join(2)])
    }

    fn block(
        &self,
        x: ArrayView2<'_, f64>,
        d: Option<ArrayView1<'_, f64>>,
        level: Level,
        side: Side,
    ) -> Result<[Vec<f64>; 3]> {
        let models: Vec<(Array1<f64>, Array1<f64>)> = self.folds.iter().map(|f| f.at(x, d)).collect::<Result<_>>()?;
        let mut out = [(); 3].map(|()| Vec::with_capacity(x.nrows()));
        let mut at = vec![(0.0, 1.0); models.len()];
        for r in 0..x.nrows() {
            at.iter_mut().zip(&models).for_each(|(a, (m, s))| *a = (m[r], s[r]));
            let (lower, upper) = self.scores.ends(&at, level, side);
            out[0].push(at.iter().map(|a| a.0).sum::<f64>() / at.len() as f64);
            out[1].push(lower);
            out[2].push(upper);
        }
        Ok(out)
    }

    pub(crate) fn needs_prediction(&self) -> bool {
        let learned = |s: &ScaleModel| matches!(s, ScaleModel::Learned { network: true, .. });
        self.folds.iter().any(|f| learned(&f.scale) || f.members.iter().any(|(_, m)| m.needs_prediction()))
    }

    /// Units that were scored, and folds that scored them.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.scores.units(), self.scores.folds())
    }

    /// Mean weight of StoNet, skip, ridge and network over the folds.
    pub(crate) fn weights(&self) -> [f64; 4] {
        let mut total = [0.0; 4];
        for (weight, member) in self.folds.iter().flat_map(|f| &f.members) {
            let which = match member {
                Member::StoNet(_) => 0,
                Member::Skip { .. } => 1,
                Member::Ridge(_) => 2,
                Member::Network => 3,
            };
            total[which] += weight / self.folds.len() as f64;
        }
        total
    }

    /// The StoNets in use.
    pub(crate) fn nets(&self) -> impl Iterator<Item = &StoNet> {
        self.folds.iter().flat_map(|f| &f.members).filter_map(|(_, m)| m.net())
    }

    /// Fails unless everything belongs together and takes this many features, as it does unless a file says otherwise.
    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        if self.folds.len() != self.scores.folds() || self.folds.is_empty() {
            return Err(Error::Inconsistent { what: "a stack's folds and scores do not belong together" });
        }
        for fold in &self.folds {
            let sound = !fold.members.is_empty() && fold.members.iter().all(|(w, _)| w.is_finite());
            if !sound {
                return Err(Error::Inconsistent { what: "a stack's weights are not numbers" });
            }
            fold.members.iter().try_for_each(|(_, m)| m.check(columns))?;
            fold.scale.check(columns)?;
        }
        Ok(())
    }
}
