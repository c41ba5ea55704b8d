//! Class probabilities, their intervals, and sets of classes.

use std::path::PathBuf;

use ndarray::{Array2, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArray4};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use stonet::{
    ClassInputs, ClassRows, ClassSets, Fingerprints, FittedClassSets, FittedClassifier, InputKind, Labels, Level,
    PostStoNetClassifier, ProbabilityCovariance, Seed, Ticker, Wald,
};
use stonet_io::{Fitted, Model, ModelColumns, class_hashes};
use stonet_report::{ClassEvaluation, ClassSettings, HeadInputs, class_report};

use crate::arrays::{self, Matrix, Numbers, indices, view};
use crate::error::Raise;
use crate::model::{self, EVALUATION, origin, write_page};
use crate::{export, seen, settings, work};

/// A fitted post-StoNet classification with the names of its columns and classes.
#[pyclass(frozen, module = "stonet._core")]
pub struct Classification {
    /// Its head is a classifier.
    model: Model,
    sets: Option<FittedClassSets>,
    covariance: Option<ProbabilityCovariance>,
}

/// What a classifier sees, on the scale of logits.
struct Rows<'a> {
    /// The network's outputs as they were given.
    outputs: Option<ArrayView2<'a, f64>>,
    logits: Option<Array2<f64>>,
    features: Option<ArrayView2<'a, f64>>,
}

impl<'a> Rows<'a> {
    /// `fit` also looks whether logits are probabilities in truth; a few new rows may look so by chance.
    fn new(kind: InputKind, x: &'a Matrix<'_>, features: &'a Option<Matrix<'_>>, fit: bool) -> PyResult<Self> {
        let x = x.as_array();
        if kind == InputKind::Features {
            return Ok(Rows { outputs: None, logits: None, features: Some(x) });
        }
        let logits =
            if kind == InputKind::Logits && !fit { x.to_owned() } else { kind.convert(x.to_owned()).raise()? };
        Ok(Rows { outputs: Some(x), logits: Some(logits), features: view(features) })
    }

    fn inputs(&self) -> PyResult<ClassInputs<'_>> {
        match (&self.logits, self.features) {
            (Some(z), None) => ClassInputs::logits(z.view()).raise(),
            (Some(z), Some(f)) => ClassInputs::logits(z.view()).and_then(|i| i.with_features(f)).raise(),
            (None, Some(f)) => ClassInputs::features(f).raise(),
            (None, None) => Err(PyValueError::new_err("there are neither logits nor features")),
        }
    }

    /// What tells all of the rows from others.
    fn fingerprint(&self, labels: &[usize]) -> String {
        let labels = Array2::from_shape_fn((labels.len(), 1), |(i, _)| labels[i] as f64);
        let arrays = self.logits.iter().map(|z| z.view()).chain(self.features).chain([labels.view()]);
        Model::fingerprint_of(&arrays.collect::<Vec<_>>())
    }

    /// What tells each row from others.
    fn hashes(&self, labels: &[usize]) -> PyResult<Vec<u64>> {
        class_hashes(self.outputs, self.features, labels).raise()
    }
}

/// What is fitted beside the probabilities.
struct Wanted {
    classifier: PostStoNetClassifier,
    sets: Option<ClassSets>,
    intervals: bool,
}

type Found = (FittedClassifier, Option<FittedClassSets>, Option<ProbabilityCovariance>);

impl Wanted {
    fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> stonet::Result<Found> {
        let head = self.classifier.fit(rows, seed, tick)?;
        let covariance =
            self.intervals.then(|| ProbabilityCovariance::fit(&head, rows, Wald::default())).transpose()?;
        // A stream of its own: sets must not change what the probabilities are.
        let sets = self.sets.as_ref().map(|s| s.fit(rows, seed.child(1), tick)).transpose()?;
        Ok((head, sets, covariance))
    }
}

impl Classification {
    /// Of a model of this kind.
    pub fn of(
        model: Model,
        sets: Option<FittedClassSets>,
        covariance: Option<ProbabilityCovariance>,
    ) -> PyResult<Self> {
        match &model.head {
            Fitted::Classification(_) => Ok(Classification { model, sets, covariance }),
            Fitted::Regression(_) => Err(PyValueError::new_err("this head gives intervals")),
        }
    }

    fn head(&self) -> &FittedClassifier {
        match &self.model.head {
            Fitted::Classification(head) => head,
            Fitted::Regression(_) => unreachable!("no such model is let in"),
        }
    }

    fn rows<'a>(&self, x: &'a Matrix<'_>, features: &'a Option<Matrix<'_>>) -> PyResult<Rows<'a>> {
        Rows::new(self.model.kind.unwrap_or_default(), x, features, false)
    }
}

#[pymethods]
impl Classification {
    /// Fits on rows that the network has not seen.
    #[staticmethod]
    #[pyo3(signature = (x, features, labels, *, classes, kind, settings, sets, intervals, columns, level, seed, fingerprints=true, n_jobs=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        labels: Numbers<'_>,
        classes: Vec<String>,
        kind: &str,
        settings: &str,
        sets: Option<&str>,
        intervals: bool,
        columns: &str,
        level: f64,
        seed: u64,
        fingerprints: bool,
        n_jobs: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let kind = kind.parse::<InputKind>().raise()?;
        let classifier: PostStoNetClassifier = settings::read(settings, "settings")?;
        let sets = sets.map(|s| settings::read::<ClassSets>(s, "sets")).transpose()?;
        let sets = sets.map(|s| ClassSets { classifier: classifier.clone(), ..s });
        let columns: ModelColumns = serde_json::from_str(columns).raise()?;
        let names = Labels::named(classes).raise()?;
        let labels = indices(&labels)?;
        let inputs = Rows::new(kind, &x, &features, true)?;
        let rows = ClassRows::new(inputs.inputs()?, &labels, names.classes()).raise()?;
        let hashes = inputs.hashes(&labels)?;
        seen::warn_of_copies(py, &hashes, None, "remove the copies")?;
        let wanted = Wanted { classifier, sets, intervals };
        let (head, sets, covariance) =
            work::follow(py, work::jobs(n_jobs)?, progress, |tick| wanted.fit(&rows, Seed::new(seed), tick).raise())?;
        let model = Model {
            head: Fitted::Classification(Box::new(head)),
            columns,
            kind: Some(kind),
            labels: Some(names),
            level: Some(Level::new(level).raise()?),
            seed,
            fingerprint: if fingerprints { inputs.fingerprint(&labels) } else { String::new() },
            fingerprints: fingerprints.then(|| Fingerprints::new(&hashes)),
            version: Model::VERSION.to_owned(),
        };
        Ok(Classification { model, sets, covariance })
    }

    /// The probabilities, rows × classes.
    #[pyo3(signature = (x, features, n_jobs=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.rows(&x, &features)?;
        let inputs = rows.inputs()?;
        Ok(work::run(py, work::jobs(n_jobs)?, || self.head().probabilities(&inputs).raise())?.into_pyarray(py))
    }

    /// The probabilities, and their bounds rows × classes × 2 × levels.
    #[pyo3(signature = (x, features, levels, n_jobs=None))]
    #[expect(clippy::type_complexity, reason = "a pair of arrays")]
    fn probability_intervals<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        levels: Vec<f64>,
        n_jobs: Option<i64>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray4<f64>>)> {
        let covariance = self.covariance.as_ref().ok_or_else(|| {
            PyValueError::new_err("there are no intervals: fit with intervals=True (`.stonet` files do not keep them)")
        })?;
        let levels = arrays::levels(&levels)?;
        let rows = self.rows(&x, &features)?;
        let inputs = rows.inputs()?;
        let all = work::run(py, work::jobs(n_jobs)?, || {
            let one = |l: &Level| covariance.intervals(self.head(), &inputs, *l);
            levels.iter().map(one).collect::<stonet::Result<Vec<_>>>().raise()
        })?;
        let shape = (inputs.rows(), self.head().classes());
        let bounds = arrays::bounds(shape, all.iter().map(|i| [&i.lower, &i.upper]));
        let p = all.first().map_or_else(|| Array2::zeros(shape), |i| i.probability.clone());
        Ok((p.into_pyarray(py), bounds.into_pyarray(py)))
    }

    /// Which classes are in the set of a row, rows × classes × levels.
    #[pyo3(signature = (x, features, levels, seed, n_jobs=None))]
    fn sets<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        levels: Vec<f64>,
        seed: u64,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray3<bool>>> {
        let sets = self.sets.as_ref().ok_or_else(|| {
            PyValueError::new_err(
                "there are no sets: fit with sets=\"cv+\" or sets=\"split\" (`.stonet` files do not keep them)",
            )
        })?;
        let levels = arrays::levels(&levels)?;
        let rows = self.rows(&x, &features)?;
        let inputs = rows.inputs()?;
        let all = work::run(py, work::jobs(n_jobs)?, || {
            let one = |l: &Level| sets.sets(&inputs, *l, Seed::new(seed)).map(|s| s.contains);
            levels.iter().map(one).collect::<stonet::Result<Vec<_>>>().raise()
        })?;
        let views: Vec<_> = all.iter().map(|a| a.view()).collect();
        let stacked = ndarray::stack(Axis(2), &views).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(stacked.into_pyarray(py))
    }

    /// Judges the probabilities on rows with known classes: JSON, and a page where a path is given.
    #[pyo3(signature = (x, features, labels, *, allow_seen=false, title="", path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn evaluate(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        labels: Numbers<'_>,
        allow_seen: bool,
        title: &str,
        path: Option<PathBuf>,
    ) -> PyResult<(String, String)> {
        let rows = self.rows(&x, &features)?;
        let labels = indices(&labels)?;
        let overlap = self.model.overlap(&rows.hashes(&labels)?, || rows.fingerprint(&labels));
        seen::check(py, overlap.as_ref(), allow_seen)?;
        let names = self.model.labels.as_ref().map_or(&[][..], |l| l.names());
        let evaluation = work::run(py, None, || self.judged(&rows, &labels, names))?;
        let evaluation = ClassEvaluation { seen: overlap, ..evaluation };
        write_page(path.as_deref(), || class_report(&evaluation, &origin(title, &self.model)))?;
        Ok((evaluation.verdict(), settings::text(&evaluation)?))
    }

    /// The bytes of a `.stonet` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().raise()?))
    }

    /// From the bytes of a `.stonet` file, and of what such a file does not hold.
    #[staticmethod]
    #[pyo3(signature = (data, sets=None, covariance=None))]
    fn from_bytes(data: &[u8], sets: Option<&str>, covariance: Option<&str>) -> PyResult<Self> {
        fn part<T: DeserializeOwned>(json: Option<&str>) -> PyResult<Option<T>> {
            json.map(|j| serde_json::from_str(j).raise()).transpose()
        }
        Self::of(Model::from_bytes(data).raise()?, part(sets)?, part(covariance)?)
    }

    #[expect(clippy::type_complexity, reason = "pickle's protocol")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<String>, Option<String>))> {
        let sets = self.sets.as_ref().map(settings::text).transpose()?;
        let covariance = self.covariance.as_ref().map(settings::text).transpose()?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?, sets, covariance)))
    }

    /// Writes a `.stonet` file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(&path).raise()
    }

    /// Writes an ONNX file with probabilities.
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
        export::write(&self.model, None, export::Wanted { path, network, tap, output, keep_outputs })
    }

    /// Names, kind, classes, seed, version, as JSON.
    fn about(&self) -> PyResult<String> {
        model::about(&self.model)
    }

    /// All settings of the fit, as JSON.
    fn settings(&self) -> PyResult<String> {
        settings::text(self.head().settings())
    }

    /// What cross-validation saw, as JSON.
    fn kappa_paths(&self) -> PyResult<String> {
        settings::text(&self.head().kappa_paths())
    }

    /// Weight, chosen setting and convergence of every member, as JSON.
    fn notes(&self) -> PyResult<String> {
        settings::text(&self.head().notes())
    }

    /// What holds for the sets, where there are any: the coverage and the words.
    fn guarantee(&self, level: f64) -> PyResult<Option<(Option<f64>, String)>> {
        let level = Level::new(level).raise()?;
        Ok(self.sets.as_ref().map(|s| s.guarantee(level)).map(|g| (g.coverage, g.text)))
    }

    /// What may be expected of the intervals of probabilities, where there are any.
    fn trust(&self) -> Option<String> {
        self.covariance.as_ref().map(|c| c.trust().to_string())
    }
}

impl Classification {
    fn judged(&self, rows: &Rows<'_>, labels: &[usize], names: &[String]) -> PyResult<ClassEvaluation> {
        let logits = rows.logits.as_ref().map(|z| z.view());
        // Features that the head was fitted without are not there.
        let columns = &self.model.columns;
        let features = if rows.features.is_some() { &columns.features[..] } else { &[] };
        let inputs: Vec<String> = columns.logits.iter().chain(features).cloned().collect();
        let seen = HeadInputs { logits, features: rows.features, names: &inputs };
        let wanted = ClassSettings { seed: EVALUATION, ..ClassSettings::default() };
        ClassEvaluation::of_head(self.head(), &seen, labels, names, &wanted).raise()
    }
}
