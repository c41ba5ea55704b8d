//! A head made ready for what is asked of it: arrays of numpy in, arrays of numpy out, nothing compiled per call.

use std::sync::Arc;

use ndarray::{ArrayD, ArrayView1, ArrayView2, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use stonet::classification::FittedLabels;
use stonet::rows::ClassOutput;
use stonet::score::{Asked, Column, Port, Quantity, Scorer};
use stonet::{Error, FittedClassifier, FittedRegressor, InputKind};
use stonet_io::{Model, Setting};

use crate::asked;
use crate::error::{Raise, raised};
use crate::tables::{List, Table, View};
use crate::work;

/// Rows that are written at a time, so that they stay in the cache while column after column comes.
const ROWS: usize = 64;

/// Where the columns of a head stand in the arrays of a call.
pub enum Layout {
    /// In two arrays.
    Beside,
    /// In one array: these of its columns are features, and these the network's own prediction.
    Within { features: Vec<usize>, prediction: Vec<usize> },
    /// The second array is both; there is no first.
    Alone,
}

impl Layout {
    fn check(&self, head: &FittedRegressor) -> PyResult<()> {
        let Layout::Within { features, prediction } = self else { return Ok(()) };
        match (features.len(), prediction.len()) == (head.features(), head.outputs()) {
            true => Ok(()),
            false => Err(PyValueError::new_err("the columns of x are not those of the fit")),
        }
    }
}

/// What heads that cover within groups, or for functions of a row, read beside the two arrays of a call.
#[derive(Default)]
pub struct Further<'a> {
    /// The numbers of the rows' groups.
    pub groups: Option<&'a [f64]>,
    /// Rows × functions.
    pub functions: Option<ArrayView2<'a, f64>>,
}

/// A column of the first array of a call or of the second.
#[derive(Clone, Copy)]
struct Source {
    second: bool,
    column: usize,
}

/// What stands in the second array of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// The network's own prediction.
    Prediction,
    /// Features beside logits.
    Features,
}

impl Beside {
    fn setting(self) -> Setting {
        match self {
            Beside::Prediction => Setting::Prediction,
            Beside::Features => Setting::Features,
        }
    }

    fn name(self) -> &'static str {
        self.setting().argument()
    }
}

/// What the first array of a call or the second must be.
struct Given {
    name: &'static str,
    /// How many columns it must have, where that matters.
    columns: Option<usize>,
    list: List,
}

/// What is returned: an array, or the array of predictions and that of bounds.
struct Shape {
    /// Behind the rows, of each array.
    arrays: Vec<Vec<usize>>,
    /// Array and column of every output of the scorer that is wanted.
    places: Vec<Option<(usize, usize)>>,
    /// What stands in an array where no output goes, per column; zero if empty.
    otherwise: Vec<Vec<f64>>,
}

/// A head that is ready for one set of levels, without the checks of an estimator: `ready(x)` for one row or a few.
#[pyclass(frozen, module = "stonet._core")]
pub struct Ready {
    scorer: Arc<Scorer>,
    sources: Vec<Source>,
    first: Option<Given>,
    second: Option<Given>,
    /// What the second array is.
    beside: Beside,
    /// Arguments that the head has no use for, and why.
    refused: Vec<(&'static str, &'static str)>,
    shape: Shape,
    /// Arrays without the axis of the targets where there is one target.
    squeezed: bool,
    jobs: Option<usize>,
}

impl Ready {
    /// Predictions, bounds at every level, and an array for quantiles and one for probabilities where any are asked for.
    pub fn intervals(model: &Model, head: &FittedRegressor, asked: &Asked, layout: &Layout) -> PyResult<Self> {
        layout.check(head)?;
        let scorer = head.scorer(asked).raise()?;
        let (targets, levels) = (head.outputs(), asked.levels.len());
        let (quantiles, below) = (asked.quantiles.len(), asked.below.len());
        let place = |quantity: Quantity| match quantity {
            Quantity::Prediction { target } => Some((0, target)),
            Quantity::Lower { target, level } => Some((1, 2 * target * levels + level)),
            Quantity::Upper { target, level } => Some((1, (2 * target + 1) * levels + level)),
            Quantity::Quantile { target, number } => Some((2, target * quantiles + number)),
            Quantity::Below { target, number } => Some((2 + usize::from(quantiles > 0), target * below + number)),
            _ => None,
        };
        let ends = [f64::NEG_INFINITY, f64::INFINITY].map(|end| vec![end; levels]).concat().repeat(targets);
        let mut arrays = vec![vec![targets], vec![targets, 2, levels]];
        arrays.extend([quantiles, below].into_iter().filter(|n| *n > 0).map(|n| vec![targets, n]));
        let mut otherwise = vec![Vec::new(), ends];
        otherwise.resize(arrays.len(), Vec::new());
        let places = scorer.outputs().iter().map(|o| place(o.quantity)).collect();
        let shape = Shape { arrays, places, otherwise };
        let said = usize::from(!model.columns.prediction.is_empty());
        let beside =
            targets * (said.max(usize::from(head.own().is_none())) + head.own().map_or(0, |o| o.names().len()));
        let source = |port: Port, k: usize| match (layout, port) {
            (Layout::Within { features, .. }, Port::Features) => Source { second: false, column: features[k] },
            (Layout::Within { prediction, .. }, _) => Source { second: false, column: prediction[k] },
            (Layout::Alone, _) => Source { second: true, column: k },
            (Layout::Beside, Port::Features) => Source { second: false, column: k },
            // The network's own uncertainty stands behind its prediction, table by table.
            (Layout::Beside, port) => {
                let before = port.own_place().map_or(0, |(_, place)| targets * (said + place));
                Source { second: true, column: before + k }
            }
        };
        let list = if beside == 1 { List::Column } else { List::Row };
        let columns = match layout {
            Layout::Within { features, prediction } => features.len() + prediction.len(),
            _ => head.features(),
        };
        let numbers = scorer.inputs().iter().filter(|i| !matches!(i.port, Port::Groups | Port::Functions));
        let first = Given { name: "x", columns: Some(columns), list: List::Row };
        let second = Given { name: "prediction", columns: Some(beside), list };
        Ok(Ready {
            sources: numbers.map(|i| source(i.port, i.column)).collect(),
            first: Some(first).filter(|_| !matches!(layout, Layout::Alone)),
            second: Some(second).filter(|_| !matches!(layout, Layout::Within { .. })),
            beside: Beside::Prediction,
            refused: refused(model),
            scorer,
            shape,
            squeezed: targets == 1,
            jobs: None,
        })
    }

    /// The probabilities of the classes.
    pub fn probabilities(model: &Model, head: &FittedClassifier, kind: InputKind) -> PyResult<Self> {
        let scorer = head.scorer(ClassOutput { kind, columns: model.columns.logits.len() }).raise()?;
        Ok(Self::of_scorer(model, scorer, head.classes(), kind == InputKind::Features))
    }

    /// The probability of each of many labels.
    pub fn labels(model: &Model, head: &FittedLabels, kind: InputKind) -> PyResult<Self> {
        Ok(Self::of_scorer(model, head.scorer(kind).raise()?, head.names().len(), false))
    }

    /// So many probabilities, from features alone or from outputs with features beside them.
    fn of_scorer(model: &Model, scorer: Arc<Scorer>, width: usize, of_features: bool) -> Self {
        let columns = &model.columns;
        let count = if of_features { columns.features.len() } else { columns.logits.len() };
        let place = |q: Quantity| if let Quantity::Probability { class } = q { Some((0, class)) } else { None };
        let shape = Shape {
            arrays: vec![vec![width]],
            places: scorer.outputs().iter().map(|o| place(o.quantity)).collect(),
            otherwise: vec![Vec::new()],
        };
        let source = |port: Port, column: usize| Source { second: !of_features && port == Port::Features, column };
        let features = scorer.plan().width(Port::Features);
        Ready {
            sources: scorer.inputs().iter().map(|i| source(i.port, i.column)).collect(),
            first: Some(Given { name: "x", columns: Some(count), list: List::Row }),
            // Features that no member looks at may be anything.
            second: Some(Given { name: "features", columns: features.filter(|_| !of_features), list: List::Row }),
            beside: Beside::Features,
            refused: refused(model),
            scorer,
            shape,
            squeezed: false,
            jobs: None,
        }
    }

    /// The same for calls of Python, with the number of threads that is wanted.
    pub fn with_jobs(self, n_jobs: Option<i64>) -> PyResult<Self> {
        Ok(Ready { jobs: work::jobs(n_jobs)?, ..self })
    }

    /// The same with an axis for the targets also where there is one.
    pub fn unsqueezed(self) -> Self {
        Ready { squeezed: false, ..self }
    }

    /// What is asked for, for the rows of these arrays.
    pub fn run<'py>(
        &self,
        py: Python<'py>,
        first: Option<&Table<'_>>,
        second: Option<&Table<'_>>,
        further: &Further<'_>,
    ) -> PyResult<Vec<Bound<'py, PyArrayDyn<f64>>>> {
        self.refuse(self.beside, second.is_some())?;
        let views = [view(&self.first, first, "x")?, view(&self.second, second, self.beside.name())?];
        let rows = rows(&views)?;
        self.check(&views)?;
        // Sources of a table that is missing were refused.
        let columns = self.sources.iter().filter_map(|s| views[usize::from(s.second)].map(|v| v.column(s.column)));
        // Functions and groups are the last of a scorer's inputs, where it reads them.
        let reads = |port: Port| self.scorer.inputs().iter().any(|i| i.port == port);
        let functions = further.functions.filter(|_| reads(Port::Functions)).map(Column::of).unwrap_or_default();
        let groups = further.groups.filter(|_| reads(Port::Groups)).map(|g| Column::F64(ArrayView1::from(g)));
        let columns: Vec<_> = columns.chain(functions).chain(groups).collect();
        let found = work::score(py, self.jobs, rows, || self.arrays(self.scorer.run(&columns, rows).raise()?, rows))?;
        Ok(found.into_iter().map(|array| array.into_pyarray(py)).collect())
    }

    /// Fails where an argument is given that the head has no use for.
    fn refuse(&self, beside: Beside, given: bool) -> PyResult<()> {
        let name = beside.name();
        match self.refused.iter().find(|(refused, _)| given && *refused == name) {
            Some((_, why)) => Err(asked::refusal(name, why)),
            None => Ok(()),
        }
    }

    fn check(&self, views: &[Option<View<'_>>; 2]) -> PyResult<()> {
        for (second, view) in [false, true].into_iter().zip(views) {
            if view.is_none() && self.sources.iter().any(|s| s.second == second) {
                return Err(self.missing(second));
            }
        }
        Ok(())
    }

    fn missing(&self, second: bool) -> PyErr {
        let why = match self.beside {
            _ if !second => return PyValueError::new_err("x is None; it must be a row, or rows and columns"),
            Beside::Prediction => Error::NoPrediction { what: "a stack that was fitted with them" },
            Beside::Features => {
                Error::NoFeatures { columns: self.second.as_ref().and_then(|g| g.columns).unwrap_or(0) }
            }
        };
        raised(why)
    }

    /// The scorer's columns side by side.
    fn arrays(&self, columns: Vec<Vec<f64>>, rows: usize) -> PyResult<Vec<ArrayD<f64>>> {
        let one = |(number, shape): (usize, &Vec<usize>)| {
            let width: usize = shape.iter().product();
            let otherwise = &self.shape.otherwise[number];
            let mut values = if otherwise.is_empty() { vec![0.0; rows * width] } else { otherwise.repeat(rows) };
            for (part, block) in values.chunks_mut((ROWS * width).max(1)).enumerate() {
                for (column, place) in columns.iter().zip(&self.shape.places) {
                    let Some((_, k)) = place.filter(|(array, _)| *array == number) else { continue };
                    block[k..].iter_mut().step_by(width).zip(&column[part * ROWS..]).for_each(|(to, v)| *to = *v);
                }
            }
            let behind = if self.squeezed { &shape[1..] } else { shape };
            ArrayD::from_shape_vec(IxDyn(&[&[rows], behind].concat()), values)
                .map_err(|e| PyValueError::new_err(e.to_string()))
        };
        self.shape.arrays.iter().enumerate().map(one).collect()
    }
}

/// Arguments beside x that a head has no use for, and why.
fn refused(model: &Model) -> Vec<(&'static str, &'static str)> {
    let beside = [Beside::Prediction, Beside::Features].into_iter();
    beside.filter_map(|b| model.refused(&[b.setting()], Setting::argument)).collect()
}

/// A table as rows × columns, as many as there must be.
fn view<'a>(expected: &Option<Given>, table: Option<&'a Table<'_>>, name: &str) -> PyResult<Option<View<'a>>> {
    let Some(table) = table else { return Ok(None) };
    let Some(Given { name, columns, list }) = expected else {
        return Err(PyValueError::new_err(format!("{name} is given, but this head does not take it; leave it out")));
    };
    let view = table.view(*list, name)?;
    match columns.filter(|c| *c != view.dim().1) {
        Some(expected) => Err(PyValueError::new_err(format!(
            "{name} has {} columns, but this head is expecting {expected} columns",
            view.dim().1
        ))),
        None => Ok(Some(view)),
    }
}

/// The number of rows, which is the same in both.
fn rows(views: &[Option<View<'_>>; 2]) -> PyResult<usize> {
    match views.each_ref().map(|v| v.map(|v| v.dim().0)) {
        [Some(a), Some(b)] if a != b => Err(PyValueError::new_err(format!(
            "Found input variables with inconsistent numbers of samples: [{a}, {b}]"
        ))),
        [a, b] => Ok(a.or(b).unwrap_or(0)),
    }
}

#[pymethods]
impl Ready {
    /// Predictions and intervals, or class probabilities, of one row or several.
    #[pyo3(signature = (x=None, prediction=None, features=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        x: Option<Table<'_>>,
        prediction: Option<Table<'_>>,
        features: Option<Table<'_>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (second, other, unused) = match self.beside {
            Beside::Prediction => (prediction, features, Beside::Features),
            Beside::Features => (features, prediction, Beside::Prediction),
        };
        self.refuse(unused, other.is_some())?;
        let mut found = self.run(py, x.as_ref(), second.as_ref(), &Further::default())?;
        match found.len() {
            1 => Ok(found.remove(0).into_any()),
            _ => Ok(PyTuple::new(py, found)?.into_any()),
        }
    }

    fn __repr__(&self) -> String {
        let columns = self.first.as_ref().and_then(|g| g.columns);
        format!("<ready for rows of {} columns>", columns.unwrap_or(0))
    }
}
