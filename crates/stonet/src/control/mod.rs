//! Answers only where the head is sure enough: a threshold on its surety that keeps a wish such as
//! `precision[spam]>=0.95`, chosen on rows with known answers.
//!
//! **Rows that the network or the head was fitted on void every promise.** They make the head look surer than it is.

mod choose;
mod count;
mod evidence;
mod rule;
mod start;
mod want;

use serde::{Deserialize, Serialize};

pub use evidence::Evidence;
pub use rule::{Rule, TradeOff};
pub use want::{Measure, Want};

use crate::base::{Error, Result};
use crate::rows::Level;
use crate::score::Surety;
use choose::Choice;
use count::Limit;
use rule::percent;

/// Thresholds of a trade-off curve.
const CURVE: usize = 100;

/// A wish, and how surely it is to be kept.
///
/// ```
/// use ndarray::Array2;
/// use stonet::control::{Control, Evidence};
/// use stonet::{Labels, Level};
/// // Probabilities of 2000 rows, and their classes: the surer the head, the more often it is right.
/// let p = Array2::from_shape_fn((2000, 2), |(i, k)| {
///     let spam = (i % 100) as f64 / 100.0;
///     if k == 1 { spam } else { 1.0 - spam }
/// });
/// let labels: Vec<usize> = (0..2000).map(|i| usize::from((i * 37) % 100 < i % 100)).collect();
/// let control = Control { want: "precision[spam]>=0.8".parse()?, confidence: Some(Level::new(0.95)?), seed: 1 };
/// let mut evidence = Evidence::of_classes(&control.want, &Labels::named(vec!["ham".into(), "spam".into()])?)?;
/// evidence.add_classes(p.view(), &labels)?;
/// let rule = control.decide(&evidence)?.rule.expect("there are enough rows");
/// assert!(rule.chosen.bound <= 0.2 && rule.chosen.answered > 200);
/// println!("{}", rule.guarantee());
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// What to keep.
    pub want: Want,
    /// The probability with which it is kept. Wishes about a [monotone](Measure::is_monotone) risk can do without one; then
    /// the expectation of the risk is bounded.
    pub confidence: Option<Level>,
    /// Where the choice of the rows that order thresholds begins.
    pub seed: u64,
}

/// What became of a wish.
#[derive(Debug, Clone, PartialEq)]
pub struct Controlled {
    /// The rule, or why there is none.
    pub rule: std::result::Result<Rule, Refusal>,
    /// What other thresholds do to the rows that were counted, from strict to loose.
    pub curve: Vec<TradeOff>,
}

/// Why a wish cannot be promised, and what could be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// In words, with what was found and the remedy.
    pub text: String,
    /// The threshold that came closest.
    pub closest: Option<TradeOff>,
    /// A wish that rows like these would keep.
    pub instead: Option<Want>,
    /// About how many rows the wish needs, if errors stay as frequent as they are.
    pub rows_needed: Option<usize>,
}

impl Control {
    /// Fails where the wish needs a confidence and there is none. `confidence` is what messages call it.
    pub fn check(&self, confidence: &str) -> Result<()> {
        if self.want.measure().is_monotone() || self.confidence.is_some() {
            return Ok(());
        }
        let why = format!(
            "needs a confidence, since its risk need not fall as the threshold rises, so that no expectation can be bounded; give {confidence}, \
             such as 0.95, or wish for wrong<={} instead",
            self.want.risk()
        );
        Err(self.want.wrong(why))
    }

    /// The rule for these rows, or a refusal in words.
    pub fn decide(&self, evidence: &Evidence) -> Result<Controlled> {
        self.check("a confidence")?;
        if evidence.want != self.want {
            return Err(Error::Inconsistent { what: "the evidence was gathered for another wish" });
        }
        if evidence.rows() < 2 {
            let remedy = "give more rows with known answers";
            return Err(Error::TooFewRows { what: "a rule of answers", needed: 2, found: evidence.rows(), remedy });
        }
        let limit = Limit::new(&self.want, self.confidence);
        let choice = self.choose(evidence)?;
        let at = |t: Option<f64>| TradeOff::new(t, choice.counted.rows(), choice.counted.at(t), &limit);
        let curve: Vec<TradeOff> = choice.counted.thresholds(CURVE).into_iter().filter_map(at).collect();
        let rule = match choice.accepted.and_then(at) {
            Some(chosen) => Ok(Rule {
                want: self.want.clone(),
                confidence: self.confidence,
                level: if let Surety::Shortness(level) = evidence.surety { Some(level) } else { None },
                ordering_rows: choice.ordering,
                chosen,
                curve: curve.clone(),
                seed: self.seed,
            }),
            None => Err(self.refusal(&choice, &curve, &limit)),
        };
        Ok(Controlled { rule, curve })
    }

    /// Why no threshold was accepted.
    fn refusal(&self, choice: &Choice, curve: &[TradeOff], limit: &Limit) -> Refusal {
        let (counted, want) = (&choice.counted, &self.want);
        let refused = choice.refused.flatten();
        let tested = TradeOff::new(refused, counted.rows(), counted.at(refused), limit);
        let best = curve.iter().filter(|p| p.answered > 0).min_by(|a, b| a.bound.total_cmp(&b.bound)).copied();
        let closest = if want.measure().is_monotone() { tested } else { best };
        let promised = match self.confidence {
            Some(confidence) => format!("cannot be promised with a confidence of {} %", confidence.percent()),
            None => "cannot be promised".to_owned(),
        };
        let nothing = Refusal { text: String::new(), closest, instead: None, rows_needed: None };
        let Some(found) = closest else {
            let what = want.class().map_or("no row is answered".to_owned(), |class| match want.measure().misses() {
                true => format!("no row is of class `{class}`"),
                false => format!("no row is answered as `{class}`"),
            });
            return Refusal {
                text: format!("`{want}` {promised}: {what} among {} rows; give more rows", counted.rows()),
                ..nothing
            };
        };
        if want.measure().is_monotone() && limit.most_errors(found.of).is_none() {
            return self.too_few(&promised, found, limit);
        }
        if !want.measure().is_monotone() && found.bound <= limit.risk {
            return self.poor_start(&promised, choice, tested);
        }
        let mut text = format!(
            "`{want}` {promised}: at best, of {} rows counted the surest {} are answered and {} of {} are errors ({}, upper bound {})",
            found.rows,
            found.answered,
            found.errors,
            found.of,
            short(found.risk),
            short(found.bound)
        );
        if found.answered == 0 {
            text = format!(
                "`{want}` {promised}: the rows of which the head is surest are wrong too often, so that none would be answered"
            );
        }
        let instead = want.at_risk(found.bound).filter(|_| found.answered > 0);
        let rows = limit.rows_needed(found.risk).filter(|_| found.answered > 0);
        // As many rows more as the answered ones have to grow.
        let all = choice.ordering + counted.rows();
        let rows_needed = rows.map(|needed| (needed as f64 / found.of as f64 * all as f64).ceil() as usize);
        let rows_needed = rows_needed.filter(|needed| *needed > all);
        text += &match (rows_needed, &instead) {
            (Some(rows), Some(other)) => {
                format!(
                    "; give about {rows} rows in place of {all}, or wish for less: rows like these would keep `{other}`"
                )
            }
            (None, Some(other)) => format!("; wish for less: rows like these would keep `{other}`"),
            (Some(rows), None) => format!("; give about {rows} rows in place of {all}"),
            (None, None) => "; wish for less, or improve the network".to_owned(),
        };
        Refusal { text, closest, instead, rows_needed }
    }

    /// A threshold would pass that was not tested: the sequence of tests began at another one, which failed.
    fn poor_start(&self, promised: &str, choice: &Choice, tested: Option<TradeOff>) -> Refusal {
        let want = &self.want;
        let began = match tested.filter(|t| t.answered > 0) {
            Some(t) => format!(
                "there {} of {} rows are errors ({}, upper bound {})",
                t.errors,
                t.of,
                short(t.risk),
                short(t.bound)
            ),
            None => "there no row is answered".to_owned(),
        };
        let text = format!(
            "`{want}` {promised}: {} of the rows chose the threshold at which the tests begin, and {began}; a threshold that \
             is chosen after a look at the other rows would void the promise; give more rows, or wish for less",
            choice.ordering
        );
        let instead = tested.filter(|t| t.answered > 0).and_then(|t| want.at_risk(t.bound));
        Refusal { text, closest: tested, instead, rows_needed: None }
    }

    /// Not even a rule without an error would do.
    fn too_few(&self, promised: &str, found: TradeOff, limit: &Limit) -> Refusal {
        let want = &self.want;
        let rows_needed = limit.rows_needed(0.0);
        let of = want.class().map_or(String::new(), |class| format!(" of class `{class}`"));
        let text = format!(
            "`{want}` {promised} with {} rows{of}, of which not one could be an error; give at least {} rows{of}, or wish for {} or less",
            found.of,
            rows_needed.unwrap_or(usize::MAX),
            percent(want.measured((limit.bound(0, found.of) * 1000.0).ceil() / 1000.0)),
        );
        let instead = want.at_risk(limit.bound(0, found.of));
        Refusal { text, closest: Some(found), instead, rows_needed }
    }
}

/// A share in percent with one digit.
fn short(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
