//! What drives a prediction: how much worse it gets when one column is shuffled.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use stonet::base::Work;
use stonet::{Error, Result, Seed};

/// Rows that are predicted again for every column.
const ROWS: usize = 500;
/// Columns that are listed.
const SHOWN: usize = 20;
/// Columns times columns: a prediction costs about as much as there are columns, so that wide tables try fewer of them.
const WORK: usize = 40_000;

/// Predictions from rows of inputs.
pub type Predict<'a> = &'a dyn Fn(ArrayView2<'_, f64>) -> Result<Array2<f64>>;

/// Inputs whose columns are to be explained, and what predicts from them.
#[derive(Clone, Copy)]
pub struct Explain<'a> {
    /// Rows of inputs.
    pub inputs: ArrayView2<'a, f64>,
    /// One per column.
    pub names: &'a [String],
    /// The prediction.
    pub predict: Predict<'a>,
    /// The numbers of these rows among those that are evaluated; none where they are all of them.
    pub rows: Option<&'a [usize]>,
}

/// One column's part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Of the column.
    pub name: String,
    /// By how much the loss grows.
    pub increase: f64,
    /// The fraction of the StoNets in use that select it, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<f64>,
}

/// The columns that matter most, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// What grows, in words.
    pub measure: String,
    /// Whether it is a fraction, to be shown in per cent.
    pub fraction: bool,
    /// Rows it was measured on.
    pub rows: usize,
    /// Columns there are.
    pub columns: usize,
    /// Columns that were shuffled; the others are unused, or correlate less with the prediction.
    pub tried: usize,
    /// Sum of all increases above zero, those of columns that are not listed included.
    #[serde(default)]
    pub total: f64,
    /// At most 20.
    pub features: Vec<Feature>,
}

impl Importance {
    /// A column's share of all increases; 0 where shuffling it does no harm.
    pub fn share(&self, feature: &Feature) -> f64 {
        let listed: f64 = self.features.iter().map(|f| f.increase.max(0.0)).sum();
        let total = self.total.max(listed);
        if total > 0.0 { feature.increase.max(0.0) / total } else { 0.0 }
    }
}

/// What grows when a column is shuffled.
pub struct Loss<'a> {
    /// In words.
    pub measure: &'a str,
    /// Whether it is a fraction.
    pub fraction: bool,
    /// Of predictions for some of the rows.
    pub of: &'a dyn Fn(&[usize], ArrayView2<'_, f64>) -> f64,
}

/// Shuffles the columns that are `used`, one at a time, on at most 500 rows.
pub fn permutation(
    explain: &Explain<'_>,
    used: &[bool],
    loss: &Loss<'_>,
    seed: Seed,
    steps: &Work<'_>,
) -> Result<Importance> {
    let x = explain.inputs;
    if explain.names.len() != x.ncols() {
        return Err(Error::Shape {
            what: "names of the input columns".into(),
            expected: x.ncols(),
            found: explain.names.len(),
        });
    }
    if let Some(rows) = explain.rows.filter(|rows| rows.len() != x.nrows()) {
        return Err(Error::Shape { what: "numbers of the rows".into(), expected: x.nrows(), found: rows.len() });
    }
    let chosen = spread(x.nrows(), ROWS);
    let mut inputs = x.select(Axis(0), &chosen);
    let rows: Vec<usize> = chosen.into_iter().map(|i| explain.rows.map_or(i, |rows| rows[i])).collect();
    let before = (explain.predict)(inputs.view())?;
    let base = (loss.of)(&rows, before.view());
    let columns = candidates(inputs.view(), before.view(), used);
    steps.announce(columns.len());
    let mut features = Vec::with_capacity(columns.len());
    for &column in &columns {
        let kept = inputs.column(column).to_vec();
        let mut shuffled = kept.clone();
        shuffled.shuffle(&mut seed.child(column as u64).rng());
        inputs.column_mut(column).assign(&ArrayView1::from(&shuffled));
        let after = (loss.of)(&rows, (explain.predict)(inputs.view())?.view());
        inputs.column_mut(column).assign(&ArrayView1::from(&kept));
        features.push(Feature { name: explain.names[column].clone(), increase: after - base, selected: None });
        steps.advance()?;
    }
    let total = features.iter().map(|f| f.increase.max(0.0)).sum();
    // Stable: columns of equal weight stay in their order.
    features.sort_by(|a, b| b.increase.total_cmp(&a.increase));
    features.truncate(SHOWN);
    let (tried, number) = (columns.len(), rows.len());
    let (measure, fraction) = (loss.measure.to_owned(), loss.fraction);
    Ok(Importance { measure, fraction, rows: number, columns: x.ncols(), tried, total, features })
}

/// At most `most` of the rows, evenly spaced, neither end favoured.
pub fn spread(rows: usize, most: usize) -> Vec<usize> {
    if rows <= most { (0..rows).collect() } else { (0..most).map(|i| (2 * i + 1) * rows / (2 * most)).collect() }
}

/// The used columns; where they are too many, those that correlate most with a prediction.
fn candidates(x: ArrayView2<'_, f64>, prediction: ArrayView2<'_, f64>, used: &[bool]) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..x.ncols()).filter(|&c| used[c]).collect();
    let most = (WORK / x.ncols().max(1)).clamp(SHOWN, 300);
    if columns.len() > most {
        let strength =
            |c: usize| prediction.axis_iter(Axis(1)).map(|p| correlation(x.column(c), p).abs()).fold(0.0, f64::max);
        let mut ranked: Vec<(f64, usize)> = columns.iter().map(|&c| (strength(c), c)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        columns = ranked[..most].iter().map(|r| r.1).collect();
        columns.sort_unstable();
    }
    columns
}

/// 0 where one of them is constant.
fn correlation(a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> f64 {
    let n = a.len() as f64;
    let (ma, mb) = (a.sum() / n, b.sum() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        ab += (x - ma) * (y - mb);
        aa += (x - ma).powi(2);
        bb += (y - mb).powi(2);
    }
    if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    fn normals(rows: usize, columns: usize) -> Array2<f64> {
        let mut draws = StandardNormal.sample_iter(Seed::new(2).rng());
        Array2::from_shape_simple_fn((rows, columns), || draws.next().unwrap())
    }

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("x{i}")).collect()
    }

    /// For y = Σ b_k x_k without noise, shuffling column k costs 2 b_k² Var(x_k) in expectation.
    #[test]
    fn a_linear_model_loses_twice_the_square_of_its_slope() {
        let x = normals(900, 4);
        let slopes = ndarray::arr1(&[2.0, 0.0, -1.0, 0.5]);
        let y = x.dot(&slopes);
        let predict = |x: ArrayView2<'_, f64>| Ok(x.dot(&slopes).insert_axis(Axis(1)));
        let loss = |rows: &[usize], p: ArrayView2<'_, f64>| {
            rows.iter().zip(p.column(0)).map(|(&r, p)| (y[r] - p).powi(2)).sum::<f64>() / rows.len() as f64
        };
        let loss = Loss { measure: "mse", fraction: false, of: &loss };
        let names = names(4);
        let explain = Explain { inputs: x.view(), names: &names, predict: &predict, rows: None };
        let found = permutation(&explain, &[true; 4], &loss, Seed::new(1), &Work::open("steps", None)).unwrap();
        assert_eq!((found.rows, found.columns, found.tried), (500, 4, 4));
        let order: Vec<&str> = found.features.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(order, ["x0", "x2", "x3", "x1"]);
        // The mean of 500 products of normals has sd about 1/√500 of b²; four and a half of them, times two.
        for (feature, expected) in found.features.iter().zip([8.0, 2.0, 0.5, 0.0]) {
            let tolerance = expected * 4.5 * (2.0 / 500f64).sqrt() + 1e-12;
            assert!((feature.increase - expected).abs() < tolerance, "{feature:?}");
        }
        let shares: f64 = found.features.iter().map(|f| found.share(f)).sum();
        assert!((shares - 1.0).abs() < 1e-12, "{shares}");
        let unused =
            permutation(&explain, &[false, true, true, true], &loss, Seed::new(1), &Work::open("steps", None)).unwrap();
        assert_eq!((unused.tried, unused.features[0].name.as_str()), (3, "x2"));
        assert!(
            permutation(
                &Explain { names: &names[..3], ..explain },
                &[true; 4],
                &loss,
                Seed::new(1),
                &Work::open("steps", None)
            )
            .is_err()
        );
    }

    #[test]
    fn wide_tables_try_the_columns_that_go_with_the_prediction() {
        let x = normals(60, 900);
        let predict = |x: ArrayView2<'_, f64>| Ok(x.column(777).to_owned().insert_axis(Axis(1)));
        let loss = |rows: &[usize], p: ArrayView2<'_, f64>| {
            rows.iter().zip(p.column(0)).map(|(&r, p)| (x[[r, 777]] - p).powi(2)).sum()
        };
        let loss = Loss { measure: "", fraction: false, of: &loss };
        let names = names(900);
        let explain = Explain { inputs: x.view(), names: &names, predict: &predict, rows: None };
        let found = permutation(&explain, &[true; 900], &loss, Seed::new(1), &Work::open("steps", None)).unwrap();
        assert_eq!((found.tried, found.features.len(), found.features[0].name.as_str()), (44, 20, "x777"));
    }
}
