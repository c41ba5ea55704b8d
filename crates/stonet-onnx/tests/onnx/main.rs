//! Networks in and out, through real files where `STONET_DATA` names the directory that has them.

mod accuracy;
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

/// The directory of real networks and images, or nothing and a word about it.
fn data() -> Option<PathBuf> {
    let dir = std::env::var_os("STONET_DATA").map(PathBuf::from);
    if dir.is_none() {
        eprintln!("skipped: STONET_DATA does not name a directory with models/, images/ and logits/");
    }
    dir
}
