//! A small plain network refitted on half of the calibration rows, split conformal on the other half.

use ndarray::{Array1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::halves::{Judge, halves};
use super::small_network::{ScaledNetwork, SmallNetwork};
use super::{FittedBaseline, constant, single};
use crate::base::streams::baseline as streams;
use crate::base::{Result, Seed, Ticker};
use crate::peers::mlp::Loss;
use crate::rows::{Intervals, Level, RegressionInputs, RegressionRows};

/// Without it the gain of a post-StoNet could not be told from that of any refit on calibration rows.
///
/// The network's own predictions are not used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkRefit {
    /// The network, trained by squared error.
    pub network: SmallNetwork,
}

/// The refitted network and the residuals of the rows that judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedRefit {
    network: ScaledNetwork,
    judge: Judge,
}

impl NetworkRefit {
    /// Trains on a random half of the rows. `tick` follows the epochs of the network and cancels the fit by returning
    /// false.
    pub fn fit(&self, rows: &RegressionRows<'_>, seed: Seed, tick: Ticker<'_>) -> Result<FittedRefit> {
        let (fit, judge) = halves(&single(rows)?, seed.child(streams::HALVES))?;
        let network =
            self.network.fit(Loss::Squared, fit.features.view(), fit.y.view(), seed.child(streams::FIT), tick)?;
        let scores = (&judge.y - &means(&network, judge.features.view())?).mapv(f64::abs);
        Ok(FittedRefit { network, judge: judge.judge(scores)? })
    }
}

impl FittedBaseline for FittedRefit {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        Ok(constant(means(&self.network, rows.features)?, self.judge.quantile(level), level))
    }
}

fn means(network: &ScaledNetwork, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
    Ok(network.predict(x)?.index_axis_move(Axis(1), 0))
}
