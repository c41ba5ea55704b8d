//! Limited-memory BFGS for smooth convex functions of many variables.

use ndarray::Array1;

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;
/// A step must keep this part of the decrease that the slope promises.
const SUFFICIENT: f64 = 1e-4;
/// Halvings of a step before the function is taken to be as small as rounding lets it be.
const MAX_HALVINGS: usize = 40;

/// Where the search ended.
pub(crate) struct Minimum {
    pub x: Array1<f64>,
    /// The largest entry of the gradient.
    pub gradient: f64,
}

/// Walks down from `x` until no entry of the gradient exceeds `tolerance`, rounding stops it, or after `iterations`
/// steps. `f` returns the value and the gradient; `precondition` applies a rough inverse of the Hessian, whose scale
/// does not matter.
pub(crate) fn minimise(
    f: impl Fn(&Array1<f64>) -> (f64, Array1<f64>),
    precondition: impl Fn(&Array1<f64>) -> Array1<f64>,
    mut x: Array1<f64>,
    tolerance: f64,
    iterations: usize,
) -> Minimum {
    let (mut value, mut gradient) = f(&x);
    let mut memory: Vec<(Array1<f64>, Array1<f64>, f64)> = Vec::new();
    for _ in 0..iterations {
        if largest(&gradient) <= tolerance {
            break;
        }
        let mut direction = -two_loops(&memory, &gradient, &precondition);
        let mut slope = gradient.dot(&direction);
        if slope >= 0.0 || !slope.is_finite() {
            memory.clear();
            direction = -precondition(&gradient);
            slope = gradient.dot(&direction);
        }
        // Without memory the scale is unknown: a first step of length one at most.
        let mut step = if memory.is_empty() { (1.0 / direction.dot(&direction).sqrt()).min(1.0) } else { 1.0 };
        let mut accepted = None;
        for _ in 0..MAX_HALVINGS {
            let there = &x + &(step * &direction);
            let (v, g) = f(&there);
            if v <= value + SUFFICIENT * step * slope {
                accepted = Some((there, v, g));
                break;
            }
            step *= 0.5;
        }
        let Some((there, v, g)) = accepted else { break };
        let (moved, change) = (&there - &x, &g - &gradient);
        let curvature = moved.dot(&change);
        if curvature > 1e-12 * moved.dot(&moved).sqrt() * change.dot(&change).sqrt() {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push((moved, change, 1.0 / curvature));
        }
        (x, value, gradient) = (there, v, g);
    }
    Minimum { gradient: largest(&gradient), x }
}

fn largest(v: &Array1<f64>) -> f64 {
    v.fold(0.0, |a, g| a.max(g.abs()))
}

/// The approximate inverse Hessian times the gradient.
fn two_loops(
    memory: &[(Array1<f64>, Array1<f64>, f64)],
    gradient: &Array1<f64>,
    precondition: impl Fn(&Array1<f64>) -> Array1<f64>,
) -> Array1<f64> {
    let mut q = gradient.clone();
    let mut alphas = Vec::with_capacity(memory.len());
    for (s, y, rho) in memory.iter().rev() {
        let alpha = rho * s.dot(&q);
        q.scaled_add(-alpha, y);
        alphas.push(alpha);
    }
    q = precondition(&q);
    if let Some((_, y, rho)) = memory.last() {
        q *= 1.0 / (rho * y.dot(&precondition(y)));
    }
    for ((s, y, rho), alpha) in memory.iter().zip(alphas.into_iter().rev()) {
        let beta = rho * y.dot(&q);
        q.scaled_add(alpha - beta, s);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn an_ill_conditioned_convex_function_is_minimised() {
        let scale = array![1.0, 1e3, 1e-2];
        let centre = array![2.0, -1.0, 5.0];
        // log cosh: quadratic near the minimum, linear far away.
        let f = |x: &Array1<f64>| {
            let d = x - &centre;
            (scale.dot(&d.mapv(|d| d.cosh().ln())), &scale * &d.mapv(f64::tanh))
        };
        let found = minimise(f, Array1::clone, array![0.0, 0.0, 0.0], 1e-7, 1000);
        assert!(found.gradient <= 1e-7);
        assert!((&found.x - &centre).iter().all(|d| d.abs() < 1e-4), "{}", found.x);
    }

    #[test]
    fn a_function_without_minimum_ends_after_the_iterations() {
        let found = minimise(|x| ((-x[0]).exp(), array![-(-x[0]).exp()]), Array1::clone, array![0.0], 0.0, 25);
        assert!(found.x[0] > 3.0 && found.x[0].is_finite());
    }
}
