//! Pages with figures: what all of them say about where they come from, and how comparisons become tables.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use stonet::conformal::SetScore;
use stonet::metrics::{ClassReport, Measured};
use stonet_compare::benchmark::{IntervalComparison, Summary};
use stonet_compare::{classes, files};
use stonet_report::{About, Better, Column, Comparison, Method, Score, Unit, whole};

use crate::console::Console;
use crate::error::{Error, Result};
use crate::output;
use crate::stdout::quoted;

/// The arguments that this program was called with.
static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the arguments, the program's name first, for pages to tell.
pub fn remember(arguments: &[OsString]) {
    // The first call counts: a program is one command.
    let _ = COMMAND.set(arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect());
}

/// The page's origin: this command line, this version.
pub fn about(title: impl Into<String>, settings: Value) -> About {
    let words = COMMAND.get().into_iter().flatten().map(|word| quoted(word));
    let command = ["stonet".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    About {
        title: title.into(),
        command,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created: String::new(),
        settings,
    }
}

/// Fails early, before hours of work, where a page cannot be written or would replace one of `inputs`.
pub fn check(path: Option<&Path>, inputs: &[&Path]) -> Result<()> {
    match path {
        Some(path) => output::check_named("--report", path, "html", "report.html", inputs),
        None => Ok(()),
    }
}

/// The same of a page, or of a card in Markdown; true where it is a card.
pub fn check_card(path: Option<&Path>, inputs: &[&Path]) -> Result<bool> {
    let Some(path) = path else { return Ok(false) };
    if path.extension().is_some_and(|e| e == "md") {
        output::check(path, inputs)?;
        return Ok(true);
    }
    if path.extension().is_none_or(|e| e != "html") {
        return Err(Error::flag("--report", "must end in .html or .md, such as report.html or card.md"));
    }
    output::check(path, inputs)?;
    Ok(false)
}

/// The last part of a path, for titles.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes a page.
pub fn write(path: &Path, html: &str, console: &Console) -> Result<()> {
    files::write(path, html)?;
    console.note(format_args!("the report is in {}", path.display()));
    Ok(())
}

fn column(name: &str, better: Option<Better>, unit: Unit) -> Column {
    Column { name: name.into(), better, unit }
}

fn score(value: f64) -> Option<Score> {
    Some(Score { value, error: None })
}

/// With a standard error, where it is known.
fn uncertain(value: f64, error: Option<f64>) -> Option<Score> {
    Some(Score { value, error: error.filter(|e| e.is_finite()) })
}

/// Standard error of a proportion of so many rows, at least that of one row more on the other side, so that 0 and 1 are
/// not certain.
fn binomial_error(value: f64, rows: usize) -> Option<f64> {
    let n = rows as f64 + 2.0;
    let p = (value * rows as f64 + 1.0) / n;
    (rows > 0).then(|| (p * (1.0 - p) / n).sqrt())
}

/// Interval methods on one split.
pub fn intervals(c: &IntervalComparison) -> Comparison {
    let method = |m: &stonet_compare::benchmark::Compared| {
        let j = &m.judged;
        let held = |value: f64, rows: usize| uncertain(value, binomial_error(value, rows));
        let scores = vec![
            held(j.coverage, c.test_rows),
            uncertain(j.mean_length, j.mean_length_se),
            uncertain(j.winkler, j.winkler_se),
            held(j.narrowest, c.test_rows / 5),
            held(j.widest, c.test_rows / 5),
            score(j.seconds),
        ];
        Method { name: m.name.into(), ours: m.name == c.default, scores }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!(
            "Every method fitted on the same {} rows and judged on the same {} test rows, at {} %.",
            whole(c.validation_rows),
            whole(c.test_rows),
            (1e4 * c.level).round() / 100.0
        ),
        columns: interval_columns(c.level),
        methods: c.methods.iter().map(method).collect(),
        charts: vec![0, 1, 2],
    }
}

/// The same as means over splits.
pub fn benchmark(s: &Summary) -> Comparison {
    let method = |m: &stonet_compare::benchmark::MethodSummary| {
        // One split has no standard error over splits.
        let error = |value: f64, se: f64| uncertain(value, (s.splits > 1).then_some(se));
        let scores = vec![
            error(m.coverage, m.coverage_se),
            error(m.mean_length, m.mean_length_se),
            error(m.winkler, m.winkler_se),
            error(m.narrowest, m.narrowest_se),
            error(m.widest, m.widest_se),
            score(m.seconds),
        ];
        Method { name: m.name.into(), ours: m.name == s.default, scores }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!(
            "Means over the splits, with standard errors where they are known. {}. {}",
            s.headline(),
            s.columns()
        ),
        columns: interval_columns(s.level),
        methods: s.methods.iter().map(method).collect(),
        charts: vec![0, 1, 2],
    }
}

/// What interval methods are judged by.
pub fn interval_columns(level: f64) -> Vec<Column> {
    vec![
        column("coverage", Some(Better::Near(level)), Unit::Percent),
        column("mean length", Some(Better::Lower), Unit::Number),
        column("interval score", Some(Better::Lower), Unit::Number),
        column("coverage, narrowest fifth", Some(Better::Near(level)), Unit::Percent),
        column("coverage, widest fifth", Some(Better::Near(level)), Unit::Percent),
        column("time", None, Unit::Seconds),
    ]
}

/// Calibration methods on one split.
pub fn classes(c: &classes::Comparison) -> Comparison {
    let method = |m: &classes::Judged| {
        // The upper half of a 95 % interval holds noise alone; the lower half of a calibration error's also holds its
        // bias.
        let error = |of: fn(&ClassReport) -> Measured| m.scores.as_ref().map(of).map(|m| (m.high - m.value) / 1.96);
        let scores = vec![
            uncertain(m.accuracy, binomial_error(m.accuracy, c.test_rows)),
            uncertain(m.nll, error(|r| r.nll)),
            uncertain(m.brier, error(|r| r.brier)),
            uncertain(m.ece, error(|r| r.ece)),
            score(m.ece_floor),
            uncertain(m.cece, error(|r| r.cece)),
            score(m.seconds),
        ];
        Method { name: m.name.to_string(), ours: m.name == c.default, scores }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!(
            "Every method fitted on the same {} rows and judged on the same {} test rows. The floor is the ECE that a perfectly \
             calibrated model would show on as many rows.",
            whole(c.validation_rows),
            whole(c.test_rows)
        ),
        columns: vec![
            column("accuracy", Some(Better::Higher), Unit::Percent),
            column("NLL", Some(Better::Lower), Unit::Number),
            column("Brier", Some(Better::Lower), Unit::Number),
            column("ECE", Some(Better::Lower), Unit::Percent),
            column("floor of the ECE", None, Unit::Percent),
            column("class-wise ECE", Some(Better::Lower), Unit::Percent),
            column("time", None, Unit::Seconds),
        ],
        methods: c.methods.iter().map(method).collect(),
        charts: vec![1, 3],
    }
}

/// Kinds of prediction sets on one split.
pub fn sets(c: &classes::SetComparison, test_rows: usize) -> Comparison {
    let kind = |k: &classes::JudgedSets| {
        let worst = |value: Option<f64>| value.and_then(score);
        let coverage = uncertain(k.coverage.value, binomial_error(k.coverage.value, test_rows));
        let scores = vec![coverage, score(k.mean_size), worst(k.worst_class), worst(k.worst_size)];
        Method { name: k.score.into(), ours: k.score == SetScore::default().name(), scores }
    };
    Comparison {
        title: "Prediction sets compared".into(),
        lead: format!(
            "Sets of the default probabilities by cv+, cut at different scores, at {} %. {}",
            c.level.percent(),
            c.guarantee
        ),
        columns: vec![
            column("coverage", Some(Better::Near(c.level.get())), Unit::Percent),
            column("mean size", Some(Better::Lower), Unit::Number),
            column("coverage, worst class", Some(Better::Near(c.level.get())), Unit::Percent),
            column("coverage, worst size", Some(Better::Near(c.level.get())), Unit::Percent),
        ],
        methods: c.kinds.iter().map(kind).collect(),
        charts: vec![1, 3],
    }
}
