//! Intervals by Eve's law, the law of total variance: the variance of a prediction, layer by layer, and the residual
//! variance.

mod dof;
mod estimate;
mod intervals;
mod variance;

pub use dof::degrees_of_freedom;
pub use estimate::Estimate;
pub(crate) use estimate::LayerVariance;
pub use intervals::{Eve, EveIntervals};
pub use variance::Variance;
pub(crate) use variance::training_variance;
