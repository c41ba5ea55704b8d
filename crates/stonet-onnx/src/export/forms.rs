//! Quadratic forms, and symmetric matrices per row, as Eve's law carries them from layer to layer.

use stonet::score::{Form, Node, Sparse};

use super::lowering::Lowering;
use crate::Result;
use crate::graph::{Graph, Tensor};

impl Lowering<'_> {
    /// Quadratic forms of the columns of a value, side by side.
    pub(super) fn quadratic(&mut self, of: Node, forms: &[Form]) -> Result<Tensor> {
        let mut parts = Vec::new();
        for form in forms {
            parts.push(match form.support.is_empty() {
                true => self.constant(&[form.constant]),
                false => {
                    let a = self.value(of)?;
                    one_form(&mut self.graph, a, form)
                }
            });
        }
        Ok(self.graph.beside(&parts))
    }

    /// D Σ D, in n² columns as Σ is.
    pub(super) fn sandwich(&mut self, of: Node, slopes: Node) -> Result<Tensor> {
        let n = self.width(slopes);
        let (sigma, slopes) = (self.value(of)?, self.value(slopes)?);
        let down: Vec<usize> = (0..n * n).map(|i| i / n).collect();
        let across: Vec<usize> = (0..n * n).map(|i| i % n).collect();
        let (down, across) = (self.graph.columns(slopes, &down), self.graph.columns(slopes, &across));
        let half = self.graph.op("Mul", &[sigma, down]);
        Ok(self.graph.op("Mul", &[half, across]))
    }

    /// W M Wᵀ + diag(own), in u² columns.
    pub(super) fn congruence(&mut self, of: Node, diagonal: bool, weights: &Sparse, own: Node) -> Result<Tensor> {
        let (units, own) = (weights.len(), self.value(own)?);
        let graph = &mut self.graph;
        let unit = graph.floats(&[units, units], (0..units * units).map(|i| f64::from(u8::from(i % (units + 1) == 0))));
        let column = reshaped(graph, own, &[units, 1]);
        let mut sum = graph.op("Mul", &[column, unit]);
        // Without entries, nothing is carried, and M may have no columns at all.
        if weights.rows().any(|(_, entries)| !entries.is_empty()) {
            let n = if diagonal { self.width(of) } else { self.width(of).isqrt() };
            let (m, weight) = (self.value(of)?, dense(weights, n));
            let graph = &mut self.graph;
            let w = graph.floats(&[units, n], weight.iter().copied());
            let wm = if diagonal {
                let across = reshaped(graph, m, &[1, n]);
                graph.op("Mul", &[across, w])
            } else {
                let square = reshaped(graph, m, &[n, n]);
                graph.op("MatMul", &[w, square])
            };
            let turned = graph.floats(&[n, units], (0..n * units).map(|i| weight[i % units * n + i / units]));
            let carried = graph.op("MatMul", &[wm, turned]);
            sum = graph.op("Add", &[carried, sum]);
        }
        Ok(reshaped(&mut self.graph, sum, &[units * units]))
    }
}

/// (a − mean)ᵀ H (a − mean) + constant, as one column.
fn one_form(graph: &mut Graph, a: Tensor, form: &Form) -> Tensor {
    let q = form.support.len();
    let chosen = graph.columns(a, &form.support);
    let mean = graph.row(&form.mean);
    let d = graph.op("Sub", &[chosen, mean]);
    // The triangle holds what both halves add up to.
    let half = dense(&form.half, q);
    let both = graph.floats(&[q, q], (0..q * q).map(|i| 0.5 * (half[i] + half[i % q * q + i / q])));
    let turned = graph.op("MatMul", &[d, both]);
    let products = graph.op("Mul", &[turned, d]);
    let sum = graph.row_sums(products, q);
    graph.plus(sum, form.constant)
}

/// The weights of all combinations of so many columns, a row each.
pub(super) fn dense(weights: &Sparse, columns: usize) -> Vec<f64> {
    let mut all = vec![0.0; weights.len() * columns];
    for (i, (_, entries)) in weights.rows().enumerate() {
        entries.iter().for_each(|&(k, w)| all[i * columns + k] += w);
    }
    all
}

/// Another shape of what every row has.
fn reshaped(graph: &mut Graph, a: Tensor, shape: &[usize]) -> Tensor {
    let shape = graph.ints([-1].into_iter().chain(shape.iter().map(|&d| d as i64)));
    graph.op("Reshape", &[a, shape])
}
