//! Sources of the width of a stack's intervals: disagreement between folds, and residuals.

use ndarray::{Array1, ArrayView2};

use super::FittedStack;
use super::fit::at;
use crate::base::Result;
use crate::rows::regression::Said;

impl FittedStack {
    /// The variance at every row of the distribution that two-sided CV+ takes its ends from, μ_k(i)(x) + |R_i| s⁺_k(i)(x)
    /// and μ_k(i)(x) − |R_i| s⁻_k(i)(x) over the scored rows i, in its two parts: the variance between the folds' means,
    /// and the mean of the folds' own variances.
    pub(crate) fn variances<'a>(&self, x: ArrayView2<'a, f64>, said: &Said<'a>) -> Result<(Array1<f64>, Array1<f64>)> {
        let at = at(&self.folds.iter().collect::<Vec<_>>(), x, said)?;
        let mut mean = Array1::<f64>::zeros(x.nrows());
        let (mut square, mut residual) = (mean.clone(), mean.clone());
        let mut mass = 0.0;
        let centre = at.iter().fold(mean.clone(), |sum, [mu, ..]| sum + mu) / at.len() as f64;
        for ([mu, above, below], (scores, weights)) in at.iter().zip(self.scores.absolute()) {
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            let squares: f64 = scores.iter().enumerate().map(|(i, r)| weight(i) * r * r).sum();
            let sum: f64 = scores.iter().enumerate().map(|(i, r)| weight(i) * r).sum();
            let rows: f64 = (0..scores.len()).map(weight).sum();
            // Where both scales differ, the ends of a fold are not centred at μ.
            let shift = (above - below) * (0.5 * sum / rows.max(f64::MIN_POSITIVE));
            // Around the centre, so that a large mean does not cancel the variance away.
            let off = mu - &centre + &shift;
            mean.scaled_add(rows, &off);
            square.scaled_add(rows, &off.mapv(|o| o * o));
            residual.scaled_add(0.5 * squares, &(above * above + below * below));
            residual.scaled_add(-rows, &(&shift * &shift));
            mass += rows;
        }
        let mean = mean / mass;
        Ok(((square / mass - mean.mapv(|m| m * m)).mapv(|v| v.max(0.0)), residual / mass))
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, at};
    use crate::base::Seed;
    use crate::regression::{Kind, PostStoNetRegressor};
    use crate::rows::{Level, RegressionInputs, RegressionRows, Side};
    use ndarray::{Array2, Axis};
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn parts_are_the_variance_of_the_distribution_behind_the_ends() {
        let mut draws = StandardNormal.sample_iter(Seed::new(5).rng());
        let mut next = || -> f64 { draws.next().unwrap() };
        let x = Array2::from_shape_simple_fn((90, 3), &mut next);
        let y = x.map_axis(Axis(1), |r| r[0] + 0.3 * next()).insert_axis(Axis(1));
        let rows = RegressionRows::new(x.view(), y.view()).unwrap();
        let settings = PostStoNetRegressor { kind: Kind::Fast, ..PostStoNetRegressor::default() };
        let fitted = settings.fit(&rows, Seed::new(1), &|_, _| true).unwrap();
        let new = RegressionInputs::new(x.view()).unwrap();
        let level = Level::new(0.9).unwrap();
        let point = fitted.predict(&new).unwrap();
        let intervals = fitted.intervals(&new, level, Side::Both).unwrap();
        assert!((&point - &intervals.prediction).iter().all(|d| d.abs() < 1e-12));
        let stack = &fitted.stacks().unwrap()[0];
        let (between, residual) = stack.variances(x.view(), &Said::default()).unwrap();
        for r in 0..x.nrows() {
            let mut ends = Vec::new();
            for (fold, (scores, _)) in stack.folds().iter().zip(stack.scores().absolute()) {
                let [mu, above, below] =
                    at(&[fold], x.slice(ndarray::s![r..r + 1, ..]), &Said::default()).unwrap().remove(0);
                scores.iter().for_each(|a| ends.extend([mu[0] + a * above[0], mu[0] - a * below[0]]));
            }
            let mean = ends.iter().sum::<f64>() / ends.len() as f64;
            let variance = ends.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / ends.len() as f64;
            assert!((between[r] + residual[r] - variance).abs() < 1e-10 * variance);
        }
    }
}
