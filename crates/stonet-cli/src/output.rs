//! Where results go: checked before the work begins, since that may take hours.

use std::path::Path;

use stonet_io::Beside;

use crate::error::{Error, Result};

/// Fails where no file can be written, because its folder is not there, because it is a folder itself, or because the
/// command reads it as one of `inputs`.
pub fn check(path: &Path, inputs: &[&Path]) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
    }
    if path.is_dir() {
        return Err(Error::IsFolder { path: path.to_owned() });
    }
    Ok(stonet_io::check_output(path, inputs)?)
}

/// The same, and the name has to end in `.{ending}`.
pub fn check_named(flag: &'static str, path: &Path, ending: &str, example: &str, inputs: &[&Path]) -> Result<()> {
    if path.extension().is_none_or(|e| e != ending) {
        return Err(Error::flag(flag, format!("must end in .{ending}, such as {example}")));
    }
    check(path, inputs)
}

/// A file and those beside it.
pub fn with<'a>(path: &'a Path, beside: &'a [Beside]) -> Vec<&'a Path> {
    [path].into_iter().chain(beside.iter().map(|b| b.path.as_path())).collect()
}
