//! `stonet compare`: every method on the user's own validation and test rows.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use stonet::{ClassMethod, Level, Overlap};
use stonet_compare::benchmark::compare_intervals;
use stonet_compare::classes::{TestRows, compare, compare_sets};
use stonet_io::Beside;
use stonet_report::{Comparison, comparison_report};

use crate::args::{ColumnArgs, FORMATS, ReportArg, SeedArg, Task};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{ClassFile, Part, RegressionFile, Source};
use crate::seen::{Known, SeenArg};
use crate::stdout::path;
use crate::{output, report};

/// Compare every method on rows that the network was not trained on: fit on the validation rows, judge on the test rows
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet compare validation.parquet test.parquet --task regression --inputs 'f*' --prediction prediction --target price\n  stonet compare validation.csv test.csv --task classification --inputs 'z*'\n  stonet compare outputs.csv.gz --task classification --inputs 'z*' --split-column split --json"
)]
pub struct Compare {
    #[arg(help = format!("Rows to fit on. {FORMATS}"))]
    validation: PathBuf,
    /// Rows to judge on; not needed with --split-column
    #[arg(required_unless_present = "split_column")]
    test: Option<PathBuf>,
    /// What to predict
    #[arg(long, value_enum)]
    task: Task,
    /// Column that tells validation rows (0 or `validation`) from test rows (1 or `test`), if one file has both
    #[arg(long, value_name = "COLUMN", conflicts_with = "test")]
    split_column: Option<String>,
    /// Methods to compare, by name, such as stack,split-conformal or temperature,stack; all if not given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    methods: Vec<String>,
    /// Regression, and classification with --sets: coverage level [default: 0.9]
    #[arg(long)]
    level: Option<f64>,
    /// Classification: also compare prediction sets (lac, aps, raps, saps by cv+) of the default probabilities, which
    /// takes six more fits of them
    #[arg(long)]
    sets: bool,
    /// Another file with the same rows as the test file, as --with for the validation file
    #[arg(long, value_name = "FILE")]
    test_with: Vec<Beside>,
    /// Folder for the table and the JSON; only printed if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    seen: SeenArg,
    #[command(flatten)]
    report: ReportArg,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// What `compare --json` prints.
#[derive(Serialize)]
struct Shown<'a, T> {
    #[serde(flatten)]
    compared: &'a T,
    /// Test rows that are among the validation rows.
    seen: Overlap,
}

impl Compare {
    pub fn run(self, console: &Console) -> Result<()> {
        let mut read = output::with(&self.validation, &self.columns.with.files);
        read.extend(self.test.iter().flat_map(|test| output::with(test, &self.test_with)));
        report::check(self.report.report.as_deref(), &read)?;
        match self.task {
            Task::Regression => self.regression(console),
            Task::Classification => self.classification(console),
        }
    }

    /// Where validation and test rows come from.
    fn sources(&self, console: &Console) -> Result<(Source, Source)> {
        let with = &self.columns.with.files;
        let validation = Source::new(&self.validation, with, self.columns.missing, console);
        match (&self.split_column, &self.test) {
            (Some(column), _) => {
                let part = |part| Source { part: Some((column.clone(), part)), ..validation.clone() };
                Ok((part(Part::Validation), part(Part::Test)))
            }
            (None, Some(test)) => Ok((validation, Source::new(test, &self.test_with, self.columns.missing, console))),
            (None, None) => Err(Error::flag("TEST", "must be a file, or give --split-column")),
        }
    }

    fn regression(&self, console: &Console) -> Result<()> {
        if self.sets {
            return Err(Error::flag("--sets", "is for --task classification"));
        }
        let level = self.level.map_or_else(|| Ok(stonet_io::default_level()), Level::new)?;
        if self.columns.target.len() > 1 {
            return Err(Error::flag("--target", "names several columns; compare one target at a time"));
        }
        let (validation, test) = self.sources(console)?;
        let rows = RegressionFile::read(&validation, &self.columns)?;
        let test = RegressionFile::like(&test, &rows.columns)?;
        let known = Known::new(rows.hashes()?, rows.parts()?);
        known.warning(rows.groups.is_some(), true).iter().for_each(|w| console.warn(w));
        let seen = self.overlap(&known, &test.hashes()?, console)?;
        let (calibration, new) = (rows.calibration()?, test.new_rows()?);
        let wrong = Error::columns(self.test.as_ref().unwrap_or(&self.validation), &test.columns);
        new.check_values(test.y.view()).map_err(wrong)?;
        let compared = console.run("compare", |tick| {
            let (seed, also) = (self.seed.seed, rows.columns.also);
            compare_intervals(&calibration, (new, test.y.view()), also, &self.methods, level, seed, tick)
        })?;
        self.show(console, &compared, &compared.text(), (report::intervals(&compared), &[]), seen)
    }

    fn classification(&self, console: &Console) -> Result<()> {
        if self.level.is_some() && !self.sets {
            return Err(Error::flag("--level", "is for --task regression or --sets"));
        }
        let level = self.level.map_or_else(|| Ok(stonet_io::default_level()), Level::new)?;
        let named = |name: &String| name.parse::<ClassMethod>();
        let methods = self.methods.iter().map(named).collect::<stonet::Result<Vec<_>>>()?;
        let (validation, test) = self.sources(console)?;
        let rows = ClassFile::read(&validation, &self.columns, Some(&test))?;
        rows.warnings.iter().for_each(|w| console.warn(w));
        let test = ClassFile::like(&test, &rows.columns, rows.kind, &rows.classes)?;
        let known = Known::new(rows.hashes.clone(), Vec::new());
        known.warning(false, false).iter().for_each(|w| console.warn(w));
        let seen = self.overlap(&known, &test.hashes, console)?;
        let calibration = rows.calibration()?;
        let all = || ClassMethod::compared(calibration.classes(), rows.features().is_some());
        let methods = if methods.is_empty() { all() } else { methods };
        let judged = TestRows { inputs: test.inputs()?, labels: &test.labels };
        let (names, seed) = (rows.classes.names(), self.seed.seed);
        let mut compared = console.run("compare", |tick| compare(&calibration, judged, names, &methods, seed, tick))?;
        if self.sets {
            let sets = console.run("sets", |tick| compare_sets(&calibration, judged, names, level, seed, tick))?;
            compared.sets = Some(sets);
        }
        let sets: Vec<Comparison> = compared.sets.iter().map(|sets| report::sets(sets, compared.test_rows)).collect();
        self.show(console, &compared, &compared.text(), (report::classes(&compared), &sets), seen)
    }

    /// How many test rows are among the validation rows, refused where there are too many.
    fn overlap(&self, validation: &Known, test: &[u64], console: &Console) -> Result<Overlap> {
        let overlap = validation.set().overlap(test);
        self.seen.check(Some(&overlap), self.test.as_ref().unwrap_or(&self.validation), console)?;
        Ok(overlap)
    }

    fn show<T: Serialize>(
        &self,
        console: &Console,
        compared: &T,
        text: &str,
        (mut table, further): (Comparison, &[Comparison]),
        seen: Overlap,
    ) -> Result<()> {
        let sentence = stonet_report::overlap_sentence(Some(&seen));
        table.lead += &format!(" {sentence}");
        let (text, compared) = (format!("{text}\n{sentence}\n"), Shown { compared, seen });
        if let Some(path) = &self.report.report {
            let settings = json!({ "seed": self.seed.seed, "validation": self.validation, "test": self.test });
            let about = report::about(format!("Methods on {}", self.validation.display()), settings);
            report::write(path, &comparison_report(&table, further, &about), console)?;
        }
        match &self.out {
            Some(out) => console.publish(&compared, &text, "compare", Vec::new(), out),
            None => console.result(&compared, || text),
        }?;
        let flag = if self.task == Task::Regression { "regression --interval" } else { "classification --method" };
        let rows = path(&self.validation);
        console.next(format_args!("stonet fit {rows} --task {flag} NAME … -o head.stonet, with the same columns"));
        Ok(())
    }
}
