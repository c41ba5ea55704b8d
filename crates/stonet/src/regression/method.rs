//! The kinds of intervals.

use serde::{Deserialize, Serialize};

use crate::base::names::named;

/// The intervals, by the names users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Kind {
    /// `paper`: Eve's law with the training variance, κ by the paper's coverage rule.
    Paper,
    /// `cv`: Eve's law with the out-of-fold variance, κ by out-of-fold error.
    Cv,
    /// `cv+`: CV+ around the StoNet alone.
    CvPlus,
    /// `split`: the stack by split conformal: exact 1 − α.
    Split,
    /// `fast`: nested CV+ around ridge and the network, no StoNet.
    Fast,
    /// `stack`: nested CV+ around all members with a learned scale.
    #[default]
    Stack,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [Kind::Stack, Kind::CvPlus, Kind::Cv, Kind::Paper, Kind::Fast, Kind::Split];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Paper => "paper",
            Kind::Cv => "cv",
            Kind::CvPlus => "cv+",
            Kind::Split => "split",
            Kind::Fast => "fast",
            Kind::Stack => "stack",
        }
    }
}

named!(Kind, "interval");
