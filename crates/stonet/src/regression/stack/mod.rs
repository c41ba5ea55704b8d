//! Nested CV+ around a stack of members with a learned scale: the default intervals (beyond the paper).
//!
//! ```text
//! every fold k, every pair j < k   fit all members outside k (StoNets from two starts), and the StoNets outside j and k
//! every fold k, on rows outside k  predictions of inner rows by fits that have not seen them: StoNets of fold j by the fit
//!                                  without j and k, ridge regressions in closed form;
//!                                  κ per member and weights by these; scale and two-sided shape of their residuals
//! every row i of fold k            V_i = (y_i − μ_k(x_i)) / s(x_i), s = s⁺_k above the prediction and s⁻_k below it
//! at x                             ends: ranks of μ_k(i)(x) + |V_i| s⁺_k(i)(x) and μ_k(i)(x) − |V_i| s⁻_k(i)(x) over all
//!                                  rows i (conformal/ranks.rs)
//! ```
//! Nothing that judges row i has seen it, so the CV+ bound holds.

mod cost;
mod decomposition;
mod fit;
mod folds;
pub(crate) mod lower;
mod members;
mod nets;
mod own;
mod paths;
mod scale;
mod shape;
mod watch;
mod weights;
pub(crate) mod widths;

use serde::{Deserialize, Serialize};

pub use members::{Member, Members, Scaled, StoNetSettings};
pub use own::OwnWidth;
pub use scale::ScaleModel;
pub use shape::Shape;

use crate::base::{Cost, Error, Result, Seed, Ticker};
use crate::conformal::ConditionalScores;
use crate::conformal::buckets::Buckets;
use crate::conformal::ranks::Scores;
use crate::network::StoNet;
use crate::regression::serial::Noticed;
use crate::rows::OwnKind;
use crate::rows::regression::Single;
use crate::train::TuningCurve;
use cost::Plan;
use fit::Job;
pub(crate) use fit::{columns_of, signed_score};

/// What asks for the network's prediction.
pub(crate) const NAME: &str = "a stack that was fitted with them";

/// How held-out scores come about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scheme {
    /// Everything chosen inside the fold: the CV+ bound holds. 15 fits of the members for 5 folds.
    Nested,
    /// κ, weights and scale chosen once, on the out-of-fold predictions of all rows: 5 fits, no proven bound.
    Same,
    /// Fitted on a share of the rows, scored on the others: exact 1 − α.
    Split {
        /// The share that is fitted on.
        share: f64,
    },
}

/// A stack of members and how it is turned into intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stack {
    /// Which members; those that need the network's prediction drop out where there is none.
    pub members: Members,
    /// Whether the scale of residuals is learned; a constant otherwise.
    pub learned_scale: bool,
    /// Nested or same-fold CV+, or a split.
    pub scheme: Scheme,
    /// The number of folds, K.
    pub folds: usize,
    /// Of the StoNet members.
    pub stonet: StoNetSettings,
    /// Whether both ends are equally far from the prediction.
    pub symmetric: bool,
}

impl Default for Stack {
    fn default() -> Self {
        Stack {
            members: Members::ALL,
            learned_scale: true,
            scheme: Scheme::Nested,
            folds: 5,
            stonet: StoNetSettings::default(),
            symmetric: false,
        }
    }
}

/// A fitted stack for one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedStack {
    folds: Vec<FoldModel>,
    pub(super) scores: Scores,
    /// The scores of each group by itself, where intervals are to cover within groups; none of a group without ranks
    /// of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    within: Vec<Option<Scores>>,
    /// The scores with the functions of their rows, where intervals are to cover for functions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conditional: Option<ConditionalScores>,
    /// What the fit noticed about the order of its rows.
    #[serde(skip)]
    pub(super) serial: Noticed,
}

/// What one fold predicts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldModel {
    /// Members with positive weight.
    members: Vec<(f64, Member)>,
    scale: ScaleModel,
    /// What the scale is multiplied by above and below the prediction; both by 1 where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<Box<Shape>>,
}

impl FoldModel {
    /// Members with their weights: μ is the weighted sum of their predictions.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn members(&self) -> &[(f64, Member)] {
        &self.members
    }

    /// The scale s.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn scale_model(&self) -> &ScaleModel {
        &self.scale
    }

    /// The factors of s.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.as_deref()
    }

    pub(crate) fn needs_prediction(&self) -> bool {
        let learned = matches!(self.scale, ScaleModel::Learned { network: true, .. });
        learned || self.members.iter().any(|(_, m)| m.needs_prediction())
    }
}

impl Stack {
    fn validate(&self) -> Result<()> {
        Error::check(self.members.any(), "members", self.members, "at least one")?;
        Error::check(self.folds >= 2, "folds", self.folds, "at least 2")?;
        // Nested fits leave out two folds at a time.
        let left = self.scheme != Scheme::Nested || self.folds >= 3;
        Error::check(left, "folds", self.folds, "at least 3 if everything is chosen inside the fold")?;
        if let Scheme::Split { share } = self.scheme {
            Error::check(share > 0.0 && share < 1.0, "share", share, "strictly between 0 and 1")?;
        }
        self.stonet.check()
    }

    /// The fitted stack, and what its choice of κ saw.
    pub(crate) fn fit(
        &self,
        data: &Single<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(FittedStack, Vec<TuningCurve>)> {
        self.job(data, seed, tick, self.scheme)?.run()
    }

    /// The model of all rows alone, which others are to score.
    pub(crate) fn fit_sample(
        &self,
        data: &Single<'_>,
        seed: Seed,
        tick: Ticker<'_>,
    ) -> Result<(FoldModel, Vec<TuningCurve>)> {
        // All rows are fitted on.
        self.job(data, seed, tick, Scheme::Split { share: 1.0 })?.run_sample()
    }

    fn job<'a, 'd>(
        &'a self,
        data: &'a Single<'d>,
        seed: Seed,
        tick: Ticker<'a>,
        scheme: Scheme,
    ) -> Result<Job<'a, 'd>> {
        self.validate()?;
        let plan = self.plan(data, data.y.len(), scheme);
        Error::check(
            plan.members.any(),
            "members",
            self.members,
            "some that do not need the network's prediction, or give it",
        )?;
        Ok(Job::new(self, data, seed, tick, plan))
    }

    /// What is fitted on so many rows of data like these.
    fn plan(&self, data: &Single<'_>, rows: usize, scheme: Scheme) -> Plan {
        let quantiles = data.own.is_some_and(|own| own.kind() == OwnKind::Quantiles);
        let members = self.members.available(data.prediction.is_some(), quantiles);
        Plan { members, scheme, rows, features: data.features.ncols(), ordered: data.order.is_some() }
    }

    /// What a fit on so many rows of data like these costs.
    pub(crate) fn cost(&self, data: &Single<'_>, rows: usize) -> Cost {
        self.plan(data, rows, self.scheme).cost(self)
    }

    /// Whether every member predicts rows that it has not seen without another fit.
    pub(crate) fn closed_form(&self) -> bool {
        !self.members.stonet && !self.members.skip
    }
}

impl FittedStack {
    /// A model of all rows of a sample, and the scores of others, in all and by group.
    pub(crate) fn split(model: FoldModel, scores: Buckets, groups: Vec<Buckets>) -> Self {
        let within = groups.into_iter().map(|g| Some(Scores::counted(&[g]))).collect();
        let (scores, serial) = (Scores::counted(&[scores]), Noticed::default());
        FittedStack { folds: vec![model], scores, within, conditional: None, serial }
    }

    /// The same with the ranks of all rows for every group.
    pub(crate) fn pooled(&self) -> Self {
        FittedStack { within: Vec::new(), conditional: None, ..self.clone() }
    }

    /// The same with other scores of the same folds.
    pub(crate) fn with_scores(&self, scores: Scores) -> Self {
        FittedStack { scores, ..self.clone() }
    }

    /// How many functions intervals are to cover for.
    pub(crate) fn functions(&self) -> usize {
        self.conditional.as_ref().map_or(0, ConditionalScores::columns)
    }

    /// The scores of a group by itself, where it has ranks of its own.
    pub(crate) fn group(&self, group: usize) -> Option<&Scores> {
        self.within.get(group).and_then(Option::as_ref)
    }

    /// What each fold predicts with; the point prediction is their mean.
    pub(crate) fn folds(&self) -> &[FoldModel] {
        &self.folds
    }

    /// The scores of the rows that each fold held out.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn scores(&self) -> &Scores {
        &self.scores
    }

    pub(crate) fn needs_prediction(&self) -> bool {
        self.folds.iter().any(FoldModel::needs_prediction)
    }

    /// Units that were scored, and folds that scored them.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.scores.units(), self.scores.folds())
    }

    /// Mean weight of StoNet, skip, ridge (both forms) and network (the middle of its quantiles included) over the folds.
    pub(crate) fn weights(&self) -> [f64; 4] {
        let mut total = [0.0; 4];
        for (weight, member) in self.folds.iter().flat_map(|f| &f.members) {
            let which = match member {
                Member::StoNet(_) => 0,
                Member::Skip { .. } => 1,
                Member::Ridge(_) | Member::Quadratic { .. } => 2,
                Member::Network | Member::Middle => 3,
            };
            total[which] += weight / self.folds.len() as f64;
        }
        total
    }

    /// The StoNets in use.
    pub(crate) fn nets(&self) -> impl Iterator<Item = &StoNet> {
        self.folds.iter().flat_map(|f| &f.members).filter_map(|(_, m)| m.net())
    }

    /// Fails unless everything belongs together and takes this many features and groups, as it does unless a file says
    /// otherwise.
    pub(crate) fn check(&self, columns: usize, groups: usize, own: Option<OwnKind>) -> Result<()> {
        let folds = |scores: &Scores| scores.folds() == self.folds.len();
        let grouped = self.within.len() == groups && self.within.iter().flatten().all(folds);
        let alone = self.conditional.is_none() || (self.folds.len() == 1 && self.within.is_empty());
        if !folds(&self.scores) || !grouped || !alone || self.folds.is_empty() {
            return Err(Error::Inconsistent { what: "a stack's folds and scores do not belong together" });
        }
        for fold in &self.folds {
            let sound = !fold.members.is_empty() && fold.members.iter().all(|(w, _)| w.is_finite());
            if !sound {
                return Err(Error::Inconsistent { what: "a stack's weights are not numbers" });
            }
            let width = fold.scale.own().map(OwnWidth::kind);
            let middle = fold.members.iter().any(|(_, m)| *m == Member::Middle);
            if width.is_some_and(|kind| own != Some(kind)) || (middle && own != Some(OwnKind::Quantiles)) {
                return Err(Error::Inconsistent {
                    what: "a stack uses an uncertainty of the network that it was not fitted with",
                });
            }
            fold.members.iter().try_for_each(|(_, m)| m.check(columns))?;
            fold.scale.check(columns)?;
            fold.shape.as_ref().map_or(Ok(()), |s| s.check(fold.scale.own()))?;
        }
        Ok(())
    }
}
