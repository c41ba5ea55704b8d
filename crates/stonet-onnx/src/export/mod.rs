//! Fitted models written as graphs of standard operators in f32.

mod classes;
mod eve;
mod perceptron;
mod pieces;
mod ranks;
mod stack;

pub use classes::{ClassOutput, classifier};
pub use perceptron::perceptron;
pub use stack::intervals;

/// The note with the names of a plain network's inputs, as a JSON list.
pub(crate) const COLUMNS: &str = "stonet.inputs";
/// The features of the network's last hidden layer.
pub(crate) const FEATURES: &str = "features";
/// The network's own logits.
pub(crate) const LOGITS: &str = "logits";
/// The network's own probabilities.
pub(crate) const PROBABILITIES: &str = "network_probabilities";
/// The network's own predictions.
pub(crate) const PREDICTION: &str = "network_prediction";
