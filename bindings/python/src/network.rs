//! ONNX networks on arrays.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use stonet_onnx::{Front, Inputs};

use crate::arrow::Running;
use crate::error::Raise;
use crate::{settings, work};

/// A network that is loaded and tapped.
#[pyclass(frozen, module = "stonet._core")]
pub struct OnnxRunner {
    front: Arc<Front>,
    jobs: Option<usize>,
}

#[pymethods]
impl OnnxRunner {
    /// From the bytes of an ONNX file.
    #[new]
    #[pyo3(signature = (network, running, n_jobs=None))]
    fn new(py: Python<'_>, network: &[u8], running: &str, n_jobs: Option<i64>) -> PyResult<Self> {
        let jobs = work::jobs(n_jobs)?;
        let running: Running = settings::plain(running, "OnnxNetwork")?;
        let front = Arc::new(work::run(py, jobs, || running.front(network))?);
        Ok(OnnxRunner { front, jobs })
    }

    /// The names of the columns that go in, where the file holds them.
    fn columns(&self) -> Option<Vec<String>> {
        self.front.columns().map(<[String]>::to_vec)
    }

    /// The features of rows, and the network's outputs by name.
    #[expect(clippy::type_complexity, reason = "arrays by name")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArrayDyn<'py, f32>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<(String, Bound<'py, PyArray2<f64>>)>)> {
        let (values, shape) = (x.as_array().iter().copied().collect::<Vec<f32>>(), x.shape().to_vec());
        let inputs = Inputs::array(values, &shape).raise()?;
        let front = self.front.clone();
        let said = work::follow(py, self.jobs, None, move |tick| front.run(inputs, tick).raise())?;
        let outputs = said.outputs.into_iter().map(|(name, o)| (name, o.mapv(f64::from).into_pyarray(py))).collect();
        Ok((said.features.mapv(f64::from).into_pyarray(py), outputs))
    }
}
