//! Adam (Kingma & Ba 2015) with decoupled weight decay: its moments, and its scalars for each step.

use super::pass::Part;
use super::{Mlp, Training};
use crate::linalg::perceptron::{self, AdamStep};

/// First and second moments of a layer's gradient.
struct Moments {
    weight: [Vec<f32>; 2],
    bias: [Vec<f32>; 2],
}

/// The optimiser of one network.
pub(super) struct Adam {
    rate: f64,
    betas: [f64; 2],
    epsilon: f64,
    decay: f64,
    moments: Vec<Moments>,
    steps: f64,
}

impl Adam {
    pub(super) fn new(settings: &Training, net: &Mlp) -> Self {
        let zeros = |n: usize| [vec![0.0; n], vec![0.0; n]];
        let moments = net.layers.iter().map(|l| Moments { weight: zeros(l.weight.len()), bias: zeros(l.bias.len()) });
        Adam {
            rate: settings.rate,
            betas: settings.betas,
            epsilon: settings.epsilon,
            decay: settings.weight_decay,
            moments: moments.collect(),
            steps: 0.0,
        }
    }

    /// Counts a step; what it returns applies it, part by part.
    pub(super) fn step(&mut self) -> impl FnMut(Part, &mut [f32], &[f32]) + '_ {
        self.steps += 1.0;
        let [beta1, beta2] = self.betas;
        let correction = |beta: f64| 1.0 - beta.powf(self.steps);
        let weights = AdamStep {
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            rate: (self.rate / correction(beta1)) as f32,
            root_scale: correction(beta2).sqrt().recip() as f32,
            epsilon: self.epsilon as f32,
            keep: (1.0 - self.rate * self.decay) as f32,
        };
        // Biases do not decay: a constant in the targets is not to be shrunk.
        let biases = AdamStep { keep: 1.0, ..weights };
        let moments = &mut self.moments;
        move |part, parameters, gradient| {
            let ([m, v], s) = match part {
                Part::Weight(i) => (&mut moments[i].weight, weights),
                Part::Bias(i) => (&mut moments[i].bias, biases),
            };
            perceptron::adam(parameters, m, v, gradient, s);
        }
    }
}
