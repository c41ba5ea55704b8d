//! Where the width of an interval comes from: Eve's law layer by layer, or the two parts of a stack.

use ndarray::Axis;
use serde::{Deserialize, Serialize};
use stonet::{EveIntervals, FittedPostStoNet, NewRows, Result};

use super::importance::spread;

/// Rows that are looked at.
const ROWS: usize = 300;

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

/// One split per output.
pub fn splits(fitted: &FittedPostStoNet, rows: &NewRows<'_>) -> Result<Vec<VarianceSplit>> {
    let chosen = spread(rows.features().nrows(), ROWS);
    let features = rows.features().select(Axis(0), &chosen);
    if let Some(eve) = fitted.eve() {
        return eve_splits(eve, &NewRows::new(features.view())?);
    }
    let prediction = rows.prediction().map(|d| d.select(Axis(0), &chosen));
    let stacks = fitted.stacks().unwrap_or_default();
    let one = |(j, stack): (usize, &stonet::anatomy::FittedStack)| {
        let d = prediction.as_ref().map(|d| d.column(j));
        let (between, residual) = stack.variances(features.view(), d)?;
        let mut parts = vec![("what the prediction leaves unexplained (residuals)".to_owned(), residual.to_vec())];
        // A single fit has nobody to disagree with.
        if stack.folds().len() > 1 {
            parts.insert(0, ("fits on different folds disagree".to_owned(), between.to_vec()));
        }
        Ok(split(false, parts))
    };
    stacks.iter().enumerate().map(one).collect()
}

fn eve_splits(eve: &EveIntervals, rows: &NewRows<'_>) -> Result<Vec<VarianceSplit>> {
    let z = eve.scaling().x.apply(rows.features())?;
    let m = eve.estimates().len() as f64;
    let depth = eve.estimates().iter().map(|e| e.network().layers().len()).max().unwrap_or(0);
    let per_estimate = eve.estimates().iter().map(|e| e.layer_variances(z.view())).collect::<Result<Vec<_>>>()?;
    let one = |j: usize| {
        // Units of the target: variances scale by its squared standard deviation.
        let unit = eve.scaling().y.sd()[j].powi(2) / m;
        let mut parts: Vec<(String, Vec<f64>)> = (0..depth).map(|i| (layer(i, depth), vec![0.0; z.nrows()])).collect();
        for layers in &per_estimate {
            for (part, values) in parts.iter_mut().zip(layers) {
                part.1.iter_mut().zip(values.column(j)).for_each(|(sum, v)| *sum += v * unit);
            }
        }
        let noise = eve.estimates().iter().map(|e| e.residual_variance()[j]).sum::<f64>() * unit;
        parts.push(("noise that no weight explains (ς²)".to_owned(), vec![noise; z.nrows()]));
        split(true, parts)
    };
    Ok((0..eve.scaling().y.sd().len()).map(one).collect())
}

fn layer(i: usize, depth: usize) -> String {
    match i {
        _ if i + 1 == depth => format!("weights of layer {} (output)", i + 1),
        0 => "weights of layer 1 (selects the features)".to_owned(),
        _ => format!("weights of layer {}", i + 1),
    }
}

fn split(eve: bool, parts: Vec<(String, Vec<f64>)>) -> VarianceSplit {
    let rows = parts.first().map_or(0, |p| p.1.len());
    let totals: Vec<f64> = (0..rows).map(|r| parts.iter().map(|p| p.1[r]).sum()).collect();
    let part = |(source, values): (String, Vec<f64>)| {
        // A row without any variance has nothing to share out.
        let shares = values.iter().zip(&totals).map(|(v, t)| if *t > 0.0 { v / t } else { 0.0 });
        let share = shares.sum::<f64>() / rows.max(1) as f64;
        Part { source, share, sd: (values.iter().sum::<f64>() / rows.max(1) as f64).sqrt() }
    };
    VarianceSplit { eve, rows, parts: parts.into_iter().map(part).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_one() {
        let s = split(true, vec![("a".into(), vec![1.0, 0.0]), ("b".into(), vec![3.0, 2.0])]);
        assert_eq!((s.parts[0].share, s.parts[1].share), (0.125, 0.875));
        assert_eq!(s.parts[1].sd, 2.5f64.sqrt());
        let nothing = split(false, vec![("a".into(), vec![0.0])]);
        assert_eq!(nothing.parts[0].share, 0.0);
    }

    #[test]
    fn layers_have_names() {
        assert_eq!(layer(0, 1), "weights of layer 1 (output)");
        assert_eq!(layer(0, 3), "weights of layer 1 (selects the features)");
        assert_eq!((layer(1, 3), layer(2, 3)), ("weights of layer 2".into(), "weights of layer 3 (output)".into()));
    }
}
