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

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule's file as it is written today.
    const FILE: &str = r#"{"schema":"stonet.rule/1","version":"0.1.0","head":"00","guarantee":"words","rule":{
        "want":"precision[spam]>=0.95","confidence":0.95,"level":null,"ordering_rows":10,"seed":1,
        "chosen":{"threshold":0.9,"rows":40,"answered":20,"of":20,"errors":0,"risk":0.0,"bound":0.05},"curve":[]}}"#;

    fn read(text: &str) -> Result<SavedRule> {
        SavedRule::from_bytes(Path::new("rule.json"), text.as_bytes())
    }

    #[test]
    fn a_file_comes_back_as_it_was() {
        let saved = read(FILE).unwrap();
        assert_eq!(read(&saved.to_json().unwrap()).unwrap(), saved);
        assert_eq!(saved.rule.threshold(), Some(0.9));
    }

    #[test]
    fn damaged_files_are_refused_and_never_panic() {
        for (from, to) in [
            ("rule/1", "rule/2"),
            ("\"head\"", "\"body\""),
            ("0.95\",\"confidence\":0.95", "95\",\"confidence\":0.95"),
            ("\"confidence\":0.95", "\"confidence\":null"),
            ("\"confidence\":0.95", "\"confidence\":1.5"),
            ("\"level\":null", "\"level\":0.9"),
            ("\"answered\":20", "\"answered\":41"),
            ("\"errors\":0", "\"errors\":21"),
            ("\"risk\":0.0", "\"risk\":-1"),
            ("\"threshold\":0.9", "\"threshold\":1e999"),
            ("\"seed\":1", "\"seed\":1,\"more\":2"),
        ] {
            assert!(FILE.contains(from), "{from}");
            let error = read(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.starts_with("rule.json: is no rule of answers: "), "{to}: {error}");
        }
        for end in 0..FILE.len() {
            assert!(read(&FILE[..end]).is_err());
        }
        for at in 0..FILE.len() {
            let mut bytes = FILE.as_bytes().to_vec();
            bytes[at] ^= 0x15;
            let _ = SavedRule::from_bytes(Path::new("rule.json"), &bytes);
        }
    }
}
