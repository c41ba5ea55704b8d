//! One row in words: where its uncertainty comes from, which columns widen its interval, and whether it is strange.

use crate::base::Result;
use crate::classification::FittedClassifier;
use crate::monitor::{Baseline, class_tables, regression_tables};
use crate::regression::{FittedRegressor, VariancePart, VarianceSource, WidthParts, WidthTerm};
use crate::rows::{ClassInputs, RegressionInputs};

/// Why shares are left out.
const NO_SHARES: &str = "the head is a single model, so nothing tells its own part of the uncertainty from noise; fit with folds \
                         (intervals `stack`, `cv+`, `fast`, `cv` or `paper`, or a stack of classes) to have shares";
/// Why terms are left out.
const NO_WIDTH: &str = "all intervals have one width, up to the disagreement of folds: the scale is not learned, so no column \
                        widens it";
/// Why terms are left out of Eve's law.
const NO_EVE_WIDTH: &str = "intervals by Eve's law have no learned scale; fit `stack`, `cv+`, `fast` or `split` to have the columns that widen them";
/// Why novelty is left out.
const NO_NOVELTY: &str =
    "the head holds no counts of its calibration rows; fit it again with them to have the novelty of rows";

/// What can be told of the rows of a head.
#[derive(Debug, Clone, PartialEq)]
pub struct Explainable {
    /// Whether the uncertainty has two parts.
    pub shares: bool,
    /// The terms of the learned scale, by target.
    pub widths: Vec<Option<Vec<WidthTerm>>>,
    /// Whether rows can be compared with calibration rows.
    pub novelty: bool,
    missing: Vec<&'static str>,
}

impl Explainable {
    /// Of a regression head, with or without counts of its calibration rows.
    pub fn regression(head: &FittedRegressor, baseline: Option<&Baseline>) -> Self {
        let (shares, widths) = (head.has_variance_shares(), head.width_terms());
        let why = if head.eve().is_some() { NO_EVE_WIDTH } else { NO_WIDTH };
        Self::new(shares, widths, baseline.is_some(), Some(why))
    }

    /// The same of a classifier, which has no width.
    pub fn classification(head: &FittedClassifier, baseline: Option<&Baseline>) -> Self {
        Self::new(head.members().len() > 1, vec![None], baseline.is_some(), None)
    }

    fn new(shares: bool, widths: Vec<Option<Vec<WidthTerm>>>, novelty: bool, no_width: Option<&'static str>) -> Self {
        let no_width = no_width.filter(|_| widths.iter().all(Option::is_none));
        let missing = [(!shares).then_some(NO_SHARES), no_width, (!novelty).then_some(NO_NOVELTY)];
        Explainable { shares, widths, novelty, missing: missing.into_iter().flatten().collect() }
    }

    /// What is left out, and why.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        !self.shares && !self.novelty && self.widths.iter().all(Option::is_none)
    }
}

/// Two parts of the uncertainty of every row, which add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// What the models disagree about: more calibration rows would make it smaller.
    pub model: Vec<f64>,
    /// What is left: more rows would not help.
    pub noise: Vec<f64>,
}

impl Shares {
    fn new(parts: impl Iterator<Item = (f64, f64)>) -> Self {
        let share = |(model, noise): (f64, f64)| {
            let all = model + noise;
            // Where there is no uncertainty, the models do not disagree.
            let share = if all > 0.0 { model / all } else { 0.0 };
            (share, 1.0 - share)
        };
        let (model, noise) = parts.map(share).unzip();
        Shares { model, noise }
    }
}

/// What is told of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetExplanation {
    /// Of the variance of a new value around its prediction, or of the entropy of a row's class.
    pub shares: Option<Shares>,
    /// What widens the interval.
    pub width: Option<WidthParts>,
}

/// What is told of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// By target; one for a classifier.
    pub targets: Vec<TargetExplanation>,
    /// Conformal p-values: how strange the inputs of every row are among the calibration rows.
    pub novelty: Option<Vec<f64>>,
}

/// Explains rows of a regression head.
///
/// ```
/// use ndarray::{Array2, Axis};
/// use stonet::explain::regression;
/// use stonet::monitor::{Baseline, Watched};
/// use stonet::{Kind, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed};
/// let x = Array2::from_shape_fn((300, 3), |(i, j)| ((i * (j + 2)) as f64 * 0.7).sin());
/// let y = x.map_axis(Axis(1), |f| f[0] + (1.0 + f[1]) * (f[2] * 9.0).sin()).insert_axis(Axis(1));
/// let rows = RegressionRows::new(x.view(), y.view())?;
/// let head = PostStoNetRegressor { kind: Kind::Fast, ..Default::default() }.fit(&rows, Seed::new(1), &|_, _| true)?;
/// let watched = Watched { inputs: &[x.view()], targets: None, labels: None, logits: None };
/// let baseline = Baseline::fit(&watched, Seed::new(1))?;
/// let told = regression(&head, Some(&baseline), &RegressionInputs::new(x.view())?)?;
/// let (shares, width) = (told.targets[0].shares.as_ref().unwrap(), told.targets[0].width.as_ref().unwrap());
/// assert!(shares.model.iter().zip(&shares.noise).all(|(m, n)| (m + n - 1.0).abs() < 1e-12));
/// assert!((width.contributions.row(0).sum() - width.log_ratio[0]).abs() < 1e-9);
/// assert!(told.novelty.unwrap().iter().all(|p| *p > 0.0 && *p <= 1.0));
/// # Ok::<(), stonet::Error>(())
/// ```
pub fn regression(
    head: &FittedRegressor,
    baseline: Option<&Baseline>,
    rows: &RegressionInputs<'_>,
) -> Result<Explanation> {
    let shares = match head.has_variance_shares() {
        true => head.variance_parts(rows)?.iter().map(|parts| Some(variance_shares(parts))).collect(),
        false => vec![None; head.outputs()],
    };
    let widths = head.width_parts(rows)?;
    let targets = shares.into_iter().zip(widths).map(|(shares, width)| TargetExplanation { shares, width }).collect();
    let novelty = baseline.map(|b| b.novelty(&regression_tables(rows))).transpose()?;
    Ok(Explanation { targets, novelty })
}

fn variance_shares(parts: &[VariancePart]) -> Shares {
    let is_noise = |p: &VariancePart| matches!(p.source, VarianceSource::Residuals | VarianceSource::Noise);
    let rows = parts.first().map_or(0, |p| p.values.len());
    let sum =
        |row: usize, noise: bool| -> f64 { parts.iter().filter(|p| is_noise(p) == noise).map(|p| p.values[row]).sum() };
    Shares::new((0..rows).map(|row| (sum(row, false), sum(row, true))))
}

/// Explains rows of a classifier: of the entropy of a row's class, H(Σ w_m p_m), the members' own Σ w_m H(p_m) is noise,
/// and what they disagree about is the rest.
pub fn classification(
    head: &FittedClassifier,
    baseline: Option<&Baseline>,
    rows: &ClassInputs<'_>,
) -> Result<Explanation> {
    let members = head.members();
    let shares = match members.len() {
        0 | 1 => None,
        _ => {
            let mixed = head.probabilities(rows)?;
            let mut noise = vec![0.0; mixed.nrows()];
            for (weight, member) in members {
                let p = member.probabilities(rows)?;
                noise.iter_mut().zip(p.outer_iter()).for_each(|(sum, p)| *sum += weight * entropy(p.iter().copied()));
            }
            // Entropy is concave, so that only rounding can make the difference negative.
            let part = |(p, noise): (ndarray::ArrayView1<'_, f64>, &f64)| {
                ((entropy(p.iter().copied()) - noise).max(0.0), *noise)
            };
            Some(Shares::new(mixed.outer_iter().zip(&noise).map(part)))
        }
    };
    let novelty = baseline.map(|b| b.novelty(&class_tables(rows))).transpose()?;
    Ok(Explanation { targets: vec![TargetExplanation { shares, width: None }], novelty })
}

/// −Σ p log p.
fn entropy(p: impl Iterator<Item = f64>) -> f64 {
    p.filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests;
