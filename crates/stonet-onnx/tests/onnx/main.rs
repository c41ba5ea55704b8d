//! Networks in and out, through real files: tests of these are ignored unless asked for, and need `STONET_DATA`.

mod accuracy;
mod adapted;
mod decisions;
mod fitted;
mod heads;
mod hostile;
mod isotonic;
mod joined;
mod labels;
mod networks;
mod odd;
mod sets;
mod types;
/// The crate's own writer of messages.
#[allow(dead_code)]
#[path = "../../src/wire.rs"]
mod wire;

use std::path::PathBuf;

/// The directory of real networks and images.
fn data() -> PathBuf {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    dir.expect("STONET_DATA names a directory with models/, images/ and logits/")
}
