//! The intervals of Eve's law behind `paper` and `cv`: one StoNet for all outputs, its κ chosen by k folds.

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Kind, Model, PostStoNetRegressor, StoNetSettings};
use crate::base::streams::{eve as streams, stonet};
use crate::base::{Cost, Result, Seed, Ticker, Work, stage};
use crate::eve::{Estimate, EveIntervals, training_variance};
use crate::metrics::{coverage, mean_sd};
use crate::rows::dataset::whole_folds;
use crate::rows::{Dataset, PredictInterval, RegressionRows, Scaling, complement};
use crate::sparse::Refit;
use crate::train::imputation::Packed;
use crate::train::{Fit, LossCurve, TuningCurve};

/// The λ of the paper's grid, each used as κ of layer 1 (D6).
pub(super) const PAPER_GRID: [f64; 11] = [5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.1];

/// Nanoseconds of Eve's law per row, input and hidden unit.
const LAW: f64 = 10.0;

/// How κ is chosen from its path over k folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Select {
    /// The smallest out-of-fold error.
    Error,
    /// The largest κ whose error is within one standard error of the smallest.
    OneStandardError,
    /// The κ whose out-of-fold coverage is nearest the level (the paper's rule; it can choose over-shrunk networks).
    Coverage,
}

/// A fold's path, judged on the rows it held out.
struct Judged {
    /// Per κ and output: mean squared error.
    mse: Array2<f64>,
    /// Per κ: coverage of Eve's intervals with the training variance; empty unless asked for.
    coverage: Vec<f64>,
    rows: usize,
}

impl PostStoNetRegressor {
    pub(super) fn eve(
        &self,
        rows: &RegressionRows<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(Model, Vec<TuningCurve>)> {
        let settings = &self.stonet;
        let kappas = settings.kappas();
        let select = self.select_rule();
        let data = Dataset::new(rows.features().to_owned(), rows.y().to_owned())?;
        let parts = whole_folds(data.rows(), rows.groups(), self.folds, seed.child(streams::FOLDS))?;
        let work = Work::of_cost(self.eve_cost(data.rows(), data.inputs(), data.outputs()), tick);
        let judged: Vec<Judged> = parts
            .par_iter()
            .enumerate()
            .map(|(k, held_out)| {
                self.fold(settings, &data, held_out, select, seed.child(streams::FOLD_FITS.at(k)), &work)
            })
            .collect::<Result<_>>()?;
        let path = self.kappa_path(kappas, &judged, select);
        let best = path.chosen[0];
        // Up to the chosen κ and no further.
        let to_best = StoNetSettings { kappas: Some(kappas[..=best].to_vec()), ..settings.clone() };
        let whole = |s: &StoNetSettings| s.cost(data.inputs(), data.outputs(), data.rows());
        work.spare(Cost::of(whole(settings).get() - whole(&to_best).get()));
        let (scaling, scaled, fits) = walk(&to_best, &data, seed.child(streams::WHOLE), &work)?;
        let net = fits[fits.len() - 1].network();
        let variance = match self.kind {
            Kind::Paper => training_variance(net, &scaled)?,
            _ => (out_of_fold(&judged, best) / scaling.y.sd().mapv(|s| s * s)).to_vec(),
        };
        let estimate = stage("Eve's law", || Estimate::new(net, &scaled, Refit::Mls, variance))?;
        work.finish()?;
        let intervals = EveIntervals::new(scaling, vec![estimate])?;
        Ok((Model::Eve { intervals, kappa: kappas[best] }, vec![path]))
    }

    fn fold(
        &self,
        settings: &StoNetSettings,
        data: &Dataset,
        held_out: &[usize],
        select: Select,
        seed: Seed,
        work: &Work<'_>,
    ) -> Result<Judged> {
        let (train, test) = (data.select(&complement(data.rows(), held_out)), data.select(held_out));
        let (scaling, scaled, fits) = walk(settings, &train, seed, work)?;
        let mut judged =
            Judged { mse: Array2::zeros((fits.len(), data.outputs())), coverage: Vec::new(), rows: test.rows() };
        let x = scaling.x.apply(test.x())?;
        for (i, fit) in fits.iter().enumerate() {
            let mean = scaling.y.undo(fit.network().predict(x.view())?.view());
            let squares = (&test.y() - &mean).mapv(|e| e * e).sum_axis(Axis(0)) / test.rows() as f64;
            judged.mse.row_mut(i).assign(&squares);
            if select == Select::Coverage {
                let covered = || {
                    let variance = training_variance(fit.network(), &scaled)?;
                    let estimate = Estimate::new(fit.network(), &scaled, Refit::Mls, variance)?;
                    let intervals = EveIntervals::new(scaling.clone(), vec![estimate])?.intervals(test.x(), self.level);
                    coverage(&intervals.map_err(|e| e.of_rows(held_out))?, test.y())
                };
                let cost = self.law_cost(scaled.rows(), data.inputs());
                judged.coverage.push(work.spend(cost, || stage("Eve's law", covered))?);
            }
        }
        Ok(judged)
    }
}

impl PostStoNetRegressor {
    fn select_rule(&self) -> Select {
        self.select.unwrap_or(if self.kind == Kind::Paper { Select::Coverage } else { Select::Error })
    }

    /// What a fit on so many rows costs.
    pub(super) fn eve_cost(&self, rows: usize, inputs: usize, outputs: usize) -> Cost {
        let outside = rows - rows / self.folds.max(1);
        let path = |rows: usize| self.stonet.cost(inputs, outputs, rows);
        let laws = if self.select_rule() == Select::Coverage { self.stonet.kappas().len() } else { 0 };
        (path(outside) + self.law_cost(outside, inputs) * laws) * self.folds + path(rows)
    }

    /// What Eve's law of one network costs, on so many rows.
    fn law_cost(&self, rows: usize, inputs: usize) -> Cost {
        let units: usize = self.stonet.hidden.iter().sum();
        Cost::of(LAW * rows as f64 * (inputs * units) as f64)
    }

    /// The errors along the path, the coverage where that decides, and the index that is chosen.
    fn kappa_path(&self, kappas: &[f64], judged: &[Judged], select: Select) -> TuningCurve {
        let outputs = judged[0].mse.ncols();
        // Several outputs count in units of their own smallest error, so that none outweighs the others by its scale.
        let smallest = |o: usize| {
            let errors = (0..kappas.len()).map(|i| out_of_fold(judged, i)[o]);
            errors.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE)
        };
        let scale: Array1<f64> = if outputs == 1 { Array1::ones(1) } else { (0..outputs).map(smallest).collect() };
        let at = |i: usize| mean_sd(&judged.iter().map(|j| (&j.mse.row(i) / &scale).sum()).collect::<Vec<_>>());
        let (loss, sd): (Vec<f64>, Vec<f64>) = (0..kappas.len()).map(at).unzip();
        let se = sd.into_iter().map(|s| s / (judged.len() as f64).sqrt()).collect();
        let error = LossCurve { kappas: kappas.to_vec(), loss, se };
        let mean_coverage = |i: usize| judged.iter().map(|j| j.coverage[i]).sum::<f64>() / judged.len() as f64;
        let coverage: Option<Vec<f64>> =
            (select == Select::Coverage).then(|| (0..kappas.len()).map(mean_coverage).collect());
        let chosen = match (&coverage, select) {
            (Some(coverage), _) => {
                let distance = |i: usize| (coverage[i] - self.level.get()).abs();
                (0..kappas.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
            }
            (None, Select::OneStandardError) => error.one_standard_error(),
            (None, _) => error.best(),
        };
        let loss_name = match outputs {
            1 => "mean squared error",
            _ => "sum over targets of the mean squared error, each in units of its smallest",
        };
        TuningCurve {
            label: self.kind.name().into(),
            output: None,
            setting: "kappa".into(),
            values: error.kappas,
            loss: error.loss,
            se: error.se,
            chosen: vec![chosen],
            without: None,
            loss_name: loss_name.into(),
            coverage,
        }
    }
}

/// Standardises and walks the path.
fn walk(
    settings: &StoNetSettings,
    data: &Dataset,
    seed: Seed,
    work: &Work<'_>,
) -> Result<(Scaling, Dataset, Vec<Fit>)> {
    let scaling = Scaling::fit(data)?;
    let scaled = scaling.apply(data)?;
    let start = settings.start(data.inputs(), data.outputs(), seed.child(stonet::START))?;
    let piece = work.piece(settings.cost(data.inputs(), data.outputs(), data.rows()));
    let fits = settings.path(&start, &Packed::new(&scaled), seed.child(stonet::PATH), &piece, &mut |_| Ok(true))?;
    Ok((scaling, scaled, fits))
}

/// The out-of-fold mean squared error per output at a κ.
fn out_of_fold(judged: &[Judged], kappa: usize) -> Array1<f64> {
    let rows: usize = judged.iter().map(|j| j.rows).sum();
    let outputs = judged[0].mse.ncols();
    judged
        .iter()
        .fold(Array1::zeros(outputs), |a: Array1<f64>, j| a + &j.mse.row(kappa) * (j.rows as f64 / rows as f64))
}
