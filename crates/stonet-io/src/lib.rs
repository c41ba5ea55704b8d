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
//! The ending of a file's name tells its format:
//!
//! | ending | contents | columns |
//! |---|---|---|
//! | `.csv`, `.tsv`, `.txt`, `.data`, also `.gz`; `-` is standard input | delimited text ([`Rows`]) | names of the header line |
//! | `.parquet`, `.pq` | Parquet | names; a column `e` of lists is `e_0`, `e_1`, … |
//! | a folder, with the folders in it | its `.parquet` and `.pq` files by path, one after the other, but those whose names begin with `_` or `.` | those of the first file with rows; every other has them too, in any order |
//! | `.arrow`, `.feather`, `.ipc` | Arrow IPC, file or stream | as Parquet |
//! | `.npy` | numpy array, C or Fortran order | `c0`, `c1`, …: the first dimension counts rows, the others lie in a line |
//! | `.npz`, such as `data.npz:features` | one of several arrays; without a name, the only one | as npy |
//! | `.safetensors`, such as `m.safetensors:features` | the same of tensors | as npy |
//! | `.idx`, `…-ubyte`, also `.gz` | images and labels ([`Idx`]) | as npy |
//!
//! [`Reading`] takes some columns only, and keeps some as text, such as the names of classes; [`Batches`] are tables of
//! a limited number of rows, for files larger than memory, of which a [`Sample`] may be drawn; a [`Writer`] makes
//! files. Missing and infinite numbers are errors. A fitted head is kept in a [`Model`] file, and a [`ModelScorer`]
//! uses it on tables and, by [`score_file`], on files of any length.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// A module uses only modules above it; `tests/rooms.rs` of stonet-cli checks that.
mod pattern;
mod plain;
mod missing;
mod error;
mod memory;
mod open;
mod rows;
mod header;
mod location;
mod reading;
mod table;
mod pieces;
mod output;
mod beside;
mod csv;
mod element;
mod array;
mod idx;
mod npy;
mod zip;
mod npz;
mod tensors;
mod caught;
mod batches;
mod sample;
mod write;
#[cfg(feature = "parquet")]
mod arrow;
mod model;
mod inputs;
mod rule;
mod monitor;
mod watch;
mod score;

use std::path::Path;

use location::{Format, Location};
use pieces::Opened;
use reading::Ask;

#[cfg(feature = "parquet")]
pub use arrow::ipc::arrow_stream;
pub use batches::{Ahead, Batches};
pub use caught::caught;
pub use error::{Error, FileError, Place, Problem, Result};
pub use idx::Idx;
pub use inputs::ModelInputs;
pub use missing::{Dropped, Dropping};
pub use model::{Head, Model, ModelColumns, NetworkInputs, class_hashes, regression_hashes, regression_parts};
pub use monitor::MonitorState;
pub use output::check_output;
pub use pattern::nearest;
pub use plain::explain;
pub use reading::{Beside, Reading};
pub use rows::{Row, Rows, is_missing};
pub use rule::SavedRule;
pub use sample::{Sample, Sampling};
#[cfg(feature = "parquet")]
pub use score::{BatchInputs, BatchScorer, BatchTables};
pub use score::{DecisionColumn, HeadAsked, ModelScorer, Resolved, ScoreSettings, Scored, SetColumns, Setting};
pub use score::{
    UNUSED_PREDICTION, below_name, check_levels, default_level, interval_columns, label_kind, quantile_name,
    score_file, types,
};
pub use table::{Choice, Table};
pub use watch::Watch;
pub use write::{Cells, Claim, Column, Type, Writer, discard_unfinished_files, write_whole};

/// Reads a table of numbers in the format that the file's name announces; [`Reading`] chooses columns, and keeps some
/// as text.
pub fn read(path: &Path) -> Result<Table> {
    Reading::default().read(path)
}

impl Reading {
    /// Reads these columns of a table in the format that the file's name announces; of a folder, those of all its
    /// Parquet files.
    pub fn read(&self, path: &Path) -> Result<Table> {
        stonet::base::stage("reading", || {
            let at = Location::new(path)?;
            self.open(&at)?.all(bytes(&at))
        })
    }

    /// Reads these columns in tables of at most `rows` rows.
    pub fn batches(&self, path: &Path, rows: usize) -> Result<Batches> {
        Ok(Batches::new(self.open(&Location::new(path)?)?, rows))
    }

    fn open(&self, at: &Location) -> Result<Opened> {
        let mut opened = self.open_all(at)?;
        if self.drop_missing {
            opened.drop_missing(&self.gaps);
        }
        Ok(opened)
    }

    fn open_all(&self, at: &Location) -> Result<Opened> {
        if self.beside.is_empty() {
            return Ask { reading: self, among: false, name: None }.open(at);
        }
        let first = Ask { reading: self, among: true, name: None }.open(at)?;
        let others = self.beside.iter().map(|beside| {
            let at = Location::new(&beside.path)?;
            let name = beside.name.clone().unwrap_or_else(|| at.stem());
            Ask { reading: self, among: true, name: Some(name) }.open(&at)
        });
        beside::join(first, others.collect::<Result<_>>()?, self)
    }
}

impl Ask<'_> {
    fn open(&self, at: &Location) -> Result<Opened> {
        match at.format {
            Format::Text => csv::open(&at.path, self),
            Format::Idx => idx::open_table(&at.path, self),
            Format::Npy => npy::open(at, self),
            Format::Npz => npz::open(at, self),
            Format::Safetensors => tensors::open(at, self),
            #[cfg(feature = "parquet")]
            Format::Parquet => arrow::parquet::open(at, arrow::parquet::Footer::read(at)?, self),
            #[cfg(feature = "parquet")]
            Format::Folder => arrow::folder::open(at, self),
            #[cfg(feature = "parquet")]
            Format::Arrow => arrow::ipc::open(at, self),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet | Format::Folder | Format::Arrow => Err(Problem::Unsupported {
                what: "Parquet and Arrow files are".into(),
                remedy: "build stonet-io with its feature `parquet`, or write the table as CSV or npy",
            }
            .of(at.path.clone())),
        }
    }
}

/// The bytes to be read; more than any where that is not known.
fn bytes(at: &Location) -> u64 {
    match at.format {
        #[cfg(feature = "parquet")]
        Format::Folder => arrow::folder::bytes(at),
        _ => std::fs::metadata(&at.file).map_or(u64::MAX, |m| m.len()),
    }
}
