//! The file of a monitor's state: one process at a time goes on with it, with the head and settings that it was begun with.

use std::path::Path;

use stonet::monitor::Monitor;
use stonet_io::{Claim, MonitorState};

use crate::error::{Error, Result};

/// What an earlier run has seen, and the right to go on with it.
pub struct Held {
    /// None where there is no file yet.
    pub earlier: Option<Monitor>,
    _claim: Claim,
}

impl Held {
    /// Takes the file of a state for the head of this identity; `--alarm` and `--level` must be those of the state, where they are given.
    pub fn new(path: &Path, identity: &str, alarm: Option<f64>, level: Option<f64>) -> Result<Self> {
        let refused = |why: &str| Error::flag("--state", format!("{}: {why}", path.display()));
        let claim = Claim::new(path).map_err(|source| stonet_io::Error::Unwritable { path: path.into(), source })?;
        let claim = claim.ok_or_else(|| {
            refused("another process goes on with this state, such as `stonet serve`; wait for its end, or name another file")
        })?;
        if !path.exists() {
            return Ok(Held { earlier: None, _claim: claim });
        }
        let state = MonitorState::load(path)?;
        match state.misfit(identity, (alarm, "--alarm"), (level, "--level")) {
            Some(why) => Err(refused(&why)),
            None => Ok(Held { earlier: Some(state.monitor), _claim: claim }),
        }
    }
}
