//! One neuron's regression: sparse, and the refit on its support with the covariance of its weights.

mod coordinate;
mod linear;
mod multinomial;
pub(crate) mod refit;
mod refit_classes;

pub use linear::{LinearFit, Solver, SparseLinear};
pub use multinomial::{MultinomialFit, SparseMultinomial};
pub use refit::Refit;
pub use refit_classes::MultinomialRefit;
