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
    /// The greatest number of raw inputs of a network that join its features by default: the most that were measured.
    pub const MOST_INPUTS: usize = 100;
    /// The least number of calibration rows at which they do: with fewer, inputs were measured to do harm on some sets.
    pub const LEAST_ROWS: usize = 200;

    /// Whether columns beside the features have a place in it: `paper` and `cv` are the paper's own form, which is on
    /// the features alone.
    pub fn sees_further_columns(self) -> bool {
        !matches!(self, Kind::Paper | Kind::Cv)
    }

    /// Whether so many raw inputs of a network join its features where nothing is said and so many rows calibrate.
    pub fn joins_inputs(self, inputs: usize, rows: usize) -> bool {
        self.sees_further_columns() && (1..=Self::MOST_INPUTS).contains(&inputs) && rows >= Self::LEAST_ROWS
    }

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

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_moderate_number_of_inputs_joins_enough_rows() {
        for kind in Kind::ALL {
            let sees = !matches!(kind.name(), "paper" | "cv");
            assert_eq!((kind.joins_inputs(100, 200), kind.joins_inputs(1, 9000)), (sees, sees), "{kind}");
            assert!(![(101, 9000), (5, 199), (0, 9000)].into_iter().any(|(x, n)| kind.joins_inputs(x, n)), "{kind}");
        }
    }
}
