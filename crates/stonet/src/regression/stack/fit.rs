//! How a stack is fitted: folds, fits outside one or two of them, choices on what they predict, and scores of the rows
//! they held out.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::cost::Plan;
use super::members::{Closed, Member, Members, StoNetSettings, predictions};
use super::nets::Place;
use super::scale::{Learned, ScaleModel};
use super::shape::{self, Shape};
use super::{FittedStack, FoldModel, NAME, Scheme, Stack, lower, paths, weights};
use crate::base::streams::stack as streams;
use crate::base::{Error, Result, Seed, Ticker, Work, stage};
use crate::rows::regression::{Said, Single};
use crate::score::{Column, Input, Port, Scorer};
use crate::sparse::ridge::{BLOCK, Spectrum};
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
    /// How StoNets are trained on so many rows.
    stonet: StoNetSettings,
    plan: Plan,
    work: Work<'a>,
}

impl<'a, 'd> Job<'a, 'd> {
    pub(super) fn new(stack: &'a Stack, data: &'a Single<'d>, seed: Seed, tick: Ticker<'a>, plan: Plan) -> Self {
        let stonet = stack.stonet.grown(data.y.len());
        Job { stack, members: plan.members, data, seed, stonet, plan, work: Work::of_cost(plan.cost(stack), tick) }
    }

    pub(super) fn run(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let fitted = match self.stack.scheme {
            Scheme::Nested => self.nested(),
            Scheme::Same => self.same(),
            Scheme::Split { share } => self.split(share),
        }?;
        self.work.finish()?;
        Ok(fitted)
    }

    /// The split's model of all rows.
    pub(super) fn run_sample(&self) -> Result<(FoldModel, Vec<TuningCurve>)> {
        let fitted = self.sample(&all_rows(self.data))?;
        self.work.finish()?;
        Ok(fitted)
    }

    /// The members with a closed form, fitted on these rows.
    fn closed(&self, rows: &[usize]) -> Result<Closed> {
        self.closed_with(self.stack.learned_scale, rows)
    }

    /// The same, with what a learned scale needs or without.
    fn closed_with(&self, scale: bool, rows: &[usize]) -> Result<Closed> {
        let fit = || Closed::fit(self.members, scale, self.data, rows, &self.work);
        self.work.spend(self.plan.closed(rows.len()), fit)
    }

    /// The fit of the other members on these rows; `stream` is that of the fit.
    fn place<'p>(&'p self, rows: &'p [usize], stream: u64) -> Place<'p, 'd> {
        let (settings, seed) = (&self.stonet, self.seed.child(stream));
        Place { settings, members: self.members, data: self.data, rows, seed, work: &self.work }
    }

    /// Predictions of held-out blocks by all members fitted on these rows, in the same order as [`unseen`](Self::unseen):
    /// where rows depend on their neighbours, leaving out single rows in closed form would not do.
    fn held_out(&self, left: &[usize], stream: u64, folds: &[&[usize]]) -> Result<Vec<Predictions>> {
        let mut seen = self.place(left, stream).held_out(folds)?;
        if self.data.order.is_some() {
            let closed = self.closed_with(false, left)?.members;
            let members: Vec<Vec<Member>> = closed.into_iter().map(|(m, _)| vec![m]).collect();
            for (seen, fold) in seen.iter_mut().zip(folds) {
                seen.extend(predictions(&members, self.data, fold)?);
            }
        }
        Ok(seen)
    }

    /// Whether all predictions of rows that a fit has not seen follow from it in closed form.
    fn needs_no_folds(&self) -> bool {
        self.stack.closed_form() && self.data.order.is_none()
    }

    /// Predictions of these rows by every member, none of which has seen the row: by other fits, whose rows come in this
    /// order, and in closed form.
    fn unseen(&self, closed: &Closed, folded: &[&Predictions], rows: &[usize]) -> Vec<Array2<f64>> {
        let member = |m: usize| {
            // Candidates that every fold has.
            let least = folded.iter().map(|p| p[m].ncols()).min().unwrap_or(0);
            let views: Vec<ArrayView2<'_, f64>> = folded.iter().map(|p| p[m].slice(s![.., ..least])).collect();
            ndarray::concatenate(Axis(0), &views).expect("the same candidates in every fold")
        };
        let own = |(_, left_out): &(Member, Array1<f64>)| {
            let at = |&r: &usize| left_out[closed.rows.binary_search(&r).expect("a row of the fit")];
            Array1::from_iter(rows.iter().map(at)).insert_axis(Axis(1))
        };
        let in_closed_form = if self.data.order.is_some() { &[][..] } else { &closed.members };
        let folded = (0..folded.first().map_or(0, |p| p.len())).map(member);
        folded.chain(in_closed_form.iter().map(own)).collect()
    }

    /// The chosen members on the rows of the closed ones. StoNets are trained as far as the choice wants them, and not at
    /// all where their weight is 0.
    fn model(&self, closed: Closed, choice: &Choice, stream: u64) -> Result<FoldModel> {
        let mut places = choice.candidate.iter().zip(&choice.weights).map(|(&c, &w)| (w > 0.0).then_some(c));
        let mut next = |there: bool| there.then(|| places.next()).flatten().flatten();
        let chosen = [next(self.members.stonet), next(self.members.skip)];
        let nets = self.place(&closed.rows, stream).chosen(chosen)?;
        let there = [self.members.stonet, self.members.skip];
        let nets = nets.into_iter().zip(there).filter(|(_, there)| *there).map(|(net, _)| net);
        let members = nets.chain(closed.members.into_iter().map(|(m, _)| Some(m)));
        let members = members.zip(&choice.weights).filter_map(|(m, &w)| Some((w, m.filter(|_| w > 0.0)?))).collect();
        Ok(FoldModel { members, scale: choice.scale.clone(), shape: choice.shape.clone().map(Box::new) })
    }

    fn nested(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let rows: Vec<usize> = folds.concat();
        let k = folds.len();
        let pairs: Vec<(usize, usize)> = match self.needs_no_folds() {
            true => Vec::new(),
            false => (0..k).flat_map(|a| (a + 1..k).map(move |b| (a, b))).collect(),
        };
        // A pair's fits predict both of its folds and are gone.
        let pair = |&(a, b): &(usize, usize)| {
            let both: [&[usize]; 2] = [&folds[a], &folds[b]];
            self.held_out(&self.apart(&rows, &both)?, streams::FITS.at(a * k + b), &both)
        };
        let done: Vec<Vec<Predictions>> = pairs.par_iter().map(pair).collect::<Result<_>>()?;
        // What fits without folds j and `out` say of fold j.
        let seen = |j: usize, out: usize| {
            let at = pairs.iter().position(|&p| p == (j.min(out), j.max(out)))?;
            Some(&done[at][usize::from(j > out)])
        };
        let outer = |out: usize| {
            let inner: Vec<usize> = (0..k).filter(|&j| j != out).collect();
            let folded: Vec<&Predictions> = inner.iter().filter_map(|&j| seen(j, out)).collect();
            let inner_rows: Vec<usize> = inner.iter().flat_map(|&j| folds[j].iter().copied()).collect();
            let closed = self.closed(&self.apart(&rows, &[&folds[out]])?)?;
            let unseen = self.unseen(&closed, &folded, &inner_rows);
            let (unseen, inner_rows) = kept(unseen, inner_rows, &closed.rows);
            let choice = self.choose(&unseen, &inner_rows, closed.spectrum.as_ref(), out)?;
            let model = self.model(closed, &choice, streams::FITS.at(out * k + out))?;
            let scores = self.scores(&model, &folds[out])?;
            Ok((choice.candidate, model, scores))
        };
        let (mut chosen, mut models, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for (candidate, model, score) in (0..k).into_par_iter().map(outer).collect::<Result<Vec<_>>>()? {
            chosen.push(candidate);
            models.push(model);
            scores.push(score);
        }
        let paths = paths::of(self, &folds, |j| (0..k).filter_map(|out| seen(j, out)).collect(), &chosen);
        Ok((stage("ranks", || self.finish(models, scores, &folds))?, paths))
    }

    fn same(&self) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let folds = self.folds(&all_rows(self.data), true)?;
        let rows: Vec<usize> = folds.concat();
        let one = |(k, fold): (usize, &Vec<usize>)| {
            let left = self.apart(&rows, &[fold])?;
            let mut members = self.place(&left, streams::FITS.at(k)).all()?;
            let closed = self.closed_with(false, &left)?;
            members.extend(closed.members.into_iter().map(|(m, _)| vec![m]));
            let predictions = predictions(&members, self.data, fold)?;
            Ok((members, predictions))
        };
        let both: Vec<_> = folds.par_iter().enumerate().map(one).collect::<Result<_>>()?;
        let (fits, predictions): (Vec<Vec<Vec<Member>>>, Vec<Predictions>) = both.into_iter().unzip();
        let views = |m: usize| predictions.iter().map(|p| p[m].view()).collect::<Vec<_>>();
        let member = |m: usize| ndarray::concatenate(Axis(0), &views(m)).expect("the same candidates in every fold");
        let unseen: Vec<Array2<f64>> = (0..predictions[0].len()).map(member).collect();
        let spectrum = match self.stack.learned_scale {
            true => Some(self.work.spend(self.plan.closed(rows.len()), || {
                stage("eigenvalues", || Spectrum::new(self.data.features, &without(&rows, &[]), &self.work))
            })?),
            false => None,
        };
        let choice = self.choose(&unseen, &rows, spectrum.as_ref(), 0)?;
        let model = |members: Vec<Vec<Member>>| {
            let chosen = members.into_iter().zip(&choice.candidate).zip(&choice.weights);
            let members = chosen.filter(|(_, w)| **w > 0.0).map(|((mut m, &c), &w)| (w, m.swap_remove(c))).collect();
            FoldModel { members, scale: choice.scale.clone(), shape: choice.shape.clone().map(Box::new) }
        };
        let models: Vec<FoldModel> = fits.into_iter().map(model).collect();
        // The scale has seen all rows, so each is scored by a scale without it.
        let mut next = choice.scores.iter();
        let of_fold = |fold: &Vec<usize>| fold.iter().zip(next.by_ref()).map(|(&r, &s)| bounded(s, (r, 0))).collect();
        let scores = folds.iter().map(of_fold).collect::<Result<_>>()?;
        let paths = paths::of(self, &folds, |j| vec![&predictions[j]], &[choice.candidate]);
        Ok((stage("ranks", || self.finish(models, scores, &folds))?, paths))
    }

    fn split(&self, share: f64) -> Result<(FittedStack, Vec<TuningCurve>)> {
        let parts = self.shares(share)?;
        let (model, paths) = self.sample(&parts[0])?;
        let scores = self.scores(&model, &parts[1])?;
        Ok((stage("ranks", || self.finish(vec![model], vec![scores], &parts[1..]))?, paths))
    }

    /// A fit of all these rows, with κ, weights and scale from folds of them.
    fn sample(&self, rows: &[usize]) -> Result<(FoldModel, Vec<TuningCurve>)> {
        let folds = self.folds(rows, false)?;
        let all: Vec<usize> = folds.concat();
        let one = |(k, fold): (usize, &Vec<usize>)| {
            let seen = self.held_out(&self.apart(&all, &[fold])?, streams::FITS.at(k), &[fold])?;
            Ok(seen.into_iter().next().unwrap_or_default())
        };
        let folded: Vec<Predictions> = match self.needs_no_folds() {
            true => Vec::new(),
            false => folds.par_iter().enumerate().map(one).collect::<Result<_>>()?,
        };
        // In the order of the rows, as all fits are: batches are drawn by position, and the rows of a share come
        // shuffled.
        let closed = self.closed(&without(rows, &[]))?;
        let unseen = self.unseen(&closed, &folded.iter().collect::<Vec<_>>(), &all);
        let choice = self.choose(&unseen, &all, closed.spectrum.as_ref(), 0)?;
        let model = self.model(closed, &choice, streams::WHOLE)?;
        let paths = paths::of(self, &folds, |j| folded.get(j).into_iter().collect(), &[choice.candidate]);
        Ok((model, paths))
    }

    /// κ per member, weights, scale and shape, from predictions of these rows by fits that had not seen them; `stream`
    /// numbers the choices.
    fn choose(
        &self,
        unseen: &[Array2<f64>],
        rows: &[usize],
        spectrum: Option<&Spectrum>,
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
        let weights = stage("weights", || weights::simplex(chosen.view(), y.view()));
        let mean = chosen.dot(&weights);
        let residual = &y - &mean;
        let Some(spectrum) = spectrum.filter(|_| self.stack.learned_scale) else {
            return Ok(Choice { candidate, weights, scale: ScaleModel::Constant, shape: None, scores: residual });
        };
        let piece = self.work.piece(self.plan.spread(rows.len()));
        let (scale, log_scale) = stage("scale", || self.scale(&mean, &residual, rows, spectrum))?;
        let own = self.data.own.map(|own| own.select(rows));
        let own = own.as_ref().map(|own| own.view());
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
            stage("shape", || Shape::learn(on, self.seed.child(streams::SHAPES.at(stream))))
        });
        piece.advance(self.plan.spread(rows.len()))?;
        let scores = residual * log_scale.mapv(|l| (-l).exp());
        Ok(Choice { candidate, weights, scale, shape: shape.flatten(), scores })
    }

    /// The scale of residuals at these rows, and log s at each of them by a fit without it. The spectrum is that of the
    /// rows in ascending order.
    fn scale(
        &self,
        mean: &Array1<f64>,
        residual: &Array1<f64>,
        rows: &[usize],
        spectrum: &Spectrum,
    ) -> Result<(ScaleModel, Array1<f64>)> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|&i| rows[i]);
        let ascending: Vec<usize> = order.iter().map(|&i| rows[i]).collect();
        let (mean, residual) = (mean.select(Axis(0), &order), residual.select(Axis(0), &order));
        let network = self.data.prediction.map(|d| d.select(Axis(0), &ascending));
        let network = network.as_ref().map(|d| d.view());
        let own = self.data.own.map(|own| own.select(&ascending));
        let own = own.as_ref().map(|own| own.view());
        let features = self.data.features;
        let on = Learned { features, rows: &ascending, prediction: mean.view(), network, own, spectrum };
        let (scale, sorted) = ScaleModel::learn(on, residual.view(), &self.work)?;
        let mut log_scale = Array1::zeros(rows.len());
        order.iter().zip(&sorted).for_each(|(&i, &l)| log_scale[i] = l);
        Ok((scale, log_scale))
    }

    /// (y − μ)/s at rows the model has not seen, with the scale of the side on which y lies.
    fn scores(&self, model: &FoldModel, rows: &[usize]) -> Result<Vec<f64>> {
        let scorer = Scorer::new(lower::models_plan(&[model], self.data.features.ncols()));
        let columns = stage("predictions of held-out rows", || scored(&scorer, self.data, rows))?;
        let score = |(i, &r): (usize, &usize)| signed_score(self.data.y[r], &columns, i, (r, 0));
        rows.iter().enumerate().map(score).collect()
    }
}

pub(super) fn all_rows(data: &Single<'_>) -> Vec<usize> {
    (0..data.y.len()).collect()
}

/// Predictions of those rows alone that are among the `wanted`, which ascend: rows in a gap teach a fold nothing.
fn kept(predictions: Predictions, rows: Vec<usize>, wanted: &[usize]) -> (Predictions, Vec<usize>) {
    if rows.len() == wanted.len() {
        return (predictions, rows);
    }
    let places: Vec<usize> = (0..rows.len()).filter(|&i| wanted.binary_search(&rows[i]).is_ok()).collect();
    let predictions = predictions.iter().map(|p| p.select(Axis(0), &places)).collect();
    (predictions, places.iter().map(|&i| rows[i]).collect())
}

/// `rows` without those held out.
pub(super) fn without(rows: &[usize], held_out: &[&[usize]]) -> Vec<usize> {
    let top = rows.iter().copied().max().map_or(0, |m| m + 1);
    let mut keep = vec![true; top];
    held_out.iter().for_each(|f| f.iter().for_each(|&r| keep[r] = false));
    let mut left: Vec<usize> = rows.iter().copied().filter(|&r| keep[r]).collect();
    left.sort_unstable();
    left
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
        let stonet = StoNetSettings {
            steps: 20,
            kappas: Some(vec![0.01, 0.1, 0.5, 2.0]),
            hidden: vec![3],
            ..StoNetSettings::default()
        };
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
