//! Sparse multinomial regressions of a calibration: Post-Linear on standardised inputs, and the sparse linear
//! correction of temperature scaling.

use ndarray::Array2;

use super::skip::{Base, SkipModel, View, log_loss, standardised};
use super::temperature;
use crate::base::Result;
use crate::base::{Cost, Piece};
use crate::network::{Activation, Layer, Likelihood, StoNet};
use crate::rows::ClassRows;
use crate::sparse::{MultinomialFit, SparseMultinomial};

/// Points of the path, evenly spaced in log λ.
pub(crate) const LAMBDAS: usize = 16;
/// The smallest λ, as a part of λ_max.
const SMALLEST: f64 = 1e-3;

/// A loss that has clearly risen, as a multiple of the least one.
const CLEARLY: f64 = 1.01;

/// One solution as a calibrator.
pub(crate) struct Linear {
    pub model: SkipModel,
    pub lambda: f64,
    /// The largest violation of the optimality conditions, as a part of λ_max.
    pub kkt_residual: f64,
    pub converged: bool,
}

/// What a regression sees, what it starts from (nothing, or the logits over their temperature), and how exactly it is
/// solved.
pub(crate) struct Design {
    solver: SparseMultinomial,
    view: View,
    x: Array2<f64>,
    /// The skip connection and what it carries.
    skip: Option<(Base, Array2<f64>)>,
}

impl Design {
    /// softmax(b + Wx) of standardised features, or logits where there are none.
    pub(crate) fn alone(rows: &ClassRows<'_>) -> Result<Self> {
        let (view, x) = standardised(rows)?;
        Ok(Design { solver: SparseMultinomial::default(), view, x, skip: None })
    }

    /// softmax(z/T + b + Wx) of centred logits x over T.
    pub(crate) fn skip(rows: &ClassRows<'_>) -> Result<Self> {
        let z = rows.need_logits("skip-linear")?;
        let base = Base::plain(temperature::of_logits(z, rows.labels()));
        let (solver, view) = (SparseMultinomial::default(), View::Centred);
        Ok(Design { solver, x: view.of(&rows.inputs(), base)?, view, skip: Some((base, base.of(z))) })
    }

    /// Solved to another tolerance, relative to λ_max.
    pub(crate) fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.solver.tolerance = tolerance;
        self
    }

    /// λ_max and a path below it.
    pub(crate) fn lambdas(&self, rows: &ClassRows<'_>) -> Result<Vec<f64>> {
        let (solver, labels, k) = (&self.solver, rows.labels(), rows.classes());
        let largest = match &self.skip {
            None => solver.lambda_max(self.x.view(), labels, k)?,
            Some((_, z)) => solver.lambda_max_with_offset(self.x.view(), labels, k, z.view())?,
        };
        // Columns that say nothing: any λ leaves the intercepts alone, where a path down to 0 would look for weights in
        // rounding errors.
        if largest < 1e-12 {
            return Ok(vec![1.0]);
        }
        let step = SMALLEST.ln() / (LAMBDAS - 1) as f64;
        Ok((0..LAMBDAS).map(|i| largest * (step * i as f64).exp()).collect())
    }

    /// The solutions along a path, up to where the loss of rows held out, if there are any, has clearly risen twice in a
    /// row: smaller λ fit ever more noise, and cost most.
    pub(crate) fn path(
        &self,
        rows: &ClassRows<'_>,
        held_out: Option<&ClassRows<'_>>,
        lambdas: &[f64],
        (piece, cost): (&Piece<'_, '_>, Cost),
    ) -> Result<Vec<Linear>> {
        let (solver, labels, k) = (&self.solver, rows.labels(), rows.classes());
        let offset = self.skip.as_ref().map(|(_, z)| z.view());
        let (mut best, mut risen) = (f64::INFINITY, 0);
        let each = Cost::of(cost.get() / LAMBDAS as f64);
        let mut go_on = |fit: &MultinomialFit| {
            piece.advance(each)?;
            let Some(held_out) = held_out else { return Ok(true) };
            let model = self.linear(fit.clone(), k, lambdas[0])?.model;
            let loss = log_loss(model.logits(&held_out.inputs())?, held_out.labels());
            risen = if loss > CLEARLY * best { risen + 1 } else { 0 };
            best = best.min(loss);
            Ok(risen < 2)
        };
        let check = || Ok(piece.check()?);
        let fits = solver.path_while(self.x.view(), labels, k, offset, lambdas, &check, &mut go_on)?;
        fits.into_iter().map(|fit| self.linear(fit, k, lambdas[0])).collect()
    }

    fn linear(&self, fit: MultinomialFit, classes: usize, largest: f64) -> Result<Linear> {
        let layer = Layer { weight: fit.coefficients, bias: fit.intercepts, noise_variance: 1.0 };
        let net = StoNet::new(vec![layer], Activation::Tanh, Likelihood::Multinomial)?;
        let base = self.skip.as_ref().map(|(base, _)| *base);
        Ok(Linear {
            model: SkipModel::new(classes, base, Some((self.view.clone(), net)))?,
            lambda: fit.lambda,
            kkt_residual: fit.kkt_residual / largest.max(f64::MIN_POSITIVE),
            converged: fit.converged,
        })
    }
}
