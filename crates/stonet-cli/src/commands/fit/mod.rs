//! `stonet fit`: a head on rows that the network was not trained on, saved as a `.stonet` file.

mod accuracy;
mod checks;
mod class_settings;
mod estimated;
mod labels;
mod read;
mod sampled;
mod sets;
mod settings;
mod summary;
mod wrong_settings;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stonet::base::stage;
use stonet::metrics::rmse;
use stonet::monitor::Baseline;
use stonet::regression::{Select, seen_in_training};
use stonet::train::Algorithm;
use stonet::{ClassMethod, FittedClassifier, FittedRegressor, Kind, Level, PostStoNetRegressor, Seed};
use stonet_io::{Head, Model, ModelColumns};

use crate::args::{ColumnArgs, FORMATS, HeadTask, SeedArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::output;
use crate::seen::Known;
use crate::stdout::{path, quoted};
use accuracy::AccuracyArgs;
use sampled::Drawn;
use sets::SetArgs;
use summary::Summary;

pub use accuracy::ToldAccuracy;
#[cfg(any(test, fuzzing))]
pub use class_settings::ClassTable;
pub use sets::{shown_sets, told_sets};
pub use settings::printed;
pub use summary::{class_columns, shown_columns, shown_labels, weights};

/// Fit a head on rows that the network was not trained on, and save it
///
/// The head turns the last hidden layer of a network into prediction intervals, or its logits into calibrated
/// probabilities: of one class per row, or of many labels, each with a column of 0 and 1 and an output of its own. Rows
/// that the network was trained on void every guarantee.
///
/// A folder of Parquet files may be larger than memory: rows drawn at random are fitted, and for intervals all others
/// calibrate them, which reads the folder twice.
#[derive(Args)]
#[command(
    override_usage = "stonet fit [OPTIONS] --task <TASK> --output <HEAD> <ROWS>\n       stonet fit [OPTIONS] --task <TASK> --estimate <ROWS>\n       stonet fit --task <TASK> --print-settings",
    after_help = "Examples:\n  stonet fit validation.parquet --task regression --inputs 'f*' --prediction prediction --target price -o head.stonet\n  stonet fit validation-parts/ --task regression --prediction prediction --target price -o head.stonet\n  stonet fit features.npy --with y.npy --task regression -o head.stonet\n  stonet fit validation.csv --task classification --inputs 'z*' --target label -o head.stonet\n  stonet fit validation.csv --task classification --inputs 'z*' --target label --sets cv+ -o head.stonet\n  stonet fit validation.csv --task classification --inputs 'z*' --target label --accuracy-bounds -o head.stonet\n  stonet fit validation.csv --task labels --inputs 'z_*' --target 'y_*' -o head.stonet",
    after_long_help = None
)]
pub struct Fit {
    #[arg(help = format!("Rows to fit on. {FORMATS}"), required_unless_present = "print_settings", default_value = "-", hide_default_value = true)]
    rows: PathBuf,
    /// What to predict
    #[arg(long, value_enum)]
    task: HeadTask,
    /// The head, a file that ends in .stonet
    #[arg(
        short,
        long,
        value_name = "HEAD",
        required_unless_present_any = ["print_settings", "estimate"],
        default_value = "-",
        hide_default_value = true
    )]
    output: PathBuf,
    /// Regression: kind of interval: stack, cv+, cv, paper, fast, split [default: stack; split where a sample is
    /// fitted]
    #[arg(long, value_name = "KIND")]
    interval: Option<Kind>,
    /// Regression: keep the calibration rows in the head, so that `stonet adapt` needs no other file; the head grows by their
    /// size
    #[arg(long)]
    keep_rows: bool,
    /// Fit this many randomly drawn rows without keeping the others in memory. Regression then needs `split` intervals
    /// and reads the other rows again to calibrate them; classification does not use the other rows [default: 200000 of
    /// a folder, all of a file]
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Classification and labels: calibration method: none, temperature, temperature-smooth, ets, vector, svs, sms, matrix,
    /// matrix-odir, isotonic, venn-abers, post-linear, paper, stonet, skip-linear, skip, skip-prob, skip-features, stack
    /// [default: stack]
    #[arg(long, value_name = "NAME")]
    method: Option<ClassMethod>,
    #[command(flatten)]
    sets: SetArgs,
    #[command(flatten)]
    accuracy: AccuracyArgs,
    /// Regression, and classification with --sets or --accuracy-bounds: default coverage level of `predict` and `evaluate` [default: 0.9]
    #[arg(long)]
    level: Option<f64>,
    /// Regression: known bounds of the target, either of which may be left out: `0,` for a target that is never
    /// negative, `0,100`; predictions and intervals are cut to them
    #[arg(long, value_name = "LOW,HIGH", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<(Option<f64>, Option<f64>)>,
    /// Regression: column of groups, such as regions, within each of which intervals are to cover; several columns for
    /// their combinations. Each group has ranks of its own where it has enough rows for the level, and those of all rows
    /// otherwise. `predict` and `evaluate` read these columns by name. Not the same as --groups, which keeps rows
    /// together
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    within: Vec<String>,
    /// Regression, `split`: columns of numbers for each of which intervals are to cover: 1 in a group and 0 outside for
    /// groups that overlap, or other functions of the inputs. `predict` and `evaluate` read these columns by name
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    conditional: Vec<String>,
    /// Regression: column of time, numbers or dates, by which rows are in order and may depend on their neighbours. Folds are
    /// then blocks of neighbours, `split` calibrates on the last rows, and no finite-sample bound is claimed. Rows of one
    /// time stay together. Without --inputs the column is not an input
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// With --time: rows on each side of a fold that its model does not see; as many as errors stay alike, such as those of
    /// a day [default: a hundredth of the rows]
    #[arg(long, value_name = "N", requires = "time")]
    gap: Option<usize>,
    /// Regression, `paper` and `cv`: rule that chooses kappa: error, one-standard-error, coverage
    #[arg(long, value_name = "RULE", value_parser = parse_select)]
    select: Option<Select>,
    /// Number of folds in each cross-validation
    #[arg(long, value_name = "K")]
    folds: Option<usize>,
    /// Regression: training algorithm of the StoNets: asghmc, iro, asghmc+iro [default: asghmc]
    #[arg(long, value_name = "NAME")]
    trainer: Option<Algorithm>,
    /// Regression: the network's root mean squared error on its training rows; warn if these rows look like training
    /// rows
    #[arg(long, value_name = "RMSE")]
    train_error: Option<f64>,
    /// Do not store fingerprints and quantiles of the rows in the head; `evaluate` then cannot detect rows that were used
    /// for fitting, and `monitor` compares new rows with each other alone
    #[arg(long)]
    no_fingerprints: bool,
    /// Settings of the fit as TOML; flags override them. --print-settings lists all settings
    #[arg(long, value_name = "FILE.toml")]
    settings: Option<PathBuf>,
    /// Print the settings in effect as commented TOML, which --settings reads, and exit
    #[arg(long)]
    print_settings: bool,
    /// Print the expected time and memory of the fit and exit: samples of the rows are fitted for about a second, and no
    /// head is written
    #[arg(long, conflicts_with = "print_settings")]
    estimate: bool,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// Two numbers with a comma between them, either of which may be left out.
fn parse_range(text: &str) -> std::result::Result<(Option<f64>, Option<f64>), String> {
    let Some((low, high)) = text.split_once(',') else {
        return Err("write LOW,HIGH, such as `0,100`, or `0,` where there is no upper bound".into());
    };
    let bound = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<f64>().map(Some).map_err(|_| format!("`{text}` is not a number")),
    };
    match (bound(low)?, bound(high)?) {
        (None, None) => Err("give at least one bound, such as `0,`".into()),
        (Some(low), Some(high)) if low >= high => Err(format!("{low} is not below {high}")),
        range => Ok(range),
    }
}

fn parse_select(text: &str) -> std::result::Result<Select, String> {
    serde_json::from_value(Value::from(text))
        .map_err(|_| format!("there is no rule `{text}`; there are error, one-standard-error, coverage"))
}

impl Fit {
    pub fn run(mut self, console: &Console) -> Result<()> {
        self.columns.within = std::mem::take(&mut self.within);
        self.columns.conditional = std::mem::take(&mut self.conditional);
        self.columns.time = self.time.take().map(|column| (column, self.gap));
        if self.columns.time.is_some() && self.task != HeadTask::Regression {
            return Err(Error::flag("--time", "is for --task regression"));
        }
        let level = self.level.map(Level::new).transpose()?;
        if self.print_settings {
            let (text, value) = match self.task {
                HeadTask::Regression => printed(&self.regression_settings(level)?.resolved(0)),
                HeadTask::Classification => printed(&self.class_settings(level)?.table()),
                HeadTask::Labels => printed(&self.label_settings()?),
            };
            return console.result(&json!({ "schema": "stonet.settings/1", "settings": value }), || text);
        }
        if self.estimate {
            return self.estimated(level, console);
        }
        let mut read = output::with(&self.rows, &self.columns.with.files);
        read.extend(self.settings.as_deref());
        output::check_named("--output", &self.output, "stonet", "head.stonet", &read)?;
        let begin = Instant::now();
        let (model, mut summary) = match self.task {
            HeadTask::Regression => self.regression(level, console)?,
            HeadTask::Classification => self.classification(level, console)?,
            HeadTask::Labels => self.labels(console)?,
        };
        stage("writing", || model.save(&self.output))?;
        summary.seconds = begin.elapsed().as_secs_f64();
        summary.warnings.iter().for_each(|w| console.warn(w));
        console.result(&summary, || summary.text())?;
        console.next(self.next(&model.columns));
        Ok(())
    }

    /// The command that judges the head. Features of `stonet features` have to be made of the test rows first.
    fn next(&self, columns: &ModelColumns) -> String {
        let (head, targets) = (path(&self.output), quoted(&columns.targets.join(",")));
        let evaluate = format!("stonet evaluate {head} test.csv --report report.html");
        if !columns.inputs().iter().any(|c| c == "f0" || c == "z0") {
            return evaluate;
        }
        let with = if columns.also > 0 { " --with-inputs" } else { "" };
        format!(
            "stonet features network.onnx test.csv --keep {targets}{with} -o test.parquet\n      \
             stonet evaluate {head} test.parquet --report report.html"
        )
    }

    /// What is set for intervals: the file of settings, then the flags.
    fn regression_settings(&self, level: Option<Level>) -> Result<PostStoNetRegressor> {
        let method = self.method.map(|_| "--method");
        if let Some(flag) = self.sets.given().or(self.accuracy.given()).or(method) {
            return Err(Error::flag(flag, "is for --task classification; intervals are chosen by --interval"));
        }
        let (mut post, named): (PostStoNetRegressor, _) = self.read_settings()?;
        post.level = level.unwrap_or(post.level);
        post.kind = self.kind(post.kind, named.contains_key("kind"))?;
        post.folds = self.folds.unwrap_or(post.folds);
        post.select = self.select.or(post.select);
        if let Some((low, high)) = self.range {
            (post.y_low, post.y_high) = (low, high);
        }
        post.stonet.algorithm = self.trainer.unwrap_or(post.stonet.algorithm);
        self.check_conditional(&post)?;
        self.check_time(&post)?;
        if !self.columns.within.is_empty() && matches!(post.kind, Kind::Paper | Kind::Cv) {
            return Err(Error::flag(
                "--within",
                format!("needs ranks, and --interval {} has none; use stack, fast, cv+ or split", post.kind),
            ));
        }
        if self.select.is_some() && !matches!(post.kind, Kind::Paper | Kind::Cv) {
            return Err(Error::flag("--select", "is for --interval paper and cv; the others choose kappa by error"));
        }
        Ok(post)
    }

    fn regression(&self, level: Option<Level>, console: &Console) -> Result<(Model, Summary)> {
        let post = self.regression_settings(level)?;
        if !self.columns.also.is_empty() && !post.kind.sees_further_columns() {
            let why = "is not for --interval paper and cv, the paper's own form, which sees the features alone; leave it out, or choose \
                       another --interval";
            return Err(Error::flag("--also", why));
        }
        let source = self.source(console);
        let (rows, drawn) = self.regression_rows(&post, &source, console)?;
        console.detail(format_args!("features: {}", rows.columns.features.join(", ")));
        let mut warnings = Vec::new();
        match (self.train_error, &rows.prediction) {
            (Some(train), _) if !(train.is_finite() && train >= 0.0) => {
                return Err(Error::flag("--train-error", format!("is {train}; it must be a root mean squared error")));
            }
            (Some(train), Some(d)) => warnings.extend(seen_in_training(train, rmse(d.view(), rows.y.view())?)),
            (Some(_), None) => return Err(Error::flag("--train-error", "needs the network's own --prediction")),
            _ => {}
        }
        let calibration = rows.calibration()?;
        let mut known = stage("fingerprints", || Ok::<_, Error>(Known::new(rows.hashes()?, rows.parts()?)))?;
        let seed = Seed::new(self.seed.seed);
        let refused = Error::columns(&self.rows, &rows.columns);
        let fitted: FittedRegressor = match &drawn {
            None => console.run("fit", |tick| post.fit(&calibration, seed, tick).map_err(&refused))?,
            Some(drawn) => {
                let head = console.run("fit", |tick| post.fit_sample(&calibration, seed, tick).map_err(&refused))?;
                drawn.calibrate(head, &source, &rows.columns, &mut known, console)?.finish().map_err(&refused)?
            }
        };
        let fitted = match &self.columns.time {
            Some((column, _)) => fitted.ordered_by(column),
            None => fitted,
        };
        let fitted = match self.keep_rows {
            true => fitted.keeping(&calibration).map_err(|e| match e {
                stonet::Error::Adapt { why } => {
                    Error::flag("--keep-rows", format!("is for heads that can be adapted: {why}"))
                }
                e => e.into(),
            })?,
            false => fitted,
        };
        if rows.prediction.is_none() && matches!(post.kind, Kind::Stack | Kind::Fast | Kind::Split) {
            console.note("without --prediction the network itself is no member of the stack");
        }
        warnings.extend(known.warning(rows.groups.is_some(), true));
        warnings.extend(fitted.looks_ordered().map(|t| t.text("--time COLUMN", "--groups COLUMN")));
        warnings.extend(fitted.pooled_groups(post.level, false)?);
        let selected = fitted.selected_features();
        let names = rows.columns.features.iter().zip(selected).filter(|(_, share)| *share >= 0.5);
        let summary = Summary {
            sampled: drawn.as_ref().map(|_| calibration.rows()),
            calibration_rows: drawn.as_ref().map(Drawn::others),
            total_rows: drawn.as_ref().map(|d| d.total),
            level: Some(post.level.get()),
            weights: fitted.weights(),
            guarantee: Some(fitted.guarantee(post.level).text),
            selected_features: names.map(|(n, _)| n.clone()).collect(),
            warnings,
            ..self.summary("regression", &rows.columns, calibration.rows(), serde_json::to_value(fitted.settings()))
        };
        let head = Head::Regression(Box::new(fitted));
        let model = self.model(head, rows.columns.clone(), || rows.fingerprint(), &known);
        let fingerprint = model.fingerprint.clone();
        let baseline = self.kept(|seed| Baseline::of_regression(&calibration, seed));
        Ok((Model { level: Some(post.level), baseline, ..model }, Summary { fingerprint, ..summary }))
    }

    fn classification(&self, level: Option<Level>, console: &Console) -> Result<(Model, Summary)> {
        self.check_keep_rows()?;
        let wanted = self.class_settings(level)?;
        let (rows, total) = self.class_rows(console)?;
        let calibration = rows.calibration()?;
        let seed = Seed::new(self.seed.seed);
        let fitted: FittedClassifier = console
            .run("fit", |tick| wanted.fit(&calibration, seed, tick).map_err(Error::columns(&self.rows, &rows.columns)))
            // What the columns were taken for may be why the fit failed.
            .inspect_err(|_| rows.warnings.iter().for_each(|w| console.warn(w)))?;
        let names = rows.classes.names().to_vec();
        let absent: Vec<String> = fitted.absent_classes().iter().map(|&k| names[k].clone()).collect();
        if !absent.is_empty() {
            console.note(format_args!("no row is of class {}", absent.join(", ")));
        }
        fitted.left_out().iter().for_each(|l| console.note(l));
        let known = Known::new(rows.hashes.clone(), Vec::new());
        let open = fitted.notes().iter().filter(|n| !n.converged);
        let open = open.map(|n| format!("{} is not converged", n.method));
        let warnings = rows.warnings.iter().cloned().chain(open).chain(known.warning(false, false)).collect();
        let accuracy = ToldAccuracy::of(&fitted, wanted.level);
        let summary = Summary {
            sampled: total.map(|_| calibration.rows()),
            total_rows: total,
            class_columns: class_columns(&rows.columns.logits, &names),
            classes: Some(names),
            absent_classes: absent,
            members: serde_json::to_value(fitted.notes()).ok(),
            level: wanted.level.map(|level| level.get()),
            guarantee: wanted.level.and_then(|level| fitted.guarantee(level)).map(|g| g.text),
            shown_sets: fitted.class_sets().map(shown_sets),
            sets: fitted.class_sets().map(told_sets),
            shown_accuracy: accuracy.as_ref().map(|told| (told.shown(), told.guarantee().to_owned())),
            accuracy: accuracy.as_ref().map(ToldAccuracy::told),
            warnings,
            ..self.summary("classification", &rows.columns, calibration.rows(), serde_json::to_value(fitted.settings()))
        };
        let head = Head::Classification(Box::new(fitted));
        let model = self.model(head, rows.columns.clone(), || rows.fingerprint(), &known);
        let fingerprint = model.fingerprint.clone();
        let (kind, level) = (Some(rows.kind), wanted.level);
        let baseline = self.kept(|seed| Baseline::of_classes(&calibration, seed));
        let model = Model { kind, labels: Some(rows.classes.clone()), level, baseline, ..model };
        Ok((model, Summary { fingerprint, ..summary }))
    }

    /// Fails where rows are to be kept that nothing needs.
    fn check_keep_rows(&self) -> Result<()> {
        let why =
            "is for --task regression; classifiers are adapted by the shares of their classes, which the head keeps";
        if self.keep_rows { Err(Error::flag("--keep-rows", why)) } else { Ok(()) }
    }

    /// The settings of a file, or the default ones, and those that the file names.
    fn read_settings<T: DeserializeOwned + Default>(&self) -> Result<(T, toml::Table)> {
        let Some(path) = &self.settings else { return Ok(Default::default()) };
        let text = std::fs::read_to_string(path).map_err(|e| {
            let why = format!("cannot be read: {e}");
            Error::Settings { path: path.clone(), place: String::new(), why }
        })?;
        settings_of(path, &text)
    }

    /// What the rows look like, for `monitor` and `predict --explain`; none where nothing of them is to be kept.
    fn kept(&self, counted: impl FnOnce(Seed) -> Option<Baseline>) -> Option<Baseline> {
        if self.no_fingerprints { None } else { counted(Seed::new(self.seed.seed)) }
    }

    fn model(&self, head: Head, columns: ModelColumns, fingerprint: impl FnOnce() -> String, known: &Known) -> Model {
        let keep = !self.no_fingerprints;
        Model {
            head,
            columns,
            kind: None,
            labels: None,
            level: None,
            seed: self.seed.seed,
            fingerprint: if keep { fingerprint() } else { String::new() },
            fingerprints: keep.then(|| known.set()),
            baseline: None,
            version: Model::VERSION.to_owned(),
        }
    }

    fn summary(
        &self,
        task: &'static str,
        columns: &ModelColumns,
        rows: usize,
        settings: serde_json::Result<Value>,
    ) -> Summary {
        Summary {
            schema: "stonet.fit/1",
            task,
            rows,
            sampled: None,
            calibration_rows: None,
            total_rows: None,
            features: columns.features.len(),
            also: columns.also,
            logits: columns.logits.len(),
            targets: columns.targets.clone(),
            classes: None,
            class_columns: Vec::new(),
            labels: None,
            absent_classes: Vec::new(),
            level: None,
            seed: self.seed.seed,
            fingerprint: String::new(),
            settings: settings.unwrap_or(Value::Null),
            seconds: 0.0,
            guarantee: None,
            weights: None,
            members: None,
            sets: None,
            shown_sets: None,
            accuracy: None,
            shown_accuracy: None,
            selected_features: Vec::new(),
            warnings: Vec::new(),
            head: self.output.display().to_string(),
        }
    }
}

/// The settings in a file's text, and those that it names.
pub fn settings_of<T: DeserializeOwned>(path: &Path, text: &str) -> Result<(T, toml::Table)> {
    let wrong = |e: toml::de::Error| {
        let (place, why) = wrong_settings::explained(text, &e);
        Error::Settings { path: path.to_owned(), place, why }
    };
    let named: toml::Table = toml::from_str(text).map_err(wrong)?;
    match named.clone().try_into() {
        Ok(read) => Ok((read, named)),
        // The text knows the line of what is wrong.
        Err(e) => Err(wrong(toml::from_str::<T>(text).err().unwrap_or(e))),
    }
}
