//! What a fit of a stack costs, piece by piece: progress and estimates of time build on it.

use super::{Members, Scheme, Stack};
use crate::base::Cost;

/// Nanoseconds of the members with a closed form: per row, feature and the lesser of their numbers, and per row.
const CLOSED: (f64, f64) = (0.22, 5_000.0);
/// The same of weights, scale and shape.
const SPREAD: (f64, f64) = (0.11, 15_000.0);

/// What is fitted on how many rows and features.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub members: Members,
    pub scheme: Scheme,
    pub rows: usize,
    pub features: usize,
    /// Whether rows depend on their neighbours, so that members with a closed form are fitted outside of every fold.
    pub ordered: bool,
}

impl Plan {
    /// The members with a closed form on so many rows, what a scale needs of them included.
    pub(super) fn closed(&self, rows: usize) -> Cost {
        self.quadratic(rows, CLOSED)
    }

    /// Scale and shape of the residuals of so many rows.
    pub(super) fn spread(&self, rows: usize) -> Cost {
        self.quadratic(rows, SPREAD)
    }

    fn quadratic(&self, rows: usize, (product, row): (f64, f64)) -> Cost {
        let (n, p) = (rows as f64, self.features as f64);
        Cost::of(product * n * p * n.min(p) + row * n)
    }

    /// The whole fit.
    pub(crate) fn cost(&self, stack: &Stack) -> Cost {
        let (stonet, k) = (stack.stonet.grown(self.rows), stack.folds);
        let nets = usize::from(self.members.stonet) + usize::from(self.members.skip);
        let paths = |rows: usize| stonet.cost(self.features, 1, rows) * nets;
        let fit = |rows: usize| paths(rows) + self.closed(rows);
        // StoNets that are kept have two starts.
        let kept = |rows: usize| paths(rows) + fit(rows);
        let folded = |rows: usize| paths(rows) + if self.ordered { self.closed(rows) } else { Cost::default() };
        let spread = |rows: usize| if stack.learned_scale { self.spread(rows) } else { Cost::default() };
        // Rows outside of so many folds.
        let outside = |rows: usize, folds: usize| rows * (k - folds.min(k)) / k;
        match self.scheme {
            Scheme::Nested => {
                let outer = outside(self.rows, 1);
                folded(outside(self.rows, 2)) * (k * (k - 1) / 2) + (kept(outer) + spread(outer)) * k
            }
            Scheme::Same => {
                let scale = if stack.learned_scale { self.closed(self.rows) } else { Cost::default() };
                fit(outside(self.rows, 1)) * k + scale + spread(self.rows)
            }
            Scheme::Split { share } => {
                let rows = (share * self.rows as f64) as usize;
                folded(outside(rows, 1)) * k + kept(rows) + spread(rows)
            }
        }
    }
}
