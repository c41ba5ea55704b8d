//! P(y ≤ t) as a graph: the share of scores at or below that of t, fold by fold, or the normal distribution function.
//!
//! More than 400 scores of a fold are replaced by 400, each the middle one of a block and counting for all of it.

use stonet::Side;
use stonet::score::{Node, Scores};

use super::lowering::Lowering;
use crate::Result;
use crate::graph::{Graph, Tensor};

/// Scores per fold that are kept.
const KEPT: usize = 400;

impl Lowering<'_> {
    /// (Σ of the mass of scores at or below that of t, + ½)/(n + 1); where rows have weights, (Σ + ½ w)/(Σ of all + w).
    pub(super) fn below(
        &mut self,
        folds: &[[Node; 3]],
        scores: &Scores,
        weight: Option<Node>,
        value: Node,
    ) -> Result<Tensor> {
        let t = self.value(value)?;
        let mut total = None;
        for (fold, (values, weights)) in folds.iter().zip(scores.deciding(Side::Upper)) {
            let [mean, above, below] = [self.value(fold[0])?, self.value(fold[1])?, self.value(fold[2])?];
            let (values, masses) = blocks(&values, &weights);
            if values.is_empty() {
                continue;
            }
            let mass = self.graph.mass_below(t, [mean, above, below], &values, &masses);
            total = Some(total.map_or(mass, |sum| self.graph.op("Add", &[sum, mass])));
        }
        let total = total.unwrap_or_else(|| self.constant(&[0.0]));
        if let Some(weight) = weight {
            let weight = self.value(weight)?;
            let half = self.graph.times(weight, 0.5);
            let (part, all) = (self.graph.op("Add", &[total, half]), self.graph.plus(weight, scores.mass()));
            return Ok(self.graph.op("Div", &[part, all]));
        }
        let shifted = self.graph.plus(total, 0.5);
        Ok(self.graph.times(shifted, 1.0 / (scores.units() as f64 + 1.0)))
    }

    /// Φ((t − μ)/s).
    pub(super) fn normal_below(&mut self, mean: Node, sd: Node, value: Node) -> Result<Tensor> {
        let [mean, sd, t] = [self.value(mean)?, self.value(sd)?, self.value(value)?];
        let apart = self.graph.op("Sub", &[t, mean]);
        let z = self.graph.op("Div", &[apart, sd]);
        let z = self.graph.times(z, std::f64::consts::FRAC_1_SQRT_2);
        let erf = self.graph.op("Erf", &[z]);
        let half = self.graph.times(erf, 0.5);
        Ok(self.graph.plus(half, 0.5))
    }

    /// 1 where t reaches the greatest value, 0 where it lies below the least one.
    pub(super) fn bounded(&mut self, of: Node, value: Node, low: f64, high: f64) -> Result<Tensor> {
        let (mut p, t) = (self.value(of)?, self.value(value)?);
        if low.is_finite() {
            let reached = self.graph.reaches(t, low);
            p = self.graph.op("Mul", &[p, reached]);
        }
        if high.is_finite() {
            let reached = self.graph.reaches(t, high);
            p = self.graph.op("Max", &[p, reached]);
        }
        Ok(p)
    }
}

impl Graph {
    /// 1 where t is at least so large, otherwise 0.
    fn reaches(&mut self, t: Tensor, least: f64) -> Tensor {
        let least = self.number(least);
        let reached = self.op("GreaterOrEqual", &[t, least]);
        let [reached] = self.call("Cast", &[reached], &[("to", crate::tensor::FLOAT)]);
        reached
    }

    /// The mass of scores at or below that of t, where μ and the scales above and below it are given.
    fn mass_below(&mut self, t: Tensor, [mean, above, below]: [Tensor; 3], scores: &[f64], masses: &[f64]) -> Tensor {
        let off = self.op("Sub", &[t, mean]);
        let zero = self.number(0.0);
        let negative = self.op("Less", &[off, zero]);
        let scale = self.op("Where", &[negative, below, above]);
        let score = self.op("Div", &[off, scale]);
        let scores = self.row(scores);
        let under = self.op("LessOrEqual", &[scores, score]);
        let [under] = self.call("Cast", &[under], &[("to", crate::tensor::FLOAT)]);
        let column = self.floats(&[masses.len(), 1], masses.iter().copied());
        self.op("MatMul", &[under, column])
    }
}

/// Ascending scores and their masses in at most [`KEPT`] blocks.
fn blocks(values: &[f64], weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = values.len().div_ceil(KEPT).max(1);
    let middle = |block: &[f64]| block[block.len() / 2];
    (values.chunks(size).map(middle).collect(), weights.chunks(size).map(|w| w.iter().sum()).collect())
}
