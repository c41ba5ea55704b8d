//! Rows of a classifier's outputs: logits or features, and classes by name.

use std::path::PathBuf;

use ndarray::Array2;
use stonet::classification::{ClassAsked, ClassColumns, Interface};
use stonet::{ClassInputs, ClassRows, InputKind, Labels};
use stonet_io::{ModelColumns, Reading, Table};

use super::hints;
use super::parts::{Source, numbers, outputs_and_features, outputs_reading, words};
use crate::args::ColumnArgs;
use crate::error::{Error, Result};

/// What a file says about rows with a class.
pub struct ClassFile {
    path: PathBuf,
    pub columns: ModelColumns,
    pub kind: InputKind,
    pub classes: Labels,
    logits: Option<Array2<f64>>,
    features: Option<Array2<f64>>,
    pub labels: Vec<usize>,
    /// What the user should know about columns and classes.
    pub warnings: Vec<String>,
    /// What tells each row from others.
    pub hashes: Vec<u64>,
}

impl ClassFile {
    /// Columns by flags. Classes are those of `source` and of `also`, in the order of the columns where these are named
    /// after them.
    pub fn read(source: &Source, flags: &ColumnArgs, also: Option<&Source>) -> Result<Self> {
        let (table, rows) = source.read(Self::reading(flags)?).map_err(|e| Self::hints(e, flags))?;
        Self::chosen(source, flags, &table, &rows, also)
    }

    /// The flags that help where columns do not fit.
    pub fn hints(error: Error, flags: &ColumnArgs) -> Error {
        hints::text_columns(hints::absent_target(error, &flags.target), &[])
    }

    /// What has to be read for these flags.
    pub fn reading(flags: &ColumnArgs) -> Result<Reading> {
        if !flags.said_columns().is_empty() || flags.groups.is_some() {
            let flags = "--prediction, --lower, --upper, --sd and --groups";
            return Err(Error::flag(flags, "are for --task regression"));
        }
        if flags.target.len() != 1 {
            return Err(Error::flag("--target", "names several columns, and there is one class per row"));
        }
        if !flags.also.is_empty() {
            return Err(Error::flag("--also", "is for --task regression; --features names columns beside the logits"));
        }
        outputs_reading(flags)
    }

    /// Columns by flags, in rows of a table that was read for them.
    pub fn chosen(
        source: &Source,
        flags: &ColumnArgs,
        table: &Table,
        rows: &[usize],
        also: Option<&Source>,
    ) -> Result<Self> {
        let (inputs, features) = outputs_and_features(flags, table)?;
        let found = Self::recognised(source, flags, table, rows, also, &inputs)?;
        let (logits, features) =
            if found.kind == InputKind::Features { (Vec::new(), inputs) } else { (inputs, features) };
        let columns = ModelColumns { features, logits, targets: flags.target.clone(), ..ModelColumns::default() };
        let warnings = found.notes.iter().map(|note| note.text(Interface::Command)).collect();
        let file = Self::of(source, columns, found.kind, found.labels, found.codes, table, rows)?;
        Ok(ClassFile { warnings, ..file })
    }

    /// What the inputs are, and the class of each of them.
    fn recognised(
        source: &Source,
        flags: &ColumnArgs,
        table: &Table,
        rows: &[usize],
        also: Option<&Source>,
        inputs: &[String],
    ) -> Result<ClassColumns> {
        let refused = Error::classes(&source.path);
        let target = &flags.target[0];
        let classes = flags.classes.as_ref().map(|names| Labels::named(names.0.clone())).transpose();
        let classes = classes.map_err(|e| Error::flag("--classes", format!("cannot be used: {e}")))?;
        let mut texts = words(table, target, rows)?;
        let own = texts.len();
        // With all classes named there is nothing to learn from other rows.
        if let Some(also) = also.filter(|_| classes.is_none()) {
            let (more, rows) = also.read_silently(Reading {
                numbers: Some(Vec::new()),
                text: vec![target.clone()],
                ..Reading::default()
            })?;
            texts.extend(words(&more, target, &rows)?);
        }
        let kind = stonet_io::label_kind(&source.path, &source.beside, target)?;
        let seen = Labels::occurring(&texts, kind).map_err(&refused)?;
        let codes = seen.encode(&texts[..own]).map_err(&refused)?;
        let beside = flags.features.is_some();
        let asked = ClassAsked { kind: flags.kind, classes: classes.as_ref(), columns: inputs, beside };
        let values = numbers(table, inputs, rows)?;
        let found = ClassColumns::find(values.view(), &seen, &codes, &asked).map_err(&refused)?;
        // A number of columns that does not fit is more likely a mistake than a table of features.
        if flags.kind.is_none() && found.kind == InputKind::Features && !found.is_decided() {
            return Err(match asked.classes {
                Some(all) => {
                    let why = format!("names {} classes, and there are {} inputs", all.classes(), inputs.len());
                    Error::flag("--classes", format!("{why}; name as many, or pass --kind features"))
                }
                None => refused(seen.misfit(inputs.len())),
            });
        }
        Ok(found)
    }

    /// The columns and classes that a head was fitted on, found by name.
    pub fn like(source: &Source, columns: &ModelColumns, kind: InputKind, classes: &Labels) -> Result<Self> {
        let reading = Self::reading_like(columns, None);
        let (table, rows) = source.read(reading).map_err(|e| hints::absent_target(e, &columns.targets))?;
        Self::known(source, columns, kind, classes, &table, &rows)
    }

    /// What has to be read for the columns that a head was fitted on, and for a column of subgroups.
    pub fn reading_like(columns: &ModelColumns, by: Option<&str>) -> Reading {
        let text = columns.targets.iter().cloned().chain(by.map(str::to_owned)).collect();
        Reading { numbers: Some(columns.inputs()), text, ..Reading::default() }
    }

    /// Columns and classes that are known, in rows of a table that has them.
    pub fn known(
        source: &Source,
        columns: &ModelColumns,
        kind: InputKind,
        classes: &Labels,
        table: &Table,
        rows: &[usize],
    ) -> Result<Self> {
        let texts = words(table, &columns.targets[0], rows)?;
        let labels = classes.encode(&texts).map_err(Error::rows(&source.path))?;
        Self::of(source, columns.clone(), kind, classes.clone(), labels, table, rows)
    }

    /// The same of rows whose classes are not known; `labels` is then without meaning.
    pub fn unlabelled(
        source: &Source,
        columns: &ModelColumns,
        kind: InputKind,
        classes: &Labels,
        table: &Table,
        rows: &[usize],
    ) -> Result<Self> {
        Self::of(source, columns.clone(), kind, classes.clone(), vec![0; rows.len()], table, rows)
    }

    fn of(
        source: &Source,
        columns: ModelColumns,
        kind: InputKind,
        classes: Labels,
        labels: Vec<usize>,
        table: &Table,
        rows: &[usize],
    ) -> Result<Self> {
        let values = |names: &[String]| (!names.is_empty()).then(|| numbers(table, names, rows)).transpose();
        let (outputs, features) = (values(&columns.logits)?, values(&columns.features)?);
        let [z, f] = [&outputs, &features].map(|a| a.as_ref().map(|a| a.view()));
        // Of the numbers in the file: logarithms of equal f32 values need not be equal as f32.
        let hashes = stonet_io::class_hashes(z, f, &labels)?;
        let logits = outputs.map(|z| kind.convert(z)).transpose().map_err(Error::rows(&source.path))?;
        Ok(ClassFile {
            path: source.path.clone(),
            columns,
            kind,
            classes,
            logits,
            features,
            labels,
            hashes,
            warnings: Vec::new(),
        })
    }

    /// The rows as the methods take them.
    pub fn inputs(&self) -> Result<ClassInputs<'_>> {
        let inputs = match (&self.logits, &self.features) {
            (Some(z), None) => ClassInputs::logits(z.view()),
            (Some(z), Some(f)) => ClassInputs::logits(z.view()).and_then(|i| i.with_features(f.view())),
            (None, Some(f)) => ClassInputs::features(f.view()),
            (None, None) => return Err(stonet_io::Problem::NoInputs.of(self.path.clone()).into()),
        };
        inputs.map_err(Error::rows(&self.path))
    }

    /// The rows to fit on.
    pub fn calibration(&self) -> Result<ClassRows<'_>> {
        ClassRows::new(self.inputs()?, &self.labels, self.classes.classes()).map_err(Error::rows(&self.path))
    }

    /// The logits, where there are any.
    pub fn logits(&self) -> Option<ndarray::ArrayView2<'_, f64>> {
        self.logits.as_ref().map(|z| z.view())
    }

    /// The features, where there are any.
    pub fn features(&self) -> Option<ndarray::ArrayView2<'_, f64>> {
        self.features.as_ref().map(|f| f.view())
    }

    /// What tells these rows from others.
    pub fn fingerprint(&self) -> String {
        let labels = Array2::from_shape_fn((self.labels.len(), 1), |(i, _)| self.labels[i] as f64);
        let arrays: Vec<_> = self.logits.iter().chain(&self.features).chain([&labels]).map(|a| a.view()).collect();
        stonet_io::Model::fingerprint_of(&arrays)
    }
}
