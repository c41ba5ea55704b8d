//! Maps from a network's class probabilities to calibrated ones, learned on rows that it was not trained on.

mod isotonic;

pub use isotonic::{Isotonic, IsotonicOvr};
