//! A file that one process at a time may go on with.
//!
//! Files that are written anew and then renamed cannot be locked themselves: the lock would stay with the old one. So a file
//! beside it is locked, and removed at the end. The system ends the lock with the process, however that ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::temporary::open_files;

/// The right to go on with a file, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims a file, which need not be there yet; none where another process has claimed it.
    pub fn new(target: &Path) -> io::Result<Option<Self>> {
        let name = format!(".{}.lock", target.file_name().unwrap_or_default().to_string_lossy());
        let path = target.with_file_name(name);
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            // A file system without locks is no reason to refuse.
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Ok(None);
            }
            if is_there(&file, &path) {
                // A process that is stopped on request removes it too.
                open_files().insert(path.clone());
                return Ok(Some(Claim { path, _lock: file }));
            }
            // The process before has removed the file between our opening and our locking it.
        }
    }
}

/// Whether the file of this name is the one that is open.
#[cfg(unix)]
fn is_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().and_then(|open| Ok(same(open, fs::metadata(path)?))).unwrap_or(false)
}

/// Elsewhere a file that is open cannot be replaced by another of its name.
#[cfg(not(unix))]
fn is_there(_: &File, path: &Path) -> bool {
    path.exists()
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut open = open_files();
        // Best effort: a file that stays is taken over by the next process.
        let _ = fs::remove_file(&self.path);
        open.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("state.json");
        let first = Claim::new(&target).unwrap().unwrap();
        assert!(Claim::new(&target).unwrap().is_none());
        let other = Claim::new(&folder.path().join("other.json")).unwrap().unwrap();
        drop((first, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // What a killed process left is taken over.
        fs::write(folder.path().join(".state.json.lock"), b"").unwrap();
        drop(Claim::new(&target).unwrap().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_one_thread_of_many_has_it_at_any_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("state.json");
        let (holders, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..500 {
                        if let Some(claim) = Claim::new(&target).unwrap() {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            turns.fetch_add(1, Ordering::SeqCst);
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(claim);
                        }
                    }
                });
            }
        });
        assert!(turns.into_inner() > 0);
    }
}
