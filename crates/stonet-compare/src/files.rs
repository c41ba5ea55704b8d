//! Files that appear whole or not at all.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use serde::Serialize;

use crate::{Error, Result};

fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, action, source }
}

/// Creates a directory and its parents.
pub fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(io(path, "create the directory"))
}

/// Writes text to a temporary neighbour, then renames it.
pub fn write(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// The same of bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    stonet_io::write_whole(path, bytes).map_err(io(path, "write"))
}

/// Writes files into a directory, which is made if need be.
pub fn write_all(dir: &Path, contents: &[(String, String)]) -> Result<()> {
    create_dir(dir)?;
    contents.iter().try_for_each(|(name, text)| write(&dir.join(name), text))
}

/// Writes a report: `name.json`, `name.md`, and whatever else belongs to it.
pub fn publish<T: Serialize>(
    dir: &Path,
    name: &str,
    report: &T,
    text: &str,
    mut contents: Vec<(String, String)>,
) -> Result<()> {
    contents.push((format!("{name}.json"), pretty(report)));
    contents.push((format!("{name}.md"), text.to_owned()));
    write_all(dir, &contents)
}

/// Indented JSON with a final line end.
pub fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("plain data serialises");
    text.push('\n');
    text
}

/// Opens a text file for appending, which is made if need be, and reads what it holds. No other process can open it so
/// until it is dropped, which the system does for a process that is killed.
pub(crate) fn open_to_append(path: &Path) -> Result<(fs::File, String)> {
    let open = fs::OpenOptions::new().create(true).read(true).append(true).open(path);
    let mut file = open.map_err(io(path, "open for appending"))?;
    // A file system without locks is no reason to refuse.
    if matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        return Err(Error::BusyJournal { path: path.to_owned() });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(io(path, "read"))?;
    Ok((file, text))
}

/// Cuts a file that is open for appending to its first `len` bytes.
pub(crate) fn cut(file: &fs::File, path: &Path, len: u64) -> Result<()> {
    file.set_len(len).map_err(io(path, "cut"))
}

/// Appends one line and hands it to the system before returning; a line that could not be written whole is taken back.
pub(crate) fn append_line(file: &mut fs::File, path: &Path, line: &str) -> Result<()> {
    let before = file.metadata().map_err(io(path, "append"))?.len();
    let written = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.flush());
    if written.is_err() {
        // Work on other threads may still append when there is room again, and would end half a line with its own.
        let _ = file.set_len(before);
    }
    written.map_err(io(path, "append"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("table.txt");
        write(&target, "old").unwrap();
        // A directory in the way of the rename.
        let blocked = dir.path().join("blocked");
        fs::create_dir_all(blocked.join("inside")).unwrap();
        let e = write(&blocked, "new").unwrap_err();
        assert!(e.to_string().contains("blocked: cannot write"), "{e}");
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    }
}
