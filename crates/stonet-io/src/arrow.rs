//! Columnar files: Parquet and Arrow IPC, through the arrays that both are decoded into.

mod cells;
pub(crate) mod columns;
pub(crate) mod ipc;
mod pages;
pub(crate) mod parquet;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Result;
use crate::location::Location;

/// Runs a decoder that was not written for hostile bytes: its panics, like its errors, say that the file is damaged. (arrow-ipc
/// panics on unknown types and on short bitmaps; the panic hook still speaks, and `panic = "abort"` would end the program.)
fn guard<T, E: ToString>(at: &Location, decode: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(e)) => Err(at.damaged(e.to_string())),
        Err(_) => Err(at.damaged("the decoder gave up on it")),
    }
}
