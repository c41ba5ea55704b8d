//! `stonet features`: the outputs of a network's last hidden layer for rows or images.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ndarray::{Array1, Array2, Axis};
use serde::Serialize;
use stonet::base::Cancelled;
use stonet::metrics::top_class;
use stonet_io::{Cells, Column, Problem, Reading, Type, Writer};
use stonet_onnx::{Features as Said, Inputs, Network, Preprocess, RunSettings, Runner, Runtime};

use crate::args::{FORMATS, MissingArg, WithArg};
use crate::console::{Console, stopped};
use crate::error::{Error, Result};
use crate::output;
use crate::rows::kept::{self, Copied};
use crate::rows::{dropped, hints, left_out};
use crate::stdout::{path, quoted};

/// Rows that are read, run and written before the next ones.
const BLOCK: usize = 4096;

/// Run a network on rows and write its last hidden layer and its outputs
///
/// Features are columns `f0, f1, …`; one output is `prediction`, several are `z0, z1, …`; the labels of CIFAR files are
/// `label`. For a binary classifier with a single output, use `fit --task classification --inputs prediction`, and add
/// `--kind probabilities` if the output is a probability.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet features resnet.onnx test_batch.bin --scale 0.00392157 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 -o features.parquet\n  stonet features network.onnx rows.csv --keep price -o features.parquet\n  stonet features cnn.onnx t10k-images-idx3-ubyte.gz --with label=t10k-labels-idx1-ubyte.gz --keep label --scale 0.00392157 -o features.parquet\n  stonet features network.onnx --list-taps"
)]
pub struct Features {
    /// The network, an ONNX file
    network: PathBuf,
    #[arg(required_unless_present = "list_taps", help = format!("Rows for it: CIFAR binaries (.bin), or tables and arrays. {FORMATS}"))]
    rows: Option<PathBuf>,
    /// Where features go: .parquet, .csv, .csv.gz, .arrow, .feather, .npy, or `-` for CSV on standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "list_taps")]
    output: Option<PathBuf>,
    /// The tensor or node to take features from; the last hidden layer if not given
    #[arg(long, value_name = "NODE")]
    tap: Option<String>,
    /// List the tensors that features can be taken from, with their shapes, and exit
    #[arg(long)]
    list_taps: bool,
    /// Do not write the network's own outputs
    #[arg(long)]
    no_outputs: bool,
    /// Columns of a table that go into the network; those it was trained on, or all but --keep if not given. A network
    /// with several inputs takes the columns of all of them, in the order of the inputs: by default those that are
    /// named after the inputs (NAME, or NAME_0, NAME_1, …)
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    inputs: Option<Vec<String>>,
    /// Columns of a table that are copied to the output, such as the target
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    keep: Vec<String>,
    /// Copy the columns that go into the network to the output too, for `fit --also`
    #[arg(long)]
    with_inputs: bool,
    /// Multiply every value by this first, such as 0.00392157 (1/255) for bytes
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// Then subtract this: one number, or one per channel
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "NUMBERS", allow_hyphen_values = true)]
    mean: Vec<f32>,
    /// Then divide by this: one number, or one per channel
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "NUMBERS")]
    std: Vec<f32>,
    /// Rows per batch of the network
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// Runtime: rten, or an installed onnxruntime
    #[arg(long, default_value_t = Runtime::Rten)]
    runtime: Runtime,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    with: WithArg,
}

/// What `features --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    network: String,
    tap: String,
    runtime: String,
    batch: usize,
    scale: f32,
    mean: Vec<f32>,
    std: Vec<f32>,
    input: String,
    output: String,
    rows: usize,
    columns: Vec<String>,
    /// Share of rows whose largest output is at the label, where images bring labels.
    accuracy: Option<f64>,
    seconds: f64,
}

/// What `features --list-taps --json` prints.
#[derive(Serialize)]
struct Places {
    schema: &'static str,
    network: String,
    taps: Vec<Place>,
}

/// A place to take features from.
#[derive(Serialize)]
struct Place {
    tensor: String,
    node: String,
    operator: String,
    shape: Option<Vec<String>>,
    why: String,
    last_hidden: bool,
}

impl Features {
    pub fn run(self, console: &Console) -> Result<()> {
        let network = Network::open(&self.network)?;
        if self.list_taps {
            return list_taps(&network, console);
        }
        let (Some(rows), Some(output)) = (&self.rows, &self.output) else {
            return Err(Error::flag("--output", "is needed, such as -o features.parquet"));
        };
        if output == Path::new("-") && console.json {
            return Err(Error::flag("--json", "needs a file for the features, such as -o features.parquet"));
        }
        let read = [vec![self.network.as_path()], output::with(rows, &self.with.files)].concat();
        output::check(output, &read)?;
        let tap = self.tap.as_deref().map_or_else(|| network.default_tap(), |name| network.tap(name))?;
        console.detail(format_args!("tap: {tap}"));
        let begin = Instant::now();
        let (sink, labels_right) = console.run("features", |tick| {
            let settings = RunSettings { runtime: self.runtime, batch: self.batch, outputs: !self.no_outputs };
            let runner = network.runner(&tap, &settings)?;
            let mut sink = Sink::new(output, &runner);
            let right = match images(rows)? {
                Some(inputs) => self.images(inputs, &runner, &mut sink, tick)?,
                None => self.table(rows, &network, &runner, &mut sink, (console, tick))?,
            };
            Ok::<_, Error>((sink, right))
        })?;
        let classes = sink.classes;
        let (rows_done, columns) = sink.finish()?;
        if let Some(right) = labels_right
            && near_chance(right, rows_done, classes)
        {
            console.warn(format_args!(
                "the network is right on {:.1} % of the images, and chance is {:.1} %: the pixels are probably not on the scale that it was \
                 trained on; pass --scale, --mean and --std as in its training, such as --scale 0.00392157 for bytes",
                100.0 * right as f64 / rows_done as f64,
                100.0 / classes as f64
            ));
        }
        if output == Path::new("-") {
            return Ok(());
        }
        let summary = Summary {
            schema: "stonet.features/1",
            network: self.network.display().to_string(),
            tap: tap.tensor.clone(),
            runtime: self.runtime.to_string(),
            batch: self.batch,
            scale: self.scale,
            mean: self.mean.clone(),
            std: self.std.clone(),
            input: rows.display().to_string(),
            output: output.display().to_string(),
            rows: rows_done,
            columns,
            accuracy: labels_right.map(|right| right as f64 / rows_done as f64),
            seconds: begin.elapsed().as_secs_f64(),
        };
        console.result(&summary, || summary.text())?;
        console.next(self.next(output, &summary.columns));
        Ok(())
    }

    /// The command that fits a head on these features.
    fn next(&self, output: &Path, columns: &[String]) -> String {
        let target = match &self.keep[..] {
            [one] => quoted(one),
            _ if columns.first().is_some_and(|c| c == "label") => "label".into(),
            _ => "TARGET".into(),
        };
        let known = |name: &str| columns.iter().any(|c| c == name);
        let task = match (known("prediction"), known("z0")) {
            (true, _) => "regression --inputs 'f*' --prediction prediction",
            (_, true) => "classification --inputs 'z*'",
            _ => "regression --inputs 'f*'",
        };
        let numbered = |c: &str| c.strip_prefix(['f', 'z']).is_some_and(|n| n.parse::<usize>().is_ok());
        let ours = |c: &str| c == "prediction" || numbered(c);
        let beside: Vec<&str> =
            columns.iter().filter(|c| !self.keep.contains(c) && !ours(c)).map(String::as_str).collect();
        let also = match self.with_inputs && task.starts_with("regression") {
            true => format!(" --also {}", quoted(&beside.join(","))),
            false => String::new(),
        };
        format!("stonet fit {} --task {task}{also} --target {target} -o head.stonet", path(output))
    }

    fn preprocess(&self) -> Preprocess {
        Preprocess { scale: self.scale, mean: self.mean.clone(), std: self.std.clone() }
    }

    /// Images with their labels; how many of these the network gets right.
    fn images(
        &self,
        inputs: Inputs,
        runner: &Runner<'_>,
        sink: &mut Sink<'_>,
        tick: stonet::Ticker<'_>,
    ) -> Result<Option<usize>> {
        for (flag, given) in [
            ("--inputs", self.inputs.is_some()),
            ("--keep", !self.keep.is_empty()),
            ("--with-inputs", self.with_inputs),
            ("--with", !self.with.files.is_empty()),
        ] {
            if given {
                return Err(Error::flag(flag, "is for tables and arrays, and a CIFAR binary brings its labels itself"));
            }
        }
        let inputs = inputs.with_preprocess(&self.preprocess())?;
        let labels = inputs.labels().map(<[usize]>::to_vec);
        let mut right = 0;
        for first in (0..inputs.rows()).step_by(BLOCK) {
            let end = (first + BLOCK).min(inputs.rows());
            // Rows are counted over all images here.
            let said = runner.features(&inputs, first..end, &|done, _| tick(first + done, inputs.rows()))?;
            let mut extra = Vec::new();
            if let Some(labels) = &labels {
                right += hits(&said, &labels[first..end]);
                // An npy file has no columns of integers beside floats.
                let (kind, labels) = match sink.path.extension().is_some_and(|e| e == "npy") {
                    true => (Type::F32, Copied::Numbers(labels[first..end].iter().map(|&l| l as f64).collect())),
                    false => {
                        (Type::Integer, Copied::Text(labels[first..end].iter().map(ToString::to_string).collect()))
                    }
                };
                extra.push((Column::new("label", kind), labels));
            }
            sink.write(&said, extra)?;
        }
        let judged = labels.is_some() && sink.classes > 1;
        Ok(judged.then_some(right))
    }

    /// Rows of a table or an array, a block at a time.
    fn table(
        &self,
        path: &Path,
        network: &Network,
        runner: &Runner<'_>,
        sink: &mut Sink<'_>,
        (console, tick): (&Console, stonet::Ticker<'_>),
    ) -> Result<Option<usize>> {
        let inputs = self.inputs.clone().or_else(|| network.columns());
        let reading = Reading {
            numbers: inputs.clone(),
            text: self.keep.clone(),
            beside: self.with.files.clone(),
            gaps: self.keep.clone(),
            drop_missing: self.missing.drop_missing,
            ..Reading::default()
        };
        let helped = |e: stonet_io::Error| self.hint(e, inputs.is_none());
        let batches = reading.batches(path, BLOCK).map_err(helped)?;
        left_out(batches.left_out(), console);
        let dropping = batches.dropping();
        let total = batches.rows().unwrap_or(0) as usize;
        let axes = batches.row_shape().map(<[usize]>::to_vec);
        if let Some(both) = self.keep.iter().find(|k| inputs.as_ref().is_some_and(|i| i.contains(k))) {
            return Err(Error::flag(
                "--keep",
                format!("names `{both}`, which goes into the network; name other columns"),
            ));
        }
        let mut done = 0;
        let mut kept: Option<Vec<Column>> = None;
        for table in batches {
            let table = table.map_err(helped)?;
            let kept = match &kept {
                Some(kept) => kept,
                None => kept.insert(kept::columns(path, &self.with.files, &self.keep, &table)?),
            };
            let columns = match &inputs {
                Some(names) => table.columns(names)?,
                None => (0..table.names().len()).collect(),
            };
            let names: Vec<String> = columns.iter().map(|&c| table.names()[c].clone()).collect();
            let refused = Error::network_rows(path, done, &names);
            // An array keeps its axes, as long as all of it goes in.
            let whole = axes.clone().filter(|a| inputs.is_none() && a.iter().product::<usize>() == columns.len());
            let row = whole.unwrap_or_else(|| vec![columns.len()]);
            let block = Inputs::table(table.select(&columns).view(), &row).map_err(&refused)?;
            let block = block.with_preprocess(&self.preprocess())?;
            let said = runner.features(&block, 0..table.rows(), &|now, _| tick(done + now, total));
            let said = said.map_err(|e| wrong_shape(e, inputs.is_none(), &refused))?;
            let mut extra = kept::copies(path, kept, &table, done)?;
            if self.with_inputs {
                let columns = names.iter().zip(&columns).filter(|(name, _)| !self.keep.contains(name));
                let number = |&c: &usize| Copied::Numbers(table.select(&[c]).index_axis_move(Axis(1), 0));
                extra.extend(columns.map(|(name, c)| (Column::new(name, Type::F64), number(c))));
            }
            sink.write(&said, extra)?;
            done += table.rows();
            if stopped() {
                return Err(stonet::Error::from(Cancelled::rows(done, total)).into());
            }
        }
        dropped(path, &dropping.so_far(), console);
        Ok(None)
    }

    /// The flags that help where cells do not fit; `all` where every column goes in.
    fn hint(&self, error: stonet_io::Error, all: bool) -> Error {
        let hint = match error.problem() {
            Some(
                Problem::TextColumns { .. }
                | Problem::NotANumber { .. }
                | Problem::ColumnType { wanted: "numbers", .. },
            ) if all => "; --inputs names the columns that go into the network, and --keep those that are copied",
            _ => return hints::missing_values(error.into()),
        };
        Error::Hint { source: Box::new(error), hint: hint.into() }
    }
}

/// Too many columns are often one that does not belong to the network, such as the target.
fn wrong_shape(error: stonet_onnx::Error, all: bool, other: &dyn Fn(stonet_onnx::Error) -> Error) -> Error {
    match error {
        stonet_onnx::Error::InputShape { .. } if all => {
            let why = "if one of the columns is the target or a row's name, --keep COLUMN copies it and does not put it into the \
                       network; --inputs COLUMNS names those that go in";
            Error::Shape { source: Box::new(error), hint: why }
        }
        error => other(error),
    }
}

/// The images and labels of a CIFAR binary; none for tables and arrays, to which idx files belong.
fn images(path: &Path) -> Result<Option<Inputs>> {
    let cifar = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("bin"));
    Ok(cifar.then(|| Inputs::cifar(path)).transpose()?)
}

/// The output with one column per class.
fn class_output(said: &Said) -> Option<&Array2<f32>> {
    said.outputs.iter().map(|(_, z)| z).find(|z| z.ncols() > 1)
}

/// Whether so many rows right are no more than chance: within 4.75 binomial standard deviations (p = 1e-6), or within a
/// twentieth of the way from there to all of them.
fn near_chance(right: usize, rows: usize, classes: usize) -> bool {
    let (n, chance) = (rows as f64, 1.0 / classes.max(1) as f64);
    let noise = 4.75 * (chance * (1.0 - chance) / n).sqrt();
    right as f64 / n < chance + noise.max(0.05 * (1.0 - chance))
}

/// Rows whose largest output stands at the label.
fn hits(said: &Said, labels: &[usize]) -> usize {
    let Some(z) = class_output(said) else { return 0 };
    z.outer_iter().zip(labels).filter(|(row, label)| top_class(row.view()) == **label).count()
}

/// The file of features, begun when the first block tells its columns.
struct Sink<'a> {
    path: &'a Path,
    writer: Option<Writer>,
    columns: Vec<String>,
    /// Columns of the output that has one per class; 0 if there is none.
    classes: usize,
    tensors: Vec<String>,
}

impl<'a> Sink<'a> {
    fn new(path: &'a Path, runner: &Runner<'_>) -> Self {
        Sink { path, writer: None, columns: Vec::new(), classes: 0, tensors: runner.tensors().to_vec() }
    }

    fn write(&mut self, said: &Said, extra: Vec<(Column, Copied)>) -> Result<()> {
        if self.writer.is_none() {
            let columns = columns(said, &extra);
            let (copied, own) = columns.split_at(extra.len());
            if let Some(both) = copied.iter().find(|c| own.iter().any(|o| o.name == c.name)) {
                let why = format!(
                    "copies `{}`, and a column of features has the same name; rename it in the rows",
                    both.name
                );
                return Err(Error::flag("--keep or --with-inputs", why));
            }
            self.classes = class_output(said).map_or(0, Array2::ncols);
            self.columns = columns.iter().map(|c| c.name.clone()).collect();
            self.writer = Some(Writer::create(self.path, columns)?);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let arrays: Vec<Array2<f64>> = [&said.features]
            .into_iter()
            .chain(said.outputs.iter().map(|(_, z)| z))
            .map(|a| a.mapv(f64::from))
            .collect();
        let numbers: Vec<Array1<f64>> =
            arrays.iter().flat_map(|a| a.columns().into_iter().map(|c| c.to_owned()).collect::<Vec<_>>()).collect();
        let copied = extra.iter().map(|(_, copied)| copied.cells());
        let cells: Vec<Cells<'_>> = copied.chain(numbers.iter().map(|c| Cells::Numbers(c.view()))).collect();
        Ok(writer.write(&cells)?)
    }

    fn finish(self) -> Result<(usize, Vec<String>)> {
        let Some(writer) = self.writer else {
            return Err(Error::flag("ROWS", format!("has no rows for {}", self.tensors.join(", "))));
        };
        let rows = writer.rows() as usize;
        writer.finish()?;
        Ok((rows, self.columns))
    }
}

/// Copied columns, then features, then outputs.
fn columns(said: &Said, extra: &[(Column, Copied)]) -> Vec<Column> {
    let mut columns: Vec<Column> = extra.iter().map(|(column, _)| column.clone()).collect();
    columns.extend((0..said.features.ncols()).map(|i| Column::new(format!("f{i}"), Type::F32)));
    let several = said.outputs.len() > 1;
    for (name, values) in &said.outputs {
        let (stem, one) = match several {
            true => (format!("{name}_"), name.clone()),
            false => ("z".to_owned(), "prediction".to_owned()),
        };
        match values.ncols() {
            1 => columns.push(Column::new(one, Type::F32)),
            n => columns.extend((0..n).map(|i| Column::new(format!("{stem}{i}"), Type::F32))),
        }
    }
    columns
}

fn list_taps(network: &Network, console: &Console) -> Result<()> {
    let taps = network.measured_taps();
    let places: Vec<Place> = taps
        .iter()
        .map(|t| Place {
            tensor: t.tensor.clone(),
            node: t.node.clone(),
            operator: t.operator.clone(),
            shape: t.shape.as_ref().map(|s| s.iter().map(ToString::to_string).collect()),
            why: t.why.clone(),
            last_hidden: t.last_hidden,
        })
        .collect();
    let network_name = network.path().display().to_string();
    let places = Places { schema: "stonet.taps/1", network: network_name, taps: places };
    console.result(&places, || {
        if taps.is_empty() {
            return format!("{}: no tap was found; name any tensor by --tap\n", network.path().display());
        }
        taps.iter().map(|t| format!("{t}\n")).collect()
    })?;
    console.next(format_args!("stonet features {} rows.csv --keep TARGET -o features.parquet", path(network.path())));
    Ok(())
}

impl Summary {
    fn text(&self) -> String {
        let accuracy = self.accuracy.map_or(String::new(), |a| format!(", accuracy {:.2} %", 100.0 * a));
        format!(
            "{}: {} rows of {} columns from `{}`{accuracy}, {:.1} s\n",
            self.output,
            self.rows,
            self.columns.len(),
            self.tap,
            self.seconds
        )
    }
}
