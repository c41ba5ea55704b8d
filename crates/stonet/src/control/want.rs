//! Wishes such as `precision[spam]>=0.95`: what a rule of answers is to keep.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::names::named;
use crate::base::{Error, Result};
use crate::rows::Labels;

/// What a wish is about. A rule answers a row if its surety s reaches a threshold t, and abstains otherwise.
///
/// | measure | head | s | risk |
/// |---|---|---|---|
/// | `accuracy` | classes | the largest probability | P(guess is wrong, given that the row is answered) |
/// | `precision` | classes | the probability of class c | P(y ≠ c, given that the row is answered) |
/// | `recall`, `fnr` | classes | the probability of class c | P(the row is not answered, given that y = c) |
/// | `coverage` | intervals | − length | P(y is outside of its interval, given that the row is answered) |
/// | `wrong` | both | as `accuracy` and `coverage` | P(the row is answered and wrong) |
///
/// Under `precision`, `recall` and `fnr` an answer means: take the row as class c. `recall` and `fnr` (the false-negative
/// rate, 1 − recall) are two names of one wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// The share of right guesses among answered rows.
    Accuracy,
    /// The share of a class among answered rows.
    Precision,
    /// The share of answered rows among those of a class.
    Recall,
    /// The share of rows that are not answered among those of a class.
    Fnr,
    /// The share of intervals that cover among answered rows.
    Coverage,
    /// The share of rows that are answered and wrong among all rows.
    Wrong,
}

named!(Measure, "measure of a wish");

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 6] =
        [Measure::Accuracy, Measure::Precision, Measure::Recall, Measure::Fnr, Measure::Coverage, Measure::Wrong];

    /// The name in a wish.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Accuracy => "accuracy",
            Measure::Precision => "precision",
            Measure::Recall => "recall",
            Measure::Fnr => "fnr",
            Measure::Coverage => "coverage",
            Measure::Wrong => "wrong",
        }
    }

    /// Whether more is better.
    fn is_share_of_good(self) -> bool {
        !matches!(self, Measure::Fnr | Measure::Wrong)
    }

    /// Whether it is about one class.
    pub fn of_class(self) -> bool {
        matches!(self, Measure::Precision | Measure::Recall | Measure::Fnr)
    }

    /// Whether the risk only grows, or only falls, as the threshold rises.
    pub fn is_monotone(self) -> bool {
        matches!(self, Measure::Recall | Measure::Fnr | Measure::Wrong)
    }

    /// Whether a higher threshold makes the risk larger: rows of the class are missed.
    pub(super) fn misses(self) -> bool {
        matches!(self, Measure::Recall | Measure::Fnr)
    }
}

/// A wish: a measure, its class where it has one, and a bound.
///
/// ```
/// use stonet::control::{Measure, Want};
/// let want: Want = "precision[spam]>=0.95".parse()?;
/// assert_eq!((want.measure(), want.class(), want.bound()), (Measure::Precision, Some("spam"), 0.95));
/// assert_eq!(want.risk(), 0.05);
/// assert!("precision>=0.95".parse::<Want>().unwrap_err().to_string().contains("precision[spam]>=0.95"));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Want {
    measure: Measure,
    class: Option<String>,
    bound: f64,
}

/// Differences of shares such as 1 − 0.9 are rounded to so many units.
const UNITS: f64 = 1e12;

impl Want {
    /// What it is about.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// The class that it is about, by name.
    pub fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// The number behind the sign.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The largest risk that keeps it.
    pub fn risk(&self) -> f64 {
        if self.measure.is_share_of_good() { ((1.0 - self.bound) * UNITS).round() / UNITS } else { self.bound }
    }

    /// The measure at a risk.
    pub fn measured(&self, risk: f64) -> f64 {
        if self.measure.is_share_of_good() { 1.0 - risk } else { risk }
    }

    /// The same wish with another bound, three digits long, that this risk keeps.
    pub(super) fn at_risk(&self, risk: f64) -> Option<Want> {
        let risk = (risk * 1000.0).ceil() / 1000.0;
        let bound = (self.measured(risk) * 1000.0).round() / 1000.0;
        (bound > 0.0 && bound < 1.0).then(|| Want { bound, ..self.clone() })
    }

    /// The number of its class among these; none where it is about no class.
    pub fn class_among(&self, labels: &Labels) -> Result<Option<usize>> {
        let Some(class) = self.class() else { return Ok(None) };
        let place = labels.names().iter().position(|name| name == class);
        place.map(Some).ok_or_else(|| {
            self.wrong(format!("names a class that the head does not have; there are {}", labels.names().join(", ")))
        })
    }

    /// An error about this wish.
    pub(super) fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Want { want: self.to_string(), why: why.into() }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class.as_ref().map_or_else(String::new, |c| format!("[{c}]"));
        let sign = if self.measure.is_share_of_good() { ">=" } else { "<=" };
        write!(f, "{}{class}{sign}{}", self.measure, self.bound)
    }
}

impl FromStr for Want {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: String| Error::Want { want: text.to_owned(), why };
        let form = "is no wish; write one such as accuracy>=0.95, precision[spam]>=0.95, recall[spam]>=0.9, coverage>=0.95 or wrong<=0.02";
        // The last sign, since a class may be called anything.
        let at = [">=", "<="].iter().filter_map(|sign| text.rfind(sign)).max().ok_or_else(|| wrong(form.into()))?;
        let (left, sign, right) = (text[..at].trim(), &text[at..at + 2], text[at + 2..].trim());
        let (name, class) = match left.strip_suffix(']').and_then(|left| left.split_once('[')) {
            Some((name, class)) => (name.trim(), Some(class.to_owned())),
            None => (left, None),
        };
        let measure: Measure = name.parse()?;
        let bound: f64 = right.parse().map_err(|_| wrong(form.into()))?;
        match (measure.of_class(), &class) {
            (true, None) => {
                return Err(wrong(format!(
                    "needs a class; write {measure}[spam]{sign}{right} for a class called spam"
                )));
            }
            (false, Some(_)) => {
                return Err(wrong(format!(
                    "names a class, and {measure} is about all rows; write {measure}{sign}{right}"
                )));
            }
            _ => {}
        }
        let wanted = if measure.is_share_of_good() { ">=" } else { "<=" };
        if sign != wanted {
            return Err(wrong(format!("bounds {measure} on the wrong side; write {measure}{wanted}{right}")));
        }
        if !(bound > 0.0 && bound < 1.0) {
            return Err(wrong("needs a number between 0 and 1, both excluded; write 0.95 for 95 %".into()));
        }
        let want = Want { measure, class, bound };
        // A risk that rounds to 0 could be promised by no number of rows.
        if want.risk() <= 0.0 {
            Err(wrong("leaves no room for any error, which no number of rows can show; allow some".into()))
        } else {
            Ok(want)
        }
    }
}

impl TryFrom<String> for Want {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Want> for String {
    fn from(want: Want) -> String {
        want.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Want {
        text.parse().unwrap()
    }

    #[test]
    fn wishes_come_back_as_they_were_written() {
        for text in [
            "accuracy>=0.95",
            "precision[spam]>=0.9",
            "recall[a ]b]>=0.5",
            "fnr[x>=1]<=0.1",
            "coverage>=0.99",
            "wrong<=0.02",
        ] {
            let want = parsed(text);
            assert_eq!(want.to_string(), text);
            assert_eq!(serde_json::from_str::<Want>(&serde_json::to_string(&want).unwrap()).unwrap(), want);
        }
        assert_eq!(parsed(" precision [spam] >= 0.9 "), parsed("precision[spam]>=0.9"));
    }

    #[test]
    fn risks_are_what_is_meant() {
        assert_eq!(parsed("accuracy>=0.9").risk(), 0.1);
        assert_eq!(parsed("accuracy>=0.95").risk(), 0.05);
        assert_eq!(parsed("wrong<=0.02").risk(), 0.02);
        assert_eq!(parsed("accuracy>=0.9").at_risk(0.1234).unwrap().to_string(), "accuracy>=0.876");
        assert_eq!(parsed("wrong<=0.1").at_risk(0.1234).unwrap().to_string(), "wrong<=0.124");
    }

    #[test]
    fn what_is_no_wish_is_refused_with_the_remedy() {
        for (text, remedy) in [
            ("accuracy", "write one such as"),
            ("accuracy>=high", "write one such as"),
            ("acuracy>=0.9", "accuracy, precision"),
            ("precision>=0.95", "precision[spam]>=0.95"),
            ("accuracy[spam]>=0.95", "write accuracy>=0.95"),
            ("accuracy<=0.95", "write accuracy>=0.95"),
            ("wrong>=0.05", "write wrong<=0.05"),
            ("accuracy>=95", "write 0.95 for 95 %"),
            ("accuracy>=1", "both excluded"),
            ("accuracy>=NaN", "between 0 and 1"),
            ("accuracy>=0.99999999999999", "no room for any error"),
        ] {
            let error = text.parse::<Want>().unwrap_err().to_string();
            assert!(error.contains(remedy), "{text}: {error}");
        }
    }
}
