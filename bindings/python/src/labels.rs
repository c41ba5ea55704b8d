//! Probabilities of many labels, of which a row may have any number.

use std::path::PathBuf;

use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use stonet::classification::{FittedLabels, LabelInputs, LabelRows};
use stonet::{Fingerprints, InputKind, PostStoNetClassifier, Seed};
use stonet_io::{Head, Model, ModelColumns, ScoreSettings, Setting, regression_hashes};
use stonet_report::{LabelsJudge, LabelsSettings, labels_report};

use crate::arrays::{Held, Matrix};
use crate::error::Raise;
use crate::model::{self, EVALUATION, origin, write_page};
use crate::ready::Ready;
use crate::{asked, export, seen, settings, work};

/// Why other classes refuse such a head.
pub const MANY: &str = "this head gives probabilities of many labels; read it with stonet.load";

/// A fitted head of many labels with the names of its columns and labels.
#[pyclass(frozen, module = "stonet._core")]
pub struct ManyLabels {
    /// Its head is one of many labels.
    model: Model,
}

impl ManyLabels {
    /// Of a model of this kind.
    pub fn of(model: Model) -> PyResult<Self> {
        match &model.head {
            Head::Labels(_) => Ok(ManyLabels { model }),
            Head::Regression(_) => Err(PyValueError::new_err("this head gives intervals")),
            Head::Classification(_) => Err(PyValueError::new_err("this head gives class probabilities")),
        }
    }

    /// Rows to predict for; features that the head was fitted without are refused.
    fn inputs<'a>(&self, x: &'a Matrix<'_>, features: &'a Option<Matrix<'_>>) -> PyResult<LabelInputs<'a>> {
        if features.is_some() {
            asked::check(&self.model, &[Setting::Features])?;
        }
        inputs(self.model.kind.unwrap_or_default(), x.as_array(), features.as_ref().map(|f| f.as_array()))
    }

    fn head(&self) -> &FittedLabels {
        match &self.model.head {
            Head::Labels(head) => head,
            Head::Regression(_) | Head::Classification(_) => unreachable!("no such model is let in"),
        }
    }
}

/// Outputs of a kind, and features beside them.
fn inputs<'a>(
    kind: InputKind,
    x: ArrayView2<'a, f64>,
    features: Option<ArrayView2<'a, f64>>,
) -> PyResult<LabelInputs<'a>> {
    let inputs = LabelInputs::new(kind, x).raise()?;
    features.map_or(Ok(inputs), |features| inputs.with_features(features).raise())
}

/// What tells rows from others.
fn fingerprint(x: &Matrix<'_>, features: &Option<Matrix<'_>>, y: &Matrix<'_>) -> String {
    let arrays: Vec<_> = [x].into_iter().chain(features).chain([y]).map(|a| a.as_array()).collect();
    Model::fingerprint_of(&arrays)
}

#[pymethods]
impl ManyLabels {
    /// Fits on rows that the network has not seen: outputs and labels of 0 and 1, rows × labels, and perhaps features
    /// beside them, with a name per column of each.
    #[staticmethod]
    #[pyo3(signature = (x, features, y, *, names, columns, feature_columns, targets, kind, settings, seed, fingerprints=true, n_jobs=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        y: Matrix<'_>,
        names: Vec<String>,
        columns: Vec<String>,
        feature_columns: Vec<String>,
        targets: Vec<String>,
        kind: Option<&str>,
        settings: &str,
        seed: u64,
        fingerprints: bool,
        n_jobs: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let classifier: PostStoNetClassifier = settings::read(settings, "settings")?;
        let kind = match kind {
            Some(name) => name.parse::<InputKind>().raise()?,
            None => LabelRows::guess_kind(x.as_array()),
        };
        let hashes = regression_hashes(x.as_array(), None, y.as_array()).raise()?;
        seen::warn_of_copies(py, &hashes, &[], "remove the copies")?;
        let fingerprint = if fingerprints { fingerprint(&x, &features, &y) } else { String::new() };
        let (x, features, present) = (Held::new(&x), features.as_ref().map(Held::new), y.as_array().mapv(|v| v == 1.0));
        let head = work::follow(py, work::jobs(n_jobs)?, progress, move |tick| {
            let inputs = inputs(kind, x.view(), features.as_ref().map(Held::view))?;
            let rows = LabelRows::new(inputs, present.view(), &names).raise()?;
            classifier.fit_labels(&rows, Seed::new(seed), tick).raise()
        })?;
        let model = Model {
            head: Head::Labels(Box::new(head)),
            columns: ModelColumns { features: feature_columns, logits: columns, targets, ..ModelColumns::default() },
            kind: Some(kind),
            labels: None,
            level: None,
            seed,
            fingerprint,
            fingerprints: fingerprints.then(|| Fingerprints::new(&hashes)),
            baseline: None,
            version: Model::VERSION.to_owned(),
        };
        Ok(ManyLabels { model })
    }

    /// The probability that each label is present, rows × labels; features are those of the fit.
    #[pyo3(signature = (x, features=None, n_jobs=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inputs = self.inputs(&x, &features)?;
        let p = work::run(py, work::jobs(n_jobs)?, || self.head().probabilities(&inputs).raise())?;
        Ok(p.into_pyarray(py))
    }

    /// The head made ready for calls with one row or a few.
    #[pyo3(signature = (n_jobs=None))]
    fn ready(&self, n_jobs: Option<i64>) -> PyResult<Ready> {
        Ready::labels(&self.model, self.head(), self.model.kind.unwrap_or_default())?.with_jobs(n_jobs)
    }

    /// Judges the probabilities on rows with known labels of 0 and 1: JSON, and a page where a path is given.
    #[pyo3(signature = (x, features, y, *, allow_seen=false, title="", path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn evaluate(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        y: Matrix<'_>,
        allow_seen: bool,
        title: &str,
        path: Option<PathBuf>,
    ) -> PyResult<(String, String)> {
        self.inputs(&x, &features)?;
        let hashes = regression_hashes(x.as_array(), None, y.as_array()).raise()?;
        let overlap = self.model.overlap(&hashes, || fingerprint(&x, &features, &y));
        seen::check(py, overlap.as_ref(), allow_seen)?;
        let (head, kind) = (self.head().clone(), self.model.kind.unwrap_or_default());
        let (x, features, present) = (Held::new(&x), features.as_ref().map(Held::new), y.as_array().mapv(|v| v == 1.0));
        let evaluation = work::follow(py, None, None, move |tick| {
            let settings = LabelsSettings { seed: EVALUATION, ..LabelsSettings::default() };
            let mut judge = LabelsJudge::new(&head, None, &settings);
            let rows = inputs(kind, x.view(), features.as_ref().map(Held::view))?;
            judge.add(&rows, present.view(), None).raise()?;
            judge.finish(Some(tick)).raise()
        })?;
        let evaluation = evaluation.with_seen(overlap);
        write_page(path.as_deref(), || labels_report(&evaluation, &origin(title, &self.model)))?;
        Ok((evaluation.verdict(), settings::text(&evaluation)?))
    }

    /// Writes an ONNX file with the probability of each label.
    #[pyo3(signature = (path, network=None, network_name=PathBuf::new(), tap=None, output=None, keep_outputs=false))]
    fn to_onnx(
        &self,
        path: PathBuf,
        network: Option<&[u8]>,
        network_name: PathBuf,
        tap: Option<String>,
        output: Option<String>,
        keep_outputs: bool,
    ) -> PyResult<()> {
        let network = network.map(|bytes| (bytes, network_name));
        let wanted = export::Wanted { path, network, tap, output, inputs: None, keep_outputs };
        export::write(&self.model, &ScoreSettings::default(), wanted)
    }

    /// The names of the columns of a frame: of the probability of each label.
    fn columns(&self) -> PyResult<Vec<String>> {
        model::output_names(&self.model)
    }

    /// The names of the labels.
    fn names(&self) -> Vec<String> {
        self.head().names().to_vec()
    }

    /// Names, kind, seed and where the fit comes from, as JSON.
    fn about(&self) -> PyResult<String> {
        model::about(&self.model)
    }

    /// The settings of the fit, as JSON.
    fn settings(&self) -> PyResult<String> {
        settings::text(&self.head().heads().first().map(|head| head.settings()))
    }

    /// What became of every member of each label, as JSON.
    fn notes(&self) -> PyResult<String> {
        settings::text(&json!(self.head().heads().iter().map(|head| head.notes()).collect::<Vec<_>>()))
    }

    /// The bytes of a `.stonet` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().raise()?))
    }

    /// From the bytes of a `.stonet` file.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Self::of(Model::from_bytes(data).raise()?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// Writes a `.stonet` file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(&path).raise()
    }
}
