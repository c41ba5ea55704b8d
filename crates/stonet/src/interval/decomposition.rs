//! The parts of Eve's variance, layer by layer: whose weights make a prediction uncertain.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use super::{Estimate, LayerVariance};
use crate::Result;
use crate::linalg::dense::matmul;

impl Estimate {
    /// Per layer an n × outputs array: the part of the variance of μ that comes from Var(ŵ) of that layer.
    ///
    /// The recursion `varest` is linear in Σ̂_{i−1}, so what each layer adds can be carried to the output by itself. The product
    /// tr(Var(ŵ_ij) M) of two uncertainties counts for the lower of its layers. The parts add up to the diagonals of
    /// the covariance recursion; with [`Estimate::residual_variance`] they make the whole variance of a new response.
    pub fn layer_variances(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
        let f = self.network().preactivations(x)?;
        let per_row: Vec<Array2<f64>> = (0..x.nrows()).into_par_iter().map(|r| self.parts(x.row(r), &f, r)).collect();
        let layer = |i: usize| {
            let mut part = Array2::zeros((x.nrows(), self.network().outputs()));
            part.outer_iter_mut().zip(&per_row).for_each(|(mut to, row)| to.assign(&row.row(i)));
            part
        };
        Ok((0..self.network().layers().len()).map(layer).collect())
    }

    /// Layers × outputs at row `r`.
    fn parts(&self, z: ArrayView1<'_, f64>, f: &[Array2<f64>], r: usize) -> Array2<f64> {
        let net = self.network();
        let psi = net.activation();
        let mut sigmas = vec![own(&self.weight_variance()[0], z)];
        for (i, layer) in net.layers().iter().enumerate().skip(1) {
            let (below, variance) = (f[i - 1].row(r), &self.weight_variance()[i]);
            let slope = below.mapv(|y| psi.derivative(y));
            for sigma in &mut sigmas {
                let m = &*sigma * &slope * slope.view().insert_axis(Axis(1));
                let carried = matmul(matmul(layer.weight.view(), m.view()).view(), layer.weight.t());
                *sigma = carried + diagonal(variance, &|g| variance.grams()[g].trace(m.view()));
            }
            sigmas.push(own(variance, below.mapv(|y| psi.value(y)).view()));
        }
        let mut parts = Array2::zeros((sigmas.len(), net.outputs()));
        parts.outer_iter_mut().zip(&sigmas).for_each(|(mut part, sigma)| part.assign(&sigma.diag()));
        parts
    }
}

/// diag{ ãᵀ Var(ŵ_j) ã }.
fn own(variance: &LayerVariance, a: ArrayView1<'_, f64>) -> Array2<f64> {
    diagonal(variance, &|g| variance.grams()[g].leverage(a))
}

/// diag{ ς²_j of_gram(j) }; neurons that share a matrix share its value.
fn diagonal(variance: &LayerVariance, of_gram: &dyn Fn(usize) -> f64) -> Array2<f64> {
    let values: Vec<f64> = (0..variance.grams().len()).map(of_gram).collect();
    let diagonal: Array1<f64> = variance.neurons().iter().map(|&(g, noise)| noise * values[g]).collect();
    Array2::from_diag(&diagonal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::covariances;
    use crate::{Activation, Dataset, Refit, Seed, StoNet};
    use rand_distr::{Distribution, StandardNormal};

    fn estimate(widths: &[usize], noise: &[f64]) -> (Estimate, Dataset) {
        let mut draws = StandardNormal.sample_iter(Seed::new(4).rng());
        let mut next = || draws.next().unwrap();
        let x = Array2::from_shape_simple_fn((60, widths[0]), &mut next);
        let y = Array2::from_shape_simple_fn((60, widths[widths.len() - 1]), next);
        let data = Dataset::new(x, y).unwrap();
        let net = StoNet::random(widths, Activation::Tanh, Seed::new(9)).unwrap().with_noise_variances(noise).unwrap();
        let residual = vec![0.3; net.outputs()];
        (Estimate::new(&net, &data, Refit::Mls, residual).unwrap(), data)
    }

    #[test]
    fn the_parts_add_up_to_the_diagonal_of_the_covariances() {
        for (widths, noise) in [
            (vec![3, 4, 2], vec![1e-2, 1.0]),
            (vec![3, 5, 4, 2], vec![1e-2, 1e-1, 1.0]),
            (vec![2, 3, 3, 3, 1], vec![0.1, 0.2, 0.1, 1.0]),
        ] {
            let (estimate, data) = estimate(&widths, &noise);
            let parts = estimate.layer_variances(data.x()).unwrap();
            assert_eq!(parts.len(), widths.len() - 1);
            for (r, sigma) in covariances(&estimate, data.x()).iter().enumerate() {
                for (j, total) in sigma.diag().iter().enumerate() {
                    let sum: f64 = parts.iter().map(|p| p[[r, j]]).sum();
                    assert!((sum - total).abs() < 1e-10 * total, "row {r}, output {j}: {sum} for {total}");
                    assert!(parts.iter().all(|p| p[[r, j]] > 0.0));
                }
            }
        }
    }

    #[test]
    fn a_layer_without_noise_has_no_part() {
        let (estimate, data) = estimate(&[3, 4, 3, 1], &[1e-1, 1e-30, 1.0]);
        let parts = estimate.layer_variances(data.x()).unwrap();
        assert!(parts[1].iter().all(|v| *v < 1e-25));
        assert!(parts[0].iter().zip(&parts[2]).all(|(a, b)| *a > 1e-8 && *b > 1e-8));
    }
}
