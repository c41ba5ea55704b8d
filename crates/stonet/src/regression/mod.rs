//! One neuron's regression: the refit on its support and the covariance of its weights.

pub(crate) mod refit;

pub use refit::Refit;
