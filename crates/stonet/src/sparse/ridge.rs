//! Ridge regression with its penalty chosen by closed-form leave-one-out error, in blocks of rows. All regressions on the
//! same features share one eigenbasis, whatever their response and their columns beside the features.

mod basis;
mod clip;
mod components;
mod fits;
mod frame;
mod laplace;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::base::Work;
use crate::base::{Error, Result};
use crate::rows::dataset::target_mean;
use basis::{Basis, Rows};
pub use clip::{Clamp, Clip};
pub use components::Components;
use fits::{At, Fits, Judged, Response, Solution, left_out};
use frame::Frame;
pub(crate) use laplace::LogScale;

/// Rows per block: memory stays flat, and results do not depend on the number of threads.
pub(crate) const BLOCK: usize = 1024;

/// Rows of a design by their numbers, made on request.
type Design<'a> = dyn Fn(Range<usize>) -> Array2<f64> + Sync + 'a;

/// Consecutive ranges of rows.
fn blocks(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(BLOCK).map(|first| first..(first + BLOCK).min(rows)).collect()
}

/// The scale of features at some rows and their eigenbasis.
pub(crate) struct Spectrum {
    clip: Clip,
    /// None where there is no column, or where the eigenvalues cannot be found.
    basis: Option<Basis>,
    components: Components,
}

impl Spectrum {
    /// Of these rows of features.
    pub(crate) fn new(x: ArrayView2<'_, f64>, rows: &[usize], work: &Work<'_>) -> Result<Self> {
        let clip = Clip::fit(x, rows)?;
        let design = Spectrum::design(x, rows);
        let made = Rows { clip: &clip, design: &design, n: rows.len() };
        let basis = Basis::new(&made, work)?;
        let components = Components::of(basis.as_ref(), &made)?;
        Ok(Spectrum { clip, basis, components })
    }

    /// The leading components of the features.
    pub(crate) fn components(&self) -> &Components {
        &self.components
    }

    fn design<'a>(x: ArrayView2<'a, f64>, rows: &'a [usize]) -> impl Fn(Range<usize>) -> Array2<f64> + Sync + 'a {
        move |part: Range<usize>| x.select(Axis(0), &rows[part])
    }

    fn rows<'a>(&'a self, design: &'a Design<'a>, n: usize) -> Rows<'a> {
        Rows { clip: &self.clip, design, n }
    }

    /// One regression of y per choice of columns beside the features, all with penalties of n · `grid` by leave-one-out
    /// error. `rows` are those of the spectrum, and y and the columns have one row for each. `groups` are units of rows
    /// that are left out together.
    pub(crate) fn regressions(
        &self,
        (x, rows): (ArrayView2<'_, f64>, &[usize]),
        y: ArrayView1<'_, f64>,
        beside: &[&Beside],
        grid: &[f64],
        groups: Option<&[usize]>,
        work: &Work<'_>,
    ) -> Result<Vec<Regression>> {
        let intercept = target_mean(y);
        let clips = beside.iter().map(|b| self.clip.beside(&b.clip));
        let Some(basis) = &self.basis else {
            let flat = |clip: Clip| Regression {
                ridge: Ridge { coefficients: Array1::zeros(clip.columns()), clip, intercept },
                left_out: Array1::from_elem(y.len(), intercept),
            };
            return Ok(clips.map(flat).collect());
        };
        let design = Spectrum::design(x, rows);
        let made = self.rows(&design, rows.len());
        let frame = Frame::new(basis, &made, work)?;
        let centred = y.mapv(|v| v - intercept);
        let penalties: Vec<f64> = grid.iter().map(|c| y.len() as f64 * c).collect();
        let asked = beside.iter().map(|b| Asked::new(&frame, b, &centred, &penalties, work));
        let asked = asked.collect::<Result<Vec<Asked<'_>>>>()?;
        let judged: Vec<Judged<'_>> =
            asked.iter().map(|a| (&a.fits, &a.at[..], Some((&a.response, &a.solutions[..])))).collect();
        let judged = left_out(&frame, &judged, work)?;
        let one = |((asked, judged), clip): ((&Asked<'_>, &fits::LeftOut), Clip)| {
            let best = judged.best();
            let errors = match groups {
                None => judged.errors(best),
                Some(g) => asked.fits.without_groups(&asked.at[best], judged.residual(best), g, work)?,
            };
            let coefficients = asked.fits.coefficients(&asked.solutions[best])?;
            Ok(Regression { ridge: Ridge { clip, coefficients, intercept }, left_out: &y - &errors })
        };
        asked.iter().zip(&judged).zip(clips).map(one).collect()
    }
}

/// The fits of a response at every penalty.
struct Asked<'a> {
    fits: Fits<'a>,
    at: Vec<At>,
    response: Response<'a>,
    solutions: Vec<Solution>,
}

impl<'a> Asked<'a> {
    fn new(
        frame: &'a Frame<'a>,
        beside: &'a Beside,
        centred: &'a Array1<f64>,
        penalties: &[f64],
        work: &Work<'_>,
    ) -> Result<Self> {
        let fits = Fits::new(frame, &beside.columns, work)?;
        let at: Vec<At> = penalties.iter().map(|&penalty| fits.at(penalty)).collect();
        let response = fits.response(centred, work)?;
        let solutions = at.iter().map(|at| fits.solve(at, &response)).collect();
        Ok(Asked { fits, at, response, solutions })
    }
}

/// Columns beside features, on standard scale.
pub(crate) struct Beside {
    clip: Clip,
    columns: Array2<f64>,
}

impl Beside {
    /// Of these columns, one row for each row of the features.
    pub(crate) fn new(columns: ArrayView2<'_, f64>) -> Result<Self> {
        let clip = Clip::fit(columns, &(0..columns.nrows()).collect::<Vec<_>>())?;
        let columns = clip.apply(columns)?;
        Ok(Beside { clip, columns })
    }

    /// No column.
    pub(crate) fn none(rows: usize) -> Result<Self> {
        Beside::new(Array2::zeros((rows, 0)).view())
    }
}

/// A regression with its penalty chosen, and what fits at the same penalty say of each row that have not seen the row, or
/// any of its group.
pub(crate) struct Regression {
    pub(crate) ridge: Ridge,
    pub(crate) left_out: Array1<f64>,
}

/// A fitted ridge regression of one response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    clip: Clip,
    coefficients: Array1<f64>,
    intercept: f64,
}

impl Ridge {
    /// Fits `y[i]` on row `rows[i]` of `x`, the penalty one of n · `grid`, by leave-one-out error.
    pub(crate) fn fit(
        x: ArrayView2<'_, f64>,
        rows: &[usize],
        y: ArrayView1<'_, f64>,
        grid: &[f64],
        work: &Work<'_>,
    ) -> Result<Self> {
        let alone = Beside::none(rows.len())?;
        let mut fitted = Spectrum::new(x, rows, work)?.regressions((x, rows), y, &[&alone], grid, None, work)?;
        Ok(fitted.remove(0).ridge)
    }

    /// The scale of its columns.
    pub fn clip(&self) -> &Clip {
        &self.clip
    }

    /// One per column, on standard scale.
    pub fn coefficients(&self) -> &Array1<f64> {
        &self.coefficients
    }

    /// The prediction at the middle of all columns.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    pub(crate) fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        Ok(self.clip.apply(x)?.dot(&self.coefficients) + self.intercept)
    }

    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        let numbers = self.coefficients.iter().all(|c| c.is_finite()) && self.intercept.is_finite();
        if self.clip.sound() && self.clip.columns() == columns && self.coefficients.len() == columns && numbers {
            return Ok(());
        }
        Err(Error::Inconsistent { what: "a ridge regression's parts do not belong together" })
    }
}
