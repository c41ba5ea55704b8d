//! What is asked of a head: `--level`, `--side`, `--joint`, `--quantiles`, `--below`, `--sets`,
//! `--accuracy` and `--rule`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stonet::{Level, Side};
use stonet_io::{DecisionColumn, Model, Resolved, SavedRule, ScoreSettings, SetColumns, Setting};

use crate::error::{Error, Result};

/// Levels and ends of intervals, quantiles and probabilities.
#[derive(Args)]
pub struct AskedArgs {
    /// Coverage of the intervals or prediction sets, or the level of bounds of accuracy, one or several; that of the fit if nothing is asked for
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    level: Vec<f64>,
    /// Which bounds to compute
    #[arg(long, value_enum, default_value_t = End::Both)]
    side: End,
    /// Intervals that cover all targets of a row jointly
    #[arg(long)]
    joint: bool,
    /// Quantiles between 0 and 1, in columns such as `q05`
    ///
    /// A quantile below 0.5 is the lower bound of its level, any other the upper bound, with the guarantee of that
    /// bound.
    #[arg(long, value_delimiter = ',', value_name = "QUANTILES")]
    quantiles: Vec<f64>,
    /// Values t: P(y <= t) for each, in columns such as `below_100`
    #[arg(long, value_delimiter = ',', value_name = "VALUES", allow_hyphen_values = true)]
    below: Vec<f64>,
    /// Prediction sets, of a head that was fitted with --sets: the labels in column `set`, or with --sets=columns 0 or 1
    /// in a column `in_<label>` for each class; and `set_size`
    ///
    /// Labels in `set` stand in the order of the classes with `|` between them; a `|` or `\` within a label has a `\` in
    /// front. Several levels have columns such as `set_80` and `set_size_80`.
    #[arg(long, value_enum, value_name = "AS", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    sets: Option<SetsAs>,
    /// Bounds of the accuracy among rows of this row's confidence, of a head that was fitted with --accuracy-bounds: columns
    /// `accuracy_lower` and `accuracy_upper`
    ///
    /// With the probability --level all bounds hold at once. Several levels have columns such as `accuracy_lower_80`.
    #[arg(long)]
    accuracy: bool,
    /// A rule of answers, made by `stonet control` for this head: column `decision` is `answer` or `abstain`, and 1 or 0 in
    /// .npy and .onnx files
    #[arg(long, value_name = "RULE.json")]
    rule: Option<PathBuf>,
}

/// How prediction sets are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SetsAs {
    /// One column of text
    Text,
    /// A column of 0 and 1 for each class
    Columns,
}

/// Which ends an interval has.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum End {
    /// Both
    Both,
    /// A lower bound only
    Lower,
    /// An upper bound only
    Upper,
}

impl AskedArgs {
    /// Files that these flags read.
    pub fn files(&self) -> Vec<&Path> {
        self.rule.as_deref().into_iter().collect()
    }

    /// The flags as settings; `numbers` are for files that hold nothing else.
    pub fn settings(&self, single: bool, numbers: bool) -> Result<ScoreSettings> {
        let levels = self.level.iter().map(|&l| Level::new(l)).collect::<stonet::Result<Vec<_>>>()?;
        let side = match self.side {
            End::Both => Side::Both,
            End::Lower => Side::Lower,
            End::Upper => Side::Upper,
        };
        let quantile = |&q: &f64| {
            Level::new(q)
                .map_err(|_| Error::flag("--quantiles", format!("has {q}; give numbers between 0 and 1, such as 0.05")))
        };
        let quantiles = self.quantiles.iter().map(quantile).collect::<Result<Vec<_>>>()?;
        let sets = self.sets.map(|sets| match sets {
            SetsAs::Text => SetColumns::Text,
            SetsAs::Columns => SetColumns::Columns,
        });
        let (joint, below, accuracy) = (self.joint, self.below.clone(), self.accuracy);
        let rule = self.rule.as_deref().map(SavedRule::load).transpose()?;
        let decision = if numbers { DecisionColumn::Number } else { DecisionColumn::Text };
        Ok(ScoreSettings { levels, side, joint, quantiles, below, sets, accuracy, rule, decision, single })
    }
}

/// What settings mean for a head, with errors that name the flags.
pub fn resolve(model: &Model, settings: &ScoreSettings) -> Result<Resolved> {
    Ok(model.resolve_as(settings, flag)?)
}

/// Gives the columns of answers the names that `--target` has for them.
pub fn rename_targets(model: &mut Model, names: Option<&[String]>) -> Result<()> {
    let Some(names) = names else { return Ok(()) };
    let (found, wanted) = (names.len(), model.columns.targets.len());
    if found != wanted {
        return Err(Error::flag("--target", format!("names {found} columns, and the head predicts {wanted}")));
    }
    if let Some(input) = model.columns.inputs().iter().find(|i| names.contains(i)) {
        let why = format!("names `{input}`, which the head reads; name the column with the answers");
        return Err(Error::flag("--target", why));
    }
    model.columns.targets = names.to_vec();
    Ok(())
}

/// The flag of a setting.
fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Level => "--level",
        Setting::Side => "--side",
        Setting::Joint => "--joint",
        Setting::Quantiles => "--quantiles",
        Setting::Below => "--below",
        Setting::Prediction => "--prediction",
        Setting::Features => "--features",
        Setting::Sets => "--sets",
        Setting::Accuracy => "--accuracy",
        Setting::Rule => "--rule",
    }
}
