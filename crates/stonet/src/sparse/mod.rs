//! Regressions that everything else is made of: sparse ones, the refit on their support with its covariance, and ridge.

mod coordinate;
mod linear;
mod multinomial;
pub(crate) mod refit;
mod refit_classes;
pub(crate) mod ridge;

pub use linear::{LinearFit, Solver, SparseLinear};
pub use multinomial::{MultinomialFit, SparseMultinomial};
pub use refit::Refit;
pub use refit_classes::MultinomialRefit;
pub use ridge::Clamp;
