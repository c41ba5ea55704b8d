//! The network's own uncertainty: two quantiles, or a standard deviation, one column per target.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::dataset::{LARGEST_TARGET, check_finite, check_magnitude};
use crate::base::{Error, Result};

/// What a network says about its own uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnKind {
    /// A lower and an upper quantile.
    Quantiles,
    /// A standard deviation.
    Sd,
}

impl OwnKind {
    /// What its columns are called in messages, one table after the other.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            OwnKind::Quantiles => &["lower quantiles", "upper quantiles"],
            OwnKind::Sd => &["standard deviations"],
        }
    }
}

/// The tables or columns of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Own<A> {
    /// Lower, then upper. They may cross: the distance between them and their middle do not depend on the order.
    Quantiles([A; 2]),
    Sd([A; 1]),
}

impl<A> Own<A> {
    pub(crate) fn kind(&self) -> OwnKind {
        match self {
            Own::Quantiles(_) => OwnKind::Quantiles,
            Own::Sd(_) => OwnKind::Sd,
        }
    }

    pub(crate) fn parts(&self) -> &[A] {
        match self {
            Own::Quantiles(both) => both,
            Own::Sd(sd) => sd,
        }
    }

    pub(crate) fn map<'s, B>(&'s self, mut f: impl FnMut(&'s A) -> B) -> Own<B> {
        match self {
            Own::Quantiles([lower, upper]) => Own::Quantiles([f(lower), f(upper)]),
            Own::Sd([sd]) => Own::Sd([f(sd)]),
        }
    }
}

impl<'a> Own<ArrayView2<'a, f64>> {
    /// Checks sizes, finiteness and magnitudes, and that standard deviations are positive.
    pub(crate) fn checked(self, rows: usize, targets: Option<usize>) -> Result<Self> {
        for (part, &what) in self.parts().iter().zip(self.kind().names()) {
            if part.nrows() != rows {
                return Err(Error::shape(format!("rows of the {what}"), rows, part.nrows()));
            }
            if let Some(expected) = targets.filter(|&t| t != part.ncols()) {
                return Err(Error::shape(format!("columns of the {what}"), expected, part.ncols()));
            }
            check_finite(what, *part)?;
            check_magnitude(what, *part, LARGEST_TARGET)?;
        }
        if let Own::Sd([sd]) = self
            && let Some(((row, column), &value)) = sd.indexed_iter().find(|(_, sd)| **sd <= 0.0)
        {
            return Err(Error::NotPositive { what: OwnKind::Sd.names()[0], row, column, value });
        }
        Ok(self)
    }

    /// The columns of one target.
    pub(crate) fn output(&self, j: usize) -> Own<ArrayView1<'a, f64>> {
        self.map(|a| a.index_axis_move(Axis(1), j))
    }

    /// The rows of a range.
    pub(crate) fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        self.map(|a| a.slice_axis_move(Axis(0), rows.clone().into()))
    }
}

impl Own<ArrayView1<'_, f64>> {
    /// Some rows, by number.
    pub(crate) fn select(&self, rows: &[usize]) -> Own<Array1<f64>> {
        self.map(|a| a.select(Axis(0), rows))
    }

    /// The middle of two quantiles.
    pub(crate) fn middle(&self) -> Option<Array1<f64>> {
        match self {
            Own::Quantiles([lower, upper]) => Some(0.5 * (lower + upper)),
            Own::Sd(_) => None,
        }
    }
}

impl Own<Array1<f64>> {
    pub(crate) fn view(&self) -> Own<ArrayView1<'_, f64>> {
        self.map(|a| a.view())
    }
}

impl Own<Array2<f64>> {
    pub(crate) fn view(&self) -> Own<ArrayView2<'_, f64>> {
        self.map(|a| a.view())
    }
}
