//! Features of a layer: the network on batches of rows, in parallel, with a few batches in memory at once.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use ndarray::{Array2, ArrayView2, s};
use stonet::Ticker;

use crate::inputs::Plan;
use crate::runtime::{Engine, Output, Runtime};
use crate::tensor::Axis;
use crate::{ElementType, Error, Inputs, Network, Result, Tap, TensorInfo};

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
        let number = |o: &&TensorInfo| o.element.is_none_or(ElementType::is_f32);
        let others = self.outputs().iter().filter(|o| settings.outputs && o.name != tap.tensor).filter(number);
        let tensors = [&tap.tensor].into_iter().chain(others.map(|o| &o.name)).cloned().collect();
        self.load(tensors, settings)
    }

    fn load(&self, tensors: Vec<String>, settings: &RunSettings) -> Result<Runner<'_>> {
        let fixed = match self.input()?.shape.as_deref().and_then(|s| s.first()) {
            Some(Axis::Fixed(n)) => Some(*n),
            _ => None,
        };
        let names: Vec<&str> = tensors.iter().map(String::as_str).collect();
        let engine = settings.runtime.load(self, &names, rayon::current_num_threads())?;
        let (batch, whole) = (fixed.unwrap_or(settings.batch), fixed.is_some());
        Ok(Runner { network: Cow::Borrowed(self), runtime: settings.runtime, engine, tensors, batch, whole })
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
        shapes.first()?.iter().skip(1).map(size).product()
    }

    fn measure(&self, tensors: Vec<String>) -> Option<Vec<Vec<Axis>>> {
        let fixed = |a: &Axis| if let Axis::Fixed(n) = a { Some(*n) } else { None };
        let row: Vec<usize> = self.row_shape().ok()??.iter().map(fixed).collect::<Option<_>>()?;
        let runner = self.load(tensors, &RunSettings::default()).ok()?;
        let batch = if runner.whole { runner.batch } else { 1 };
        let shape: Vec<usize> = [batch].into_iter().chain(row).collect();
        // Rows that are a size of a typing error cannot be held; then the file's own word has to do.
        let size = shape.iter().try_fold(1usize, |p, &d| p.checked_mul(d)).filter(|&p| p < 1 << 28)?;
        let outputs = runner.engine.run(0, &shape, &vec![0.0; size]).ok()?;
        let symbol = match self.input().ok()?.shape.as_deref().and_then(|s| s.first()) {
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

    /// Features of these rows. `tick(done, total)` follows the rows and cancels the work by returning false.
    pub fn features(&self, inputs: &Inputs, rows: Range<usize>, tick: Ticker<'_>) -> Result<Features> {
        if rows.end > inputs.rows() || rows.start >= rows.end {
            return Err(Error::setting("rows", &rows, format!("at least one, and below {}", inputs.rows())));
        }
        let plan = inputs.plan(&self.network)?;
        // A network can be made for any number of rows, but not for one that no memory holds.
        let size = plan.shape.iter().try_fold(self.batch, |product, &d| product.checked_mul(d));
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
            let count = outputs[0].nrows();
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
            if tick(done, total) { Ok(()) } else { Err(Error::Cancelled { done, total }) }
        })?;
        let mut tables = tables.into_iter();
        let features = tables.next().unwrap_or_default();
        Ok(Features { features, outputs: self.tensors[1..].iter().cloned().zip(tables).collect() })
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
        let end = (start + runner.batch).min(self.rows.end);
        let mut values = Vec::new();
        self.inputs.fill(&self.plan, start..end, &mut values);
        let rows = if runner.whole { runner.batch } else { end - start };
        values.resize(rows * self.plan.shape.iter().product::<usize>(), 0.0);
        let shape: Vec<usize> = [rows].into_iter().chain(self.plan.shape.iter().copied()).collect();
        let path = || runner.network.path().to_owned();
        let failed = |what| Error::Runtime { path: path(), runtime: runner.runtime.name(), what };
        let outputs = runner.engine.run(worker, &shape, &values).map_err(failed)?;
        outputs.into_iter().zip(&runner.tensors).map(|(o, name)| as_rows(o, name, rows, end - start)).collect()
    }
}

/// The first `keep` of `rows` rows, each laid out in a line.
fn as_rows((shape, values): Output, tensor: &str, rows: usize, keep: usize) -> Result<Array2<f32>> {
    let wrong = |what| Error::NotRows { tensor: tensor.into(), shape: shape.clone(), rows, what };
    if shape.first() != Some(&rows) {
        return Err(wrong("its first axis does not count the rows"));
    }
    let width = shape[1..].iter().product();
    let whole = ArrayView2::from_shape((rows, width), &values).map_err(|_| wrong("its axes and its size disagree"))?;
    Ok(whole.slice(s![..keep, ..]).to_owned())
}
