//! Intervals for class probabilities: how far they would be off if other rows had been drawn to calibrate on.
//!
//! F = z/T + network(x) has the Jacobian J in all that was estimated: non-zero weights of every layer, biases, log T.
//! The generalised Gauss–Newton information of a member is H = Σ_i J_iᵀ (diag p_i − p_i p_iᵀ) J_i over the calibration
//! rows. With P the curvature of what held the estimate back and B = (H + P)⁻¹, one member has the covariance B.
//! Members of a pool learned from the same labels: between members m and m′ it is B_m M B_m′ with M = Σ_i J_miᵀ
//! Var(y_i) J_m′i (+ P within a member), which for one member is B again. The weights of a pool are taken as given. An
//! interval is Wald's on the scale of log odds: expit(logit p ± z √(gᵀCg)), g = ∂ logit p / ∂θ.
//!
//! The complete-data variance of Eve's law is not used: it does not know what the latents do not tell, and covers 60–71
//! % at 95 %.

mod accuracy;
mod curvature;
mod information;
mod one_class;

use std::fmt;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ClassMethod, FittedClassifier, MemberNotes, Model};
use crate::base::{Error, NoInterval, Result};
use crate::calibration::SkipModel;
use crate::calibration::tangent::Estimated;
use crate::linalg::dense::spd_inverse;
use crate::network::Likelihood;
use crate::rows::{ClassInputs, ClassRows, Level};
pub use accuracy::{AccuracyBins, AccuracyBounds, AccuracyInterval};
use information::{Member, Odds};
pub use one_class::{ClassInterval, OneClass};

/// Coverage was measured for 3 and for 10 classes. For 50 and 100 nothing covers, not even the interval of the guess alone:
/// temperature and vector scaling do not, and StoNets have more parameters than an information matrix may. Twice the
/// larger is as far as we go.
const MAX_CLASSES: usize = 20;
/// The largest dense matrix: a few seconds to invert, 72 MB.
const MAX_ORDER: usize = 3000;
/// Outcomes, n (K − 1) of them, that an effective parameter needs for its error to be near normal (Peduzzi et al.
/// 1996).
const OUTCOMES_PER_PARAMETER: f64 = 10.0;
/// Ridge of the information scaled to a unit diagonal. A number added to all logits changes no probability, so the
/// information is singular in that direction; every gradient is orthogonal to it, and what the ridge makes of it drops
/// out. What the data determine has eigenvalues far above.
const RIDGE: f64 = 1e-9;

/// The least information that a parameter is scaled by, relative to the largest.
const LEAST_SCALE: f64 = 1e-15;

/// Where the variance of the labels is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Covariance {
    /// From the fitted probabilities: the inverse observed information, where there is one member.
    #[default]
    Observed,
    /// From the residuals of the calibration rows: right also where the probabilities are not, with more noise of its
    /// own.
    Sandwich,
}

/// On which scale an interval is p̂ ± z times a standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IntervalScale {
    /// log p/(1 − p): ends stay inside (0, 1).
    #[default]
    Logit,
    /// p itself, cut to [0, 1].
    Probability,
}

/// How the covariance of a fit is estimated.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `covariance` | observed | where the variance of the labels is taken from | |
/// | `training` | 0 | part of the curvature of early stopping that the information of a StoNet gets | 0 to 1 |
///
/// A StoNet stops early, which holds its weights like a ridge would. With all of that ridge (`training` = 1) the
/// variance is that of the fit, and nothing is left for what the fit has not learned; without it (0) every non-zero
/// weight counts as if the rows alone had to determine it. On simulated networks of 3 and 10 classes the latter held
/// the true probability in 98 to 100 % of cases at 95 %; a tenth of the ridge is three times shorter and held it in 82
/// to 99 %, all of it in 74 to 98 % (`docs/results/class-intervals` in the repository, by the example
/// `class_coverage`). So the default is the long one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wald {
    /// Where the variance of the labels is taken from.
    pub covariance: Covariance,
    /// Part of the curvature of early stopping.
    pub training: f64,
}

impl Default for Wald {
    fn default() -> Self {
        Wald { covariance: Covariance::Observed, training: 0.0 }
    }
}

/// What may be expected of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Trust {
    /// The estimate is a maximum of the likelihood with few parameters.
    Likelihood,
    /// The estimate is held back by a penalty or by early stopping, or is a pool.
    Approximate,
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trust::Likelihood => "intervals cover at their level if the probabilities have the form of the method",
            Trust::Approximate => {
                "intervals are approximate: they do not know the bias of a penalty or of early stopping. By default those of StoNets are \
                 longer than they need be and covered 98 to 100 % at 95 % in simulations of 3 and 10 classes"
            }
        })
    }
}

/// Intervals for the probability of every class: rows × classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbabilityIntervals {
    /// The probabilities.
    pub probability: Array2<f64>,
    /// Lower ends.
    pub lower: Array2<f64>,
    /// Upper ends.
    pub upper: Array2<f64>,
    /// The nominal coverage of each.
    pub level: Level,
    /// What may be expected of them.
    pub trust: Trust,
}

/// The covariance of all that a classifier estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct ProbabilityCovariance {
    classes: usize,
    parameters: Vec<usize>,
    degrees_of_freedom: Vec<f64>,
    covariance: Array2<f64>,
    trust: Trust,
}

/// What is written to files; reading it back checks that its parts belong together.
#[derive(Serialize, Deserialize)]
struct Parts {
    classes: usize,
    parameters: Vec<usize>,
    degrees_of_freedom: Vec<f64>,
    covariance: Array2<f64>,
    trust: Trust,
}

impl TryFrom<Parts> for ProbabilityCovariance {
    type Error = Error;
    fn try_from(p: Parts) -> Result<Self> {
        let order = p.parameters.iter().try_fold(0usize, |sum, &q| sum.checked_add(q));
        let sound = order == Some(p.covariance.nrows())
            && p.covariance.is_square()
            && p.degrees_of_freedom.len() == p.parameters.len()
            && p.covariance.iter().all(|v| v.is_finite());
        if !sound {
            return Err(Error::Inconsistent {
                what: "the parts of a covariance of probabilities do not belong together",
            });
        }
        let Parts { classes, parameters, degrees_of_freedom, covariance, trust } = p;
        Ok(ProbabilityCovariance { classes, parameters, degrees_of_freedom, covariance, trust })
    }
}

impl From<ProbabilityCovariance> for Parts {
    fn from(c: ProbabilityCovariance) -> Self {
        let ProbabilityCovariance { classes, parameters, degrees_of_freedom, covariance, trust } = c;
        Parts { classes, parameters, degrees_of_freedom, covariance, trust }
    }
}

impl ProbabilityCovariance {
    /// The covariance on the rows that the classifier was fitted on; [`Error::NoInterval`] says why where an interval
    /// would not be honest.
    pub fn fit(fitted: &FittedClassifier, rows: &ClassRows<'_>, wald: Wald) -> Result<Self> {
        fitted.check_as_fitted("intervals of probabilities are for these; fit them for the head as it was before")?;
        Error::check((0.0..=1.0).contains(&wald.training), "training", wald.training, "from 0 to 1")?;
        if rows.classes() != fitted.classes() {
            return Err(Error::shape("classes of the calibration rows", fitted.classes(), rows.classes()));
        }
        let members = members(fitted)?;
        check(fitted, rows, &members, MAX_CLASSES)?;
        let mut breads = Vec::with_capacity(members.len());
        for (member, notes) in members.iter().zip(fitted.notes()) {
            let penalty = curvature::of(member, notes, &fitted.settings().skip, wald.training, rows);
            breads.push(information::bread(member, penalty, notes.method, rows)?);
        }
        let degrees_of_freedom = breads.iter().map(|b| b.df).collect();
        let covariance = match (&mut breads[..], wald.covariance) {
            ([alone], Covariance::Observed) => std::mem::take(&mut alone.inverse),
            (all, kind) => information::joint(&members, all, kind, rows)?,
        };
        let parameters = members.iter().map(|m| m.model.parameters()).collect();
        let trust = trust(fitted.notes());
        Ok(ProbabilityCovariance { classes: fitted.classes(), parameters, degrees_of_freedom, covariance, trust })
    }

    /// Effective parameters of every member, tr(H B): directions that change no probability, or that P holds, do not
    /// count.
    pub fn degrees_of_freedom(&self) -> &[f64] {
        &self.degrees_of_freedom
    }

    /// What may be expected of the intervals.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Intervals on the scale of log odds for every class of every row, each at the level by itself.
    pub fn intervals(
        &self,
        fitted: &FittedClassifier,
        inputs: &ClassInputs<'_>,
        level: Level,
    ) -> Result<ProbabilityIntervals> {
        self.intervals_on(IntervalScale::Logit, fitted, inputs, level)
    }

    /// Intervals on a scale of choice.
    pub fn intervals_on(
        &self,
        scale: IntervalScale,
        fitted: &FittedClassifier,
        inputs: &ClassInputs<'_>,
        level: Level,
    ) -> Result<ProbabilityIntervals> {
        let members = members(fitted)?;
        if members.iter().map(|m| m.model.parameters()).ne(self.parameters.iter().copied())
            || fitted.classes() != self.classes
        {
            return Err(Error::Inconsistent { what: "this covariance was computed for another classifier" });
        }
        let order = self.covariance.nrows();
        let blocks: Vec<_> = information::blocks(0..inputs.rows(), self.classes, order).collect();
        let ends = |rows| {
            let tangents = information::tangents(&members, inputs, rows)?;
            let odds = Odds::new(&members, &tangents);
            let mut variance = Array2::zeros(odds.log_p.raw_dim());
            for (k, mut v) in variance.columns_mut().into_iter().enumerate() {
                let gradient = odds.gradient(&vec![k; v.len()], &members, &tangents);
                v.assign(&information::quadratic_forms(&gradient, &self.covariance));
            }
            Ok(wald_ends(&odds, &variance, scale, level))
        };
        let parts: Vec<[Array2<f64>; 3]> = blocks.into_par_iter().map(ends).collect::<Result<_>>()?;
        let mut all = [(); 3].map(|()| Array2::zeros((0, self.classes)));
        for (whole, j) in all.iter_mut().zip(0..) {
            for part in &parts {
                let part: &Array2<f64> = &part[j];
                whole.append(Axis(0), part.view()).expect("one column per class");
            }
        }
        let [probability, lower, upper] = all;
        Ok(ProbabilityIntervals { probability, lower, upper, level, trust: self.trust })
    }
}

/// p and the two ends.
fn wald_ends(odds: &Odds, variance: &Array2<f64>, scale: IntervalScale, level: Level) -> [Array2<f64>; 3] {
    let logit = &odds.log_p - &odds.log_rest;
    let half = variance.mapv(|v| level.z() * v.max(0.0).sqrt());
    let p = odds.log_p.mapv(f64::exp);
    match scale {
        IntervalScale::Logit => {
            let expit = |x: f64| 1.0 / (1.0 + (-x).exp());
            let (lower, upper) = ((&logit - &half).mapv(expit), (&logit + &half).mapv(expit));
            [p, lower, upper]
        }
        IntervalScale::Probability => {
            let half = half * &p * &odds.log_rest.mapv(f64::exp);
            let (lower, upper) = ((&p - &half).mapv(|v| v.max(0.0)), (&p + &half).mapv(|v| v.min(1.0)));
            [p, lower, upper]
        }
    }
}

fn members(fitted: &FittedClassifier) -> Result<Vec<Member>> {
    let one = |((weight, model), notes): ((f64, &SkipModel), &MemberNotes)| {
        Ok(Member { weight, model: Estimated::new(model, notes.method != ClassMethod::None)? })
    };
    fitted.members().into_iter().zip(fitted.notes()).map(one).collect()
}

/// Refuses what no honest interval is known for, and more than so many classes.
fn check(fitted: &FittedClassifier, rows: &ClassRows<'_>, members: &[Member], limit: usize) -> Result<()> {
    let refuse = |why| Err(Error::NoInterval(why));
    if matches!(fitted.model, Model::Isotonic(_) | Model::VennAbers(_)) {
        return refuse(NoInterval::Isotonic);
    }
    if fitted.notes().iter().any(|n| n.method == ClassMethod::Ets) {
        return refuse(NoInterval::Mixture);
    }
    if fitted.notes().iter().any(|n| n.method == ClassMethod::Paper) {
        return refuse(NoInterval::NotAnOptimum);
    }
    let absent = rows.counts().iter().position(|c| *c == 0).or(fitted.absent_classes().first().copied());
    if let Some(class) = absent {
        return refuse(NoInterval::AbsentClass { class });
    }
    if fitted.classes() > limit {
        return refuse(NoInterval::ManyClasses { classes: fitted.classes(), limit });
    }
    match members.iter().map(|m| m.model.parameters()).sum() {
        0 => refuse(NoInterval::NothingEstimated),
        parameters if parameters > MAX_ORDER => refuse(NoInterval::ManyParameters { parameters, limit: MAX_ORDER }),
        _ => Ok(()),
    }
}

fn trust(notes: &[MemberNotes]) -> Trust {
    let by_likelihood = |m| matches!(m, ClassMethod::Temperature | ClassMethod::Vector | ClassMethod::Matrix);
    match notes {
        [alone] if by_likelihood(alone.method) && alone.converged => Trust::Likelihood,
        _ => Trust::Approximate,
    }
}

/// (H + P)⁻¹ of a member.
struct Bread {
    inverse: Array2<f64>,
    penalty: ndarray::Array1<f64>,
    /// tr(H B).
    df: f64,
}

impl Bread {
    fn new(h: &Array2<f64>, penalty: ndarray::Array1<f64>, method: ClassMethod) -> Result<Self> {
        // Weights of a network differ by orders of magnitude in what they do; on a unit diagonal one ridge is right for
        // all.
        let diagonal = &h.diag() + &penalty;
        // A unit that is saturated at every row has no information at all: it gets a very large variance, not an
        // infinite one.
        let least = diagonal.fold(f64::MIN_POSITIVE, |a, &v| a.max(LEAST_SCALE * v));
        let scale = diagonal.mapv(|v| v.max(least).sqrt());
        let mut scaled = h + &Array2::from_diag(&penalty);
        let unscale = |a: &mut Array2<f64>| {
            *a /= &scale;
            *a /= &scale.view().insert_axis(Axis(1));
        };
        unscale(&mut scaled);
        scaled.diag_mut().mapv_inplace(|v| v + RIDGE);
        let singular = Error::NoInterval(NoInterval::Singular { member: method.name() });
        let mut inverse = spd_inverse(scaled.view()).filter(|i| i.iter().all(|v| v.is_finite())).ok_or(singular)?;
        unscale(&mut inverse);
        let df = (&inverse * h).sum();
        Ok(Bread { inverse, penalty, df })
    }
}

/// Refuses a fit that uses up its rows: `df` is tr(H B).
fn enough(method: ClassMethod, df: f64, rows: &ClassRows<'_>) -> Result<()> {
    let outcomes = (rows.rows() * (rows.classes() - 1)) as f64;
    // It is a whole number up to rounding where there is no P.
    if df > outcomes / OUTCOMES_PER_PARAMETER + 1e-3 {
        return Err(Error::NoInterval(NoInterval::FewRows { member: method.name(), df, rows: rows.rows() }));
    }
    Ok(())
}

/// The probabilities of some logits.
fn softmax(logits: &Array2<f64>) -> Array2<f64> {
    Likelihood::Multinomial.mean(logits.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_parameter_without_information_has_a_large_variance_and_spoils_no_other() {
        let h = array![[4.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 0.0]];
        let bread = Bread::new(&h, ndarray::Array1::zeros(3), ClassMethod::Skip).unwrap();
        let want = array![[3.0, -2.0], [-2.0, 4.0]] / 8.0;
        assert!((&bread.inverse.slice(ndarray::s![..2, ..2]) - &want).iter().all(|d| d.abs() < 1e-7));
        assert!(bread.inverse[[2, 2]] > 1e15 && bread.inverse[[2, 2]].is_finite());
        assert!((bread.df - 2.0).abs() < 1e-7);
    }
}
