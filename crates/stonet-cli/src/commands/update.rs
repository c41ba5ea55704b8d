//! `stonet update`: labelled rows that came after the fit join the scores of a head.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::json;
use stonet::regression::{Adaptive, Issued, Update as Updating, UpdateSettings, Way};
use stonet::{FittedRegressor, Level, Seed};
use stonet_io::{Head, Model, Reading, default_level};

use crate::args::{FORMATS, MissingArg, SeedArg, WithArg};
use crate::console::Console;
use crate::error::{Error, Result};
use crate::rows::{Batch, RegressionFile, Source};
use crate::stdout::path;
use crate::{asked, output};

/// Let labelled rows that came after the fit join the scores of a head, and write it to a new file
///
/// Rows join in the order in which they stand in the file; with --window the oldest leave. Nothing is fitted again: models
/// and widths stay, and the ranks of errors follow the new rows. With --adaptive the level follows the share of intervals
/// that missed, which needs the intervals as they were issued before the answers were known (--issued).
///
/// Regression heads alone: intervals of `stack`, `fast`, `cv+` and `split`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  stonet update head.stonet may.csv -o head2.stonet --window 2000\n  stonet predict head.stonet today.csv -o issued.csv                 # before the answers are known\n  stonet update head.stonet today-with-answers.csv -o head2.stonet --adaptive aci --issued issued.csv"
)]
pub struct Update {
    /// The head, made by `stonet fit` or `stonet update`
    head: PathBuf,
    #[arg(help = format!("New rows with their answers, in the order in which they came. {FORMATS}"))]
    rows: PathBuf,
    /// The updated head, a file that ends in .stonet; it may replace the old one
    #[arg(short, long, value_name = "HEAD")]
    output: PathBuf,
    /// Keep this many of the newest rows; the rows of the fit are the oldest, in random order among each other [default:
    /// all rows stay]
    #[arg(long, value_name = "N")]
    window: Option<usize>,
    /// Let the level follow its misses: aci (adaptive conformal inference) or pid (conformal PID without a scorecaster)
    /// [default: as the head does]
    #[arg(long, value_name = "NAME")]
    adaptive: Option<Adaptive>,
    /// Step size of --adaptive: of the level for aci, in units of the largest score of the last 100 rows for pid [default:
    /// 0.005 for aci and 0.1 for pid, or that of the head]
    #[arg(long, value_name = "NUMBER")]
    rate: Option<f64>,
    /// The intervals as they were issued for the same rows in the same order: a file of `predict` with columns such as
    /// lower_90 and upper_90
    #[arg(long, value_name = "FILE")]
    issued: Option<PathBuf>,
    /// Levels of the issued intervals, which are adapted [default: those that the head adapts, or that of the fit]
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    level: Vec<f64>,
    /// Columns with the true values, if their names differ from those of the fit
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS")]
    target: Option<Vec<String>>,
    #[command(flatten)]
    missing: MissingArg,
    #[command(flatten)]
    seed: SeedArg,
    #[command(flatten)]
    with: WithArg,
}

/// What `update --json` prints.
#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    head: String,
    input: String,
    output: String,
    /// Rows that joined in this run, and in all since the fit.
    rows: u64,
    joined: u64,
    /// Rows that are ranked now.
    scored: usize,
    window: Option<usize>,
    adaptive: Option<Adaptive>,
    rate: Option<f64>,
    levels: Vec<serde_json::Value>,
    level: f64,
    guarantee: String,
    warnings: Vec<String>,
}

impl Update {
    pub fn run(self, console: &Console) -> Result<()> {
        // The head itself may be replaced: it is read before, and the new one appears whole.
        let mut read = output::with(&self.rows, &self.with.files);
        read.extend(self.issued.as_deref());
        output::check_named("--output", &self.output, "stonet", "head2.stonet", &read)?;
        let mut model = Model::load(&self.head)?;
        let names = model.columns.targets.clone();
        asked::rename_targets(&mut model, self.target.as_deref())?;
        let head = self.regression(&model)?.clone();
        let before = head.updated().map_or(0, |u| u.joined());
        let level = model.level.unwrap_or_else(default_level);
        let settings = self.settings(&head, level)?;
        let issued = self.issued_rows(&settings.levels, console)?;
        let levels = settings.levels.clone();
        let mut update = head.update(settings).map_err(flagged)?;
        let hashes = self.add(&model, &mut update, issued.as_ref(), console)?;
        let rows = update.joined() - before;
        if rows == 0 {
            return Err(Error::flag("ROWS", format!("{} has no rows; the head stays as it is", self.rows.display())));
        }
        let updated = update.finish()?;
        let mut warnings = Vec::new();
        let fingerprints = model.fingerprints.as_ref().and_then(|known| known.with(&hashes));
        if model.fingerprints.is_some() && fingerprints.is_none() {
            warnings.push(
                "there are too many rows for more fingerprints: `evaluate` cannot tell that the new rows have joined"
                    .to_owned(),
            );
        }
        warnings.extend(levels.iter().filter_map(|&l| whole_line(&updated, l)));
        warnings.iter().for_each(|w| console.warn(w));
        model.columns.targets = names;
        model.fingerprints = fingerprints.or(model.fingerprints);
        let summary = self.summary(&updated, level, (rows, &levels), warnings);
        Model { head: Head::Regression(Box::new(updated)), ..model }.save(&self.output)?;
        console.result(&summary, || summary.text())?;
        console.next(format_args!("stonet predict {} new.csv -o predictions.csv", path(&self.output)));
        Ok(())
    }

    fn regression<'m>(&self, model: &'m Model) -> Result<&'m FittedRegressor> {
        let why = match &model.head {
            Head::Regression(head) => return Ok(head),
            Head::Classification(_) => "is a classifier; heads for regression alone can be updated, so fit it again",
            Head::Labels(_) => "is one of many labels; heads for regression alone can be updated, so fit it again",
        };
        Err(Error::flag("HEAD", why))
    }

    /// The flags, with what the head does already where they say nothing.
    fn settings(&self, head: &FittedRegressor, level: Level) -> Result<UpdateSettings> {
        let seed = Seed::new(self.seed.seed);
        let window = self.window;
        let known = head.level_tracks();
        let Some(method) = self.adaptive.or(known.map(|a| a.method())) else {
            let stray = [
                ("--issued", self.issued.is_some()),
                ("--rate", self.rate.is_some()),
                ("--level", !self.level.is_empty()),
            ];
            return match stray.into_iter().find(|s| s.1) {
                Some((flag, _)) => Err(Error::flag(flag, "is for --adaptive, which lets the level follow its misses")),
                None => Ok(UpdateSettings { window, seed, ..UpdateSettings::default() }),
            };
        };
        if self.issued.is_none() {
            let why = "needs --issued FILE, the intervals as `predict` issued them before the answers were known";
            return Err(match self.adaptive {
                Some(_) => Error::flag("--adaptive", why),
                None => Error::flag("HEAD", format!("adapts its level by {method}, which {why}")),
            });
        }
        let rate = self.rate.or(known.map(|a| a.rate())).unwrap_or_else(|| method.default_rate());
        let levels = match (&self.level[..], known) {
            ([], Some(known)) => known.tracks().iter().map(|t| t.level).collect(),
            ([], None) => vec![level],
            (given, _) => given.iter().map(|&l| Level::new(l)).collect::<stonet::Result<_>>()?,
        };
        if let Some(i) = (1..levels.len()).find(|&i| levels[..i].contains(&levels[i])) {
            return Err(Error::flag("--level", format!("names {} twice", levels[i].get())));
        }
        Ok(UpdateSettings { window, adaptive: Some((method, rate)), levels, seed })
    }

    /// The ends of the intervals as they were issued, per level; `inf` and `-inf` are ends too.
    fn issued_rows(&self, levels: &[Level], console: &Console) -> Result<Option<Ends>> {
        let Some(path) = &self.issued else { return Ok(None) };
        let name = |end: &str, level: &Level| format!("{end}_{}", level.percent());
        let names: Vec<[String; 2]> = levels.iter().map(|l| [name("lower", l), name("upper", l)]).collect();
        let text: Vec<String> = names.iter().flatten().cloned().collect();
        let source = Source::new(path, &[], MissingArg::default(), console);
        let reading = Reading { numbers: Some(Vec::new()), text, ..Reading::default() };
        let (table, _) = source.read_silently(reading)?;
        let column = |name: &String| -> Result<Vec<f64>> {
            let end = |(row, text): (usize, &String)| {
                text.trim().parse::<f64>().ok().filter(|v| !v.is_nan()).ok_or_else(|| Error::IssuedEnd {
                    path: path.clone(),
                    row,
                    column: name.clone(),
                    text: text.clone(),
                })
            };
            table.text(name)?.iter().enumerate().map(end).collect()
        };
        let ends = names.iter().map(|[l, u]| Ok([column(l)?, column(u)?])).collect::<Result<_>>()?;
        Ok(Some(Ends { rows: table.rows(), ends }))
    }

    /// Reads the rows in batches; returns what tells them from others.
    fn add(
        &self,
        model: &Model,
        update: &mut Updating<'_>,
        issued: Option<&Ends>,
        console: &Console,
    ) -> Result<Vec<u64>> {
        let source = Source::new(&self.rows, &self.with.files, self.missing, console);
        if issued.is_some() && self.missing.drop_missing {
            return Err(Error::flag(
                "--drop-missing",
                "would leave out rows that --issued has; remove them from both files",
            ));
        }
        let columns = &model.columns;
        let reading = RegressionFile::reading_like(columns, None);
        let (mut hashes, mut seen) = (Vec::new(), 0);
        source.in_batches(reading, model, 0, |batch: &Batch<'_>| {
            let mut one = || {
                let rows = RegressionFile::of(&source, columns.clone(), batch.table, &batch.rows())?;
                let end = batch.first + batch.table.rows();
                let part = self.part(issued, batch.first, end)?;
                hashes.extend(rows.hashes()?);
                seen = end;
                update.add(&rows.new_rows()?, rows.y.view(), &part).map_err(Error::columns(&self.rows, columns))
            };
            one().map_err(|e| e.after_rows(batch.first))
        })?;
        match issued.filter(|i| i.rows != seen) {
            Some(issued) => Err(self.other_rows(issued.rows, seen)),
            None => Ok(hashes),
        }
    }

    /// The intervals of some rows.
    fn part<'i>(&self, issued: Option<&'i Ends>, first: usize, end: usize) -> Result<Vec<Issued<'i>>> {
        let Some(issued) = issued else { return Ok(Vec::new()) };
        if end > issued.rows {
            return Err(self.other_rows(issued.rows, end));
        }
        Ok(issued.ends.iter().map(|[l, u]| Issued { lower: &l[first..end], upper: &u[first..end] }).collect())
    }

    fn other_rows(&self, issued: usize, rows: usize) -> Error {
        let least = if rows > issued { "at least " } else { "" };
        Error::flag(
            "--issued",
            format!(
                "has {issued} rows, and {} has {least}{rows}; give the intervals of the same rows in the same order",
                self.rows.display()
            ),
        )
    }

    fn summary(
        &self,
        head: &FittedRegressor,
        level: Level,
        (rows, levels): (u64, &[Level]),
        warnings: Vec<String>,
    ) -> Summary {
        let shown = |p: &Path| p.display().to_string();
        let track = |l: &Level| {
            let track = head.level_tracks()?.track(*l)?;
            Some(
                json!({ "level": l.get(), "rows": track.rows, "misses": track.misses, "state": head.level_tracks()?.told(*l) }),
            )
        };
        let level = levels.first().copied().unwrap_or(level);
        Summary {
            schema: "stonet.update/1",
            head: shown(&self.head),
            input: shown(&self.rows),
            output: shown(&self.output),
            rows,
            joined: head.updated().map_or(0, |u| u.joined()),
            scored: head.scored_rows(),
            window: self.window,
            adaptive: head.level_tracks().map(|a| a.method()),
            rate: head.level_tracks().map(|a| a.rate()),
            levels: levels.iter().filter_map(track).collect(),
            level: level.get(),
            guarantee: head.guarantee(level).text,
            warnings,
        }
    }
}

/// The ends of issued intervals, per level.
struct Ends {
    rows: usize,
    ends: Vec<[Vec<f64>; 2]>,
}

impl Summary {
    /// For people.
    fn text(&self) -> String {
        let Summary { output, rows, joined, scored, guarantee, .. } = self;
        format!(
            "{output}: {rows} rows joined, {joined} since the fit; {scored} rows are ranked\nguarantee  {guarantee}\n"
        )
    }
}

/// A warning where an adapted level has come to the whole line.
fn whole_line(head: &FittedRegressor, level: Level) -> Option<String> {
    let whole = match head.level_tracks()?.way(level)? {
        Way::Level(now) => head.too_few_rows(now, false).ok()?.is_some(),
        Way::Shifted(_) => false,
    };
    whole.then(|| {
        format!(
            "intervals at level {} are the whole line until rows have been covered again: too many missed",
            level.get()
        )
    })
}

/// What is wrong with an update, in the words of the flags.
fn flagged(error: stonet::Error) -> Error {
    match error {
        stonet::Error::TooFewRows { what: "a window at the level of the fit", needed, found, .. } => Error::flag(
            "--window",
            format!("is {found}, and intervals at the level of the fit need {needed} rows; use a longer window"),
        ),
        stonet::Error::Setting { name: "rate", value, range } => {
            Error::flag("--rate", format!("is {value}; it must be {range}"))
        }
        error => Error::Core(error),
    }
}
