//! Ridge regression on standardised features, its penalty chosen by leave-one-out.

use ndarray::{Array1, ArrayView1, ArrayView2};

use super::features::Features;
use super::spectrum::Spectrum;
use crate::Result;

/// b + wᵀz, the minimiser of `‖y − b − Zw‖² + penalty · ‖w‖²`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ridge {
    features: Features,
    intercept: f64,
    weights: Array1<f64>,
    pub penalty: f64,
}

impl Ridge {
    /// The fit with the smallest leave-one-out error of `n · penalties`, and its fitted values. The largest wins a tie.
    pub(super) fn fit(
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        penalties: &[f64],
    ) -> Result<(Self, Array1<f64>)> {
        let (features, z) = Features::fit(x)?;
        let (spectrum, n) = (Spectrum::new(z.view())?, y.len() as f64);
        let intercept = y.sum() / n;
        let projection = spectrum.left.t().dot(&(&y - intercept));
        let mut grid: Vec<f64> = penalties.iter().map(|p| n * p).collect();
        grid.sort_by(|a, b| b.total_cmp(a));
        let error = |penalty: f64| leave_one_out(&spectrum, &projection, y, intercept, penalty);
        let errors: Vec<f64> = grid.iter().map(|&p| error(p)).collect();
        let best = (0..grid.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let penalty = grid.get(best).copied().unwrap_or(f64::INFINITY);
        let shrunk = &projection * &spectrum.squares.mapv(|d| d.sqrt() / (d + penalty));
        let weights = spectrum.right.dot(&shrunk);
        let fitted = z.dot(&weights) + intercept;
        Ok((Ridge { features, intercept, weights, penalty }, fitted))
    }

    pub(super) fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let z = self.features.apply(x)?;
        Ok(z.outer_iter().map(|z| self.intercept + z.dot(&self.weights)).collect())
    }
}

/// Σ_i ((y_i − ŷ_i) / (1 − h_ii))², the squared error of every row under the fit without it, its scale left as it is.
fn leave_one_out(s: &Spectrum, projection: &Array1<f64>, y: ArrayView1<'_, f64>, mean: f64, penalty: f64) -> f64 {
    let shrink = s.squares.mapv(|d| d / (d + penalty));
    let kept = projection * &shrink;
    let row = |(u, &y): (ArrayView1<'_, f64>, &f64)| {
        let leverage = 1.0 / s.left.nrows() as f64 + u.iter().zip(&shrink).map(|(u, s)| u * u * s).sum::<f64>();
        ((y - mean - u.dot(&kept)) / (1.0 - leverage)).powi(2)
    };
    s.left.outer_iter().zip(y).map(row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Axis};

    fn data(n: usize, p: usize) -> (Array2<f64>, Array1<f64>) {
        let x = Array2::from_shape_fn((n, p), |(i, j)| ((i * (2 * j + 3) + 1) as f64 * 0.77).sin());
        let y = (0..n).map(|i| x[[i, 0]] + 0.3 * (i as f64 * 2.1).cos()).collect();
        (x, y)
    }

    #[test]
    fn the_closed_form_equals_refitting_without_each_row() {
        for (n, p) in [(12, 4), (8, 15)] {
            let (x, y) = data(n, p);
            let (_, z) = Features::fit(x.view()).unwrap();
            let s = Spectrum::new(z.view()).unwrap();
            let (mean, penalty) = (y.sum() / n as f64, 0.7);
            let found = leave_one_out(&s, &s.left.t().dot(&(&y - mean)), y.view(), mean, penalty);
            let direct: f64 = (0..n)
                .map(|i| {
                    let rest: Vec<usize> = (0..n).filter(|&r| r != i).collect();
                    let (z_i, y_i) = (z.select(Axis(0), &rest), y.select(Axis(0), &rest));
                    let (centre, level) = (z_i.mean_axis(Axis(0)).unwrap(), y_i.mean().unwrap());
                    let s = Spectrum::new((&z_i - &centre).view()).unwrap();
                    let shrunk = s.left.t().dot(&(&y_i - level)) * s.squares.mapv(|d| d.sqrt() / (d + penalty));
                    (y[i] - level - (&z.row(i) - &centre).dot(&s.right.dot(&shrunk))).powi(2)
                })
                .sum();
            assert!((found / direct - 1.0).abs() < 1e-9, "{found} for {direct}");
        }
    }

    #[test]
    fn noise_alone_gets_the_mean() {
        let (x, _) = data(40, 3);
        let y: Array1<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let (ridge, fitted) = Ridge::fit(x.view(), y.view(), &[0.01, f64::INFINITY]).unwrap();
        assert_eq!(ridge.penalty, f64::INFINITY);
        assert!(fitted.iter().all(|f| (f - 1.5).abs() < 1e-12));
        assert_eq!(ridge.predict(x.view()).unwrap(), fitted);
    }
}
