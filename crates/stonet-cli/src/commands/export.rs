//! `stonet export`: a head as an ONNX graph, alone or joined to its network.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use stonet::Side;
use stonet_compare::files;
use stonet_io::Model;
use stonet_onnx::{HeadGraph, Joint, Network, head_graph};

use crate::asked::{self, AskedArgs};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::output;
use crate::stdout::path;

/// Write a head as an ONNX graph; with --network one file goes from raw inputs to intervals or probabilities
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet export head.stonet -o head.onnx --level 0.8,0.95\n  stonet export head.stonet -o sure.onnx --network network.onnx\n  stonet export head.stonet -o decided.onnx --rule rule.json\n  stonet export head.stonet --triton models/price --network network.onnx"
)]
pub struct Export {
    /// The head, made by `stonet fit`
    head: PathBuf,
    /// The ONNX file to write
    #[arg(short, long, value_name = "FILE.onnx", required_unless_present = "triton")]
    output: Option<PathBuf>,
    /// Write a model of a Triton repository instead: FOLDER/1/model.onnx and FOLDER/config.pbtxt; the model has the folder's
    /// name
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    triton: Option<PathBuf>,
    /// The network to append the head to
    #[arg(long, value_name = "NETWORK.onnx")]
    network: Option<PathBuf>,
    /// The tensor with the features; the last hidden layer if not given
    #[arg(long, value_name = "TENSOR", requires = "network")]
    tap: Option<String>,
    /// The output with the logits or the predictions; needed where several have as many columns
    #[arg(long, value_name = "TENSOR", requires = "network")]
    network_output: Option<String>,
    /// The columns of the network's input in their order, for a head that was fitted with further columns (--also);
    /// needed where the network's file does not name them
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", requires = "network")]
    inputs: Option<Vec<String>>,
    /// Keep the network's own outputs
    #[arg(long, requires = "network")]
    keep_outputs: bool,
    #[command(flatten)]
    asked: AskedArgs,
}

/// What `export --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    output: String,
    /// Triton's description of the file, where one was written.
    config: Option<String>,
    head: String,
    network: Option<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// The only level, where there is one.
    level: Option<f64>,
    levels: Vec<f64>,
    side: Side,
    joint: bool,
    quantiles: Vec<f64>,
    below: Vec<f64>,
    sets: bool,
    accuracy: bool,
    /// The wish of the rule, where there is one.
    rule: Option<String>,
    tap: Option<String>,
    network_output: Option<String>,
    /// The network's inputs that stand beside its features.
    also: Vec<String>,
    keep_outputs: bool,
    /// Of the fit: where its randomness began, and what its rows were.
    seed: u64,
    fingerprint: String,
    bytes: usize,
}

impl Export {
    pub fn run(self, console: &Console) -> Result<()> {
        let read: Vec<&Path> =
            [self.head.as_path()].into_iter().chain(self.network.as_deref()).chain(self.asked.files()).collect();
        let place = self.place(&read)?;
        let model = Model::load(&self.head)?;
        if self.network.is_some() {
            in_order(&model)?;
        }
        let settings = self.asked.settings(true, true)?;
        let resolved = asked::resolve(&model, &settings)?;
        let head = head_graph(&model, &resolved)?;
        let levels: Vec<f64> = resolved.levels().unwrap_or_default().iter().map(|l| l.get()).collect();
        let bytes = self.bytes(&model, &head)?;
        // Read again before it is written: what no one could open is an error now.
        let whole = Network::from_bytes(bytes, &place.onnx)?;
        place.write(&whole)?;
        let names = |all: &[stonet_onnx::TensorInfo]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let summary = Summary {
            schema: "stonet.export/1",
            output: place.onnx.display().to_string(),
            config: place.config.as_ref().map(|(path, _)| path.display().to_string()),
            head: self.head.display().to_string(),
            network: self.network.as_ref().map(|n| n.display().to_string()),
            inputs: names(whole.inputs()),
            outputs: names(whole.outputs()),
            level: if let [only] = levels[..] { Some(only) } else { None },
            levels,
            side: settings.side,
            joint: settings.joint,
            quantiles: settings.quantiles.iter().map(|q| q.get()).collect(),
            below: settings.below.clone(),
            sets: settings.sets.is_some(),
            accuracy: settings.accuracy,
            rule: settings.rule.as_ref().map(|saved| saved.rule.want.to_string()),
            tap: self.tap.clone(),
            network_output: self.network_output.clone(),
            also: if self.network.is_some() { model.columns.further().to_vec() } else { Vec::new() },
            keep_outputs: self.keep_outputs,
            seed: model.seed,
            fingerprint: model.fingerprint.clone(),
            bytes: whole.bytes().len(),
        };
        console.result(&summary, || {
            let (inputs, outputs) = (summary.inputs.join(", "), summary.outputs.join(", "));
            format!("{}: {} bytes\ninputs   {inputs}\noutputs  {outputs}\n", summary.output, summary.bytes)
        })?;
        console.next(format_args!("stonet inspect {}", path(&place.onnx)));
        Ok(())
    }
}

/// Where the file goes.
struct Place {
    onnx: PathBuf,
    /// Triton's description of it, and the name of the model there.
    config: Option<(PathBuf, String)>,
}

impl Place {
    /// Writes the file, and its description behind it.
    fn write(&self, whole: &Network) -> Result<()> {
        let Some((path, name)) = &self.config else { return Ok(files::write_bytes(&self.onnx, whole.bytes())?) };
        let text = whole.triton_config(name)?;
        if let Some(folder) = self.onnx.parent() {
            files::create_dir(folder)?;
        }
        files::write_bytes(&self.onnx, whole.bytes())?;
        Ok(files::write(path, &text)?)
    }
}

impl Export {
    /// Fails early where nothing can be written.
    fn place(&self, read: &[&Path]) -> Result<Place> {
        let Some(folder) = &self.triton else {
            let onnx = self.output.clone().unwrap_or_default();
            output::check_named("--output", &onnx, "onnx", "head.onnx", read)?;
            return Ok(Place { onnx, config: None });
        };
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| Error::flag("--triton", "must end in the model's name, such as models/price"))?;
        if folder.exists() && !folder.is_dir() {
            let why = format!("{} is a file; name the model's folder, such as models/price", folder.display());
            return Err(Error::flag("--triton", why));
        }
        let (onnx, config) = (folder.join("1").join("model.onnx"), folder.join("config.pbtxt"));
        for path in [&onnx, &config] {
            if path.is_dir() {
                return Err(Error::IsFolder { path: path.clone() });
            }
            stonet_io::check_output(path, read)?;
        }
        Ok(Place { onnx, config: Some((config, name)) })
    }

    /// The head alone, or behind its network.
    fn bytes(&self, model: &Model, head: &HeadGraph) -> Result<Vec<u8>> {
        match &self.network {
            None => Ok(head.to_onnx()),
            Some(path) => {
                let network = Network::open(path)?;
                let joint = Joint {
                    features: self.tap.clone(),
                    output: self.network_output.clone(),
                    further: self.further(model, &network)?,
                    keep_outputs: self.keep_outputs,
                };
                head.join(&network, &joint).map_err(|e| match e {
                    stonet_onnx::Error::HeadInput { input, .. } => {
                        let names: Vec<&str> = network.outputs().iter().map(|o| o.name.as_str()).collect();
                        Error::flag("--network-output", format!("must say which holds {input}: {}", names.join(", ")))
                    }
                    e => e.into(),
                })
            }
        }
    }

    /// The network's inputs that a head was fitted on beside the features, by number.
    fn further(&self, model: &Model, network: &Network) -> Result<Vec<usize>> {
        if model.columns.also == 0 {
            return match &self.inputs {
                Some(_) => Err(Error::flag("--inputs", "is for a head that was fitted with --also; leave it out")),
                None => Ok(Vec::new()),
            };
        }
        let raw = network.raw_inputs(self.inputs.as_deref())?;
        model.columns.further_among(raw.names.as_deref(), raw.count).map_err(|why| {
            let remedy = match raw.names {
                Some(_) => "only such a head is joined to its network; export it without --network",
                None => "name them in their order by --inputs, or export it without --network",
            };
            Error::flag("HEAD", format!("does not fit {}: {why}; {remedy}", network.path().display()))
        })
    }
}

/// Fails where the head was fitted on the network's columns in another order than the network's.
fn in_order(model: &Model) -> Result<()> {
    let Some(names) = model.columns.out_of_order() else { return Ok(()) };
    let stem = names[0].trim_end_matches(|c: char| c.is_ascii_digit());
    let why = format!(
        "was fitted on {} in this order, and the network gives {stem}0, {stem}1, …; fit it with --inputs '{stem}*' on rows in the network's \
         order, or export it without --network",
        names.join(", ")
    );
    Err(Error::flag("HEAD", why))
}
