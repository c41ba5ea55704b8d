//! `stonet monitor`: a head after its deployment, row by row: have errors, targets or inputs changed?

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use stonet::monitor::{ClassMonitor, Family, Monitor as State, MonitorSettings, RegressionMonitor};
use stonet::{FittedClassifier, FittedRegressor, InputKind, Labels, Level, Seed};
use stonet_io::{Head, Model, ModelColumns, MonitorState, default_level};
use stonet_report::{MonitorNames, MonitorReport, monitor_report};

use crate::args::{FORMATS, MissingArg, ReportArg, SeedArg, WithArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{Batch, ClassFile, RegressionFile, Source};
use crate::state::Held;
use crate::stdout::path;
use crate::{Outcome, asked, output, report};

/// Watch a head after its deployment: raise an alarm when new rows are no longer like the calibration rows
///
/// If nothing has changed, an alarm is ever raised with probability at most --alarm, however many rows come and however
/// often you look. With answers the alarm is about errors and targets; the inputs are watched beside it. With --unlabelled
/// it is about the inputs: their distance, the predictions, every column. Files may be larger than memory.
///
/// The exit code is 1 if an alarm has been raised. --state keeps what has been seen, so that the next day's rows continue
/// where this run ends; the result is that of one run over all rows.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet monitor head.stonet may.csv --state watch.json\n  stonet monitor head.stonet june.csv --state watch.json --report watch.html\n  stonet monitor head.stonet live.parquet --unlabelled --state inputs.json"
)]
pub struct Monitor {
    /// The head, made by `stonet fit`
    head: PathBuf,
    #[arg(help = format!("New rows in the order in which they came. {FORMATS}"))]
    rows: PathBuf,
    /// Columns with the true values, if their names differ from those of the fit
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS", conflicts_with = "unlabelled")]
    target: Option<Vec<String>>,
    /// The rows have no answers: watch the inputs alone
    #[arg(long)]
    unlabelled: bool,
    /// File that keeps what has been seen; a new one is begun if it does not exist
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Probability that an alarm is ever raised although nothing has changed [default: 0.01, or that of the state]
    #[arg(long, value_name = "PROBABILITY")]
    alarm: Option<f64>,
    /// Coverage of the intervals or prediction sets that is followed; that of the fit, or of the state, if not given
    #[arg(long)]
    level: Option<f64>,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    report: ReportArg,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    with: WithArg,
}

/// What `monitor --json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    head: String,
    input: String,
    state: Option<String>,
    version: &'static str,
    /// Which family the alarm is about.
    family: Family,
    alarmed: bool,
    verdict: String,
    report: Option<String>,
    monitor: &'a MonitorReport,
}

impl Monitor {
    pub fn run(self, console: &Console) -> Result<Outcome> {
        let read = [vec![self.head.as_path()], output::with(&self.rows, &self.with.files)].concat();
        report::check(self.report.report.as_deref(), &read)?;
        if let Some(state) = &self.state {
            output::check(state, &read)?;
        }
        let mut model = Model::load(&self.head)?;
        let identity = model.identity()?;
        asked::rename_targets(&mut model, self.target.as_deref())?;
        // Held to the end, so that no other process goes on with the same state.
        let mut held = self.state.as_deref().map(|p| Held::new(p, &identity, self.alarm, self.level)).transpose()?;
        let earlier = held.as_mut().and_then(|h| h.earlier.take());
        let state = match &model.head {
            Head::Regression(head) => self.regression(&model, head, earlier, console)?,
            Head::Classification(head) => self.classification(&model, head, earlier, console)?,
            Head::Labels(_) => {
                return Err(Error::flag(
                    "HEAD",
                    "is one of many labels, which cannot be watched yet; watch heads of one label each",
                ));
            }
        };
        if let Some(path) = &self.state {
            MonitorState { head: identity, monitor: state.clone() }.save(path)?;
        }
        self.tell(&model, &state, console)
    }

    fn settings(&self, model: &Model) -> Result<MonitorSettings> {
        let level = match self.level {
            Some(level) => Level::new(level)?,
            None => model.level.unwrap_or_else(default_level),
        };
        let new = MonitorSettings::new(level);
        Ok(MonitorSettings { alarm: self.alarm.unwrap_or(new.alarm), seed: Seed::new(self.seed.seed), ..new })
    }

    fn source(&self, console: &Console) -> Source {
        Source::new(&self.rows, &self.with.files, self.missing, console)
    }

    /// The columns that are read.
    fn columns(&self, model: &Model) -> ModelColumns {
        let mut columns = model.columns.clone();
        if self.unlabelled {
            columns.targets.clear();
        }
        columns
    }

    fn regression(
        &self,
        model: &Model,
        head: &FittedRegressor,
        earlier: Option<State>,
        console: &Console,
    ) -> Result<State> {
        let baseline = model.baseline.as_ref();
        let mut watch = match earlier {
            Some(state) => RegressionMonitor::resume(head, baseline, state)?,
            None => RegressionMonitor::new(head, baseline, self.settings(model)?)?,
        };
        let (source, columns) = (self.source(console), self.columns(model));
        let reading = RegressionFile::reading_like(&columns, None);
        source.in_batches(reading, model, 0, |batch: &Batch<'_>| {
            let mut one = |columns: &ModelColumns| {
                let rows = RegressionFile::of(&source, columns.clone(), batch.table, &batch.rows())?;
                let numbers = rows.numbers(head)?;
                let new = rows.new_rows()?;
                let new = match &numbers {
                    Some(numbers) => new.with_within(numbers)?,
                    None => new,
                };
                let y = (!self.unlabelled).then(|| rows.y.view());
                watch.add(&new, y).map_err(Error::columns(&self.rows, &model.columns))
            };
            one(&columns).map_err(|e| e.after_rows(batch.first))
        })?;
        Ok(watch.state().clone())
    }

    fn classification(
        &self,
        model: &Model,
        head: &FittedClassifier,
        earlier: Option<State>,
        console: &Console,
    ) -> Result<State> {
        let (Some(labels), Some(kind)) = (&model.labels, model.kind) else {
            return Err(Error::flag("HEAD", "has no classes; fit it again"));
        };
        let (baseline, logits) = (model.baseline.as_ref(), !model.columns.logits.is_empty());
        let mut watch = match earlier {
            Some(state) => ClassMonitor::resume(head, baseline, logits, state)?,
            None => ClassMonitor::new(head, baseline, logits, self.settings(model)?)?,
        };
        let (source, columns) = (self.source(console), self.columns(model));
        source.in_batches(ClassFile::reading_like(&columns, None), model, 0, |batch: &Batch<'_>| {
            let rows = self.class_rows(&source, model, (kind, labels), batch)?;
            let known = (!self.unlabelled).then_some(&rows.labels[..]);
            let added = rows.inputs().and_then(|inputs| watch.add(&inputs, known).map_err(Error::rows(&self.rows)));
            added.map_err(|e| e.after_rows(batch.first))
        })?;
        Ok(watch.state().clone())
    }

    /// The rows of a batch, with or without their classes.
    fn class_rows(
        &self,
        source: &Source,
        model: &Model,
        (kind, labels): (InputKind, &Labels),
        batch: &Batch<'_>,
    ) -> Result<ClassFile> {
        let of = if self.unlabelled { ClassFile::unlabelled } else { ClassFile::known };
        of(source, &model.columns, kind, labels, batch.table, &batch.rows()).map_err(|e| e.after_rows(batch.first))
    }

    /// The page, the result, and whether there is an alarm.
    fn tell(&self, model: &Model, state: &State, console: &Console) -> Result<Outcome> {
        let family = if self.unlabelled { Family::Inputs } else { Family::Answers };
        let names = MonitorNames { columns: model.columns.watched(), targets: model.columns.targets.clone() };
        let told = MonitorReport::new(state, &names);
        let alarmed = told.family(family).alarm_row.is_some();
        let [head, input] = [&self.head, &self.rows].map(|p| p.display().to_string());
        if let Some(path) = &self.report.report {
            let settings = json!({ "head": head, "rows": input, "alarm": told.alarm, "level": told.level });
            let title = format!("{} on {}", report::file_name(&self.head), report::file_name(&self.rows));
            report::write(path, &monitor_report(&told, family, &report::about(title, settings)), console)?;
        }
        let shown = |p: &PathBuf| p.display().to_string();
        let summary = Summary {
            schema: "stonet.monitor/1",
            head,
            input,
            state: self.state.as_ref().map(shown),
            version: env!("CARGO_PKG_VERSION"),
            family,
            alarmed,
            verdict: told.verdict(family),
            report: self.report.report.as_ref().map(shown),
            monitor: &told,
        };
        console.result(&summary, || told.text(family))?;
        let (head, state) = (path(&self.head), self.state.as_deref().map_or("watch.json".into(), path));
        match (alarmed, family) {
            (false, _) => console.next(format_args!("stonet monitor {head} later.csv --state {state}")),
            (true, Family::Answers) => {
                console.next(format_args!("stonet evaluate {head} {} --report report.html", path(&self.rows)))
            }
            (true, _) => console.next(format_args!("stonet evaluate {head} FILE, once the answers are known")),
        }
        Ok(if alarmed { Outcome::Missed } else { Outcome::Done })
    }
}
