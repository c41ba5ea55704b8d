//! A classifier's outputs from files: which columns are what, class names to numbers, and both parts checked alike.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use stonet::{ClassInputs, InputKind, Labels};
use stonet_io::{Reading, Table};
use stonet_repro::{Error, Result};

/// Which columns are what.
pub struct ClassColumns {
    pub target: String,
    pub inputs: Option<Vec<String>>,
    pub kind: InputKind,
    pub features: Option<Vec<String>>,
}

/// One part's rows.
pub struct Part {
    path: PathBuf,
    logits: Option<Array2<f64>>,
    features: Option<Array2<f64>>,
    pub labels: Vec<usize>,
}

/// Validation and test rows under the same class names.
pub struct ClassData {
    pub validation: Part,
    pub test: Part,
    pub classes: Labels,
}

/// Rows as they are in a file.
struct Raw {
    path: PathBuf,
    names: Vec<String>,
    inputs: Array2<f64>,
    features: Option<Array2<f64>>,
    labels: Vec<String>,
}

impl ClassData {
    /// From a file for each part.
    pub fn read(validation: &Path, test: &Path, columns: &ClassColumns) -> Result<Self> {
        let validation = Raw::of(&read(validation, columns, None)?, columns, None)?;
        let test = Raw::of(&read(test, columns, None)?, columns, None)?;
        Self::new(validation, test, columns.kind)
    }

    /// From one file with a column that tells the parts.
    pub fn read_split(path: &Path, column: &str, columns: &ClassColumns) -> Result<Self> {
        let table = read(path, columns, Some(column))?;
        let all = Raw::of(&table, columns, Some(column))?;
        let (mut validation, mut test) = (Vec::new(), Vec::new());
        for (row, text) in table.text(column)?.iter().enumerate() {
            match text.to_ascii_lowercase().as_str() {
                "0" | "0.0" | "validation" | "val" | "calibration" => validation.push(row),
                "1" | "1.0" | "test" => test.push(row),
                _ => {
                    let (path, column, text) = (path.to_owned(), column.to_owned(), text.clone());
                    return Err(Error::Part { path, row, column, text });
                }
            }
        }
        for (part, rows) in [("validation", &validation), ("test", &test)] {
            if rows.is_empty() {
                return Err(Error::EmptyPart { path: path.to_owned(), column: column.to_owned(), part });
            }
        }
        Self::new(all.select(&validation), all.select(&test), columns.kind)
    }

    fn new(validation: Raw, test: Raw, kind: InputKind) -> Result<Self> {
        let width = |r: &Raw| (r.inputs.ncols(), r.features.as_ref().map_or(0, |f| f.ncols()));
        let ((expected, f), (found, g)) = (width(&validation), width(&test));
        if expected != found || f != g {
            return Err(Error::OtherColumns { path: test.path, expected: expected + f, found: found + g });
        }
        let classes = classes(&validation, &test, kind)?;
        Ok(ClassData { validation: validation.part(&classes, kind)?, test: test.part(&classes, kind)?, classes })
    }
}

/// The columns that are wanted, labels and parts as text.
fn read(path: &Path, columns: &ClassColumns, split: Option<&str>) -> Result<Table> {
    let numbers =
        columns.inputs.as_ref().map(|inputs| inputs.iter().chain(columns.features.iter().flatten()).cloned().collect());
    let text = [columns.target.as_str()].into_iter().chain(split).map(str::to_owned).collect();
    Ok(Reading { numbers, text, ..Reading::default() }.read(path)?)
}

/// Class names in the order of the columns: from the columns' own names where they hold the labels, else from the labels.
fn classes(validation: &Raw, test: &Raw, kind: InputKind) -> Result<Labels> {
    let labels: Vec<&String> = validation.labels.iter().chain(&test.labels).collect();
    let file = |source| Error::File { path: validation.path.clone(), source };
    if kind == InputKind::Features {
        return Labels::learn(&labels, None).map_err(file);
    }
    let stem = common_prefix(&validation.names);
    let own: Vec<String> = validation.names.iter().map(|n| n[stem..].to_owned()).collect();
    if let Ok(named) = Labels::named(own)
        && named.encode(&labels).is_ok()
    {
        return Ok(named);
    }
    Labels::learn(&labels, Some(validation.names.len())).map_err(file)
}

/// Bytes that all names begin with.
fn common_prefix(names: &[String]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let shared = |other: &String| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut length = names.iter().map(shared).min().unwrap_or(0);
    while !names.iter().all(|n| n.is_char_boundary(length)) {
        length -= 1;
    }
    length
}

impl Raw {
    fn of(table: &Table, columns: &ClassColumns, split: Option<&str>) -> Result<Self> {
        let features = columns.features.as_ref().map(|f| table.columns(f)).transpose()?.unwrap_or_default();
        let mut inputs = match &columns.inputs {
            Some(patterns) => table.columns(patterns)?,
            None => (0..table.names().len()).collect(),
        };
        inputs.retain(|i| !features.contains(i) && Some(table.names()[*i].as_str()) != split);
        Ok(Raw {
            path: table.source().to_owned(),
            names: inputs.iter().map(|&i| table.names()[i].clone()).collect(),
            inputs: table.select(&inputs),
            features: (!features.is_empty()).then(|| table.select(&features)),
            labels: table.text(&columns.target)?.to_vec(),
        })
    }

    fn select(&self, rows: &[usize]) -> Raw {
        Raw {
            path: self.path.clone(),
            names: self.names.clone(),
            inputs: self.inputs.select(Axis(0), rows),
            features: self.features.as_ref().map(|f| f.select(Axis(0), rows)),
            labels: rows.iter().map(|&r| self.labels[r].clone()).collect(),
        }
    }

    fn part(self, classes: &Labels, kind: InputKind) -> Result<Part> {
        let path = self.path;
        let named = |source| Error::File { path: path.clone(), source };
        let labels = classes.encode(&self.labels).map_err(named)?;
        let values = kind.convert(self.inputs).map_err(named)?;
        let (logits, features) = match kind {
            InputKind::Features => (None, Some(values)),
            _ => (Some(values), self.features),
        };
        Ok(Part { logits, features, labels, path })
    }
}

impl Part {
    /// The rows as the methods take them.
    pub fn inputs(&self) -> Result<ClassInputs<'_>> {
        let named = |source| Error::File { path: self.path.clone(), source };
        match (&self.logits, &self.features) {
            (Some(z), None) => ClassInputs::logits(z.view()).map_err(named),
            (Some(z), Some(f)) => ClassInputs::logits(z.view()).and_then(|i| i.with_features(f.view())).map_err(named),
            (None, Some(f)) => ClassInputs::features(f.view()).map_err(named),
            (None, None) => unreachable!("a part has logits or features"),
        }
    }
}
