//! Models whose calibration error is known, and how often the intervals of `judge` cover it.

#[path = "drawn.rs"]
mod drawn;

use ndarray::Array2;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use stonet::Seed;
use stonet::metrics::{BINS, JudgeSettings, Measured, bin_of, judge, top_class};
use stonet::network::Likelihood;

pub use drawn::drawn;

/// Rows behind the population values: their sums hold no labels, so that only the draw of the inputs is random.
const POPULATION: usize = 60_000;

/// Logits are normal with this standard deviation; the model reports the softmax of `sharpness` times them. Where the
/// reported confidence lies in (0.6, 0.8], the top class is true less often by `lie`.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    pub name: &'static str,
    pub spread: f64,
    pub sharpness: f64,
    pub lie: f64,
}

pub const MODELS: [Model; 5] = [
    Model { name: "calibrated, sure", spread: 3.0, sharpness: 1.0, lie: 0.0 },
    Model { name: "calibrated, unsure", spread: 1.0, sharpness: 1.0, lie: 0.0 },
    Model { name: "slightly overconfident", spread: 2.0, sharpness: 1.1, lie: 0.0 },
    Model { name: "overconfident", spread: 1.0, sharpness: 2.0, lie: 0.0 },
    Model { name: "wrong in three bins", spread: 2.0, sharpness: 1.0, lie: 0.15 },
];

impl Model {
    /// Reported probabilities and true ones.
    pub fn rows(&self, n: usize, k: usize, seed: Seed) -> (Array2<f64>, Array2<f64>) {
        let mut rng = seed.rng();
        let z = Array2::from_shape_simple_fn((n, k), || {
            let v: f64 = StandardNormal.sample(&mut rng);
            self.spread * v
        });
        let p = Likelihood::Multinomial.mean(&z * self.sharpness);
        if self.lie == 0.0 {
            return (p, Likelihood::Multinomial.mean(z));
        }
        let mut q = p.clone();
        for mut row in q.outer_iter_mut() {
            let top = top_class(row.view());
            let c = row[top];
            if c > 0.6 && c <= 0.8 {
                row *= (1.0 - c + self.lie) / (1.0 - c);
                row[top] = c - self.lie;
            }
        }
        (p, q)
    }

    /// The population values of ece, cece and adaptive ece.
    pub fn truth(&self, k: usize) -> [f64; 3] {
        let (p, q) = self.rows(POPULATION, k, Seed::new(7));
        let tops: Vec<usize> = p.outer_iter().map(top_class).collect();
        let mut order: Vec<usize> = (0..POPULATION).collect();
        order.sort_by(|&a, &b| p[[a, tops[a]]].total_cmp(&p[[b, tops[b]]]));
        let (mut ece, mut mass, mut cece) = (vec![0.0; BINS], vec![0.0; BINS], vec![0.0; k * BINS]);
        for (rank, &i) in order.iter().enumerate() {
            let excess = p[[i, tops[i]]] - q[[i, tops[i]]];
            ece[bin_of(p[[i, tops[i]]], BINS)] += excess;
            mass[rank * BINS / POPULATION] += excess;
            (0..k).for_each(|c| cece[c * BINS + bin_of(p[[i, c]], BINS)] += p[[i, c]] - q[[i, c]]);
        }
        let error = |sums: &[f64]| sums.iter().map(|s| s.abs()).sum::<f64>() / POPULATION as f64;
        [error(&ece), error(&cece) / k as f64, error(&mass)]
    }

    /// The intervals of ece, cece and adaptive ece on each of so many independent sets of rows.
    pub fn judged(&self, n: usize, k: usize, replications: usize, settings: &JudgeSettings) -> Vec<[Measured; 3]> {
        let one = |r: usize| {
            let seed = Seed::new(1000 + n as u64).child(r as u64);
            let (p, q) = self.rows(n, k, seed.child(0));
            let mut rng = seed.child(1).rng();
            let labels: Vec<usize> = q.outer_iter().map(|q| drawn(q, rng.random())).collect();
            let found = judge(p.view(), &labels, settings, seed.child(2)).unwrap();
            [found.ece, found.cece, found.adaptive_ece]
        };
        (0..replications).into_par_iter().map(one).collect()
    }
}
