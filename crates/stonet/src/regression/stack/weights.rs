//! Weights of a stack: w ≥ 0 with Σw = 1 that minimise |y − Cw|², exactly, by trying every set of members.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::linalg::dense::{matmul, spd_inverse};

/// The minimiser over the simplex. `c` has one column per member, at most a dozen.
pub(crate) fn simplex(c: ArrayView2<'_, f64>, y: ArrayView1<'_, f64>) -> Array1<f64> {
    let members = c.ncols();
    let n = y.len().max(1) as f64;
    // With Σw = 1 the residual is Σ w_j (y − c_j): only these products are needed.
    let errors = -(&c - &y.insert_axis(ndarray::Axis(1)));
    let gram = matmul(errors.t(), errors.view()) / n;
    let value = |w: &Array1<f64>| w.dot(&gram.dot(w));
    let mut best: Option<(f64, Array1<f64>)> = None;
    for set in 1u32..1 << members {
        let chosen: Vec<usize> = (0..members).filter(|j| set >> j & 1 == 1).collect();
        let Some(w) = on_set(&gram, &chosen, members) else { continue };
        let v = value(&w);
        // Members that add nothing are left out: sets come in an order that meets fewer members first only by chance.
        if best.as_ref().is_none_or(|(b, _)| v < *b) {
            best = Some((v, w));
        }
    }
    best.map_or_else(|| Array1::from_elem(members, 1.0 / members as f64), |(_, w)| w)
}

/// The minimiser with Σw = 1 on a set, if it is not negative anywhere: G⁻¹1 / 1ᵀG⁻¹1.
fn on_set(gram: &Array2<f64>, chosen: &[usize], members: usize) -> Option<Array1<f64>> {
    let mut part = Array2::from_shape_fn((chosen.len(), chosen.len()), |(i, j)| gram[[chosen[i], chosen[j]]]);
    // Two members may agree everywhere.
    let scale = part.diag().sum() / chosen.len() as f64;
    part.diag_mut().mapv_inplace(|d| d + 1e-10 * scale.max(f64::MIN_POSITIVE));
    let raw = spd_inverse(part.view())?.sum_axis(ndarray::Axis(1));
    let total = raw.sum();
    let sound = total.is_finite() && total > 0.0 && raw.iter().all(|w| *w >= 0.0);
    let mut w = Array1::zeros(members);
    chosen.iter().zip(&raw).for_each(|(&j, r)| w[j] = r / total);
    sound.then_some(w)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use rand::RngExt;

    #[test]
    fn no_point_of_a_fine_grid_is_better() {
        let mut rng = Seed::new(2).rng();
        for _ in 0..20 {
            let c = Array2::from_shape_simple_fn((12, 3), || rng.random_range(-1.0..1.0));
            let y = Array1::from_shape_simple_fn(12, || rng.random_range(-1.0..1.0));
            let loss = |w: &Array1<f64>| (&y - &c.dot(w)).mapv(|e| e * e).sum();
            let w = simplex(c.view(), y.view());
            assert!((w.sum() - 1.0).abs() < 1e-12 && w.iter().all(|w| *w >= 0.0));
            for i in 0..=60 {
                for j in 0..=60 - i {
                    let other = Array1::from(vec![i as f64 / 60.0, j as f64 / 60.0, (60 - i - j) as f64 / 60.0]);
                    assert!(loss(&w) <= loss(&other) + 1e-7, "{w} {other}");
                }
            }
        }
    }

    #[test]
    fn twins_and_a_perfect_member_are_fine() {
        let y = Array1::from(vec![1.0, 2.0, 4.0]);
        let c = ndarray::stack![ndarray::Axis(1), y, y, Array1::zeros(3)];
        let w = simplex(c.view(), y.view());
        assert!((&c.dot(&w) - &y).iter().all(|e| e.abs() < 1e-6));
    }
}
