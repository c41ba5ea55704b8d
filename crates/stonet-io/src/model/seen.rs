//! Which rows a model was fitted on: in its file, and among rows that are to judge it.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView2};
use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use stonet::rows::{FingerprintCounts, row_hashes};
use stonet::{Fingerprints, Overlap};

use super::Model;
use super::numbers::{Tensor, Tensors};
use crate::Result;

/// Fingerprints as they stand in the header.
#[derive(Serialize, Deserialize)]
struct Listed {
    #[serde(flatten)]
    counts: FingerprintCounts,
    /// The tensor with the values.
    list: String,
}

/// The text for the header; the values become a tensor of the section.
pub(super) fn take_out(set: &Fingerprints, tensors: &mut Tensors) -> serde_json::Result<String> {
    let bytes = set.values().iter().flat_map(|v| v.to_le_bytes()).collect();
    let list = tensors.push(Tensor { dtype: Dtype::U32, shape: vec![set.values().len()], bytes });
    serde_json::to_string(&Listed { counts: set.counts(), list })
}

/// The fingerprints behind a text of the header, whose tensor is used up.
pub(super) fn put_back(
    text: &str,
    tensors: &mut HashMap<String, Tensor<&[u8]>>,
) -> std::result::Result<Fingerprints, String> {
    let Listed { counts, list } = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let tensor = tensors.remove(&list).ok_or_else(|| format!("tensor `{list:.40}` is missing or is used twice"))?;
    if tensor.dtype != Dtype::U32 {
        return Err(format!("tensor `{list:.40}` is of type {:?}, where U32 has to stand", tensor.dtype));
    }
    let (words, _) = tensor.bytes.as_chunks::<4>();
    let values = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
    Fingerprints::from_parts(counts, values).map_err(str::to_owned)
}

/// The hashes that tell a regression's rows apart: see [`stonet::rows::row_hashes`]. The network's predictions count
/// where there are no features.
pub fn regression_hashes(
    features: ArrayView2<'_, f64>,
    prediction: Option<ArrayView2<'_, f64>>,
    y: ArrayView2<'_, f64>,
) -> Result<Vec<u64>> {
    let inputs = prediction.filter(|_| features.ncols() == 0).unwrap_or(features);
    Ok(row_hashes(&[inputs, y])?)
}

/// The same of the inputs and of the targets, each alone, for [`stonet::rows::FingerprintsBuilder::copies`].
pub fn regression_parts(
    features: ArrayView2<'_, f64>,
    prediction: Option<ArrayView2<'_, f64>>,
    y: ArrayView2<'_, f64>,
) -> Result<Vec<Vec<u64>>> {
    let inputs = prediction.filter(|_| features.ncols() == 0).unwrap_or(features);
    Ok(vec![row_hashes(&[inputs])?, row_hashes(&[y])?])
}

/// The hashes that tell a classification's rows apart: `outputs` of the network are as they stand in the table,
/// whatever their kind, and features count where there are none. `labels` are numbers of classes.
pub fn class_hashes(
    outputs: Option<ArrayView2<'_, f64>>,
    features: Option<ArrayView2<'_, f64>>,
    labels: &[usize],
) -> Result<Vec<u64>> {
    let labels = Array2::from_shape_fn((labels.len(), 1), |(i, _)| labels[i] as f64);
    let parts: Vec<_> = outputs.or(features).into_iter().chain([labels.view()]).collect();
    Ok(row_hashes(&parts)?)
}

impl Model {
    /// How many of the rows with these hashes the head was fitted on; none where it cannot tell. Heads of older
    /// programs can tell by the fingerprint of all their rows alone, which is asked for where it is needed.
    pub fn overlap(&self, hashes: &[u64], fingerprint: impl FnOnce() -> String) -> Option<Overlap> {
        match &self.fingerprints {
            Some(set) => Some(set.overlap(hashes)),
            None if self.fingerprint.is_empty() => None,
            None => (self.fingerprint == fingerprint()).then(|| Overlap::all(hashes.len())),
        }
    }
}
