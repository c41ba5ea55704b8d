//! Sparse multinomial logistic regression (`IROeq1` for a logistic output layer; also what Post-Linear fits).
//!
//! Minimises `−(1/n) Σ log softmax(b + W x_i)_{y_i} + Σ_ck ρ_{λ v_k}(|w_ck|)`, the intercepts b free, class by class: a quadratic model of the
//! loss in one class's weights, minimised by coordinate descent. The Lasso takes the Newton model p(1 − p) and a line search. SCAD
//! and MCP take Böhning's bound ½, which needs neither and is steep enough for their concavity on standardised columns.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::coordinate::{check_curvature, check_settings, check_start, check_weights, descend, violation};
use crate::data::check_finite;
use crate::head::log_sum_exp;
use crate::linalg::dense::{gram, matmul};
use crate::{Error, Head, Penalty, Result};

/// Newton weights below this would let a step run away where every row of a class is already certain.
const LEAST_WEIGHT: f64 = 1e-6;
/// A promised decrease of the objective (which is of order 1) that is not worth a line search.
const NEGLIGIBLE: f64 = 1e-12;
/// Halvings of a step before it is given up.
const MAX_HALVINGS: usize = 30;

/// The regression and its settings; the value is its own configuration.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `penalty` | Lasso | shape of ρ | |
/// | `weights` | none | v_k, a factor of λ per column; 0 leaves a column free | ≥ 0 |
/// | `tolerance` | 1e-6 | largest violation of optimality, relative to λ_max | > 0 |
/// | `max_passes` | 1000 | passes over the classes before it is returned unconverged | ≥ 1 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseMultinomial {
    /// Shape of ρ.
    pub penalty: Penalty,
    /// v_k; all 1 if absent.
    pub weights: Option<Vec<f64>>,
    /// Largest violation of optimality, relative to λ_max.
    pub tolerance: f64,
    /// Passes over the classes.
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
    /// b.
    pub intercepts: Array1<f64>,
    /// The largest violation of the optimality conditions, in units of the gradient (those of λ).
    pub kkt_residual: f64,
    /// Whether it is within the tolerance. Classes that can be separated have no solution at λ = 0.
    pub converged: bool,
}

impl MultinomialFit {
    /// softmax(b + Wx), rows × classes.
    pub fn probabilities(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if x.ncols() != self.coefficients.ncols() {
            return Err(Error::shape("input columns", self.coefficients.ncols(), x.ncols()));
        }
        Ok(Head::Multinomial.mean(matmul(x, self.coefficients.t()) + &self.intercepts))
    }
}

impl SparseMultinomial {
    /// The smallest λ at which every coefficient with a positive weight is zero (before free columns are fitted).
    pub fn lambda_max(&self, x: ArrayView2<'_, f64>, labels: &[usize], classes: usize) -> Result<f64> {
        Ok(self.problem(x, labels, classes, &[])?.lambda_max)
    }

    /// The solution at one λ, for labels 0 … `classes` − 1, each of which must occur.
    pub fn fit(&self, x: ArrayView2<'_, f64>, labels: &[usize], classes: usize, lambda: f64) -> Result<MultinomialFit> {
        Ok(self.path(x, labels, classes, &[lambda])?.remove(0))
    }

    /// The solution at one λ, sought from an earlier one's coefficients and intercepts; see [`SparseLinear::fit_from`](crate::SparseLinear::fit_from).
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
        let problem = self.problem(x, labels, classes, &[lambda])?;
        let mut state = State::start(&problem);
        state.w.row_mut(0).assign(&start.1);
        state.w.slice_mut(ndarray::s![1.., ..]).assign(&start.0.t());
        state.refresh();
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
        let problem = self.problem(x, labels, classes, lambdas)?;
        let mut state = State::start(&problem);
        Ok(lambdas.iter().map(|&lambda| state.solve(self, lambda)).collect())
    }

    fn problem(&self, x: ArrayView2<'_, f64>, labels: &[usize], classes: usize, lambdas: &[f64]) -> Result<Problem> {
        check_settings(self.penalty, self.tolerance, lambdas)?;
        if x.nrows() != labels.len() {
            return Err(Error::shape("labels", x.nrows(), labels.len()));
        }
        if classes < 2 {
            return Err(Error::setting("classes", classes, "at least 2"));
        }
        check_finite("inputs", x)?;
        let weights = check_weights(self.weights.as_deref(), x.ncols())?;
        let problem = Problem::new(x, labels, classes, weights)?;
        if self.penalty != Penalty::Lasso {
            check_curvature(self.penalty, problem.bound.diag().iter().skip(1).copied())?;
        }
        Ok(problem)
    }
}

/// The data with a leading column of ones, and what follows from them.
struct Problem {
    /// n × (1 + p).
    x: Array2<f64>,
    /// n × K, one 1 per row.
    onehot: Array2<f64>,
    /// ½ XᵀX/n: the most the Hessian of one class can be.
    bound: Array2<f64>,
    /// v, with 0 for the intercept.
    weights: Array1<f64>,
    /// log of the class frequencies: the intercepts of the model without columns.
    base: Array1<f64>,
    lambda_max: f64,
}

impl Problem {
    fn new(x: ArrayView2<'_, f64>, labels: &[usize], classes: usize, weights: Array1<f64>) -> Result<Self> {
        let n = labels.len();
        let mut onehot = Array2::zeros((n, classes));
        for (row, &class) in labels.iter().enumerate() {
            if class >= classes {
                return Err(Error::Label { row, label: class, classes });
            }
            onehot[[row, class]] = 1.0;
        }
        let frequency = onehot.sum_axis(Axis(0)) / n as f64;
        if let Some(class) = frequency.iter().position(|&f| f == 0.0) {
            return Err(Error::EmptyClass { class });
        }
        let x = concatenate![Axis(1), Array2::ones((n, 1)), x];
        let weights = concatenate![Axis(0), Array1::zeros(1), weights];
        let bound = 0.5 * gram(x.view()) / n as f64;
        let gradient = matmul(x.t(), (&onehot - &frequency).view()) / n as f64;
        let penalised = gradient.outer_iter().zip(&weights).filter(|(_, v)| **v > 0.0);
        let lambda_max = penalised.map(|(g, v)| g.fold(0.0, |a: f64, g| a.max(g.abs())) / v).fold(0.0, f64::max);
        Ok(Problem { x, onehot, bound, weights, base: frequency.mapv(f64::ln), lambda_max })
    }
}

/// The current solution and its logits.
struct State<'a> {
    problem: &'a Problem,
    /// (1 + p) × K.
    w: Array2<f64>,
    /// n × K.
    logits: Array2<f64>,
    /// log Σ exp of every row's logits.
    log_sum: Array1<f64>,
}

impl<'a> State<'a> {
    fn start(problem: &'a Problem) -> Self {
        let mut w = Array2::zeros((problem.x.ncols(), problem.base.len()));
        w.row_mut(0).assign(&problem.base);
        let mut state = State { problem, w, logits: Array2::zeros((0, 0)), log_sum: Array1::zeros(0) };
        state.refresh();
        state
    }

    /// Logits and their sums from the weights, so that rounding does not build up over the passes.
    fn refresh(&mut self) {
        self.logits = matmul(self.problem.x.view(), self.w.view());
        self.log_sum = self.logits.map_axis(Axis(1), |z| log_sum_exp(z.iter().copied()));
    }

    fn solve(&mut self, settings: &SparseMultinomial, lambda: f64) -> MultinomialFit {
        let p = self.problem;
        let tolerance = settings.tolerance * p.lambda_max.max(lambda).max(f64::MIN_POSITIVE);
        let strength: Vec<f64> = p.weights.iter().map(|v| lambda * v).collect();
        let mut passes = 0;
        let kkt = loop {
            let kkt = self.kkt(settings.penalty, &strength);
            if kkt <= tolerance || passes >= settings.max_passes {
                break kkt;
            }
            for class in 0..self.w.ncols() {
                self.improve(settings.penalty, class, &strength, 0.1 * tolerance);
            }
            self.refresh();
            passes += 1;
        };
        MultinomialFit {
            lambda,
            coefficients: self.w.slice(ndarray::s![1.., ..]).t().to_owned(),
            intercepts: self.w.row(0).to_owned(),
            kkt_residual: kkt,
            converged: kkt <= tolerance,
        }
    }

    /// p_c of every row.
    fn probability(&self, class: usize) -> Array1<f64> {
        (&self.logits.column(class) - &self.log_sum).mapv(f64::exp)
    }

    /// Xᵀ(onehot_c − p_c)/n.
    fn gradient(&self, class: usize, probability: ArrayView1<'_, f64>) -> Array1<f64> {
        let residual = &self.problem.onehot.column(class) - &probability;
        self.problem.x.t().dot(&residual) / self.problem.x.nrows() as f64
    }

    fn kkt(&self, penalty: Penalty, strength: &[f64]) -> f64 {
        let mut worst: f64 = 0.0;
        for class in 0..self.w.ncols() {
            let gradient = self.gradient(class, self.probability(class).view());
            for (k, &g) in gradient.indexed_iter() {
                worst = worst.max(violation(penalty, self.w[[k, class]], g, strength[k]));
            }
        }
        worst
    }

    /// One quadratic model in the weights of one class, and a step to its minimum or part of the way.
    fn improve(&mut self, penalty: Penalty, class: usize, strength: &[f64], tolerance: f64) {
        let p = self.problem;
        let probability = self.probability(class);
        let mut gradient = self.gradient(class, probability.view());
        let newton = penalty == Penalty::Lasso;
        let model = if newton { weighted_gram(p.x.view(), &probability) } else { p.bound.clone() };
        let old = self.w.column(class).to_owned();
        let mut new = old.to_vec();
        let slope_before = gradient.clone();
        let slice = gradient.as_slice_mut().expect("a fresh array is contiguous");
        descend(model.view(), slice, &mut new, penalty, strength, tolerance, 1000);
        let direction = Array1::from(new) - &old;
        if direction.iter().all(|d| *d == 0.0) {
            return;
        }
        let shift = p.x.dot(&direction);
        let value = |w: &Array1<f64>| w.iter().zip(strength).map(|(&w, &s)| penalty.value(w, s)).sum::<f64>();
        let before = value(&old);
        // What the model promises to first order; a step must keep a fair part of it.
        let promise = -slope_before.dot(&direction) + value(&(&old + &direction)) - before;
        // This close to the optimum the change drowns in rounding, and a Newton step needs no check.
        let unchecked = !newton || promise.abs() < NEGLIGIBLE;
        let mut step = 1.0;
        for _ in 0..MAX_HALVINGS {
            let moved = &old + &(step * &direction);
            let change = self.loss_change(class, &shift, step) + value(&moved) - before;
            if unchecked || change <= 0.1 * step * promise {
                self.accept(class, moved, &shift, step);
                return;
            }
            step *= 0.5;
        }
    }

    /// The change of the mean loss if the class's logits moved by `step · shift`.
    fn loss_change(&self, class: usize, shift: &Array1<f64>, step: f64) -> f64 {
        let rows = shift.indexed_iter().map(|(i, &s)| {
            let p = (self.logits[[i, class]] - self.log_sum[i]).exp();
            (p * (step * s).exp_m1()).ln_1p() - self.problem.onehot[[i, class]] * step * s
        });
        rows.sum::<f64>() / shift.len() as f64
    }

    fn accept(&mut self, class: usize, w: Array1<f64>, shift: &Array1<f64>, step: f64) {
        self.w.column_mut(class).assign(&w);
        for (i, &s) in shift.indexed_iter() {
            let p = (self.logits[[i, class]] - self.log_sum[i]).exp();
            self.log_sum[i] += (p * (step * s).exp_m1()).ln_1p();
            self.logits[[i, class]] += step * s;
        }
    }
}

/// Xᵀ diag(p(1 − p)) X / n.
fn weighted_gram(x: ArrayView2<'_, f64>, probability: &Array1<f64>) -> Array2<f64> {
    let root = probability.mapv(|p| (p * (1.0 - p)).max(LEAST_WEIGHT).sqrt());
    let scaled = &x * &root.insert_axis(Axis(1));
    gram(scaled.view()) / x.nrows() as f64
}
