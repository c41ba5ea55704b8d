//! The names of a file's columns, and columns by name or pattern.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::pattern::{LISTED, list, matches, nearest, nearest_of};
use crate::{Error, Place, Problem, Result};

/// Distinct names, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) source: PathBuf,
    pub(crate) names: Vec<String>,
    /// Columns that number the rows, as pandas and R write them.
    pub(crate) row_numbers: Vec<usize>,
}

impl Header {
    /// Fails where two names are the same.
    pub(crate) fn new(source: &Path, names: Vec<String>) -> Result<Self> {
        let mut seen = HashMap::new();
        for (i, name) in names.iter().enumerate() {
            if let Some(first) = seen.insert(name, i) {
                let (path, name) = (source.to_owned(), name.clone());
                return Err(Problem::DuplicateColumn { name, first: first + 1, second: i + 1 }.at(path, Place::Line(1)));
            }
        }
        let row_numbers = (0..names.len()).filter(|&i| is_row_number(&names[i])).collect();
        Ok(Header { source: source.to_owned(), names, row_numbers })
    }

    /// The column of exactly this name.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| self.unknown(name))
    }

    /// The columns with these names or patterns: in the order asked for, a pattern's matches in the order of the file,
    /// none twice. A column of exactly that name comes before any reading as a pattern.
    pub(crate) fn columns(&self, patterns: &[String]) -> Result<Vec<usize>> {
        let known: HashSet<&str> = self.names.iter().map(String::as_str).collect();
        let absent = |p: &&String| !known.contains(p.as_str()) && !p.contains(['*', '?']);
        let missing: Vec<&String> = patterns.iter().filter(absent).collect();
        if !missing.is_empty() {
            return Err(self.missing(&missing));
        }
        let mut chosen = Vec::new();
        let mut taken = vec![false; self.names.len()];
        for pattern in patterns {
            let found = self.find(pattern)?;
            chosen.extend(found.into_iter().filter(|&i| !std::mem::replace(&mut taken[i], true)));
        }
        Ok(chosen)
    }

    /// Whether a name or pattern fits any column.
    pub(crate) fn has(&self, pattern: &str) -> bool {
        self.find(pattern).is_ok()
    }

    /// The columns of exactly these names, in the order asked for; all that are not there are named at once.
    pub(crate) fn exact(&self, names: &[String]) -> Result<Vec<usize>> {
        let places: HashMap<&str, usize> = self.names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        let found: Vec<usize> = names.iter().filter_map(|n| places.get(n.as_str()).copied()).collect();
        if found.len() == names.len() {
            return Ok(found);
        }
        let missing: Vec<&String> = names.iter().filter(|n| !places.contains_key(n.as_str())).collect();
        Err(self.missing(&missing))
    }

    fn missing(&self, names: &[&String]) -> Error {
        if let [name] = names {
            return self.unknown(name);
        }
        let near = |name: &str| match nearest_of(name, &self.names) {
            Some(near) => format!("`{name}` (nearest is `{near}`)"),
            None => format!("`{name}`"),
        };
        let shown: Vec<String> = names.iter().take(LISTED).map(|n| near(n)).collect();
        let more = names.len() - shown.len();
        let missing = if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) };
        Problem::MissingColumns { count: names.len(), missing }.of(self.source.clone())
    }

    /// The names as a list for a message.
    pub(crate) fn list(&self) -> String {
        list(self.names.iter().map(String::as_str))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    fn find(&self, pattern: &str) -> Result<Vec<usize>> {
        if let Some(exact) = self.position(pattern) {
            return Ok(vec![exact]);
        }
        if !pattern.contains(['*', '?']) {
            return Err(self.unknown(pattern));
        }
        let found: Vec<usize> = (0..self.names.len()).filter(|&i| matches(pattern, &self.names[i])).collect();
        if found.is_empty() {
            let known = nearest(pattern, &self.names);
            return Err(Problem::NoMatch { pattern: pattern.into(), known }.of(self.source.clone()));
        }
        Ok(found)
    }

    fn unknown(&self, name: &str) -> Error {
        let known = nearest(name, &self.names);
        Problem::UnknownColumn { name: name.into(), known }.of(self.source.clone())
    }
}

/// What pandas calls the index of a frame: `__index_level_0__` in Parquet, `Unnamed: 0` in a CSV file that was read and
/// written again, `Unnamed: 0.1` when that happened twice.
fn is_row_number(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    let unnamed = name.strip_prefix("Unnamed: 0");
    level.is_some_and(digits)
        || unnamed.is_some_and(|rest| rest.split('.').skip(1).all(digits) && !rest.starts_with(|c: char| c != '.'))
}
