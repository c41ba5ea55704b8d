//! Where the variance of a new value around its prediction comes from: Eve's law layer by layer, or the two parts of a
//! stack.

use ndarray::{Array2, ArrayView2};

use super::predict::used;
use super::stack::FittedStack;
use super::{FittedRegressor, Model, eve_plan};
use crate::base::Result;
use crate::eve::EveIntervals;
use crate::rows::RegressionInputs;
use crate::score::{Scorer, beside};

/// A source of the variance of a new value around its prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarianceSource {
    /// Fits on different folds of a stack differ.
    Folds,
    /// Values differ from the prediction of a stack.
    Residuals,
    /// The weights of a layer are uncertain.
    Weights {
        /// The number of the layer, from 0.
        layer: usize,
        /// How many layers there are.
        layers: usize,
    },
    /// ς², which no weight explains.
    Noise,
}

/// One part of the variance.
#[derive(Debug, Clone, PartialEq)]
pub struct VariancePart {
    /// Where it comes from.
    pub source: VarianceSource,
    /// One per row, in the squared unit of the target.
    pub values: Vec<f64>,
}

impl FittedRegressor {
    /// Whether the variance has a part of the model beside the noise; a single fit of a split has none.
    pub fn has_variance_shares(&self) -> bool {
        match &self.model {
            Model::Eve { .. } => true,
            Model::Stacks(stacks) => stacks.iter().all(|s| s.folds().len() > 1),
        }
    }

    /// The parts of the variance at every row, for each output: of `paper` and `cv` the layers and the noise, of a
    /// stack the disagreement of its folds, where there are several, and the residuals.
    pub fn variance_parts(&self, rows: &RegressionInputs<'_>) -> Result<Vec<Vec<VariancePart>>> {
        self.check_columns(rows)?;
        match &self.model {
            Model::Eve { intervals, .. } => of_eve(intervals, rows),
            Model::Stacks(stacks) => stacks.iter().enumerate().map(|(j, stack)| of_stack(stack, j, rows)).collect(),
        }
    }
}

fn of_stack(stack: &FittedStack, output: usize, rows: &RegressionInputs<'_>) -> Result<Vec<VariancePart>> {
    let (between, residual) = stack.variances(rows.features, &rows.said(output))?;
    let mut parts = vec![VariancePart { source: VarianceSource::Residuals, values: residual.to_vec() }];
    // A single fit has no other to differ from.
    if stack.folds().len() > 1 {
        parts.insert(0, VariancePart { source: VarianceSource::Folds, values: between.to_vec() });
    }
    Ok(parts)
}

fn of_eve(eve: &EveIntervals, rows: &RegressionInputs<'_>) -> Result<Vec<Vec<VariancePart>>> {
    let (each, estimates) = (eve.layer_variances(rows.features)?, eve.estimates());
    let (layers, n) = (each.len(), rows.features.nrows());
    let one = |j: usize| {
        let part = |(layer, all): (usize, &Array2<f64>)| VariancePart {
            source: VarianceSource::Weights { layer, layers },
            values: all.column(j).to_vec(),
        };
        // In units of the target: variances scale by its squared standard deviation.
        let unit = eve.scaling().y.sd()[j].powi(2) / estimates.len() as f64;
        let noise = estimates.iter().map(|e| e.residual_variance()[j]).sum::<f64>() * unit;
        let noise = VariancePart { source: VarianceSource::Noise, values: vec![noise; n] };
        each.iter().enumerate().map(part).chain([noise]).collect()
    };
    Ok((0..eve.scaling().y.columns()).map(one).collect())
}

impl EveIntervals {
    /// Per layer an array of rows × targets: the part of the variance of a prediction that comes from Var(ŵ) of that
    /// layer, in the squared unit of the target. With
    /// [`Estimate::residual_variance`](crate::eve::Estimate::residual_variance), in the same unit, they make the whole
    /// variance of a new value.
    pub fn layer_variances(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Array2<f64>>> {
        self.check_columns(x)?;
        let scorer = Scorer::new(eve_plan::layers_plan(self));
        let columns = scorer.run(&used(&scorer, &RegressionInputs::new(x)?, None), x.nrows())?;
        Ok(columns.chunks(self.scaling().y.columns()).map(|layer| beside(layer, x.nrows())).collect())
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::base::Seed;
    use crate::eve::Estimate;
    use crate::network::{Activation, StoNet};
    use crate::reference::covariances;
    use crate::rows::{Dataset, Scaling};
    use crate::sparse::Refit;

    fn fitted(widths: &[usize], noise: &[f64]) -> (EveIntervals, Dataset) {
        let mut draws = StandardNormal.sample_iter(Seed::new(4).rng());
        let mut next = || draws.next().unwrap();
        let x = Array2::from_shape_simple_fn((60, widths[0]), &mut next);
        let y = Array2::from_shape_simple_fn((60, widths[widths.len() - 1]), || 3.0 * next());
        let data = Dataset::new(x, y).unwrap();
        let scaling = Scaling::fit(&data).unwrap();
        let scaled = scaling.apply(&data).unwrap();
        let estimate = |seed: u64| {
            let net = StoNet::random(widths, Activation::Tanh, Seed::new(seed)).unwrap();
            let net = net.with_noise_variances(noise).unwrap();
            Estimate::new(&net, &scaled, Refit::Mls, vec![0.3; net.outputs()]).unwrap()
        };
        (EveIntervals::new(scaling, vec![estimate(9), estimate(10)]).unwrap(), data)
    }

    #[test]
    fn the_parts_of_the_layers_add_up_to_the_diagonal_of_the_covariances() {
        for (widths, noise) in [
            (vec![3, 2], vec![1.0]),
            (vec![3, 4, 2], vec![1e-2, 1.0]),
            (vec![3, 5, 4, 2], vec![1e-2, 1e-1, 1.0]),
            (vec![2, 3, 3, 3, 1], vec![0.1, 0.2, 0.1, 1.0]),
        ] {
            let (eve, data) = fitted(&widths, &noise);
            let parts = eve.layer_variances(data.x()).unwrap();
            assert_eq!(parts.len(), widths.len() - 1);
            let z = eve.scaling().x.apply(data.x()).unwrap();
            let each: Vec<_> = eve.estimates().iter().map(|e| covariances(e, z.view())).collect();
            for (r, j) in (0..data.rows()).flat_map(|r| (0..data.outputs()).map(move |j| (r, j))) {
                let mean = each.iter().map(|sigmas| sigmas[r][[j, j]]).sum::<f64>() / each.len() as f64;
                let total = mean * eve.scaling().y.sd()[j].powi(2);
                let sum: f64 = parts.iter().map(|p| p[[r, j]]).sum();
                assert!((sum - total).abs() < 1e-10 * total, "row {r}, output {j}: {sum} for {total}");
                assert!(parts.iter().all(|p| p[[r, j]] > 0.0));
            }
        }
    }

    #[test]
    fn a_layer_without_noise_has_no_part() {
        let (eve, data) = fitted(&[3, 4, 3, 1], &[1e-1, 1e-30, 1.0]);
        let parts = eve.layer_variances(data.x()).unwrap();
        assert!(parts[1].iter().all(|v| *v < 1e-24));
        assert!(parts[0].iter().zip(&parts[2]).all(|(a, b)| *a > 1e-8 && *b > 1e-8));
        assert!(eve.layer_variances(data.y()).is_err());
    }
}
