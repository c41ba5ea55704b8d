//! Split conformal on the network's own residuals: d ± the ⌈(1−α)(n+1)⌉-th smallest |y − d|.

use serde::{Deserialize, Serialize};

use super::halves::Judge;
use super::{FittedBaseline, constant, prediction, single};
use crate::base::Work;
use crate::base::{Error, Result, Seed, Ticker};
use crate::rows::{Intervals, Level, RegressionInputs, RegressionRows};

const NAME: &str = "split conformal";

/// Intervals of one length around the network's predictions (Papadopoulos et al. 2002); features are not used.
///
/// All rows judge, and nothing is random. Needs the network's predictions, of calibration rows and of new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitConformal;

/// Sorted residuals of the calibration rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedSplitConformal {
    judge: Judge,
}

impl SplitConformal {
    /// Keeps |y − d|. The seed is there for the likeness of all baselines; `tick` cancels the fit by returning false.
    pub fn fit(&self, rows: &RegressionRows<'_>, _seed: Seed, tick: Ticker<'_>) -> Result<FittedSplitConformal> {
        let work = Work::new(1, "fits", tick);
        let rows = single(rows)?;
        let d = rows.prediction.ok_or(Error::NoPrediction { what: NAME })?;
        let scores = (&rows.y - &d).mapv(f64::abs);
        work.advance()?;
        Ok(FittedSplitConformal { judge: Judge::new(scores.to_vec(), rows.groups) })
    }
}

impl FittedBaseline for FittedSplitConformal {
    fn is_bounded(&self, level: Level) -> bool {
        self.judge.quantile(level).is_finite()
    }

    fn of_tiles(&self, rows: &RegressionInputs<'_>, level: Level) -> Result<Intervals> {
        Ok(constant(prediction(rows, NAME)?.to_owned(), self.judge.quantile(level), level))
    }
}
