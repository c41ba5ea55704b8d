//! The names of a file's columns, and columns by name or pattern.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::pattern::{list, matches, nearest};
use crate::{Error, Result};

/// Distinct names, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) source: PathBuf,
    pub(crate) names: Vec<String>,
}

impl Header {
    /// Fails where two names are the same.
    pub(crate) fn new(source: &Path, names: Vec<String>) -> Result<Self> {
        let mut seen = HashMap::new();
        for (i, name) in names.iter().enumerate() {
            if let Some(first) = seen.insert(name, i) {
                let (path, name) = (source.to_owned(), name.clone());
                return Err(Error::DuplicateColumn { path, name, first: first + 1, second: i + 1 });
            }
        }
        Ok(Header { source: source.to_owned(), names })
    }

    /// The column of exactly this name.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| self.unknown(name))
    }

    /// The columns with these names or patterns: in the order asked for, a pattern's matches in the order of the file, none
    /// twice. A column of exactly that name comes before any reading as a pattern.
    pub(crate) fn columns(&self, patterns: &[String]) -> Result<Vec<usize>> {
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
            return Err(Error::NoMatch { path: self.source.clone(), pattern: pattern.into(), known });
        }
        Ok(found)
    }

    fn unknown(&self, name: &str) -> Error {
        let known = nearest(name, &self.names);
        Error::UnknownColumn { path: self.source.clone(), name: name.into(), known }
    }
}
