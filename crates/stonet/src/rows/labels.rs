//! The names of the classes of a classification problem, in the order of its logit columns.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::LabelKind;
use super::label_kind::{is_code, whole};
use crate::base::{Error, Result};

/// What stands for a label that is not there. Words such as `none` or `?` may well be the name of a class.
const MISSING: [&str; 5] = ["", "na", "n/a", "nan", "null"];
/// Names that a message lists.
const LISTED: usize = 8;
/// Characters of the name of a type elsewhere.
const TYPE_NAME: usize = 32;

/// The distinct names of classes 0 … K − 1, at least two, and what kind of label they are. `1`, `1.0` and ` 1 ` are the
/// same whole number; `01` is a text.
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
    kind: Option<LabelKind>,
    type_name: Option<String>,
}

impl TryFrom<Vec<String>> for Labels {
    type Error = Error;
    fn try_from(names: Vec<String>) -> Result<Self> {
        Labels::checked(names, None)
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
    /// Whole numbers below K are the numbers of the columns, even if some do not occur. Other names are put in order,
    /// by value if all are numbers and as text otherwise; if K is known all K must occur, since nothing would tell
    /// which column belongs to the absent one.
    pub fn learn(texts: &[impl AsRef<str>], classes: Option<usize>) -> Result<Self> {
        let seen = Labels::occurring(texts, None)?;
        let Some(k) = classes else { return Ok(seen) };
        Error::check(k >= 2, "classes", k, "at least 2")?;
        match seen.numbered(k) {
            Some(numbered) => Ok(numbered),
            None if seen.classes() != k => Err(seen.misfit(k)),
            None => Ok(seen),
        }
    }

    /// The classes that occur among `texts`, in order: by value if all are numbers, and as text otherwise. The kind is
    /// that of the file or program that they come from; where none is known, the texts tell it.
    pub fn occurring(texts: &[impl AsRef<str>], kind: Option<LabelKind>) -> Result<Self> {
        let name = |(row, text)| if kind == Some(LabelKind::Text) { verbatim(row, text) } else { present(row, text) };
        let texts = texts.iter().map(AsRef::as_ref).enumerate();
        let found: BTreeSet<Cow<'_, str>> = texts.map(name).collect::<Result<_>>()?;
        let found = in_order(found.into_iter().map(Cow::into_owned).collect());
        if found.is_empty() {
            let remedy = "check that the right column was chosen";
            return Err(Error::TooFewRows { what: "a classification", needed: 1, found: 0, remedy });
        }
        let kind = kind.unwrap_or_else(|| LabelKind::of_texts(&found));
        // `0.5` and `0.50` are one class.
        let mut keys = HashSet::new();
        let first = |name: &String| kind.key(name).is_none_or(|key| keys.insert(key.into_owned()));
        Labels::checked(found.into_iter().filter(first).collect(), Some(kind))
    }

    /// These names in this order; they tell of which kind they are.
    pub fn named(names: Vec<String>) -> Result<Self> {
        let labels = Labels::checked(names, None)?;
        let kind = Some(LabelKind::of_texts(&labels.names));
        Ok(Labels { kind, ..labels })
    }

    /// These names in this order, of a kind that is known. Texts stay as they are, blanks and zeros in front included.
    pub fn of_kind(names: Vec<String>, kind: LabelKind) -> Result<Self> {
        Labels::checked(names, Some(kind))
    }

    fn checked(names: Vec<String>, kind: Option<LabelKind>) -> Result<Self> {
        let name = |(i, name)| match kind {
            Some(LabelKind::Text) => verbatim(i, name),
            _ => present(i, name),
        };
        let texts = names.iter().map(String::as_str).enumerate();
        let names: Vec<String> = texts.map(|n| name(n).map(Cow::into_owned)).collect::<Result<_>>()?;
        let labels = Labels { names, kind, type_name: None };
        let mut seen = HashMap::new();
        for (class, name) in labels.names.iter().enumerate() {
            let key = labels
                .key(name)
                .ok_or_else(|| Error::LabelKind { name: name.clone(), kind: kind.unwrap_or(LabelKind::Text).name() })?;
            if let Some(first) = seen.insert(key, class) {
                return Err(Error::DuplicateClass { name: name.clone(), first, second: class });
            }
        }
        match labels.names.as_slice() {
            [] => Err(Error::setting("classes", 0, "at least 2")),
            [name] => Err(Error::OneClass { name: name.clone() }),
            _ => Ok(labels),
        }
    }

    /// With the name that the type of the labels has elsewhere, such as numpy's `<i4`; of no meaning here.
    pub fn with_type_name(self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        let sound = !name.is_empty() && name.len() <= TYPE_NAME && name.bytes().all(|b| b.is_ascii_graphic());
        Labels { type_name: Some(name).filter(|_| sound), ..self }
    }

    /// With another kind, where the names are of it.
    pub fn with_kind(self, kind: LabelKind) -> Result<Self> {
        let labels = Labels::checked(self.names, Some(kind))?;
        Ok(Labels { type_name: self.type_name, ..labels })
    }

    /// What two texts of the same label have in common. Files of earlier versions do not tell the kind: there whole
    /// numbers are one label however they are written.
    fn key<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        match self.kind {
            Some(kind) => kind.key(text),
            None => Some(whole(text.trim()).map_or(text.trim().into(), |v| v.to_string().into())),
        }
    }

    /// The class of each text.
    pub fn encode(&self, texts: &[impl AsRef<str>]) -> Result<Vec<usize>> {
        let numbered = || self.names.iter().enumerate();
        let exact: HashMap<&str, usize> = numbered().map(|(k, n)| (n.as_str(), k)).collect();
        let keys: HashMap<Cow<'_, str>, usize> = numbered().filter_map(|(k, n)| Some((self.key(n)?, k))).collect();
        let class = |(row, text): (usize, &str)| {
            if let Some(&class) = exact.get(text).or_else(|| exact.get(text.trim())) {
                return Ok(class);
            }
            verbatim(row, text)?;
            let label = text.trim();
            let found = self.key(label).and_then(|key| keys.get(&key).copied());
            found.ok_or_else(|| Error::UnknownLabel { row, label: label.into(), known: list(&self.names) })
        };
        texts.iter().map(AsRef::as_ref).enumerate().map(class).collect()
    }

    /// All classes 0 … `columns` − 1, where the names are whole numbers among them.
    pub(crate) fn numbered(&self, columns: usize) -> Option<Self> {
        let below = |v: i64| v >= 0 && (v as u64) < columns as u64;
        let number = |name: &String| whole(name).filter(|v| v.to_string() == *name);
        if !self.names.iter().all(|name| number(name).is_some_and(below)) || columns < 2 {
            return None;
        }
        Some(Labels { names: (0..columns).map(|class| class.to_string()).collect(), ..self.clone() })
    }

    /// These names for the same classes, in an order of their own, of the same kind and type; classes of `self` keep
    /// the way they are written.
    pub(crate) fn among(&self, all: &Labels) -> Result<Self> {
        let places = all.encode(&self.names)?;
        let mut names = all.names.clone();
        self.names.iter().zip(&places).for_each(|(name, &k)| names[k] = name.clone());
        let labels = Labels::checked(names, self.kind)?;
        Ok(Labels { type_name: self.type_name.clone(), ..labels })
    }

    /// The same classes in order: by value if all are numbers, and as text otherwise.
    pub(crate) fn in_order(&self) -> Self {
        Labels { names: in_order(self.names.clone()), ..self.clone() }
    }

    /// The same classes, the one at each place being that of this number; none where a number is missing or stands
    /// twice.
    pub(crate) fn reordered(&self, order: &[usize]) -> Option<Self> {
        let names = order.iter().map(|&k| self.names.get(k).cloned()).collect::<Option<Vec<_>>>()?;
        let labels = Labels::checked(names, self.kind).ok()?;
        (labels.classes() == self.classes()).then_some(Labels { type_name: self.type_name.clone(), ..labels })
    }

    /// Why these classes do not belong to so many columns.
    pub fn misfit(&self, classes: usize) -> Error {
        let (names, found) = (list(&self.names), self.classes());
        match found > classes {
            true => Error::TooManyClasses { found, classes, names },
            false => Error::AbsentClasses { found, classes, names },
        }
    }

    /// The name of each class.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of classes, K.
    pub fn classes(&self) -> usize {
        self.names.len()
    }

    /// What kind of label the names are; none where a file of an earlier version does not tell.
    pub fn kind(&self) -> Option<LabelKind> {
        self.kind
    }

    /// The name that the type of the labels has elsewhere, where one was given.
    pub fn type_name(&self) -> Option<&str> {
        self.type_name.as_deref()
    }
}

/// A text that is there.
fn verbatim(row: usize, text: &str) -> Result<Cow<'_, str>> {
    let trimmed = text.trim();
    if MISSING.iter().any(|m| m.eq_ignore_ascii_case(trimmed)) {
        return Err(Error::MissingLabel { row, text: trimmed.into() });
    }
    Ok(Cow::Borrowed(text))
}

/// The name that a text stands for: no blanks around it, and whole numbers written in one way.
pub(super) fn present(row: usize, text: &str) -> Result<Cow<'_, str>> {
    verbatim(row, text)?;
    let text = text.trim();
    let number = if is_code(text) { None } else { whole(text) };
    Ok(number.map_or(Cow::Borrowed(text), |v| v.to_string().into()))
}

/// By value if all are finite numbers, otherwise by text.
fn in_order(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
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
        let read: Labels = serde_json::from_str(&json).unwrap();
        assert_eq!((read.names(), read.kind()), (labels.names(), None));
        assert!(serde_json::from_str::<Labels>(r#"["a","a"]"#).is_err());
    }

    #[test]
    fn numbers_too_large_to_be_told_apart_stay_text() {
        assert_eq!(learned(&["9007199254740993", "9007199254740992"], None).len(), 2);
    }

    #[test]
    fn codes_with_zeros_in_front_are_texts_and_stay_apart() {
        let labels = Labels::learn(&["01", "02", "1"], None).unwrap();
        assert_eq!(
            (labels.names(), labels.kind()),
            (&["01".into(), "1".into(), "02".into()][..], Some(LabelKind::Text))
        );
        assert_eq!(labels.encode(&[" 02 ", "1"]).unwrap(), [2, 1]);
        assert!(labels.encode(&["2"]).is_err());
        // A file of an earlier version has lost the zeros, and its rows are still found.
        let old: Labels = serde_json::from_str(r#"["1","2"]"#).unwrap();
        assert_eq!(old.encode(&["02", "1.0"]).unwrap(), [1, 0]);
    }

    #[test]
    fn labels_are_found_by_their_value_whatever_their_kind() {
        let of = |names: &[&str], kind| Labels::of_kind(names.iter().map(|n| n.to_string()).collect(), kind).unwrap();
        assert_eq!(of(&["False", "True"], LabelKind::Boolean).encode(&["true", "FALSE", "1"]).unwrap(), [1, 0, 1]);
        let dates = of(&["2024-01-01", "2024-01-02"], LabelKind::Date);
        assert_eq!(dates.encode(&["2024-01-02 00:00:00", "2024-01-01"]).unwrap(), [1, 0]);
        let times = of(&["2024-01-01T00:00:00", "2024-01-01T12:00:00"], LabelKind::Datetime);
        assert_eq!(times.encode(&["2024-01-01 12:00", "2024-01-01"]).unwrap(), [1, 0]);
        assert_eq!(of(&["0.5", "1.0"], LabelKind::Float).encode(&["1", "5e-1"]).unwrap(), [1, 0]);
        assert_eq!(of(&[" a", "a"], LabelKind::Text).encode(&["a", " a"]).unwrap(), [1, 0]);
        let wrong = Labels::of_kind(vec!["yes".into(), "no".into()], LabelKind::Boolean).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "`yes` is no label of kind boolean; correct the label, or use labels of one kind"
        );
        assert!(Labels::of_kind(vec!["true".into(), "True".into()], LabelKind::Boolean).is_err());
    }

    #[test]
    fn a_number_of_classes_below_two_is_named_plainly() {
        let e = Labels::learn(&["0", "1"], Some(1)).unwrap_err().to_string();
        assert_eq!(e, "classes must be at least 2, but is 1");
    }
}
