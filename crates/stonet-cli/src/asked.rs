//! Which intervals are asked for: `--level`, `--side` and `--joint`.

use clap::{Args, ValueEnum};
use stonet::{Level, Side};
use stonet_io::{Model, Resolved, ScoreSettings, Setting};

use crate::error::Result;

/// Levels and ends of intervals.
#[derive(Args)]
pub struct AskedArgs {
    /// Coverage, one or several; that of the fit if not given
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    level: Vec<f64>,
    /// Which bounds to compute
    #[arg(long, value_enum, default_value_t = End::Both)]
    side: End,
    /// Intervals that cover all targets of a row jointly
    #[arg(long)]
    joint: bool,
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
    /// The flags as settings.
    pub fn settings(&self, single: bool) -> Result<ScoreSettings> {
        let levels = self.level.iter().map(|&l| Level::new(l)).collect::<stonet::Result<Vec<_>>>()?;
        let side = match self.side {
            End::Both => Side::Both,
            End::Lower => Side::Lower,
            End::Upper => Side::Upper,
        };
        Ok(ScoreSettings { levels, side, joint: self.joint, single })
    }
}

/// What settings mean for a head, with errors that name the flags.
pub fn resolve(model: &Model, settings: &ScoreSettings) -> Result<Resolved> {
    Ok(model.resolve_as(settings, flag)?)
}

/// The flag of a setting.
fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Level => "--level",
        Setting::Side => "--side",
        Setting::Joint => "--joint",
        Setting::Prediction => "--prediction",
        Setting::Features => "--features",
    }
}
