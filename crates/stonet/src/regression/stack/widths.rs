//! The logarithm of the learned scale as a sum of terms, a column each: what widens the intervals of a row.
//!
//! log s is linear in the clipped features, the prediction, its distance from the network's, the network's own width,
//! and products of components of the features, all centred at their means over the rows of the fit. So every term is 0
//! on average over these rows, and all of them add up to log s − mean of log s. A product P_a P_b of components is a sum
//! over pairs of features, and each feature of a pair takes half of it: the Shapley value of the feature. What is left is
//! what limits cut off: of products and of log s itself, which are kept within what the rows of the fit had.

use ndarray::Array2;

use super::lower::{Fold, Inputs};
use super::{FittedStack, FoldModel, ScaleModel};
use crate::score::{Builder, Clamp, Node, Op, Plan, Quantity, Sparse};
use crate::sparse::ridge::{Components, Ridge};

/// Terms behind those of the features: the prediction, the network's prediction, its own width, and limits; then the sum.
pub(crate) const BEHIND: usize = 5;

impl FittedStack {
    /// Whether the scale of any fold is learned, looks at the network's prediction, and looks at its own width.
    pub(crate) fn looks_at(&self) -> [bool; 3] {
        let of = |fold: &FoldModel| match &fold.scale {
            ScaleModel::Learned { network, own, .. } => [true, *network, own.is_some()],
            ScaleModel::Constant => [false; 3],
        };
        self.folds.iter().map(of).fold([false; 3], |a, b| [a[0] || b[0], a[1] || b[1], a[2] || b[2]])
    }

    /// Terms of log s, averaged over the folds: one per feature, then those of [`BEHIND`].
    pub(crate) fn widths_plan(&self, features: usize, targets: usize, target: usize) -> Plan {
        let (mut b, inputs) = (Builder::default(), Inputs { features, targets, target });
        let folds: Vec<Node> = self.folds.iter().map(|fold| terms(&mut b, inputs, fold)).collect();
        let share = 1.0 / folds.len() as f64;
        let mean = b.sum(folds.into_iter().map(|f| (share, f)).collect(), 0.0);
        for term in 0..features + BEHIND {
            b.output(Quantity::WidthTerm { target, term }, mean, term, true);
        }
        b.finish()
    }
}

/// The terms of one fold.
fn terms(b: &mut Builder, inputs: Inputs, model: &FoldModel) -> Node {
    // In double precision: nobody waits for this, and terms are compared with each other.
    let (mut fold, mean) = inputs.begin(b, model, false);
    let (ScaleModel::Learned { ridge, components, network, own, .. }, (Some(log), _)) =
        (&model.scale, fold.scale(b, &model.scale, mean))
    else {
        return b.constant(mean, &vec![0.0; inputs.features + BEHIND]);
    };
    let beside = fold.beside(b, &model.scale, mean);
    let first = inputs.features;
    let products = components.as_deref().map(|c| Products::of(c, ridge, first + beside.len()));
    let columns = of_columns(b, &mut fold, ridge, first, products.as_ref());
    let others = b.join(beside);
    let place = |i: usize| Clamp { column: i, ..ridge.clip().clamp(first + i) };
    let clamped = b.clamp(others, (0..b.width(others)).map(place).collect(), false);
    let weight = |i: usize| (i, ridge.coefficients()[first + i]);
    let own_place = 2 + usize::from(*network);
    let mut sparse = Sparse::default();
    sparse.push([weight(0), weight(1)], 0.0);
    sparse.push(network.then(|| weight(2)), 0.0);
    sparse.push(own.as_ref().map(|_| weight(own_place)), 0.0);
    let others = b.combine(clamped, sparse, false);
    let whole = b.sum(vec![(1.0, log)], -ridge.intercept());
    let known = [columns, others].map(|n| {
        let mut all = Sparse::default();
        all.push((0..b.width(n)).map(|i| (i, 1.0)), 0.0);
        b.combine(n, all, false)
    });
    let limits = b.sum(vec![(1.0, whole), (-1.0, known[0]), (-1.0, known[1])], 0.0);
    b.join(vec![columns, others, limits, whole])
}

/// What every feature adds, by itself and in products.
fn of_columns(
    b: &mut Builder,
    fold: &mut Fold,
    ridge: &Ridge,
    features: usize,
    products: Option<&Products<'_>>,
) -> Node {
    let z = fold.clamped(b, ridge.clip());
    let mut sparse = Sparse::default();
    for k in 0..features {
        let mean = products.map_or(0.0, |p| p.means[k]);
        sparse.push([(k, ridge.coefficients()[k])], -mean);
    }
    let alone = b.combine(z, sparse, false);
    let Some(products) = products else { return alone };
    let (z, of) = (fold.clamped(b, products.components.clip()), fold.components(b, products.components));
    let mut sparse = Sparse::default();
    products.slopes.outer_iter().for_each(|row| sparse.push(row.iter().copied().enumerate(), 0.0));
    let slopes = b.combine(of, sparse, false);
    let together = b.op(Op::Product(z, slopes));
    b.sum(vec![(1.0, alone), (1.0, together)], 0.0)
}

/// Σ_j c_j (P_a P_b − mean_j) over all pairs j = (a, b), by features.
struct Products<'a> {
    components: &'a Components,
    /// What z_k is multiplied by, per unit of each component: Wᵀ M with Pᵀ M P = Σ_j c_j P_a P_b.
    slopes: Array2<f64>,
    /// Each feature's part of Σ_j c_j mean_j: by its part in the variance of both components.
    means: Vec<f64>,
}

impl<'a> Products<'a> {
    /// Of the columns of a regression that begin at `first`.
    fn of(components: &'a Components, ridge: &Ridge, first: usize) -> Self {
        let weights = components.weights();
        let (count, features) = weights.dim();
        let parts: Vec<Vec<f64>> = weights
            .outer_iter()
            .map(|w| {
                let size = w.dot(&w).max(f64::MIN_POSITIVE);
                w.iter().map(|v| v * v / size).collect()
            })
            .collect();
        let (mut matrix, mut means) = (Array2::<f64>::zeros((count, count)), vec![0.0; features]);
        let pairs = (0..count).flat_map(|a| (a..count).map(move |b| (a, b)));
        for (j, (a, b)) in pairs.enumerate() {
            let clamp = ridge.clip().clamp(first + j);
            let slope = ridge.coefficients()[first + j] * clamp.scale;
            matrix[[a, b]] += 0.5 * slope;
            matrix[[b, a]] += 0.5 * slope;
            let half = 0.5 * slope * clamp.centre;
            means.iter_mut().zip(parts[a].iter().zip(&parts[b])).for_each(|(m, (p, q))| *m += half * (p + q));
        }
        Products { components, slopes: weights.t().dot(&matrix), means }
    }
}
