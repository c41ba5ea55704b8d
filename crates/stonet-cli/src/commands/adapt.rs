//! `stonet adapt`: a head for rows from elsewhere than its calibration rows, without answers of them.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use stonet::classification::LabelShift;
use stonet::conformal::Ratio;
use stonet::regression::{Adapt as Adaptation, Adapted};
use stonet::{FittedClassifier, FittedRegressor, Level, Seed};
use stonet_io::{Head, Model, ModelColumns, default_level};
use stonet_report::whole;

use crate::args::{FORMATS, MissingArg, SeedArg, WithArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::output;
use crate::rows::{ClassFile, RegressionFile, Source};

/// Adapt a head to new rows without answers that are unlike its calibration rows
///
/// Intervals: the inputs of new rows are distributed differently, and y given the inputs is as before (covariate shift).
/// Calibration rows then count by the ratio of densities w(x), which is estimated by a sparse logistic regression or given by
/// --tilt. A row too unlike the calibration rows has an infinite interval. Class probabilities: classes have other shares, and
/// inputs given the class are as before (label shift); the shares are estimated from the new rows.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet fit validation.csv --task regression --prediction prediction --target price --keep-rows -o head.stonet\n  stonet adapt head.stonet south.csv -o south.stonet\n  stonet adapt head.stonet south.csv --rows validation.csv -o south.stonet\n  stonet adapt spam.stonet july.csv -o july.stonet"
)]
pub struct Adapt {
    /// The head, made by `stonet fit`
    head: PathBuf,
    #[arg(help = format!("New rows; answers are not read. {FORMATS}"))]
    new: PathBuf,
    /// The adapted head, a file that ends in .stonet
    #[arg(short, long, value_name = "HEAD2")]
    output: PathBuf,
    /// The calibration rows with their answers, if the head does not keep them (`fit --keep-rows`); for class probabilities, if
    /// the head does not know the shares of its classes
    #[arg(long, value_name = "CALIBRATION")]
    rows: Option<PathBuf>,
    /// Regression: the known ratio of densities exp(sum of weight * column), such as x1=0.5,x3=-1; estimated if not given
    #[arg(long, value_delimiter = ',', value_name = "COLUMN=WEIGHT", allow_hyphen_values = true)]
    tilt: Vec<String>,
    /// Regression: level at which infinite intervals are counted; that of the fit if not given
    #[arg(long)]
    level: Option<f64>,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    with: WithArg,
}

/// What `adapt --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    head: String,
    input: String,
    rows: Option<String>,
    output: String,
    version: &'static str,
    seed: u64,
    /// `covariate` or `label`.
    shift: &'static str,
    adapted: Value,
    guarantee: String,
    #[serde(skip)]
    lines: String,
}

impl Adapt {
    pub fn run(self, console: &Console) -> Result<()> {
        let mut read = [vec![self.head.as_path()], output::with(&self.new, &self.with.files)].concat();
        read.extend(self.rows.as_deref());
        output::check_named("--output", &self.output, "stonet", "adapted.stonet", &read)?;
        let model = Model::load(&self.head)?;
        let (head, summary) = match &model.head {
            Head::Regression(head) => self.intervals(&model, head, console)?,
            Head::Classification(head) => self.classes(&model, head, console)?,
            Head::Labels(_) => {
                let why = "is one of many labels, which cannot be adapted; adapt heads of one label each";
                return Err(Error::flag("HEAD", why));
            }
        };
        Model { head, ..model }.save(&self.output)?;
        console.result(&summary, || summary.text())
    }

    fn summary(&self, shift: &'static str, (adapted, lines): (Value, String), guarantee: String) -> Summary {
        let shown = |p: &PathBuf| p.display().to_string();
        Summary {
            schema: "stonet.adapt/1",
            head: shown(&self.head),
            input: shown(&self.new),
            rows: self.rows.as_ref().map(shown),
            output: shown(&self.output),
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed.seed,
            shift,
            adapted,
            guarantee,
            lines,
        }
    }

    /// The new rows, without their answers.
    fn unlabelled(&self, columns: &ModelColumns, console: &Console) -> (Source, ModelColumns) {
        let source = Source::new(&self.new, &self.with.files, self.missing, console);
        (source, ModelColumns { targets: Vec::new(), ..columns.clone() })
    }

    fn intervals(&self, model: &Model, head: &FittedRegressor, console: &Console) -> Result<(Head, Summary)> {
        let level = match self.level {
            Some(level) => Level::new(level)?,
            None => model.level.unwrap_or_else(default_level),
        };
        let ratio = (!self.tilt.is_empty()).then(|| self.ratio(&model.columns.features)).transpose()?;
        let (source, columns) = self.unlabelled(&model.columns, console);
        let new = RegressionFile::like(&source, &columns)?;
        let again = match &self.rows {
            Some(path) => {
                let source = Source::new(path, &[], self.missing, console);
                Some((path, RegressionFile::like(&source, &model.columns)?))
            }
            None => None,
        };
        let rows = again.as_ref().map(|(_, file)| file.calibration()).transpose()?;
        let adapt = Adaptation { level, ratio, seed: Seed::new(self.seed.seed) };
        let inputs = new.new_rows()?;
        let fitted = console.run("adapt", |tick| {
            adapt.regression(head, rows.as_ref(), &inputs, tick).map_err(|e| match (e, &again) {
                (e @ stonet::Error::OtherRows { .. }, Some((path, _))) => Error::rows(path)(e),
                (e @ (stonet::Error::OtherRows { .. } | stonet::Error::NoRows), None) => Error::rows(&self.head)(e),
                (e, _) => Error::rows(&self.new)(e),
            })
        })?;
        let Some(adapted) = fitted.adapted() else { return Err(Error::flag("HEAD", "was not adapted")) };
        let names = (&model.columns.features[..], &model.columns.prediction[..]);
        let (value, _) = told(adapted, names.0, names.1);
        let lines = lines(adapted, names);
        let summary = self.summary("covariate", (value, lines), fitted.guarantee(level).text);
        Ok((Head::Regression(Box::new(fitted)), summary))
    }

    /// The known ratio, by the names of its columns.
    fn ratio(&self, features: &[String]) -> Result<Ratio> {
        let mut weights = vec![0.0; features.len()];
        for part in &self.tilt {
            let wrong = |why: String| Error::flag("--tilt", format!("`{part}` {why}"));
            let (name, weight) = part
                .rsplit_once('=')
                .ok_or_else(|| wrong("has no weight; write COLUMN=WEIGHT, such as x1=0.5".into()))?;
            let place = features
                .iter()
                .position(|f| f == name)
                .ok_or_else(|| wrong(format!("names no feature of the head; it has {}", features.join(", "))))?;
            weights[place] =
                weight.parse().map_err(|_| wrong(format!("has the weight `{weight}`, which is no number")))?;
        }
        Ratio::tilt(&weights).map_err(Error::from)
    }

    fn classes(&self, model: &Model, head: &FittedClassifier, console: &Console) -> Result<(Head, Summary)> {
        if !self.tilt.is_empty() || self.level.is_some() {
            return Err(Error::flag(
                "--tilt and --level",
                "are for intervals, and this head gives class probabilities",
            ));
        }
        let (Some(labels), Some(kind)) = (&model.labels, model.kind) else {
            return Err(Error::flag("HEAD", "has no classes; fit it again"));
        };
        let before = match (&self.rows, &model.baseline) {
            (Some(path), _) => {
                let source = Source::new(path, &[], self.missing, console);
                let rows = ClassFile::like(&source, &model.columns, kind, labels)?;
                let mut counts = vec![0.0; labels.classes()];
                rows.labels.iter().for_each(|&k| counts[k] += 1.0);
                counts
            }
            (None, Some(baseline)) => baseline.class_counts().ok_or_else(no_shares)?,
            (None, None) => return Err(no_shares()),
        };
        let (source, columns) = self.unlabelled(&model.columns, console);
        let (table, rows) = source.read(ClassFile::reading_like(&columns, None))?;
        let new = ClassFile::unlabelled(&source, &model.columns, kind, labels, &table, &rows)?;
        let inputs = new.inputs()?;
        let fitted = console.compute(|| head.adapt_labels(&before, &inputs).map_err(Error::rows(&self.new)))?;
        let Some(shift) = fitted.adapted() else { return Err(Error::flag("HEAD", "was not adapted")) };
        let (value, line) = told_shares(shift, labels.names());
        let sets = match fitted.class_sets() {
            Some(_) => " Its prediction sets hold within every class, so they hold as before.",
            None => "",
        };
        let guarantee = format!(
            "None for finite rows: probabilities are calibrated as before if inputs given the class are distributed as in the calibration rows, up to the error of the estimated shares.{sets}"
        );
        let found = if shift.is_clear() { "found" } else { "none found: the shares do not differ by more than chance" };
        let lines = format!(
            "new rows   {}\nshift      {found} (likelihood ratio {:.1}, {} degrees of freedom)\nshares     {line}\n",
            whole(shift.new_rows),
            shift.likelihood_ratio,
            shift.before.len() - 1
        );
        let summary = self.summary("label", (value, lines), guarantee);
        Ok((Head::Classification(Box::new(fitted)), summary))
    }
}

fn no_shares() -> Error {
    let why = "is missing: this head does not know the shares of its classes; give its calibration rows";
    Error::flag("--rows", why)
}

impl Summary {
    /// The same for people.
    fn text(&self) -> String {
        format!("{}guarantee  {}\nwritten    {}\n", self.lines, self.guarantee, self.output)
    }
}

/// Columns by how much they moved: their coefficient per standard deviation, the largest first.
fn moved(adapted: &Adapted, features: &[String], prediction: &[String]) -> Vec<(String, f64)> {
    let names: Vec<&String> = features.iter().chain(prediction).collect();
    let name = |column: usize| names.get(column).map_or_else(|| column.to_string(), |n| (*n).clone());
    let mut all: Vec<(String, f64)> = adapted.ratio.terms().iter().map(|t| (name(t.column), t.coefficient)).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    all
}

/// An adaptation to other inputs, as JSON and in a line.
pub fn told(adapted: &Adapted, features: &[String], prediction: &[String]) -> (Value, String) {
    let moved = moved(adapted, features, prediction);
    let value = json!({
        "known": adapted.known,
        "rows": adapted.rows,
        "new_rows": adapted.new_rows,
        "effective_rows": adapted.effective_rows,
        "level": adapted.level,
        "infinite": adapted.infinite,
        "largest_fold": adapted.largest_fold,
        "shift_found": adapted.evidence.map(|e| e.is_clear()),
        "evidence": adapted.evidence,
        "columns": moved.iter().map(|(name, c)| json!({ "column": name, "coefficient": c })).collect::<Vec<_>>(),
    });
    let line = format!(
        "to {} rows, by {} ratio of {} columns; {:.0} effective of {} rows",
        whole(adapted.new_rows),
        if adapted.known { "a known" } else { "an estimated" },
        moved.len(),
        adapted.effective_rows,
        whole(adapted.rows)
    );
    (value, line)
}

/// At most this many columns on a line.
const LISTED: usize = 5;

/// The result for people.
fn lines(adapted: &Adapted, (features, prediction): (&[String], &[String])) -> String {
    let moved = moved(adapted, features, prediction);
    let listed: Vec<String> = moved.iter().take(LISTED).map(|(name, c)| format!("{name} {c:+.2}")).collect();
    let more = if moved.len() > LISTED { format!(" and {} more", moved.len() - LISTED) } else { String::new() };
    let unit = if adapted.known { "per unit" } else { "in the log-ratio per standard deviation" };
    let columns = if moved.is_empty() { "none".to_owned() } else { format!("{}{more} ({unit})", listed.join(", ")) };
    let found = match &adapted.evidence {
        None => "the ratio is given".to_owned(),
        Some(e) => format!(
            "{}: held-out AUC {:.3}, log-loss better by {:.4} per row (standard error {:.4})",
            if e.is_clear() { "found" } else { "none found beyond chance" },
            e.auc,
            e.gain,
            e.standard_error
        ),
    };
    format!(
        "rows       {} calibration rows are ranked for {} new rows\nshift      {found}\nmoved      {columns}\neffective  {:.0} of {} rows, (sum w)^2 / sum w^2, a heuristic\ninfinite   {} of {} new rows at level {}: w(x) / (sum w + w(x)) > {:.2}\n",
        whole(adapted.rows),
        whole(adapted.new_rows),
        adapted.effective_rows,
        whole(adapted.rows),
        whole(adapted.infinite),
        whole(adapted.new_rows),
        adapted.level.get(),
        1.0 - adapted.level.get()
    )
}

/// An adaptation to other shares of classes, as JSON and in a line.
pub fn told_shares(shift: &LabelShift, names: &[String]) -> (Value, String) {
    let value = json!({
        "new_rows": shift.new_rows,
        "shift_found": shift.is_clear(),
        "likelihood_ratio": shift.likelihood_ratio,
        "classes": names.iter().zip(shift.before.iter().zip(&shift.after)).map(|(name, (before, after))| {
            json!({ "class": name, "before": before, "after": after })
        }).collect::<Vec<_>>(),
    });
    let mut order: Vec<usize> = (0..names.len().min(shift.before.len())).collect();
    order.sort_by(|&a, &b| {
        let apart = |k: usize| (shift.after[k] - shift.before[k]).abs();
        apart(b).total_cmp(&apart(a))
    });
    let one = |&k: &usize| format!("{} {:.1} -> {:.1} %", names[k], 100.0 * shift.before[k], 100.0 * shift.after[k]);
    let listed: Vec<String> = order.iter().take(LISTED).map(one).collect();
    let more = if order.len() > LISTED { format!(" and {} more", order.len() - LISTED) } else { String::new() };
    (value, format!("{}{more}", listed.join(", ")))
}
