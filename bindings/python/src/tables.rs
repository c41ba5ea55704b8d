//! Tables of numpy in whatever layout and precision, as columns that a scorer reads where they lie.

use ndarray::{ArrayView2, ArrayViewD, Axis, Ix2};
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use stonet::score::Column;

/// Numbers of numpy in double or single precision; of other types, byte orders or alignments a converted copy.
pub enum Table<'py> {
    F64(PyReadonlyArrayDyn<'py, f64>),
    F32(PyReadonlyArrayDyn<'py, f32>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Table<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>()
            && array.is_aligned()
        {
            return Ok(Table::F64(array.try_readonly()?));
        }
        if let Ok(array) = object.cast::<PyArrayDyn<f32>>()
            && array.is_aligned()
        {
            return Ok(Table::F32(array.try_readonly()?));
        }
        let converted = require(object.py())?.call1((object, "f8", "A"))?;
        Ok(Table::F64(converted.cast::<PyArrayDyn<f64>>()?.try_readonly()?))
    }
}

/// `numpy.require`, looked up once.
fn require(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static REQUIRE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    REQUIRE.import(py, "numpy", "require")
}

/// How a list of numbers is read: as one row, or as one column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum List {
    Row,
    Column,
}

/// Rows × columns of a table, on any thread.
#[derive(Clone, Copy)]
pub enum View<'a> {
    F64(ArrayView2<'a, f64>),
    F32(ArrayView2<'a, f32>),
}

impl Table<'_> {
    /// Rows × columns; one number is one row of one column.
    pub fn view(&self, list: List, name: &str) -> PyResult<View<'_>> {
        Ok(match self {
            Table::F64(array) => View::F64(matrix(array.as_array(), list, name)?),
            Table::F32(array) => View::F32(matrix(array.as_array(), list, name)?),
        })
    }

    /// Whether all numbers are finite.
    pub fn finite(&self) -> bool {
        match self {
            Table::F64(array) => all_finite(array.as_array(), |v| 0.0 * v),
            Table::F32(array) => all_finite(array.as_array(), |v| f64::from(0.0 * v)),
        }
    }
}

fn matrix<'a, T>(array: ArrayViewD<'a, T>, list: List, name: &str) -> PyResult<ArrayView2<'a, T>> {
    let array = match (array.ndim(), list) {
        (0, _) => array.insert_axis(Axis(0)).insert_axis(Axis(0)),
        (1, List::Row) => array.insert_axis(Axis(0)),
        (1, List::Column) => array.insert_axis(Axis(1)),
        _ => array,
    };
    let shape = array.shape().to_vec();
    array.into_dimensionality::<Ix2>().map_err(|_| {
        PyValueError::new_err(format!("{name} has shape {shape:?}; it must be one row, or rows and columns"))
    })
}

/// A number times zero is zero, or not a number where it is not finite; the sum keeps that, and has no branch.
fn all_finite<T: Copy>(array: ArrayViewD<'_, T>, nothing: impl Fn(T) -> f64 + Copy) -> bool {
    match array.as_slice_memory_order() {
        Some(values) => values.chunks(1024).all(|part| part.iter().map(|&v| nothing(v)).sum::<f64>() == 0.0),
        None => array.iter().all(|&v| nothing(v) == 0.0),
    }
}

impl<'a> View<'a> {
    /// Rows and columns.
    pub fn dim(&self) -> (usize, usize) {
        match self {
            View::F64(view) => view.dim(),
            View::F32(view) => view.dim(),
        }
    }

    /// A column, which must be there.
    pub fn column(&self, k: usize) -> Column<'a> {
        match self {
            View::F64(view) => Column::F64(view.index_axis_move(Axis(1), k)),
            View::F32(view) => Column::F32(view.index_axis_move(Axis(1), k)),
        }
    }
}

/// Whether all numbers of an array are finite.
#[pyfunction]
pub fn finite(values: Table<'_>) -> bool {
    values.finite()
}
