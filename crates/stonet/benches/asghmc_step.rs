//! One ASGHMC step at batch 50 for the paper's three shapes, beside the bare matrix products of the same step by faer.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::Array2;
use stonet::{Activation, Asghmc, Dataset, Seed, StepBench, StoNet};

const BATCH: usize = 50;
const SHAPES: [&[usize]; 3] = [&[100, 20, 1], &[20, 500, 1], &[20, 500, 100, 1]];

fn name(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("asghmc_step");
    for widths in SHAPES {
        let x = Array2::from_shape_fn((500, widths[0]), |(i, j)| ((i * 31 + j * 17) as f64).sin());
        let y = Array2::from_shape_fn((500, 1), |(i, _)| (i as f64).cos());
        // κ = 0 keeps every unit, so that the step does not get easier while it is measured.
        let trainer = Asghmc { rates: vec![1e-3; widths.len() - 1], kappa: vec![0.0], ..Asghmc::default() };
        let start = StoNet::random(widths, Activation::Tanh, Seed::new(1)).expect("valid widths");
        let data = Dataset::new(x, y).expect("finite data");
        let mut bench = StepBench::new(&trainer, &start, &data).expect("valid settings");
        group.bench_function(BenchmarkId::from_parameter(name(widths)), |b| b.iter(|| bench.step()));
    }
    group.finish();
}

fn product(out: MatMut<'_, f32>, keep: Accum, a: MatRef<'_, f32>, b: MatRef<'_, f32>, scale: f32) {
    faer::linalg::matmul::matmul(out, keep, a, b, scale, Par::Seq);
}

/// Forward, backward (not to the inputs), the two corrections and the update: only the products, no activations.
fn faer_products(c: &mut Criterion) {
    let mut group = c.benchmark_group("faer_products_of_the_step");
    for widths in SHAPES {
        let matrix = |r: usize, c: usize| Mat::<f32>::from_fn(r, c, |i, j| ((i * 7 + j * 3) as f32).sin());
        let w: Vec<Mat<f32>> = widths.windows(2).map(|w| matrix(w[1], w[0])).collect();
        let a: Vec<Mat<f32>> = widths.iter().map(|&d| matrix(d, BATCH)).collect();
        let mut dw = w.clone();
        let mut out = a.clone();
        group.bench_function(BenchmarkId::from_parameter(name(widths)), |b| {
            b.iter(|| {
                for i in 0..w.len() {
                    product(out[i + 1].as_mut(), Accum::Replace, w[i].as_ref(), a[i].as_ref(), 1.0);
                    if i > 0 {
                        let back = w[i].transpose();
                        product(out[i].as_mut(), Accum::Replace, back, a[i + 1].as_ref(), 1.0);
                        product(out[i + 1].as_mut(), Accum::Add, w[i].as_ref(), a[i].as_ref(), -1.0);
                    }
                    product(dw[i].as_mut(), Accum::Add, a[i + 1].as_ref(), a[i].transpose(), 1e-6);
                }
            })
        });
    }
    group.finish();
}

criterion_group!(benches, step, faer_products);
criterion_main!(benches);
