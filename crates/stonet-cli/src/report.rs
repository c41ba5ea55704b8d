//! Pages with figures: what all of them say about where they come from, and how comparisons become tables.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use stonet_report::{About, Better, Column, Comparison, Method, Score};
use stonet_repro::benchmark::{IntervalComparison, Summary};
use stonet_repro::{calibration, files};

use crate::console::Console;
use crate::error::Result;
use crate::output;

/// The arguments that this program was called with.
static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the arguments, the program's name first, for pages to tell.
pub fn remember(arguments: &[OsString]) {
    // The first call counts: a program is one command.
    let _ = COMMAND.set(arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect());
}

/// The page's origin: this command line, this version.
pub fn about(title: impl Into<String>, settings: Value) -> About {
    let quoted = |text: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let words = COMMAND.get().into_iter().flatten().cloned().map(quoted);
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

/// Writes a page.
pub fn write(path: &Path, html: &str, console: &Console) -> Result<()> {
    files::write(path, html)?;
    console.note(format_args!("the report is in {}", path.display()));
    Ok(())
}

fn column(name: &str, better: Option<Better>, percent: bool) -> Column {
    Column { name: name.into(), better, percent }
}

fn score(value: f64) -> Option<Score> {
    Some(Score { value, error: None })
}

/// Interval methods on one split.
pub fn intervals(c: &IntervalComparison) -> Comparison {
    let method = |m: &stonet_repro::benchmark::Compared| {
        let j = &m.judged;
        let values = [j.coverage, j.mean_length, j.winkler, j.narrowest, j.widest, j.seconds];
        Method { name: m.name.into(), ours: m.name == c.default, scores: values.map(score).to_vec() }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!(
            "Every method fitted on the same {} rows and judged on the same {} test rows, at {} %.",
            c.validation_rows,
            c.test_rows,
            (1e4 * c.level).round() / 100.0
        ),
        columns: interval_columns(c.level),
        methods: c.methods.iter().map(method).collect(),
        charts: vec![0, 1, 2],
    }
}

/// The same as means over splits.
pub fn benchmark(s: &Summary) -> Comparison {
    let method = |m: &stonet_repro::benchmark::MethodSummary| {
        let error = |value: f64, se: f64| Some(Score { value, error: Some(se) });
        let scores = vec![
            error(m.coverage, m.coverage_se),
            error(m.mean_length, m.mean_length_se),
            score(m.winkler),
            score(m.narrowest),
            score(m.widest),
            score(m.seconds),
        ];
        Method { name: m.name.into(), ours: m.name == s.default, scores }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!("Means over the splits, with standard errors where they are known. {}.", s.headline()),
        columns: interval_columns(s.level),
        methods: s.methods.iter().map(method).collect(),
        charts: vec![0, 1, 2],
    }
}

/// What interval methods are judged by.
pub fn interval_columns(level: f64) -> Vec<Column> {
    vec![
        column("coverage", Some(Better::Near(level)), true),
        column("mean length", Some(Better::Lower), false),
        column("interval score", Some(Better::Lower), false),
        column("coverage, narrowest fifth", Some(Better::Near(level)), true),
        column("coverage, widest fifth", Some(Better::Near(level)), true),
        column("seconds", None, false),
    ]
}

/// Calibration methods on one split.
pub fn classes(c: &calibration::Comparison) -> Comparison {
    let method = |m: &calibration::Judged| {
        let values = [m.accuracy, m.nll, m.brier, m.ece, m.ece_floor, m.cece, m.seconds];
        Method { name: m.name.to_string(), ours: m.name == c.default, scores: values.map(score).to_vec() }
    };
    Comparison {
        title: "Methods compared".into(),
        lead: format!(
            "Every method fitted on the same {} rows and judged on the same {} test rows. The floor is the ECE that a perfectly \
             calibrated model would show on as many rows.",
            c.validation_rows, c.test_rows
        ),
        columns: vec![
            column("accuracy", Some(Better::Higher), true),
            column("NLL", Some(Better::Lower), false),
            column("Brier", Some(Better::Lower), false),
            column("ECE", Some(Better::Lower), true),
            column("floor of the ECE", None, true),
            column("class-wise ECE", Some(Better::Lower), true),
            column("seconds", None, false),
        ],
        methods: c.methods.iter().map(method).collect(),
        charts: vec![1, 3],
    }
}
