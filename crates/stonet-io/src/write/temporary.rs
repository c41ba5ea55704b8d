//! A file under a temporary name beside its final one, removed unless it is kept.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the files of one process apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Temporary {
    path: PathBuf,
    target: PathBuf,
    kept: bool,
}

impl Temporary {
    pub(crate) fn create(target: &Path) -> io::Result<(Self, File)> {
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".{name}.{}.{count}.tmp", std::process::id()));
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        Ok((Temporary { path, target: target.to_owned(), kept: false }, file))
    }

    /// Gives the file its name, once the system has all of it.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: there is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}
