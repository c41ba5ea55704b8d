//! One training step against the algorithm box, re-computed in plain f64 with latents Y_i and differences Y_i − F_i.

use ndarray::{Array1, Array2};
use rand_distr::{Distribution, StandardNormal};
use stonet::base::Rng;
use stonet::network::{Layer, Likelihood};
use stonet::train::{Asghmc, StepBench};
use stonet::{Activation, Dataset, Penalty, Seed, StoNet};

fn data(rows: usize, inputs: usize, outputs: usize) -> Dataset {
    let mut draws = StandardNormal.sample_iter(Seed::new(11).rng());
    let mut next = || draws.next().unwrap();
    let x = Array2::from_shape_simple_fn((rows, inputs), &mut next);
    Dataset::new(x, Array2::from_shape_simple_fn((rows, outputs), next)).unwrap()
}

/// The same inputs with classes in turn.
fn of_head(data: Dataset, head: Likelihood) -> Dataset {
    match head {
        Likelihood::Multinomial => {
            let labels: Vec<usize> = (0..data.rows()).map(|i| i % data.outputs()).collect();
            Dataset::classes(data.x().to_owned(), &labels, data.outputs()).unwrap()
        }
        _ => data,
    }
}

/// `ASGHMC` with D1–D3 and no cleverness.
struct Plain<'a> {
    trainer: &'a Asghmc,
    layers: Vec<Layer>,
    psi: Activation,
    head: Likelihood,
    rng: Rng,
}

impl Plain<'_> {
    fn feed(&self, i: usize, below: &Array2<f64>) -> Array2<f64> {
        below.dot(&self.layers[i].weight.t()) + &self.layers[i].bias
    }

    /// A_{i−1} of layer `i` (from 0), given the inputs and all latents.
    fn below(&self, i: usize, x: &Array2<f64>, y: &[Array2<f64>]) -> Array2<f64> {
        if i == 0 { x.clone() } else { y[i - 1].mapv(|v| self.psi.value(v)) }
    }

    fn deviation(&self, i: usize, x: &Array2<f64>, y: &[Array2<f64>]) -> Array2<f64> {
        let f = self.feed(i, &self.below(i, x, y));
        if i + 1 == self.layers.len() { self.head.residual(y[i].view(), f.view()) } else { &y[i] - &f }
    }

    fn step(&mut self, data: &Dataset) {
        let (t, last) = (self.trainer, self.layers.len() - 1);
        let x = data.x().to_owned();
        // y[i] is the latent of layer i + 1, and the response for the last.
        let mut y: Vec<Array2<f64>> = Vec::new();
        for i in 0..last {
            let f = self.feed(i, &self.below(i, &x, &y));
            y.push(f);
        }
        y.push(data.y().to_owned());
        let mut v: Vec<Array2<f64>> = y.iter().map(|y| Array2::zeros(y.raw_dim())).collect();
        for _ in 0..t.hmc_steps {
            for i in (0..last).rev() {
                let (above, own) = (self.deviation(i + 1, &x, &y), self.deviation(i, &x, &y));
                let (s_own, s_above) = (self.layers[i].noise_variance, self.layers[i + 1].noise_variance);
                let epsilon = t.step_ratio[i.min(t.step_ratio.len() - 1)] * s_above;
                let slope = y[i].mapv(|y| self.psi.derivative(y));
                let g = slope * above.dot(&self.layers[i + 1].weight) / s_above - own / s_own;
                v[i] = (1.0 - t.friction) * &v[i] + epsilon * g;
                if t.noise > 0.0 {
                    let sd = t.noise * (2.0 * t.friction * epsilon).sqrt();
                    v[i].mapv_inplace(|v| {
                        let draw: f32 = StandardNormal.sample(&mut self.rng);
                        v + sd * f64::from(draw)
                    });
                }
                y[i] += &v[i];
            }
        }
        let b = data.rows() as f64;
        let moves: Vec<(Array2<f64>, Array1<f64>)> = (0..=last)
            .map(|i| {
                let e = self.deviation(i, &x, &y);
                let gain = t.rates[i] / reach(t, last)[i];
                (gain / b * e.t().dot(&self.below(i, &x, &y)), gain / b * e.sum_axis(ndarray::Axis(0)))
            })
            .collect();
        for (i, (dw, db)) in moves.into_iter().enumerate() {
            let kappa = t.kappa[i.min(t.kappa.len() - 1)];
            self.layers[i].weight = (&self.layers[i].weight + &dw).mapv(|w| t.penalty.prox(w, 1.0 / t.rates[i], kappa));
            self.layers[i].bias += &db;
        }
    }
}

/// What a unit of residual adds to each layer's deviation: sums of sums of the ratio, by the sweep with unit weights.
fn reach(t: &Asghmc, hidden: usize) -> Vec<f64> {
    let (mut e, mut v) = (vec![0.0; hidden], vec![0.0; hidden]);
    for _ in 0..t.hmc_steps {
        for i in (0..hidden).rev() {
            let above = if i + 1 == hidden { 1.0 } else { e[i + 1] };
            v[i] = (1.0 - t.friction) * v[i] + t.step_ratio[0] * above;
            e[i] += v[i];
        }
    }
    e.push(1.0);
    e
}

fn agrees(trainer: &Asghmc, widths: &[usize], psi: Activation, head: Likelihood, tolerance: f64) {
    // Variances of order one make every term count; the paper's tiny ones would hide all but the first.
    let sigma2: Vec<f64> = (1..widths.len()).map(|i| 0.3 + 0.2 * i as f64).collect();
    let start =
        StoNet::random(widths, psi, Seed::new(5)).unwrap().with_noise_variances(&sigma2).unwrap().with_head(head);
    let data = of_head(data(trainer.batch_size, widths[0], widths[widths.len() - 1]), head);
    let mut fast = StepBench::new(trainer, &start, &data).unwrap();
    let layers = start.layers().to_vec();
    let mut plain = Plain { trainer, layers, psi, head, rng: Seed::new(1).child(0).rng() };
    for _ in 0..3 {
        fast.step();
        plain.step(&data);
    }
    for (a, b) in fast.network().layers().iter().zip(&plain.layers) {
        let weights = a.weight.iter().zip(&b.weight).chain(a.bias.iter().zip(&b.bias));
        for (a, b) in weights {
            assert!((a - b).abs() < tolerance, "{psi:?} {head:?} {widths:?} {trainer:?}: {a} {b}");
        }
    }
}

#[test]
fn deviation_form_equals_the_plain_recomputation() {
    let shapes = [vec![3, 1], vec![3, 5, 1], vec![3, 2], vec![10, 9, 2], vec![4, 17, 8, 3], vec![2, 9, 9, 9, 9]];
    for (psi, head) in Activation::ALL.into_iter().flat_map(|psi| Likelihood::ALL.map(|head| (psi, head))) {
        // One class alone is no classification.
        for widths in shapes.iter().filter(|w| head == Likelihood::Gaussian || w[w.len() - 1] > 1) {
            let layers = widths.len() - 1;
            let langevin = Asghmc {
                batch_size: 13,
                rates: vec![0.2; layers],
                kappa: vec![0.02],
                step_ratio: vec![0.3],
                ..Asghmc::default()
            };
            agrees(&langevin, widths, psi, head, 2e-5);
            let momentum = Asghmc { hmc_steps: 4, friction: 0.3, penalty: Penalty::MCP, ..langevin.clone() };
            agrees(&momentum, widths, psi, head, 2e-5);
            let noisy = Asghmc { noise: 0.2, hmc_steps: 2, penalty: Penalty::SCAD, ..langevin };
            agrees(&noisy, widths, psi, head, 2e-5);
        }
    }
}

/// At the paper's settings the step is proximal gradient descent on ½·MSE up to O(ε/σ²), with the rates of the preset;
/// with more sweeps or momentum it still is, since the gains take back what these add.
#[test]
fn at_the_papers_settings_a_step_is_proximal_gradient_descent() {
    let settings = stonet::train::Preset::by_name("simulation-2-ii").unwrap().settings(0.0);
    let paper = Asghmc { kappa: vec![0.03], ..settings.trainer().unwrap() };
    let start = StoNet::random(&[4, 6, 5, 1], Activation::Tanh, Seed::new(2))
        .unwrap()
        .with_noise_variances(&settings.sigma2)
        .unwrap();
    let data = data(50, 4, 1);
    let loss = |layers: Vec<Layer>| {
        let net = StoNet::new(layers, Activation::Tanh, start.head()).unwrap();
        net.head().loss(data.y(), net.predict(data.x()).unwrap().view())
    };
    let slope = |shift: &dyn Fn(&mut [Layer], f64)| {
        let h = 1e-6;
        let shifted = |d: f64| {
            let mut layers = start.layers().to_vec();
            shift(&mut layers, d);
            loss(layers)
        };
        (shifted(h) - shifted(-h)) / (2.0 * h)
    };
    for trainer in
        [paper.clone(), Asghmc { hmc_steps: 4, ..paper.clone() }, Asghmc { hmc_steps: 3, friction: 0.2, ..paper }]
    {
        let mut fast = StepBench::new(&trainer, &start, &data).unwrap();
        fast.step();
        for (i, layer) in fast.network().layers().iter().enumerate() {
            let (rate, before) = (trainer.rates[i], &start.layers()[i]);
            let close = |found: f64, wanted: f64, step: f64| (found - wanted).abs() < 5e-3 * step.abs() + 2e-7;
            for (at, &w) in layer.weight.indexed_iter() {
                let step = rate * slope(&|layers, d| layers[i].weight[at] += d);
                let wanted = trainer.penalty.prox(before.weight[at] - step, 1.0 / rate, 0.03);
                assert!(close(w, wanted, step), "{trainer:?} layer {i}: {w} {wanted}");
            }
            for (j, &b) in layer.bias.iter().enumerate() {
                let step = rate * slope(&|layers, d| layers[i].bias[j] += d);
                assert!(close(b, before.bias[j] - step, step), "{trainer:?} layer {i}: {b}");
            }
        }
    }
}
