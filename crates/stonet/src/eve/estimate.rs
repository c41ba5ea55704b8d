//! The covariance of the output by Eve's law, layer by layer (`varest`, `first_layer_varest`, `fixedestS0`).
//!
//! ```text
//! Σ̂_1 = diag{ z̃ᵀ Var(ŵ_1j) z̃ }
//! Σ̂_i = diag{ tr(Var(ŵ_ij) M) + ψ̃ᵀ Var(ŵ_ij) ψ̃ } + ŵ_i M ŵ_iᵀ,      M = D_ψ′ Σ̂_{i−1} D_ψ′
//! ```
//! D9: the design is the forward pass and ς²_L the residual of the network itself. A refit on imputed latents would see
//! the response through them and report almost no noise.

use std::collections::HashMap;

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::base::{Error, Result};
use crate::network::{Likelihood, StoNet};
use crate::rows::Dataset;
use crate::sparse::Refit;
use crate::sparse::refit::InverseGram;
use crate::train::check_sizes;

/// Activations that vary less than this over the training rows are left out of a design: they are a second intercept.
const DEAD_SD: f64 = 1e-3;
/// Numbers that the matrices of one layer may have together: 0.8 GB.
const MAX_ENTRIES: usize = 100_000_000;

/// All that Eve's law needs of one network; no training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EstimateParts")]
pub struct Estimate {
    net: StoNet,
    weight_variance: Vec<LayerVariance>,
    residual_variance: Vec<f64>,
}

/// Var(ŵ_ij) for every neuron j of layer i: neurons with the same support share the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerVariance {
    grams: Vec<InverseGram>,
    /// Per neuron: which matrix, times which ς²_ij.
    neurons: Vec<(usize, f64)>,
}

/// What is read from files; it becomes an [`Estimate`] once its parts are known to belong together.
#[derive(Deserialize)]
struct EstimateParts {
    net: StoNet,
    weight_variance: Vec<LayerVariance>,
    residual_variance: Vec<f64>,
}

impl TryFrom<EstimateParts> for Estimate {
    type Error = Error;
    fn try_from(p: EstimateParts) -> Result<Self> {
        let layers = p.net.layers();
        let sound = p.weight_variance.len() == layers.len()
            && p.residual_variance.len() == p.net.outputs()
            && p.residual_variance.iter().all(|v| v.is_finite() && *v >= 0.0)
            && layers.iter().zip(&p.weight_variance).all(|(l, v)| v.fits(l.weight.dim()));
        if !sound {
            return Err(Error::Inconsistent { what: "an estimate's covariances do not belong to its network" });
        }
        Ok(Estimate { net: p.net, weight_variance: p.weight_variance, residual_variance: p.residual_variance })
    }
}

impl Estimate {
    /// Var(ŵ) of every neuron's regression on the rows the network was trained on. ς²_L,j = `residual_variance[j]`.
    pub fn new(net: &StoNet, data: &Dataset, refit: Refit, residual_variance: Vec<f64>) -> Result<Self> {
        if net.head() != Likelihood::Gaussian {
            return Err(Error::setting(
                "head",
                net.head(),
                "gaussian: Eve's law gives intervals for numeric responses",
            ));
        }
        check_sizes(net, data)?;
        if residual_variance.len() != net.outputs() {
            return Err(Error::shape("residual variances", net.outputs(), residual_variance.len()));
        }
        let net = net.compact();
        let mut design = data.x().to_owned();
        let mut weight_variance = Vec::new();
        for (i, f) in net.preactivations(data.x())?.into_iter().enumerate() {
            let layer = &net.layers()[i];
            // For i ≤ h the forward pass leaves no residual: the noise of the regression is the model's own σ_i².
            let noise = |j: usize| {
                if i + 1 == net.layers().len() { residual_variance[j] } else { layer.noise_variance }
            };
            weight_variance.push(LayerVariance::new(i + 1, layer.weight.view(), design.view(), refit, noise)?);
            design = net.activation().values(f);
        }
        Ok(Estimate { net, weight_variance, residual_variance })
    }

    /// θ̂, compacted.
    pub fn network(&self) -> &StoNet {
        &self.net
    }

    /// Var(ŵ) of every layer.
    pub(crate) fn weight_variance(&self) -> &[LayerVariance] {
        &self.weight_variance
    }

    /// ς²_L.
    pub fn residual_variance(&self) -> &[f64] {
        &self.residual_variance
    }
}

impl LayerVariance {
    /// (X̃ᵀX̃)⁻¹ of every support that occurs.
    pub fn grams(&self) -> &[InverseGram] {
        &self.grams
    }

    /// Per neuron: the number of its matrix, and ς²_ij.
    pub fn neurons(&self) -> &[(usize, f64)] {
        &self.neurons
    }

    fn new(
        layer: usize,
        weight: ArrayView2<'_, f64>,
        design: ArrayView2<'_, f64>,
        refit: Refit,
        noise: impl Fn(usize) -> f64,
    ) -> Result<Self> {
        let varies: Vec<bool> = design.axis_iter(Axis(1)).map(|c| c.std(0.0) >= DEAD_SD).collect();
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let (mut grams, mut neurons, mut entries) = (Vec::new(), Vec::new(), 0usize);
        for (j, row) in weight.outer_iter().enumerate() {
            let support: Vec<usize> = (0..row.len()).filter(|&k| row[k] != 0.0 && varies[k]).collect();
            let gram = match known.get(&support) {
                Some(&g) => g,
                None => {
                    let columns = support.len();
                    entries = entries.saturating_add(columns.saturating_mul(columns));
                    if entries > MAX_ENTRIES {
                        return Err(Error::WideSupport { layer, columns, limit: MAX_ENTRIES });
                    }
                    let gram = InverseGram::new(design, support.clone(), refit).ok_or(Error::RankDeficient {
                        layer,
                        neuron: j,
                        columns,
                    })?;
                    grams.push(gram);
                    known.insert(support, grams.len() - 1);
                    grams.len() - 1
                }
            };
            neurons.push((gram, noise(j)));
        }
        Ok(LayerVariance { grams, neurons })
    }

    /// Whether it has one entry per neuron of a layer of this shape, and no index beyond it.
    fn fits(&self, (outputs, inputs): (usize, usize)) -> bool {
        self.neurons.len() == outputs
            && self.neurons.iter().all(|(g, noise)| *g < self.grams.len() && noise.is_finite())
            && self.grams.iter().all(|g| g.fits(inputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::linalg::dense::{matmul, spd_inverse, symmetric_eigen};
    use crate::network::{Activation, Layer};
    use crate::reference::covariances;
    use ndarray::{Array1, Array2, array, concatenate};
    use rand_distr::{Distribution, StandardNormal};

    fn normals(seed: u64) -> impl FnMut() -> f64 {
        let mut rng = Seed::new(seed).rng();
        move || StandardNormal.sample(&mut rng)
    }

    fn data(rows: usize, inputs: usize, outputs: usize) -> Dataset {
        let mut next = normals(21);
        let x = Array2::from_shape_simple_fn((rows, inputs), &mut next);
        Dataset::new(x, Array2::from_shape_simple_fn((rows, outputs), next)).unwrap()
    }

    /// A draw of N(0, V) through the square root of V.
    fn draw(v: &Array2<f64>, next: &mut impl FnMut() -> f64) -> Array1<f64> {
        let (values, vectors) = symmetric_eigen(v.view()).unwrap();
        vectors.dot(&values.mapv(|l| l.max(0.0).sqrt() * next()))
    }

    /// The last layer's Σ̂ at `z` by sampling: weights with intercept from N(ŵ, Var(ŵ)), latents from N(μ, Σ̂_{L−1}).
    fn monte_carlo(estimate: &Estimate, design: &Array2<f64>, z: ArrayView2<'_, f64>, draws: usize) -> Array2<f64> {
        let net = &estimate.net;
        let last = net.layers().len() - 1;
        let f = net.preactivations(z).unwrap();
        let below = Estimate {
            net: StoNet::new(net.layers()[..last].to_vec(), net.activation(), Likelihood::Gaussian).unwrap(),
            weight_variance: estimate.weight_variance[..last].to_vec(),
            residual_variance: vec![0.0; net.layers()[last].weight.ncols()],
        };
        let sigma = covariances(&below, z).remove(0);
        let ones = Array2::ones((design.nrows(), 1));
        let gram = |support: &[usize]| {
            let x = concatenate![Axis(1), ones, design.select(Axis(1), support)];
            spd_inverse(matmul(x.t(), x.view()).view()).unwrap()
        };
        let variances: Vec<(Vec<usize>, Array2<f64>)> = (estimate.weight_variance[last].neurons.iter())
            .map(|&(g, noise)| {
                let support = estimate.weight_variance[last].grams[g].support.clone();
                let v = gram(&support) * noise;
                (support, v)
            })
            .collect();
        let mut next = normals(22);
        let layer = &net.layers()[last];
        let samples: Vec<Array1<f64>> = (0..draws)
            .map(|_| {
                let latent = &f[last - 1].row(0) + &draw(&sigma, &mut next);
                let a = latent.mapv(|y| net.activation().value(y));
                let one = |(j, (support, v)): (usize, &(Vec<usize>, Array2<f64>))| {
                    let d = draw(v, &mut next);
                    let moved: f64 = support.iter().enumerate().map(|(s, &k)| d[s + 1] * a[k]).sum();
                    layer.bias[j] + layer.weight.row(j).dot(&a) + d[0] + moved
                };
                variances.iter().enumerate().map(one).collect()
            })
            .collect();
        let mean = samples.iter().fold(Array1::<f64>::zeros(layer.bias.len()), |m, s| m + s) / draws as f64;
        let mut covariance = Array2::zeros((mean.len(), mean.len()));
        for s in &samples {
            let d = s - &mean;
            covariance += &matmul(d.view().insert_axis(Axis(1)), d.view().insert_axis(Axis(0)));
        }
        covariance / draws as f64
    }

    fn agrees_with_sampling(net: &StoNet, residual: Vec<f64>, slack: f64) {
        let data = data(40, net.inputs(), net.outputs());
        let estimate = Estimate::new(net, &data, Refit::Ols, residual).unwrap();
        let f = estimate.net.preactivations(data.x()).unwrap();
        let design = f[f.len() - 2].mapv(|y| net.activation().value(y));
        let z = data.x().slice(ndarray::s![3..4, ..]).to_owned();
        let (eve, draws) = (covariances(&estimate, z.view()).remove(0), 40_000);
        let sampled = monte_carlo(&estimate, &design, z.view(), draws);
        for ((j, k), &s) in sampled.indexed_iter() {
            // The sd of a sampled covariance is at most √2 of the product of the standard deviations; products of
            // normals have heavier tails, hence a factor of 2.
            let scale = (eve[[j, j]] * eve[[k, k]]).sqrt();
            let tolerance = (4.5 * 2.0 * (2.0 / draws as f64).sqrt() + slack) * scale;
            assert!((eve[[j, k]] - s).abs() < tolerance, "({j},{k}): Eve {} sampled {s}", eve[[j, k]]);
        }
    }

    #[test]
    fn one_step_of_eves_law_agrees_with_monte_carlo() {
        // σ_i² = 1e-2 keeps the first-order expansion of ψ good to about one per cent.
        let net = StoNet::random(&[3, 4, 2], Activation::Tanh, Seed::new(9)).unwrap();
        agrees_with_sampling(&net.with_noise_variances(&[1e-2, 1.0]).unwrap(), vec![0.3, 0.1], 0.01);
        let deep = StoNet::random(&[3, 4, 3, 2], Activation::Sigmoid, Seed::new(9)).unwrap();
        agrees_with_sampling(&deep.with_noise_variances(&[1e-2, 1e-2, 1.0]).unwrap(), vec![0.03, 0.01], 0.01);
    }

    /// ReLU far inside its linear part: a linear network, on which every step of the recursion is exact at any
    /// variance.
    #[test]
    fn eves_law_is_exact_for_a_linear_network() {
        let mut layers = StoNet::random(&[4, 3, 2], Activation::Relu, Seed::new(9)).unwrap().layers().to_vec();
        layers[0].bias.fill(100.0);
        layers[0].noise_variance = 4.0;
        let net = StoNet::new(layers, Activation::Relu, Likelihood::Gaussian).unwrap();
        agrees_with_sampling(&net, vec![3.0, 1.0], 0.0);
    }

    #[test]
    fn without_hidden_layers_it_is_the_textbook_variance_of_a_regression() {
        let data = data(30, 3, 1);
        let layer = Layer { weight: array![[0.5, 0.0, -2.0]], bias: array![1.0], noise_variance: 1.0 };
        let net = StoNet::new(vec![layer], Activation::Tanh, Likelihood::Gaussian).unwrap();
        let estimate = Estimate::new(&net, &data, Refit::Ols, vec![0.7]).unwrap();
        let x = concatenate![Axis(1), Array2::ones((30, 1)), data.x().select(Axis(1), &[0, 2])];
        let inverse = spd_inverse(matmul(x.t(), x.view()).view()).unwrap();
        for (sigma, row) in covariances(&estimate, data.x()).iter().zip(x.outer_iter()) {
            assert!((sigma[[0, 0]] - 0.7 * row.dot(&inverse.dot(&row))).abs() < 1e-12);
        }
    }

    #[test]
    fn the_full_covariance_is_carried_not_only_its_diagonal() {
        // Two units that read the same first unit are correlated; their sum doubles, their difference cancels.
        let layer = |weight: Array2<f64>, s: f64| {
            let bias = Array1::zeros(weight.nrows());
            Layer { weight, bias, noise_variance: s }
        };
        let build = |sign: f64| {
            let layers = vec![
                layer(array![[0.3, 0.2]], 1e-2),
                layer(array![[1.0], [1.0]], 1e-12),
                layer(array![[1.0, sign]], 1.0),
            ];
            StoNet::new(layers, Activation::Tanh, Likelihood::Gaussian).unwrap()
        };
        let data = data(50, 2, 1);
        let at = |sign: f64| {
            let e = Estimate::new(&build(sign), &data, Refit::Mls, vec![1e-12]).unwrap();
            covariances(&e, data.x())[0][[0, 0]]
        };
        assert!(at(1.0) > 1e-5);
        assert!(at(-1.0) < 1e-8, "{}", at(-1.0));
    }

    /// D9: a nearly constant unit must not make the variance collapse or explode.
    #[test]
    fn a_nearly_dead_unit_is_left_out_of_the_design() {
        let data = data(80, 2, 1);
        let mut layers = StoNet::random(&[2, 3, 1], Activation::Tanh, Seed::new(9)).unwrap().layers().to_vec();
        layers[0].weight.row_mut(1).assign(&array![1e-9, 0.0]);
        let net = StoNet::new(layers, Activation::Tanh, Likelihood::Gaussian).unwrap();
        for refit in [Refit::Ols, Refit::Mls] {
            let e = Estimate::new(&net, &data, refit, vec![1.0]).unwrap();
            let support = &e.weight_variance[1].grams[0].support;
            assert_eq!(support, &[0, 2]);
            // Leverages of a design with intercept sum to its columns: three; hidden layers add little at σ_1² = 1e-5.
            let total: f64 = covariances(&e, data.x()).iter().map(|s| s[[0, 0]]).sum();
            assert!((total - 3.0).abs() < 0.01, "{total}");
        }
    }
}
