//! Rows of classifications: logits of a network and labels from the true probabilities.

#[path = "../drawn.rs"]
mod drawn;

use drawn::drawn;
use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use stonet::network::Likelihood;
use stonet::{ClassMethod, Seed};

/// How rows are drawn.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub name: &'static str,
    pub rows: usize,
    pub classes: usize,
    /// Logits of a grid, so that probabilities and scores are often equal.
    pub tied: bool,
    /// How much more frequent each class is than the next one.
    pub skew: f64,
    /// A class that never occurs.
    pub absent: Option<usize>,
    /// The standard deviation of the true logits: 0 for classes that nothing tells apart.
    pub spread: f64,
    /// The network's logits are so many times the true ones, and a number that all classes share is added.
    pub sharpness: f64,
    pub offset: f64,
    /// How probabilities are made.
    pub method: ClassMethod,
}

pub const PLAIN: World = World {
    name: "5 classes, 120 rows",
    rows: 120,
    classes: 5,
    tied: false,
    skew: 0.0,
    absent: None,
    spread: 1.5,
    sharpness: 2.0,
    offset: 0.0,
    method: ClassMethod::Temperature,
};

/// Rows that were drawn.
pub struct Rows {
    pub logits: Array2<f64>,
    /// The true probabilities.
    pub truth: Array2<f64>,
    pub labels: Vec<usize>,
}

impl World {
    pub fn draw(&self, rows: usize, seed: Seed) -> Rows {
        let mut rng = seed.rng();
        let mut z = Array2::from_shape_fn((rows, self.classes), |(_, k)| {
            let draw: f64 = StandardNormal.sample(&mut rng);
            let z = self.spread * draw - self.skew * k as f64;
            if self.tied { z.round() } else { z }
        });
        if let Some(absent) = self.absent {
            z.column_mut(absent).mapv_inplace(|z| z - 60.0);
        }
        let truth = Likelihood::Multinomial.mean(z.clone());
        let labels = truth.outer_iter().map(|q| drawn(q, rng.random())).collect();
        Rows { logits: z * self.sharpness + self.offset, truth, labels }
    }
}
