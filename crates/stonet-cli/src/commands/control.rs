//! `stonet control`: a rule that answers rows or abstains, so that a wish is kept.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use stonet::control::{Control as Controller, Controlled, Evidence, Refusal, TradeOff, Want};
use stonet::{FittedClassifier, FittedRegressor, InputKind, Level, Side};
use stonet_io::{Head, Model, SavedRule, default_level};
use stonet_report::{control_report, whole};

use crate::args::{FORMATS, MissingArg, ReportArg, SeedArg, WithArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::Source;
use crate::seen::SeenArg;
use crate::stdout::path;
use crate::{Outcome, output, report};

/// Make a rule that answers only where the head is sure enough, so that a wish such as precision[spam]>=0.95 is kept
///
/// The rule answers a row if its largest probability, the probability of the wish's class, or the shortness of its interval
/// reaches a threshold, and abstains otherwise. It is used by --rule of `predict` and `export`. The exit code is 1 if the
/// wish cannot be promised; then no rule is written.
#[derive(Args)]
#[command(
    after_help = "Wishes:\n  accuracy>=0.95          right guesses among answered rows (needs --confidence)\n  precision[spam]>=0.95   class spam among rows taken as spam (needs --confidence)\n  recall[spam]>=0.9       rows taken as spam among those of class spam; also fnr[spam]<=0.1\n  coverage>=0.95          intervals that cover among answered rows (needs --confidence)\n  wrong<=0.02             rows that are answered and wrong among all rows\n\nExamples:\n  stonet control head.stonet labelled.csv --want 'precision[spam]>=0.95' --confidence 0.95 -o rule.json\n  stonet predict head.stonet new.csv -o decided.csv --rule rule.json"
)]
pub struct Control {
    /// The head, made by `stonet fit`
    head: PathBuf,
    #[arg(help = format!("Rows with known answers that neither the head nor the network was fitted on. {FORMATS}"))]
    rows: PathBuf,
    /// What to keep, such as 'precision[spam]>=0.95'
    #[arg(long, value_name = "WISH")]
    want: Want,
    /// Probability with which the wish is kept, such as 0.95; without it the risk is bounded on average, for recall, fnr and
    /// wrong alone
    #[arg(long)]
    confidence: Option<f64>,
    /// Where the rule goes
    #[arg(short, long, value_name = "RULE.json")]
    output: PathBuf,
    /// Regression: level of the intervals that are answered; that of the fit if not given
    #[arg(long)]
    level: Option<f64>,
    /// Column with the true values, if its name differs from that of the fit
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    #[command(flatten)]
    seen: SeenArg,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    report: ReportArg,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    with: WithArg,
}

/// Bytes of a row's surety and its mark.
const KEPT: u64 = 9;

/// What `control --json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    head: String,
    input: String,
    version: &'static str,
    seed: u64,
    want: String,
    confidence: Option<f64>,
    level: Option<f64>,
    /// Whether there is a rule.
    met: bool,
    output: Option<String>,
    report: Option<String>,
    condition: Option<String>,
    guarantee: Option<String>,
    ordering_rows: Option<usize>,
    chosen: Option<TradeOff>,
    refusal: Option<&'a Refusal>,
    curve: &'a [TradeOff],
}

impl Control {
    pub fn run(self, console: &Console) -> Result<Outcome> {
        let read = [vec![self.head.as_path()], output::with(&self.rows, &self.with.files)].concat();
        output::check_named("--output", &self.output, "json", "rule.json", &read)?;
        report::check(self.report.report.as_deref(), &read)?;
        let confidence = self.confidence.map(level("--confidence")).transpose()?;
        let control = Controller { want: self.want.clone(), confidence, seed: self.seed.seed };
        control.check("--confidence").map_err(wish)?;
        let mut model = Model::load(&self.head)?;
        self.rename_target(&mut model)?;
        let evidence = match &model.head {
            Head::Regression(head) => self.intervals(&model, head, console)?,
            Head::Classification(head) => self.classes(&model, head, console)?,
            Head::Labels(_) => {
                let why =
                    "is one of many labels, of which each would need a rule of its own; fit a classifier for the label";
                return Err(Error::flag("HEAD", why));
            }
        };
        let controlled = console.compute(|| control.decide(&evidence).map_err(Error::rows(&self.rows)))?;
        self.tell(&model, &control, &controlled, console)
    }

    /// The name of the target in these rows.
    fn rename_target(&self, model: &mut Model) -> Result<()> {
        if model.columns.targets.len() != 1 && !matches!(model.head, Head::Labels(_)) {
            let why = format!(
                "has {} targets, and a rule is for one; fit a head for each target",
                model.columns.targets.len()
            );
            return Err(Error::flag("HEAD", why));
        }
        let Some(name) = &self.target else { return Ok(()) };
        if model.columns.inputs().contains(name) {
            return Err(Error::flag(
                "--target",
                format!("names `{name}`, which the head reads; name the column with the answers"),
            ));
        }
        model.columns.targets = vec![name.clone()];
        Ok(())
    }

    /// The lengths of intervals, and which of them cover.
    fn intervals(&self, model: &Model, fitted: &FittedRegressor, console: &Console) -> Result<Evidence> {
        let wanted = self.level.map(level("--level")).transpose()?;
        let level = wanted.or(model.level).unwrap_or_else(default_level);
        let mut evidence = Evidence::of_intervals(&self.want, level).map_err(wish)?;
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let seen = source.judged_intervals(model, fitted, None, KEPT, |batch, rows, new| {
            let scored = fitted.intervals(new, level, Side::Both);
            let scored = scored.and_then(|found| evidence.add_intervals(&found, rows.y.column(0)));
            scored.map_err(|e| Error::columns(&self.rows, &model.columns)(e.after_rows(batch.first)))
        })?;
        self.seen.check(seen.as_ref(), &self.rows, console)?;
        Ok(evidence)
    }

    /// Probabilities, and which guesses are right.
    fn classes(&self, model: &Model, fitted: &FittedClassifier, console: &Console) -> Result<Evidence> {
        if self.level.is_some() {
            return Err(Error::flag("--level", "is for intervals, and this head gives class probabilities"));
        }
        let known = model.labels.as_ref().zip(model.kind);
        let Some((labels, kind)): Option<(_, InputKind)> = known else {
            return Err(Error::flag("HEAD", "has no classes; fit it again"));
        };
        let mut evidence = Evidence::of_classes(&self.want, labels).map_err(wish)?;
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let seen = source.judged_classes(model, (kind, labels), None, KEPT, |batch, rows| {
            let scored = fitted.probabilities(&rows.inputs()?);
            let scored = scored.and_then(|p| evidence.add_classes(p.view(), &rows.labels));
            scored.map_err(|e| Error::rows(&self.rows)(e.after_rows(batch.first)))
        })?;
        self.seen.check(seen.as_ref(), &self.rows, console)?;
        Ok(evidence)
    }

    /// The rule, the page and the result.
    fn tell(&self, model: &Model, control: &Controller, controlled: &Controlled, console: &Console) -> Result<Outcome> {
        let rule = controlled.rule.as_ref();
        if let Some(path) = &self.report.report {
            let settings = json!({
                "head": self.head.display().to_string(), "rows": self.rows.display().to_string(), "want": control.want,
                "confidence": control.confidence, "seed": control.seed, "columns": model.columns, "fitted by": model.version,
                "seed of the fit": model.seed, "rows of the fit": model.fingerprint,
            });
            let title = format!("{} by {}", control.want, self.head.file_name().unwrap_or_default().to_string_lossy());
            report::write(path, &control_report(control, controlled, &report::about(title, settings)), console)?;
        }
        match rule {
            Ok(rule) => SavedRule::new(rule.clone(), model)?.save(&self.output)?,
            Err(_) if self.output.exists() => {
                console.warn(format_args!("{}: an earlier file of this name is left as it is", self.output.display()));
            }
            Err(_) => {}
        }
        let summary = Summary {
            schema: "stonet.control/1",
            head: self.head.display().to_string(),
            input: self.rows.display().to_string(),
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed.seed,
            want: control.want.to_string(),
            confidence: control.confidence.map(Level::get),
            level: rule.ok().and_then(|r| r.level).map(Level::get),
            met: rule.is_ok(),
            output: rule.is_ok().then(|| self.output.display().to_string()),
            report: self.report.report.as_ref().map(|p| p.display().to_string()),
            condition: rule.ok().map(|r| r.condition()),
            guarantee: rule.ok().map(|r| r.guarantee().text),
            ordering_rows: rule.ok().map(|r| r.ordering_rows),
            chosen: rule.ok().map(|r| r.chosen),
            refusal: rule.err(),
            curve: &controlled.curve,
        };
        console.result(&summary, || summary.text())?;
        if rule.is_ok() {
            let (head, rule) = (path(&self.head), path(&self.output));
            console.next(format_args!("stonet predict {head} new.csv -o decided.csv --rule {rule}"));
        }
        Ok(if rule.is_ok() { Outcome::Done } else { Outcome::Missed })
    }
}

impl Summary<'_> {
    /// The same for people.
    fn text(&self) -> String {
        let (Some(chosen), Some(condition), Some(guarantee)) = (&self.chosen, &self.condition, &self.guarantee) else {
            return format!("refused    {}\n", self.refusal.map_or("", |r| &r.text));
        };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        format!(
            "rule       {condition}\nanswered   {} of {} rows counted ({})\nerrors     {} of {} ({}), bound {}\nguarantee  {guarantee}\nwritten    {}\n",
            whole(chosen.answered),
            whole(chosen.rows),
            percent(chosen.share()),
            whole(chosen.errors),
            whole(chosen.of),
            percent(chosen.risk),
            percent(chosen.bound),
            self.output.as_deref().unwrap_or_default()
        )
    }
}

/// A level that a flag gives.
fn level(flag: &'static str) -> impl Fn(f64) -> Result<Level> {
    move |value| {
        Level::new(value)
            .map_err(|_| Error::flag(flag, format!("is {value}; give a number between 0 and 1, such as 0.95")))
    }
}

/// What is wrong with a wish, by its flag.
fn wish(error: stonet::Error) -> Error {
    match error {
        stonet::Error::Want { want, why } => Error::flag("--want", format!("`{want}` {why}")),
        error => error.into(),
    }
}
