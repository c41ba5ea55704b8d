//! Which columns of a file are read, and whether as numbers or as text.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::header::Header;
use crate::pattern::matches;
use crate::{Problem, Result};

/// The columns to read; by default all, as numbers. What stands in the others does not matter.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("animals.csv");
/// # std::fs::write(&path, "file,z0,z1,animal\na.png,0.5,3,dog\nb.png,2,-1,cat\n")?;
/// use stonet_io::Reading;
/// // animals.csv: file,z0,z1,animal
/// let reading = Reading { numbers: Some(vec!["z*".into()]), text: vec!["animal".into()], ..Reading::default() };
/// let table = reading.read(&path)?;
/// assert_eq!(table.names(), ["z0", "z1"]);
/// assert_eq!(table.text("animal")?, ["dog", "cat"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Columns of numbers, by name or pattern; `None` for all that are neither text nor excluded, without the row
    /// numbers that pandas and R write (`Unnamed: 0`, `__index_level_0__`, a first column of a text file without a
    /// name).
    pub numbers: Option<Vec<String>>,
    /// Columns kept as text, by name or pattern. They are numbers too where `numbers` or `required` has exactly their
    /// name, and not where a pattern fits.
    pub text: Vec<String>,
    /// Columns that are not read, by name or pattern, unless they are text.
    pub exclude: Vec<String>,
    /// Files with the same rows in the same order, whose columns stand beside those of the file that is read. The
    /// columns of arrays, which have no names, are called after the file or the member: `y` of `y.npy`, `logits0`,
    /// `logits1`, … of `d.npz:logits`.
    pub beside: Vec<Beside>,
    /// Columns that have to be there, by name or pattern; they are looked for before any row is read.
    pub required: Vec<String>,
    /// Columns by name in which values may be missing: such a number is NaN, and such a text is empty.
    pub gaps: Vec<String>,
    /// Leave out rows with a missing value in any other column that is read, and count them
    /// ([`Dropped`](crate::Dropped)).
    pub drop_missing: bool,
}

/// A file whose columns stand beside those of another; as text `FILE` or `NAME=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// The path of the file.
    pub path: PathBuf,
    /// What the columns of an array are called after, if not after the file.
    pub name: Option<String>,
}

impl From<PathBuf> for Beside {
    fn from(path: PathBuf) -> Self {
        Beside { path, name: None }
    }
}

impl FromStr for Beside {
    type Err = Infallible;
    /// A file of exactly that name comes first.
    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !Path::new(text).exists() => {
                Ok(Beside { path: path.into(), name: Some(name.to_owned()) })
            }
            _ => Ok(PathBuf::from(text).into()),
        }
    }
}

/// Columns to read, by their place in the file.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub(crate) numbers: Vec<usize>,
    pub(crate) text: Vec<usize>,
    /// Of each of these columns, whether values may be missing.
    pub(crate) gaps: Gaps,
    /// Row numbers, which nobody named.
    pub(crate) left_out: Vec<usize>,
}

/// Whether values may be missing, by column.
#[derive(Debug, Clone)]
pub(crate) struct Gaps {
    pub(crate) numbers: Vec<bool>,
    pub(crate) text: Vec<bool>,
}

/// What one file is asked for.
pub(crate) struct Ask<'a> {
    pub(crate) reading: &'a Reading,
    /// One of several files: a column that is not here may be in another.
    pub(crate) among: bool,
    /// What an array's columns are called after; none for `c0`, `c1`, ….
    pub(crate) name: Option<String>,
}

impl Ask<'_> {
    /// The columns of numbers and of text, both in the order of the file.
    pub(crate) fn choose(&self, header: &Header) -> Result<Chosen> {
        if !self.among {
            return self.reading.choose(header);
        }
        let here = |patterns: &[String]| patterns.iter().filter(|p| header.has(p)).cloned().collect();
        let Reading { numbers, text, exclude, required, gaps, drop_missing, .. } = self.reading;
        let (numbers, text, exclude) = (numbers.as_deref().map(here), here(text), here(exclude));
        let (required, gaps, drop_missing) = (here(required), gaps.clone(), *drop_missing);
        Reading { numbers, text, exclude, beside: Vec::new(), required, gaps, drop_missing }.find(header)
    }

    /// Names for the columns of an array.
    pub(crate) fn array_names(&self, width: usize) -> Vec<String> {
        match &self.name {
            Some(name) if width == 1 => vec![name.clone()],
            name => (0..width).map(|c| format!("{}{c}", name.as_deref().unwrap_or("c"))).collect(),
        }
    }
}

impl Reading {
    /// The columns of numbers and of text, both in the order of the file.
    pub(crate) fn choose(&self, header: &Header) -> Result<Chosen> {
        let chosen = self.find(header)?;
        if chosen.numbers.is_empty() && chosen.text.is_empty() {
            return Err(Problem::NoInputs.of(header.source.clone()));
        }
        Ok(chosen)
    }

    /// The same, which may be none.
    fn find(&self, header: &Header) -> Result<Chosen> {
        header.columns(&self.required)?;
        let [mut text, excluded] = [header.columns(&self.text)?, header.columns(&self.exclude)?];
        let named = |i: &usize| {
            let name = &header.names[*i];
            self.required.contains(name) || self.numbers.as_ref().is_some_and(|n| n.contains(name))
        };
        let mut numbers = match &self.numbers {
            Some(patterns) => header.columns(patterns)?,
            None => (0..header.names.len()).collect(),
        };
        numbers.retain(|i| (!text.contains(i) || named(i)) && !excluded.contains(i));
        // A pattern that begins with a wildcard, such as `*`, means whatever columns there are and names none of them.
        let meant = |i: &usize| {
            let patterns = self.numbers.iter().flatten().filter(|p| !p.starts_with(['*', '?']));
            named(i) || patterns.into_iter().any(|p| matches(p, &header.names[*i]))
        };
        let row_number = |i: &usize| header.row_numbers.contains(i) && !meant(i);
        let (left_out, mut numbers): (Vec<usize>, Vec<usize>) = numbers.into_iter().partition(row_number);
        numbers.sort_unstable();
        text.sort_unstable();
        let may = |columns: &[usize]| {
            columns.iter().map(|&i| self.drop_missing || self.gaps.contains(&header.names[i])).collect()
        };
        let gaps = Gaps { numbers: may(&numbers), text: may(&text) };
        Ok(Chosen { numbers, text, gaps, left_out })
    }
}
