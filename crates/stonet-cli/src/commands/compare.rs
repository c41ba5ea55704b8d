//! `stonet compare`: every calibration method on the user's own validation and test rows.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stonet::{ClassMethod, ClassRows, InputKind};
use stonet_repro::calibration::{TestRows, compare};
use stonet_repro::{Error, Result};

use super::{on_threads, publish, say};
use crate::class_data::{ClassColumns, ClassData};
use crate::progress;

/// Compare every method on rows that the network was not trained on: fit on the validation rows, judge on the test rows
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet compare validation.csv test.csv --task classification --inputs 'z*'\n  stonet compare outputs.csv.gz --task classification --inputs 'z*' --split-column split --json"
)]
pub struct Compare {
    /// Rows to fit on: CSV (also .gz, or `-`), Parquet, Arrow, npy, `file.npz:member`, safetensors
    validation: PathBuf,
    /// Rows to judge on; not needed with --split-column
    #[arg(required_unless_present = "split_column")]
    test: Option<PathBuf>,
    /// What is predicted
    #[arg(long, value_enum)]
    task: Task,
    /// Column with the true classes: numbers or names
    #[arg(long, default_value = "y", value_name = "COLUMN")]
    target: String,
    /// The network's outputs, by name or pattern, one column per class; all other columns if not given
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    inputs: Option<Vec<String>>,
    /// What these outputs are: logits, log-probabilities, probabilities, or features (the last hidden layer)
    #[arg(long, default_value_t = InputKind::Logits, value_name = "KIND")]
    kind: InputKind,
    /// Last-hidden-layer features beside the logits, by name or pattern, for the methods that look at them
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    features: Option<Vec<String>>,
    /// Column that says which rows validate (0 or `validation`) and which test (1 or `test`), where one file has both
    #[arg(long, value_name = "COLUMN", conflicts_with = "test")]
    split_column: Option<String>,
    /// Methods to compare, by name; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    methods: Option<Vec<ClassMethod>>,
    /// Root of all randomness; results depend on it alone
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; all cores if not given
    #[arg(long)]
    jobs: Option<usize>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Folder for the table and the JSON; only printed if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What a comparison is about.
#[derive(Clone, Copy, ValueEnum)]
enum Task {
    /// Calibrated class probabilities
    Classification,
}

impl Compare {
    pub fn run(self) -> Result<()> {
        let Task::Classification = self.task;
        let columns = ClassColumns {
            target: self.target.clone(),
            inputs: self.inputs.clone(),
            kind: self.kind,
            features: self.features.clone(),
        };
        let data = match (&self.split_column, &self.test) {
            (Some(column), _) => ClassData::read_split(&self.validation, column, &columns)?,
            (None, Some(test)) => ClassData::read(&self.validation, test, &columns)?,
            (None, None) => return Err(Error::Range { name: "TEST", range: "a file, or give --split-column" }),
        };
        let named = |source| Error::File { path: self.validation.clone(), source };
        let rows = ClassRows::new(data.validation.inputs()?, &data.validation.labels, data.classes.classes())
            .map_err(named)?;
        let test = TestRows { inputs: data.test.inputs()?, labels: &data.test.labels };
        let methods = self.methods.clone().unwrap_or_else(|| ClassMethod::ALL.to_vec());
        let bar = progress::bar("compare");
        let tick = progress::ticker(&bar);
        let compared =
            on_threads(self.jobs, || compare(&rows, test, data.classes.names(), &methods, self.seed, &tick))?;
        bar.finish_and_clear();
        match &self.out {
            Some(out) => publish(&compared, &compared.text(), "compare", Vec::new(), out, self.json),
            None if self.json => say(&super::pretty(&compared)),
            None => say(&compared.text()),
        }
    }
}
