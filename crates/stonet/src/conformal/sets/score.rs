//! How badly a class conforms to a row of probabilities.

use serde::{Deserialize, Serialize};

/// The score that a prediction set is cut at; the larger, the less the class conforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SetScore {
    /// 1 − p_y (Sadinle, Lei & Wasserman 2019): the smallest sets on average, the same threshold for easy and hard
    /// rows.
    #[default]
    Lac,
    /// The probability of all classes above y, plus p_y (Romano, Sesia & Candès 2020): larger sets, whose coverage is
    /// more even over rows. Of two equal probabilities the first class counts as the larger.
    Aps {
        /// Adds u · p_y with u uniform, one per row, instead of p_y: without it sets are wider than the level asks for.
        randomised: bool,
    },
}

impl SetScore {
    /// The randomised adaptive score of the paper.
    pub const APS: SetScore = SetScore::Aps { randomised: true };

    /// The score of every class of one row to `scores`; `order` is room for the classes' ranks. Held-out rows and new
    /// rows must both come through here: the same sum in another order rounds differently, and equal scores would no
    /// longer be equal.
    pub(super) fn of_row(self, p: &[f64], u: f64, order: &mut Vec<usize>, scores: &mut [f64]) {
        match self {
            SetScore::Lac => scores.iter_mut().zip(p).for_each(|(s, p)| *s = 1.0 - p),
            SetScore::Aps { randomised } => {
                order.clear();
                order.extend(0..p.len());
                order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
                let share = if randomised { u } else { 1.0 };
                let mut above = 0.0;
                for &k in order.iter() {
                    scores[k] = above + share * p[k];
                    above += p[k];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let p = [0.25, 0.5, 0.25];
        let of = |score: SetScore| {
            let mut scores = [0.0; 3];
            score.of_row(&p, 0.5, &mut Vec::new(), &mut scores);
            scores
        };
        assert_eq!(of(SetScore::Lac), [0.75, 0.5, 0.75]);
        assert_eq!(of(SetScore::Aps { randomised: false }), [0.75, 0.5, 1.0]);
        assert_eq!(of(SetScore::APS), [0.625, 0.25, 0.875]);
    }
}
