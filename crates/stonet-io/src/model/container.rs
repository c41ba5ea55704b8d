//! The bytes of a model file: a safetensors file whose metadata begin with a checksum of all of it.

use std::collections::HashMap;
use std::fmt::Write;

use safetensors::tensor::{Metadata, TensorInfo};

use super::fingerprint::Fnv;
use super::numbers::Tensor;
use crate::explain;
use crate::tensors::LONGEST;

/// How the header of every version begins; the checksum's digits and a quote follow.
const START: &str = r#"{"__metadata__":{"checksum":""#;
/// Where the checksum stands in the file.
const PLACE: std::ops::Range<usize> = 8 + START.len()..8 + START.len() + 16;
/// What stands there while it is computed.
const NO_SUM: &[u8; 16] = b"0000000000000000";

/// Metadata and tensors of a file.
pub(super) struct Parts<'a> {
    pub(super) metadata: HashMap<String, String>,
    pub(super) tensors: HashMap<String, Tensor<&'a [u8]>>,
}

/// A file with these metadata and these named tensors, in this order; the same bytes for the same arguments.
pub(super) fn write(metadata: &[(&str, String)], tensors: &[(String, Tensor<Vec<u8>>)]) -> Result<Vec<u8>, String> {
    let mut header = format!("{START}{}\"", "0".repeat(16));
    for (key, text) in metadata {
        header += &format!(",{}:{}", quoted(key)?, quoted(text)?);
    }
    header.push('}');
    let mut end = 0;
    for (name, tensor) in tensors {
        let (from, shape, kind, name) = (end, &tensor.shape, tensor.dtype, quoted(name)?);
        end += tensor.bytes.len();
        write!(header, r#",{name}:{{"dtype":"{kind:?}","shape":{shape:?},"data_offsets":[{from},{end}]}}"#)
            .map_err(|e| e.to_string())?;
    }
    header.push('}');
    // Tensors begin at a multiple of eight bytes, so that they can be mapped.
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    if header.len() as u64 > LONGEST {
        return Err(format!("its header would take {} bytes, and files may have {LONGEST}", header.len()));
    }
    let mut bytes = Vec::with_capacity(8 + header.len() + end);
    bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    tensors.iter().for_each(|(_, t)| bytes.extend_from_slice(&t.bytes));
    seal(&mut bytes);
    Ok(bytes)
}

fn quoted(text: &str) -> Result<String, String> {
    serde_json::to_string(text).map_err(|e| e.to_string())
}

/// Writes the checksum into its place.
pub(super) fn seal(bytes: &mut [u8]) {
    let sum = checksum(bytes);
    bytes[PLACE].copy_from_slice(sum.as_bytes());
}

/// FNV-1a of the file with zeros in the place of the checksum.
fn checksum(bytes: &[u8]) -> String {
    Fnv::new().bytes(&bytes[..PLACE.start]).bytes(NO_SUM).bytes(&bytes[PLACE.end..]).digits()
}

/// Takes a file apart, once its checksum is right and its tensors fill it without gaps.
pub(super) fn read(bytes: &[u8]) -> Result<Parts<'_>, String> {
    let Some((size, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(format!("it has {} bytes", bytes.len()));
    };
    let begin = &rest[..rest.len().min(START.len())];
    if !START.as_bytes().starts_with(begin) {
        return Err("it does not begin as a model file does".into());
    }
    let size = u64::from_le_bytes(*size);
    if size > LONGEST || size > rest.len() as u64 {
        return Err(format!("a header of {size} bytes is announced in a file of {}", bytes.len()));
    }
    let (header, data) = rest.split_at(size as usize);
    if !header.starts_with(START.as_bytes()) || header.len() < START.len() + 16 {
        return Err("it does not begin as a model file does".into());
    }
    let (found, expected) = (&bytes[PLACE], checksum(bytes));
    if found != expected.as_bytes() {
        return Err(format!("its checksum is {expected}, where {} was written", found.escape_ascii()));
    }
    // Reading it checks that tensors follow each other without gaps and are as long as their shapes say.
    let header: Metadata =
        serde_json::from_slice(header).map_err(|e| format!("in its header {}", explain(&e.to_string(), "field")))?;
    if header.data_len() != data.len() {
        return Err(format!("its tensors take {} bytes, and there are {}", header.data_len(), data.len()));
    }
    let tensor = |(name, info): (String, &TensorInfo)| {
        let (from, to) = info.data_offsets;
        let bytes = data.get(from..to).ok_or("its tensors leave the file")?;
        Ok((name, Tensor { dtype: info.dtype, shape: info.shape.clone(), bytes }))
    };
    let tensors = header.tensors().into_iter().map(tensor).collect::<Result<_, String>>()?;
    let metadata = header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
    Ok(Parts { metadata, tensors })
}
