//! The whole way as a newcomer goes it: a table, a network, its features, a head, its judgement, predictions and one
//! ONNX file.

mod arrays;
mod binary;
mod classification;
#[path = "../common/mod.rs"]
mod common;
mod labels;
mod regression;
mod shell;
mod tables;
