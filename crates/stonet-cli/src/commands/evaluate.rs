//! `stonet evaluate`: a head judged on rows with known answers, with thresholds and a page of figures.

mod labels;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use stonet::base::stage;
use stonet::{FittedClassifier, FittedRegressor, InputKind, Level, Seed};
use stonet_io::{Head, HeadAsked, Model, ScoreSettings, default_level};
use stonet_report::{
    About, ClassEvaluation, ClassJudge, ClassSettings, EvaluateSettings, HeadInputs, Metrics, RegressionEvaluation,
    RegressionJudge, Requirement, class_card, class_report, regression_card, regression_report,
};

use crate::args::{FORMATS, MissingArg, SeedArg, WithArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::Source;
use crate::seen::SeenArg;
use crate::stdout::path;
use crate::{Outcome, asked, output, report};

/// Judge a head on rows with known answers that neither it nor the network has seen
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet evaluate head.stonet test.parquet --report report.html\n  stonet evaluate head.stonet test.csv --by region --report card.md\n  stonet evaluate head.stonet test.csv --require 'coverage>=0.88' --by region"
)]
pub struct Evaluate {
    /// The head, made by `stonet fit`
    head: PathBuf,
    #[arg(help = format!("Rows with known answers. {FORMATS}"))]
    rows: PathBuf,
    /// Coverage of intervals or prediction sets, or the level of bounds of accuracy; that of the fit if not given
    #[arg(long)]
    level: Option<f64>,
    /// Judge intervals that cover all targets of a row jointly
    #[arg(long)]
    joint: bool,
    /// Also report results for each value of this column
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// A condition such as coverage>=0.88, worst_fifth>=0.86, ece<=0.02 or set_coverage>=0.88; if it is not met, the exit code is 1. Can be
    /// repeated
    #[arg(long, value_name = "CONDITION")]
    require: Vec<Requirement>,
    /// Columns with the true values, if their names differ from those of the fit
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    target: Option<Vec<String>>,
    #[command(flatten)]
    seen: SeenArg,
    #[command(flatten)]
    missing: MissingArg,
    /// Write a self-contained HTML report, or a model card in Markdown
    #[arg(long, value_name = "FILE.html|FILE.md")]
    report: Option<PathBuf>,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    with: WithArg,
}

/// What `evaluate --json` prints.
#[derive(Serialize)]
struct Summary<'a, T> {
    schema: &'static str,
    task: &'static str,
    head: String,
    input: String,
    version: &'static str,
    seed: u64,
    /// Of the rows that the head was fitted on.
    fingerprint: String,
    verdict: String,
    requirements: Vec<Checked>,
    report: Option<String>,
    evaluation: &'a T,
}

#[derive(Serialize)]
struct Checked {
    condition: String,
    found: Option<f64>,
    met: bool,
}

impl Evaluate {
    pub fn run(self, console: &Console) -> Result<Outcome> {
        let read = [vec![self.head.as_path()], output::with(&self.rows, &self.with.files)].concat();
        report::check_card(self.report.as_deref(), &read)?;
        let mut model = Model::load(&self.head)?;
        asked::rename_targets(&mut model, self.target.as_deref())?;
        let levels = self.level.into_iter().map(Level::new).collect::<stonet::Result<Vec<_>>>()?;
        // Prediction sets, also those that are drawn at random, and bounds of accuracy are judged wherever there are some.
        let beside = matches!(&model.head, Head::Classification(head) if head.class_sets().is_some() || head.accuracy_bins().is_some());
        let level = beside.then(|| levels.first().copied().or(model.level).unwrap_or_else(default_level));
        let levels = if beside { Vec::new() } else { levels };
        let wanted = ScoreSettings { levels, joint: self.joint, ..ScoreSettings::default() };
        match asked::resolve(&model, &wanted)?.of(&model)? {
            HeadAsked::Intervals(head, asked) => self.regression(&model, head, asked.levels[0], console),
            HeadAsked::Classes(head, output, _) => self.classification(&model, head, (output.kind, level), console),
            HeadAsked::Labels(head, kind) => self.labels(&model, head, kind, console),
        }
    }

    fn regression(&self, model: &Model, fitted: &FittedRegressor, level: Level, console: &Console) -> Result<Outcome> {
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let settings = EvaluateSettings {
            joint: self.joint,
            feature_names: model.columns.features.clone(),
            target_names: model.columns.targets.clone(),
            seed: Seed::new(self.seed.seed),
            ..EvaluateSettings::new(level)
        };
        // Groups within which intervals are to cover are judged one by one, whether asked for or not.
        let groups = (!model.columns.within.is_empty()).then(|| model.columns.within.join(", "));
        let mut judge = RegressionJudge::new(fitted, self.by.as_deref().or(groups.as_deref()), &settings)?;
        let kept = judge.bytes_per_row();
        let seen = source.judged_intervals(model, fitted, self.by.as_deref(), kept, |batch, rows, new| {
            let names = (groups.is_some() && self.by.is_none()).then(|| rows.group_names());
            let by = match &self.by {
                Some(by) => Some(batch.table.text(by)?),
                None => names.as_deref(),
            };
            // The judge counts rows from the first batch on.
            stage("scoring", || judge.add(new, rows.y.view(), by)).map_err(Error::columns(&self.rows, &model.columns))
        })?;
        self.seen.check(seen.as_ref(), &self.rows, console)?;
        let evaluation = console
            .run("evaluate", |tick| stage("judging", || judge.finish(Some(tick))).map_err(Error::rows(&self.rows)))?;
        self.tell(model, &RegressionEvaluation { seen, ..evaluation }, console)
    }

    fn classification(
        &self,
        model: &Model,
        fitted: &FittedClassifier,
        (kind, level): (InputKind, Option<Level>),
        console: &Console,
    ) -> Result<Outcome> {
        let Some(labels) = &model.labels else { return Err(Error::flag("HEAD", "has no classes; fit it again")) };
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        let settings = ClassSettings { seed: Seed::new(self.seed.seed), level, ..ClassSettings::default() };
        let mut judge = ClassJudge::new(fitted, labels.names(), self.by.as_deref(), &settings);
        let names = [model.columns.logit_names(), model.columns.features.clone()].concat();
        let (known, kept) = ((kind, labels), judge.bytes_per_row());
        let overlap = source.judged_classes(model, known, self.by.as_deref(), kept, |batch, rows| {
            let by = self.by.as_deref().map(|by| batch.table.text(by)).transpose()?;
            let inputs = HeadInputs { logits: rows.logits(), features: rows.features(), names: &names };
            // The judge counts rows from the first batch on.
            stage("scoring", || judge.add(&inputs, &rows.labels, by)).map_err(Error::rows(&self.rows))
        })?;
        self.seen.check(overlap.as_ref(), &self.rows, console)?;
        let evaluation = console
            .run("evaluate", |tick| stage("judging", || judge.finish(Some(tick))).map_err(Error::rows(&self.rows)))?;
        let evaluation = ClassEvaluation { seen: overlap, ..evaluation };
        self.tell(model, &evaluation, console)
    }

    /// The same for people.
    fn outcomes(&self, evaluation: &dyn Metrics) -> String {
        let outcomes = self.require.iter().filter_map(|r| r.outcome(evaluation).ok());
        outcomes.map(|o| format!("required   {o}\n")).collect()
    }

    /// What became of every condition.
    fn checked(&self, evaluation: &dyn Metrics) -> Result<Vec<Checked>> {
        let one = |r: &Requirement| {
            let met = r.holds(evaluation)?;
            Ok(Checked { condition: r.to_string(), found: evaluation.metric(r.name()), met })
        };
        self.require.iter().map(one).collect()
    }

    /// The page, the result, and whether all conditions are met.
    fn tell<T: Told>(&self, model: &Model, evaluation: &T, console: &Console) -> Result<Outcome> {
        let requirements = self.checked(evaluation)?;
        let missed = requirements.iter().any(|c| !c.met);
        let [head, input] = [&self.head, &self.rows].map(|p| p.display().to_string());
        if let Some(path) = &self.report {
            let settings: Value = json!({
                "head": head, "rows": input, "columns": model.columns, "level": evaluation.level(),
                "by": self.by, "fitted by": model.version, "seed of the fit": model.seed, "rows of the fit": model.fingerprint,
                "requirements": requirements,
            });
            let title = format!("{} on {}", report::file_name(&self.head), report::file_name(&self.rows));
            let about = report::about(title, settings);
            let card = path.extension().is_some_and(|e| e == "md");
            let text = if card { evaluation.card(&about) } else { evaluation.page(&about) };
            report::write(path, &text, console)?;
        }
        let summary = Summary {
            schema: "stonet.evaluate/1",
            task: T::TASK,
            head,
            input,
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed.seed,
            fingerprint: model.fingerprint.clone(),
            verdict: evaluation.verdict(),
            requirements,
            report: self.report.as_ref().map(|p| p.display().to_string()),
            evaluation,
        };
        console.result(&summary, || format!("{}{}", evaluation.text(), self.outcomes(evaluation)))?;
        match missed {
            false => {
                console.next(format_args!("stonet predict {} FILE -o predictions.csv, with new rows", path(&self.head)))
            }
            true => console.next("stonet compare --help: other methods on the same rows"),
        }
        Ok(if missed { Outcome::Missed } else { Outcome::Done })
    }
}

/// An evaluation of any task.
trait Told: Serialize + Metrics {
    const TASK: &'static str;
    /// Of the intervals, prediction sets or bounds of accuracy; none for class probabilities alone.
    fn level(&self) -> Option<f64>;
    fn verdict(&self) -> String;
    fn text(&self) -> String;
    fn page(&self, about: &About) -> String;
    fn card(&self, about: &About) -> String;
}

impl Told for RegressionEvaluation {
    const TASK: &'static str = "regression";
    fn level(&self) -> Option<f64> {
        Some(self.overall.level.get())
    }
    fn verdict(&self) -> String {
        self.verdict()
    }
    fn text(&self) -> String {
        self.text()
    }
    fn page(&self, about: &About) -> String {
        regression_report(self, about)
    }
    fn card(&self, about: &About) -> String {
        regression_card(self, about)
    }
}

impl Told for ClassEvaluation {
    const TASK: &'static str = "classification";
    fn level(&self) -> Option<f64> {
        let sets = self.sets.as_ref().map(|sets| sets.level);
        sets.or(self.accuracy_bounds.as_ref().map(|bounds| bounds.level)).map(|level| level.get())
    }
    fn verdict(&self) -> String {
        self.verdict()
    }
    fn text(&self) -> String {
        self.text()
    }
    fn page(&self, about: &About) -> String {
        class_report(self, about)
    }
    fn card(&self, about: &About) -> String {
        class_card(self, about)
    }
}
