//! The paper's experiments: settings as data (`experiments/*.toml`), published numbers as data (`paper/*.csv`), runs that
//! resume, and reports that set the two side by side.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;
pub mod files;

pub mod journal;
pub mod model;
pub mod published;

pub mod table;

pub mod benchmark;
pub mod calibration;
pub mod consistency;
pub mod fashion;
pub mod selection;
pub mod simulation;
pub mod uci;

pub use error::{Error, Result};
pub use stonet_report::svg;
