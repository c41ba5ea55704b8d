//! Simulated sets whose noise is known, so that coverage given the inputs is exact.

use ndarray::{Array2, ArrayView1, Axis};
use rand_distr::{Distribution, StandardNormal};
use stonet::{Dataset, Intervals, Seed};

/// Rows of a simulated set; 40 % train, 40 % calibrate, 20 % test.
const ROWS: usize = 5000;
/// Inputs of a simulated set.
const INPUTS: usize = 8;

/// A simulated set whose noise is known: y = m(x) + s(x) ε.
#[derive(Clone, Copy)]
pub enum Truth {
    Homoscedastic,
    Absolute,
    Exponential,
    HeavyTails,
    Skewed,
    Interaction,
}

impl Truth {
    pub const ALL: [Truth; 6] = [
        Truth::Homoscedastic,
        Truth::Absolute,
        Truth::Exponential,
        Truth::HeavyTails,
        Truth::Skewed,
        Truth::Interaction,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Truth::Homoscedastic => "constant-sd",
            Truth::Absolute => "sd-abs-x",
            Truth::Exponential => "sd-exp-x",
            Truth::HeavyTails => "t3",
            Truth::Skewed => "skewed",
            Truth::Interaction => "interaction",
        }
    }

    fn mean(x: ArrayView1<'_, f64>) -> f64 {
        x[0] + (2.0 * x[1]).sin() + 0.5 * x[2] * x[2] + 0.5 * x[0] * x[3]
    }

    fn scale(self, x: ArrayView1<'_, f64>) -> f64 {
        match self {
            Truth::Homoscedastic => 0.5,
            Truth::Absolute => 0.05 + 0.6 * x[0].abs(),
            Truth::Exponential => 0.4 * (0.7 * x[0]).exp(),
            Truth::HeavyTails => 0.3,
            Truth::Skewed => 0.2 + 0.5 / (1.0 + (-2.0 * x[0]).exp()),
            Truth::Interaction => 0.4 * (0.6 * x[0] * x[1]).clamp(-1.5, 1.5).exp(),
        }
    }

    /// P(ε ≤ e).
    fn below(self, e: f64) -> f64 {
        match self {
            Truth::HeavyTails => {
                let t = e / 3f64.sqrt();
                0.5 + (t / (1.0 + t * t) + t.atan()) / std::f64::consts::PI
            }
            Truth::Skewed => {
                if e <= -1.0 {
                    0.0
                } else {
                    1.0 - (-(e + 1.0)).exp()
                }
            }
            _ => normal_below(e),
        }
    }

    pub fn sample(self, seed: Seed) -> stonet::Result<Dataset> {
        let mut normals = StandardNormal.sample_iter(seed.rng());
        let mut next = || -> f64 { normals.next().expect("endless") };
        let x = Array2::from_shape_simple_fn((ROWS, INPUTS), &mut next);
        let y = x.map_axis(Axis(1), |row| {
            let e = match self {
                // A normal over the root of a mean of three squares.
                Truth::HeavyTails => next() / (((next().powi(2) + next().powi(2) + next().powi(2)) / 3.0).sqrt()),
                // Half the sum of two squares is exponential.
                Truth::Skewed => 0.5 * (next().powi(2) + next().powi(2)) - 1.0,
                _ => next(),
            };
            Truth::mean(row) + self.scale(row) * e
        });
        Dataset::single(x, y)
    }

    /// Mean |P(lower ≤ y ≤ upper | x) − level| over the rows.
    pub fn deviation(self, intervals: &Intervals, x: &Array2<f64>, level: f64) -> f64 {
        let one = |(r, row): (usize, ArrayView1<'_, f64>)| {
            let (m, s) = (Truth::mean(row), self.scale(row));
            let covered = self.below((intervals.upper[[r, 0]] - m) / s) - self.below((intervals.lower[[r, 0]] - m) / s);
            (covered - level).abs()
        };
        x.outer_iter().enumerate().map(one).sum::<f64>() / x.nrows() as f64
    }
}

/// Φ, to 1e-7 (Abramowitz and Stegun 7.1.26).
fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.3275911 * (z.abs() / std::f64::consts::SQRT_2));
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let upper = 0.5 * poly * (-z * z / 2.0).exp();
    if z > 0.0 { 1.0 - upper } else { upper }
}
