//! The paper's experiments: settings as data (`experiments/*.toml`), published numbers as data (`paper/*.csv`), runs
//! that resume, and reports that set the two side by side.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;
pub mod published;
pub mod simulation;
pub mod selection;
pub mod consistency;
pub mod uci;
pub mod cifar;
pub mod fashion;

pub use error::{Error, Result};
