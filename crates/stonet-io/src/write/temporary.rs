//! A file under a temporary name beside its final one, removed unless it is kept.
//!
//! A process that is killed leaves its temporary file. Every such file is locked by the process that writes it, and the
//! system ends the lock with the process: the next one that writes to the same place removes the temporary files there
//! that nobody has locked.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tells the files of one process apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The temporary files of this process that are there now.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

pub(super) fn open_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of names is whole after every change.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the unfinished files of this process, for a process that is about to exit while other threads still write:
/// from here on no thread can create such a file or give one its final name.
pub fn discard_unfinished_files() {
    let mut open = open_files();
    while let Some(path) = open.pop_first() {
        // Best effort: the process ends in any case.
        let _ = fs::remove_file(path);
    }
    // Never unlocked: who would create or keep a file now waits until the process is gone.
    std::mem::forget(open);
}

/// Writes a file; it appears whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, mut file) = Temporary::create(path)?;
    file.write_all(bytes)?;
    drop(file);
    temporary.keep()
}

pub(crate) struct Temporary {
    path: PathBuf,
    target: PathBuf,
    kept: bool,
    /// Holds the lock; where locks keep a file from being renamed, there is none.
    _lock: Option<File>,
}

impl Temporary {
    pub(crate) fn create(target: &Path) -> io::Result<(Self, File)> {
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        remove_stale(target);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!("{}{}.{count}.tmp", prefix(target), std::process::id()));
            let mut open = open_files();
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                // What a process of the same number left, on a file system without locks.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let lock = if cfg!(unix) { Some(file.try_clone()?) } else { None };
            // Another process may have found the file before it was locked, and have removed it.
            let taken = lock.as_ref().is_some_and(|l| matches!(l.try_lock(), Err(TryLockError::WouldBlock)));
            if taken || !path.exists() {
                continue;
            }
            open.insert(path.clone());
            return Ok((Temporary { path, target: target.to_owned(), kept: false, _lock: lock }, file));
        }
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

/// How the names of all temporary files of a target begin.
fn prefix(target: &Path) -> String {
    format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy())
}

/// Removes temporary files of this target that no process holds. Best effort: what cannot be removed stays.
fn remove_stale(target: &Path) {
    if !cfg!(unix) {
        return;
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let prefix = prefix(target);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| is_temporary(name, &prefix));
        if ours && entry.file_type().is_ok_and(|t| t.is_file()) {
            remove_if_stale(&entry.path());
        }
    }
}

/// Whether a name is the prefix, numbers apart by points, and `.tmp`.
fn is_temporary(name: &str, prefix: &str) -> bool {
    let numbers = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".tmp"));
    numbers.is_some_and(|n| n.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())))
}

fn remove_if_stale(path: &Path) {
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
    if file.try_lock().is_ok() {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    #[test]
    fn files_that_nobody_holds_are_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let others = [".a.csv.x.1.tmp", ".a.csv.1.2.tmp.csv", ".b.csv.1.1.tmp", "a.csv.1.1.tmp", ".a.csv.1..tmp"];
        for name in others.into_iter().chain([".a.csv.1.0.tmp", ".a.csv.999999.3.tmp", ".a.csv.77.tmp"]) {
            fs::write(at(name), "left").unwrap();
        }
        fs::create_dir(at(".a.csv.5.5.tmp")).unwrap();
        let (first, file) = Temporary::create(&at("a.csv")).unwrap();
        let (second, _) = Temporary::create(&at("a.csv")).unwrap();
        assert!(first.path.exists() && second.path.exists());
        drop((file, second));
        // The writer has closed its file, and the lock is still there.
        write_whole(&at("a.csv"), b"other").unwrap();
        assert!(first.path.exists());
        first.keep().unwrap();
        let mut wanted: Vec<String> =
            others.into_iter().chain([".a.csv.5.5.tmp", "a.csv"]).map(str::to_owned).collect();
        wanted.sort();
        assert_eq!(names(dir.path()), wanted);
    }
}
