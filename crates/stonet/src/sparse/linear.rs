//! Sparse linear regression: many responses, one design (`IROeq1` for a layer of linear neurons).
//!
//! Minimises `(1/2n) ‖Y − 1bᵀ − XWᵀ‖² + Σ_jk ρ_{λ v_k}(|w_jk|)`, the intercepts b free. Responses share the design and
//! its Gram matrix. Where the whole Gram matrix would cost more than it saves (few responses, few λ, many columns),
//! each response grows a working set of columns and the Gram matrix of those alone.

use ndarray::{Array1, Array2, ArrayView2, Axis, ShapeBuilder, Zip, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::coordinate::{check_curvature, check_settings, check_start, check_weights, descend, violation};
use crate::base::{Error, Result};
use crate::linalg::dense::{centred_gram, column_sums, matmul};
use crate::network::Penalty;
use crate::rows::dataset::check_finite;

/// Called between steps; its error ends the work.
type Check<'a> = &'a (dyn Fn() -> Result<()> + Sync);
/// Weights and the violation of optimality of one response at every λ.
type Path = Vec<(Array1<f64>, f64)>;

/// Where there are more columns than rows, the whole Gram matrix is only made of so many: three copies of it take 400
/// MB.
const WIDE: usize = 4096;

/// Which Gram matrix is formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Solver {
    /// Whichever should cost less.
    #[default]
    Auto,
    /// The whole one, shared by all responses and all λ.
    Gram,
    /// One per response, of the columns that matter.
    WorkingSet,
}

/// The regression and its settings; the value is its own configuration.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `penalty` | Lasso | shape of ρ | |
/// | `weights` | none | v_k, a factor of λ per column; 0 leaves a column free | ≥ 0 |
/// | `tolerance` | 1e-6 | largest violation of optimality, relative to λ_max | > 0 |
/// | `max_sweeps` | 10 000 | sweeps per response and λ before it is returned unconverged | ≥ 1 |
/// | `solver` | auto | which Gram matrix | |
///
/// ```
/// use ndarray::array;
/// use stonet::sparse::SparseLinear;
/// let x = array![[1.0, 0.1], [2.0, -0.2], [3.0, 0.1], [4.0, 0.0]];
/// let y = array![[1.1], [1.9], [3.2], [3.9]];
/// let fit = SparseLinear::default().fit(x.view(), y.view(), 0.1)?;
/// assert!(fit.coefficients[[0, 0]] > 0.8 && fit.coefficients[[0, 1]] == 0.0);
/// assert!(fit.converged);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseLinear {
    /// Shape of ρ.
    pub penalty: Penalty,
    /// v_k; all 1 if absent.
    pub weights: Option<Vec<f64>>,
    /// Largest violation of optimality, relative to λ_max.
    pub tolerance: f64,
    /// Sweeps per response and λ.
    pub max_sweeps: usize,
    /// Which Gram matrix.
    pub solver: Solver,
}

impl Default for SparseLinear {
    fn default() -> Self {
        let (penalty, solver) = (Penalty::Lasso, Solver::Auto);
        SparseLinear { penalty, weights: None, tolerance: 1e-6, max_sweeps: 10_000, solver }
    }
}

/// The solution at one λ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearFit {
    /// λ.
    pub lambda: f64,
    /// W, responses × columns.
    pub coefficients: Array2<f64>,
    /// The intercepts b.
    pub intercepts: Array1<f64>,
    /// The largest violation of the optimality conditions, in units of the gradient (those of λ).
    pub kkt_residual: f64,
    /// Whether it is within the tolerance.
    pub converged: bool,
}

impl LinearFit {
    /// 1bᵀ + XWᵀ.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if x.ncols() != self.coefficients.ncols() {
            return Err(Error::shape("input columns", self.coefficients.ncols(), x.ncols()));
        }
        Ok(matmul(x, self.coefficients.t()) + &self.intercepts)
    }
}

impl SparseLinear {
    /// The smallest λ at which every coefficient with a positive weight is zero (before free columns are fitted).
    pub fn lambda_max(&self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<f64> {
        Ok(self.problem(x, y, &[])?.lambda_max)
    }

    /// The solution at one λ.
    pub fn fit(&self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, lambda: f64) -> Result<LinearFit> {
        Ok(self.path(x, y, &[lambda])?.remove(0))
    }

    /// The solution at one λ, sought from `start` (responses × columns): the same for a Lasso, and sooner where the
    /// start is near; a concave penalty has several stationary points, and this finds one near the start.
    pub fn fit_from(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        lambda: f64,
        start: ArrayView2<'_, f64>,
    ) -> Result<LinearFit> {
        check_start(start, (y.ncols(), x.ncols()))?;
        Ok(self.solve(x, y, &[lambda], Some(start), &|| Ok(()))?.remove(0))
    }

    /// Solutions along a path of λ, each started from the one before it; descend for speed.
    pub fn path(&self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, lambdas: &[f64]) -> Result<Vec<LinearFit>> {
        self.solve(x, y, lambdas, None, &|| Ok(()))
    }

    /// The same; `check` is called before every λ of a response, and its error ends the path.
    pub(crate) fn watched_path(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        lambdas: &[f64],
        check: Check<'_>,
    ) -> Result<Vec<LinearFit>> {
        self.solve(x, y, lambdas, None, check)
    }

    fn solve(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        lambdas: &[f64],
        start: Option<ArrayView2<'_, f64>>,
        check: Check<'_>,
    ) -> Result<Vec<LinearFit>> {
        check()?;
        let problem = self.problem(x, y, lambdas)?;
        let from = |j: usize| start.map_or_else(|| Array1::zeros(x.ncols()), |w| w.row(j).to_owned());
        let per_response: Vec<Path> = if let Some(gram) = &problem.gram {
            check_curvature(self.penalty, gram.diag().iter().copied())?;
            let solve = |j| problem.response_by_gram(self, gram.view(), j, lambdas, from(j), check);
            (0..y.ncols()).into_par_iter().map(solve).collect::<Result<_>>()?
        } else {
            if self.penalty.concavity() > 0.0 {
                check_curvature(self.penalty, problem.curvature())?;
            }
            let solve = |j| problem.response_by_working_set(self, j, lambdas, from(j), check);
            (0..y.ncols()).into_par_iter().map(solve).collect::<Result<_>>()?
        };
        Ok((0..lambdas.len()).map(|i| problem.assemble(self, lambdas[i], i, &per_response)).collect())
    }

    /// A pass over the data reads n·p numbers from memory, three or so per response and λ; the Gram matrix takes n·p²/2
    /// multiplications out of cache, some sixty of which cost as much as one such read. Without a λ nothing is solved.
    /// A solution has no more non-zero weights than rows, so that far more columns than rows never need their whole
    /// Gram matrix.
    fn whole_gram(&self, (rows, columns): (usize, usize), responses: usize, lambdas: usize) -> Result<bool> {
        let fits = columns <= rows.max(WIDE);
        match self.solver {
            _ if lambdas == 0 => Ok(false),
            Solver::Gram if !fits => {
                let range = "auto or workingset for more columns than rows, above 4096 columns: their whole Gram matrix is too large";
                Err(Error::setting("solver", "gram", range))
            }
            Solver::Gram => Ok(true),
            Solver::WorkingSet => Ok(false),
            Solver::Auto => Ok(fits && columns <= 64 * lambdas * responses),
        }
    }

    fn problem<'a>(&self, x: ArrayView2<'a, f64>, y: ArrayView2<'_, f64>, lambdas: &[f64]) -> Result<Problem<'a>> {
        check_settings(self.penalty, self.tolerance, lambdas)?;
        if x.nrows() != y.nrows() {
            return Err(Error::shape("rows of the targets", x.nrows(), y.nrows()));
        }
        if x.nrows() == 0 {
            return Err(Error::TooFewRows { what: "a regression", needed: 1, found: 0, remedy: "add rows" });
        }
        let weights = check_weights(self.weights.as_deref(), x.ncols())?;
        let problem = Problem::new(x, y, weights, self.whole_gram(x.dim(), y.ncols(), lambdas.len())?);
        // NaN and infinities reach the sums, so that only then every entry has to be looked at.
        if !problem.x_mean.iter().chain(&problem.y_mean).all(|m| m.is_finite()) {
            check_finite("inputs", x)?;
            check_finite("targets", y)?;
        }
        Ok(problem)
    }
}

/// The data and what follows from them. Inputs stay where they are: against a centred residual they need no centring.
struct Problem<'a> {
    /// n × p.
    x: ArrayView2<'a, f64>,
    x_mean: Array1<f64>,
    /// n × q, centred; by columns where there is no whole Gram matrix.
    y: Array2<f64>,
    y_mean: Array1<f64>,
    /// XᵀY/n about the means, p × q, by columns.
    correlation: Array2<f64>,
    /// The whole Gram matrix about the means, over n, where it pays.
    gram: Option<Array2<f64>>,
    weights: Array1<f64>,
    lambda_max: f64,
}

impl<'a> Problem<'a> {
    fn new(x: ArrayView2<'a, f64>, y: ArrayView2<'_, f64>, weights: Array1<f64>, whole_gram: bool) -> Self {
        let n = x.nrows() as f64;
        let (x_mean, y_mean) = (column_sums(x) / n, column_sums(y) / n);
        let mut y = &y - &y_mean;
        let (correlation, gram) =
            rayon::join(|| matmul(y.t(), x).reversed_axes() / n, || whole_gram.then(|| centred_gram(x, &x_mean) / n));
        // Responses are looked at one by one where there is no Gram matrix.
        if !whole_gram {
            y = by_columns(y.view());
        }
        let penalised = correlation.outer_iter().zip(&weights).filter(|(_, v)| **v > 0.0);
        let lambda_max = penalised.map(|(r, v)| r.fold(0.0f64, |a, r| a.max(r.abs())) / v).fold(0.0, f64::max);
        Problem { x, x_mean, y, y_mean, correlation, gram, weights, lambda_max }
    }

    /// Diagonal of the Gram matrix.
    fn curvature(&self) -> impl Iterator<Item = f64> {
        let n = self.x.nrows() as f64;
        let mut squares = Array1::<f64>::zeros(self.x.ncols());
        for row in self.x.outer_iter() {
            Zip::from(&mut squares).and(row).and(&self.x_mean).for_each(|s, x, m| *s += (x - m) * (x - m) / n);
        }
        squares.into_iter()
    }

    fn tolerance(&self, settings: &SparseLinear, lambda: f64) -> f64 {
        // Above λ_max the gradient itself is the scale; a zero response has none.
        settings.tolerance * self.lambda_max.max(lambda).max(f64::MIN_POSITIVE)
    }

    fn response_by_gram(
        &self,
        settings: &SparseLinear,
        gram: ArrayView2<'_, f64>,
        j: usize,
        lambdas: &[f64],
        from: Array1<f64>,
        check: Check<'_>,
    ) -> Result<Path> {
        let mut gradient = self.correlation.column(j).to_vec();
        for (k, &w) in from.indexed_iter().filter(|(_, w)| **w != 0.0) {
            gradient.iter_mut().zip(gram.row(k)).for_each(|(g, c)| *g -= w * c);
        }
        let mut w = from.to_vec();
        let solve = |&lambda: &f64| {
            check()?;
            let strength: Vec<f64> = self.weights.iter().map(|v| lambda * v).collect();
            let tolerance = self.tolerance(settings, lambda);
            let d = descend(gram, &mut gradient, &mut w, settings.penalty, &strength, tolerance, settings.max_sweeps);
            Ok((Array1::from(w.clone()), d.kkt))
        };
        lambdas.iter().map(solve).collect()
    }

    fn response_by_working_set(
        &self,
        settings: &SparseLinear,
        j: usize,
        lambdas: &[f64],
        mut w: Array1<f64>,
        check: Check<'_>,
    ) -> Result<Path> {
        let mut set = WorkingSet::new(self);
        set.add(&(0..w.len()).filter(|&k| w[k] != 0.0).collect::<Vec<_>>());
        let solve = |&lambda: &f64| {
            check()?;
            let kkt = set.solve(settings, j, lambda, &mut w);
            Ok((w.clone(), kkt))
        };
        lambdas.iter().map(solve).collect()
    }

    fn assemble(&self, settings: &SparseLinear, lambda: f64, index: usize, per_response: &[Path]) -> LinearFit {
        let (q, p) = (self.y.ncols(), self.x.ncols());
        let mut coefficients = Array2::zeros((q, p));
        for (mut row, path) in coefficients.outer_iter_mut().zip(per_response) {
            row.assign(&path[index].0);
        }
        let intercepts = &self.y_mean - &coefficients.dot(&self.x_mean);
        let kkt_residual = per_response.iter().map(|path| path[index].1).fold(0.0, f64::max);
        let converged = kkt_residual <= self.tolerance(settings, lambda);
        LinearFit { lambda, coefficients, intercepts, kkt_residual, converged }
    }
}

fn by_columns(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut columns = Array2::zeros(a.raw_dim().f());
    columns.assign(&a);
    columns
}

/// The columns that have mattered so far, centred, and their Gram matrix.
struct WorkingSet<'p, 'x> {
    problem: &'p Problem<'x>,
    columns: Vec<usize>,
    /// n × |columns|, centred.
    x: Array2<f64>,
    gram: Array2<f64>,
}

impl<'p, 'x> WorkingSet<'p, 'x> {
    fn new(problem: &'p Problem<'x>) -> Self {
        let x = Array2::zeros((problem.x.nrows(), 0).f());
        WorkingSet { problem, columns: Vec::new(), x, gram: Array2::zeros((0, 0)) }
    }

    /// Solves for response `j` from `w`: alternately on the working set and over all columns, until none violates.
    fn solve(&mut self, settings: &SparseLinear, j: usize, lambda: f64, w: &mut Array1<f64>) -> f64 {
        let p = self.problem;
        let (penalty, tolerance) = (settings.penalty, p.tolerance(settings, lambda));
        let strength = |k: usize| lambda * p.weights[k];
        let mut rounds = 0;
        loop {
            let gradient = self.gradient(j, w);
            let violations: Vec<f64> =
                (0..w.len()).map(|k| violation(penalty, w[k], gradient[k], strength(k))).collect();
            let kkt = violations.iter().copied().fold(0.0, f64::max);
            if kkt <= tolerance || rounds >= settings.max_sweeps {
                return kkt;
            }
            rounds += 1;
            self.extend(&violations, tolerance);
            let pick = |f: &dyn Fn(usize) -> f64| self.columns.iter().map(|&k| f(k)).collect::<Vec<f64>>();
            let (mut w_here, mut gradient) = (pick(&|k| w[k]), pick(&|k| gradient[k]));
            let limits = pick(&strength);
            let gram = self.gram.view();
            descend(gram, &mut gradient, &mut w_here, penalty, &limits, 0.5 * tolerance, settings.max_sweeps);
            self.columns.iter().zip(&w_here).for_each(|(&k, &v)| w[k] = v);
        }
    }

    /// Xᵀ(y_j − Xw)/n over all columns: one pass over the inputs, none at the start, where w is zero.
    fn gradient(&self, j: usize, w: &Array1<f64>) -> Array1<f64> {
        let p = self.problem;
        if self.columns.is_empty() {
            return p.correlation.column(j).to_owned();
        }
        let here: Array1<f64> = self.columns.iter().map(|&k| w[k]).collect();
        let residual = &p.y.column(j) - &matmul(self.x.view(), here.view().insert_axis(Axis(1))).column(0);
        let gradient = matmul(p.x.t(), residual.view().insert_axis(Axis(1)));
        gradient.index_axis_move(Axis(1), 0) / p.x.nrows() as f64
    }

    /// Adds the worst violators, as many as there are columns already, and at least fifty.
    fn extend(&mut self, violations: &[f64], tolerance: f64) {
        let mut new: Vec<usize> =
            (0..violations.len()).filter(|k| violations[*k] > tolerance && !self.columns.contains(k)).collect();
        new.sort_by(|&a, &b| violations[b].total_cmp(&violations[a]));
        new.truncate(self.columns.len().max(50));
        self.add(&new);
    }

    fn add(&mut self, new: &[usize]) {
        if new.is_empty() {
            return;
        }
        let (old, p) = (self.columns.len(), self.problem);
        let fresh = by_columns((p.x.select(Axis(1), new) - p.x_mean.select(Axis(0), new)).view());
        self.columns.extend(new);
        let mut x = Array2::zeros((p.x.nrows(), self.columns.len()).f());
        x.slice_mut(s![.., ..old]).assign(&self.x);
        x.slice_mut(s![.., old..]).assign(&fresh);
        self.x = x;
        let cross = matmul(self.x.t(), fresh.view()) / p.x.nrows() as f64;
        let mut gram = Array2::zeros((self.columns.len(), self.columns.len()));
        gram.slice_mut(s![..old, ..old]).assign(&self.gram);
        gram.slice_mut(s![.., old..]).assign(&cross);
        gram.slice_mut(s![old.., ..]).assign(&cross.t());
        self.gram = gram;
    }
}
