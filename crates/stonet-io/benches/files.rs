//! Rows per second through every format: a million rows of 20 numbers of 32 bits, read whole, read by four columns in
//! batches, and written.

use std::path::Path;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{Array2, Axis};
use stonet_io::{Cells, Column, Reading, Type, Writer, read};

const ROWS: usize = 1_000_000;
const COLUMNS: usize = 20;
const FORMATS: [&str; 4] = ["parquet", "arrow", "npy", "csv"];

fn write(path: &Path, values: &Array2<f64>) {
    let columns = (0..COLUMNS).map(|c| Column::new(format!("x{c}"), Type::F32)).collect();
    let mut writer = Writer::create(path, columns).expect("a temporary directory");
    for batch in values.axis_chunks_iter(Axis(0), 1 << 16) {
        let cells: Vec<Cells<'_>> = batch.axis_iter(Axis(1)).map(Cells::Numbers).collect();
        writer.write(&cells).expect("room on the disk");
    }
    writer.finish().expect("room on the disk");
}

fn files(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let values = Array2::from_shape_fn((ROWS, COLUMNS), |(i, j)| f64::from(((i * 31 + j * 17) as f32).sin()));
    let mut group = c.benchmark_group("files");
    group.sample_size(10).throughput(Throughput::Elements(ROWS as u64));
    for format in FORMATS {
        let path = dir.path().join(format!("t.{format}"));
        group.bench_function(BenchmarkId::new("write", format), |b| b.iter(|| write(&path, &values)));
        group.bench_function(BenchmarkId::new("read", format), |b| {
            b.iter_batched(|| (), |()| read(&path).expect("what was written"), BatchSize::PerIteration);
        });
        let prefix = if format == "npy" { 'c' } else { 'x' };
        let numbers = [0, 5, 10, 19].map(|i| format!("{prefix}{i}"));
        let reading = Reading { numbers: Some(numbers.into()), ..Reading::default() };
        group.bench_function(BenchmarkId::new("batches_of_4_columns", format), |b| {
            b.iter(|| {
                let batches = reading.batches(&path, 1 << 14).expect("what was written");
                batches.map(|t| t.expect("what was written").values().sum()).sum::<f64>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, files);
criterion_main!(benches);
