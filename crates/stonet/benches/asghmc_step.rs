//! One ASGHMC step at batch 50 for the paper's three shapes, and what the removal of dead units saves over a fit.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ndarray::{Array2, Axis};
use stonet::train::{Asghmc, Preset, StepBench, Trainer};
use stonet::{Activation, Dataset, Seed, StoNet};

const SHAPES: [&[usize]; 3] = [&[100, 20, 1], &[20, 500, 1], &[20, 500, 100, 1]];

fn name(widths: &[usize]) -> String {
    widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("asghmc_step");
    for widths in SHAPES {
        let x = Array2::from_shape_fn((500, widths[0]), |(i, j)| ((i * 31 + j * 17) as f64).sin());
        let y = Array2::from_shape_fn((500, 1), |(i, _)| (i as f64).cos());
        // A κ that removes nothing: the proximal map is part of the step, and the step does not get easier while it is
        // measured.
        let trainer = Asghmc { rates: vec![1e-3; widths.len() - 1], kappa: vec![1e-9], ..Asghmc::default() };
        let start = StoNet::random(widths, Activation::Tanh, Seed::new(1)).expect("valid widths");
        let data = Dataset::new(x, y).expect("finite data");
        let mut bench = StepBench::new(&trainer, &start, &data).expect("valid settings");
        group.bench_function(BenchmarkId::from_parameter(name(widths)), |b| b.iter(|| bench.step()));
    }
    group.finish();
}

/// A whole fit of 20-500-1 (500 rows, 2000 epochs) with and without the removal of dead units.
fn compaction(c: &mut Criterion) {
    let x = Array2::from_shape_fn((500, 20), |(i, j)| ((i * 31 + j * 17 + i * j) as f64).sin());
    let y = x.map_axis(Axis(1), |r| 2.0 * (2.0 * r[0] - r[1]).tanh() - r[2] + r[3] * 0.3);
    let data = Dataset::single(x, y).expect("finite data");
    let start = StoNet::random(&[20, 500, 1], Activation::Tanh, Seed::new(1)).expect("valid widths");
    let settings = Preset::by_name("simulation-1-ii").expect("a known preset").settings(0.0);
    let trainer = settings.trainer().expect("a valid preset");
    let mut group = c.benchmark_group("fit_20-500-1");
    group.sample_size(10);
    for compact_every in [0, 20] {
        let trainer = Asghmc { epochs: 2000, kappa: vec![0.02], compact_every, ..trainer.clone() };
        group.bench_function(BenchmarkId::new("compact_every", compact_every), |b| {
            b.iter(|| trainer.fit(&start, &data, Seed::new(1), &mut ()).expect("a fit"))
        });
    }
    group.finish();
}

criterion_group!(benches, step, compaction);
criterion_main!(benches);
