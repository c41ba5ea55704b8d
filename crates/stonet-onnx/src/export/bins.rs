//! Bounds that are looked up by bin as a graph: a row that single precision may put into either of two bins has the
//! lower of their lower bounds and the higher of their upper ones.

use stonet::score::{BinBounds, Node};

use super::lowering::Lowering;
use super::sets::{lowered, raised};
use crate::Result;
use crate::graph::{Graph, Tensor};

/// What pushes the bounds of other bins beyond all of the row's own.
const AWAY: f64 = 4.0;

impl Lowering<'_> {
    /// The lower and the upper bound of the bin that a number is in.
    pub(super) fn bin_bounds(&mut self, of: Node, bounds: &BinBounds) -> Result<Tensor> {
        let x = self.value(of)?;
        let graph = &mut self.graph;
        let reach = |bounds: &[f64]| bounds.iter().fold(1.0, |most: f64, b| most.max(b.abs()));
        let away = AWAY * reach(&bounds.lower).max(reach(&bounds.upper));
        // Nothing is below the first bin, and nothing above the last one.
        let most = f64::from(f32::MAX);
        let starts: Vec<f64> = [-most].into_iter().chain(bounds.ends.iter().map(|e| lowered(*e))).collect();
        let ends: Vec<f64> = bounds.ends.iter().map(|e| raised(*e)).chain([most]).collect();
        let (starts, ends) = (graph.row(&starts), graph.row(&ends));
        let (from, behind) = (graph.less(starts, x), graph.less(ends, x));
        let inside = graph.op("Sub", &[from, behind]);
        let outside = graph.times(inside, -away);
        let outside = graph.plus(outside, away);
        let (lower, upper) = (graph.row(&bounds.lower), graph.row(&bounds.upper));
        let lower = graph.op("Add", &[lower, outside]);
        let lower = graph.times(lower, -1.0);
        let lower = graph.largest(lower);
        let lower = graph.times(lower, -1.0);
        let upper = graph.op("Sub", &[upper, outside]);
        let upper = graph.largest(upper);
        Ok(graph.beside(&[lower, upper]))
    }
}

impl Graph {
    /// The largest column of every row.
    pub(super) fn largest(&mut self, x: Tensor) -> Tensor {
        let one = self.ints([1]);
        let [largest, _] = self.call("TopK", &[x, one], &[("axis", 1), ("largest", 1), ("sorted", 1)]);
        largest
    }
}
