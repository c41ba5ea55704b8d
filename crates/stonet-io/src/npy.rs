//! Arrays as numpy saves them (`.npy`): a header that is a Python literal, then the values.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::array::{self, Layout, ReadSeek, Values};
use crate::element::{Element, Kind};
use crate::location::Location;
use crate::pieces::Opened;
use crate::reading::Ask;
use crate::{Problem, Result, open};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header that is read; numpy itself stops at 10 000 bytes.
const LONGEST: u64 = 1 << 16;
/// As many as numpy has.
const MOST_DIMENSIONS: usize = 64;

/// Opens a file; its length must be what the header announces.
pub(crate) fn open(at: &Location, ask: &Ask<'_>) -> Result<Opened> {
    let (file, length) = open::file(&at.file)?;
    let mut file = BufReader::with_capacity(open::BUFFER, file);
    let (layout, start) = header(at, &mut file)?;
    check_length(at, &layout, length - start.min(length))?;
    let values = match layout.fortran {
        true => Values::Random(Box::new(Part { file: file.into_inner(), start })),
        false => Values::Stream(Box::new(file)),
    };
    array::open(&at.path, at.format.name(), layout, values, ask)
}

/// A file from some byte on.
struct Part {
    file: File,
    start: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for Part {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(place) => SeekFrom::Start(place.saturating_add(self.start)),
            other => other,
        };
        self.file.seek(to)
    }
}

/// Fails unless there are exactly as many bytes as the values need.
pub(crate) fn check_length(at: &Location, layout: &Layout, found: u64) -> Result<()> {
    match layout.bytes() {
        Some(needed) if needed == found => Ok(()),
        needed => {
            let needed = needed.map_or("too many".into(), |n| n.to_string());
            let shape = &layout.shape;
            Err(at.damaged(format_args!("an array of shape {shape:?} takes {needed} bytes, and there are {found}")))
        }
    }
}

/// Values in the order of columns, all in memory; for members of an archive.
pub(crate) fn in_memory(bytes: Vec<u8>) -> Box<dyn ReadSeek> {
    Box::new(io::Cursor::new(bytes))
}

/// Reads the header; also how many bytes it has.
pub(crate) fn header(at: &Location, stream: &mut impl Read) -> Result<(Layout, u64)> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::UnexpectedEof => at.damaged("the header breaks off"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => at.damaged(source),
        _ => Problem::Unreadable { source }.of(at.path.clone()),
    };
    let mut start = [0; 8];
    stream.read_exact(&mut start).map_err(failed)?;
    let [magic @ .., major, _] = &start;
    if magic != MAGIC || !(1..=3).contains(major) {
        return Err(at.damaged(format_args!("it begins with the bytes {start:02x?}, and not with 93 4e 55 4d 50 59")));
    }
    let mut length = [0; 4];
    let digits = if *major == 1 { 2 } else { 4 };
    stream.read_exact(&mut length[..digits]).map_err(failed)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST {
        return Err(at.damaged(format_args!("a header of {length} bytes is none")));
    }
    let mut text = Vec::new();
    stream.take(length).read_to_end(&mut text).map_err(failed)?;
    if (text.len() as u64) < length {
        return Err(at.damaged("the header breaks off"));
    }
    let layout = parse(at, &String::from_utf8_lossy(&text))?;
    Ok((layout, 8 + digits as u64 + length))
}

/// A header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(at: &Location, text: &str) -> Result<Layout> {
    let bad = || at.damaged("its header is not one of numpy");
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}'"))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = value("descr").ok_or_else(bad)?;
    if descr.starts_with('[') {
        return Err(Problem::Unsupported {
            what: "records of several fields are".into(),
            remedy: "save each field as an array, or the records as CSV or Parquet",
        }
        .of(at.path.clone()));
    }
    let descr = descr.strip_prefix('\'').and_then(|d| d.split_once('\'')).ok_or_else(bad)?.0;
    let fortran = match value("fortran_order").ok_or_else(bad)? {
        order if order.starts_with("True") => true,
        order if order.starts_with("False") => false,
        _ => return Err(bad()),
    };
    let sizes = value("shape").and_then(|s| s.strip_prefix('(')?.split_once(')')).ok_or_else(bad)?.0;
    let sizes = sizes.split(',').map(|s| s.trim().trim_end_matches('L')).filter(|s| !s.is_empty());
    let shape = sizes.map(|s| s.parse().map_err(|_| bad())).collect::<Result<Vec<usize>>>()?;
    if shape.len() > MOST_DIMENSIONS {
        return Err(bad());
    }
    // The values of a vector stand one behind the other in any order.
    let fortran = fortran && shape.len() > 1;
    Ok(Layout { element: element(at, descr)?, fortran, shape })
}

fn element(at: &Location, descr: &str) -> Result<Element> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
    let size = || kind.get(1..).and_then(|n| n.parse().ok()).filter(|n| (1..=1 << 16).contains(n));
    let found = match kind {
        "b1" => Some(Kind::Bool),
        "i1" => Some(Kind::I8),
        "i2" => Some(Kind::I16),
        "i4" => Some(Kind::I32),
        "i8" => Some(Kind::I64),
        "u1" => Some(Kind::U8),
        "u2" => Some(Kind::U16),
        "u4" => Some(Kind::U32),
        "u8" => Some(Kind::U64),
        "f2" => Some(Kind::F16),
        "f4" => Some(Kind::F32),
        "f8" => Some(Kind::F64),
        _ if kind.starts_with('U') => size().map(Kind::Utf32),
        _ if kind.starts_with('S') => size().map(Kind::Bytes),
        _ => None,
    };
    match (found, order) {
        (Some(kind), "<" | "|" | "=") => Ok(Element { kind, big_endian: false }),
        (Some(kind), ">") => Ok(Element { kind, big_endian: true }),
        _ if descr.contains('O') => Err(Problem::Unsupported {
            what: "an array of Python objects is".into(),
            remedy: "save an array of numbers: array.astype(float)",
        }
        .of(at.path.clone())),
        _ => Err(Problem::Unsupported {
            what: format!("the type `{}` is", descr.chars().take(20).collect::<String>()),
            remedy: "save an array of numbers: array.astype(float)",
        }
        .of(at.path.clone())),
    }
}
