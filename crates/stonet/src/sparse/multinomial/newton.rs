//! The Newton model of the multinomial Lasso, all classes coupled, minimised class by class.
//!
//! The Hessian is `Σ_i (diag p_i − p_i p_iᵀ) ⊗ x_i x_iᵀ / n`. For a class only the rows that it has a part in matter,
//! few of them where there are many classes, and only the columns in use, so its part of the inputs is gathered once
//! per model. A visit to a class then costs two products with that part and no exponentials.

use ndarray::{Array1, Array2};

use super::conjugate;
use super::state::{Aim, State};
use crate::linalg::dense::gram;
use crate::linalg::elementwise::{axpy, axpy_single, dot_single};
use crate::network::Penalty;
use crate::sparse::coordinate::{descend, violation};

/// Rows whose p(1 − p) is below this part of its mean are left out of a class's model; together they weigh less than
/// this.
const NEGLIGIBLE_PART: f64 = 0.01;
/// Curvature per unit of XᵀX/n that every class has at least: a step must not run away where every row is certain.
const LEAST_WEIGHT: f64 = 1e-6;
/// Rounds over the classes per model.
const MAX_ROUNDS: usize = 500;
/// Rounds before conjugate gradients are tried (again).
const ROUNDS_BETWEEN: usize = 5;
/// Sweeps of coordinate descent per visit.
const MAX_SWEEPS: usize = 100;

/// One class's part of the model.
pub(super) struct Block {
    class: usize,
    /// Columns in use.
    columns: Vec<usize>,
    /// Rows that matter, and p there.
    rows: Vec<usize>,
    p: Vec<f64>,
    /// The inputs of these, columns first. Products with them wait for memory, and a model of the loss needs no more
    /// than seven digits.
    x: Array2<f32>,
    /// The Hessian in this class's weights.
    pub hessian: Array2<f64>,
    /// λ_k, the gradient and the weights where the model touches the loss.
    pub strength: Vec<f64>,
    gradient: Vec<f64>,
    start: Vec<f64>,
    /// The weights, and how they move the logits of the rows.
    pub w: Vec<f64>,
    shift: Vec<f64>,
}

/// The model at a state.
pub(super) struct Model {
    pub blocks: Vec<Block>,
    w: Array2<f64>,
    /// Σ_c p_c shift_c of every row.
    mean_shift: Array1<f64>,
}

impl Model {
    pub(super) fn new(state: &State, aim: &Aim<'_>) -> Self {
        let blocks = (0..state.w.nrows()).map(|class| Block::new(state, class, aim.strength)).collect();
        Model { blocks, w: state.w.clone(), mean_shift: Array1::zeros(state.problem.rows()) }
    }

    /// The weights at the model's minimum.
    pub(super) fn minimise(mut self, aim: &Aim<'_>) -> Array2<f64> {
        for round in 1..=MAX_ROUNDS {
            let visits = self.blocks.iter_mut().map(|block| block.visit(&mut self.mean_shift, aim.tolerance));
            let worst = visits.fold(0.0, f64::max);
            if worst <= aim.tolerance {
                break;
            }
            if round % ROUNDS_BETWEEN == 0 {
                conjugate::improve(&mut self, (0.1 * worst).max(0.3 * aim.tolerance));
            }
        }
        for block in &self.blocks {
            block.columns.iter().zip(&block.w).for_each(|(&k, &w)| self.w[[block.class, k]] = w);
        }
        self.w
    }

    /// The model's value at its weights, and minus its gradient there without the penalty; the logits' shifts are
    /// brought up to date.
    pub(super) fn value(&mut self) -> (f64, Vec<Vec<f64>>) {
        let moved: Vec<Vec<f64>> = self.blocks.iter().map(Block::moved).collect();
        self.mean_shift.fill(0.0);
        for (block, moved) in self.blocks.iter_mut().zip(&moved) {
            block.shift = block.shift_by(moved);
            block.add_mean(&mut self.mean_shift, &block.shift);
        }
        let each = self.blocks.iter().zip(&moved);
        let curved: Vec<Vec<f64>> = each.map(|(b, d)| b.curvature(d, &b.shift, &self.mean_shift, false)).collect();
        let mut value = 0.0;
        let mut gradient = curved;
        for ((block, d), g) in self.blocks.iter().zip(&moved).zip(&mut gradient) {
            for (k, g) in g.iter_mut().enumerate() {
                value += d[k] * (0.5 * *g - block.gradient[k]) + block.strength[k] * block.w[k].abs();
                *g = block.gradient[k] - *g;
            }
        }
        (value, gradient)
    }

    /// The Hessian times a direction.
    pub(super) fn curvature(&self, direction: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut mean = Array1::zeros(self.mean_shift.len());
        let shifts: Vec<Vec<f64>> = self.blocks.iter().zip(direction).map(|(b, d)| b.shift_by(d)).collect();
        self.blocks.iter().zip(&shifts).for_each(|(b, shift)| b.add_mean(&mut mean, shift));
        let each = self.blocks.iter().zip(direction).zip(&shifts);
        each.map(|((b, d), shift)| b.curvature(d, shift, &mean, true)).collect()
    }
}

impl Block {
    fn new(state: &State, class: usize, strength: &[f64]) -> Self {
        let n = state.problem.rows() as f64;
        let columns = state.active(class, strength);
        let p = state.probability.row(class);
        let weight = p.mapv(|p| p * (1.0 - p));
        let least = NEGLIGIBLE_PART * weight.sum() / n;
        let rows: Vec<usize> = (0..weight.len()).filter(|&i| weight[i] > least).collect();
        let left_out: f64 = weight.iter().filter(|w| **w <= least).sum();
        let mut x = Array2::zeros((columns.len(), rows.len()));
        for (mut out, &k) in x.outer_iter_mut().zip(&columns) {
            let column = state.problem.columns.row(k);
            out.iter_mut().zip(&rows).for_each(|(out, &i)| *out = column[i] as f32);
        }
        let root: Array1<f64> = rows.iter().map(|&i| weight[i].sqrt()).collect();
        let mut hessian = gram((x.mapv(f64::from) * &root).t()) / n;
        hessian.scaled_add((left_out / n).max(LEAST_WEIGHT), &state.problem.gram_of(&columns));
        let start: Vec<f64> = columns.iter().map(|&k| state.w[[class, k]]).collect();
        Block {
            class,
            p: rows.iter().map(|&i| p[i]).collect(),
            x,
            hessian,
            strength: columns.iter().map(|&k| strength[k]).collect(),
            gradient: columns.iter().map(|&k| state.gradient[[class, k]]).collect(),
            w: start.clone(),
            start,
            shift: vec![0.0; rows.len()],
            columns,
            rows,
        }
    }

    /// How far the weights are from where the model started.
    fn moved(&self) -> Vec<f64> {
        self.w.iter().zip(&self.start).map(|(w, start)| w - start).collect()
    }

    /// How a change of the weights moves the rows' logits.
    fn shift_by(&self, direction: &[f64]) -> Vec<f64> {
        let mut shift = vec![0.0; self.rows.len()];
        for (x, &d) in self.x.outer_iter().zip(direction).filter(|(_, d)| **d != 0.0) {
            axpy_single(&mut shift, d, x.to_slice().expect("a fresh array is contiguous"));
        }
        shift
    }

    fn add_mean(&self, mean: &mut Array1<f64>, shift: &[f64]) {
        self.rows.iter().zip(&self.p).zip(shift).for_each(|((&i, &p), &s)| mean[i] += p * s);
    }

    /// This class's part of the Hessian times a direction that shifts its rows by `shift` and, with all classes', the
    /// mean by `mean`; where the direction is 0 it is left out on request.
    fn curvature(&self, direction: &[f64], shift: &[f64], mean: &Array1<f64>, on_support: bool) -> Vec<f64> {
        let n = mean.len() as f64;
        let each = self.rows.iter().zip(&self.p).zip(shift);
        let others: Vec<f64> = each.map(|((&i, &p), &s)| -p * (mean[i] - p * s) / n).collect();
        let mut out = vec![0.0; direction.len()];
        for (k, x) in self.x.outer_iter().enumerate() {
            if !on_support || direction[k] != 0.0 {
                dot_single(&mut out[k], x.to_slice().expect("a fresh array is contiguous"), &others);
            }
        }
        for (row, &d) in self.hessian.outer_iter().zip(direction).filter(|(_, d)| **d != 0.0) {
            axpy(&mut out, d, row.to_slice().expect("a Gram matrix is stored by rows"));
        }
        out
    }

    /// Minimises over this class's weights, the others' held; returns the violation of optimality that it found.
    fn visit(&mut self, mean_shift: &mut Array1<f64>, tolerance: f64) -> f64 {
        let curved = self.curvature(&self.moved(), &self.shift, mean_shift, false);
        let mut gradient: Vec<f64> = self.gradient.iter().zip(&curved).map(|(g, h)| g - h).collect();
        let each = self.w.iter().zip(&gradient).zip(&self.strength);
        let worst = each.map(|((&w, &g), &s)| violation(Penalty::Lasso, w, g, s)).fold(0.0, f64::max);
        if worst <= tolerance {
            return worst;
        }
        let enough = (0.1 * worst).max(0.3 * tolerance);
        descend(self.hessian.view(), &mut gradient, &mut self.w, Penalty::Lasso, &self.strength, enough, MAX_SWEEPS);
        let shift = self.shift_by(&self.moved());
        let change: Vec<f64> = shift.iter().zip(&self.shift).map(|(new, old)| new - old).collect();
        self.add_mean(mean_shift, &change);
        self.shift = shift;
        worst
    }
}
