//! Class probabilities, their intervals, and sets of classes.

use std::path::PathBuf;

use ndarray::{Array2, Array3, ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArray4, PyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stonet::classification::{AccuracyBins, AccuracySettings, ClassAsked, ClassColumns, Interface};
use stonet::control::Evidence;
use stonet::rows::LabelKind;
use stonet::{
    ClassInputs, ClassRows, ClassSets, Error, Fingerprints, FittedClassifier, InputKind, Labels, Level,
    PostStoNetClassifier, ProbabilityCovariance, Seed, Ticker, Wald,
};
use stonet_io::{Head, Model, ModelColumns, ScoreSettings, SetColumns, class_hashes};
use stonet_report::{ClassEvaluation, ClassSettings, HeadInputs, class_report};

use crate::arrays::{self, Held, Matrix, Numbers, indices, view};
use crate::error::Raise;
use crate::model::{self, EVALUATION, origin, write_page};
use crate::ready::{Further, Ready};
use crate::tables::Table;
use crate::{control, export, seen, settings, work};

/// A fitted post-StoNet classification with the names of its columns and classes.
#[pyclass(frozen, module = "stonet._core")]
pub struct Classification {
    /// Its head is a classifier.
    model: Model,
    covariance: Option<ProbabilityCovariance>,
    refused: Refused,
}

/// Why there are no sets, bounds of accuracy or intervals, although they were asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Refused {
    sets: Option<String>,
    accuracy: Option<String>,
    intervals: Option<String>,
}

impl Refused {
    /// What the fit warns of.
    fn warnings(&self) -> impl Iterator<Item = String> {
        let all = [
            (&self.intervals, "intervals", "predict_proba_interval"),
            (&self.sets, "sets", "predict_set"),
            (&self.accuracy, "bounds of accuracy", "predict_accuracy"),
        ];
        let refused = all.into_iter().filter_map(|(why, what, method)| Some((why.as_ref()?, what, method)));
        refused.map(|(why, what, method)| {
            format!("the probabilities are fitted, but without {what}, so {method} will fail: {why}")
        })
    }
}

/// The classes that occur in y, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    names: Vec<String>,
    kind: LabelKind,
    /// What numpy calls their type.
    r#type: String,
}

/// The names of columns, where frames have any, and of the target, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    inputs: Option<Vec<String>>,
    features: Option<Vec<String>>,
    target: String,
}

impl Given {
    fn columns(self, kind: InputKind, inputs: usize, features: usize) -> ModelColumns {
        let numbered = |letter: &str, count: usize| (0..count).map(|i| format!("{letter}{i}")).collect();
        let inputs = self.inputs.unwrap_or_else(|| numbered("c", inputs));
        let features = self.features.unwrap_or_else(|| numbered("f", features));
        let (features, logits) = if kind == InputKind::Features { (inputs, Vec::new()) } else { (features, inputs) };
        ModelColumns { features, logits, targets: vec![self.target], ..ModelColumns::default() }
    }
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
    fn new(
        kind: InputKind,
        x: ArrayView2<'a, f64>,
        features: Option<ArrayView2<'a, f64>>,
        fit: bool,
    ) -> PyResult<Self> {
        if kind == InputKind::Features {
            return Ok(Rows { outputs: None, logits: None, features: Some(x) });
        }
        let logits = if fit { kind.convert(x.to_owned()) } else { kind.logits(x.to_owned()) }.raise()?;
        Ok(Rows { outputs: Some(x), logits: Some(logits), features })
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
    accuracy: Option<AccuracySettings>,
    intervals: bool,
}

type Found = (FittedClassifier, Option<ProbabilityCovariance>, Refused);

impl Wanted {
    /// The probabilities, and what is wanted beside them. What rows do not allow beside them is no reason to lose them.
    fn fit(&self, rows: &ClassRows<'_>, seed: Seed, tick: Ticker<'_>) -> stonet::Result<Found> {
        let mut refused = Refused::default();
        let with_sets = self.sets.as_ref().map(|sets| match &self.accuracy {
            Some(accuracy) => accuracy.fit_sets(sets, rows, seed, tick),
            None => sets.fit(rows, seed, tick),
        });
        let mut head = kept(with_sets, &mut refused.sets)?;
        if head.is_none() {
            let bounded = self.accuracy.as_ref().map(|accuracy| accuracy.fit(&self.classifier, rows, seed, tick));
            head = kept(bounded, &mut refused.accuracy)?;
        }
        let head = match head {
            Some(head) => head,
            None => self.classifier.fit(rows, seed, tick)?,
        };
        let sets = self.sets.as_ref().filter(|_| head.class_sets().is_some());
        let accuracy = self.accuracy.as_ref().filter(|_| head.accuracy_bins().is_some());
        let covariance = self.intervals.then(|| match (accuracy, sets) {
            (Some(accuracy), sets) => accuracy.covariance(&head, sets, rows, seed, Wald::default()),
            (None, Some(sets)) => sets.covariance(&head, rows, seed, Wald::default()),
            (None, None) => ProbabilityCovariance::fit(&head, rows, Wald::default()),
        });
        let covariance = kept(covariance, &mut refused.intervals)?;
        Ok((head, covariance, refused))
    }
}

/// A result, or the reason that there is none; a setting that cannot be and the wish to stop stay errors.
fn kept<T>(result: Option<stonet::Result<T>>, reason: &mut Option<String>) -> stonet::Result<Option<T>> {
    match result {
        Some(Err(e @ (Error::Setting { .. } | Error::Cancelled(_)))) => Err(e),
        Some(Err(e)) => {
            *reason = Some(e.to_string());
            Ok(None)
        }
        Some(Ok(value)) => Ok(Some(value)),
        None => Ok(None),
    }
}

impl Classification {
    /// Of a model of this kind.
    pub fn of(model: Model, covariance: Option<ProbabilityCovariance>) -> PyResult<Self> {
        match &model.head {
            Head::Classification(_) => Ok(Classification { model, covariance, refused: Refused::default() }),
            Head::Regression(_) => Err(PyValueError::new_err("this head gives intervals")),
            Head::Labels(_) => Err(PyValueError::new_err(crate::labels::MANY)),
        }
    }

    fn head(&self) -> &FittedClassifier {
        match &self.model.head {
            Head::Classification(head) => head,
            Head::Regression(_) | Head::Labels(_) => unreachable!("no such model is let in"),
        }
    }

    /// The bins of its bounds of accuracy, or why there are none.
    fn bins(&self) -> PyResult<&AccuracyBins> {
        self.head().accuracy_bins().ok_or_else(|| {
            let why = "there are no bounds of accuracy: fit with accuracy_bounds=True";
            PyValueError::new_err(self.refused.accuracy.clone().unwrap_or_else(|| why.to_owned()))
        })
    }

    fn rows<'a>(&self, x: &'a Matrix<'_>, features: &'a Option<Matrix<'_>>) -> PyResult<Rows<'a>> {
        Rows::new(self.model.kind.unwrap_or_default(), x.as_array(), view(features), false)
    }
}

#[pymethods]
impl Classification {
    /// What a fit of the probabilities is expected to take, as JSON; `columns` are those of the fit.
    #[staticmethod]
    #[pyo3(signature = (x, features, labels, *, seen, classes, kind, settings, columns, seed, n_jobs=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn estimate(
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        labels: Numbers<'_>,
        seen: &str,
        classes: Option<Vec<String>>,
        kind: Option<&str>,
        settings: &str,
        columns: &str,
        seed: u64,
        n_jobs: Option<i64>,
    ) -> PyResult<String> {
        let classifier: PostStoNetClassifier = settings::read(settings, "settings")?;
        let given: Given = serde_json::from_str(columns).raise()?;
        let found = recognised(&x, seen, &indices(&labels)?, classes, kind, &given, features.is_some())?;
        let ClassColumns { kind, labels: names, codes: labels, .. } = found;
        let (x, features) = (Held::new(&x), features.as_ref().map(Held::new));
        let estimate = work::follow(py, work::jobs(n_jobs)?, None, move |tick| {
            let inputs = Rows::new(kind, x.view(), features.as_ref().map(Held::view), true)?;
            let rows = ClassRows::new(inputs.inputs()?, &labels, names.classes()).raise()?;
            classifier.estimate(&rows, Seed::new(seed), tick).raise()
        })?;
        serde_json::to_string(&estimate).raise()
    }

    /// Fits on rows that the network has not seen.
    #[staticmethod]
    #[pyo3(signature = (x, features, labels, *, seen, classes, kind, settings, sets, accuracy, intervals, columns, level, seed, fingerprints=true, n_jobs=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        labels: Numbers<'_>,
        seen: &str,
        classes: Option<Vec<String>>,
        kind: Option<&str>,
        settings: &str,
        sets: Option<&str>,
        accuracy: Option<&str>,
        intervals: bool,
        columns: &str,
        level: f64,
        seed: u64,
        fingerprints: bool,
        n_jobs: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let classifier: PostStoNetClassifier = settings::read(settings, "settings")?;
        let sets = sets.map(|s| settings::read::<ClassSets>(s, "sets")).transpose()?;
        let level = Level::new(level).raise()?;
        let sets = sets.map(|s| ClassSets { classifier: classifier.clone(), level, ..s });
        let accuracy = accuracy.map(|s| settings::read::<AccuracySettings>(s, "accuracy_bounds")).transpose()?;
        let given: Given = serde_json::from_str(columns).raise()?;
        let found = recognised(&x, seen, &indices(&labels)?, classes, kind, &given, features.is_some())?;
        let ClassColumns { kind, labels: names, codes: labels, notes } = found;
        let columns = given.columns(kind, x.as_array().ncols(), view(&features).map_or(0, |f| f.ncols()));
        let hashes = Rows::new(kind, x.as_array(), view(&features), true)?.hashes(&labels)?;
        seen::warn_of_copies(py, &hashes, &[], "remove the copies")?;
        let (x, features, classes) = (Held::new(&x), features.as_ref().map(Held::new), names.classes());
        let wanted = Wanted { classifier, sets, accuracy, intervals };
        let fitted = work::follow(py, work::jobs(n_jobs)?, progress, move |tick| {
            let inputs = Rows::new(kind, x.view(), features.as_ref().map(Held::view), true)?;
            let rows = ClassRows::new(inputs.inputs()?, &labels, classes).raise()?;
            let found = wanted.fit(&rows, Seed::new(seed), tick).raise()?;
            Ok((found, if fingerprints { inputs.fingerprint(&labels) } else { String::new() }))
        });
        if fitted.is_err() {
            // What the columns were taken for may be why the fit failed.
            notes.iter().try_for_each(|n| seen::warn(py, &n.text(Interface::Python)))?;
        }
        let ((head, covariance, refused), fingerprint) = fitted?;
        let model = Model {
            head: Head::Classification(Box::new(head)),
            columns,
            kind: Some(kind),
            labels: Some(names),
            level: Some(level),
            seed,
            fingerprint,
            fingerprints: fingerprints.then(|| Fingerprints::new(&hashes)),
            baseline: None,
            version: Model::VERSION.to_owned(),
        };
        let remarks = notes.iter().map(|n| n.text(Interface::Python)).chain(refused.warnings()).collect();
        Ok((Classification { model, covariance, refused }, remarks))
    }

    /// The probabilities, rows × classes.
    #[pyo3(signature = (x, features, n_jobs=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Table<'_>,
        features: Option<Table<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        Ok(self.ready(n_jobs)?.run(py, Some(&x), features.as_ref(), &Further::default())?.remove(0))
    }

    /// The two probabilities of the second class that Venn-Abers prediction gives, rows × 2.
    fn venn_abers<'py>(&self, py: Python<'py>, x: Matrix<'_>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.rows(&x, &None)?;
        let found = self.head().venn_abers(&rows.inputs()?).raise()?;
        let found = found.ok_or_else(|| PyValueError::new_err("this head is not of method venn-abers"))?;
        Ok(found.into_pyarray(py))
    }

    /// What gives the probabilities of a few rows without checks of names and types.
    #[pyo3(signature = (n_jobs=None))]
    fn ready(&self, n_jobs: Option<i64>) -> PyResult<Ready> {
        let kind = self.model.kind.unwrap_or_default();
        Ready::probabilities(&self.model, self.head(), kind)?.with_jobs(n_jobs)
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
            let why = "there are no intervals: fit with intervals=True (`.stonet` files do not keep them)";
            PyValueError::new_err(self.refused.intervals.clone().unwrap_or_else(|| why.to_owned()))
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
        if self.head().class_sets().is_none() {
            let why = "there are no sets: fit with sets=\"cv+\" or sets=\"split\"";
            return Err(PyValueError::new_err(self.refused.sets.clone().unwrap_or_else(|| why.to_owned())));
        }
        let levels = arrays::levels(&levels)?;
        let rows = self.rows(&x, &features)?;
        let inputs = rows.inputs()?;
        let all = work::run(py, work::jobs(n_jobs)?, || {
            let one = |l: &Level| self.head().sets(&inputs, *l, Seed::new(seed)).map(|s| s.contains);
            levels.iter().map(one).collect::<stonet::Result<Vec<_>>>().raise()
        })?;
        Ok(stacked(&all)?.into_pyarray(py))
    }

    /// The bounds of the accuracy among rows of every row's confidence, rows × 2 × levels.
    #[pyo3(signature = (x, features, levels, n_jobs=None))]
    fn accuracy_bounds<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        levels: Vec<f64>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        self.bins()?;
        let levels = arrays::levels(&levels)?;
        let rows = self.rows(&x, &features)?;
        let inputs = rows.inputs()?;
        let all = work::run(py, work::jobs(n_jobs)?, || {
            let one = |l: &Level| self.head().accuracy_bounds(&inputs, *l);
            levels.iter().map(one).collect::<stonet::Result<Vec<_>>>().raise()
        })?;
        Ok(stacked(&all)?.into_pyarray(py))
    }

    /// Every bin of confidence with its bounds at a level, as JSON.
    fn accuracy_bins(&self, level: f64) -> PyResult<String> {
        settings::text(&self.bins()?.bounds(Level::new(level).raise()?).bins())
    }

    /// How many bins of confidence there are, where there are bounds of accuracy.
    fn accuracy_bin_count(&self) -> Option<usize> {
        self.head().accuracy_bins().map(AccuracyBins::len)
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
        let (head, labelled, level) = (self.head().clone(), self.model.labels.clone(), self.model.level);
        let (logits, mut names) = (rows.logits, self.model.columns.logit_names());
        let features = if logits.is_none() { Some(&x) } else { features.as_ref() }.map(Held::new);
        if features.is_some() {
            // Features that the head was fitted without are not there.
            names.extend(self.model.columns.features.iter().cloned());
        }
        let evaluation = work::follow(py, None, None, move |tick| {
            let (z, f) = (logits.as_ref().map(|z| z.view()), features.as_ref().map(Held::view));
            let seen = HeadInputs { logits: z, features: f, names: &names };
            let wanted = ClassSettings { seed: EVALUATION, tick: Some(tick), level, ..ClassSettings::default() };
            let classes = labelled.as_ref().map_or(&[][..], |l| l.names());
            ClassEvaluation::of_head(&head, &seen, &labels, classes, &wanted).raise()
        })?;
        let evaluation = ClassEvaluation { seen: overlap, ..evaluation };
        write_page(path.as_deref(), || class_report(&evaluation, &origin(title, &self.model)))?;
        Ok((evaluation.verdict(), settings::text(&evaluation)?))
    }

    /// The head for new rows among which classes have other shares; `counts` are those of the calibration rows, where the
    /// head does not know them.
    fn adapt(&self, x: Matrix<'_>, features: Option<Matrix<'_>>, counts: Option<Vec<f64>>) -> PyResult<Self> {
        let known = || self.model.baseline.as_ref().and_then(|b| b.class_counts());
        let Some(counts) = counts.or_else(known) else {
            return Err(PyValueError::new_err(
                "rows is None, and this head does not know the shares of its classes; give rows={\"y\": labels of the calibration rows}",
            ));
        };
        let rows = self.rows(&x, &features)?;
        let head = self.head().adapt_labels(&counts, &rows.inputs()?).raise()?;
        let model = Model { head: Head::Classification(Box::new(head)), ..self.model.clone() };
        Classification::of(model, None)
    }

    /// The shares of classes that the head was adapted to, as JSON, where it was.
    fn adapted(&self) -> PyResult<Option<String>> {
        self.head().adapted().map(settings::text).transpose()
    }

    /// A rule of answers for a wish, made on rows with known classes: the outcome as JSON.
    #[pyo3(signature = (x, features, labels, *, want, confidence, seed, allow_seen=false, title="", path=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn control(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        features: Option<Matrix<'_>>,
        labels: Numbers<'_>,
        want: &str,
        confidence: Option<f64>,
        seed: u64,
        allow_seen: bool,
        title: &str,
        path: Option<PathBuf>,
    ) -> PyResult<String> {
        let control = control::wish(want, confidence, seed)?;
        let Some(known) = &self.model.labels else {
            return Err(PyValueError::new_err("this head has no classes; fit it again"));
        };
        let mut evidence = Evidence::of_classes(&control.want, known).raise()?;
        let (rows, labels) = (self.rows(&x, &features)?, indices(&labels)?);
        let overlap = self.model.overlap(&rows.hashes(&labels)?, || rows.fingerprint(&labels));
        seen::check(py, overlap.as_ref(), allow_seen)?;
        let p = self.head().probabilities(&rows.inputs()?).raise()?;
        evidence.add_classes(p.view(), &labels).raise()?;
        control::outcome(&self.model, &control, &evidence, title, path.as_deref())
    }

    /// Which rows a rule answers.
    fn decide(&self, x: Matrix<'_>, features: Option<Matrix<'_>>, rule: &str) -> PyResult<Vec<bool>> {
        let rows = self.rows(&x, &features)?;
        self.head().decide(&rows.inputs()?, control::decision(&self.model, rule)?).raise()
    }

    /// The bytes of a `.stonet` file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().raise()?))
    }

    /// From the bytes of a `.stonet` file, and of what such a file does not hold.
    #[staticmethod]
    #[pyo3(signature = (data, covariance=None, refused=None))]
    fn from_bytes(data: &[u8], covariance: Option<&str>, refused: Option<&str>) -> PyResult<Self> {
        fn part<T: DeserializeOwned>(json: Option<&str>) -> PyResult<Option<T>> {
            json.map(|j| serde_json::from_str(j).raise()).transpose()
        }
        let head = Self::of(Model::from_bytes(data).raise()?, part(covariance)?)?;
        Ok(Classification { refused: part(refused)?.unwrap_or_default(), ..head })
    }

    #[expect(clippy::type_complexity, reason = "pickle's protocol")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<String>, Option<String>))> {
        let covariance = self.covariance.as_ref().map(settings::text).transpose()?;
        let refused = Some(settings::text(&self.refused)?);
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?, covariance, refused)))
    }

    /// Writes a `.stonet` file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(&path).raise()
    }

    /// Writes an ONNX file with probabilities, and prediction sets and bounds of accuracy where they are wanted.
    #[pyo3(signature = (path, levels=Vec::new(), sets=false, accuracy=false, rule=None, network=None, network_name=PathBuf::new(), tap=None, output=None, keep_outputs=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn to_onnx(
        &self,
        path: PathBuf,
        levels: Vec<f64>,
        sets: bool,
        accuracy: bool,
        rule: Option<&str>,
        network: Option<&[u8]>,
        network_name: PathBuf,
        tap: Option<String>,
        output: Option<String>,
        keep_outputs: bool,
    ) -> PyResult<()> {
        let network = network.map(|bytes| (bytes, network_name));
        let wanted = export::Wanted { path, network, tap, output, inputs: None, keep_outputs };
        let sets = sets.then(SetColumns::default);
        let rule = rule.map(control::read).transpose()?;
        export::write(
            &self.model,
            &ScoreSettings { levels: arrays::levels(&levels)?, sets, accuracy, rule, ..Default::default() },
            wanted,
        )
    }

    /// The names of the columns of a frame: of the most probable class, and of the probability of each.
    fn columns(&self) -> PyResult<Vec<String>> {
        model::output_names(&self.model)
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
        settings::text(&self.head().tuning_curves())
    }

    /// Weight, chosen setting and convergence of every member, as JSON.
    fn notes(&self) -> PyResult<String> {
        settings::text(&self.head().notes())
    }

    /// The rule and the folds of the sets, where there are any, as JSON.
    fn set_settings(&self) -> PyResult<Option<String>> {
        let told =
            self.head().class_sets().map(|s| serde_json::json!({ "rule": s.scores().rule(), "folds": s.folds() }));
        told.as_ref().map(settings::text).transpose()
    }

    /// What holds for the sets, where there are any: the coverage and the words.
    fn guarantee(&self, level: f64) -> PyResult<Option<(Option<f64>, String)>> {
        let level = Level::new(level).raise()?;
        Ok(self.head().guarantee(level).map(|g| (g.coverage, g.text)))
    }

    /// What holds for the bounds of accuracy, where there are any: the probability and the words.
    fn accuracy_guarantee(&self, level: f64) -> PyResult<Option<(Option<f64>, String)>> {
        let level = Level::new(level).raise()?;
        Ok(self.head().accuracy_guarantee(level).map(|g| (g.coverage, g.text)))
    }

    /// What may be expected of the intervals of probabilities, where there are any.
    fn trust(&self) -> Option<String> {
        self.covariance.as_ref().map(|c| c.trust().to_string())
    }
}

/// Arrays of each level behind one another, along the last axis.
fn stacked<T: Clone>(all: &[Array2<T>]) -> PyResult<Array3<T>> {
    let views: Vec<_> = all.iter().map(|a| a.view()).collect();
    ndarray::stack(Axis(2), &views).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// What the columns of X are, and the class of each of them.
fn recognised(
    x: &Matrix<'_>,
    seen: &str,
    codes: &[usize],
    classes: Option<Vec<String>>,
    kind: Option<&str>,
    given: &Given,
    beside: bool,
) -> PyResult<ClassColumns> {
    let Seen { names, kind: of, r#type } = serde_json::from_str(seen).raise()?;
    let seen = Labels::of_kind(names, of).raise()?.with_type_name(r#type);
    let classes = classes.map(|names| Labels::of_kind(names, of)).transpose();
    let classes = classes.map_err(|e| PyValueError::new_err(format!("classes cannot be used: {e}")))?;
    let kind = kind.map(str::parse::<InputKind>).transpose().raise()?;
    let columns = given.inputs.as_deref().unwrap_or_default();
    let asked = ClassAsked { kind, classes: classes.as_ref(), columns, beside };
    ClassColumns::find(x.as_array(), &seen, codes, &asked).raise()
}
