//! What fitted models are made of, for programs that write them down in another form.

pub use crate::calibration::corrected::View;
pub use crate::interval::LayerVariance;
pub use crate::interval::conformal::Scores;
pub use crate::regression::refit::InverseGram;
pub use crate::ridge::{Clip, Ridge};
pub use crate::stack::{FittedStack, FoldModel, Member, ScaleModel, Scaled};
