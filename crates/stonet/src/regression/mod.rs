//! Post-StoNet regression (`alg:post-stonet`): features of a trained network and held-out rows in, prediction intervals
//! out.
//!
//! **Rows that the network was trained on void every guarantee.** Its errors on them are too small, and so are the
//! intervals.

mod adapt;
mod estimate;
mod eve;
mod eve_plan;
mod fit;
mod folds;
mod guarantee;
mod method;
mod predict;
mod sample;
pub(crate) mod stack;
mod variance;
mod within;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use adapt::KeptRows;
pub use adapt::{Adapt, Adapted};
pub use eve::Select;
pub(crate) use folds::{Counted, FoldScorer};
pub use guarantee::{Guarantee, seen_in_training};
pub use method::Kind;
pub use sample::UncalibratedRegressor;
pub use stack::{Members, Scheme, Stack, StoNetSettings};
pub use variance::{VariancePart, VarianceSource};

use crate::base::{Error, Result};
use crate::eve::EveIntervals;
use crate::rows::{Level, OwnKind, Within};
use crate::score::{Asked, Kept};
use crate::train::TuningCurve;
use stack::FittedStack;

/// Post-StoNet regression and its settings; the value is its own configuration.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `kind` | stack | which intervals | |
/// | `folds` | 5 | K of every cross-fitting | ≥ 2, nested ≥ 3 |
/// | `learned_scale` | true | intervals of varying width (`cv+`, `stack`, `fast`, `split`) | true with the network's own uncertainty |
/// | `symmetric` | false | ends equally far from the prediction (same kinds; always so where `nested` is false) | |
/// | `nested` | true | choose κ, weights and scale inside the fold, as the bound asks (`cv+`, `stack`, `fast`) | |
/// | `split_share` | 0.7 | share of the rows that `split` fits on | (0, 1) |
/// | `select` | by kind | rule for κ of `paper` and `cv` | |
/// | `level` | 0.9 | level at which the coverage rule judges κ | (0, 1) |
/// | `y_low`, `y_high` | none | known bounds of the target, which cut predictions and ends | `y_low` < `y_high` |
/// | `stonet` | 20 units, 4 κ (`paper`: the paper's 11) | the StoNet and its training | |
///
/// ```
/// use ndarray::Array2;
/// use stonet::{RegressionRows, Kind, Level, RegressionInputs, PostStoNetRegressor, Seed, Side};
/// // Features of 200 rows that the network has not seen, their responses, and the network's own predictions.
/// let features = Array2::from_shape_fn((200, 3), |(i, j)| ((i * (j + 1)) as f64 * 0.7).sin());
/// let y = features.map_axis(ndarray::Axis(1), |f| f[0] + (f[1] * 9.0).sin() * 0.3).insert_axis(ndarray::Axis(1));
/// let rows = RegressionRows::new(features.view(), y.view())?;
/// let fitted = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let new = RegressionInputs::new(features.view())?;
/// let intervals = fitted.intervals(&new, Level::new(0.9)?, Side::Both)?;
/// assert!(intervals.lower.iter().zip(&intervals.upper).all(|(l, u)| l < u));
/// println!("{}", fitted.guarantee(Level::new(0.9)?));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostStoNetRegressor {
    /// Which intervals.
    pub kind: Kind,
    /// The number of folds, K.
    pub folds: usize,
    /// Whether the width varies with the row.
    pub learned_scale: bool,
    /// Whether both ends are equally far from the prediction. Otherwise they differ where residuals are skewed.
    pub symmetric: bool,
    /// Whether everything is chosen inside the fold.
    pub nested: bool,
    /// Share of the rows that `split` fits on.
    pub split_share: f64,
    /// Rule for κ of `paper` and `cv`; by default the paper's for `paper` and the smallest error for `cv`.
    pub select: Option<Select>,
    /// Level of the coverage rule.
    pub level: Level,
    /// The least value that the target can have, where one is known: predictions and ends below it are raised to it.
    pub y_low: Option<f64>,
    /// The greatest value that the target can have, where one is known.
    pub y_high: Option<f64>,
    /// The StoNet and its training. Where its κ are not set, `paper` uses the paper's grid.
    pub stonet: StoNetSettings,
}

impl Default for PostStoNetRegressor {
    fn default() -> Self {
        PostStoNetRegressor {
            kind: Kind::Stack,
            folds: 5,
            learned_scale: true,
            symmetric: false,
            nested: true,
            split_share: 0.7,
            select: None,
            level: Level::new(0.9).expect("0.9 is a level"),
            y_low: None,
            y_high: None,
            stonet: StoNetSettings::default(),
        }
    }
}

/// Fitted intervals: all that prediction needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct FittedRegressor {
    settings: PostStoNetRegressor,
    features: usize,
    groups: bool,
    within: Option<Within>,
    /// What the network said about its own uncertainty.
    own: Option<OwnKind>,
    model: Model,
    /// The weights of rows, where they come from elsewhere than the calibration rows.
    adapted: Option<Adapted>,
    /// The calibration rows, where they were to be kept.
    kept: Option<Arc<KeptRows>>,
    kappa_paths: Vec<TuningCurve>,
    scorers: Kept<Asked>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Model {
    /// One per output.
    Stacks(Vec<FittedStack>),
    Eve {
        intervals: EveIntervals,
        kappa: f64,
    },
}

/// What is written to files; reading it back checks that its parts belong together.
#[derive(Serialize, Deserialize)]
struct Parts {
    settings: PostStoNetRegressor,
    features: usize,
    groups: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<Within>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<OwnKind>,
    model: Model,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adapted: Option<Adapted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<KeptRows>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kappa_paths: Vec<TuningCurve>,
}

impl TryFrom<Parts> for FittedRegressor {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        match &p.model {
            Model::Stacks(stacks) if stacks.is_empty() => {
                return Err(Error::Inconsistent { what: "fitted intervals have no outputs" });
            }
            Model::Stacks(stacks) => {
                let groups = p.within.as_ref().map_or(0, Within::len);
                stacks.iter().try_for_each(|s| s.check(p.features, groups, p.own))?;
                if stacks.iter().any(|s| s.functions() != stacks[0].functions()) {
                    return Err(Error::Inconsistent { what: "targets have different numbers of functions" });
                }
            }
            Model::Eve { .. } if p.within.is_some() => {
                return Err(Error::Inconsistent { what: "intervals by Eve's law have no ranks within groups" });
            }
            Model::Eve { intervals, .. } => {
                if intervals.scaling().x.columns() != p.features {
                    return Err(Error::Inconsistent { what: "fitted intervals have another number of features" });
                }
            }
        }
        p.kappa_paths.iter().try_for_each(TuningCurve::check)?;
        check_adapted(&p)?;
        let Parts { mut settings, features, groups, within, own, model, adapted, rows, kappa_paths } = p;
        if settings.kind == Kind::Paper && settings.stonet.kappas() == StoNetSettings::default().kappas() {
            // Earlier versions kept the default list here and used the paper's; the path has what was used.
            let used = kappa_paths.first().map_or(&eve::PAPER_GRID[..], |p| &p.values);
            settings.stonet.kappas = Some(used.to_vec());
        }
        let (kept, scorers) = (rows.map(Arc::new), Kept::default());
        Ok(FittedRegressor { settings, features, groups, within, own, model, adapted, kept, kappa_paths, scorers })
    }
}

/// Fails where kept rows or the weights of an adapted head do not belong to it.
fn check_adapted(p: &Parts) -> Result<()> {
    if let Some(rows) = &p.rows {
        let rows = rows.rows()?;
        if rows.features().ncols() != p.features {
            return Err(Error::Inconsistent { what: "the rows that a head keeps have another number of features" });
        }
    }
    let Some(adapted) = &p.adapted else { return Ok(()) };
    let wrong = Err(Error::Inconsistent { what: "the weights of an adapted head do not belong to its scores" });
    let Model::Stacks(stacks) = &p.model else { return wrong };
    let weights =
        |s: &FittedStack| s.scores.signed().flat_map(|(_, w)| w.unwrap_or_default().to_vec()).all(|w| w >= 0.0);
    let weighted = |s: &FittedStack| s.functions() == 0 && s.scores.grouped() && weights(s) && s.scores.mass() > 0.0;
    let plain = p.within.is_none() && !p.groups && stacks.iter().all(weighted);
    let predicted = if stacks.iter().any(FittedStack::needs_prediction) { stacks.len() } else { 0 };
    if plain { adapted.check(p.features + predicted) } else { wrong }
}

impl From<FittedRegressor> for Parts {
    fn from(f: FittedRegressor) -> Self {
        let FittedRegressor { settings, features, groups, within, own, model, adapted, kept, kappa_paths, .. } = f;
        let rows = kept.map(Arc::unwrap_or_clone);
        Parts { settings, features, groups, within, own, model, adapted, rows, kappa_paths }
    }
}

impl FittedRegressor {
    /// The settings it was fitted with.
    pub fn settings(&self) -> &PostStoNetRegressor {
        &self.settings
    }

    /// Features per row.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Targets per row.
    pub fn outputs(&self) -> usize {
        match &self.model {
            Model::Stacks(stacks) => stacks.len(),
            Model::Eve { intervals, .. } => intervals.scaling().y.columns(),
        }
    }

    /// Whether new rows need the network's own prediction.
    pub fn needs_prediction(&self) -> bool {
        matches!(&self.model, Model::Stacks(stacks) if stacks.iter().any(FittedStack::needs_prediction))
    }

    /// What the fit had of the network's own uncertainty, and new rows need.
    pub fn own(&self) -> Option<OwnKind> {
        self.own
    }

    /// How many rows (or groups) calibrate the intervals, and how many a finite interval at this level needs, if there
    /// are too few; `joint` is for intervals of all targets at once.
    pub fn too_few_rows(&self, level: Level, joint: bool) -> Result<Option<(usize, usize)>> {
        let needed = crate::conformal::rows_needed(Asked { joint, ..Asked::default() }.each(level, self.outputs())?);
        Ok(self.size().map(|(units, _)| (units, needed)).filter(|(units, needed)| units < needed))
    }

    /// What holds for these intervals, in words and as a number.
    pub fn guarantee(&self, level: Level) -> Guarantee {
        guarantee::of(self, level)
    }

    /// Mean weight over folds of the StoNet, skip, both ridge regressions, and the network with the middle of its
    /// quantiles, per output; none for Eve's law.
    pub fn weights(&self) -> Option<Vec<[f64; 4]>> {
        match &self.model {
            Model::Stacks(stacks) => Some(stacks.iter().map(FittedStack::weights).collect()),
            Model::Eve { .. } => None,
        }
    }

    /// κ that was chosen for the whole fit; the stack chooses one per fold and member.
    pub fn kappa(&self) -> Option<f64> {
        match &self.model {
            Model::Eve { kappa, .. } => Some(*kappa),
            Model::Stacks(_) => None,
        }
    }

    /// What the choice of κ saw: one path for `paper` and `cv`, one per output and StoNet member of a stack; none where
    /// a file of an earlier version does not tell.
    pub fn tuning_curves(&self) -> &[TuningCurve] {
        &self.kappa_paths
    }

    /// Per feature, the fraction of the StoNets in use that select it; empty where there is none.
    pub fn selected_features(&self) -> Vec<f64> {
        let nets: Vec<&crate::network::StoNet> = match &self.model {
            Model::Eve { intervals, .. } => intervals.estimates().iter().map(crate::eve::Estimate::network).collect(),
            Model::Stacks(stacks) => stacks.iter().flat_map(FittedStack::nets).collect(),
        };
        if nets.is_empty() {
            return Vec::new();
        }
        let mut share = vec![0.0; self.features];
        for net in &nets {
            net.selected_inputs().into_iter().for_each(|k| share[k] += 1.0 / nets.len() as f64);
        }
        share
    }

    /// The intervals of Eve's law, for `paper` and `cv`.
    pub fn eve(&self) -> Option<&EveIntervals> {
        match &self.model {
            Model::Eve { intervals, .. } => Some(intervals),
            Model::Stacks(_) => None,
        }
    }

    /// The stacks behind the other kinds, one per output.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn stacks(&self) -> Option<&[FittedStack]> {
        match &self.model {
            Model::Stacks(stacks) => Some(stacks),
            Model::Eve { .. } => None,
        }
    }

    /// Units scored and folds, of the smallest output.
    fn size(&self) -> Option<(usize, usize)> {
        match &self.model {
            Model::Stacks(stacks) => stacks.iter().map(FittedStack::size).min(),
            Model::Eve { .. } => None,
        }
    }
}
