//! The names of the classes of a classification problem, in the order of its logit columns.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What stands for a label that is not there. Words such as `none` or `?` may well be the name of a class.
const MISSING: [&str; 5] = ["", "na", "n/a", "nan", "null"];
/// Names that a message lists.
const LISTED: usize = 8;

/// The distinct names of classes 0 … K − 1, at least two. `1`, `1.0` and ` 1 ` are the same name.
///
/// ```
/// use stonet::Labels;
/// let labels = Labels::learn(&["dog", "cat", "dog"], None)?;
/// assert_eq!(labels.names(), ["cat", "dog"]);
/// assert_eq!(labels.encode(&["dog", "cat"])?, [1, 0]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Labels {
    names: Vec<String>,
}

impl TryFrom<Vec<String>> for Labels {
    type Error = Error;
    fn try_from(names: Vec<String>) -> Result<Self> {
        Labels::named(names)
    }
}

impl From<Labels> for Vec<String> {
    fn from(labels: Labels) -> Self {
        labels.names
    }
}

impl Labels {
    /// The classes that occur among `texts`; `classes` is K where it is known, such as the number of logit columns.
    ///
    /// Whole numbers below K are the numbers of the columns, even if some do not occur. Other names are put in order, by
    /// value if all are numbers and as text otherwise; if K is known all K must occur, since nothing would tell which
    /// column belongs to the absent one.
    pub fn learn(texts: &[impl AsRef<str>], classes: Option<usize>) -> Result<Self> {
        Error::check(classes.is_none_or(|k| k >= 2), "classes", classes, "at least 2")?;
        let found: BTreeSet<Cow<'_, str>> =
            texts.iter().enumerate().map(|(row, text)| present(row, text.as_ref())).collect::<Result<_>>()?;
        let found: Vec<String> = found.into_iter().map(Cow::into_owned).collect();
        match found.as_slice() {
            [] => {
                let remedy = "check that the right column was chosen";
                return Err(Error::TooFewRows { what: "a classification", needed: 1, found: 0, remedy });
            }
            [name] => return Err(Error::OneClass { name: name.clone() }),
            _ => {}
        }
        let below = |k: usize| found.iter().all(|name| whole(name).is_some_and(|v| v >= 0 && (v as u64) < k as u64));
        match classes {
            Some(k) if below(k) => Ok(Labels { names: (0..k).map(|class| class.to_string()).collect() }),
            Some(classes) if found.len() != classes => {
                let (names, found) = (list(&found), found.len());
                Err(match found > classes {
                    true => Error::TooManyClasses { found, classes, names },
                    false => Error::AbsentClasses { found, classes, names },
                })
            }
            _ => Ok(Labels { names: in_order(found) }),
        }
    }

    /// These names in this order.
    pub fn named(names: Vec<String>) -> Result<Self> {
        let names: Vec<String> =
            names.iter().enumerate().map(|(i, n)| present(i, n).map(Cow::into_owned)).collect::<Result<_>>()?;
        let mut seen = HashMap::new();
        for (class, name) in names.iter().enumerate() {
            if let Some(first) = seen.insert(name, class) {
                return Err(Error::DuplicateClass { name: name.clone(), first, second: class });
            }
        }
        match names.as_slice() {
            [] => Err(Error::setting("classes", 0, "at least 2")),
            [name] => Err(Error::OneClass { name: name.clone() }),
            _ => Ok(Labels { names }),
        }
    }

    /// The class of each text.
    pub fn encode(&self, texts: &[impl AsRef<str>]) -> Result<Vec<usize>> {
        let classes: HashMap<&str, usize> = self.names.iter().enumerate().map(|(k, n)| (n.as_str(), k)).collect();
        let class = |(row, text): (usize, _)| {
            let label = present(row, text)?;
            classes.get(&*label).copied().ok_or_else(|| Error::UnknownLabel {
                row,
                label: label.into_owned(),
                known: list(&self.names),
            })
        };
        texts.iter().map(AsRef::as_ref).enumerate().map(class).collect()
    }

    /// The name of each class.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.names.len()
    }
}

/// The name that a text stands for: no blanks around it, and whole numbers written in one way.
fn present(row: usize, text: &str) -> Result<Cow<'_, str>> {
    let text = text.trim();
    if MISSING.iter().any(|m| m.eq_ignore_ascii_case(text)) {
        return Err(Error::MissingLabel { row, text: text.into() });
    }
    Ok(whole(text).map_or(Cow::Borrowed(text), |v| v.to_string().into()))
}

/// The whole number that a text writes, such as `3`, `3.0` or `3e0`. Beyond 2^53 neighbours would run together: those stay text.
fn whole(text: &str) -> Option<i64> {
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i64)
}

/// By value if all are finite numbers, otherwise as they come, which is by text.
fn in_order(mut names: Vec<String>) -> Vec<String> {
    let value = |name: &String| name.parse().ok().filter(|v: &f64| v.is_finite());
    if names.iter().all(|n| value(n).is_some()) {
        names.sort_by(|a, b| value(a).partial_cmp(&value(b)).unwrap_or(Ordering::Equal));
    }
    names
}

/// The first few names in quotes.
fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|n| format!("`{n}`")).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(texts: &[&str], classes: Option<usize>) -> Vec<String> {
        Labels::learn(texts, classes).unwrap().names().to_vec()
    }

    fn message(texts: &[&str], classes: Option<usize>) -> String {
        Labels::learn(texts, classes).unwrap_err().to_string()
    }

    #[test]
    fn whole_numbers_below_k_are_the_columns_even_if_some_are_absent() {
        assert_eq!(learned(&["3", "0", "1.0"], Some(5)), ["0", "1", "2", "3", "4"]);
        let labels = Labels::learn(&["10", "2", "2.0", "9e0"], Some(11)).unwrap();
        assert_eq!((labels.classes(), labels.encode(&["10.0", " 2 ", "-0"]).unwrap()), (11, vec![10, 2, 0]));
    }

    #[test]
    fn without_k_the_names_that_occur_are_the_classes_in_order() {
        assert_eq!(learned(&["10", "9", "-1", "9.0"], None), ["-1", "9", "10"]);
        assert_eq!(learned(&["10.5", "9.5", "10"], None), ["9.5", "10", "10.5"]);
        // One word makes text of all of them.
        assert_eq!(learned(&["b", "10", "9", "a"], None), ["10", "9", "a", "b"]);
        assert_eq!(learned(&["none", "?", "some"], None), ["?", "none", "some"]);
        assert_eq!(learned(&["inf", "1"], None), ["1", "inf"]);
    }

    #[test]
    fn k_names_of_another_kind_are_numbered_in_order() {
        let labels = Labels::learn(&["3", "1", "2", "1"], Some(3)).unwrap();
        assert_eq!(labels.encode(&["1", "2", "3"]).unwrap(), [0, 1, 2]);
        assert_eq!(learned(&["dog", "cat"], Some(2)), ["cat", "dog"]);
        // 2.5 is text, so 0 and 1 are no column numbers beside it.
        assert_eq!(learned(&["1", "0", "2.5"], Some(3)), ["0", "1", "2.5"]);
    }

    #[test]
    fn names_that_do_not_fill_the_columns_ask_for_their_order() {
        assert_eq!(
            message(&["1", "3"], Some(3)),
            "2 of 3 classes occur among the labels (`1`, `3`), and nothing tells which columns they belong to; \
             name all classes in the order of the columns"
        );
        assert!(message(&["cat", "dog"], Some(3)).starts_with("2 of 3 classes occur"));
        assert_eq!(
            message(&["a", "b", "c"], Some(2)),
            "there are 3 different labels (`a`, `b`, `c`) for 2 classes; check that the right columns were chosen"
        );
        let many: Vec<String> = (0..40).map(|i| format!("class {i:02}")).collect();
        let e = Labels::learn(&many, Some(3)).unwrap_err().to_string();
        assert!(e.contains("`class 07` and 32 more)") && !e.contains("class 08"), "{e}");
    }

    #[test]
    fn labels_that_are_missing_single_or_unknown_are_named() {
        for text in ["", " ", "NA", "nan", "N/A", "NULL"] {
            let e = Labels::learn(&["1", text], None).unwrap_err();
            assert_eq!(e, Error::MissingLabel { row: 1, text: text.trim().into() });
        }
        assert_eq!(Labels::learn(&["4", "4.0"], Some(10)), Err(Error::OneClass { name: "4".into() }));
        assert!(matches!(Labels::learn(&[""; 0], None), Err(Error::TooFewRows { .. })));
        assert!(matches!(Labels::learn(&["0", "1"], Some(1)), Err(Error::Setting { .. })));
        let labels = Labels::learn(&["cat", "dog"], None).unwrap();
        assert_eq!(
            labels.encode(&["dog", "cow"]).unwrap_err().to_string(),
            "row 1 (from 0): `cow` is not among the classes `cat`, `dog`; correct the label, or name the classes"
        );
        assert_eq!(labels.encode(&["nan"]), Err(Error::MissingLabel { row: 0, text: "nan".into() }));
    }

    #[test]
    fn explicit_names_keep_their_order_and_occur_once() {
        let words = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let labels = Labels::named(words(&["dog", "7.0", "cat"])).unwrap();
        assert_eq!(labels.encode(&["cat", "7", "dog"]).unwrap(), [2, 1, 0]);
        let e = Labels::named(words(&["1", "a", "1.0"]));
        assert_eq!(e, Err(Error::DuplicateClass { name: "1".into(), first: 0, second: 2 }));
        assert!(matches!(Labels::named(words(&["a", ""])), Err(Error::MissingLabel { row: 1, .. })));
        assert!(matches!(Labels::named(words(&["a"])), Err(Error::OneClass { .. })));
        assert!(matches!(Labels::named(vec![]), Err(Error::Setting { .. })));
    }

    #[test]
    fn a_file_of_names_passes_the_same_checks() {
        let labels = Labels::learn(&["b", "a"], None).unwrap();
        let json = serde_json::to_string(&labels).unwrap();
        assert_eq!(json, r#"["a","b"]"#);
        assert_eq!(serde_json::from_str::<Labels>(&json).unwrap(), labels);
        assert!(serde_json::from_str::<Labels>(r#"["a","a"]"#).is_err());
    }

    #[test]
    fn numbers_too_large_to_be_told_apart_stay_text() {
        assert_eq!(learned(&["9007199254740993", "9007199254740992"], None).len(), 2);
    }
}
