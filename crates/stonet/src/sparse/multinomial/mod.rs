//! Sparse multinomial logistic regression (`IROeq1` for a logistic output layer; also what Post-Linear fits).
//!
//! Minimises `−(1/n) Σ log softmax(o_i + b + W x_i)_{y_i} + Σ_ck ρ_{λ v_k}(|w_ck|)`, the intercepts b free, the offsets
//! o_i given (0 unless said). Each pass takes the gradient of all classes at once and the minimum of a quadratic model
//! over the columns that are not zero or should not be. The Lasso takes the Newton model, all classes coupled. SCAD and
//! MCP take Böhning's bound ½ XᵀX/n for every class, which needs no line search and is steep enough for their concavity
//! on standardised columns.
//!
//! A class without rows would have its intercept at −∞. It is left out of the minimisation; its weights are 0, and its
//! intercept is the one that gives it, over all rows together, the odds of half a row.

mod conjugate;
mod newton;
mod problem;
mod state;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::coordinate::{check_curvature, check_settings, check_start, check_weights};
use crate::base::{Error, Result};
use crate::linalg::dense::matmul;
use crate::network::{Likelihood, Penalty};
use crate::rows::dataset::check_finite;
use problem::Problem;
use state::State;

/// The regression and its settings; the value is its own configuration.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `penalty` | Lasso | shape of ρ | |
/// | `weights` | none | v_k, a factor of λ per column; 0 leaves a column free | ≥ 0 |
/// | `tolerance` | 1e-6 | largest violation of optimality, relative to λ_max | > 0 |
/// | `max_passes` | 1000 | quadratic models per λ before it is returned unconverged | ≥ 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseMultinomial {
    /// Shape of ρ.
    pub penalty: Penalty,
    /// v_k; all 1 if absent.
    pub weights: Option<Vec<f64>>,
    /// Largest violation of optimality, relative to λ_max.
    pub tolerance: f64,
    /// Quadratic models per λ.
    pub max_passes: usize,
}

impl Default for SparseMultinomial {
    fn default() -> Self {
        SparseMultinomial { penalty: Penalty::Lasso, weights: None, tolerance: 1e-6, max_passes: 1000 }
    }
}

/// The solution at one λ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultinomialFit {
    /// λ.
    pub lambda: f64,
    /// W, classes × columns.
    pub coefficients: Array2<f64>,
    /// The intercepts b.
    pub intercepts: Array1<f64>,
    /// The largest violation of the optimality conditions, in units of the gradient (those of λ).
    pub kkt_residual: f64,
    /// Whether it is within the tolerance. Classes that can be separated have no solution at λ = 0.
    pub converged: bool,
}

impl MultinomialFit {
    /// b + Wx, rows × classes, without the offset of a fit that had one.
    pub fn logits(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if x.ncols() != self.coefficients.ncols() {
            return Err(Error::shape("input columns", self.coefficients.ncols(), x.ncols()));
        }
        Ok(matmul(x, self.coefficients.t()) + &self.intercepts)
    }

    /// softmax(b + Wx), rows × classes.
    pub fn probabilities(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(Likelihood::Multinomial.mean(self.logits(x)?))
    }
}

impl SparseMultinomial {
    /// The smallest λ at which every coefficient with a positive weight is zero (before free columns are fitted).
    pub fn lambda_max(&self, x: ArrayView2<'_, f64>, labels: &[usize], classes: usize) -> Result<f64> {
        Ok(self.start(x, labels, classes, None, &[])?.lambda_max)
    }

    /// The solution at one λ, for labels 0 … `classes` − 1, of which at least two must occur.
    pub fn fit(&self, x: ArrayView2<'_, f64>, labels: &[usize], classes: usize, lambda: f64) -> Result<MultinomialFit> {
        Ok(self.path(x, labels, classes, &[lambda])?.remove(0))
    }

    /// The solution at one λ, sought from an earlier one's coefficients and intercepts; see
    /// [`SparseLinear::fit_from`](crate::sparse::SparseLinear::fit_from).
    pub fn fit_from(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        lambda: f64,
        start: (ArrayView2<'_, f64>, ArrayView1<'_, f64>),
    ) -> Result<MultinomialFit> {
        check_start(start.0, (classes, x.ncols()))?;
        check_start(start.1.insert_axis(Axis(0)), (1, classes))?;
        let mut state = self.start(x, labels, classes, None, &[lambda])?;
        state.go_to(start.0, start.1);
        Ok(state.solve(self, lambda))
    }

    /// Solutions along a path of λ, each started from the one before it; descend for speed.
    pub fn path(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        lambdas: &[f64],
    ) -> Result<Vec<MultinomialFit>> {
        self.path_while(x, labels, classes, None, lambdas, &|| Ok(()), &mut |_| Ok(true))
    }

    /// As [`lambda_max`](Self::lambda_max), with fixed logits (rows × classes) added to every row's: the intercepts are
    /// fitted beside them.
    pub fn lambda_max_with_offset(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        offset: ArrayView2<'_, f64>,
    ) -> Result<f64> {
        Ok(self.start(x, labels, classes, Some(offset), &[])?.lambda_max)
    }

    /// As [`path`](Self::path), with fixed logits (rows × classes) added to every row's. New rows are predicted by
    /// softmax(offset + [`logits`](MultinomialFit::logits)).
    pub fn path_with_offset(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        offset: ArrayView2<'_, f64>,
        lambdas: &[f64],
    ) -> Result<Vec<MultinomialFit>> {
        self.path_while(x, labels, classes, Some(offset), lambdas, &|| Ok(()), &mut |_| Ok(true))
    }

    /// The path with or without an offset, up to the first solution that is not worth going on from; `check` is called
    /// before every λ, and its error ends the path.
    #[expect(clippy::too_many_arguments, reason = "rows, a path, and what watches it")]
    pub(crate) fn path_while(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        offset: Option<ArrayView2<'_, f64>>,
        lambdas: &[f64],
        check: &dyn Fn() -> Result<()>,
        go_on: &mut dyn FnMut(&MultinomialFit) -> Result<bool>,
    ) -> Result<Vec<MultinomialFit>> {
        let mut state = self.start(x, labels, classes, offset, lambdas)?;
        let mut fits = Vec::with_capacity(lambdas.len());
        for &lambda in lambdas {
            check()?;
            let fit = state.solve(self, lambda);
            let more = go_on(&fit)?;
            fits.push(fit);
            if !more {
                break;
            }
        }
        Ok(fits)
    }

    fn start(
        &self,
        x: ArrayView2<'_, f64>,
        labels: &[usize],
        classes: usize,
        offset: Option<ArrayView2<'_, f64>>,
        lambdas: &[f64],
    ) -> Result<State> {
        check_settings(self.penalty, self.tolerance, lambdas)?;
        if x.nrows() != labels.len() {
            return Err(Error::shape("labels", x.nrows(), labels.len()));
        }
        if classes < 2 {
            return Err(Error::setting("classes", classes, "at least 2"));
        }
        check_finite("inputs", x)?;
        if let Some(offset) = offset {
            if offset.nrows() != x.nrows() {
                return Err(Error::shape("rows of the offset", x.nrows(), offset.nrows()));
            }
            if offset.ncols() != classes {
                return Err(Error::shape("columns of the offset, one per class", classes, offset.ncols()));
            }
            check_finite("offset", offset)?;
        }
        let weights = check_weights(self.weights.as_deref(), x.ncols())?;
        let problem = Problem::new(x, labels, classes, offset, weights)?;
        if self.penalty != Penalty::Lasso {
            check_curvature(self.penalty, problem.squares().skip(1).map(|g| 0.5 * g))?;
        }
        Ok(State::new(problem))
    }
}
