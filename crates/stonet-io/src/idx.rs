//! Arrays in the idx format of MNIST and its successors: four bytes of type and dimensions, the sizes, then the values,
//! big-endian.

use std::io::Read;
use std::path::{Path, PathBuf};

use ndarray::Array2;

use crate::array::{self, Layout};
use crate::element::{self, Element};
use crate::open::{Source, open};
use crate::pieces::Opened;
use crate::reading::Ask;
use crate::{Place, Problem, Result, memory};

/// An array of any number of dimensions, none of them empty; its rows are what the first dimension counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Idx {
    source: PathBuf,
    shape: Vec<usize>,
    values: Values,
}

/// Bytes stay bytes: as f64 a set of images would be eight times as large.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    Bytes(Vec<u8>),
    Numbers(Vec<f64>),
}

/// The type of the values, as the third byte of a file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            0x08 => Kind::U8,
            0x09 => Kind::I8,
            0x0B => Kind::I16,
            0x0C => Kind::I32,
            0x0D => Kind::F32,
            0x0E => Kind::F64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 => 1,
            Kind::I16 => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    fn values(self, bytes: Vec<u8>) -> Values {
        fn all<const N: usize>(bytes: &[u8], one: impl Fn([u8; N]) -> f64) -> Values {
            Values::Numbers(bytes.as_chunks::<N>().0.iter().map(|&c| one(c)).collect())
        }
        match self {
            Kind::U8 => Values::Bytes(bytes),
            Kind::I8 => all(&bytes, |c| i8::from_be_bytes(c).into()),
            Kind::I16 => all(&bytes, |c| i16::from_be_bytes(c).into()),
            Kind::I32 => all(&bytes, |c| i32::from_be_bytes(c).into()),
            Kind::F32 => all(&bytes, |c| f32::from_be_bytes(c).into()),
            Kind::F64 => all(&bytes, f64::from_be_bytes),
        }
    }
}

/// Opens a file as a table, one row of columns `c0`, `c1`, … for each image.
pub(crate) fn open_table(path: &Path, ask: &Ask<'_>) -> Result<Opened> {
    let Idx { shape, values, .. } = Idx::read(path)?;
    // Held as it is in the file or as f64: images are small files.
    let (kind, bytes) = match values {
        Values::Bytes(bytes) => (element::Kind::U8, bytes),
        Values::Numbers(numbers) => (element::Kind::F64, numbers.iter().flat_map(|v| v.to_le_bytes()).collect()),
    };
    let layout = Layout { shape, element: Element { kind, big_endian: false }, fortran: false };
    let values = array::Values::Stream(Box::new(std::io::Cursor::new(bytes)));
    array::open(path, "idx", layout, values, ask)
}

impl Idx {
    /// Reads a file, plain or compressed by gzip.
    pub fn read(path: &Path) -> Result<Self> {
        let Source { bytes, origin } = open(path)?;
        let mut file = Counted { bytes, read: 0 };
        let failed = |stop| match stop {
            Stop::Failed(read, source) => origin.failed(format_args!("byte {read}"), source),
            Stop::Short(found) => Problem::IdxShort { found }.of(path),
        };
        let magic = file.take(4).map_err(failed)?;
        let kind = match magic[..] {
            [0, 0, code, dimensions] if dimensions > 0 => Kind::of(code),
            _ => None,
        };
        let Some(kind) = kind else { return Err(Problem::NotIdx { found: magic }.of(path)) };
        let sizes = file.take(4 * u64::from(magic[3])).map_err(failed)?;
        let shape: Vec<usize> = sizes.as_chunks::<4>().0.iter().map(|&c| u32::from_be_bytes(c) as usize).collect();
        let Some(count) = size(&shape, kind.bytes()) else {
            return Err(Problem::IdxShape { shape }.of(path));
        };
        // Values other than bytes are held as f64.
        let limit = memory::limit() / if kind == Kind::U8 { 1 } else { 8 / kind.bytes() as u64 + 1 };
        let values = file.take(count.min(limit)).map_err(failed)?;
        memory::check(path, shape[0] as u64, count, limit)?;
        // Compressed data end with their checksum, which is looked at only by whoever asks for more.
        match file.take(1) {
            Ok(_) => Err(Problem::IdxLong { expected: file.read - 1 }.of(path)),
            Err(Stop::Short(_)) => Ok(Idx { source: path.into(), shape, values: kind.values(values) }),
            Err(stop) => Err(failed(stop)),
        }
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Size of the first dimension.
    pub fn rows(&self) -> usize {
        self.shape[0]
    }

    /// Values per row: the product of the other dimensions.
    pub fn width(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// The rows with these numbers, in this order, each laid out in a line and multiplied by `scale`.
    ///
    /// # Panics
    /// If a number is not below [`rows`](Self::rows).
    pub fn matrix(&self, rows: &[usize], scale: f64) -> Array2<f64> {
        let width = self.width();
        let mut out = Vec::with_capacity(rows.len() * width);
        for place in rows.iter().map(|r| r * width..(r + 1) * width) {
            match &self.values {
                Values::Bytes(v) => out.extend(v[place].iter().map(|&v| scale * f64::from(v))),
                Values::Numbers(v) => out.extend(v[place].iter().map(|v| scale * v)),
            }
        }
        Array2::from_shape_vec((rows.len(), width), out).expect("`width` values per row")
    }

    /// The values as class numbers; the array must have one dimension and hold whole numbers from 0.
    pub fn labels(&self) -> Result<Vec<usize>> {
        if self.shape.len() != 1 {
            return Err(Problem::IdxNotLabels { dimensions: self.shape.len() }.of(self.source.clone()));
        }
        match &self.values {
            Values::Bytes(v) => Ok(v.iter().map(|&v| v.into()).collect()),
            Values::Numbers(v) => v.iter().enumerate().map(|(row, &v)| self.label(row, v)).collect(),
        }
    }

    fn label(&self, row: usize, value: f64) -> Result<usize> {
        // Every whole number up to 2^53 is an f64.
        if value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value) {
            return Ok(value as usize);
        }
        Err(Problem::IdxLabel { value }.at(self.source.clone(), Place::Row(row as u64)))
    }
}

/// Bytes of so many values, unless one dimension is empty or the product is beyond 2^63.
fn size(shape: &[usize], bytes: usize) -> Option<u64> {
    let size = shape.iter().try_fold(bytes as u64, |product, &d| product.checked_mul(d as u64))?;
    (size > 0 && size <= i64::MAX as u64).then_some(size)
}

/// A stream that knows how far it has been read.
struct Counted<R> {
    bytes: R,
    read: u64,
}

/// Why bytes did not come; both know how many came before.
enum Stop {
    Failed(u64, std::io::Error),
    Short(u64),
}

impl<R: Read> Counted<R> {
    /// The next `n` bytes. Memory grows with what comes, not with what the header promises.
    fn take(&mut self, n: u64) -> std::result::Result<Vec<u8>, Stop> {
        let mut out = Vec::new();
        let read = (&mut self.bytes).take(n).read_to_end(&mut out);
        self.read += out.len() as u64;
        match read {
            Err(source) => Err(Stop::Failed(self.read, source)),
            Ok(found) if (found as u64) < n => Err(Stop::Short(self.read)),
            Ok(_) => Ok(out),
        }
    }
}
