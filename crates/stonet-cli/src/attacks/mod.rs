//! What hostile input may do, as one function of bytes for every reader: an error that names the file, or a result;
//! never a panic. The fuzz targets call these functions, and the tests replay the corpus of `fuzz/` through them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod heads;
mod operate;
mod readers;
#[cfg(test)]
mod tests;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use heads::{onnx, stonet};
#[cfg(feature = "serve")]
pub use operate::http;
pub use operate::{rule, state};
pub use readers::{arrow, csv, idx, npy, npz, parquet, safetensors};
pub use texts::{require, settings};

/// A name, and what takes bytes.
#[cfg(test)]
type Target = (&'static str, fn(&[u8]));

/// Every target by name.
#[cfg(test)]
const TARGETS: &[Target] = &[
    ("arrow", arrow),
    ("csv", csv),
    #[cfg(feature = "serve")]
    ("http", http),
    ("idx", idx),
    ("npy", npy),
    ("npz", npz),
    ("onnx", onnx),
    ("parquet", parquet),
    ("require", require),
    ("rule", rule),
    ("safetensors", safetensors),
    ("settings", settings),
    ("state", state),
    ("stonet", stonet),
];

/// The folder of this process, in memory where the system has a place for that.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = parent.join(format!("stonet-attacks-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for attacks can be made");
        folder
    })
}

/// A file with these bytes; the next one of this name replaces it.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).expect("a file for attacks can be written");
    path
}
