//! Intervals for the probability of one class per row, which need no covariance of all classes.
//!
//! The target of a row is one number, logit p_k with gradient g, so its variance is V = gᵀ (H + P)⁻¹ g: one triangular
//! solve with the Cholesky factor of H + P, which is computed once. Neither the inverse nor the gradients of other
//! classes are kept. The joint covariance B M B of several members would need the inverse, so a pool is refused.

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use super::information::{self, Member, Odds};
use super::{LEAST_SCALE, MAX_CLASSES, RIDGE, Trust, Wald, check, curvature, enough, members, trust};
use crate::base::{Error, NoInterval, Result};
use crate::classification::FittedClassifier;
use crate::linalg::dense::Cholesky;
use crate::metrics::top_class;
use crate::rows::{ClassInputs, ClassRows, Level};

/// The information of a classifier, factorised.
pub struct OneClass {
    factor: Cholesky,
    /// Roots of the diagonal, by which parameters are scaled.
    scale: Array1<f64>,
    trust: Trust,
}

/// q − Σ d_i (A⁻¹)_ii.
fn df(factor: &Cholesky, held: &[f64]) -> f64 {
    held.len() as f64 - factor.inverse_diagonal(held.len()).iter().zip(held).map(|(a, d)| a * d).sum::<f64>()
}

/// The interval of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassInterval {
    /// The class.
    pub class: usize,
    /// Its probability.
    pub probability: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl OneClass {
    /// The information on the rows that the classifier was fitted on. Beyond 20 classes it is refused, because no
    /// method covered in simulations (`docs/results/class-intervals` in the repository).
    pub fn fit(fitted: &FittedClassifier, rows: &ClassRows<'_>, wald: Wald) -> Result<Self> {
        fitted.check_as_fitted("intervals of probabilities are for these; fit them for the head as it was before")?;
        Self::of_classes(fitted, rows, wald, MAX_CLASSES)
    }

    /// The same for any number of classes, for simulations of how often the intervals cover.
    #[doc(hidden)]
    pub fn study(fitted: &FittedClassifier, rows: &ClassRows<'_>, wald: Wald) -> Result<Self> {
        Self::of_classes(fitted, rows, wald, usize::MAX)
    }

    fn of_classes(fitted: &FittedClassifier, rows: &ClassRows<'_>, wald: Wald, most: usize) -> Result<Self> {
        Error::check((0.0..=1.0).contains(&wald.training), "training", wald.training, "from 0 to 1")?;
        let members = members(fitted)?;
        check(fitted, rows, &members, most)?;
        let ([member], [notes]) = (&members[..], fitted.notes()) else {
            return Err(Error::NoInterval(NoInterval::Pool { members: members.len() }));
        };
        let penalty = curvature::of(member, notes, &fitted.settings().skip, wald.training, rows);
        let mut h = information::information(member, rows)?;
        h.diag_mut().iter_mut().zip(&penalty).for_each(|(h, p)| *h += p);
        let largest = h.diag().fold(f64::MIN_POSITIVE, |a, &v| a.max(LEAST_SCALE * v));
        let scale = h.diag().mapv(|v| v.max(largest).sqrt());
        h /= &scale;
        h /= &scale.view().insert_axis(Axis(1));
        h.diag_mut().mapv_inplace(|v| v + RIDGE);
        let singular = Error::NoInterval(NoInterval::Singular { member: notes.method.name() });
        let factor = Cholesky::new(h.view()).ok_or(singular)?;
        // tr(H B) is the order less what the ridge and P hold.
        let held = penalty.iter().zip(&scale).map(|(p, s)| RIDGE + p / (s * s)).collect::<Vec<f64>>();
        enough(notes.method, df(&factor, &held), rows)?;
        Ok(OneClass { factor, scale, trust: trust(fitted.notes()) })
    }

    /// What may be expected of the intervals.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// The interval of every row for the class `named`, or for the guess where none is named.
    pub fn intervals(
        &self,
        fitted: &FittedClassifier,
        inputs: &ClassInputs<'_>,
        named: Option<usize>,
        level: Level,
    ) -> Result<Vec<ClassInterval>> {
        let members = members(fitted)?;
        if members.iter().map(|m| m.model.parameters()).sum::<usize>() != self.scale.len() {
            return Err(Error::Inconsistent { what: "this information was computed for another classifier" });
        }
        if let Some(label) = named.filter(|k| *k >= fitted.classes()) {
            return Err(Error::Label { row: 0, label, classes: fitted.classes() });
        }
        let blocks: Vec<_> = information::blocks(0..inputs.rows(), fitted.classes(), self.scale.len()).collect();
        let block = |rows| self.block(&members, inputs, rows, named, level);
        Ok(blocks.into_par_iter().map(block).collect::<Result<Vec<_>>>()?.concat())
    }

    fn block(
        &self,
        members: &[Member],
        inputs: &ClassInputs<'_>,
        rows: std::ops::Range<usize>,
        named: Option<usize>,
        level: Level,
    ) -> Result<Vec<ClassInterval>> {
        let tangents = information::tangents(members, inputs, rows)?;
        let odds = Odds::new(members, &tangents);
        let classes: Vec<usize> = odds.log_p.outer_iter().map(|p| named.unwrap_or_else(|| top_class(p))).collect();
        let gradient: Array2<f64> = odds.gradient(&classes, members, &tangents) / &self.scale;
        let variance = self.factor.inverse_forms(gradient);
        let expit = |x: f64| 1.0 / (1.0 + (-x).exp());
        let one = |(i, (&class, v)): (usize, (&usize, &f64))| {
            let (log_p, log_rest) = (odds.log_p[[i, class]], odds.log_rest[[i, class]]);
            let (logit, half) = (log_p - log_rest, level.z() * v.max(0.0).sqrt());
            ClassInterval { class, probability: log_p.exp(), lower: expit(logit - half), upper: expit(logit + half) }
        };
        Ok(classes.iter().zip(&variance).enumerate().map(one).collect())
    }
}
