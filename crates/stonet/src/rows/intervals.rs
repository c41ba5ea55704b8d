//! Levels, intervals, and what can predict them.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::dataset::check_results;
use crate::base::{Error, Result};

/// A coverage level 1 − α strictly between 0 and 1.
///
/// ```
/// use stonet::Level;
/// assert!((Level::new(0.95)?.z() - 1.959964).abs() < 1e-6);
/// assert!(Level::new(95.0).is_err());
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// Checks the range.
    pub fn new(level: f64) -> Result<Self> {
        if level > 0.0 && level < 1.0 {
            Ok(Level(level))
        } else {
            Err(Error::setting("level", level, "strictly between 0 and 1, such as 0.95"))
        }
    }

    /// 1 − α.
    pub fn get(self) -> f64 {
        self.0
    }

    /// In percent, as in the names of columns: `90` for 0.9 and `99.5` for 0.995.
    pub fn percent(self) -> String {
        // 100 · 0.57 is not quite 57.
        format!("{}", (self.0 * 1e12).round() / 1e10)
    }

    /// Φ⁻¹(1 − α/2).
    pub fn z(self) -> f64 {
        crate::base::normal::upper_quantile(0.5 * (1.0 - self.0))
    }
}

impl TryFrom<f64> for Level {
    type Error = Error;
    fn try_from(level: f64) -> Result<Self> {
        Level::new(level)
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        level.0
    }
}

/// Which ends an interval has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Both.
    #[default]
    Both,
    /// A lower bound; the upper end is +∞.
    Lower,
    /// An upper bound; the lower end is −∞.
    Upper,
}

/// Prediction intervals: one row per row of inputs, one column per output.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// The point prediction.
    pub prediction: Array2<f64>,
    /// Lower ends.
    pub lower: Array2<f64>,
    /// Upper ends.
    pub upper: Array2<f64>,
    /// The nominal coverage.
    pub level: Level,
}

impl Intervals {
    /// Fails with the first number that is not finite and was not meant to be infinite: an end that the side has not,
    /// or both ends where there are too few rows for a bound at the level.
    pub(crate) fn check(&self, bounded: bool, side: Side) -> Result<()> {
        check_results("the prediction", self.prediction.view())?;
        if bounded && side != Side::Upper {
            check_results("the lower end", self.lower.view())?;
        }
        if bounded && side != Side::Lower {
            check_results("the upper end", self.upper.view())?;
        }
        Ok(())
    }
}

/// Anything that gives prediction intervals for rows of inputs.
pub trait PredictInterval {
    /// Intervals at the level, one per row and output.
    fn intervals(&self, x: ArrayView2<'_, f64>, level: Level) -> Result<Intervals>;
}
