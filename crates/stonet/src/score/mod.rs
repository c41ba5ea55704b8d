//! Predictions of fitted heads: a [`Plan`] of operations on columns, and the [`Scorer`] that runs it on tiles of rows.
//!
//! A head is lowered to a plan once for what is [asked](Asked) of it. Calibration scores of a fit, predictions, files,
//! Python and ONNX all run the same plan.

mod asked;
mod builder;
mod columns;
mod decision;
mod kernels;
mod memory;
mod op;
mod plan;
mod ranked;
mod scorer;
mod sets;
mod tile;

pub use asked::Asked;
pub(crate) use asked::Kept;
pub(crate) use builder::Builder;
pub use columns::Column;
pub(crate) use columns::beside;
pub(crate) use decision::decided;
pub use decision::{Decision, Surety};
pub use op::{BinBounds, Form, GroupScores, Knots, Op, Sparse};
pub use plan::{Input, Node, Output, Plan, Port, Quantity, Value};
pub use scorer::Scorer;

pub use crate::conformal::Scores;
pub use crate::sparse::Clamp;

/// The largest error of a sum of columns in single precision, as a part of the root of its squared weights.
pub(crate) const SINGLE_ROUNDING: f64 = 2e-7;

#[cfg(test)]
mod tests;
