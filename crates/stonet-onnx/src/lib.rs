//! Trained networks as ONNX files.
//!
//! In: [`Network`] opens one, finds its last hidden layer ([`Tap`]), and runs it on [`Inputs`] ([`Runner`]). Out:
//! [`perceptron`] writes a plain network; [`classifier`] and [`intervals`] write a fitted model as a [`HeadGraph`],
//! which stands alone or is joined to the network it belongs to.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// A module uses only modules above it; `tests/rooms.rs` of stonet-cli checks that.
// A file is input: what reads one never indexes into it.
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod error;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod wire;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod tensor;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod proto;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod external;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod network;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod taps;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod casts;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod inputs;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod feeds;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod runtime;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod features;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod front;
mod graph;
mod export;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod further;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod join;
#[cfg_attr(not(test), warn(clippy::indexing_slicing))]
mod triton;

pub use error::{Error, Result};
pub use export::{classifier, classifier_with, head_graph, intervals, labels, perceptron};
pub use features::{Features, RunSettings, Runner};
pub use front::Front;
pub use further::RawInputs;
pub use graph::HeadGraph;
pub use inputs::{Inputs, Preprocess};
pub use join::Joint;
pub use network::Network;
pub use runtime::Runtime;
pub use stonet::rows::ClassOutput;
pub use stonet::score::Asked;
pub use taps::Tap;
pub use tensor::{Axis, ElementType, Initialiser, Operator, TensorInfo};
