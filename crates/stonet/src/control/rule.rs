//! A rule of answers: its threshold, what it keeps and how surely, and the trade-off that it was chosen from.

use serde::{Deserialize, Serialize};

use super::count::{Count, Limit};
use super::want::{Measure, Want};
use crate::base::{Error, Result};
use crate::regression::Guarantee;
use crate::rows::{Labels, Level};
use crate::score::{Decision, Surety};

/// What a rule with a threshold does to the rows that were counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TradeOff {
    /// The least surety that is answered; none where every row is.
    pub threshold: Option<f64>,
    /// Rows that were counted.
    pub rows: usize,
    /// Rows that are answered.
    pub answered: usize,
    /// Rows that the risk is a share of: the answered ones, those of the class, or all.
    pub of: usize,
    /// Errors among them.
    pub errors: usize,
    /// Their share.
    pub risk: f64,
    /// The exact upper bound of the risk with the confidence of the rule, for this threshold alone; without a confidence
    /// (errors + 1) / (of + 1).
    pub bound: f64,
}

impl TradeOff {
    /// The counts at a threshold; none where there is nothing that the risk is a share of.
    pub(super) fn new(threshold: Option<f64>, rows: usize, count: Count, limit: &Limit) -> Option<Self> {
        let Count { answered, of, errors } = count;
        let (risk, bound) = (errors as f64 / of as f64, limit.bound(errors, of));
        (of > 0).then_some(TradeOff { threshold, rows, answered, of, errors, risk, bound })
    }

    /// The share of rows that are answered.
    pub fn share(&self) -> f64 {
        self.answered as f64 / self.rows as f64
    }

    fn is_sound(&self) -> bool {
        let share = |v: f64| (0.0..=1.0).contains(&v);
        self.rows > 0
            && self.answered <= self.rows
            && self.of > 0
            && self.of <= self.rows
            && self.errors <= self.of
            && share(self.risk)
            && share(self.bound)
            && self.threshold.is_none_or(f64::is_finite)
    }
}

/// Answer a row if the head is sure enough, and abstain otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it keeps.
    pub want: Want,
    /// How surely; none where the expectation of the risk is bounded.
    pub confidence: Option<Level>,
    /// The level of the intervals; none for classes.
    pub level: Option<Level>,
    /// Rows that chose where to begin testing; they were not counted.
    pub ordering_rows: usize,
    /// The threshold, and what it does to the rows that were counted.
    pub chosen: TradeOff,
    /// Other thresholds, from strict to loose.
    pub curve: Vec<TradeOff>,
    /// Where the choice of the ordering rows began.
    pub seed: u64,
}

impl Rule {
    /// The least surety that is answered; none where every row is. Surety is the largest probability, the probability of
    /// the wish's class, or the interval's length with a minus sign.
    pub fn threshold(&self) -> Option<f64> {
        self.chosen.threshold
    }

    /// When a row is answered, in words.
    pub fn condition(&self) -> String {
        let Some(threshold) = self.threshold() else { return "answer every row".into() };
        match (self.level, self.want.class()) {
            (Some(level), _) => {
                format!("answer if the interval of level {} % is at most {} long", level.percent(), -threshold)
            }
            (None, Some(class)) => {
                format!("take a row as `{class}` if the probability of `{class}` is at least {threshold}")
            }
            (None, None) => format!("answer if the largest probability is at least {threshold}"),
        }
    }

    /// Fails where its parts do not belong together, as those of a file may not.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: &'static str| Err(Error::Inconsistent { what });
        if !self.want.measure().is_monotone() && self.confidence.is_none() {
            return wrong("the rule has no confidence, and its measure needs one");
        }
        if self.level.is_some() && !matches!(self.want.measure(), Measure::Coverage | Measure::Wrong) {
            return wrong("the rule has a level of intervals, and its measure is about classes");
        }
        if self.level.is_none() && self.want.measure() == Measure::Coverage {
            return wrong("the rule has no level, and its measure is about intervals");
        }
        if !self.chosen.is_sound() || !self.curve.iter().all(TradeOff::is_sound) {
            return wrong("the counts of the rule do not belong together");
        }
        Ok(())
    }

    /// How a head with these classes, or one of intervals, decides.
    pub fn decision(&self, labels: Option<&Labels>) -> Result<Decision> {
        let other = |why: &str| Err(Error::OtherRule { why: why.into() });
        let surety = match (self.level, labels) {
            (Some(level), None) => Surety::Shortness(level),
            (None, Some(labels)) => self.want.class_among(labels)?.map_or(Surety::Largest, Surety::Class),
            (Some(_), Some(_)) => {
                return other("it is for intervals, and the head gives class probabilities; make a rule for this head");
            }
            (None, None) => {
                return other("it is for class probabilities, and the head gives intervals; make a rule for this head");
            }
        };
        Ok(Decision { surety, threshold: self.threshold(), answer_in_doubt: self.want.measure().misses() })
    }

    /// What holds, in words; the number is the confidence, and none where the expectation of the risk is bounded.
    pub fn guarantee(&self) -> Guarantee {
        let Rule { want, chosen, .. } = self;
        let alike = "if rows are independent draws and neither the network nor the head was fitted on the rows counted";
        let text = match self.confidence {
            Some(confidence) => {
                let how = match want.measure().is_monotone() {
                    true => "an exact binomial bound of a monotone risk".to_owned(),
                    false => format!(
                        "Learn then Test: exact binomial tests in a fixed sequence; {} further rows chose where it begins",
                        self.ordering_rows
                    ),
                };
                format!(
                    "With a probability of at least {} % over the {} rows counted, {} among new rows of their distribution, {alike} ({how}).",
                    confidence.percent(),
                    chosen.rows,
                    self.promise()
                )
            }
            None => format!(
                "On average over the draw of the {} rows counted, {} among new rows of their distribution, {alike} (conformal risk control: \
                 the expectation is bounded; the rule of one draw may lie on either side of it).",
                chosen.rows,
                self.promise()
            ),
        };
        Guarantee { coverage: self.confidence.map(Level::get), text }
    }

    /// What is kept, as a clause.
    fn promise(&self) -> String {
        let (want, bound) = (&self.want, percent(self.want.bound()));
        let class = want.class().unwrap_or_default();
        let level = self.level.map_or_else(String::new, |l| format!(" of level {} %", l.percent()));
        match want.measure() {
            Measure::Accuracy => format!("at least {bound} of the guesses that the rule answers are right"),
            Measure::Precision => {
                format!("at least {bound} of the rows that the rule takes as `{class}` are `{class}`")
            }
            Measure::Recall => format!("at least {bound} of the rows of class `{class}` are taken as `{class}`"),
            Measure::Fnr => format!("at most {bound} of the rows of class `{class}` are not taken as `{class}`"),
            Measure::Coverage => format!("at least {bound} of the intervals{level} that the rule answers cover"),
            Measure::Wrong if self.level.is_some() => {
                format!("at most {bound} of all rows are answered by an interval{level} that misses")
            }
            Measure::Wrong => format!("at most {bound} of all rows are answered and wrong"),
        }
    }
}

/// A share in percent, without the rounding of 100 · 0.57.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e12).round() / 1e10)
}
