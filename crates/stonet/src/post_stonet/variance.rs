//! Where the variance of a new value around its prediction comes from: Eve's law layer by layer, or the two parts of a stack.

use super::{FittedPostStoNet, Model};
use crate::stack::FittedStack;
use crate::{EveIntervals, NewRows, Result};

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

impl FittedPostStoNet {
    /// The parts of the variance at every row, for each output: of `paper` and `cv` the layers and the noise, of a stack the
    /// disagreement of its folds, where there are several, and the residuals.
    pub fn variance_parts(&self, rows: &NewRows<'_>) -> Result<Vec<Vec<VariancePart>>> {
        self.check_columns(rows)?;
        match &self.model {
            Model::Eve { intervals, .. } => of_eve(intervals, rows),
            Model::Stacks(stacks) => stacks.iter().enumerate().map(|(j, stack)| of_stack(stack, j, rows)).collect(),
        }
    }
}

fn of_stack(stack: &FittedStack, output: usize, rows: &NewRows<'_>) -> Result<Vec<VariancePart>> {
    let d = rows.prediction.map(|d| d.index_axis_move(ndarray::Axis(1), output));
    let (between, residual) = stack.variances(rows.features, d)?;
    let mut parts = vec![VariancePart { source: VarianceSource::Residuals, values: residual.to_vec() }];
    // A single fit has no other to differ from.
    if stack.folds().len() > 1 {
        parts.insert(0, VariancePart { source: VarianceSource::Folds, values: between.to_vec() });
    }
    Ok(parts)
}

fn of_eve(eve: &EveIntervals, rows: &NewRows<'_>) -> Result<Vec<Vec<VariancePart>>> {
    let z = eve.scaling().x.apply(rows.features)?;
    let estimates = eve.estimates();
    let layers = estimates.iter().map(|e| e.network().layers().len()).max().unwrap_or(0);
    let each = estimates.iter().map(|e| e.layer_variances(z.view())).collect::<Result<Vec<_>>>()?;
    let one = |j: usize| {
        // In units of the target: variances scale by its squared standard deviation.
        let unit = eve.scaling().y.sd()[j].powi(2) / estimates.len() as f64;
        let part = |layer: usize| {
            let mut values = vec![0.0; z.nrows()];
            for of_layer in each.iter().filter_map(|layers| layers.get(layer)) {
                values.iter_mut().zip(of_layer.column(j)).for_each(|(sum, v)| *sum += v * unit);
            }
            VariancePart { source: VarianceSource::Weights { layer, layers }, values }
        };
        let noise = estimates.iter().map(|e| e.residual_variance()[j]).sum::<f64>() * unit;
        let noise = VariancePart { source: VarianceSource::Noise, values: vec![noise; z.nrows()] };
        (0..layers).map(part).chain([noise]).collect()
    };
    Ok((0..eve.scaling().y.sd().len()).map(one).collect())
}
