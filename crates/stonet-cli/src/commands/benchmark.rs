//! `stonet benchmark`: the paper's protocol and every method on the user's own table.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stonet_compare::Error;
use stonet_compare::benchmark::{self, Plan, Protocol, Report, Set};
use stonet_io::Reading;
use stonet_report::comparison_report;

use crate::args::{Also, MissingArg, ReportArg, SeedArg};
use crate::console::Console;
use crate::error::Result;
use crate::report;
use crate::rows::{Source, hints, number_groups};
use crate::seen::Known;
use crate::stdout::{path, quoted};

/// Compare every interval method on a table of numbers: 40 % train a network, 40 % calibrate, 20 % test
///
/// Each finished split is saved; the same command resumes after an interruption.
#[derive(Args)]
#[command(after_help = "Example: stonet benchmark housing.csv --target price --splits 5")]
pub struct Benchmark {
    /// Table of numbers: CSV (also .gz, or `-`), Parquet, Arrow, npy, `file.npz:member`, safetensors
    data: PathBuf,
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    target: String,
    /// Input columns, by name or pattern; all others but the target if not given
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    inputs: Option<Vec<String>>,
    /// Columns to leave out, such as row numbers
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    exclude: Vec<String>,
    /// Column that names groups of rows, such as subjects: a group is never split, and it is no input
    #[arg(long, value_name = "COLUMN")]
    groups: Option<String>,
    #[command(flatten)]
    missing: MissingArg,
    /// Whether the network's inputs stand beside its features for the methods that see further columns: `inputs` or
    /// `none` [default: inputs, if they are at most 100 and at least 200 rows calibrate]
    #[arg(long, value_enum, value_name = "WHICH", hide_possible_values = true)]
    also: Option<Also>,
    /// Random splits
    #[arg(long, default_value_t = 10)]
    splits: usize,
    /// Coverage level
    #[arg(long, default_value_t = 0.9)]
    level: f64,
    /// Epochs of the networks (the paper's: 5000)
    #[arg(long, default_value_t = 500)]
    epochs: usize,
    #[command(flatten)]
    report: ReportArg,
    #[command(flatten)]
    seed: SeedArg,
    /// Where the journal, table and JSON go
    #[arg(long, default_value = "stonet-out/benchmark")]
    out: PathBuf,
}

impl Benchmark {
    pub fn run(self, console: &Console) -> Result<()> {
        stonet::Level::new(self.level)?;
        report::check(self.report.report.as_deref(), &[&self.data])?;
        if self.epochs == 0 {
            return Err(Error::Range { name: "--epochs", range: "at least 1" }.into());
        }
        let target = std::slice::from_ref(&self.target);
        hints::not_targets("--inputs", self.inputs.as_deref().unwrap_or_default(), target)?;
        let wanted = |inputs: &Vec<String>| inputs.iter().chain([&self.target]).cloned().collect();
        let reading = Reading {
            numbers: self.inputs.as_ref().map(wanted),
            text: self.groups.iter().cloned().collect(),
            exclude: self.exclude.clone(),
            required: target.to_vec(),
            ..Reading::default()
        };
        let read = Source::new(&self.data, &[], self.missing, console).read(reading);
        let (table, _) = read.map_err(|e| hints::text_columns(hints::absent_target(e, target), target))?;
        let data = table.dataset(self.inputs.as_deref(), target, &[])?;
        let groups = self.groups.as_deref().map(|g| table.text(g)).transpose()?.map(number_groups);
        let hashes = stonet_io::regression_hashes(data.x(), None, data.y())?;
        let known = Known::new(hashes, stonet_io::regression_parts(data.x(), None, data.y())?);
        known.warning(groups.is_some(), true).iter().for_each(|w| console.warn(w));
        let name = self.data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let protocol = Protocol { level: self.level, ..Protocol::shipped() };
        let also = self.also.map_or_else(|| protocol.joins_inputs(&data), |also| also == Also::Inputs);
        let set = Set { name: format!("{name} ({})", self.target), data, epochs: self.epochs, groups, also };
        let summaries = console.run("benchmark", |tick| {
            let plan = Plan { protocol: protocol.clone(), splits: self.splits, seed: self.seed.seed };
            benchmark::run(std::slice::from_ref(&set), plan, &self.out, tick)
        })?;
        let summary = &summaries[0];
        if let Some(path) = &self.report.report {
            let settings =
                json!({ "seed": self.seed.seed, "protocol": protocol, "target": self.target, "out": self.out });
            let about = report::about(format!("Methods on {}", summary.set), settings);
            report::write(path, &comparison_report(&report::benchmark(summary), &[], &about), console)?;
        }
        let whole = Report { summary, protocol: &protocol };
        console.publish(&whole, &whole.text(), "benchmark", Vec::new(), &self.out)?;
        let (data, target) = (path(&self.data), quoted(&self.target));
        console.next(format_args!(
            "stonet train {data} --task regression --target {target} -o network.onnx --hold-out validation.csv=0.4 --hold-out test.csv=0.2"
        ));
        Ok(())
    }
}
