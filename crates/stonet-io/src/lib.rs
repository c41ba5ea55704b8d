//! Files of numbers, read into a [`Table`] of named columns and from there into a [`Dataset`](stonet::Dataset).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("houses.csv");
//! # std::fs::write(&path, "id,f1,f2,price\n1,0.5,3,10\n2,0.25,4,12\n")?;
//! let table = stonet_io::read(&path)?; // houses.csv: id,f1,f2,price
//! let data = table.dataset(None, &["price".into()], &["id".into()])?;
//! assert_eq!((data.rows(), data.inputs()), (2, 2));
//! assert_eq!(table.columns(&["f*".into()])?, [1, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! One file per format: a reader makes a `Table`, and [`read`] chooses it by the file's name. Gzip is recognised by its first bytes.
//! [`Reading`] takes some columns only, and keeps some as text, such as the names of classes; [`Idx`] holds arrays of images.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod error;

mod open;
mod pattern;
mod rows;

mod header;
mod reading;
mod table;

mod csv;
mod idx;

use std::path::Path;

pub use error::{Error, Result};
pub use idx::Idx;
pub use pattern::nearest;
pub use reading::Reading;
pub use rows::{Row, Rows, is_missing};
pub use table::{Choice, Table};

/// What [`read`] takes, for messages.
const FORMATS: &str = ".csv, .tsv, .txt and .data, each also with .gz";

/// Reads a table of numbers in the format that the file's name announces; [`Reading`] chooses columns, and keeps some as text.
pub fn read(path: &Path) -> Result<Table> {
    Reading::default().read(path)
}

impl Reading {
    /// Reads these columns of a table in the format that the file's name announces.
    pub fn read(&self, path: &Path) -> Result<Table> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        match plain.rsplit_once('.').map(|(_, extension)| extension) {
            Some("csv" | "tsv" | "txt" | "data") => csv::read(path, self),
            _ => Err(Error::UnknownFormat { path: path.into(), known: FORMATS }),
        }
    }
}
