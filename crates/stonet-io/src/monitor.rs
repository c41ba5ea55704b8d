//! The state of a monitor in a small file, which the next run goes on with.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::monitor::Monitor;

use crate::location::damaged;
use crate::model::Fnv;
use crate::write::write_whole;
use crate::{Error, Problem, Result, explain, open};

/// What the file says it is.
const SCHEMA: &str = "stonet.monitor-state/1";
/// How a file begins, up to the digits of its checksum.
const START: &str = "{\"schema\":\"stonet.monitor-state/1\",\"checksum\":\"";
/// What messages call the format.
const FORMAT: &str = "StoNet monitor state";

/// The state of a monitor and the head that it watches.
///
/// The file is JSON: `schema` (`stonet.monitor-state/1`), `checksum` (sixteen digits: FNV-1a (64 bits) of the file with zeros
/// in the place of these digits; not there in files of older programs), `head` (the [identity](crate::Model::identity) of the head)
/// and `monitor`, as serde writes [`Monitor`]. It holds counts, capitals and settings, and no row.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitorState {
    /// [`Model::identity`](crate::Model::identity) of the head.
    pub head: String,
    /// What it has seen.
    pub monitor: Monitor,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    checksum: Option<String>,
    head: String,
    monitor: Monitor,
}

/// The digits of a checksum before it is known.
const ZEROS: &str = "0000000000000000";

/// The digits of the checksum of a file, whose own digits stand there; none where the file does not begin as it is written.
fn checksum(bytes: &[u8], digits: &str) -> Option<String> {
    let rest = bytes.strip_prefix(START.as_bytes())?.strip_prefix(digits.as_bytes())?;
    Some(Fnv::new().bytes(START.as_bytes()).bytes(ZEROS.as_bytes()).bytes(rest).digits())
}

/// What every version of the file has.
#[derive(Deserialize)]
struct Version {
    schema: String,
}

impl MonitorState {
    /// Reads the bytes of a file, which messages call `path`.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        let bad = |e: serde_json::Error| damaged(path, FORMAT, explain(&e.to_string(), "field"));
        let Version { schema } = serde_json::from_slice(bytes).map_err(bad)?;
        if schema != SCHEMA {
            let schema: String = schema.chars().take(40).collect();
            return Err(damaged(path, FORMAT, format!("its schema is `{schema}`, and this program reads `{SCHEMA}`")));
        }
        let File { head, monitor, checksum: written, .. } = serde_json::from_slice(bytes).map_err(bad)?;
        if let Some(digits) = written
            && (digits.len() != ZEROS.len() || checksum(bytes, &digits).as_ref() != Some(&digits))
        {
            let why = "its checksum does not fit its contents: it was changed after it was written; take an earlier copy, or \
                       begin a new state";
            return Err(damaged(path, FORMAT, why));
        }
        Ok(MonitorState { head, monitor })
    }

    /// Why this state cannot go on for a head of this identity and with these settings, where any are given; each has the
    /// name that a front end calls it by.
    pub fn misfit(
        &self,
        identity: &str,
        (alarm, alarm_name): (Option<f64>, &str),
        (level, level_name): (Option<f64>, &str),
    ) -> Option<String> {
        if self.head != identity {
            return Some("is the state of another head; name another file, and a new state begins".into());
        }
        let settings = self.monitor.settings();
        let given = [(alarm, settings.alarm, alarm_name), (level, settings.level.get(), level_name)];
        let (new, was, name) =
            given.into_iter().find_map(|(new, was, name)| Some((new.filter(|n| *n != was)?, was, name)))?;
        Some(format!("was begun with {name} {was}, and not {new}; leave it out, or begin another file"))
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (schema, head, monitor) = (SCHEMA.to_owned(), self.head.clone(), self.monitor.clone());
        let file = File { schema, checksum: Some(ZEROS.to_owned()), head, monitor };
        let mut bytes = serde_json::to_vec(&file).map_err(|e| Error::Unsound { why: e.to_string() })?;
        if let Some(digits) = checksum(&bytes, ZEROS) {
            bytes[START.len()..START.len() + digits.len()].copy_from_slice(digits.as_bytes());
        }
        Ok(bytes)
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, length) = open::file(path)?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).map_err(|source| Problem::Unreadable { source }.of(path))?;
        Self::from_bytes(path, &bytes)
    }

    /// Writes the file; it appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_whole(path, &self.to_bytes()?).map_err(|source| Error::Unwritable { path: path.into(), source })
    }
}
