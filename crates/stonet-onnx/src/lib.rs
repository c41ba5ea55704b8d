//! Trained networks as ONNX files.
//!
//! In: [`Network`] opens one, finds its last hidden layer ([`Tap`]), and runs it on [`Inputs`] ([`Runner`]).
//! Out: [`perceptron`] writes a plain network; [`classifier`] and [`intervals`] write a fitted model as a [`Head`], which stands alone or is joined to the network it belongs to.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;
mod wire;

mod tensor;

mod proto;

mod external;
mod network;
mod taps;

mod inputs;
mod runtime;

mod features;

mod graph;

mod export;

mod join;

pub use error::{Error, Result};
pub use export::{classifier, intervals, perceptron};
pub use features::{Features, RunSettings, Runner};
pub use graph::Head;
pub use inputs::{Inputs, Preprocess};
pub use join::Joint;
pub use network::Network;
pub use runtime::Runtime;
pub use taps::Tap;
pub use tensor::{Axis, ElementType, Initialiser, Operator, TensorInfo};
