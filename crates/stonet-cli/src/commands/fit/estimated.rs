//! `stonet fit --estimate`: rows, features, time and memory of a fit before it starts.

use std::time::Instant;

use serde::Serialize;
use stonet::base::FitEstimate;
use stonet::{Level, Seed};

use super::Fit;
use crate::args::HeadTask;
use crate::console::Console;
use crate::error::{Error, Result};

/// What `fit --estimate --json` prints.
#[derive(Serialize)]
struct Estimated {
    schema: &'static str,
    task: &'static str,
    /// The kind of interval, or the method of probabilities.
    kind: String,
    rows: usize,
    features: usize,
    logits: usize,
    targets: usize,
    threads: usize,
    /// What reading the rows took.
    reading_seconds: f64,
    /// What the fit is expected to take.
    fit_seconds: f64,
    memory_bytes: f64,
    /// The fit that was timed.
    sample_rows: usize,
    sample_seconds: f64,
}

impl Fit {
    pub(super) fn estimated(&self, level: Option<Level>, console: &Console) -> Result<()> {
        let seed = Seed::new(self.seed.seed);
        let begin = Instant::now();
        let (task, kind, columns, read, estimate) = match self.task {
            HeadTask::Regression => {
                let post = self.regression_settings(level)?;
                let (rows, _) = self.regression_rows(&post, &self.source(console), console)?;
                let (read, calibration) = (begin.elapsed(), rows.calibration()?);
                let refused = Error::columns(&self.rows, &rows.columns);
                let estimate = console
                    .run("estimate", |tick| with_threads(post.estimate(&calibration, seed, tick)).map_err(refused))?;
                ("regression", post.kind.name(), rows.columns.clone(), read, estimate)
            }
            HeadTask::Classification => {
                let wanted = self.class_settings(level)?;
                let (rows, _) = self.class_rows(console)?;
                let (read, calibration) = (begin.elapsed(), rows.calibration()?);
                let refused = Error::columns(&self.rows, &rows.columns);
                let estimate = console.run("estimate", |tick| {
                    let fit = |some: &stonet::ClassRows<'_>| wanted.fit(some, seed, tick).map(drop);
                    with_threads(wanted.classifier.estimate_of(&calibration, seed, &fit)).map_err(refused)
                })?;
                ("classification", wanted.classifier.method.name(), rows.columns.clone(), read, estimate)
            }
            HeadTask::Labels => {
                let post = self.label_settings()?;
                let (rows, _) = self.label_rows(console)?;
                let (read, calibration) = (begin.elapsed(), rows.calibration()?);
                let estimate = console.run("estimate", |tick| {
                    let estimate = with_threads(post.estimate_labels(&calibration, seed, tick));
                    estimate.map_err(Error::labels(&self.rows, &rows.columns))
                })?;
                ("labels", post.method.name(), rows.columns.clone(), read, estimate)
            }
        };
        let (FitEstimate { rows, seconds, memory, sample_rows, sample_seconds, .. }, threads) = estimate;
        let estimated = Estimated {
            schema: "stonet.estimate/1",
            task,
            kind: kind.to_owned(),
            rows,
            features: columns.features.len(),
            logits: columns.logits.len(),
            targets: columns.targets.len(),
            threads,
            reading_seconds: read.as_secs_f64(),
            fit_seconds: seconds,
            memory_bytes: memory,
            sample_rows,
            sample_seconds,
        };
        console.result(&estimated, || estimated.text(&self.rows.display().to_string()))?;
        console.next("the same command without --estimate");
        Ok(())
    }
}

/// The estimate, and the threads that made it.
fn with_threads(estimate: stonet::Result<FitEstimate>) -> stonet::Result<(FitEstimate, usize)> {
    Ok((estimate?, rayon::current_num_threads()))
}

impl Estimated {
    fn text(&self, path: &str) -> String {
        let seen = match (self.features, self.logits) {
            (f, 0) => format!("{f} features"),
            (0, z) => format!("{z} logits"),
            (f, z) => format!("{z} logits and {f} features"),
        };
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        format!(
            "{path}: {} rows with {seen}, {} {}\n\
             fit        about {} on {} {threads} ({} rows took {:.2} s)\n\
             memory     about {}\n\
             reading    {:.1} s\n\
             no head was written\n",
            self.rows,
            self.task,
            self.kind,
            shown_seconds(self.fit_seconds),
            self.threads,
            self.sample_rows,
            self.sample_seconds,
            shown_bytes(self.memory_bytes),
            self.reading_seconds,
        )
    }
}

fn shown_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn shown_bytes(bytes: f64) -> String {
    match bytes / 1e6 {
        mb if mb < 1000.0 => format!("{mb:.0} MB"),
        mb => format!("{:.1} GB", mb / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units_that_suit_them() {
        let seconds: Vec<String> = [0.25, 42.0, 600.0, 9000.0].map(shown_seconds).into();
        assert_eq!(seconds, ["0.2 s", "42 s", "10 min", "2.5 h"]);
        assert_eq!([2.4e7, 1.25e10].map(shown_bytes), ["24 MB", "12.5 GB"]);
    }
}
