//! Groups of rows within each of which intervals are to cover, by the labels of one column or of several.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::labels::present;
use crate::base::{Error, Result};

/// Groups that a text lists.
const LISTED: usize = 6;

/// The groups that were seen at a fit, in order. A group is a label, or a combination of labels of several columns.
///
/// `1`, `1.0` and ` 1 ` are the same label, and so are `True` and `true`; `01` is another one.
///
/// ```
/// use stonet::rows::Within;
/// let region = ["south", "north", "south"].map(String::from);
/// let (within, numbers) = Within::learn(&[&region])?;
/// assert_eq!(numbers, [1, 0, 1]);
/// // Rows of a group that is not known have a number behind all others.
/// assert_eq!(within.encode(&[&["north", "east"].map(String::from)])?, [0.0, 2.0]);
/// # Ok::<(), stonet::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<String>>", into = "Vec<Vec<String>>")]
pub struct Within {
    groups: Vec<Vec<String>>,
}

impl TryFrom<Vec<Vec<String>>> for Within {
    type Error = Error;
    fn try_from(groups: Vec<Vec<String>>) -> Result<Self> {
        let columns = groups.first().map_or(0, Vec::len);
        let even = columns > 0 && groups.iter().all(|g| g.len() == columns);
        let rising = groups.windows(2).all(|pair| order(&pair[0], &pair[1]) == Ordering::Less);
        match even && rising {
            true => Ok(Within { groups }),
            false => Err(Error::Inconsistent { what: "the groups of a head are not distinct and in order" }),
        }
    }
}

impl From<Within> for Vec<Vec<String>> {
    fn from(within: Within) -> Self {
        within.groups
    }
}

impl Within {
    /// The groups that occur in these columns of labels, and the number of each row's.
    pub fn learn(columns: &[&[String]]) -> Result<(Self, Vec<usize>)> {
        let rows = keys(columns)?;
        Error::check(!rows.is_empty(), "within", "a column without rows", "one label per row")?;
        let mut groups: Vec<Vec<String>> = rows.iter().map(|key| key.to_vec()).collect();
        groups.sort_by(|a, b| order(a, b));
        groups.dedup();
        let known: HashMap<&[String], usize> = groups.iter().enumerate().map(|(g, key)| (&key[..], g)).collect();
        let numbers = rows.iter().map(|key| known[&key[..]]).collect();
        Ok((Within { groups }, numbers))
    }

    /// The groups of several parts of the rows together.
    pub(crate) fn joined<'a>(parts: impl IntoIterator<Item = &'a [String]>) -> Self {
        let mut groups: Vec<Vec<String>> = parts.into_iter().map(<[String]>::to_vec).collect();
        groups.sort_by(|a, b| order(a, b));
        groups.dedup();
        Within { groups }
    }

    /// The number of each row's group, as a scorer takes it: the number of groups where a row's is not known.
    pub fn encode(&self, columns: &[&[String]]) -> Result<Vec<f64>> {
        if columns.len() != self.columns() {
            return Err(Error::shape("columns of groups (within)", self.columns(), columns.len()));
        }
        let known: HashMap<&[String], usize> = self.groups.iter().enumerate().map(|(g, key)| (&key[..], g)).collect();
        let number = |key: &Vec<String>| known.get(&key[..]).copied().unwrap_or(self.groups.len()) as f64;
        Ok(keys(columns)?.iter().map(number).collect())
    }

    /// How many columns of labels make a group.
    pub fn columns(&self) -> usize {
        self.groups.first().map_or(0, Vec::len)
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The labels of every group, one per column.
    pub fn groups(&self) -> &[Vec<String>] {
        &self.groups
    }

    /// The labels of a group in one text.
    pub fn name(&self, group: usize) -> String {
        self.groups[group].join(", ")
    }

    /// Some groups with how many rows each has, the first few by name.
    pub(crate) fn listed(&self, groups: &[(usize, usize)]) -> String {
        let shown: Vec<String> = groups.iter().take(LISTED).map(|&(g, n)| format!("{}: {n}", self.name(g))).collect();
        match groups.len().saturating_sub(LISTED) {
            0 => shown.join("; "),
            more => format!("{}; and {more} more", shown.join("; ")),
        }
    }
}

/// The labels of every row in one way of writing.
fn keys(columns: &[&[String]]) -> Result<Vec<Vec<String>>> {
    let rows = columns.first().map_or(0, |c| c.len());
    if let Some(other) = columns.iter().find(|c| c.len() != rows) {
        return Err(Error::shape("rows of a column of groups (within)", rows, other.len()));
    }
    // Columns have few labels, each of which is brought into its form once.
    let mut all = vec![Vec::with_capacity(columns.len()); rows];
    for (column, labels) in columns.iter().enumerate() {
        let mut forms = BTreeMap::<&str, String>::new();
        for (row, text) in labels.iter().enumerate() {
            if !forms.contains_key(text.as_str()) {
                forms.insert(text, form(text, row, column)?);
            }
            all[row].push(forms[text.as_str()].clone());
        }
    }
    Ok(all)
}

fn form(text: &str, row: usize, column: usize) -> Result<String> {
    let label = present(row, text).map_err(|_| Error::MissingGroup { row, column, text: text.trim().into() })?;
    let truth = ["true", "false"].into_iter().find(|t| t.eq_ignore_ascii_case(&label));
    Ok(truth.map_or_else(|| label.into_owned(), str::to_owned))
}

/// Numbers by value and in front of texts.
fn order(a: &[String], b: &[String]) -> Ordering {
    let value = |text: &str| text.parse().ok().filter(|v: &f64| v.is_finite());
    let one = |(a, b): (&String, &String)| match (value(a), value(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    };
    a.iter().zip(b).map(one).find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|t| t.to_string()).collect()
    }

    #[test]
    fn labels_have_one_form_and_an_order_whatever_that_of_the_rows() {
        let (within, numbers) = Within::learn(&[&texts(&["10", "b", " 2.0", "2", "TRUE", "01", "true"])]).unwrap();
        let names: Vec<String> = (0..within.len()).map(|g| within.name(g)).collect();
        assert_eq!(names, ["01", "2", "10", "b", "true"]);
        assert_eq!(numbers, [2, 3, 1, 1, 4, 0, 4]);
        let (other, _) = Within::learn(&[&texts(&["true", "01", "2", "b", "10.0"])]).unwrap();
        assert_eq!(within, other);
        assert_eq!(within.encode(&[&texts(&["1", "10.0", "B"])]).unwrap(), [5.0, 2.0, 5.0]);
    }

    #[test]
    fn several_columns_make_combinations() {
        let (region, site) = (texts(&["n", "s", "n", "n"]), texts(&["1", "1", "2", "1"]));
        let (within, numbers) = Within::learn(&[&region, &site]).unwrap();
        assert_eq!((within.len(), within.columns(), &numbers[..]), (3, 2, &[0, 2, 1, 0][..]));
        assert_eq!(within.name(2), "s, 1");
        assert_eq!(within.encode(&[&texts(&["s"]), &texts(&["2"])]).unwrap(), [3.0]);
        let text = serde_json::to_string(&within).unwrap();
        assert_eq!(serde_json::from_str::<Within>(&text).unwrap(), within);
        for wrong in ["[]", "[[]]", r#"[["b"],["a"]]"#, r#"[["a"],["a"]]"#, r#"[["a"],["a","b"]]"#] {
            assert!(serde_json::from_str::<Within>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn missing_labels_and_uneven_columns_are_named() {
        let missing = Within::learn(&[&texts(&["a", "b"]), &texts(&["a", " NA "])]);
        assert_eq!(missing.unwrap_err(), Error::MissingGroup { row: 1, column: 1, text: "NA".into() });
        assert!(Within::learn(&[&texts(&["a", "b"]), &texts(&["a"])]).is_err());
        assert!(Within::learn(&[]).is_err());
        let (within, _) = Within::learn(&[&texts(&["a", "b"])]).unwrap();
        assert!(within.encode(&[&texts(&["a"]), &texts(&["a"])]).is_err());
    }
}
