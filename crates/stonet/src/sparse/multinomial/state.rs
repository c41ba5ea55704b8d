//! Where a multinomial regression stands: its weights, logits and gradient, and the passes that improve them.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip, s};

use super::newton::Model;
use super::problem::Problem;
use super::{MultinomialFit, SparseMultinomial};
use crate::linalg::dense::matmul;
use crate::linalg::elementwise::exp_below;
use crate::network::Penalty;
use crate::network::likelihood::log_sum_exp;
use crate::sparse::coordinate::{descend, violation};

/// A step that moves no logit by more than this needs no check: the curvature changes along it by less than a factor e,
/// and the model's minimum keeps more than a quarter of the decrease it promises.
const SAFE_SHIFT: f64 = 0.5;
/// A model is minimised to this part of the violation it starts from; the next one is better.
const INNER: f64 = 0.1;
/// Largest error of the intercepts that fit an offset alone, in units of a probability.
const CONSTANT_TOLERANCE: f64 = 1e-10;

/// Weights of one pass's model and how far they may be from its minimum.
pub(super) struct Aim<'a> {
    /// λ_k, the intercept's first.
    pub strength: &'a [f64],
    /// Largest violation of optimality left in the model.
    pub tolerance: f64,
}

/// The current solution; matrices are classes × (1 + p) or classes × n.
pub(super) struct State {
    pub problem: Problem,
    pub lambda_max: f64,
    pub w: Array2<f64>,
    logits: Array2<f64>,
    /// Class probabilities at the last call of `evaluate`.
    pub probability: Array2<f64>,
    /// log Σ exp of every row's logits, at the same time.
    log_sum: Array1<f64>,
    /// (onehot − p)X/n, at the same time.
    pub gradient: Array2<f64>,
}

impl State {
    /// At the solution for λ_max.
    pub(super) fn new(problem: Problem) -> Self {
        let (classes, width, n) = (problem.present.len(), problem.x.ncols(), problem.rows());
        let mut w = Array2::zeros((classes, width));
        w.column_mut(0).assign(&problem.base);
        let offset = problem.present_offset();
        let mut state = State {
            lambda_max: 0.0,
            w,
            logits: offset.unwrap_or_else(|| Array2::zeros((classes, n))),
            probability: Array2::zeros((classes, n)),
            log_sum: Array1::zeros(n),
            gradient: Array2::zeros((classes, width)),
            problem,
        };
        state.logits += &state.w.column(0).insert_axis(Axis(1));
        state.evaluate();
        if state.problem.offset.is_some() {
            let mut strength = vec![f64::MAX; width];
            strength[0] = 0.0;
            state.improve_until(Penalty::Lasso, &strength, CONSTANT_TOLERANCE, 100);
        }
        let largest = state.gradient.map_axis(Axis(0), |g| g.fold(0.0f64, |a, g| a.max(g.abs())));
        let penalised = largest.iter().zip(&state.problem.weights).filter(|(_, v)| **v > 0.0);
        state.lambda_max = penalised.map(|(g, v)| g / v).fold(0.0, f64::max);
        state
    }

    /// Moves to weights and intercepts given for all classes of the caller.
    pub(super) fn go_to(&mut self, weights: ArrayView2<'_, f64>, intercepts: ArrayView1<'_, f64>) {
        self.w.slice_mut(s![.., 1..]).assign(&weights.select(Axis(0), &self.problem.present));
        self.w.column_mut(0).assign(&intercepts.select(Axis(0), &self.problem.present));
        self.refresh();
    }

    /// Logits from the weights, so that rounding does not build up over the passes, and all that follows.
    fn refresh(&mut self) {
        self.logits = matmul(self.w.view(), self.problem.columns.view());
        if let Some(offset) = self.problem.present_offset() {
            self.logits += &offset;
        }
        self.evaluate();
    }

    /// Probabilities and gradient at the logits.
    fn evaluate(&mut self) {
        let n = self.problem.rows() as f64;
        let mut top = self.logits.row(0).to_owned();
        for z in self.logits.outer_iter() {
            Zip::from(&mut top).and(z).for_each(|t, &z| *t = if z > *t { z } else { *t });
        }
        let mut sum = Array1::<f64>::zeros(top.len());
        for (mut e, z) in self.probability.outer_iter_mut().zip(self.logits.outer_iter()) {
            let slices = (e.as_slice_mut(), z.as_slice(), top.as_slice());
            if let (Some(e), Some(z), Some(top)) = slices {
                exp_below(e, z, top);
            }
            sum += &e;
        }
        self.log_sum = &top + &sum.mapv(f64::ln);
        self.probability /= &sum;
        for (row, &class) in self.problem.labels.iter().enumerate() {
            self.probability[[class, row]] -= 1.0;
        }
        self.gradient = matmul(self.probability.view(), self.problem.x.view()) / -n;
        for (row, &class) in self.problem.labels.iter().enumerate() {
            self.probability[[class, row]] += 1.0;
        }
    }

    pub(super) fn solve(&mut self, settings: &SparseMultinomial, lambda: f64) -> MultinomialFit {
        let tolerance = settings.tolerance * self.lambda_max.max(lambda).max(f64::MIN_POSITIVE);
        let strength: Vec<f64> = self.problem.weights.iter().map(|v| lambda * v).collect();
        self.refresh();
        let kkt = self.improve_until(settings.penalty, &strength, tolerance, settings.max_passes);
        let mut coefficients = Array2::zeros((self.problem.classes, self.w.ncols() - 1));
        let mut intercepts = Array1::zeros(self.problem.classes);
        for (class, w) in self.problem.present.iter().zip(self.w.outer_iter()) {
            coefficients.row_mut(*class).assign(&w.slice(s![1..]));
            intercepts[*class] = w[0];
        }
        for class in (0..self.problem.classes).filter(|c| !self.problem.present.contains(c)) {
            intercepts[class] = self.intercept_of_half_a_row(class);
        }
        MultinomialFit { lambda, coefficients, intercepts, kkt_residual: kkt, converged: kkt <= tolerance }
    }

    /// b with Σ_i exp(b + o_i) / Σ_c exp(logit_ic) = ½ for a class without rows.
    fn intercept_of_half_a_row(&self, class: usize) -> f64 {
        let offset = |row: usize| self.problem.offset.as_ref().map_or(0.0, |o| o[[class, row]]);
        0.5f64.ln() - log_sum_exp(self.log_sum.indexed_iter().map(|(row, l)| offset(row) - l))
    }

    /// Passes until no violation of optimality is above the tolerance; returns the largest one.
    fn improve_until(&mut self, penalty: Penalty, strength: &[f64], tolerance: f64, max_passes: usize) -> f64 {
        let mut passes = 0;
        loop {
            let kkt = self.kkt(penalty, strength);
            if kkt <= tolerance || passes >= max_passes {
                return kkt;
            }
            passes += 1;
            match penalty {
                Penalty::Lasso => {
                    let aim = Aim { strength, tolerance: (INNER * kkt).max(0.5 * tolerance) };
                    let direction = Model::new(self, &aim).minimise(&aim) - &self.w;
                    self.move_safely(&direction, strength);
                }
                Penalty::Scad { .. } | Penalty::Mcp { .. } => {
                    let direction = self.bounded(penalty, strength, 0.1 * tolerance);
                    let shift = matmul(direction.view(), self.problem.columns.view());
                    self.accept(&direction, &shift, 1.0);
                }
            }
        }
    }

    fn kkt(&self, penalty: Penalty, strength: &[f64]) -> f64 {
        let of_class = |(w, g): (ArrayView1<'_, f64>, ArrayView1<'_, f64>)| {
            let each = w.into_iter().zip(g).zip(strength).map(|((&w, &g), &s)| violation(penalty, w, g, s));
            each.fold(0.0, f64::max)
        };
        self.w.outer_iter().zip(self.gradient.outer_iter()).map(of_class).fold(0.0, f64::max)
    }

    /// The columns of a class that are not zero or should not be.
    pub(super) fn active(&self, class: usize, strength: &[f64]) -> Vec<usize> {
        let (w, g) = (self.w.row(class), self.gradient.row(class));
        (0..w.len()).filter(|&k| w[k] != 0.0 || g[k].abs() > strength[k]).collect()
    }

    /// The step of every class to the minimum of its bound.
    fn bounded(&self, penalty: Penalty, strength: &[f64], tolerance: f64) -> Array2<f64> {
        let mut direction = Array2::zeros(self.w.dim());
        for class in 0..self.w.nrows() {
            let active = self.active(class, strength);
            let gram = 0.5 * self.problem.gram_of(&active);
            let mut gradient: Vec<f64> = active.iter().map(|&k| self.gradient[[class, k]]).collect();
            let mut w: Vec<f64> = active.iter().map(|&k| self.w[[class, k]]).collect();
            let limits: Vec<f64> = active.iter().map(|&k| strength[k]).collect();
            descend(gram.view(), &mut gradient, &mut w, penalty, &limits, tolerance, 1000);
            active.iter().zip(&w).for_each(|(&k, w)| direction[[class, k]] = w - self.w[[class, k]]);
        }
        direction
    }

    /// The whole step, or as much of it as keeps a fair part of the promised decrease of the Lasso.
    fn move_safely(&mut self, direction: &Array2<f64>, strength: &[f64]) {
        let shift = matmul(direction.view(), self.problem.columns.view());
        let largest = shift.fold(0.0f64, |a, s| a.max(s.abs()));
        let norm = |w: &Array2<f64>| (w.mapv(f64::abs).sum_axis(Axis(0)) * ArrayView1::from(strength)).sum();
        let before: f64 = norm(&self.w);
        let promise = norm(&(&self.w + direction)) - before - (&self.gradient * direction).sum();
        let mut step = 1.0;
        while step * largest > SAFE_SHIFT {
            let change = self.loss_change(&shift, step) + norm(&(&self.w + &(step * direction))) - before;
            if change <= 0.1 * step * promise {
                break;
            }
            step *= 0.5;
        }
        self.accept(direction, &shift, step);
    }

    /// The change of the mean loss if the logits moved by `step · shift`.
    fn loss_change(&self, shift: &Array2<f64>, step: f64) -> f64 {
        let mut mean = Array1::<f64>::zeros(shift.ncols());
        let mut e = vec![0.0; shift.ncols()];
        let top = shift.fold_axis(Axis(0), f64::NEG_INFINITY, |a, &s| a.max(step * s));
        for (p, s) in self.probability.outer_iter().zip(shift.outer_iter()) {
            let moved = step * &s;
            if let (Some(moved), Some(top)) = (moved.as_slice(), top.as_slice()) {
                exp_below(&mut e, moved, top);
            }
            mean += &(&p * &ArrayView1::from(&e));
        }
        let own: f64 = self.problem.labels.iter().enumerate().map(|(i, &c)| shift[[c, i]]).sum();
        let total: f64 = mean.iter().zip(&top).map(|(m, t)| m.ln() + t).sum();
        (total - step * own) / shift.ncols() as f64
    }

    fn accept(&mut self, direction: &Array2<f64>, shift: &Array2<f64>, step: f64) {
        self.w.scaled_add(step, direction);
        self.logits.scaled_add(step, shift);
        self.evaluate();
    }
}
