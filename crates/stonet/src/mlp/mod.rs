//! Plain perceptrons: the networks that are already trained, and the intervals are for.
//!
//! [`Training`] fits an [`Mlp`] by Adam under a [`Loss`]; its [features](Mlp::features) or [predictions](Mlp::predict) are
//! what is processed afterwards.

mod adam;
mod classes;
mod judge;
mod loss;
mod network;
mod pass;
mod run;
mod training;

pub use loss::Loss;
pub use network::{Dense, Mlp};
pub use training::{EarlyStopping, Trained, Training};
