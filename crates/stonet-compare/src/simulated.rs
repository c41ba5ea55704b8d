//! The paper's two simulation models (`Exeq1`, `Exeq2`): twenty equicorrelated inputs, of which five matter.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use stonet::base::streams::simulated as streams;
use stonet::{Dataset, Result, Seed};

/// Inputs, true and false.
pub const INPUTS: usize = 20;
/// x1 … x5 are true.
pub const TRUE_INPUTS: usize = 5;
/// Of any two inputs.
const CORRELATION: f64 = 0.5;

/// Which regression function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Model {
    /// `Exeq1`: one hidden layer.
    One,
    /// `Exeq2`: two hidden layers.
    Two,
}

impl TryFrom<u8> for Model {
    type Error = String;
    fn try_from(id: u8) -> std::result::Result<Self, String> {
        match id {
            1 => Ok(Model::One),
            2 => Ok(Model::Two),
            _ => Err(format!("there is no model `{id}`; there are 1, 2")),
        }
    }
}

impl From<Model> for u8 {
    fn from(model: Model) -> u8 {
        match model {
            Model::One => 1,
            Model::Two => 2,
        }
    }
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", u8::from(*self))
    }
}

impl Model {
    /// E(y | x).
    pub fn mean(self, x: ArrayView1<'_, f64>) -> f64 {
        let (a, b, c) = (2.0 * x[0] - x[1], x[2] - 2.0 * x[3], 2.0 * x[4]);
        match self {
            Model::One => 2.0 * a.tanh() + 2.0 * b.tanh() - c.tanh(),
            Model::Two => (2.0 * a.tanh()).tanh() + 2.0 * (2.0 * b.tanh() - c.tanh()).tanh(),
        }
    }

    /// Rows of inputs and their responses with N(0, 1) noise; inputs and noise come from two streams of the seed.
    pub fn sample(self, rows: usize, seed: Seed) -> Result<Dataset> {
        let x = inputs(rows, seed.child(streams::INPUTS));
        let y = self.respond(x.view(), seed.child(streams::RESPONSES));
        Dataset::single(x, y)
    }

    /// Responses at given inputs.
    pub fn respond(self, x: ArrayView2<'_, f64>, seed: Seed) -> Array1<f64> {
        let mut noise = normals(seed);
        x.outer_iter().map(|row| self.mean(row) + noise()).collect()
    }
}

/// The smallest |value| of x1 … x5 and the largest of the others: the first exceeds the second where they are
/// separated.
pub fn separation(gradient: &[f64]) -> (f64, f64) {
    let (truly, falsely) = gradient.split_at(TRUE_INPUTS);
    let smallest = truly.iter().fold(f64::INFINITY, |a, g| a.min(g.abs()));
    (smallest, falsely.iter().fold(0.0, |a, g| a.max(g.abs())))
}

/// Standard normal inputs with mutual correlation 0.5: a common factor and a private one.
pub fn inputs(rows: usize, seed: Seed) -> Array2<f64> {
    let mut normal = normals(seed);
    let (common, private) = (CORRELATION.sqrt(), (1.0 - CORRELATION).sqrt());
    let mut x = Array2::zeros((rows, INPUTS));
    for mut row in x.outer_iter_mut() {
        let shared = common * normal();
        row.mapv_inplace(|_: f64| shared + private * normal());
    }
    x
}

fn normals(seed: Seed) -> impl FnMut() -> f64 {
    let mut rng = seed.rng();
    move || StandardNormal.sample(&mut rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_unit_variance_and_half_correlation() {
        let n = 40_000;
        let x = inputs(n, Seed::new(3));
        let moment = |i: usize, j: usize| x.column(i).dot(&x.column(j)) / n as f64;
        // A product of normals has variance at most 2: 4.5 standard errors.
        let tolerance = 4.5 * (2.0 / n as f64).sqrt();
        for (i, j) in [(0, 1), (4, 19), (7, 12)] {
            assert!((moment(i, j) - 0.5).abs() < tolerance);
            assert!((moment(i, i) - 1.0).abs() < tolerance);
        }
    }

    #[test]
    fn separation_by_hand() {
        let mut g = vec![0.1; INPUTS];
        g[..TRUE_INPUTS].copy_from_slice(&[1.0, -0.5, 2.0, 3.0, -4.0]);
        g[7] = -0.3;
        assert_eq!(separation(&g), (0.5, 0.3));
    }

    #[test]
    fn means_by_hand() {
        let mut x = Array1::zeros(INPUTS);
        x[0] = 0.5;
        x[4] = 0.25;
        x[9] = 77.0;
        let (a, c) = (1f64.tanh(), 0.5f64.tanh());
        assert!((Model::One.mean(x.view()) - (2.0 * a - c)).abs() < 1e-15);
        assert!((Model::Two.mean(x.view()) - ((2.0 * a).tanh() + 2.0 * (-c).tanh())).abs() < 1e-15);
    }
}
