//! Effective degrees of freedom of a sparse network: the trace of its Gauss–Newton hat matrix.
//!
//! Near the estimate the fit behaves as a penalised linear regression on the Jacobian J of the predictions in the
//! non-zero weights and the biases. With the penalty's local quadratic form D = diag ρ′(|w|)/|w| (Fan & Li 2001) the
//! hat matrix is H = J (JᵀJ + nD)⁻¹ Jᵀ, and output j uses tr H_jj. Two units that do the same work count for one, which
//! the count of non-zero weights does not see. For the Lasso the local quadratic form counts too little (its exact
//! count in a linear model is the number of non-zero weights), for a network the number of non-zero weights counts far
//! too much.

use ndarray::{Array1, Array2, ArrayView2, s};

use crate::base::{Error, Result};
use crate::linalg::dense::{matmul, spd_inverse};
use crate::network::jacobian::{Pass, free_parameters};
use crate::network::{Penalty, StoNet};
use crate::rows::Dataset;

/// The largest dense matrix that is inverted: a few seconds. The Jacobian takes rows × parameters numbers beside it.
const MAX_ORDER: usize = 6000;
/// Curvature given to what has none (biases, flat penalties), relative to the mean square of the Jacobian: the matrices
/// stay invertible, and the smaller of the two equivalent forms can be used.
const FLOOR: f64 = 1e-9;

/// tr H_jj for every output j, at strengths κ_1 … κ_L of the penalty.
pub fn degrees_of_freedom(net: &StoNet, data: &Dataset, penalty: Penalty, kappa: &[f64]) -> Result<Vec<f64>> {
    if kappa.len() != net.layers().len() {
        return Err(Error::shape("kappa, one per layer", net.layers().len(), kappa.len()));
    }
    let net = net.compact();
    let (n, outputs) = (data.rows(), net.outputs());
    let parameters = free_parameters(&net);
    let order = parameters.min(n * outputs);
    if order > MAX_ORDER {
        return Err(Error::TooLarge { order, limit: MAX_ORDER });
    }
    let pass = Pass::new(&net, data.x())?;
    let jacobians: Vec<Array2<f64>> = (0..outputs).map(|j| pass.jacobian(j)).collect();
    let mean_square =
        jacobians.iter().map(|j| j.iter().map(|v| v * v).sum::<f64>()).sum::<f64>() / (n * outputs * parameters) as f64;
    let curvature = curvature(&net, penalty, kappa, FLOOR * mean_square) * n as f64;
    if parameters <= n * outputs { primal(&jacobians, &curvature) } else { dual(&jacobians, &curvature) }
}

/// tr(J_j (Σ JᵀJ + nD)⁻¹ J_jᵀ).
fn primal(jacobians: &[Array2<f64>], curvature: &Array1<f64>) -> Result<Vec<f64>> {
    let grams: Vec<Array2<f64>> = jacobians.iter().map(|j| matmul(j.t(), j.view())).collect();
    let mut total = Array2::from_diag(curvature);
    grams.iter().for_each(|g| total += g);
    let inverse = spd_inverse(total.view()).ok_or(Error::Singular)?;
    Ok(grams.iter().map(|g| (g * &inverse).sum()).collect())
}

/// The same by H = K (K + I)⁻¹ with K = J (nD)⁻¹ Jᵀ: tr H_jj = n − tr (K + I)⁻¹_jj.
fn dual(jacobians: &[Array2<f64>], curvature: &Array1<f64>) -> Result<Vec<f64>> {
    let views: Vec<ArrayView2<'_, f64>> = jacobians.iter().map(|j| j.view()).collect();
    let stacked = ndarray::concatenate(ndarray::Axis(0), &views).expect("equal parameter counts");
    let scaled = &stacked / &curvature.mapv(f64::sqrt);
    let total = matmul(scaled.view(), scaled.t()) + Array2::<f64>::eye(stacked.nrows());
    let inverse = spd_inverse(total.view()).ok_or(Error::Singular)?;
    let n = jacobians[0].nrows();
    Ok((0..jacobians.len()).map(|j| n as f64 - inverse.diag().slice(s![j * n..(j + 1) * n]).sum()).collect())
}

/// D over the free parameters, in the order of [`Pass::jacobian`].
fn curvature(net: &StoNet, penalty: Penalty, kappa: &[f64], floor: f64) -> Array1<f64> {
    let mut d = Vec::new();
    for (layer, &k) in net.layers().iter().zip(kappa) {
        for (row, _) in layer.weight.outer_iter().zip(&layer.bias) {
            let free = row.iter().filter(|&&w| w != 0.0);
            d.extend(free.map(|&w| (penalty.derivative(w, k) / w.abs()).max(floor)));
            d.push(floor);
        }
    }
    d.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::Activation;
    use rand_distr::{Distribution, StandardNormal};

    fn data(n: usize, p: usize, d: usize) -> Dataset {
        let mut draws = StandardNormal.sample_iter(Seed::new(2).rng());
        let mut next = || draws.next().unwrap();
        let x = Array2::from_shape_simple_fn((n, p), &mut next);
        Dataset::new(x, Array2::from_shape_simple_fn((n, d), next)).unwrap()
    }

    #[test]
    fn an_unpenalised_linear_regression_uses_p_plus_one() {
        let net = StoNet::random(&[6, 2], Activation::Tanh, Seed::new(1)).unwrap();
        for df in degrees_of_freedom(&net, &data(40, 6, 2), Penalty::Lasso, &[0.0]).unwrap() {
            assert!((df - 7.0).abs() < 1e-5, "{df}");
        }
    }

    #[test]
    fn both_forms_agree() {
        let net = StoNet::random(&[5, 9, 4, 2], Activation::Sigmoid, Seed::new(1)).unwrap();
        let d = data(60, 5, 2);
        let curvature = curvature(&net, Penalty::SCAD, &[0.01, 0.02, 0.03], FLOOR) * 60.0;
        let pass = Pass::new(&net, d.x()).unwrap();
        let j: Vec<_> = (0..2).map(|o| pass.jacobian(o)).collect();
        let (a, b) = (primal(&j, &curvature).unwrap(), dual(&j, &curvature).unwrap());
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
            assert!(*a > 1.0 && *a < 60.0);
        }
    }

    /// Σ cov(ŷ_i, y_i)/σ² of a Lasso over draws of the noise: the local quadratic form counts less, the non-zero
    /// weights exactly.
    #[test]
    fn the_count_lies_below_the_covariance_definition_for_a_linear_lasso() {
        let (n, p, lambda, draws) = (60, 10, 0.15, 1500);
        let x = data(n, p, 1).x().to_owned();
        let signal = x.dot(&Array1::from_shape_fn(p, |k| if k < 3 { 1.0 } else { 0.0 }));
        let mut noise = StandardNormal.sample_iter(Seed::new(5).rng());
        let (mut cov, mut square, mut counted, mut nonzero) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..draws {
            let e: Array1<f64> = (0..n).map(|_| noise.next().unwrap()).collect();
            let d = Dataset::single(x.clone(), &signal + &e).unwrap();
            let fit = crate::sparse::SparseLinear::default().fit(d.x(), d.y(), lambda).unwrap();
            let term = (fit.predict(d.x()).unwrap().column(0).to_owned() - &signal).dot(&e);
            cov += term / draws as f64;
            square += term * term / draws as f64;
            let layer = crate::network::Layer { weight: fit.coefficients, bias: fit.intercepts, noise_variance: 1.0 };
            let net = StoNet::new(vec![layer], Activation::Tanh, crate::network::Likelihood::Gaussian).unwrap();
            counted += degrees_of_freedom(&net, &d, Penalty::Lasso, &[lambda]).unwrap()[0] / draws as f64;
            nonzero += (net.nonzero_weights() + 1) as f64 / draws as f64;
        }
        let tolerance = 4.5 * ((square - cov * cov) / draws as f64).sqrt();
        assert!((nonzero - cov).abs() < tolerance, "{nonzero} non-zero, {cov} by covariance");
        assert!(counted < cov + tolerance && counted > 0.5 * cov, "{counted} counted, {cov} by covariance");
    }
}
