//! Temperature scaling (Guo et al. 2017): softmax(z / T) with the T that makes the likelihood largest, found to the
//! last digits.

use ndarray::{ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use crate::base::Result;
use crate::linalg::elementwise::exp_in_place;
use crate::rows::ClassRows;

/// Sharpest and flattest scale that is looked at, in units of the logits' own spread.
const RANGE: f64 = 1e6;
const MAX_STEPS: usize = 200;
/// Logits that are worked on at once.
const RUN: usize = 1 << 16;

/// The temperature T > 0 that minimises the mean negative log-likelihood of softmax(z / T).
///
/// The likelihood is concave in 1/T, so the search always ends at its maximum. Where every row is classified correctly
/// the maximum is at T = 0; T is then chosen so that the mean confidence is 1 − ½/(n + 1), as sure as n rows without a
/// mistake can make one. Where the logits are worse than none, T = ∞ would be best; it is then a million times their
/// spread.
pub fn fit_temperature(rows: &ClassRows<'_>) -> Result<f64> {
    let z = rows.need_logits("temperature scaling")?;
    Ok(of_logits(z, rows.labels()))
}

/// The same of checked logits.
pub(crate) fn of_logits(z: ArrayView2<'_, f64>, labels: &[usize]) -> f64 {
    let runs = Runs { z, labels, rows: (RUN / z.ncols().max(1)).max(1) };
    let n = labels.len() as f64;
    let spread = (runs.total(spread) / (n * z.ncols() as f64)).sqrt();
    if spread <= 0.0 || !spread.is_finite() {
        return 1.0;
    }
    let flat = 1.0 / (RANGE * spread);
    // Slope and curvature of the loss in β = 1/T: mean of E_p z − z_y, and of Var_p z.
    let slope = |beta: f64| {
        let [first, second, _] = runs.moments(beta);
        (first / n, second / n)
    };
    if slope(flat).0 >= 0.0 {
        return 1.0 / flat;
    }
    let mistakes = |z: ArrayView2<'_, f64>, labels: &[usize]| {
        z.outer_iter().zip(labels).filter(|(row, l)| row.iter().any(|&v| v > row[**l])).count() as f64
    };
    if runs.total(mistakes) == 0.0 {
        let confidence = |beta: f64| runs.moments(beta)[2] / n;
        let wanted = 1.0 - 0.5 / (n + 1.0);
        return 1.0 / bisect(flat, RANGE / spread, |beta| confidence(beta) - wanted);
    }
    1.0 / newton(flat, 1.0 / spread, slope)
}

/// The sum of squares about the mean of every row.
fn spread(z: ArrayView2<'_, f64>, _: &[usize]) -> f64 {
    let about = |row: ArrayView1<'_, f64>| {
        let mean = row.mean().unwrap_or(0.0);
        row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
    };
    z.outer_iter().map(about).sum()
}

/// Rows in runs, which go in parallel; sums are added in the order of the runs.
struct Runs<'a> {
    z: ArrayView2<'a, f64>,
    labels: &'a [usize],
    rows: usize,
}

impl Runs<'_> {
    fn each<T: Send>(&self, of: impl Fn(ArrayView2<'_, f64>, &[usize]) -> T + Sync) -> Vec<T> {
        let runs: Vec<_> = self.z.axis_chunks_iter(Axis(0), self.rows).zip(self.labels.chunks(self.rows)).collect();
        runs.into_par_iter().map(|(z, labels)| of(z, labels)).collect()
    }

    fn total(&self, of: impl Fn(ArrayView2<'_, f64>, &[usize]) -> f64 + Sync) -> f64 {
        self.each(of).into_iter().sum()
    }

    /// Sums over rows of E_p z − z_y, of Var_p z, and of the largest probability, under p = softmax(βz).
    fn moments(&self, beta: f64) -> [f64; 3] {
        let runs = self.each(|z, labels| {
            let mut weight = z.to_owned();
            let tops: Vec<f64> = z.outer_iter().map(top).collect();
            weight.outer_iter_mut().zip(&tops).for_each(|(mut row, top)| row.mapv_inplace(|v| beta * (v - top)));
            match weight.as_slice_memory_order_mut() {
                Some(all) => exp_in_place(all),
                None => weight.mapv_inplace(f64::exp),
            }
            let mut sums = [0.0; 3];
            for (((weight, row), &top), &label) in weight.outer_iter().zip(z.outer_iter()).zip(&tops).zip(labels) {
                let (mut sum, mut mean, mut square) = (0.0, 0.0, 0.0);
                for (&w, &v) in weight.iter().zip(row) {
                    // About the largest: logits may be far from 0.
                    let d = v - top;
                    sum += w;
                    mean += w * d;
                    square += w * d * d;
                }
                let (mean, square) = (mean / sum, square / sum);
                let variance = square - mean * mean;
                sums = [sums[0] + mean - (row[label] - top), sums[1] + variance, sums[2] + 1.0 / sum];
            }
            sums
        });
        runs.into_iter().fold([0.0; 3], |t, s| [t[0] + s[0], t[1] + s[1], t[2] + s[2]])
    }
}

fn top(row: ArrayView1<'_, f64>) -> f64 {
    row.fold(f64::NEG_INFINITY, |a, &v| a.max(v))
}

/// The root of an increasing function of β above `low`, where it is negative: Newton's steps in log β, kept inside a
/// shrinking bracket.
fn newton(mut low: f64, start: f64, slope: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut high, mut beta) = (f64::INFINITY, start.max(low));
    for _ in 0..MAX_STEPS {
        let (first, second) = slope(beta);
        if first == 0.0 {
            break;
        }
        if first < 0.0 {
            low = beta
        } else {
            high = beta
        }
        // d/d log β of the slope is β · curvature.
        let step = if second > 0.0 { -first / (beta * second) } else { -first.signum() };
        let mut next = beta * step.clamp(-2.0, 2.0).exp();
        if !(next > low && next < high) {
            next = if high.is_finite() { (low * high).sqrt() } else { low * 4.0 };
        }
        if (next / beta - 1.0).abs() < 1e-14 {
            break;
        }
        beta = next;
    }
    beta
}

/// The root of an increasing function between two positive ends, in log β; the upper end if it is negative throughout.
fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..MAX_STEPS {
        let middle = (low * high).sqrt();
        if f(middle) < 0.0 {
            low = middle
        } else {
            high = middle
        }
        if high / low - 1.0 < 1e-12 {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::network::Likelihood;
    use crate::rows::ClassInputs;
    use ndarray::{Array2, array};
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    fn loss(z: &Array2<f64>, labels: &[usize], t: f64) -> f64 {
        let p = Likelihood::Multinomial.mean(z / t);
        -labels.iter().enumerate().map(|(i, &l)| p[[i, l]].max(1e-300).ln()).sum::<f64>()
    }

    fn random(n: usize, k: usize, scale: f64, seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut rng = Seed::new(seed).rng();
        let z = Array2::from_shape_simple_fn((n, k), || {
            let draw: f64 = StandardNormal.sample(&mut rng);
            scale * draw
        });
        let labels = (0..n).map(|_| rng.random_range(0..k)).collect();
        (z, labels)
    }

    #[test]
    fn no_temperature_of_a_fine_grid_is_better() {
        for (i, (k, scale)) in [(2, 1.0), (3, 40.0), (10, 1e-3), (25, 7.0)].into_iter().enumerate() {
            let (z, mut labels) = random(300, k, scale, i as u64);
            // Half of the rows are right, so that the best temperature is inside.
            for (r, label) in labels.iter_mut().enumerate().filter(|(r, _)| r % 2 == 0) {
                let row = z.row(r);
                *label = (0..k).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            }
            let t = of_logits(z.view(), &labels);
            let best = loss(&z, &labels, t);
            for step in -400..=400 {
                let other = t * (step as f64 * 0.01).exp();
                assert!(loss(&z, &labels, other) >= best - 1e-9 * best, "{k} classes: {t} against {other}");
            }
        }
    }

    #[test]
    fn logits_without_a_mistake_or_without_any_sense_have_a_temperature() {
        let z = array![[4.0, 0.0], [0.0, 3.0], [2.0, 0.0]];
        let t = of_logits(z.view(), &[0, 1, 0]);
        let confidence = Likelihood::Multinomial.mean(&z / t).map_axis(Axis(1), |r| r.fold(0.0, |a: f64, &p| a.max(p)));
        assert!((confidence.mean().unwrap() - 0.875).abs() < 1e-9);
        let t = of_logits(z.view(), &[1, 0, 1]);
        assert!(t > 1e5 && t.is_finite());
        assert_eq!(of_logits(Array2::zeros((4, 3)).view(), &[0, 1, 2, 0]), 1.0);
    }

    #[test]
    fn a_number_added_to_a_row_changes_nothing() {
        let (z, labels) = random(100, 4, 2.0, 9);
        let shift = Array2::from_shape_fn((100, 1), |(i, _)| i as f64 - 50.0);
        let inputs = &z + &shift;
        let rows = |z: &Array2<f64>| {
            fit_temperature(&ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &labels, 4).unwrap()).unwrap()
        };
        assert!((rows(&z) / rows(&inputs) - 1.0).abs() < 1e-9);
    }
}
