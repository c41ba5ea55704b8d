//! Whether a file to write is one of those that are read.

use std::path::{Path, PathBuf};

use crate::location::split;
use crate::{Problem, Result};

/// Fails where writing `output` would replace one of `inputs`: the same path, a symbolic or hard link to it, the
/// archive that `data.npz:features` is in, or a Parquet file in a folder that is read. `-` is no file.
pub fn check_output(output: &Path, inputs: &[&Path]) -> Result<()> {
    if output == Path::new("-") {
        return Ok(());
    }
    let replaced = inputs.iter().find(|input| **input != Path::new("-") && replaces(output, input));
    match replaced {
        Some(input) => Err(Problem::OutputIsInput { input: input.to_path_buf() }.of(output)),
        None => Ok(()),
    }
}

fn replaces(output: &Path, input: &Path) -> bool {
    if input.is_dir() {
        return in_folder(output, input);
    }
    let file = split(input).0;
    if same_file(output, &file) {
        return true;
    }
    // Neither has to be there yet: two outputs of one command are compared too.
    matches!((whole(output), whole(&file)), (Some(a), Some(b)) if a == b)
}

/// A new Parquet file in a folder would be read as a part of it the next time.
fn in_folder(output: &Path, folder: &Path) -> bool {
    let parquet = output.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet") || e.eq_ignore_ascii_case("pq"));
    let inside = |path: PathBuf| folder.canonicalize().is_ok_and(|folder| path.starts_with(folder));
    parquet && (whole(output).is_some_and(inside) || output.canonicalize().is_ok_and(inside))
}

/// The path with its folder's links resolved, whether the file exists or not.
fn whole(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

#[cfg(not(unix))]
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
