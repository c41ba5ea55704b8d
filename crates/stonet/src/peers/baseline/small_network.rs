//! The small perceptron that baselines train on features, on standard scale and back.

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result, Seed, Ticker};
use crate::peers::mlp::{Loss, Mlp, Training};
use crate::rows::{Dataset, Scaling, Standardizer};
use crate::sparse::ridge::Clip;
use crate::train::{Progress, Stop};

/// A tanh network trained by Adam for a number of steps, whatever the number of rows.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `hidden` | \[20\] | units of each hidden layer | ≥ 1, at least one layer |
/// | `steps` | 2500 | Adam steps, rounded up to whole epochs | ≥ 1 |
/// | `batch_size` | 50 | rows per step, cut to n | ≥ 1 |
/// | `rate` | 1e-3 | learning rate | > 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmallNetwork {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// Adam steps.
    pub steps: usize,
    /// Rows per step.
    pub batch_size: usize,
    /// Learning rate.
    pub rate: f64,
}

impl Default for SmallNetwork {
    fn default() -> Self {
        SmallNetwork { hidden: vec![20], steps: 2500, batch_size: 50, rate: 1e-3 }
    }
}

impl SmallNetwork {
    /// Trains under the loss, without early stopping; a constant target is an error.
    pub(super) fn fit(
        &self,
        loss: Loss,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<ScaledNetwork> {
        Error::check(self.steps >= 1, "steps", self.steps, "at least 1")?;
        Error::check(self.batch_size >= 1, "batch_size", self.batch_size, "at least 1")?;
        let (features, z) = super::standardise(x)?;
        let data = Dataset::new(z, y.to_owned().insert_axis(Axis(1)))?;
        let target = Scaling::fit(&data)?.y;
        let data = Dataset::new(data.x().to_owned(), target.apply(data.y())?)?;
        let training = Training {
            hidden: self.hidden.clone(),
            loss,
            epochs: self.steps.div_ceil(y.len().div_ceil(self.batch_size)),
            batch_size: self.batch_size,
            rate: self.rate,
            ..Training::default()
        };
        let mut follow = |p: &Progress<'_>| match tick(p.epoch, p.epochs) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(Stop::Cancel),
        };
        Ok(ScaledNetwork { features, target, net: training.fit(&data, seed, &mut follow)?.network })
    }
}

/// A network with the scales of its features and of its target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ScaledNetwork {
    features: Clip,
    target: Standardizer,
    net: Mlp,
}

impl ScaledNetwork {
    /// The outputs in the target's units, one row per row of `x`.
    pub(super) fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.net.predict(self.features.apply(x)?.view())?;
        Ok(outputs * self.target.sd()[0] + self.target.mean()[0])
    }
}
