//! The state of a monitor in a small file, which the next run goes on with.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stonet::monitor::Monitor;

use crate::location::damaged;
use crate::write::write_whole;
use crate::{Error, Problem, Result, explain, open};

/// What the file says it is.
const SCHEMA: &str = "stonet.monitor-state/1";
/// What messages call the format.
const FORMAT: &str = "StoNet monitor state";

/// The state of a monitor and the head that it watches.
///
/// The file is JSON: `schema` (`stonet.monitor-state/1`), `head` (the [identity](crate::Model::identity) of the head)
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
    head: String,
    monitor: Monitor,
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
        let File { head, monitor, .. } = serde_json::from_slice(bytes).map_err(bad)?;
        Ok(MonitorState { head, monitor })
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let file = File { schema: SCHEMA.into(), head: self.head.clone(), monitor: self.monitor.clone() };
        serde_json::to_vec(&file).map_err(|e| Error::Unsound { why: e.to_string() })
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
