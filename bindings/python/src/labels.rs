//! Probabilities of many labels, of which a row may have any number.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use stonet::classification::{FittedLabels, LabelRows};
use stonet::{Fingerprints, InputKind, PostStoNetClassifier, Seed};
use stonet_io::{Head, Model, ModelColumns, regression_hashes};

use crate::arrays::{Held, Matrix};
use crate::error::Raise;
use crate::{model, seen, settings, work};

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

    fn head(&self) -> &FittedLabels {
        match &self.model.head {
            Head::Labels(head) => head,
            Head::Regression(_) | Head::Classification(_) => unreachable!("no such model is let in"),
        }
    }
}

#[pymethods]
impl ManyLabels {
    /// Fits on rows that the network has not seen: outputs and labels of 0 and 1, rows × labels, with a name per column of
    /// each.
    #[staticmethod]
    #[pyo3(signature = (x, y, *, names, columns, targets, kind, settings, seed, fingerprints=true, n_jobs=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        x: Matrix<'_>,
        y: Matrix<'_>,
        names: Vec<String>,
        columns: Vec<String>,
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
        let fingerprint = match fingerprints {
            true => Model::fingerprint_of(&[x.as_array(), y.as_array()]),
            false => String::new(),
        };
        let (x, present) = (Held::new(&x), y.as_array().mapv(|v| v == 1.0));
        let head = work::follow(py, work::jobs(n_jobs)?, progress, move |tick| {
            let rows = LabelRows::new(kind, x.view(), present.view(), &names).raise()?;
            classifier.fit_labels(&rows, Seed::new(seed), tick).raise()
        })?;
        let model = Model {
            head: Head::Labels(Box::new(head)),
            columns: ModelColumns { logits: columns, targets, ..ModelColumns::default() },
            kind: Some(kind),
            labels: None,
            level: None,
            seed,
            fingerprint,
            fingerprints: fingerprints.then(|| Fingerprints::new(&hashes)),
            version: Model::VERSION.to_owned(),
        };
        Ok(ManyLabels { model })
    }

    /// The probability that each label is present, rows × labels.
    #[pyo3(signature = (x, n_jobs=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kind = self.model.kind.unwrap_or_default();
        let view = x.as_array();
        let p = work::run(py, work::jobs(n_jobs)?, || self.head().probabilities(kind, view).raise())?;
        Ok(p.into_pyarray(py))
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
