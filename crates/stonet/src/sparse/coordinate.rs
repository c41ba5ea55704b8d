//! Coordinate descent on a quadratic with a separable penalty: the inner solver of every sparse regression.
//!
//! Minimises `½ wᵀGw − rᵀw + Σ_k ρ_{λ_k}(|w_k|)`, G positive semi-definite. The gradient `r − Gw` is kept up to date,
//! so one coordinate costs one row of G and a coordinate that stays at zero costs nothing.

use ndarray::{Array1, ArrayView2, Axis};

use crate::base::{Error, Result};
use crate::linalg::elementwise::axpy;
use crate::network::Penalty;

/// A solution's quality: how far it is from satisfying the optimality conditions, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Descent {
    /// The largest violation of the optimality (KKT) conditions, in units of the gradient.
    pub kkt: f64,
    /// Sweeps over the active coordinates.
    pub sweeps: usize,
}

/// How far coordinate k is from optimality: `gradient` = (r − Gw)_k, `lambda` = λ_k.
pub(crate) fn violation(penalty: Penalty, w: f64, gradient: f64, lambda: f64) -> f64 {
    if w == 0.0 {
        (gradient.abs() - lambda).max(0.0)
    } else {
        (gradient - penalty.derivative(w, lambda) * w.signum()).abs()
    }
}

/// Fails unless every λ, the tolerance and the penalty's shape are in range.
pub(crate) fn check_settings(penalty: Penalty, tolerance: f64, lambdas: &[f64]) -> Result<()> {
    for lambda in lambdas {
        Error::check(lambda.is_finite() && *lambda >= 0.0, "lambda", lambda, "finite and not negative")?;
    }
    Error::check(tolerance > 0.0 && tolerance.is_finite(), "tolerance", tolerance, "positive and finite")?;
    penalty.validate()
}

/// v_k, all 1 if absent.
pub(crate) fn check_weights(weights: Option<&[f64]>, columns: usize) -> Result<Array1<f64>> {
    let Some(w) = weights else { return Ok(Array1::ones(columns)) };
    if w.len() != columns {
        return Err(Error::shape("weights", columns, w.len()));
    }
    Error::check(w.iter().all(|v| v.is_finite() && *v >= 0.0), "weights", w, "finite and not negative")?;
    Ok(w.iter().copied().collect())
}

/// Fails unless a start has this shape and finite entries.
pub(crate) fn check_start(start: ArrayView2<'_, f64>, (responses, columns): (usize, usize)) -> Result<()> {
    if start.nrows() != responses {
        return Err(Error::shape("rows of the start, one per response", responses, start.nrows()));
    }
    if start.ncols() != columns {
        return Err(Error::shape("columns of the start", columns, start.ncols()));
    }
    crate::rows::dataset::check_finite("start", start)
}

/// Fails if some coordinate's curvature does not exceed the penalty's concavity: its minimiser would not be unique.
pub(crate) fn check_curvature(penalty: Penalty, curvature: impl Iterator<Item = f64>) -> Result<()> {
    let needed = penalty.concavity();
    for (column, c) in curvature.enumerate() {
        // A constant column has no curvature and no gradient; it stays at zero under every penalty.
        if c > 0.0 && c <= needed {
            return Err(Error::Curvature { column, curvature: c, concavity: needed });
        }
    }
    Ok(())
}

/// Descends from `w` until no coordinate violates optimality by more than `tolerance`, or `max_sweeps` are spent.
///
/// `gradient` must be r − Gw on entry and is so on return. Sweeps run over the non-zero coordinates and those that
/// violate optimality at zero; when they have settled, all coordinates are looked at again.
pub(crate) fn descend(
    gram: ArrayView2<'_, f64>,
    gradient: &mut [f64],
    w: &mut [f64],
    penalty: Penalty,
    lambda: &[f64],
    tolerance: f64,
    max_sweeps: usize,
) -> Descent {
    let worst = |w: &[f64], gradient: &[f64]| {
        (0..w.len()).map(|k| violation(penalty, w[k], gradient[k], lambda[k])).fold(0.0, f64::max)
    };
    let mut sweeps = 0;
    let mut active: Vec<usize> = Vec::with_capacity(w.len());
    loop {
        let kkt = worst(w, gradient);
        if kkt <= tolerance || sweeps >= max_sweeps {
            return Descent { kkt, sweeps };
        }
        active.clear();
        active.extend((0..w.len()).filter(|&k| w[k] != 0.0 || gradient[k].abs() > lambda[k]));
        // Changes fall geometrically; stopping at a tenth of the tolerance leaves room for their sum.
        while sweeps < max_sweeps {
            sweeps += 1;
            let moved = sweep(gram, gradient, w, penalty, lambda, &active);
            if moved <= 0.1 * tolerance {
                break;
            }
        }
    }
}

/// One pass over `active`; returns the largest change of a coordinate, in units of the gradient.
fn sweep(
    gram: ArrayView2<'_, f64>,
    gradient: &mut [f64],
    w: &mut [f64],
    penalty: Penalty,
    lambda: &[f64],
    active: &[usize],
) -> f64 {
    let mut largest: f64 = 0.0;
    for &k in active {
        let row = gram.index_axis(Axis(0), k);
        let c = row[k];
        if c <= 0.0 {
            continue;
        }
        let new = penalty.prox(w[k] + gradient[k] / c, c, lambda[k]);
        let delta = new - w[k];
        if delta != 0.0 {
            w[k] = new;
            let row = row.to_slice().expect("a Gram matrix is stored by rows");
            axpy(gradient, -delta, row);
            largest = largest.max(c * delta.abs());
        }
    }
    largest
}
