//! Heads as ONNX files, alone or behind their network.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stonet_compare::files;
use stonet_io::{Model, ScoreSettings, Setting};
use stonet_onnx::{Error, Joint, Network, head_graph};

use crate::error::Raise;

/// Where a head goes, and the network in front of it.
pub struct Wanted<'a> {
    /// The path of the file.
    pub path: PathBuf,
    /// The network's bytes and its name in messages.
    pub network: Option<(&'a [u8], PathBuf)>,
    /// The tensor with the features.
    pub tap: Option<String>,
    /// The output with the logits or predictions.
    pub output: Option<String>,
    /// The columns of the network's input, where its file does not name them.
    pub inputs: Option<Vec<String>>,
    /// Whether the network's own outputs stay.
    pub keep_outputs: bool,
}

/// Writes a head as a graph of what is asked of it.
pub fn write(model: &Model, settings: &ScoreSettings, wanted: Wanted<'_>) -> PyResult<()> {
    if let (Some(_), Some(names)) = (&wanted.network, model.columns.out_of_order()) {
        return Err(PyValueError::new_err(format!(
            "this head was fitted on {} in this order, and the network gives its columns in the order of their numbers; fit it on columns \
             in that order",
            names.join(", ")
        )));
    }
    let resolved = model.resolve_as(settings, Setting::argument).raise()?;
    let head = head_graph(model, &resolved).raise()?;
    let bytes = match wanted.network {
        None => head.to_onnx(),
        Some((bytes, name)) => {
            stonet_io::check_output(&wanted.path, &[&name]).raise()?;
            let network = Network::from_bytes(bytes.to_vec(), &name).raise()?;
            let further = further(model, &network, wanted.inputs.as_deref())?;
            let (features, output, keep_outputs) = (wanted.tap, wanted.output, wanted.keep_outputs);
            let joint = Joint { features, output, further, keep_outputs };
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

/// The network's inputs that a head was fitted on beside the features, by number.
fn further(model: &Model, network: &Network, names: Option<&[String]>) -> PyResult<Vec<usize>> {
    if model.columns.also == 0 {
        return match names {
            Some(_) => Err(PyValueError::new_err("inputs is for a head that was fitted with also=; leave it out")),
            None => Ok(Vec::new()),
        };
    }
    let raw = network.raw_inputs(names).raise()?;
    model.columns.further_among(raw.names.as_deref(), raw.count).map_err(|why| {
        let remedy = match raw.names {
            Some(_) => "only such a head is joined to its network; export it without network",
            None => "name them in their order by inputs=, or export it without network",
        };
        PyValueError::new_err(format!("{why}; {remedy}"))
    })
}
