//! Numbers that judge prediction intervals: coverage, length, error.

use ndarray::{Array2, ArrayView2, Zip};

use crate::base::{Error, Result};
use crate::rows::Intervals;

/// Which targets lie in their interval, ends included; rows × outputs.
pub fn covered(intervals: &Intervals, y: ArrayView2<'_, f64>) -> Result<Array2<bool>> {
    check_shape(intervals.lower.view(), y)?;
    Ok(Zip::from(&intervals.lower).and(&intervals.upper).and(y).map_collect(|&l, &u, &y| l <= y && y <= u))
}

/// The fraction of targets that lie in their interval.
pub fn coverage(intervals: &Intervals, y: ArrayView2<'_, f64>) -> Result<f64> {
    let hits = covered(intervals, y)?;
    Ok(hits.iter().filter(|&&h| h).count() as f64 / hits.len() as f64)
}

/// The mean length over rows and outputs.
pub fn mean_length(intervals: &Intervals) -> f64 {
    let n = intervals.lower.len() as f64;
    (&intervals.upper - &intervals.lower).sum() / n
}

/// The median length over rows and outputs.
pub fn median_length(intervals: &Intervals) -> f64 {
    let mut lengths: Vec<f64> = (&intervals.upper - &intervals.lower).into_iter().collect();
    lengths.sort_by(f64::total_cmp);
    let n = lengths.len();
    if n % 2 == 1 { lengths[n / 2] } else { 0.5 * (lengths[n / 2 - 1] + lengths[n / 2]) }
}

/// The mean interval (Winkler) score: the length, plus 2/α for every unit by which a target lies outside. Smaller is
/// better; in expectation the true quantiles of level α/2 and 1 − α/2 have the smallest.
pub fn winkler(intervals: &Intervals, y: ArrayView2<'_, f64>) -> Result<f64> {
    Ok(winkler_scores(intervals, y)?.sum() / y.len() as f64)
}

/// The interval (Winkler) score of every target, whose mean is [`winkler`].
pub fn winkler_scores(intervals: &Intervals, y: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    check_shape(intervals.lower.view(), y)?;
    let price = 2.0 / (1.0 - intervals.level.get());
    let score = |l: &f64, u: &f64, y: &f64| u - l + price * ((l - y).max(0.0) + (y - u).max(0.0));
    Ok(Zip::from(&intervals.lower).and(&intervals.upper).and(y).map_collect(score))
}

/// Coverage among the fifth of the targets with the shortest intervals, and among the fifth with the longest: honest
/// intervals are as right where they are sure as where they are not. Ties are broken by the order of rows.
pub fn coverage_by_width(intervals: &Intervals, y: ArrayView2<'_, f64>) -> Result<(f64, f64)> {
    let fifths = coverage_in_fifths(intervals, y, (&intervals.upper - &intervals.lower).view())?;
    Ok((fifths[0], fifths[4]))
}

/// Coverage in each fifth of the targets by a value of theirs, ascending, such as the length of their intervals or the
/// prediction. Ties are broken by the order of rows; where the number of targets is no multiple of five, neighbouring
/// fifths share one.
pub fn coverage_in_fifths(intervals: &Intervals, y: ArrayView2<'_, f64>, by: ArrayView2<'_, f64>) -> Result<[f64; 5]> {
    check_shape(by, y)?;
    let hits: Vec<bool> = covered(intervals, y)?.into_iter().collect();
    let values: Vec<f64> = by.iter().copied().collect();
    let mut order: Vec<usize> = (0..hits.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let n = order.len();
    let of = |rows: &[usize]| rows.iter().filter(|&&r| hits[r]).count() as f64 / rows.len() as f64;
    Ok(std::array::from_fn(|i| of(&order[i * n / 5..((i + 1) * n).div_ceil(5)])))
}

/// Root mean squared error over rows and outputs.
pub fn rmse(prediction: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<f64> {
    check_shape(prediction, y)?;
    Ok(((&prediction - &y).mapv(|d| d * d).sum() / y.len() as f64).sqrt())
}

pub(super) fn check_shape(a: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
    if a.nrows() != y.nrows() {
        return Err(Error::shape("rows of the targets", a.nrows(), y.nrows()));
    }
    if a.ncols() != y.ncols() {
        return Err(Error::shape("target columns", a.ncols(), y.ncols()));
    }
    Ok(())
}

/// Mean and standard deviation (divisor n − 1; 0 for a single value).
pub fn mean_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Level;
    use ndarray::{Array2, array};

    /// Eleven rows of which the 2nd and the 9th are missed: fifths of three rows, neighbours share one.
    #[test]
    fn fifths_by_hand() {
        let row = |f: fn(usize) -> f64| Array2::from_shape_fn((11, 1), |(i, _)| f(i));
        let i = Intervals {
            prediction: row(|i| -(i as f64)),
            lower: row(|_| 0.0),
            upper: row(|i| 1.0 + i as f64),
            level: Level::new(0.9).unwrap(),
        };
        let y = row(|i| if i == 1 || i == 8 { -1.0 } else { 0.5 });
        let third = 1.0 / 3.0;
        let by_width = coverage_in_fifths(&i, y.view(), (&i.upper - &i.lower).view()).unwrap();
        // Rows 0–2, 2–4, 4–6, 6–8 and 8–10.
        assert_eq!(by_width, [2.0 * third, 1.0, 1.0, 2.0 * third, 2.0 * third]);
        assert_eq!(coverage_by_width(&i, y.view()).unwrap(), (by_width[0], by_width[4]));
        let by_prediction = coverage_in_fifths(&i, y.view(), i.prediction.view()).unwrap();
        assert_eq!(by_prediction, [by_width[4], by_width[3], 1.0, 1.0, by_width[0]]);
        assert!(coverage_in_fifths(&i, y.view(), Array2::zeros((10, 1)).view()).is_err());
    }

    #[test]
    fn hand_computed() {
        let i = Intervals {
            prediction: array![[0.5], [1.0], [2.0]],
            lower: array![[0.0], [0.0], [1.0]],
            upper: array![[1.0], [2.0], [3.0]],
            level: Level::new(0.9).unwrap(),
        };
        let y = array![[1.0], [-0.5], [2.0]];
        assert_eq!(coverage(&i, y.view()).unwrap(), 2.0 / 3.0);
        assert!(coverage(&i, y.t()).is_err() && rmse(y.view(), y.t()).is_err());
        assert_eq!(mean_length(&i), 5.0 / 3.0);
        assert_eq!(median_length(&i), 2.0);
        // 1 + 2 + 2, and the second misses by .5 at a price of 20.
        assert!((winkler(&i, y.view()).unwrap() - 15.0 / 3.0).abs() < 1e-12);
        assert_eq!(coverage_by_width(&i, y.view()).unwrap(), (1.0, 1.0));
        assert!((rmse(i.prediction.view(), y.view()).unwrap() - (2.5f64 / 3.0).sqrt()).abs() < 1e-15);
        // Lengths 7, 1, 15, 3; and 7, 1, 15.
        let four =
            Intervals { lower: array![[1.0], [1.0], [1.0], [1.0]], upper: array![[8.0], [2.0], [16.0], [4.0]], ..i };
        assert_eq!((mean_length(&four), median_length(&four)), (6.5, 5.0));
        // Lengths of any number of rows: 7; 7, 1; 7, 1, 15; 7, 1, 15, 3, 31.
        for (upper, median) in [
            (vec![8.0], 7.0),
            (vec![8.0, 2.0], 4.0),
            (vec![8.0, 2.0, 16.0], 7.0),
            (vec![8.0, 2.0, 16.0, 4.0, 32.0], 7.0),
        ] {
            let upper = Array2::from_shape_fn((upper.len(), 1), |(i, _)| upper[i]);
            let (lower, prediction) = (Array2::ones(upper.dim()), upper.clone());
            assert_eq!(median_length(&Intervals { prediction, lower, upper, level: four.level }), median);
        }
        // 1 below, within, and 2 above: 7 + 20, 1, 15 + 40, 3.
        let y = array![[0.0], [1.5], [18.0], [4.0]];
        let scores = winkler_scores(&four, y.view()).unwrap() - array![[27.0], [1.0], [55.0], [3.0]];
        assert!(scores.iter().all(|off| off.abs() < 1e-12), "{scores}");
        // A long interval far down is longer than a short one far up.
        let lower = array![[-100.0], [50.0], [50.0], [50.0], [50.0]];
        let upper = array![[-90.0], [51.0], [52.0], [53.0], [54.0]];
        let far = Intervals { prediction: lower.clone(), lower, upper, level: four.level };
        let y = array![[0.0], [50.5], [50.5], [50.5], [50.5]];
        assert_eq!(coverage_by_width(&far, y.view()).unwrap(), (1.0, 0.0));
        assert_eq!(mean_sd(&[1.0, 3.0]), (2.0, 2f64.sqrt()));
        assert_eq!(mean_sd(&[1.0, 3.0, 5.0]), (3.0, 2.0));
        assert_eq!(mean_sd(&[4.0]), (4.0, 0.0));
    }
}
