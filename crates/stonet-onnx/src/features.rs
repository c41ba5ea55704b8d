//! Features of a layer: the network on batches of rows, in parallel, with a few batches in memory at once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use ndarray::{Array2, ArrayView2, s};
use stonet::Ticker;
use stonet::base::Cancelled;

use crate::feeds::{Feed, Plan};
use crate::runtime::{Engine, Output, Runtime};
use crate::tensor::Axis;
use crate::{Error, Inputs, Network, Result, Tap, TensorInfo};

/// Numbers of a batch: 8 GiB.
const MOST: usize = 1 << 31;

/// How a network is run.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `runtime` | rten | what runs it | |
/// | `batch` | 32 | rows at once; a network made for one number of rows has its own | ≥ 1 |
/// | `outputs` | false | whether the network's outputs are wanted beside the features | |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSettings {
    /// What runs it.
    pub runtime: Runtime,
    /// Rows at once.
    pub batch: usize,
    /// Whether the network's outputs are wanted too.
    pub outputs: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings { runtime: Runtime::Rten, batch: 32, outputs: false }
    }
}

/// What a network said of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// One row per row; the tap's axes behind the batch laid out in a line.
    pub features: Array2<f32>,
    /// The network's outputs of f32 that are not the tap itself, by name, if they were asked for.
    pub outputs: Vec<(String, Array2<f32>)>,
}

/// A network that is ready to run, tapped.
pub struct Runner<'a> {
    network: Cow<'a, Network>,
    runtime: Runtime,
    engine: Box<dyn Engine>,
    /// The tap, then outputs.
    tensors: Vec<String>,
    /// Which input each tensor is; none for those that the engine computes.
    passed: Vec<Option<usize>>,
    batch: usize,
    /// Whether it takes that many rows and no fewer.
    whole: bool,
}

impl Network {
    /// Loads the network into a runtime; threads are those of the current rayon pool.
    pub fn runner(&self, tap: &Tap, settings: &RunSettings) -> Result<Runner<'_>> {
        if settings.batch == 0 {
            return Err(Error::setting("batch", 0, "at least 1"));
        }
        // Classes, which are integers, follow from what stands beside them.
        let number = |o: &&TensorInfo| o.element.is_none_or(|e| e.is_f32() || e.is_other_float());
        let others = self.outputs().iter().filter(|o| settings.outputs && o.name != tap.tensor).filter(number);
        let tensors = [&tap.tensor].into_iter().chain(others.map(|o| &o.name)).cloned().collect();
        self.load(tensors, settings)
    }

    fn load(&self, tensors: Vec<String>, settings: &RunSettings) -> Result<Runner<'_>> {
        let fixed = self.fixed_batch()?;
        let passed: Vec<Option<usize>> =
            tensors.iter().map(|t| self.inputs().iter().position(|i| i.name == *t)).collect();
        let computed = tensors.iter().zip(&passed).filter(|(_, p)| p.is_none());
        let names: Vec<&str> = computed.map(|(t, _)| t.as_str()).collect();
        let engine = settings.runtime.load(self, &names, rayon::current_num_threads())?;
        let (batch, whole) = (fixed.unwrap_or(settings.batch), fixed.is_some());
        Ok(Runner { network: Cow::Borrowed(self), runtime: settings.runtime, engine, tensors, passed, batch, whole })
    }

    /// The taps with the axes that one row of zeros shows, where the network can be run without knowing more.
    pub fn measured_taps(&self) -> Vec<Tap> {
        let mut taps = self.taps();
        if let Some(shapes) = self.measure(taps.iter().map(|t| t.tensor.clone()).collect()) {
            taps.iter_mut().zip(shapes).for_each(|(tap, shape)| tap.shape = Some(shape));
        }
        taps
    }

    /// How many numbers of a tensor one row of zeros makes, where the network can be run without knowing more.
    pub(crate) fn row_width(&self, tensor: &str) -> Option<usize> {
        let shapes = self.measure(vec![tensor.to_owned()])?;
        let size = |a: &Axis| if let Axis::Fixed(n) = a { Some(*n) } else { None };
        shapes.first()?.iter().skip(1).map(size).try_fold(1usize, |p, n| p.checked_mul(n?))
    }

    fn measure(&self, tensors: Vec<String>) -> Option<Vec<Vec<Axis>>> {
        let runner = self.load(tensors, &RunSettings::default()).ok()?;
        let feeds = self.zeros(if runner.whole { runner.batch } else { 1 })?;
        let outputs = runner.run(0, &feeds).ok()?;
        let symbol = match self.inputs().first()?.shape.as_deref().and_then(|s| s.first()) {
            Some(Axis::Open(name)) if !name.is_empty() => Axis::Open(name.clone()),
            Some(Axis::Fixed(n)) => Axis::Fixed(*n),
            _ => Axis::Open("N".into()),
        };
        let axes = |(shape, _): Output| {
            [symbol.clone()].into_iter().chain(shape.into_iter().skip(1).map(Axis::Fixed)).collect()
        };
        Some(outputs.into_iter().map(axes).collect())
    }
}

impl Runner<'_> {
    /// The same with a network of its own.
    pub fn into_owned(self) -> Runner<'static> {
        Runner { network: Cow::Owned(self.network.into_owned()), ..self }
    }

    /// The tensors it gives: the tap first.
    pub fn tensors(&self) -> &[String] {
        &self.tensors
    }

    /// All tensors: inputs as they are, the others from the engine.
    fn run(&self, worker: usize, feeds: &[Feed]) -> std::result::Result<Vec<Output>, String> {
        let computed = match self.passed.iter().all(Option::is_some) {
            true => Vec::new(),
            false => self.engine.run(worker, feeds)?,
        };
        let mut computed = computed.into_iter();
        let one = |passed: &Option<usize>| match passed {
            Some(i) => feeds.get(*i).map(|f| (f.shape.clone(), f.values.clone())),
            None => computed.next(),
        };
        let all: Option<Vec<Output>> = self.passed.iter().map(one).collect();
        all.ok_or_else(|| "it gave fewer tensors than were asked for".into())
    }

    /// Features of these rows. `tick(done, total)` follows the rows and cancels the work by returning false.
    pub fn features(&self, inputs: &Inputs, rows: Range<usize>, tick: Ticker<'_>) -> Result<Features> {
        if rows.end > inputs.rows() || rows.start >= rows.end {
            return Err(Error::setting("rows", &rows, format!("at least one, and below {}", inputs.rows())));
        }
        let plan = Plan::new(inputs, &self.network)?;
        // A network can be made for any number of rows, but not for one that no memory holds.
        let size = plan.size(self.batch);
        if size.is_none_or(|size| size > MOST) {
            return Err(Error::setting("batch", self.batch, format!("at most {MOST} numbers in all")));
        }
        let total = rows.len();
        let starts: Vec<usize> = rows.clone().step_by(self.batch).collect();
        let job =
            Job { runner: self, inputs, plan, rows, starts, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
        let mut tables: Vec<Array2<f32>> = Vec::new();
        let mut done = 0;
        job.run(|first, outputs| {
            let count = outputs.first().map_or(0, Array2::nrows);
            if tables.is_empty() {
                tables = outputs.iter().map(|o| Array2::zeros((total, o.ncols()))).collect();
            }
            for ((table, output), name) in tables.iter_mut().zip(&outputs).zip(&self.tensors) {
                if output.ncols() != table.ncols() {
                    let shape = output.shape().to_vec();
                    let what = "other batches have rows of another size";
                    return Err(Error::NotRows { tensor: name.clone(), shape, rows: count, what });
                }
                table.slice_mut(s![first..first + count, ..]).assign(output);
            }
            done += count;
            if tick(done, total) { Ok(()) } else { Err(Cancelled::rows(done, total).into()) }
        })?;
        let mut tables = tables.into_iter();
        let features = tables.next().unwrap_or_default();
        Ok(Features { features, outputs: self.tensors.iter().skip(1).cloned().zip(tables).collect() })
    }
}

/// Rows on their way through a network.
struct Job<'a> {
    runner: &'a Runner<'a>,
    inputs: &'a Inputs,
    plan: Plan,
    rows: Range<usize>,
    /// First row of each batch.
    starts: Vec<usize>,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Job<'_> {
    /// Hands every batch to `take`, with the place of its first row among the rows; in no particular order.
    fn run(&self, mut take: impl FnMut(usize, Vec<Array2<f32>>) -> Result<()>) -> Result<()> {
        let workers = self.runner.engine.workers().min(self.starts.len());
        // As many batches wait as are being made; memory does not grow with the rows.
        let (send, receive) = sync_channel(workers);
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let send = send.clone();
                scope.spawn(move || {
                    while let Some(&start) = self.starts.get(self.next.fetch_add(1, Ordering::Relaxed)) {
                        let made = self.batch(worker, start);
                        if self.stop.load(Ordering::Relaxed) || send.send((start, made)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let mut result = Ok(());
            for (start, made) in receive {
                // Workers finish what they are at; what they still bring is let go.
                if result.is_ok() {
                    result = made.and_then(|outputs| take(start - self.rows.start, outputs));
                    self.stop.store(result.is_err(), Ordering::Relaxed);
                }
            }
            result
        })
    }

    fn batch(&self, worker: usize, start: usize) -> Result<Vec<Array2<f32>>> {
        let runner = self.runner;
        let end = start.saturating_add(runner.batch).min(self.rows.end);
        let mut values = Vec::new();
        self.inputs.fill(start..end, &mut values);
        let rows = if runner.whole { runner.batch } else { end - start };
        let feeds = self.plan.feeds(&values, rows, start)?;
        let path = || runner.network.path().to_owned();
        let failed = |what| Error::Runtime { path: path(), runtime: runner.runtime.name(), what };
        let outputs = runner.run(worker, &feeds).map_err(failed)?;
        let tensors = outputs.into_iter().zip(&runner.tensors);
        tensors.map(|(o, name)| as_rows(o, name, rows, start..end)).collect()
    }
}

/// The first of `batch` rows, which are these, each laid out in a line; an error where a number is not finite.
fn as_rows((shape, values): Output, tensor: &str, batch: usize, rows: Range<usize>) -> Result<Array2<f32>> {
    let wrong = |what| Error::NotRows { tensor: tensor.into(), shape: shape.clone(), rows: batch, what };
    let Some((_, axes)) = shape.split_first().filter(|(n, _)| **n == batch) else {
        return Err(wrong("its first axis does not count the rows"));
    };
    let width = axes.iter().try_fold(1usize, |p, &d| p.checked_mul(d)).unwrap_or(usize::MAX);
    let whole = ArrayView2::from_shape((batch, width), &values).map_err(|_| wrong("its axes and its size disagree"))?;
    let own = whole.slice(s![..rows.len(), ..]);
    if let Some(((row, column), value)) = own.indexed_iter().find(|(_, v)| !v.is_finite()) {
        let (row, value) = (rows.start + row, value.to_string());
        return Err(Error::OutputNumber { row, column, value, tensor: tensor.into() });
    }
    Ok(own.to_owned())
}
