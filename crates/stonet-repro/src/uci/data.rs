//! Finds and reads the ten data sets: the normalised CSV if there is one, otherwise the raw file as it is distributed.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use stonet::Dataset;

use super::layouts::layout;
use crate::published::regression;
use crate::{Error, Result};

/// A data set of Table `tab:regression`, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UciSet {
    /// Liver disorders.
    Liver,
    /// QSAR fish toxicity.
    Qsar,
    /// Communities and crime.
    Community,
    /// Tennessee's student–teacher achievement ratio.
    Star,
    /// Abalone.
    Abalone,
    /// Parkinson's telemonitoring.
    Parkinson,
    /// Combined cycle power plant.
    PowerPlant,
    /// Bike sharing demand.
    Bike,
    /// Physicochemical properties of protein tertiary structure.
    Protein,
    /// YearPredictionMSD.
    Year,
}

impl UciSet {
    /// All ten, in the order of the table.
    pub const ALL: [UciSet; 10] = [
        UciSet::Liver,
        UciSet::Qsar,
        UciSet::Community,
        UciSet::Star,
        UciSet::Abalone,
        UciSet::Parkinson,
        UciSet::PowerPlant,
        UciSet::Bike,
        UciSet::Protein,
        UciSet::Year,
    ];

    /// The short name, which is also that of the normalised file.
    pub fn name(self) -> &'static str {
        match self {
            UciSet::Liver => "liver",
            UciSet::Qsar => "qsar",
            UciSet::Community => "community",
            UciSet::Star => "star",
            UciSet::Abalone => "abalone",
            UciSet::Parkinson => "parkinson",
            UciSet::PowerPlant => "powerplant",
            UciSet::Bike => "bike",
            UciSet::Protein => "protein",
            UciSet::Year => "year",
        }
    }

    /// Rows and inputs as the table prints them.
    pub fn printed_size(self) -> (usize, usize) {
        let cell = regression().into_iter().find(|c| c.dataset == self.name());
        cell.map(|c| (c.n, c.p)).expect("the table has every set")
    }

    /// The names under which the set is looked for, in this order; each also with `.gz`.
    pub fn files(self) -> Vec<String> {
        let raw = layout(self).files.iter().map(|f| (*f).to_owned());
        self.normalised().into_iter().map(|(file, _)| file).chain(raw).collect()
    }

    /// Normalised files and their number of inputs.
    fn normalised(self) -> Vec<(String, usize)> {
        let plain = format!("{}.csv", self.name());
        match self {
            // 22 inputs count sex twice.
            UciSet::Parkinson => vec![("parkinson_22.csv".into(), 22), (plain, 21)],
            _ => vec![(plain, self.printed_size().1)],
        }
    }

    /// A file that contains the set and cannot be read, and the name to export it under.
    fn workbook(self) -> Option<(&'static str, &'static str)> {
        (self == UciSet::PowerPlant).then_some(("Folds5x2_pp.xlsx", "Folds5x2_pp.csv"))
    }
}

impl fmt::Display for UciSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for UciSet {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        UciSet::ALL
            .into_iter()
            .find(|s| s.name() == name)
            .ok_or_else(|| Error::unknown("data set", name.to_owned(), UciSet::ALL.map(UciSet::name).join(", ")))
    }
}

/// A data set and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Inputs and the one target.
    pub data: Dataset,
    /// The path of the file.
    pub path: PathBuf,
    /// How it differs from what the paper prints, and what was done about missing cells.
    pub note: Option<String>,
}

/// Reads a set from `dir` or its folder `regression`; `None` if neither has a file of it.
pub fn load(set: UciSet, dir: &Path) -> Result<Option<Loaded>> {
    let found = Directory::list(dir)?;
    for (file, inputs) in set.normalised() {
        if let Some(path) = found.find(&file) {
            return normalised(set, path, &file, inputs).map(Some);
        }
    }
    let layout = layout(set);
    if let Some(path) = layout.files.iter().find_map(|file| found.find(file)) {
        let (table, remark) = layout.read(&path)?;
        return loaded(set, table.dataset(None, &["y".into()], &[])?, path, remark).map(Some);
    }
    match set.workbook().and_then(|(file, wanted)| Some((found.find(file)?, wanted))) {
        Some((path, wanted)) => Err(Error::Workbook { path, wanted }),
        None => Ok(None),
    }
}

fn normalised(set: UciSet, path: PathBuf, file: &str, inputs: usize) -> Result<Loaded> {
    let table = stonet_io::read(&path)?;
    let data = table.dataset(None, &["y".into()], &[])?;
    if data.inputs() != inputs {
        let layout = format!("the normalised `{file}`, its target included,");
        return Err(Error::Columns { path, layout, expected: inputs + 1, found: data.inputs() + 1 });
    }
    loaded(set, data, path, None)
}

fn loaded(set: UciSet, data: Dataset, path: PathBuf, remark: Option<String>) -> Result<Loaded> {
    let (n, p) = set.printed_size();
    let rows = (data.rows() != n).then(|| format!("{} rows, where the paper has {n}", data.rows()));
    let inputs = (data.inputs() != p).then(|| format!("{} inputs, where the paper has {p}", data.inputs()));
    let notes: Vec<String> = rows.into_iter().chain(inputs).chain(remark).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Loaded { data, path, note })
}

/// The files of a directory and of its folder `regression`.
struct Directory(Vec<(PathBuf, BTreeSet<String>)>);

impl Directory {
    fn list(dir: &Path) -> Result<Self> {
        let inner = dir.join("regression");
        let mut places = vec![(dir.to_owned(), names(dir)?)];
        if inner.is_dir() {
            places.push((inner.clone(), names(&inner)?));
        }
        Ok(Directory(places))
    }

    /// Names are compared by ourselves: to some file systems `star.csv` and `STAR.csv` are the same.
    fn find(&self, file: &str) -> Option<PathBuf> {
        let endings = [file.to_owned(), format!("{file}.gz")];
        self.0.iter().find_map(|(dir, names)| endings.iter().find(|f| names.contains(*f)).map(|f| dir.join(f)))
    }
}

fn names(dir: &Path) -> Result<BTreeSet<String>> {
    let failed =
        |source| Error::from(stonet_compare::Error::Io { path: dir.to_owned(), action: "list the directory", source });
    let entries = std::fs::read_dir(dir).map_err(failed)?;
    entries.map(|e| Ok(e.map_err(failed)?.file_name().to_string_lossy().into_owned())).collect()
}
