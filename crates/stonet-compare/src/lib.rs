//! Methods set side by side on a user's own data: `stonet compare` and `stonet benchmark`, with what they share: files
//! that appear whole, journals that resume, and tables of text.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;
pub mod files;
pub mod journal;
pub mod table;
pub mod simulated;
pub mod benchmark;
pub mod classes;

pub use error::{Error, Result};
