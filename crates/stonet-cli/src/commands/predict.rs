//! `stonet predict`: a head on new rows, written as they come, however many there are.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use stonet::Side;
use stonet_io::{Head, Model, ModelScorer, score_file};

use crate::args::{FORMATS, WithArg};
use crate::asked::{self, AskedArgs};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::output;
use crate::stdout::path;

/// Predict new rows: intervals in columns `prediction, lower_90, upper_90`, or classes in columns `class, p_<label>`
///
/// Quantiles stand in columns such as `q05`, and probabilities P(y <= 100) in columns such as `below_100`. Prediction sets
/// stand in columns `set` and `set_size`, bounds of accuracy in `accuracy_lower` and `accuracy_upper`. A head of many labels gives a column `p_<label>` for each.
/// With --rule the last column is `decision`: `answer` or `abstain`. With --explain further columns stand behind all others.
///
/// Columns are found by name: their order does not matter, and other columns are ignored. Files may be larger than
/// memory.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet predict head.stonet new.parquet -o intervals.parquet --level 0.8,0.95 --keep id\n  stonet predict head.stonet new.csv -o risk.csv --quantiles 0.05,0.5,0.95 --below 100\n  stonet predict head.stonet new.csv -o sets.csv --sets --level 0.9\n  stonet predict head.stonet new.csv -o bounds.csv --accuracy --level 0.9\n  stonet predict head.stonet new.csv -o decided.csv --rule rule.json\n  stonet predict head.stonet new.csv -o why.csv --explain\n  cat new.csv | stonet predict head.stonet -"
)]
pub struct Predict {
    /// The head, made by `stonet fit`
    head: PathBuf,
    #[arg(help = format!("Rows to predict. {FORMATS}"))]
    rows: PathBuf,
    /// Where predictions go: .csv, .csv.gz, .parquet, .arrow, .feather, .npy, or `-` for CSV on standard output
    #[arg(short, long, default_value = "-", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    asked: AskedArgs,
    /// Say of every row where its uncertainty comes from, which columns widen its interval, and how strange it is
    ///
    /// `model_share` and `noise_share` add up to 1. `width_ratio` is the row's scale in units of a typical one, and `wide_1`,
    /// `wide_1_factor` and so on name the columns that widen it most. `novelty` is a p-value: below 0.01 for one row of a
    /// hundred that are like the calibration rows. What a head cannot tell is left out, with a note.
    #[arg(long)]
    explain: bool,
    /// Columns of the input to copy in front of the predictions
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    keep: Vec<String>,
    /// Write numbers in single precision
    #[arg(long)]
    single: bool,
    #[command(flatten)]
    with: WithArg,
}

/// What `predict --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    head: String,
    input: String,
    output: String,
    columns: Vec<String>,
    levels: Vec<f64>,
    side: Side,
    joint: bool,
    quantiles: Vec<f64>,
    below: Vec<f64>,
    sets: bool,
    accuracy: bool,
    /// The wish of the rule, where there is one.
    rule: Option<String>,
    single: bool,
    explain: bool,
    /// What the explanation leaves out, and why.
    unexplained: Vec<&'static str>,
    /// Of the fit: where its randomness began, and what its rows were.
    seed: u64,
    fingerprint: String,
    rows: u64,
    seconds: f64,
}

impl Predict {
    pub fn run(self, console: &Console) -> Result<()> {
        let to_screen = self.output == Path::new("-");
        if to_screen && console.json {
            return Err(Error::flag("--json", "needs a file for the predictions, such as -o predictions.csv"));
        }
        let read = [vec![self.head.as_path()], self.asked.files(), output::with(&self.rows, &self.with.files)].concat();
        output::check(&self.output, &read)?;
        let model = Model::load(&self.head)?;
        let npy = self.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        let settings = self.asked.settings(self.single, npy)?;
        let resolved = asked::resolve(&model, &settings)?;
        let mut scorer = ModelScorer::of(&model, &resolved)?;
        if self.explain {
            scorer = scorer.explained(&model, "--explain")?;
            scorer.unexplained().iter().for_each(|why| console.note(format_args!("--explain: {why}")));
        }
        if let Some(both) = self.keep.iter().find(|k| scorer.outputs().iter().any(|o| o.name == **k)) {
            let why = format!("names `{both}`, as one of the columns of predictions is called; rename it in the rows");
            return Err(Error::flag("--keep", why));
        }
        console.detail(format_args!("reads {}", scorer.inputs().join(", ")));
        let begin = Instant::now();
        let rows = console.run("predict", |tick| {
            score_file(&scorer, &self.rows, &self.with.files, &self.output, &self.keep, scorer.batch_rows(), tick)
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        if to_screen {
            return Ok(());
        }
        let [head, input, output] = [&self.head, &self.rows, &self.output].map(|p| p.display().to_string());
        let columns: Vec<String> = self.keep.iter().chain(scorer.outputs().iter().map(|c| &c.name)).cloned().collect();
        let levels = resolved.levels().unwrap_or_default().iter().map(|l| l.get()).collect();
        let summary = Summary {
            schema: "stonet.predict/1",
            head,
            input,
            output,
            columns,
            levels,
            side: settings.side,
            joint: settings.joint,
            quantiles: settings.quantiles.iter().map(|q| q.get()).collect(),
            below: settings.below.clone(),
            sets: settings.sets.is_some(),
            accuracy: settings.accuracy,
            rule: settings.rule.as_ref().map(|saved| saved.rule.want.to_string()),
            single: settings.single,
            explain: self.explain,
            unexplained: scorer.unexplained().to_vec(),
            seed: model.seed,
            fingerprint: model.fingerprint.clone(),
            rows,
            seconds,
        };
        console.result(&summary, || format!("{}: {rows} rows in {seconds:.1} s\n", summary.output))?;
        let head = path(&self.head);
        match &model.head {
            // No monitor takes many labels.
            Head::Labels(_) => console.next(format_args!("stonet evaluate {head} FILE, once the answers are known")),
            _ => {
                console.next(format_args!("stonet monitor {head} {} --unlabelled --state watch.json", path(&self.rows)))
            }
        }
        Ok(())
    }
}
