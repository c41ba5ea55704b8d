//! The stochastic neural network itself: its layers, its likelihood, its penalty and its derivatives.

pub(crate) mod jacobian;
pub(crate) mod likelihood;
mod penalty;
pub(crate) mod prox;
pub(crate) mod stonet;

pub use likelihood::Likelihood;
pub use penalty::Penalty;
pub use stonet::{Activation, Layer, StoNet};
