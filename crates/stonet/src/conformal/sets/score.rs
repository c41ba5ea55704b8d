//! How badly a class conforms to a row of probabilities.

use serde::{Deserialize, Serialize};

/// The kind of score that a prediction set is cut at; the larger, the less the class conforms. Of two equal
/// probabilities the first class counts as the larger.
///
/// Scores with `randomised` add u · p_y with u uniform, one per row, instead of p_y: without it sets are wider than the
/// level asks for. What is predicted by a plan, and so by files, is never random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SetScore {
    /// 1 − p_y (Sadinle, Lei & Wasserman 2019): the smallest sets on average, the same threshold for easy and hard
    /// rows.
    #[default]
    Lac,
    /// The probability of all classes above y, plus p_y (Romano, Sesia & Candès 2020): larger sets, whose coverage is
    /// more even over rows.
    Aps {
        /// Whether p_y is added in part, at random.
        randomised: bool,
    },
    /// APS plus λ · max(0, rank − k) (Angelopoulos et al. 2021): no long tails of improbable classes.
    Raps {
        /// Whether p_y is added in part, at random.
        randomised: bool,
    },
    /// The largest probability, plus λ for every rank below the first (Huang et al. 2024): small probabilities, which
    /// are the least certain, do not count.
    Saps {
        /// Whether the last summand is added in part, at random.
        randomised: bool,
    },
}

impl SetScore {
    /// The randomised adaptive score of the paper.
    pub const APS: SetScore = SetScore::Aps { randomised: true };

    /// Whether a uniform number is drawn for every row.
    pub fn is_randomised(self) -> bool {
        match self {
            SetScore::Lac => false,
            SetScore::Aps { randomised } | SetScore::Raps { randomised } | SetScore::Saps { randomised } => randomised,
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
            SetScore::Aps { randomised } => RowScore::Aps { randomised },
            SetScore::Raps { randomised } => RowScore::Raps { randomised, weight: 0.01, free: 5 },
            SetScore::Saps { randomised } => RowScore::Saps { randomised, weight: 0.1 },
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
    /// The probability of all classes above y, plus p_y.
    Aps {
        /// Whether p_y is added in part, at random.
        randomised: bool,
    },
    /// The same plus λ · max(0, rank − k).
    Raps {
        /// Whether p_y is added in part, at random.
        randomised: bool,
        /// λ.
        weight: f64,
        /// k, the ranks that cost nothing.
        free: usize,
    },
    /// The largest probability, plus λ for every rank below the first.
    Saps {
        /// Whether the last summand is added in part, at random.
        randomised: bool,
        /// λ.
        weight: f64,
    },
}

impl RowScore {
    /// The kind of score.
    pub fn kind(self) -> SetScore {
        match self {
            RowScore::Lac => SetScore::Lac,
            RowScore::Aps { randomised } => SetScore::Aps { randomised },
            RowScore::Raps { randomised, .. } => SetScore::Raps { randomised },
            RowScore::Saps { randomised, .. } => SetScore::Saps { randomised },
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
        let share = if self.kind().is_randomised() { u } else { 1.0 };
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
        assert_eq!(of(SetScore::Aps { randomised: false }.untuned()), [0.75, 0.5, 1.0]);
        assert_eq!(of(SetScore::APS.untuned()), [0.625, 0.25, 0.875]);
        assert_eq!(of(RowScore::Raps { randomised: false, weight: 0.25, free: 1 }), [1.0, 0.5, 1.5]);
        assert_eq!(of(RowScore::Raps { randomised: true, weight: 0.25, free: 2 }), [0.625, 0.25, 1.125]);
        assert_eq!(of(RowScore::Saps { randomised: false, weight: 0.25 }), [0.75, 0.5, 1.0]);
        assert_eq!(of(RowScore::Saps { randomised: true, weight: 0.25 }), [0.625, 0.25, 0.875]);
        // The last class scores 1, however its probabilities round.
        for p in [[0.1, 0.7, 0.2], [0.3, 0.6, 0.1], [1.0 / 3.0; 3], [0.9, 0.1, 1e-20]] {
            let mut scores = [0.0; 3];
            RowScore::Aps { randomised: false }.of_row(&p, 1.0, &mut Vec::new(), &mut scores);
            assert_eq!(scores.iter().fold(0.0, |a: f64, b| a.max(*b)), 1.0);
        }
    }
}
