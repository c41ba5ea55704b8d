//! `stonet train`: a plain network as an ONNX file, so that there is something to post-process.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use clap::Args;
use ndarray::{Array1, Array2};
use rand::seq::SliceRandom;
use serde::Serialize;
use stonet::base::Cancelled;
use stonet::base::streams::train as streams;
use stonet::metrics::{class_scores, rmse};
use stonet::peers::mlp::{EarlyStopping, Loss, Mlp, Training};
use stonet::rows::{Scaling, Standardizer};
use stonet::train::Stop;
use stonet::{Activation, Dataset, Kind, Labels, Seed};
use stonet_compare::files;
use stonet_io::{Cells, Column, ModelColumns, Problem, Reading, Table, Type, Writer};
use stonet_onnx::perceptron;

use crate::args::{FORMATS, MissingArg, SeedArg, Task, WithArg};
use crate::console::{Console, stopped};
use crate::error::{Error, Result};
use crate::output;
use crate::rows::kept::{self, Copied};
use crate::rows::{Source, hints};
use crate::stdout::{path, quoted};

/// Train a plain network on a table and write it as ONNX
///
/// Use the held-out rows to fit and evaluate a head: the network must not have seen them.
#[derive(Args)]
#[command(
    after_help = "Example: stonet train houses.csv --task regression --target price --keep id -o network.onnx --hold-out validation.csv=0.4 --hold-out test.csv=0.2"
)]
pub struct Train {
    #[arg(help = format!("Rows to train on. {FORMATS}"))]
    rows: PathBuf,
    /// What to predict
    #[arg(long, value_enum)]
    task: Task,
    /// The network, an ONNX file
    #[arg(short, long, value_name = "FILE.onnx")]
    output: PathBuf,
    /// Column to predict, or several columns for several targets; classes are numbers or names
    #[arg(long, value_delimiter = ',', default_value = "y", value_name = "COLUMNS")]
    target: Vec<String>,
    /// Input columns, by name or pattern; all others if not given
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    inputs: Option<Vec<String>>,
    /// Columns to leave out, such as row numbers
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    exclude: Vec<String>,
    /// Columns that are no inputs and are copied to the files of --hold-out, such as a row's name or its region
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", requires = "hold_out")]
    keep: Vec<String>,
    /// Hold out a random share of the rows and write them to a file, such as validation.csv=0.4; can be repeated
    #[arg(long, value_name = "FILE=SHARE")]
    hold_out: Vec<HoldOut>,
    /// Number of units in each hidden layer
    #[arg(long, value_delimiter = ',', default_value = "200,50", value_name = "UNITS")]
    hidden: Vec<usize>,
    /// Activation: tanh, sigmoid or relu
    #[arg(long, default_value = "tanh", value_parser = parse_activation)]
    activation: Activation,
    /// Maximum number of epochs
    #[arg(long, default_value_t = 200)]
    epochs: usize,
    /// Rows per step
    #[arg(long, default_value_t = 50)]
    batch_size: usize,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 1e-3)]
    rate: f64,
    /// Weight decay
    #[arg(long, default_value_t = 0.0)]
    weight_decay: f64,
    /// Stop when the loss on a tenth of the rows has not fallen for 20 epochs
    #[arg(long)]
    early_stopping: bool,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    with: WithArg,
}

/// Rows that are kept from the network.
#[derive(Debug, Clone)]
struct HoldOut {
    path: PathBuf,
    share: f64,
}

impl FromStr for HoldOut {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = text.rsplit_once('=').and_then(|(path, share)| Some((path, share.parse::<f64>().ok()?)));
        match parts {
            Some((path, share)) if share > 0.0 && share < 1.0 && !path.is_empty() => {
                Ok(HoldOut { path: path.into(), share })
            }
            _ => Err("write a file and a share between 0 and 1, such as validation.csv=0.4".into()),
        }
    }
}

fn parse_activation(text: &str) -> std::result::Result<Activation, String> {
    serde_json::from_value(text.into())
        .map_err(|_| format!("there is no activation `{text}`; there are tanh, sigmoid, relu"))
}

/// What `train --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    task: &'static str,
    network: String,
    widths: Vec<usize>,
    inputs: Vec<String>,
    targets: Vec<String>,
    classes: Option<Vec<String>>,
    training: Training,
    seed: u64,
    epochs: usize,
    /// On the rows it was trained on, and on those held out: the root mean squared error, or the accuracy.
    scores: Vec<Score>,
    /// Commands that fit a head on the first rows held out, where there are some.
    next: Vec<String>,
    seconds: f64,
}

#[derive(Serialize)]
struct Score {
    rows: usize,
    file: Option<String>,
    rmse: Option<f64>,
    accuracy: Option<f64>,
}

/// A table in its roles.
struct Rows {
    table: Table,
    inputs: Vec<String>,
    x: Array2<f64>,
    target: Target,
    /// Columns that are only copied.
    kept: Vec<(Column, Copied)>,
}

enum Target {
    Numbers(Array2<f64>),
    Classes(Vec<usize>, Labels),
}

impl Train {
    pub fn run(self, console: &Console) -> Result<()> {
        let mut taken = output::with(&self.rows, &self.with.files);
        output::check_named("--output", &self.output, "onnx", "network.onnx", &taken)?;
        for held in &self.hold_out {
            output::check(&held.path, &taken).map_err(|e| match e {
                Error::File(stonet_io::Error::File(file)) => match &file.problem {
                    Problem::OutputIsInput { input } => {
                        let (path, input) = (file.path.display(), input.display());
                        let why = format!("names {path}, which is {input}, read or written already; name another file");
                        Error::flag("--hold-out", why)
                    }
                    _ => Error::File(stonet_io::Error::File(file)),
                },
                e => e,
            })?;
            taken.push(&held.path);
        }
        let held: f64 = self.hold_out.iter().map(|h| h.share).sum();
        if held >= 1.0 {
            return Err(Error::flag("--hold-out", "leaves nothing to train on; make the shares smaller"));
        }
        let begin = Instant::now();
        let rows = self.read(console)?;
        let parts = self.parts(rows.table.rows())?;
        // A file that cannot be written is known before the network is trained.
        let writers = self.hold_out.iter().map(|h| rows.writer(&h.path, &self.target)).collect::<Result<Vec<_>>>()?;
        let training = Training {
            hidden: self.hidden.clone(),
            activation: self.activation,
            loss: if self.task == Task::Regression { Loss::Squared } else { Loss::CrossEntropy },
            epochs: self.epochs,
            batch_size: self.batch_size,
            rate: self.rate,
            weight_decay: self.weight_decay,
            early_stopping: self.early_stopping.then(EarlyStopping::default),
            ..Training::default()
        };
        let data = rows.dataset(&parts[0])?;
        // Classes have no scale.
        let scaling = match &rows.target {
            Target::Numbers(_) => Scaling::fit(&data).map_err(|e| self.refused(e, &rows.inputs, &parts[0]))?,
            Target::Classes(..) => {
                Scaling { x: Standardizer::fit(data.x()), y: Standardizer::identity(data.outputs()) }
            }
        };
        let scaled = scaling.apply(&data).map_err(Error::rows(&self.rows))?;
        let trained = console.run("train", |tick| {
            let mut epoch = 0;
            let mut observer = |_: &stonet::train::Progress<'_>| {
                epoch += 1;
                let go_on = tick(epoch, self.epochs);
                if go_on { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(Stop::Cancel) }
            };
            let fitted = training.fit(&scaled, Seed::new(self.seed.seed).child(streams::NETWORK), &mut observer);
            fitted.map_err(Error::rows(&self.rows))
        })?;
        if stopped() {
            let unit = "epochs";
            return Err(stonet::Error::from(Cancelled { done: self.epochs, total: self.epochs, unit }).into());
        }
        let targets = matches!(rows.target, Target::Numbers(_)).then_some(&scaling.y);
        let head = perceptron(&trained.network, &scaling.x, targets, &rows.inputs)?;
        for (writer, part) in writers.into_iter().zip(&parts[1..]) {
            rows.write(writer, part)?;
        }
        files::write_bytes(&self.output, &head.to_onnx())?;
        let paths = [None].into_iter().chain(self.hold_out.iter().map(|h| Some(h.path.as_path())));
        let scores = paths.zip(&parts).map(|(path, part)| rows.score(&trained.network, &scaling, part, path));
        let summary = Summary {
            schema: "stonet.train/1",
            task: if self.task == Task::Regression { "regression" } else { "classification" },
            network: self.output.display().to_string(),
            widths: trained.network.widths(),
            inputs: rows.inputs.clone(),
            targets: self.target.clone(),
            classes: rows.classes().map(|l| l.names().to_vec()),
            seed: self.seed.seed,
            epochs: trained.epochs,
            scores: scores.collect::<Result<_>>()?,
            next: self.next(&rows, parts.get(1).map_or(0, Vec::len)),
            seconds: begin.elapsed().as_secs_f64(),
            training,
        };
        console.result(&summary, || summary.text())?;
        match &summary.next[..] {
            [] => console.next(format_args!(
                "stonet train … --hold-out validation.csv=0.4, which keeps rows to fit a head on; or stonet features {} \
                 with rows that are not among these",
                path(&self.output)
            )),
            commands => console.next(commands.join("\n      ")),
        }
        Ok(())
    }

    /// Commands that fit a head on the first rows held out; the network's inputs stand beside its features where they
    /// join by default.
    fn next(&self, rows: &Rows, held: usize) -> Vec<String> {
        let Some(file) = self.hold_out.first() else { return Vec::new() };
        let (network, rows_of, targets) = (path(&self.output), path(&file.path), quoted(&self.target.join(",")));
        if self.task == Task::Classification {
            return vec![
                format!("stonet features {network} {rows_of} --keep {targets} -o features.parquet"),
                format!(
                    "stonet fit features.parquet --task classification --inputs 'z*' --target {targets} -o head.stonet"
                ),
            ];
        }
        let joins = Kind::default().joins_inputs(rows.inputs.len(), held);
        let with = if joins { " --with-inputs" } else { "" };
        let also = if joins { format!(" --also {}", quoted(&rows.inputs.join(","))) } else { String::new() };
        // Several outputs are called z0, z1, ….
        let prediction = if self.target.len() == 1 { "prediction" } else { "'z*'" };
        vec![
            format!("stonet features {network} {rows_of} --keep {targets}{with} -o features.parquet"),
            format!(
                "stonet fit features.parquet --task regression --inputs 'f*'{also} --prediction {prediction} --target {targets} -o head.stonet"
            ),
        ]
    }

    /// What the mathematics refuses, by the names of columns and the rows of the file.
    fn refused(&self, mut error: stonet::Error, inputs: &[String], rows: &[usize]) -> Error {
        if let stonet::Error::Magnitude { row, .. } = &mut error {
            *row = rows[*row];
        }
        let (features, targets) = (inputs.to_vec(), self.target.clone());
        Error::columns(&self.rows, &ModelColumns { features, targets, ..ModelColumns::default() })(error)
    }

    fn read(&self, console: &Console) -> Result<Rows> {
        hints::not_targets("--inputs", self.inputs.as_deref().unwrap_or_default(), &self.target)?;
        let (text, numbers) = match self.task {
            Task::Regression => (Vec::new(), self.target.clone()),
            Task::Classification => (self.target.clone(), Vec::new()),
        };
        let named =
            |k: &&String| numbers.contains(k) || text.contains(k) || self.inputs.iter().flatten().any(|i| i == *k);
        if let Some(both) = self.keep.iter().find(named) {
            return Err(Error::flag(
                "--keep",
                format!("names `{both}`, which is an input or a target; name other columns"),
            ));
        }
        let text = [text, self.keep.clone()].concat();
        let wanted = self.inputs.as_ref().map(|inputs| inputs.iter().chain(&numbers).cloned().collect());
        let reading = Reading {
            numbers: wanted,
            text,
            exclude: self.exclude.clone(),
            required: numbers.clone(),
            gaps: self.keep.clone(),
            ..Reading::default()
        };
        let read = Source::new(&self.rows, &self.with.files, self.missing, console).read(reading);
        let (table, _) = read.map_err(|e| hints::text_columns(hints::absent_target(e, &self.target), &numbers))?;
        let mut columns: Vec<usize> = match &self.inputs {
            Some(patterns) => table.columns(patterns)?,
            None => (0..table.names().len()).collect(),
        };
        let targets = table.columns(&numbers)?;
        columns.retain(|c| !targets.contains(c));
        if columns.is_empty() {
            return Err(Problem::NoInputs.of(self.rows.clone()).into());
        }
        let target = match (self.task, &self.target[..]) {
            (Task::Regression, _) => Target::Numbers(table.select(&targets)),
            (Task::Classification, [one]) => {
                let texts = table.text(one)?;
                let labels = Labels::learn(texts, None).map_err(Error::rows(&self.rows))?;
                Target::Classes(labels.encode(texts).map_err(Error::rows(&self.rows))?, labels)
            }
            _ => return Err(Error::flag("--target", "names several columns, and there is one class per row")),
        };
        let inputs = columns.iter().map(|&c| table.names()[c].clone()).collect();
        let kept = kept::columns(&self.rows, &self.with.files, &self.keep, &table)?;
        let kept = kept::copies(&self.rows, &kept, &table, 0)?;
        Ok(Rows { x: table.select(&columns), inputs, target, kept, table })
    }

    /// Rows to train on, then those held out, each in the order of the file.
    fn parts(&self, rows: usize) -> Result<Vec<Vec<usize>>> {
        let mut order: Vec<usize> = (0..rows).collect();
        order.shuffle(&mut Seed::new(self.seed.seed).child(streams::HOLD_OUT).rng());
        let mut held = Vec::new();
        for h in &self.hold_out {
            let count = ((h.share * rows as f64).round() as usize).min(order.len());
            held.push(order.split_off(order.len() - count));
        }
        let mut parts: Vec<Vec<usize>> = [order].into_iter().chain(held).collect();
        parts.iter_mut().for_each(|p| p.sort_unstable());
        if parts.iter().any(Vec::is_empty) {
            return Err(Error::flag(
                "--hold-out",
                format!("leaves a part of the {rows} rows empty; change the shares"),
            ));
        }
        Ok(parts)
    }
}

impl Rows {
    fn classes(&self) -> Option<&Labels> {
        match &self.target {
            Target::Numbers(_) => None,
            Target::Classes(_, labels) => Some(labels),
        }
    }

    fn dataset(&self, rows: &[usize]) -> Result<Dataset> {
        let pick = |a: &Array2<f64>| a.select(ndarray::Axis(0), rows);
        let data = match &self.target {
            Target::Numbers(y) => Dataset::new(pick(&self.x), pick(y)),
            Target::Classes(c, labels) => {
                let classes: Vec<usize> = rows.iter().map(|&r| c[r]).collect();
                Dataset::classes(pick(&self.x), &classes, labels.classes())
            }
        };
        data.map_err(Error::rows(self.table.source()))
    }

    /// A file for copied columns, inputs and targets.
    fn writer(&self, path: &Path, targets: &[String]) -> Result<Writer> {
        let number = |name: &String| Column::new(name, Type::F64);
        let target = |name: &String| match self.target {
            Target::Numbers(_) => number(name),
            Target::Classes(..) => Column::new(name, Type::Text),
        };
        let copied = self.kept.iter().map(|(column, _)| column.clone());
        let columns = copied.chain(self.inputs.iter().map(number)).chain(targets.iter().map(target)).collect();
        Ok(Writer::create(path, columns)?)
    }

    /// Writes these rows.
    fn write(&self, mut writer: Writer, rows: &[usize]) -> Result<()> {
        let column = |a: &Array2<f64>, j: usize| rows.iter().map(|&r| a[[r, j]]).collect::<Array1<f64>>();
        let mut numbers: Vec<Array1<f64>> = (0..self.x.ncols()).map(|j| column(&self.x, j)).collect();
        let mut words = Vec::new();
        match &self.target {
            Target::Numbers(y) => numbers.extend((0..y.ncols()).map(|j| column(y, j))),
            Target::Classes(c, labels) => words = rows.iter().map(|&r| labels.names()[c[r]].clone()).collect(),
        }
        let copied: Vec<Copied> = self.kept.iter().map(|(_, copied)| copied.select(rows)).collect();
        let mut cells: Vec<Cells<'_>> = copied.iter().map(Copied::cells).collect();
        cells.extend(numbers.iter().map(|c| Cells::Numbers(c.view())));
        if !words.is_empty() {
            cells.push(Cells::Text(&words));
        }
        writer.write(&cells)?;
        Ok(writer.finish()?)
    }

    fn score(&self, network: &Mlp, scaling: &Scaling, rows: &[usize], path: Option<&Path>) -> Result<Score> {
        let data = self.dataset(rows)?;
        let out = network.predict(scaling.x.apply(data.x())?.view())?;
        let file = path.map(|p| p.display().to_string());
        let score = Score { rows: rows.len(), file, rmse: None, accuracy: None };
        Ok(match &self.target {
            Target::Numbers(_) => Score { rmse: Some(rmse(scaling.y.undo(out.view()).view(), data.y())?), ..score },
            Target::Classes(c, _) => {
                let labels: Vec<usize> = rows.iter().map(|&r| c[r]).collect();
                let p = stonet::network::Likelihood::Multinomial.mean(out);
                Score { accuracy: Some(class_scores(p.view(), &labels, 15)?.accuracy), ..score }
            }
        })
    }
}

impl Summary {
    fn text(&self) -> String {
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        let mut text = format!(
            "{}: a network {} after {} epochs, {:.1} s\n",
            self.network,
            widths.join("-"),
            self.epochs,
            self.seconds
        );
        for s in &self.scores {
            let of = s.file.as_ref().map_or("trained on".to_owned(), |f| format!("held out, in {f}"));
            let score = match (s.rmse, s.accuracy) {
                (Some(e), _) => format!("root mean squared error {e:.4}"),
                (_, Some(a)) => format!("accuracy {:.2} %", 100.0 * a),
                _ => String::new(),
            };
            text += &format!("{} rows {of}: {score}\n", s.rows);
        }
        text
    }
}
