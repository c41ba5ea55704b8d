//! Weights of a pool of probabilities: p = Σ w_m p_m with w ≥ 0 and Σw = 1 that maximises the likelihood of held-out
//! rows.
//!
//! The loss is convex in w and looks at nothing but the probabilities that the members gave to what happened. Newton's
//! quadratic model is minimised exactly over the simplex, as a stack's squared error is.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::linalg::dense::{matmul, spd_inverse};

const MAX_STEPS: usize = 200;
/// A promised decrease of the mean loss that is not worth a step.
const NEGLIGIBLE: f64 = 1e-12;
/// Ridge of Newton's matrix, relative to its trace: members may be the same.
const RIDGE: f64 = 1e-10;
/// A member that gives less than this to what happened is no worse for it.
const LEAST: f64 = 1e-12;

/// The weights; `given` has a row per held-out row and a column per member, at most a dozen: the probability of the
/// row's class.
pub(super) fn weights(given: ArrayView2<'_, f64>) -> Array1<f64> {
    let (n, m) = given.dim();
    let given = given.mapv(|p| p.max(LEAST));
    let loss = |w: &Array1<f64>| -given.dot(w).mapv(f64::ln).sum() / n as f64;
    let mut w = Array1::from_elem(m, 1.0 / m as f64);
    let mut value = loss(&w);
    for _ in 0..MAX_STEPS {
        let mixed = given.dot(&w).insert_axis(Axis(1));
        let ratio = &given / &mixed;
        let gradient = -ratio.mean_axis(Axis(0)).expect("at least one row");
        let hessian = matmul(ratio.t(), ratio.view()) / n as f64;
        let direction = on_simplex(&hessian, &(hessian.dot(&w) - &gradient)) - &w;
        let promise = gradient.dot(&direction);
        if promise > -NEGLIGIBLE {
            break;
        }
        let mut step = 1.0;
        let accepted = loop {
            let there = &w + &(step * &direction);
            let here = loss(&there);
            if here <= value + 0.1 * step * promise {
                break Some((there, here));
            }
            step *= 0.5;
            if step < 1e-9 {
                break None;
            }
        };
        let Some((there, here)) = accepted else { break };
        (w, value) = (there, here);
    }
    // Rounding leaves traces of members that have no part.
    w.mapv_inplace(|w| if w < 1e-6 { 0.0 } else { w });
    let sum = w.sum();
    w / sum
}

/// The minimiser of ½ vᵀHv − cᵀv over the simplex, by trying every set of members.
fn on_simplex(hessian: &Array2<f64>, c: &Array1<f64>) -> Array1<f64> {
    let m = c.len();
    let ridge = RIDGE * hessian.diag().sum().max(f64::MIN_POSITIVE);
    let mut best: Option<(f64, Array1<f64>)> = None;
    for set in 1u32..1 << m {
        let chosen: Vec<usize> = (0..m).filter(|j| set >> j & 1 == 1).collect();
        let mut part = Array2::from_shape_fn((chosen.len(), chosen.len()), |(a, b)| hessian[[chosen[a], chosen[b]]]);
        part.diag_mut().mapv_inplace(|d| d + ridge);
        let Some(inverse) = spd_inverse(part.view()) else { continue };
        // Stationary with Σv = 1: v = H⁻¹(c + μ1).
        let free = inverse.dot(&chosen.iter().map(|&j| c[j]).collect::<Array1<f64>>());
        let ones = inverse.sum_axis(Axis(1));
        let mu = (1.0 - free.sum()) / ones.sum();
        let solution = free + &(mu * &ones);
        if solution.iter().any(|&s| s.is_nan() || s < 0.0) {
            continue;
        }
        let mut v = Array1::zeros(m);
        chosen.iter().zip(&solution).for_each(|(&j, &s)| v[j] = s);
        let value = 0.5 * v.dot(&hessian.dot(&v)) - c.dot(&v);
        if best.as_ref().is_none_or(|(b, _)| value < *b) {
            best = Some((value, v));
        }
    }
    best.map_or_else(|| Array1::from_elem(m, 1.0 / m as f64), |(_, v)| v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use rand::RngExt;

    /// What three members give to the outcomes of coins whose chances are a mixture of the first two.
    fn coins(n: usize, share: f64) -> Array2<f64> {
        let mut rng = Seed::new(7).rng();
        let mut given = Array2::zeros((n, 3));
        for mut row in given.outer_iter_mut() {
            let chance: [f64; 3] = [(); 3].map(|()| rng.random_range(0.02..0.98));
            let heads = rng.random_bool(share * chance[0] + (1.0 - share) * chance[1]);
            row.iter_mut().zip(chance).for_each(|(p, c)| *p = if heads { c } else { 1.0 - c });
        }
        given
    }

    #[test]
    fn no_point_of_a_fine_grid_is_better() {
        let given = coins(400, 0.7);
        let loss = |w: &Array1<f64>| -given.dot(w).mapv(f64::ln).sum();
        let w = weights(given.view());
        let best = loss(&w);
        for i in 0..=100 {
            for j in 0..=100 - i {
                let (a, b) = (i as f64 / 100.0, j as f64 / 100.0);
                let other = Array1::from(vec![a, b, 1.0 - a - b]);
                assert!(loss(&other) >= best - 1e-8, "{w} against {other}");
            }
        }
    }

    #[test]
    fn the_mixture_is_found_and_twins_do_no_harm() {
        let given = coins(20_000, 0.7);
        let w = weights(given.view());
        // Var of (p_1 − p_2)/p is above ¼ here, so the standard error is below 2/√n.
        let tolerance = 4.5 * 2.0 / 20_000f64.sqrt();
        assert!((w[0] - 0.7).abs() < tolerance && w[2] < tolerance, "{w}");
        let twins = ndarray::concatenate![Axis(1), given, given.column(0).insert_axis(Axis(1))];
        let again = weights(twins.view());
        assert!((again[0] + again[3] - w[0]).abs() < 1e-4, "{again}");
        assert!((again.sum() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_member_that_is_certain_of_the_wrong_class_gets_no_weight_and_one_member_gets_all() {
        let mut given = Array2::from_elem((50, 2), 0.4);
        given.column_mut(1).fill(0.0);
        assert_eq!(weights(given.view()).to_vec(), [1.0, 0.0]);
        assert_eq!(weights(given.slice(ndarray::s![.., ..1])).to_vec(), [1.0]);
    }
}
