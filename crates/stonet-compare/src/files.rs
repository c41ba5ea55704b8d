//! Files that appear whole or not at all.

use std::fs;
use std::io::Write;
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

/// Reads a text file; `None` if there is none.
pub(crate) fn read_if_present(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io(path, "read")(e)),
    }
}

/// Opens a file for appending, cut to its first `len` bytes.
pub(crate) fn append_from(path: &Path, len: u64) -> Result<fs::File> {
    let open = || {
        let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(len)?;
        Ok(file)
    };
    open().map_err(io(path, "open for appending"))
}

/// Appends one line and hands it to the system before returning.
pub(crate) fn append_line(file: &mut fs::File, path: &Path, line: &str) -> Result<()> {
    file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.flush()).map_err(io(path, "append"))
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
