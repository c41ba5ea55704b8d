//! Prediction intervals.

use std::path::PathBuf;

use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray2, PyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stonet::conformal::Ratio;
use stonet::control::Evidence;
use stonet::metrics::rmse;
use stonet::monitor::Baseline;
use stonet::regression::{Adapt, seen_in_training};
use stonet::rows::{Order, Within};
use stonet::score::Asked;
use stonet::{Fingerprints, FittedRegressor, Level, PostStoNetRegressor, RegressionInputs, RegressionRows, Seed, Side};
use stonet_io::{Head, Model, ModelColumns, ScoreSettings, regression_hashes};
use stonet_report::{EvaluateSettings, RegressionEvaluation, regression_report};

use crate::arrays::{self, Held, Matrix, Numbers, indices};
use crate::error::{Raise, raised};
use crate::model::{self, EVALUATION, origin, write_page};
use crate::monitor::{self, Watched};
use crate::ready::{Further, Layout, Ready};
use crate::tables::Table;
use crate::{asked, control, explain, export, seen, settings, work};

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
/// The labels of columns of groups within which intervals are to cover.
type Labels = Vec<Vec<String>>;

/// A fitted post-StoNet regression with the names of its columns.
#[pyclass(frozen, module = "stonet._core")]
pub struct Regression {
    /// Its head is a regression.
    model: Model,
}

impl Regression {
    /// Of a model of this kind.
    pub fn of(model: Model) -> PyResult<Self> {
        match &model.head {
            Head::Regression(_) => Ok(Regression { model }),
            Head::Classification(_) => Err(PyValueError::new_err("this head gives class probabilities")),
            Head::Labels(_) => Err(PyValueError::new_err(crate::labels::MANY)),
        }
    }

    /// All arrays of what is asked for.
    fn arrays<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked,
        (x, prediction): (Table<'_>, Option<Table<'_>>),
        n_jobs: Option<i64>,
        (within, conditional): (Option<Labels>, Option<Matrix<'_>>),
    ) -> PyResult<Vec<Array<'py>>> {
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        let further = Further { groups: groups.as_deref(), functions: conditional.as_ref().map(|c| c.as_array()) };
        let ready = Ready::intervals(&self.model, self.head(), asked, &Layout::Beside)?;
        ready.unsqueezed().with_jobs(n_jobs)?.run(py, Some(&x), prediction.as_ref(), &further)
    }

    /// The numbers of the rows' groups, for heads that cover within groups.
    fn numbers(&self, labels: Option<&Labels>) -> PyResult<Option<Vec<f64>>> {
        match (self.head().within(), labels) {
            (Some(within), Some(labels)) => Ok(Some(within.encode(&slices(labels)).raise()?)),
            (Some(_), None) => Err(raised(stonet::Error::NoGroups)),
            (None, Some(_)) => Err(PyValueError::new_err(
                "within is given, but this head was fitted without it; leave it out, or fit with it",
            )),
            (None, None) => Ok(None),
        }
    }

    /// Fails unless there are as many functions as the fit had.
    fn check_functions(&self, functions: Option<&Matrix<'_>>) -> PyResult<()> {
        match (self.head().functions(), functions.map(|f| f.as_array().ncols())) {
            (0, None) => Ok(()),
            (0, Some(_)) => Err(PyValueError::new_err(
                "conditional is given, but this head was fitted without it; leave it out, or fit with it",
            )),
            (columns, None) => Err(raised(stonet::Error::NoFunctions { columns })),
            (columns, Some(found)) if columns == found => Ok(()),
            (columns, Some(found)) => Err(PyValueError::new_err(format!(
                "conditional has {found} columns, but this head was fitted with {columns}"
            ))),
        }
    }

    /// The head with the names of its columns.
    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn head(&self) -> &FittedRegressor {
        match &self.model.head {
            Head::Regression(head) => head,
            Head::Classification(_) | Head::Labels(_) => unreachable!("no such model is let in"),
        }
    }
}

/// The rows that a regression or a baseline is fitted or judged on.
pub struct HeldRows {
    x: Held,
    y: Held,
    prediction: Option<Held>,
    /// Lower and upper quantiles, a standard deviation, or nothing.
    own: Vec<Held>,
    groups: Option<Vec<usize>>,
    within: Option<(Within, Vec<usize>)>,
    functions: Option<Held>,
    order: Option<Order>,
}

/// The time of every row, the name of their column, and the gap.
type Times = (Vec<String>, Option<String>, Option<usize>);

fn slices(labels: &Labels) -> Vec<&[String]> {
    labels.iter().map(Vec::as_slice).collect()
}

impl HeldRows {
    pub fn new(
        x: &Matrix<'_>,
        y: &Matrix<'_>,
        prediction: &Option<Matrix<'_>>,
        own: &[Matrix<'_>],
        groups: &Option<Numbers<'_>>,
    ) -> PyResult<Self> {
        let groups = groups.as_ref().map(indices).transpose()?;
        let prediction = prediction.as_ref().map(Held::new);
        let own = own.iter().map(Held::new).collect();
        let (within, functions, order) = (None, None, None);
        Ok(HeldRows { x: Held::new(x), y: Held::new(y), prediction, own, groups, within, functions, order })
    }

    /// With the labels of groups within which intervals are to cover.
    fn with_within(self, labels: Option<&Labels>) -> PyResult<Self> {
        let within = labels.map(|l| Within::learn(&slices(l))).transpose().raise()?;
        Ok(HeldRows { within, ..self })
    }

    /// With functions for each of which intervals are to cover.
    fn with_functions(self, functions: &Option<Matrix<'_>>) -> Self {
        HeldRows { functions: functions.as_ref().map(Held::new), ..self }
    }

    /// In order of time.
    fn in_order(self, times: Option<&Times>) -> PyResult<Self> {
        let order = times.map(|(times, _, gap)| Order::of_texts(times, *gap)).transpose().raise()?;
        Ok(HeldRows { order, ..self })
    }

    /// Without the targets, of groups by these numbers.
    pub fn new_rows<'a>(&'a self, groups: Option<&'a [f64]>) -> PyResult<RegressionInputs<'a>> {
        let mut rows = RegressionInputs::new(self.x.view()).raise()?;
        if let Some(groups) = groups {
            rows = rows.with_within(groups).raise()?;
        }
        if let Some(f) = &self.functions {
            rows = rows.with_conditional(f.view()).raise()?;
        }
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view()).raise()?;
        }
        match &self.own[..] {
            [] => Ok(rows),
            [sd] => rows.with_sd(sd.view()).raise(),
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view()).raise(),
        }
    }

    pub fn calibration(&self) -> PyResult<RegressionRows<'_>> {
        let mut rows = RegressionRows::new(self.x.view(), self.y.view()).raise()?;
        if let Some(d) = &self.prediction {
            rows = rows.with_prediction(d.view()).raise()?;
        }
        if let Some(f) = &self.functions {
            rows = rows.with_conditional(f.view()).raise()?;
        }
        if let Some((within, numbers)) = &self.within {
            rows = rows.with_within(within, numbers).raise()?;
        }
        rows = match &self.own[..] {
            [] => rows,
            [sd] => rows.with_sd(sd.view()).raise()?,
            [lower, upper, ..] => rows.with_quantiles(lower.view(), upper.view()).raise()?,
        };
        if let Some(order) = &self.order {
            rows = rows.with_order(order).raise()?;
        }
        match &self.groups {
            Some(g) => rows.with_groups(g).raise(),
            None => Ok(rows),
        }
    }
}

/// The groups of the rows in one text each.
fn group_names(labels: &Labels) -> Vec<String> {
    let name = |row: usize| labels.iter().map(|l| l[row].as_str()).collect::<Vec<_>>().join(", ");
    (0..labels.first().map_or(0, Vec::len)).map(name).collect()
}

/// Warns where the network's error on these rows is no larger than on those it was trained on.
fn warn_of_training_rows(py: Python<'_>, rows: &RegressionRows<'_>, train_error: Option<f64>) -> PyResult<()> {
    let Some(train) = train_error else { return Ok(()) };
    if !(train.is_finite() && train >= 0.0) {
        return Err(PyValueError::new_err(format!("train_error is {train}; it must be a root mean squared error")));
    }
    let own = rows.prediction().ok_or_else(|| {
        PyValueError::new_err(
            "train_error needs the network's own predictions; give prediction=, or name prediction_column",
        )
    })?;
    match seen_in_training(train, rmse(own, rows.y()).raise()?) {
        Some(text) => seen::warn(py, &text),
        None => Ok(()),
    }
}

#[pymethods]
impl Regression {
    /// What a fit is expected to take, as JSON.
    #[staticmethod]
    #[pyo3(signature = (x, y, prediction, groups, *, settings, level, seed, own=Vec::new(), n_jobs=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn estimate(
        py: Python<'_>,
        x: Matrix<'_>,
        y: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        groups: Option<Numbers<'_>>,
        settings: &str,
        level: f64,
        seed: u64,
        own: Vec<Matrix<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<String> {
        let mut post: PostStoNetRegressor = settings::read(settings, "settings")?;
        post.level = Level::new(level).raise()?;
        let held = HeldRows::new(&x, &y, &prediction, &own, &groups)?;
        let estimate = work::follow(py, work::jobs(n_jobs)?, None, move |tick| {
            post.estimate(&held.calibration()?, Seed::new(seed), tick).raise()
        })?;
        serde_json::to_string(&estimate).raise()
    }

    /// Fits on rows that the network has not seen.
    #[staticmethod]
    #[pyo3(signature = (x, y, prediction, groups, *, settings, columns, level, seed, own=Vec::new(), fingerprints=true, train_error=None, n_jobs=None, progress=None, within=None, conditional=None, times=None, keep_rows=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        x: Matrix<'_>,
        y: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        groups: Option<Numbers<'_>>,
        settings: &str,
        columns: &str,
        level: f64,
        seed: u64,
        own: Vec<Matrix<'_>>,
        fingerprints: bool,
        train_error: Option<f64>,
        n_jobs: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
        times: Option<Times>,
        keep_rows: bool,
    ) -> PyResult<Self> {
        let mut post: PostStoNetRegressor = settings::read(settings, "settings")?;
        post.level = Level::new(level).raise()?;
        let columns: ModelColumns = serde_json::from_str(columns).raise()?;
        let held = HeldRows::new(&x, &y, &prediction, &own, &groups)?.with_within(within.as_ref())?;
        let held = held.with_functions(&conditional).in_order(times.as_ref())?;
        let level = post.level;
        let rows = held.calibration()?;
        let hashes = seen::regression_rows(py, &rows, groups.is_some())?;
        warn_of_training_rows(py, &rows, train_error)?;
        let (head, fingerprint, baseline) = work::follow(py, work::jobs(n_jobs)?, progress, move |tick| {
            let rows = held.calibration()?;
            let head = post.fit(&rows, Seed::new(seed), tick).raise()?;
            let head = if keep_rows { head.keeping(&rows).raise()? } else { head };
            let arrays: Vec<ArrayView2<'_, f64>> =
                [rows.features(), rows.y()].into_iter().chain(rows.prediction()).collect();
            let baseline = fingerprints.then(|| Baseline::of_regression(&rows, Seed::new(seed))).flatten();
            Ok((head, if fingerprints { Model::fingerprint_of(&arrays) } else { String::new() }, baseline))
        })?;
        if let Some(found) = head.looks_ordered() {
            seen::warn(py, &found.text("time=", "groups="))?;
        }
        let head = match times.and_then(|t| t.1) {
            Some(name) => head.ordered_by(&name),
            None => head,
        };
        let model = Model {
            head: Head::Regression(Box::new(head)),
            columns,
            kind: None,
            labels: None,
            level: Some(level),
            seed,
            fingerprint,
            fingerprints: fingerprints.then(|| Fingerprints::new(&hashes)),
            baseline,
            version: Model::VERSION.to_owned(),
        };
        Ok(Regression { model })
    }

    /// The point predictions, rows × outputs. The network's own uncertainty stands behind its prediction.
    #[pyo3(signature = (x, prediction, n_jobs=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Table<'_>,
        prediction: Option<Table<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Array<'py>> {
        let ready = Ready::intervals(&self.model, self.head(), &Asked::default(), &Layout::Beside)?;
        let mut found =
            ready.unsqueezed().with_jobs(n_jobs)?.run(py, Some(&x), prediction.as_ref(), &Further::default())?;
        Ok(found.remove(0))
    }

    /// The point predictions, and the bounds rows × outputs × 2 × levels.
    #[pyo3(signature = (x, prediction, levels, side="both", joint=false, n_jobs=None, within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        x: Table<'_>,
        prediction: Option<Table<'_>>,
        levels: Vec<f64>,
        side: &str,
        joint: bool,
        n_jobs: Option<i64>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let asked = asked::intervals(&levels, side, joint)?;
        let mut found = self.arrays(py, &asked, (x, prediction), n_jobs, (within, conditional))?;
        let bounds = found.remove(1);
        Ok((found.remove(0), bounds))
    }

    /// Quantiles, rows × outputs × quantiles.
    #[pyo3(signature = (x, prediction, quantiles, n_jobs=None, within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        x: Table<'_>,
        prediction: Option<Table<'_>>,
        quantiles: Vec<f64>,
        n_jobs: Option<i64>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<Array<'py>> {
        let asked = Asked { quantiles: arrays::levels(&quantiles)?, ..Asked::default() };
        // Behind the predictions and the bounds.
        Ok(self.arrays(py, &asked, (x, prediction), n_jobs, (within, conditional))?.remove(2))
    }

    /// P(y ≤ t) for each t of some values, rows × outputs × values.
    #[pyo3(signature = (x, prediction, values, n_jobs=None, within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn cdf<'py>(
        &self,
        py: Python<'py>,
        x: Table<'_>,
        prediction: Option<Table<'_>>,
        values: Vec<f64>,
        n_jobs: Option<i64>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<Array<'py>> {
        let asked = Asked { below: values, ..Asked::default() };
        // Behind the predictions and the bounds.
        Ok(self.arrays(py, &asked, (x, prediction), n_jobs, (within, conditional))?.remove(2))
    }

    /// P(y ≤ t) at a value t per row and output.
    #[pyo3(signature = (x, prediction, values, own=Vec::new(), within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn cdf_at<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        values: Matrix<'_>,
        own: Vec<Matrix<'_>>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        let held = HeldRows::new(&x, &values, &prediction, &own, &None)?.with_functions(&conditional);
        let rows = held.new_rows(groups.as_deref())?;
        Ok(self.head().cdf_at(&rows, held.y.view()).raise()?.into_pyarray(py))
    }

    /// Probabilities whose quantiles are as likely as each other and stand for a distribution.
    fn equally_likely(&self) -> Vec<f64> {
        self.head().equally_likely().into_iter().map(f64::from).collect()
    }

    /// What gives predictions and bounds of a few rows without checks of names and types.
    #[pyo3(signature = (levels, side="both", joint=false, *, within=None, alone=false, n_jobs=None))]
    fn ready(
        &self,
        levels: Vec<f64>,
        side: &str,
        joint: bool,
        within: Option<(Vec<usize>, Vec<usize>)>,
        alone: bool,
        n_jobs: Option<i64>,
    ) -> PyResult<Ready> {
        if self.head().within().is_some() || self.head().functions() > 0 {
            return Err(PyValueError::new_err(
                "ready takes no groups and no functions, and this head was fitted with them; use predict_interval(..., within=..., conditional=...)",
            ));
        }
        let layout = match within {
            Some((features, prediction)) => Layout::Within { features, prediction },
            None if alone => Layout::Alone,
            None => Layout::Beside,
        };
        let asked = asked::intervals(&levels, side, joint)?;
        Ready::intervals(&self.model, self.head(), &asked, &layout)?.with_jobs(n_jobs)
    }

    /// Judges the intervals on rows with known targets: JSON, and a page where a path is given.
    #[pyo3(signature = (x, y, prediction, *, level, own=Vec::new(), joint=false, allow_seen=false, title="", path=None, within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn evaluate(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        y: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        level: f64,
        own: Vec<Matrix<'_>>,
        joint: bool,
        allow_seen: bool,
        title: &str,
        path: Option<PathBuf>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<(String, String)> {
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        let names = within.as_ref().map(group_names);
        let by = self.model.columns.within.join(", ");
        let held = HeldRows::new(&x, &y, &prediction, &own, &None)?.with_functions(&conditional);
        let rows = held.new_rows(None)?;
        let hashes = regression_hashes(rows.features(), rows.prediction(), held.y.view()).raise()?;
        let fingerprint = || {
            let arrays = [rows.features(), held.y.view()].into_iter().chain(rows.prediction());
            Model::fingerprint_of(&arrays.collect::<Vec<_>>())
        };
        let overlap = self.model.overlap(&hashes, fingerprint);
        seen::check(py, overlap.as_ref(), allow_seen)?;
        let level = Level::new(level).raise()?;
        let (head, columns) = (self.head().clone(), self.model.columns.clone());
        let evaluation = work::follow(py, None, None, move |tick| {
            let wanted = EvaluateSettings {
                joint,
                feature_names: columns.features,
                target_names: columns.targets,
                seed: EVALUATION,
                tick: Some(tick),
                by: names.as_deref().map(|names| (&by[..], names)),
                ..EvaluateSettings::new(level)
            };
            let rows = held.new_rows(groups.as_deref())?;
            RegressionEvaluation::new(&head, &rows, held.y.view(), &wanted).raise()
        })?;
        let evaluation = RegressionEvaluation { seen: overlap, ..evaluation };
        write_page(path.as_deref(), || regression_report(&evaluation, &origin(title, &self.model)))?;
        Ok((evaluation.verdict(), settings::text(&evaluation)?))
    }

    /// A rule of answers for a wish, made on rows with known targets: the outcome as JSON.
    #[pyo3(signature = (x, y, prediction, *, want, confidence, level, seed, own=Vec::new(), allow_seen=false, title="", path=None, within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn control(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        y: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        want: &str,
        confidence: Option<f64>,
        level: f64,
        seed: u64,
        own: Vec<Matrix<'_>>,
        allow_seen: bool,
        title: &str,
        path: Option<PathBuf>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<String> {
        let (control, level) = (control::wish(want, confidence, seed)?, Level::new(level).raise()?);
        let mut evidence = Evidence::of_intervals(&control.want, level).raise()?;
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        let held = HeldRows::new(&x, &y, &prediction, &own, &None)?.with_functions(&conditional);
        let rows = held.new_rows(groups.as_deref())?;
        let hashes = regression_hashes(rows.features(), rows.prediction(), held.y.view()).raise()?;
        let fingerprint = || {
            let arrays = [rows.features(), held.y.view()].into_iter().chain(rows.prediction());
            Model::fingerprint_of(&arrays.collect::<Vec<_>>())
        };
        seen::check(py, self.model.overlap(&hashes, fingerprint).as_ref(), allow_seen)?;
        let intervals = self.head().intervals(&rows, level, Side::Both).raise()?;
        evidence.add_intervals(&intervals, held.y.view().column(0)).raise()?;
        control::outcome(&self.model, &control, &evidence, title, path.as_deref())
    }

    /// Which rows a rule answers.
    #[pyo3(signature = (x, prediction, rule, own=Vec::new(), within=None, conditional=None))]
    fn decide(
        &self,
        x: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        rule: &str,
        own: Vec<Matrix<'_>>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<Vec<bool>> {
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        // New rows have no targets; none are read.
        let held = HeldRows::new(&x, &x, &prediction, &own, &None)?.with_functions(&conditional);
        self.head().decide(&held.new_rows(groups.as_deref())?, control::decision(&self.model, rule)?).raise()
    }

    /// Where the uncertainty of rows comes from, what widens their intervals, and how strange they are.
    #[pyo3(signature = (x, prediction, own=Vec::new()))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        own: Vec<Matrix<'_>>,
    ) -> PyResult<explain::Told<'py>> {
        let held = HeldRows::new(&x, &x, &prediction, &own, &None)?;
        explain::told(py, &self.model, || {
            stonet::explain::regression(self.head(), self.model.baseline.as_ref(), &held.new_rows(None)?).raise()
        })
    }

    /// Begins to watch the head.
    #[pyo3(signature = (*, alarm=None, level=None, seed=1))]
    fn begin_monitor(&self, alarm: Option<f64>, level: Option<f64>, seed: u64) -> PyResult<Watched> {
        monitor::begin(&self.model, alarm, level, seed)
    }

    /// Goes on with the state of a file.
    #[pyo3(signature = (text, source, *, alarm=None, level=None))]
    fn resume_monitor(&self, text: &str, source: &str, alarm: Option<f64>, level: Option<f64>) -> PyResult<Watched> {
        monitor::resume(&self.model, text, source, alarm, level)
    }

    /// Shows rows to a monitor, with their targets where these are known.
    #[pyo3(signature = (watched, x, y, prediction, own=Vec::new(), within=None, conditional=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn watch(
        &self,
        watched: &Watched,
        x: Matrix<'_>,
        y: Option<Matrix<'_>>,
        prediction: Option<Matrix<'_>>,
        own: Vec<Matrix<'_>>,
        within: Option<Labels>,
        conditional: Option<Matrix<'_>>,
    ) -> PyResult<()> {
        let groups = self.numbers(within.as_ref())?;
        self.check_functions(conditional.as_ref())?;
        let known = y.is_some();
        let held = HeldRows::new(&x, y.as_ref().unwrap_or(&x), &prediction, &own, &None)?.with_functions(&conditional);
        watched.add(&self.model, |watch| {
            watch.add_regression(&held.new_rows(groups.as_deref())?, known.then(|| held.y.view())).raise()
        })
    }

    /// The head for new rows that are unlike its calibration rows, which are given again unless the head keeps them.
    #[pyo3(signature = (x, prediction, *, level, seed, own=Vec::new(), tilt=None, old=None, old_prediction=None, old_own=Vec::new(), n_jobs=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn adapt(
        &self,
        py: Python<'_>,
        x: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        level: f64,
        seed: u64,
        own: Vec<Matrix<'_>>,
        tilt: Option<Vec<f64>>,
        old: Option<(Matrix<'_>, Matrix<'_>)>,
        old_prediction: Option<Matrix<'_>>,
        old_own: Vec<Matrix<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Self> {
        let ratio = tilt.map(|tilt| Ratio::tilt(&tilt)).transpose().raise()?;
        let adapt = Adapt { level: Level::new(level).raise()?, ratio, seed: Seed::new(seed) };
        // New rows have no targets; none are read.
        let new = HeldRows::new(&x, &x, &prediction, &own, &None)?;
        let old = old.map(|(x, y)| HeldRows::new(&x, &y, &old_prediction, &old_own, &None)).transpose()?;
        let head = self.head().clone();
        let head = work::follow(py, work::jobs(n_jobs)?, None, move |tick| {
            let rows = old.as_ref().map(HeldRows::calibration).transpose()?;
            adapt.regression(&head, rows.as_ref(), &new.new_rows(None)?, tick).raise()
        })?;
        Ok(Regression { model: Model { head: Head::Regression(Box::new(head)), ..self.model.clone() } })
    }

    /// What the head was adapted by, as JSON, where it was.
    fn adapted(&self) -> PyResult<Option<String>> {
        self.head().adapted().map(settings::text).transpose()
    }

    /// Whether it keeps its calibration rows.
    fn keeps_rows(&self) -> bool {
        self.head().keeps_rows()
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

    /// Writes an ONNX file with intervals at some levels.
    #[pyo3(signature = (path, levels, side, joint, quantiles, below, rule=None, network=None, network_name=PathBuf::new(), tap=None, output=None, inputs=None, keep_outputs=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn to_onnx(
        &self,
        path: PathBuf,
        levels: Vec<f64>,
        side: &str,
        joint: bool,
        quantiles: Vec<f64>,
        below: Vec<f64>,
        rule: Option<&str>,
        network: Option<&[u8]>,
        network_name: PathBuf,
        tap: Option<String>,
        output: Option<String>,
        inputs: Option<Vec<String>>,
        keep_outputs: bool,
    ) -> PyResult<()> {
        let network = network.map(|bytes| (bytes, network_name));
        let Asked { levels, side, joint, .. } = asked::intervals(&levels, side, joint)?;
        let quantiles = arrays::levels(&quantiles)?;
        let rule = rule.map(control::read).transpose()?;
        let settings =
            ScoreSettings { levels, side, joint, quantiles, below, rule, single: true, ..ScoreSettings::default() };
        export::write(&self.model, &settings, export::Wanted { path, network, tap, output, inputs, keep_outputs })
    }

    /// Names, level, seed, version, as JSON.
    fn about(&self) -> PyResult<String> {
        model::about(&self.model)
    }

    /// All settings of the fit, as JSON.
    fn settings(&self) -> PyResult<String> {
        settings::text(self.head().settings())
    }

    /// What the choice of κ saw, as JSON.
    fn kappa_paths(&self) -> PyResult<String> {
        settings::text(&self.head().tuning_curves())
    }

    /// Per feature, the fraction of the StoNets in use that select it.
    fn selected_features(&self) -> Vec<f64> {
        self.head().selected_features()
    }

    /// Mean weights of StoNet, skip, ridge and network, per output.
    fn weights(&self) -> Option<Vec<[f64; 4]>> {
        self.head().weights()
    }

    /// The coverage that is guaranteed, where there is a proof, and what holds in words.
    fn guarantee(&self, level: f64) -> PyResult<(Option<f64>, String)> {
        let guarantee = self.head().guarantee(Level::new(level).raise()?);
        Ok((guarantee.coverage, guarantee.text))
    }

    /// How many tables of the network's own uncertainty the head reads: 2 of quantiles, 1 of standard deviations, or none.
    fn own(&self) -> usize {
        self.head().own().map_or(0, |kind| kind.names().len())
    }

    /// Whether new rows need the network's own prediction.
    fn needs_prediction(&self) -> bool {
        self.head().needs_prediction()
    }

    /// In words, which groups have too few rows for this level, where some have.
    fn pooled_groups(&self, level: f64, joint: bool) -> PyResult<Option<String>> {
        self.head().pooled_groups(Level::new(level).raise()?, joint).raise()
    }

    /// How many rows or groups calibrate the intervals and how many are needed, where they are too few for finite
    /// intervals.
    fn too_few(&self, level: f64, joint: bool) -> PyResult<Option<(usize, usize)>> {
        self.head().too_few_rows(Level::new(level).raise()?, joint).raise()
    }

    /// Targets per row.
    fn outputs(&self) -> usize {
        self.head().outputs()
    }
}
