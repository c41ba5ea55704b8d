//! A rule of answers in a file of its own, with the head that it was made for.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::control::Rule;

use crate::model::Fnv;
use crate::write::write_whole;
use crate::{Error, Head, Model, Problem, Result, explain, open};

/// The schema of the file.
const SCHEMA: &str = "stonet.rule/1";

/// The largest file that is read; a rule takes some tens of kilobytes.
const LONGEST: usize = 1 << 24;

/// A [`Rule`] and the head that it was made for.
///
/// The file is JSON with the keys `schema` (`stonet.rule/1`), `version` (of the program that made it), `head` (what
/// [`Model::digest`] says of the head), `guarantee` (in words, for people) and `rule`. Other keys are an error.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRule {
    /// The rule.
    pub rule: Rule,
    /// [`Model::digest`] of its head.
    pub head: String,
    /// The version of the program that made it.
    pub version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    schema: String,
    version: String,
    head: String,
    guarantee: String,
    rule: Rule,
}

impl SavedRule {
    /// A rule that was made for this model.
    pub fn new(rule: Rule, model: &Model) -> Result<Self> {
        Ok(SavedRule { rule, head: model.digest()?, version: Model::VERSION.to_owned() })
    }

    /// Writes the file; it appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let text = self.to_json()?;
        write_whole(path, text.as_bytes()).map_err(|source| Error::Unwritable { path: path.into(), source })
    }

    /// The text of a file.
    pub fn to_json(&self) -> Result<String> {
        let SavedRule { rule, head, version } = self.clone();
        let parts = Parts { schema: SCHEMA.to_owned(), version, head, guarantee: rule.guarantee().text, rule };
        let text = serde_json::to_string_pretty(&parts).map_err(|e| Error::Unsound { why: e.to_string() })?;
        Ok(text + "\n")
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, length) = open::file(path)?;
        let mut bytes = Vec::new();
        let most = length.min(LONGEST as u64 + 1);
        file.take(most).read_to_end(&mut bytes).map_err(|source| Problem::Unreadable { source }.of(path))?;
        Self::from_bytes(path, &bytes)
    }

    /// A rule from the bytes of a file, which `source` names in messages.
    pub fn from_bytes(source: &Path, bytes: &[u8]) -> Result<Self> {
        let damaged = |why: String| Problem::NotARule { why }.of(source);
        if bytes.len() > LONGEST {
            return Err(damaged(format!("it has more than {LONGEST} bytes")));
        }
        let parts: Parts = serde_json::from_slice(bytes).map_err(|e| damaged(explain(&e.to_string(), "field")))?;
        if parts.schema != SCHEMA {
            return Err(damaged(format!("its schema is `{:.40}`, and this program reads `{SCHEMA}`", parts.schema)));
        }
        parts.rule.check().map_err(|e| damaged(e.to_string()))?;
        Ok(SavedRule { rule: parts.rule, head: parts.head, version: parts.version })
    }

    /// Why this rule is not for a model, if it is not.
    pub fn misfit(&self, model: &Model) -> Result<Option<String>> {
        let found = model.digest()?;
        Ok((found != self.head).then(|| {
            format!("was made for another head ({}, and this one is {found}); make a rule for this head by `stonet control`", self.head)
        }))
    }
}

impl Model {
    /// Sixteen digits that tell heads apart, however they were stored: FNV-1a (64 bits) of the fitted values and the
    /// classes as JSON.
    pub fn digest(&self) -> Result<String> {
        let mut hash = Digest(Fnv::new());
        let written = match &self.head {
            Head::Regression(head) => serde_json::to_writer(&mut hash, head),
            Head::Classification(head) => serde_json::to_writer(&mut hash, head),
            Head::Labels(head) => serde_json::to_writer(&mut hash, &(head.names(), head.heads())),
        };
        let names = self.labels.as_ref().map(|labels| labels.names());
        let written = written.and_then(|()| serde_json::to_writer(&mut hash, &names));
        written.map_err(|e| Error::Unsound { why: e.to_string() })?;
        Ok(hash.0.digits())
    }
}

/// A hash of what is written.
struct Digest(Fnv);

impl std::io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = std::mem::replace(&mut self.0, Fnv::new()).bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
