//! One ASGHMC step at batch 50 for the paper's three shapes.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ndarray::Array2;
use stonet::{Activation, Asghmc, Dataset, Seed, StepBench, StoNet};

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

criterion_group!(benches, step);
criterion_main!(benches);
