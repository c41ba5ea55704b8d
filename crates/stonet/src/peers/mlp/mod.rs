//! Plain perceptrons: networks to be trained as usual and processed afterwards.
//!
//! [`Training`] fits an [`Mlp`] by Adam under a [`Loss`]; what is processed are its [predictions](Mlp::predict),
//! quantiles, standard deviations or logits, or the [features](Mlp::features) of its last hidden layer.

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
