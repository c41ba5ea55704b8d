//! Tensors in `.safetensors` files, of which one is read: `model.safetensors:features`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use crate::array::{self, Layout, Values};
use crate::element::{Element, Kind};
use crate::location::Location;
use crate::npz::choose;
use crate::open::{self, BUFFER};
use crate::pieces::Opened;
use crate::reading::Ask;
use crate::{Problem, Result, explain};

/// Longest header that is read, as in the `safetensors` package.
pub(crate) const LONGEST: u64 = 100_000_000;

/// Opens the tensor that the path names, or the only one.
pub(crate) fn open(at: &Location, ask: &Ask<'_>) -> Result<Opened> {
    let (metadata, mut file, start) = header(at)?;
    let names = metadata.offset_keys();
    let name = &names[choose(at, &names)?];
    let info = metadata.info(name).ok_or_else(|| at.damaged("its header is damaged"))?;
    let Some(kind) = kind(info.dtype) else {
        return Err(Problem::Unsupported {
            what: format!("the type {:?} of tensor `{name}` is", info.dtype),
            remedy: "save it as float32 or float64",
        }
        .of(at.path.clone()));
    };
    let layout = Layout { shape: info.shape.clone(), element: Element { kind, big_endian: false }, fortran: false };
    let (from, to) = info.data_offsets;
    file.seek(SeekFrom::Start(start + from as u64))
        .map_err(|source| Problem::Unreadable { source }.of(at.path.clone()))?;
    let values = BufReader::with_capacity(BUFFER, file.take((to - from) as u64));
    array::open(&at.path, at.format.name(), layout, Values::Stream(Box::new(values)), ask)
}

/// The header of a file whose length is exactly what the header says, and where the tensors begin.
pub(crate) fn header(at: &Location) -> Result<(Metadata, File, u64)> {
    let (mut file, length) = open::file(&at.file)?;
    let unreadable = |source| Problem::Unreadable { source }.of(at.path.clone());
    let mut size = [0; 8];
    if length < 8 {
        return Err(at.damaged(format_args!("it has {length} bytes")));
    }
    file.read_exact(&mut size).map_err(unreadable)?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST || size > length - 8 {
        return Err(at.damaged(format_args!("a header of {size} bytes is announced in a file of {length}")));
    }
    let mut text = Vec::new();
    (&mut file).take(size).read_to_end(&mut text).map_err(unreadable)?;
    // Reading it checks that tensors follow each other without gaps and are as long as their shapes say.
    let metadata: Metadata = serde_json::from_slice(&text)
        .map_err(|e| at.damaged(format_args!("in its header {}", explain(&e.to_string(), "field"))))?;
    let (start, announced) = (8 + size, metadata.data_len() as u64);
    if announced != length - start {
        let found = length - start;
        return Err(at.damaged(format_args!("its tensors take {announced} bytes, and there are {found}")));
    }
    Ok((metadata, file, start))
}

fn kind(dtype: Dtype) -> Option<Kind> {
    Some(match dtype {
        Dtype::BOOL => Kind::Bool,
        Dtype::I8 => Kind::I8,
        Dtype::I16 => Kind::I16,
        Dtype::I32 => Kind::I32,
        Dtype::I64 => Kind::I64,
        Dtype::U8 => Kind::U8,
        Dtype::U16 => Kind::U16,
        Dtype::U32 => Kind::U32,
        Dtype::U64 => Kind::U64,
        Dtype::F16 => Kind::F16,
        Dtype::BF16 => Kind::Bf16,
        Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
        _ => return None,
    })
}
