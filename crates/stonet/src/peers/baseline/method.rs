//! The baselines by the names users type.

use serde::{Deserialize, Serialize};

use crate::base::names::named;
use crate::rows::OwnKind;

/// A baseline, by the name that tables, flags and Python know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Baseline {
    /// `split-conformal`: split conformal on the network's own errors.
    SplitConformal,
    /// `normalised-conformal`: split conformal with a learned scale.
    NormalisedConformal,
    /// `cqr`: conformalised quantile regression.
    Cqr,
    /// `cqr-own`: conformalised quantile regression with the network's own quantiles.
    CqrOwn,
    /// `normalised-own`: split conformal in units of the network's own standard deviation.
    NormalisedOwn,
    /// `refit-conformal`: a small network refitted on half of the rows.
    RefitConformal,
    /// `post-linear`: a Lasso on the features.
    PostLinear,
    /// `laplace`: Bayesian regression on the features.
    Laplace,
}

impl Baseline {
    /// All of them, in the order of tables.
    pub const ALL: [Baseline; 8] = [
        Baseline::SplitConformal,
        Baseline::NormalisedConformal,
        Baseline::Cqr,
        Baseline::CqrOwn,
        Baseline::NormalisedOwn,
        Baseline::RefitConformal,
        Baseline::PostLinear,
        Baseline::Laplace,
    ];

    /// What it needs of the network's own uncertainty.
    pub fn own(self) -> Option<OwnKind> {
        match self {
            Baseline::CqrOwn => Some(OwnKind::Quantiles),
            Baseline::NormalisedOwn => Some(OwnKind::Sd),
            _ => None,
        }
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::SplitConformal => "split-conformal",
            Baseline::NormalisedConformal => "normalised-conformal",
            Baseline::Cqr => "cqr",
            Baseline::CqrOwn => "cqr-own",
            Baseline::NormalisedOwn => "normalised-own",
            Baseline::RefitConformal => "refit-conformal",
            Baseline::PostLinear => "post-linear",
            Baseline::Laplace => "laplace",
        }
    }
}

named!(Baseline, "baseline");
