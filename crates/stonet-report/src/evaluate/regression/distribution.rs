//! Whole distributions judged on rows with known values: CRPS, quantiles, and the probability integral transform (PIT).

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};
use stonet::metrics::{crps_scores, pinball_losses, pit_counts, pit_distance};
use stonet::{FittedRegressor, Level, RegressionInputs, Result};

use crate::evaluate::binomial::{Judgement, Proportion};
use crate::evaluate::sum::Sum;
use crate::evaluate::text::Columns;
use crate::number::{percent, real, shown};

/// Quantiles that are judged.
pub const QUANTILES: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];
/// Bars of the histogram of the PIT.
const BINS: usize = 10;

/// The distributions of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistributionScores {
    /// Mean continuous ranked probability score, in the unit of the target.
    #[serde(with = "real")]
    pub crps: f64,
    /// Quantiles by themselves.
    pub quantiles: Vec<QuantilePoint>,
    /// How many rows have P(y ≤ observed y) in each tenth between 0 and 1: the histogram of the PIT.
    pub pit: Vec<usize>,
    /// The largest distance of the PIT's distribution function from that of a uniform distribution.
    pub pit_distance: f64,
    /// How large chance alone makes it with probability 5 %, where rows are independent.
    pub pit_chance: f64,
}

/// One quantile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantilePoint {
    /// τ.
    pub quantile: f64,
    /// Values at or below it.
    pub below: Proportion,
    /// Mean pinball loss.
    #[serde(with = "real")]
    pub pinball: f64,
}

/// What is counted while rows pass.
pub(super) struct Distributions {
    /// All quantiles that are asked for: those that are judged, and those that stand for the distribution.
    levels: Vec<Level>,
    targets: Vec<Target>,
}

#[derive(Clone, Default)]
struct Target {
    crps: Sum,
    below: [usize; QUANTILES.len()],
    pinball: [Sum; QUANTILES.len()],
    pit: Vec<f64>,
}

impl Distributions {
    /// Without rows yet. Intervals that cover for functions of a row need not nest, so their quantiles are no
    /// distribution, and there is nothing to judge.
    pub fn new(fitted: &FittedRegressor) -> Result<Option<Self>> {
        if fitted.functions() > 0 {
            return Ok(None);
        }
        let mut levels = QUANTILES.iter().map(|&q| Level::new(q)).collect::<Result<Vec<_>>>()?;
        levels.extend(fitted.equally_likely());
        Ok(Some(Distributions { levels, targets: vec![Target::default(); fitted.outputs()] }))
    }

    /// More rows and their values.
    pub fn add(&mut self, fitted: &FittedRegressor, rows: &RegressionInputs<'_>, y: ArrayView2<'_, f64>) -> Result<()> {
        let mut quantiles = fitted.quantiles(rows, &self.levels)?;
        let whole = quantiles.split_off(QUANTILES.len());
        let (crps, pit) = (crps_scores(&whole, y)?, fitted.cdf_at(rows, y)?);
        let losses = quantiles.iter().zip(&self.levels).map(|(q, &tau)| pinball_losses(q.view(), y, tau));
        let losses = losses.collect::<Result<Vec<_>>>()?;
        for (j, target) in self.targets.iter_mut().enumerate() {
            target.pit.extend(pit.column(j));
            crps.column(j).iter().for_each(|&score| target.crps.add(score));
            for (i, (q, losses)) in quantiles.iter().zip(&losses).enumerate() {
                target.below[i] += y.column(j).iter().zip(q.column(j)).filter(|(y, q)| y <= q).count();
                losses.column(j).iter().for_each(|&loss| target.pinball[i].add(loss));
            }
        }
        Ok(())
    }

    /// The figures of every target, where any rows have passed.
    pub fn finish(self) -> Vec<DistributionScores> {
        self.targets.into_iter().map(Target::finish).collect()
    }
}

impl Target {
    fn finish(self) -> DistributionScores {
        let rows = self.pit.len();
        let pit = Array2::from_shape_fn((rows, 1), |(i, _)| self.pit[i]);
        let (pit_distance, pit_chance) = pit_distance(pit.slice(s![.., ..]));
        let point = |(i, quantile): (usize, f64)| QuantilePoint {
            quantile,
            below: Proportion::new(self.below[i] as f64, rows),
            pinball: self.pinball[i].total() / rows as f64,
        };
        DistributionScores {
            crps: self.crps.total() / rows as f64,
            quantiles: QUANTILES.into_iter().enumerate().map(point).collect(),
            pit: pit_counts(pit.view(), BINS),
            pit_distance,
            pit_chance,
        }
    }
}

impl QuantilePoint {
    /// Whether as many values lie below as should, all quantiles taken together.
    pub fn judgement(&self) -> Judgement {
        self.below.judge(self.quantile, QUANTILES.len())
    }

    /// The name in tables: 5 %.
    pub fn name(&self) -> String {
        format!("{} %", (1000.0 * self.quantile).round() / 10.0)
    }
}

impl DistributionScores {
    /// The transform in one sentence.
    pub fn pit_sentence(&self) -> String {
        let explained =
            if self.pit_distance <= self.pit_chance { "which chance explains" } else { "more than by chance" };
        format!(
            "CRPS {}. The PIT is {:.3} from uniform, {explained} (up to {:.3}).",
            shown(self.crps),
            self.pit_distance,
            self.pit_chance
        )
    }

    /// A short table, of the target that is named.
    pub(super) fn text(&self, of: &str) -> String {
        let mut table = Columns::new(&[&format!("quantile{of}"), "values below", "95 % interval", "pinball loss"]);
        for q in &self.quantiles {
            let sign = if q.judgement() == Judgement::Kept { "" } else { " !" };
            table.row(vec![q.name(), percent(q.below.value) + sign, super::words::ends(&q.below), shown(q.pinball)]);
        }
        format!("\n{}{}\n", table.text(), self.pit_sentence())
    }
}
