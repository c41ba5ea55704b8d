//! Estimates of ς²_L, the variance of the network's residuals, by name.

use ndarray::{Array1, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::degrees_of_freedom;
use crate::base::streams::cross_validation as streams;
use crate::base::{Error, Result, Seed};
use crate::network::StoNet;
use crate::rows::{Dataset, complement, folds};
use crate::train::{Trainer, check_sizes};

/// How the variance of the residuals is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Variance {
    /// The mean squared training residual, as `alg:CI` prints it: too small by what the fit has learned of the noise.
    Train,
    /// The squared training residuals over n − df, df from the trace of the Gauss–Newton hat matrix: the noise alone,
    /// if the count were exact.
    Df,
    /// `Df` times 1 + df/n: the noise and what the estimate itself adds to the error on new rows (Akaike's final
    /// prediction error). The default: Σ̂ holds the hidden weights' part at the model's own tiny σ_i², so `Train` and
    /// `Df` under-cover.
    #[default]
    Fpe,
    /// The mean squared residual of rows held out by this many folds.
    Cv {
        /// k.
        folds: usize,
    },
}

impl Variance {
    /// ς²_L,j for every output j of a network trained by `trainer` from `start` on these rows.
    pub fn residual(
        self,
        net: &StoNet,
        trainer: &dyn Trainer,
        start: &StoNet,
        data: &Dataset,
        seed: Seed,
    ) -> Result<Vec<f64>> {
        check_sizes(net, data)?;
        let n = data.rows() as f64;
        match self {
            Variance::Train => training_variance(net, data),
            Variance::Df | Variance::Fpe => {
                let (penalty, kappa) = trainer.penalty(net.layers().len());
                let df = degrees_of_freedom(net, data, penalty, &kappa)?;
                let squares = squared_residuals(net, data)?;
                let divide = |(output, (&square, df)): (usize, (&f64, f64))| {
                    let own_error = if self == Variance::Fpe { 1.0 + df / n } else { 1.0 };
                    if n - df < 1.0 {
                        Err(Error::NoDegreesOfFreedom { output, df, rows: data.rows() })
                    } else {
                        Ok(own_error * square / (n - df))
                    }
                };
                squares.iter().zip(df).enumerate().map(divide).collect()
            }
            Variance::Cv { folds } => cross_validated(trainer, start, data, folds, seed),
        }
    }
}

/// The mean of (y − μ)² per output.
pub(crate) fn training_variance(net: &StoNet, data: &Dataset) -> Result<Vec<f64>> {
    Ok((squared_residuals(net, data)? / data.rows() as f64).to_vec())
}

/// Σ (y − μ)² per output.
fn squared_residuals(net: &StoNet, data: &Dataset) -> Result<Array1<f64>> {
    let residual = &data.y() - &net.predict(data.x())?;
    Ok(residual.mapv(|r| r * r).sum_axis(Axis(0)))
}

fn cross_validated(trainer: &dyn Trainer, start: &StoNet, data: &Dataset, k: usize, seed: Seed) -> Result<Vec<f64>> {
    let parts = folds(data.rows(), k, seed.child(streams::FOLDS))?;
    let sums: Vec<Array1<f64>> = parts
        .par_iter()
        .enumerate()
        .map(|(f, held_out)| {
            let train = data.select(&complement(data.rows(), held_out));
            let fit = trainer.fit(start, &train, seed.child(streams::FITS.at(f)), &mut ())?;
            squared_residuals(fit.network(), &data.select(held_out))
        })
        .collect::<Result<_>>()?;
    let total = sums.iter().fold(Array1::zeros(data.outputs()), |a: Array1<f64>, s| a + s);
    Ok((total / data.rows() as f64).to_vec())
}
