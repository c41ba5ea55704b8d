//! Opens a file as a stream of plain bytes; gzip is recognised by its first two bytes, whatever the file is called, and
//! `-` is standard input.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::{Error, Problem, Result};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes per read.
pub(crate) const BUFFER: usize = 1 << 16;

/// An open file and what its errors mean.
pub(crate) struct Source {
    pub(crate) bytes: BufReader<Box<dyn Read + Send>>,
    pub(crate) origin: Origin,
}

/// Where bytes come from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    compressed: bool,
}

impl Origin {
    /// The error of a failed read after this line or byte.
    pub(crate) fn failed(&self, after: impl Display, source: io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let path = self.path.clone();
        match source.kind() {
            UnexpectedEof | InvalidInput | InvalidData if self.compressed => {
                Problem::BrokenGzip { after: after.to_string(), source }.of(path)
            }
            _ => Problem::Unreadable { source }.of(path),
        }
    }
}

/// Opens a file for reading at any place; also its length.
pub(crate) fn file(path: &Path) -> Result<(File, u64)> {
    let opened = File::open(path).and_then(|file| {
        let about = file.metadata()?;
        // Opening a directory may succeed; reading it never does.
        if about.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok((file, about.len())) }
    });
    opened.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Problem::NoFile.of(path.to_owned()),
        _ => Problem::Unreadable { source }.of(path.to_owned()),
    })
}

/// Opens a plain or a compressed file as a stream; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Source> {
    let mut origin = Origin { path: path.to_owned(), compressed: false };
    let plain: Box<dyn Read + Send> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(file(path)?.0) };
    let mut file = BufReader::with_capacity(BUFFER, plain);
    origin.compressed = file.fill_buf().map_err(|e| origin.failed("line 0", e))?.starts_with(&GZIP_MAGIC);
    let bytes: Box<dyn Read + Send> =
        if origin.compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok(Source { bytes: BufReader::with_capacity(BUFFER, bytes), origin })
}
