//! How a stack is fitted: folds, fits outside one or two of them, choices on what they predict, and scores of the rows
//! they held out.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::members::{Candidates, Members};
use super::scale::{Learned, ScaleModel};
use super::shape::{self, Shape};
use super::{FittedStack, FoldModel, NAME, Scheme, Stack, lower, paths, weights};
use crate::base::Work;
use crate::base::streams::stack as streams;
use crate::base::{Error, Result, Seed, Ticker};
use crate::rows::regression::{Said, Single};
use crate::score::{Column, Input, Port, Scorer};
use crate::sparse::ridge::{BLOCK, Components};
use crate::train::TuningCurve;

/// The chosen candidates of every member, their weights, and the scale.
struct Choice {
    candidate: Vec<usize>,
    weights: Array1<f64>,
    scale: ScaleModel,
    shape: Option<Shape>,
    /// r/s of the rows, with s by a fit without the row.
    scores: Array1<f64>,
}

/// Rows × candidates, per member.
pub(super) type Predictions = Vec<Array2<f64>>;

pub(super) struct Job<'a, 'd> {
    pub(super) stack: &'a Stack,
    pub(super) members: Members,
    pub(super) data: &'a Single<'d>,
    pub(super) seed: Seed,
    work: Work<'a>,
}

impl<'a, 'd> Job<'a, 'd> {
    pub(super) fn new(stack: &'a Stack, members: Members, data: &'a Single<'d>, seed: Seed, tick: Ticker<'a>) -> Self {
        Job { stack, members, data, seed, work: Work::new(stack.fits(), "fits", tick) }
    }

    pub(super) fn run(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        match self.stack.scheme {
            Scheme::Nested => self.nested(),
            Scheme::Same => self.same(),
            Scheme::Split { share } => self.split(share),
        }
    }

    /// The split's model of all rows.
    pub(super) fn run_sample(&self) -> Result<(FoldModel, Vec<TuningCurve>)> {
        self.sample(&all_rows(self.data))
    }

    /// Fits all members outside the held-out rows; `stream` numbers the fits.
    fn fit(&self, rows: &[usize], held_out: &[&[usize]], stream: usize) -> Result<Candidates> {
        self.candidates(&without(rows, held_out), streams::FITS.at(stream), self.members)
    }

    /// Fits some members on these rows.
    fn candidates(&self, rows: &[usize], stream: u64, members: Members) -> Result<Candidates> {
        let seed = self.seed.child(stream);
        let members = (members, self.stack.learned_scale && members == self.members);
        let fitted = Candidates::fit(&self.stack.stonet, members, self.data, rows, seed, &self.work)?;
        self.work.advance()?;
        Ok(fitted)
    }

    /// Predictions of these rows by every member, none of which has seen the row: in closed form, or by other fits, whose
    /// members are those without a closed form and whose rows come in this order.
    fn unseen(&self, fit: &Candidates, folded: &[&Predictions], rows: &[usize]) -> Vec<Array2<f64>> {
        let mut next = 0;
        let member = |left_out: &Option<Array1<f64>>| match left_out {
            Some(own) => {
                let at = |&r: &usize| own[fit.rows.binary_search(&r).expect("a row of the fit")];
                Array1::from_iter(rows.iter().map(at)).insert_axis(Axis(1))
            }
            None => {
                let views: Vec<ArrayView2<'_, f64>> = folded.iter().map(|p| p[next].view()).collect();
                next += 1;
                ndarray::concatenate(Axis(0), &views).expect("the same candidates in every fold")
            }
        };
        fit.left_out.iter().map(member).collect()
    }

    fn nested(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let rows: Vec<usize> = folds.concat();
        let k = folds.len();
        let pairs = !self.stack.closed_form();
        let subsets: Vec<(usize, usize)> =
            (0..k).flat_map(|a| (a..k).map(move |b| (a, b))).filter(|(a, b)| pairs || a == b).collect();
        // A pair's fit predicts both of its folds and is gone; a single one predicts its own fold later, and stays.
        enum Done {
            Single(Box<Candidates>),
            Pair(Predictions, Predictions),
        }
        let done: Vec<Done> = subsets
            .par_iter()
            .map(|&(a, b)| {
                let stream = a * k + b;
                if a == b {
                    return Ok(Done::Single(Box::new(self.fit(&rows, &[&folds[a]], stream)?)));
                }
                let left = without(&rows, &[&folds[a], &folds[b]]);
                let fit = self.candidates(&left, streams::FITS.at(stream), self.members.without_closed_form())?;
                Ok(Done::Pair(fit.predict(self.data, &folds[a])?, fit.predict(self.data, &folds[b])?))
            })
            .collect::<Result<_>>()?;
        let of = |a: usize, b: usize| &done[subsets.iter().position(|&s| s == (a.min(b), a.max(b))).unwrap_or(0)];
        // What a fit without folds j and `out` says of fold j.
        let seen = |j: usize, out: usize| match of(j, out) {
            Done::Pair(first, _) if j < out => first,
            Done::Pair(_, second) => second,
            Done::Single(_) => unreachable!("off the diagonal are pairs"),
        };
        let outer = |out: usize| {
            let Done::Single(single) = of(out, out) else { unreachable!("the diagonal holds single fits") };
            let inner: Vec<usize> = (0..k).filter(|&j| j != out).collect();
            let predictions: Vec<&Predictions> =
                if pairs { inner.iter().map(|&j| seen(j, out)).collect() } else { Vec::new() };
            let inner_rows: Vec<usize> = inner.iter().flat_map(|&j| folds[j].iter().copied()).collect();
            let unseen = self.unseen(single, &predictions, &inner_rows);
            let choice = self.choose(&unseen, &inner_rows, single.components.as_ref(), out)?;
            let model = assemble(single, &choice);
            let scores = self.scores(&model, &folds[out])?;
            Ok((choice.candidate, model, scores))
        };
        let (mut chosen, mut models, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for (candidate, model, score) in (0..k).into_par_iter().map(outer).collect::<Result<Vec<_>>>()? {
            chosen.push(candidate);
            models.push(model);
            scores.push(score);
        }
        let seen = |j: usize| (0..k).filter(|&out| pairs && out != j).map(|out| seen(j, out)).collect();
        let paths = paths::of(self, &folds, seen, &chosen);
        Ok((self.finish(models, scores, &folds)?, paths))
    }

    fn same(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let (fits, predictions) = self.out_of_fold(&folds)?;
        let views = |m: usize| predictions.iter().map(|p| p[m].view()).collect::<Vec<_>>();
        let member = |m: usize| ndarray::concatenate(Axis(0), &views(m)).expect("the same candidates in every fold");
        let unseen: Vec<Array2<f64>> = (0..predictions[0].len()).map(member).collect();
        let rows = without(&folds.concat(), &[]);
        let components = match self.stack.learned_scale {
            true => Some(Components::fit(self.data.features, &rows, &self.work)?),
            false => None,
        };
        let choice = self.choose(&unseen, &folds.concat(), components.as_ref(), 0)?;
        let models: Vec<FoldModel> = fits.iter().map(|f| assemble(f, &choice)).collect();
        // The scale has seen all rows, so each is scored by a scale without it.
        let mut next = choice.scores.iter();
        let of_fold = |fold: &Vec<usize>| fold.iter().zip(next.by_ref()).map(|(&r, &s)| bounded(s, (r, 0))).collect();
        let scores = folds.iter().map(of_fold).collect::<Result<_>>()?;
        let paths = paths::of(self, &folds, |j| vec![&predictions[j]], &[choice.candidate]);
        Ok((self.finish(models, scores, &folds)?, paths))
    }

    fn split(&self, share: f64) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let parts = self.shares(share)?;
        let (model, paths) = self.sample(&parts[0])?;
        let scores = self.scores(&model, &parts[1])?;
        Ok((self.finish(vec![model], vec![scores], &parts[1..])?, paths))
    }

    /// A fit of all these rows, with κ, weights and scale from folds of them.
    fn sample(&self, rows: &[usize]) -> Result<(FoldModel, Vec<TuningCurve>)> {
        let folds = self.folds(rows, false)?;
        let predictions = if self.stack.closed_form() { Vec::new() } else { self.folded_predictions(&folds)? };
        // In the order of the rows, as all fits are: batches are drawn by position, and the rows of a share come
        // shuffled.
        let whole = self.candidates(&without(rows, &[]), streams::WHOLE, self.members)?;
        let unseen = self.unseen(&whole, &predictions.iter().collect::<Vec<_>>(), &folds.concat());
        let choice = self.choose(&unseen, &folds.concat(), whole.components.as_ref(), 0)?;
        let model = assemble(&whole, &choice);
        let paths = paths::of(self, &folds, |j| predictions.get(j).into_iter().collect(), &[choice.candidate]);
        Ok((model, paths))
    }

    /// A fit outside each fold, and its predictions of that fold.
    fn out_of_fold(&self, folds: &[Vec<usize>]) -> Result<(Vec<Candidates>, Vec<Predictions>)> {
        let rows: Vec<usize> = folds.concat();
        let one = |(k, fold): (usize, &Vec<usize>)| {
            let fit = self.fit(&rows, &[fold], k)?;
            let predictions = fit.predict(self.data, fold)?;
            Ok((fit, predictions))
        };
        let both: Vec<_> = folds.par_iter().enumerate().map(one).collect::<Result<_>>()?;
        Ok(both.into_iter().unzip())
    }

    /// What members without a closed form predict of every fold by a fit without it.
    fn folded_predictions(&self, folds: &[Vec<usize>]) -> Result<Vec<Predictions>> {
        let rows: Vec<usize> = folds.concat();
        let one = |(k, fold): (usize, &Vec<usize>)| {
            let fit =
                self.candidates(&without(&rows, &[fold]), streams::FITS.at(k), self.members.without_closed_form())?;
            fit.predict(self.data, fold)
        };
        folds.par_iter().enumerate().map(one).collect()
    }

    /// κ per member, weights, scale and shape, from predictions of these rows by fits that had not seen them; `stream`
    /// numbers the choices.
    fn choose(
        &self,
        unseen: &[Array2<f64>],
        rows: &[usize],
        components: Option<&Components>,
        stream: usize,
    ) -> Result<Choice> {
        let y = self.data.y.select(Axis(0), rows);
        let mut candidate = Vec::new();
        let mut chosen = Array2::zeros((rows.len(), unseen.len()));
        for (m, c) in unseen.iter().enumerate() {
            let error = |j: usize| (&c.column(j) - &y).mapv(|e| e * e).sum();
            let best = (0..c.ncols()).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0);
            chosen.column_mut(m).assign(&c.column(best));
            candidate.push(best);
        }
        let weights = weights::simplex(chosen.view(), y.view());
        if !self.stack.learned_scale {
            let scores = &y - &chosen.dot(&weights);
            return Ok(Choice { candidate, weights, scale: ScaleModel::Constant, shape: None, scores });
        }
        let mean = chosen.dot(&weights);
        let network = self.data.prediction.map(|d| d.select(Axis(0), rows));
        let network = network.as_ref().map(|d| d.view());
        let own = self.data.own.map(|own| own.select(rows));
        let own = own.as_ref().map(|own| own.view());
        let on = Learned { features: self.data.features, rows, prediction: mean.view(), network, own, components };
        let residual = &y - &mean;
        let (scale, log_scale) = ScaleModel::learn(on, residual.view(), &self.work)?;
        // Where the same rows are scored, a shape would fit their residuals.
        let fresh = self.stack.scheme != Scheme::Same;
        let shape = (fresh && !self.stack.symmetric && scale != ScaleModel::Constant).then(|| {
            let groups: Option<Vec<usize>> = self.data.groups.map(|g| rows.iter().map(|&r| g[r]).collect());
            let lean = scale.own().zip(own.as_ref()).and_then(|(width, own)| width.lean(own, mean.view()));
            let on = shape::Learned {
                residual: residual.view(),
                log_scale: log_scale.view(),
                prediction: mean.view(),
                lean: lean.as_ref().map(|l| l.view()),
                groups: groups.as_deref(),
            };
            Shape::learn(on, self.seed.child(streams::SHAPES.at(stream)))
        });
        let scores = residual * log_scale.mapv(|l| (-l).exp());
        Ok(Choice { candidate, weights, scale, shape: shape.flatten(), scores })
    }

    /// (y − μ)/s at rows the model has not seen, with the scale of the side on which y lies.
    fn scores(&self, model: &FoldModel, rows: &[usize]) -> Result<Vec<f64>> {
        let scorer = Scorer::new(lower::models_plan(&[model], self.data.features.ncols()));
        let columns = scored(&scorer, self.data, rows)?;
        let score = |(i, &r): (usize, &usize)| signed_score(self.data.y[r], &columns, i, (r, 0));
        rows.iter().enumerate().map(score).collect()
    }
}

pub(super) fn all_rows(data: &Single<'_>) -> Vec<usize> {
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
    let chosen = fit.members.iter().zip(&choice.candidate).zip(&choice.weights);
    let members = chosen.filter(|(_, w)| **w > 0.0).map(|((m, &c), &w)| (w, m[c].clone())).collect();
    FoldModel { members, scale: choice.scale.clone(), shape: choice.shape.clone().map(Box::new) }
}

/// (y − μ)/s of row `i` of the columns μ, s⁺ and s⁻, with the scale of the side on which y lies. An error names row and
/// column `place`.
pub(crate) fn signed_score(y: f64, columns: &[Vec<f64>], i: usize, place: (usize, usize)) -> Result<f64> {
    let off = y - columns[0][i];
    bounded(off / columns[if off < 0.0 { 2 } else { 1 }][i], place)
}

/// A score, unless finite numbers were too far apart for it.
fn bounded(score: f64, (row, column): (usize, usize)) -> Result<f64> {
    match score.is_finite() {
        true => Ok(score),
        false => Err(Error::Unbounded { what: "the score", row, column, value: score.to_string() }),
    }
}

/// All outputs of a scorer at some rows; no features are copied beside a block.
pub(super) fn scored(scorer: &Scorer, data: &Single<'_>, rows: &[usize]) -> Result<Vec<Vec<f64>>> {
    let mut out = vec![Vec::with_capacity(rows.len()); scorer.outputs().len()];
    for part in rows.chunks(BLOCK) {
        let x = data.features.select(Axis(0), part);
        let d = data.prediction.map(|d| d.select(Axis(0), part));
        let own = data.own.map(|own| own.select(part));
        let said = Said { prediction: d.as_ref().map(|d| d.view()), own: own.as_ref().map(|own| own.view()) };
        let columns = columns_of(scorer, x.view(), &said)?;
        let results = scorer.run(&columns, part.len()).map_err(|e| e.of_rows(part))?;
        out.iter_mut().zip(results).for_each(|(out, result)| out.extend(result));
    }
    Ok(out)
}

/// μ and s, above and below, of every model at all rows.
pub(super) fn at<'a>(models: &[&FoldModel], x: ArrayView2<'a, f64>, said: &Said<'a>) -> Result<Vec<[Array1<f64>; 3]>> {
    let scorer = Scorer::new(lower::models_plan(models, x.ncols()));
    let columns = columns_of(&scorer, x, said)?;
    let mut out = scorer.run(&columns, x.nrows())?.into_iter().map(Array1::from);
    Ok(std::iter::from_fn(|| Some([out.next()?, out.next()?, out.next()?])).collect())
}

/// The columns that a scorer of one target reads.
pub(crate) fn columns_of<'a>(scorer: &Scorer, x: ArrayView2<'a, f64>, said: &Said<'a>) -> Result<Vec<Column<'a>>> {
    let column = |input: &Input| match input.port.own_place() {
        Some((kind, place)) => match &said.own {
            Some(own) if own.kind() == kind => Ok(Column::F64(own.parts()[place])),
            _ => Err(Error::NoOwn { what: input.port.name() }),
        },
        None if input.port == Port::Features => Ok(Column::F64(x.index_axis_move(Axis(1), input.column))),
        None => said.prediction.map(Column::F64).ok_or(Error::NoPrediction { what: NAME }),
    };
    scorer.inputs().iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};
    use rand_distr::{Distribution, StandardNormal};

    use crate::base::Seed;
    use crate::regression::{Kind, PostStoNetRegressor, StoNetSettings};
    use crate::rows::RegressionRows;

    /// The premise of the CV+ bound, of exact 1 − α of a split, and of bounds by group: a row's target does not change
    /// anything that judges it. Other folds may change.
    #[test]
    fn nothing_that_judges_a_row_has_seen_it() {
        let mut draws = StandardNormal.sample_iter(Seed::new(3).rng());
        let mut next = || -> f64 { draws.next().unwrap() };
        let n = 90;
        let x = Array2::from_shape_simple_fn((n, 4), &mut next);
        let y = x.map_axis(Axis(1), |r| r[0] + (0.4 * r[1]).exp() * next().powi(2)).insert_axis(Axis(1));
        let d = y.mapv(|y| 0.8 * y + 0.1);
        let groups: Vec<usize> = (0..n).map(|i| i / 3).collect();
        let stonet =
            StoNetSettings { steps: 20, kappas: Some(vec![0.01, 0.2]), hidden: vec![3], ..StoNetSettings::default() };
        let (lower, upper) = (d.mapv(|d| d - 0.5), Array2::from_shape_fn((n, 1), |(i, _)| d[[i, 0]] + x[[i, 1]].exp()));
        for (kind, grouped, own) in [
            (Kind::Fast, false, false),
            (Kind::Stack, false, false),
            (Kind::CvPlus, false, false),
            (Kind::Split, false, false),
            (Kind::Fast, true, false),
            (Kind::Stack, true, false),
            (Kind::Stack, false, true),
            (Kind::Split, false, true),
            (Kind::Fast, true, true),
        ] {
            let settings = PostStoNetRegressor { kind, stonet: stonet.clone(), ..PostStoNetRegressor::default() };
            let fit = |y: &Array2<f64>| {
                let rows = RegressionRows::new(x.view(), y.view()).unwrap().with_prediction(d.view()).unwrap();
                let rows = if grouped { rows.with_groups(&groups).unwrap() } else { rows };
                let rows = if own { rows.with_quantiles(lower.view(), upper.view()).unwrap() } else { rows };
                settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap().stacks().unwrap()[0].clone()
            };
            let before = fit(&y);
            for row in [0, 7, 41, 89] {
                let mut other = y.clone();
                other[[row, 0]] += 50.0;
                let after = fit(&other);
                let same: Vec<usize> =
                    (0..before.folds().len()).filter(|&k| before.folds()[k] == after.folds()[k]).collect();
                let changed: Vec<usize> = (0..before.folds().len())
                    .filter(|&k| {
                        let scores = |s: &crate::regression::stack::FittedStack| {
                            s.scores().absolute().nth(k).unwrap().0.to_vec()
                        };
                        scores(&before) != scores(&after)
                    })
                    .collect();
                // The fold that holds the row out is the one that stays, and its scores change by this row alone. A
                // split has one model: it stays where the row is scored, and changes where the row was fitted on.
                let alone = before.folds().len() == 1;
                assert!(same.len() == 1 || alone, "{kind} {grouped}: row {row} left folds {same:?}");
                assert!(same.iter().all(|k| changed.contains(k)), "{kind} {grouped}: row {row}");
            }
        }
    }
}
