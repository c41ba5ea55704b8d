//! The description of an ONNX file for Triton Inference Server: `config.pbtxt`, from the file's own inputs and outputs.

use crate::{Axis, Error, Network, Result, TensorInfo};

/// Rows that Triton may put together into one batch.
const MOST_ROWS: usize = 1024;

/// Triton's names of ONNX's element types, in the order in which ONNX counts them; empty where it has none.
const TYPES: [&str; 17] = [
    "", "FP32", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING", "BOOL", "FP16", "FP64", "UINT32",
    "UINT64", "", "", "BF16",
];

impl Network {
    /// The text of `config.pbtxt` for this file as the model `name`, to stand beside a folder `1` with `model.onnx`.
    ///
    /// Where the first axis of every input and output counts rows, Triton may put requests together into batches. A
    /// tensor whose type or shape the file does not tell, or Triton does not know, is an error.
    pub fn triton_config(&self, name: &str) -> Result<String> {
        let open = |t: &TensorInfo| matches!(t.shape.as_deref(), Some([Axis::Open(_), ..]));
        let batched = self.inputs().iter().chain(self.outputs()).all(open);
        let ports = |kind: &str, all: &[TensorInfo]| -> Result<String> {
            let each = all.iter().map(|t| self.port(t, batched)).collect::<Result<Vec<_>>>()?;
            Ok(format!("{kind} [\n{}\n]\n", each.join(",\n")))
        };
        let (inputs, outputs) = (ports("input", self.inputs())?, ports("output", self.outputs())?);
        let rows = if batched { MOST_ROWS } else { 0 };
        let batching = if batched { "dynamic_batching { }\n" } else { "" };
        Ok(format!(
            "name: {}\nbackend: \"onnxruntime\"\nmax_batch_size: {rows}\n{inputs}{outputs}{batching}",
            quoted(name)
        ))
    }

    fn port(&self, tensor: &TensorInfo, batched: bool) -> Result<String> {
        let unknown = |what: &str| Error::Triton {
            path: self.path().to_owned(),
            tensor: tensor.name.clone(),
            what: what.to_owned(),
        };
        let element = tensor.element.and_then(|e| usize::try_from(e.0).ok()).and_then(|i| TYPES.get(i));
        let element = element.filter(|e| !e.is_empty()).ok_or_else(|| unknown("type"))?;
        let shape = tensor.shape.as_deref().ok_or_else(|| unknown("shape"))?;
        let own = if batched { shape.get(1..).unwrap_or_default() } else { shape };
        let axis = |a: &Axis| match a {
            Axis::Fixed(n) => n.to_string(),
            Axis::Open(_) => "-1".to_owned(),
        };
        let dims: Vec<String> = own.iter().map(axis).collect();
        // Triton wants at least one axis: a number per row is a row of one.
        let (dims, reshape) = match dims.is_empty() {
            true => ("1".to_owned(), "\n    reshape { shape: [ ] }"),
            false => (dims.join(", "), ""),
        };
        let name = quoted(&tensor.name);
        Ok(format!("  {{\n    name: {name}\n    data_type: TYPE_{element}\n    dims: [ {dims} ]{reshape}\n  }}"))
    }
}

/// A text of protobuf's text format.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.extend(c.to_string().bytes().map(|b| format!("\\{b:03o}"))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\nd\\001é\"");
    }
}
