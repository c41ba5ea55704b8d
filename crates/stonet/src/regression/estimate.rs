//! Time and memory of a regression fit before it starts.

use ndarray::{Array2, ArrayView2, Axis};

use super::{Kind, PostStoNetRegressor};
use crate::base::{FitEstimate, Result, Seed, Ticker, estimate};
use crate::rows::RegressionRows;

/// Rows of the first sample, per fold, and in all.
const LEAST: (usize, usize) = (40, 300);
/// Bytes of a number.
const NUMBER: f64 = 8.0;
/// Bytes of a process with its threads before there are rows.
const PROCESS: f64 = 1e7;
/// Columns that a ridge regression and the scale hold beside the features.
const BESIDE: f64 = 140.0;
/// Square matrices of the lesser of rows and features that an eigenbasis holds.
const SQUARES: f64 = 4.0;

impl PostStoNetRegressor {
    /// What a fit on these rows takes on this machine. Fits samples of them for about a second.
    pub fn estimate(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FitEstimate> {
        self.check(rows)?;
        let least = (LEAST.0 * self.folds).max(LEAST.1);
        let fit = |chosen: &[usize]| self.fit_some(rows, chosen, seed, tick);
        let cost = |number: usize| Ok(self.cost(rows, number));
        let (seconds, sample_rows, sample_seconds) = estimate::seconds(rows.rows(), least, seed, cost, fit)?;
        let columns = rows.features().ncols() + if rows.prediction().is_some() { rows.y().ncols() } else { 0 };
        let memory = self.memory(rows.rows(), rows.features().ncols(), rows.y().ncols());
        Ok(FitEstimate { rows: rows.rows(), columns, seconds, memory, sample_rows, sample_seconds })
    }

    /// Fits some of the rows. What intervals are to cover within or for costs nothing by itself and is left out.
    fn fit_some(&self, rows: &RegressionRows<'_>, chosen: &[usize], seed: Seed, tick: Ticker<'_>) -> Result<()> {
        let select = |table: ArrayView2<'_, f64>| -> Array2<f64> { table.select(Axis(0), chosen) };
        let (features, y, prediction) = (select(rows.features()), select(rows.y()), rows.prediction().map(select));
        let groups: Option<Vec<usize>> = rows.groups().map(|g| chosen.iter().map(|&r| g[r]).collect());
        let own: Vec<Array2<f64>> = rows.own_tables().into_iter().map(select).collect();
        let order = rows.order().map(|order| order.select(chosen));
        let mut some = RegressionRows::new(features.view(), y.view())?;
        if let Some(order) = &order {
            some = some.with_order(order)?;
        }
        if let Some(prediction) = &prediction {
            some = some.with_prediction(prediction.view())?;
        }
        if let Some(groups) = &groups {
            some = some.with_groups(groups)?;
        }
        some = match &own[..] {
            [lower, upper] => some.with_quantiles(lower.view(), upper.view())?,
            [sd] => some.with_sd(sd.view())?,
            _ => some,
        };
        self.fit(&some, seed, tick).map(drop)
    }

    /// Bytes at the peak of a process that fits: the rows, and what the fits that run at once hold.
    fn memory(&self, rows: usize, features: usize, outputs: usize) -> f64 {
        let (n, p) = (rows as f64, features as f64);
        let threads = (rayon::current_num_threads() as f64).min(self.folds as f64);
        // Rows of a StoNet are in single precision.
        let nets = if self.kind == Kind::Fast { 0.0 } else { 0.5 * n * p };
        let ridge = match self.kind {
            // Rows and their standardised copies.
            Kind::Paper | Kind::Cv => 2.0 * n * p,
            _ => n * (p + BESIDE) + SQUARES * n.min(p) * n.min(p),
        };
        PROCESS + NUMBER * (n * (p + 2.0 * outputs as f64) + threads * (nets + ridge))
    }
}
