//! Conditions on an evaluation, as `coverage>=0.88`: what a pipeline fails on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use stonet::{Error, Result};

use super::{ACCURACY_METRICS, CLASS_METRICS, REGRESSION_METRICS, SET_METRICS};

/// Anything whose numbers can be asked for by name.
pub trait Metrics {
    /// The names it knows.
    fn names(&self) -> &'static [&'static str];

    /// The names of what is not always there.
    fn further_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The number of this name.
    fn metric(&self, name: &str) -> Option<f64>;
}

/// How a number is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// Longer signs first, so that `>=` is not taken for `>`.
const SIGNS: [(&str, Comparison); 4] =
    [(">=", Comparison::AtLeast), ("<=", Comparison::AtMost), (">", Comparison::Above), ("<", Comparison::Below)];

/// A condition on one number of an evaluation.
///
/// ```
/// use stonet_report::Requirement;
/// let r: Requirement = "coverage >= 0.88".parse()?;
/// assert_eq!((r.name(), r.bound()), ("coverage", 0.88));
/// assert!("covrage>=0.88".parse::<Requirement>().unwrap_err().to_string().contains("winkler"));
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Requirement {
    name: String,
    comparison: Comparison,
    bound: f64,
}

impl Requirement {
    /// Of the number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is compared with.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Fails where the bound lies outside what the number can be, or no number can meet it.
    fn check_range(&self, text: &str) -> Result<()> {
        let (most, range) = match self.name.as_str() {
            "coverage"
            | "worst_fifth"
            | "worst_slice"
            | "worst_slab"
            | "accuracy"
            | "ece"
            | "cece"
            | "adaptive_ece"
            | "smooth_ece"
            | "aurc"
            | "excess_aurc"
            | "p_top"
            | "p_classes"
            | "set_coverage"
            | "worst_class_coverage"
            | "worst_size_coverage"
            | "accuracy_bins_kept" => (1.0, "this measure is a fraction between 0 and 1, so write 0.9 for 90 %"),
            "brier" => (2.0, "this measure lies between 0 and 2"),
            "nll" | "mean_set_size" | "mean_length" | "median_length" | "winkler" | "rmse" => {
                (f64::INFINITY, "this measure is never below 0")
            }
            _ => return Ok(()),
        };
        let never = match self.comparison {
            Comparison::Above => self.bound >= most,
            Comparison::Below => self.bound <= 0.0,
            Comparison::AtLeast | Comparison::AtMost => false,
        };
        if never || self.bound < 0.0 || self.bound > most {
            return Err(Error::Setting { name: "require", value: format!("`{text}`"), range });
        }
        Ok(())
    }

    /// Whether the evaluation meets it; a number that is not there, or is no number, is an error or false, never true.
    pub fn holds(&self, evaluation: &dyn Metrics) -> Result<bool> {
        let found = evaluation.metric(&self.name).ok_or_else(|| unknown(&self.name, evaluation))?;
        Ok(match self.comparison {
            Comparison::AtLeast => found >= self.bound,
            Comparison::AtMost => found <= self.bound,
            Comparison::Above => found > self.bound,
            Comparison::Below => found < self.bound,
        })
    }

    /// What became of it, in one line.
    pub fn outcome(&self, evaluation: &dyn Metrics) -> Result<String> {
        let found = evaluation.metric(&self.name).ok_or_else(|| unknown(&self.name, evaluation))?;
        let word = if self.holds(evaluation)? { "met" } else { "not met" };
        let found = if found.is_nan() { "not known, too few rows".into() } else { format!("{found:.6}") };
        Ok(format!("{self}: {word} ({} = {found})", self.name))
    }
}

fn unknown(name: &str, evaluation: &dyn Metrics) -> Error {
    let known = [evaluation.names(), &evaluation.further_names()[..]].concat();
    let mut known = known.join(", ");
    if SET_METRICS.contains(&name) {
        known += " (measures of prediction sets need a head that was fitted with sets: `stonet fit --sets cv+`)";
    }
    if ACCURACY_METRICS.contains(&name) {
        known +=
            " (measures of bounds of accuracy need a head that was fitted with them: `stonet fit --accuracy-bounds`)";
    }
    Error::UnknownName { what: "measure of this evaluation", name: name.to_owned(), known }
}

impl FromStr for Requirement {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let malformed = || Error::Setting {
            name: "require",
            value: format!("`{text}`"),
            range: "a measure, one of >= <= > <, and a number, such as coverage>=0.88",
        };
        let (sign, comparison) = SIGNS.into_iter().find(|(sign, _)| text.contains(sign)).ok_or_else(malformed)?;
        let (name, bound) = text.split_once(sign).ok_or_else(malformed)?;
        let name = name.trim();
        let bound: f64 = bound.trim().parse().map_err(|_| malformed())?;
        if !bound.is_finite() {
            return Err(malformed());
        }
        let known = [&REGRESSION_METRICS[..], &CLASS_METRICS, &SET_METRICS, &ACCURACY_METRICS].concat();
        if !known.contains(&name) {
            return Err(Error::UnknownName { what: "measure", name: name.to_owned(), known: known.join(", ") });
        }
        let requirement = Requirement { name: name.to_owned(), comparison, bound };
        requirement.check_range(text)?;
        Ok(requirement)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.iter().find(|(_, c)| *c == self.comparison).map_or("", |(sign, _)| sign);
        write!(f, "{}{sign}{}", self.name, self.bound)
    }
}

impl TryFrom<String> for Requirement {
    type Error = Error;
    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Requirement> for String {
    fn from(r: Requirement) -> String {
        r.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(f64);

    impl Metrics for One {
        fn names(&self) -> &'static [&'static str] {
            &["coverage"]
        }
        fn metric(&self, name: &str) -> Option<f64> {
            (name == "coverage").then_some(self.0)
        }
    }

    #[test]
    fn every_sign_holds_on_its_side() {
        let holds = |text: &str, v: f64| text.parse::<Requirement>().unwrap().holds(&One(v)).unwrap();
        assert!(holds("coverage>=0.9", 0.9) && !holds("coverage>0.9", 0.9) && holds("coverage > 0.9", 0.91));
        assert!(holds("coverage<=0.9", 0.9) && !holds("coverage<0.9", 0.9) && holds(" coverage <.9 ", 0.89));
        assert!(!holds("coverage>=0", f64::NAN) && !holds("coverage<=1", f64::NAN));
        let outcome = "coverage>=0.95".parse::<Requirement>().unwrap().outcome(&One(0.9)).unwrap();
        assert_eq!(outcome, "coverage>=0.95: not met (coverage = 0.900000)");
        let outcome = "coverage>=0".parse::<Requirement>().unwrap().outcome(&One(f64::NAN)).unwrap();
        assert_eq!(outcome, "coverage>=0: not met (coverage = not known, too few rows)");
    }

    #[test]
    fn faults_are_named() {
        for text in ["", "coverage", "coverage=0.9", "coverage>=", "coverage>=wide", "coverage>=inf", "coverage>==1"] {
            let e = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(e.contains("such as coverage>=0.88"), "{text}: {e}");
        }
        let e = "speed>=1".parse::<Requirement>().unwrap_err().to_string();
        assert!(e.contains("`speed`") && e.contains("coverage") && e.contains("adaptive_ece"), "{e}");
        let e = "ece<=0.1".parse::<Requirement>().unwrap().holds(&One(0.0)).unwrap_err().to_string();
        assert!(e.contains("`ece`") && e.ends_with("there are coverage"), "{e}");
    }

    #[test]
    fn bounds_that_cannot_be_met_are_refused() {
        for text in
            ["coverage>=90", "coverage<=90", "accuracy>1", "ece<=2", "cece<0", "adaptive_ece<=-0.1", "worst_slab>=90"]
        {
            let e = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(e.contains(text) && e.contains("write 0.9 for 90 %"), "{e}");
        }
        for text in ["rmse<0", "winkler<=-1", "nll<0", "mean_length<0", "median_length>=-2", "brier>2", "brier<=3"] {
            let e = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(e.contains(text) && e.contains("this measure"), "{e}");
        }
        for text in ["coverage>=1", "coverage>=0", "ece<=0", "brier<=2", "rmse<=0", "nll<=708", "winkler<1e9"] {
            assert!(text.parse::<Requirement>().is_ok(), "{text}");
        }
    }

    #[test]
    fn it_survives_json_as_it_is_typed() {
        let r: Requirement = "winkler<3.5".parse().unwrap();
        assert_eq!(serde_json::to_string(&r).unwrap(), "\"winkler<3.5\"");
        assert_eq!(serde_json::from_str::<Requirement>("\"winkler<3.5\"").unwrap(), r);
    }
}
