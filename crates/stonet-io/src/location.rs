//! What a path names: a file, its format by its ending, and the array in it; or a folder.

use std::path::{Path, PathBuf};

use crate::{Error, Problem, Result};

/// What can be read, for messages.
const FORMATS: &str = ".csv, .tsv, .txt and .data, each also with .gz, .parquet, .arrow, .feather, .ipc, .npy, .npz, \
                       .safetensors, .idx and …-ubyte, - for CSV from standard input, and folders of .parquet files";

/// How bytes stand for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Parquet,
    /// Parquet files in a folder.
    Folder,
    Arrow,
    Npy,
    Npz,
    Safetensors,
    Idx,
}

/// A path taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Location {
    /// As given, for messages.
    pub(crate) path: PathBuf,
    /// What to open.
    pub(crate) file: PathBuf,
    /// The array, where a file holds several: `features` in `data.npz:features`.
    pub(crate) member: Option<String>,
    pub(crate) format: Format,
}

impl Location {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Location { path: path.into(), file: path.into(), member: None, format: Format::Folder });
        }
        let (file, member) = split(path);
        let format = format(&file).ok_or_else(|| Problem::UnknownFormat { known: FORMATS }.of(path))?;
        Ok(Location { path: path.into(), file, member, format })
    }

    /// Arrow data in memory, which messages call by this name.
    #[cfg(feature = "parquet")]
    pub(crate) fn in_memory(source: &str) -> Self {
        Location { path: source.into(), file: source.into(), member: None, format: Format::Arrow }
    }

    /// What an array without column names is called after: the member, or the file without its ending.
    pub(crate) fn stem(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        self.member.clone().unwrap_or_else(|| name.split('.').next().unwrap_or_default().to_owned())
    }

    /// An error about bytes that are not what the ending announces.
    pub(crate) fn damaged(&self, why: impl ToString) -> Error {
        damaged(&self.path, self.format.name(), why)
    }
}

/// An error about bytes that are not what the ending announces.
pub(crate) fn damaged(path: &Path, format: &'static str, why: impl ToString) -> Error {
    Problem::Damaged { format, why: why.to_string() }.of(path)
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Text => "CSV",
            Format::Parquet | Format::Folder => "Parquet",
            Format::Arrow => "Arrow",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
            Format::Idx => "idx",
        }
    }
}

/// The file and the member behind a colon. A colon counts only behind the ending of a format with members, so that
/// drives (`C:\data.npz`) and other names with colons stay whole; and a file of exactly that name comes first.
pub(crate) fn split(path: &Path) -> (PathBuf, Option<String>) {
    let whole = || (path.to_owned(), None);
    let Some(text) = path.to_str() else { return whole() };
    let lower = text.to_ascii_lowercase();
    let place = [".npz:", ".safetensors:"].iter().filter_map(|e| lower.find(e).map(|i| i + e.len())).min();
    match place {
        Some(place) if place < text.len() && !path.exists() => {
            (text[..place - 1].into(), Some(text[place..].to_owned()))
        }
        _ => whole(),
    }
}

fn format(file: &Path) -> Option<Format> {
    if file == Path::new("-") {
        return Some(Format::Text);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let (plain, compressed) = name.strip_suffix(".gz").map_or((name.as_str(), false), |plain| (plain, true));
    if plain.ends_with("-ubyte") {
        return Some(Format::Idx);
    }
    Some(match plain.rsplit_once('.')?.1 {
        "csv" | "tsv" | "txt" | "data" => Format::Text,
        "idx" => Format::Idx,
        _ if compressed => return None,
        "parquet" | "pq" => Format::Parquet,
        "arrow" | "feather" | "ipc" | "arrows" => Format::Arrow,
        "npy" => Format::Npy,
        "npz" => Format::Npz,
        "safetensors" => Format::Safetensors,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<(Format, String, Option<String>)> {
        let at = Location::new(Path::new(path)).ok()?;
        Some((at.format, at.file.to_str().unwrap().to_owned(), at.member))
    }

    #[test]
    fn formats_by_ending_and_members_behind_a_colon() {
        let plain = |path: &str, format| assert_eq!(of(path), Some((format, path.to_owned(), None)), "{path}");
        plain("a/b.CSV.GZ", Format::Text);
        plain("-", Format::Text);
        plain("train-images-idx3-ubyte.gz", Format::Idx);
        plain("t10k-images.idx3-ubyte", Format::Idx);
        plain("x:y.npy", Format::Npy);
        plain("C:x.npz", Format::Npz);
        plain("a.feather", Format::Arrow);
        assert_eq!(of("d/x.npz:train/f.0"), Some((Format::Npz, "d/x.npz".into(), Some("train/f.0".into()))));
        assert_eq!(of("d/x.NPZ:f.npy:2"), Some((Format::Npz, "d/x.NPZ".into(), Some("f.npy:2".into()))));
        assert_eq!(of("m.safetensors:a.weight").unwrap().2.unwrap(), "a.weight");
        for path in ["", "x", "x.xyz", "x.parquet.gz", "x.npy:a", "x.npz:"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
