//! Where the width of an interval comes from: the mean share of every source of variance.

use serde::{Deserialize, Serialize};
use stonet::regression::{VariancePart, VarianceSource};
use stonet::{FittedRegressor, RegressionInputs, Result};

/// Rows that are looked at.
pub const ROWS: usize = 300;

/// One source of variance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Where it comes from.
    pub source: String,
    /// Mean over rows of its share of the variance.
    pub share: f64,
    /// The same as a standard deviation in the units of the target: the root of its mean variance.
    pub sd: f64,
}

/// The variance of a new value around its prediction, in parts that add up to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VarianceSplit {
    /// Whether the parts are those of Eve's law; otherwise they are those of a stack.
    pub eve: bool,
    /// Rows over which shares are averaged.
    pub rows: usize,
    /// From the first layer to the noise.
    pub parts: Vec<Part>,
}

/// One split per output, over these rows.
pub fn splits(fitted: &FittedRegressor, rows: &RegressionInputs<'_>) -> Result<Vec<VarianceSplit>> {
    Ok(fitted.variance_parts(rows)?.into_iter().map(split).collect())
}

fn name(source: VarianceSource) -> String {
    match source {
        VarianceSource::Folds => "fits on different folds disagree".to_owned(),
        VarianceSource::Residuals => "what the prediction leaves unexplained (residuals)".to_owned(),
        VarianceSource::Weights { layer, layers } if layer + 1 == layers => {
            format!("weights of layer {layers} (output)")
        }
        VarianceSource::Weights { layer: 0, .. } => "weights of layer 1 (selects the features)".to_owned(),
        VarianceSource::Weights { layer, .. } => format!("weights of layer {}", layer + 1),
        VarianceSource::Noise => "noise that no weight explains (ς²)".to_owned(),
    }
}

fn split(parts: Vec<VariancePart>) -> VarianceSplit {
    let rows = parts.first().map_or(0, |p| p.values.len());
    let totals: Vec<f64> = (0..rows).map(|r| parts.iter().map(|p| p.values[r]).sum()).collect();
    let eve = parts.iter().any(|p| p.source == VarianceSource::Noise);
    let part = |VariancePart { source, values }| {
        // A row without any variance has nothing to share out.
        let shares = values.iter().zip(&totals).map(|(v, t)| if *t > 0.0 { v / t } else { 0.0 });
        let share = shares.sum::<f64>() / rows.max(1) as f64;
        Part { source: name(source), share, sd: (values.iter().sum::<f64>() / rows.max(1) as f64).sqrt() }
    };
    VarianceSplit { eve, rows, parts: parts.into_iter().map(part).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(source: VarianceSource, values: &[f64]) -> VariancePart {
        VariancePart { source, values: values.to_vec() }
    }

    #[test]
    fn shares_add_up_to_one() {
        let weights = VarianceSource::Weights { layer: 0, layers: 1 };
        let s = split(vec![part(weights, &[1.0, 0.0]), part(VarianceSource::Noise, &[3.0, 2.0])]);
        assert_eq!((s.parts[0].share, s.parts[1].share, s.eve), (0.125, 0.875, true));
        assert_eq!(s.parts[1].sd, 2.5f64.sqrt());
        let nothing = split(vec![part(VarianceSource::Residuals, &[0.0])]);
        assert_eq!((nothing.parts[0].share, nothing.eve), (0.0, false));
    }

    #[test]
    fn layers_have_names() {
        let layer = |layer, layers| name(VarianceSource::Weights { layer, layers });
        assert_eq!(layer(0, 1), "weights of layer 1 (output)");
        assert_eq!(layer(0, 3), "weights of layer 1 (selects the features)");
        assert_eq!((layer(1, 3), layer(2, 3)), ("weights of layer 2".into(), "weights of layer 3 (output)".into()));
    }
}
