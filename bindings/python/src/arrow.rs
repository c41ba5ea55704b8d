//! Record batches of any library in, record batches of predictions out, by the Arrow PyCapsule interface.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader, PySchema};
use serde::Deserialize;
use stonet::Side;
use stonet_io::{
    BatchInputs, BatchScorer, DecisionColumn, Head, HeadAsked, Model, NetworkInputs, Resolved, ScoreSettings,
    SetColumns, Setting,
};
use stonet_onnx::{Front, Network, Preprocess, RunSettings, Runtime};

use crate::arrays::{self, Matrix, view};
use crate::asked;
use crate::error::Raise;
use crate::{control, settings, work};

/// A fitted head, perhaps behind a network, on record batches.
#[pyclass(frozen, module = "stonet._core")]
pub struct Scorer {
    inner: Arc<Inner>,
}

struct Inner {
    model: Model,
    settings: ScoreSettings,
    /// What the settings mean for the model.
    resolved: Resolved,
    inputs: BatchInputs,
    keep: Vec<String>,
    network: Option<Front>,
    jobs: Option<usize>,
    /// The columns of the schema that came last.
    last: Mutex<Option<(SchemaRef, Arc<BatchScorer>)>>,
}

/// What to predict and from which columns, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    levels: Vec<f64>,
    side: Side,
    joint: bool,
    quantiles: Vec<f64>,
    below: Vec<f64>,
    sets: Option<SetsAs>,
    accuracy: bool,
    /// The text of a rule's file.
    rule: Option<String>,
    single: bool,
    /// Of the head, or of the network in front of it.
    inputs: Option<Vec<String>>,
    prediction: Option<Vec<String>>,
    features: Option<Vec<String>>,
    /// Whether a network stands in front of the head; it may be Python's.
    network: bool,
    keep: Vec<String>,
}

/// How prediction sets come out.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SetsAs {
    Text,
    Columns,
}

impl SetsAs {
    fn columns(self) -> SetColumns {
        match self {
            SetsAs::Text => SetColumns::Text,
            SetsAs::Columns => SetColumns::Columns,
        }
    }
}

impl Wanted {
    /// The columns by other names, where some are given.
    fn renamed(&self) -> Vec<Setting> {
        let all = [(Setting::Prediction, &self.prediction), (Setting::Features, &self.features)];
        all.into_iter().filter(|(_, names)| names.is_some()).map(|(setting, _)| setting).collect()
    }
}

/// How an ONNX network is run, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    name: String,
    tap: Option<String>,
    scale: f32,
    mean: Vec<f32>,
    std: Vec<f32>,
    batch: usize,
    runtime: String,
}

impl Running {
    /// A network of these bytes, ready to run.
    pub fn front(&self, bytes: &[u8]) -> PyResult<Front> {
        let network = Network::from_bytes(bytes.to_vec(), Path::new(&self.name)).raise()?;
        let runtime = self.runtime.parse::<Runtime>().raise()?;
        let settings = RunSettings { runtime, batch: self.batch, outputs: true };
        let preprocess = Preprocess { scale: self.scale, mean: self.mean.clone(), std: self.std.clone() };
        Front::new(&network, self.tap.as_deref(), &settings, preprocess).raise()
    }
}

impl Inner {
    /// The columns of a batch's schema.
    fn ready(&self, batch: &RecordBatch, source: &str) -> PyResult<Arc<BatchScorer>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((schema, scorer)) = &*last
            && *schema == batch.schema()
            && scorer.source() == Path::new(source)
        {
            return Ok(scorer.clone());
        }
        let scorer = Arc::new(self.find(&batch.schema(), source, Some(batch))?);
        *last = Some((batch.schema(), scorer.clone()));
        // Python's lock must not be waited for with this one held.
        drop(last);
        warn_of_row_numbers(scorer.left_out())?;
        Ok(scorer)
    }

    fn find(&self, schema: &SchemaRef, source: &str, first: Option<&RecordBatch>) -> PyResult<BatchScorer> {
        BatchScorer::new(&self.model, &self.settings, &self.inputs, &self.keep, source, schema, first).raise()
    }

    fn shown(&self, schema: &SchemaRef, source: &str) -> PyResult<SchemaRef> {
        BatchScorer::schema_for(&self.model, &self.settings, &self.keep, source, schema).raise()
    }

    fn score(&self, batch: &RecordBatch, source: &str, first_row: u64) -> PyResult<RecordBatch> {
        if batch.num_rows() == 0 {
            return Ok(RecordBatch::new_empty(self.shown(&batch.schema(), source)?));
        }
        let scorer = self.ready(batch, source)?;
        match &self.network {
            Some(network) => network.score(&self.model, &scorer, batch, first_row).raise(),
            None => scorer.score(batch, first_row).raise(),
        }
    }
}

#[pymethods]
impl Scorer {
    /// From the bytes of a `.stonet` file, and perhaps of an ONNX file.
    #[new]
    #[pyo3(signature = (head, wanted, network=None, running="", n_jobs=None))]
    fn new(
        py: Python<'_>,
        head: &[u8],
        wanted: &str,
        network: Option<&[u8]>,
        running: &str,
        n_jobs: Option<i64>,
    ) -> PyResult<Self> {
        let jobs = work::jobs(n_jobs)?;
        let wanted: Wanted = settings::plain(wanted, "score")?;
        let model = Model::from_bytes(head).raise()?;
        let levels = arrays::levels(&wanted.levels)?;
        let (quantiles, below) = (arrays::levels(&wanted.quantiles)?, wanted.below.clone());
        let (side, joint, accuracy, single) = (wanted.side, wanted.joint, wanted.accuracy, wanted.single);
        let sets = wanted.sets.map(SetsAs::columns);
        let rule = wanted.rule.as_deref().map(control::read).transpose()?;
        let decision = DecisionColumn::default();
        let settings = ScoreSettings { levels, side, joint, quantiles, below, sets, accuracy, rule, decision, single };
        let resolved = model.resolve_as(&settings, Setting::argument).raise()?;
        asked::check(&model, &wanted.renamed())?;
        let front = match network {
            None => None,
            Some(bytes) => {
                let running: Running = settings::plain(running, "OnnxNetwork")?;
                Some(work::run(py, jobs, || running.front(bytes))?)
            }
        };
        let known = front.as_ref().and_then(Front::columns).map(<[String]>::to_vec);
        let inputs = match (wanted.network, &model.head) {
            (true, _) => BatchInputs::Network(wanted.inputs.or(known)),
            (false, Head::Regression(_)) => {
                BatchInputs::Head { features: wanted.inputs, prediction: wanted.prediction, logits: None }
            }
            (false, Head::Classification(_)) if model.columns.logits.is_empty() => {
                BatchInputs::Head { features: wanted.inputs.or(wanted.features), prediction: None, logits: None }
            }
            (false, Head::Classification(_) | Head::Labels(_)) => {
                BatchInputs::Head { features: wanted.features, prediction: None, logits: wanted.inputs }
            }
        };
        let (keep, last) = (wanted.keep, Mutex::new(None));
        let inner = Inner { model, settings, resolved, inputs, keep, network: front, jobs, last };
        Ok(Scorer { inner: Arc::new(inner) })
    }

    /// The levels at which intervals are infinite, how many rows or groups calibrate them, and how many are needed.
    fn infinite(&self) -> PyResult<Vec<(f64, usize, usize)>> {
        let HeadAsked::Intervals(head, asked) = self.inner.resolved.of(&self.inner.model).raise()? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for level in &asked.levels {
            let few = head.too_few_rows(*level, asked.joint).raise()?;
            found.extend(few.map(|(units, needed)| (level.get(), units, needed)));
        }
        Ok(found)
    }

    /// The schema of what comes out for batches of a schema; its inputs are not looked at.
    fn schema(&self, schema: PySchema, source: &str) -> PyResult<PySchema> {
        Ok(PySchema::new(self.inner.shown(&schema.into_inner(), source)?))
    }

    /// The names of the columns of a schema that are read; columns that are missing or of a wrong type are errors.
    fn reads(&self, schema: PySchema, source: &str) -> PyResult<Vec<String>> {
        let schema = schema.into_inner();
        let scorer = self.inner.find(&schema, source, None)?;
        Ok(scorer.projection().iter().map(|&i| schema.field(i).name().clone()).collect())
    }

    /// The names of the columns of a schema that go in; those that are missing are not told.
    fn taken(&self, schema: PySchema) -> Vec<String> {
        BatchScorer::taken(&self.inner.model, &self.inner.inputs, &schema.into_inner())
    }

    /// Predictions for a batch, whose first row is number `first_row` in messages.
    #[pyo3(signature = (batch, source, first_row=0))]
    fn score(&self, py: Python<'_>, batch: PyRecordBatch, source: &str, first_row: u64) -> PyResult<PyRecordBatch> {
        let batch = batch.into_inner();
        let scored = work::run(py, self.inner.jobs, || self.inner.score(&batch, source, first_row))?;
        Ok(PyRecordBatch::new(scored))
    }

    /// Predictions for the batches of a stream, as they are asked for.
    fn stream(&self, stream: PyRecordBatchReader, source: String) -> PyResult<PyRecordBatchReader> {
        let reader = stream.into_reader()?;
        let schema = self.inner.shown(&reader.schema(), &source)?;
        let scored = Stream { inner: self.inner.clone(), reader, schema, source, row: 0 };
        Ok(PyRecordBatchReader::new(Box::new(scored)))
    }

    /// The inputs of a network for a batch.
    #[pyo3(signature = (batch, source, first_row=0))]
    fn network_inputs<'py>(
        &self,
        py: Python<'py>,
        batch: PyRecordBatch,
        source: &str,
        first_row: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let batch = batch.into_inner();
        let x = self.inner.ready(&batch, source)?.network_inputs(&batch, first_row).raise()?;
        Ok(x.into_pyarray(py))
    }

    /// Predictions for a batch of which a network of Python said this, from these inputs.
    #[pyo3(signature = (batch, source, inputs, features, output=None, first_row=0))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn score_said(
        &self,
        py: Python<'_>,
        batch: PyRecordBatch,
        source: &str,
        inputs: Matrix<'_>,
        features: Matrix<'_>,
        output: Option<Matrix<'_>>,
        first_row: u64,
    ) -> PyResult<PyRecordBatch> {
        let batch = batch.into_inner();
        let scorer = self.inner.ready(&batch, source)?;
        let outputs = view(&output).map(|o| o.to_owned()).into_iter().collect();
        let raw = NetworkInputs { names: scorer.inputs(), values: inputs.as_array() };
        let said = self.inner.model.said(scorer.source(), raw, features.as_array().to_owned(), outputs).raise()?;
        let scored = work::run(py, self.inner.jobs, || scorer.score_said(&batch, &said, first_row).raise())?;
        Ok(PyRecordBatch::new(scored))
    }
}

/// An ONNX file as bytes that need no other file.
#[pyfunction]
pub fn network_bytes(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, Network::open(&path).raise()?.bytes()))
}

/// Batches scored as they are asked for, on whatever thread asks.
struct Stream {
    inner: Arc<Inner>,
    reader: Box<dyn RecordBatchReader + Send>,
    schema: SchemaRef,
    source: String,
    row: u64,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let score = |batch: RecordBatch| {
            let scored = work::pooled(self.inner.jobs, || self.inner.score(&batch, &self.source, self.row));
            self.row += batch.num_rows() as u64;
            scored.and_then(|s| s).map_err(|e| ArrowError::InvalidArgumentError(plain(&e)))
        };
        Some(self.reader.next()?.and_then(score))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Warns where columns of row numbers do not go into the network.
fn warn_of_row_numbers(columns: &[String]) -> PyResult<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = columns.iter().map(|c| format!("`{c}`")).collect();
    let text = format!("{} holds row numbers and is not used; name it in inputs to use it", names.join(", "));
    let text = CString::new(text.replace('\0', "?"))?;
    Python::attach(|py| PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2))
}

/// The words of an exception.
fn plain(error: &PyErr) -> String {
    Python::attach(|py| error.value(py).to_string())
}
