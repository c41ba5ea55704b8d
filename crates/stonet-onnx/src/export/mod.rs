//! Fitted models written as graphs of standard operators in f32.

mod classes;
mod eve;
mod pieces;
mod ranks;
mod stack;

pub use classes::classifier;
pub use stack::intervals;

/// The features of the network's last hidden layer.
pub(crate) const FEATURES: &str = "features";
/// The network's own logits.
pub(crate) const LOGITS: &str = "logits";
/// The network's own predictions.
pub(crate) const PREDICTION: &str = "network_prediction";
