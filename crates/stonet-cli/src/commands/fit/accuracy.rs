//! The flags of `stonet fit` for bounds of accuracy, and what is said about fitted ones.

use clap::Args;
use serde_json::{Value, json};
use stonet::classification::{AccuracyBins, AccuracyInterval, AccuracySettings};
use stonet::{ClassSets, FittedClassifier, Level};
use stonet_io::default_level;
use stonet_report::bin_names;

use crate::error::{Error, Result};

/// Bounds of accuracy beside class probabilities.
#[derive(Args)]
pub struct AccuracyArgs {
    /// Classification: also bound the accuracy among rows of similar confidence, on a share of rows that is held out of
    /// the fit [default share: 0.3; with --sets split the rows that calibrate the sets]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true)]
    accuracy_bounds: Option<Option<f64>>,
    /// Classification: bins of confidence for --accuracy-bounds [default: one per 50 rows held out, at most 10]
    #[arg(long, value_name = "N")]
    accuracy_bins: Option<usize>,
}

impl AccuracyArgs {
    /// The first flag that is given.
    pub fn given(&self) -> Option<&'static str> {
        match (self.accuracy_bounds, self.accuracy_bins) {
            (Some(_), _) => Some("--accuracy-bounds"),
            (None, Some(_)) => Some("--accuracy-bins"),
            (None, None) => None,
        }
    }

    /// What is asked for: the table of a file of settings, then the flags.
    pub fn settings(
        &self,
        file: Option<AccuracySettings>,
        sets: Option<&ClassSets>,
    ) -> Result<Option<AccuracySettings>> {
        let mut settings = match (self.accuracy_bounds, file) {
            (None, None) if self.accuracy_bins.is_some() => {
                return Err(Error::flag("--accuracy-bins", "needs --accuracy-bounds, or [accuracy] in --settings"));
            }
            (None, None) => return Ok(None),
            (_, file) => file.unwrap_or_default(),
        };
        settings.held_out = self.accuracy_bounds.flatten().or(settings.held_out);
        settings.bins = self.accuracy_bins.or(settings.bins);
        settings.check(sets).map_err(|e| match e {
            stonet::Error::Setting { name: "held_out", value, range } => {
                Error::flag("--accuracy-bounds", format!("holds out {value}; the share must be {range}"))
            }
            stonet::Error::Setting { name: "bins", value, range } => {
                Error::flag("--accuracy-bins", format!("is {value}; it must be {range}"))
            }
            e => e.into(),
        })?;
        Ok(Some(settings))
    }
}

/// The bounds of a fitted classifier at the level of the fit.
pub struct ToldAccuracy<'a> {
    bins: &'a AccuracyBins,
    level: Level,
    guarantee: String,
}

impl<'a> ToldAccuracy<'a> {
    /// Those of a classifier that has some.
    pub fn of(fitted: &'a FittedClassifier, level: Option<Level>) -> Option<Self> {
        let level = level.unwrap_or_else(default_level);
        let guarantee = fitted.accuracy_guarantee(level)?.text;
        Some(ToldAccuracy { bins: fitted.accuracy_bins()?, level, guarantee })
    }

    /// In a few words.
    pub fn shown(&self) -> String {
        let bins = if self.bins.len() == 1 { "bin" } else { "bins" };
        format!("bounds in {} {bins} of confidence, {} rows counted", self.bins.len(), self.bins.rows())
    }

    /// What holds.
    pub fn guarantee(&self) -> &str {
        &self.guarantee
    }

    /// Every bin with its bounds.
    pub fn lines(&self) -> Vec<String> {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let one = |(b, name): (&AccuracyInterval, String)| {
            format!(
                "confidence {name}: accuracy {}–{} % ({} of {} right)",
                percent(b.lower),
                percent(b.upper),
                b.right,
                b.rows
            )
        };
        let bounds = self.bins.bounds(self.level);
        bounds.bins().iter().zip(bin_names(bounds.bins())).map(one).collect()
    }

    /// For programs.
    pub fn told(&self) -> Value {
        json!({
            "level": self.level,
            "rows": self.bins.rows(),
            "bins": self.bins.bounds(self.level).bins(),
            "guarantee": self.guarantee,
        })
    }
}
