//! A file under a temporary name beside its final one, removed unless it is kept.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tells the files of one process apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The temporary files of this process that are there now.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn open_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of names is whole after every change.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the unfinished files of this process, for a process that is about to exit while other threads still write: from here on no thread can
/// create such a file or give one its final name.
pub fn discard_unfinished_files() {
    let mut open = open_files();
    while let Some(path) = open.pop_first() {
        // Best effort: the process ends in any case.
        let _ = fs::remove_file(path);
    }
    // Never unlocked: who would create or keep a file now waits until the process is gone.
    std::mem::forget(open);
}

/// Writes a file, which appears whole or not at all.
pub fn write_file(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, mut file) = Temporary::create(target)?;
    file.write_all(bytes)?;
    drop(file);
    temporary.keep()
}

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
        let mut open = open_files();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        open.insert(path.clone());
        Ok((Temporary { path, target: target.to_owned(), kept: false }, file))
    }

    /// Gives the file its name, once the system has all of it.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.sync_all()?;
        let mut open = open_files();
        fs::rename(&self.path, &self.target)?;
        open.remove(&self.path);
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: there is nobody left to tell.
            let mut open = open_files();
            let _ = fs::remove_file(&self.path);
            open.remove(&self.path);
        }
    }
}
