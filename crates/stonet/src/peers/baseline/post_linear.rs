//! The paper's post-linear baseline: a Lasso on the features of half of the rows, split conformal on the other half.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::halves::{Half, Judge, halves};
use super::{FittedBaseline, constant, single};
use crate::base::Work;
use crate::base::streams::baseline as streams;
use crate::base::{Error, Result, Seed, Ticker};
use crate::rows::dataset::{names, whole_folds};
use crate::rows::{Dataset, Intervals, Level, RegressionInputs, RegressionRows, Scaling, Standardizer, complement};
use crate::sparse::ridge::Clip;
use crate::sparse::{LinearFit, SparseLinear};

/// A Lasso with λ by cross-validation; features and target are standardised on the rows that fit.
///
/// The network's own predictions are not used.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `lambdas` | 50 | points of the path, evenly spaced in log λ | ≥ 2 |
/// | `smallest` | 1e-3 | end of the path, as a part of λ_max | (0, 1) |
/// | `folds` | 5 | of the cross-validation; fewer where there are fewer rows | ≥ 2 |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostLinear {
    /// Points of the path.
    pub lambdas: usize,
    /// End of the path, as a part of λ_max.
    pub smallest: f64,
    /// Folds of the cross-validation.
    pub folds: usize,
}

impl Default for PostLinear {
    fn default() -> Self {
        PostLinear { lambdas: 50, smallest: 1e-3, folds: 5 }
    }
}

/// The Lasso, its path, and the residuals of the rows that judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedPostLinear {
    features: Clip,
    target: Standardizer,
    lasso: LinearFit,
    path: Vec<f64>,
    judge: Judge,
}

impl PostLinear {
    /// Chooses λ and fits on a random half of the rows. `tick` follows the fits and cancels them by returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedPostLinear> {
        self.validate()?;
        let work = Work::new(self.folds + 1, "fits", tick);
        let (fit, judge) = halves(&single(rows)?, seed.child(streams::HALVES))?;
        let (features, z) = super::standardise(fit.features.view())?;
        let data = Dataset::single(z, fit.y.clone())?;
        let target = Scaling::fit(&data)?.y;
        let t = target.apply(data.y())?;
        let largest = SparseLinear::default().lambda_max(data.x(), t.view())?;
        let step = self.smallest.ln() / (self.lambdas - 1) as f64;
        let path: Vec<f64> = (0..self.lambdas).map(|i| largest * (step * i as f64).exp()).collect();
        let best = self.choose(&fit, data.x(), t.view(), &path, seed.child(streams::FIT), &work)?;
        // From the top of the path down: each solution starts the next.
        let check = || Ok(work.check()?);
        let lasso = SparseLinear::default().watched_path(data.x(), t.view(), &path[..=best], &check)?.remove(best);
        work.advance()?;
        let mut fitted = FittedPostLinear { features, target, lasso, path, judge: Judge::new(vec![], None) };
        let scores = (&judge.y - &fitted.means(judge.features.view())?).mapv(f64::abs);
        fitted.judge = judge.judge(scores)?;
        Ok(fitted)
    }

    /// The place on the path with the smallest squared error on held-out rows; the larger λ wins a tie.
    fn choose(
        &self,
        half: &Half,
        x: ArrayView2<'_, f64>,
        t: ArrayView2<'_, f64>,
        path: &[f64],
        seed: Seed,
        work: &Work<'_>,
    ) -> Result<usize> {
        let units = half.groups.as_deref().map_or(x.nrows(), |g| names(g).len());
        let parts = whole_folds(x.nrows(), half.groups.as_deref(), self.folds.min(units), seed)?;
        let errors = |held_out: &Vec<usize>| -> Result<Vec<f64>> {
            let train = complement(x.nrows(), held_out);
            let rows = |a: ArrayView2<'_, f64>, which: &[usize]| a.select(Axis(0), which);
            let (inputs, targets, check) = (rows(x, &train), rows(t, &train), || Ok(work.check()?));
            let fits = SparseLinear::default().watched_path(inputs.view(), targets.view(), path, &check)?;
            work.advance()?;
            let (x, t) = (rows(x, held_out), rows(t, held_out));
            fits.iter().map(|fit| Ok((fit.predict(x.view())? - &t).mapv(|d| d * d).sum())).collect()
        };
        let per_fold = parts.par_iter().map(errors).collect::<Result<Vec<_>>>()?;
        let total = |i: usize| per_fold.iter().map(|e| e[i]).sum::<f64>();
        Ok((0..path.len()).min_by(|&a, &b| total(a).total_cmp(&total(b))).unwrap_or(0))
    }

    fn validate(&self) -> Result<()> {
        Error::check(self.lambdas >= 2, "lambdas", self.lambdas, "at least 2")?;
        Error::check(self.smallest > 0.0 && self.smallest < 1.0, "smallest", self.smallest, "between 0 and 1")?;
        Error::check(self.folds >= 2, "folds", self.folds, "at least 2")
    }
}

impl FittedPostLinear {
    /// The Lasso at the chosen λ, of the standardised target on standardised features.
    pub fn lasso(&self) -> &LinearFit {
        &self.lasso
    }

    /// The λ it was chosen from, descending.
    pub fn path(&self) -> &[f64] {
        &self.path
    }

    fn means(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let t: Array2<f64> = self.lasso.predict(self.features.apply(x)?.view())?;
        Ok(self.target.undo(t.view()).index_axis_move(Axis(1), 0))
    }
}

impl FittedBaseline for FittedPostLinear {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        Ok(constant(self.means(rows.features)?, self.judge.quantile(level), level))
    }
}
