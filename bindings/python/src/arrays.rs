//! Numpy arrays as views, and arrays of Rust as numpy arrays.

use ndarray::{Array2, Array4, ArrayView2};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stonet::{Intervals, Level};

use crate::error::Raise;

/// A matrix that is read where it lies.
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;
/// A list of numbers that is read where it lies.
pub type Numbers<'py> = PyReadonlyArray1<'py, i64>;

/// A matrix of numpy that a thread may read for longer than the call lasts that it was given to: work that does not end
/// at once when it is cancelled is left behind.
pub struct Held {
    view: ArrayView2<'static, f64>,
    /// Keeps the memory behind the view alive.
    _owner: Py<PyArray2<f64>>,
}

impl Held {
    pub fn new(matrix: &Matrix<'_>) -> Self {
        let view = matrix.as_array();
        // SAFETY: the owner holds a reference to the array, whose memory numpy neither frees nor moves while there is
        // one (`resize` refuses), and the view is only handed out for as long as the owner lives. Python code that
        // writes to the array meanwhile changes the numbers that are read, as it does for every function that works
        // without the interpreter's lock.
        let view = unsafe { std::mem::transmute::<ArrayView2<'_, f64>, ArrayView2<'static, f64>>(view) };
        Held { view, _owner: (**matrix).clone().unbind() }
    }

    pub fn view(&self) -> ArrayView2<'_, f64> {
        self.view.view()
    }
}

/// The view of a matrix that may be absent.
pub fn view<'a>(matrix: &'a Option<Matrix<'_>>) -> Option<ArrayView2<'a, f64>> {
    matrix.as_ref().map(|m| m.as_array())
}

/// Classes or groups, which are numbers from 0.
pub fn indices(numbers: &Numbers<'_>) -> PyResult<Vec<usize>> {
    let index = |v: &i64| {
        usize::try_from(*v).map_err(|_| PyValueError::new_err(format!("{v} is no class or group: they count from 0")))
    };
    numbers.as_array().iter().map(index).collect()
}

/// Checked levels.
pub fn levels(levels: &[f64]) -> PyResult<Vec<Level>> {
    levels.iter().map(|&l| Level::new(l).raise()).collect()
}

/// rows × columns × (lower, upper) × levels.
pub fn bounds<'a>(shape: (usize, usize), ends: impl ExactSizeIterator<Item = [&'a Array2<f64>; 2]>) -> Array4<f64> {
    let mut all = Array4::zeros((shape.0, shape.1, 2, ends.len()));
    for (l, pair) in ends.enumerate() {
        for (e, end) in pair.into_iter().enumerate() {
            all.slice_mut(ndarray::s![.., .., e, l]).assign(end);
        }
    }
    all
}

/// The predictions and the bounds of one set of intervals per level.
pub fn intervals(all: &[Intervals], shape: (usize, usize)) -> (Array2<f64>, Array4<f64>) {
    let prediction = all.first().map_or_else(|| Array2::zeros(shape), |i| i.prediction.clone());
    (prediction, bounds(shape, all.iter().map(|i| [&i.lower, &i.upper])))
}
