//! The regression baselines.

use numpy::{IntoPyArray, PyArray2, PyArray4};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stonet::peers::baseline::{
    Baseline as Method, Cqr, FittedBaseline, FittedCqr, FittedLaplace, FittedNormalised, FittedOwnQuantiles,
    FittedOwnSd, FittedPostLinear, FittedRefit, FittedSplitConformal, Laplace, NetworkRefit, Normalised, OwnQuantiles,
    OwnSd, PostLinear, SplitConformal,
};
use stonet::{Level, RegressionInputs, Seed, Ticker};

use crate::arrays::{self, Matrix, Numbers, view};
use crate::error::Raise;
use crate::regression::HeldRows;
use crate::{seen, settings, work};

/// A fitted baseline.
#[pyclass(frozen, module = "stonet._core")]
pub struct Baseline(Kind);

#[derive(Serialize, Deserialize)]
enum Kind {
    Split(FittedSplitConformal),
    Normalised(FittedNormalised),
    Cqr(FittedCqr),
    PostLinear(FittedPostLinear),
    Refit(FittedRefit),
    Laplace(FittedLaplace),
    CqrOwn(FittedOwnQuantiles),
    NormalisedOwn(FittedOwnSd),
}

impl Kind {
    fn fitted(&self) -> &(dyn FittedBaseline + Sync) {
        match self {
            Kind::Split(f) => f,
            Kind::Normalised(f) => f,
            Kind::Cqr(f) => f,
            Kind::PostLinear(f) => f,
            Kind::Refit(f) => f,
            Kind::Laplace(f) => f,
            Kind::CqrOwn(f) => f,
            Kind::NormalisedOwn(f) => f,
        }
    }
}

/// serde's own defaults are right here; infinity, which some are, has no JSON.
fn plain<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    settings::plain(json, "settings")
}

#[pymethods]
impl Baseline {
    /// Fits the baseline of this name on rows that the network has not seen.
    #[staticmethod]
    #[pyo3(signature = (name, x, y, prediction, groups, *, settings, level, seed, own=Vec::new(), n_jobs=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn fit(
        py: Python<'_>,
        name: String,
        x: Matrix<'_>,
        y: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        groups: Option<Numbers<'_>>,
        settings: String,
        level: f64,
        seed: u64,
        own: Vec<Matrix<'_>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Self> {
        let name = name.parse::<Method>().raise()?;
        let held = HeldRows::new(&x, &y, &prediction, &own, &groups)?;
        seen::regression_rows(py, &held.calibration()?, groups.is_some())?;
        let (level, seed) = (Level::new(level).raise()?, Seed::new(seed));
        let fit = move |tick: Ticker<'_>| {
            let (rows, settings) = (held.calibration()?, settings.as_str());
            Ok(match name {
                Method::SplitConformal => Kind::Split(SplitConformal.fit(&rows, seed, tick).raise()?),
                Method::NormalisedConformal => {
                    Kind::Normalised(plain::<Normalised>(settings)?.fit(&rows, seed, tick).raise()?)
                }
                Method::Cqr => Kind::Cqr(plain::<Cqr>(settings)?.fit(&rows, level, seed, tick).raise()?),
                Method::PostLinear => Kind::PostLinear(plain::<PostLinear>(settings)?.fit(&rows, seed, tick).raise()?),
                Method::RefitConformal => Kind::Refit(plain::<NetworkRefit>(settings)?.fit(&rows, seed, tick).raise()?),
                Method::CqrOwn => Kind::CqrOwn(OwnQuantiles.fit(&rows, seed, tick).raise()?),
                Method::NormalisedOwn => Kind::NormalisedOwn(OwnSd.fit(&rows, seed, tick).raise()?),
                Method::Laplace => Kind::Laplace(Laplace.fit(&rows, seed, tick).raise()?),
            })
        };
        work::follow(py, work::jobs(n_jobs)?, None, fit).map(Baseline)
    }

    /// The point predictions, and the bounds rows × 1 × 2 × levels.
    #[pyo3(signature = (x, prediction, levels, n_jobs=None, own=Vec::new()))]
    #[expect(clippy::type_complexity, reason = "a pair of arrays")]
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'_>,
        prediction: Option<Matrix<'_>>,
        levels: Vec<f64>,
        n_jobs: Option<i64>,
        own: Vec<Matrix<'_>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray4<f64>>)> {
        let levels = arrays::levels(&levels)?;
        let mut rows = RegressionInputs::new(x.as_array()).raise()?;
        if let Some(d) = view(&prediction) {
            rows = rows.with_prediction(d).raise()?;
        }
        rows = match &own[..] {
            [] => rows,
            [sd] => rows.with_sd(sd.as_array()).raise()?,
            [lower, upper, ..] => rows.with_quantiles(lower.as_array(), upper.as_array()).raise()?,
        };
        let fitted = self.0.fitted();
        let one = |level: &Level| fitted.intervals(&rows, *level).raise();
        let all = work::run(py, work::jobs(n_jobs)?, || levels.iter().map(one).collect::<PyResult<Vec<_>>>())?;
        let (prediction, bounds) = arrays::intervals(&all, (rows.features().nrows(), 1));
        Ok((prediction.into_pyarray(py), bounds.into_pyarray(py)))
    }

    /// The weights of the Lasso, of the standardised target on standardised features; none for other baselines.
    fn coefficients(&self) -> Option<Vec<f64>> {
        match &self.0 {
            Kind::PostLinear(f) => Some(f.lasso().coefficients.iter().copied().collect()),
            _ => None,
        }
    }

    /// All of it, for pickle.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, settings::text(&self.0)?.as_bytes()))
    }

    /// From [`Baseline::to_bytes`].
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        serde_json::from_slice(data).raise().map(Baseline)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}
