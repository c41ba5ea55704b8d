//! Maps from a network's outputs to calibrated class probabilities, learned on rows that it was not trained on.

pub(crate) mod affine;
mod isotonic;
pub(crate) mod lower;
pub(crate) mod post_linear;
pub(crate) mod skip;
pub(crate) mod tangent;
pub(crate) mod temperature;
mod venn_abers;

pub use isotonic::{Isotonic, IsotonicOvr};
pub use skip::SkipModel;
pub use temperature::fit_temperature;
pub use venn_abers::VennAbers;
