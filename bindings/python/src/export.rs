//! Heads as ONNX files, alone or behind their network.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stonet::score::Asked;
use stonet_io::{Fitted, Model};
use stonet_onnx::{ClassOutput, Error, Head, Joint, Network, classifier};
use stonet_repro::files;

use crate::arrays;
use crate::error::Raise;

/// Where a head goes, and the network in front of it.
pub struct Wanted<'a> {
    /// The file.
    pub path: PathBuf,
    /// The network's bytes and its name in messages.
    pub network: Option<(&'a [u8], PathBuf)>,
    /// The tensor with the features.
    pub tap: Option<String>,
    /// The output with the logits or predictions.
    pub output: Option<String>,
    /// Whether the network's own outputs stay.
    pub keep_outputs: bool,
}

/// Which intervals a regression's graph gives.
pub struct Ends<'a> {
    /// Coverage.
    pub levels: Vec<f64>,
    /// `both`, `lower` or `upper`.
    pub side: &'a str,
    /// Whether the intervals of all targets hold at once.
    pub joint: bool,
}

impl Ends<'_> {
    fn asked(self) -> PyResult<Asked> {
        Ok(Asked {
            levels: arrays::levels(&self.levels)?,
            side: serde_json::from_value(self.side.into()).raise()?,
            joint: self.joint,
        })
    }
}

/// Writes a regression as a graph.
pub fn intervals(model: &Model, ends: Ends<'_>, wanted: Wanted<'_>) -> PyResult<()> {
    let asked = ends.asked()?;
    write(model, &asked, wanted)
}

/// Writes a classification as a graph.
pub fn probabilities(model: &Model, wanted: Wanted<'_>) -> PyResult<()> {
    write(model, &Asked::default(), wanted)
}

fn write(model: &Model, asked: &Asked, wanted: Wanted<'_>) -> PyResult<()> {
    if let (Some(_), Some(names)) = (&wanted.network, model.columns.out_of_order()) {
        return Err(PyValueError::new_err(format!(
            "this head was fitted on {} in this order, and the network gives its columns in the order of their numbers; fit it on columns \
             in that order",
            names.join(", ")
        )));
    }
    let head = graph(model, asked)?;
    let bytes = match wanted.network {
        None => head.to_onnx(),
        Some((bytes, name)) => {
            stonet_io::check_output(&wanted.path, &[&name]).raise()?;
            let joint = Joint { features: wanted.tap, output: wanted.output, keep_outputs: wanted.keep_outputs };
            let network = Network::from_bytes(bytes.to_vec(), &name).raise()?;
            head.join(&network, &joint).or_else(|e| match e {
                Error::HeadInput { input, .. } => {
                    let names: Vec<&str> = network.outputs().iter().map(|o| o.name.as_str()).collect();
                    let text = format!("output must name the output that holds {input}: {}", names.join(", "));
                    Err(PyValueError::new_err(text))
                }
                e => Err(e).raise(),
            })?
        }
    };
    // Read again before it is written: a file that cannot be opened is an error now.
    let whole = Network::from_bytes(bytes, &wanted.path).raise()?;
    files::write_bytes(&wanted.path, whole.bytes()).raise()
}

fn graph(model: &Model, asked: &Asked) -> PyResult<Head> {
    match &model.head {
        Fitted::Regression(fitted) => stonet_onnx::intervals(fitted, asked).raise(),
        Fitted::Classification(fitted) => {
            let output = ClassOutput { kind: model.kind.unwrap_or_default(), columns: model.columns.logits.len() };
            classifier(fitted, output).raise()
        }
    }
}
