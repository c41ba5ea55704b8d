//! How badly a class conforms to a row of probabilities.

use serde::{Deserialize, Serialize};

/// How much of a class's own probability its score counts, beside that of all classes above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelPart {
    /// Nothing: the most probable class of every row scores least, so sure rows have small sets, and no set is empty.
    #[default]
    None,
    /// All of it, as other programs do without randomisation: the surest rows score high, so that at usual levels many
    /// sets would be empty and the others are large.
    Whole,
    /// A share u, uniform, one per row: exact coverage, but the set of a row depends on the seed. What a plan predicts,
    /// and so what files predict, is never random.
    Random,
}

impl LabelPart {
    fn share(self, u: f64) -> f64 {
        match self {
            LabelPart::None => 0.0,
            LabelPart::Whole => 1.0,
            LabelPart::Random => u,
        }
    }
}

/// The kind of score that a prediction set is cut at; the larger, the less the class conforms. Of two equal
/// probabilities the first class counts as the larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SetScore {
    /// 1 − p_y (Sadinle, Lei & Wasserman 2019): the smallest sets on average, the same threshold for easy and hard
    /// rows.
    #[default]
    Lac,
    /// The probability of all classes above y, plus a part of p_y (Romano, Sesia & Candès 2020): larger sets, whose
    /// coverage is more even over rows.
    Aps {
        /// How much of p_y is added.
        part: LabelPart,
    },
    /// APS plus λ · max(0, rank − k) (Angelopoulos et al. 2021): no long tails of improbable classes.
    Raps {
        /// How much of p_y is added.
        part: LabelPart,
    },
    /// The largest probability, plus λ for every rank below the first (Huang et al. 2024): small probabilities, which
    /// are the least certain, do not count.
    Saps {
        /// How much of the last summand is added.
        part: LabelPart,
    },
}

impl SetScore {
    /// The part adaptive score of the paper.
    pub const APS: SetScore = SetScore::Aps { part: LabelPart::Random };

    /// Whether a uniform number is drawn for every row.
    pub fn is_randomised(self) -> bool {
        match self {
            SetScore::Lac => false,
            SetScore::Aps { part } | SetScore::Raps { part } | SetScore::Saps { part } => part == LabelPart::Random,
        }
    }

    /// The name, as files and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            SetScore::Lac => "lac",
            SetScore::Aps { .. } => "aps",
            SetScore::Raps { .. } => "raps",
            SetScore::Saps { .. } => "saps",
        }
    }

    /// The score with parameters that look at no rows: λ = 0.01 and k = 5 for RAPS, λ = 0.1 for SAPS.
    pub(super) fn untuned(self) -> RowScore {
        match self {
            SetScore::Lac => RowScore::Lac,
            SetScore::Aps { part } => RowScore::Aps { part },
            SetScore::Raps { part } => RowScore::Raps { part, weight: 0.01, free: 5 },
            SetScore::Saps { part } => RowScore::Saps { part, weight: 0.1 },
        }
    }
}

/// Sums of probabilities this close to 1 are 1: the last class of a row scores 1, whatever the rounding of the others.
const ROUNDING: f64 = 1e-12;

/// A [`SetScore`] with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RowScore {
    /// 1 − p_y.
    Lac,
    /// The probability of all classes above y, plus a part of p_y.
    Aps {
        /// How much of p_y is added.
        part: LabelPart,
    },
    /// The same plus λ · max(0, rank − k).
    Raps {
        /// How much of p_y is added.
        part: LabelPart,
        /// λ.
        weight: f64,
        /// k, the ranks that cost nothing.
        free: usize,
    },
    /// The largest probability, plus λ for every rank below the first.
    Saps {
        /// How much of the last summand is added.
        part: LabelPart,
        /// λ.
        weight: f64,
    },
}

impl RowScore {
    /// The kind of score.
    pub fn kind(self) -> SetScore {
        match self {
            RowScore::Lac => SetScore::Lac,
            RowScore::Aps { part } => SetScore::Aps { part },
            RowScore::Raps { part, .. } => SetScore::Raps { part },
            RowScore::Saps { part, .. } => SetScore::Saps { part },
        }
    }

    /// Whether λ can be one.
    pub(super) fn is_sound(self) -> bool {
        match self {
            RowScore::Raps { weight, .. } | RowScore::Saps { weight, .. } => weight.is_finite() && weight >= 0.0,
            _ => true,
        }
    }

    /// The score of every class of one row to `scores`; `order` is room for the classes by rank. Held-out rows and new
    /// rows, of the library and of plans, all come through here: the same sum in another order rounds differently, and
    /// equal scores would no longer be equal.
    pub(crate) fn of_row(self, p: &[f64], u: f64, order: &mut Vec<usize>, scores: &mut [f64]) {
        if self == RowScore::Lac {
            return scores.iter_mut().zip(p).for_each(|(s, p)| *s = 1.0 - p);
        }
        order.clear();
        order.extend(0..p.len());
        // In place: a stable order without room of its own.
        order.sort_unstable_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
        let share = match self {
            RowScore::Lac => 1.0,
            RowScore::Aps { part } | RowScore::Raps { part, .. } | RowScore::Saps { part, .. } => part.share(u),
        };
        let (mut above, top) = (0.0, order.first().map_or(0.0, |&k| p[k]));
        for (place, &k) in order.iter().enumerate() {
            let mass = above + share * p[k];
            let mass = if mass > 1.0 - ROUNDING { 1.0 } else { mass };
            scores[k] = match self {
                RowScore::Lac => 1.0 - p[k],
                RowScore::Aps { .. } => mass,
                RowScore::Raps { weight, free, .. } => mass + weight * (place + 1).saturating_sub(free) as f64,
                RowScore::Saps { .. } if place == 0 => share * top,
                RowScore::Saps { weight, .. } => top + ((place - 1) as f64 + share) * weight,
            };
            above += p[k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let p = [0.25, 0.5, 0.25];
        let of = |score: RowScore| {
            let mut scores = [0.0; 3];
            score.of_row(&p, 0.5, &mut Vec::new(), &mut scores);
            scores
        };
        assert_eq!(of(RowScore::Lac), [0.75, 0.5, 0.75]);
        assert_eq!(of(SetScore::Aps { part: LabelPart::Whole }.untuned()), [0.75, 0.5, 1.0]);
        assert_eq!(of(SetScore::APS.untuned()), [0.625, 0.25, 0.875]);
        assert_eq!(of(RowScore::Raps { part: LabelPart::Whole, weight: 0.25, free: 1 }), [1.0, 0.5, 1.5]);
        assert_eq!(of(RowScore::Raps { part: LabelPart::Random, weight: 0.25, free: 2 }), [0.625, 0.25, 1.125]);
        assert_eq!(of(RowScore::Saps { part: LabelPart::Whole, weight: 0.25 }), [0.75, 0.5, 1.0]);
        assert_eq!(of(RowScore::Saps { part: LabelPart::Random, weight: 0.25 }), [0.625, 0.25, 0.875]);
        assert_eq!(of(SetScore::Aps { part: LabelPart::None }.untuned()), [0.5, 0.0, 0.75]);
        assert_eq!(of(RowScore::Raps { part: LabelPart::None, weight: 0.25, free: 1 }), [0.75, 0.0, 1.25]);
        assert_eq!(of(RowScore::Saps { part: LabelPart::None, weight: 0.25 }), [0.5, 0.0, 0.75]);
        // The last class scores 1, however its probabilities round.
        for p in [[0.1, 0.7, 0.2], [0.3, 0.6, 0.1], [1.0 / 3.0; 3], [0.9, 0.1, 1e-20]] {
            let mut scores = [0.0; 3];
            RowScore::Aps { part: LabelPart::Whole }.of_row(&p, 1.0, &mut Vec::new(), &mut scores);
            assert_eq!(scores.iter().fold(0.0, |a: f64, b| a.max(*b)), 1.0);
        }
    }
}
